//! Memory instructions of a wave that have not completed, and the registers that they will fill.

use std::collections::VecDeque;

use super::clock::Class;
use super::facts::{Facts, LaneRule, RowSet, scalar_bits};
use crate::isa::Operand;

/// Most instructions that may be outstanding when one of a class is issued: `vmcnt` counts to 63 and
/// `lgkmcnt` to 15, and issue stalls while they are full.
pub(super) fn room(class: Class) -> (Option<u32>, Option<u32>) {
    match class {
        Class::Vector => (Some(62), None),
        Class::Lds | Class::Scalar => (None, Some(14)),
    }
}

/// A load whose result has not arrived.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pending {
    sequence: u32,
    class: Class,
    dst: Operand,
    /// Lanes that it fills.
    lanes: u64,
    /// Index of the instruction.
    pub(super) index: u32,
}

/// Outstanding memory instructions of one wave.
#[derive(Debug, Default)]
pub(super) struct Counters {
    /// Instructions issued, by class.
    pub(super) issued: [u32; 3],
    /// Instructions completed, by class.
    pub(super) done: [u32; 3],
    pending: VecDeque<Pending>,
    /// Rows that pending loads will fill.
    rows: RowSet,
    /// Scalar registers that pending loads will fill.
    scalars: u128,
}

impl Counters {
    /// Forgets everything.
    pub(super) fn reset(&mut self) {
        self.pending.clear();
        (self.issued, self.done) = ([0; 3], [0; 3]);
        (self.rows, self.scalars) = (RowSet::default(), 0);
    }

    /// Stalls until the counter of a class has room for one more. Returns whether anything completes
    /// for certain: scalar loads share their counter with LDS and may be done in any order.
    #[inline]
    pub(super) fn stall(&mut self, class: Class) -> bool {
        let (vector, lgkm) = room(class);
        let is_full = |class: Class, left: Option<u32>| {
            let outstanding = self.issued[class as usize] - self.done[class as usize];
            left.is_some_and(|left| outstanding > left)
        };
        let stalls = is_full(Class::Vector, vector) || is_full(Class::Lds, lgkm);
        if stalls {
            self.wait(vector, lgkm);
        }
        stalls
    }

    /// Counts an instruction and returns its number.
    #[inline]
    pub(super) fn issue(&mut self, class: Class) -> u32 {
        let issued = &mut self.issued[class as usize];
        *issued += 1;
        *issued
    }

    /// Remembers that the last instruction of a class fills the lanes of registers.
    pub(super) fn expect(&mut self, class: Class, dst: Operand, lanes: u64, index: u32) {
        if !dst.is_some() || lanes == 0 {
            return;
        }
        let sequence = self.issued[class as usize];
        self.pending.push_back(Pending { sequence, class, dst, lanes, index });
        self.mark(dst);
    }

    fn mark(&mut self, dst: Operand) {
        if let Some(first) = dst.vector_index() {
            for row in first..first + usize::from(dst.dwords) {
                self.rows.insert(row & 511);
            }
        }
        self.scalars |= scalar_bits(dst);
    }

    /// `s_waitcnt`: at most `vector` vector instructions and `lgkm` others are outstanding then.
    ///
    /// An instruction has completed for certain if more of its class were issued behind it than
    /// may be outstanding. Scalar loads return in any order, so only zero says something of them.
    pub(super) fn wait(&mut self, vector: Option<u32>, lgkm: Option<u32>) {
        if let Some(left) = vector {
            self.complete(Class::Vector, left);
        }
        if let Some(left) = lgkm {
            self.complete(Class::Lds, left);
            if left == 0 {
                self.complete(Class::Scalar, 0);
            }
        }
        if self.pending.is_empty() {
            return;
        }
        let done = self.done;
        self.pending.retain(|load| load.sequence > done[load.class as usize]);
        self.recount();
    }

    fn complete(&mut self, class: Class, left: u32) {
        let done = &mut self.done[class as usize];
        *done = (*done).max(self.issued[class as usize].saturating_sub(left));
    }

    fn recount(&mut self) {
        (self.rows, self.scalars) = (RowSet::default(), 0);
        for at in 0..self.pending.len() {
            self.mark(self.pending[at].dst);
        }
    }

    /// The pending load whose registers an instruction uses too early, if there is one, and
    /// whether it reads them. The load is then forgotten.
    #[inline(always)]
    pub(super) fn misuse(&mut self, facts: &Facts, exec: u64) -> Option<(Pending, bool)> {
        let scalars = self.scalars & (facts.scalar_reads | facts.scalar_writes);
        if !self.rows.meets(&facts.touches) && scalars == 0 {
            return None;
        }
        self.find_misuse(facts, exec)
    }

