//! What ops of several steps on chunks launch.

use hk_core::dtype::Real;
use hk_core::op::Call;
use hk_core::{AnyPtr, DevicePtr, Result, Stream, TileFunction};

use crate::KERNELS;
use crate::chunk_delta_h::{ChunkDeltaHArgs, SLICE};
use crate::chunk_o::ChunkOArgs;
use crate::chunk_states::{DeclaredStates, StateRows};
use crate::chunks::{ChunkElement, ChunkOp, ChunkSchedule, GateBase, grid};
use crate::delta_rule::{StateLayout, TokenHeads};

/// Sizes of a call, and where its chunks are.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Problem {
    pub(crate) schedule: ChunkSchedule,
    is_packed: bool,
    pub(crate) base: GateBase,
    pub(crate) chunk: usize,
    pub(crate) b: usize,
    pub(crate) t: usize,
    pub(crate) h: usize,
    pub(crate) hv: usize,
    pub(crate) k: usize,
    pub(crate) v: usize,
}

impl Problem {
    pub(crate) fn new(op: &ChunkOp<'_>, schedule: ChunkSchedule, base: GateBase) -> Result<Self> {
        let [b, t, h, hv, k, v] = op.arguments.sizes(["b", "t", "h", "hv", "k", "v"])?;
        let (is_packed, chunk) = (op.is_packed(), op.size());
        Ok(Self { schedule, is_packed, base, chunk, b, t, h, hv, k, v })
    }

    /// Bytes of tokens of so many heads of so many elements of a type.
    pub(crate) fn bytes<T: Real>(&self, heads: usize, n: usize) -> usize {
        let tokens = self.b.saturating_mul(self.t).saturating_mul(heads);
        tokens.saturating_mul(n).saturating_mul(size_of::<T>())
    }

    /// Such tokens in memory, heads before tokens.
    pub(crate) fn tokens<T: Real>(
        &self,
        base: DevicePtr<u8>,
        heads: usize,
        n: usize,
    ) -> TokenHeads {
        let (token, head) = (n as i64, (self.t * n) as i64);
        let sequence = if self.is_packed { 0 } else { head * heads as i64 };
        let (base, element_type) = (base.any(), T::CODE);
        TokenHeads { base, sequence, token, head, element_type, reserved: 0 }
    }

    pub(crate) fn group(&self) -> u32 {
        (self.hv / self.h) as u32
    }

    pub(crate) fn is_two(&self) -> u32 {
        u32::from(self.base == GateBase::Two)
    }
}

/// A kernel that only has to be launched.
pub(crate) struct Launch<A> {
    pub(crate) kernel: TileFunction<A>,
    pub(crate) grid: u32,
    pub(crate) args: A,
}

impl<A: hk_core::KernelArgs> Launch<A> {
    pub(crate) fn launch(&self, stream: &Stream) -> Result<()> {
        // SAFETY: the kernel stays within what its arguments say, which are tensors whose shapes and
        // strides were checked, or parts of the workspace of such sizes.
        unsafe { self.kernel.launch(stream, [self.grid, 1, 1], &self.args) }
    }
}

/// What tokens teach.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Parts {
    pub(crate) sums: TokenHeads,
    /// Stored if wanted.
    pub(crate) tm: TokenHeads,
    pub(crate) w: TokenHeads,
    pub(crate) u: TokenHeads,
}

/// From the rows of which states learn to the results.
pub(crate) struct Scan {
    delta_h: Launch<ChunkDeltaHArgs>,
    o: Launch<ChunkOArgs>,
}

/// What the scan takes and gives.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ScanParts {
    pub(crate) q: TokenHeads,
    pub(crate) k: TokenHeads,
    pub(crate) v_new: TokenHeads,
    pub(crate) snapshots: AnyPtr,
    pub(crate) o: TokenHeads,
    pub(crate) scale: f32,
}

impl Scan {
    pub(crate) fn new<T: ChunkElement>(
        call: &Call,
        problem: &Problem,
        states: &DeclaredStates<'_>,
        layout: StateLayout,
        parts: &Parts,
        scan: &ScanParts,
    ) -> Result<Self> {
        let Problem { schedule, hv, k: keys, v: values, .. } = *problem;
        let (device, op, dtype) = (call.device(), call.op(), T::DTYPE.name());
        let ScanParts { q, k, v_new, snapshots, o, scale } = *scan;
        let row = if layout == StateLayout::Kv { values } else { keys };
        let head = (keys * values) as i64;
        let h = StateRows::new::<T>(snapshots, [head * hv as i64, head, row as i64, 1], layout);
        let of_keys = [("k", keys as u64)];
        let slices = (values as u32).div_ceil(SLICE);
        let delta_h = Launch {
            kernel: KERNELS.function(device, op, "chunk_delta_h", dtype, &of_keys)?,
            grid: grid(call, "v", [schedule.sequences, hv as u32, slices])?,
            args: ChunkDeltaHArgs {
                schedule,
                k,
                w: parts.w,
                u: parts.u,
                g: parts.sums,
                v_new,
                initial_states: states.initial,
                final_states: states.finals,
                snapshots: h,
                slots: states.slots,
                has_initial: states.has_initial,
                slot_count: states.slot_count,
                heads: hv as u32,
                group: problem.group(),
                keys: keys as u32,
                values: values as u32,
                is_two: problem.is_two(),
                in_place: u32::from(states.in_place),
                reserved: 0,
            },
        };
        let o = Launch {
            kernel: KERNELS.function(device, op, "chunk_o", dtype, &[])?,
            grid: grid(call, "v", [schedule.chunks, hv as u32, 1])?,
            args: ChunkOArgs {
                schedule,
                q,
                k,
                v: v_new,
                g: parts.sums,
                o,
                h,
                heads: hv as u32,
                group: problem.group(),
                keys: keys as u32,
                values: values as u32,
                is_two: problem.is_two(),
                scale,
            },
        };
        Ok(Self { delta_h, o })
    }

    /// The states alone, of sequences none of which has tokens.
    pub(crate) fn launch_states(&self, stream: &Stream) -> Result<()> {
        self.delta_h.launch(stream)
    }

    pub(crate) fn launch(&self, stream: &Stream) -> Result<()> {
        self.delta_h.launch(stream)?;
        self.o.launch(stream)
    }
}
