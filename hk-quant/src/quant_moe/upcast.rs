//! From blocks with powers of two back to numbers.

#[cfg(doc)]
use hk_core::Error;
use hk_core::dtype::{E8M0, Real};
use hk_core::op::Arguments;
use hk_core::op::quant::MxCode;
use hk_core::op::rows::RowOptions;
use hk_core::{Result, Tensor, TensorSlice};

use super::{at_the_end, dimension};
use crate::quant::{DequantizeMxOptions, dequantize_mx};

const OP: &str = "upcast_from_mxfp";

/// What the codes of [`downcast_to_mxfp`](super::downcast_to_mxfp) stand for: `2^(b - 127) c`, rounded
/// once; NaN in a block whose scale is NaN. The last dimension of codes and scales becomes dimension
/// `axis` of the result, counted from the end if it is negative, and stays the one of adjacent
/// elements in memory.
///
/// # Errors
/// [`Error::Shape`] if rows are empty or there are not as many scales as blocks, [`Error::Stride`] if
/// rows are not evenly spaced, [`Error::Value`] if there is no such dimension or the tile does not take
/// such rows, and [`Error::NoTile`] if there is no tile of that name.
pub fn upcast_from_mxfp<C: MxCode, T: Real>(
    codes: &TensorSlice<C>,
    scales: &TensorSlice<E8M0>,
    axis: isize,
    options: &RowOptions<'_>,
) -> Result<Tensor<T>> {
    let rank = codes.shape().len();
    let at = dimension(&Arguments::new(OP), axis, rank)?;
    let back: Vec<_> = (0..at).chain([rank - 1]).chain(at..rank - 1).collect();
    let mut y = Tensor::empty(codes.stream(), codes.shape())?.into_permuted(&back)?;
    upcast_from_mxfp_into(codes, scales, axis, options, &mut *y)?;
    Ok(y)
}

/// As [`upcast_from_mxfp`], into `y`, whose dimension `axis` has adjacent elements in memory.
///
/// # Errors
/// As [`upcast_from_mxfp`]; [`Error::Shape`] or [`Error::Stride`] also if `y` has not the shape that
/// [`upcast_from_mxfp`] gives it, or other elements are adjacent, and [`Error::Alias`] if it overlaps
/// another argument.
pub fn upcast_from_mxfp_into<C: MxCode, T: Real>(
    codes: &TensorSlice<C>,
    scales: &TensorSlice<E8M0>,
    axis: isize,
    options: &RowOptions<'_>,
    y: &mut TensorSlice<T>,
) -> Result<()> {
    let rank = y.shape().len();
    let axis = dimension(&Arguments::new(OP), axis, rank)?;
    let mut rows = y.permute_mut(&at_the_end(axis, rank))?;
    let options = DequantizeMxOptions::default().rows(*options);
    dequantize_mx(OP, codes, scales, &options, &mut rows)
}
