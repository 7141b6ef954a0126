//! From decoded instructions to handlers, operands and modifiers.

use std::sync::OnceLock;

use super::finish::{Finish, Place};
use super::lane::{Class as Influence, Core, IMM_OCP, MODE_FP16_OVFL};
use super::operand::{Permutation, Prepare, Select, Shape, Source, constant};
use super::run::{General, LaneDetail, Mask, Pair, general_way, handler};
use super::{convert, divide, special, vop1, vop2, vop3, vop3p, vopc};
use crate::exec::salu::MODE_ROUGH;
use crate::exec::simd::SimdLevel;
use crate::exec::{Detail, MicroOp, Unsupported, VCC};
use crate::isa::{Arch, Elem, Ext, Format, Inst, Op, Operand, Slot};

/// Operations with a lane kernel, by operation.
fn core_of(op: Op) -> Option<&'static Core> {
    static INDEX: OnceLock<Vec<Option<&'static Core>>> = OnceLock::new();
    let index = INDEX.get_or_init(|| {
        let mut index = vec![None; Op::ALL.len()];
        let tables = [
            vop1::CORES,
            vop2::CORES,
            vop3::CORES,
            vop3p::CORES,
            divide::CORES,
            divide::FMAS_CORES,
            convert::CORES,
        ];
        for core in tables.into_iter().flatten() {
            index[core.op as usize] = Some(core);
        }
        index
    });
    index[op as usize]
}

/// Lowers a vector ALU instruction that is no matrix instruction.
pub(in crate::exec) fn lower(
    arch: Arch,
    inst: &Inst,
    level: SimdLevel,
) -> Result<MicroOp, Unsupported> {
    if let Some(result) = special::lower(inst) {
        return result;
    }
    let op = inst.info.op;
    let comparison = vopc::comparison(op);
    let whole_pair = whole_pair_core(inst);
    let core = comparison.as_ref().map(|comparison| comparison.core).or(whole_pair);
    let core = core
        .or_else(|| core_of(op))
        .ok_or(Unsupported::Operation("no vector instruction of the simulator"))?;

    let operands = operands(inst, core)?;
    let mut sources = [const { Source::None }; 4];
    let mut prepare = [Prepare::none(Elem::B32, 1); 4];
    for (at, operand) in operands.iter().enumerate() {
        sources[at] = operand.source(inst, at)?;
        prepare[at] = prepare_operand(inst, at, operand);
        // Only operations on floats care, and the prepared operand is what the kernel gets.
        prepare[at].flush = core.class == Influence::Float
            && matches!(operand.elem, Elem::F32 | Elem::F16 | Elem::F64)
            && !matches!(prepare[at].shape, Shape::Widened(_));
    }
    if comparison.as_ref().is_some_and(|comparison| comparison.swap) {
        sources.swap(0, 1);
        prepare.swap(0, 1);
    }
    let mask = match &comparison {
        Some(c) => Mask { write: true, negate: c.negate, exec: c.exec },
        None => Mask { write: core.mask, ..Mask::NONE },
    };
    let permutation = match inst.ext {
        Ext::Dpp(dpp) => Some(Box::new(Permutation::new(&dpp))),
        _ => None,
    };
    let finish = finish(inst, core);
    let clamps_integer = inst.clamp && !is_float(inst.info.dst[0].elem);
    let kernel = match core.clamp {
        Some(kernel) if clamps_integer => kernel,
        _ => core.kernel(level),
    };
    let (mut mode_mask, mode_value) = mode_requirement(inst, core);
    let round = match (core.rough, core.round) {
        (Some(rough), _) => {
            mode_mask |= MODE_ROUGH;
            Some((rough, MODE_ROUGH))
        }
        (None, round) => round.map(|kernel| (kernel, mode_mask & MODE_ROUND)),
    };
    let pair = if whole_pair.is_some() { None } else { pair(inst) };
    let rows = if pair.is_some() { 2 } else { core.rows };
    let detail = LaneDetail {
        kernel,
        general_way: general_way(level),
        mode_mask,
        mode_value,
        imm: immediate(arch, inst),
        rows: rows as u8,
        mask,
        sources,
        general: General { prepare, permutation, round, finish, pair },
    };
    let mut micro = MicroOp::new(handler(op, &detail, level), inst);
    for (row, source) in micro.src.iter_mut().zip(&detail.sources) {
        if let Source::Vector(vector) = source {
            *row = *vector;
        }
    }
    micro.dst = inst.dst[0].vector_index().unwrap_or(0) as u16;
    let mask_operand = if comparison.is_some() { inst.dst[0] } else { inst.dst[1] };
    if mask.write {
        let code = mask_operand.scalar_index();
        micro.dst1 =
            code.ok_or(Unsupported::Operands("the mask has no scalar destination"))? as u16;
    }
    micro.detail = Detail::Lane(Box::new(detail));
    Ok(micro)
}

