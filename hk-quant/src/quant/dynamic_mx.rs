//! A power of two for each block of 32 elements of a row.

#[cfg(doc)]
use hk_core::Error;
use hk_core::dtype::{E8M0, F4x2E2M1, F8E4M3, Real};
use hk_core::op::Arguments;
use hk_core::op::quant::{BlockScales, MX_BLOCK, MxCode, MxOptions, Quantised, QuantisedOut};
use hk_core::op::rows::ROWS;
use hk_core::{Result, TensorSlice};

use crate::flatten::Parts;
use crate::mx_quant::{MxFormat, launch};
use crate::quant_moe::Fp4Ties;

/// Quantises each block of 32 consecutive elements of a row to 4-bit floating point: the largest
/// magnitude gives the scale, a power of two, and codes are `x / s`, rounded to nearest, ties to
/// even, at most 6. The last block of a row may be shorter.
///
/// A block with NaN or infinity has the scale NaN and codes of 0.
///
/// # Errors
/// [`Error::Shape`] if rows are empty, [`Error::Stride`] if they are not evenly spaced,
/// [`Error::Value`] if they have an odd number of elements, or the tile does not take such rows,
/// and [`Error::NoTile`] if there is no tile of that name.
pub fn dynamic_mxfp4_quant<T: Real>(
    x: &TensorSlice<T>,
    options: &MxOptions<'_>,
) -> Result<Quantised<F4x2E2M1, E8M0>> {
    quantise("dynamic_mxfp4_quant", x, options)
}

/// As [`dynamic_mxfp4_quant`], into given tensors.
///
/// # Errors
/// As [`dynamic_mxfp4_quant`]; [`Error::Shape`] or [`Error::Stride`] also if an output has not the
/// shape that [`dynamic_mxfp4_quant`] gives it, and [`Error::Alias`] if one overlaps another
/// argument.
pub fn dynamic_mxfp4_quant_into<T: Real>(
    x: &TensorSlice<T>,
    options: &MxOptions<'_>,
    out: QuantisedOut<'_, F4x2E2M1, E8M0>,
) -> Result<()> {
    whole_into("dynamic_mxfp4_quant", x, options, out)
}

/// As [`dynamic_mxfp4_quant`], to OCP's e4m3, whatever the chip computes with; codes are at most
/// 448.
///
/// # Errors
/// As [`dynamic_mxfp4_quant`], and [`Error::Value`] also if rows have no whole blocks.
pub fn dynamic_mxfp8_quant<T: Real>(
    x: &TensorSlice<T>,
    options: &MxOptions<'_>,
) -> Result<Quantised<F8E4M3, E8M0>> {
    quantise("dynamic_mxfp8_quant", x, options)
}

/// As [`dynamic_mxfp8_quant`], into given tensors.
///
/// # Errors
/// As [`dynamic_mxfp8_quant`]; [`Error::Shape`] or [`Error::Stride`] also if an output has not the
/// shape that [`dynamic_mxfp8_quant`] gives it, and [`Error::Alias`] if one overlaps another
/// argument.
pub fn dynamic_mxfp8_quant_into<T: Real>(
    x: &TensorSlice<T>,
    options: &MxOptions<'_>,
    out: QuantisedOut<'_, F8E4M3, E8M0>,
) -> Result<()> {
    whole_into("dynamic_mxfp8_quant", x, options, out)
}

/// Requires rows of whole bytes of codes, or whole blocks.
fn require_whole<C: MxCode>(args: &Arguments, width: usize) -> Result<()> {
    let unit = if C::PACK == 2 { 2 } else { MX_BLOCK };
    args.require(width.is_multiple_of(unit), "n", format!("a multiple of {unit}"), width)
}

fn quantise<T: Real, C: MxCode>(
    op: &'static str,
    x: &TensorSlice<T>,
    options: &MxOptions<'_>,
) -> Result<Quantised<C, E8M0>> {
    let width = x.shape().last().copied().unwrap_or_default();
    require_whole::<C>(&Arguments::new(op), width)?;
    let mut quantised = Quantised::empty(x, &options.layout().shape(x.shape(), MX_BLOCK))?;
    whole_into(op, x, options, quantised.out())?;
    Ok(quantised)
}

fn whole_into<T: Real, C: MxCode>(
    op: &'static str,
    x: &TensorSlice<T>,
    options: &MxOptions<'_>,
    out: QuantisedOut<'_, C, E8M0>,
) -> Result<()> {
    let width = x.shape().last().copied().unwrap_or_default();
    let format = MxFormat::of::<C>(Fp4Ties::ToEven);
    quantise_rows(op, x, options, format, out, |args| require_whole::<C>(args, width))
}

/// Quantises rows to that format, if they are such as the op takes.
pub(crate) fn quantise_rows<T: Real, C: MxCode>(
    op: &'static str,
    x: &TensorSlice<T>,
    options: &MxOptions<'_>,
    format: MxFormat,
    out: QuantisedOut<'_, C, E8M0>,
    check: impl FnOnce(&Arguments) -> Result<()>,
) -> Result<()> {
    let layout = options.layout();
    let mut args = Arguments::new(op);
    let x_stride = args.input("x", x, ROWS).rows()?;
    let codes_stride = args.output("codes", out.codes, ROWS).portable().rows()?;
    let scales_strides = layout.output(&mut args, out.scales, MX_BLOCK)?;
    let [rows, width] = options.row_options().check(&args)?;
    check(&args)?;
    let call = args.check()?;

    let of = Parts::whole([rows, width], x_stride, codes_stride);
    let scales = BlockScales::new(out.scales, scales_strides, layout, options.mode());
    launch(call, options.row_options(), &of, (x, out.codes), (format, scales))
}
