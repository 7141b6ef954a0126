//! Sequences that follow each other.

#[cfg(doc)]
use hk_core::Error;
use hk_core::dtype::Real;
use hk_core::op::indices::Indices;
use hk_core::{Result, Tensor, TensorSlice};

use super::launch::{Convolution, Order, empty_like};
use super::options::CausalConv1dOptions;

/// Where [`causal_conv1d_varlen_into`] stores.
#[derive(Debug)]
pub struct CausalConv1dVarlenOut<'a, T: Real> {
    /// The results, `[c, t]`. Those of skipped sequences are left alone.
    pub y: &'a mut TensorSlice<T>,
    /// The states, `[lines, c, >= w - 1]`, which become the new ones, if there are any.
    pub conv_states: Option<&'a mut TensorSlice<T>>,
}

/// The convolution of each channel of sequences that follow each other in `x`, `[c, t]`: sequence i has
/// the tokens from `query_start_loc[i]` to before `query_start_loc[i + 1]`, n + 1 bounds from 0 to t.
/// They begin with their lines of `conv_states` where the options say so, else with zeros; all states
/// become the new ones. Results of skipped sequences are zeros, and y has the order of memory that x has.
///
/// # Errors
/// [`Error::Shape`] if shapes do not fit to each other, there are no channels, w is not 2, 3 or 4, or
/// states have fewer than w - 1 columns or, without indices, than n lines, [`Error::Value`] if an index
/// is wrong and [looked at](CausalConv1dOptions::validate_indices), the chunk is no power of two from 16
/// on, or it is said which sequences begin with their states, but there are none, [`Error::Stride`] if
/// weights, the bias or indices have gaps or states overlap themselves, and [`Error::Alias`] if states
/// overlap another argument.
pub fn causal_conv1d_varlen<'a, T: Real, W: Real>(
    x: &TensorSlice<T>,
    weight: &TensorSlice<W>,
    query_start_loc: impl Into<Indices<'a>>,
    conv_states: Option<&mut TensorSlice<T>>,
    options: &CausalConv1dOptions<'_, W>,
) -> Result<Tensor<T>> {
    let mut y = empty_like(x)?;
    let out = CausalConv1dVarlenOut { y: &mut y, conv_states };
    varlen(x, weight, query_start_loc.into(), options, out, true)?;
    Ok(y)
}

/// As [`causal_conv1d_varlen`], into given tensors; results of skipped sequences are left alone.
///
/// # Errors
/// As [`causal_conv1d_varlen`]; [`Error::Shape`] or [`Error::Stride`] also if y is not as
/// [`CausalConv1dVarlenOut`] says, and [`Error::Alias`] if it overlaps another argument.
pub fn causal_conv1d_varlen_into<'a, T: Real, W: Real>(
    x: &TensorSlice<T>,
    weight: &TensorSlice<W>,
    query_start_loc: impl Into<Indices<'a>>,
    options: &CausalConv1dOptions<'_, W>,
    out: CausalConv1dVarlenOut<'_, T>,
) -> Result<()> {
    varlen(x, weight, query_start_loc.into(), options, out, false)
}

fn varlen<T: Real, W: Real>(
    x: &TensorSlice<T>,
    weight: &TensorSlice<W>,
    bounds: Indices<'_>,
    options: &CausalConv1dOptions<'_, W>,
    out: CausalConv1dVarlenOut<'_, T>,
    zeros: bool,
) -> Result<()> {
    let dims = (x, &["c", "t"][..], Order::Columns);
    let mut conv = Convolution::new("causal_conv1d_varlen", dims, None, weight, options)?;
    conv.bounds(bounds, out.conv_states.is_some())?;
    conv.lines()?;
    conv.output("y", out.y, &["c", "t"], Order::Columns)?;
    conv.packed_states(out.conv_states)?;
    conv.launch("bounds-1", "t", zeros)
}
