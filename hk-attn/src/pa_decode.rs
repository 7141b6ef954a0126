//! Attention of one query of each sequence to all of its keys, which are in the pages of a cache:
//!
//! ```text
//! s[h, j] = scale k_scale (q[h] k[j]) + slope[h] (j - len + 1)
//! o[h]    = sum_j exp(s[h, j] - lse[h]) v_scale v[j],    lse[h] = ln(sum_j exp(s[h, j]))
//! ```
//!
//! over the keys j of a sequence, `0 <= j < len`; key j is in slot `j % bs` of page
//! `block_tables[b, floor(j / bs)]`. Head h of hq has the keys and values of head `floor(h / (hq / hk))`.
//! A sequence without keys has the result 0, and the sum -inf.
//!
//! | | |
//! |---|---|
//! | Shapes | query `[b, hq, d]`, key_cache `[blocks, hk, bs, d]`, value_cache `[blocks, hk, bs, dv]`, seq_lens `[b]`, block_tables `[b, most_pages]`, k_scale and v_scale `[1]` or `[blocks, hk, bs]` -> out `[b, hq, dv]`, lse `[b, hq]`; any bs, d and dv from 1 to 256, hq a multiple of hk; any strides of all but the innermost dimension |
//! | Dtypes | query and caches each bf16, f16, or 8 bits: e4m3 and e5m2 in the flavour of the chip, i8, but no bf16 with f16; out bf16, f16, f32, e4m3; scales and lse f32; seq_lens and block_tables i32 or i64 |
//! | Numerics | as [`mha`](crate::mha); scales of caches apply to elements of 8 bits only, those of slots to scores and to weights before these are rounded, to 16 bits; results beyond the largest e4m3 number become that |
//! | Hardware | cdna3, cdna4; each key and value is read once |
//! | Source | Kwon et al., "Efficient Memory Management for Large Language Model Serving with PagedAttention" (2023); AITER `paged_attention_decode`, which ignores scales of i8 |
//!
//! ```
//! # #[cfg(feature = "cdna3")] {
//! use hk_attn::{Device, PaDecodeOptions, Tensor, bf16, pa_decode};
//!
//! let stream = Device::open("sim:mi325x")?.default_stream();
//! let of = |values: &[f32], shape: &[usize]| -> hk_attn::Result<Tensor<bf16>> {
//!     let values: Vec<_> = values.iter().map(|value| bf16::from_f32(*value)).collect();
//!     Tensor::from_slice(&stream, &values, shape)
//! };
//! // Two pages of two slots, of which the sequence has the second, then the first, and three keys.
//! let (k, v) = (of(&[0.0; 4], &[2, 1, 2, 1])?, of(&[6.0, 9.0, 1.0, 2.0], &[2, 1, 2, 1])?);
//! let lengths = Tensor::from_slice(&stream, &[3], &[1])?;
//! let table = Tensor::from_slice(&stream, &[1, 0], &[1, 2])?;
//! let q = of(&[1.0], &[1, 1, 1])?;
//! let options = PaDecodeOptions::default();
//! let out = pa_decode(&q, &k, &v, (&lengths).into(), (&table).into(), &options)?;
//! assert_eq!(out.out.to_vec()?, [bf16::from_f32(3.0)]);
//! # }
//! # Ok::<(), hk_core::Error>(())
//! ```

#[cfg(doc)]
use hk_core::Error;
use hk_core::op::indices::Indices;
use hk_core::{Result, Tensor, TensorSlice};

use crate::CacheLayout;
use crate::attention::{
    AlibiForm, AttentionElement, AttentionOptions, AttentionOutput, Pages, Problem,
};

/// What can be chosen of [`pa_decode`].
#[derive(Debug, Clone, Copy, Default)]
pub struct PaDecodeOptions<'a> {
    /// What is common to attention, but biases and the scales of keys and values of heads. Slopes are
    /// those of distances to the last key.
    pub attention: AttentionOptions<'a>,
    /// What keys are multiplied by.
    pub k_scale: Option<&'a TensorSlice<f32>>,
    /// What values are multiplied by.
    pub v_scale: Option<&'a TensorSlice<f32>>,
    /// The most keys of a sequence; as many as its pages have slots, if not given.
    pub max_seq_len: Option<usize>,
}

