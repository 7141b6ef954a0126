//! What the tokens of a chunk teach a gated delta rule, from the logarithms of decays and the keys, in one
//! call, and its steps:
//!
//! ```text
//! G  = sums of g in each chunk up to each token                    chunk_cumsum
//! A  = beta[i] exp(G[i] - G[j]) (k[i] . k[j]) of i > j, 0 elsewhere  chunk_compute_a
//! Tm = (I + A)^-1                                                  chunk_solve_tril
//! u  = Tm (beta v),  w = Tm (beta exp(G) k)                        chunk_recompute_w_u
//! ```
//!
//! Chunks begin anew in each sequence; head j of hv has the keys of head `floor(j / (hv / h))`.
//!
//! | | |
//! |---|---|
//! | Shapes | k `[b, t, h, k]`, v `[b, t, hv, v]`, g, beta `[b, t, hv]` -> sums `[b, t, hv]`, Tm `[b, t, hv, c]`, w `[b, t, hv, k]`, u `[b, t, hv, v]`; c is 16, 32 or 64; hv a multiple of h; k from 1 to 256, v from 1 to 512; any strides of all but the innermost dimension, 64 tokens within 2^31 bytes |
//! | Dtypes | k, v, Tm, w, u all bf16, or all f16; g, beta bf16, f16, f32; sums f32 |
//! | Numerics | G, A and the inverse in f32; Tm, beta v and beta exp(G) k are rounded to the type of k before they are multiplied by matrix instructions, which add up in f32; bitwise deterministic |
//! | Hardware | cdna3, cdna4; one launch: the keys of a chunk are multiplied once for all heads of values, A and Tm stay in LDS |
//! | Source | Yang, Wang, Zhang, Shen and Kim, "Parallelizing Linear Transformers with the Delta Rule over Sequence Length" (2024) |
//!
//! ```
//! # #[cfg(feature = "cdna3")] {
//! use hk_gdr::{ChunkPipelineOptions, Device, Tensor, bf16, chunk_pipeline};
//!
//! let stream = Device::open("sim:mi325x")?.default_stream();
//! // Tokens with the same key, of which all is learnt: each differs from the one before.
//! let k = Tensor::filled(&stream, &[1, 3, 1, 1], bf16::ONE)?;
//! let v = Tensor::from_slice(&stream, &[1.0, 3.0, 9.0].map(bf16::from_f32), &[1, 3, 1, 1])?;
//! let g = Tensor::filled(&stream, &[1, 3, 1], 0.0f32)?;
//! let beta = Tensor::filled(&stream, &[1, 3, 1], 1.0f32)?;
//! let out = chunk_pipeline(&k, &v, &g, &beta, &ChunkPipelineOptions::default())?;
//! assert_eq!(out.u.to_vec()?, [1.0, 2.0, 6.0].map(bf16::from_f32));
//! # }
//! # Ok::<(), hk_core::Error>(())
//! ```

mod launch;

pub(crate) use launch::{Launch, Parts, Problem, Scan, ScanParts};

#[cfg(doc)]
use hk_core::Error;
use hk_core::dtype::Real;
use hk_core::op::Arguments;
use hk_core::op::indices::IndexList;
use hk_core::{Result, Tensor, TensorSlice};

use crate::chunk_kkt::MOST_KEYS;
use crate::chunk_prepare::prepare;
use crate::chunk_wu::MOST_VALUES;
use crate::chunks::{
    ChunkElement, ChunkGates, ChunkOp, Chunking, CumulativeGates, GateBase, tokens_of_heads,
};
use crate::cumsum::{CumsumOptions, cumsum_scalar};
use crate::delta_rule::{RealTensor, TokenHeads};
use crate::solve_tril::{SolveTrilOptions, solve_tril_into};
use crate::wy_representation::{
    ChunkKktOptions, ChunkWU, RecomputeWUOptions, chunk_scaled_dot_kkt, recompute_w_u,
};
use crate::{Indices, PrefillSchedule};

/// What can be chosen of the steps, alike of all. Default is none of it.
#[derive(Debug, Clone, Copy, Default)]
pub struct ChunkPipelineOptions<'a> {
    chunking: Chunking<'a>,
    base: GateBase,
    head_first: bool,
    output_tm: bool,
}

impl<'a> ChunkPipelineOptions<'a> {
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

