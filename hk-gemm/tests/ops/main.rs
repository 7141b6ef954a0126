//! Tests of the ops, one file per module: parity with references, refusals, and what else a module
//! promises.

mod common;

mod batched_gemm_a16wfp4;
mod batched_gemm_a8w8;
mod batched_gemm_a8w8_ptgq;
mod batched_gemm_afp4wfp4;
mod batched_gemm_bf16;
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
mod gemm_a16w16_gated;
mod gemm_a16w8_blockscale;
mod gemm_a16wfp4;
mod gemm_a8w8;
mod gemm_a8w8_blockscale;
mod gemm_a8w8_per_token_scale;
mod gemm_a8wfp4;
mod gemm_afp4wfp4;
mod gmm;
mod last_blocks;
mod shuffle;
