//! Counting what kernels do, for [`counters`](crate::counters).

use std::sync::{Mutex, PoisonError};

use super::facts::{Access, Action, Facts, Memory, Queue, Space};
use crate::counters::{Banks, Class, Counters, Direction, Recorder, Touched};
use crate::exec::Wave;
use crate::exec::effects::{Range, Reach, locate, locate_scalar, locate_slots};
use crate::isa::Op;

/// What the workgroups of a launch did so far.
#[derive(Default)]
struct Sum {
    counters: Counters,
    /// Matrix instructions, of which there are few kinds.
    matrix: Vec<(Op, u64)>,
    read: Touched,
    written: Touched,
}

impl Sum {
    fn count_matrix(&mut self, op: Op, count: u64) {
        match self.matrix.iter_mut().find(|(known, _)| *known == op) {
            Some((_, sum)) => *sum += count,
            None => self.matrix.push((op, count)),
        }
    }

    fn merge(&mut self, other: Self) {
        self.counters.add(&other.counters);
        other.matrix.into_iter().for_each(|(op, count)| self.count_matrix(op, count));
        self.read.merge(other.read);
        self.written.merge(other.written);
    }
}

/// Counts a launch.
pub(super) struct Counting<'a> {
    recorder: &'a Recorder,
    sum: Mutex<Sum>,
}

impl<'a> Counting<'a> {
    pub(super) fn new(recorder: &'a Recorder) -> Self {
        Self { recorder, sum: Mutex::default() }
    }

    /// Hands over what the launch did.
    pub(super) fn finish(self, kernel: &str) {
        let Sum { mut counters, matrix, read, written } =
            self.sum.into_inner().unwrap_or_else(PoisonError::into_inner);
        counters.launches = 1;
        counters.matrix = matrix.into_iter().map(|(op, n)| (op.name().to_owned(), n)).collect();
        (counters.distinct_read_bytes, counters.distinct_written_bytes) =
            (read.len(), written.len());
        self.recorder.add(kernel, &counters);
    }
}

/// Counts a workgroup.
pub(super) struct GroupCounting<'a> {
    counting: &'a Counting<'a>,
    sum: Sum,
    reach: Reach,
    banks: Banks,
}

impl<'a> GroupCounting<'a> {
    pub(super) fn new(counting: &'a Counting<'a>) -> Self {
        Self { counting, sum: Sum::default(), reach: Reach::new(), banks: Banks::new() }
    }

    /// Counts the instruction that a wave is about to execute.
    pub(super) fn note(&mut self, wave: &Wave<'_>, facts: &Facts) {
        self.sum.counters.instructions.count(facts.class);
        if facts.class == Class::Matrix {
            self.sum.count_matrix(facts.inst.info.op, 1);
        }
        if let Action::Memory(memory) = &facts.action {
            self.memory(wave, facts, memory);
        }
    }

    /// Adds the workgroup, which has ended, to the launch.
    pub(super) fn end(&mut self) {
        let own = std::mem::take(&mut self.sum);
        self.counting.sum.lock().unwrap_or_else(PoisonError::into_inner).merge(own);
    }

    fn memory(&mut self, wave: &Wave<'_>, facts: &Facts, memory: &Memory) {
        if memory.space == Space::None {
            return;
        }
        if memory.queue == Queue::Scalar {
            let (start, len) = locate_scalar(wave, &facts.inst, memory);
            touch(&mut self.sum, memory.access, len.into(), &[Range { start, len, lane: 0 }]);
            if memory.access == Access::Load {
                self.sum.counters.scalar_read_bytes += u64::from(len);
            }
            return;
        }
        locate(wave, &facts.inst, memory, false, &mut self.reach);
        if self.reach.global != 0 {
            let bytes = self.reach.global_bytes();
            touch(&mut self.sum, memory.access, bytes, self.reach.in_global.as_slice());
        }
        let direction = match memory.access {
            Access::Load => Direction::Read,
            Access::Store | Access::ToLds { .. } => Direction::Write,
            Access::Atomic => Direction::Atomic,
        };
        self.lds(wave, direction);
        if memory.second.is_some() {
            locate(wave, &facts.inst, memory, true, &mut self.reach);
            self.lds(wave, direction);
        }
        if let Access::ToLds { slot } = memory.access {
            locate_slots(wave, memory, slot, wave.exec(), &mut self.reach);
            self.lds(wave, direction);
        }
    }

    /// Counts an access to LDS; lanes out of range make none.
    fn lds(&mut self, wave: &Wave<'_>, direction: Direction) {
        let reach = &self.reach;
        if reach.lds == 0 {
            return;
        }
        let (len, bytes) = (u64::from(wave.lds_len), u64::from(reach.bytes));
        let inside = |lanes, (lane, at): (usize, &u64)| {
            lanes | u64::from(at.saturating_add(bytes) <= len) << lane
        };
        let lanes = reach.lds & reach.at.iter().enumerate().fold(0, inside);
        if lanes != 0 {
            let (arch, bytes) = (wave.env.arch, reach.bytes);
            let cycles = self.banks.conflict_cycles(arch, direction, bytes, lanes, &reach.at);
            self.sum.counters.lds_accesses += 1;
            self.sum.counters.lds_conflict_cycles += cycles;
        }
    }
}

/// Counts bytes of device memory.
fn touch(sum: &mut Sum, access: Access, bytes: u64, ranges: &[Range]) {
    let Sum { counters, read, written, .. } = sum;
    let insert = |touched: &mut Touched| {
        for range in ranges {
            touched.insert(range.start, range.len.into());
        }
    };
    if access != Access::Store {
        counters.read_bytes += bytes;
        insert(read);
    }
    if matches!(access, Access::Store | Access::Atomic) {
        counters.written_bytes += bytes;
        insert(written);
    }
}
