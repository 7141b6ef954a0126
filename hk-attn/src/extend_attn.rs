//! Attention of new tokens to the tokens before them, which are anywhere in a cache, and to each other:
//!
//! ```text
//! s[i, j] = cap tanh(scale (q[i] k[j]) / cap),   k = [k_buffer[indices of the sequence]; k_extend]
//! o[i]    = sum_j exp(s[i, j] - ln(sum_j exp(s[i, j]))) v[j]
//! ```
//!
//! New token i of a sequence sees all tokens before, and the new ones up to itself, or all; or what a mask
//! says. Head h of hq has the keys and values of head `floor(h / (hq / hk))`. A token that sees nothing has
//! the result 0.
//!
//! | | |
//! |---|---|
//! | Shapes | q_extend `[te, hq, d]`, k_extend `[te, hk, d]`, v_extend `[te, hk, dv]`, qo_indptr `[b + 1]`; before them k_buffer `[tokens, hk, d]`, v_buffer `[tokens, hk, dv]`, kv_indptr `[b + 1]`, kv_indices at least as many as its last; custom_mask of rows of all keys, token after token, mask_indptr `[b + 1]` -> o_extend `[te, hq, dv]`; d up to 640, dv up to 256 or, if d is more, 512, hq a multiple of hk; any strides of all but the innermost dimension |
//! | Dtypes | q_extend, k_extend, v_extend and buffers bf16, f16; custom_mask u8; indices i32, i64 |
//! | Numerics | as [`mha`](crate::mha), with one state of the sums for both kinds of keys |
//! | Hardware | cdna3, cdna4 |
//! | Source | Zheng et al., "SGLang: Efficient Execution of Structured Language Model Programs" (2024), whose radix attention defines it |
//!
//! ```
//! # #[cfg(feature = "cdna3")] {
//! use hk_attn::{Device, ExtendOptions, ExtendPrefix, Tensor, bf16, extend_attn_fwd};
//!
//! let stream = Device::open("sim:mi325x")?.default_stream();
//! let of = |values: &[f32]| -> hk_attn::Result<Tensor<bf16>> {
//!     let values: Vec<_> = values.iter().map(|value| bf16::from_f32(*value)).collect();
//!     Tensor::from_slice(&stream, &values, &[values.len(), 1, 1])
//! };
//! let bounds = Tensor::from_slice(&stream, &[0i32, 1], &[2])?;
//! // One new token, behind token 2 of the cache.
//! let (q, k, v) = (of(&[0.0])?, of(&[1.0])?, of(&[3.0])?);
//! let (k_buffer, v_buffer) = (of(&[9.0, 9.0, 1.0])?, of(&[9.0, 9.0, 5.0])?);
//! let indices = Tensor::from_slice(&stream, &[2i32], &[1])?;
//! let prefix = ExtendPrefix {
//!     k_buffer: &k_buffer,
//!     v_buffer: &v_buffer,
//!     kv_indptr: (&bounds).into(),
//!     kv_indices: (&indices).into(),
//! };
//! let o = extend_attn_fwd(&q, &k, &v, &bounds, 1, Some(&prefix), &ExtendOptions::default())?;
//! assert_eq!(o.to_vec()?, [bf16::from_f32(4.0)]);
//! # }
//! # Ok::<(), hk_core::Error>(())
//! ```

#[cfg(doc)]
use hk_core::Error;
use hk_core::op::indices::Indices;
use hk_core::{Result, Tensor, TensorSlice};

use crate::attention::{AttentionOptions, KeySource, Lengths, Problem};
use crate::lean_atten::LeanElement;

/// The tokens before the new ones.
#[derive(Debug, Clone, Copy)]
pub struct ExtendPrefix<'a, T: LeanElement> {
    /// Keys of the cache.
    pub k_buffer: &'a TensorSlice<T>,
    /// Values of the cache.
    pub v_buffer: &'a TensorSlice<T>,
    /// Bounds of sequences among the indices.
    pub kv_indptr: Indices<'a>,
    /// Rows of the cache.
    pub kv_indices: Indices<'a>,
}

/// Which keys each new token sees: rows of bytes, not 0 where it does, of all keys of its sequence.
#[derive(Debug, Clone, Copy)]
pub struct ExtendMask<'a> {
    /// The rows, token after token.
    pub custom_mask: &'a TensorSlice<u8>,
    /// Where those of sequences begin, and the end.
    pub mask_indptr: Indices<'a>,
    /// Whether the tokens before are visible whatever the mask says.
    pub skip_prefix: bool,
}

/// What can be chosen of the attention. By default it is causal.
#[derive(Debug, Clone, Copy)]
pub struct ExtendOptions<'a> {
    scale: Option<f32>,
    logit_cap: f32,
    is_causal: bool,
    mask: Option<ExtendMask<'a>>,
    validate_indices: Option<bool>,
}

