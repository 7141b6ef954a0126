//! Gated feed-forward layers: `y = h w_down` with `h = activation(x gates^T) * (x values^T)`, where w_up is the gates and
//! then what they let through.
//!
//! | | |
//! |---|---|
//! | Shapes | x `(m, k)`, w_up `(2i, k)`, w_down `(i, k)` -> y `(m, k)`; any sizes. A linear layer's weights, `(k, i)`, are passed as their transposed view |
//! | Dtypes | x, w_up and w_down all bf16 or f16; y bf16, f16 or f32 |
//! | Numerics | f32 sums; h is rounded once, to the type of x, y once; bitwise deterministic |
//! | Hardware | cdna3, cdna4; each with tile configurations of its own; one launch for few rows, or two: see [`FeedForwardOptions::fused`] |
//! | Source | GLU variants (arXiv 2002.05202); AITER `ff_a16w16_fused_gated` |
//!
//! ```
//! # #[cfg(feature = "cdna4")] {
//! use hk_gemm::{Activation, Device, FeedForwardOptions, Tensor, bf16, ff_a16w16_fused_gated};
//!
//! let stream = Device::open("sim:mi355x")?.default_stream();
//! let x = Tensor::from_slice(&stream, &[1.0, 2.0].map(bf16::from_f32), &[1, 2])?;
//! // A gate of 3 + 8, which lets -5 + 2 through.
//! let w_up = Tensor::from_slice(&stream, &[3.0, 4.0, -5.0, 1.0].map(bf16::from_f32), &[2, 2])?;
//! let w_down = Tensor::from_slice(&stream, &[1.0, -1.0].map(bf16::from_f32), &[1, 2])?;
//! let options = FeedForwardOptions::default().activation(Activation::Relu);
//! let y: Tensor<f32> = ff_a16w16_fused_gated(&x, &w_up, &w_down, &options)?;
//! assert_eq!(y.to_vec()?, [-33.0, 33.0]);
//! # }
//! # Ok::<(), hk_core::Error>(())
//! ```

#[cfg(doc)]
use hk_core::Error;
use hk_core::dtype::{Real, Real16};
use hk_core::{Result, Tensor, TensorSlice};

use crate::feed_forward::{FeedForwardOptions, launch};

const OP: &str = "ff_a16w16_fused_gated";

/// Multiplies `x` by the transposes of the first and of the second half of `w_up`, the results with each other, and
/// these by `w_down`: `h[m, i] = activation(sum_k x[m, k] w_up[i, k]) * sum_k x[m, k] w_up[n + i, k]`, where n is half
/// the rows of w_up, and `y[m, k] = sum_i h[m, i] w_down[i, k]`.
///
/// # Errors
/// [`Error::Shape`] if the operands do not fit together, w_up has an odd number of rows, or i or k
/// is 0; [`Error::Stride`] if elements of a row of x or w_up are not adjacent; [`Error::Value`] if
/// the activation is none of those of the options, neither rows nor columns of w_down have adjacent
/// elements, a stride is too long, or there are to be no compute units; [`Error::NoTile`] if there
/// is no tile of that name.
pub fn ff_a16w16_fused_gated<T: Real16, Y: Real>(
    x: &TensorSlice<T>,
    w_up: &TensorSlice<T>,
    w_down: &TensorSlice<T>,
    options: &FeedForwardOptions<'_>,
) -> Result<Tensor<Y>> {
    let mut y = Tensor::empty(x.stream(), x.shape())?;
    ff_a16w16_fused_gated_into(x, w_up, w_down, options, &mut y)?;
    Ok(y)
}

/// As [`ff_a16w16_fused_gated`], into `y`, whose rows may be any distance apart.
///
/// # Errors
/// As [`ff_a16w16_fused_gated`]; [`Error::Shape`] or [`Error::Stride`] also if `y` is not `(m, k)`
/// with such rows, [`Error::Alias`] if it overlaps an operand.
pub fn ff_a16w16_fused_gated_into<T: Real16, Y: Real>(
    x: &TensorSlice<T>,
    w_up: &TensorSlice<T>,
    w_down: &TensorSlice<T>,
    options: &FeedForwardOptions<'_>,
    y: &mut TensorSlice<Y>,
) -> Result<()> {
    launch((OP, true), x, [w_up, w_down], options, y)
}
