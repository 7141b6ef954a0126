//! Atomic read-modify-write operations.

use std::marker::PhantomData;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use half::{bf16, f16};
use hk_types::FaultKind;

use super::{Access, Addresses, Body, Hits, Level, Places, Space, each, order, write_rows};
use crate::exec::{Flow, MicroOp, WAVE, Wave};

/// What an atomic does to memory. `a` is the first data operand, `b` the second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(in crate::exec) enum Rmw {
    /// Stores `a`.
    Swap,
    /// Stores `b` if memory equals `a`.
    CompareSwap,
    /// Adds `a`.
    Add,
    /// Subtracts `a`.
    Sub,
    /// Subtracts memory from `a`.
    ReverseSub,
    /// Signed minimum.
    SMin,
    /// Unsigned minimum.
    UMin,
    /// Signed maximum.
    SMax,
    /// Unsigned maximum.
    UMax,
    /// Bitwise and.
    And,
    /// Bitwise or.
    Or,
    /// Bitwise exclusive or.
    Xor,
    /// Adds 1, or starts again at 0 from `a` on.
    Inc,
    /// Subtracts 1, or starts again at `a` from 0 or beyond `a`.
    Dec,
    /// Clears the bits of `a`, then sets those of `b`.
    MaskOr,
    /// Subtracts `a` where that does not wrap, else adds `b`.
    Wrap,
    /// Floating-point sum.
    AddFloat,
    /// Floating-point minimum.
    MinFloat,
    /// Floating-point maximum.
    MaxFloat,
    /// Stores `b` if memory equals `a` as a float.
    CompareSwapFloat,
    /// Sums of two f16.
    PackedAddF16,
    /// Sums of two bf16.
    PackedAddBf16,
}

/// Atomic of one width.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::exec) struct Atomic {
    /// Operation.
    pub rmw: Rmw,
    /// 64 bits instead of 32.
    pub wide: bool,
}

/// Denormals that an operation replaces by zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Flush {
    /// In the operands.
    input: bool,
    /// In the result.
    output: bool,
}

impl Atomic {
    /// Atomic of FLAT, GLOBAL and MUBUF opcodes 64..=108.
    pub(in crate::exec) fn of_vector_memory(opcode: u16) -> Option<Self> {
        use Rmw::*;
        const INTEGER: [Rmw; 13] =
            [Swap, CompareSwap, Add, Sub, SMin, UMin, SMax, UMax, And, Or, Xor, Inc, Dec];
        let of = |rmw, wide| Some(Self { rmw, wide });
        match opcode {
            64..=76 => of(INTEGER[usize::from(opcode - 64)], false),
            77 => of(AddFloat, false),
            78 => of(PackedAddF16, false),
            79 => of(AddFloat, true),
            80 => of(MinFloat, true),
            81 => of(MaxFloat, true),
            82 => of(PackedAddBf16, false),
            96..=108 => of(INTEGER[usize::from(opcode - 96)], true),
            _ => None,
        }
    }

    /// Whether there is a second data operand.
    pub(in crate::exec) fn takes_two(self) -> bool {
        use Rmw::*;
        matches!(self.rmw, CompareSwap | CompareSwapFloat | MaskOr | Wrap)
    }

    /// Bytes in memory.
    pub(in crate::exec) fn bytes(self) -> u32 {
        if self.wide { 8 } else { 4 }
    }

    /// Denormal handling in LDS, by the MODE register (CDNA4 ISA, table 53).
    fn flush_in_lds(self, mode: u32) -> Flush {
        let flushing = |shift: u32| Flush {
            input: mode >> shift & 1 == 0,
            output: mode >> (shift + 1) & 1 == 0,
        };
        match (self.rmw, self.wide) {
            (Rmw::AddFloat, true) => Flush::default(),
            (Rmw::PackedAddF16 | Rmw::PackedAddBf16, _) | (_, true) => flushing(6),
            _ => flushing(4),
        }
    }

