//! Batches of products of bf16 or f16 matrices: `y[b] = epilogue(x[b] w[b]^T)`.
//!
//! | | |
//! |---|---|
//! | Shapes | x `(batch, m, k)`, w `(batch, n, k)` -> y `(batch, m, n)`, or `(m, batch, n)`; any sizes and distances between matrices; x or w may be the same for all; each may be stored transposed |
//! | Dtypes | x and w bf16 or f16; y bf16, f16 or f32 |
//! | Numerics | f32 accumulation, one rounding at the end; bitwise deterministic, also when k is split |
//! | Hardware | cdna3, cdna4; each with tile configurations of its own |
//! | Source | BLAS `gemm_strided_batched`, with weights as linear layers store them, `(n, k)` |
//!
//! ```
//! # #[cfg(feature = "cdna3")] {
//! use hk_gemm::{Device, GemmOptions, Tensor, batched_gemm_bf16, bf16};
//!
//! let stream = Device::open("sim:mi325x")?.default_stream();
//! let x = Tensor::from_slice(&stream, &[1.0, 2.0, -1.0, 0.5].map(bf16::from_f32), &[2, 1, 2])?;
//! let w = Tensor::from_slice(&stream, &[3.0, 4.0, 2.0, 6.0].map(bf16::from_f32), &[2, 1, 2])?;
//! let y: Tensor<f32> = batched_gemm_bf16(&x, &w, &GemmOptions::default())?;
//! assert_eq!(y.to_vec()?, [11.0, 1.0]);
//! # }
//! # Ok::<(), hk_core::Error>(())
//! ```

#[cfg(doc)]
use hk_core::Error;
use hk_core::dtype::{Real, Real16};
use hk_core::{Result, Tensor, TensorSlice};

use crate::a16w16::{CORE, variant};
use crate::options::{GemmOptions, Operands};

const OP: &str = "batched_gemm_bf16";

/// Multiplies each matrix of `x` by the transpose of its partner in `w`:
/// `y[b, i, j] = epilogue(sum_k x[b, i, k] w[b, j, k])`.
///
/// # Errors
/// [`Error::Shape`] if the operands do not fit together, n or k is 0, or an operand of the epilogue
/// has the wrong shape; [`Error::Stride`] if elements of a row are not adjacent; [`Error::Value`]
/// if the options ask for what there is not, a stride is too long, or the epilogue has too many
/// steps; [`Error::NoTile`] if there is no tile of that name.
pub fn batched_gemm_bf16<T: Real16, Y: Real>(
    x: &TensorSlice<T>,
    w: &TensorSlice<T>,
    options: &GemmOptions<'_>,
) -> Result<Tensor<Y>> {
    let shape = Operands::declare(OP, x, w, options.layout, true)?.shape(options);
    let mut y = Tensor::empty(x.stream(), &shape)?;
    batched_gemm_bf16_into(x, w, options, &mut y)?;
    Ok(y)
}

/// As [`batched_gemm_bf16`], into `y`, whose matrices and rows may be any distances apart.
///
/// # Errors
/// As [`batched_gemm_bf16`]; [`Error::Shape`] or [`Error::Stride`] also if `y` has the wrong shape
/// or no such rows, [`Error::Alias`] if it overlaps an operand, unless it is the same view as one
/// of its shape of the epilogue's.
pub fn batched_gemm_bf16_into<T: Real16, Y: Real>(
    x: &TensorSlice<T>,
    w: &TensorSlice<T>,
    options: &GemmOptions<'_>,
    y: &mut TensorSlice<Y>,
) -> Result<()> {
    let operands = Operands::declare(OP, x, w, options.layout, true)?;
    let steps = operands.steps();
    operands.launch((CORE, &variant::<T>(options.layout), false), steps, options, y)
}
