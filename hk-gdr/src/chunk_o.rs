//! The answers of a gated delta rule to the queries of each chunk of tokens, of what
//! [`chunk_delta_h_fwd`](crate::chunk_delta_h_fwd) gives: of a head, with the state h before the chunk, and
//! the sums G of the logarithms of decays in the chunk up to each token,
//!
//! ```text
//! o[i] = scale exp(G[i]) h^T q[i] + scale sum over j <= i of exp(G[i] - G[j]) (q[i] . k[j]) v[j]
//! ```
//!
//! Head j of hv has the queries and keys of head `floor(j / (hv / h))`.
//!
//! | | |
//! |---|---|
//! | Shapes | q, k `[b, t, h, k]`, v `[b, t, hv, v]`, snapshots `[chunks, hv, k, v]` or `[chunks, hv, v, k]`, G `[b, t, hv]` -> o as v; chunks of 16, 32 or 64 tokens; hv a multiple of h; k from 1 to 256, v from 1 to 512; any strides of all but the innermost dimension, 64 tokens and a state of a head within 2^31 bytes |
//! | Dtypes | q, k, v, o all bf16, or all f16; G f32; snapshots bf16, f16, f32 |
//! | Numerics | products with matrix instructions, added up in f32; states and `exp(G[i] - G[j]) (q[i] . k[j])` are rounded to the type of q before they are multiplied; the results are rounded once; bitwise deterministic |
//! | Hardware | cdna3, cdna4; blocks above the diagonal are left out |
//! | Source | Yang, Kautz and Hatamizadeh, "Gated Delta Networks: Improving Mamba2 with Delta Rule" (2024) |
//!
//! ```
//! # #[cfg(feature = "cdna3")] {
//! use hk_gdr::{ChunkOOptions, Device, Tensor, bf16, chunk_fwd_o};
//!
//! let stream = Device::open("sim:mi325x")?.default_stream();
//! let one = Tensor::filled(&stream, &[1, 3, 1, 1], bf16::ONE)?;
//! let h = Tensor::filled(&stream, &[1, 1, 1, 1], 4.0f32)?;
//! let o = chunk_fwd_o(&one, &one, &one, &h, &ChunkOOptions::default())?;
//! assert_eq!(o.to_vec()?, [5.0, 6.0, 7.0].map(bf16::from_f32));
//! # }
//! # Ok::<(), hk_core::Error>(())
//! ```

use hk_core::dtype::Real;
use hk_core::{Result, Tensor, TensorSlice, kernel_args};

#[cfg(doc)]
use hk_core::Error;

use crate::chunk_kkt::MOST_KEYS;
use crate::chunk_states::StateRows;
use crate::chunk_wu::MOST_VALUES;
use crate::chunks::{ChunkElement, ChunkGates, ChunkOp, ChunkSchedule, Chunking, GateBase, grid};
use crate::delta_rule::{StateLayout, TokenHeads};
use crate::{KERNELS, PrefillSchedule};

/// What can be chosen of the answers. Default is none of it.
#[derive(Debug, Clone, Copy, Default)]
pub struct ChunkOOptions<'a> {
    chunking: Chunking<'a>,
    gates: Option<ChunkGates<'a>>,
    layout: StateLayout,
    scale: Option<f32>,
}

impl<'a> ChunkOOptions<'a> {
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

    /// The order of keys and values in snapshots.
    #[must_use]
    pub fn state_layout(self, layout: StateLayout) -> Self {
        Self { layout, ..self }
    }

    /// Factor of the results; `1 / sqrt(k)` if not given.
    #[must_use]
    pub fn scale(self, scale: f32) -> Self {
        Self { scale: Some(scale), ..self }
    }
}

kernel_args! {
    /// Arguments of the kernel, as `kernels/chunk_o.hip` declares them.
    pub(crate) struct ChunkOArgs {
        pub(crate) schedule: ChunkSchedule,
        pub(crate) q: TokenHeads,
        pub(crate) k: TokenHeads,
        pub(crate) v: TokenHeads,
        pub(crate) g: TokenHeads,
        pub(crate) o: TokenHeads,
        pub(crate) h: StateRows,
        pub(crate) heads: u32,
        pub(crate) group: u32,
        pub(crate) keys: u32,
        pub(crate) values: u32,
        pub(crate) is_two: u32,
        pub(crate) scale: f32,
    }
}

/// The results of all tokens, in the shape of v.
///
/// # Errors
/// [`Error::Shape`] if shapes do not fit to each other, to the schedule or to what there may be,
/// [`Error::Stride`] if elements of a row are not adjacent, and [`Error::Value`] if hv is no multiple of h,
/// the chunk size is none of the above, `scale` is not positive and finite, or a chunk of tokens or a
/// head's state spans more than 2^31 bytes.
pub fn chunk_fwd_o<T: ChunkElement, H: Real>(
    q: &TensorSlice<T>,
    k: &TensorSlice<T>,
    v: &TensorSlice<T>,
    h: &TensorSlice<H>,
    options: &ChunkOOptions<'_>,
) -> Result<Tensor<T>> {
    let mut o = Tensor::empty(v.stream(), v.shape())?;
    chunk_fwd_o_into(q, k, v, h, options, &mut *o)?;
    Ok(o)
}

/// As [`chunk_fwd_o`], into a given tensor.
///
/// # Errors
/// As [`chunk_fwd_o`]; [`Error::Shape`] or [`Error::Stride`] also if o is not as v, and [`Error::Alias`] if
/// it overlaps another argument.
pub fn chunk_fwd_o_into<T: ChunkElement, H: Real>(
    q: &TensorSlice<T>,
    k: &TensorSlice<T>,
    v: &TensorSlice<T>,
    h: &TensorSlice<H>,
    options: &ChunkOOptions<'_>,
    o: &mut TensorSlice<T>,
) -> Result<()> {
    let mut op = ChunkOp::new("chunk_fwd_o", options.chunking);
    let q = op.vectors("q", q, &["b", "t", "h", "k"])?;
    let k = op.vectors("k", k, &["b", "t", "h", "k"])?;
    let v = op.vectors("v", v, &["b", "t", "hv", "v"])?;
    let (g, is_two) = match options.gates {
        Some(gates) => (op.scalars("g", gates.sums)?, gates.base == GateBase::Two),
        None => (TokenHeads::NONE, false),
    };
    let schedule = op.schedule()?;
    op.arguments.limit("k", 1..=MOST_KEYS)?;
    op.arguments.limit("v", 1..=MOST_VALUES)?;
    let snapshots = op.read_snapshots("h", h, options.layout)?;
    let o = op.output("o", o, &["b", "t", "hv", "v"])?;
    let scale = op.scale(options.scale)?;
    let [h, hv, keys, values] = op.arguments.sizes(["h", "hv", "k", "v"])?;
    let call = op.check()?;
    let kernel = KERNELS.function(call.device(), call.op(), "chunk_o", T::DTYPE.name(), &[])?;
    let grid = grid(&call, "v", [schedule.chunks, hv as u32, 1])?;
    if grid == 0 {
        return Ok(());
    }
    let args = ChunkOArgs {
        schedule,
        q,
        k,
        v,
        g,
        o,
        h: snapshots,
        heads: hv as u32,
        group: (hv / h) as u32,
        keys: keys as u32,
        values: values as u32,
        is_two: u32::from(is_two),
        scale,
    };
    call.submit(|stream| {
        // SAFETY: the kernel stays within the tensors whose shapes and strides were checked, whatever
        // the schedule's numbers are.
        unsafe { kernel.launch(stream, [grid, 1, 1], &args) }
    })
}
