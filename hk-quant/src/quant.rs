//! Rows and tensors as codes of few bits with scales, `x[i,j] ~ s c[i,j]`. A scale is the largest
//! magnitude of what shares it, divided by the largest code, and a code is `x (1 / s)` rounded. Of
//! MX formats it is a power of two near to that.
//!
//! | | |
//! |---|---|
//! | Shapes | x `[.., n]` -> codes `[.., n]`, scales `[1]` given to [`static_per_tensor_quant`] or found by [`dynamic_per_tensor_quant`], `[..]` of [`per_token_quant`] and [`smooth_per_token_quant`], which takes smooth `[n]`, `[.., ceil(n/g)]` or `[ceil(n/g), rows]` of [`per_group_quant`] with groups of g = 32, 64 or 128, `[ceil(m/128), ceil(n/128)]` of [`per_block_quant`], whose x is `[m, n]`, and of [`dynamic_mxfp4_quant`] and [`dynamic_mxfp8_quant`] with g = 32, which can be shuffled too; any n >= 1, but even of fp4 and a multiple of 32 of mxfp8; rows any distance apart; `dequantize_*` take the same codes and scales -> y `[.., n]` |
//! | Dtypes | x, y, smooth bf16, f16, f32, each whatever the other is; codes i8, or e4m3 in the flavour of the chip; scales f32; or codes OCP e2m1 or e4m3 with scales e8m0, on any chip; [`dequantize_mxfp8`] takes e5m2 too |
//! | Numerics | exact: quotients, products and codes are rounded to nearest, ties to even, each once; codes never leave -127..=127 or the finite numbers; `dequantize_*` round once |
//! | Hardware | cdna3, cdna4 |
//! | Source | Yao et al., "ZeroQuant" (2022), for scales of tokens; Xiao et al., "SmoothQuant" (2023), for smoothed columns; the codes are those of the OCP 8-bit Floating Point Specification 1.0 and of the CDNA3 ISA; OCP Microscaling Formats (MX) Specification 1.0, for blocks |
//!
//! ```
//! # #[cfg(feature = "cdna3")] {
//! use hk_core::dtype::F8E4M3Fnuz;
//! use hk_quant::{Device, Quantised, RowOptions, Tensor, per_token_quant};
//!
//! let stream = Device::open("sim:mi325x")?.default_stream();
//! let x = Tensor::from_slice(&stream, &[1.0f32, -2.0, 0.0, 480.0], &[2, 2])?;
//! let q: Quantised<F8E4M3Fnuz> = per_token_quant(&x, &RowOptions::default())?;
//! assert_eq!(q.scales.to_vec()?, [2.0 / 240.0, 2.0]);
//! assert_eq!(q.codes.to_vec()?, [120.0, -240.0, 0.0, 240.0].map(F8E4M3Fnuz::from_f32));
//! # }
//! # Ok::<(), hk_core::Error>(())
//! ```

mod dequantize;
mod dynamic_mx;
mod per_block;
mod per_group;
mod per_tensor;
mod per_token;

pub(crate) use dequantize::dequantize_mx;
pub use dequantize::{
    DequantizeMxOptions, dequantize_mxfp4, dequantize_mxfp4_into, dequantize_mxfp8,
    dequantize_mxfp8_into, dequantize_per_block, dequantize_per_block_into, dequantize_per_group,
    dequantize_per_group_into, dequantize_per_tensor, dequantize_per_tensor_into,
    dequantize_per_token, dequantize_per_token_into,
};
pub(crate) use dynamic_mx::quantise_rows;
pub use dynamic_mx::{
    dynamic_mxfp4_quant, dynamic_mxfp4_quant_into, dynamic_mxfp8_quant, dynamic_mxfp8_quant_into,
};
pub use per_block::{per_block_quant, per_block_quant_into};
pub use per_group::{per_group_quant, per_group_quant_into};
pub(crate) use per_tensor::quantise_by;
pub use per_tensor::{
    dynamic_per_tensor_quant, dynamic_per_tensor_quant_into, static_per_tensor_quant,
    static_per_tensor_quant_into,
};
pub use per_token::{
    per_token_quant, per_token_quant_into, smooth_per_token_quant, smooth_per_token_quant_into,
};