    #[inline(never)]
    fn find_misuse(&mut self, facts: &Facts, exec: u64) -> Option<(Pending, bool)> {
        let lanes = if facts.lanes == LaneRule::Active { exec } else { u64::MAX };
        // Results of one class arrive in order, so a load may follow a load to the same register.
        let own = own_class(facts);
        let misused = |load: &Pending| {
            let mut rows = RowSet::default();
            if let Some(first) = load.dst.vector_index() {
                for row in first..first + usize::from(load.dst.dwords) {
                    rows.insert(row & 511);
                }
            }
            let scalars = scalar_bits(load.dst);
            let vector = load.lanes & lanes != 0;
            if vector && rows.meets(&facts.reads) || scalars & facts.scalar_reads != 0 {
                return Some(true);
            }
            let overwrites =
                vector && rows.meets(&facts.writes) || scalars & facts.scalar_writes != 0;
            (overwrites && (own != Some(load.class) || load.class == Class::Scalar))
                .then_some(false)
        };
        let (at, read) = self
            .pending
            .iter()
            .enumerate()
            .find_map(|(at, load)| misused(load).map(|read| (at, read)))?;
        let load = self.pending.remove(at)?;
        self.recount();
        Some((load, read))
    }
}

/// Class of a memory instruction with a single one.
pub(super) fn own_class(facts: &Facts) -> Option<Class> {
    use super::facts::Queue;
    facts.memory().and_then(|memory| match memory.queue {
        Queue::Vector => Some(Class::Vector),
        Queue::Lds => Some(Class::Lds),
        Queue::Scalar => Some(Class::Scalar),
        Queue::Flat => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn vgpr(row: u16, dwords: u8) -> Operand {
        Operand { code: Operand::VGPR + row, dwords }
    }

    fn pending(counters: &Counters) -> Vec<u32> {
        counters.pending.iter().map(|load| load.index).collect()
    }

    #[test]
    fn waits_complete_in_order_per_class() {
        let mut counters = Counters::default();
        for index in 0..4 {
            counters.issue(Class::Vector);
            counters.expect(Class::Vector, vgpr(index, 1), u64::MAX, index.into());
        }
        // A store counts but fills nothing.
        counters.issue(Class::Vector);
        counters.wait(Some(3), None);
        assert_eq!(pending(&counters), [2, 3]);
        counters.wait(Some(5), None);
        assert_eq!(counters.done[0], 2, "a weaker wait takes nothing back");
        counters.wait(Some(0), None);
        assert!(counters.pending.is_empty());
        assert_eq!(counters.rows, RowSet::default());
    }

    #[test]
    fn full_counters_stall() {
        let mut counters = Counters::default();
        let mut issue = |class, row| {
            counters.stall(class);
            counters.issue(class);
            counters.expect(class, vgpr(row, 1), u64::MAX, row.into());
            (counters.done, pending(&counters).first().copied())
        };
        for row in 0..63 {
            assert_eq!(issue(Class::Vector, row), ([0; 3], Some(0)));
        }
        assert_eq!(issue(Class::Vector, 63), ([1, 0, 0], Some(1)));
        for row in 100..115 {
            assert_eq!(issue(Class::Lds, row).0, [1, 0, 0]);
        }
        // Any of the scalar loads may be done, but not without reads of LDS.
        for (at, done) in (0..20).zip([1].into_iter().chain([1; 19])) {
            assert_eq!(issue(Class::Scalar, 200 + at).0, [1, done, 0]);
        }
        assert_eq!(issue(Class::Lds, 115).0, [1, 1, 0]);
        assert_eq!(issue(Class::Lds, 116).0, [1, 2, 0]);
    }

    #[test]
    fn scalar_loads_need_zero() {
        let mut counters = Counters::default();
        counters.issue(Class::Scalar);
        counters.expect(Class::Scalar, Operand { code: 4, dwords: 2 }, u64::MAX, 0);
        counters.issue(Class::Lds);
        counters.expect(Class::Lds, vgpr(0, 1), u64::MAX, 1);
        counters.issue(Class::Lds);
        counters.expect(Class::Lds, vgpr(1, 1), u64::MAX, 2);
        // Two may be outstanding: the scalar load and the younger read of LDS, or both reads.
        counters.wait(None, Some(2));
        assert_eq!(pending(&counters), [0, 1, 2]);
        counters.wait(None, Some(1));
        assert_eq!(pending(&counters), [0, 2]);
        assert_eq!(counters.scalars, 0b11 << 4);
        counters.wait(None, Some(0));
        assert!(counters.pending.is_empty());
        assert_eq!(counters.scalars, 0);
    }
}
