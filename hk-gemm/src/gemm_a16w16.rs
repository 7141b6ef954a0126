//! Products of bf16 or f16 matrices: `y = epilogue(x w^T)`.
//!
//! | | |
//! |---|---|
//! | Shapes | x `(m, k)`, w `(n, k)` -> y `(m, n)`; any sizes; each operand may be stored transposed |
//! | Dtypes | x and w bf16 or f16; y bf16, f16 or f32 |
//! | Numerics | f32 accumulation, one rounding at the end; bitwise deterministic, also when k is split |
//! | Hardware | cdna3, cdna4; each with tile configurations of its own |
//! | Source | BLAS `gemm`, with weights as linear layers store them, `(n, k)` |
//!
//! ```
//! # #[cfg(feature = "cdna3")] {
//! use hk_gemm::{Device, GemmOptions, Tensor, bf16, gemm_a16w16};
//!
//! let stream = Device::open("sim:mi325x")?.default_stream();
//! let x = Tensor::from_slice(&stream, &[1.0, 2.0, -1.0, 0.5].map(bf16::from_f32), &[2, 2])?;
//! let w = Tensor::from_slice(&stream, &[3.0, 4.0].map(bf16::from_f32), &[1, 2])?;
//! let bias = Tensor::from_slice(&stream, &[0.5f32], &[1])?;
//! let y: Tensor<f32> = gemm_a16w16(&x, &w, &GemmOptions::default().bias(&bias))?;
//! assert_eq!(y.to_vec()?, [11.5, -0.5]);
//! # }
//! # Ok::<(), hk_core::Error>(())
//! ```

#[cfg(doc)]
use hk_core::Error;
use hk_core::dtype::{Real, Real16};
use hk_core::{Result, Tensor, TensorSlice};

use crate::a16w16::{CORE, variant};
use crate::options::{GemmOptions, Operands};

const OP: &str = "gemm_a16w16";

/// Multiplies `x` by the transpose of `w`: `y[i, j] = epilogue(sum_k x[i, k] w[j, k])`.
///
/// # Errors
/// [`Error::Shape`] if the operands do not fit together, n or k is 0, or an operand of the epilogue
/// has the wrong shape; [`Error::Stride`] if elements of a row are not adjacent; [`Error::Value`]
/// if the options ask for what there is not, a stride is too long, or the epilogue has too many
/// steps; [`Error::NoTile`] if there is no tile of that name.
pub fn gemm_a16w16<T: Real16, Y: Real>(
    x: &TensorSlice<T>,
    w: &TensorSlice<T>,
    options: &GemmOptions<'_>,
) -> Result<Tensor<Y>> {
    let shape = Operands::declare(OP, x, w, options.layout, false)?.shape(options);
    let mut y = Tensor::empty(x.stream(), &shape)?;
    gemm_a16w16_into(x, w, options, &mut y)?;
    Ok(y)
}

/// As [`gemm_a16w16`], into `y`, whose rows may be any distance apart.
///
/// # Errors
/// As [`gemm_a16w16`]; [`Error::Shape`] or [`Error::Stride`] also if `y` is not `(m, n)` with such
/// rows, [`Error::Alias`] if it overlaps an operand, unless it is the same view as one of `(m, n)`
/// of the epilogue's.
pub fn gemm_a16w16_into<T: Real16, Y: Real>(
    x: &TensorSlice<T>,
    w: &TensorSlice<T>,
    options: &GemmOptions<'_>,
    y: &mut TensorSlice<Y>,
) -> Result<()> {
    let operands = Operands::declare(OP, x, w, options.layout, false)?;
    let steps = operands.steps();
    operands.launch((CORE, &variant::<T>(options.layout), false), steps, options, y)
}
