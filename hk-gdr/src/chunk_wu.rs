//! The core `chunk_wu`: the inverse of a chunk times its keys and values.

use hk_core::dtype::Real;
use hk_core::{Result, TensorSlice, kernel_args};

use crate::KERNELS;
use crate::chunk_kkt::MOST_KEYS;
use crate::chunks::{ChunkElement, ChunkGates, ChunkOp, ChunkSchedule, GateBase, grid};
use crate::delta_rule::{RealTensor, TokenHeads};

/// The most values of a head.
pub(crate) const MOST_VALUES: usize = 512;

kernel_args! {
    /// Arguments of the kernel, as `kernels/chunk_wu.hip` declares them.
    pub(crate) struct ChunkWuArgs {
        pub(crate) schedule: ChunkSchedule,
        pub(crate) k: TokenHeads,
        pub(crate) v: TokenHeads,
        pub(crate) g: TokenHeads,
        pub(crate) beta: TokenHeads,
        pub(crate) tm: TokenHeads,
        pub(crate) w: TokenHeads,
        pub(crate) u: TokenHeads,
        pub(crate) heads: u32,
        pub(crate) group: u32,
        pub(crate) keys: u32,
        pub(crate) values: u32,
        pub(crate) is_two: u32,
        pub(crate) reserved: u32,
    }
}

/// What it reads.
pub(crate) struct WuInputs<'a, T: ChunkElement> {
    pub(crate) k: &'a TensorSlice<T>,
    pub(crate) v: &'a TensorSlice<T>,
    pub(crate) tm: RealTensor<'a>,
    pub(crate) gates: Option<ChunkGates<'a>>,
    pub(crate) beta: Option<RealTensor<'a>>,
}

/// Declares and launches it.
pub(crate) fn chunk_wu<T: ChunkElement>(
    mut op: ChunkOp<'_>,
    inputs: WuInputs<'_, T>,
    w: &mut TensorSlice<T>,
    u: &mut TensorSlice<T>,
) -> Result<()> {
    let chunk = op.size();
    let k = op.vectors("k", inputs.k, &["b", "t", "h", "k"])?;
    let v = op.vectors("v", inputs.v, &["b", "t", "hv", "v"])?;
    let tm = op.real_vectors("tm", inputs.tm, &["b", "t", "hv", "c"])?;
    let (g, is_two) = match inputs.gates {
        Some(gates) => (op.scalars("g", gates.sums)?, gates.base == GateBase::Two),
        None => (TokenHeads::NONE, false),
    };
    let beta = match inputs.beta {
        Some(beta) => op.real_scalars("beta", beta)?,
        None => TokenHeads::NONE,
    };
    let w = op.output("w", w, &["b", "t", "hv", "k"])?;
    let u = op.output("u", u, &["b", "t", "hv", "v"])?;
    let schedule = op.schedule()?;
    op.arguments.limit("k", 1..=MOST_KEYS)?;
    op.arguments.limit("v", 1..=MOST_VALUES)?;
    op.arguments.limit("c", chunk..=chunk)?;
    let is_type = [T::CODE, f32::CODE].contains(&tm.element_type);
    op.arguments.require(is_type, "tm", "of the type of k, or f32", inputs.tm.dtype())?;
    let [h, hv, keys, values] = op.arguments.sizes(["h", "hv", "k", "v"])?;
    let call = op.check()?;
    let kernel = KERNELS.function(call.device(), call.op(), "chunk_wu", T::DTYPE.name(), &[])?;
    let grid = grid(&call, "k", [schedule.chunks, hv as u32, 1])?;
    if grid == 0 {
        return Ok(());
    }
    let args = ChunkWuArgs {
        schedule,
        k,
        v,
        g,
        beta,
        tm,
        w,
        u,
        heads: hv as u32,
        group: (hv / h) as u32,
        keys: keys as u32,
        values: values as u32,
        is_two: u32::from(is_two),
        reserved: 0,
    };
    call.submit(|stream| {
        // SAFETY: the kernel stays within the tensors whose shapes and strides were checked, whatever
        // the schedule's numbers are.
        unsafe { kernel.launch(stream, [grid, 1, 1], &args) }
    })
}
