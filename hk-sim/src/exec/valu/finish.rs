//! Results: output modifiers, clamping and writing of partial registers.

use super::operand::{DENORMAL_OUTPUT, Select, flush_denormals};
use crate::exec::Lanes;
use crate::exec::float::{f16_from_f32_nearest, f32_from_f16};
use crate::isa::Elem;

/// Where in the destination register a result goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// It replaces the register.
    Whole,
    /// It replaces a part of the register.
    Part(Select),
    /// It goes to that part of a register that is zero, or for [`Select::signed`] the sign, in the
    /// other bits.
    Alone(Select),
}

/// What happens to a result before it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Finish {
    /// Element type.
    pub(super) elem: Elem,
    /// Elements in a register.
    pub(super) count: u8,
    /// Output modifier: 0 none, 1 times 2, 2 times 4, 3 half.
    pub(super) omod: u8,
    /// Clamp floats to [0, 1].
    pub(super) clamp: bool,
    /// MODE may flush denormals.
    pub(super) flush: bool,
    /// Destination.
    pub(super) place: Place,
}

/// MODE.DX10_CLAMP: clamping turns a NaN into 0.
const MODE_DX10_CLAMP: u32 = 1 << 8;
/// MODE.IEEE.
const MODE_IEEE: u32 = 1 << 9;

impl Finish {
    /// Whether the result can be written as it is under the default MODE.
    pub(super) fn is_none(&self) -> bool {
        self.omod == 0 && !self.clamp && self.place == Place::Whole
    }

    /// Finishes the rows of a result; `old` is the destination's first row.
    #[inline(always)]
    pub(super) fn apply(&self, rows: &mut [Lanes], old: &Lanes, mode: u32) {
        if self.flush {
            flush_denormals(rows, self.elem, mode, DENORMAL_OUTPUT);
        }
        let field = if self.elem == Elem::F32 { 4 } else { 6 };
        let keeps_denormals = mode >> (field + DENORMAL_OUTPUT) & 1 == 1;
        let scale = match self.omod {
            _ if mode & MODE_IEEE != 0 || keeps_denormals => 1.0,
            1 => 2.0,
            2 => 4.0,
            3 => 0.5,
            _ => 1.0,
        };
        if scale != 1.0 || self.clamp {
            let nan_to_zero = mode & MODE_DX10_CLAMP != 0;
            modify(rows, self.elem, scale, self.clamp, nan_to_zero);
        }
        if scale != 1.0 {
            // Halving may have made new ones, and the modifier is only on when they are flushed.
            flush_denormals(rows, self.elem, mode, DENORMAL_OUTPUT);
        }
        let Some(row) = rows.first_mut() else { return };
        match self.place {
            Place::Whole => {}
            Place::Part(select) => {
                let mask = (u32::MAX >> (32 - select.width)) << select.shift;
                for (word, old) in row.iter_mut().zip(old) {
                    *word = *old & !mask | *word << select.shift & mask;
                }
            }
            Place::Alone(select) => {
                let spare = 32 - select.width;
                for word in row {
                    let top = *word << spare;
                    // The sign fills the bits above the part, never those below it.
                    let wide =
                        if select.signed { top as i32 >> spare } else { (top >> spare) as i32 };
                    *word = (wide as u32) << select.shift;
                }
            }
        }
    }
}

/// Multiplies and clamps floats.
#[inline(always)]
fn modify(rows: &mut [Lanes], elem: Elem, scale: f32, clamp: bool, nan_to_zero: bool) {
    let one = |x: f32| {
        let x = x * scale;
        let nan = if nan_to_zero { 0.0 } else { x };
        let clamped = if x.is_nan() { nan } else { x.clamp(0.0, 1.0) };
        // Not -0.
        let clamped = if clamped == 0.0 { 0.0 } else { clamped };
        if clamp { clamped } else { x }
    };
    let half = |code: u16| u32::from(f16_from_f32_nearest(one(f32_from_f16(code))));
    let brain = |code: u32| one(f32::from_bits(code << 16)).to_bits() >> 16;
    match elem {
        Elem::F32 => {
            for word in rows.as_flattened_mut() {
                *word = one(f32::from_bits(*word)).to_bits();
            }
        }
        Elem::F16 => {
            for word in rows.as_flattened_mut() {
                *word = half(*word as u16) | half((*word >> 16) as u16) << 16;
            }
        }
        Elem::Bf16 => {
            for word in rows.as_flattened_mut() {
                *word = brain(*word & 0xffff) | brain(*word >> 16) << 16;
            }
        }
        Elem::F64 => {
            if let [low, high] = rows {
                for (low, high) in low.iter_mut().zip(high) {
                    let x = f64::from_bits(u64::from(*high) << 32 | u64::from(*low));
                    let x = x * f64::from(scale);
                    let nan = if nan_to_zero { 0.0 } else { x };
                    let clamped = if x.is_nan() { nan } else { x.clamp(0.0, 1.0) };
                    let clamped = if clamped == 0.0 { 0.0 } else { clamped };
                    let bits = if clamp { clamped } else { x }.to_bits();
                    (*low, *high) = (bits as u32, (bits >> 32) as u32);
                }
            }
        }
        _ => {}
    }
}
