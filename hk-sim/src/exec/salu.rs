//! Scalar instructions: SOP1, SOP2, SOPK, SOPC, SOPP.

use hk_types::FaultKind;

use super::micro::OUTSIDE;
use super::{EXEC, Flow, Handler, M0, MicroOp, Unsupported, VCC, Wave};
use crate::isa::{Format, Inst, MODE_GPR_INDEX, Op};

/// Bit of MODE that skips vector instructions.
pub(super) const MODE_VSKIP: u32 = 1 << 28;

/// Where [`ExecOptions::rough`](super::ExecOptions::rough) is noted: a bit that chips do not have, nor kernels see.
pub(super) const MODE_ROUGH: u32 = 1 << 22;

/// Lowers a scalar instruction; `branch_target` tells where one of so many dwords with an offset leads.
pub(super) fn lower(
    inst: &Inst,
    branch_target: impl FnOnce(u8, i16) -> Option<usize>,
) -> Result<MicroOp, Unsupported> {
    let op = inst.info.op;
    let run = match inst.info.format {
        Format::Sop2 => sop2(op),
        Format::Sopk => sopk(op),
        Format::Sop1 => sop1(op),
        Format::Sopc => sopc(op),
        _ => sopp(op, inst.simm16),
    }?;
    let mut micro = MicroOp::new(run, inst);
    micro.imm = i32::from(inst.simm16 as i16) as u32;
    let code = |operand: crate::isa::Operand| if operand.is_some() { operand.code } else { 0 };
    micro.dst = code(inst.dst[0]);
    for (slot, operand) in micro.src.iter_mut().zip(inst.src) {
        *slot = code(operand);
    }
    if micro.dst >= 128 {
        return Err(Unsupported::Operands("the destination is no scalar register"));
    }
    if op == Op::s_set_gpr_idx_on {
        // The operand selection stands in the field of the second source.
        micro.imm = inst.raw[0] >> 8 & 0xf;
    }
    if is_branch(op) {
        let target = branch_target(micro.dwords, inst.simm16 as i16)
            .ok_or(Unsupported::Operands(OUTSIDE))?;
        micro.imm = u32::try_from(target).map_err(|_| Unsupported::Operands(OUTSIDE))?;
    }
    Ok(micro)
}

fn is_branch(op: Op) -> bool {
    use Op::*;
    matches!(
        op,
        s_branch
            | s_cbranch_scc0
            | s_cbranch_scc1
            | s_cbranch_vccz
            | s_cbranch_vccnz
            | s_cbranch_execz
            | s_cbranch_execnz
            | s_call_b64
    )
}

const PRIVILEGED: Unsupported =
    Unsupported::Operation("only a trap handler may return from an exception");
const FORK: Unsupported = Unsupported::Operation(
    "the fork and join stack of early GCN; no compiler emits it and no kernel for these chips uses it",
);

#[inline(always)]
fn a32(wave: &Wave<'_>, op: &MicroOp) -> u32 {
    wave.scalar(op.src[0], op.literal)
}

#[inline(always)]
fn b32(wave: &Wave<'_>, op: &MicroOp) -> u32 {
    wave.scalar(op.src[1], op.literal)
}

#[inline(always)]
fn a64(wave: &Wave<'_>, op: &MicroOp) -> u64 {
    wave.scalar64(op.src[0], op.literal, false)
}

/// Of operations on signed numbers.
#[inline(always)]
fn a_i64(wave: &Wave<'_>, op: &MicroOp) -> u64 {
    wave.scalar64(op.src[0], op.literal, true)
}

#[inline(always)]
fn b64(wave: &Wave<'_>, op: &MicroOp) -> u64 {
    wave.scalar64(op.src[1], op.literal, false)
}

#[inline(always)]
fn put32(wave: &mut Wave<'_>, op: &MicroOp, value: u32) {
    wave.sgpr[usize::from(op.dst) & 127] = value;
}

#[inline(always)]
fn put64(wave: &mut Wave<'_>, op: &MicroOp, value: u64) {
    wave.set_sgpr64(usize::from(op.dst), value);
}

