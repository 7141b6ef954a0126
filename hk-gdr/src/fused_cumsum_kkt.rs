//! The sums of the logarithms of decays in each chunk of tokens, and the products of its keys, for the
//! triangular solve of gated delta rules in chunks: of the tokens i > j of a chunk and a head of values,
//!
//! ```text
//! G[i]   = g[first of the chunk] + .. + g[i]
//! A[i,j] = beta[i] exp(G[i] - G[j]) (k[i] . k[j])
//! ```
//!
//! and 0 elsewhere. Columns of A are the tokens of a chunk of c; chunks begin anew in each sequence. Head
//! j of hv has the keys of head `floor(j / (hv / h))`. Where a decay would be more than 1, it is 0 unless
//! that is [not wanted](CumsumKktOptions::clamp).
//!
//! | | |
//! |---|---|
//! | Shapes | g, beta `[b, t, hv]`, k `[b, t, h, k]` -> sums `[b, t, hv]`, A `[b, t, hv, c]`; c is 16, 32 or 64; hv a multiple of h; k from 1 to 256; any strides of all but the innermost dimension of k and A, 64 tokens within 2^31 bytes |
//! | Dtypes | g and beta bf16, f16, f32; k bf16, f16; sums and A f32 |
//! | Numerics | sums in f32; products of keys with matrix instructions, added up in f32; all else in f32; bitwise deterministic |
//! | Hardware | cdna3, cdna4; the keys of a chunk are read and multiplied once for all heads of values |
//! | Source | Yang, Kautz and Hatamizadeh, "Gated Delta Networks: Improving Mamba2 with Delta Rule" (2024) |
//!
//! ```
//! # #[cfg(feature = "cdna3")] {
//! use hk_gdr::{CumsumKktOptions, Device, Tensor, bf16, fused_cumsum_kkt};
//!
//! let stream = Device::open("sim:mi325x")?.default_stream();
//! let g = Tensor::filled(&stream, &[1, 3, 1], -0.0f32)?;
//! let beta = Tensor::filled(&stream, &[1, 3, 1], 0.5f32)?;
//! let k = Tensor::filled(&stream, &[1, 3, 1, 4], bf16::ONE)?;
//! let out = fused_cumsum_kkt(&g, &k, &beta, &CumsumKktOptions::default().chunk_size(16))?;
//! let a = out.a.to_vec()?;
//! assert_eq!(a[..2], [0.0, 0.0]);
//! assert_eq!(a[16..18], [2.0, 0.0]);
//! assert_eq!(a[32..35], [2.0, 2.0, 0.0]);
//! # }
//! # Ok::<(), hk_core::Error>(())
//! ```

#[cfg(doc)]
use hk_core::Error;
use hk_core::{Result, Tensor, TensorSlice};

use crate::PrefillSchedule;
use crate::chunk_kkt::{Decays, chunk_kkt};
use crate::chunks::{ChunkElement, ChunkOp, Chunking, CumulativeGates, GateBase, tokens_of_heads};
use crate::delta_rule::RealTensor;

/// What can be chosen of sums and products.
#[derive(Debug, Clone, Copy)]
pub struct CumsumKktOptions<'a> {
    chunking: Chunking<'a>,
    clamp: bool,
    base: GateBase,
    head_first: bool,
}

impl Default for CumsumKktOptions<'_> {
    /// Chunks of 64 tokens of sequences of one length; decays of more than 1 are 0.
    fn default() -> Self {
        let chunking = Chunking::default();
        Self { chunking, clamp: true, base: GateBase::E, head_first: false }
    }
}

impl<'a> CumsumKktOptions<'a> {
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

    /// Whether what would be a decay of more than 1 is 0.
    #[must_use]
    pub fn clamp(self, clamp: bool) -> Self {
        Self { clamp, ..self }
    }

    /// Of which number the sums that are stored give the power.
    #[must_use]
    pub fn gate_base(self, base: GateBase) -> Self {
        Self { base, ..self }
    }

    /// Whether heads come before tokens in the memory of the sums that are returned.
    #[must_use]
    pub fn head_first(self, head_first: bool) -> Self {
        Self { head_first, ..self }
    }
}

/// What [`fused_cumsum_kkt`] returns.
#[derive(Debug)]
pub struct CumsumKkt {
    /// The sums.
    pub gates: CumulativeGates,
    /// The products, `[b, t, hv, c]`.
    pub a: Tensor<f32>,
}

/// Where [`fused_cumsum_kkt_into`] stores.
#[derive(Debug)]
pub struct CumsumKktOut<'a> {
    /// The sums, `[b, t, hv]`.
    pub sums: &'a mut TensorSlice<f32>,
    /// The products, `[b, t, hv, c]`.
    pub a: &'a mut TensorSlice<f32>,
}

/// The sums and products of all chunks and heads.
///
/// # Errors
/// [`Error::Shape`] if shapes do not fit to each other, to the schedule or to what there may be,
/// [`Error::Stride`] if keys of a head are not adjacent, and [`Error::Value`] if hv is no multiple of h,
/// the chunk size is none of the above, or a chunk spans more than 2^31 bytes.
pub fn fused_cumsum_kkt<'a, T: ChunkElement>(
    g: impl Into<RealTensor<'a>>,
    k: &TensorSlice<T>,
    beta: impl Into<RealTensor<'a>>,
    options: &CumsumKktOptions<'_>,
) -> Result<CumsumKkt> {
    let (g, beta) = (g.into(), beta.into());
    let shape = g.shape();
    let mut sums = tokens_of_heads(k.stream(), shape, options.head_first)?;
    let mut a = Tensor::empty(k.stream(), &[shape, &[options.chunking.size()]].concat())?;
    let out = CumsumKktOut { sums: &mut sums, a: &mut a };
    fused_cumsum_kkt_into(g, k, beta, options, out)?;
    Ok(CumsumKkt { gates: CumulativeGates { sums, base: options.base }, a })
}

/// As [`fused_cumsum_kkt`], into given tensors.
///
/// # Errors
/// As [`fused_cumsum_kkt`]; [`Error::Shape`] or [`Error::Stride`] also if an output is not as
/// [`CumsumKktOut`] says, and [`Error::Alias`] if one overlaps another argument.
pub fn fused_cumsum_kkt_into<'a, T: ChunkElement>(
    g: impl Into<RealTensor<'a>>,
    k: &TensorSlice<T>,
    beta: impl Into<RealTensor<'a>>,
    options: &CumsumKktOptions<'_>,
    out: CumsumKktOut<'_>,
) -> Result<()> {
    let CumsumKktOptions { chunking, clamp, base, .. } = *options;
    let op = ChunkOp::new("fused_cumsum_kkt", chunking);
    let CumsumKktOut { sums, a } = out;
    let decays = Decays::Logarithms { g: g.into(), sums, base, clamps: clamp };
    chunk_kkt(op, k, decays, Some(beta.into()), a)
}