    /// Of which number the sums give the power.
    #[must_use]
    pub fn gate_base(self, base: GateBase) -> Self {
        Self { base, ..self }
    }

    /// Whether heads come before tokens in the memory of what is returned.
    #[must_use]
    pub fn head_first(self, head_first: bool) -> Self {
        Self { head_first, ..self }
    }

    /// Whether Tm is returned.
    #[must_use]
    pub fn output_tm(self, output: bool) -> Self {
        Self { output_tm: output, ..self }
    }
}

/// What [`chunk_pipeline`] returns.
#[derive(Debug)]
pub struct ChunkPipeline<T: ChunkElement> {
    /// The sums.
    pub gates: CumulativeGates,
    /// The inverses, `[b, t, hv, c]`, if they are wanted.
    pub tm: Option<Tensor<T>>,
    /// What keys become, `[b, t, hv, k]`.
    pub w: Tensor<T>,
    /// What values become, `[b, t, hv, v]`.
    pub u: Tensor<T>,
}

/// Where [`chunk_pipeline_into`] stores.
#[derive(Debug)]
pub struct ChunkPipelineOut<'a, T: ChunkElement> {
    /// The sums, `[b, t, hv]`.
    pub sums: &'a mut TensorSlice<f32>,
    /// The inverses, `[b, t, hv, c]`; wanted if given.
    pub tm: Option<&'a mut TensorSlice<T>>,
    /// What keys become, `[b, t, hv, k]`.
    pub w: &'a mut TensorSlice<T>,
    /// What values become, `[b, t, hv, v]`.
    pub u: &'a mut TensorSlice<T>,
}

/// All steps.
///
/// # Errors
/// [`Error::Shape`] if shapes do not fit to each other, to the schedule or to what there may be,
/// [`Error::Stride`] if elements of a row are not adjacent, [`Error::Value`] if hv is no multiple of h, the
/// chunk size is none of the above, or a chunk spans more than 2^31 bytes.
pub fn chunk_pipeline<'a, T: ChunkElement>(
    k: &TensorSlice<T>,
    v: &TensorSlice<T>,
    g: impl Into<RealTensor<'a>>,
    beta: impl Into<RealTensor<'a>>,
    options: &ChunkPipelineOptions<'_>,
) -> Result<ChunkPipeline<T>> {
    let ChunkPipelineOptions { chunking, base, head_first, output_tm } = *options;
    let (stream, g) = (k.stream(), g.into());
    let mut shape = v.shape().to_vec();
    let mut of = |n: Option<usize>| {
        if let (Some(last), Some(n)) = (shape.last_mut(), n) {
            *last = n;
        }
        tokens_of_heads::<T>(stream, &shape, head_first)
    };
    let mut w = of(k.shape().last().copied())?;
    let mut tm = if output_tm { Some(of(Some(chunking.size()))?) } else { None };
    let mut u = tokens_of_heads(stream, v.shape(), head_first)?;
    let mut sums = tokens_of_heads(stream, g.shape(), head_first)?;
    let out = ChunkPipelineOut { sums: &mut sums, tm: tm.as_deref_mut(), w: &mut w, u: &mut u };
    chunk_pipeline_into(k, v, g, beta, options, out)?;
    Ok(ChunkPipeline { gates: CumulativeGates { sums, base }, tm, w, u })
}

/// As [`chunk_pipeline`], into given tensors.
///
/// # Errors
/// As [`chunk_pipeline`]; [`Error::Shape`] or [`Error::Stride`] also if an output is not as
/// [`ChunkPipelineOut`] says, and [`Error::Alias`] if one overlaps another argument.
pub fn chunk_pipeline_into<'a, T: ChunkElement>(
    k: &TensorSlice<T>,
    v: &TensorSlice<T>,
    g: impl Into<RealTensor<'a>>,
    beta: impl Into<RealTensor<'a>>,
    options: &ChunkPipelineOptions<'_>,
    out: ChunkPipelineOut<'_, T>,
) -> Result<()> {
    let mut op = ChunkOp::new("chunk_pipeline", options.chunking);
    let k = op.vectors("k", k, &["b", "t", "h", "k"])?;
    let v = op.vectors("v", v, &["b", "t", "hv", "v"])?;
    let g = op.real_scalars("g", g.into())?;
    let beta = op.real_scalars("beta", beta.into())?;
    let schedule = op.schedule()?;
    op.arguments.limit("k", 1..=MOST_KEYS)?;
    op.arguments.limit("v", 1..=MOST_VALUES)?;
    let sums = op.output_scalars("sums", out.sums)?;
    let mut tm = TokenHeads::NONE;
    if let Some(wanted) = out.tm {
        tm = op.output("tm", wanted, &["b", "t", "hv", "c"])?;
        op.arguments.limit("c", op.size()..=op.size())?;
    }
    let w = op.output("w", out.w, &["b", "t", "hv", "k"])?;
    let u = op.output("u", out.u, &["b", "t", "hv", "v"])?;
    let problem = Problem::new(&op, schedule, options.base)?;
    let call = op.check()?;
    let parts = Parts { sums, tm, w, u };
    let prepare = prepare::<T>(&call, &problem, [k, v, g, beta], &parts, (IndexList::NONE, 1))?;
    if schedule.chunks == 0 {
        return Ok(());
    }
    call.submit(|stream| prepare.launch(stream))
}

