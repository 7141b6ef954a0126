//! Attention of a few queries of each sequence to the keys of a cache, which may grow by new ones before:
//! as [`mha`](crate::mha), of caches of which sequences have parts.
//!
//! A cache has a row of slots for each sequence, of which the first `cache_seqlens[b]` are keys. Its row
//! is row b, or `cache_batch_idx[b]`; or slot j is slot `j % bs` of page `block_table[b, floor(j / bs)]`.
//! New keys and values go behind those that are there, or, if there are no lengths, to the last slots.
//!
//! | | |
//! |---|---|
//! | Shapes | q `[b, sq, hq, d]`, k_cache `[rows, sk, hk, d]` and v_cache `[rows, sk, hk, dv]`, or `[blocks, bs, hk, d]` and `[blocks, bs, hk, dv]`; cache_seqlens and cache_batch_idx `[b]`, block_table `[b, most_pages]`, k_new `[b, snew, hk, d]`, v_new `[b, snew, hk, dv]` -> out `[b, sq, hq, dv]`, lse `[b, hq, sq]`, seqlens `[b]`; any bs, d and dv from 1 to 256, dv at most d, hq a multiple of hk; any strides of all but the innermost dimension |
//! | Dtypes | q and caches each bf16, f16, or 8 bits: e4m3 and e5m2 in the flavour of the chip, i8, but no bf16 with f16; new keys and values as the caches; out bf16, f16, f32, e4m3; lse f32; lengths, rows and pages i32 or i64, but those that an op writes i32 |
//! | Numerics | as [`mha`](crate::mha) |
//! | Hardware | cdna3, cdna4; each key and value is read once |
//! | Source | Dao et al., "Flash-Decoding for long-context inference" (2023); AITER `flash_attn_with_kvcache`, which appends to row b whatever cache_batch_idx is |
//!
//! ```
//! # #[cfg(feature = "cdna3")] {
//! use hk_attn::{AttentionOptions, DecodeCache, Device, Tensor, bf16, flash_attn_fwd_decode};
//!
//! let stream = Device::open("sim:mi325x")?.default_stream();
//! let of = |values: &[f32]| -> hk_attn::Result<Tensor<bf16>> {
//!     let values: Vec<_> = values.iter().map(|value| bf16::from_f32(*value)).collect();
//!     Tensor::from_slice(&stream, &values, &[1, values.len(), 1, 1])
//! };
//! // Two of three slots have keys.
//! let (q, k, v) = (of(&[1.0])?, of(&[0.0; 3])?, of(&[2.0, 4.0, 90.0])?);
//! let lengths = Tensor::from_slice(&stream, &[2], &[1])?;
//! let cache = DecodeCache { cache_seqlens: Some((&lengths).into()), ..DecodeCache::default() };
//! let out = flash_attn_fwd_decode(&q, &k, &v, &cache, &AttentionOptions::default())?;
//! assert_eq!(out.out.to_vec()?, [bf16::from_f32(3.0)]);
//! # }
//! # Ok::<(), hk_core::Error>(())
//! ```

#[cfg(doc)]
use hk_core::Error;
use hk_core::op::indices::{IndexList, Indices};
use hk_core::{DevicePtr, Result, Tensor, TensorSlice};

use crate::CacheLayout;
use crate::attention::{
    AppendArgs, AttentionElement, AttentionOptions, AttentionOutput, NewRows, Pages, Problem,
};
use crate::mha::{Mha, MhaOut};

/// Which slots of caches sequences have.
#[derive(Debug, Clone, Copy, Default)]
pub struct DecodeCache<'a> {
    /// Keys of each sequence, `[b]`; as many as there are slots, if not given.
    pub cache_seqlens: Option<Indices<'a>>,
    /// The caches' row of each sequence, `[b]`; not with a block table.
    pub cache_batch_idx: Option<Indices<'a>>,
    /// The pages of each sequence, `[b, most_pages]`. Those behind the last key's may be anything.
    pub block_table: Option<Indices<'a>>,
}