/// Handler from an expression over the wave `w` and the operation `op`.
macro_rules! handler {
    (|$w:ident, $op:ident| $body:expr) => {{
        let run: Handler = |$w, $op| {
            $body;
            Flow::Next
        };
        run
    }};
}

/// Handlers that read sources of some width, compute, write a destination of some width, and treat
/// SCC in one of three ways: `keep`, `nz` (result is not zero), `flag` (the expression gives both).
macro_rules! alu {
    ($geta:ident $getb:ident $put:ident keep |$a:ident, $b:ident| $e:expr) => {
        handler!(|w, op| {
            let ($a, $b) = ($geta(w, op), $getb(w, op));
            let d = $e;
            $put(w, op, d);
        })
    };
    ($geta:ident $getb:ident $put:ident nz |$a:ident, $b:ident| $e:expr) => {
        handler!(|w, op| {
            let ($a, $b) = ($geta(w, op), $getb(w, op));
            let d = $e;
            $put(w, op, d);
            w.scc = d != 0;
        })
    };
    ($geta:ident $getb:ident $put:ident flag |$a:ident, $b:ident, $scc:ident| $e:expr) => {
        handler!(|w, op| {
            let ($a, $b, $scc) = ($geta(w, op), $getb(w, op), w.scc);
            let (d, scc) = $e;
            $put(w, op, d);
            w.scc = scc;
        })
    };
    ($geta:ident $put:ident keep |$a:ident| $e:expr) => {
        handler!(|w, op| {
            let $a = $geta(w, op);
            let d = $e;
            $put(w, op, d);
        })
    };
    ($geta:ident $put:ident nz |$a:ident| $e:expr) => {
        handler!(|w, op| {
            let $a = $geta(w, op);
            let d = $e;
            $put(w, op, d);
            w.scc = d != 0;
        })
    };
}

