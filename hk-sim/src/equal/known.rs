//! What is known of registers before an instruction, from the entry on.

use std::borrow::Cow;

use super::alike::Alike;
use super::bits::{self, Bit, Word};
use super::lanes::{self, Lanes};
use super::{EXEC, Entry, REGISTERS, SCC, calculates, exhaust, is_of_lanes, registers, written};
use crate::isa::{Inst, Op, Operand};
use crate::object::{Placed, successors};

/// The bits that are known of every register.
#[derive(Clone, PartialEq)]
pub(super) struct Facts {
    zeros: Vec<u32>,
    ones: Vec<u32>,
}

impl Facts {
    pub(super) fn nothing() -> Self {
        Self { zeros: vec![0; REGISTERS], ones: vec![0; REGISTERS] }
    }

    /// Of lanes that there are none of, everything holds.
    fn of_no_lane() -> Self {
        Self { zeros: vec![u32::MAX; REGISTERS], ones: vec![u32::MAX; REGISTERS] }
    }

    /// A bit of a register.
    pub(super) fn bit(&self, register: usize, bit: u32) -> Option<bool> {
        match (self.zeros[register] >> bit & 1, self.ones[register] >> bit & 1) {
            (0, 0) => None,
            (_, one) => Some(one != 0),
        }
    }

    /// Whether all lanes execute.
    pub(super) fn whole(&self) -> bool {
        self.ones[EXEC] & self.ones[EXEC + 1] == u32::MAX
    }

    /// What is known if either holds.
    fn meet(&mut self, other: &Self) {
        let meet = |a: &mut [u32], b: &[u32]| a.iter_mut().zip(b).for_each(|(a, b)| *a &= b);
        meet(&mut self.zeros, &other.zeros);
        meet(&mut self.ones, &other.ones);
    }

    /// Notes the results of an instruction in lanes that have them, as far as they are known; `some` says
    /// that they may not all have them.
    fn write(&mut self, inst: &Inst, result: Option<&[Word]>, some: bool) {
        let scc = result.map_or(Bit::Opaque, |words| bits::scc(inst, self, words));
        for register in written(inst) {
            let at = registers(inst.dst[0]).position(|of| of == register);
            let word = at.and_then(|at| result?.get(at));
            let is = |value| {
                let word = word.copied().unwrap_or([Bit::Opaque; 32]);
                (0..32).filter(|bit| word[*bit] == Bit::Is(value)).map(|bit| 1 << bit).sum()
            };
            let (zeros, ones): (u32, u32) = (is(false), is(true));
            let kept = some && is_of_lanes(register);
            let of = |new: u32, old: u32| if kept { new & old } else { new };
            self.zeros[register] = of(zeros, self.zeros[register]);
            self.ones[register] = of(ones, self.ones[register]);
        }
        if inst.writes_scc() {
            self.zeros[SCC] = u32::from(scc == Bit::Is(false));
            self.ones[SCC] = u32::from(scc == Bit::Is(true));
        }
    }

    /// Takes over what is the same for all lanes.
    fn take_scalars(&mut self, from: &Self) {
        for register in (0..REGISTERS).filter(|register| !is_of_lanes(*register)) {
            self.zeros[register] = from.zeros[register];
            self.ones[register] = from.ones[register];
        }
    }
}

/// What is known of every register.
#[derive(Clone, PartialEq)]
pub(super) struct Known {
    /// In the lanes that execute.
    active: Facts,
    /// In the others.
    idle: Facts,
    /// In the first lane of a wave, which `v_readfirstlane` reads if all lanes execute it.
    first: Facts,
    /// Which lanes hold the same.
    pub(super) alike: Alike,
}

impl Known {
    pub(super) fn nothing() -> Self {
        let [active, idle, first] = std::array::from_fn(|_| Facts::nothing());
        Self { active, idle, first, alike: Alike::nothing() }
    }

