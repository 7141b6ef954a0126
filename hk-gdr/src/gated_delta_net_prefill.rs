//! A gated delta rule layer, from its projections, of whole sequences that follow each other, whose states
//! are slots of pools: the [convolution](mod@crate::causal_conv1d_fwd_split_qkv) of queries, keys and values
//! side by side, with silu, the [gates](mod@crate::fused_gdn_gating_prefill), and the
//! [rule in chunks](mod@crate::chunk_gated_delta_rule), with queries and keys normalised. Both states become
//! the new ones.
//!
//! A sequence begins with the states of its slot, or, if it has none yet, with zeros. One whose slot is -1,
//! or one that not both states have, has zeros for results, and no state is read or written; those of
//! sequences without tokens stay as they are.
//!
//! | | |
//! |---|---|
//! | Shapes | mixed_qkv `[t, c]` with c = 2hk+hv v, or mixed_qkvz and mixed_ba as [`fused_qkvzba_split`](crate::fused_qkvzba_split()) has them, conv_weight `[c, w]` with w of 2 to 4, bias `[c]`, A_log, dt_bias `[hv]`, a, b `[t, hv]`, conv_state `[slots, c, >= w-1]`, state `[slots, hv, k, v]` or `[slots, hv, v, k]`, has_initial_state `[n]` -> o `[t, hv, v]`, z `[t, hv, v]`; k from 1 to 256, v from 1 to 512 |
//! | Dtypes | mixed_qkv, conv_state, o bf16, f16; conv_weight and bias, A_log, dt_bias, a and b, and mixed_ba bf16, f16, f32 each; states f32, bf16; slots i32, i64; has_initial_state u8 |
//! | Numerics | those of the parts: the results of the convolution are rounded, and normalised queries and keys; bitwise deterministic |
//! | Hardware | cdna3, cdna4; six launches, or seven |
//! | Source | Yang, Kautz and Hatamizadeh, "Gated Delta Networks: Improving Mamba2 with Delta Rule" (2024); Qwen3-Next |
//!
//! ```
//! # #[cfg(feature = "cdna3")] {
//! use hk_gdr::{
//!     ConvFilter, Device, GatingInputs, PrefillOptions, PrefillSchedule, PrefillStates,
//!     QkvzbaHeads, Tensor, bf16, gated_delta_net_prefill,
//! };
//!
//! let stream = Device::open("sim:mi325x")?.default_stream();
//! let one = |number: f32, shape: &[usize]| Tensor::filled(&stream, shape, bf16::from_f32(number));
//! let heads = QkvzbaHeads { num_heads_qk: 1, num_heads_v: 1, head_qk: 1, head_v: 1 };
//! let (mixed_qkv, weight) = (one(2.0, &[3, 3])?, one(0.5, &[3, 2])?);
//! let (of_head, of_token) = (one(0.0, &[1])?, one(0.0, &[3, 1])?);
//! let gating = GatingInputs { a_log: &of_head, dt_bias: &of_head, a: &of_token, b: &of_token };
//! let mut conv_state = one(0.0, &[2, 3, 1])?;
//! let mut state = Tensor::zeros(&stream, &[2, 1, 1, 1])?;
//! let fresh = Tensor::filled(&stream, &[1], 0u8)?;
//! let schedule = PrefillSchedule::new(&stream, &[0, 3], 64)?;
//! let states = PrefillStates {
//!     conv_state: &mut conv_state,
//!     state: &mut *state as &mut hk_gdr::TensorSlice<f32>,
//!     indices: None,
//!     has_initial_state: &fresh,
//! };
//! let conv = ConvFilter { weight: &weight, bias: None };
//! let o = gated_delta_net_prefill(
//!     &mixed_qkv, conv, gating, heads, states, &schedule, &PrefillOptions::default(),
//! )?;
//! // Half of silu(1) is learnt of the first token.
//! approx::assert_abs_diff_eq!(o.to_vec()?[0].to_f32(), 0.3655, epsilon = 2e-3);
//! # }
//! # Ok::<(), hk_core::Error>(())
//! ```

#[cfg(doc)]
use hk_core::Error;
use hk_core::dtype::Real;
use hk_core::op::indices::Indices;
use hk_core::{Result, Stream, Tensor, TensorSlice};

