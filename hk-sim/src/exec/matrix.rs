//! Matrix instructions: from operands to the kernels of [`super::mfma`].

use std::ptr;

use super::mfma::{self, MfmaArgs, MfmaConfig, MfmaFn};
use super::simd::SimdLevel;
use super::wave::inline_f64;
use super::{Detail, Flow, INLINE_F32, Lanes, MicroOp, Unsupported, Wave};
use crate::isa::{Arch, Inst, MatType, MfmaInfo, Operand};

/// Source row that stands for a constant.
const CONSTANT: u16 = u16::MAX;

/// A matrix kernel with the static part of its arguments.
#[derive(Debug)]
pub struct Matrix {
    run: MfmaFn,
    config: MfmaConfig,
    c_const: u64,
    scale_a: u16,
    scale_b: u16,
}

/// Lowers an MFMA or SMFMAC instruction.
pub(super) fn lower(arch: Arch, inst: &Inst, level: SimdLevel) -> Result<MicroOp, Unsupported> {
    let shape = MfmaInfo::get(inst.info.op, arch);
    let (Some(shape), Some((run, config))) = (shape, mfma::lower(arch, inst, level)) else {
        return Err(Unsupported::Operands("the matrix format field is reserved"));
    };
    let row = |operand: Operand| operand.vector_index().map_or(CONSTANT, |row| row as u16);
    let [a, b, c, scale_a, scale_b] = inst.src.map(row);
    let d = row(inst.dst[0]);
    if a == CONSTANT || b == CONSTANT || d == CONSTANT || (shape.sparse && c == CONSTANT) {
        return Err(Unsupported::Operands("a matrix operand is no vector register"));
    }
    let mut micro = MicroOp::new(execute, inst);
    micro.dst = d;
    micro.src = [a, b, c, 0];
    let c_const = constant(inst.src[2].code, shape.cd == MatType::F64);
    micro.detail = Detail::Matrix(Box::new(Matrix { run, config, c_const, scale_a, scale_b }));
    Ok(micro)
}

/// Bits of an inline constant as an element of C.
fn constant(code: u16, double: bool) -> u64 {
    match code {
        128..=192 => u64::from(code) - 128,
        193..=208 => i64::from(192 - i32::from(code)) as u64,
        240..=248 if double => inline_f64(code),
        240..=248 => u64::from(INLINE_F32[usize::from(code) - 240]),
        _ => 0,
    }
}

fn execute(wave: &mut Wave<'_>, op: &MicroOp) -> Flow {
    let Detail::Matrix(matrix) = &op.detail else { return wave.illegal(op) };
    let mode = wave.mode;
    let rows = wave.rows();
    let row = |index: u16| -> *mut Lanes {
        if index == CONSTANT {
            return ptr::null_mut();
        }
        // SAFETY: `Program::lower` has checked that the rows of every operand are in the file.
        unsafe { rows.add(usize::from(index)) }
    };
    let args = MfmaArgs {
        a: row(op.src[0]),
        b: row(op.src[1]),
        c: row(op.src[2]),
        c_const: matrix.c_const,
        d: row(op.dst),
        scale_a: row(matrix.scale_a),
        scale_b: row(matrix.scale_b),
        mode,
    };
    // SAFETY: function and configuration come from `mfma::lower` for the level, which the
    // host has; the pointers are rows of the wave's file, C is null only where it may be.
    unsafe { (matrix.run)(&matrix.config, &args) };
    Flow::Next
}
