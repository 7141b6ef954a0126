//! Source operands: where their values come from and how modifiers change them.

use std::hint::unreachable_unchecked;
use std::mem::MaybeUninit;

use super::level::Level;
use crate::exec::float::f32_from_f16;
use crate::exec::{INLINE_F32, Lanes, WAVE, Wave, inline_f64};
use crate::isa::{Dpp, Elem};

/// Rows of the longest operand that need not be a register tuple.
pub(super) const BUFFER_ROWS: usize = 2;

/// Row buffer of an operand.
#[repr(C, align(64))]
#[derive(Clone, Copy, Debug)]
pub(super) struct Rows(pub(super) [Lanes; BUFFER_ROWS]);

/// Where an operand comes from.
#[derive(Debug)]
pub(super) enum Source {
    /// The kernel has no such operand.
    None,
    /// Vector registers from this row on.
    Vector(u16),
    /// A constant of 32 bits, the same in all lanes.
    Constant(u32),
    /// A constant of 64 bits.
    Constant64(u64),
    /// Scalar register or special source, 32 bits.
    Scalar(u16),
    /// Scalar register pair or special source, 64 bits.
    Scalar64(u16),
    /// Lane mask in a scalar register pair or special source.
    Mask(u16),
}

impl Source {
    /// Whether [`Source::simple_rows`] serves the operand.
    pub(super) fn is_simple(&self) -> bool {
        match self {
            Self::Vector(_) | Self::Constant(_) => true,
            Self::Scalar(code) => *code < 128,
            _ => false,
        }
    }

    /// [`Source::rows`] of the operands that most instructions have, in a few machine instructions.
    ///
    /// # Safety
    /// The host has the level, and the operand [is simple](Source::is_simple).
    #[inline(always)]
    pub(super) unsafe fn simple_rows<L: Level>(
        &self,
        wave: &mut Wave<'_>,
        buffer: &mut MaybeUninit<Rows>,
    ) -> *const Lanes {
        // SAFETY: lowering has checked that the register is inside the vector file, a `Rows` has a
        // row, and the rest is the caller's promise.
        unsafe {
            let value = match self {
                Self::Vector(row) => return wave.rows().add(usize::from(*row)),
                Self::Constant(value) => *value,
                Self::Scalar(code) => wave.sgpr[usize::from(*code) & 127],
                _ => unreachable_unchecked(),
            };
            let row = buffer.as_mut_ptr().cast::<Lanes>();
            L::splat(value, &mut *row);
            row
        }
    }

    /// Rows that hold the operand; `buffer` is used where no such rows exist.
    ///
    /// # Safety
    /// The host has the level.
    #[inline(always)]
    pub(super) unsafe fn rows<L: Level>(
        &self,
        wave: &mut Wave<'_>,
        buffer: &mut MaybeUninit<Rows>,
    ) -> *const Lanes {
        let rows = buffer.as_mut_ptr().cast::<Lanes>();
        // SAFETY: lowering has checked that the tuple is inside the vector file, a `Rows` has two
        // rows, and the level is the caller's promise.
        unsafe {
            match self {
                Self::None => {}
                Self::Vector(row) => return wave.rows().add(usize::from(*row)),
                Self::Constant(value) => L::splat(*value, &mut *rows),
                Self::Scalar(code) => L::splat(wave.scalar(*code, 0), &mut *rows),
                Self::Constant64(value) => splat_pair::<L>(*value, rows),
                Self::Scalar64(code) => splat_pair::<L>(wave.scalar64(*code, 0, false), rows),
                Self::Mask(code) => L::expand(wave.scalar64(*code, 0, false), &mut *rows),
            }
        }
        rows
    }
}

/// Fills the first row with the low half and the second with the high half of a value.
///
/// # Safety
/// The host has the level, and two rows are writable.
#[inline(always)]
unsafe fn splat_pair<L: Level>(value: u64, rows: *mut Lanes) {
    // SAFETY: the caller's promise.
    unsafe {
        L::splat(value as u32, &mut *rows);
        L::splat((value >> 32) as u32, &mut *rows.add(1));
    }
}

