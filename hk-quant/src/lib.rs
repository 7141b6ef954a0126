//! Quantisation kernels for AMD CDNA3 (gfx942) and CDNA4 (gfx950).
//!
//! Ops take tensors of any rank whose innermost dimension is the row; rows may be any distance
//! apart. Build with the feature `cdna3` or `cdna4`, or both, to have code for the chips.
//!
//! ```
//! # #[cfg(feature = "cdna4")] {
//! use hk_quant::{Device, Quantised, RowOptions, Tensor};
//!
//! let stream = Device::open("sim:mi355x")?.default_stream();
//! let x = Tensor::from_slice(&stream, &[0.25f32, -1.0, 3.0, 127.0], &[2, 2])?;
//! let quantised: Quantised<i8> = hk_quant::per_token_quant(&x, &RowOptions::default())?;
//! assert_eq!(quantised.codes.to_vec()?, [32, -127, 3, 127]);
//! assert_eq!(quantised.scales.to_vec()?, [1.0 / 127.0, 1.0]);
//! # }
//! # Ok::<(), hk_core::Error>(())
//! ```

mod block_quant;
mod dequant;
mod flatten;
pub mod fused_fp8_quant;
pub mod fused_mxfp4_quant;
mod gated_rms_quant;
mod group_quant;
mod mx_columns;
mod mx_quant;
#[cfg(feature = "parity")]
pub mod parity;
pub mod quant;
pub mod quant_moe;
mod rms_quant;
mod silu_mul_quant;

pub use fused_fp8_quant::{
    FusedAddRmsnormDynamicQuantOut, FusedRmsQuant, FusedRmsStaticQuant, GateActivation,
    GatedRmsInput, GatedRmsOptions, RmsnormDynamicOptions, StaticOptions,
    fused_add_rmsnorm_dynamic_quant, fused_add_rmsnorm_dynamic_quant_into,
    fused_flatten_fp8_group_quant, fused_flatten_fp8_group_quant_into, fused_rms_fp8_group_quant,
    fused_rms_fp8_group_quant_into, fused_rms_fp8_per_tensor_static_quant,
    fused_rms_fp8_per_tensor_static_quant_into, fused_rms_gated_fp8_group_quant,
    fused_rms_gated_fp8_group_quant_into, fused_silu_mul_fp8_per_tensor_static_quant,
    fused_silu_mul_fp8_per_tensor_static_quant_into, rmsnorm_dynamic_quant,
    rmsnorm_dynamic_quant_into,
};
pub use fused_mxfp4_quant::{
    fused_flatten_mxfp4_quant, fused_flatten_mxfp4_quant_into, fused_rms_mxfp4_quant,
    fused_rms_mxfp4_quant_into,
};
pub use quant::{
    DequantizeMxOptions, dequantize_mxfp4, dequantize_mxfp4_into, dequantize_mxfp8,
    dequantize_mxfp8_into, dequantize_per_block, dequantize_per_block_into, dequantize_per_group,
    dequantize_per_group_into, dequantize_per_tensor, dequantize_per_tensor_into,
    dequantize_per_token, dequantize_per_token_into, dynamic_mxfp4_quant, dynamic_mxfp4_quant_into,
    dynamic_mxfp8_quant, dynamic_mxfp8_quant_into, dynamic_per_tensor_quant,
    dynamic_per_tensor_quant_into, per_block_quant, per_block_quant_into, per_group_quant,
    per_group_quant_into, per_token_quant, per_token_quant_into, smooth_per_token_quant,
    smooth_per_token_quant_into, static_per_tensor_quant, static_per_tensor_quant_into,
};
pub use quant_moe::{
    DowncastOptions, Fp4Ties, downcast_to_mxfp, downcast_to_mxfp_into, downcast_to_static_fp8,
    downcast_to_static_fp8_into, upcast_from_mxfp, upcast_from_mxfp_into,
};
pub use rms_quant::{RmsInput, RmsOthers, SecondRms};

pub use hk_core::op::quant::{
    ByteCode, GroupOptions, MxOptions, MxRound, Quantised, QuantisedOut, ScaleLayout,
};
pub use hk_core::op::rows::RowOptions;
pub use hk_core::prelude::*;

mod generated {
    include!(concat!(env!("OUT_DIR"), "/kernels.rs"));
}

pub(crate) use generated::KERNELS;
