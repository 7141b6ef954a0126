//! One scale for all elements.

#[cfg(doc)]
use hk_core::Error;
use hk_core::dtype::Real;
use hk_core::op::Arguments;
use hk_core::op::quant::ByteCode;
use hk_core::op::rows::{ROWS, RowOptions};
use hk_core::{Result, Tensor, TensorSlice};

use crate::KERNELS;
use crate::static_quant::StaticQuantArgs;

/// Quantises all elements with a given scale, a tensor of one element: codes are `x (1 / s)`, rounded
/// to nearest, ties to even, and at most the largest.
///
/// NaN stays NaN where the codes have it, and is 0 in i8. Whether the scale is a positive number is
/// not checked.
///
/// # Errors
/// [`Error::Shape`] if rows are empty or there is not one scale, [`Error::Stride`] if rows are not
/// evenly spaced, [`Error::ArchMismatch`] if the codes are those of another chip, [`Error::Value`] if
/// the tile does not take such rows, and [`Error::NoTile`] if there is no tile of that name.
pub fn static_per_tensor_quant<T: Real, C: ByteCode>(
    x: &TensorSlice<T>,
    scale: &TensorSlice<f32>,
    options: &RowOptions<'_>,
) -> Result<Tensor<C>> {
    let mut codes = Tensor::empty(x.stream(), x.shape())?;
    static_per_tensor_quant_into(x, scale, options, &mut codes)?;
    Ok(codes)
}

/// As [`static_per_tensor_quant`], into `codes`.
///
/// # Errors
/// As [`static_per_tensor_quant`]; [`Error::Shape`] or [`Error::Stride`] also if `codes` has not the
/// shape of x, in evenly spaced rows, and [`Error::Alias`] if it overlaps another argument.
pub fn static_per_tensor_quant_into<T: Real, C: ByteCode>(
    x: &TensorSlice<T>,
    scale: &TensorSlice<f32>,
    options: &RowOptions<'_>,
    codes: &mut TensorSlice<C>,
) -> Result<()> {
    let mut args = Arguments::new("static_per_tensor_quant");
    let x_stride = args.input("x", x, ROWS).rows()?;
    args.input("scale", scale, &["1"]).contiguous()?;
    let codes_stride = args.output("codes", codes, ROWS).rows()?;
    let [rows, width] = options.check(&args)?;
    let call = args.check()?;

    let family = ("static_quant", T::DTYPE.name());
    let stride = x_stride.max(codes_stride);
    let kernel = options.kernel(&call, &KERNELS, family, width, stride)?;
    let args = StaticQuantArgs {
        x: x.ptr().any(),
        scale: scale.ptr(),
        codes: codes.ptr().any(),
        x_stride,
        codes_stride,
        rows: rows as u32,
        width: width as u32,
        format: C::CODE,
    };
    // SAFETY: the kernel reads and writes rows of the shapes and strides that were checked.
    unsafe { kernel.launch(call, rows, &args) }
}
