//! The cases by which the ops of this crate are compared with their references, for tests and the
//! command `hipkittens check`.

mod batched_gemm_a16wfp4;
mod batched_gemm_a8w8;
mod batched_gemm_a8w8_ptgq;
mod batched_gemm_afp4wfp4;
mod batched_gemm_bf16;
mod config;
mod feed_forward;
mod ff_fused_gated;
mod ff_fused_ungated;
mod fused_gemm_a8w8_blockscale_a16w16;
mod fused_gemm_a8w8_blockscale_mul_add;
mod fused_gemm_a8w8_blockscale_split_cat;
mod fused_gemm_afp4wfp4_a16w16;
mod fused_gemm_afp4wfp4_mul_add;
mod fused_gemm_afp4wfp4_split_cat;
mod gemm_a16w16;
mod gemm_a16w16_atomic;
mod gemm_a16w16_cases;
mod gemm_a16w16_gated;
mod gemm_a16w16_limits;
mod gemm_a16w8_blockscale;
mod gemm_a16wfp4;
mod gemm_a8w8;
mod gemm_a8w8_blockscale;
mod gemm_a8w8_per_token_scale;
mod gemm_a8wfp4;
mod gemm_afp4wfp4;
mod gmm;
mod mx;
mod product;
mod shuffle;
mod split_cat;
mod traffic;
mod two_products;

use hk_core::kernel::KernelSet;
use hk_ref::Case;

pub use gemm_a16w16::tensor_case as a16w16_tensor_case;

/// Why code of the kernels that no case executes, or whose changes none notices, is right. For the
/// command.
pub const REASONS: &str = include_str!("parity/reasons.toml");

/// Every case of every op.
pub fn cases() -> Vec<Case> {
    let mut cases = gemm_a16w16_cases::cases();
    gemm_a16w16_atomic::add(&mut cases);
    gemm_a16w16_gated::add(&mut cases);
    gemm_a8w8::add(&mut cases);
    gemm_a8w8_per_token_scale::add(&mut cases);
    gemm_a8w8_blockscale::add(&mut cases);
    gmm::add(&mut cases);
    ff_fused_gated::add(&mut cases);
    ff_fused_ungated::add(&mut cases);
    fused_gemm_a8w8_blockscale_a16w16::add(&mut cases);
    fused_gemm_afp4wfp4_a16w16::add(&mut cases);
    fused_gemm_a8w8_blockscale_mul_add::add(&mut cases);
    fused_gemm_a8w8_blockscale_split_cat::add(&mut cases);
    fused_gemm_afp4wfp4_mul_add::add(&mut cases);
    fused_gemm_afp4wfp4_split_cat::add(&mut cases);
    gemm_afp4wfp4::add(&mut cases);
    gemm_a16w8_blockscale::add(&mut cases);
    gemm_a8wfp4::add(&mut cases);
    gemm_a16wfp4::add(&mut cases);
    batched_gemm_bf16::add(&mut cases);
    batched_gemm_a8w8::add(&mut cases);
    batched_gemm_a8w8_ptgq::add(&mut cases);
    batched_gemm_afp4wfp4::add(&mut cases);
    batched_gemm_a16wfp4::add(&mut cases);
    shuffle::add(&mut cases);
    cases
}

/// The kernels that were built into this crate.
pub fn kernels() -> &'static KernelSet {
    &crate::KERNELS
}