    /// Denormal handling in the L2 cache (same table).
    fn flush_in_l2(self) -> Flush {
        let flush = self.rmw == Rmw::AddFloat && !self.wide;
        Flush { input: flush, output: flush }
    }

    /// Value of memory after the operation.
    fn apply(self, old: u64, a: u64, b: u64, flush: Flush) -> u64 {
        use Rmw::*;
        let (bits, float) = if self.wide { (64, F64) } else { (32, F32) };
        let mask = u64::MAX >> (64 - bits);
        let signed = |value: u64| (value << (64 - bits)).cast_signed();
        match self.rmw {
            Swap => a,
            CompareSwap => {
                if old == a {
                    b
                } else {
                    old
                }
            }
            Add => old.wrapping_add(a) & mask,
            Sub => old.wrapping_sub(a) & mask,
            ReverseSub => a.wrapping_sub(old) & mask,
            SMin => {
                if signed(a) < signed(old) {
                    a
                } else {
                    old
                }
            }
            SMax => {
                if signed(a) > signed(old) {
                    a
                } else {
                    old
                }
            }
            UMin => old.min(a),
            UMax => old.max(a),
            And => old & a,
            Or => old | a,
            Xor => old ^ a,
            Inc => {
                if old >= a {
                    0
                } else {
                    old + 1
                }
            }
            Dec => {
                if old == 0 || old > a {
                    a
                } else {
                    old - 1
                }
            }
            MaskOr => old & !a | b,
            Wrap => {
                if old >= a {
                    old - a
                } else {
                    old.wrapping_add(b) & mask
                }
            }
            AddFloat => float.sum(old, a, flush),
            MinFloat => float.select(old, a, flush, false),
            MaxFloat => float.select(old, a, flush, true),
            CompareSwapFloat => float.compare_swap(old, a, b, flush),
            PackedAddF16 => F16.packed_sum(old, a, flush),
            PackedAddBf16 => BF16.packed_sum(old, a, flush),
        }
    }
}

/// Floating-point format; values are bit patterns.
struct Float {
    bits: u32,
    mantissa: u32,
    /// Sum, rounded to nearest even; any NaN will do for a NaN.
    add: fn(u64, u64) -> u64,
}

const F16: Float = Float {
    bits: 16,
    mantissa: 10,
    // The f32 sum of two f16 or bf16 values has enough bits that rounding twice does no harm.
    add: |a, b| {
        let sum = f16::from_bits(a as u16).to_f32() + f16::from_bits(b as u16).to_f32();
        f16::from_f32(sum).to_bits().into()
    },
};
const BF16: Float = Float {
    bits: 16,
    mantissa: 7,
    add: |a, b| {
        let sum = bf16::from_bits(a as u16).to_f32() + bf16::from_bits(b as u16).to_f32();
        bf16::from_f32(sum).to_bits().into()
    },
};
const F32: Float = Float {
    bits: 32,
    mantissa: 23,
    add: |a, b| (f32::from_bits(a as u32) + f32::from_bits(b as u32)).to_bits().into(),
};
const F64: Float =
    Float { bits: 64, mantissa: 52, add: |a, b| (f64::from_bits(a) + f64::from_bits(b)).to_bits() };

/// Rules of the CDNA4 ISA, section 9.2. The first source is memory, which the manual leaves open.
impl Float {
    fn sign(&self) -> u64 {
        1 << (self.bits - 1)
    }

    fn infinity(&self) -> u64 {
        self.sign() - (1 << self.mantissa)
    }

    fn quiet_bit(&self) -> u64 {
        1 << (self.mantissa - 1)
    }

    fn is_nan(&self, value: u64) -> bool {
        value & !self.sign() > self.infinity()
    }

    fn is_signalling(&self, value: u64) -> bool {
        self.is_nan(value) && value & self.quiet_bit() == 0
    }

    /// The value with a denormal replaced by zero if `active`.
    fn flushed(&self, value: u64, active: bool) -> u64 {
        if active && value & self.infinity() == 0 { value & self.sign() } else { value }
    }

