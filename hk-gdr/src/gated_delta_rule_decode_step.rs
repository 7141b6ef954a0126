//! One step of a gated delta rule layer for a batch of sequences, whose states are slots of pools: the
//! [convolution](mod@crate::causal_conv1d) of new tokens of queries, keys and values side by side, with
//! silu, then the [recurrence](mod@crate::fused_sigmoid_gating_recurrent) on its results, with queries and
//! keys normalised. Both states become the new ones.
//!
//! A sequence whose slot is -1, or one that not both states have, has zeros for results, and no state is
//! read or written.
//!
//! | | |
//! |---|---|
//! | Shapes | mixed_qkv `[b, t, c]` with c = 2hk+hv v, conv_weight `[c, w]` with w of 2 to 4, bias `[c]`, A_log, dt_bias `[hv]`, a, b `[b, t, hv]` or `[b t, hv]`, conv_state `[slots, c, >= w-1]`, state `[slots, hv, k, v]` or `[slots, hv, v, k]` -> o `[b, t, hv, v]`; mixed_qkv and o may lack t, which then is 1 |
//! | Dtypes | mixed_qkv, conv_state, o bf16, f16, f32; conv_weight and bias, A_log, dt_bias, a and b bf16, f16, f32 each; states f32, bf16; slots i32, i64 |
//! | Numerics | f32; the results of the convolution are rounded once; bitwise deterministic |
//! | Hardware | cdna3, cdna4; two launches, whose sizes do not depend on slots, so that a graph can have them |
//! | Source | Yang, Kautz and Hatamizadeh, "Gated Delta Networks: Improving Mamba2 with Delta Rule" (2024); Qwen3-Next |
//!
//! ```
//! # #[cfg(feature = "cdna3")] {
//! use hk_gdr::{
//!     ConvFilter, DecodeStates, DecodeStepOptions, Device, GatingInputs, QkvzbaHeads, Tensor,
//!     gated_delta_rule_decode_step,
//! };
//!
//! let stream = Device::open("sim:mi325x")?.default_stream();
//! let one = |number: f32, shape: &[usize]| Tensor::filled(&stream, shape, number);
//! let heads = QkvzbaHeads { num_heads_qk: 1, num_heads_v: 1, head_qk: 1, head_v: 1 };
//! let (mixed_qkv, weight) = (one(1.0, &[1, 1, 3])?, one(0.5, &[3, 2])?);
//! let (of_head, of_token) = (one(0.0, &[1])?, one(0.0, &[1, 1, 1])?);
//! let gating = GatingInputs { a_log: &of_head, dt_bias: &of_head, a: &of_token, b: &of_token };
//! let (mut conv_state, mut state) = (one(1.0, &[1, 3, 1])?, one(0.0, &[1, 1, 1, 1])?);
//! let o = gated_delta_rule_decode_step(
//!     &mixed_qkv,
//!     ConvFilter { weight: &weight, bias: None },
//!     gating,
//!     heads,
//!     DecodeStates { conv_state: &mut conv_state, state: &mut state },
//!     &DecodeStepOptions::default(),
//! )?;
//! // Half of silu(1) is learnt.
//! approx::assert_abs_diff_eq!(o.to_vec()?[0], 0.365529, epsilon = 1e-5);
//! # }
//! # Ok::<(), hk_core::Error>(())
//! ```

#[cfg(doc)]
use hk_core::Error;
use hk_core::dtype::Real;
use hk_core::op::indices::Indices;
use hk_core::{Result, Tensor, TensorSlice};

use crate::causal_conv1d::update;
use crate::delta_rule::{Recurrence, Shared, State, StateLayout};
use crate::{CausalConv1dOptions, CausalConv1dUpdateOut, ConvFilter, GatingInputs, QkvzbaHeads};

/// States of a batch, which become the new ones.
#[derive(Debug)]
pub struct DecodeStates<'a, T: Real, S: State> {
    /// Of the convolution, `[slots, c, >= w-1]`.
    pub conv_state: &'a mut TensorSlice<T>,
    /// Of the recurrence, `[slots, hv, k, v]` or `[slots, hv, v, k]`.
    pub state: &'a mut TensorSlice<S>,
}