use crate::chunk_gated_delta_rule::{Prepared, prepare};
use crate::chunk_kkt::MOST_KEYS;
use crate::chunk_states::ChunkStates;
use crate::chunk_wu::MOST_VALUES;
use crate::chunks::{ChunkElement, ChunkOp, Chunking, GateBase};
use crate::delta_rule::{State, StateLayout};
use crate::{
    CausalConv1dFwdSplitQkvOut, CausalConv1dOptions, ChunkGatedDeltaRuleOptions,
    ChunkGatedDeltaRuleOut, ConvFilter, GatingInputs, GdnGatingOptions, GdnGatingOut,
    PrefillSchedule, QkvzbaHeads, QkvzbaSplitOptions, QkvzbaSplitOut,
    causal_conv1d_fwd_split_qkv_into, fused_gdn_gating_into, fused_qkvzba_split_into,
};

/// States of a batch, which become the new ones.
#[derive(Debug)]
pub struct PrefillStates<'a, T: Real, S: State> {
    /// Of the convolution, `[slots, c, >= w-1]`.
    pub conv_state: &'a mut TensorSlice<T>,
    /// Of the rule, `[slots, hv, k, v]` or `[slots, hv, v, k]`.
    pub state: &'a mut TensorSlice<S>,
    /// The slot of each sequence in both, `[n]`, each another, or -1; if not given, those of their
    /// numbers.
    pub indices: Option<Indices<'a>>,
    /// Of each sequence, `[n]`, whether it begins with its states, if not 0, or with zeros.
    pub has_initial_state: &'a TensorSlice<u8>,
}

/// What can be chosen of the layer.
#[derive(Debug, Clone, Copy)]
pub struct PrefillOptions {
    softplus_beta: f32,
    softplus_threshold: f32,
    scale: Option<f32>,
    layout: StateLayout,
    base: GateBase,
    validate_indices: Option<bool>,
}

impl Default for PrefillOptions {
    /// Factor 1 and threshold 20 of softplus, and nothing else.
    fn default() -> Self {
        Self {
            softplus_beta: 1.0,
            softplus_threshold: 20.0,
            scale: None,
            layout: StateLayout::Kv,
            base: GateBase::E,
            validate_indices: None,
        }
    }
}

impl PrefillOptions {
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

    /// The order of keys and values in states of the rule.
    #[must_use]
    pub fn state_layout(self, layout: StateLayout) -> Self {
        Self { layout, ..self }
    }

    /// Of which number powers are taken for decays.
    #[must_use]
    pub fn gate_base(self, base: GateBase) -> Self {
        Self { base, ..self }
    }

    /// Whether slots are looked at before the launch, which waits for the stream, to tell which are
    /// wrong. If not given, they are on the simulator and in builds with debug assertions.
    #[must_use]
    pub fn validate_indices(self, validate: bool) -> Self {
        Self { validate_indices: Some(validate), ..self }
    }
}

/// What [`gated_delta_net_prefill_qkvz`] returns.
#[derive(Debug)]
pub struct PrefillWithZ<T: ChunkElement> {
    /// The results, `[t, hv, v]`.
    pub o: Tensor<T>,
    /// Gates of the results, `[t, hv, v]`.
    pub z: Tensor<T>,
}

/// Where [`gated_delta_net_prefill_into`] stores, without gaps.
#[derive(Debug)]
pub struct PrefillOut<'a, T: ChunkElement, S: State> {
    /// The results, `[t, hv, v]`.
    pub o: &'a mut TensorSlice<T>,
    /// Queries behind the convolution, `[t, h * k]`.
    pub q: &'a mut TensorSlice<T>,
    /// Keys behind the convolution, `[t, h * k]`.
    pub k: &'a mut TensorSlice<T>,
    /// Values behind the convolution, `[t, hv * v]`.
    pub v: &'a mut TensorSlice<T>,
    /// Logarithms of decays, `[t, hv]`.
    pub g: &'a mut TensorSlice<f32>,
    /// Strengths of writing, `[t, hv]`.
    pub beta: &'a mut TensorSlice<f32>,
    /// The states.
    pub states: PrefillStates<'a, T, S>,
}