/// What is appended to caches, and which slots of them sequences have.
#[derive(Debug)]
pub struct DecodeAppend<'a, K: AttentionElement> {
    /// New keys, `[b, snew, hk, d]`.
    pub k_new: &'a TensorSlice<K>,
    /// New values, `[b, snew, hk, dv]`.
    pub v_new: &'a TensorSlice<K>,
    /// As in [`DecodeCache`], with the lengths before.
    pub cache: DecodeCache<'a>,
    /// In the place of `cache.cache_seqlens`: lengths that grow by the new keys.
    pub advance_seqlens: Option<&'a mut TensorSlice<i32>>,
    /// Where lengths afterwards are stored, if they are wanted.
    pub seqlens: Option<&'a mut TensorSlice<i32>>,
}

/// Attention of queries to the keys of caches.
///
/// # Errors
/// [`Error::Shape`] if shapes do not fit to each other or to what there may be, [`Error::Stride`] if
/// elements of a row are not adjacent, [`Error::ArchMismatch`] if 8-bit floating point is not the
/// chip's, and [`Error::Value`] if hq is no multiple of hk, 16-bit types of queries and caches differ,
/// there are both `cache_batch_idx` and a block table, an option is not what it may be, or, if they are
/// [looked at](AttentionOptions::validate_indices), lengths are beyond the slots, or rows or pages are
/// not there.
pub fn flash_attn_fwd_decode<Q: AttentionElement, K: AttentionElement>(
    q: &TensorSlice<Q>,
    k_cache: &TensorSlice<K>,
    v_cache: &TensorSlice<K>,
    cache: &DecodeCache<'_>,
    options: &AttentionOptions<'_>,
) -> Result<Mha<Q::Output>> {
    let (mut out, mut lse) = results(q, v_cache)?;
    let into = MhaOut { out: &mut *out, lse: Some(&mut *lse), s_dmask: None };
    flash_attn_fwd_decode_into(q, k_cache, v_cache, cache, options, into)?;
    Ok(Mha { out, lse })
}

/// As [`flash_attn_fwd_decode`], into given tensors.
///
/// # Errors
/// As [`flash_attn_fwd_decode`]; [`Error::Shape`] or [`Error::Stride`] also if an output is not as it
/// should be, and [`Error::Alias`] if one overlaps another argument.
pub fn flash_attn_fwd_decode_into<Q: AttentionElement, K: AttentionElement, O: AttentionOutput>(
    q: &TensorSlice<Q>,
    k_cache: &TensorSlice<K>,
    v_cache: &TensorSlice<K>,
    cache: &DecodeCache<'_>,
    options: &AttentionOptions<'_>,
    out: MhaOut<'_, O>,
) -> Result<()> {
    let mut problem = queries(q, options)?;
    let [of_keys, of_values] = dims(cache);
    let arguments = &mut problem.arguments;
    let keys = arguments.input("k_cache", k_cache, of_keys).adjacent()?;
    let values = arguments.input("v_cache", v_cache, of_values).adjacent()?;
    let lengths = match cache.cache_seqlens {
        Some(lengths) => lengths.declare(arguments, "cache_seqlens", &["b"])?,
        None => IndexList::NONE,
    };
    slots(&mut problem, (k_cache, keys), (v_cache, values), cache, lengths, 0)?;
    finish::<Q, K, O>(problem, out)
}

/// As [`flash_attn_fwd_decode`], after new keys and values went into the caches, in place.
///
/// # Errors
/// As [`flash_attn_fwd_decode`]; [`Error::Value`] also if there are a block table but no lengths, or
/// lengths of both kinds, or, if it is looked at, there is no slot for a new key.
pub fn flash_attn_fwd_decode_append<Q: AttentionElement, K: AttentionElement>(
    q: &TensorSlice<Q>,
    k_cache: &mut TensorSlice<K>,
    v_cache: &mut TensorSlice<K>,
    append: DecodeAppend<'_, K>,
    options: &AttentionOptions<'_>,
) -> Result<Mha<Q::Output>> {
    let (mut out, mut lse) = results(q, v_cache)?;
    let into = MhaOut { out: &mut *out, lse: Some(&mut *lse), s_dmask: None };
    flash_attn_fwd_decode_append_into(q, k_cache, v_cache, append, options, into)?;
    Ok(Mha { out, lse })
}

/// As [`flash_attn_fwd_decode_append`], into given tensors.
///
/// # Errors
/// As [`flash_attn_fwd_decode_append`] and [`flash_attn_fwd_decode_into`].
pub fn flash_attn_fwd_decode_append_into<
    Q: AttentionElement,
    K: AttentionElement,
    O: AttentionOutput,
