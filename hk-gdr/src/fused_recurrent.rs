//! The gated delta rule, token after token. Each head of values has a state S of k keys by v values; at
//! each token, it decays, learns as much as differs from what it says of the key, and answers the query:
//!
//! ```text
//! S <- exp(g) S,  row i times exp(gk[i]),  column j times exp(gv[j])
//! S <- S + k (beta * (v - S^T k))^T
//! o  = S^T (scale q)
//! ```
//!
//! A sequence begins with its initial state, or zeros. Head j of hv has the queries and keys of head
//! `floor(j / (hv / h))`. If q and k are [normalised](FusedRecurrentOptions::use_qk_l2norm_in_kernel), each is
//! divided by `sqrt(sum x^2 + 1e-6)` before.
//!
//! | | |
//! |---|---|
//! | Shapes | q, k `[b, t, h, k]`, v `[b, t, hv, v]`, g `[b, t, hv]`, beta `[b, t, hv]` or `[b, t, hv, v]`, gk `[b, t, hv, k]`, gv `[b, t, hv, v]`, states `[n, hv, k, v]` or `[n, hv, v, k]` -> o `[b, t, hv, v]`, states alike; n is b, or as many sequences as have bounds; hv a multiple of h; k from 1 to 256, v from 1 to 512; any strides of all but the innermost dimension |
//! | Dtypes | q and k, v, o, beta bf16, f16, f32 each; g, gk, gv f32; initial states, final states f32, bf16 each; bounds i32, i64 |
//! | Numerics | f32 from the first token to the last, rounded once at the store; bitwise deterministic; exp(g) = 0 resets a state |
//! | Hardware | cdna3, cdna4; each byte of a state is read once and written once, 16 to a lane |
//! | Source | Yang, Kautz and Hatamizadeh, "Gated Delta Networks: Improving Mamba2 with Delta Rule" (2024) |
//!
//! ```
//! # #[cfg(feature = "cdna3")] {
//! use hk_gdr::{Device, FusedRecurrentOptions, Tensor, fused_recurrent_fwd};
//!
//! let stream = Device::open("sim:mi325x")?.default_stream();
//! // Two tokens of one head, with one key and one value.
//! let shape = [1, 2, 1, 1];
//! let q = Tensor::from_slice(&stream, &[1.0f32, 1.0], &shape)?;
//! let k = Tensor::from_slice(&stream, &[1.0f32, 0.5], &shape)?;
//! let v = Tensor::from_slice(&stream, &[4.0f32, 4.0], &shape)?;
//! let options = FusedRecurrentOptions::default().output_final_state(true);
//! let out = fused_recurrent_fwd::<_, _, f32>(&q, &k, &v, None, &options)?;
//! assert_eq!(out.o.to_vec()?, [4.0, 5.0]);
//! assert_eq!(out.final_state.expect("it is wanted").to_vec()?, [5.0]);
//! # }
//! # Ok::<(), hk_core::Error>(())
//! ```

#[cfg(doc)]
use hk_core::Error;
use hk_core::dtype::Real;
use hk_core::op::indices::Indices;
use hk_core::{Result, Tensor, TensorSlice};

use crate::delta_rule::{RealTensor, Recurrence, Shared, State, StateLayout};

/// What can be chosen of the recurrence. Default is none of it.
#[derive(Debug, Clone, Copy, Default)]
pub struct FusedRecurrentOptions<'a> {
    g: Option<&'a TensorSlice<f32>>,
    gk: Option<&'a TensorSlice<f32>>,
    gv: Option<&'a TensorSlice<f32>>,
    beta: Option<RealTensor<'a>>,
    scale: Option<f32>,
    normalizes: bool,
    output_final_state: bool,
    layout: StateLayout,
    cu_seqlens: Option<Indices<'a>>,
    validate_indices: Option<bool>,
}

impl<'a> FusedRecurrentOptions<'a> {
    /// Logarithms of decays, `[b, t, hv]`; 0 if not given.
    #[must_use]
    pub fn g(self, g: &'a TensorSlice<f32>) -> Self {
        Self { g: Some(g), ..self }
    }

    /// Logarithms of the decays of keys, `[b, t, hv, k]`; 0 if not given.
    #[must_use]
    pub fn gk(self, gk: &'a TensorSlice<f32>) -> Self {
        Self { gk: Some(gk), ..self }
    }

    /// Logarithms of the decays of values, `[b, t, hv, v]`; 0 if not given.
    #[must_use]
    pub fn gv(self, gv: &'a TensorSlice<f32>) -> Self {
        Self { gv: Some(gv), ..self }
    }

