//! Attention of new tokens to the tokens before them, which are in a paged cache, and to each other:
//!
//! ```text
//! s[i, j] = scale (q[i] k[j]) + slope (j - position(i)),   position(i) = tokens before + i
//! o[i]    = sum_j exp(s[i, j] - ln(sum_j exp(s[i, j]))) v[j]
//! ```
//!
//! over j from 0 to position(i), of which, with a window, only those with `position(i) - j < window`. Head
//! h of hq has the keys and values of head `floor(h / (hq / hk))`. Elements of 8 bits of the cache are
//! multiplied by k_scale and v_scale.
//!
//! | | |
//! |---|---|
//! | Shapes | q `[tq, hq, d]`, k and v `[tq, hk, d]`, key_cache `[blocks, hk, d / x, bs, x]`, value_cache `[blocks, hk, d, bs]`, b_loc `[b, pages]`, b_start_loc `[b + 1]`, b_seq_len `[b]`, of tokens before and new ones, k_scale, v_scale `[1]`, alibi_slopes `[hq]` -> out `[tq, hq, d]`; d from 1 to 256, hq a multiple of hk; any strides of caches, and of all but the innermost dimension of the others |
//! | Dtypes | q, k, v and out bf16, f16; caches these, or of 8 bits: e4m3 and e5m2 in the flavour of the chip, i8; indices i32, i64 |
//! | Numerics | as [`mha`](crate::mha), with one state of the sums for both kinds of keys |
//! | Hardware | cdna3, cdna4 |
//! | Source | Kwon et al., "Efficient Memory Management for Large Language Model Serving with PagedAttention" (2023) |
//!
//! ```
//! # #[cfg(feature = "cdna3")] {
//! use hk_attn::{Device, PaPrefillOptions, PrefixCache, Tensor, bf16, pa_prefill_fwd};
//!
//! let stream = Device::open("sim:mi325x")?.default_stream();
//! let of = |values: &[f32], shape: &[usize]| -> hk_attn::Result<Tensor<bf16>> {
//!     let values: Vec<_> = values.iter().map(|value| bf16::from_f32(*value)).collect();
//!     Tensor::from_slice(&stream, &values, shape)
//! };
//! // One new token, behind the one in slot 0 of page 1, of two pages of two slots.
//! let (q, k, v) = (of(&[0.0], &[1, 1, 1])?, of(&[1.0], &[1, 1, 1])?, of(&[3.0], &[1, 1, 1])?);
//! let key_cache = of(&[9.0, 9.0, 1.0, 9.0], &[2, 1, 1, 2, 1])?;
//! let value_cache = of(&[9.0, 9.0, 5.0, 9.0], &[2, 1, 1, 2])?;
//! let index = |values: &[i32], shape: &[usize]| Tensor::from_slice(&stream, values, shape);
//! let (b_loc, bounds, lengths) = (index(&[1], &[1, 1])?, index(&[0, 1], &[2])?, index(&[2], &[1])?);
//! let cache = PrefixCache {
//!     key_cache: &key_cache,
//!     value_cache: &value_cache,
//!     b_loc: (&b_loc).into(),
//!     b_start_loc: (&bounds).into(),
//!     b_seq_len: (&lengths).into(),
//! };
//! let out = pa_prefill_fwd(&q, &k, &v, &cache, 1, &PaPrefillOptions::default())?;
//! assert_eq!(out.to_vec()?, [bf16::from_f32(4.0)]);
//! # }
//! # Ok::<(), hk_core::Error>(())
//! ```

#[cfg(doc)]
use hk_core::Error;
use hk_core::op::indices::Indices;
use hk_core::{Result, Tensor, TensorSlice};

use crate::attention::{AlibiForm, AttentionElement, AttentionOptions, Lengths, Problem};
use crate::cache::CacheLayout;
use crate::lean_atten::LeanElement;

/// Tokens in a paged cache, and which sequences have them.
#[derive(Debug, Clone, Copy)]
pub struct PrefixCache<'a, K: AttentionElement> {
    /// Keys.
    pub key_cache: &'a TensorSlice<K>,
    /// Values.
    pub value_cache: &'a TensorSlice<K>,
    /// Pages of each sequence.
    pub b_loc: Indices<'a>,
    /// Bounds of sequences among the new tokens.
    pub b_start_loc: Indices<'a>,
    /// Tokens of each sequence, the new ones included.
    pub b_seq_len: Indices<'a>,
}