/// Operand of a kernel.
struct KernelOperand {
    operand: Operand,
    elem: Elem,
    mask: bool,
}

/// The operands that the kernel expects: those of the instruction, then what it leaves unsaid, the
/// old destination or VCC.
fn operands(inst: &Inst, core: &Core) -> Result<Vec<KernelOperand>, Unsupported> {
    let expected = core.sources.len();
    let is_mask = |at: usize| core.reads_mask && at + 1 == expected;
    let slots = inst.info.src.iter().zip(&inst.src).filter(|(slot, _)| slot.is_some());
    let mut operands: Vec<_> = slots
        .enumerate()
        .map(|(at, (slot, operand))| KernelOperand {
            operand: *operand,
            // `v_cndmask_b32` moves bits, yet its source modifiers are those of floats.
            elem: if inst.info.op == Op::v_cndmask_b32 { Elem::F32 } else { slot.elem },
            mask: is_mask(at),
        })
        .collect();
    if operands.len() < expected {
        let vcc = Operand { code: VCC as u16, dwords: 2 };
        operands.push(if core.reads_mask {
            KernelOperand { operand: vcc, elem: Elem::B64, mask: true }
        } else {
            let elem = inst.info.dst[0].elem;
            KernelOperand { operand: inst.dst[0], elem, mask: false }
        });
    }
    if operands.len() != expected && pair(inst).is_none() {
        return Err(Unsupported::Operation("its operands are not those of its kernel"));
    }
    Ok(operands)
}

impl KernelOperand {
    fn source(&self, inst: &Inst, at: usize) -> Result<Source, Unsupported> {
        let Operand { code, dwords } = self.operand;
        if let Some(row) = self.operand.vector_index() {
            return Ok(Source::Vector(row as u16));
        }
        if self.mask {
            return Ok(Source::Mask(code));
        }
        if dwords > 2 {
            return Err(Unsupported::Operands("a wide source must be a register tuple"));
        }
        // Inline constants follow the type that the slot has, whatever the modifiers act on.
        let elem = if inst.info.op == Op::v_cndmask_b32 { Elem::B32 } else { self.elem };
        let value = if code == Operand::LITERAL {
            Some(literal(inst, elem, dwords))
        } else {
            constant(code, constant_elem(inst, at, elem), dwords)
        };
        Ok(match (value, dwords) {
            (Some(value), 2) => Source::Constant64(value),
            (Some(value), _) => Source::Constant(value as u32),
            (None, 2) => Source::Scalar64(code),
            (None, _) => Source::Scalar(code),
        })
    }
}

/// Type of an inline constant that is operand `at`.
fn constant_elem(inst: &Inst, at: usize, elem: Elem) -> Elem {
    let mixed =
        matches!(inst.info.op, Op::v_fma_mix_f32 | Op::v_fma_mixlo_f16 | Op::v_fma_mixhi_f16);
    if mixed && inst.op_sel_hi >> at & 1 == 1 { Elem::F16 } else { elem }
}

/// Value of the instruction's literal in an operand. What moves bits has zeros above it: compilers have
/// `v_mov_b64` bring 0xffff_ffff so.
fn literal(inst: &Inst, elem: Elem, dwords: u8) -> u64 {
    let literal = u64::from(inst.literal);
    match (dwords, elem) {
        (2, Elem::F64) => literal << 32,
        (2, _) if inst.info.op.name().ends_with("i64") => i64::from(inst.literal as i32) as u64,
        _ => literal,
    }
}

fn is_float(elem: Elem) -> bool {
    matches!(elem, Elem::F16 | Elem::Bf16 | Elem::F32 | Elem::F64)
}

