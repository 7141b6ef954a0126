//! What the tokens of a chunk teach a gated delta rule, without the state before it: the products of keys
//! with each other, and, with the inverse of I + A, which [`solve_tril`](mod@crate::solve_tril) gives, the
//! rows of which the state learns:
//!
//! ```text
//! A[i,j] = beta[i] exp(G[i] - G[j]) (k[i] . k[j])     of the tokens i > j of a chunk, 0 elsewhere
//! u = Tm (beta v),  w = Tm (beta exp(G) k),  Tm = (I + A)^-1
//! ```
//!
//! G are the sums of the logarithms of decays in each chunk up to each token. Chunks begin anew in each
//! sequence; columns of A and Tm are the tokens of a chunk. Head j of hv has the keys of head
//! `floor(j / (hv / h))`. Of Tm, what is above the diagonal is not looked at.
//!
//! | | |
//! |---|---|
//! | Shapes | k `[b, t, h, k]`, v `[b, t, hv, v]`, G, beta `[b, t, hv]`, A, Tm `[b, t, hv, c]` -> w `[b, t, hv, k]`, u `[b, t, hv, v]`; c is 16, 32 or 64; hv a multiple of h; k from 1 to 256, v from 1 to 512; any strides of all but the innermost dimension, 64 tokens within 2^31 bytes |
//! | Dtypes | k, v, w, u all bf16, or all f16; G f32; beta bf16, f16, f32; A f32, or as given; Tm as k, or f32 |
//! | Numerics | products with matrix instructions, added up in f32; A in f32; beta v and beta exp(G) k are rounded to the type of k before they are multiplied, as is Tm; bitwise deterministic |
//! | Hardware | cdna3, cdna4; the keys of a chunk are multiplied once for all heads of values; blocks above the diagonal are left out |
//! | Source | Yang, Wang, Zhang, Shen and Kim, "Parallelizing Linear Transformers with the Delta Rule over Sequence Length" (2024) |
//!
//! ```
//! # #[cfg(feature = "cdna3")] {
//! use hk_gdr::{ChunkKktOptions, Device, RecomputeWUOptions, Tensor, bf16};
//! use hk_gdr::{chunk_scaled_dot_kkt, recompute_w_u, solve_tril};
//!
//! let stream = Device::open("sim:mi325x")?.default_stream();
//! // Two tokens with the same key: the second learns what differs from the first.
//! let k = Tensor::filled(&stream, &[1, 2, 1, 1], bf16::ONE)?;
//! let numbers = [3.0, 5.0].map(bf16::from_f32);
//! let v = Tensor::from_slice(&stream, &numbers, &[1, 2, 1, 1])?;
//! let a = chunk_scaled_dot_kkt(&k, 1, &ChunkKktOptions::default().chunk_size(16))?;
//! let tm = solve_tril(&a, &Default::default())?;
//! let options = RecomputeWUOptions::default().chunk_size(16);
//! let out = recompute_w_u(&k, &v, &tm, &options)?;
//! assert_eq!(out.u.to_vec()?, [3.0, 2.0].map(bf16::from_f32));
//! assert_eq!(out.w.to_vec()?, [1.0, 0.0].map(bf16::from_f32));
//! # }
//! # Ok::<(), hk_core::Error>(())
//! ```

#[cfg(doc)]
use hk_core::Error;
use hk_core::dtype::Real;
use hk_core::{Result, Tensor, TensorSlice};

use crate::PrefillSchedule;
use crate::chunk_kkt::{Decays, chunk_kkt};
use crate::chunk_wu::{WuInputs, chunk_wu};
use crate::chunks::{ChunkElement, ChunkGates, ChunkOp, Chunking, tokens_of_heads};
use crate::delta_rule::RealTensor;

/// What can be chosen of [`chunk_scaled_dot_kkt`]. Default is none of it.
#[derive(Debug, Clone, Copy, Default)]
pub struct ChunkKktOptions<'a> {
    chunking: Chunking<'a>,
    gates: Option<ChunkGates<'a>>,
    beta: Option<RealTensor<'a>>,
}

impl<'a> ChunkKktOptions<'a> {
    /// Of these chunks.
    pub(crate) fn in_chunks(chunking: Chunking<'a>) -> Self {
        Self { chunking, ..Self::default() }
    }

    /// Tokens of a chunk, 16, 32 or 64; those of the schedule, or 64, if not given.
    #[must_use]
    pub fn chunk_size(mut self, tokens: usize) -> Self {
        self.chunking.chunk_size = Some(tokens);
        self
    }

    /// The chunks of sequences that follow each other; b is 1.
    #[must_use]
    pub fn schedule(mut self, schedule: &'a PrefillSchedule) -> Self {
        self.chunking.schedule = Some(schedule);
        self
    }

    /// Sums of the logarithms of decays; 0 if not given.
    #[must_use]
    pub fn gates(self, gates: ChunkGates<'a>) -> Self {
        Self { gates: Some(gates), ..self }
    }

    /// How much is learnt, `[b, t, hv]`; all if not given.
    #[must_use]
    pub fn beta(self, beta: impl Into<RealTensor<'a>>) -> Self {
        Self { beta: Some(beta.into()), ..self }
    }
}