/// What can be chosen of the attention.
#[derive(Debug, Clone, Copy, Default)]
pub struct PaPrefillOptions<'a> {
    pub(crate) sm_scale: Option<f32>,
    pub(crate) sliding_window: Option<u32>,
    pub(crate) alibi_slopes: Option<&'a TensorSlice<f32>>,
    pub(crate) k_scale: Option<&'a TensorSlice<f32>>,
    pub(crate) v_scale: Option<&'a TensorSlice<f32>>,
    pub(crate) skip_decode: bool,
    pub(crate) validate_indices: Option<bool>,
}

impl<'a> PaPrefillOptions<'a> {
    /// Factor of scores; `1 / sqrt(d)` if not given.
    #[must_use]
    pub fn sm_scale(self, scale: f32) -> Self {
        Self { sm_scale: Some(scale), ..self }
    }

    /// How many tokens a token sees, itself included; all before if not given, or 0.
    #[must_use]
    pub fn sliding_window(self, window: u32) -> Self {
        Self { sliding_window: Some(window), ..self }
    }

    /// Slopes of heads, `[hq]`, by which positions count.
    #[must_use]
    pub fn alibi_slopes(self, slopes: &'a TensorSlice<f32>) -> Self {
        Self { alibi_slopes: Some(slopes), ..self }
    }

    /// What keys of the cache are multiplied by, `[1]`, if they have 8 bits.
    #[must_use]
    pub fn k_scale(self, scale: &'a TensorSlice<f32>) -> Self {
        Self { k_scale: Some(scale), ..self }
    }

    /// What values of the cache are multiplied by, `[1]`, if they have 8 bits.
    #[must_use]
    pub fn v_scale(self, scale: &'a TensorSlice<f32>) -> Self {
        Self { v_scale: Some(scale), ..self }
    }

    /// Whether results of sequences with one new token stay as they are.
    #[must_use]
    pub fn skip_decode(self, skip: bool) -> Self {
        Self { skip_decode: skip, ..self }
    }

    /// Whether indices are looked at before the launch, which waits for the stream, to tell which are
    /// wrong. If not given, they are on the simulator and in builds with debug assertions.
    #[must_use]
    pub fn validate_indices(self, validate: bool) -> Self {
        Self { validate_indices: Some(validate), ..self }
    }

    /// As attention has them.
    fn attention(&self) -> AttentionOptions<'a> {
        let window = self.sliding_window.and_then(|window| window.checked_sub(1));
        let mut all = AttentionOptions::default().window(window, 0);
        all = self.sm_scale.into_iter().fold(all, AttentionOptions::scale);
        all = self.alibi_slopes.into_iter().fold(all, AttentionOptions::alibi_slopes);
        self.validate_indices.into_iter().fold(all, AttentionOptions::validate_indices)
    }
}

/// Attention of new tokens, of which a sequence has `max_input_len` at most.
///
/// # Errors
/// [`Error::Shape`] if shapes do not fit to each other or to what there may be, [`Error::Stride`] if
/// elements of a row are not adjacent, [`Error::Value`] if hq is no multiple of hk, the scale is not
/// finite, or bounds, lengths, pages or the most tokens of a sequence are wrong and
/// [looked at](PaPrefillOptions::validate_indices), and [`Error::ArchMismatch`] if 8-bit floating point is
/// not the chip's.
pub fn pa_prefill_fwd<T: LeanElement, K: AttentionElement>(
    q: &TensorSlice<T>,
    k: &TensorSlice<T>,
    v: &TensorSlice<T>,
    cache: &PrefixCache<'_, K>,
    max_input_len: usize,
    options: &PaPrefillOptions<'_>,
) -> Result<Tensor<T>> {
    let mut out = Tensor::zeros(q.stream(), q.shape())?;
    pa_prefill_fwd_into(q, k, v, cache, max_input_len, options, &mut out)?;
    Ok(out)
}

