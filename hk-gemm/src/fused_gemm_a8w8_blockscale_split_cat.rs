//! Products of 8-bit floating point with scales of blocks whose columns are heads of two parts:
//! `c1 = concat(C[.., ..s1], y)` and `c2 = C[.., s1..]` with C as
//! [`gemm_a8w8_blockscale`](crate::gemm_a8w8_blockscale()), seen as `(m, heads, s1 + s2)`.
//!
//! | | |
//! |---|---|
//! | Shapes | x `(m, k)`, w `(heads (s1 + s2), k)`, y `(m, heads, s3)` with any strides, such as 0 between heads -> c1 `(m, heads, s1 + s3)`, c2 `(m, heads, s2)`; scales as there; s3 may be 0; w also [shuffled](crate::Shuffled); operands may be stored in any [`Layout`](crate::Layout): those whose rows are adjacent are copied before |
//! | Dtypes | x and w e4m3 in the flavour of the chip; scales f32; y bf16, f16 or f32; c1 and c2 both one of these |
//! | Numerics | f32 sums, one rounding at the end; copies of y are rounded, if at all, to c1's type; bitwise deterministic, also when k is split |
//! | Hardware | cdna3, cdna4; each with tile configurations of its own |
//! | Source | DeepSeek-V2's multi-head latent attention (arXiv 2405.04434): keys without and with positions, and values; AITER `fused_gemm_a8w8_blockscale_split_cat` |
//!
//! ```
//! # #[cfg(feature = "cdna3")] {
//! use hk_gemm::{BlockscaleOptions, Device, F8E4M3Fnuz, SplitCat, Tensor};
//! use hk_gemm::fused_gemm_a8w8_blockscale_split_cat;
//!
//! let stream = Device::open("sim:mi325x")?.default_stream();
//! let one = F8E4M3Fnuz::from_f32(1.0);
//! let x = Tensor::filled(&stream, &[1, 128], one)?;
//! let w = Tensor::filled(&stream, &[6, 128], one)?;
//! let scale = Tensor::filled(&stream, &[1, 1], 0.5f32)?;
//! // Two heads of one and two columns; both have the same y beside the one.
//! let y = Tensor::from_slice(&stream, &[7.0f32], &[1, 1, 1])?;
//! let y = y.broadcast(&[1, 2, 1])?;
//! let options = BlockscaleOptions::default();
//! let results: SplitCat<f32> =
//!     fused_gemm_a8w8_blockscale_split_cat(&x, &w, &scale, &scale, &y, 1, &options)?;
//! assert_eq!(results.c1.to_vec()?, [32.0f32, 7.0, 32.0, 7.0]);
//! assert_eq!(results.c2.to_vec()?, [32.0; 4]);
//! # }
//! # Ok::<(), hk_core::Error>(())
//! ```

#[cfg(doc)]
use hk_core::Error;
use hk_core::dtype::Real;
use hk_core::op::quant::Fp8;
use hk_core::op::stored::Stored;
use hk_core::{Result, TensorSlice};

use crate::a8w8_blockscale::{BlockscaleOptions, operands, split_kernel};
use crate::{SplitCat, SplitCatOut};

const OP: &str = "fused_gemm_a8w8_blockscale_split_cat";

/// Multiplies `x` by the transpose of `w`, splits the columns of each head after the first `s1`, and copies
/// `y` behind them.
///
/// # Errors
/// As [`gemm_a8w8_blockscale`](crate::gemm_a8w8_blockscale()); [`Error::Shape`] also if y does not
/// have a row per row of x, [`Error::Value`] if its heads do not divide the rows of w, or `s1`
/// leaves nothing of them.
#[doc(alias = "fused_gemm_a8w8_blockscale_preshuffle_split_cat")]
pub fn fused_gemm_a8w8_blockscale_split_cat<'s, T: Fp8, U: Real, Y: Real>(
    x: &TensorSlice<T>,
    w: impl Into<Stored<'s, T>>,
    x_scale: &TensorSlice<f32>,
    w_scale: &TensorSlice<f32>,
    y: &TensorSlice<U>,
    s1: usize,
    options: &BlockscaleOptions<'_>,
) -> Result<SplitCat<Y>> {
    let w = w.into();
    let operands = operands(OP, (x, w), [x_scale, w_scale], options)?;
    let mut results = operands.split_results(x.stream(), y, s1)?;
    let out = SplitCatOut { c1: &mut results.c1, c2: &mut results.c2 };
    fused_gemm_a8w8_blockscale_split_cat_into(x, w, x_scale, w_scale, y, s1, options, out)?;
    Ok(results)
}

/// As [`fused_gemm_a8w8_blockscale_split_cat`], into `c1` and `c2`, whose rows and heads may be any distances apart.
///
/// # Errors
/// As [`fused_gemm_a8w8_blockscale_split_cat`]; [`Error::Shape`] or [`Error::Stride`] also if a
/// result has the wrong shape or no such rows, [`Error::Alias`] if one overlaps the other or an
/// operand.
#[expect(clippy::too_many_arguments, reason = "two operands with scales, and what is beside them")]
pub fn fused_gemm_a8w8_blockscale_split_cat_into<'s, T: Fp8, U: Real, Y: Real>(
    x: &TensorSlice<T>,
    w: impl Into<Stored<'s, T>>,
    x_scale: &TensorSlice<f32>,
    w_scale: &TensorSlice<f32>,
    y: &TensorSlice<U>,
    s1: usize,
    options: &BlockscaleOptions<'_>,
    out: SplitCatOut<'_, Y>,
) -> Result<()> {
    let operands = operands(OP, (x, w), [x_scale, w_scale], options)?;
    operands.launch_split(split_kernel(options.groups), (y, s1), &options.gemm, out)
}