/// Sign bits of the rows of an operand.
fn sign_bits(elem: Elem, count: u8) -> [u32; 2] {
    const TOP: u32 = 1 << 31;
    match (elem, count) {
        (Elem::F16 | Elem::Bf16, 1) => [1 << 15, 0],
        (Elem::F16 | Elem::Bf16, _) => [TOP | 1 << 15, 0],
        (Elem::F32, 1) => [TOP, 0],
        (Elem::F32, _) => [TOP, TOP],
        (Elem::F64, _) => [0, TOP],
        _ => [0, 0],
    }
}

/// How operand `at` of the kernel is prepared.
fn prepare_operand(inst: &Inst, at: usize, operand: &KernelOperand) -> Prepare {
    let info = inst.info;
    let elem = operand.elem;
    let mut prepare = Prepare::none(elem, operand.operand.dwords);
    let Some(slot) = info.src.get(at).filter(|slot| slot.is_some() && !operand.mask) else {
        return prepare;
    };
    let [neg, abs, sel, sel_hi] =
        [inst.neg, inst.abs, inst.op_sel, inst.op_sel_hi].map(|bits| bits >> at & 1 == 1);
    let signs = sign_bits(elem, slot.count);
    if info.format == Format::Vop3p {
        return prepare_packed(inst, slot, prepare, [neg, abs, sel, sel_hi]);
    }
    match inst.ext {
        Ext::Sdwa(sdwa) if at < 2 => {
            let select = Select::sdwa(sdwa.src_sel[at], sdwa.src_sext[at]);
            prepare.shape = Shape::Single(select);
        }
        Ext::Dpp(_) => prepare.permute = at == 0,
        _ if sel && selects_half(inst, at, slot) => {
            prepare.shape = Shape::Single(Select { shift: 16, width: 16, signed: false });
        }
        _ => {}
    }
    let applies = |flag: bool| if flag { signs } else { [0; 2] };
    prepare.clear = applies(abs);
    prepare.invert = applies(neg);
    prepare
}

/// Whether `op_sel` chooses the upper half of a source.
fn selects_half(inst: &Inst, at: usize, slot: &Slot) -> bool {
    let narrow = matches!(slot.elem, Elem::F16 | Elem::Bf16 | Elem::B16) && slot.count == 1;
    // The shift counts of the alignment operations are 16-bit operands.
    let shift_count = matches!(inst.info.op, Op::v_alignbit_b32 | Op::v_alignbyte_b32) && at == 2;
    narrow || shift_count
}

fn prepare_packed(
    inst: &Inst,
    slot: &Slot,
    mut prepare: Prepare,
    [neg_lo, neg_hi, sel, sel_hi]: [bool; 4],
) -> Prepare {
    let elem = slot.elem;
    let float = is_float(elem);
    match inst.info.op {
        Op::v_fma_mix_f32 | Op::v_fma_mixlo_f16 | Op::v_fma_mixhi_f16 => {
            if sel_hi {
                prepare.shape = Shape::Widened(sel);
            }
            prepare.clear = [if neg_hi { 1 << 31 } else { 0 }, 0];
            prepare.invert = [if neg_lo { 1 << 31 } else { 0 }, 0];
        }
        Op::v_pk_mov_b32 => {}
        _ if slot.count == 2 && slot.dwords == 2 => {
            prepare.shape = Shape::Dwords([sel, sel_hi]);
            prepare.invert = [neg_lo, neg_hi].map(|neg| if neg { 1 << 31 } else { 0 });
        }
        _ if slot.count == 2 => {
            // The dot products have no selection bits.
            let selects = inst.info.mods.sel != 0;
            prepare.shape = Shape::Halves(if selects { [sel, sel_hi] } else { [false, true] });
            let low = if neg_lo { 1 << 15 } else { 0 };
            let high = if neg_hi { 1 << 31 } else { 0 };
            prepare.invert = [if float { low | high } else { 0 }, 0];
        }
        // The accumulator of a dot product of `f16`; that of `bf16` has no modifiers.
        Op::v_dot2_f32_f16 => {
            prepare.clear = [if neg_hi { 1 << 31 } else { 0 }, 0];
            prepare.invert = [if neg_lo { 1 << 31 } else { 0 }, 0];
        }
        _ => {}
    }
    prepare
}

