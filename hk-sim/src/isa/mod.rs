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
pub use hk_types::Arch;
pub use info::{ArchSet, Class, Elem, Forms, Imm, Implicit, Mods, OpInfo, Slot};
pub use inst::{DecodeError, Dpp, Ext, Format, Inst, MemBits, Operand, Sdwa};
pub use mfma::{Blgp, MatType, MfmaClass, MfmaInfo};
pub use mfma_table::MFMA;
pub use table::{OPS, Op};
