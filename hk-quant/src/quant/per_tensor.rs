//! One scale for all elements.

#[cfg(doc)]
use hk_core::Error;
use hk_core::dtype::Real;
use hk_core::op::Arguments;
use hk_core::op::quant::{ByteCode, Quantised, QuantisedOut};
use hk_core::op::quant_rows::{AmaxArgs, MOST_WORKGROUPS, StaticQuantArgs};
use hk_core::op::rows::{ROWS, RowKernel, RowOptions};
use hk_core::{DevicePtr, Result, Tensor, TensorSlice};

use crate::KERNELS;

/// Quantises all elements with a given scale, a tensor of one element: codes are `x (1 / s)`,
/// rounded to nearest, ties to even, and at most the largest.
///
/// NaN stays NaN where the codes have it, and is 0 in i8. Whether the scale is a positive number is
/// not checked.
///
/// # Errors
/// [`Error::Shape`] if rows are empty or there is not one scale, [`Error::Stride`] if rows are not
/// evenly spaced, [`Error::ArchMismatch`] if the codes are those of another chip, [`Error::Value`]
/// if the tile does not take such rows, and [`Error::NoTile`] if there is no tile of that name.
pub fn static_per_tensor_quant<T: Real, C: ByteCode>(
    x: &TensorSlice<T>,
    scale: &TensorSlice<f32>,
    options: &RowOptions<'_>,
) -> Result<Tensor<C>> {
    let mut codes = Tensor::empty(x.stream(), x.shape())?;
    static_per_tensor_quant_into(x, scale, options, &mut codes)?;
    Ok(codes)
}

/// As [`static_per_tensor_quant`], with the scale of all elements, `s = max_ij |x_ij| / m`, where m
/// is the largest code: 127 of i8, 240 or 448 of e4m3; 1 if that would be 0 or subnormal.
///
/// With NaN among the elements the scale is NaN, else with infinity it is infinity; what the codes
/// then are is not specified.
///
/// # Errors
/// As [`static_per_tensor_quant`].
pub fn dynamic_per_tensor_quant<T: Real, C: ByteCode>(
    x: &TensorSlice<T>,
    options: &RowOptions<'_>,
) -> Result<Quantised<C>> {
    let mut quantised = Quantised::empty(x, &[1])?;
    dynamic_per_tensor_quant_into(x, options, quantised.out())?;
    Ok(quantised)
}

/// As [`static_per_tensor_quant`], into `codes`.
///
/// # Errors
/// As [`static_per_tensor_quant`]; [`Error::Shape`] or [`Error::Stride`] also if `codes` has not
/// the shape of x, in evenly spaced rows, and [`Error::Alias`] if it overlaps another argument.
pub fn static_per_tensor_quant_into<T: Real, C: ByteCode>(
    x: &TensorSlice<T>,
    scale: &TensorSlice<f32>,
    options: &RowOptions<'_>,
    codes: &mut TensorSlice<C>,
) -> Result<()> {
    quantise_by("static_per_tensor_quant", x, scale, options, codes, false)
}

/// Quantises with a given scale, by which numbers are perhaps divided, rather than multiplied with its
/// inverse.
pub(crate) fn quantise_by<T: Real, C: ByteCode>(
    op: &'static str,
    x: &TensorSlice<T>,
    scale: &TensorSlice<f32>,
    options: &RowOptions<'_>,
    codes: &mut TensorSlice<C>,
    divides: bool,
) -> Result<()> {
    let mut args = Arguments::new(op);
    let x_stride = args.input("x", x, ROWS).rows()?;
    args.input("scale", scale, &["1"]).contiguous()?;
    let codes_stride = args.output("codes", codes, ROWS).rows()?;
    let [rows, width] = options.check(&args)?;
    let call = args.check()?;

    let core = ("static_quant", T::DTYPE.name());
    let stride = x_stride.max(codes_stride);
    let kernel = options.kernel(&call, &KERNELS, core, width, stride)?;
    let args = StaticQuantArgs {
        x: x.ptr().any(),
        scale: scale.ptr(),
        largest: DevicePtr::NULL,
        scale_out: DevicePtr::NULL,
        codes: codes.ptr().any(),
        x_stride,
        codes_stride,
        workgroups: 0,
        rows: rows as u32,
        width: width as u32,
        format: C::CODE,
        divides: u32::from(divides),
    };
    // SAFETY: the kernel reads and writes rows of the shapes and strides that were checked.
    unsafe { kernel.launch(call, rows, &args) }
}

/// As [`dynamic_per_tensor_quant`], into given tensors.
///
/// # Errors
/// As [`dynamic_per_tensor_quant`]; [`Error::Shape`] or [`Error::Stride`] also if an output has not
/// the shape that [`dynamic_per_tensor_quant`] gives it, and [`Error::Alias`] if one overlaps
/// another argument.
pub fn dynamic_per_tensor_quant_into<T: Real, C: ByteCode>(
    x: &TensorSlice<T>,
    options: &RowOptions<'_>,
    out: QuantisedOut<'_, C>,
) -> Result<()> {
    let mut args = Arguments::new("dynamic_per_tensor_quant");
    let x_stride = args.input("x", x, ROWS).rows()?;
    let codes_stride = args.output("codes", out.codes, ROWS).rows()?;
    args.output("scale", out.scales, &["1"]).contiguous()?;
    let [rows, width] = options.check(&args)?;
    let mut call = args.check()?;

    let (rows_of_x, stride) = (rows as u32, x_stride.max(codes_stride));
    let variant = format!("amax_{}", T::DTYPE.name());
    let amax: RowKernel<AmaxArgs> =
        options.kernel(&call, &KERNELS, ("static_quant", &variant), width, x_stride)?;
    let core = ("static_quant", T::DTYPE.name());
    let quantise: RowKernel<StaticQuantArgs> =
        options.kernel(&call, &KERNELS, core, width, stride)?;
    let workgroups = amax.workgroups(rows).min(MOST_WORKGROUPS);
    let [largest] = call.workspace([workgroups as usize * size_of::<u32>()])?;
    let amax_args = AmaxArgs {
        x: x.ptr().any(),
        largest: largest.cast(),
        x_stride,
        rows: rows_of_x,
        width: width as u32,
    };
    let args = StaticQuantArgs {
        x: x.ptr().any(),
        scale: DevicePtr::NULL,
        largest: largest.cast(),
        scale_out: out.scales.ptr_mut(),
        codes: out.codes.ptr().any(),
        x_stride,
        codes_stride,
        workgroups,
        rows: rows_of_x,
        width: width as u32,
        format: C::CODE,
        divides: 0,
    };
    call.submit(|stream| {
        if rows > 0 {
            // SAFETY: the kernel reads rows of the shape and strides that were checked, and has a
            // word of the workspace for each workgroup.
            unsafe { amax.launch_on(stream, workgroups, &amax_args)? };
        }
        // The scale of no rows is stored too.
        let workgroups = quantise.workgroups(rows).max(1);
        // SAFETY: as above, and the kernel writes codes of the shape that was checked.
        unsafe { quantise.launch_on(stream, workgroups, &args) }
    })
}
