//! Batches of products of 16-bit numbers with 4-bit floating point that has scales of MX blocks:
//! `y[b] = epilogue(sum_g 2^(w_scale[b, ., g] - 127) (x[b] w[b]^T)_g)`, where g is a block of 32 k and x is
//! quantised to such blocks before, too, unless the options say otherwise.
//!
//! | | |
//! |---|---|
//! | Shapes | x `(batch, m, k)`, w `(batch, n, k)` -> y `(batch, m, n)`, or `(m, batch, n)`; any m and n, k a multiple of 32; w_scale `(batch, n, k / 32)`; x may be stored as `(batch, k, m)`: it is copied before |
//! | Dtypes | x bf16 or f16; w e2m1, two in a byte; w_scale e8m0; y bf16, f16 or f32, or e4m3 in the flavour of the chip with a scale y_scale `(1)` in f32 |
//! | Numerics | x becomes e2m1 with scales as the mode [`Even`](hk_core::op::quant::MxRound::Even) has them, bit for bit; f32 sums; a block whose scale is NaN, because x has infinity or NaN there or w's is, makes its row or column NaN; one rounding at the end; as e4m3, `y / y_scale` is rounded, of which what is beyond the largest finite number, as infinity is, becomes that, and NaN stays; bitwise deterministic, also when k is split |
//! | Hardware | cdna3, which expands operands to bf16, and cdna4; each with tile configurations of its own; results do not depend on which |
//! | Source | OCP Microscaling Formats (MX) 1.0; AITER `batched_gemm_a16wfp4` |
//!
//! ```
//! # #[cfg(feature = "cdna4")] {
//! use hk_gemm::{A16Wfp4Options, Device, E8M0, F4x2E2M1, Tensor, bf16, batched_gemm_a16wfp4};
//!
//! let stream = Device::open("sim:mi355x")?.default_stream();
//! let x = Tensor::filled(&stream, &[1, 1, 32], bf16::from_f32(1.25))?;
//! // 3.0 and 2.0.
//! let w = Tensor::filled(&stream, &[1, 1, 32], F4x2E2M1::from_bits(0x45))?;
//! let w_scale = Tensor::filled(&stream, &[1, 1, 1], E8M0::from_f32(4.0))?;
//! let options = A16Wfp4Options::default();
//! // 1.25 is 5 times 2^-2, and 5 is just between the codes of 4 and 6.
//! let y: Tensor<f32> = batched_gemm_a16wfp4(&x, &w, &w_scale, &options)?;
//! assert_eq!(y.to_vec()?, [320.0]);
//! let y: Tensor<f32> = batched_gemm_a16wfp4(&x, &w, &w_scale, &options.prequant(false))?;
//! assert_eq!(y.to_vec()?, [400.0]);
//! # }
//! # Ok::<(), hk_core::Error>(())
//! ```

#[cfg(doc)]
use hk_core::Error;
use hk_core::dtype::{E8M0, F4x2E2M1, Real, Real16};
use hk_core::op::quant::Fp8;
use hk_core::{Result, Tensor, TensorSlice};

use crate::mx::{self, A16Wfp4Options};

const OP: &str = "batched_gemm_a16wfp4";

/// Multiplies each matrix of `x` by the transpose of its partner in `w`, e2m1 with a scale per block of
/// 32 k: `y[b] = epilogue(sum_g 2^(w_scale[b, ., g] - 127) (x[b] w[b]^T)_g)`.
///
/// # Errors
/// [`Error::Shape`] if the operands or scales do not fit together, n or k is 0, or an operand of
/// the epilogue has the wrong shape; [`Error::Stride`] if elements of a row or of scales are not
/// adjacent; [`Error::Value`] if k is no multiple of 32, the options ask for what there is not, a
/// stride is too long, or the epilogue has too many steps; [`Error::NoTile`] if there is no tile of
/// that name.
pub fn batched_gemm_a16wfp4<T: Real16, Y: Real>(
    x: &TensorSlice<T>,
    w: &TensorSlice<F4x2E2M1>,
    w_scale: &TensorSlice<E8M0>,
    options: &A16Wfp4Options<'_>,
) -> Result<Tensor<Y>> {
    let operands = mx::batched_operands(OP, (x, w), (None, w_scale), &options.gemm)?;
    let mut y = Tensor::empty(x.stream(), &operands.shape(&options.gemm))?;
    batched_gemm_a16wfp4_into(x, w, w_scale, options, &mut y)?;
    Ok(y)
}

/// As [`batched_gemm_a16wfp4`], into `y`, whose matrices and rows may be any distances apart.
///
/// # Errors
/// As [`batched_gemm_a16wfp4`]; [`Error::Shape`] or [`Error::Stride`] also if `y` has the wrong
/// shape or no such rows, [`Error::Alias`] if it overlaps an operand, unless it is the same view as
/// one of its shape of the epilogue's.
pub fn batched_gemm_a16wfp4_into<T: Real16, Y: Real>(
    x: &TensorSlice<T>,
    w: &TensorSlice<F4x2E2M1>,
    w_scale: &TensorSlice<E8M0>,
    options: &A16Wfp4Options<'_>,
    y: &mut TensorSlice<Y>,
) -> Result<()> {
    let operands = mx::batched_operands(OP, (x, w), (None, w_scale), &options.gemm)?;
    options.launch::<T, Y>(operands, y)
}

/// As [`batched_gemm_a16wfp4`], with e4m3 as the result, of which `y_scale` is the scale: each element of
/// the epilogue's is divided by it, and then rounded to a finite number, or is NaN.
///
/// # Errors
/// As [`batched_gemm_a16wfp4`]; [`Error::Shape`] also if `y_scale` does not have one element,
/// [`Error::ArchMismatch`] if `Y` is not the flavour of the chip.
pub fn batched_gemm_a16wfp4_fp8<T: Real16, Y: Fp8>(
    x: &TensorSlice<T>,
    w: &TensorSlice<F4x2E2M1>,
    w_scale: &TensorSlice<E8M0>,
    y_scale: &TensorSlice<f32>,
    options: &A16Wfp4Options<'_>,
) -> Result<Tensor<Y>> {
    let operands = mx::batched_operands(OP, (x, w), (None, w_scale), &options.gemm)?;
    let mut y = Tensor::empty(x.stream(), &operands.shape(&options.gemm))?;
    batched_gemm_a16wfp4_fp8_into(x, w, w_scale, y_scale, options, &mut y)?;
    Ok(y)
}

/// As [`batched_gemm_a16wfp4_fp8`], into `y`, whose matrices and rows may be any distances apart.
///
/// # Errors
/// As [`batched_gemm_a16wfp4_fp8`]; [`Error::Shape`] or [`Error::Stride`] also if `y` has the wrong
/// shape or no such rows, [`Error::Alias`] if it overlaps an operand.
pub fn batched_gemm_a16wfp4_fp8_into<T: Real16, Y: Fp8>(
    x: &TensorSlice<T>,
    w: &TensorSlice<F4x2E2M1>,
    w_scale: &TensorSlice<E8M0>,
    y_scale: &TensorSlice<f32>,
    options: &A16Wfp4Options<'_>,
    y: &mut TensorSlice<Y>,
) -> Result<()> {
    let mut operands = mx::batched_operands(OP, (x, w), (None, w_scale), &options.gemm)?;
    operands.args.input("y_scale", y_scale, &["1"]).strides::<1>()?;
    operands.encode = Some(y_scale.ptr());
    options.launch::<T, Y>(operands, y)
}
