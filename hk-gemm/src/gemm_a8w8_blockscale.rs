//! Products of 8-bit floating point with scales of blocks:
//! `y = epilogue(sum_g x_scale[., g] w_scale[., g] (x w^T)_g)`, where g is a group of k.
//!
//! | | |
//! |---|---|
//! | Shapes | x `(m, k)`, w `(n, k)` -> y `(m, n)`; any sizes; x_scale `(m, ceil(k / group_k))` or its transpose, w_scale `(ceil(n / group_n), ceil(k / group_k))`; w also [shuffled](crate::Shuffled); operands may be stored in any [`Layout`](crate::Layout): those whose rows are adjacent are copied before |
//! | Dtypes | x and w e4m3 in the flavour of the chip; scales f32; y bf16, f16 or f32 |
//! | Numerics | f32 sums of each group, added up in f32 times the scales; one rounding at the end; bitwise deterministic, also when k is split |
//! | Hardware | cdna3, cdna4; each with tile configurations of its own |
//! | Source | DeepSeek-V3 (arXiv 2412.19437), section 3.3; AITER `gemm_a8w8_blockscale` |
//!
//! ```
//! # #[cfg(feature = "cdna3")] {
//! use hk_gemm::{BlockscaleOptions, Device, F8E4M3Fnuz, Tensor, gemm_a8w8_blockscale};
//!
//! let stream = Device::open("sim:mi325x")?.default_stream();
//! let one = F8E4M3Fnuz::from_f32(1.0);
//! let x = Tensor::filled(&stream, &[2, 160], one)?;
//! let w = Tensor::filled(&stream, &[1, 160], one)?;
//! let x_scale = Tensor::from_slice(&stream, &[1.0f32, 2.0, 3.0, 4.0], &[2, 2])?;
//! let w_scale = Tensor::from_slice(&stream, &[1.0f32, 0.5], &[1, 2])?;
//! let options = BlockscaleOptions::default();
//! let y: Tensor<f32> = gemm_a8w8_blockscale(&x, &w, &x_scale, &w_scale, &options)?;
//! assert_eq!(y.to_vec()?, [160.0, 448.0]);
//! # }
//! # Ok::<(), hk_core::Error>(())
//! ```

#[cfg(doc)]
use hk_core::Error;
use hk_core::dtype::Real;
use hk_core::op::quant::Fp8;
use hk_core::op::stored::Stored;
use hk_core::{Result, Tensor, TensorSlice};

use crate::a8w8_blockscale::{BlockscaleOptions, launch, operands};

const OP: &str = "gemm_a8w8_blockscale";

/// Multiplies `x` by the transpose of `w`, each with a scale per group of k:
/// `y[i, j] = epilogue(sum_g x_scale[i, g] w_scale[j / group_n, g] sum_{k in g} x[i, k] w[j, k])`.
///
/// # Errors
/// [`Error::Shape`] if the operands or scales do not fit together, n or k is 0, or an operand of
/// the epilogue has the wrong shape; [`Error::Stride`] if elements of a row or of scales are not
/// adjacent, or a shuffled w has gaps; [`Error::Value`] if the options ask for what there is not, a
/// stride is too long, or the epilogue has too many steps; [`Error::NoTile`] if there is no tile of
/// that name; [`Error::ArchMismatch`] if the elements are those of another chip.
#[doc(alias = "gemm_a8w8_blockscale_preshuffle")]
pub fn gemm_a8w8_blockscale<'s, T: Fp8, Y: Real>(
    x: &TensorSlice<T>,
    w: impl Into<Stored<'s, T>>,
    x_scale: &TensorSlice<f32>,
    w_scale: &TensorSlice<f32>,
    options: &BlockscaleOptions<'_>,
) -> Result<Tensor<Y>> {
    let w = w.into();
    let shape = operands(OP, (x, w), [x_scale, w_scale], options)?.shape(&options.gemm);
    let mut y = Tensor::empty(x.stream(), &shape)?;
    gemm_a8w8_blockscale_into(x, w, x_scale, w_scale, options, &mut y)?;
    Ok(y)
}

/// As [`gemm_a8w8_blockscale`], into `y`, whose rows may be any distance apart.
///
/// # Errors
/// As [`gemm_a8w8_blockscale`]; [`Error::Shape`] or [`Error::Stride`] also if `y` is not `(m, n)`
/// with such rows, [`Error::Alias`] if it overlaps an operand, unless it is the same view as one of
/// `(m, n)` of the epilogue's.
pub fn gemm_a8w8_blockscale_into<'s, T: Fp8, Y: Real>(
    x: &TensorSlice<T>,
    w: impl Into<Stored<'s, T>>,
    x_scale: &TensorSlice<f32>,
    w_scale: &TensorSlice<f32>,
    options: &BlockscaleOptions<'_>,
    y: &mut TensorSlice<Y>,
) -> Result<()> {
    let operands = operands(OP, (x, w), [x_scale, w_scale], options)?;
    let steps = operands.steps();
    launch(operands, steps, options.groups, &options.gemm, y)
}
