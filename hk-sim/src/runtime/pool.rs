//! Memory pools. All memory comes from one place here, so a pool only keeps settings and accounts.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::memory;

/// `hipMemPoolReuseFollowEventDependencies`, `…AllowOpportunistic`, `…AllowInternalDependencies`.
const REUSE_SETTINGS: usize = 3;

/// A pool that stream-ordered allocations can come from.
pub(crate) struct Pool {
    pub(crate) device: usize,
    state: Mutex<State>,
}

struct State {
    reuse: [i32; REUSE_SETTINGS],
    release_threshold: u64,
    /// Length of each allocation by its address and serial number. Those that were freed are
    /// dropped when somebody asks.
    allocations: HashMap<(u64, u64), u64>,
    high: u64,
}

impl State {
    /// Bytes of the allocations that live.
    fn used(&mut self) -> u64 {
        self.allocations.retain(|&(base, serial), _| {
            memory().find(base).is_some_and(|found| found.region.serial == serial)
        });
        self.allocations.values().sum()
    }
}

/// An attribute of a pool: the type differs by attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PoolValue {
    Int(i32),
    Bytes(u64),
}

impl Pool {
    pub(crate) fn new(device: usize) -> Self {
        let state = State {
            reuse: [1; REUSE_SETTINGS],
            release_threshold: 0,
            allocations: HashMap::new(),
            high: 0,
        };
        Self { device, state: Mutex::new(state) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Each update leaves the state whole, so a panic elsewhere does not matter.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Accounts for a new allocation.
    pub(crate) fn add(&self, base: u64) {
        let Some(allocation) = memory().find(base) else { return };
        let region = allocation.region;
        let mut state = self.state();
        state.allocations.insert((region.base, region.serial), region.len);
        state.high = state.used().max(state.high);
    }

    /// Value of a `hipMemPoolAttr`; `None` for an unknown one. Memory is reserved only while it is
    /// used.
    pub(crate) fn attribute(&self, number: i32) -> Option<PoolValue> {
        let mut state = self.state();
        Some(match number {
            1..=3 => PoolValue::Int(state.reuse[number as usize - 1]),
            4 => PoolValue::Bytes(state.release_threshold),
            5 | 7 => PoolValue::Bytes(state.used()),
            6 | 8 => PoolValue::Bytes(state.high),
            _ => return None,
        })
    }

    /// Sets a `hipMemPoolAttr`; `false` if that is not possible. Peaks can be set to 0 only, which
    /// starts them again.
    pub(crate) fn set_attribute(&self, number: i32, value: PoolValue) -> bool {
        let mut state = self.state();
        match (number, value) {
            (1..=3, PoolValue::Int(value)) => state.reuse[number as usize - 1] = value,
            (4, PoolValue::Bytes(bytes)) => state.release_threshold = bytes,
            (6 | 8, PoolValue::Bytes(0)) => state.high = state.used(),
            _ => return false,
        }
        true
    }
}