fn sop2(op: Op) -> Result<Handler, Unsupported> {
    use Op::*;
    Ok(match op {
        s_add_u32 => alu!(a32 b32 put32 flag |a, b, _scc| a.overflowing_add(b)),
        s_sub_u32 => alu!(a32 b32 put32 flag |a, b, _scc| a.overflowing_sub(b)),
        s_add_i32 => alu!(a32 b32 put32 flag |a, b, _scc| {
            (a.wrapping_add(b), (a as i32).overflowing_add(b as i32).1)
        }),
        s_sub_i32 => alu!(a32 b32 put32 flag |a, b, _scc| {
            (a.wrapping_sub(b), (a as i32).overflowing_sub(b as i32).1)
        }),
        s_addc_u32 => alu!(a32 b32 put32 flag |a, b, scc| {
            let sum = u64::from(a) + u64::from(b) + u64::from(scc);
            (sum as u32, sum >> 32 != 0)
        }),
        s_subb_u32 => alu!(a32 b32 put32 flag |a, b, scc| {
            let difference = i64::from(a) - i64::from(b) - i64::from(scc);
            (difference as u32, difference < 0)
        }),
        s_min_i32 => alu!(a32 b32 put32 flag |a, b, _scc| {
            ((a as i32).min(b as i32) as u32, (a as i32) < b as i32)
        }),
        s_min_u32 => alu!(a32 b32 put32 flag |a, b, _scc| (a.min(b), a < b)),
        s_max_i32 => alu!(a32 b32 put32 flag |a, b, _scc| {
            ((a as i32).max(b as i32) as u32, a as i32 >= b as i32)
        }),
        s_max_u32 => alu!(a32 b32 put32 flag |a, b, _scc| (a.max(b), a >= b)),
        s_cselect_b32 => alu!(a32 b32 put32 flag |a, b, scc| (if scc { a } else { b }, scc)),
        s_cselect_b64 => alu!(a64 b64 put64 flag |a, b, scc| (if scc { a } else { b }, scc)),
        s_and_b32 => alu!(a32 b32 put32 nz |a, b| a & b),
        s_and_b64 => alu!(a64 b64 put64 nz |a, b| a & b),
        s_or_b32 => alu!(a32 b32 put32 nz |a, b| a | b),
        s_or_b64 => alu!(a64 b64 put64 nz |a, b| a | b),
        s_xor_b32 => alu!(a32 b32 put32 nz |a, b| a ^ b),
        s_xor_b64 => alu!(a64 b64 put64 nz |a, b| a ^ b),
        s_andn2_b32 => alu!(a32 b32 put32 nz |a, b| a & !b),
        s_andn2_b64 => alu!(a64 b64 put64 nz |a, b| a & !b),
        s_orn2_b32 => alu!(a32 b32 put32 nz |a, b| a | !b),
        s_orn2_b64 => alu!(a64 b64 put64 nz |a, b| a | !b),
        s_nand_b32 => alu!(a32 b32 put32 nz |a, b| !(a & b)),
        s_nand_b64 => alu!(a64 b64 put64 nz |a, b| !(a & b)),
        s_nor_b32 => alu!(a32 b32 put32 nz |a, b| !(a | b)),
        s_nor_b64 => alu!(a64 b64 put64 nz |a, b| !(a | b)),
        s_xnor_b32 => alu!(a32 b32 put32 nz |a, b| !(a ^ b)),
        s_xnor_b64 => alu!(a64 b64 put64 nz |a, b| !(a ^ b)),
        s_lshl_b32 => alu!(a32 b32 put32 nz |a, b| a << (b & 31)),
        s_lshl_b64 => alu!(a64 b32 put64 nz |a, b| a << (b & 63)),
        s_lshr_b32 => alu!(a32 b32 put32 nz |a, b| a >> (b & 31)),
        s_lshr_b64 => alu!(a64 b32 put64 nz |a, b| a >> (b & 63)),
        s_ashr_i32 => alu!(a32 b32 put32 nz |a, b| (a as i32 >> (b & 31)) as u32),
        s_ashr_i64 => alu!(a_i64 b32 put64 nz |a, b| (a as i64 >> (b & 63)) as u64),
        s_bfm_b32 => alu!(a32 b32 put32 keep |a, b| ((1u32 << (a & 31)) - 1) << (b & 31)),
        s_bfm_b64 => alu!(a32 b32 put64 keep |a, b| ((1u64 << (a & 63)) - 1) << (b & 63)),
        s_mul_i32 => alu!(a32 b32 put32 keep |a, b| a.wrapping_mul(b)),
        s_bfe_u32 => alu!(a32 b32 put32 nz |a, b| {
            bit_field(u64::from(a), b & 31, b >> 16 & 0x7f, 32) as u32
        }),
        s_bfe_i32 => alu!(a32 b32 put32 nz |a, b| {
            signed_bit_field(i64::from(a as i32), b & 31, b >> 16 & 0x7f, 32) as u32
        }),
        s_bfe_u64 => alu!(a64 b32 put64 nz |a, b| bit_field(a, b & 63, b >> 16 & 0x7f, 64)),
        s_bfe_i64 => alu!(a_i64 b32 put64 nz |a, b| {
            signed_bit_field(a as i64, b & 63, b >> 16 & 0x7f, 64)
        }),
        s_absdiff_i32 => alu!(a32 b32 put32 nz |a, b| {
            (a as i32).wrapping_sub(b as i32).wrapping_abs() as u32
        }),
        s_mul_hi_u32 => {
            alu!(a32 b32 put32 keep |a, b| ((u64::from(a) * u64::from(b)) >> 32) as u32)
        }
        s_mul_hi_i32 => alu!(a32 b32 put32 keep |a, b| {
            ((i64::from(a as i32) * i64::from(b as i32)) >> 32) as u32
        }),
        s_lshl1_add_u32 => alu!(a32 b32 put32 flag |a, b, _scc| shift_add(a, b, 1)),
        s_lshl2_add_u32 => alu!(a32 b32 put32 flag |a, b, _scc| shift_add(a, b, 2)),
        s_lshl3_add_u32 => alu!(a32 b32 put32 flag |a, b, _scc| shift_add(a, b, 3)),
        s_lshl4_add_u32 => alu!(a32 b32 put32 flag |a, b, _scc| shift_add(a, b, 4)),
        s_pack_ll_b32_b16 => alu!(a32 b32 put32 keep |a, b| a & 0xffff | b << 16),
        s_pack_lh_b32_b16 => alu!(a32 b32 put32 keep |a, b| a & 0xffff | b & 0xffff_0000),
        s_pack_hh_b32_b16 => alu!(a32 b32 put32 keep |a, b| a >> 16 | b & 0xffff_0000),
        s_rfe_restore_b64 => return Err(PRIVILEGED),
        s_cbranch_g_fork => return Err(FORK),
        _ => return Err(Unsupported::Operation("unknown SOP2 operation")),
    })
}

