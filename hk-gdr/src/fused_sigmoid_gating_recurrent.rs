//! The gated delta rule, token after token, with its gates computed from projections, and states that
//! are slots of a pool, which become the new ones: with `x = a + dt_bias`,
//!
//! ```text
//! g    = -exp(A_log) softplus(x)
//! beta = 1 / (1 + exp(-b))
//! ```
//!
//! and then as [`fused_recurrent`](mod@crate::fused_recurrent) has it. `softplus(x) = ln(1 + exp(c x)) / c`
//! with c = [`SigmoidGatingOptions::softplus_beta`], and x itself where `c x` is above
//! [`SigmoidGatingOptions::softplus_threshold`].
//!
//! A sequence whose slot is -1, or one that there is not, begins with zeros and leaves no state. Neither
//! does one without tokens: its slot stays bit for bit as it is, as all that have no sequence.
//!
//! | | |
//! |---|---|
//! | Shapes | A_log, dt_bias `[hv]`, a, b `[b, t, hv]` or `[b t, hv]`, q, k `[b, t, h, k]`, v `[b, t, hv, v]`, or mixed_qkv `[b, t, c]` with c = 2hk+hv v in their place, state `[slots, hv, k, v]` or `[slots, hv, v, k]` -> o `[b, t, hv, v]`; hv a multiple of h; k from 1 to 256, v from 1 to 512; any strides of all but the innermost dimension |
//! | Dtypes | A_log, dt_bias, a and b, q and k, v, o bf16, f16, f32 each; states f32, bf16; bounds and slots i32, i64 |
//! | Numerics | f32 from the first token to the last, rounded once at the store; bitwise deterministic |
//! | Hardware | cdna3, cdna4; each byte of a state is read once and written once, 16 to a lane |
//! | Source | Yang, Kautz and Hatamizadeh, "Gated Delta Networks: Improving Mamba2 with Delta Rule" (2024); Qwen3-Next |
//!
//! ```
//! # #[cfg(feature = "cdna3")] {
//! use hk_gdr::{
//!     Device, GatingInputs, SigmoidGatingOptions, Tensor, fused_sigmoid_gating_recurrent,
//! };
//!
//! let stream = Device::open("sim:mi325x")?.default_stream();
//! let one = |number: f32, shape: &[usize]| Tensor::filled(&stream, shape, number);
//! let (a_log, dt_bias) = (one(0.0, &[1])?, one(0.0, &[1])?);
//! let (a, b) = (one(-200.0, &[1, 1, 1])?, one(0.0, &[1, 1, 1])?);
//! let gating = GatingInputs { a_log: &a_log, dt_bias: &dt_bias, a: &a, b: &b };
//! let (q, v) = (one(1.0, &[1, 1, 1, 1])?, one(4.0, &[1, 1, 1, 1])?);
//! let mut state = one(2.0, &[1, 1, 1, 1])?;
//! let options = SigmoidGatingOptions::default();
//! let o = fused_sigmoid_gating_recurrent(gating, &q, &q, &v, Some(&mut *state), &options)?;
//! // Nothing decays, and half of what differs is learnt.
//! assert_eq!(o.to_vec()?, [3.0]);
//! assert_eq!(state.to_vec()?, [3.0]);
//! # }
//! # Ok::<(), hk_core::Error>(())
//! ```

#[cfg(doc)]
use hk_core::Error;
use hk_core::dtype::Real;
use hk_core::op::indices::Indices;
use hk_core::{Result, Tensor, TensorSlice};

use crate::QkvzbaHeads;
use crate::delta_rule::{Recurrence, Shared, State, StateLayout};

/// From what gates are computed.
#[derive(Debug)]
pub struct GatingInputs<'a, P: Real, D: Real, A: Real> {
    /// Logarithms of the rates of heads, `[hv]`.
    pub a_log: &'a TensorSlice<P>,
    /// Added to a, `[hv]`.
    pub dt_bias: &'a TensorSlice<D>,
    /// Steps, `[b, t, hv]`.
    pub a: &'a TensorSlice<A>,
    /// Strengths before the sigmoid, `[b, t, hv]`.
    pub b: &'a TensorSlice<A>,
}

