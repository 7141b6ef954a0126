//! Batches of products of quantised matrices:
//! `y[b] = epilogue((x[b] w[b]^T) x_scale[b] w_scale[b])`.
//!
//! | | |
//! |---|---|
//! | Shapes | x `(batch, m, k)`, w `(batch, n, k)` -> y `(batch, m, n)`, or `(m, batch, n)`; any sizes; x_scale `(batch, m)` or `(batch, m, 1)`, w_scale `(batch, n)` or `(batch, 1, n)`, each also one number; operands may be stored in any [`Layout`](crate::Layout): those whose rows are adjacent are copied before |
//! | Dtypes | x and w both i8, e4m3 or e5m2, in the flavour of the chip; scales f32; y bf16, f16 or f32 |
//! | Numerics | sums of i8 are exact, and rounded to f32 once per 65,536 of k or share of it; those of fp8 are f32; one rounding at the end; bitwise deterministic, also when k is split |
//! | Hardware | cdna3, cdna4; each with tile configurations of its own |
//! | Source | AITER `batched_gemm_a8w8` |
//!
//! ```
//! # #[cfg(feature = "cdna3")] {
//! use hk_gemm::{Device, GemmOptions, Tensor, batched_gemm_a8w8};
//!
//! let stream = Device::open("sim:mi325x")?.default_stream();
//! let x = Tensor::from_slice(&stream, &[1i8, 2, -1, 5], &[2, 1, 2])?;
//! let w = Tensor::from_slice(&stream, &[3i8, 4, 2, 6], &[2, 1, 2])?;
//! let x_scale = Tensor::from_slice(&stream, &[0.5f32, 2.0], &[2, 1, 1])?;
//! let w_scale = Tensor::from_slice(&stream, &[10.0f32, 0.25], &[2, 1, 1])?;
//! let y: Tensor<f32> = batched_gemm_a8w8(&x, &w, &x_scale, &w_scale, &GemmOptions::default())?;
//! assert_eq!(y.to_vec()?, [55.0, 14.0]);
//! # }
//! # Ok::<(), hk_core::Error>(())
//! ```

#[cfg(doc)]
use hk_core::Error;
use hk_core::dtype::Real;
use hk_core::op::product::Element8;
use hk_core::{Result, Tensor, TensorSlice};

use crate::a8w8;
use crate::options::GemmOptions;

const OP: &str = "batched_gemm_a8w8";

/// Multiplies each matrix of `x` by the transpose of its partner in `w`:
/// `y[b, i, j] = epilogue(x_scale[b, i] w_scale[b, j] sum_k x[b, i, k] w[b, j, k])`.
///
/// # Errors
/// [`Error::Shape`] if the operands or scales do not fit together, n or k is 0, or an operand of
/// the epilogue has the wrong shape; [`Error::Stride`] if elements of a row are not adjacent;
/// [`Error::Value`] if the options ask for what there is not, a stride is too long, or there are
/// more than six steps besides the scales; [`Error::NoTile`] if there is no tile of that name;
/// [`Error::ArchMismatch`] if the elements are those of another chip.
pub fn batched_gemm_a8w8<T: Element8, Y: Real>(
    x: &TensorSlice<T>,
    w: &TensorSlice<T>,
    x_scale: &TensorSlice<f32>,
    w_scale: &TensorSlice<f32>,
    options: &GemmOptions<'_>,
) -> Result<Tensor<Y>> {
    let mut y = Tensor::empty(x.stream(), &a8w8::shape(OP, (x, w.into()), options, true)?)?;
    batched_gemm_a8w8_into(x, w, x_scale, w_scale, options, &mut y)?;
    Ok(y)
}

/// As [`batched_gemm_a8w8`], into `y`, whose matrices and rows may be any distances apart.
///
/// # Errors
/// As [`batched_gemm_a8w8`]; [`Error::Shape`] or [`Error::Stride`] also if `y` has the wrong shape
/// or no such rows, [`Error::Alias`] if it overlaps an operand, unless it is the same view as one
/// of its shape of the epilogue's.
pub fn batched_gemm_a8w8_into<T: Element8, Y: Real>(
    x: &TensorSlice<T>,
    w: &TensorSlice<T>,
    x_scale: &TensorSlice<f32>,
    w_scale: &TensorSlice<f32>,
    options: &GemmOptions<'_>,
    y: &mut TensorSlice<Y>,
) -> Result<()> {
    a8w8::launch(OP, (x, w.into()), [x_scale, w_scale], options, true, y)
}
