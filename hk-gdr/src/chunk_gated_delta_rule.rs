//! The gated delta rule of whole sequences, in chunks of tokens: what
//! [`fused_recurrent`](mod@crate::fused_recurrent) computes token after token,
//!
//! ```text
//! S <- exp(g) S
//! S <- S + k (beta (v - S^T k))^T
//! o  = S^T (scale q)
//! ```
//!
//! with matrix instructions: [`chunk_pipeline`](crate::chunk_pipeline), then
//! [`chunk_delta_h_fwd`](crate::chunk_delta_h_fwd) and [`chunk_fwd_o`](crate::chunk_fwd_o). Keys should be
//! no longer than 1, as those that are
//! [divided by their lengths](ChunkGatedDeltaRuleOptions::use_qk_l2norm_in_kernel), and g finite.
//!
//! | | |
//! |---|---|
//! | Shapes | q, k `[b, t, h, k]`, v `[b, t, hv, v]`, g, beta `[b, t, hv]`, states `[n, hv, k, v]` or `[n, hv, v, k]`, or of slots -> o as v, states; chunks of 16, 32 or 64 tokens; n is b, or as many sequences as the schedule has; hv a multiple of h; k from 1 to 256, v from 1 to 512; any strides of all but the innermost dimension, 64 tokens and a state of a head within 2^31 bytes |
//! | Dtypes | q, k, v, o all bf16, or all f16; g, beta bf16, f16, f32; initial states, final states f32, bf16 each; slots i32, i64 |
//! | Numerics | sums of g, the inverse of a chunk, and states in f32; operands of products are rounded to the type of q: normalised q and k, the inverse, w, u, v_new, states, scores; bitwise deterministic |
//! | Hardware | cdna3, cdna4; three launches, or four; what they hand to each other is in the stream's workspace |
//! | Source | Yang, Kautz and Hatamizadeh, "Gated Delta Networks: Improving Mamba2 with Delta Rule" (2024) |
//!
//! ```
//! # #[cfg(feature = "cdna3")] {
//! use hk_gdr::{ChunkGatedDeltaRuleOptions, Device, Tensor, bf16, chunk_gated_delta_rule};
//!
//! let stream = Device::open("sim:mi325x")?.default_stream();
//! let q = Tensor::filled(&stream, &[1, 2, 1, 1], bf16::ONE)?;
//! let v = Tensor::from_slice(&stream, &[4.0, 6.0].map(bf16::from_f32), &[1, 2, 1, 1])?;
//! let g = Tensor::filled(&stream, &[1, 2, 1], 0.0f32)?;
//! let beta = Tensor::filled(&stream, &[1, 2, 1], 0.5f32)?;
//! let options = ChunkGatedDeltaRuleOptions::default().output_final_state(true);
//! let out = chunk_gated_delta_rule::<_, f32>(&q, &q, &v, &g, &beta, None, &options)?;
//! // Half of what differs is learnt of each token.
//! assert_eq!(out.o.to_vec()?, [2.0, 4.0].map(bf16::from_f32));
//! assert_eq!(out.final_state.expect("it is wanted").to_vec()?, [4.0]);
//! # }
//! # Ok::<(), hk_core::Error>(())
//! ```

#[cfg(doc)]
use hk_core::Error;
use hk_core::op::Call;
use hk_core::op::indices::IndexList;
use hk_core::{AnyPtr, Result, Tensor, TensorSlice};

use crate::PrefillSchedule;
use crate::chunk::{Launch, Parts, Problem, Scan, ScanParts};
use crate::chunk_kkt::MOST_KEYS;
use crate::chunk_prepare::{self, ChunkPrepareArgs};
use crate::chunk_states::ChunkStates;
use crate::chunk_wu::MOST_VALUES;
use crate::chunks::{ChunkElement, ChunkOp, Chunking, GateBase};
use crate::delta_rule::{RealTensor, State, StateLayout, TokenHeads};
use crate::qk_norm::{QkNormArgs, qk_norm};

/// What can be chosen of the rule. Default is none of it.
#[derive(Debug, Clone, Copy, Default)]
pub struct ChunkGatedDeltaRuleOptions<'a> {
    chunking: Chunking<'a>,
    base: GateBase,
    scale: Option<f32>,
    normalizes: bool,
    layout: StateLayout,
    output_final_state: bool,
    pads: bool,
    validate_indices: Option<bool>,
}

impl<'a> ChunkGatedDeltaRuleOptions<'a> {
    /// Tokens of a chunk, 16, 32 or 64; those of the schedule, or 64, if not given.
    #[must_use]
    pub fn chunk_size(mut self, tokens: usize) -> Self {
        self.chunking.chunk_size = Some(tokens);
        self
    }

    /// The chunks of sequences that follow each other; b is 1. Of a batch whose first sequences are
    /// decoded, that of those [after them](PrefillSchedule::after_decodes).
    #[must_use]
    pub fn schedule(mut self, schedule: &'a PrefillSchedule) -> Self {
        self.chunking.schedule = Some(schedule);
        self
    }