impl<P: Real, D: Real, A: Real> Clone for GatingInputs<'_, P, D, A> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<P: Real, D: Real, A: Real> Copy for GatingInputs<'_, P, D, A> {}

/// What can be chosen of the recurrence.
#[derive(Debug, Clone, Copy)]
pub struct SigmoidGatingOptions<'a> {
    softplus_beta: f32,
    softplus_threshold: f32,
    scale: Option<f32>,
    normalizes: bool,
    layout: StateLayout,
    state_indices: Option<Indices<'a>>,
    cu_seqlens: Option<Indices<'a>>,
    validate_indices: Option<bool>,
}

impl Default for SigmoidGatingOptions<'_> {
    /// Factor 1 and threshold 20 of softplus, and nothing else.
    fn default() -> Self {
        Self {
            softplus_beta: 1.0,
            softplus_threshold: 20.0,
            scale: None,
            normalizes: false,
            layout: StateLayout::Kv,
            state_indices: None,
            cu_seqlens: None,
            validate_indices: None,
        }
    }
}

impl<'a> SigmoidGatingOptions<'a> {
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

    /// Whether queries and keys are divided by their lengths.
    #[must_use]
    pub fn use_qk_l2norm_in_kernel(self, normalizes: bool) -> Self {
        Self { normalizes, ..self }
    }

    /// The order of keys and values in states.
    #[must_use]
    pub fn state_layout(self, layout: StateLayout) -> Self {
        Self { layout, ..self }
    }

    /// The slot of each sequence in the states, `[n]`, each another, or -1; if not given, those of their
    /// numbers.
    #[must_use]
    pub fn state_indices(self, slots: impl Into<Indices<'a>>) -> Self {
        Self { state_indices: Some(slots.into()), ..self }
    }

    /// The bounds of sequences that follow each other, `[n + 1]`; b is 1.
    #[must_use]
    pub fn cu_seqlens(self, bounds: impl Into<Indices<'a>>) -> Self {
        Self { cu_seqlens: Some(bounds.into()), ..self }
    }

    /// Whether bounds and slots are looked at before the launch, which waits for the stream, to tell
    /// which are wrong. If not given, they are on the simulator and in builds with debug assertions.
    #[must_use]
    pub fn validate_indices(self, validate: bool) -> Self {
        Self { validate_indices: Some(validate), ..self }
    }

    fn shared(&self) -> Shared<'a> {
        let Self { scale, normalizes, layout, cu_seqlens, validate_indices, .. } = *self;
        Shared { scale, normalizes, layout, cu_seqlens, validate_indices }
    }
}

/// Where [`fused_sigmoid_gating_recurrent_into`] stores.
#[derive(Debug)]
pub struct SigmoidGatingOut<'a, O: Real, S: State> {
    /// The results, `[b, t, hv, v]`.
    pub o: &'a mut TensorSlice<O>,
    /// The states, which become the new ones; if there are none, sequences begin with zeros.
    pub state: Option<&'a mut TensorSlice<S>>,
}

/// The results of all tokens; states become those after them.
///
/// # Errors
/// [`Error::Shape`] if shapes do not fit to each other or to what there may be, [`Error::Stride`] if
/// elements of a row are not adjacent, [`Error::Value`] if hv is no multiple of h, `scale` or
/// `softplus_beta` is not positive and finite, `softplus_threshold` is NaN, a head's state spans more than
/// 2^31 bytes, there are slots without states, or a bound or a slot is wrong and
/// [looked at](SigmoidGatingOptions::validate_indices), and [`Error::Alias`] if states overlap another
/// argument.
pub fn fused_sigmoid_gating_recurrent<P: Real, D: Real, A: Real, Q: Real, V: Real, S: State>(
    gating: GatingInputs<'_, P, D, A>,
    q: &TensorSlice<Q>,
    k: &TensorSlice<Q>,
    v: &TensorSlice<V>,
    state: Option<&mut TensorSlice<S>>,
    options: &SigmoidGatingOptions<'_>,
) -> Result<Tensor<V>> {
    let mut o = Tensor::empty(v.stream(), v.shape())?;
    let out = SigmoidGatingOut { o: &mut *o, state };
    fused_sigmoid_gating_recurrent_into(gating, q, k, v, options, out)?;
    Ok(o)
}