/// The results of all tokens, `[t, hv, v]`; states become those after them.
///
/// # Errors
/// [`Error::Shape`] if shapes do not fit to each other, to the schedule or to what there may be,
/// [`Error::Stride`] if weights have gaps or elements of a row are not adjacent, [`Error::Value`] if hv is
/// no multiple of h, a number of heads or channels is 0, `scale` or `softplus_beta` is not positive and
/// finite, `softplus_threshold` is NaN, a head's state spans more than 2^31 bytes, or a slot is wrong and
/// [looked at](PrefillOptions::validate_indices), [`Error::Alias`] if a state overlaps another argument,
/// and [`Error::OutOfMemory`].
pub fn gated_delta_net_prefill<T: ChunkElement, W: Real, P: Real, D: Real, A: Real, S: State>(
    mixed_qkv: &TensorSlice<T>,
    conv: ConvFilter<'_, W>,
    gating: GatingInputs<'_, P, D, A>,
    heads: QkvzbaHeads,
    states: PrefillStates<'_, T, S>,
    schedule: &PrefillSchedule,
    options: &PrefillOptions,
) -> Result<Tensor<T>> {
    let mut results = Results::new(mixed_qkv.stream(), schedule.tokens, heads)?;
    let out = results.out(states);
    gated_delta_net_prefill_into(mixed_qkv, conv, gating, heads, schedule, options, out)?;
    Ok(results.o)
}

/// What [`PrefillOut`] names, but the states.
struct Results<T: ChunkElement> {
    o: Tensor<T>,
    qkv: [Tensor<T>; 3],
    gates: [Tensor<f32>; 2],
}

impl<T: ChunkElement> Results<T> {
    fn new(stream: &Stream, t: usize, heads: QkvzbaHeads) -> Result<Self> {
        let QkvzbaHeads { num_heads_v: hv, head_v, .. } = heads;
        let [k_dim, v_dim] = widths(heads);
        let rows = |width| Tensor::empty(stream, &[t, width]);
        let gates = || Tensor::empty(stream, &[t, hv]);
        Ok(Self {
            o: Tensor::empty(stream, &[t, hv, head_v])?,
            qkv: [rows(k_dim)?, rows(k_dim)?, rows(v_dim)?],
            gates: [gates()?, gates()?],
        })
    }

    fn out<'a, S: State>(&'a mut self, states: PrefillStates<'a, T, S>) -> PrefillOut<'a, T, S> {
        let Self { o, qkv: [q, k, v], gates: [g, beta] } = self;
        PrefillOut { o, q, k, v, g, beta, states }
    }
}

/// As [`gated_delta_net_prefill`], into given tensors.
///
/// # Errors
/// As [`gated_delta_net_prefill`]; [`Error::Shape`] or [`Error::Stride`] also if an output is not as
/// [`PrefillOut`] says, and [`Error::Alias`] if one overlaps another argument.
pub fn gated_delta_net_prefill_into<
    T: ChunkElement,
    W: Real,
    P: Real,
    D: Real,
    A: Real,
    S: State,
