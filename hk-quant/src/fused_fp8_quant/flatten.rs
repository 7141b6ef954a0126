//! Rows made of matrices, with a scale for each group.

#[cfg(doc)]
use hk_core::Error;
use hk_core::dtype::Real;
use hk_core::op::Arguments;
use hk_core::op::quant::{Fp8, GroupOptions, GroupScales, Quantised, QuantisedOut};
use hk_core::{Result, TensorSlice};

use crate::flatten::{FLAT, Parts, copy_of_spread, empty_flat};
use crate::group_quant::launch;

const OP: &str = "fused_flatten_fp8_group_quant";

/// Quantises `[.., h, n]` to rows `[.., h n]`, each group of consecutive elements with a scale of its
/// own: `s = max(max_j |x_j|, 1e-10) / m`, where m is the largest code, 240 or 448. No group has
/// elements of two rows of x; the last of each may be shorter. Scales are `[.., h ceil(n/g)]` or
/// `[h ceil(n/g), rows]`, with groups of g = 32, 64 or 128.
///
/// Of x of three dimensions, the elements of a row may be apart: then it is copied before, element by
/// element, into memory that is allocated for it, which takes far longer than the rest.
///
/// # Errors
/// [`Error::Shape`] if x has no two dimensions, rows are empty, or h is 0 or more than 65,535,
/// [`Error::Stride`] if, of x of other dimensions than three, the elements of a row are not adjacent or
/// matrices not evenly spaced, [`Error::ArchMismatch`] if the codes are those of another chip,
/// [`Error::Value`] if groups have another size than 32, 64 or 128, scales are to be shuffled, or the
/// tile does not take such rows, [`Error::NoTile`] if there is no tile of that name, and, if x is to be
/// copied, [`Error::OutOfMemory`], or [`Error::StreamCapture`] if the stream is being captured.
pub fn fused_flatten_fp8_group_quant<T: Real, C: Fp8>(
    x: &TensorSlice<T>,
    options: &GroupOptions<'_>,
) -> Result<Quantised<C>> {
    let mut quantised = empty_flat(x, options.layout(), options.group_size().max(1))?;
    fused_flatten_fp8_group_quant_into(x, options, quantised.out())?;
    Ok(quantised)
}

/// As [`fused_flatten_fp8_group_quant`], into given tensors.
///
/// # Errors
/// As [`fused_flatten_fp8_group_quant`]; [`Error::Shape`] or [`Error::Stride`] also if an output has
/// not the shape that [`fused_flatten_fp8_group_quant`] gives it, and [`Error::Alias`] if one overlaps
/// another argument.
pub fn fused_flatten_fp8_group_quant_into<T: Real, C: Fp8>(
    x: &TensorSlice<T>,
    options: &GroupOptions<'_>,
    out: QuantisedOut<'_, C>,
) -> Result<()> {
    let (group, layout) = (options.group_size(), options.layout());
    let mut args = Arguments::new(OP);
    let mut parts = Parts::new(&mut args, x)?;
    options.check(&args)?;
    parts.codes[0] = args.output("codes", out.codes, FLAT).rows()?;
    let strides = parts.scales(&mut args, out.scales, layout, group)?;
    options.row_options().check(&args)?;
    let call = args.check()?;

    let copy = copy_of_spread(&call, x)?;
    let x = copy.as_deref().unwrap_or(x);
    let scales = GroupScales::new::<C>(out.scales, strides, group);
    launch(call, options.row_options(), &parts, (x, out.codes), scales)
}
