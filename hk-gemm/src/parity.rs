//! The cases by which the ops of this crate are compared with their references, for tests and the
//! command `hipkittens check`.

mod gemm_a16w16;
mod gemm_a16w16_cases;
mod gemm_a16w16_limits;

use hk_core::kernel::KernelSet;
use hk_ref::Case;

pub use gemm_a16w16::tensor_case as a16w16_tensor_case;

/// Why code of the kernels that no case executes, or whose changes none notices, is right. For the
/// command.
pub const REASONS: &str = include_str!("parity/reasons.toml");

/// Every case of every op.
pub fn cases() -> Vec<Case> {
    gemm_a16w16_cases::cases()
}

/// The kernels that were built into this crate.
pub fn kernels() -> &'static KernelSet {
    &crate::KERNELS
}
