//! Causal attention of a batch of prompts and decoding steps to the keys of a paged cache, which holds
//! those of the queries too:
//!
//! ```text
//! s[i, j] = cap tanh(scale q_descale k_descale (q[i] k[j]) / cap) + slope (j - context)
//! o[i]    = sum_j exp(s[i, j] - lse[i]) v_descale v[j] / output_scale
//! lse[i]  = ln(sum_j exp(s[i, j]) + exp(sink)),    context = seqused_k - queries
//! ```
//!
//! over the keys that query i sees: `context + i - left <= j <= context + i`. Key j is in slot `j % bs`
//! of page `block_table[b, floor(j / bs)]`. Head h of hq has the keys and values of head
//! `floor(h / (hq / hk))`.
//!
//! | | |
//! |---|---|
//! | Shapes | q `[tq, hq, d]`, k_cache `[blocks, bs, hk, d]`, v_cache `[blocks, bs, hk, dv]`, or in another [`CacheLayout`]; cu_seqlens_q `[b + 1]`, seqused_k `[b]`, block_table `[b, most_pages]` -> out `[tq, hq, dv]`; any bs, or, shuffled, multiples of x, which is what the caches' last dimension is, and of 32 if elements have 8 bits; d up to 640, dv up to 256 or, if d is more, 512, hq a multiple of hk; any strides of all but the innermost dimension |
//! | Dtypes | q and caches bf16, f16, or 8 bits: e4m3 and e5m2 in the flavour of the chip, i8, but no queries of 8 bits with keys of 16; out bf16, f16, f32, e4m3; lengths and pages i32 or i64 |
//! | Numerics | as [`mha`](crate::mha); results beyond the largest e4m3 number become that |
//! | Hardware | cdna3, cdna4; each key and value is read once per tile of queries |
//! | Source | Kwon et al., "Efficient Memory Management for Large Language Model Serving with PagedAttention" (2023); AITER `unified_attention` |
//!
//! ```
//! # #[cfg(feature = "cdna3")] {
//! use hk_attn::{Device, PagedSequences, Tensor, UnifiedAttnOptions, bf16, unified_attn_fwd};
//!
//! let stream = Device::open("sim:mi325x")?.default_stream();
//! let of = |values: &[f32], shape: &[usize]| -> hk_attn::Result<Tensor<bf16>> {
//!     let values: Vec<_> = values.iter().map(|value| bf16::from_f32(*value)).collect();
//!     Tensor::from_slice(&stream, &values, shape)
//! };
//! // The last two of three tokens, whose keys are in page 1, then 0.
//! let (k, v) = (of(&[0.0; 4], &[2, 2, 1, 1])?, of(&[6.0, 9.0, 1.0, 2.0], &[2, 2, 1, 1])?);
//! let bounds = Tensor::from_slice(&stream, &[0, 2], &[2])?;
//! let lengths = Tensor::from_slice(&stream, &[3], &[1])?;
//! let table = Tensor::from_slice(&stream, &[1, 0], &[1, 2])?;
//! let sequences = PagedSequences {
//!     cu_seqlens_q: (&bounds).into(),
//!     max_seqlen_q: 2,
//!     seqused_k: (&lengths).into(),
//!     max_seqlen_k: 3,
//!     block_table: (&table).into(),
//! };
//! let q = of(&[1.0; 2], &[2, 1, 1])?;
//! let out = unified_attn_fwd(&q, &k, &v, &sequences, &UnifiedAttnOptions::default())?;
//! assert_eq!(out.to_vec()?, [1.5, 3.0].map(bf16::from_f32));
//! # }
//! # Ok::<(), hk_core::Error>(())
//! ```

use hk_core::op::indices::Indices;
use hk_core::{Error, Result, Tensor, TensorSlice};

use crate::CacheLayout;
use crate::attention::{
    AlibiForm, AttentionElement, AttentionOptions, AttentionOutput, Lengths, Pages, Problem,
};

/// The fewest slots of pages of shuffled elements of 8 bits.
const SHUFFLED_SLOTS: usize = 32;

/// Sequences whose queries follow each other, and whose keys are in pages.
#[derive(Debug, Clone, Copy)]
pub struct PagedSequences<'a> {
    /// Bounds of queries, `[b + 1]`.
    pub cu_seqlens_q: Indices<'a>,
    /// The most queries of a sequence.
    pub max_seqlen_q: usize,
    /// Keys, those of the queries included, `[b]`.
    pub seqused_k: Indices<'a>,
    /// The most keys of a sequence.
    pub max_seqlen_k: usize,
    /// Pages, `[b, most_pages]`. Those behind the last key's may be anything.
    pub block_table: Indices<'a>,
}

/// What can be chosen of [`unified_attn_fwd`].
#[derive(Debug, Clone, Copy, Default)]
pub struct UnifiedAttnOptions<'a> {
    /// What is common to attention, but biases. It is causal in any case; slopes are those of distances
    /// to the first query.
    pub attention: AttentionOptions<'a>,
    /// How keys and values are in the caches.
    pub layout: CacheLayout,
}