fn bit_field(value: u64, offset: u32, width: u32, bits: u32) -> u64 {
    let shifted = value >> offset;
    if width >= bits { shifted } else { shifted & ((1 << width) - 1) }
}

fn signed_bit_field(value: i64, offset: u32, width: u32, bits: u32) -> u64 {
    let width = width.min(bits - offset);
    if width == 0 {
        return 0;
    }
    let unused = 64 - width;
    ((value >> offset) << unused >> unused) as u64
}

fn shift_add(a: u32, b: u32, shift: u32) -> (u32, bool) {
    let sum = (u64::from(a) << shift) + u64::from(b);
    (sum as u32, sum >> 32 != 0)
}

/// SOPK compares: the register against the immediate, sign- or zero-extended.
macro_rules! cmpk {
    (i32 $cmp:tt) => {
        handler!(|w, op| w.scc = (w.sgpr[usize::from(op.dst) & 127] as i32) $cmp op.imm as i32)
    };
    (u32 $cmp:tt) => {
        handler!(|w, op| w.scc = w.sgpr[usize::from(op.dst) & 127] $cmp op.imm & 0xffff)
    };
}

fn sopk(op: Op) -> Result<Handler, Unsupported> {
    use Op::*;
    Ok(match op {
        s_movk_i32 => handler!(|w, op| put32(w, op, op.imm)),
        s_cmovk_i32 => handler!(|w, op| {
            if w.scc {
                put32(w, op, op.imm);
            }
        }),
        s_cmpk_eq_i32 => cmpk!(i32 ==),
        s_cmpk_lg_i32 => cmpk!(i32 !=),
        s_cmpk_gt_i32 => cmpk!(i32 >),
        s_cmpk_ge_i32 => cmpk!(i32 >=),
        s_cmpk_lt_i32 => cmpk!(i32 <),
        s_cmpk_le_i32 => cmpk!(i32 <=),
        s_cmpk_eq_u32 => cmpk!(u32 ==),
        s_cmpk_lg_u32 => cmpk!(u32 !=),
        s_cmpk_gt_u32 => cmpk!(u32 >),
        s_cmpk_ge_u32 => cmpk!(u32 >=),
        s_cmpk_lt_u32 => cmpk!(u32 <),
        s_cmpk_le_u32 => cmpk!(u32 <=),
        s_addk_i32 => handler!(|w, op| {
            let (sum, overflow) =
                (w.sgpr[usize::from(op.dst) & 127] as i32).overflowing_add(op.imm as i32);
            put32(w, op, sum as u32);
            w.scc = overflow;
        }),
        s_mulk_i32 => handler!(|w, op| {
            put32(w, op, w.sgpr[usize::from(op.dst) & 127].wrapping_mul(op.imm));
        }),
        s_getreg_b32 => handler!(|w, op| {
            let (id, offset, size) = hardware_field(op.imm);
            let value = hardware_register(w, id) >> offset;
            put32(w, op, if size == 32 { value } else { value & ((1 << size) - 1) });
        }),
        s_setreg_b32 => |w, op| {
            let value = w.sgpr[usize::from(op.dst) & 127];
            set_hardware_register(w, op.imm, value)
        },
        s_setreg_imm32_b32 => |w, op| set_hardware_register(w, op.imm, op.literal),
        s_call_b64 => handler!(|w, op| {
            let back = w.env.program.pc_of(w.pc);
            put64(w, op, back);
            w.pc = op.imm as usize;
        }),
        s_cbranch_i_fork => return Err(FORK),
        _ => return Err(Unsupported::Operation("unknown SOPK operation")),
    })
}

/// Register id, first bit and width of a `hwreg` immediate.
fn hardware_field(simm16: u32) -> (u32, u32, u32) {
    (simm16 & 0x3f, simm16 >> 6 & 0x1f, (simm16 >> 11 & 0x1f) + 1)
}

