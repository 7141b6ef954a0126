//! Which instructions were executed, and which way branches went.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use super::Wave;

/// What launches executed, by kernel. Counting goes on until it is asked.
#[derive(Debug, Default)]
pub struct Coverage {
    kernels: Mutex<BTreeMap<String, Executed>>,
}

impl PartialEq for Coverage {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
    }
}

impl Eq for Coverage {}

impl Coverage {
    /// What was executed so far, by the kernel's name.
    pub fn kernels(&self) -> BTreeMap<String, Executed> {
        self.kernels.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// What was executed so far of one kernel.
    pub fn kernel(&self, name: &str) -> Executed {
        let kernels = self.kernels.lock().unwrap_or_else(PoisonError::into_inner);
        kernels.get(name).cloned().unwrap_or_default()
    }

    fn change(&self, kernel: &str, change: impl FnOnce(&mut Executed)) {
        let mut kernels = self.kernels.lock().unwrap_or_else(PoisonError::into_inner);
        match kernels.get_mut(kernel) {
            Some(executed) => change(executed),
            None => change(kernels.entry(kernel.to_owned()).or_default()),
        }
    }

    /// Notes a launch that ended.
    pub(super) fn launched(&self, kernel: &str, instructions: u64) {
        self.change(kernel, |executed| {
            executed.launches += 1;
            executed.instructions += instructions;
            executed.longest = executed.longest.max(instructions);
        });
    }
}

/// What was executed of a kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Executed {
    /// Launches.
    pub launches: u64,
    /// Wave instructions of all launches.
    pub instructions: u64,
    /// Wave instructions of the longest launch.
    pub longest: u64,
    /// By dword from the entry.
    seen: Vec<Seen>,
}

impl Executed {
    /// How the instruction at an offset from the entry, in bytes, was executed.
    pub fn at(&self, offset: u64) -> Seen {
        let index = usize::try_from(offset / 4).ok();
        index.and_then(|index| self.seen.get(index)).copied().unwrap_or_default()
    }

    /// Adds what was executed elsewhere.
    pub fn merge(&mut self, other: &Self) {
        self.launches += other.launches;
        self.instructions += other.instructions;
        self.longest = self.longest.max(other.longest);
        self.add(&other.seen);
    }

    fn add(&mut self, seen: &[Seen]) {
        if self.seen.len() < seen.len() {
            self.seen.resize(seen.len(), Seen::default());
        }
        self.seen.iter_mut().zip(seen).for_each(|(sum, seen)| sum.0 |= seen.0);
    }
}

/// How an instruction was executed, over all waves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Seen(u8);

impl Seen {
    const EXECUTED: u8 = 1;
    const LANES: u8 = 1 << 1;
    const FELL: u8 = 1 << 2;
    const JUMPED: u8 = 1 << 3;
    const STAYED: u8 = 1 << 4;
    const LEFT: u8 = 1 << 5;

    /// By some wave.
    pub fn executed(self) -> bool {
        self.0 & Self::EXECUTED != 0
    }

    /// By some wave with an active lane.
    pub fn with_lanes(self) -> bool {
        self.0 & Self::LANES != 0
    }

    /// And the next one after it.
    pub fn fell_through(self) -> bool {
        self.0 & Self::FELL != 0
    }

    /// And one elsewhere after it.
    pub fn jumped(self) -> bool {
        self.0 & Self::JUMPED != 0
    }

    /// And some lane was active behind it.
    pub fn lanes_stayed(self) -> bool {
        self.0 & Self::STAYED != 0
    }

    /// And some lane that was active was not any more.
    pub fn lanes_left(self) -> bool {
        self.0 & Self::LEFT != 0
    }
}

/// What one workgroup after the other executed.
#[derive(Debug)]
pub(super) struct Tally<'a> {
    coverage: &'a Coverage,
    kernel: &'a str,
    /// Index of the kernel's first instruction.
    entry: usize,
    seen: Vec<Seen>,
}

impl<'a> Tally<'a> {
    pub(super) fn new(coverage: &'a Coverage, kernel: &'a str, entry: usize) -> Self {
        Self { coverage, kernel, entry, seen: Vec::new() }
    }

    /// Notes the instruction at `index`, behind which `next` would follow, and that was executed
    /// with the lanes `before`.
    #[inline]
    pub(super) fn note(&mut self, wave: &Wave<'_>, index: usize, next: usize, before: u64) {
        let Some(at) = index.checked_sub(self.entry) else { return };
        if at >= self.seen.len() {
            self.seen.resize(at + 1, Seen::default());
        }
        let after = wave.exec();
        let bit = |holds, bit| if holds { bit } else { 0 };
        self.seen[at].0 |= Seen::EXECUTED
            | bit(before != 0, Seen::LANES)
            | bit(wave.pc == next, Seen::FELL)
            | bit(wave.pc != next, Seen::JUMPED)
            | bit(after != 0, Seen::STAYED)
            | bit(before & !after != 0, Seen::LEFT);
    }

    /// Called when a workgroup has ended.
    pub(super) fn end(&mut self) {
        self.coverage.change(self.kernel, |executed| executed.add(&self.seen));
        self.seen.fill(Seen::default());
    }
}
