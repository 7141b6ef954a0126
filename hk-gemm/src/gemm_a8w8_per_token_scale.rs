//! Products of quantised matrices with a scale per row of x and of w:
//! `y = epilogue((x w^T) x_scale w_scale)`.
//!
//! | | |
//! |---|---|
//! | Shapes | x `(m, k)`, w `(n, k)` -> y `(m, n)`; any sizes; x_scale `(m, 1)`, w_scale `(n, 1)`; w also [shuffled](crate::Shuffled); operands may be stored in any [`Layout`](crate::Layout): those whose rows are adjacent are copied before |
//! | Dtypes | x and w both i8, e4m3 or e5m2, in the flavour of the chip; scales f32; y bf16, f16 or f32 |
//! | Numerics | sums of i8 are exact, and rounded to f32 once per 65,536 of k or share of it; those of fp8 are f32; one rounding at the end; bitwise deterministic, also when k is split |
//! | Hardware | cdna3, cdna4; each with tile configurations of its own |
//! | Source | AITER `gemm_a8w8_per_token_scale`; the product is that of [`gemm_a8w8`](crate::gemm_a8w8()) |
//!
//! ```
//! # #[cfg(feature = "cdna3")] {
//! use hk_gemm::{Device, GemmOptions, Tensor, gemm_a8w8_per_token_scale};
//!
//! let stream = Device::open("sim:mi325x")?.default_stream();
//! let x = Tensor::from_slice(&stream, &[1i8, 2, -1, 5], &[2, 2])?;
//! let w = Tensor::from_slice(&stream, &[3i8, 4], &[1, 2])?;
//! let x_scale = Tensor::from_slice(&stream, &[0.5f32, 2.0], &[2, 1])?;
//! let w_scale = Tensor::from_slice(&stream, &[10.0f32], &[1, 1])?;
//! let y: Tensor<f32> = gemm_a8w8_per_token_scale(&x, &w, &x_scale, &w_scale, &GemmOptions::default())?;
//! assert_eq!(y.to_vec()?, [55.0, 340.0]);
//! # }
//! # Ok::<(), hk_core::Error>(())
//! ```

#[cfg(doc)]
use hk_core::Error;
use hk_core::dtype::Real;
use hk_core::op::product::Element8;
use hk_core::op::stored::Stored;
use hk_core::{Result, Tensor, TensorSlice};

use crate::a8w8;
use crate::options::GemmOptions;

const OP: &str = "gemm_a8w8_per_token_scale";

/// Multiplies `x` by the transpose of `w`:
/// `y[i, j] = epilogue(x_scale[i] w_scale[j] sum_k x[i, k] w[j, k])`.
///
/// # Errors
/// [`Error::Shape`] if the operands or scales do not fit together, n or k is 0, or an operand of
/// the epilogue has the wrong shape; [`Error::Stride`] if elements of a row are not adjacent, or a
/// shuffled w has gaps; [`Error::Value`] if the options ask for what there is not, a stride is too
/// long, or there are more than six steps besides the scales; [`Error::NoTile`] if there is no tile
/// of that name; [`Error::ArchMismatch`] if the elements are those of another chip.
pub fn gemm_a8w8_per_token_scale<'s, T: Element8, Y: Real>(
    x: &TensorSlice<T>,
    w: impl Into<Stored<'s, T>>,
    x_scale: &TensorSlice<f32>,
    w_scale: &TensorSlice<f32>,
    options: &GemmOptions<'_>,
) -> Result<Tensor<Y>> {
    let w = w.into();
    let mut y = Tensor::empty(x.stream(), &a8w8::shape(OP, (x, w), options, false)?)?;
    gemm_a8w8_per_token_scale_into(x, w, x_scale, w_scale, options, &mut y)?;
    Ok(y)
}

/// As [`gemm_a8w8_per_token_scale`], into `y`, whose rows may be any distance apart.
///
/// # Errors
/// As [`gemm_a8w8_per_token_scale`]; [`Error::Shape`] or [`Error::Stride`] also if `y` has the
/// wrong shape or no such rows, [`Error::Alias`] if it overlaps an operand, unless it is the same
/// view as one of its shape of the epilogue's.
pub fn gemm_a8w8_per_token_scale_into<'s, T: Element8, Y: Real>(
    x: &TensorSlice<T>,
    w: impl Into<Stored<'s, T>>,
    x_scale: &TensorSlice<f32>,
    w_scale: &TensorSlice<f32>,
    options: &GemmOptions<'_>,
    y: &mut TensorSlice<Y>,
) -> Result<()> {
    a8w8::launch(OP, (x, w.into()), [x_scale, w_scale], options, false, y)
}