/// Kernel for an operation on pairs of dwords without modifiers.
fn whole_pair_core(inst: &Inst) -> Option<&'static Core> {
    let plain = inst.op_sel == 0 && inst.op_sel_hi == 7 && inst.neg | inst.abs == 0;
    vop3p::WHOLE_PAIR_CORES.iter().find(|core| plain && core.op == inst.info.op)
}

/// Operands of the two halves of an operation on pairs of dwords.
fn pair(inst: &Inst) -> Option<Pair> {
    let sel = |at: u8| inst.op_sel >> at & 1;
    let sel_hi = |at: u8| inst.op_sel_hi >> at & 1;
    let each =
        |row: &dyn Fn(u8, u8) -> u8| [0, 1].map(|half| [0, 1, 2].map(|at| (at, row(half, at))));
    match inst.info.op {
        Op::v_pk_fma_f32 | Op::v_pk_mul_f32 | Op::v_pk_add_f32 => Some(Pair {
            direct: each(&|half, at| if half == 0 { sel(at) } else { sel_hi(at) }),
            prepared: each(&|half, _| half),
        }),
        Op::v_pk_mov_b32 => {
            let operands = [0, 1].map(|half| [(half, sel(half)); 3]);
            Some(Pair { direct: operands, prepared: operands })
        }
        _ => None,
    }
}

fn finish(inst: &Inst, core: &Core) -> Finish {
    let slot = &inst.info.dst[0];
    let narrow = matches!(slot.elem, Elem::F16 | Elem::Bf16 | Elem::B16) && slot.count == 1;
    const LOW: Select = Select { shift: 0, width: 16, signed: false };
    const HIGH: Select = Select { shift: 16, width: 16, signed: false };
    let place = match (inst.ext, inst.info.op) {
        (Ext::Sdwa(sdwa), _) if core.rows == 1 && inst.info.format != Format::Vopc => {
            let select = Select::sdwa(sdwa.dst_sel, sdwa.dst_unused == 1);
            match sdwa.dst_unused {
                _ if select == Select::WHOLE => Place::Whole,
                2 => Place::Part(select),
                _ => Place::Alone(select),
            }
        }
        (_, Op::v_fma_mixlo_f16) => Place::Part(LOW),
        (_, Op::v_fma_mixhi_f16) => Place::Part(HIGH),
        _ if narrow && preserves_half(inst) => {
            Place::Part(if inst.op_sel & 8 == 0 { LOW } else { HIGH })
        }
        _ => Place::Whole,
    };
    Finish {
        elem: slot.elem,
        count: slot.count,
        omod: inst.omod,
        clamp: inst.clamp && is_float(slot.elem),
        flush: core.class == Influence::Float,
        place,
    }
}

/// Whether a 16-bit result leaves the other half of the register alone.
///
/// It does for the operations that VOP3 alone encodes, but for those that keep the behaviour, and
/// in their name the word, of earlier chips.
fn preserves_half(inst: &Inst) -> bool {
    const FIRST_NATIVE: u16 = 448;
    inst.info.format == Format::Vop3a
        && inst.info.opcode >= FIRST_NATIVE
        && !inst.info.op.name().contains("_legacy_")
}

/// The rounding modes in MODE.
const MODE_ROUND: u32 = 0xf;

/// Mask and value of the MODE fields that must have their default for the direct way.
fn mode_requirement(inst: &Inst, core: &Core) -> (u32, u32) {
    if core.class == Influence::Bits {
        return (0, 0);
    }
    let slots = inst.info.src.iter().chain(&inst.info.dst).filter(|slot| slot.is_some());
    // The direct way does not saturate.
    let overflow = if inst.info.dst[0].elem == Elem::F16 { MODE_FP16_OVFL } else { 0 };
    slots.fold((overflow, 0), |(mask, value), slot| match slot.elem {
        Elem::F32 => (mask | 0x33, value | 0x30),
        Elem::F16 | Elem::F64 => (mask | 0xcc, value | 0xc0),
        _ => (mask, value),
    })
}

/// Immediate modifiers that the kernel interprets itself.
fn immediate(arch: Arch, inst: &Inst) -> u32 {
    let ocp = if arch == Arch::Gfx950 { IMM_OCP } else { 0 };
    match inst.info.op {
        Op::v_bitop3_b32 | Op::v_bitop3_b16 => inst.bitop3.into(),
        _ => ocp | u32::from(inst.op_sel),
    }
}