/// Patterns of the float constants 240..=248 in `f16`.
const INLINE_F16: [u16; 9] =
    [0x3800, 0xb800, 0x3c00, 0xbc00, 0x4000, 0xc000, 0x4400, 0xc400, 0x3118];

/// Value of a constant source code in an operand of elements `elem`.
///
/// Integers are sign-extended to the operand, whatever its type. Float constants have the pattern
/// of the type in the lowest bits; of bits and integers, that of the float as long, or `f32`.
pub(super) fn constant(code: u16, elem: Elem, dwords: u8) -> Option<u64> {
    let value = match code {
        128..=192 => u64::from(code) - 128,
        193..=208 => i64::from(192 - i32::from(code)) as u64,
        240..=248 => {
            let at = usize::from(code) - 240;
            match elem {
                Elem::F16 => INLINE_F16[at].into(),
                Elem::Bf16 => (INLINE_F32[at] >> 16).into(),
                Elem::F64 | Elem::B64 => inline_f64(code),
                _ => INLINE_F32[at].into(),
            }
        }
        _ => return None,
    };
    // Pairs of dwords have the constant in the first.
    let pair = dwords == 2 && matches!(elem, Elem::F32 | Elem::B32);
    Some(if dwords == 1 || pair { value & 0xffff_ffff } else { value })
}

/// Part of a register that SDWA or `op_sel` selects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Select {
    /// First bit.
    pub(super) shift: u8,
    /// Number of bits.
    pub(super) width: u8,
    /// Extend the sign.
    pub(super) signed: bool,
}

impl Select {
    /// The whole register.
    pub(super) const WHOLE: Self = Self { shift: 0, width: 32, signed: false };

    /// Selection of SDWA: 0 to 3 a byte, 4 and 5 a word, 6 all.
    pub(super) fn sdwa(sel: u8, signed: bool) -> Self {
        match sel {
            0..=3 => Self { shift: 8 * sel, width: 8, signed },
            4 | 5 => Self { shift: 16 * (sel - 4), width: 16, signed },
            _ => Self::WHOLE,
        }
    }
}

/// How a row of a prepared operand is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// Part of one register.
    Single(Select),
    /// Two 16-bit halves, each from a half of the register.
    Halves([bool; 2]),
    /// A half of the register, converted from `f16` to `f32`.
    Widened(bool),
    /// One dword of a pair for each half of a packed operation.
    Dwords([bool; 2]),
    /// A 64-bit value.
    Double,
}

/// What happens to an operand before the kernel sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Prepare {
    /// Element type, which says where signs and exponents are.
    pub(super) elem: Elem,
    /// Rows.
    pub(super) shape: Shape,
    /// Bits to clear in each row (absolute value).
    pub(super) clear: [u32; 2],
    /// Bits to invert in each row (negation).
    pub(super) invert: [u32; 2],
    /// The lanes are permuted by DPP.
    pub(super) permute: bool,
    /// MODE may flush denormals.
    pub(super) flush: bool,
}

impl Prepare {
    /// Nothing to do for an operand of `dwords` registers.
    pub(super) fn none(elem: Elem, dwords: u8) -> Self {
        let shape = if dwords == 2 { Shape::Double } else { Shape::Single(Select::WHOLE) };
        Self { elem, shape, clear: [0; 2], invert: [0; 2], permute: false, flush: false }
    }

    /// Whether the operand can be used as it is under the default MODE.
    pub(super) fn is_none(&self) -> bool {
        let shape = match self.shape {
            Shape::Single(select) => select == Select::WHOLE,
            Shape::Halves(halves) | Shape::Dwords(halves) => halves == [false, true],
            Shape::Widened(_) => false,
            Shape::Double => true,
        };
        shape && self.clear == [0; 2] && self.invert == [0; 2] && !self.permute
    }

    /// Whether at most signs have to change under the default MODE.
    pub(super) fn is_signs(&self) -> bool {
        Self { clear: [0; 2], invert: [0; 2], ..*self }.is_none()
    }

