//! New tokens of sequences.

#[cfg(doc)]
use hk_core::Error;
use hk_core::dtype::Real;
use hk_core::{Result, Tensor, TensorSlice};

use super::launch::{Convolution, Order, empty_like};
use super::options::CausalConv1dOptions;

/// Where [`causal_conv1d_update_into`] stores.
#[derive(Debug)]
pub struct CausalConv1dUpdateOut<'a, T: Real> {
    /// The results, in the shape of x. Those of skipped sequences are left alone.
    pub y: &'a mut TensorSlice<T>,
    /// The states, `[lines, c, >= w - 1]`, which become the new ones.
    pub conv_state: &'a mut TensorSlice<T>,
    /// The states after each of the tokens, `[lines, s, c, w - 1]`: of speculative decoding. No op
    /// writes them yet, and all refuse them by their name.
    pub intermediate_conv_window: Option<&'a mut TensorSlice<T>>,
}

/// The convolution of each channel of one or more new tokens of n sequences, `[n, c]` or `[n, c, s]`,
/// after their states in `conv_state`, `[lines, c, >= w - 1]`, which become the new ones. Results of
/// skipped sequences are zeros, and y has the order of memory that x has.
///
/// # Errors
/// [`Error::Shape`] if shapes do not fit to each other, there are no channels, w is not 2, 3 or 4, or
/// states have fewer than w - 1 columns or, without indices, than n lines, [`Error::Value`] if an index
/// is wrong and [looked at](CausalConv1dOptions::validate_indices), the chunk is no power of two from 16
/// on, it is said which sequences begin with their states, which all do, or how many tokens were accepted,
/// [`Error::Stride`] if weights, the bias or indices have gaps or states overlap themselves, and
/// [`Error::Alias`] if states overlap another argument.
pub fn causal_conv1d_update<T: Real, W: Real>(
    x: &TensorSlice<T>,
    weight: &TensorSlice<W>,
    conv_state: &mut TensorSlice<T>,
    options: &CausalConv1dOptions<'_, W>,
) -> Result<Tensor<T>> {
    let mut y = empty_like(x)?;
    let out = CausalConv1dUpdateOut { y: &mut y, conv_state, intermediate_conv_window: None };
    update(OP, x, weight, options, out, true)?;
    Ok(y)
}

/// As [`causal_conv1d_update`], into given tensors; y may be x, and results of skipped sequences are
/// left alone.
///
/// # Errors
/// As [`causal_conv1d_update`]; [`Error::Shape`] or [`Error::Stride`] also if y is not as
/// [`CausalConv1dUpdateOut`] says, [`Error::Alias`] if it overlaps another argument, and
/// [`Error::Value`] if states after each token are wanted.
pub fn causal_conv1d_update_into<T: Real, W: Real>(
    x: &TensorSlice<T>,
    weight: &TensorSlice<W>,
    options: &CausalConv1dOptions<'_, W>,
    out: CausalConv1dUpdateOut<'_, T>,
) -> Result<()> {
    update(OP, x, weight, options, out, false)
}

/// As [`causal_conv1d_update`], into `x`; tokens of skipped sequences stay as they were.
///
/// # Errors
/// As [`causal_conv1d_update`].
pub fn causal_conv1d_update_inplace<T: Real, W: Real>(
    x: &mut TensorSlice<T>,
    weight: &TensorSlice<W>,
    conv_state: &mut TensorSlice<T>,
    options: &CausalConv1dOptions<'_, W>,
) -> Result<()> {
    let (x, mut y) = x.in_place();
    let out = CausalConv1dUpdateOut { y: &mut y, conv_state, intermediate_conv_window: None };
    causal_conv1d_update_into(&x, weight, options, out)
}

const OP: &str = "causal_conv1d_update";

/// The convolution as part of an op of that name; with `zeros`, results of skipped sequences are zeros.
pub(crate) fn update<T: Real, W: Real>(
    op: &'static str,
    x: &TensorSlice<T>,
    weight: &TensorSlice<W>,
    options: &CausalConv1dOptions<'_, W>,
    out: CausalConv1dUpdateOut<'_, T>,
    zeros: bool,
) -> Result<()> {
    let (dims, order) = new_tokens(x);
    let x = (x, dims, order);
    let mut conv = Convolution::new(op, x, Some("y"), weight, options)?;
    conv.is_whole = true;
    conv.without_bounds()?;
    let is_absent = out.intermediate_conv_window.is_none();
    conv.arguments.require(is_absent, "intermediate_conv_window", "absent", "given")?;
    conv.lines()?;
    conv.output("y", out.y, dims, order)?;
    conv.states("conv_state", out.conv_state)?;
    conv.launch("n", order.tokens(), zeros)
}

/// How the dimensions of new tokens are called, and their order.
pub(crate) fn new_tokens<T: Real>(x: &TensorSlice<T>) -> (&'static [&'static str], Order) {
    match x.shape().len() {
        3 => (&["n", "c", "s"], Order::Sequences),
        _ => (&["n", "c"], Order::Tokens),
    }
}
