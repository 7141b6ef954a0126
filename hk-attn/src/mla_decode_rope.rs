//! Attention of one query of each sequence to latent keys, of which all its heads have the same, and whose
//! first columns are the values; the last columns of queries and of the last keys are rotated before:
//!
//! ```text
//! s[h, j] = scale (q[b, h, ..c] kv[j, ..c] + R(q[b, h, c..]) kv[j, c..])
//! s[h, j] = cap tanh(s[h, j] / cap)
//! o[b, h] = sum_j exp(s[h, j] - lse[h]) kv[j, ..c],    lse[h] = ln(sum_j exp(s[h, j]))
//! ```
//!
//! over the tokens `kv_indices[kv_indptr[b]..kv_indptr[b + 1]]`, of which `kv[j]` is the row of `k_buffer`,
//! and, if there is one, of `v_buffer` the value. R turns pairs of the first columns by the angles of the
//! sequence's position; keys are in the buffer as it has turned them, but the last: R turns that too, for
//! its score, and stores it to `k_pe_tokens`. The buffer stays as it is. A sequence without tokens has the
//! result 0, and a row of zeros in `k_pe_tokens`.
//!
//! Keys are split into `num_kv_splits` parts of `ceil(tokens / num_kv_splits)` tokens each, as far as they
//! go. `attn_logits` has, of each part, the average and, behind it, lse. The number that is chosen depends on
//! that of `kv_indices`, of which there may be more than the last bound says: with room for all tokens to come,
//! it stays the same, and so does a graph.
//!
//! | | |
//! |---|---|
//! | Shapes | q `[b, hq, d]`, k_buffer `[n, 1, d]`, v_buffer `[n, 1, c]`, kv_indptr `[b + 1]`, kv_indices `[nnz]`, cos_sin_cache `[positions, rotary]`, of cosines, then sines, of pairs, positions `[b]` or `[b, 1]` -> out `[b, hq, c]`, k_pe_tokens `[b, d - c]`, attn_logits `[b, hq, num_kv_splits, c + 1]`; c is kv_lora_rank, from 1 to 512, d from c + 1 to c + 128, rotary even, at most d - c; any strides of all but the innermost dimension |
//! | Dtypes | q, buffers, out and k_pe_tokens bf16, f16; cos_sin_cache bf16, f16, f32; attn_logits f32; indices and positions i32 or i64 |
//! | Numerics | as [`mha`](crate::mha); rotations in f32, rounded once |
//! | Hardware | cdna3, cdna4; for 64 heads, each key is read once, and its values once more |
//! | Source | DeepSeek-V2 (2024), multi-head latent attention; AITER `decode_attention_fwd_grouped_rope`, whose pairs have the other's name |
//!
//! ```
//! # #[cfg(feature = "cdna3")] {
//! use hk_attn::{Device, MlaDecodeOptions, MlaRope, MlaTokens, Tensor, bf16, mla_decode_rope};
//!
//! let stream = Device::open("sim:mi325x")?.default_stream();
//! let of = |values: &[f32], shape: &[usize]| -> hk_attn::Result<Tensor<bf16>> {
//!     let values: Vec<_> = values.iter().map(|value| bf16::from_f32(*value)).collect();
//!     Tensor::from_slice(&stream, &values, shape)
//! };
//! // A column of values, and two that a right angle turns.
//! let q = of(&[0.0, 0.0, 0.0], &[1, 1, 3])?;
//! let k_buffer = of(&[4.0, 0.0, 0.0, 8.0, 1.0, 2.0], &[2, 1, 3])?;
//! let kv_indptr = Tensor::from_slice(&stream, &[0, 2], &[2])?;
//! let kv_indices = Tensor::from_slice(&stream, &[0, 1], &[2])?;
//! let tokens = MlaTokens {
//!     kv_indptr: (&kv_indptr).into(),
//!     kv_indices: (&kv_indices).into(),
//!     kv_lora_rank: 1,
//! };
//! let cos_sin_cache = Tensor::from_slice(&stream, &[0.0f32, 1.0], &[1, 2])?;
//! let positions = Tensor::from_slice(&stream, &[0], &[1])?;
//! let mut k_pe_tokens = of(&[0.0; 2], &[1, 2])?;
//! let rope = MlaRope {
//!     cos_sin_cache: &cos_sin_cache,
//!     positions: (&positions).into(),
//!     style: Default::default(),
//!     k_pe_tokens: &mut k_pe_tokens,
//! };
//! let options = MlaDecodeOptions::default();
//! let out = mla_decode_rope(&q, &k_buffer, None, &tokens, Some(rope), 1.0, &options)?;
//! assert_eq!(out.to_vec()?, [bf16::from_f32(6.0)]);
//! assert_eq!(k_pe_tokens.to_vec()?, [-2.0, 1.0].map(bf16::from_f32));
//! # }
//! # Ok::<(), hk_core::Error>(())
//! ```

#[cfg(doc)]
use hk_core::Error;
use hk_core::dtype::Real;
use hk_core::op::indices::Indices;
use hk_core::{Result, Tensor, TensorSlice};

use crate::attention::latent_decode::Rotation;
use crate::attention::{AttentionOptions, MOST_SPLITS, Problem, default_splits};
use crate::{LeanElement, RopeStyle};

/// Heads that a workgroup has.
const HEADS_OF_GROUP: usize = 64;

/// The tokens of sequences, and which columns of their keys are values.
#[derive(Debug, Clone, Copy)]
pub struct MlaTokens<'a> {
    /// Bounds of sequences among `kv_indices`, `[b + 1]`.
    pub kv_indptr: Indices<'a>,
    /// Rows of the buffers, `[nnz]`: at least as many as the last bound.
    pub kv_indices: Indices<'a>,
    /// Columns of values.
    pub kv_lora_rank: usize,
}