fn hardware_register(wave: &Wave<'_>, id: u32) -> u32 {
    let dispatch = wave.env.dispatch;
    let setup = &dispatch.setup;
    match id {
        1 => wave.mode & !MODE_ROUGH,
        // STATUS: scc 0, execz 9, vccz 10, valid 16.
        2 => {
            u32::from(wave.scc)
                | u32::from(wave.exec() == 0) << 9
                | u32::from(wave.sgpr64(VCC) == 0) << 10
                | 1 << 16
        }
        3 => wave.trapsts,
        // HW_ID: wave 3:0, simd 5:4, cu 11:8, sh 12, se 15:13.
        4 => {
            let cu = wave.slot / wave.env.product.xcds;
            wave.index >> 2 & 0xf | (wave.index & 3) << 4 | (cu & 0xf) << 8 | (cu >> 4 & 7) << 13
        }
        // GPR_ALLOC: vgpr size 13:8 in granules of 8, minus one; sgpr size 27:24.
        5 => (setup.vgprs + setup.agprs).div_ceil(8).saturating_sub(1) << 8 | 0xc << 24,
        // LDS_ALLOC: size 20:12 in granules of 128 dwords.
        6 => dispatch.lds_bytes.div_ceil(512) << 12,
        15 => 0x0001_0002,
        20 => wave.slot % wave.env.product.xcds,
        _ => 0,
    }
}

fn set_hardware_register(wave: &mut Wave<'_>, simm16: u32, value: u32) -> Flow {
    let (id, offset, size) = hardware_field(simm16);
    // Those beyond the register are not there.
    let mask = (u32::MAX >> (32 - size)) << offset;
    let merge = |old: u32| old & !mask | value << offset & mask;
    match id {
        1 => wave.mode = merge(wave.mode) & !MODE_ROUGH | wave.mode & MODE_ROUGH,
        3 => wave.trapsts = merge(wave.trapsts),
        // The other registers are read-only for a kernel; hardware ignores the write.
        _ => {}
    }
    mode_flow(wave)
}

/// Leaves the fast loop while MODE changes what vector instructions mean.
fn mode_flow(wave: &Wave<'_>) -> Flow {
    if wave.mode & (MODE_GPR_INDEX | MODE_VSKIP) == 0 { Flow::Next } else { Flow::Relative }
}

/// `*_saveexec`: the destination takes EXEC, EXEC a function of the source and EXEC.
macro_rules! saveexec {
    (|$s:ident, $x:ident| $e:expr) => {
        handler!(|w, op| {
            let ($s, $x) = (a64(w, op), w.exec());
            let mask: u64 = $e;
            put64(w, op, $x);
            w.set_exec(mask);
            w.scc = mask != 0;
        })
    };
}

/// `*_wrexec`: both the destination and EXEC take the result.
macro_rules! wrexec {
    (|$s:ident, $x:ident| $e:expr) => {
        handler!(|w, op| {
            let ($s, $x) = (a64(w, op), w.exec());
            let mask: u64 = $e;
            put64(w, op, mask);
            w.set_exec(mask);
            w.scc = mask != 0;
        })
    };
}

