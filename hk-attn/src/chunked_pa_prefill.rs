//! Attention of a batch in which some sequences have many new tokens and others one, as with chunked
//! prefill: those with many as [`pa_prefill`](crate::pa_prefill) has them, those with one as a step of
//! decoding, whose key and value are in the cache already.
//!
//! ```text
//! s[j] = scale (q k[j]) + slope (j - tokens + 1),   o = sum_j exp(s[j] - ln(sum_j exp(s[j]))) v[j]
//! ```
//!
//! | | |
//! |---|---|
//! | Shapes | query `[tq, hq, d]`, key and value `[tq, hk, d]`, of which rows of sequences with one new token are not read, key_cache `[blocks, hk, d / x, bs, x]`, value_cache `[blocks, hk, d, bs]`, block_table `[b, pages]`, query_start_loc `[b + 1]`, seq_lens `[b]`, of all tokens, k_scale, v_scale `[1]`, alibi_slopes `[hq]` -> output `[tq, hq, d]`, of which rows of sequences are written; limits as for `pa_prefill` |
//! | Dtypes | as `pa_prefill` |
//! | Numerics | as [`mha`](crate::mha) |
//! | Hardware | cdna3, cdna4 |
//! | Source | Kwon et al., "Efficient Memory Management for Large Language Model Serving with PagedAttention" (2023); Agrawal et al., "Sarathi-Serve" (2024), whose chunked prefill it serves |
//!
//! ```
//! # #[cfg(feature = "cdna3")] {
//! use hk_attn::{
//!     Device, PaPrefillOptions, PrefixCache, Tensor, bf16, chunked_prefill_paged_decode,
//! };
//!
//! let stream = Device::open("sim:mi325x")?.default_stream();
//! let of = |values: &[f32], shape: &[usize]| -> hk_attn::Result<Tensor<bf16>> {
//!     let values: Vec<_> = values.iter().map(|value| bf16::from_f32(*value)).collect();
//!     Tensor::from_slice(&stream, &values, shape)
//! };
//! // One step, whose two tokens are in page 1.
//! let (q, k) = (of(&[0.0], &[1, 1, 1])?, of(&[f32::NAN], &[1, 1, 1])?);
//! let key_cache = of(&[9.0, 9.0, 1.0, 2.0], &[2, 1, 1, 2, 1])?;
//! let value_cache = of(&[9.0, 9.0, 5.0, 3.0], &[2, 1, 1, 2])?;
//! let index = |values: &[i32], shape: &[usize]| Tensor::from_slice(&stream, values, shape);
//! let (table, bounds, lengths) = (index(&[1], &[1, 1])?, index(&[0, 1], &[2])?, index(&[2], &[1])?);
//! let cache = PrefixCache {
//!     key_cache: &key_cache,
//!     value_cache: &value_cache,
//!     b_loc: (&table).into(),
//!     b_start_loc: (&bounds).into(),
//!     b_seq_len: (&lengths).into(),
//! };
//! let options = PaPrefillOptions::default();
//! let output = chunked_prefill_paged_decode(&q, &k, &k, &cache, 1, &options)?;
//! assert_eq!(output.to_vec()?, [bf16::from_f32(4.0)]);
//! # }
//! # Ok::<(), hk_core::Error>(())
//! ```

#[cfg(doc)]
use hk_core::Error;
use hk_core::{Result, Tensor, TensorSlice};

use crate::attention::{AttentionArgs, AttentionElement, KeySource};
use crate::lean_atten::LeanElement;
use crate::pa_prefill::{Names, PaPrefillOptions, PrefixCache, prefill};

/// Sequences of one query are left alone, or all others are: see `skips` in `hk/attention_arguments.h`.
const SKIPS_SINGLE: u32 = 1;
const SKIPS_OTHERS: u32 = 2;

/// Attention of new tokens, of which a sequence has `max_query_len` at most; results of rows that are in
/// no sequence are 0.
///
/// # Errors
/// As [`pa_prefill_fwd`](crate::pa_prefill_fwd); [`Error::Value`] also if results of sequences with one new
/// token are to stay as they are.
pub fn chunked_prefill_paged_decode<T: LeanElement, K: AttentionElement>(
    query: &TensorSlice<T>,
    key: &TensorSlice<T>,
    value: &TensorSlice<T>,
    cache: &PrefixCache<'_, K>,
    max_query_len: usize,
    options: &PaPrefillOptions<'_>,
) -> Result<Tensor<T>> {
    let mut output = Tensor::zeros(query.stream(), query.shape())?;
    let into = &mut *output;
    chunked_prefill_paged_decode_into(query, key, value, cache, max_query_len, options, into)?;
    Ok(output)
}

/// As [`chunked_prefill_paged_decode`], into a given tensor.
///
/// # Errors
/// As [`chunked_prefill_paged_decode`]; [`Error::Shape`] or [`Error::Stride`] also if the output has not
/// the shape of the queries, and [`Error::Alias`] if it overlaps another argument.
pub fn chunked_prefill_paged_decode_into<T: LeanElement, K: AttentionElement>(
    query: &TensorSlice<T>,
    key: &TensorSlice<T>,
    value: &TensorSlice<T>,
    cache: &PrefixCache<'_, K>,
    max_query_len: usize,
    options: &PaPrefillOptions<'_>,
    output: &mut TensorSlice<T>,
) -> Result<()> {
    let names = Names {
        op: "chunked_prefill_paged_decode",
        q: "query",
        k: "key",
        v: "value",
        table: "block_table",
        starts: "query_start_loc",
        lengths: "seq_lens",
        most: "max_query_len",
        out: "output",
        has_steps: true,
    };
    let tensors = [query, key, value];
    let mut problem = prefill(names, tensors, cache, max_query_len, options, output)?;
    let is_all = !options.skip_decode;
    problem.arguments.require(is_all, "skip_decode", "false, of this op", true)?;
    if max_query_len > 1 {
        problem.first = Some(AttentionArgs { skips: SKIPS_SINGLE, ..problem.args });
    }
    // The tokens of steps are all in the cache.
    problem.args.source[0].lengths_are_total = 0;
    problem.args.source[1] = KeySource::NONE;
    problem.args.skips = SKIPS_OTHERS;
    problem.launch()
}
