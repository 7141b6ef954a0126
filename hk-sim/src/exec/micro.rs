//! One instruction, lowered for execution.

use super::matrix::Matrix;
use super::valu::LaneDetail;
use super::{Flow, Wave};
use crate::isa::{Format, Inst};

/// Executes one instruction on one wave. When it is called, [`Wave::pc`] already points behind the
/// instruction.
pub type Handler = for<'a> fn(&mut Wave<'a>, &MicroOp) -> Flow;

/// One instruction, lowered: what its handler needs and nothing else.
#[derive(Debug)]
#[repr(align(64))]
pub struct MicroOp {
    /// Handler.
    pub run: Handler,
    /// Whatever does not fit into the plain fields.
    pub detail: Detail,
    /// Destination: scalar code, or row of the vector file.
    pub dst: u16,
    /// Second destination.
    pub dst1: u16,
    /// Sources: scalar codes or rows, as the handler expects.
    pub src: [u16; 4],
    /// Literal of the instruction.
    pub literal: u32,
    /// Immediate, by family.
    pub imm: u32,
    /// Flags, by family.
    pub flags: u32,
    /// Size of the instruction in dwords.
    pub dwords: u8,
    /// Encoding; absent where there is no instruction.
    pub format: Option<Format>,
}

/// Family-specific part of a [`MicroOp`].
#[derive(Debug, Default)]
pub enum Detail {
    /// Nothing more.
    #[default]
    None,
    /// Matrix instructions.
    Matrix(Box<Matrix>),
    /// Vector ALU instruction.
    Lane(Box<LaneDetail>),
}

impl MicroOp {
    /// Operation without operands.
    pub fn new(run: Handler, inst: &Inst) -> Self {
        Self {
            run,
            detail: Detail::None,
            dst: 0,
            dst1: 0,
            src: [0; 4],
            literal: inst.literal,
            imm: 0,
            flags: 0,
            dwords: inst.size / 4,
            format: Some(inst.info.format),
        }
    }

    /// Raises a fault.
    pub(super) fn illegal(dwords: u8, format: Option<Format>) -> Self {
        Self {
            run: |wave, op| wave.illegal(op),
            detail: Detail::None,
            dst: 0,
            dst1: 0,
            src: [0; 4],
            literal: 0,
            imm: 0,
            flags: 0,
            dwords,
            format,
        }
    }
}

/// Why an instruction that decodes is not executed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unsupported {
    /// The simulator does not execute the operation; the text says why.
    #[error("not executed: {0}")]
    Operation(&'static str),
    /// The operation is executed, this combination of fields is not legal for it.
    #[error("illegal operands: {0}")]
    Operands(&'static str),
}

/// Reason of a branch that leaves its section.
pub(super) const OUTSIDE: &str = "the branch target is outside the code";
