//! Vector ALU instructions: VOP1, VOP2, VOPC, VOP3, VOP3P without the matrix instructions.
//!
//! An instruction is a [kernel](lane) over the lanes of its operands. Most go the direct way: the
//! handler passes pointers to the registers (or to rows that repeat a scalar) to the kernel, which
//! writes the destination. Modifiers, SDWA, DPP, partial destinations and MODE settings other than
//! the default take the general way: [operands](operand) are prepared in buffers and results
//! [finished](finish) before they are written.

mod convert;
mod divide;
mod finish;
mod half;
mod lane;
mod level;
mod lower;
#[cfg(target_arch = "x86_64")]
mod near;
mod numeric;
mod operand;
mod run;
mod soft;
mod special;
mod vop1;
mod vop2;
mod vop3;
mod vop3p;
mod vopc;

pub(super) use lower::lower;
pub(super) use run::LaneDetail;