/// Where [`gated_delta_rule_decode_step_into`] stores.
#[derive(Debug)]
pub struct DecodeStepOut<'a, T: Real, S: State> {
    /// The results, `[b, t, hv, v]`, or `[b, hv, v]` of one token.
    pub o: &'a mut TensorSlice<T>,
    /// The results of the convolution, in the shape of `mixed_qkv`.
    pub conv_qkv: &'a mut TensorSlice<T>,
    /// The states.
    pub states: DecodeStates<'a, T, S>,
}

/// What can be chosen of the step.
#[derive(Debug, Clone, Copy)]
pub struct DecodeStepOptions<'a> {
    softplus_beta: f32,
    softplus_threshold: f32,
    scale: Option<f32>,
    layout: StateLayout,
    state_indices: Option<Indices<'a>>,
    validate_indices: Option<bool>,
}

impl Default for DecodeStepOptions<'_> {
    /// Factor 1 and threshold 20 of softplus, and nothing else.
    fn default() -> Self {
        Self {
            softplus_beta: 1.0,
            softplus_threshold: 20.0,
            scale: None,
            layout: StateLayout::Kv,
            state_indices: None,
            validate_indices: None,
        }
    }
}

impl<'a> DecodeStepOptions<'a> {
    /// Factor of the argument of softplus, and divisor of its result.
    #[must_use]
    pub fn softplus_beta(self, factor: f32) -> Self {
        Self { softplus_beta: factor, ..self }
    }

    /// The product of that factor and the argument above which softplus is its argument.
    #[must_use]
    pub fn softplus_threshold(self, threshold: f32) -> Self {
        Self { softplus_threshold: threshold, ..self }
    }

    /// Factor of queries; `1 / sqrt(k)` if not given.
    #[must_use]
    pub fn scale(self, scale: f32) -> Self {
        Self { scale: Some(scale), ..self }
    }

    /// The order of keys and values in states of the recurrence.
    #[must_use]
    pub fn state_layout(self, layout: StateLayout) -> Self {
        Self { layout, ..self }
    }

    /// The slot of each sequence in both states, `[b]`, each another, or -1; if not given, those of
    /// their numbers.
    #[must_use]
    pub fn state_indices(self, slots: impl Into<Indices<'a>>) -> Self {
        Self { state_indices: Some(slots.into()), ..self }
    }

    /// Whether slots are looked at before the launch, which waits for the stream, to tell which are
    /// wrong. If not given, they are on the simulator and in builds with debug assertions, unless the
    /// stream is being captured.
    #[must_use]
    pub fn validate_indices(self, validate: bool) -> Self {
        Self { validate_indices: Some(validate), ..self }
    }
}

/// The results of new tokens; states become those after them.
///
/// # Errors
/// [`Error::Shape`] if shapes do not fit to each other or to what there may be, [`Error::Stride`] if
/// weights have gaps or elements of a row are not adjacent, [`Error::Value`] if hv is no multiple of h, a
/// number of heads or channels is 0, `scale` or `softplus_beta` is not positive and finite,
/// `softplus_threshold` is NaN, a head's state spans more than 2^31 bytes, or a slot is wrong and
/// [looked at](DecodeStepOptions::validate_indices), and [`Error::Alias`] if a state overlaps another
/// argument.
pub fn gated_delta_rule_decode_step<T: Real, W: Real, P: Real, D: Real, A: Real, S: State>(
    mixed_qkv: &TensorSlice<T>,
    conv: ConvFilter<'_, W>,
    gating: GatingInputs<'_, P, D, A>,
    heads: QkvzbaHeads,
    states: DecodeStates<'_, T, S>,
    options: &DecodeStepOptions<'_>,
) -> Result<Tensor<T>> {
    let (stream, shape) = (mixed_qkv.stream(), mixed_qkv.shape());
    let mut conv_qkv = Tensor::empty(stream, shape)?;
    let of_token = [heads.num_heads_v, heads.head_v];
    let tokens = shape.split_last().map_or(&[][..], |(_, tokens)| tokens);
    let mut o = Tensor::empty(stream, &[tokens, &of_token].concat())?;
    let out = DecodeStepOut { o: &mut *o, conv_qkv: &mut *conv_qkv, states };
    gated_delta_rule_decode_step_into(mixed_qkv, conv, gating, heads, options, out)?;
    Ok(o)
}