    /// Changes the signs of an operand as [`Prepare::apply`] would.
    ///
    /// # Safety
    /// As for [`Prepare::apply`], of an operand for which [`Prepare::is_signs`].
    #[inline(always)]
    pub(super) unsafe fn apply_signs(&self, from: *const Lanes, buffer: *mut Lanes) {
        let rows = if matches!(self.shape, Shape::Double | Shape::Dwords(_)) { 2 } else { 1 };
        for row in 0..rows {
            // SAFETY: the caller's promise.
            let (from, to) = unsafe { (&*from.add(row), &mut *buffer.add(row)) };
            let (keep, invert) = (!self.clear[row], self.invert[row]);
            for (to, from) in to.iter_mut().zip(from) {
                *to = *from & keep ^ invert;
            }
        }
    }

    /// Prepares the operand in `buffer`.
    ///
    /// # Safety
    /// The rows of the operand are readable: two for [`Shape::Double`] and [`Shape::Dwords`], else
    /// one. The host has the level.
    #[inline(always)]
    pub(super) unsafe fn apply<L: Level>(
        &self,
        from: *const Lanes,
        permutation: Option<&Permutation>,
        exec: u64,
        mode: u32,
        buffer: &mut Rows,
    ) {
        let rows = match self.shape {
            Shape::Double | Shape::Dwords(_) => 2,
            _ => 1,
        };
        for row in 0..rows {
            let which = match self.shape {
                Shape::Dwords(dwords) => usize::from(dwords[row]),
                _ => row,
            };
            // SAFETY: the caller's promise; `which` is below the number of rows.
            let from = unsafe { &*from.add(which) };
            let to = &mut buffer.0[row];
            match permutation {
                // SAFETY: the level is the caller's promise.
                Some(permutation) if self.permute => unsafe {
                    permutation.apply::<L>(from, to, exec);
                },
                _ => *to = *from,
            }
        }
        let [first, _] = &mut buffer.0;
        match self.shape {
            Shape::Single(select) if select != Select::WHOLE => select_bits(first, select),
            Shape::Halves(halves) if halves != [false, true] => {
                let shift = halves.map(|high| if high { 16 } else { 0 });
                for word in first {
                    *word = *word >> shift[0] & 0xffff | *word >> shift[1] << 16;
                }
            }
            Shape::Widened(high) => {
                let shift = if high { 16 } else { 0 };
                let flush = mode & 1 << 6 == 0;
                for word in first {
                    let half = (*word >> shift) as u16;
                    let denormal = half & 0x7c00 == 0;
                    let half = if flush & denormal { half & 0x8000 } else { half };
                    *word = f32_from_f16(half).to_bits();
                }
            }
            _ => {}
        }
        if self.flush {
            let rows = &mut buffer.0[..rows];
            flush_denormals(rows, self.elem, mode, DENORMAL_INPUT);
        }
        for (row, (clear, invert)) in
            buffer.0.iter_mut().zip(self.clear.into_iter().zip(self.invert)).take(rows)
        {
            if (clear, invert) != (0, 0) {
                for word in row {
                    *word = *word & !clear ^ invert;
                }
            }
        }
    }
}

#[inline(always)]
fn select_bits(row: &mut Lanes, select: Select) {
    let (left, right) = (32 - select.shift - select.width, 32 - select.width);
    for word in row {
        let top = *word << left;
        *word = if select.signed { (top as i32 >> right) as u32 } else { top >> right };
    }
}

/// Bit of the two in MODE that allows denormal operands.
pub(super) const DENORMAL_INPUT: u32 = 0;
/// Bit of the two in MODE that allows denormal results.
pub(super) const DENORMAL_OUTPUT: u32 = 1;

