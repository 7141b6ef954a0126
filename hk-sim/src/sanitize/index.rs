//! Addresses that were computed in 32 bits and need more.
//!
//! A sum or product of 32 bits may stand for a signed or an unsigned number. As long as one of the
//! two is the true value, nothing is wrong: 60000 * 60000 is right as an unsigned number, -3 * 5 as
//! a signed one. A register is *marked* where only one of them is, or neither; constants and what
//! comes from memory may be read either way. It matters when an address is made of it:
//!
//! - a value that neither is, by whatever way;
//! - an unsigned one that is extended by its sign, a signed one that is extended by zeros.
//!
//! Marks are followed through copies, selections, sums, left shifts and products with constants.
//! Differences with an overflown value and products of it are not: those are remainders and hash
//! functions, which overflow by design. Neither are low halves of 64-bit products and sums, nor
//! addresses of LDS and private memory.

use super::Kind;
use super::facts::{Facts, Memory, RowSet, Space, ones};
use super::group::GroupChecker;
use super::launch::{Draft, Who};
use crate::exec::{Program, VCC, WAVE, Wave};
use crate::isa::{Ext, Inst, Op, Operand};

/// Lanes of a register whose value is not what 32 bits say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Mark {
    not_unsigned: u64,
    not_signed: u64,
    /// Instruction that made it so.
    origin: u32,
}

impl Mark {
    fn any(self) -> u64 {
        self.not_unsigned | self.not_signed
    }

    /// Lanes that are wrong however they are read.
    fn lost(self) -> u64 {
        self.not_unsigned & self.not_signed
    }

    /// Lanes that are wrong, as a mark.
    fn wrong(lanes: u64, origin: u32) -> Self {
        Self { not_unsigned: lanes, not_signed: lanes, origin }
    }

    fn only(self, lanes: u64) -> Self {
        Self {
            not_unsigned: self.not_unsigned & lanes,
            not_signed: self.not_signed & lanes,
            ..self
        }
    }

    fn or(self, other: Self) -> Self {
        Self {
            not_unsigned: self.not_unsigned | other.not_unsigned,
            not_signed: self.not_signed | other.not_signed,
            origin: if self.any() != 0 { self.origin } else { other.origin },
        }
    }
}

/// What an arithmetic step does with the value so far and another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Add,
    Sub,
    Mul,
    /// Of the low 24 bits.
    Mul24,
    /// By the low five bits.
    Shl,
    Or,
    And,
}

/// Where a step finds a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Input {
    Source(u8),
    Destination,
    Number(u32),
}

/// How an instruction passes on marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// Nothing that is written is a sum or product.
    Other,
    /// Arithmetic in 32 bits: a value and up to two steps.
    Narrow(Input, [Option<(Step, Input)>; 2]),
    /// The first source, dword by dword.
    Copy,
    /// One of two sources.
    Select,
    /// One lane of the first source.
    ReadLane,
    /// The sign of the source, to extend it.
    Sign,
    /// A sum in 64 bits of these sources.
    Wide(&'static [u8]),
    /// A product in 64 bits and a sum.
    WideProduct { signed: bool },
    /// The low or high dword of a sum with carry.
    Carry,
}