    /// How much is learnt, `[b, t, hv]`, or of each value, `[b, t, hv, v]`; all if not given.
    #[must_use]
    pub fn beta(self, beta: impl Into<RealTensor<'a>>) -> Self {
        Self { beta: Some(beta.into()), ..self }
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

    /// Whether the states after the last tokens are returned.
    #[must_use]
    pub fn output_final_state(self, output: bool) -> Self {
        Self { output_final_state: output, ..self }
    }

    /// The order of keys and values in states.
    #[must_use]
    pub fn state_layout(self, layout: StateLayout) -> Self {
        Self { layout, ..self }
    }

    /// The bounds of sequences that follow each other, `[n + 1]`; b is 1.
    #[must_use]
    pub fn cu_seqlens(self, bounds: impl Into<Indices<'a>>) -> Self {
        Self { cu_seqlens: Some(bounds.into()), ..self }
    }

    /// Whether bounds are looked at before the launch, which waits for the stream, to tell which are
    /// wrong. If not given, they are on the simulator and in builds with debug assertions.
    #[must_use]
    pub fn validate_indices(self, validate: bool) -> Self {
        Self { validate_indices: Some(validate), ..self }
    }
}

/// What [`fused_recurrent_fwd`] returns.
#[derive(Debug)]
pub struct FusedRecurrent<V: Real, S: State> {
    /// The results, in the shape of v.
    pub o: Tensor<V>,
    /// The states after the last tokens, if they are wanted.
    pub final_state: Option<Tensor<S>>,
}

/// Where [`fused_recurrent_fwd_into`] stores.
#[derive(Debug)]
pub struct FusedRecurrentOut<'a, O: Real, F: State> {
    /// The results, in the shape of v.
    pub o: &'a mut TensorSlice<O>,
    /// The states after the last tokens, which may be those before the first, if they are of the same
    /// type; wanted if given.
    pub final_state: Option<&'a mut TensorSlice<F>>,
}

/// The results of all tokens, and, if wanted, the states after them.
///
/// # Errors
/// [`Error::Shape`] if shapes do not fit to each other or to what there may be, [`Error::Stride`] if
/// elements of a row are not adjacent, and [`Error::Value`] if hv is no multiple of h, `scale` is not
/// positive and finite, a head's state spans more than 2^31 bytes, or a bound is wrong and
/// [looked at](FusedRecurrentOptions::validate_indices).
pub fn fused_recurrent_fwd<Q: Real, V: Real, S: State>(
    q: &TensorSlice<Q>,
    k: &TensorSlice<Q>,
    v: &TensorSlice<V>,
    initial_state: Option<&TensorSlice<S>>,
    options: &FusedRecurrentOptions<'_>,
) -> Result<FusedRecurrent<V, S>> {
    let mut o = Tensor::empty(v.stream(), v.shape())?;
    let mut final_state = None;
    if options.output_final_state {
        let mut recurrence = Recurrence::new(OP, options.shared());
        recurrence.qkv(q, k, v)?;
        recurrence.sizes()?;
        final_state = Some(Tensor::empty(v.stream(), &recurrence.state_shape())?);
    }
    let out = FusedRecurrentOut { o: &mut *o, final_state: final_state.as_deref_mut() };
    fused_recurrent_fwd_into(q, k, v, initial_state, options, out)?;
    Ok(FusedRecurrent { o, final_state })
}

/// As [`fused_recurrent_fwd`], into given tensors; o may have another element type than v, and final
/// states another than initial ones.
///
/// # Errors
/// As [`fused_recurrent_fwd`]; [`Error::Shape`] or [`Error::Stride`] also if an output is not as
/// [`FusedRecurrentOut`] says, and [`Error::Alias`] if one overlaps another argument otherwise.
pub fn fused_recurrent_fwd_into<Q: Real, V: Real, O: Real, S: State, F: State>(
    q: &TensorSlice<Q>,
    k: &TensorSlice<Q>,
    v: &TensorSlice<V>,
    initial_state: Option<&TensorSlice<S>>,
    options: &FusedRecurrentOptions<'_>,
    out: FusedRecurrentOut<'_, O, F>,
) -> Result<()> {
    let mut recurrence = Recurrence::new(OP, options.shared());
    recurrence.qkv(q, k, v)?;
    recurrence.sizes()?;
    recurrence.gates(options.g, options.gk, options.gv, options.beta)?;
    recurrence.states(initial_state, out.final_state)?;
    recurrence.output(out.o)?;
    recurrence.launch()
}

const OP: &str = "fused_recurrent_fwd";

impl<'a> FusedRecurrentOptions<'a> {
    fn shared(&self) -> Shared<'a> {
        let Self { scale, normalizes, layout, cu_seqlens, validate_indices, .. } = *self;
        Shared { scale, normalizes, layout, cu_seqlens, validate_indices }
    }
}
