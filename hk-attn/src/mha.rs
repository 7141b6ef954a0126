//! Attention of many heads, dense and packed:
//!
//! ```text
//! s[i, j] = cap tanh(scale (q[i] k[j]) / cap) - slope |position(i) - j| + bias[i, j]
//! o[i]    = sum_j exp(s[i, j] - lse[i]) v[j],    lse[i] = ln(sum_j exp(s[i, j]) + exp(sink))
//! ```
//!
//! over the keys that query i sees: `position(i) - left <= j <= position(i) + right`, where the last
//! query is at the position of the last key. Head h of hq has the keys and values of head
//! `floor(h / (hq / hk))`. A query that sees no key has the result 0, and the sum -inf, or that of the
//! sink.
//!
//! | | |
//! |---|---|
//! | Shapes | q `[b, sq, hq, d]`, k `[b, sk, hk, d]`, v `[b, sk, hk, dv]` -> out `[b, sq, hq, dv]`, lse `[b, hq, sq]`; packed: q `[tq, hq, d]`, k `[tk, hk, d]`, v `[tk, hk, dv]` -> out `[tq, hq, dv]`, lse `[tq, hq]`; s_dmask, if it is wanted, as [`MhaOut`] says; d and dv from 1 to 256, dv at most d, hq a multiple of hk; any strides of all but the innermost dimension |
//! | Dtypes | q, k and v bf16, f16, or, of the same shapes, 8 bits: e4m3 and e5m2 in the flavour of the chip, i8; out bf16, f16, f32, e4m3; lse f32 |
//! | Numerics | scores, their maxima and sums in f32, weights rounded to 16 bits before they meet values; queries, keys and values that all are e4m3, of heads up to 256 wide, are multiplied as such, and weights are `2^7 exp(s - max s)` rounded to e4m3; other 8-bit elements are multiplied as bf16, which is exact; bitwise deterministic |
//! | Hardware | cdna3, cdna4; each key and value is read once per tile of queries |
//! | Source | Dao, "FlashAttention-2: Faster Attention with Better Parallelism and Work Partitioning" (2023) |
//!
//! ```
//! # #[cfg(feature = "cdna3")] {
//! use hk_attn::{AttentionOptions, Device, Tensor, bf16, mha_fwd};
//!
//! let stream = Device::open("sim:mi325x")?.default_stream();
//! let of = |values: &[f32]| -> hk_attn::Result<Tensor<bf16>> {
//!     let values: Vec<_> = values.iter().map(|value| bf16::from_f32(*value)).collect();
//!     Tensor::from_slice(&stream, &values, &[1, values.len(), 1, 1])
//! };
//! // Two queries, the first of which sees the first key alone.
//! let (q, k, v) = (of(&[0.0, 0.0])?, of(&[1.0, 2.0])?, of(&[3.0, 5.0])?);
//! let out = mha_fwd(&q, &k, &v, &AttentionOptions::default().causal(true))?;
//! assert_eq!(out.out.to_vec()?, [3.0, 4.0].map(bf16::from_f32));
//! assert_eq!(out.lse.to_vec()?[0], 0.0);
//! # }
//! # Ok::<(), hk_core::Error>(())
//! ```

#[cfg(doc)]
use hk_core::Error;
use hk_core::op::Arguments;
use hk_core::op::indices::Indices;
use hk_core::{Result, Tensor, TensorSlice};

use crate::attention::{AttentionElement, AttentionOptions, AttentionOutput, Lengths, Problem};

/// What [`mha_fwd`] and [`mha_varlen_fwd`] return.
#[derive(Debug)]
pub struct Mha<O: AttentionOutput> {
    /// The results.
    pub out: Tensor<O>,
    /// Logarithms of the sums of exponentials of scores.
    pub lse: Tensor<f32>,
}

/// Where [`mha_fwd_into`] and [`mha_varlen_fwd_into`] store.
#[derive(Debug)]
pub struct MhaOut<'a, O: AttentionOutput> {
    /// The results.
    pub out: &'a mut TensorSlice<O>,
    /// Logarithms of the sums of exponentials of scores, if they are wanted.
    pub lse: Option<&'a mut TensorSlice<f32>>,
    /// Weights `exp(s - lse)` of queries and keys, if they are wanted, which takes a second pass: negative if they
    /// are dropped, not divided by `1 - p`, and 0 where a key is not visible or not there. `[b, hq, sq, sk]`, or
    /// of packed sequences `[b, hq, max_seqlen_q, max_seqlen_k]`, both no more than there are rows. Only ops that
    /// say so have them.
    pub s_dmask: Option<&'a mut TensorSlice<f32>>,
}

impl<O: AttentionOutput> MhaOut<'_, O> {
    /// Requires that weights are not wanted, of an op that does not give them.
    pub(crate) fn refuse_weights(&self, arguments: &Arguments) -> Result<()> {
        arguments.require(self.s_dmask.is_none(), "s_dmask", "none, of this op", "some")
    }
}

