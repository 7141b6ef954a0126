//! Attention of sequences to themselves, which are anywhere among the tokens:
//!
//! ```text
//! o[i] = sum_j exp(scale (q[i] k[j]) - ln(sum_j exp(scale (q[i] k[j])))) v[j]
//! ```
//!
//! over the keys of the query's sequence, or, if it is causal, those with j <= i. Head h of hq has the keys
//! and values of head `floor(h / (hq / hk))`.
//!
//! | | |
//! |---|---|
//! | Shapes | q `[t, hq, d]`, k `[t, hk, d]`, v `[t, hk, dv]`, b_start_loc, b_seq_len `[b]` -> out `[t, hq, dv]`, of which only rows of sequences are written; d up to 640, dv up to 256 or, if d is more, 512, hq a multiple of hk; any strides of all but the innermost dimension |
//! | Dtypes | q, k, v and out bf16, f16; indices i32, i64 |
//! | Numerics | as [`mha`](crate::mha) |
//! | Hardware | cdna3, cdna4 |
//! | Source | Dao, "FlashAttention-2: Faster Attention with Better Parallelism and Work Partitioning" (2023) |
//!
//! ```
//! # #[cfg(feature = "cdna3")] {
//! use hk_attn::{Device, PrefillOptions, Tensor, bf16, prefill_attn_fwd};
//!
//! let stream = Device::open("sim:mi325x")?.default_stream();
//! let of = |values: &[f32]| -> hk_attn::Result<Tensor<bf16>> {
//!     let values: Vec<_> = values.iter().map(|value| bf16::from_f32(*value)).collect();
//!     Tensor::from_slice(&stream, &values, &[values.len(), 1, 1])
//! };
//! // A sequence of two tokens, behind one that is nobody's.
//! let (q, k, v) = (of(&[0.0; 3])?, of(&[9.0, 1.0, 2.0])?, of(&[9.0, 3.0, 5.0])?);
//! let start = Tensor::from_slice(&stream, &[1i32], &[1])?;
//! let length = Tensor::from_slice(&stream, &[2i32], &[1])?;
//! let out = prefill_attn_fwd(&q, &k, &v, &start, &length, 2, &PrefillOptions::default())?;
//! assert_eq!(out.to_vec()?, [0.0, 3.0, 4.0].map(bf16::from_f32));
//! # }
//! # Ok::<(), hk_core::Error>(())
//! ```

#[cfg(doc)]
use hk_core::Error;
use hk_core::op::indices::Indices;
use hk_core::{Result, Tensor, TensorSlice};

use crate::attention::{AttentionOptions, KeySource, Problem};
use crate::lean_atten::LeanElement;

/// What can be chosen of the attention. By default it is causal.
#[derive(Debug, Clone, Copy)]
pub struct PrefillOptions {
    scale: Option<f32>,
    is_causal: bool,
    validate_indices: Option<bool>,
}

impl Default for PrefillOptions {
    fn default() -> Self {
        Self { scale: None, is_causal: true, validate_indices: None }
    }
}

impl PrefillOptions {
    /// Factor of scores; `1 / sqrt(d)` if not given.
    #[must_use]
    pub fn scale(self, scale: f32) -> Self {
        Self { scale: Some(scale), ..self }
    }

    /// Whether tokens see no tokens behind them.
    #[must_use]
    pub fn is_causal(self, is_causal: bool) -> Self {
        Self { is_causal, ..self }
    }

    /// Whether indices are looked at before the launch, which waits for the stream, to tell which are
    /// wrong. If not given, they are on the simulator and in builds with debug assertions.
    #[must_use]
    pub fn validate_indices(self, validate: bool) -> Self {
        Self { validate_indices: Some(validate), ..self }
    }
}

