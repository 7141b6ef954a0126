//! The cases by which the ops of this crate are compared with their references, for tests and the
//! command `hipkittens check`.

mod flatten;
mod fused_fp8_quant;
mod fused_mxfp4_quant;
mod quant;
mod quant_moe;

use hk_core::kernel::KernelSet;
use hk_ref::Case;

pub use quant::{norm_cases as norm_tensor_cases, tensor_cases as quant_tensor_cases};

/// Why code of the kernels that no case executes, or whose changes none notices, is right. For the
/// command.
pub const REASONS: &str = include_str!("parity/reasons.toml");

/// Every case of every op.
pub fn cases() -> Vec<Case> {
    let mut cases = quant::cases();
    cases.extend(fused_fp8_quant::cases());
    cases.extend(fused_mxfp4_quant::cases());
    cases.extend(quant_moe::cases());
    cases
}

/// The kernels that were built into this crate.
pub fn kernels() -> &'static KernelSet {
    &crate::KERNELS
}