impl Default for ExtendOptions<'_> {
    fn default() -> Self {
        Self { scale: None, logit_cap: 0.0, is_causal: true, mask: None, validate_indices: None }
    }
}

impl<'a> ExtendOptions<'a> {
    /// Factor of scores; `1 / sqrt(d)` if not given.
    #[must_use]
    pub fn scale(self, scale: f32) -> Self {
        Self { scale: Some(scale), ..self }
    }

    /// What scores are capped to softly; not at all if 0.
    #[must_use]
    pub fn logit_cap(self, cap: f32) -> Self {
        Self { logit_cap: cap, ..self }
    }

    /// Whether new tokens see no new ones behind them; a mask says it instead, if there is one.
    #[must_use]
    pub fn is_causal(self, is_causal: bool) -> Self {
        Self { is_causal, ..self }
    }

    /// Which keys are visible.
    #[must_use]
    pub fn custom_mask(self, mask: ExtendMask<'a>) -> Self {
        Self { mask: Some(mask), ..self }
    }

    /// Whether indices are looked at before the launch, which waits for the stream, to tell which are
    /// wrong. If not given, they are on the simulator and in builds with debug assertions.
    #[must_use]
    pub fn validate_indices(self, validate: bool) -> Self {
        Self { validate_indices: Some(validate), ..self }
    }
}

/// Attention of new tokens, of which a sequence has `max_len_extend` at most.
///
/// # Errors
/// [`Error::Shape`] if shapes do not fit to each other or to what there may be, [`Error::Stride`] if
/// elements of a row are not adjacent, [`Error::Value`] if hq is no multiple of hk, an option is not what
/// it may be, or bounds, indices or the most tokens of a sequence are wrong and
/// [looked at](ExtendOptions::validate_indices).
pub fn extend_attn_fwd<'a, T: LeanElement>(
    q_extend: &TensorSlice<T>,
    k_extend: &TensorSlice<T>,
    v_extend: &TensorSlice<T>,
    qo_indptr: impl Into<Indices<'a>>,
    max_len_extend: usize,
    prefix: Option<&ExtendPrefix<'a, T>>,
    options: &ExtendOptions<'a>,
) -> Result<Tensor<T>> {
    let [te, hq] = [0, 1].map(|dim| q_extend.shape().get(dim).copied().unwrap_or_default());
    let dv = v_extend.shape().last().copied().unwrap_or_default();
    let mut o = Tensor::empty(q_extend.stream(), &[te, hq, dv])?;
    let (q, k, v) = (q_extend, k_extend, v_extend);
    extend_attn_fwd_into(q, k, v, qo_indptr, max_len_extend, prefix, options, &mut *o)?;
    Ok(o)
}

/// As [`extend_attn_fwd`], into a given tensor.
///
/// # Errors
/// As [`extend_attn_fwd`]; [`Error::Shape`] or [`Error::Stride`] also if the output is not `[te, hq, dv]`,
/// and [`Error::Alias`] if it overlaps another argument.
#[expect(clippy::too_many_arguments, reason = "all are the op's")]
pub fn extend_attn_fwd_into<'a, T: LeanElement>(
    q_extend: &TensorSlice<T>,
    k_extend: &TensorSlice<T>,
    v_extend: &TensorSlice<T>,
    qo_indptr: impl Into<Indices<'a>>,
    max_len_extend: usize,
    prefix: Option<&ExtendPrefix<'a, T>>,
    options: &ExtendOptions<'a>,
    o_extend: &mut TensorSlice<T>,
) -> Result<()> {
    let ExtendOptions { scale, logit_cap, is_causal, mask, validate_indices } = *options;
    let mut all =
        AttentionOptions::default().causal(is_causal && mask.is_none()).softcap(logit_cap);
    all = scale.into_iter().fold(all, AttentionOptions::scale);
    all = validate_indices.into_iter().fold(all, AttentionOptions::validate_indices);
    let mut problem = Problem::new("extend_attn_fwd", all).with_wide_heads();
    let arguments = &mut problem.arguments;
    let [q_row, q_head, _] =
        arguments.input("q_extend", q_extend, &["te", "hq", "d"]).adjacent()?;
    let [k_row, k_head, _] =
        arguments.input("k_extend", k_extend, &["te", "hk", "d"]).adjacent()?;
    let [v_row, v_head, _] =
        arguments.input("v_extend", v_extend, &["te", "hk", "dv"]).adjacent()?;
    let is_cap = logit_cap >= 0.0 && logit_cap.is_finite();
    arguments.require(is_cap, "logit_cap", "0, or positive and finite", logit_cap)?;
    let [d, dv] = problem.heads()?;
    problem.queries(q_extend, [0, q_row, q_head]);
    let qo_indptr = qo_indptr.into();
    let lengths = Lengths { bounds: qo_indptr, most: max_len_extend };
    problem.bounds_of_queries("qo_indptr", "max_len_extend", lengths, "te")?;
    let [te] = problem.arguments.sizes(["te"])?;
    let keys = problem.rows(k_extend, [0, k_row, k_head], d);
    let values = problem.rows(v_extend, [0, v_row, v_head], dv);
    let fresh = problem.new_tokens([keys, values], te);
    problem.most_keys = te;
    if let Some(prefix) = prefix {
        problem.args.source = [cached(&mut problem, prefix)?, fresh];
    } else {
        problem.args.source[0] = fresh;
    }
    if let Some(mask) = mask {
        declare_mask(&mut problem, mask, prefix.map(|prefix| prefix.kv_indptr), qo_indptr)?;
        problem.args.steps.mask_skips_first = u32::from(mask.skip_prefix && prefix.is_some());
    }
    problem.limit(["te"])?;
    let declared = problem.arguments.output("o_extend", o_extend, &["te", "hq", "dv"]);
    let [row, head, _] = declared.adjacent()?;
    problem.results(o_extend, [0, row, head]);
    problem.declare_options()?;
    problem.launch()
}

