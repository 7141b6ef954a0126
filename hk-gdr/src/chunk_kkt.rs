//! The core `chunk_kkt`: products of the keys of a chunk with each other.

use hk_core::dtype::Real;
use hk_core::{Result, TensorSlice, kernel_args};

use crate::KERNELS;
use crate::chunks::{ChunkElement, ChunkGates, ChunkOp, ChunkSchedule, GateBase, grid};
use crate::delta_rule::{RealTensor, TokenHeads};

/// The most keys of a head.
pub(crate) const MOST_KEYS: usize = 256;

kernel_args! {
    /// Arguments of the kernel, as `kernels/chunk_kkt.hip` declares them.
    pub(crate) struct ChunkKktArgs {
        pub(crate) schedule: ChunkSchedule,
        pub(crate) k: TokenHeads,
        pub(crate) g: TokenHeads,
        pub(crate) beta: TokenHeads,
        pub(crate) sums: TokenHeads,
        pub(crate) a: TokenHeads,
        pub(crate) key_heads: u32,
        pub(crate) group: u32,
        pub(crate) keys: u32,
        pub(crate) is_two: u32,
        pub(crate) clamps: u32,
        pub(crate) reserved: u32,
    }
}

/// What decays are computed from.
pub(crate) enum Decays<'a> {
    /// There are none.
    None,
    /// Sums that are given.
    Sums(ChunkGates<'a>),
    /// Logarithms, whose sums are stored.
    Logarithms { g: RealTensor<'a>, sums: &'a mut TensorSlice<f32>, base: GateBase, clamps: bool },
}

/// Declares and launches it.
pub(crate) fn chunk_kkt<T: ChunkElement, O: Real>(
    mut op: ChunkOp<'_>,
    k: &TensorSlice<T>,
    decays: Decays<'_>,
    beta: Option<RealTensor<'_>>,
    a: &mut TensorSlice<O>,
) -> Result<()> {
    let chunk = op.size();
    let k = op.vectors("k", k, &["b", "t", "h", "k"])?;
    let (mut g, mut sums) = (TokenHeads::NONE, TokenHeads::NONE);
    let (mut is_two, mut clamps) = (GateBase::E, false);
    let mut output = None;
    match decays {
        Decays::None => {}
        Decays::Sums(gates) => {
            g = op.scalars("g", gates.sums)?;
            is_two = gates.base;
        }
        Decays::Logarithms { g: of, sums, base, clamps: clamp } => {
            g = op.real_scalars("g", of)?;
            (is_two, clamps, output) = (base, clamp, Some(sums));
        }
    }
    let beta = match beta {
        Some(beta) => op.real_scalars("beta", beta)?,
        None => TokenHeads::NONE,
    };
    if let Some(output) = output {
        sums = op.output_scalars("sums", output)?;
    }
    let a = op.output("a", a, &["b", "t", "hv", "c"])?;
    let schedule = op.schedule()?;
    op.arguments.limit("k", 1..=MOST_KEYS)?;
    op.arguments.limit("c", chunk..=chunk)?;
    let [h, hv, keys] = op.arguments.sizes(["h", "hv", "k"])?;
    let call = op.check()?;
    let kernel = KERNELS.function(call.device(), call.op(), "chunk_kkt", T::DTYPE.name(), &[])?;
    let grid = grid(&call, "k", [schedule.chunks, h as u32, 1])?;
    if grid == 0 {
        return Ok(());
    }
    let args = ChunkKktArgs {
        schedule,
        k,
        g,
        beta,
        sums,
        a,
        key_heads: h as u32,
        group: (hv / h) as u32,
        keys: keys as u32,
        is_two: u32::from(is_two == GateBase::Two),
        clamps: u32::from(clamps),
        reserved: 0,
    };
    call.submit(|stream| {
        // SAFETY: the kernel stays within the tensors whose shapes and strides were checked, whatever
        // the schedule's numbers are.
        unsafe { kernel.launch(stream, [grid, 1, 1], &args) }
    })
}
