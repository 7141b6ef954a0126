//! Products of 16-bit numbers with 4-bit floating point that has scales of MX blocks:
//! `y = epilogue(sum_g 2^(w_scale[., g] - 127) (x w^T)_g)`, where g is a block of 32 k and x is
//! quantised to such blocks before, too, unless the options say otherwise.
//!
//! | | |
//! |---|---|
//! | Shapes | x `(m, k)`, w `(n, k)` -> y `(m, n)`; any m and n, k a multiple of 32; w_scale `(n, k / 32)`; w and scales of blocks also [shuffled](crate::Shuffled); x may be stored as `(k, m)`: it is copied before |
//! | Dtypes | x bf16 or f16; w e2m1, two in a byte; w_scale e8m0; y bf16, f16 or f32 |
//! | Numerics | x becomes e2m1 with scales as the mode [`Even`](hk_core::op::quant::MxRound::Even) has them, bit for bit; f32 sums; a block whose scale is NaN, because x has infinity or NaN there or w's is, makes its row or column NaN; one rounding at the end; bitwise deterministic, also when k is split |
//! | Hardware | cdna3, which expands operands to bf16, and cdna4; each with tile configurations of its own; results do not depend on which |
//! | Source | OCP Microscaling Formats (MX) 1.0; AITER `gemm_a16wfp4` |
//!
//! ```
//! # #[cfg(feature = "cdna4")] {
//! use hk_gemm::{A16Wfp4Options, Device, E8M0, F4x2E2M1, Tensor, bf16, gemm_a16wfp4};
//!
//! let stream = Device::open("sim:mi355x")?.default_stream();
//! let x = Tensor::filled(&stream, &[1, 32], bf16::from_f32(1.25))?;
//! // 3.0 and 2.0.
//! let w = Tensor::filled(&stream, &[1, 32], F4x2E2M1::from_bits(0x45))?;
//! let w_scale = Tensor::filled(&stream, &[1, 1], E8M0::from_f32(4.0))?;
//! let options = A16Wfp4Options::default();
//! // 1.25 is 5 times 2^-2, and 5 is just between the codes of 4 and 6.
//! let y: Tensor<f32> = gemm_a16wfp4(&x, &w, &w_scale, &options)?;
//! assert_eq!(y.to_vec()?, [320.0]);
//! let y: Tensor<f32> = gemm_a16wfp4(&x, &w, &w_scale, &options.prequant(false))?;
//! assert_eq!(y.to_vec()?, [400.0]);
//! # }
//! # Ok::<(), hk_core::Error>(())
//! ```

#[cfg(doc)]
use hk_core::Error;
use hk_core::dtype::{E8M0, F4x2E2M1, Real, Real16};
use hk_core::op::stored::Stored;
use hk_core::{Result, Tensor, TensorSlice};

use crate::mx::{self, A16Wfp4Options};

const OP: &str = "gemm_a16wfp4";

/// Multiplies `x` by the transpose of `w`, e2m1 with a scale per block of 32 k:
/// `y[i, j] = epilogue(sum_g 2^(w_scale[j, g] - 127) sum_{k in g} x[i, k] w[j, k])`.
///
/// # Errors
/// [`Error::Shape`] if the operands or scales do not fit together, n or k is 0, or an operand of
/// the epilogue has the wrong shape; [`Error::Stride`] if elements of a row or of scales are not
/// adjacent, or what is shuffled has gaps; [`Error::Value`] if k is no multiple of 32, the options
/// ask for what there is not, a stride is too long, or the epilogue has too many steps;
/// [`Error::NoTile`] if there is no tile of that name.
#[doc(alias = "gemm_a16wfp4_preshuffle")]
pub fn gemm_a16wfp4<'s, T: Real16, Y: Real>(
    x: &TensorSlice<T>,
    w: impl Into<Stored<'s, F4x2E2M1>>,
    w_scale: impl Into<Stored<'s, E8M0>>,
    options: &A16Wfp4Options<'_>,
) -> Result<Tensor<Y>> {
    let (w, w_scale) = (w.into(), w_scale.into());
    let operands = mx::operands(OP, (x, w), (None, w_scale), &options.gemm)?;
    let mut y = Tensor::empty(x.stream(), &operands.shape(&options.gemm))?;
    gemm_a16wfp4_into(x, w, w_scale, options, &mut y)?;
    Ok(y)
}

/// As [`gemm_a16wfp4`], into `y`, whose rows may be any distance apart.
///
/// # Errors
/// As [`gemm_a16wfp4`]; [`Error::Shape`] or [`Error::Stride`] also if `y` is not `(m, n)` with such
/// rows, [`Error::Alias`] if it overlaps an operand, unless it is the same view as one of `(m, n)`
/// of the epilogue's.
pub fn gemm_a16wfp4_into<'s, T: Real16, Y: Real>(
    x: &TensorSlice<T>,
    w: impl Into<Stored<'s, F4x2E2M1>>,
    w_scale: impl Into<Stored<'s, E8M0>>,
    options: &A16Wfp4Options<'_>,
    y: &mut TensorSlice<Y>,
) -> Result<()> {
    let operands = mx::operands(OP, (x, w), (None, w_scale), &options.gemm)?;
    options.launch::<T, Y>(operands, y)
}