/// Where sequences are that follow each other: their bounds, `[b + 1]`, and how long each is at most.
#[derive(Debug, Clone, Copy)]
pub struct VarlenOptions<'a> {
    /// Bounds of queries.
    pub cu_seqlens_q: Indices<'a>,
    /// Bounds of keys.
    pub cu_seqlens_k: Indices<'a>,
    /// The most queries of a sequence.
    pub max_seqlen_q: usize,
    /// The most keys of a sequence.
    pub max_seqlen_k: usize,
}

/// Attention of sequences that are equally long.
///
/// # Errors
/// [`Error::Shape`] if shapes do not fit to each other or to what there may be, [`Error::Stride`] if
/// elements of a row are not adjacent, [`Error::Value`] if hq is no multiple of hk or an option is not
/// what it may be, and [`Error::ArchMismatch`] if 8-bit floating point is not the chip's.
pub fn mha_fwd<T: AttentionElement>(
    q: &TensorSlice<T>,
    k: &TensorSlice<T>,
    v: &TensorSlice<T>,
    options: &AttentionOptions<'_>,
) -> Result<Mha<T::Output>> {
    let sizes = [q.shape(), v.shape()];
    let ([b, sq, hq, _], [.., dv]) = (shape(sizes[0]), shape::<4>(sizes[1]));
    let mut out = Tensor::empty(q.stream(), &[b, sq, hq, dv])?;
    let mut lse = Tensor::empty(q.stream(), &[b, hq, sq])?;
    let into = MhaOut { out: &mut *out, lse: Some(&mut *lse), s_dmask: None };
    mha_fwd_into(q, k, v, options, into)?;
    Ok(Mha { out, lse })
}

/// As [`mha_fwd`], into given tensors.
///
/// # Errors
/// As [`mha_fwd`]; [`Error::Shape`] or [`Error::Stride`] also if an output is not as [`MhaOut`] says, and
/// [`Error::Alias`] if one overlaps another argument.
pub fn mha_fwd_into<T: AttentionElement, O: AttentionOutput>(
    q: &TensorSlice<T>,
    k: &TensorSlice<T>,
    v: &TensorSlice<T>,
    options: &AttentionOptions<'_>,
    out: MhaOut<'_, O>,
) -> Result<()> {
    let mut problem = Problem::new("mha_fwd", *options);
    problem.dense(q, k, v, false)?;
    problem.require_narrow_values()?;
    problem.output(out.out, &["b", "sq", "hq", "dv"])?;
    problem.lse(out.lse, &["b", "hq", "sq"])?;
    problem.weights(out.s_dmask)?;
    problem.declare_options()?;
    problem.launch()
}

/// Attention of sequences that follow each other.
///
/// # Errors
/// As [`mha_fwd`]; [`Error::Value`] also if bounds or the most rows of a sequence are wrong and
/// [looked at](AttentionOptions::validate_indices), or there is a bias.
pub fn mha_varlen_fwd<T: AttentionElement>(
    q: &TensorSlice<T>,
    k: &TensorSlice<T>,
    v: &TensorSlice<T>,
    varlen: &VarlenOptions<'_>,
    options: &AttentionOptions<'_>,
) -> Result<Mha<T::Output>> {
    let ([tq, hq, _], [.., dv]) = (shape(q.shape()), shape::<3>(v.shape()));
    let mut out = Tensor::empty(q.stream(), &[tq, hq, dv])?;
    let mut lse = Tensor::empty(q.stream(), &[tq, hq])?;
    let into = MhaOut { out: &mut *out, lse: Some(&mut *lse), s_dmask: None };
    mha_varlen_fwd_into(q, k, v, varlen, options, into)?;
    Ok(Mha { out, lse })
}

/// As [`mha_varlen_fwd`], into given tensors.
///
/// # Errors
/// As [`mha_varlen_fwd`] and [`mha_fwd_into`].
pub fn mha_varlen_fwd_into<T: AttentionElement, O: AttentionOutput>(
    q: &TensorSlice<T>,
    k: &TensorSlice<T>,
    v: &TensorSlice<T>,
    varlen: &VarlenOptions<'_>,
    options: &AttentionOptions<'_>,
    out: MhaOut<'_, O>,
) -> Result<()> {
    let mut problem = Problem::new("mha_varlen_fwd", *options);
    let VarlenOptions { cu_seqlens_q, cu_seqlens_k, max_seqlen_q, max_seqlen_k } = *varlen;
    let of_q = Lengths { bounds: cu_seqlens_q, most: max_seqlen_q };
    let of_k = Lengths { bounds: cu_seqlens_k, most: max_seqlen_k };
    problem.packed(q, k, v, of_q, of_k)?;
    problem.require_narrow_values()?;
    problem.refuse_bias()?;
    problem.output(out.out, &["tq", "hq", "dv"])?;
    problem.lse(out.lse, &["tq", "hq"])?;
    problem.weights(out.s_dmask)?;
    problem.declare_options()?;
    problem.launch()
}

/// The dimensions of a tensor, or zeros if it has another number of them, which is told later.
pub(crate) fn shape<const N: usize>(shape: &[usize]) -> [usize; N] {
    shape.try_into().unwrap_or([0; N])
}