/// As [`pa_prefill_fwd`], into a given tensor.
///
/// # Errors
/// As [`pa_prefill_fwd`]; [`Error::Shape`] or [`Error::Stride`] also if the output has not the shape of q,
/// and [`Error::Alias`] if it overlaps another argument.
pub fn pa_prefill_fwd_into<T: LeanElement, K: AttentionElement>(
    q: &TensorSlice<T>,
    k: &TensorSlice<T>,
    v: &TensorSlice<T>,
    cache: &PrefixCache<'_, K>,
    max_input_len: usize,
    options: &PaPrefillOptions<'_>,
    out: &mut TensorSlice<T>,
) -> Result<()> {
    let names = Names {
        op: "pa_prefill_fwd",
        q: "q",
        k: "k",
        v: "v",
        table: "b_loc",
        starts: "b_start_loc",
        lengths: "b_seq_len",
        most: "max_input_len",
        out: "out",
        has_steps: false,
    };
    prefill(names, [q, k, v], cache, max_input_len, options, out)?.launch()
}

/// Names of an op and of its arguments, and what else tells ops apart.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Names {
    pub(crate) op: &'static str,
    pub(crate) q: &'static str,
    pub(crate) k: &'static str,
    pub(crate) v: &'static str,
    pub(crate) table: &'static str,
    pub(crate) starts: &'static str,
    pub(crate) lengths: &'static str,
    pub(crate) most: &'static str,
    pub(crate) out: &'static str,
    /// Whether a sequence's only query is in the cache.
    pub(crate) has_steps: bool,
}

/// The attention as it is to be launched.
pub(crate) fn prefill<'a, T: LeanElement, K: AttentionElement>(
    names: Names,
    [q, k, v]: [&TensorSlice<T>; 3],
    cache: &PrefixCache<'a, K>,
    most: usize,
    options: &PaPrefillOptions<'a>,
    out: &mut TensorSlice<T>,
) -> Result<Problem<'a>> {
    let mut problem = Problem::new(names.op, options.attention());
    let arguments = &mut problem.arguments;
    let [q_row, q_head, _] = arguments.input(names.q, q, &["tq", "hq", "d"]).adjacent()?;
    let [k_row, k_head, _] = arguments.input(names.k, k, &["tq", "hk", "d"]).adjacent()?;
    let [v_row, v_head, _] = arguments.input(names.v, v, &["tq", "hk", "d"]).adjacent()?;
    let scale = options.sm_scale;
    let is_finite = scale.is_none_or(f32::is_finite);
    arguments.require(is_finite, "sm_scale", "finite", scale.unwrap_or_default())?;
    let [d] = arguments.sizes(["d"])?;
    arguments.define("dv", d);
    let layout = CacheLayout::PagedX;
    let cached = ["key_cache", "value_cache"];
    let rows = problem.caches(layout, cached, cache.key_cache, cache.value_cache)?;
    problem.queries(q, [0, q_row, q_head]);
    let lengths = Lengths { bounds: cache.b_start_loc, most };
    problem.bounds_of_queries(names.starts, names.most, lengths, "tq")?;
    problem.prefix(
        rows,
        (names.table, cache.b_loc),
        (names.lengths, cache.b_seq_len),
        cache.b_start_loc,
        names.has_steps,
    )?;
    let keys = problem.rows(k, [0, k_row, k_head], d);
    let values = problem.rows(v, [0, v_row, v_head], d);
    let [tq] = problem.arguments.sizes(["tq"])?;
    problem.args.source[1] = problem.new_tokens([keys, values], tq);
    problem.most_keys += most.min(tq);
    problem.limit(["tq"])?;
    problem.require_one_type::<T, K>("key_cache")?;
    problem.scales_of_cached::<K>([options.k_scale, options.v_scale])?;
    let [row, head, _] = problem.arguments.output(names.out, out, &["tq", "hq", "d"]).adjacent()?;
    problem.results(out, [0, row, head]);
    problem.alibi = AlibiForm::Relative;
    problem.declare_options()?;
    problem.args.skips = u32::from(options.skip_decode);
    Ok(problem)
}
