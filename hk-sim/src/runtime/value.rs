//! Words of memory that a stream writes, or waits for.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use super::copy::Side;
use super::error::{HipError, HipResult};
use super::memory;
use super::stream::{Failure, Job, Worker};

/// How a stream compares a word with the value that it waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Compare {
    GreaterOrEqual,
    Equal,
    And,
    Nor,
}

impl Compare {
    /// Comparison of the flags of `hipStreamWaitValue32`.
    pub(crate) fn from_flags(flags: u32) -> HipResult<Self> {
        match flags {
            0 => Ok(Self::GreaterOrEqual),
            1 => Ok(Self::Equal),
            2 => Ok(Self::And),
            3 => Ok(Self::Nor),
            _ => Err(HipError::INVALID_VALUE),
        }
    }
}

/// What is done with the word.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Action {
    Write,
    Wait { compare: Compare, mask: u64 },
}

/// One word, and what is done with it.
pub(crate) struct ValueOp {
    /// Keeps the allocation until the work is done.
    side: Side,
    /// Whether the word has 64 bits rather than 32.
    pub(crate) wide: bool,
    pub(crate) value: u64,
    pub(crate) action: Action,
}

impl ValueOp {
    /// Checks the address, which must be aligned and in memory that the runtime knows.
    pub(crate) fn new(address: u64, wide: bool, value: u64, action: Action) -> HipResult<Self> {
        let bytes = if wide { 8 } else { 4 };
        if !address.is_multiple_of(bytes) {
            return Err(HipError::INVALID_VALUE);
        }
        let side = Side::new(address, bytes, true)?;
        Ok(Self { side, wide, value, action })
    }

    pub(crate) fn address(&self) -> u64 {
        self.side.address
    }

    /// The operations one after the other, as work for a stream.
    pub(crate) fn job(ops: Arc<[Self]>) -> Job {
        Arc::new(move |worker| ops.iter().try_for_each(|op| op.execute(worker)))
    }

    fn execute(&self, worker: &mut Worker<'_>) -> Result<(), Failure> {
        self.side.check()?;
        match self.action {
            Action::Write => {
                worker.release(self.side.address);
                self.write();
            }
            Action::Wait { compare, mask } => {
                // What changes the word is another stream or the host, which tells nobody.
                const PAUSE: Duration = Duration::from_micros(20);
                while !self.is_reached(compare, mask) {
                    std::thread::sleep(PAUSE);
                }
                worker.acquire(self.side.address);
            }
        }
        Ok(())
    }

    fn is_reached(&self, compare: Compare, mask: u64) -> bool {
        let found = self.read() & mask;
        match compare {
            Compare::GreaterOrEqual => found >= self.value,
            Compare::Equal => found == self.value,
            Compare::And => found & self.value != 0,
            Compare::Nor => {
                let width = if self.wide { u64::MAX } else { u32::MAX.into() };
                !(found | (self.value & mask)) & width != 0
            }
        }
    }

    fn read(&self) -> u64 {
        let at = self.side.address as usize;
        // SAFETY: the word is aligned and inside the allocation, as `new` checked; the side keeps
        // it alive. Whoever else writes the word meanwhile has to do so in one access.
        unsafe {
            if self.wide {
                let word = std::ptr::with_exposed_provenance_mut(at);
                AtomicU64::from_ptr(word).load(Ordering::Acquire)
            } else {
                let word = std::ptr::with_exposed_provenance_mut(at);
                AtomicU32::from_ptr(word).load(Ordering::Acquire).into()
            }
        }
    }

    fn write(&self) {
        let at = self.side.address as usize;
        // SAFETY: as in `read`.
        unsafe {
            if self.wide {
                let word = std::ptr::with_exposed_provenance_mut(at);
                AtomicU64::from_ptr(word).store(self.value, Ordering::Release);
            } else {
                let word = std::ptr::with_exposed_provenance_mut(at);
                AtomicU32::from_ptr(word).store(self.value as u32, Ordering::Release);
            }
        }
        memory().note_write(self.side.address, if self.wide { 8 } else { 4 });
    }
}