/// Declares the tokens before.
fn cached<'a, T: LeanElement>(
    problem: &mut Problem<'a>,
    prefix: &ExtendPrefix<'a, T>,
) -> Result<KeySource> {
    let ExtendPrefix { k_buffer, v_buffer, kv_indptr, kv_indices } = *prefix;
    let arguments = &mut problem.arguments;
    let of_k: [_; 3] = arguments.input("k_buffer", k_buffer, &["tokens", "hk", "d"]).adjacent()?;
    let of_v: [_; 3] = arguments.input("v_buffer", v_buffer, &["tokens", "hk", "dv"]).adjacent()?;
    let starts = kv_indptr.declare(arguments, "kv_indptr", &["bounds"])?;
    let pages = kv_indices.declare(arguments, "kv_indices", &["indices"])?;
    let [tokens, indices, d, dv] = arguments.sizes(["tokens", "indices", "d", "dv"])?;
    arguments.limit("indices", 0..=i32::MAX as usize / 2)?;
    // A list of no tokens needs none.
    arguments.limit("tokens", indices.min(1)..=i32::MAX as usize / 2)?;
    let keys = problem.rows(k_buffer, [0, of_k[0], of_k[1]], d);
    let values = problem.rows(v_buffer, [0, of_v[0], of_v[1]], dv);
    problem.most_keys += indices;
    problem.check_tokens(kv_indptr, kv_indices, [indices, tokens]);
    Ok(KeySource {
        keys,
        values,
        pages,
        starts,
        starts_are_bounds: 1,
        length: indices as u32,
        count: tokens as u32,
        ..KeySource::NONE
    })
}

/// Declares a mask.
fn declare_mask<'a>(
    problem: &mut Problem<'a>,
    mask: ExtendMask<'a>,
    kv_indptr: Option<Indices<'a>>,
    qo_indptr: Indices<'a>,
) -> Result<()> {
    let ExtendMask { custom_mask, mask_indptr, .. } = mask;
    let arguments = &mut problem.arguments;
    arguments.input("custom_mask", custom_mask, &["bytes"]).contiguous()?;
    let starts = mask_indptr.declare(arguments, "mask_indptr", &["bounds"])?;
    // Without new tokens there is nothing to see.
    let [te] = arguments.sizes(["te"])?;
    arguments.limit("bytes", te.min(1)..=usize::MAX)?;
    let (bytes, steps) = (custom_mask.len(), &mut problem.args.steps);
    (steps.mask, steps.mask_starts, steps.mask_bytes) = (custom_mask.ptr(), starts, bytes as u64);
    problem.check(move |call| {
        let starts = mask_indptr.to_vec()?;
        let (queries, before) = (qo_indptr.to_vec()?, kv_indptr.map(Indices::to_vec).transpose()?);
        let rows = |bounds: &[i64], at: usize| bounds[at + 1] - bounds[at];
        let constraint = format!("room for rows of all keys within {bytes} bytes");
        call.require_each("mask_indptr", &starts, &constraint, |at, start| {
            if at + 1 == starts.len() {
                return true;
            }
            let new = rows(&queries, at);
            let keys = new.saturating_add(before.as_ref().map_or(0, |before| rows(before, at)));
            start >= 0 && start.saturating_add(new.saturating_mul(keys)) <= bytes as i64
        })
    });
    Ok(())
}
