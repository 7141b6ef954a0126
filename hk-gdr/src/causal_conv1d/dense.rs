//! Sequences of one length.

#[cfg(doc)]
use hk_core::Error;
use hk_core::dtype::Real;
use hk_core::{Result, Tensor, TensorSlice};

use super::launch::{Convolution, Order, empty_like};
use super::options::CausalConv1dOptions;

/// What [`causal_conv1d`] returns.
#[derive(Debug)]
pub struct CausalConv1d<T: Real> {
    /// The results, `[b, c, l]`, in the order of memory that x has.
    pub y: Tensor<T>,
    /// The new states, `[b, c, w - 1]`.
    pub final_state: Tensor<T>,
}

/// Where [`causal_conv1d_into`] stores.
#[derive(Debug)]
pub struct CausalConv1dOut<'a, T: Real> {
    /// The results, `[b, c, l]`.
    pub y: &'a mut TensorSlice<T>,
    /// The new states, `[b, c, w - 1]`, if they are wanted; those of sequences without tokens are left
    /// alone.
    pub final_state: Option<&'a mut TensorSlice<T>>,
}

/// The convolution of each channel of the sequences `x`, `[b, c, l]`, which begin with
/// `initial_state`, `[b, c, w - 1]`, or zeros.
///
/// # Errors
/// [`Error::Shape`] if shapes do not fit to each other, there are no channels, or w is not 2, 3 or 4,
/// [`Error::Stride`] if weights or the bias have gaps, and [`Error::Value`] if the chunk is no power of
/// two from 16 on, or an option is not for dense sequences.
pub fn causal_conv1d<T: Real, W: Real>(
    x: &TensorSlice<T>,
    weight: &TensorSlice<W>,
    initial_state: Option<&TensorSlice<T>>,
    options: &CausalConv1dOptions<'_, W>,
) -> Result<CausalConv1d<T>> {
    let mut y = empty_like(x)?;
    let width = weight.shape().last().copied().unwrap_or_default();
    let mut shape = x.shape().to_vec();
    shape.last_mut().into_iter().for_each(|tokens| *tokens = width.saturating_sub(1));
    let mut final_state = match initial_state {
        Some(state) if x.is_empty() => state.to_contiguous()?,
        _ => Tensor::zeros(x.stream(), &shape)?,
    };
    let out = CausalConv1dOut { y: &mut y, final_state: Some(&mut final_state) };
    causal_conv1d_into(x, weight, initial_state, options, out)?;
    Ok(CausalConv1d { y, final_state })
}

/// As [`causal_conv1d`], into given tensors.
///
/// # Errors
/// As [`causal_conv1d`]; [`Error::Shape`] or [`Error::Stride`] also if an output is not as
/// [`CausalConv1dOut`] says, and [`Error::Alias`] if one overlaps another argument, but for states that
/// are the same view.
pub fn causal_conv1d_into<T: Real, W: Real>(
    x: &TensorSlice<T>,
    weight: &TensorSlice<W>,
    initial_state: Option<&TensorSlice<T>>,
    options: &CausalConv1dOptions<'_, W>,
    out: CausalConv1dOut<'_, T>,
) -> Result<()> {
    let dims = &["b", "c", "l"];
    let order = Order::Sequences;
    let mut conv = Convolution::new("causal_conv1d", (x, dims, order), None, weight, options)?;
    conv.without_bounds()?;
    let is_absent = options.cache_indices.is_none();
    conv.arguments.require(is_absent, "cache_indices", "absent", "given")?;
    conv.arguments.define("w-1", conv.args.width as usize - 1);
    let dims_of_states = &["b", "c", "w-1"];
    if let Some(state) = initial_state {
        let declared = conv.arguments.input("initial_state", state, dims_of_states);
        conv.args.initial_strides = order.strides(declared.may_be("final_state"))?;
        conv.args.initial_states = state.ptr().any();
    }
    conv.output("y", out.y, dims, order)?;
    if let Some(state) = out.final_state {
        let declared = conv.arguments.output("final_state", state, dims_of_states);
        conv.args.final_strides = order.strides(declared)?;
        conv.args.final_states = state.ptr().any();
    }
    conv.launch("b", "l", false)
}