impl Form {
    /// Form of the instruction at an index.
    pub(super) fn of(program: &Program, index: usize, inst: &Inst) -> Self {
        use Input::{Destination, Number, Source};
        use Step::{Add, And, Mul, Mul24, Or, Shl, Sub};

        if inst.ext != Ext::None || inst.clamp {
            return Self::Other;
        }
        let one = |start, step, other| Self::Narrow(Source(start), [Some((step, other)), None]);
        let two = |step, then| {
            Self::Narrow(Source(0), [Some((step, Source(1))), Some((then, Source(2)))])
        };
        let immediate = |step| {
            let number = i32::from(inst.simm16 as i16) as u32;
            Self::Narrow(Destination, [Some((step, Number(number))), None])
        };
        let shift_add =
            |by| Self::Narrow(Source(0), [Some((Shl, Number(by))), Some((Add, Source(1)))]);
        match inst.info.base() {
            "v_add_u32" | "v_add_i32" | "s_add_i32" => one(0, Add, Source(1)),
            "v_sub_u32" | "v_sub_i32" | "s_sub_i32" => one(0, Sub, Source(1)),
            "v_subrev_u32" => one(1, Sub, Source(0)),
            "v_mul_lo_u32" | "s_mul_i32" | "v_mul_u32_u24" | "v_mul_i32_i24"
                if is_low_half(program, index, inst) =>
            {
                Self::Other
            }
            "v_mul_lo_u32" | "s_mul_i32" => one(0, Mul, Source(1)),
            "v_mul_u32_u24" | "v_mul_i32_i24" => one(0, Mul24, Source(1)),
            "v_lshlrev_b32" => one(1, Shl, Source(0)),
            "s_lshl_b32" => one(0, Shl, Source(1)),
            "v_or_b32" | "s_or_b32" => one(0, Or, Source(1)),
            "v_and_b32" | "s_and_b32" => one(0, And, Source(1)),
            "v_add3_u32" => two(Add, Add),
            "v_lshl_add_u32" => two(Shl, Add),
            "v_add_lshl_u32" => two(Add, Shl),
            "v_lshl_or_b32" => two(Shl, Or),
            "v_mad_u32_u24" | "v_mad_i32_i24" => two(Mul24, Add),
            "s_addk_i32" => immediate(Add),
            "s_mulk_i32" => immediate(Mul),
            "s_lshl1_add_u32" => shift_add(1),
            "s_lshl2_add_u32" => shift_add(2),
            "s_lshl3_add_u32" => shift_add(3),
            "s_lshl4_add_u32" => shift_add(4),
            "v_mov_b32"
            | "v_mov_b64"
            | "s_mov_b32"
            | "s_mov_b64"
            | "v_accvgpr_read_b32"
            | "v_accvgpr_write_b32"
            | "v_accvgpr_mov_b32" => Self::Copy,
            "v_cndmask_b32" | "s_cselect_b32" | "s_cselect_b64" => Self::Select,
            "v_readlane_b32" | "v_readfirstlane_b32" => Self::ReadLane,
            "v_ashrrev_i32" if inst.src[0].code == 128 + 31 => Self::Sign,
            "s_ashr_i32" if inst.src[1].code == 128 + 31 => Self::Sign,
            "v_lshl_add_u64" => Self::Wide(&[0, 2]),
            "v_lshlrev_b64" => Self::Wide(&[1]),
            "s_lshl_b64" => Self::Wide(&[0]),
            "v_mad_u64_u32" => Self::WideProduct { signed: false },
            "v_mad_i64_i32" => Self::WideProduct { signed: true },
            "v_add_co_u32" | "v_addc_co_u32" | "s_add_u32" | "s_addc_u32" => Self::Carry,
            _ => Self::Other,
        }
    }
}

/// Dwords on either side of a product in which the other half of it is looked for.
const HALF_REACH: usize = 200;

/// Whether the high half of the same product is computed too.
fn is_low_half(program: &Program, index: usize, inst: &Inst) -> bool {
    let factors = [inst.src[0], inst.src[1]];
    let is_high_half = |other: &Inst| {
        let [a, b] = [other.src[0], other.src[1]];
        ([a, b] == factors || [b, a] == factors)
            && other.info.base().contains("_mul_hi_")
            && other.literal == inst.literal
    };
    // Going back, some of what is decoded are literals; they hardly look like the other half.
    let finds = |places: &mut dyn Iterator<Item = usize>| {
        places
            .filter_map(|at| program.inst_at(at).ok())
            .take_while(|other| other.info.op != Op::s_endpgm)
            .any(|other| is_high_half(&other))
    };
    finds(&mut (index..index + HALF_REACH))
        || finds(&mut (index.saturating_sub(HALF_REACH)..index).rev())
}