/// As [`gated_delta_rule_decode_step`], into given tensors.
///
/// # Errors
/// As [`gated_delta_rule_decode_step`]; [`Error::Shape`] or [`Error::Stride`] also if an output is not as
/// [`DecodeStepOut`] says, and [`Error::Alias`] if one overlaps another argument.
pub fn gated_delta_rule_decode_step_into<T: Real, W: Real, P: Real, D: Real, A: Real, S: State>(
    mixed_qkv: &TensorSlice<T>,
    conv: ConvFilter<'_, W>,
    gating: GatingInputs<'_, P, D, A>,
    heads: QkvzbaHeads,
    options: &DecodeStepOptions<'_>,
    out: DecodeStepOut<'_, T, S>,
) -> Result<()> {
    let op = "gated_delta_rule_decode_step";
    let DecodeStepOut { o, conv_qkv, states: DecodeStates { conv_state, state } } = out;
    let mixed_qkv = &*mixed_qkv.reshape(&with_tokens(mixed_qkv.shape(), 3))?;
    let conv_qkv = &mut *conv_qkv.reshape_mut(&with_tokens(conv_qkv.shape(), 3))?;
    let o = &mut *o.reshape_mut(&with_tokens(o.shape(), 4))?;
    let DecodeStepOptions { scale, layout, validate_indices, .. } = *options;
    let shared = Shared { scale, normalizes: true, layout, cu_seqlens: None, validate_indices };

    // All of the recurrence is checked, and all that the convolution has of it, before the first launch.
    let mut recurrence = Recurrence::new(op, shared);
    let arguments = &mut recurrence.arguments;
    arguments.input("mixed_qkv", mixed_qkv, &["b", "t", "c"]).strides::<3>()?;
    let [sequence, token, _] =
        arguments.output("conv_qkv", conv_qkv, &["b", "t", "c"]).adjacent()?;
    recurrence.side_by_side(conv_qkv.ptr(), [sequence, token], heads)?;
    recurrence.sizes()?;
    let arguments = &mut recurrence.arguments;
    arguments.input("conv_weight", conv.weight, &["c", "w"]).contiguous()?;
    arguments.limit("w", 2..=4)?;
    if let Some(bias) = conv.bias {
        arguments.input("conv_bias", bias, &["c"]).contiguous()?;
    }
    let declared = arguments.output("conv_state", conv_state, &["lines", "c", "columns"]);
    declared.strides::<3>()?;
    let [b, width] = arguments.sizes(["b", "w"])?;
    let least = if options.state_indices.is_some() { b.min(1) } else { b };
    arguments.limit("lines", least..=i32::MAX as usize)?;
    arguments.limit("columns", width - 1..=usize::MAX)?;
    let [lines] = arguments.sizes(["lines"])?;
    recurrence.computed_gates(gating, [options.softplus_beta, options.softplus_threshold])?;
    recurrence.pool(state, options.state_indices)?;
    // A slot that one of both states lacks is nobody's in the other one either.
    let slots = lines.min(recurrence.args.slot_count as usize);
    recurrence.args.slot_count = slots as u32;
    recurrence.output(o)?;
    recurrence.args.pads = 1;
    let Some(recurrence) = recurrence.prepare()? else { return Ok(()) };

    let mut of_conv = CausalConv1dOptions::default().silu(true);
    if let Some(bias) = conv.bias {
        of_conv = of_conv.bias(bias);
    }
    if let Some(slots) = options.state_indices {
        of_conv = of_conv.cache_indices(slots);
    }
    if let Some(validate) = validate_indices {
        of_conv = of_conv.validate_indices(validate);
    }
    let conv_state = &mut *conv_state.slice_mut(0..slots)?;
    let x = mixed_qkv.permute(&[0, 2, 1])?;
    let mut y = conv_qkv.permute_mut(&[0, 2, 1])?;
    let out = CausalConv1dUpdateOut { y: &mut y, conv_state, intermediate_conv_window: None };
    update(op, &x, conv.weight, &of_conv, out, true)?;
    recurrence.submit()
}

/// The shape of a tensor of that rank: without a dimension of tokens, with one of a single one.
fn with_tokens(shape: &[usize], rank: usize) -> Vec<usize> {
    match shape {
        [b, of_token @ ..] if shape.len() + 1 == rank => [&[*b, 1], of_token].concat(),
        _ => shape.to_vec(),
    }
}
