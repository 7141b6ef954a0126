//! Normalisation and row-wise kernels for AMD CDNA3 (gfx942) and CDNA4 (gfx950).
//!
//! Ops take tensors of any rank whose innermost dimension is the row; rows may be any distance
//! apart. Build with the feature `cdna3` or `cdna4`, or both, to have code for the chips.
//!
//! ```
//! # #[cfg(feature = "cdna4")] {
//! use hk_norm::{Device, RmsnormOptions, Tensor};
//!
//! let stream = Device::open("sim:mi355x")?.default_stream();
//! let x = Tensor::from_slice(&stream, &[3.0f32, 4.0], &[1, 2])?;
//! let weight = Tensor::from_slice(&stream, &[1.0f32, 2.0], &[2])?;
//! let y = hk_norm::rmsnorm(&x, &weight, 1e-12, &RmsnormOptions::default())?;
//! approx::assert_abs_diff_eq!(y.to_vec()?[..], [0.848_528, 2.262_742], epsilon = 1e-6);
//! # }
//! # Ok::<(), hk_core::Error>(())
//! ```

mod act_mul_quant;
pub mod activation;
pub mod embedding;
pub mod fused_add_rmsnorm_pad;
pub mod fused_mul_add;
pub mod l2norm;
pub mod l2norm_bwd;
pub mod layernorm;
pub mod mean_pool;
#[cfg(feature = "parity")]
pub mod parity;
pub mod rmsnorm;
pub mod softmax;
pub mod topk;

pub use activation::{
    GateLayout, GatedOptions, act_mul_fp8_group_quant, act_mul_fp8_group_quant_into,
    act_mul_mxfp4_quant, act_mul_mxfp4_quant_into, activation, activation_inplace, activation_into,
    fused_clamp_act_mul, fused_clamp_act_mul_into, gelu, gelu_and_mul, gelu_and_mul_into,
    gelu_inplace, gelu_into, gelu_tanh, gelu_tanh_and_mul, gelu_tanh_and_mul_into,
    gelu_tanh_inplace, gelu_tanh_into, relu, relu_inplace, relu_into, silu, silu_and_mul,
    silu_and_mul_into, silu_inplace, silu_into, swiglu_and_mul, swiglu_and_mul_into, tanh,
    tanh_inplace, tanh_into,
};
pub use embedding::{EmbeddingOptions, embedding, embedding_into};
pub use fused_add_rmsnorm_pad::{
    FusedAddRmsnormPad, FusedAddRmsnormPadOut, RmsnormPadOptions, fused_add_rmsnorm_pad,
    fused_add_rmsnorm_pad_into, rmsnorm_pad, rmsnorm_pad_into,
};
pub use fused_mul_add::{Operand, fused_mul_add, fused_mul_add_inplace, fused_mul_add_into};
pub use l2norm::{L2normOut, l2norm, l2norm_inplace, l2norm_into};
pub use l2norm_bwd::{l2norm_bwd, l2norm_bwd_into};
pub use layernorm::{
    FusedAddLayernorm, FusedAddLayernormOut, LayernormOut, fused_add_layernorm,
    fused_add_layernorm_inplace, fused_add_layernorm_into, layernorm, layernorm_inplace,
    layernorm_into,
};
pub use mean_pool::{MeanPoolOptions, mean_pool, mean_pool_into};
pub use rmsnorm::{
    FusedAddRmsnorm, FusedAddRmsnormOut, RmsnormOptions, RmsnormOut, fused_add_rmsnorm,
    fused_add_rmsnorm_inplace, fused_add_rmsnorm_into, rmsnorm, rmsnorm_inplace, rmsnorm_into,
};
pub use softmax::{softmax, softmax_inplace, softmax_into};
pub use topk::{Column, Topk, TopkOut, topk, topk_into, topk_values_f32, topk_values_f32_into};

pub use hk_core::Activation;
pub use hk_core::op::quant::{
    GroupOptions, MxOptions, MxRound, Quantised, QuantisedOut, ScaleLayout,
};
pub use hk_core::op::rows::RowOptions;
pub use hk_core::prelude::*;

mod generated {
    include!(concat!(env!("OUT_DIR"), "/kernels.rs"));
}

pub(crate) use generated::KERNELS;