/// 32 bits in every lane, or the same in all.
struct Value {
    bits: [u32; WAVE],
    mark: Mark,
    /// A constant of the program.
    is_constant: bool,
}

/// Marks of the registers of a wave.
#[derive(Debug)]
pub(super) struct Marks {
    rows: Box<[Mark; 512]>,
    /// Rows with marks.
    any: RowSet,
    scalars: Box<[Mark; 128]>,
    /// Scalar registers with marks.
    any_scalar: u128,
}

impl Default for Marks {
    fn default() -> Self {
        Self {
            rows: Box::new([Mark::default(); 512]),
            any: RowSet::default(),
            scalars: Box::new([Mark::default(); 128]),
            any_scalar: 0,
        }
    }
}

impl Marks {
    /// Takes all marks away.
    pub(super) fn clear(&mut self) {
        self.any = RowSet::default();
        self.rows.fill(Mark::default());
        self.any_scalar = 0;
        self.scalars.fill(Mark::default());
    }

    /// Mark of a dword of an operand; of a scalar one all lanes are alike.
    fn mark(&self, operand: Operand, dword: usize) -> Mark {
        match (operand.vector_index(), operand.scalar_index()) {
            (Some(row), _) => self.rows[(row + dword) & 511],
            (_, Some(register)) => self.scalars[(register + dword) & 127],
            _ => Mark::default(),
        }
    }

    fn value(&self, wave: &Wave<'_>, inst: &Inst, from: Input) -> Value {
        let operand = match from {
            Input::Source(at) => inst.src[usize::from(at)],
            Input::Destination => inst.dst[0],
            Input::Number(number) => {
                let mark = Mark::default();
                return Value { bits: [number; WAVE], mark, is_constant: true };
            }
        };
        let bits = match operand.vector_index() {
            Some(row) => *wave.row(row & 511),
            None => [wave.scalar(operand.code, inst.literal); WAVE],
        };
        let is_register = operand.is_vector() || operand.scalar_index().is_some();
        Value { bits, mark: self.mark(operand, 0), is_constant: !is_register }
    }

    /// Bits of a dword of an operand in a lane.
    fn dword(wave: &Wave<'_>, inst: &Inst, operand: Operand, dword: usize, lane: usize) -> u32 {
        match operand.vector_index() {
            Some(row) => wave.row((row + dword) & 511)[lane],
            None => (wave.scalar64(operand.code, inst.literal, true) >> (32 * dword)) as u32,
        }
    }

    /// Lanes in which a 64-bit operand is not the number that it stands for.
    fn wrong_pair(&self, wave: &Wave<'_>, inst: &Inst, operand: Operand) -> Mark {
        self.wrong_halves(wave, inst, operand)[1]
    }

    /// Of a 64-bit operand, lanes in which it is not the number that it stands for, for its low
    /// half alone, in sums of which the high half does not matter, and for both.
    fn wrong_halves(&self, wave: &Wave<'_>, inst: &Inst, operand: Operand) -> [Mark; 2] {
        let (low, high) = (self.mark(operand, 0), self.mark(operand, 1));
        let mut lanes = low.lost();
        for lane in ones(low.any() & !lanes) {
            let extended = Self::dword(wave, inst, operand, 1, lane);
            let unfit = match extended {
                0 => low.not_unsigned,
                u32::MAX => low.not_signed,
                _ => 0,
            };
            lanes |= unfit & 1 << lane;
        }
        let low = Mark::wrong(lanes, low.origin);
        [low, low.or(Mark::wrong(high.lost(), high.origin))]
    }

