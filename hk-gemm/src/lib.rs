//! GEMM kernels for AMD CDNA3 (gfx942) and CDNA4 (gfx950).
//!
//! Weights are `(n, k)`, the transpose is implicit: `y = x w^T`. Build with the feature `cdna3` or
//! `cdna4`, or both, to have code for the chips.
//!
//! ```
//! # #[cfg(feature = "cdna4")] {
//! use hk_gemm::{Activation, Device, GemmOptions, Tensor, bf16, gemm_a16w16};
//!
//! let stream = Device::open("sim:mi355x")?.default_stream();
//! let x = Tensor::from_slice(&stream, &[1.0, 2.0].map(bf16::from_f32), &[1, 2])?;
//! let w = Tensor::from_slice(&stream, &[3.0, 4.0, -5.0, 1.0].map(bf16::from_f32), &[2, 2])?;
//! let options = GemmOptions::default().activation(Activation::Relu);
//! let y: Tensor<f32> = gemm_a16w16(&x, &w, &options)?;
//! assert_eq!(y.to_vec()?, [11.0, 0.0]);
//! # }
//! # Ok::<(), hk_core::Error>(())
//! ```

mod a16w16;
mod a16w8_blockscale;
mod a8w8;
mod a8w8_blockscale;
pub mod batched_gemm_a16wfp4;
pub mod batched_gemm_a8w8;
pub mod batched_gemm_a8w8_ptgq;
pub mod batched_gemm_afp4wfp4;
pub mod batched_gemm_bf16;
mod feed_forward;
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
mod mx;
mod options;
#[cfg(feature = "parity")]
pub mod parity;
pub mod shuffle;
mod two_products;

pub use a8w8_blockscale::BlockscaleOptions;
pub use a16w8_blockscale::A16W8Options;
pub use batched_gemm_a8w8::{batched_gemm_a8w8, batched_gemm_a8w8_into};
pub use batched_gemm_a8w8_ptgq::{
    PtgqOptions, batched_gemm_a8w8_ptgq, batched_gemm_a8w8_ptgq_into,
};
pub use batched_gemm_a16wfp4::{
    batched_gemm_a16wfp4, batched_gemm_a16wfp4_fp8, batched_gemm_a16wfp4_fp8_into,
    batched_gemm_a16wfp4_into,
};
pub use batched_gemm_afp4wfp4::{batched_gemm_afp4wfp4, batched_gemm_afp4wfp4_into};
pub use batched_gemm_bf16::{batched_gemm_bf16, batched_gemm_bf16_into};
pub use feed_forward::FeedForwardOptions;
pub use ff_fused_gated::{ff_a16w16_fused_gated, ff_a16w16_fused_gated_into};
pub use ff_fused_ungated::{ff_a16w16_fused_ungated, ff_a16w16_fused_ungated_into};
pub use fused_gemm_a8w8_blockscale_a16w16::{
    fused_gemm_a8w8_blockscale_a16w16, fused_gemm_a8w8_blockscale_a16w16_into,
};
pub use fused_gemm_a8w8_blockscale_mul_add::{
    Fuse, fused_gemm_a8w8_blockscale_mul_add, fused_gemm_a8w8_blockscale_mul_add_into,
};
pub use fused_gemm_a8w8_blockscale_split_cat::{
    fused_gemm_a8w8_blockscale_split_cat, fused_gemm_a8w8_blockscale_split_cat_into,
};
pub use fused_gemm_afp4wfp4_a16w16::{fused_gemm_afp4wfp4_a16w16, fused_gemm_afp4wfp4_a16w16_into};
pub use fused_gemm_afp4wfp4_mul_add::{
    fused_gemm_afp4wfp4_mul_add, fused_gemm_afp4wfp4_mul_add_into,
};
pub use fused_gemm_afp4wfp4_split_cat::{
    fused_gemm_afp4wfp4_split_cat, fused_gemm_afp4wfp4_split_cat_into,
};
pub use gemm_a8w8::{gemm_a8w8, gemm_a8w8_into};
pub use gemm_a8w8_blockscale::{gemm_a8w8_blockscale, gemm_a8w8_blockscale_into};
pub use gemm_a8w8_per_token_scale::{gemm_a8w8_per_token_scale, gemm_a8w8_per_token_scale_into};
pub use gemm_a8wfp4::{gemm_a8wfp4, gemm_a8wfp4_into};
pub use gemm_a16w8_blockscale::{gemm_a16w8_blockscale, gemm_a16w8_blockscale_into};
pub use gemm_a16w16::{gemm_a16w16, gemm_a16w16_into};
pub use gemm_a16w16_atomic::{AtomicOptions, gemm_a16w16_atomic, gemm_a16w16_atomic_into};
pub use gemm_a16w16_gated::{gemm_a16w16_gated, gemm_a16w16_gated_into};
pub use gemm_a16wfp4::{gemm_a16wfp4, gemm_a16wfp4_into};
pub use gemm_afp4wfp4::{gemm_afp4wfp4, gemm_afp4wfp4_into};
pub use gmm::{
    GmmOptions, GroupedForm, Tgmm, TgmmOut, gmm, gmm_into, nptgmm, nptgmm_into, ptgmm, ptgmm_into,
};
pub use mx::A16Wfp4Options;
pub use options::{GemmOptions, Layout, SplitCat, SplitCatOut};
pub use shuffle::{
    shuffle_scale, shuffle_scale_into, shuffle_weight, shuffle_weight_into, unshuffle_scale,
    unshuffle_scale_into, unshuffle_weight, unshuffle_weight_into,
};
pub use two_products::{TwoProducts, TwoProductsOptions, TwoProductsOut};

pub use hk_core::Activation;
pub use hk_core::dtype::{E8M0, F4x2E2M1, F8E4M3, F8E4M3Fnuz, F8E5M2, F8E5M2Fnuz};
pub use hk_core::op::epilogue::{Epilogue, Operand};
pub use hk_core::op::indices::Indices;
pub use hk_core::op::quant::ScaleLayout;
pub use hk_core::op::stored::{Shuffled, Stored};
pub use hk_core::prelude::*;

mod generated {
    include!(concat!(env!("OUT_DIR"), "/kernels.rs"));
}

pub(crate) use generated::KERNELS;
