//! Instructions that move values between lanes or between registers, outside the lane kernels.

use crate::exec::{Flow, Handler, Lanes, MicroOp, Unsupported, WAVE, Wave};
use crate::isa::{Inst, Op, Operand};

/// Lowers an instruction of this file; `None` if it is not one.
pub(super) fn lower(inst: &Inst) -> Option<Result<MicroOp, Unsupported>> {
    let run: Handler = match inst.info.op {
        Op::v_nop | Op::v_clrexcp => |_, _| Flow::Next,
        Op::v_readlane_b32 => readlane,
        Op::v_readfirstlane_b32 => readfirstlane,
        Op::v_writelane_b32 => writelane,
        Op::v_swap_b32 => swap,
        Op::v_permlane16_swap_b32 => permlane_swap::<16>,
        Op::v_permlane32_swap_b32 => permlane_swap::<32>,
        Op::v_screen_partition_4se_b32 => {
            return Some(Err(Unsupported::Operation(
                "it maps screen tiles to shader engines, which a compute device does not have",
            )));
        }
        Op::v_mfma_ld_scale_b32 => {
            return Some(Err(Unsupported::Operation(
                "it is the first half of a scaled matrix instruction, whose second half is missing",
            )));
        }
        _ => return None,
    };
    let code = |operand: Operand| match operand.vector_index() {
        Some(row) => row as u16,
        None if operand.is_some() => operand.code,
        None => 0,
    };
    let mut op = MicroOp::new(run, inst);
    op.dst = code(inst.dst[0]);
    op.flags = inst.op_sel.into();
    for (src, operand) in op.src.iter_mut().zip(inst.src) {
        *src = code(operand);
    }
    Some(Ok(op))
}

fn readlane(wave: &mut Wave<'_>, op: &MicroOp) -> Flow {
    let lane = wave.scalar(op.src[1], op.literal) as usize % WAVE;
    let value = wave.row(usize::from(op.src[0]))[lane];
    wave.sgpr[usize::from(op.dst & 127)] = value;
    Flow::Next
}

/// Reads the lowest active lane, or lane 0 if none is active.
fn readfirstlane(wave: &mut Wave<'_>, op: &MicroOp) -> Flow {
    let lane = wave.exec().trailing_zeros() as usize % WAVE;
    let value = wave.row(usize::from(op.src[0]))[lane];
    wave.sgpr[usize::from(op.dst & 127)] = value;
    Flow::Next
}

/// Writes one lane, whether it is active or not.
fn writelane(wave: &mut Wave<'_>, op: &MicroOp) -> Flow {
    let value = wave.scalar(op.src[0], op.literal);
    let lane = wave.scalar(op.src[1], op.literal) as usize % WAVE;
    wave.row_mut(usize::from(op.dst))[lane] = value;
    Flow::Next
}

fn swap(wave: &mut Wave<'_>, op: &MicroOp) -> Flow {
    write_both(wave, op, |d, s| (s, d))
}

/// Flag `fi` of an exchange of lanes: inactive lanes are read.
const FETCH_INACTIVE: u32 = 1;
/// Flag `bound_ctrl` of an exchange of lanes: inactive lanes that are not read count as zero.
const BOUND_CTRL: u32 = 2;

/// Swaps the odd groups of `N` lanes of the destination with the even groups of the source.
///
/// As for DPP, a lane whose partner is inactive receives its value with `fi`, zero with
/// `bound_ctrl` alone, and keeps its own value without either.
fn permlane_swap<const N: usize>(wave: &mut Wave<'_>, op: &MicroOp) -> Flow {
    let readable = if op.flags & FETCH_INACTIVE != 0 { u64::MAX } else { wave.exec() };
    let zero = op.flags & BOUND_CTRL != 0;
    write_both(wave, op, |d, s| {
        let partner = |own: u32, other: &Lanes, from: usize| match readable >> from & 1 {
            0 if zero => 0,
            0 => own,
            _ => other[from],
        };
        let odd = |lane: usize| lane & N != 0;
        let new_d = |lane| if odd(lane) { partner(d[lane], &s, lane - N) } else { d[lane] };
        let new_s = |lane| if odd(lane) { s[lane] } else { partner(s[lane], &d, lane + N) };
        (std::array::from_fn(new_d), std::array::from_fn(new_s))
    })
}

/// Writes the active lanes of both operands.
fn write_both(
    wave: &mut Wave<'_>,
    op: &MicroOp,
    values: impl FnOnce(Lanes, Lanes) -> (Lanes, Lanes),
) -> Flow {
    let (d, s) = (usize::from(op.dst), usize::from(op.src[0]));
    let (new_d, new_s) = values(*wave.row(d), *wave.row(s));
    let exec = wave.exec();
    for lane in (0..WAVE).filter(|lane| exec >> lane & 1 == 1) {
        wave.row_mut(d)[lane] = new_d[lane];
        wave.row_mut(s)[lane] = new_s[lane];
    }
    Flow::Next
}