/// Attention of sequences of at most `max_input_len` tokens; results of tokens that are in none are 0.
///
/// # Errors
/// [`Error::Shape`] if shapes do not fit to each other or to what there may be, [`Error::Stride`] if
/// elements of a row are not adjacent, [`Error::Value`] if hq is no multiple of hk, the scale is not
/// finite, or starts, lengths or the most tokens of a sequence are wrong and
/// [looked at](PrefillOptions::validate_indices).
pub fn prefill_attn_fwd<'a, T: LeanElement>(
    q: &TensorSlice<T>,
    k: &TensorSlice<T>,
    v: &TensorSlice<T>,
    b_start_loc: impl Into<Indices<'a>>,
    b_seq_len: impl Into<Indices<'a>>,
    max_input_len: usize,
    options: &PrefillOptions,
) -> Result<Tensor<T>> {
    let [t, hq] = [0, 1].map(|dim| q.shape().get(dim).copied().unwrap_or_default());
    let dv = v.shape().last().copied().unwrap_or_default();
    let mut out = Tensor::zeros(q.stream(), &[t, hq, dv])?;
    prefill_attn_fwd_into(q, k, v, b_start_loc, b_seq_len, max_input_len, options, &mut *out)?;
    Ok(out)
}

/// As [`prefill_attn_fwd`], into a given tensor, of which rows of tokens that are in no sequence stay as
/// they are.
///
/// # Errors
/// As [`prefill_attn_fwd`]; [`Error::Shape`] or [`Error::Stride`] also if the output is not `[t, hq, dv]`,
/// and [`Error::Alias`] if it overlaps another argument.
#[expect(clippy::too_many_arguments, reason = "all are the op's")]
pub fn prefill_attn_fwd_into<'a, T: LeanElement>(
    q: &TensorSlice<T>,
    k: &TensorSlice<T>,
    v: &TensorSlice<T>,
    b_start_loc: impl Into<Indices<'a>>,
    b_seq_len: impl Into<Indices<'a>>,
    max_input_len: usize,
    options: &PrefillOptions,
    out: &mut TensorSlice<T>,
) -> Result<()> {
    let PrefillOptions { scale, is_causal, validate_indices } = *options;
    let mut all = AttentionOptions::default().causal(is_causal);
    all = scale.into_iter().fold(all, AttentionOptions::scale);
    all = validate_indices.into_iter().fold(all, AttentionOptions::validate_indices);
    let (starts, lengths) = (b_start_loc.into(), b_seq_len.into());
    let mut problem = Problem::new("prefill_attn_fwd", all).with_wide_heads();
    let arguments = &mut problem.arguments;
    let [q_row, q_head, _] = arguments.input("q", q, &["t", "hq", "d"]).adjacent()?;
    let [k_row, k_head, _] = arguments.input("k", k, &["t", "hk", "d"]).adjacent()?;
    let [v_row, v_head, _] = arguments.input("v", v, &["t", "hk", "dv"]).adjacent()?;
    let of_starts = starts.declare(arguments, "b_start_loc", &["b"])?;
    let of_lengths = lengths.declare(arguments, "b_seq_len", &["b"])?;
    let [t, b] = arguments.sizes(["t", "b"])?;
    let [d, dv] = problem.heads()?;
    problem.queries(q, [0, q_row, q_head]);
    let keys = problem.rows(k, [0, k_row, k_head], d);
    let values = problem.rows(v, [0, v_row, v_head], dv);
    let (length, count) = (t as u32, t as u32);
    problem.args.source[0] = KeySource {
        keys,
        values,
        starts: of_starts,
        lengths: of_lengths,
        length,
        count,
        ..KeySource::NONE
    };
    (problem.args.q_starts, problem.args.q_lengths) = (of_starts, of_lengths);
    let most = max_input_len.min(t);
    (problem.args.sequences, problem.args.q_length) = (b as u32, most as u32);
    (problem.args.q_rows, problem.most_keys) = (t as u32, most);
    problem.limit(["t", "b"])?;
    let [row, head, _] = problem.arguments.output("out", out, &["t", "hq", "dv"]).adjacent()?;
    problem.results(out, [0, row, head]);
    problem.declare_options()?;
    problem.check(move |call| {
        let (starts, lengths) = (starts.to_vec()?, lengths.to_vec()?);
        let constraint = format!("from 0 to max_input_len, {max_input_len}");
        call.require_each("b_seq_len", &lengths, &constraint, |_, length| {
            (0..=max_input_len as i64).contains(&length)
        })?;
        let constraint = format!("such that the sequence is within {t} tokens");
        call.require_each("b_start_loc", &starts, &constraint, |at, start| {
            start >= 0 && start.saturating_add(lengths[at]) <= t as i64
        })
    });
    problem.launch()
}
