//! Which instructions of a function can be executed, and which way its branches can go.
//!
//! Compilers make branches that go one way: around code that no lane executes, where some lane
//! always does, and by constants that were set a few instructions before. To tell them from branches
//! that no test has taken, the function is interpreted on sets of values: of each scalar register,
//! one value or all; of each pair of them, whether it is known not to be zero, by itself or together
//! with EXEC. At the entry nothing is known but that EXEC is not zero, as every wave has a lane.
//! Where ways meet, what is known is what is known on both. So every execution is among those that
//! are found possible, whatever the arguments; those that are not found do not exist.
//!
//! The second kind of pairs is how compilers keep lanes: `s_and_saveexec` and what follows it split
//! EXEC into two masks, either of which may be zero, and unite them later.

use std::collections::{BTreeMap, BTreeSet};

use crate::isa::{Inst, Op, Operand};
use crate::object::{Next, Placed};

/// What can be executed of a function.
#[derive(Clone, Debug, Default)]
pub struct Flow {
    by_offset: BTreeMap<u64, Ways>,
}

/// Where execution can go on behind an instruction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ways {
    /// At the next one.
    pub through: bool,
    /// Elsewhere.
    pub elsewhere: bool,
}

impl Flow {
    /// Looks at a function, all of whose instructions are given in order.
    pub fn of(code: &[Placed]) -> Self {
        if code.iter().any(|placed| placed.next() == Next::Anywhere) {
            let any = Ways { through: true, elsewhere: true };
            return Self { by_offset: code.iter().map(|placed| (placed.offset, any)).collect() };
        }
        let at: BTreeMap<u64, &Placed> =
            code.iter().map(|placed| (placed.offset, placed)).collect();
        let mut flow = Self::default();
        let mut before: BTreeMap<u64, State> = BTreeMap::from([(0, State::entry())]);
        let mut open = BTreeSet::from([0]);
        while let Some(offset) = open.pop_first() {
            let Some(placed) = at.get(&offset) else { continue };
            let Some(mut state) = before.get(&offset).cloned() else { continue };
            let ways = flow.by_offset.entry(offset).or_default();
            let behind = offset + u64::from(placed.inst.size);
            let (through, elsewhere) = match placed.next() {
                Next::Through => {
                    state.execute(&placed.inst);
                    (Some(state), None)
                }
                Next::Jump(target) => (None, Some((target, state))),
                Next::Branch(target) => {
                    let op = placed.inst.info.op;
                    let taken = state.after_branch(op, true).map(|state| (target, state));
                    (state.after_branch(op, false), taken)
                }
                Next::End | Next::Anywhere => (None, None),
            };
            ways.through |= through.is_some();
            ways.elsewhere |= elsewhere.is_some();
            for (to, state) in through.map(|state| (behind, state)).into_iter().chain(elsewhere) {
                let both = before.get(&to).map(|known| known.or(&state)).unwrap_or(state);
                if before.get(&to) != Some(&both) {
                    before.insert(to, both);
                    open.insert(to);
                }
            }
        }
        flow
    }

    /// Where execution can go on behind the instruction at an offset; nothing if it cannot be
    /// executed.
    pub fn behind(&self, offset: u64) -> Option<Ways> {
        self.by_offset.get(&offset).copied()
    }
}

/// What is known of a value of 64 bits.
#[derive(Clone, Copy, PartialEq)]
enum Value {
    Is(u64),
    NotZero,
    Any,
}

impl Value {
    fn is_zero(self) -> Option<bool> {
        match self {
            Self::Is(value) => Some(value == 0),
            Self::NotZero => Some(false),
            Self::Any => None,
        }
    }

    fn not(self) -> Self {
        if let Self::Is(value) = self { Self::Is(!value) } else { Self::Any }
    }

    fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Is(a), Self::Is(b)) => Self::Is(a & b),
            (Self::Is(0), _) | (_, Self::Is(0)) => Self::Is(0),
            (Self::Is(u64::MAX), value) | (value, Self::Is(u64::MAX)) => value,
            _ => Self::Any,
        }
    }

    fn or(self, other: Self) -> Self {
        match (self, other) {
            (Self::Is(a), Self::Is(b)) => Self::Is(a | b),
            (Self::Is(0), value) | (value, Self::Is(0)) => value,
            _ if self.is_zero() == Some(false) || other.is_zero() == Some(false) => Self::NotZero,
            _ => Self::Any,
        }
    }

    fn xor(self, other: Self) -> Self {
        match (self, other) {
            (Self::Is(a), Self::Is(b)) => Self::Is(a ^ b),
            (Self::Is(0), value) | (value, Self::Is(0)) => value,
            _ => Self::Any,
        }
    }
}

const VCC: Operand = Operand { code: Operand::VCC, dwords: 2 };
const EXEC: Operand = Operand { code: Operand::EXEC, dwords: 2 };

