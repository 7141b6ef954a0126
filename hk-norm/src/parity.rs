//! The cases by which the ops of this crate are compared with their references, for tests and the
//! command `hipkittens check`.

mod act_mul_quant;
mod activation;
mod embedding;
mod fused_add_rmsnorm_pad;
mod fused_mul_add;
mod l2norm;
mod layernorm;
mod mean_pool;
mod rmsnorm;
mod rmsnorm_cases;
mod softmax;
mod tensors;
mod topk;

use hk_core::kernel::KernelSet;
use hk_ref::Case;

pub use rmsnorm::tensor_case as rmsnorm_tensor_case;
pub use tensors::{layernorm_case as layernorm_tensor_case, row_cases as row_tensor_cases};

/// Why code of the kernels that no case executes, or whose changes none notices, is right. For the
/// command.
pub const REASONS: &str = include_str!("parity/reasons.toml");

/// Every case of every op.
pub fn cases() -> Vec<Case> {
    let mut cases = rmsnorm_cases::cases();
    cases.extend(fused_add_rmsnorm_pad::cases());
    cases.extend(fused_mul_add::cases());
    cases.extend(l2norm::cases());
    cases.extend(softmax::cases());
    cases.extend(activation::cases());
    cases.extend(act_mul_quant::cases());
    cases.extend(topk::cases());
    cases.extend(layernorm::cases());
    cases.extend(embedding::cases());
    cases.extend(mean_pool::cases());
    cases
}

/// The kernels that were built into this crate.
pub fn kernels() -> &'static KernelSet {
    &crate::KERNELS
}
