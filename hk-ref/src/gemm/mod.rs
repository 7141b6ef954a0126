//! References of `hk-gemm`.

pub mod batched_gemm_a16wfp4;
pub mod batched_gemm_a8w8;
pub mod batched_gemm_a8w8_ptgq;
pub mod batched_gemm_afp4wfp4;
pub mod batched_gemm_bf16;
pub mod ff_fused_gated;
pub mod ff_fused_ungated;
pub mod fused_gemm_a8w8_blockscale_a16w16;
pub mod fused_gemm_a8w8_blockscale_mul_add;
pub mod fused_gemm_a8w8_blockscale_split_cat;
pub mod fused_gemm_afp4wfp4_a16w16;
pub mod fused_gemm_afp4wfp4_mul_add;
pub mod fused_gemm_afp4wfp4_split_cat;
pub mod gemm_a16w16;
pub mod gemm_a16w16_atomic;
pub mod gemm_a16w16_gated;
pub mod gemm_a16w8_blockscale;
pub mod gemm_a16wfp4;
pub mod gemm_a8w8;
pub mod gemm_a8w8_blockscale;
pub mod gemm_a8w8_per_token_scale;
pub mod gemm_a8wfp4;
pub mod gemm_afp4wfp4;
pub mod gmm;
pub mod product;
pub mod shuffle;
