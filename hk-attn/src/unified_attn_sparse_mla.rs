//! Attention to the latent keys that each query chose, of which all its heads have the same:
//!
//! ```text
//! o[t, h]   = sum_j exp(scale (q[t, h] kv[j]) - lse[t, h]) kv[j, ..c]
//! lse[t, h] = ln(sum_j exp(scale (q[t, h] kv[j])))
//! ```
//!
//! over the keys j of `topk_indices[t]`, each as often as it is there. An index is a slot of the cache,
//! `page bs + slot`, or, [of sequences](IndexSpace), the number of a token, whose key is in slot `j % bs` of
//! page `block_table[b, floor(j / bs)]`. What is -1 is no key, nor is a number from `seqused_k[b]` on. A
//! query without keys has the result 0, and lse -inf.
//!
//! | | |
//! |---|---|
//! | Shapes | q `[t, hq, d]`, kv `[blocks, bs, 1, d]`, topk_indices `[t, k]`; of sequences also cu_seqlens_q `[b + 1]`, seqused_k `[b]`, block_table `[b, most_pages]` -> out `[t, hq, c]`, lse `[t, hq]`; c is kv_lora_rank, from 1 to 512, d from c + 1 to c + 128; any strides of all but the innermost dimension |
//! | Dtypes | q, kv and out bf16, f16; lse f32; topk_indices i32; bounds, lengths and pages i32 or i64 |
//! | Numerics | as [`mha`](crate::mha) |
//! | Hardware | cdna3, cdna4; for 64 heads, each chosen key is read once, and its values once more |
//! | Source | DeepSeek-V3.2 (2025), sparse attention; AITER `unified_attention_sparse_mla`, which drops heads beyond a multiple of 16 |
//!
//! ```
//! # #[cfg(feature = "cdna3")] {
//! use hk_attn::{Device, SparseMlaOptions, Tensor, bf16, sparse_mla_attn_fwd};
//!
//! let stream = Device::open("sim:mi325x")?.default_stream();
//! let of = |values: &[f32], shape: &[usize]| -> hk_attn::Result<Tensor<bf16>> {
//!     let values: Vec<_> = values.iter().map(|value| bf16::from_f32(*value)).collect();
//!     Tensor::from_slice(&stream, &values, shape)
//! };
//! // Two pages of two slots, whose keys are a column of values and one more.
//! let kv = of(&[1.0, 0.0, 2.0, 0.0, 3.0, 0.0, 9.0, 0.0], &[2, 2, 1, 2])?;
//! let q = of(&[0.0, 5.0], &[1, 1, 2])?;
//! let topk_indices = Tensor::from_slice(&stream, &[2, -1, 0], &[1, 3])?;
//! let out = sparse_mla_attn_fwd(&q, &kv, &topk_indices, 1, &SparseMlaOptions::default())?;
//! assert_eq!(out.out.to_vec()?, [bf16::from_f32(2.0)]);
//! assert!((out.lse.to_vec()?[0] - 2f32.ln()).abs() < 1e-5);
//! # }
//! # Ok::<(), hk_core::Error>(())
//! ```

#[cfg(doc)]
use hk_core::Error;
use hk_core::op::indices::Indices;
use hk_core::{Result, Tensor, TensorSlice};

use crate::LeanElement;
use crate::attention::{AttentionOptions, Numbered, Problem};

/// What indices of keys mean.
#[derive(Debug, Clone, Copy, Default)]
pub enum IndexSpace<'a> {
    /// Slots of the cache.
    #[default]
    Physical,
    /// Numbers of tokens of sequences.
    Logical {
        /// Bounds of the sequences' queries, `[b + 1]`.
        cu_seqlens_q: Indices<'a>,
        /// Tokens of sequences, `[b]`.
        seqused_k: Indices<'a>,
        /// Pages, `[b, most_pages]`. Those behind the last token's may be anything.
        block_table: Indices<'a>,
    },
}

/// What can be chosen of [`sparse_mla_attn_fwd`].
#[derive(Debug, Clone, Copy, Default)]
pub struct SparseMlaOptions<'a> {
    /// Factor of scores; `1 / sqrt(d)` if not given.
    pub softmax_scale: Option<f32>,
    /// What indices mean.
    pub index_space: IndexSpace<'a>,
    /// Into how many parts the indices of queries are split, whose results are merged; chosen if not
    /// given.
    pub num_splits: Option<u32>,
    /// As [`AttentionOptions::validate_indices`].
    pub validate_indices: Option<bool>,
}

