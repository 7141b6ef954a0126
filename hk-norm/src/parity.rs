//! The cases by which the ops of this crate are compared with their references, for tests and the
//! command `hipkittens check`.

mod act_mul_quant;
mod activation;
mod embedding;
mod fused_add_rmsnorm_pad;
mod fused_mul_add;
mod l2norm;
mod l2norm_bwd;
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
pub use tensors::{
    layernorm_case as layernorm_tensor_case, rmsnorm_pad_case as rmsnorm_pad_tensor_case,
    row_cases as row_tensor_cases,
};

/// Why code of the kernels that no case executes, or whose changes none notices, is right. For the
/// command.
pub const REASONS: &str = include_str!("parity/reasons.toml");

/// Every case of every op.
pub fn cases() -> Vec<Case> {
    let mut cases = rmsnorm_cases::cases();
    cases.extend(fused_add_rmsnorm_pad::cases());
    cases.extend(fused_mul_add::cases());
    cases.extend(l2norm::cases());
    cases.extend(l2norm_bwd::cases());
    cases.extend(softmax::cases());
    cases.extend(activation::cases());
    cases.extend(act_mul_quant::cases());
    cases.extend(topk::cases());
    cases.extend(layernorm::cases());
    cases.extend(embedding::cases());
    cases.extend(mean_pool::cases());
    cases
}

/// A number above one of bf16 by a half of the distance to the next, or by a little less or more.
fn between(i: usize) -> f64 {
    let parts = [0.5, 0.5 - 2f64.powi(-12), 0.5 + 2f64.powi(-12), 0.25];
    1.0 + ((i / 4 % 100) as f64 + parts[i % 4]) / 128.0
}

/// The kernels that were built into this crate.
pub fn kernels() -> &'static KernelSet {
    &crate::KERNELS
}