    fn sum(&self, a: u64, b: u64, flush: Flush) -> u64 {
        if let Some(nan) = [a, b].into_iter().find(|&value| self.is_nan(value)) {
            return nan | self.quiet_bit();
        }
        let sum = (self.add)(self.flushed(a, flush.input), self.flushed(b, flush.input));
        if self.is_nan(sum) {
            return self.infinity() | self.quiet_bit();
        }
        self.flushed(sum, flush.output)
    }

    /// Sum of both 16-bit halves.
    fn packed_sum(&self, a: u64, b: u64, flush: Flush) -> u64 {
        let low = self.sum(a & 0xffff, b & 0xffff, flush);
        low | self.sum(a >> 16, b >> 16, flush) << 16
    }

    /// Maximum or minimum: the selected operand as it is, a number before a quiet NaN, the first
    /// signalling NaN made quiet before all.
    fn select(&self, a: u64, b: u64, flush: Flush, maximum: bool) -> u64 {
        if let Some(nan) = [a, b].into_iter().find(|&value| self.is_signalling(value)) {
            return nan | self.quiet_bit();
        }
        if self.is_nan(a) || self.is_nan(b) {
            return if self.is_nan(b) { a } else { b };
        }
        // Integers in the order of the floats, -0 before +0.
        let key = |value: u64| {
            let value = self.flushed(value, flush.input);
            if value & self.sign() != 0 {
                self.sign() - 1 - (value & (self.sign() - 1))
            } else {
                value | self.sign()
            }
        };
        let second = if maximum { key(b) > key(a) } else { key(b) < key(a) };
        if second { b } else { a }
    }

    fn compare_swap(&self, old: u64, compare: u64, new: u64, flush: Flush) -> u64 {
        let magnitude = |value| self.flushed(value, flush.input) & !self.sign();
        let zeros = magnitude(old) | magnitude(compare) == 0;
        let equal = self.flushed(old, flush.input) == self.flushed(compare, flush.input);
        if (equal || zeros) && !self.is_nan(old) { self.flushed(new, flush.input) } else { old }
    }
}

/// Bits of [`MicroOp::flags`] that hold an [`Atomic`] and whether its result is wanted.
const RMW_BITS: u32 = 0xff;
const WIDE: u32 = 1 << 8;
const RETURN: u32 = 1 << 9;

impl Atomic {
    /// Bits of [`MicroOp::flags`].
    pub(in crate::exec) fn flags(self, returns: bool) -> u32 {
        self.rmw as u32 | if self.wide { WIDE } else { 0 } | if returns { RETURN } else { 0 }
    }

    pub(in crate::exec) fn of_flags(flags: u32) -> Self {
        Self { rmw: ALL[(flags & RMW_BITS) as usize], wide: flags & WIDE != 0 }
    }
}

/// Operations by number.
const ALL: [Rmw; 22] = {
    use Rmw::*;
    [
        Swap,
        CompareSwap,
        Add,
        Sub,
        ReverseSub,
        SMin,
        UMin,
        SMax,
        UMax,
        And,
        Or,
        Xor,
        Inc,
        Dec,
        MaskOr,
        Wrap,
        AddFloat,
        MinFloat,
        MaxFloat,
        CompareSwapFloat,
        PackedAddF16,
        PackedAddBf16,
    ]
};

/// Replaces a word in memory by `next` of it and returns the old one.
///
/// # Safety
/// The pointer must be aligned to the word and valid, and unless `shared` only this thread may
/// access it.
#[inline(always)]
unsafe fn update(pointer: *mut u8, wide: bool, shared: bool, next: impl Fn(u64) -> u64) -> u64 {
    const ORDER: Ordering = Ordering::SeqCst;
    // SAFETY: the caller's promise.
    unsafe {
        match (wide, shared) {
            (false, false) => {
                let word = pointer.cast::<u32>();
                let old = word.read();
                word.write(next(old.into()) as u32);
                old.into()
            }
            (true, false) => {
                let word = pointer.cast::<u64>();
                let old = word.read();
                word.write(next(old));
                old
            }
            (false, true) => {
                let word = AtomicU32::from_ptr(pointer.cast());
                let update = |old: u32| Some(next(old.into()) as u32);
                word.fetch_update(ORDER, ORDER, update).unwrap_or_else(|old| old).into()
            }
            (true, true) => {
                let word = AtomicU64::from_ptr(pointer.cast());
                word.fetch_update(ORDER, ORDER, |old| Some(next(old))).unwrap_or_else(|old| old)
            }
        }
    }
}

