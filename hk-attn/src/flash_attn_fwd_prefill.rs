//! Attention of [`mha`](crate::mha) behind the interface of FlashAttention: in three layouts, and with
//! sequences of which only some rows count.
//!
//! If `seqused_q` and `seqused_k` say how many rows of each sequence count, they replace the lengths
//! everywhere: the last query that counts is at the position of the last key that counts. Results of the
//! rows behind are not written.
//!
//! | | |
//! |---|---|
//! | Shapes | as `mha`: `[b, s, h, d]`; `[b, h, s, d]`; or packed, `[t, h, d]`; seqused_q, seqused_k `[b]`; lse `[b, hq, sq]`, or packed, `[hq, tq]` |
//! | Dtypes | as `mha`; q_descale is of heads of keys |
//! | Numerics | as `mha` |
//! | Hardware | cdna3, cdna4 |
//! | Source | Shah et al., "FlashAttention-3: Fast and Accurate Attention with Asynchrony and Low-precision" (2024), whose interface it is |
//!
//! ```
//! # #[cfg(feature = "cdna3")] {
//! use hk_attn::{Device, FlashLayout, FlashOptions, Tensor, bf16, flash_attn_fwd_prefill};
//!
//! let stream = Device::open("sim:mi325x")?.default_stream();
//! let of = |values: &[f32]| -> hk_attn::Result<Tensor<bf16>> {
//!     let values: Vec<_> = values.iter().map(|value| bf16::from_f32(*value)).collect();
//!     Tensor::from_slice(&stream, &values, &[1, 1, values.len(), 1])
//! };
//! // Of two keys, only the first counts.
//! let (q, k, v) = (of(&[1.0])?, of(&[1.0, 2.0])?, of(&[3.0, 5.0])?);
//! let used = Tensor::from_slice(&stream, &[1i32], &[1])?;
//! let options = FlashOptions::default().layout(FlashLayout::Bhsd).seqused_k(&used);
//! let out = flash_attn_fwd_prefill(&q, &k, &v, &options)?;
//! assert_eq!(out.out.to_vec()?, [bf16::from_f32(3.0)]);
//! # }
//! # Ok::<(), hk_core::Error>(())
//! ```

#[cfg(doc)]
use hk_core::Error;
use hk_core::op::indices::Indices;
use hk_core::{Result, Tensor, TensorSlice};

use crate::attention::{AttentionElement, AttentionOptions, AttentionOutput, Lengths, Problem};
use crate::mha::{Mha, MhaOut, VarlenOptions, shape};

/// How rows and heads of sequences are in tensors.
#[derive(Debug, Clone, Copy, Default)]
pub enum FlashLayout<'a> {
    /// `[b, s, h, d]`.
    #[default]
    Bshd,
    /// `[b, h, s, d]`.
    Bhsd,
    /// `[t, h, d]`, of sequences that follow each other.
    Thd(VarlenOptions<'a>),
}

/// What can be chosen of [`flash_attn_fwd_prefill`].
#[derive(Debug, Clone, Copy, Default)]
pub struct FlashOptions<'a> {
    layout: FlashLayout<'a>,
    attention: AttentionOptions<'a>,
    seqused_q: Option<Indices<'a>>,
    seqused_k: Option<Indices<'a>>,
}

impl<'a> FlashOptions<'a> {
    /// How rows and heads are in tensors.
    #[must_use]
    pub fn layout(self, layout: FlashLayout<'a>) -> Self {
        Self { layout, ..self }
    }

    /// Scale, masks and all else that attention has.
    #[must_use]
    pub fn attention(self, attention: AttentionOptions<'a>) -> Self {
        Self { attention, ..self }
    }

    /// How many rows of queries of each sequence count.
    #[must_use]
    pub fn seqused_q(self, used: impl Into<Indices<'a>>) -> Self {
        Self { seqused_q: Some(used.into()), ..self }
    }

