//! Two attentions in one launch, so that each fills what the other leaves of the chip: decoding, whose
//! queries see all keys, and a causal prefill, whose query i sees keys 0 to i. Both as
//! [`lean_atten`](crate::lean_atten), with the same heads, width and scale.
//!
//! | | |
//! |---|---|
//! | Shapes | q `[b sq, hq, d]`, k and v `[n, hk, d]`, kv_lens `[b]` -> out `[b sq, hq, d]`; the prefill's q_pf `[b_pf sq_pf, hq, d]`, k_pf and v_pf `[n_pf, hk, d]`, kv_lens_pf `[b_pf]` -> out_pf `[b_pf sq_pf, hq, d]`; limits as for `lean_atten`; either may be empty |
//! | Dtypes | q, k and v bf16, f16; lengths i32, i64 |
//! | Numerics | as [`lean_atten`](crate::lean_atten); ratios share programs, and the same numbers of programs give the same bits |
//! | Hardware | cdna3, cdna4 |
//! | Source | Kamath et al., "POD-Attention: Unlocking Full Prefill-Decode Overlap for Faster LLM Inference" (2024) |
//!
//! ```
//! # #[cfg(feature = "cdna3")] {
//! use hk_attn::{Device, LeanBatch, PodOptions, Tensor, bf16, pod_attn};
//!
//! let stream = Device::open("sim:mi325x")?.default_stream();
//! let of = |values: &[f32]| -> hk_attn::Result<Tensor<bf16>> {
//!     let values: Vec<_> = values.iter().map(|value| bf16::from_f32(*value)).collect();
//!     Tensor::from_slice(&stream, &values, &[values.len(), 1, 1])
//! };
//! let (q, k, v) = (of(&[0.0, 0.0])?, of(&[1.0, 2.0])?, of(&[3.0, 5.0])?);
//! let length = Tensor::from_slice(&stream, &[2i32], &[1])?;
//! let batch = LeanBatch { q: &q, k: &k, v: &v, kv_lens: (&length).into() };
//! let (decoded, prefilled) = pod_attn(&batch, &batch, &PodOptions::default())?;
//! assert_eq!(decoded.to_vec()?, [4.0, 4.0].map(bf16::from_f32));
//! assert_eq!(prefilled.to_vec()?, [3.0, 4.0].map(bf16::from_f32));
//! # }
//! # Ok::<(), hk_core::Error>(())
//! ```

#[cfg(doc)]
use hk_core::Error;
use hk_core::op::indices::Indices;
use hk_core::{Result, Tensor, TensorSlice};

use crate::attention::{Lean, LeanOptions, Problem, Shares};
use crate::lean_atten::{FIRST, LeanElement, SECOND, results, sequences};

/// Sequences with equally many queries, and keys that follow each other.
#[derive(Debug, Clone, Copy)]
pub struct LeanBatch<'a, T: LeanElement> {
    /// Queries, sequence after sequence.
    pub q: &'a TensorSlice<T>,
    /// Keys.
    pub k: &'a TensorSlice<T>,
    /// Values.
    pub v: &'a TensorSlice<T>,
    /// Keys of each sequence.
    pub kv_lens: Indices<'a>,
}

/// What can be chosen of [`pod_attn`].
#[derive(Debug, Clone, Copy)]
pub struct PodOptions {
    lean: LeanOptions,
    prefill_ratio: u32,
    decode_ratio: u32,
}

impl Default for PodOptions {
    fn default() -> Self {
        Self { lean: LeanOptions::default(), prefill_ratio: 1, decode_ratio: 1 }
    }
}

impl PodOptions {
    /// Factor of scores, programs of both together, and how parts are merged; masks are defined by the op.
    #[must_use]
    pub fn lean(self, lean: LeanOptions) -> Self {
        Self { lean, ..self }
    }

    /// The shares that prefill and decoding have of the programs.
    #[must_use]
    pub fn ratios(self, prefill: u32, decode: u32) -> Self {
        Self { prefill_ratio: prefill, decode_ratio: decode, ..self }
    }
}

/// Attention of decoding and of prefill, in this order.
///
/// # Errors
/// As [`lean_attn_fwd`](crate::lean_attn_fwd); [`Error::Value`] also if both ratios are 0.
pub fn pod_attn<T: LeanElement>(
    decode: &LeanBatch<'_, T>,
    prefill: &LeanBatch<'_, T>,
    options: &PodOptions,
) -> Result<(Tensor<T>, Tensor<T>)> {
    let mut out = Tensor::empty(decode.q.stream(), decode.q.shape())?;
    let mut out_pf = Tensor::empty(prefill.q.stream(), prefill.q.shape())?;
    pod_attn_into(decode, prefill, options, &mut *out, &mut *out_pf)?;
    Ok((out, out_pf))
}

/// As [`pod_attn`], into given tensors.
///
/// # Errors
/// As [`pod_attn`]; [`Error::Shape`] or [`Error::Stride`] also if an output has not the shape of its
/// queries, and [`Error::Alias`] if one overlaps another argument.
pub fn pod_attn_into<T: LeanElement>(
    decode: &LeanBatch<'_, T>,
    prefill: &LeanBatch<'_, T>,
    options: &PodOptions,
    out: &mut TensorSlice<T>,
    out_pf: &mut TensorSlice<T>,
) -> Result<()> {
    const OP: &str = "pod_attn";
    let all = options.lean.without_mask();
    let mut problem = Problem::new(OP, all.of_problem());
    let LeanBatch { q, k, v, kv_lens } = *decode;
    sequences(&mut problem, FIRST, q, k, v, kv_lens)?;
    results(&mut problem, FIRST, out)?;
    problem.declare_options()?;
    let mut lean = Lean::new(all, problem);
    lean.and(OP, all.causal(true).of_problem(), |problem| {
        let LeanBatch { q, k, v, kv_lens } = *prefill;
        sequences(problem, SECOND, q, k, v, kv_lens)?;
        results(problem, SECOND, out_pf)?;
        problem.declare_options()?;
        problem.args.top_left = 1;
        Ok(())
    })?;
    lean.launch(Shares([options.decode_ratio, options.prefill_ratio]))
}