    fn set(&mut self, operand: Operand, dword: usize, exec: u64, mark: Mark) {
        if let Some(row) = operand.vector_index() {
            let row = (row + dword) & 511;
            let kept = self.rows[row].only(!exec);
            let mark = mark.only(exec).or(kept);
            self.rows[row] = mark;
            if mark.any() == 0 { self.any.remove(row) } else { self.any.insert(row) }
        } else if let Some(register) = operand.scalar_index() {
            let register = (register + dword) & 127;
            // One lane stands for all.
            let all = |lanes: u64| if lanes & exec == 0 { 0 } else { u64::MAX };
            let (not_unsigned, not_signed) = (all(mark.not_unsigned), all(mark.not_signed));
            let mark = Mark { not_unsigned, not_signed, ..mark };
            self.scalars[register] = mark;
            if mark.any() == 0 {
                self.any_scalar &= !(1 << register);
            } else {
                self.any_scalar |= 1 << register;
            }
        }
    }

    /// Nothing that an instruction writes is marked.
    #[inline(always)]
    pub(super) fn define(&mut self, wave: &Wave<'_>, facts: &Facts) {
        if self.any.meets(&facts.writes) {
            for row in self.any.and(&facts.writes).rows() {
                let register = Operand { code: Operand::VGPR + row as u16, dwords: 1 };
                self.set(register, 0, wave.exec(), Mark::default());
            }
        }
        let scalars = self.any_scalar & facts.scalar_writes;
        if scalars != 0 {
            self.any_scalar &= !scalars;
            for register in (0..128).filter(|register| scalars >> register & 1 != 0) {
                self.scalars[register] = Mark::default();
            }
        }
    }

    /// Passes on the marks of the instruction at an index, which is about to be executed.
    #[inline(always)]
    pub(super) fn step(&mut self, wave: &Wave<'_>, facts: &Facts, index: usize) {
        let reads_marked =
            self.any.meets(&facts.reads) || self.any_scalar & facts.scalar_reads != 0;
        match facts.form {
            Form::Narrow(..) => self.pass_on(wave, facts, index),
            Form::Other => self.define(wave, facts),
            _ if reads_marked => self.pass_on(wave, facts, index),
            _ => self.define(wave, facts),
        }
    }

    #[inline(never)]
    fn pass_on(&mut self, wave: &Wave<'_>, facts: &Facts, index: usize) {
        let inst = &facts.inst;
        let is_vector = inst.info.format.is_vector();
        let exec = if is_vector { wave.exec() } else { 1 };
        let dst = inst.dst[0];
        let mut result = [Mark::default(); 2];
        match facts.form {
            Form::Other => return self.define(wave, facts),
            Form::Narrow(from, steps) => {
                let mut value = self.value(wave, inst, from);
                for (step, other) in steps.into_iter().flatten() {
                    value = apply(step, &value, &self.value(wave, inst, other), exec, index as u32);
                }
                result[0] = value.mark;
            }
            Form::Copy => {
                result = [self.mark(inst.src[0], 0), self.mark(inst.src[0], 1)];
            }
            Form::Select => {
                let first = if !is_vector {
                    if wave.scc { u64::MAX } else { 0 }
                } else {
                    !wave.sgpr64(inst.src[2].scalar_index().unwrap_or(VCC))
                };
                for (dword, mark) in result.iter_mut().enumerate() {
                    let (a, b) = (self.mark(inst.src[0], dword), self.mark(inst.src[1], dword));
                    *mark = a.only(first).or(b.only(!first));
                }
            }
            Form::ReadLane => {
                let lane = match inst.src[1].is_some() {
                    true => wave.scalar(inst.src[1].code, inst.literal) as usize % WAVE,
                    false => exec.trailing_zeros() as usize % WAVE,
                };
                let mark = self.mark(inst.src[0], 0).only(1 << lane);
                return self.set(dst, 0, u64::MAX, mark);
            }
            Form::Sign => {
                let source = if is_vector { inst.src[1] } else { inst.src[0] };
                let mark = self.mark(source, 0);
                result[0] = Mark::wrong(mark.not_signed, mark.origin);
            }
            Form::Wide(sources) => {
                for at in sources {
                    let halves = self.wrong_halves(wave, inst, inst.src[usize::from(*at)]);
                    result = std::array::from_fn(|half| result[half].or(halves[half]));
                }
            }
            Form::WideProduct { signed } => {
                let (a, b) = (inst.src[0], inst.src[1]);
                let is_constant = |o: Operand| !o.is_vector() && o.scalar_index().is_none();
                let mut wrong = Mark::default();
                for (factor, other) in [(a, b), (b, a)] {
                    let mark = self.mark(factor, 0);
                    let lost = if is_constant(other) { mark.lost() } else { 0 };
                    let lanes = lost | if signed { mark.not_signed & !mark.lost() } else { 0 };
                    wrong = wrong.or(Mark::wrong(lanes, mark.origin));
                }
                let halves = self.wrong_halves(wave, inst, inst.src[2]);
                result = halves.map(|half| half.or(wrong));
            }
            Form::Carry => {
                let (a, b) = (self.mark(inst.src[0], 0), self.mark(inst.src[1], 0));
                let lost = |mark: Mark| Mark::wrong(mark.lost(), mark.origin);
                result[0] = lost(a).or(lost(b));
            }
        }
        for (dword, mark) in result.into_iter().enumerate().take(usize::from(dst.dwords)) {
            self.set(dst, dword, exec, mark);
        }
        // Carries are no numbers.
        for dword in 0..usize::from(inst.dst[1].dwords) {
            self.set(inst.dst[1], dword, u64::MAX, Mark::default());
        }
    }