/// Atomic of every lane in ascending order; `src[1]` and `src[2]` are the rows of the data.
pub(in crate::exec) struct AtomicOp<S>(PhantomData<S>);

impl<S: Space> Body for AtomicOp<S> {
    #[inline(always)]
    fn run<L: Level>(wave: &mut Wave<'_>, op: &MicroOp) -> Flow {
        let exec = wave.exec();
        if exec == 0 {
            return Flow::Next;
        }
        let mut at = Addresses::new();
        order(op);
        let atomic = Atomic::of_flags(op.flags);
        match S::locate(wave, op, atomic.bytes(), Access::Write, &mut at) {
            Ok(hits) => run(wave, op, atomic, &at, exec, hits, S::LOCAL),
            Err(flow) => flow,
        }
    }
}

fn run(
    wave: &mut Wave<'_>,
    op: &MicroOp,
    atomic: Atomic,
    at: &Addresses,
    exec: u64,
    hits: Hits,
    local: bool,
) -> Flow {
    let wide = atomic.wide;
    let misaligned =
        each(hits.whole).find(|&lane| !at.0[lane].is_multiple_of(u64::from(atomic.bytes())));
    if let Some(lane) = misaligned {
        return misaligned_atomic(wave, lane, at.0[lane]);
    }
    let lds = wave.lds as u64;
    let in_l2 = atomic.flush_in_l2();
    let in_lds = atomic.flush_in_lds(wave.mode);
    let mut old = [[0; WAVE]; 2];
    for lane in each(hits.whole) {
        let word = |row: u16| {
            let low = u64::from(wave.row(usize::from(row))[lane]);
            if wide { low | u64::from(wave.row(usize::from(row) + 1)[lane]) << 32 } else { low }
        };
        let (a, b) = (word(op.src[1]), word(op.src[2]));
        // A flat address may be one of LDS.
        let is_lds = local || at.0[lane].wrapping_sub(lds) < wave.lds_len.into();
        let flush = if is_lds { in_lds } else { in_l2 };
        // SAFETY: `locate` checked the lane's word, which is aligned; LDS and private memory belong
        // to this thread.
        let value =
            unsafe { update(at.pointer(lane), wide, !local, |old| atomic.apply(old, a, b, flush)) };
        old[0][lane] = value as u32;
        old[1][lane] = (value >> 32) as u32;
    }
    if op.flags & RETURN != 0 {
        write_rows(wave, op.dst, &old[..if wide { 2 } else { 1 }], exec);
    }
    order(op);
    Flow::Next
}

/// Raises the fault of an atomic that is not naturally aligned.
#[cold]
fn misaligned_atomic(wave: &mut Wave<'_>, lane: usize, address: u64) -> Flow {
    let detail = format!("atomic at {address:#x}, which is not a multiple of its size");
    wave.raise(FaultKind::Misaligned, detail, Some(lane as u32), Some(address))
}

/// Atomic of a scalar instruction.
///
/// # Safety
/// The pointer must be aligned to the word and valid.
pub(in crate::exec) unsafe fn scalar_atomic(
    atomic: Atomic,
    pointer: *mut u8,
    a: u64,
    b: u64,
) -> u64 {
    let flush = atomic.flush_in_l2();
    // SAFETY: the caller's promise.
    unsafe { update(pointer, atomic.wide, true, |old| atomic.apply(old, a, b, flush)) }
}