>(
    mixed_qkv: &TensorSlice<T>,
    conv: ConvFilter<'_, W>,
    gating: GatingInputs<'_, P, D, A>,
    heads: QkvzbaHeads,
    schedule: &PrefillSchedule,
    options: &PrefillOptions,
    mut out: PrefillOut<'_, T, S>,
) -> Result<()> {
    check(mixed_qkv, &conv, gating, heads, schedule, options, &mut out)?;
    let QkvzbaHeads { num_heads_qk: h, num_heads_v: hv, head_qk, head_v } = heads;
    let PrefillOut { o, q, k, v, g, beta, states } = out;
    let PrefillStates { conv_state, state, indices, has_initial_state } = states;
    let t = schedule.tokens;
    let [k_dim, v_dim] = widths(heads);
    // A slot that one of both states lacks is nobody's in the other one either.
    let slots = conv_state.shape()[0].min(state.shape()[0]);
    let conv_state = &mut *conv_state.slice_mut(0..slots)?;
    let state = &mut *state.slice_mut(0..slots)?;

    // All of the rule is prepared, with its grids and its workspace, before the convolution changes states.
    let mut of_rule = ChunkGatedDeltaRuleOptions::default()
        .schedule(schedule)
        .use_qk_l2norm_in_kernel(true)
        .gate_base(options.base)
        .state_layout(options.layout)
        .pads(true)
        .validate_indices(false);
    if let Some(scale) = options.scale {
        of_rule = of_rule.scale(scale);
    }
    let rule = {
        let has_initial_state = Some(has_initial_state);
        let states: ChunkStates<'_, S> =
            ChunkStates::Pool { states: state, indices, has_initial_state };
        let mut results = o.reshape_mut(&[1, t, hv, head_v])?;
        let out = ChunkGatedDeltaRuleOut { o: &mut results, states };
        let (q, k) = (q.reshape(&[1, t, h, head_qk])?, k.reshape(&[1, t, h, head_qk])?);
        let v = v.reshape(&[1, t, hv, head_v])?;
        let (g, beta) = (g.reshape(&[1, t, hv])?, beta.reshape(&[1, t, hv])?);
        prepare(&q, &k, &v, &*g, &*beta, &of_rule, out)?
    };

    let mut of_conv = CausalConv1dOptions::default()
        .silu(true)
        .has_initial_state(has_initial_state)
        .validate_indices(false);
    if let Some(bias) = conv.bias {
        of_conv = of_conv.bias(bias);
    }
    if let Some(slots) = indices {
        of_conv = of_conv.cache_indices(slots);
    }
    let x = mixed_qkv.permute(&[1, 0])?;
    let bounds = Indices::from(&schedule.cu_seqlens);
    let conv_states = Some(conv_state);
    let parts = CausalConv1dFwdSplitQkvOut { q: &mut *q, k: &mut *k, v: &mut *v, conv_states };
    causal_conv1d_fwd_split_qkv_into(&x, conv.weight, bounds, k_dim, v_dim, &of_conv, parts)?;

    let of_gates = GdnGatingOptions::default()
        .softplus_beta(options.softplus_beta)
        .softplus_threshold(options.softplus_threshold);
    let GatingInputs { a_log, dt_bias, a, b } = gating;
    let gates = GdnGatingOut { g: &mut *g, beta: &mut *beta };
    fused_gdn_gating_into(a_log, dt_bias, a, b, &of_gates, gates)?;
    rule.map_or(Ok(()), Prepared::submit)
}

/// Elements of the queries or keys, and of the values, of a token.
fn widths(heads: QkvzbaHeads) -> [usize; 2] {
    let QkvzbaHeads { num_heads_qk: h, num_heads_v: hv, head_qk: k, head_v: v } = heads;
    [h.saturating_mul(k), hv.saturating_mul(v)]
}

/// Checks all that the parts are given, before the first of them is launched.
fn check<T: ChunkElement, W: Real, P: Real, D: Real, A: Real, S: State>(
    mixed_qkv: &TensorSlice<T>,
    conv: &ConvFilter<'_, W>,
    gating: GatingInputs<'_, P, D, A>,
    heads: QkvzbaHeads,
    schedule: &PrefillSchedule,
    options: &PrefillOptions,
    out: &mut PrefillOut<'_, T, S>,
) -> Result<()> {
    let chunking = Chunking { chunk_size: None, schedule: Some(schedule) };
    let mut op = ChunkOp::new("gated_delta_net_prefill", chunking);
    let arguments = &mut op.arguments;
    arguments.input("mixed_qkv", mixed_qkv, &["t", "c"]).strides::<2>()?;
    let QkvzbaHeads { num_heads_qk: h, num_heads_v: hv, head_qk: k, head_v: v } = heads;
    for (name, number) in [("num_heads_qk", h), ("num_heads_v", hv), ("head_qk", k), ("head_v", v)]
    {
        arguments.require(number > 0, name, "at least 1", number)?;
    }
    let [k_dim, v_dim] = widths(heads);
    let all = k_dim.saturating_mul(2).saturating_add(v_dim);
    arguments.limit("c", all..=all)?;
    let sizes =
        [("b", 1), ("h", h), ("hv", hv), ("k", k), ("v", v), ("h k", k_dim), ("hv v", v_dim)];
    for (name, size) in sizes {
        arguments.define(name, size);
    }
    arguments.limit("k", 1..=MOST_KEYS)?;
    arguments.limit("v", 1..=MOST_VALUES)?;
    arguments.input("conv_weight", conv.weight, &["c", "w"]).contiguous()?;
    arguments.limit("w", 2..=4)?;
    if let Some(bias) = conv.bias {
        arguments.input("conv_bias", bias, &["c"]).contiguous()?;
    }
    arguments.input("a_log", gating.a_log, &["hv"]).contiguous()?;
    arguments.input("dt_bias", gating.dt_bias, &["hv"]).contiguous()?;
    arguments.input("a", gating.a, &["t", "hv"]).rows()?;
    arguments.input("b", gating.b, &["t", "hv"]).rows()?;
    let PrefillOptions { softplus_beta: factor, softplus_threshold: threshold, .. } = *options;
    let is_factor = factor > 0.0 && factor.is_finite();
    arguments.require(is_factor, "softplus_beta", "positive and finite", factor)?;
    arguments.require(!threshold.is_nan(), "softplus_threshold", "a number", threshold)?;
    let PrefillOut { o, q, k: of_k, v: of_v, g, beta, states } = out;
    let declared = arguments.output("conv_state", states.conv_state, &["lines", "c", "columns"]);
    declared.strides::<3>()?;
    let [width] = arguments.sizes(["w"])?;
    arguments.limit("columns", width - 1..=i32::MAX as usize)?;
    op.scale(options.scale)?;
    let of_chunks = op.schedule()?;
    let arguments = &mut op.arguments;
    arguments.output("o", o, &["t", "hv", "v"]).contiguous()?;
    arguments.output("q", q, &["t", "h k"]).contiguous()?;
    arguments.output("k", of_k, &["t", "h k"]).contiguous()?;
    arguments.output("v", of_v, &["t", "hv v"]).contiguous()?;
    arguments.output("g", g, &["t", "hv"]).contiguous()?;
    arguments.output("beta", beta, &["t", "hv"]).contiguous()?;
    let has_initial_state = Some(states.has_initial_state);
    let (indices, state) = (states.indices, &mut *states.state);
    let pool: ChunkStates<'_, S> = ChunkStates::Pool { states: state, indices, has_initial_state };
    let declared = op.states(pool, options.layout, of_chunks.sequences)?;
    let least = if indices.is_some() { schedule.sequences.min(1) } else { schedule.sequences };
    op.arguments.limit("lines", least..=i32::MAX as usize)?;
    let [lines] = op.arguments.sizes(["lines"])?;
    let call = op.check()?;
    declared.validate(&call, options.validate_indices)?;
    if let Some(indices) = indices
        && call.validates_indices(options.validate_indices)?
    {
        call.require_slots("state_indices", &indices.to_vec()?, lines)?;
    }
    Ok(())
}