    /// Lanes for which an address of a memory instruction is wrong.
    fn address(&self, wave: &Wave<'_>, facts: &Facts, memory: &Memory) -> Mark {
        let inst = &facts.inst;
        let [vaddr, _, sbase, soffset, _] = inst.src;
        let lost = |operand| {
            let mark: Mark = self.mark(operand, 0);
            Mark::wrong(mark.lost(), mark.origin)
        };
        let offset = |operand| {
            let mark: Mark = self.mark(operand, 0);
            Mark::wrong(mark.not_unsigned, mark.origin)
        };
        let mark = match memory.space {
            Space::Global | Space::Flat if sbase.scalar_index().is_some() => {
                offset(vaddr).or(self.wrong_pair(wave, inst, sbase))
            }
            Space::Global | Space::Flat => self.wrong_pair(wave, inst, vaddr),
            // What lies outside of a buffer is skipped, and negative offsets are a way to say so.
            Space::Buffer => lost(vaddr).or(lost(soffset)).or(self.wrong_pair(wave, inst, sbase)),
            Space::Scalar | Space::ScalarBuffer => {
                return self.wrong_pair(wave, inst, inst.src[0]).or(offset(inst.src[1]));
            }
            _ => Mark::default(),
        };
        mark.only(wave.exec())
    }
}

/// The value after a step, with its marks.
fn apply(step: Step, a: &Value, b: &Value, exec: u64, index: u32) -> Value {
    let bits: [u32; WAVE] = std::array::from_fn(|lane| step.result(a.bits[lane], b.bits[lane]));
    let is_constant = a.is_constant && b.is_constant;
    // Only operands below 2^31 whose result is not, and marked ones, need a closer look.
    let mut doubtful = 0;
    for (lane, ((a, b), result)) in a.bits.iter().zip(&b.bits).zip(&bits).enumerate() {
        doubtful |= u64::from(step.is_doubtful(*a, *b, *result)) << lane;
    }
    let marked = a.mark.any() | b.mark.any();
    let mut mark = Mark { origin: index, ..Mark::default() };
    let follows = match step {
        Step::Sub => false,
        Step::Mul | Step::Mul24 => a.is_constant || b.is_constant,
        _ => true,
    };
    let lost = a.mark.lost() | b.mark.lost();
    for lane in ones((doubtful | marked) & exec) {
        let bit = 1 << lane;
        let (unsigned, signed) = if lost & bit != 0 {
            // A mask may take away what is wrong.
            let kept = step != Step::And || (a.bits[lane] & b.bits[lane]) >> 31 != 0;
            (!(follows && kept), !(follows && kept))
        } else {
            let readings = |value: &Value| {
                let bits = value.bits[lane];
                let unsigned = value.mark.not_unsigned & bit == 0;
                let signed = value.mark.not_signed & bit == 0;
                [unsigned.then_some(i128::from(bits)), signed.then_some(i128::from(bits as i32))]
            };
            step.readings(readings(a), readings(b))
        };
        mark.not_unsigned |= if unsigned { 0 } else { bit };
        mark.not_signed |= if signed { 0 } else { bit };
    }
    let is_older = match mark.lost() {
        0 => marked & mark.any() != 0,
        lanes => lanes & lost != 0,
    };
    if is_older {
        mark.origin = a.mark.or(b.mark).origin;
    }
    Value { bits, mark, is_constant }
}

