//! A scale for each group of consecutive elements of a row.

#[cfg(doc)]
use hk_core::Error;
use hk_core::dtype::Real;
use hk_core::op::Arguments;
use hk_core::op::quant::{ByteCode, GroupOptions, GroupScales, Quantised, QuantisedOut};
use hk_core::op::rows::ROWS;
use hk_core::{Result, TensorSlice};

use crate::flatten::Parts;
use crate::group_quant::launch;

/// Quantises each group of consecutive elements of a row with a scale of its own, `s = max(max_j
/// |x_j|, 1e-10) / m`, where m is the largest code: 127 of i8, 240 or 448 of e4m3. The last group
/// of a row may be shorter.
///
/// The scale of a group with NaN is NaN, else that of one with infinity is infinity; what codes
/// such a group has is not specified.
///
/// # Errors
/// [`Error::Shape`] if rows are empty, [`Error::Stride`] if they are not evenly spaced,
/// [`Error::ArchMismatch`] if the codes are those of another chip, [`Error::Value`] if groups have
/// another size than 32, 64 or 128, scales are to be shuffled, or the tile does not take such rows,
/// and [`Error::NoTile`] if there is no tile of that name.
pub fn per_group_quant<T: Real, C: ByteCode>(
    x: &TensorSlice<T>,
    options: &GroupOptions<'_>,
) -> Result<Quantised<C>> {
    let shape = options.layout().shape(x.shape(), options.group_size().max(1));
    let mut quantised = Quantised::empty(x, &shape)?;
    per_group_quant_into(x, options, quantised.out())?;
    Ok(quantised)
}

/// As [`per_group_quant`], into given tensors.
///
/// # Errors
/// As [`per_group_quant`]; [`Error::Shape`] or [`Error::Stride`] also if an output has not the
/// shape that [`per_group_quant`] gives it, and [`Error::Alias`] if one overlaps another argument.
pub fn per_group_quant_into<T: Real, C: ByteCode>(
    x: &TensorSlice<T>,
    options: &GroupOptions<'_>,
    out: QuantisedOut<'_, C>,
) -> Result<()> {
    let group = options.group_size();
    let mut args = Arguments::new("per_group_quant");
    let x_stride = args.input("x", x, ROWS).rows()?;
    options.check(&args)?;
    let codes_stride = args.output("codes", out.codes, ROWS).rows()?;
    let scales_strides = options.layout().output(&mut args, out.scales, group)?;
    let [rows, width] = options.row_options().check(&args)?;
    let call = args.check()?;

    let of = Parts::whole([rows, width], x_stride, codes_stride);
    let scales = GroupScales::new::<C>(out.scales, scales_strides, group);
    launch(call, options.row_options(), &of, (x, out.codes), scales)
}