/// What [`sparse_mla_attn_fwd`] returns.
#[derive(Debug)]
pub struct SparseMla<T: LeanElement> {
    /// The results.
    pub out: Tensor<T>,
    /// Logarithms of the sums of exponentials of scores.
    pub lse: Tensor<f32>,
}

/// Where [`sparse_mla_attn_fwd_into`] stores.
#[derive(Debug)]
pub struct SparseMlaOut<'a, T: LeanElement> {
    /// The results.
    pub out: &'a mut TensorSlice<T>,
    /// Logarithms of the sums of exponentials of scores, if they are wanted.
    pub lse: Option<&'a mut TensorSlice<f32>>,
}

/// Attention of queries to the latent keys that they chose. Slots that no query chose may be anything.
///
/// # Errors
/// [`Error::Shape`] if shapes do not fit to each other or to what there may be, [`Error::Stride`] if
/// elements of a row are not adjacent, and [`Error::Value`] if `kv_lora_rank` or an option is not what it
/// may be, or, if they are [looked at](SparseMlaOptions::validate_indices), indices are below -1 or no
/// slots, bounds or lengths are wrong, or pages are not there. If they are not looked at, such indices
/// are as -1.
pub fn sparse_mla_attn_fwd<T: LeanElement>(
    q: &TensorSlice<T>,
    kv: &TensorSlice<T>,
    topk_indices: &TensorSlice<i32>,
    kv_lora_rank: usize,
    options: &SparseMlaOptions<'_>,
) -> Result<SparseMla<T>> {
    let [t, hq] = *q.shape().first_chunk().unwrap_or(&[0; 2]);
    let mut out = Tensor::empty(q.stream(), &[t, hq, kv_lora_rank])?;
    let mut lse = Tensor::empty(q.stream(), &[t, hq])?;
    let into = SparseMlaOut { out: &mut *out, lse: Some(&mut *lse) };
    sparse_mla_attn_fwd_into(q, kv, topk_indices, kv_lora_rank, options, into)?;
    Ok(SparseMla { out, lse })
}

/// As [`sparse_mla_attn_fwd`], into given tensors.
///
/// # Errors
/// As [`sparse_mla_attn_fwd`]; [`Error::Shape`] or [`Error::Stride`] also if an output is not as it
/// should be, and [`Error::Alias`] if one overlaps another argument.
pub fn sparse_mla_attn_fwd_into<T: LeanElement>(
    q: &TensorSlice<T>,
    kv: &TensorSlice<T>,
    topk_indices: &TensorSlice<i32>,
    kv_lora_rank: usize,
    options: &SparseMlaOptions<'_>,
    out: SparseMlaOut<'_, T>,
) -> Result<()> {
    let SparseMlaOptions { softmax_scale: scale, index_space, num_splits, validate_indices } =
        *options;
    let of = AttentionOptions { scale, num_splits, validate_indices, ..Default::default() };
    let mut problem = Problem::new("sparse_mla_attn_fwd", of);
    let arguments = &mut problem.arguments;
    let [row, head, _] = arguments.input("q", q, &["t", "hq", "d"]).adjacent()?;
    let is_finite = scale.is_none_or(f32::is_finite);
    arguments.require(is_finite, "softmax_scale", "finite", scale.unwrap_or_default())?;
    problem.queries(q, [row, 0, head]);
    problem.limit(["t"])?;
    problem.latent(kv_lora_rank)?;
    let numbered = match index_space {
        IndexSpace::Physical => None,
        IndexSpace::Logical { cu_seqlens_q, seqused_k, block_table } => {
            Some(Numbered { bounds: cu_seqlens_q, lengths: seqused_k, table: block_table })
        }
    };
    problem.chosen(kv, topk_indices, numbered)?;
    let [t] = problem.arguments.sizes(["t"])?;
    problem.args.sequences = t as u32;
    problem.output(out.out, &["t", "hq", "c"])?;
    problem.lse(out.lse, &["t", "hq"])?;
    problem.one_row();
    problem.declare_options()?;
    problem.launch()
}