/// How the last columns of queries and of sequences' last keys are rotated.
#[derive(Debug)]
pub struct MlaRope<'a, T: LeanElement, W: Real> {
    /// Cosines, then sines, of pairs, a row for each position.
    pub cos_sin_cache: &'a TensorSlice<W>,
    /// Positions of queries, `[b]` or `[b, 1]`. Kernels take the nearest one for a position that the
    /// tables have not.
    pub positions: Indices<'a>,
    /// Which columns are pairs.
    pub style: RopeStyle,
    /// Where the rotated columns of sequences' last keys are stored, `[b, d - c]`.
    pub k_pe_tokens: &'a mut TensorSlice<T>,
}

/// What can be chosen of [`mla_decode_rope`].
#[derive(Debug, Clone, Copy, Default)]
pub struct MlaDecodeOptions {
    /// What scores are capped to softly; not at all if 0.
    pub logit_cap: f32,
    /// Into how many parts the keys of sequences are split, from 1 to 128; chosen if not given.
    pub num_kv_splits: Option<u32>,
    /// As [`AttentionOptions::validate_indices`].
    pub validate_indices: Option<bool>,
}

/// Where [`mla_decode_rope_into`] stores.
#[derive(Debug)]
pub struct MlaDecodeOut<'a, T: LeanElement> {
    /// The results, `[b, hq, c]`.
    pub out: &'a mut TensorSlice<T>,
    /// Results of parts, `[b, hq, num_kv_splits, c + 1]`, if they are wanted.
    pub attn_logits: Option<&'a mut TensorSlice<f32>>,
}

/// Attention of one query of each sequence to latent keys. `scale` is the factor of scores.
///
/// # Errors
/// [`Error::Shape`] if shapes do not fit to each other or to what there may be, [`Error::Stride`] if
/// elements of a row are not adjacent, [`Error::Alias`] if an output overlaps another argument, and
/// [`Error::Value`] if `kv_lora_rank`, the scale or an option is not what it may be, a number of columns is
/// odd, or, if they are [looked at](MlaDecodeOptions::validate_indices), bounds are wrong, or tokens or
/// positions are not there.
pub fn mla_decode_rope<T: LeanElement + Real, W: Real>(
    q: &TensorSlice<T>,
    k_buffer: &TensorSlice<T>,
    v_buffer: Option<&TensorSlice<T>>,
    tokens: &MlaTokens<'_>,
    rope: Option<MlaRope<'_, T, W>>,
    scale: f32,
    options: &MlaDecodeOptions,
) -> Result<Tensor<T>> {
    let [b, hq] = *q.shape().first_chunk().unwrap_or(&[0; 2]);
    let mut out = Tensor::empty(q.stream(), &[b, hq, tokens.kv_lora_rank])?;
    let into = MlaDecodeOut { out: &mut *out, attn_logits: None };
    mla_decode_rope_into(q, k_buffer, v_buffer, tokens, rope, scale, options, into)?;
    Ok(out)
}

/// As [`mla_decode_rope`], into given tensors.
///
/// # Errors
/// As [`mla_decode_rope`].
#[expect(clippy::too_many_arguments, reason = "tensors, and what is said of them")]
pub fn mla_decode_rope_into<T: LeanElement + Real, W: Real>(
    q: &TensorSlice<T>,
    k_buffer: &TensorSlice<T>,
    v_buffer: Option<&TensorSlice<T>>,
    tokens: &MlaTokens<'_>,
    rope: Option<MlaRope<'_, T, W>>,
    scale: f32,
    options: &MlaDecodeOptions,
    out: MlaDecodeOut<'_, T>,
) -> Result<()> {
    let MlaTokens { kv_indptr, kv_indices, kv_lora_rank } = *tokens;
    let MlaDecodeOptions { logit_cap, num_kv_splits, validate_indices } = *options;
    let attention = AttentionOptions { validate_indices, ..AttentionOptions::default() };
    let attention = attention.scale(scale).softcap(logit_cap).num_splits(1);
    let mut problem = Problem::new("mla_decode_rope", attention);
    let arguments = &mut problem.arguments;
    let [row, head, _] = arguments.input("q", q, &["b", "hq", "d"]).adjacent()?;
    let is_cap = logit_cap >= 0.0 && logit_cap.is_finite();
    arguments.require(is_cap, "logit_cap", "0, or positive and finite", logit_cap)?;
    let is_number = num_kv_splits.is_none_or(|of| (1..=MOST_SPLITS as u32).contains(&of));
    let constraint = format!("from 1 to {MOST_SPLITS}");
    let given = num_kv_splits.unwrap_or_default();
    arguments.require(is_number, "num_kv_splits", constraint, given)?;
    problem.queries(q, [0, row, head]);
    problem.limit(["b"])?;
    problem.latent(kv_lora_rank)?;
    let mut decode = problem.latent_tokens(k_buffer, v_buffer, kv_indptr, kv_indices)?;
    if let Some(MlaRope { cos_sin_cache, positions, style, k_pe_tokens }) = rope {
        let rotation = Rotation { table: cos_sin_cache, positions, style, k_pe: k_pe_tokens };
        problem.rotated(&mut decode, rotation)?;
    }
    let [b, hq, nnz] = problem.arguments.sizes(["b", "hq", "nnz"])?;
    let splits = num_kv_splits.map_or_else(
        || {
            let workgroups = b.saturating_mul(hq.div_ceil(HEADS_OF_GROUP)) as u64;
            default_splits(q.stream().device(), workgroups, nnz.div_ceil(b.max(1)))
        },
        u64::from,
    );
    problem.split_results(decode, splits as usize, out.out, out.attn_logits)?;
    problem.declare_options()?;
    problem.launch()
}