/// The sums of the logarithms of decays: [`cumsum_scalar`].
///
/// # Errors
/// As [`cumsum_scalar`]; [`Error::Value`] also if the chunk size is none of the above, or not the
/// schedule's.
pub fn chunk_cumsum<G: Real>(
    g: &TensorSlice<G>,
    options: &ChunkPipelineOptions<'_>,
) -> Result<CumulativeGates> {
    let ChunkPipelineOptions { chunking, base, head_first, .. } = *options;
    let size = chunking.require_size(&Arguments::new("chunk_cumsum"))?;
    let mut of = CumsumOptions::default().output_head_first(head_first);
    if base == GateBase::Two {
        of = of.scale(std::f32::consts::LOG2_E);
    }
    if let Some(schedule) = chunking.schedule {
        of = of.cu_seqlens(Indices::from(&schedule.cu_seqlens));
    }
    let mut sums = cumsum_scalar(g, size, &of)?;
    if head_first {
        sums = sums.into_permuted(&[0, 2, 1])?;
    }
    Ok(CumulativeGates { sums, base })
}

/// The products of keys: [`chunk_scaled_dot_kkt`].
///
/// # Errors
/// As [`chunk_scaled_dot_kkt`].
pub fn chunk_compute_a<'a, T: ChunkElement>(
    k: &TensorSlice<T>,
    gates: ChunkGates<'a>,
    beta: impl Into<RealTensor<'a>>,
    options: &ChunkPipelineOptions<'a>,
) -> Result<Tensor<f32>> {
    let of = ChunkKktOptions::in_chunks(options.chunking).gates(gates).beta(beta);
    let heads = gates.sums.shape().get(2).copied().unwrap_or_default();
    chunk_scaled_dot_kkt(k, heads, &of)
}

/// Makes products of keys the inverses: [`solve_tril_into`] itself.
///
/// # Errors
/// As [`solve_tril_into`]; [`Error::Shape`] also if c is not the chunk size, and [`Error::Value`] if that is
/// none of the above, or not the schedule's.
pub fn chunk_solve_tril(
    a: &mut TensorSlice<f32>,
    options: &ChunkPipelineOptions<'_>,
) -> Result<()> {
    let mut args = Arguments::new("chunk_solve_tril");
    let size = options.chunking.require_size(&args)?;
    args.input("a", a, &["b", "t", "hv", "c"]).adjacent::<4>()?;
    args.limit("c", size..=size)?;
    let mut of = SolveTrilOptions::default();
    if let Some(schedule) = options.chunking.schedule {
        of = of.cu_seqlens(Indices::from(&schedule.cu_seqlens));
    }
    let (input, mut output) = a.in_place();
    solve_tril_into(&input, &of, &mut output)
}

/// The rows of which states learn: [`recompute_w_u`].
///
/// # Errors
/// As [`recompute_w_u`].
pub fn chunk_recompute_w_u<'a, T: ChunkElement>(
    k: &TensorSlice<T>,
    v: &TensorSlice<T>,
    tm: impl Into<RealTensor<'a>>,
    gates: ChunkGates<'a>,
    beta: impl Into<RealTensor<'a>>,
    options: &ChunkPipelineOptions<'a>,
) -> Result<ChunkWU<T>> {
    let of = RecomputeWUOptions::in_chunks(options.chunking).gates(gates).beta(beta);
    recompute_w_u(k, v, tm, &of.head_first(options.head_first))
}