/// As [`gated_delta_net_prefill`], of projections as models have them, heads of queries and keys with
/// those of values side by side: see [`fused_qkvzba_split`](crate::fused_qkvzba_split()).
///
/// # Errors
/// As [`gated_delta_net_prefill`] and [`fused_qkvzba_split_into`].
pub fn gated_delta_net_prefill_qkvz<
    T: ChunkElement,
    W: Real,
    P: Real,
    D: Real,
    A: Real,
    S: State,
>(
    (mixed_qkvz, mixed_ba): (&TensorSlice<T>, &TensorSlice<A>),
    conv: ConvFilter<'_, W>,
    (a_log, dt_bias): (&TensorSlice<P>, &TensorSlice<D>),
    heads: QkvzbaHeads,
    states: PrefillStates<'_, T, S>,
    schedule: &PrefillSchedule,
    options: &PrefillOptions,
) -> Result<PrefillWithZ<T>> {
    let QkvzbaHeads { num_heads_v: hv, head_v, .. } = heads;
    let (stream, t) = (mixed_qkvz.stream(), schedule.tokens);
    let [k_dim, v_dim] = widths(heads);
    let width = k_dim.saturating_mul(2).saturating_add(v_dim);
    let mut mixed_qkv = Tensor::empty(stream, &[t, width])?;
    let mut z = Tensor::empty(stream, &[t, hv, head_v])?;
    let (mut b, mut a) = (Tensor::empty(stream, &[t, hv])?, Tensor::empty(stream, &[t, hv])?);
    let mut results = Results::new(stream, t, heads)?;
    let mut out = results.out(states);
    let gating = GatingInputs { a_log, dt_bias, a: &*a, b: &*b };
    check(&mixed_qkv, &conv, gating, heads, schedule, options, &mut out)?;
    let split = QkvzbaSplitOut { mixed_qkv: &mut mixed_qkv, z: &mut z, b: &mut b, a: &mut a };
    fused_qkvzba_split_into(mixed_qkvz, mixed_ba, heads, &QkvzbaSplitOptions::default(), split)?;
    let gating = GatingInputs { a_log, dt_bias, a: &*a, b: &*b };
    gated_delta_net_prefill_into(&mixed_qkv, conv, gating, heads, schedule, options, out)?;
    Ok(PrefillWithZ { o: results.o, z })
}