    /// Of which number powers are taken for decays.
    #[must_use]
    pub fn gate_base(self, base: GateBase) -> Self {
        Self { base, ..self }
    }

    /// Factor of queries; `1 / sqrt(k)` if not given.
    #[must_use]
    pub fn scale(self, scale: f32) -> Self {
        Self { scale: Some(scale), ..self }
    }

    /// Whether queries and keys are divided by their lengths, `sqrt(sum x^2 + 1e-6)`, and rounded.
    #[must_use]
    pub fn use_qk_l2norm_in_kernel(self, normalizes: bool) -> Self {
        Self { normalizes, ..self }
    }

    /// The order of keys and values in states.
    #[must_use]
    pub fn state_layout(self, layout: StateLayout) -> Self {
        Self { layout, ..self }
    }

    /// Whether the states after the last tokens are returned.
    #[must_use]
    pub fn output_final_state(self, output: bool) -> Self {
        Self { output_final_state: output, ..self }
    }

    /// Whether gates of sequences without a slot do not count, whose keys and values are zeros: then their
    /// results are zeros, too, whatever these gates are.
    pub(crate) fn pads(self, pads: bool) -> Self {
        Self { pads, ..self }
    }

    /// Whether slots are looked at before the launch, which waits for the stream, to tell which are
    /// wrong. If not given, they are on the simulator and in builds with debug assertions.
    #[must_use]
    pub fn validate_indices(self, validate: bool) -> Self {
        Self { validate_indices: Some(validate), ..self }
    }
}

/// What [`chunk_gated_delta_rule`] returns.
#[derive(Debug)]
pub struct ChunkGatedDeltaRule<T: ChunkElement, S: State> {
    /// The results, in the shape of v.
    pub o: Tensor<T>,
    /// The states after the last tokens, if they are wanted.
    pub final_state: Option<Tensor<S>>,
}

/// Where [`chunk_gated_delta_rule_into`] stores.
#[derive(Debug)]
pub struct ChunkGatedDeltaRuleOut<'a, T: ChunkElement, S: State, F: State = S> {
    /// The results, in the shape of v.
    pub o: &'a mut TensorSlice<T>,
    /// The states with which sequences begin and end.
    pub states: ChunkStates<'a, S, F>,
}

/// The results of all tokens, and, if wanted, the states after them.
///
/// # Errors
/// [`Error::Shape`] if shapes do not fit to each other, to the schedule or to what there may be,
/// [`Error::Stride`] if elements of a row are not adjacent, [`Error::Value`] if hv is no multiple of h, the
/// chunk size is none of the above, `scale` is not positive and finite, or a chunk of tokens or a head's
/// state spans more than 2^31 bytes, and [`Error::OutOfMemory`].
pub fn chunk_gated_delta_rule<'a, T: ChunkElement, S: State>(
    q: &TensorSlice<T>,
    k: &TensorSlice<T>,
    v: &TensorSlice<T>,
    g: impl Into<RealTensor<'a>>,
    beta: impl Into<RealTensor<'a>>,
    initial_state: Option<&TensorSlice<S>>,
    options: &ChunkGatedDeltaRuleOptions<'_>,
) -> Result<ChunkGatedDeltaRule<T, S>> {
    let mut o = Tensor::empty(v.stream(), v.shape())?;
    let mut final_state = None;
    if options.output_final_state {
        let mut op = ChunkOp::new(OP, options.chunking);
        op.vectors("k", k, &["b", "t", "h", "k"])?;
        op.vectors("v", v, &["b", "t", "hv", "v"])?;
        let sequences = op.schedule()?.sequences as usize;
        let [hv, k, v] = op.arguments.sizes(["hv", "k", "v"])?;
        let [first, second] = if options.layout == StateLayout::Kv { [k, v] } else { [v, k] };
        final_state = Some(Tensor::empty(o.stream(), &[sequences, hv, first, second])?);
    }
    let states = ChunkStates::Each { initial: initial_state, finals: final_state.as_deref_mut() };
    let out = ChunkGatedDeltaRuleOut { o: &mut *o, states };
    chunk_gated_delta_rule_into(q, k, v, g, beta, options, out)?;
    Ok(ChunkGatedDeltaRule { o, final_state })
}

/// As [`chunk_gated_delta_rule`], into given tensors; final states may have another element type.
///
/// # Errors
/// As [`chunk_gated_delta_rule`]; [`Error::Shape`] or [`Error::Stride`] also if an output is not as
/// [`ChunkGatedDeltaRuleOut`] says, [`Error::Alias`] if one overlaps another argument otherwise, and
/// [`Error::Value`] if a slot is wrong and [looked at](ChunkGatedDeltaRuleOptions::validate_indices).
pub fn chunk_gated_delta_rule_into<'a, T: ChunkElement, S: State, F: State>(
    q: &TensorSlice<T>,
    k: &TensorSlice<T>,
    v: &TensorSlice<T>,
    g: impl Into<RealTensor<'a>>,
    beta: impl Into<RealTensor<'a>>,
    options: &ChunkGatedDeltaRuleOptions<'_>,
    out: ChunkGatedDeltaRuleOut<'_, T, S, F>,
) -> Result<()> {
    prepare(q, k, v, g, beta, options, out)?.map_or(Ok(()), Prepared::submit)
}

