//! Gated rows with a given scale.

#[cfg(doc)]
use hk_core::Error;
use hk_core::dtype::Real;
use hk_core::op::Arguments;
use hk_core::op::quant::Fp8;
use hk_core::op::rows::ROWS;
use hk_core::{Result, Tensor, TensorSlice};

use super::StaticOptions;
use crate::KERNELS;
use crate::silu_mul_quant::SiluMulQuantArgs;

/// Gates g, the first half of a row of x, times what they let through, the second half l: `y = g
/// sigmoid(g) l`, with a scale that is given, a tensor of one element: codes are `y (1 / s)`, rounded
/// to nearest, ties to even, and at most the largest code.
///
/// # Errors
/// [`Error::Shape`] if rows have an odd number of elements or none, or there is not one scale,
/// [`Error::Stride`] if rows are not evenly spaced, [`Error::ArchMismatch`] if the codes are those of
/// another chip, [`Error::Value`] if the tile does not take such rows, and [`Error::NoTile`] if there
/// is no tile of that name.
pub fn fused_silu_mul_fp8_per_tensor_static_quant<T: Real, C: Fp8>(
    x: &TensorSlice<T>,
    scale: &TensorSlice<f32>,
    options: &StaticOptions<'_>,
) -> Result<Tensor<C>> {
    let mut shape = x.shape().to_vec();
    if let Some(width) = shape.last_mut() {
        *width /= 2;
    }
    let mut codes = Tensor::empty(x.stream(), &shape)?;
    fused_silu_mul_fp8_per_tensor_static_quant_into(x, scale, options, &mut *codes)?;
    Ok(codes)
}

/// As [`fused_silu_mul_fp8_per_tensor_static_quant`], into `codes`, whose rows are half as wide as
/// those of `x`.
///
/// # Errors
/// As [`fused_silu_mul_fp8_per_tensor_static_quant`]; [`Error::Shape`] or [`Error::Stride`] also if
/// `codes` has another shape or rows that are not evenly spaced, and [`Error::Alias`] if it overlaps
/// another argument.
pub fn fused_silu_mul_fp8_per_tensor_static_quant_into<T: Real, C: Fp8>(
    x: &TensorSlice<T>,
    scale: &TensorSlice<f32>,
    options: &StaticOptions<'_>,
    codes: &mut TensorSlice<C>,
) -> Result<()> {
    let mut args = Arguments::new("fused_silu_mul_fp8_per_tensor_static_quant");
    let x_stride = args.input("x", x, &["..", "both"]).rows()?;
    let codes_stride = args.output("codes", codes, ROWS).rows()?;
    let [rows, width] = options.rows.check(&args)?;
    args.limit("n", 1..=i32::MAX as usize / 2)?;
    args.limit("both", 2 * width..=2 * width)?;
    args.input("scale", scale, &["1"]).contiguous()?;
    let call = args.check()?;

    let core = ("silu_mul_quant", T::DTYPE.name());
    let stride = x_stride.max(codes_stride);
    let kernel = options.rows.kernel(&call, &KERNELS, core, width, stride)?;
    let args = SiluMulQuantArgs {
        x: x.ptr().any(),
        scale: scale.ptr(),
        codes: codes.ptr().any(),
        x_stride,
        codes_stride,
        rows: rows as u32,
        width: width as u32,
        rounds: u32::from(options.rounds),
    };
    // SAFETY: the kernel reads and writes rows of the shapes and strides that were checked.
    unsafe { kernel.launch(call, rows, &args) }
}
