//! Gradients of attention by queries, keys and values, of weights that are computed once:
//!
//! ```text
//! p[i, j]  = exp(s[i, j] - lse[i]),   delta[i] = out[i] dout[i]
//! ds[i, j] = p[i, j] (kept (dout[i] v[j]) - delta[i]) (1 - (tanh(scale (q[i] k[j]) / cap))^2)
//! dv[j] = sum_i kept p[i, j] dout[i],   dk[j] = scale sum_i ds[i, j] q[i],   dq[i] = scale sum_j ds[i, j] k[j]
//! dsink = -sum_i exp(sink - lse[i]) delta[i]
//! ```
//!
//! where kept is 0 for weights that are dropped, and `1 / (1 - p)` for others, and scores s are those of
//! [`mha_fwd`](crate::mha_fwd()). Gradients of keys and values are of all heads of queries that share them.
//!
//! | | |
//! |---|---|
//! | Shapes | as [`mha_fwd`](crate::mha_fwd()) and [`mha_varlen_fwd`](crate::mha_varlen_fwd()) have them; lse and delta `[b, hq, sq]`, packed `[tq, hq]`; dq, dk and dv as q, k and v |
//! | Dtypes | q, k, v, out, dout and gradients bf16 or f16; lse, delta, dsink f32 |
//! | Numerics | scores, weights and sums in f32; weights and gradients of scores are rounded to 16 bits before the next product; gradients of keys and values are bitwise deterministic, those of queries are added up in f32, in another order each time |
//! | Hardware | cdna3, cdna4; each block of keys adds to gradients of queries with atomics, and a launch behind rounds them |
//! | Source | Dao, "FlashAttention-2: Faster Attention with Better Parallelism and Work Partitioning" (2023), algorithm 2 |
//!
//! ```
//! # #[cfg(feature = "cdna3")] {
//! use hk_attn::{AttnForward, AttentionOptions, BackwardOptions, Device, Tensor, bf16};
//! use hk_attn::{mha_fused_bwd, mha_fwd};
//!
//! let stream = Device::open("sim:mi325x")?.default_stream();
//! // One query that sees both keys alike: each value has half of the gradient.
//! let (q, k) = (Tensor::zeros(&stream, &[1, 1, 1, 8])?, Tensor::zeros(&stream, &[1, 2, 1, 8])?);
//! let v = Tensor::filled(&stream, &[1, 2, 1, 8], bf16::ONE)?;
//! let forward = mha_fwd(&q, &k, &v, &AttentionOptions::default())?;
//! let given = AttnForward { q: &q, k: &k, v: &v, out: &forward.out, lse: &forward.lse };
//! let dout = Tensor::filled(&stream, &[1, 1, 1, 8], bf16::from_f32(4.0))?;
//! let of = mha_fused_bwd(&dout, &given, &BackwardOptions::default())?;
//! assert_eq!(of.dv.to_vec()?, vec![bf16::from_f32(2.0); 16]);
//! assert_eq!(of.delta.to_vec()?, [32.0]);
//! # }
//! # Ok::<(), hk_core::Error>(())
//! ```

#[cfg(doc)]
use hk_core::Error;
use hk_core::{Result, TensorSlice};

use crate::attention::{
    AttnForward, AttnGradients, AttnGradientsOut, Backward, BackwardElement, BackwardMode,
    BackwardOptions,
};
use crate::mha::VarlenOptions;

const DENSE: Backward =
    Backward { op: "mha_fused_bwd", packed_lse: &[], mode: Some(BackwardMode::FusedAtomic) };
const PACKED: Backward = Backward {
    op: "mha_varlen_fused_bwd",
    packed_lse: &["tq", "hq"],
    mode: Some(BackwardMode::FusedAtomic),
};

/// Gradients of an attention of sequences that are equally long. Logarithms of sums are those of the forward
/// pass, and `out` what it stored; `dout` are the gradients of that.
///
/// # Errors
/// As [`mha_fwd`](crate::mha_fwd()); [`Error::Value`] also if there is a bias, or an option of 8-bit
/// elements or of splits, or another mode.
pub fn mha_fused_bwd<'a, T: BackwardElement>(
    dout: &TensorSlice<T>,
    forward: &AttnForward<'_, T>,
    options: &BackwardOptions<'a>,
) -> Result<AttnGradients<T>> {
    DENSE.gradients(dout, forward, None, options)
}

/// As [`mha_fused_bwd`], into given tensors.
///
/// # Errors
/// As [`mha_fused_bwd`]; [`Error::Shape`] or [`Error::Stride`] also if an output is not as
/// [`AttnGradientsOut`] says, [`Error::Value`] if gradients of sinks are wanted and there are none, or the
/// other way round, and [`Error::Alias`] if an output overlaps another argument.
pub fn mha_fused_bwd_into<'a, T: BackwardElement>(
    dout: &TensorSlice<T>,
    forward: &AttnForward<'_, T>,
    options: &BackwardOptions<'a>,
    out: AttnGradientsOut<'_, T>,
) -> Result<()> {
    DENSE.launch(dout, forward, None, options, out)
}

/// Gradients of an attention of sequences that follow each other.
///
/// # Errors
/// As [`mha_fused_bwd`] and [`mha_varlen_fwd`](crate::mha_varlen_fwd()).
pub fn mha_varlen_fused_bwd<'a, T: BackwardElement>(
    dout: &TensorSlice<T>,
    forward: &AttnForward<'_, T>,
    varlen: &VarlenOptions<'a>,
    options: &BackwardOptions<'a>,
) -> Result<AttnGradients<T>> {
    PACKED.gradients(dout, forward, Some(varlen), options)
}

/// As [`mha_varlen_fused_bwd`], into given tensors.
///
/// # Errors
/// As [`mha_varlen_fused_bwd`] and [`mha_fused_bwd_into`].
pub fn mha_varlen_fused_bwd_into<'a, T: BackwardElement>(
    dout: &TensorSlice<T>,
    forward: &AttnForward<'_, T>,
    varlen: &VarlenOptions<'a>,
    options: &BackwardOptions<'a>,
    out: AttnGradientsOut<'_, T>,
) -> Result<()> {
    PACKED.launch(dout, forward, Some(varlen), options, out)
}