fn sop1(op: Op) -> Result<Handler, Unsupported> {
    use Op::*;
    Ok(match op {
        s_mov_b32 => alu!(a32 put32 keep |a| a),
        s_mov_b64 => alu!(a64 put64 keep |a| a),
        s_cmov_b32 => handler!(|w, op| {
            if w.scc {
                put32(w, op, a32(w, op));
            }
        }),
        s_cmov_b64 => handler!(|w, op| {
            if w.scc {
                put64(w, op, a64(w, op));
            }
        }),
        s_not_b32 => alu!(a32 put32 nz |a| !a),
        s_not_b64 => alu!(a64 put64 nz |a| !a),
        s_wqm_b32 => alu!(a32 put32 nz |a| whole_quads(u64::from(a)) as u32),
        s_wqm_b64 => alu!(a64 put64 nz |a| whole_quads(a)),
        s_brev_b32 => alu!(a32 put32 keep |a| a.reverse_bits()),
        s_brev_b64 => alu!(a64 put64 keep |a| a.reverse_bits()),
        s_bcnt0_i32_b32 => alu!(a32 put32 nz |a| a.count_zeros()),
        s_bcnt0_i32_b64 => alu!(a64 put32 nz |a| a.count_zeros()),
        s_bcnt1_i32_b32 => alu!(a32 put32 nz |a| a.count_ones()),
        s_bcnt1_i32_b64 => alu!(a64 put32 nz |a| a.count_ones()),
        s_ff0_i32_b32 => alu!(a32 put32 keep |a| lowest_one(u64::from(!a))),
        s_ff0_i32_b64 => alu!(a64 put32 keep |a| lowest_one(!a)),
        s_ff1_i32_b32 => alu!(a32 put32 keep |a| lowest_one(u64::from(a))),
        s_ff1_i32_b64 => alu!(a64 put32 keep |a| lowest_one(a)),
        s_flbit_i32_b32 => {
            alu!(a32 put32 keep |a| if a == 0 { u32::MAX } else { a.leading_zeros() })
        }
        s_flbit_i32_b64 => {
            alu!(a64 put32 keep |a| if a == 0 { u32::MAX } else { a.leading_zeros() })
        }
        s_flbit_i32 => alu!(a32 put32 keep |a| {
            let differing = a ^ (a as i32 >> 31) as u32;
            if differing == 0 { u32::MAX } else { differing.leading_zeros() }
        }),
        s_flbit_i32_i64 => alu!(a_i64 put32 keep |a| {
            let differing = a ^ (a as i64 >> 63) as u64;
            if differing == 0 { u32::MAX } else { differing.leading_zeros() }
        }),
        s_sext_i32_i8 => alu!(a32 put32 keep |a| i32::from(a as i8) as u32),
        s_sext_i32_i16 => alu!(a32 put32 keep |a| i32::from(a as i16) as u32),
        s_bitset0_b32 => handler!(|w, op| {
            let bit = a32(w, op) & 31;
            put32(w, op, w.sgpr[usize::from(op.dst) & 127] & !(1 << bit));
        }),
        s_bitset0_b64 => handler!(|w, op| {
            let bit = a32(w, op) & 63;
            put64(w, op, w.sgpr64(usize::from(op.dst)) & !(1 << bit));
        }),
        s_bitset1_b32 => handler!(|w, op| {
            let bit = a32(w, op) & 31;
            put32(w, op, w.sgpr[usize::from(op.dst) & 127] | 1 << bit);
        }),
        s_bitset1_b64 => handler!(|w, op| {
            let bit = a32(w, op) & 63;
            put64(w, op, w.sgpr64(usize::from(op.dst)) | 1 << bit);
        }),
        s_getpc_b64 => handler!(|w, op| put64(w, op, w.env.program.pc_of(w.pc))),
        s_setpc_b64 => |w, op| jump(w, a64(w, op)),
        s_swappc_b64 => |w, op| {
            let target = a64(w, op);
            put64(w, op, w.env.program.pc_of(w.pc));
            jump(w, target)
        },
        s_and_saveexec_b64 => saveexec!(|s, x| s & x),
        s_or_saveexec_b64 => saveexec!(|s, x| s | x),
        s_xor_saveexec_b64 => saveexec!(|s, x| s ^ x),
        s_andn2_saveexec_b64 => saveexec!(|s, x| s & !x),
        s_orn2_saveexec_b64 => saveexec!(|s, x| s | !x),
        s_nand_saveexec_b64 => saveexec!(|s, x| !(s & x)),
        s_nor_saveexec_b64 => saveexec!(|s, x| !(s | x)),
        s_xnor_saveexec_b64 => saveexec!(|s, x| !(s ^ x)),
        s_andn1_saveexec_b64 => saveexec!(|s, x| !s & x),
        s_orn1_saveexec_b64 => saveexec!(|s, x| !s | x),
        s_andn1_wrexec_b64 => wrexec!(|s, x| !s & x),
        s_andn2_wrexec_b64 => wrexec!(|s, x| s & !x),
        s_quadmask_b32 => alu!(a32 put32 nz |a| quad_mask(u64::from(a)) as u32),
        s_quadmask_b64 => alu!(a64 put64 nz |a| quad_mask(a)),
        s_movrels_b32 => handler!(|w, op| {
            let from = usize::from(op.src[0]) + w.sgpr[M0] as usize;
            put32(w, op, w.sgpr[from & 127]);
        }),
        s_movrels_b64 => handler!(|w, op| {
            let from = usize::from(op.src[0]) + w.sgpr[M0] as usize;
            put64(w, op, w.sgpr64(from));
        }),
        s_movreld_b32 => handler!(|w, op| {
            let value = a32(w, op);
            let to = usize::from(op.dst) + w.sgpr[M0] as usize;
            w.sgpr[to & 127] = value;
        }),
        s_movreld_b64 => handler!(|w, op| {
            let value = a64(w, op);
            let to = usize::from(op.dst) + w.sgpr[M0] as usize;
            w.set_sgpr64(to, value);
        }),
        s_abs_i32 => alu!(a32 put32 nz |a| (a as i32).wrapping_abs() as u32),
        s_set_gpr_idx_idx => handler!(|w, op| {
            w.sgpr[M0] = w.sgpr[M0] & !0xff | a32(w, op) & 0xff;
        }),
        s_bitreplicate_b64_b32 => alu!(a32 put64 keep |a| {
            (0..32).fold(0, |wide, bit| wide | ((u64::from(a) >> bit & 1) * 3) << (2 * bit))
        }),
        s_cbranch_join => return Err(FORK),
        s_rfe_b64 => return Err(PRIVILEGED),
        _ => return Err(Unsupported::Operation("unknown SOP1 operation")),
    })
}

