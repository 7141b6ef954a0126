//! Shapes, types and durations of the matrix instructions.

use super::mfma_table::MFMA;
use super::{Arch, Op};

/// Element type of a matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are the types")]
pub enum MatType {
    F16,
    Bf16,
    F32,
    F64,
    Xf32,
    I8,
    I32,
    /// e4m3, FNUZ on gfx942 and OCP on gfx950.
    Fp8,
    /// e5m2, FNUZ on gfx942 and OCP on gfx950.
    Bf8,
    /// Chosen by the format fields of the instruction.
    F8F6F4,
}

/// Unit that executes a matrix instruction; it decides which waits software must insert.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MfmaClass {
    /// Matrix core.
    Xdl,
    /// Single precision on the vector unit.
    Sgemm,
    /// Double precision on the vector unit.
    Dgemm,
}

/// Meaning of the `blgp` field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blgp {
    /// Must be zero.
    None,
    /// Lane permutation of B.
    Permute,
    /// Negation of A, B and C.
    Negate,
    /// Element format of B.
    Format,
}

/// One matrix instruction on one chip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MfmaInfo {
    /// Operation.
    pub op: Op,
    /// Chip.
    pub arch: Arch,
    /// Rows of A and D.
    pub m: u16,
    /// Columns of B and D.
    pub n: u16,
    /// Inner dimension; for sparse A that of B.
    pub k: u16,
    /// Independent products.
    pub blocks: u8,
    /// Type of A.
    pub a: MatType,
    /// Type of B.
    pub b: MatType,
    /// Type of C and D.
    pub cd: MatType,
    /// A holds two of each four elements.
    pub sparse: bool,
    /// Registers of A (of the widest format).
    pub a_vgprs: u8,
    /// Registers of B (of the widest format).
    pub b_vgprs: u8,
    /// Registers of C and of D.
    pub cd_vgprs: u8,
    /// Passes of four cycles.
    pub passes: u8,
    /// Passes when neither A nor B has an 8-bit format.
    pub passes_narrow: u8,
    /// Executing unit.
    pub class: MfmaClass,
    /// Whether `cbsz` and `abid` broadcast blocks of A.
    pub broadcast: bool,
    /// Meaning of `blgp`.
    pub blgp: Blgp,
}

impl MfmaInfo {
    /// Row of `op` on `arch`; `None` if it is not a matrix instruction of that chip.
    pub fn get(op: Op, arch: Arch) -> Option<&'static Self> {
        MFMA.binary_search_by(|row| (row.op, row.arch).cmp(&(op, arch))).ok().map(|at| &MFMA[at])
    }

    /// Floating-point or integer operations of one instruction (a sparse product counts as dense).
    pub fn operations(&self) -> u64 {
        [self.m, self.n, self.k, self.blocks.into(), 2].iter().map(|&x| u64::from(x)).product()
    }
}
