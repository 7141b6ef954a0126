//! Products of 16-bit numbers with 8-bit ones that have scales of blocks:
//! `y = epilogue(sum_g w_scale[., g] (x w^T)_g)`, where g is a group of k.
//!
//! | | |
//! |---|---|
//! | Shapes | x `(m, k)`, w `(n, k)` -> y `(m, n)`; any sizes; w_scale `(ceil(n / group_n), ceil(k / group_k))`; w also [shuffled](crate::Shuffled); operands may be stored in any [`Layout`](crate::Layout): those whose rows are adjacent are copied before |
//! | Dtypes | x bf16 or f16; w i8, or e4m3 in the flavour of the chip; w_scale f32; y bf16, f16 or f32 |
//! | Numerics | f32 sums of each group, added up in f32 times the scale; or x is quantised to w's type before: per group of k of a row by `a / MAX` with `a = max(max abs x, 1e-10)`, rounded to nearest even; one rounding at the end; bitwise deterministic, also when k is split |
//! | Hardware | cdna3, cdna4; each with tile configurations of its own |
//! | Source | DeepSeek-V3 (arXiv 2412.19437), section 3.3; AITER `gemm_a16w8_blockscale` |
//!
//! ```
//! # #[cfg(feature = "cdna3")] {
//! use hk_gemm::{A16W8Options, Device, F8E4M3Fnuz, Tensor, bf16, gemm_a16w8_blockscale};
//!
//! let stream = Device::open("sim:mi325x")?.default_stream();
//! let x = Tensor::filled(&stream, &[2, 160], bf16::from_f32(3.0))?;
//! let w = Tensor::filled(&stream, &[1, 160], F8E4M3Fnuz::from_f32(2.0))?;
//! let w_scale = Tensor::from_slice(&stream, &[1.0f32, 0.5], &[1, 2])?;
//! let options = A16W8Options::default();
//! let y: Tensor<f32> = gemm_a16w8_blockscale(&x, &w, &w_scale, &options)?;
//! assert_eq!(y.to_vec()?, [864.0, 864.0]);
//! # }
//! # Ok::<(), hk_core::Error>(())
//! ```

#[cfg(doc)]
use hk_core::Error;
use hk_core::dtype::{Real, Real16};
use hk_core::op::quant::ByteCode;
use hk_core::op::stored::Stored;
use hk_core::{Result, Tensor, TensorSlice};

use crate::a16w8_blockscale::{A16W8Options, launch, operands};

const OP: &str = "gemm_a16w8_blockscale";

/// Multiplies `x` by the transpose of `w`, which has a scale per block:
/// `y[i, j] = epilogue(sum_g w_scale[j / group_n, g] sum_{k in g} x[i, k] w[j, k])`.
///
/// # Errors
/// [`Error::Shape`] if the operands or scales do not fit together, n or k is 0, or an operand of
/// the epilogue has the wrong shape; [`Error::Stride`] if elements of a row or of scales are not
/// adjacent, or a shuffled w has gaps; [`Error::Value`] if the options ask for what there is not, a
/// stride is too long, or the epilogue has too many steps; [`Error::NoTile`] if there is no tile of
/// that name; [`Error::ArchMismatch`] if the elements of `w` are those of another chip.
#[doc(alias = "gemm_a16w8_blockscale_preshuffle")]
pub fn gemm_a16w8_blockscale<'s, X: Real16, W: ByteCode, Y: Real>(
    x: &TensorSlice<X>,
    w: impl Into<Stored<'s, W>>,
    w_scale: &TensorSlice<f32>,
    options: &A16W8Options<'_>,
) -> Result<Tensor<Y>> {
    let w = w.into();
    let operands = operands(OP, (x, w), w_scale, options)?;
    let mut y = Tensor::empty(x.stream(), &operands.shape(&options.gemm))?;
    gemm_a16w8_blockscale_into(x, w, w_scale, options, &mut y)?;
    Ok(y)
}

/// As [`gemm_a16w8_blockscale`], into `y`, whose rows may be any distance apart.
///
/// # Errors
/// As [`gemm_a16w8_blockscale`]; [`Error::Shape`] or [`Error::Stride`] also if `y` is not `(m, n)`
/// with such rows, [`Error::Alias`] if it overlaps an operand, unless it is the same view as one of
/// `(m, n)` of the epilogue's.
pub fn gemm_a16w8_blockscale_into<'s, X: Real16, W: ByteCode, Y: Real>(
    x: &TensorSlice<X>,
    w: impl Into<Stored<'s, W>>,
    w_scale: &TensorSlice<f32>,
    options: &A16W8Options<'_>,
    y: &mut TensorSlice<Y>,
) -> Result<()> {
    let operands = operands(OP, (x, w), w_scale, options)?;
    launch::<X, W, Y>(operands, options, y)
}
