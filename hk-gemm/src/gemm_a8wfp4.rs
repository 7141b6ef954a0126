//! Products of 8-bit floating point with 4-bit floating point that has scales of MX blocks:
//! `y = epilogue(x_scale sum_g 2^(w_scale[., g] - 127) (x w^T)_g)`, where g is a block of 32 k.
//!
//! | | |
//! |---|---|
//! | Shapes | x `(m, k)`, w `(n, k)` -> y `(m, n)`; any m and n, k a multiple of 32; x_scale `(m)`, `(m, 1)` or one number, w_scale `(n, k / 32)`; w and scales of blocks also [shuffled](crate::Shuffled); x may be stored as `(k, m)`: it is copied before |
//! | Dtypes | x e4m3 in the flavour of the chip; w e2m1, two in a byte; x_scale f32, w_scale e8m0; y bf16, f16 or f32 |
//! | Numerics | f32 sums; a block whose scale is NaN makes its column NaN; one rounding at the end; bitwise deterministic, also when k is split |
//! | Hardware | cdna3, which expands both operands to bf16, and cdna4; each with tile configurations of its own |
//! | Source | OCP Microscaling Formats (MX) 1.0; AITER `gemm_a8wfp4` |
//!
//! ```
//! # #[cfg(feature = "cdna3")] {
//! use hk_gemm::{Device, E8M0, F4x2E2M1, F8E4M3Fnuz, GemmOptions, Tensor, gemm_a8wfp4};
//!
//! let stream = Device::open("sim:mi325x")?.default_stream();
//! let x = Tensor::filled(&stream, &[2, 32], F8E4M3Fnuz::from_f32(2.0))?;
//! // 3.0 and 2.0.
//! let w = Tensor::filled(&stream, &[1, 32], F4x2E2M1::from_bits(0x45))?;
//! let x_scale = Tensor::from_slice(&stream, &[1.0f32, 0.125], &[2, 1])?;
//! let w_scale = Tensor::filled(&stream, &[1, 1], E8M0::from_f32(4.0))?;
//! let options = GemmOptions::default();
//! let y: Tensor<f32> = gemm_a8wfp4(&x, &w, &x_scale, &w_scale, &options)?;
//! assert_eq!(y.to_vec()?, [640.0, 80.0]);
//! # }
//! # Ok::<(), hk_core::Error>(())
//! ```

#[cfg(doc)]
use hk_core::Error;
use hk_core::dtype::{E8M0, F4x2E2M1, Real};
use hk_core::op::epilogue::{Extent, Step};
use hk_core::op::quant::Fp8;
use hk_core::op::stored::Stored;
use hk_core::{Result, Tensor, TensorSlice};

use crate::mx;
use crate::options::GemmOptions;

const OP: &str = "gemm_a8wfp4";

/// Multiplies `x`, with a scale per row, by the transpose of `w`, e2m1 with a scale per block of 32 k:
/// `y[i, j] = epilogue(x_scale[i] sum_g 2^(w_scale[j, g] - 127) sum_{k in g} x[i, k] w[j, k])`.
///
/// # Errors
/// [`Error::Shape`] if the operands or scales do not fit together, n or k is 0, or an operand of
/// the epilogue has the wrong shape; [`Error::Stride`] if elements of a row or of w_scale are not
/// adjacent, or what is shuffled has gaps; [`Error::Value`] if k is no multiple of 32, the options
/// ask for what there is not, a stride is too long, or the epilogue has too many steps;
/// [`Error::NoTile`] if there is no tile of that name; [`Error::ArchMismatch`] if the elements of
/// `x` are those of another chip.
pub fn gemm_a8wfp4<'s, T: Fp8, Y: Real>(
    x: &TensorSlice<T>,
    w: impl Into<Stored<'s, F4x2E2M1>>,
    x_scale: &TensorSlice<f32>,
    w_scale: impl Into<Stored<'s, E8M0>>,
    options: &GemmOptions<'_>,
) -> Result<Tensor<Y>> {
    let (w, w_scale) = (w.into(), w_scale.into());
    let operands = mx::operands(OP, (x, w), (None, w_scale), options)?;
    let mut y = Tensor::empty(x.stream(), &operands.shape(options))?;
    gemm_a8wfp4_into(x, w, x_scale, w_scale, options, &mut y)?;
    Ok(y)
}

/// As [`gemm_a8wfp4`], into `y`, whose rows may be any distance apart.
///
/// # Errors
/// As [`gemm_a8wfp4`]; [`Error::Shape`] or [`Error::Stride`] also if `y` is not `(m, n)` with such
/// rows, [`Error::Alias`] if it overlaps an operand, unless it is the same view as one of `(m, n)`
/// of the epilogue's.
pub fn gemm_a8wfp4_into<'s, T: Fp8, Y: Real>(
    x: &TensorSlice<T>,
    w: impl Into<Stored<'s, F4x2E2M1>>,
    x_scale: &TensorSlice<f32>,
    w_scale: impl Into<Stored<'s, E8M0>>,
    options: &GemmOptions<'_>,
    y: &mut TensorSlice<Y>,
) -> Result<()> {
    let mut operands = mx::operands(OP, (x, w), (None, w_scale), options)?;
    let (mut steps, args) = (operands.steps(), &mut operands.args);
    steps.push(args, ["x_scale"; 3], Step::Multiply(x_scale.into(), Extent::OneOrRows))?;
    mx::launch(operands, "e4m3_e2m1", steps, options, y)
}