>(
    q: &TensorSlice<Q>,
    k_cache: &mut TensorSlice<K>,
    v_cache: &mut TensorSlice<K>,
    append: DecodeAppend<'_, K>,
    options: &AttentionOptions<'_>,
    out: MhaOut<'_, O>,
) -> Result<()> {
    let DecodeAppend { k_new, v_new, mut cache, advance_seqlens, seqlens } = append;
    let mut problem = queries(q, options)?;
    let [of_keys, of_values] = dims(&cache);
    let arguments = &mut problem.arguments;
    let keys = arguments.output("k_cache", k_cache, of_keys).adjacent()?;
    let values = arguments.output("v_cache", v_cache, of_values).adjacent()?;
    let of_new: [&[&str]; 2] = [&["b", "snew", "hk", "d"], &["b", "snew", "hk", "dv"]];
    let k_strides = arguments.input("k_new", k_new, of_new[0]).adjacent()?;
    let v_strides = arguments.input("v_new", v_new, of_new[1]).adjacent()?;
    arguments.limit("sq", 1..=i32::MAX as usize)?;
    arguments.limit("snew", 0..=i32::MAX as usize / 2)?;
    let [snew] = arguments.sizes(["snew"])?;
    let is_either = cache.cache_seqlens.is_none() || advance_seqlens.is_none();
    arguments.require(is_either, "advance_seqlens", "none, beside cache_seqlens", "some")?;
    let mut advanced = DevicePtr::NULL;
    let lengths = match (cache.cache_seqlens, advance_seqlens) {
        (Some(lengths), _) => lengths.declare(arguments, "cache_seqlens", &["b"])?,
        (None, Some(lengths)) => {
            arguments.output("advance_seqlens", lengths, &["b"]).contiguous()?;
            advanced = lengths.ptr_mut();
            let lengths = &*lengths;
            cache.cache_seqlens = Some(Indices::I32(lengths));
            IndexList::of(arguments, "advance_seqlens", lengths)?
        }
        (None, None) => IndexList::NONE,
    };
    let has_lengths = cache.cache_seqlens.is_some() || cache.block_table.is_none();
    arguments.require(has_lengths, "cache_seqlens", "some, with a block table", "none")?;
    let mut after = DevicePtr::NULL;
    if let Some(seqlens) = seqlens {
        arguments.output("seqlens", seqlens, &["b"]).contiguous()?;
        after = seqlens.ptr_mut();
    }
    let written = [k_cache.ptr_mut().any(), v_cache.ptr_mut().any()];
    let (k_cache, v_cache) = (&*k_cache, &*v_cache);
    slots(&mut problem, (k_cache, keys), (v_cache, values), &cache, lengths, snew)?;
    let [d, dv, hk] = problem.arguments.sizes(["d", "dv", "hk"])?;
    // The kernel counts those of a sequence in 32 bits.
    let rows = snew.saturating_mul(hk);
    let is_few = rows <= i32::MAX as usize;
    problem.arguments.require(is_few, "k_new", "fewer than 2^31 rows of heads", rows)?;
    let [k_sequence, k_row, k_head, _] = k_strides;
    let [v_sequence, v_row, v_head, _] = v_strides;
    let new_keys = problem.rows(k_new, [k_sequence, k_row, k_head], d);
    let new_values = problem.rows(v_new, [v_sequence, v_row, v_head], dv);
    problem.append(AppendArgs {
        cache: problem.args.source[0],
        cached_keys: written[0],
        cached_values: written[1],
        keys: NewRows::of(&new_keys),
        values: NewRows::of(&new_values),
        lengths,
        after,
        advanced,
        rows: snew as u32,
        heads: hk as u32,
        element: size_of::<K>() as u32,
        reserved: 0,
    });
    problem.fresh([new_keys, new_values], snew);
    finish::<Q, K, O>(problem, out)
}

/// Results of the shapes that they have.
fn results<Q: AttentionElement, K: AttentionElement>(
    q: &TensorSlice<Q>,
    v_cache: &TensorSlice<K>,
) -> Result<(Tensor<Q::Output>, Tensor<f32>)> {
    let [b, sq, hq] = *q.shape().first_chunk().unwrap_or(&[0; 3]);
    let out = Tensor::empty(q.stream(), &[b, sq, hq, v_cache.row_len()])?;
    Ok((out, Tensor::empty(q.stream(), &[b, hq, sq])?))
}