/// What is known before an instruction.
#[derive(Clone, PartialEq)]
struct State {
    scalars: [Option<u32>; 128],
    /// By the first of a pair: it is not zero.
    not_zero: u128,
    /// By the first of a pair: it or EXEC is not zero.
    beside_exec: u128,
    scc: Option<bool>,
}

impl State {
    fn nothing() -> Self {
        Self { scalars: [None; 128], not_zero: 0, beside_exec: 0, scc: None }
    }

    fn entry() -> Self {
        let mut state = Self::nothing();
        state.set(EXEC, Value::NotZero);
        state
    }

    /// What is known if either holds.
    fn or(&self, other: &Self) -> Self {
        let same = |at: usize| self.scalars[at].filter(|value| other.scalars[at] == Some(*value));
        Self {
            scalars: std::array::from_fn(same),
            not_zero: self.not_zero & other.not_zero,
            beside_exec: self.beside_exec & other.beside_exec,
            scc: self.scc.filter(|scc| other.scc == Some(*scc)),
        }
    }

    fn value(&self, inst: &Inst, operand: Operand) -> Value {
        if let Some(first) = operand.scalar_index() {
            let known = |at: usize| self.scalars.get(at).copied().flatten().map(u64::from);
            let is_not_zero = self.not_zero >> first & 1 != 0;
            return match (operand.dwords, known(first), known(first + 1)) {
                (1, Some(low), _) => Value::Is(low),
                (2, Some(low), Some(high)) => Value::Is(high << 32 | low),
                (2, ..) if is_not_zero => Value::NotZero,
                _ => Value::Any,
            };
        }
        let wide = |value: i64| match operand.dwords {
            1 => Value::Is(u64::from(value as u32)),
            _ => Value::Is(value as u64),
        };
        match operand.code {
            128..=192 => wide(i64::from(operand.code) - 128),
            193..=208 => wide(192 - i64::from(operand.code)),
            Operand::LITERAL if operand.dwords == 1 => Value::Is(inst.literal.into()),
            _ => Value::Any,
        }
    }

    fn is_beside_exec(&self, operand: Operand) -> bool {
        operand.scalar_index().is_some_and(|first| self.beside_exec >> first & 1 != 0)
    }

    /// Notes that a scalar register or pair has changed.
    fn set(&mut self, operand: Operand, value: Value) {
        let Some(first) = operand.scalar_index() else { return };
        let end = (first + usize::from(operand.dwords)).min(128);
        for at in first..end {
            self.scalars[at] = None;
            // The pairs that begin here and before.
            let pairs = if at == 0 { 1 } else { 3 << (at - 1) };
            self.not_zero &= !pairs;
            self.beside_exec &= !pairs;
            if at >= EXEC.code.into() {
                self.beside_exec = 0;
            }
        }
        match value {
            Value::Is(value) if operand.dwords <= 2 => {
                for at in first..end {
                    self.scalars[at] = Some((value >> (32 * (at - first))) as u32);
                }
            }
            Value::NotZero if operand.dwords == 2 => self.not_zero |= 1 << first,
            _ => {}
        }
        self.conclude();
    }

    /// What follows from what is known.
    fn conclude(&mut self) {
        for at in 0..127 {
            if [at, at + 1].iter().any(|at| self.scalars[*at].is_some_and(|value| value != 0)) {
                self.not_zero |= 1 << at;
            }
        }
        let exec = self.not_zero >> EXEC.code & 1 != 0;
        self.beside_exec |= if exec { u128::MAX } else { self.not_zero };
    }

    /// Notes that this pair or EXEC is not zero.
    fn set_beside_exec(&mut self, operand: Operand, holds: bool) {
        if let Some(first) = operand.scalar_index()
            && holds
        {
            self.beside_exec |= 1 << first;
        }
    }

    fn forget(&mut self, inst: &Inst) {
        inst.writes(&mut |operand| self.set(operand, Value::Any));
        if inst.writes_scc() {
            self.scc = None;
        }
    }

    /// Sets a result of bits, which SCC tells from zero.
    fn set_bits(&mut self, operand: Operand, value: Value) {
        self.set(operand, value);
        self.scc = value.is_zero().map(|zero| !zero);
    }