    /// How many keys of each sequence count.
    #[must_use]
    pub fn seqused_k(self, used: impl Into<Indices<'a>>) -> Self {
        Self { seqused_k: Some(used.into()), ..self }
    }
}

/// Attention.
///
/// # Errors
/// As [`mha_fwd`](crate::mha_fwd) and [`mha_varlen_fwd`](crate::mha_varlen_fwd); [`Error::Value`] also if
/// a number of rows that count is negative.
pub fn flash_attn_fwd_prefill<T: AttentionElement>(
    q: &TensorSlice<T>,
    k: &TensorSlice<T>,
    v: &TensorSlice<T>,
    options: &FlashOptions<'_>,
) -> Result<Mha<T::Output>> {
    let dv = v.shape().last().copied().unwrap_or_default();
    let (of_out, of_lse) = match options.layout {
        FlashLayout::Bshd => {
            let [b, sq, hq, _] = shape(q.shape());
            (vec![b, sq, hq, dv], vec![b, hq, sq])
        }
        FlashLayout::Bhsd => {
            let [b, hq, sq, _] = shape(q.shape());
            (vec![b, hq, sq, dv], vec![b, hq, sq])
        }
        FlashLayout::Thd(_) => {
            let [tq, hq, _] = shape(q.shape());
            (vec![tq, hq, dv], vec![hq, tq])
        }
    };
    // What no query counts for is 0.
    let mut out = Tensor::zeros(q.stream(), &of_out)?;
    let mut lse = Tensor::zeros(q.stream(), &of_lse)?;
    let into = MhaOut { out: &mut *out, lse: Some(&mut *lse), s_dmask: None };
    flash_attn_fwd_prefill_into(q, k, v, options, into)?;
    Ok(Mha { out, lse })
}

/// As [`flash_attn_fwd_prefill`], into given tensors.
///
/// # Errors
/// As [`flash_attn_fwd_prefill`]; [`Error::Shape`] or [`Error::Stride`] also if an output is not as the
/// layout says, and [`Error::Alias`] if one overlaps another argument.
pub fn flash_attn_fwd_prefill_into<T: AttentionElement, O: AttentionOutput>(
    q: &TensorSlice<T>,
    k: &TensorSlice<T>,
    v: &TensorSlice<T>,
    options: &FlashOptions<'_>,
    out: MhaOut<'_, O>,
) -> Result<()> {
    let mut problem = Problem::new("flash_attn_fwd_prefill", options.attention);
    let of_lse: &[&str] = match options.layout {
        FlashLayout::Thd(varlen) => {
            let VarlenOptions { cu_seqlens_q, cu_seqlens_k, max_seqlen_q, max_seqlen_k } = varlen;
            let of_q = Lengths { bounds: cu_seqlens_q, most: max_seqlen_q };
            let of_k = Lengths { bounds: cu_seqlens_k, most: max_seqlen_k };
            problem.packed(q, k, v, of_q, of_k)?;
            problem.refuse_bias()?;
            &["hq", "tq"]
        }
        FlashLayout::Bshd => {
            problem.dense(q, k, v, false)?;
            &["b", "hq", "sq"]
        }
        FlashLayout::Bhsd => {
            problem.dense(q, k, v, true)?;
            &["b", "hq", "sq"]
        }
    };
    problem.require_narrow_values()?;
    problem.used(options.seqused_q, options.seqused_k)?;
    let of_out: &[&str] = match options.layout {
        FlashLayout::Thd(_) => &["tq", "hq", "dv"],
        FlashLayout::Bshd => &["b", "sq", "hq", "dv"],
        FlashLayout::Bhsd => &["b", "hq", "sq", "dv"],
    };
    problem.output(out.out, of_out)?;
    problem.lse(out.lse, of_lse)?;
    problem.weights(out.s_dmask)?;
    problem.declare_options()?;
    problem.launch()
}