/// Each group of four bits all ones if any of them is set.
fn whole_quads(mask: u64) -> u64 {
    ((mask | mask >> 1 | mask >> 2 | mask >> 3) & 0x1111_1111_1111_1111) * 15
}

/// One bit for each group of four: whether any of them is set.
fn quad_mask(mask: u64) -> u64 {
    (0..16).fold(0, |quads, quad| quads | u64::from(mask >> (4 * quad) & 0xf != 0) << quad)
}

fn lowest_one(value: u64) -> u32 {
    if value == 0 { u32::MAX } else { value.trailing_zeros() }
}

fn jump(wave: &mut Wave<'_>, target: u64) -> Flow {
    match wave.env.program.index_of(target) {
        Some(index) => {
            wave.pc = index;
            Flow::Next
        }
        None => wave.raise(
            FaultKind::IllegalState,
            "the jump target is outside the code",
            None,
            Some(target),
        ),
    }
}

/// SOPC compares.
macro_rules! cmp {
    ($get:ident $getb:ident $ty:ty, $cmp:tt) => {
        handler!(|w, op| w.scc = ($get(w, op) as $ty) $cmp ($getb(w, op) as $ty))
    };
}

fn sopc(op: Op) -> Result<Handler, Unsupported> {
    use Op::*;
    Ok(match op {
        s_cmp_eq_i32 | s_cmp_eq_u32 => cmp!(a32 b32 u32, ==),
        s_cmp_lg_i32 | s_cmp_lg_u32 => cmp!(a32 b32 u32, !=),
        s_cmp_gt_i32 => cmp!(a32 b32 i32, >),
        s_cmp_ge_i32 => cmp!(a32 b32 i32, >=),
        s_cmp_lt_i32 => cmp!(a32 b32 i32, <),
        s_cmp_le_i32 => cmp!(a32 b32 i32, <=),
        s_cmp_gt_u32 => cmp!(a32 b32 u32, >),
        s_cmp_ge_u32 => cmp!(a32 b32 u32, >=),
        s_cmp_lt_u32 => cmp!(a32 b32 u32, <),
        s_cmp_le_u32 => cmp!(a32 b32 u32, <=),
        s_bitcmp0_b32 => handler!(|w, op| w.scc = a32(w, op) >> (b32(w, op) & 31) & 1 == 0),
        s_bitcmp1_b32 => handler!(|w, op| w.scc = a32(w, op) >> (b32(w, op) & 31) & 1 == 1),
        s_bitcmp0_b64 => handler!(|w, op| w.scc = a64(w, op) >> (b32(w, op) & 63) & 1 == 0),
        s_bitcmp1_b64 => handler!(|w, op| w.scc = a64(w, op) >> (b32(w, op) & 63) & 1 == 1),
        s_cmp_eq_u64 => handler!(|w, op| {
            w.scc = w.scalar64(op.src[0], op.literal, false)
                == w.scalar64(op.src[1], op.literal, false);
        }),
        s_cmp_lg_u64 => handler!(|w, op| {
            w.scc = w.scalar64(op.src[0], op.literal, false)
                != w.scalar64(op.src[1], op.literal, false);
        }),
        s_setvskip => |w, op| {
            let skip = a32(w, op) >> (b32(w, op) & 31) & 1 == 1;
            w.mode = if skip { w.mode | MODE_VSKIP } else { w.mode & !MODE_VSKIP };
            mode_flow(w)
        },
        // `m0` takes the index in its low byte and the operand selection in bits 15:12.
        s_set_gpr_idx_on => |w, op| {
            let index = a32(w, op) & 0xff;
            w.sgpr[M0] = w.sgpr[M0] & !0xf0ff | index | op.imm << 12;
            w.mode |= MODE_GPR_INDEX;
            mode_flow(w)
        },
        _ => return Err(Unsupported::Operation("unknown SOPC operation")),
    })
}