impl Step {
    fn result(self, a: u32, b: u32) -> u32 {
        match self {
            Self::Add => a.wrapping_add(b),
            Self::Sub => a.wrapping_sub(b),
            Self::Mul => a.wrapping_mul(b),
            Self::Mul24 => (a & 0xff_ffff).wrapping_mul(b & 0xff_ffff),
            Self::Shl => a << (b & 31),
            Self::Or => a | b,
            Self::And => a & b,
        }
    }

    /// Whether the result of two values that may be read either way may be one that may not.
    #[inline(always)]
    fn is_doubtful(self, a: u32, b: u32, result: u32) -> bool {
        match self {
            Self::Add | Self::Sub => result & !a & !b & 1 << 31 != 0,
            Self::Mul => (u64::from(a) * u64::from(b)) >> 31 != 0,
            Self::Mul24 => (u64::from(a & 0xff_ffff) * u64::from(b & 0xff_ffff)) >> 31 != 0,
            Self::Shl => u64::from(a) << (b & 31) >> 31 != 0,
            Self::Or | Self::And => false,
        }
    }

    /// Whether the exact result, for some reading of the operands, is the unsigned and the signed
    /// value of 32 bits.
    fn readings(self, a: [Option<i128>; 2], b: [Option<i128>; 2]) -> (bool, bool) {
        let (mut unsigned, mut signed) = (false, false);
        for a in a.into_iter().flatten() {
            for b in b.into_iter().flatten() {
                let exact = match self {
                    Self::Add => a + b,
                    Self::Sub => a - b,
                    Self::Mul => a * b,
                    Self::Mul24 => (a & 0xff_ffff) * (b & 0xff_ffff),
                    Self::Shl => a << (b & 31),
                    Self::Or => a | b,
                    Self::And => a & b,
                };
                unsigned |= u32::try_from(exact).is_ok();
                signed |= i32::try_from(exact).is_ok();
            }
        }
        (unsigned, signed)
    }
}

impl GroupChecker<'_> {
    /// Follows what does not fit into 32 bits through an instruction, and checks its address.
    pub(super) fn follow_index(&mut self, wave: &Wave<'_>, facts: &Facts, index: usize) {
        let at = wave.index as usize;
        let Some(marks) = &mut self.waves[at].marks else { return };
        let Some(memory) = facts.memory() else { return marks.step(wave, facts, index) };
        let mark = marks.address(wave, facts, memory);
        marks.define(wave, facts);
        if mark.any() != 0 {
            self.report_index(self.who(at), index, mark);
        }
    }

    #[cold]
    fn report_index(&self, who: Who, index: usize, mark: Mark) {
        let detail = "an address is computed in 32 bits and needs more";
        let mut draft = Draft::new(Kind::Index, who, mark.origin as usize, detail);
        draft.lane = Some(mark.any().trailing_zeros());
        draft.other = Some(("use", index, who));
        self.launch.report(draft);
    }
}