/// The products of the keys of all chunks and `value_heads` heads, `[b, t, hv, c]`.
///
/// # Errors
/// [`Error::Shape`] if shapes do not fit to each other, to the schedule or to what there may be,
/// [`Error::Stride`] if keys of a head are not adjacent, and [`Error::Value`] if hv is no multiple of h,
/// the chunk size is none of the above, or a chunk spans more than 2^31 bytes.
pub fn chunk_scaled_dot_kkt<T: ChunkElement>(
    k: &TensorSlice<T>,
    value_heads: usize,
    options: &ChunkKktOptions<'_>,
) -> Result<Tensor<f32>> {
    let [b, t] = [0, 1].map(|axis| k.shape().get(axis).copied().unwrap_or_default());
    let mut a = Tensor::empty(k.stream(), &[b, t, value_heads, options.chunking.size()])?;
    chunk_scaled_dot_kkt_into(k, options, &mut *a)?;
    Ok(a)
}

/// As [`chunk_scaled_dot_kkt`], into a given tensor, which says how many heads there are, and may have
/// another element type.
///
/// # Errors
/// As [`chunk_scaled_dot_kkt`]; [`Error::Shape`] or [`Error::Stride`] also if A is not as said there, and
/// [`Error::Alias`] if it overlaps another argument.
pub fn chunk_scaled_dot_kkt_into<T: ChunkElement, O: Real>(
    k: &TensorSlice<T>,
    options: &ChunkKktOptions<'_>,
    a: &mut TensorSlice<O>,
) -> Result<()> {
    let op = ChunkOp::new("chunk_scaled_dot_kkt", options.chunking);
    chunk_kkt(op, k, options.gates.map_or(Decays::None, Decays::Sums), options.beta, a)
}

/// What can be chosen of [`recompute_w_u`]. Default is none of it.
#[derive(Debug, Clone, Copy, Default)]
pub struct RecomputeWUOptions<'a> {
    chunking: Chunking<'a>,
    gates: Option<ChunkGates<'a>>,
    beta: Option<RealTensor<'a>>,
    head_first: bool,
}

impl<'a> RecomputeWUOptions<'a> {
    /// Of these chunks.
    pub(crate) fn in_chunks(chunking: Chunking<'a>) -> Self {
        Self { chunking, ..Self::default() }
    }

    /// Tokens of a chunk, 16, 32 or 64; those of the schedule, or 64, if not given.
    #[must_use]
    pub fn chunk_size(mut self, tokens: usize) -> Self {
        self.chunking.chunk_size = Some(tokens);
        self
    }

    /// The chunks of sequences that follow each other; b is 1.
    #[must_use]
    pub fn schedule(mut self, schedule: &'a PrefillSchedule) -> Self {
        self.chunking.schedule = Some(schedule);
        self
    }

    /// Sums of the logarithms of decays; 0 if not given.
    #[must_use]
    pub fn gates(self, gates: ChunkGates<'a>) -> Self {
        Self { gates: Some(gates), ..self }
    }

    /// How much is learnt, `[b, t, hv]`; all if not given.
    #[must_use]
    pub fn beta(self, beta: impl Into<RealTensor<'a>>) -> Self {
        Self { beta: Some(beta.into()), ..self }
    }

    /// Whether heads come before tokens in the memory of what is returned.
    #[must_use]
    pub fn head_first(self, head_first: bool) -> Self {
        Self { head_first, ..self }
    }
}

/// What [`recompute_w_u`] returns.
#[derive(Debug)]
pub struct ChunkWU<T: ChunkElement> {
    /// What keys become, `[b, t, hv, k]`.
    pub w: Tensor<T>,
    /// What values become, `[b, t, hv, v]`.
    pub u: Tensor<T>,
}

/// Where [`recompute_w_u_into`] stores.
#[derive(Debug)]
pub struct ChunkWUOut<'a, T: ChunkElement> {
    /// What keys become, `[b, t, hv, k]`.
    pub w: &'a mut TensorSlice<T>,
    /// What values become, `[b, t, hv, v]`.
    pub u: &'a mut TensorSlice<T>,
}

/// The rows of all chunks and heads of which the state learns.
///
/// # Errors
/// As [`chunk_scaled_dot_kkt`]; [`Error::Value`] also if Tm is neither of the type of k nor f32.
pub fn recompute_w_u<'a, T: ChunkElement>(
    k: &TensorSlice<T>,
    v: &TensorSlice<T>,
    tm: impl Into<RealTensor<'a>>,
    options: &RecomputeWUOptions<'_>,
) -> Result<ChunkWU<T>> {
    let heads = v.shape().get(2).copied().unwrap_or_default();
    let mut shape = k.shape().to_vec();
    if let Some(of_keys) = shape.get_mut(2) {
        *of_keys = heads;
    }
    let mut w = tokens_of_heads(k.stream(), &shape, options.head_first)?;
    let mut u = tokens_of_heads(k.stream(), v.shape(), options.head_first)?;
    let out = ChunkWUOut { w: &mut w, u: &mut u };
    recompute_w_u_into(k, v, tm, options, out)?;
    Ok(ChunkWU { w, u })
}

/// As [`recompute_w_u`], into given tensors.
///
/// # Errors
/// As [`recompute_w_u`]; [`Error::Shape`] or [`Error::Stride`] also if an output is not as [`ChunkWUOut`]
/// says, and [`Error::Alias`] if one overlaps another argument.
pub fn recompute_w_u_into<'a, T: ChunkElement>(
    k: &TensorSlice<T>,
    v: &TensorSlice<T>,
    tm: impl Into<RealTensor<'a>>,
    options: &RecomputeWUOptions<'_>,
    out: ChunkWUOut<'_, T>,
) -> Result<()> {
    let op = ChunkOp::new("recompute_w_u", options.chunking);
    let ChunkWUOut { w, u } = out;
    let inputs = WuInputs { k, v, tm: tm.into(), gates: options.gates, beta: options.beta };
    chunk_wu(op, inputs, w, u)
}
