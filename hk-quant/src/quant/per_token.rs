//! A scale for each row.

#[cfg(doc)]
use hk_core::Error;
use hk_core::dtype::Real;
use hk_core::op::Arguments;
use hk_core::op::quant::{ByteCode, Quantised, QuantisedOut};
use hk_core::op::quant_rows::{RowQuantArgs, SmoothQuantArgs};
use hk_core::op::rows::{ROWS, RowOptions};
use hk_core::{Result, TensorSlice};

use crate::KERNELS;

/// Quantises each row with a scale of its own, `s[i] = max_j |x[i,j]| / m`, where m is the largest
/// code: 127 of i8, 240 or 448 of e4m3. Rows whose scale would be 0 or subnormal have 1.
///
/// The scale of a row with NaN is NaN, else that of one with infinity is infinity; what codes such
/// a row has is not specified.
///
/// # Errors
/// [`Error::Shape`] if rows are empty, [`Error::Stride`] if they are not evenly spaced,
/// [`Error::ArchMismatch`] if the codes are those of another chip, [`Error::Value`] if the tile
/// does not take such rows, and [`Error::NoTile`] if there is no tile of that name.
pub fn per_token_quant<T: Real, C: ByteCode>(
    x: &TensorSlice<T>,
    options: &RowOptions<'_>,
) -> Result<Quantised<C>> {
    let mut quantised = Quantised::empty(x, leading(x.shape()))?;
    per_token_quant_into(x, options, quantised.out())?;
    Ok(quantised)
}

/// As [`per_token_quant`] to i8, of `x[i,j] smooth[j]`. The products are rounded to f32.
///
/// # Errors
/// As [`per_token_quant`], and [`Error::Shape`] if `smooth` is not as long as a row.
pub fn smooth_per_token_quant<T: Real, S: Real>(
    x: &TensorSlice<T>,
    smooth: &TensorSlice<S>,
    options: &RowOptions<'_>,
) -> Result<Quantised<i8>> {
    let mut quantised = Quantised::empty(x, leading(x.shape()))?;
    smooth_per_token_quant_into(x, smooth, options, quantised.out())?;
    Ok(quantised)
}

/// A shape without its last dimension.
fn leading(shape: &[usize]) -> &[usize] {
    shape.split_last().map_or(&[], |(_, leading)| leading)
}

/// As [`per_token_quant`], into given tensors; scales have no gaps.
///
/// # Errors
/// As [`per_token_quant`]; [`Error::Shape`] or [`Error::Stride`] also if an output has not the
/// shape that [`per_token_quant`] gives it, and [`Error::Alias`] if one overlaps another argument.
pub fn per_token_quant_into<T: Real, C: ByteCode>(
    x: &TensorSlice<T>,
    options: &RowOptions<'_>,
    out: QuantisedOut<'_, C>,
) -> Result<()> {
    let mut args = Arguments::new("per_token_quant");
    let x_stride = args.input("x", x, ROWS).rows()?;
    let codes_stride = args.output("codes", out.codes, ROWS).rows()?;
    args.output("scales", out.scales, &[".."]).contiguous()?;
    let [rows, width] = options.check(&args)?;
    let call = args.check()?;

    let core = ("row_quant", T::DTYPE.name());
    let stride = x_stride.max(codes_stride);
    let kernel = options.kernel(&call, &KERNELS, core, width, stride)?;
    let args = RowQuantArgs {
        x: x.ptr().any(),
        codes: out.codes.ptr().any(),
        scales: out.scales.ptr_mut(),
        x_stride,
        codes_stride,
        rows: rows as u32,
        width: width as u32,
        format: C::CODE,
    };
    // SAFETY: the kernel reads and writes rows of the shapes and strides that were checked.
    unsafe { kernel.launch(call, rows, &args) }
}

/// As [`smooth_per_token_quant`], into given tensors; scales have no gaps.
///
/// # Errors
/// As [`smooth_per_token_quant`]; [`Error::Shape`] or [`Error::Stride`] also if an output has not
/// the shape that [`smooth_per_token_quant`] gives it, and [`Error::Alias`] if one overlaps another
/// argument.
pub fn smooth_per_token_quant_into<T: Real, S: Real>(
    x: &TensorSlice<T>,
    smooth: &TensorSlice<S>,
    options: &RowOptions<'_>,
    out: QuantisedOut<'_, i8>,
) -> Result<()> {
    let mut args = Arguments::new("smooth_per_token_quant");
    let x_stride = args.input("x", x, ROWS).rows()?;
    args.input("smooth", smooth, &["n"]).contiguous()?;
    let codes_stride = args.output("codes", out.codes, ROWS).rows()?;
    args.output("scales", out.scales, &[".."]).contiguous()?;
    let [rows, width] = options.check(&args)?;
    let call = args.check()?;

    let variant = format!("smooth_{}", T::DTYPE.name());
    let stride = x_stride.max(codes_stride);
    let kernel = options.kernel(&call, &KERNELS, ("row_quant", &variant), width, stride)?;
    let args = SmoothQuantArgs {
        x: x.ptr().any(),
        smooth: smooth.ptr().any(),
        codes: out.codes.ptr().any(),
        scales: out.scales.ptr_mut(),
        x_stride,
        codes_stride,
        rows: rows as u32,
        width: width as u32,
        smooth_type: S::CODE,
    };
    // SAFETY: the kernel reads and writes rows of the shapes and strides that were checked.
    unsafe { kernel.launch(call, rows, &args) }
}
