//! Instruction set: tables, decoder and printer.
//!
//! The files of `isa/` are the source of every table; `cargo run -p hk-sim
//! --example gen_isa` regenerates the Rust form. Names, numbers, operands and modifiers are those
//! that LLVM knows for both targets, which `tests/disasm.rs` checks against its assembler, and six
//! more rows of the vendor's CDNA4 tables. Durations of matrix instructions are those of LLVM's
//! scheduling models; for gfx942 AMD's matrix instruction calculator has the same.

mod access;
mod decode;
mod gpr_index;
mod ignored;
mod info;
mod inst;
mod mfma;
mod print;
#[rustfmt::skip]
mod ignored_table;
#[rustfmt::skip]
mod mfma_table;
#[rustfmt::skip]
mod table;

pub use decode::decode;
pub(crate) use gpr_index::{ByIndex, MODE_GPR_INDEX};
pub use gpr_index::{GprIndex, PastLastRegister};
pub use info::{ArchSet, Class, Elem, Forms, Imm, Implicit, Mods, OpInfo, Slot};
pub use inst::{DecodeError, Dpp, Ext, Format, Inst, MemBits, Operand, Sdwa};
pub use mfma::{Blgp, MatType, MfmaClass, MfmaInfo};
pub use mfma_table::MFMA;
pub use table::{OPS, Op};
/// Instruction set architecture of a chip.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Arch {
    /// CDNA3: MI300X, MI325X.
    Gfx942,
    /// CDNA4: MI350X, MI355X.
    Gfx950,
}

impl Arch {
    /// LLVM processor name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Gfx942 => "gfx942",
            Self::Gfx950 => "gfx950",
        }
    }

    /// Largest LDS allocation of one workgroup in bytes.
    pub fn lds_bytes(self) -> u32 {
        match self {
            Self::Gfx942 => 64 * 1024,
            Self::Gfx950 => 160 * 1024,
        }
    }
}

impl std::fmt::Display for Arch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}
