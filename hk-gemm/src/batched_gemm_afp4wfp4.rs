//! Batches of products of 4-bit floating point with scales of MX blocks:
//! `y[b] = epilogue(sum_g 2^(x_scale[b, ., g] + w_scale[b, ., g] - 254) (x[b] w[b]^T)_g)`, where g is a
//! block of 32 k.
//!
//! | | |
//! |---|---|
//! | Shapes | x `(batch, m, k)`, w `(batch, n, k)` -> y `(batch, m, n)`, or `(m, batch, n)`; any m and n, k a multiple of 32; x_scale `(batch, m, k / 32)`, w_scale `(batch, n, k / 32)` |
//! | Dtypes | x and w e2m1, two in a byte; scales e8m0; y bf16, f16 or f32 |
//! | Numerics | f32 sums; a block whose scale is NaN makes its row or column NaN; one rounding at the end; bitwise deterministic, also when k is split |
//! | Hardware | cdna3, which expands both operands to bf16, and cdna4; each with tile configurations of its own |
//! | Source | OCP Microscaling Formats (MX) 1.0; AITER `batched_gemm_afp4wfp4` |
//!
//! ```
//! # #[cfg(feature = "cdna4")] {
//! use hk_gemm::{Device, E8M0, F4x2E2M1, GemmOptions, Tensor, batched_gemm_afp4wfp4};
//!
//! let stream = Device::open("sim:mi355x")?.default_stream();
//! // 1.0 and 0.5; 3.0 and 2.0.
//! let x = Tensor::filled(&stream, &[2, 1, 32], F4x2E2M1::from_bits(0x12))?;
//! let w = Tensor::filled(&stream, &[2, 1, 32], F4x2E2M1::from_bits(0x45))?;
//! let x_scale = Tensor::filled(&stream, &[2, 1, 1], E8M0::ONE)?;
//! let w_scale = Tensor::from_slice(&stream, &[1.0, 0.25].map(E8M0::from_f32), &[2, 1, 1])?;
//! let options = GemmOptions::default();
//! let y: Tensor<f32> = batched_gemm_afp4wfp4(&x, &w, &x_scale, &w_scale, &options)?;
//! assert_eq!(y.to_vec()?, [64.0, 16.0]);
//! # }
//! # Ok::<(), hk_core::Error>(())
//! ```

#[cfg(doc)]
use hk_core::Error;
use hk_core::dtype::{E8M0, F4x2E2M1, Real};
use hk_core::{Result, Tensor, TensorSlice};

use crate::mx;
use crate::options::GemmOptions;

const OP: &str = "batched_gemm_afp4wfp4";

/// Multiplies each matrix of `x` by the transpose of its partner in `w`, both e2m1 with a scale per block
/// of 32 k: `y[b] = epilogue(sum_g 2^(x_scale[b, ., g] + w_scale[b, ., g] - 254) (x[b] w[b]^T)_g)`.
///
/// # Errors
/// [`Error::Shape`] if the operands or scales do not fit together, n or k is 0, or an operand of
/// the epilogue has the wrong shape; [`Error::Stride`] if elements of a row or of scales are not
/// adjacent; [`Error::Value`] if k is no multiple of 32, the options ask for what there is not, a
/// stride is too long, or the epilogue has too many steps; [`Error::NoTile`] if there is no tile of
/// that name.
pub fn batched_gemm_afp4wfp4<Y: Real>(
    x: &TensorSlice<F4x2E2M1>,
    w: &TensorSlice<F4x2E2M1>,
    x_scale: &TensorSlice<E8M0>,
    w_scale: &TensorSlice<E8M0>,
    options: &GemmOptions<'_>,
) -> Result<Tensor<Y>> {
    let operands = mx::batched_operands(OP, (x, w), (Some(x_scale), w_scale), options)?;
    let mut y = Tensor::empty(x.stream(), &operands.shape(options))?;
    batched_gemm_afp4wfp4_into(x, w, x_scale, w_scale, options, &mut y)?;
    Ok(y)
}

/// As [`batched_gemm_afp4wfp4`], into `y`, whose matrices and rows may be any distances apart.
///
/// # Errors
/// As [`batched_gemm_afp4wfp4`]; [`Error::Shape`] or [`Error::Stride`] also if `y` has the wrong
/// shape or no such rows, [`Error::Alias`] if it overlaps an operand, unless it is the same view as
/// one of its shape of the epilogue's.
pub fn batched_gemm_afp4wfp4_into<Y: Real>(
    x: &TensorSlice<F4x2E2M1>,
    w: &TensorSlice<F4x2E2M1>,
    x_scale: &TensorSlice<E8M0>,
    w_scale: &TensorSlice<E8M0>,
    options: &GemmOptions<'_>,
    y: &mut TensorSlice<Y>,
) -> Result<()> {
    let operands = mx::batched_operands(OP, (x, w), (Some(x_scale), w_scale), options)?;
    let steps = operands.steps();
    mx::launch(operands, "e2m1", steps, options, y)
}