/// Causal attention of sequences to the keys of a paged cache.
///
/// # Errors
/// [`Error::Shape`] if shapes do not fit to each other or to what there may be, [`Error::Stride`] if
/// elements of a row are not adjacent, [`Error::ArchMismatch`] if 8-bit floating point is not the
/// chip's, and [`Error::Value`] if hq is no multiple of hk, types of queries and caches do not go
/// together, an option is not what it may be, pages are not made of whole runs, or, if they are
/// [looked at](AttentionOptions::validate_indices), bounds or lengths are wrong, a sequence has more
/// queries than keys, or pages are not there.
pub fn unified_attn_fwd<Q: AttentionElement, K: AttentionElement>(
    q: &TensorSlice<Q>,
    k_cache: &TensorSlice<K>,
    v_cache: &TensorSlice<K>,
    sequences: &PagedSequences<'_>,
    options: &UnifiedAttnOptions<'_>,
) -> Result<Tensor<Q::Output>> {
    let [tq, hq] = *q.shape().first_chunk().unwrap_or(&[0; 2]);
    let dv = match (options.layout, v_cache.shape()) {
        (CacheLayout::PagedX, [_, _, dv, _]) | (_, [_, _, _, dv, ..]) => *dv,
        _ => 0,
    };
    let mut out = Tensor::empty(q.stream(), &[tq, hq, dv])?;
    unified_attn_fwd_into(q, k_cache, v_cache, sequences, options, &mut out)?;
    Ok(out)
}

/// As [`unified_attn_fwd`], into a given tensor.
///
/// # Errors
/// As [`unified_attn_fwd`]; [`Error::Shape`] or [`Error::Stride`] also if `out` is not as it should be,
/// and [`Error::Alias`] if it overlaps another argument.
pub fn unified_attn_fwd_into<Q: AttentionElement, K: AttentionElement, O: AttentionOutput>(
    q: &TensorSlice<Q>,
    k_cache: &TensorSlice<K>,
    v_cache: &TensorSlice<K>,
    sequences: &PagedSequences<'_>,
    options: &UnifiedAttnOptions<'_>,
    out: &mut TensorSlice<O>,
) -> Result<()> {
    let UnifiedAttnOptions { attention, layout } = *options;
    let mut problem = Problem::new("unified_attn_fwd", attention.causal(true)).with_wide_heads();
    let strides = problem.arguments.input("q", q, &["tq", "hq", "d"]).adjacent()?;
    let [row, head, _] = strides;
    let rows = problem.caches(layout, ["k_cache", "v_cache"], k_cache, v_cache)?;
    problem.queries(q, [0, row, head]);
    let PagedSequences { cu_seqlens_q, max_seqlen_q, seqused_k, max_seqlen_k, block_table } =
        *sequences;
    let of_q = Lengths { bounds: cu_seqlens_q, most: max_seqlen_q };
    problem.bounds_of_queries("cu_seqlens_q", "max_seqlen_q", of_q, "tq")?;
    let pages = Pages {
        table_name: "block_table",
        table: block_table,
        lengths_name: "seqused_k",
        lengths: Some(seqused_k),
        sequences: "bounds-1",
        most: max_seqlen_k,
        appended: 0,
    };
    problem.paged(rows, pages)?;
    problem.limit(["tq"])?;
    problem.check(move |call| {
        let (bounds, lengths) = (cu_seqlens_q.to_vec()?, seqused_k.to_vec()?);
        let queries = |b: usize| bounds[b + 1] - bounds[b];
        let wrong = (0..lengths.len()).find(|b| queries(*b) > lengths[*b]);
        let Some(b) = wrong else { return Ok(()) };
        let wanted = format!("at least the queries of sequence {b}, {}", queries(b));
        Err(Error::value(call.op(), "seqused_k", wanted, lengths[b]))
    });
    problem.require_narrow_values()?;
    problem.require_one_type::<Q, K>("k_cache")?;
    problem.refuse_bias()?;
    let arguments = &problem.arguments;
    let right = attention.window.right.unwrap_or(0);
    arguments.require(right == 0, "window", "nothing behind a query", right)?;
    let (of_q, of_k) = (size_of::<Q>(), size_of::<K>());
    arguments.require(of_q >= of_k, "k_cache", "of 8 bits, as queries are", K::DTYPE)?;
    let [bs] = arguments.sizes(["bs"])?;
    let is_shuffled = layout == CacheLayout::PagedXShuffledV && of_k == 1;
    let constraint = format!("at least {SHUFFLED_SLOTS}, of shuffled elements of 8 bits");
    arguments.require(!is_shuffled || bs >= SHUFFLED_SLOTS, "bs", constraint, bs)?;
    problem.output(out, &["tq", "hq", "dv"])?;
    problem.alibi = AlibiForm::ToContext;
    problem.declare_options()?;
    problem.launch()
}
