//! Products of 4-bit floating point with scales of MX blocks that are multiplied with and added to tensors:
//! `y = a p + b` or `y = a b + p` with p as [`gemm_afp4wfp4`](crate::gemm_afp4wfp4()).
//!
//! | | |
//! |---|---|
//! | Shapes | x, w, scales and y as [`gemm_afp4wfp4`](crate::gemm_afp4wfp4()); a and b each a number, a tensor of one element, or `(m, n)`; w and scales of blocks also [shuffled](crate::Shuffled) |
//! | Dtypes | x and w e2m1, two in a byte; scales e8m0; a, b and y bf16, f16 or f32 |
//! | Numerics | f32 sums, then the combination in f32; one rounding at the end; bitwise deterministic, also when k is split |
//! | Hardware | cdna3, which expands both operands to bf16, and cdna4; each with tile configurations of its own |
//! | Source | AITER `fused_gemm_afp4wfp4_mul_add` |
//!
//! ```
//! # #[cfg(feature = "cdna4")] {
//! use hk_gemm::{Device, E8M0, F4x2E2M1, Fuse, GemmOptions, Tensor, fused_gemm_afp4wfp4_mul_add};
//!
//! let stream = Device::open("sim:mi355x")?.default_stream();
//! // 1.0 and 0.5; 3.0 and 2.0.
//! let x = Tensor::filled(&stream, &[1, 32], F4x2E2M1::from_bits(0x12))?;
//! let w = Tensor::filled(&stream, &[2, 32], F4x2E2M1::from_bits(0x45))?;
//! let one = Tensor::filled(&stream, &[2, 1], E8M0::ONE)?;
//! let x_scale = one.slice(0..1)?;
//! let b = Tensor::from_slice(&stream, &[1.0f32, -1.0], &[1, 2])?;
//! let (fuse, options) = (Fuse::ScaleProduct, GemmOptions::default());
//! let y: Tensor<f32> =
//!     fused_gemm_afp4wfp4_mul_add(&x, &w, &x_scale, &one, 0.5, &b, fuse, &options)?;
//! assert_eq!(y.to_vec()?, [33.0, 31.0]);
//! # }
//! # Ok::<(), hk_core::Error>(())
//! ```

#[cfg(doc)]
use hk_core::Error;
use hk_core::dtype::{E8M0, F4x2E2M1, Real};
use hk_core::op::epilogue::Operand;
use hk_core::op::stored::Stored;
use hk_core::{Result, Tensor, TensorSlice};

use crate::options::GemmOptions;
use crate::{Fuse, mx};

const OP: &str = "fused_gemm_afp4wfp4_mul_add";

/// `a p + b` or `a b + p` of the product p of [`gemm_afp4wfp4`](crate::gemm_afp4wfp4()).
///
/// # Errors
/// As [`gemm_afp4wfp4`](crate::gemm_afp4wfp4()); [`Error::Shape`] also if a or b is
/// neither of one element nor `(m, n)`.
#[doc(alias = "fused_gemm_afp4wfp4_preshuffle_mul_add")]
#[expect(clippy::too_many_arguments, reason = "two operands with scales, and two more")]
pub fn fused_gemm_afp4wfp4_mul_add<'s, 'a, Y: Real>(
    x: &TensorSlice<F4x2E2M1>,
    w: impl Into<Stored<'s, F4x2E2M1>>,
    x_scale: impl Into<Stored<'s, E8M0>>,
    w_scale: impl Into<Stored<'s, E8M0>>,
    a: impl Into<Operand<'a>>,
    b: impl Into<Operand<'a>>,
    fuse: Fuse,
    options: &GemmOptions<'_>,
) -> Result<Tensor<Y>> {
    let (w, x_scale, w_scale) = (w.into(), x_scale.into(), w_scale.into());
    let operands = mx::operands(OP, (x, w), (Some(x_scale), w_scale), options)?;
    let mut y = Tensor::empty(x.stream(), &operands.shape(options))?;
    fused_gemm_afp4wfp4_mul_add_into(x, w, x_scale, w_scale, a, b, fuse, options, &mut y)?;
    Ok(y)
}

/// As [`fused_gemm_afp4wfp4_mul_add`], into `y`, whose rows may be any distance apart, and
/// which may be a or b.
///
/// # Errors
/// As [`fused_gemm_afp4wfp4_mul_add`]; [`Error::Shape`] or [`Error::Stride`] also if `y` is not
/// `(m, n)` with such rows, [`Error::Alias`] if it overlaps an operand, unless it is the same view
/// as a or b.
#[expect(clippy::too_many_arguments, reason = "two operands with scales, and two more")]
pub fn fused_gemm_afp4wfp4_mul_add_into<'s, 'a, Y: Real>(
    x: &TensorSlice<F4x2E2M1>,
    w: impl Into<Stored<'s, F4x2E2M1>>,
    x_scale: impl Into<Stored<'s, E8M0>>,
    w_scale: impl Into<Stored<'s, E8M0>>,
    a: impl Into<Operand<'a>>,
    b: impl Into<Operand<'a>>,
    fuse: Fuse,
    options: &GemmOptions<'_>,
    y: &mut TensorSlice<Y>,
) -> Result<()> {
    let mut operands = mx::operands(OP, (x, w), (Some(x_scale.into()), w_scale), options)?;
    let steps = fuse.lower(&mut operands, a.into(), b.into())?;
    mx::launch(operands, "e2m1", steps, options, y)
}