/// Conditional branches: the target index is the immediate.
macro_rules! branch {
    (|$w:ident| $condition:expr) => {
        handler!(|$w, op| {
            if $condition {
                $w.pc = op.imm as usize;
            }
        })
    };
}

fn sopp(op: Op, simm16: u16) -> Result<Handler, Unsupported> {
    use Op::*;
    Ok(match op {
        // Priorities, counters' waits, caches and performance levels have no functional effect: every
        // access is complete when its instruction is, and the debug branches test flags that are 0.
        s_nop
        | s_setprio
        | s_waitcnt
        | s_icache_inv
        | s_incperflevel
        | s_decperflevel
        | s_ttracedata
        | s_wakeup
        | s_sendmsg
        | s_set_valu_coexec_mode
        | s_cbranch_cdbgsys
        | s_cbranch_cdbguser
        | s_cbranch_cdbgsys_or_user
        | s_cbranch_cdbgsys_and_user => IGNORE,
        s_endpgm | s_endpgm_saved | s_endpgm_ordered_ps_done => |_, _| Flow::End,
        s_branch => branch!(|w| true),
        s_cbranch_scc0 => branch!(|w| !w.scc),
        s_cbranch_scc1 => branch!(|w| w.scc),
        s_cbranch_vccz => branch!(|w| w.sgpr64(VCC) == 0),
        s_cbranch_vccnz => branch!(|w| w.sgpr64(VCC) != 0),
        s_cbranch_execz => branch!(|w| w.sgpr64(EXEC) == 0),
        s_cbranch_execnz => branch!(|w| w.sgpr64(EXEC) != 0),
        s_barrier => |_, _| Flow::Barrier,
        s_setkill if simm16 & 1 == 1 => |_, _| Flow::End,
        s_sethalt if simm16 & 1 == 1 => HALT,
        s_sendmsghalt => HALT,
        s_setkill | s_sethalt => IGNORE,
        s_sleep => |_, _| Flow::Yield,
        // Trap 3 is a breakpoint: without a debugger the wave goes on.
        s_trap if simm16 & 0xff == 3 => IGNORE,
        s_trap => |w, op| {
            let detail = format!("the kernel executed s_trap {}", op.imm & 0xff);
            w.raise(FaultKind::Trap, detail, None, None)
        },
        s_set_gpr_idx_off => handler!(|w, _op| w.mode &= !MODE_GPR_INDEX),
        s_set_gpr_idx_mode => handler!(|w, op| {
            w.sgpr[M0] = w.sgpr[M0] & !0xf000 | (op.imm & 0xf) << 12;
        }),
        _ => return Err(Unsupported::Operation("unknown SOPP operation")),
    })
}

/// Instruction without functional effect.
const IGNORE: Handler = |_, _| Flow::Next;

/// A halted wave waits for a debugger for ever.
const HALT: Handler = |w, _| {
    w.raise(FaultKind::Deadlock, "the wave halted itself, and no debugger is attached", None, None)
};