    fn execute(&mut self, inst: &Inst) {
        let [dst, _] = inst.dst;
        let [a, b, ..] = inst.src;
        let values = [a, b].map(|operand| self.value(inst, operand));
        let exec = self.value(inst, EXEC);
        let [one, other] = values;
        match inst.info.op {
            Op::s_mov_b32 | Op::s_mov_b64 => {
                let beside = dst.dwords == 2 && dst != EXEC && self.is_beside_exec(a);
                self.set(dst, one);
                self.set_beside_exec(dst, beside);
            }
            Op::s_movk_i32 => {
                let value = i32::from(inst.simm16.cast_signed()).cast_unsigned();
                self.set(dst, Value::Is(value.into()));
            }
            Op::s_cselect_b32 | Op::s_cselect_b64 => {
                let value = match self.scc {
                    Some(true) => one,
                    Some(false) => other,
                    None if one == other => one,
                    None => Value::Any,
                };
                self.set(dst, value);
            }
            Op::s_and_b64 => self.set_bits(dst, one.and(other)),
            Op::s_andn2_b64 => {
                // (EXEC & ~b) | b == EXEC | b
                let beside = (dst, a) == (EXEC, EXEC) && b != EXEC && self.is_beside_exec(b);
                self.set_bits(dst, one.and(other.not()));
                self.set_beside_exec(b, beside);
            }
            Op::s_or_b64 => {
                let united =
                    a == EXEC && self.is_beside_exec(b) || b == EXEC && self.is_beside_exec(a);
                let value = one.or(other);
                let value = if value == Value::Any && united { Value::NotZero } else { value };
                self.set_bits(dst, value);
            }
            Op::s_xor_b64 => {
                // EXEC | (EXEC ^ b) == EXEC | b == (EXEC ^ b) | b
                let mask = if a == EXEC { b } else { a };
                let beside = (a == EXEC) != (b == EXEC) && self.is_beside_exec(mask);
                self.set_bits(dst, one.xor(other));
                self.set_beside_exec(if dst == EXEC { mask } else { dst }, beside);
            }
            Op::s_and_saveexec_b64 | Op::s_or_saveexec_b64 | Op::s_andn2_saveexec_b64 => {
                let united = self.is_beside_exec(a);
                let value = match inst.info.op {
                    Op::s_and_saveexec_b64 => one.and(exec),
                    Op::s_andn2_saveexec_b64 => one.and(exec.not()),
                    _ if united => Value::NotZero,
                    _ => one.or(exec),
                };
                self.set_bits(EXEC, value);
                self.set(dst, exec);
                // (a & ~EXEC) | EXEC == a | EXEC
                self.set_beside_exec(dst, united && inst.info.op != Op::s_and_saveexec_b64);
            }
            _ if inst.info.op.name().starts_with("s_cmp") => {
                let known = match (one, other) {
                    (Value::Is(a), Value::Is(b)) => compare(inst.info.op, a, b),
                    _ => None,
                };
                self.scc = known;
            }
            // Which register they write, M0 says.
            _ if inst.info.op.name().starts_with("s_movreld") => {
                *self = Self::nothing();
            }
            _ => self.forget(inst),
        }
    }

    /// What is known behind a branch that was taken or not; nothing if it cannot be.
    fn after_branch(&self, op: Op, taken: bool) -> Option<Self> {
        let mut state = self.clone();
        match op {
            Op::s_cbranch_scc0 | Op::s_cbranch_scc1 => {
                let scc = (op == Op::s_cbranch_scc1) == taken;
                if self.scc == Some(!scc) {
                    return None;
                }
                state.scc = Some(scc);
            }
            Op::s_cbranch_execz
            | Op::s_cbranch_execnz
            | Op::s_cbranch_vccz
            | Op::s_cbranch_vccnz => {
                let of_exec = matches!(op, Op::s_cbranch_execz | Op::s_cbranch_execnz);
                let mask = if of_exec { EXEC } else { VCC };
                let zero = matches!(op, Op::s_cbranch_execz | Op::s_cbranch_vccz) == taken;
                let first = usize::from(mask.code);
                let known = match (state.scalars[first], state.scalars[first + 1]) {
                    (Some(low), Some(high)) => Some(low | high == 0),
                    _ if state.not_zero >> first & 1 != 0 => Some(false),
                    _ => None,
                };
                if known == Some(!zero) {
                    return None;
                }
                // The register has not changed, so what goes for it together with others stays.
                if zero {
                    state.scalars[first..first + 2].fill(Some(0));
                } else {
                    state.not_zero |= 1 << first;
                }
                state.conclude();
            }
            _ => {}
        }
        Some(state)
    }
}

/// The result of a scalar comparison of which both values are known.
fn compare(op: Op, a: u64, b: u64) -> Option<bool> {
    let (signed_a, signed_b) = (a as u32 as i32, b as u32 as i32);
    Some(match op {
        Op::s_cmp_eq_u32 | Op::s_cmp_eq_i32 | Op::s_cmp_eq_u64 => a == b,
        Op::s_cmp_lg_u32 | Op::s_cmp_lg_i32 | Op::s_cmp_lg_u64 => a != b,
        Op::s_cmp_lt_u32 => a < b,
        Op::s_cmp_le_u32 => a <= b,
        Op::s_cmp_gt_u32 => a > b,
        Op::s_cmp_ge_u32 => a >= b,
        Op::s_cmp_lt_i32 => signed_a < signed_b,
        Op::s_cmp_le_i32 => signed_a <= signed_b,
        Op::s_cmp_gt_i32 => signed_a > signed_b,
        Op::s_cmp_ge_i32 => signed_a >= signed_b,
        _ => return None,
    })
}