/// The dimensions of caches.
const fn dims(cache: &DecodeCache<'_>) -> [&'static [&'static str]; 2] {
    if cache.block_table.is_some() {
        [&["blocks", "bs", "hk", "d"], &["blocks", "bs", "hk", "dv"]]
    } else if cache.cache_batch_idx.is_some() {
        [&["rows", "sk", "hk", "d"], &["rows", "sk", "hk", "dv"]]
    } else {
        [&["b", "sk", "hk", "d"], &["b", "sk", "hk", "dv"]]
    }
}

/// Declares queries.
fn queries<'a, Q: AttentionElement>(
    q: &TensorSlice<Q>,
    options: &AttentionOptions<'a>,
) -> Result<Problem<'a>> {
    let mut problem = Problem::new("flash_attn_fwd_decode", *options);
    let dims = &["b", "sq", "hq", "d"];
    let [sequence, row, head, _] = problem.arguments.input("q", q, dims).adjacent()?;
    problem.queries(q, [sequence, row, head]);
    problem.limit(["b", "sq"])?;
    let [b, sq] = problem.arguments.sizes(["b", "sq"])?;
    (problem.args.sequences, problem.args.q_length) = (b as u32, sq as u32);
    Ok(problem)
}

/// Declares which slots of caches sequences have, of which new rows take so many.
fn slots<'a, K: AttentionElement>(
    problem: &mut Problem<'a>,
    (k_cache, keys): (&TensorSlice<K>, [i64; 4]),
    (v_cache, values): (&TensorSlice<K>, [i64; 4]),
    cache: &DecodeCache<'a>,
    lengths: IndexList,
    appended: usize,
) -> Result<()> {
    let [d, dv] = problem.heads()?;
    let layout = CacheLayout::Nhd;
    if let Some(table) = cache.block_table {
        let is_one = cache.cache_batch_idx.is_none();
        let constraint = "none, with a block table";
        problem.arguments.require(is_one, "cache_batch_idx", constraint, "some")?;
        let keys = problem.rows_of_pages(layout, true, ("k_cache", k_cache), &keys, d)?;
        let values = problem.rows_of_pages(layout, false, ("v_cache", v_cache), &values, dv)?;
        let pages = Pages {
            table_name: "block_table",
            table,
            lengths_name: "cache_seqlens",
            lengths: cache.cache_seqlens,
            sequences: "b",
            most: usize::MAX,
            appended,
        };
        return problem.table([keys, values], pages, lengths);
    }
    let arguments = &problem.arguments;
    let [b, sk] = arguments.sizes(["b", "sk"])?;
    // Where something is said of slots, there are some.
    let needs_slots = b > 0 && (cache.cache_seqlens.is_some() || appended > 0);
    arguments.limit("sk", usize::from(needs_slots)..=i32::MAX as usize / 2)?;
    if let Some(rows) = cache.cache_batch_idx {
        let keys = problem.rows_of_pages(layout, true, ("k_cache", k_cache), &keys, d)?;
        let values = problem.rows_of_pages(layout, false, ("v_cache", v_cache), &values, dv)?;
        problem.rows_of_cache([keys, values], ("cache_batch_idx", rows))?;
    } else {
        let [sequence, row, head, _] = keys;
        let keys = problem.rows(k_cache, [sequence, row, head], d);
        let [sequence, row, head, _] = values;
        let values = problem.rows(v_cache, [sequence, row, head], dv);
        problem.slots([keys, values], sk);
    }
    problem.lengths(("cache_seqlens", cache.cache_seqlens), lengths, sk, appended);
    problem.arguments.require(appended <= sk, "k_new", format!("at most {sk} rows"), appended)
}

/// Declares results and options, and launches.
fn finish<Q: AttentionElement, K: AttentionElement, O: AttentionOutput>(
    mut problem: Problem<'_>,
    out: MhaOut<'_, O>,
) -> Result<()> {
    problem.require_narrow_values()?;
    problem.require_one_type::<Q, K>("k_cache")?;
    problem.refuse_bias()?;
    problem.output(out.out, &["b", "sq", "hq", "dv"])?;
    out.refuse_weights(&problem.arguments)?;
    problem.lse(out.lse, &["b", "hq", "sq"])?;
    problem.declare_options()?;
    problem.launch()
}
