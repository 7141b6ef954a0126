//! Rows made of matrices, with a power of two for each block.

#[cfg(doc)]
use hk_core::Error;
use hk_core::dtype::{E8M0, F4x2E2M1, Real};
use hk_core::op::Arguments;
use hk_core::op::quant::{BlockScales, MX_BLOCK, MxOptions, Quantised, QuantisedOut};
use hk_core::{Result, TensorSlice};

use super::require_even;
use crate::flatten::{FLAT, Parts, copy_of_spread, empty_flat};
use crate::mx_quant::{MxFormat, launch};

const OP: &str = "fused_flatten_mxfp4_quant";

/// Quantises `[.., h, n]` to rows `[.., h n]` of 4-bit floating point, each block of 32 consecutive
/// elements with a power of two of its own; codes are `x / s`, rounded to nearest, ties to even, at
/// most 6. No block has elements of two rows of x; the last of each may be shorter. Scales are
/// `[.., h ceil(n/32)]`, `[h ceil(n/32), rows]` or shuffled.
///
/// Of x of three dimensions, the elements of a row may be apart: then it is copied before, element by
/// element, into memory that is allocated for it, which takes far longer than the rest.
///
/// # Errors
/// [`Error::Shape`] if x has no two dimensions, rows are empty, or h is 0 or more than 65,535,
/// [`Error::Stride`] if, of x of other dimensions than three, the elements of a row are not adjacent or
/// matrices not evenly spaced, [`Error::Value`] if rows of x have an odd number of elements, or the tile
/// does not take such rows, [`Error::NoTile`] if there is no tile of that name, and, if x is to be
/// copied, [`Error::OutOfMemory`], or [`Error::StreamCapture`] if the stream is being captured.
pub fn fused_flatten_mxfp4_quant<T: Real>(
    x: &TensorSlice<T>,
    options: &MxOptions<'_>,
) -> Result<Quantised<F4x2E2M1, E8M0>> {
    require_even(&Arguments::new(OP), x.shape().last().copied().unwrap_or_default())?;
    let mut quantised = empty_flat(x, options.layout(), MX_BLOCK)?;
    fused_flatten_mxfp4_quant_into(x, options, quantised.out())?;
    Ok(quantised)
}

/// As [`fused_flatten_mxfp4_quant`], into given tensors.
///
/// # Errors
/// As [`fused_flatten_mxfp4_quant`]; [`Error::Shape`] or [`Error::Stride`] also if an output has not
/// the shape that [`fused_flatten_mxfp4_quant`] gives it, and [`Error::Alias`] if one overlaps another
/// argument.
pub fn fused_flatten_mxfp4_quant_into<T: Real>(
    x: &TensorSlice<T>,
    options: &MxOptions<'_>,
    out: QuantisedOut<'_, F4x2E2M1, E8M0>,
) -> Result<()> {
    let layout = options.layout();
    let mut args = Arguments::new(OP);
    let mut parts = Parts::new(&mut args, x)?;
    require_even(&args, parts.width)?;
    parts.codes[0] = args.output("codes", out.codes, FLAT).portable().rows()?;
    let strides = parts.scales(&mut args, out.scales, layout, MX_BLOCK)?;
    options.row_options().check(&args)?;
    let call = args.check()?;

    let copy = copy_of_spread(&call, x)?;
    let x = copy.as_deref().unwrap_or(x);
    let scales = BlockScales::new(out.scales, strides, layout, options.mode());
    launch(call, options.row_options(), &parts, (x, out.codes), (MxFormat::E2M1, scales))
}
