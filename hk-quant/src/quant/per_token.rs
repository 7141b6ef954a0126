//! A scale for each row.

#[cfg(doc)]
use hk_core::Error;
use hk_core::dtype::Real;
use hk_core::op::Arguments;
use hk_core::op::quant::ByteCode;
use hk_core::op::rows::{ROWS, RowOptions};
use hk_core::{Result, Tensor, TensorSlice};

use crate::KERNELS;
use crate::row_quant::RowQuantArgs;

/// What [`per_token_quant`] returns.
#[derive(Debug)]
pub struct PerTokenQuant<C: ByteCode> {
    /// The codes, in the shape of x.
    pub codes: Tensor<C>,
    /// The scale of every row, in the shape of x without its last dimension.
    pub scales: Tensor<f32>,
}

/// Where [`per_token_quant_into`] stores.
#[derive(Debug)]
pub struct PerTokenQuantOut<'a, C: ByteCode> {
    /// The codes, in the shape of x.
    pub codes: &'a mut TensorSlice<C>,
    /// The scale of every row, in the shape of x without its last dimension, without gaps.
    pub scales: &'a mut TensorSlice<f32>,
}

/// Quantises each row with a scale of its own, `s[i] = max_j |x[i,j]| / m`, where m is the largest
/// code: 127 of i8, 240 or 448 of e4m3. Rows whose scale would be 0 or subnormal have 1.
///
/// The scale of a row with NaN is NaN, else that of one with infinity is infinity; what codes such a
/// row has is not specified.
///
/// # Errors
/// [`Error::Shape`] if rows are empty, [`Error::Stride`] if they are not evenly spaced,
/// [`Error::ArchMismatch`] if the codes are those of another chip, [`Error::Value`] if the tile does
/// not take such rows, and [`Error::NoTile`] if there is no tile of that name.
pub fn per_token_quant<T: Real, C: ByteCode>(
    x: &TensorSlice<T>,
    options: &RowOptions<'_>,
) -> Result<PerTokenQuant<C>> {
    let rows = x.shape().split_last().map_or(&[][..], |(_, rows)| rows);
    let mut codes = Tensor::empty(x.stream(), x.shape())?;
    let mut scales = Tensor::empty(x.stream(), rows)?;
    let out = PerTokenQuantOut { codes: &mut *codes, scales: &mut scales };
    per_token_quant_into(x, options, out)?;
    Ok(PerTokenQuant { codes, scales })
}

/// As [`per_token_quant`], into given tensors.
///
/// # Errors
/// As [`per_token_quant`]; [`Error::Shape`] or [`Error::Stride`] also if an output is not as
/// [`PerTokenQuantOut`] says, and [`Error::Alias`] if one overlaps another argument.
pub fn per_token_quant_into<T: Real, C: ByteCode>(
    x: &TensorSlice<T>,
    options: &RowOptions<'_>,
    out: PerTokenQuantOut<'_, C>,
) -> Result<()> {
    let mut args = Arguments::new("per_token_quant");
    let x_stride = args.input("x", x, ROWS).rows()?;
    let codes_stride = args.output("codes", out.codes, ROWS).rows()?;
    args.output("scales", out.scales, &[".."]).contiguous()?;
    let [rows, width] = options.check(&args)?;
    let call = args.check()?;

    let family = ("row_quant", T::DTYPE.name());
    let stride = x_stride.max(codes_stride);
    let kernel = options.kernel(&call, &KERNELS, family, width, stride)?;
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
