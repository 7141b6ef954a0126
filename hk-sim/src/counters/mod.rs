//! What kernels did, counted: instructions, bytes, bank conflicts.
//!
//! [`count`] counts the launches that a closure makes:
//!
//! ```
//! let (sum, counts) = hk_sim::counters::count(|| 1 + 1);
//! assert!(sum == 2 && counts.is_empty());
//! ```
//!
//! Counters are sums over all waves, so they are the same for every schedule and number of threads
//! if what the kernel executes is. Without [`count`] nothing is counted, and nothing costs time;
//! [`executed`] tells the number of instructions alone, at no cost.
//!
//! # Bytes
//! Global memory instructions are those that reach device memory: `global_`, `flat_`, `buffer_`
//! and scalar ones, loads to LDS included. Each active lane counts the bytes that it accesses, those
//! that a buffer's range check cuts off left out; a scalar access counts once for its wave. An
//! atomic reads and writes. Formatted (typed) buffer accesses are not counted. Distinct bytes are
//! those of a launch that were read, or written, at least once: with every byte read once, both
//! figures are equal.
//!
//! # Bank conflicts
//! An LDS instruction is served in phases, each of some lanes, and in a phase every bank gives one
//! dword to all lanes that ask for it. A phase takes a cycle, and one more for every further dword
//! that is asked of its busiest bank; the sum of the latter over a launch is
//! [`Counters::lds_conflict_cycles`]. Phases and banks depend on the width of the access:
//!
//! | access | gfx942: phases of | banks | gfx950: phases of | banks |
//! |---|---|---|---|---|
//! | read of 1 dword | 32 lanes | 32 | 64 lanes | 64 |
//! | read of 2 dwords | 16 lanes | 32 | 32 lanes | 64 |
//! | read of 3 dwords | 8 lanes, of quads 0 and 5, 1 and 4, 2 and 7, 3 and 6 | 32 | as gfx942 | 32 |
//! | read of 4 dwords | as of 3 | 32 | 16 lanes, of quads 0, 3, 5, 6 and 1, 2, 4, 7 | 64 |
//! | write or atomic of 1, 2 dwords | 32, 16 lanes | 32 | as gfx942 | 32 |
//! | write of 3 or 4 dwords | 8 lanes | 32 | as gfx942 | 32 |
//!
//! Lanes of a phase are consecutive where no quads (groups of four lanes in each half of the wave)
//! are named. Transposing reads go as plain ones of their width, accesses of one or two bytes as
//! those of the dwords around them, two-address operations as two, and a load to LDS as the write of
//! its slots. Atomics of one dword by several lanes take turns. Permutes have no conflicts. The rules
//! are what microbenchmarks by others showed, for atomics and for writes of one dword an assumption.

mod banks;
mod class;
mod loops;
mod touched;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

pub use class::{Class, Classes};
pub use loops::{Loop, Wait};
use serde::Serialize;

pub(crate) use banks::{Banks, Direction};
pub(crate) use touched::Touched;

/// What all launches of a kernel did.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counters {
    /// Launches.
    pub launches: u64,
    /// Wave instructions by class.
    pub instructions: Classes,
    /// Matrix instructions by mnemonic, such as `v_mfma_f32_32x32x8_bf16`.
    pub matrix: BTreeMap<String, u64>,
    /// Bytes that global memory instructions read.
    pub read_bytes: u64,
    /// Those of them that scalar loads read, such as arguments.
    pub scalar_read_bytes: u64,
    /// Bytes that global memory instructions wrote.
    pub written_bytes: u64,
    /// Distinct bytes that they read, of each launch.
    pub distinct_read_bytes: u64,
    /// Distinct bytes that they wrote, of each launch.
    pub distinct_written_bytes: u64,
    /// LDS accesses of waves; two for a two-address operation.
    pub lds_accesses: u64,
    /// Cycles that bank conflicts added to them.
    pub lds_conflict_cycles: u64,
}