    /// At the entry of workgroups that fill their waves.
    fn entry(Entry { threads, group }: Entry) -> Self {
        let mut entry = Self { idle: Facts::of_no_lane(), ..Self::nothing() };
        for facts in [&mut entry.active, &mut entry.first] {
            facts.ones[EXEC..EXEC + 2].fill(u32::MAX);
        }
        // The work-item's number, which begins with a multiple of 64 in each wave.
        let number = registers(Operand { code: Operand::VGPR, dwords: 1 }).next().unwrap_or(0);
        let zeros = !(threads.next_power_of_two() - 1);
        entry.active.zeros[number] = zeros;
        entry.first.zeros[number] = zeros | 63;
        if let Some(group) = group {
            // A launch counts its work-items along x in 32 bits.
            let zeros = !(u32::MAX >> threads.ilog2());
            entry.active.zeros[group] = zeros;
            entry.first.zeros[group] = zeros;
        }
        entry.idle.take_scalars(&entry.active);
        entry
    }

    /// What is known if either holds.
    pub(super) fn meet(&mut self, other: &Self) {
        self.active.meet(&other.active);
        self.idle.meet(&other.idle);
        self.first.meet(&other.first);
        self.alike.meet(&other.alike);
    }

    /// What is known of an instruction's sources.
    pub(super) fn of_sources(&self, inst: &Inst) -> Cow<'_, Facts> {
        if lanes::reads_own(inst) { Cow::Borrowed(&self.active) } else { Cow::Owned(self.all()) }
    }

    /// Whether all lanes execute.
    pub(super) fn whole(&self) -> bool {
        self.active.whole()
    }

    /// In all lanes.
    fn all(&self) -> Facts {
        let mut all = self.active.clone();
        all.meet(&self.idle);
        all
    }

    /// No lane executes.
    fn leave_none(&mut self) {
        let none = Facts::of_no_lane();
        let scalars = std::mem::replace(&mut self.active, none);
        self.active.take_scalars(&scalars);
    }

    /// Executes an instruction.
    fn execute(&mut self, inst: &Inst) {
        let whole = self.whole();
        let of = |known: &Facts| calculates(inst).then(|| bits::result(inst, known)).flatten();
        let reads_first = whole && inst.info.op == Op::v_readfirstlane_b32;
        let first = of(&self.first);
        let result = if reads_first { first.clone() } else { of(&self.of_sources(inst)) };
        // Scalar registers are the same for all.
        let first = if inst.dst[0].is_vector() { first } else { result.clone() };
        self.alike.execute(inst, whole);
        self.active.write(inst, result.as_deref(), false);
        self.first.write(inst, first.as_deref(), !whole);
        if !lanes::writes_own(inst) {
            self.idle.write(inst, None, false);
        }
        self.idle.take_scalars(&self.active);
        match lanes::change(inst) {
            Some(Lanes::Fewer) => self.idle.meet(&self.active),
            Some(Lanes::More) => self.active.meet(&self.idle),
            Some(Lanes::Rest) => {
                std::mem::swap(&mut self.active, &mut self.idle);
                self.idle.meet(&self.active);
            }
            Some(Lanes::Others) => {
                self.active.meet(&self.idle);
                self.idle = self.active.clone();
            }
            None => {}
        }
        if self.whole() {
            self.idle = Facts::of_no_lane();
            self.idle.take_scalars(&self.active);
        }
    }
}

/// What is known before each instruction.
pub(super) fn before(code: &[Placed], entry: Entry) -> Vec<Known> {
    let next = successors(code);
    let mut states: Vec<Option<Known>> = vec![None; code.len()];
    states[0] = Some(Known::entry(entry));
    exhaust([0], false, |at| {
        let Some(mut state) = states[at].clone() else { return vec![] };
        state.execute(&code[at].inst);
        let mut changed = Vec::new();
        for &to in &next[at] {
            let before = states[to].clone();
            let mut state = state.clone();
            if lanes::none_on_the_way(code, &next, at, to) {
                state.leave_none();
            }
            match &mut states[to] {
                Some(known) => known.meet(&state),
                none => *none = Some(state),
            }
            if states[to] != before {
                changed.push(to);
            }
        }
        changed
    });
    states.into_iter().map(|state| state.unwrap_or_else(Known::nothing)).collect()
}
