//! Which lanes hold the same: registers of a reduction over lanes, in which each lane has the results of a
//! whole group.
//!
//! Groups are those of lanes whose numbers differ in some bits only. A sum of a value and of that of the
//! lane whose number differs in one more bit is the same in both lanes. (Which of two NaN it is then is not
//! told apart.)

use super::demand::fills_registers;
use super::known::Facts;
use super::{SCC, bits, is_of_lanes, lanes, registers, written};
use crate::isa::{Dpp, Ext, Inst, Op, Operand};

/// The bits of a lane's number in which lanes with the same may differ: of six.
type Bits = u8;

const ALL: Bits = 63;

/// What one register has in a lane: what `register` has in the lane whose number differs in `bits`.
#[derive(Clone, Copy, PartialEq)]
struct Shifted {
    register: u16,
    bits: Bits,
}

/// What is known of every register in all lanes, those that do not execute too.
#[derive(Clone, PartialEq)]
pub(super) struct Alike {
    bits: Vec<Bits>,
    shifted: Vec<Option<Shifted>>,
}

impl Alike {
    pub(super) fn nothing() -> Self {
        Self { bits: vec![0; SCC], shifted: vec![None; SCC] }
    }

    /// What is known if either holds.
    pub(super) fn meet(&mut self, other: &Self) {
        self.bits.iter_mut().zip(&other.bits).for_each(|(a, b)| *a &= b);
        for (a, b) in self.shifted.iter_mut().zip(&other.shifted) {
            *a = a.filter(|_| *a == *b);
        }
    }

    /// Executes an instruction; `whole` says in all lanes.
    pub(super) fn execute(&mut self, inst: &Inst, whole: bool) {
        let (bits, shifted) = if whole { self.result(inst) } else { (0, None) };
        let mut written = written(inst);
        written.retain(|register| is_of_lanes(*register));
        for of in &mut self.shifted {
            *of = of.filter(|of| !written.contains(&of.register.into()));
        }
        for register in &written {
            self.bits[*register] = bits;
            self.shifted[*register] = shifted.filter(|of| !written.contains(&of.register.into()));
        }
    }

    /// Whether two instructions read lanes that hold the same.
    pub(super) fn same_lane(&self, one: &Inst, other: &Inst, known: &Facts) -> bool {
        let lane = |inst: &Inst| {
            let reads = inst.info.op == Op::v_readlane_b32;
            let word = reads.then(|| bits::source(inst, inst.src[1], known))?;
            bits::value(word.first()?)
        };
        let (Some(a), Some(b)) = (lane(one), lane(other)) else { return false };
        let differ = (a ^ b) as Bits & ALL;
        one.src[0] == other.src[0] && differ & !self.of(one.src[0]) == 0
    }

    /// Of an operand; scalars are the same in all lanes.
    fn of(&self, operand: Operand) -> Bits {
        registers(operand).filter(|at| is_of_lanes(*at)).fold(ALL, |bits, at| bits & self.bits[at])
    }

    fn shifted(&self, operand: Operand) -> Option<Shifted> {
        let register = registers(operand).next().filter(|at| is_of_lanes(*at))?;
        let itself = Shifted { register: register as u16, bits: 0 };
        Some(self.shifted[register].unwrap_or(itself))
    }

    /// Of the results of an instruction that all lanes execute.
    fn result(&self, inst: &Inst) -> (Bits, Option<Shifted>) {
        const NOTHING: (Bits, Option<Shifted>) = (0, None);
        let [first, second, ..] = inst.src;
        let swapped = match inst.info.op {
            Op::v_permlane16_swap_b32 => Some(16),
            Op::v_permlane32_swap_b32 => Some(32),
            _ => None,
        };
        if let Some(half) = swapped {
            let is_copy = self.shifted(inst.dst[0]) == self.shifted(first);
            return if is_copy { (self.of(first) | half, None) } else { NOTHING };
        }
        let differ = match (inst.ext, inst.info.op) {
            (_, Op::ds_swizzle_b32) => swizzled(inst.offset),
            (Ext::Dpp(dpp), _) => differing(dpp),
            (Ext::None, _) => Some(0),
            (Ext::Sdwa(_), _) => None,
        };
        let Some(differ) = differ else { return NOTHING };
        let first_shifted = self.shifted(first).map(|of| {
            let bits = (of.bits ^ differ) & !self.of(first);
            Shifted { bits, ..of }
        });
        match inst.info.op {
            Op::ds_swizzle_b32 => (self.of(first), first_shifted),
            Op::v_mov_b32 if bits::is_unmodified(inst) => (self.of(first), first_shifted),
            _ if computes_apart(inst) => {
                let mut bits = ALL;
                inst.reads(&mut |operand| bits &= self.of(operand));
                if !fills_registers(&inst.info.dst[0]) {
                    bits &= self.of(inst.dst[0]);
                }
                if let (true, Some(one), Some(other)) =
                    (is_commutative(inst), first_shifted, self.shifted(second))
                {
                    let differ = (one.bits ^ other.bits) & !bits;
                    if one.register == other.register && differ.is_power_of_two() {
                        bits |= differ;
                    }
                }
                (bits, None)
            }
            _ => NOTHING,
        }
    }
}

/// The bits in which the lane that a lane reads differs from it, if they are the same for all, and all read.
fn differing(dpp: Dpp) -> Option<Bits> {
    if (dpp.bank_mask, dpp.row_mask) != (0xf, 0xf) {
        return None;
    }
    // Quads permuted to 1 0 3 2, 2 3 0 1 and 3 2 1 0; halves of rows mirrored, and rows.
    match dpp.ctrl {
        0xb1 => Some(1),
        0x4e => Some(2),
        0x1b => Some(3),
        0x141 => Some(7),
        0x140 => Some(15),
        _ => None,
    }
}

/// The same of `ds_swizzle` that changes bits of the lanes' numbers and keeps the others.
fn swizzled(offset: i32) -> Option<Bits> {
    (offset & !0x7c00 == 0x1f).then_some((offset >> 10) as Bits)
}

/// Whether each lane computes its results of nothing but its operands, which are no masks of lanes.
fn computes_apart(inst: &Inst) -> bool {
    let of_masks = ["cndmask", "addc", "subb", "div_fmas", "mbcnt"];
    let name = inst.info.op.name();
    inst.info.format.is_valu()
        && lanes::writes_own(inst)
        && !of_masks.iter().any(|word| name.contains(word))
}

/// Of the first two sources; of three, the last two are to be the same.
fn is_commutative(inst: &Inst) -> bool {
    let name = inst.info.op.name();
    let operations =
        ["v_add_f32", "v_add_u32", "v_mul_f32", "v_max_", "v_min_", "v_and_b32", "v_or_b32"];
    let is_third_second = inst.info.op == Op::v_maximum3_f32 && inst.src[1] == inst.src[2];
    bits::is_unmodified(inst)
        && inst.dst[0].dwords == 1
        && (is_third_second || operations.iter().any(|operation| name.starts_with(operation)))
}