impl Counters {
    /// Adds those of further launches, or of other workgroups of the same.
    pub fn add(&mut self, other: &Self) {
        self.launches += other.launches;
        self.instructions.add(&other.instructions);
        for (mnemonic, count) in &other.matrix {
            *self.matrix.entry(mnemonic.clone()).or_default() += count;
        }
        self.read_bytes += other.read_bytes;
        self.scalar_read_bytes += other.scalar_read_bytes;
        self.written_bytes += other.written_bytes;
        self.distinct_read_bytes += other.distinct_read_bytes;
        self.distinct_written_bytes += other.distinct_written_bytes;
        self.lds_accesses += other.lds_accesses;
        self.lds_conflict_cycles += other.lds_conflict_cycles;
    }
}

/// Where launches are counted.
#[derive(Debug, Default)]
pub struct Recorder {
    /// Absent where the number of instructions will do.
    kernels: Option<Mutex<BTreeMap<String, Counters>>>,
    executed: AtomicU64,
}

impl PartialEq for Recorder {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
    }
}

impl Eq for Recorder {}

impl Recorder {
    /// One for which each instruction is looked at.
    pub fn in_detail() -> Self {
        Self { kernels: Some(Mutex::default()), ..Self::default() }
    }

    /// Whether each instruction is to be looked at.
    pub(crate) fn is_detailed(&self) -> bool {
        self.kernels.is_some()
    }

    /// Adds what a launch did.
    pub(crate) fn add(&self, kernel: &str, counters: &Counters) {
        let Some(kernels) = &self.kernels else { return };
        let mut kernels = kernels.lock().unwrap_or_else(PoisonError::into_inner);
        kernels.entry(kernel.to_owned()).or_default().add(counters);
    }

    /// Adds the instructions of a launch that has ended.
    pub(crate) fn add_executed(&self, instructions: u64) {
        self.executed.fetch_add(instructions, Ordering::Relaxed);
    }

    /// What was counted so far, by the names of the kernels.
    pub fn counters(&self) -> BTreeMap<String, Counters> {
        let kernels = self.kernels.as_ref();
        let kernels = kernels.map(|kernels| kernels.lock().unwrap_or_else(PoisonError::into_inner));
        kernels.map(|kernels| kernels.clone()).unwrap_or_default()
    }
}

thread_local! {
    static CURRENT: RefCell<Option<Arc<Recorder>>> = const { RefCell::new(None) };
}

/// The recorder of launches that this thread makes.
pub(crate) fn current() -> Option<Arc<Recorder>> {
    CURRENT.with_borrow(Option::clone)
}

/// Calls `f` and returns what the kernels did that it launched from this thread, by their names.
///
/// Launches count when they have ended, so `f` should wait for them: by reading their results, or by
/// synchronising. A graph counts for the call that captured it.
pub fn count<T>(f: impl FnOnce() -> T) -> (T, BTreeMap<String, Counters>) {
    let recorder = Arc::new(Recorder::in_detail());
    let result = record(&recorder, f);
    (result, recorder.counters())
}

/// Calls `f` and returns how many wave instructions the kernels executed that it launched from this
/// thread and that have ended without a fault: what [`count`] finds at the cost of a look at each.
pub fn executed<T>(f: impl FnOnce() -> T) -> (T, u64) {
    let recorder = Arc::default();
    let result = record(&recorder, f);
    (result, recorder.executed.load(Ordering::Relaxed))
}

fn record<T>(recorder: &Arc<Recorder>, f: impl FnOnce() -> T) -> T {
    /// Puts back what was current, also after a panic.
    struct Restore(Option<Arc<Recorder>>);

    impl Drop for Restore {
        fn drop(&mut self) {
            CURRENT.set(self.0.take());
        }
    }

    let _restore = Restore(CURRENT.replace(Some(Arc::clone(recorder))));
    f()
}
