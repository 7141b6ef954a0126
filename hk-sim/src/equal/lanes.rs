//! Which lanes an instruction reads and writes, and how their set changes.

use crate::isa::{Ext, Format, Inst, Op, Operand};
use crate::object::Placed;

/// What becomes of the set of lanes that execute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lanes {
    /// Lanes leave it, or none.
    Fewer,
    /// Lanes join it, or none.
    More,
    /// Those that are in it leave; of the others, some join it.
    Rest,
    /// It may be any other.
    Others,
}

/// What an instruction makes of the set, if it writes it.
pub(super) fn change(inst: &Inst) -> Option<Lanes> {
    if !inst.writes_exec() {
        return None;
    }
    let is_mask = |at: usize| inst.src[at].code == Operand::EXEC && inst.src[at].dwords == 2;
    Some(match inst.info.op {
        Op::s_and_saveexec_b64 => Lanes::Fewer,
        Op::s_or_saveexec_b64 => Lanes::More,
        Op::s_andn2_saveexec_b64 => Lanes::Rest,
        Op::s_and_b64 if is_mask(0) || is_mask(1) => Lanes::Fewer,
        Op::s_andn2_b64 if is_mask(0) => Lanes::Fewer,
        Op::s_or_b64 if is_mask(0) || is_mask(1) => Lanes::More,
        op if op.name().starts_with("v_cmpx") => Lanes::Fewer,
        _ => Lanes::Others,
    })
}

/// Whether no lane executes where control goes from an instruction to another.
pub(super) fn none_on_the_way(code: &[Placed], next: &[Vec<usize>], at: usize, to: usize) -> bool {
    let falls = to == at + 1;
    // Both may lead there.
    let [one, other] = next[at][..] else { return false };
    one != other
        && match code[at].inst.info.op {
            Op::s_cbranch_execz => !falls,
            Op::s_cbranch_execnz => falls,
            _ => false,
        }
}

/// Whether each lane that executes reads its own registers, and others read none.
pub(super) fn reads_own(inst: &Inst) -> bool {
    keeps_apart(inst) && !matches!(inst.ext, Ext::Dpp(_))
}

/// Whether the lanes that execute write their own registers, and others keep theirs.
pub(super) fn writes_own(inst: &Inst) -> bool {
    keeps_apart(inst)
}

/// Whether it is none of those that are for crossing lanes, or for all of them together.
fn keeps_apart(inst: &Inst) -> bool {
    let format = inst.info.format;
    let crosses = ["lane", "permute", "swizzle", "_tr_"];
    let is_vector = format.is_vector() && !matches!(format, Format::Mai | Format::Vop3px2);
    is_vector && !crosses.iter().any(|word| inst.info.op.name().contains(word))
}