/// Replaces denormals by zeros of their sign if MODE says so; `direction` is one of the constants
/// above.
#[inline(always)]
pub(super) fn flush_denormals(rows: &mut [Lanes], elem: Elem, mode: u32, direction: u32) {
    let field = if elem == Elem::F32 { 4 } else { 6 };
    if mode >> (field + direction) & 1 == 1 {
        return;
    }
    match elem {
        Elem::F32 => {
            for word in rows.as_flattened_mut() {
                *word = if *word & 0x7f80_0000 == 0 { *word & 0x8000_0000 } else { *word };
            }
        }
        Elem::F16 => {
            for word in rows.as_flattened_mut() {
                let keep = |exponent: u32, half: u32| if *word & exponent == 0 { 0 } else { half };
                *word &= 0x8000_8000 | keep(0x7c00, 0x7fff) | keep(0x7c00_0000, 0x7fff_0000);
            }
        }
        Elem::F64 => {
            if let [low, high] = rows {
                for (low, high) in low.iter_mut().zip(high) {
                    let denormal = *high & 0x7ff0_0000 == 0;
                    *low = if denormal { 0 } else { *low };
                    *high = if denormal { *high & 0x8000_0000 } else { *high };
                }
            }
        }
        _ => {}
    }
}

/// Movement of lanes by DPP.
#[derive(Debug)]
pub(super) struct Permutation {
    /// Source lane of each lane; its own where there is none.
    lanes: Lanes,
    /// No lane reads from another group of 16.
    in_rows: bool,
    /// Lanes that have a source lane.
    valid: u64,
    /// Lanes that row and bank mask allow to be written.
    allowed: u64,
    /// Lanes without a source read 0 instead of not being written.
    bound: bool,
}

impl Permutation {
    pub(super) fn new(dpp: &Dpp) -> Self {
        let mut plan =
            Self { lanes: [0; WAVE], in_rows: true, valid: 0, allowed: 0, bound: dpp.bound_ctrl };
        for lane in 0..WAVE {
            let source = source_lane(dpp.ctrl, lane);
            plan.lanes[lane] = source.unwrap_or(lane) as u32;
            plan.in_rows &= source.is_none_or(|source| source / 16 == lane / 16);
            plan.valid |= u64::from(source.is_some()) << lane;
            let allowed =
                dpp.row_mask >> (lane / 16) & 1 == 1 && dpp.bank_mask >> (lane % 16 / 4) & 1 == 1;
            plan.allowed |= u64::from(allowed) << lane;
        }
        plan
    }

    /// Lanes with a source lane that is active.
    fn sourced(&self, exec: u64) -> u64 {
        if exec == u64::MAX {
            return self.valid;
        }
        let lanes = self.lanes.iter().enumerate();
        lanes.fold(self.valid, |valid, (lane, &source)| valid & !((!exec >> source & 1) << lane))
    }

    /// Lanes to write of those in `exec`.
    pub(super) fn written(&self, exec: u64) -> u64 {
        let sourced = if self.bound { u64::MAX } else { self.sourced(exec) };
        exec & self.allowed & sourced
    }

    /// Moves the lanes of a row; lanes without a source become 0.
    ///
    /// # Safety
    /// The host has the level.
    #[inline(always)]
    unsafe fn apply<L: Level>(&self, from: &Lanes, to: &mut Lanes, exec: u64) {
        // SAFETY: the caller's promise.
        unsafe {
            L::permute(from, to, &self.lanes, self.in_rows);
            let sourced = self.sourced(exec);
            if sourced != u64::MAX {
                L::blend(&[0; WAVE], to, !sourced);
            }
        }
    }
}

/// Lane that `lane` reads under a DPP control, if there is one.
fn source_lane(ctrl: u16, lane: usize) -> Option<usize> {
    let (row, at) = (lane & !15, lane & 15);
    let n = usize::from(ctrl & 15);
    match ctrl {
        0..=0xff => Some((lane & !3) | usize::from(ctrl >> (2 * (lane & 3)) & 3)),
        0x101..=0x10f => (at + n < 16).then_some(lane + n),
        0x111..=0x11f => (at >= n).then(|| lane - n),
        0x121..=0x12f => Some(row | (at + 16 - n) & 15),
        0x130 => (lane < 63).then_some(lane + 1),
        0x134 => Some((lane + 1) & 63),
        0x138 => lane.checked_sub(1),
        0x13c => Some((lane + 63) & 63),
        0x140 => Some(row | (15 - at)),
        0x141 => Some((lane & !7) | (7 - (lane & 7))),
        0x142 => row.checked_sub(1),
        0x143 => (lane >= 32).then_some(31),
        _ => Some(row | n),
    }
}