/// What [`pa_decode`] returns.
#[derive(Debug)]
pub struct PaDecode<O: AttentionOutput> {
    /// The results.
    pub out: Tensor<O>,
    /// Logarithms of the sums of exponentials of scores.
    pub lse: Tensor<f32>,
}

/// Where [`pa_decode_into`] stores.
#[derive(Debug)]
pub struct PaDecodeOut<'a, O: AttentionOutput> {
    /// The results.
    pub out: &'a mut TensorSlice<O>,
    /// Logarithms of the sums of exponentials of scores, if they are wanted.
    pub lse: Option<&'a mut TensorSlice<f32>>,
}

/// Attention of one query of each sequence to the keys of a paged cache. Slots and entries of the table
/// behind a sequence's last key may be anything.
///
/// # Errors
/// [`Error::Shape`] if shapes do not fit to each other or to what there may be, [`Error::Stride`] if
/// elements of a row are not adjacent, [`Error::ArchMismatch`] if 8-bit floating point is not the
/// chip's, and [`Error::Value`] if hq is no multiple of hk, 16-bit types of query and caches differ, an
/// option is not what it may be, or, if they are
/// [looked at](AttentionOptions::validate_indices), lengths are beyond `max_seq_len` or what the table
/// has pages for, or pages are not there.
pub fn pa_decode<Q: AttentionElement, K: AttentionElement>(
    query: &TensorSlice<Q>,
    key_cache: &TensorSlice<K>,
    value_cache: &TensorSlice<K>,
    seq_lens: Indices<'_>,
    block_tables: Indices<'_>,
    options: &PaDecodeOptions<'_>,
) -> Result<PaDecode<Q::Output>> {
    let [b, hq] = *query.shape().first_chunk().unwrap_or(&[0; 2]);
    let mut out = Tensor::empty(query.stream(), &[b, hq, value_cache.row_len()])?;
    let mut lse = Tensor::empty(query.stream(), &[b, hq])?;
    let into = PaDecodeOut { out: &mut *out, lse: Some(&mut *lse) };
    pa_decode_into(query, key_cache, value_cache, seq_lens, block_tables, options, into)?;
    Ok(PaDecode { out, lse })
}

/// As [`pa_decode`], into given tensors.
///
/// # Errors
/// As [`pa_decode`]; [`Error::Shape`] or [`Error::Stride`] also if an output is not as it should be,
/// and [`Error::Alias`] if one overlaps another argument.
pub fn pa_decode_into<Q: AttentionElement, K: AttentionElement, O: AttentionOutput>(
    query: &TensorSlice<Q>,
    key_cache: &TensorSlice<K>,
    value_cache: &TensorSlice<K>,
    seq_lens: Indices<'_>,
    block_tables: Indices<'_>,
    options: &PaDecodeOptions<'_>,
    out: PaDecodeOut<'_, O>,
) -> Result<()> {
    let mut problem = Problem::new("pa_decode", options.attention);
    let strides = problem.arguments.input("query", query, &["b", "hq", "d"]).adjacent()?;
    let [sequence, head, _] = strides;
    let names = ["key_cache", "value_cache"];
    let rows = problem.caches(CacheLayout::Hnd, names, key_cache, value_cache)?;
    let pages = Pages {
        table_name: "block_tables",
        table: block_tables,
        lengths_name: "seq_lens",
        lengths: Some(seq_lens),
        sequences: "b",
        most: options.max_seq_len.unwrap_or(usize::MAX),
        appended: 0,
    };
    problem.paged(rows, pages)?;
    problem.queries(query, [sequence, 0, head]);
    problem.limit(["b"])?;
    let [b] = problem.arguments.sizes(["b"])?;
    problem.args.sequences = b as u32;
    problem.require_narrow_values()?;
    problem.require_one_type::<Q, K>("key_cache")?;
    problem.refuse_bias()?;
    let given = [options.attention.k_descale, options.attention.v_descale];
    for (name, scale) in ["k_descale", "v_descale"].into_iter().zip(given) {
        problem.arguments.require(
            scale.is_none(),
            name,
            "none, but a scale of the cache",
            "some",
        )?;
    }
    problem.output(out.out, &["b", "hq", "dv"])?;
    problem.lse(out.lse, &["b", "hq"])?;
    problem.one_row();
    problem.alibi = AlibiForm::Relative;
    problem.declare_options()?;
    problem.cache_scales::<K>([options.k_scale, options.v_scale])?;
    problem.launch()
}
