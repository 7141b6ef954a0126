//! Products of 4-bit floating point with scales of MX blocks:
//! `y = epilogue(sum_g 2^(x_scale[., g] + w_scale[., g] - 254) (x w^T)_g)`, where g is a block of 32 k.
//!
//! | | |
//! |---|---|
//! | Shapes | x `(m, k)`, w `(n, k)` -> y `(m, n)`; any m and n, k a multiple of 32; x_scale `(m, k / 32)`, w_scale `(n, k / 32)`; w and scales of blocks also [shuffled](crate::Shuffled) |
//! | Dtypes | x and w e2m1, two in a byte; scales e8m0; y bf16, f16 or f32 |
//! | Numerics | f32 sums; a block whose scale is NaN makes its row or column NaN; one rounding at the end; bitwise deterministic, also when k is split |
//! | Hardware | cdna3, which expands both operands to bf16, and cdna4; each with tile configurations of its own |
//! | Source | OCP Microscaling Formats (MX) 1.0; AITER `gemm_afp4wfp4` |
//!
//! ```
//! # #[cfg(feature = "cdna3")] {
//! use hk_gemm::{Device, E8M0, F4x2E2M1, GemmOptions, Tensor, gemm_afp4wfp4};
//!
//! let stream = Device::open("sim:mi325x")?.default_stream();
//! // 1.0 and 0.5; 3.0 and 2.0.
//! let x = Tensor::filled(&stream, &[1, 32], F4x2E2M1::from_bits(0x12))?;
//! let w = Tensor::filled(&stream, &[2, 32], F4x2E2M1::from_bits(0x45))?;
//! let x_scale = Tensor::filled(&stream, &[1, 1], E8M0::ONE)?;
//! let w_scale = [1.0, 0.25].map(E8M0::from_f32);
//! let w_scale = Tensor::from_slice(&stream, &w_scale, &[2, 1])?;
//! let options = GemmOptions::default();
//! let y: Tensor<f32> = gemm_afp4wfp4(&x, &w, &x_scale, &w_scale, &options)?;
//! assert_eq!(y.to_vec()?, [64.0, 16.0]);
//! # }
//! # Ok::<(), hk_core::Error>(())
//! ```

#[cfg(doc)]
use hk_core::Error;
use hk_core::dtype::{E8M0, F4x2E2M1, Real};
use hk_core::op::stored::Stored;
use hk_core::{Result, Tensor, TensorSlice};

use crate::mx;
use crate::options::GemmOptions;

const OP: &str = "gemm_afp4wfp4";
const VARIANT: &str = "e2m1";

/// Multiplies `x` by the transpose of `w`, both e2m1 with a scale per block of 32 k:
/// `y[i, j] = epilogue(sum_g 2^(x_scale[i, g] + w_scale[j, g] - 254) sum_{k in g} x[i, k] w[j, k])`.
///
/// # Errors
/// [`Error::Shape`] if the operands or scales do not fit together, n or k is 0, or an operand of
/// the epilogue has the wrong shape; [`Error::Stride`] if elements of a row or of scales are not
/// adjacent, or what is shuffled has gaps; [`Error::Value`] if k is no multiple of 32, the options
/// ask for what there is not, a stride is too long, or the epilogue has too many steps;
/// [`Error::NoTile`] if there is no tile of that name.
#[doc(alias = "gemm_afp4wfp4_preshuffle")]
#[doc(alias = "gemm_afp4wfp4_preshuffled_scales")]
pub fn gemm_afp4wfp4<'s, Y: Real>(
    x: &TensorSlice<F4x2E2M1>,
    w: impl Into<Stored<'s, F4x2E2M1>>,
    x_scale: impl Into<Stored<'s, E8M0>>,
    w_scale: impl Into<Stored<'s, E8M0>>,
    options: &GemmOptions<'_>,
) -> Result<Tensor<Y>> {
    let (w, x_scale, w_scale) = (w.into(), x_scale.into(), w_scale.into());
    let operands = mx::operands(OP, (x, w), (Some(x_scale), w_scale), options)?;
    let mut y = Tensor::empty(x.stream(), &operands.shape(options))?;
    gemm_afp4wfp4_into(x, w, x_scale, w_scale, options, &mut y)?;
    Ok(y)
}

/// As [`gemm_afp4wfp4`], into `y`, whose rows may be any distance apart.
///
/// # Errors
/// As [`gemm_afp4wfp4`]; [`Error::Shape`] or [`Error::Stride`] also if `y` is not `(m, n)` with
/// such rows, [`Error::Alias`] if it overlaps an operand, unless it is the same view as one of
/// `(m, n)` of the epilogue's.
pub fn gemm_afp4wfp4_into<'s, Y: Real>(
    x: &TensorSlice<F4x2E2M1>,
    w: impl Into<Stored<'s, F4x2E2M1>>,
    x_scale: impl Into<Stored<'s, E8M0>>,
    w_scale: impl Into<Stored<'s, E8M0>>,
    options: &GemmOptions<'_>,
    y: &mut TensorSlice<Y>,
) -> Result<()> {
    let operands = mx::operands(OP, (x, w), (Some(x_scale.into()), w_scale), options)?;
    let steps = operands.steps();
    mx::launch(operands, VARIANT, steps, options, y)
}
