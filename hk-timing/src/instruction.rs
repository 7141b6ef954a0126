//! What the model knows of an instruction.

use hk_sim::counters::Class;
use hk_sim::exec::Program;
use hk_sim::isa::{Arch, Inst, MatType, MfmaClass, MfmaInfo, Op};

use crate::{Error, Parameters};

/// Cycles between two issues of a wave.
pub(crate) const SLOT: u64 = 4;

/// Which energy a matrix instruction takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Energy {
    Bf16,
    F16,
    Bits8,
    Narrow,
}

/// Matrix instruction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Matrix {
    /// Cycles of the matrix unit.
    pub(crate) cycles: u64,
    /// Whether the VALU is busy as long.
    pub(crate) holds_vector: bool,
    /// Cycles behind the slot in which the SIMD issues nothing but scalar instructions.
    pub(crate) blocks: u64,
    /// Cycles of its issue.
    pub(crate) issue: u64,
    pub(crate) operations: u64,
    pub(crate) energy: Energy,
}

/// What an instruction asks for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Kind {
    /// Cycles of the VALU, and operations of f32.
    Vector {
        cycles: u64,
        operations: u64,
    },
    Matrix(Matrix),
    Scalar,
    ScalarMemory,
    Lds,
    VectorMemory {
        bypass: bool,
    },
    Branch,
    /// Most outstanding instructions of each counter.
    Wait {
        vector: usize,
        lgkm: usize,
    },
    Barrier,
    /// Cycles in which the wave does nothing.
    Pause(u64),
    Priority(u8),
    End,
    Internal,
}

/// An instruction of the program.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Instruction {
    pub(crate) kind: Kind,
    pub(crate) dwords: u32,
    /// Whether the trace has an access of it.
    pub(crate) accesses: bool,
}

impl Instruction {
    pub(crate) fn of(program: &Program, index: u32, by: &Parameters) -> Result<Self, Error> {
        let inst = program.inst_at(index as usize).map_err(|_| Error::Instruction(index))?;
        let kind = kind(&inst, program.arch(), by);
        let caches = matches!(inst.info.op, Op::buffer_wbl2 | Op::buffer_inv | Op::s_dcache_inv);
        let name = inst.info.base();
        let scalar = ["load", "store", "atomic", "time"].iter().any(|word| name.contains(word));
        let accesses = match kind {
            Kind::Lds => name != "ds_nop",
            Kind::VectorMemory { .. } => !caches,
            Kind::ScalarMemory => !caches && scalar,
            _ => false,
        };
        Ok(Self { kind, dwords: u32::from(inst.size / 4), accesses })
    }
}

fn kind(inst: &Inst, arch: Arch, by: &Parameters) -> Kind {
    let simm = inst.simm16;
    match Class::of(inst) {
        Class::Matrix => matrix(inst, arch, by),
        Class::Vector => vector(inst.info.base(), by),
        Class::Scalar => Kind::Scalar,
        Class::ScalarMemory => Kind::ScalarMemory,
        Class::Lds => Kind::Lds,
        Class::VectorMemory => Kind::VectorMemory { bypass: inst.mem.sc0 || inst.mem.sc1 },
        Class::Branch => Kind::Branch,
        Class::Barrier => Kind::Barrier,
        Class::Wait => {
            let vector = usize::from(simm & 15 | simm >> 10 & 0x30);
            Kind::Wait { vector, lgkm: usize::from(simm >> 8 & 15) }
        }
        Class::Control => match inst.info.op {
            Op::s_nop => Kind::Pause(SLOT * u64::from(simm & 15)),
            Op::s_sleep => Kind::Pause(64 * u64::from(simm & 127)),
            Op::s_setprio => Kind::Priority((simm & 3) as u8),
            Op::s_endpgm | Op::s_endpgm_saved | Op::s_endpgm_ordered_ps_done => Kind::End,
            _ => Kind::Internal,
        },
    }
}

fn matrix(inst: &Inst, arch: Arch, by: &Parameters) -> Kind {
    let Some(info) = MfmaInfo::get(inst.info.op, arch) else { return Kind::Internal };
    // Formats 0 and 1 have 8 bits.
    let formats = info.a == MatType::F8F6F4;
    let narrow = formats && inst.cbsz > 1 && inst.blgp > 1;
    let passes = if narrow { info.passes_narrow } else { info.passes };
    let blocks = formats && by.f8f6f4_port_block != 0.0;
    let scaled = inst.info.base().contains("_scale_");
    let energy = match info.a {
        _ if narrow => Energy::Narrow,
        MatType::Bf16 => Energy::Bf16,
        MatType::I8 | MatType::Fp8 | MatType::Bf8 | MatType::F8F6F4 => Energy::Bits8,
        _ => Energy::F16,
    };
    Kind::Matrix(Matrix {
        cycles: SLOT * u64::from(passes) + by.mfma_issue_gap as u64,
        holds_vector: info.class != MfmaClass::Xdl,
        blocks: if blocks { SLOT } else { 0 },
        issue: if scaled { 2 * SLOT } else { SLOT },
        operations: info.operations(),
        energy,
    })
}

fn vector(name: &str, by: &Parameters) -> Kind {
    let starts = |words: &[&str]| words.iter().any(|word| name.starts_with(word));
    let cycles = if starts(&[
        "v_exp_", "v_log_", "v_rcp_", "v_rsq_", "v_sqrt_", "v_sin_", "v_cos_", "v_prng_",
    ]) {
        by.trans
    } else if starts(&["v_mul_lo_u32", "v_mul_hi_u32", "v_mul_hi_i32"]) {
        by.mul_lo
    } else if name.starts_with("v_cvt_")
        && (name.contains("f64")
            || ["f32_i32", "f32_u32", "i32_f32", "u32_f32"].iter().any(|to| name.ends_with(to)))
    {
        by.convert
    } else {
        SLOT as f64
    };
    let packed = if name.starts_with("v_pk_") { 2 } else { 1 };
    let per_lane = match name {
        _ if name.contains("_fma") || name.contains("_fmac") => 2 * packed,
        _ if name.contains("_f32") || name.contains("_f16") => packed,
        _ => 0,
    };
    Kind::Vector { cycles: cycles as u64, operations: 64 * per_lane }
}
