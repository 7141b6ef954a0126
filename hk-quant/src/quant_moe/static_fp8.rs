//! One scale for all elements, by which they are divided.

#[cfg(doc)]
use hk_core::Error;
use hk_core::dtype::Real;
use hk_core::op::quant::Fp8;
use hk_core::op::rows::RowOptions;
use hk_core::{Result, Tensor, TensorSlice};

use crate::quant::quantise_by;

/// Quantises all elements to the chip's own floating point with a given scale, a tensor of one element:
/// codes are `x / s`, rounded to nearest, ties to even, and at most the largest.
///
/// NaN stays NaN. Whether the scale is a positive number is not checked.
///
/// # Errors
/// [`Error::Shape`] if rows are empty or there is not one scale, [`Error::Stride`] if rows are not
/// evenly spaced, [`Error::ArchMismatch`] if the codes are those of another chip, [`Error::Value`]
/// if the tile does not take such rows, and [`Error::NoTile`] if there is no tile of that name.
pub fn downcast_to_static_fp8<T: Real, C: Fp8>(
    x: &TensorSlice<T>,
    scale: &TensorSlice<f32>,
    options: &RowOptions<'_>,
) -> Result<Tensor<C>> {
    let mut codes = Tensor::empty(x.stream(), x.shape())?;
    downcast_to_static_fp8_into(x, scale, options, &mut *codes)?;
    Ok(codes)
}

/// As [`downcast_to_static_fp8`], into `codes`.
///
/// # Errors
/// As [`downcast_to_static_fp8`]; [`Error::Shape`] or [`Error::Stride`] also if `codes` has not the
/// shape of x, in evenly spaced rows, and [`Error::Alias`] if it overlaps another argument.
pub fn downcast_to_static_fp8_into<T: Real, C: Fp8>(
    x: &TensorSlice<T>,
    scale: &TensorSlice<f32>,
    options: &RowOptions<'_>,
    codes: &mut TensorSlice<C>,
) -> Result<()> {
    quantise_by("downcast_to_static_fp8", x, scale, options, codes, true)
}
