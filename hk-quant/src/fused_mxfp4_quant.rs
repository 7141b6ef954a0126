//! Rows that are normalised and quantised to 4-bit floating point in one go:
//! `n[i,j] = h[i,j] / sqrt(mean_j h[i,j]^2 + eps) * weight[j]` to codes `c[i,j] = n[i,j] / 2^b`,
//! where h is x or `x + residual`, with a power of two for each block of 32 elements of a row.
//!
//! | | |
//! |---|---|
//! | Shapes | x, residual `[.., n]`, weight `[n]` -> codes `[.., n]`, scales `[.., ceil(n/32)]`, `[ceil(n/32), rows]` or shuffled, and the sum and the norm if wanted; any even n, rows any distance apart; beside them other rows x2 `[.., k]` can be normalised, with weight2 `[k]`; [`fused_flatten_mxfp4_quant`] takes x `[.., h, n]` to codes `[.., h n]` |
//! | Dtypes | x, residual, norm bf16, f16, f32; weight and weight2 bf16, f16, f32 each, whatever x is; codes OCP e2m1, scales e8m0, on any chip |
//! | Numerics | f32 throughout; codes are rounded to nearest, ties to even |
//! | Hardware | cdna3, cdna4 |
//! | Source | Zhang and Sennrich, "Root Mean Square Layer Normalization" (2019); OCP Microscaling Formats (MX) Specification 1.0 |
//!
//! ```
//! # #[cfg(feature = "cdna4")] {
//! use hk_core::dtype::{E8M0, F4x2E2M1};
//! use hk_quant::{Device, MxOptions, RmsInput, Tensor, fused_rms_mxfp4_quant};
//!
//! let stream = Device::open("sim:mi355x")?.default_stream();
//! let x = Tensor::from_slice(&stream, &[3.0f32, -4.0, 0.0, 0.0], &[1, 4])?;
//! let weight = Tensor::from_slice(&stream, &[1.0f32; 4], &[4])?;
//! let input = RmsInput::new(&x, &weight, 1e-12);
//! let out = fused_rms_mxfp4_quant(&input, &MxOptions::default())?;
//! // The norm is 1.2, -1.6, 0, 0; in units of 1 / 4 that is 4.8, -6.4, 0, 0.
//! assert_eq!(out.scales.to_vec()?, [E8M0::from_bits(125)]);
//! let codes = [F4x2E2M1::from_f32(4.0, -6.0), F4x2E2M1::from_f32(0.0, 0.0)];
//! assert_eq!(out.codes.to_vec()?, codes);
//! # }
//! # Ok::<(), hk_core::Error>(())
//! ```

mod flatten;

pub use flatten::{fused_flatten_mxfp4_quant, fused_flatten_mxfp4_quant_into};

#[cfg(doc)]
use hk_core::Error;
use hk_core::Result;
use hk_core::dtype::{E8M0, F4x2E2M1, Real};
use hk_core::op::Arguments;
use hk_core::op::quant::{BlockScales, MX_BLOCK, MxOptions, QuantisedOut};
use hk_core::op::rows::ROWS;

use crate::fused_fp8_quant::{FusedRmsQuant, allocated};
use crate::rms_quant::{Codes, RmsInput, RmsOthers, ScaleKind, launch};

const OP: &str = "fused_rms_mxfp4_quant";

/// Normalises rows, and quantises each block of 32 consecutive elements to 4-bit floating point:
/// the largest magnitude gives the scale, a power of two, and codes are `n / s`, rounded to
/// nearest, ties to even, at most 6. The last block of a row may be shorter.
///
/// # Errors
/// [`Error::Shape`] if `weight` is not as long as a row, the residual has another shape than x, or
/// rows are empty, [`Error::Stride`] if rows are not evenly spaced, [`Error::Value`] if rows have
/// an odd number of elements, `eps` is not positive and finite, or the tile does not take such
/// rows, and [`Error::NoTile`] if there is no tile of that name.
pub fn fused_rms_mxfp4_quant<T: Real, W: Real>(
    input: &RmsInput<'_, T, W>,
    options: &MxOptions<'_>,
) -> Result<FusedRmsQuant<T, F4x2E2M1, E8M0>> {
    let x = input.x;
    require_even(&Arguments::new(OP), x.shape().last().copied().unwrap_or_default())?;
    let shape = options.layout().shape(x.shape(), MX_BLOCK);
    allocated(input, &shape, |out, others| fused_rms_mxfp4_quant_into(input, options, out, others))
}

fn require_even(args: &Arguments, width: usize) -> Result<()> {
    args.require(width.is_multiple_of(2), "n", "a multiple of 2", width)
}

/// As [`fused_rms_mxfp4_quant`], into given tensors, with what else is wanted.
///
/// # Errors
/// As [`fused_rms_mxfp4_quant`]; [`Error::Shape`] or [`Error::Stride`] also if an output has not
/// the shape that [`fused_rms_mxfp4_quant`] gives it or [`RmsOthers`] says, [`Error::Value`] if the
/// sum is wanted without a residual, and [`Error::Alias`] if an output overlaps another argument.
pub fn fused_rms_mxfp4_quant_into<T: Real, W: Real>(
    input: &RmsInput<'_, T, W>,
    options: &MxOptions<'_>,
    out: QuantisedOut<'_, F4x2E2M1, E8M0>,
    others: RmsOthers<'_, T>,
) -> Result<()> {
    let QuantisedOut { codes, scales } = out;
    launch(OP, input, options.row_options(), others, |args| {
        let [width] = args.sizes(["n"])?;
        require_even(args, width)?;
        let stride = args.output("codes", codes, ROWS).portable().rows()? / 2;
        let layout = options.layout();
        let strides = layout.output(args, scales, MX_BLOCK)?;
        let blocks = BlockScales::new(scales, strides, layout, options.mode());
        Ok(Codes {
            kind: ScaleKind::Block,
            codes: codes.ptr().any(),
            stride,
            blocks,
            ..Codes::NONE
        })
    })
}