/// Checks, chooses and allocates all that [`chunk_gated_delta_rule_into`] is to launch, if anything is.
pub(crate) fn prepare<'a, T: ChunkElement, S: State, F: State>(
    q: &TensorSlice<T>,
    k: &TensorSlice<T>,
    v: &TensorSlice<T>,
    g: impl Into<RealTensor<'a>>,
    beta: impl Into<RealTensor<'a>>,
    options: &ChunkGatedDeltaRuleOptions<'_>,
    out: ChunkGatedDeltaRuleOut<'_, T, S, F>,
) -> Result<Option<Prepared>> {
    let layout = options.layout;
    let mut op = ChunkOp::new(OP, options.chunking);
    let mut q = op.vectors("q", q, &["b", "t", "h", "k"])?;
    let mut k = op.vectors("k", k, &["b", "t", "h", "k"])?;
    let v = op.vectors("v", v, &["b", "t", "hv", "v"])?;
    let g = op.real_scalars("g", g.into())?;
    let beta = op.real_scalars("beta", beta.into())?;
    let schedule = op.schedule()?;
    op.arguments.limit("k", 1..=MOST_KEYS)?;
    op.arguments.limit("v", 1..=MOST_VALUES)?;
    let states = op.states(out.states, layout, schedule.sequences)?;
    let o = op.output("o", out.o, &["b", "t", "hv", "v"])?;
    let scale = op.scale(options.scale)?;
    let problem = Problem::new(&op, schedule, options.base)?;
    let mut call = op.check()?;

    let Problem { h, hv, k: keys, v: values, .. } = problem;
    let of_norm = if options.normalizes { problem.bytes::<T>(h, keys) } else { 0 };
    let states_of_chunks = (schedule.chunks as usize).saturating_mul(hv * keys * values);
    let pieces = call.workspace([
        problem.bytes::<f32>(hv, 1),
        problem.bytes::<T>(hv, keys),
        problem.bytes::<T>(hv, values),
        problem.bytes::<T>(hv, values),
        states_of_chunks.saturating_mul(size_of::<T>()),
        of_norm,
        of_norm,
    ])?;
    let [sums, w, u, v_new, snapshots, normalized_q, normalized_k] = pieces;
    let parts = Parts {
        sums: problem.tokens::<f32>(sums, hv, 1),
        tm: TokenHeads::NONE,
        w: problem.tokens::<T>(w, hv, keys),
        u: problem.tokens::<T>(u, hv, values),
    };
    let mut norms = None;
    if options.normalizes {
        let normalized = [normalized_q, normalized_k].map(|of| problem.tokens::<T>(of, h, keys));
        norms = Some(qk_norm::<T>(&call, &problem, [q, k], normalized)?);
        [q, k] = normalized;
    }
    let slots = if options.pads { states.slots } else { IndexList::NONE };
    let padded = (slots, states.slot_count);
    let rows = chunk_prepare::prepare::<T>(&call, &problem, [k, v, g, beta], &parts, padded)?;
    let v_new = problem.tokens::<T>(v_new, hv, values);
    let of_scan = ScanParts { q, k, v_new, snapshots: snapshots.any(), o, scale };
    let scan = Scan::new::<T>(&call, &problem, &states, layout, &parts, &of_scan)?;
    // Slots may be wrong even where there is nothing to do.
    states.validate(&call, options.validate_indices)?;
    let has_finals = states.finals.base != AnyPtr::NULL && !states.in_place;
    if schedule.sequences == 0 || schedule.chunks == 0 && !has_finals {
        return Ok(None);
    }
    Ok(Some(Prepared { call, norms, rows, scan, has_chunks: schedule.chunks > 0 }))
}

/// A rule that only has to be launched.
pub(crate) struct Prepared {
    call: Call,
    norms: Option<Launch<QkNormArgs>>,
    /// Of which states learn.
    rows: Launch<ChunkPrepareArgs>,
    scan: Scan,
    has_chunks: bool,
}

impl Prepared {
    pub(crate) fn submit(self) -> Result<()> {
        let Self { call, norms, rows, scan, has_chunks } = self;
        call.submit(|stream| {
            if !has_chunks {
                return scan.launch_states(stream);
            }
            if let Some(norms) = &norms {
                norms.launch(stream)?;
            }
            rows.launch(stream)?;
            scan.launch(stream)
        })
    }
}

const OP: &str = "chunk_gated_delta_rule";