/// As [`fused_sigmoid_gating_recurrent`], into given tensors; o may have another element type.
///
/// # Errors
/// As [`fused_sigmoid_gating_recurrent`]; [`Error::Shape`] or [`Error::Stride`] also if o is not as
/// [`SigmoidGatingOut`] says, and [`Error::Alias`] if it overlaps another argument.
pub fn fused_sigmoid_gating_recurrent_into<
    P: Real,
    D: Real,
    A: Real,
    Q: Real,
    V: Real,
    O: Real,
    S: State,
>(
    gating: GatingInputs<'_, P, D, A>,
    q: &TensorSlice<Q>,
    k: &TensorSlice<Q>,
    v: &TensorSlice<V>,
    options: &SigmoidGatingOptions<'_>,
    out: SigmoidGatingOut<'_, O, S>,
) -> Result<()> {
    let mut recurrence = Recurrence::new("fused_sigmoid_gating_recurrent", options.shared());
    recurrence.qkv(q, k, v)?;
    run(recurrence, gating, options, out)
}

/// As [`fused_sigmoid_gating_recurrent`], of queries, keys and values that are side by side in the rows
/// of `mixed_qkv`, `[b, t, c]` with c = 2hk+hv v.
///
/// # Errors
/// As [`fused_sigmoid_gating_recurrent`]; [`Error::Value`] also if a number of heads or channels is 0.
pub fn fused_sigmoid_gating_recurrent_packed<P: Real, D: Real, A: Real, Q: Real, S: State>(
    gating: GatingInputs<'_, P, D, A>,
    mixed_qkv: &TensorSlice<Q>,
    heads: QkvzbaHeads,
    state: Option<&mut TensorSlice<S>>,
    options: &SigmoidGatingOptions<'_>,
) -> Result<Tensor<Q>> {
    let recurrence = packed(mixed_qkv, heads, options)?;
    let [b, t] = recurrence.arguments.sizes(["b", "t"])?;
    let shape = [b, t, heads.num_heads_v, heads.head_v];
    let mut o = Tensor::empty(mixed_qkv.stream(), &shape)?;
    run(recurrence, gating, options, SigmoidGatingOut { o: &mut *o, state })?;
    Ok(o)
}

/// As [`fused_sigmoid_gating_recurrent_packed`], into given tensors; o may have another element type.
///
/// # Errors
/// As [`fused_sigmoid_gating_recurrent_packed`] and [`fused_sigmoid_gating_recurrent_into`].
pub fn fused_sigmoid_gating_recurrent_packed_into<
    P: Real,
    D: Real,
    A: Real,
    Q: Real,
    O: Real,
    S: State,
>(
    gating: GatingInputs<'_, P, D, A>,
    mixed_qkv: &TensorSlice<Q>,
    heads: QkvzbaHeads,
    options: &SigmoidGatingOptions<'_>,
    out: SigmoidGatingOut<'_, O, S>,
) -> Result<()> {
    run(packed(mixed_qkv, heads, options)?, gating, options, out)
}

fn packed<'a, Q: Real>(
    mixed_qkv: &TensorSlice<Q>,
    heads: QkvzbaHeads,
    options: &SigmoidGatingOptions<'a>,
) -> Result<Recurrence<'a>> {
    let op = "fused_sigmoid_gating_recurrent_packed";
    let mut recurrence = Recurrence::new(op, options.shared());
    recurrence.mixed_qkv(mixed_qkv, heads)?;
    Ok(recurrence)
}

fn run<'a, P: Real, D: Real, A: Real, O: Real, S: State>(
    mut recurrence: Recurrence<'a>,
    gating: GatingInputs<'_, P, D, A>,
    options: &SigmoidGatingOptions<'a>,
    out: SigmoidGatingOut<'_, O, S>,
) -> Result<()> {
    recurrence.sizes()?;
    let softplus = [options.softplus_beta, options.softplus_threshold];
    recurrence.computed_gates(gating, softplus)?;
    match out.state {
        Some(state) => recurrence.pool(state, options.state_indices)?,
        None => {
            let absent = options.state_indices.is_none();
            recurrence.arguments.require(
                absent,
                "state_indices",
                "absent without states",
                "given",
            )?;
        }
    }
    recurrence.output(out.o)?;
    recurrence.launch()
}
