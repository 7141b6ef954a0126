//! The core `chunk_prepare`: from the keys, values and gates of a chunk to the rows of which states learn.

use hk_core::op::Call;
use hk_core::op::indices::IndexList;
use hk_core::{Result, kernel_args};

use crate::KERNELS;
use crate::chunk::{Launch, Parts, Problem};
use crate::chunks::{ChunkElement, ChunkSchedule, grid};
use crate::delta_rule::TokenHeads;

kernel_args! {
    /// Arguments of the kernel, as `kernels/chunk_prepare.hip` declares them.
    pub(crate) struct ChunkPrepareArgs {
        pub(crate) schedule: ChunkSchedule,
        pub(crate) k: TokenHeads,
        pub(crate) v: TokenHeads,
        pub(crate) g: TokenHeads,
        pub(crate) beta: TokenHeads,
        pub(crate) sums: TokenHeads,
        pub(crate) tm: TokenHeads,
        pub(crate) w: TokenHeads,
        pub(crate) u: TokenHeads,
        pub(crate) slots: IndexList,
        pub(crate) key_heads: u32,
        pub(crate) group: u32,
        pub(crate) keys: u32,
        pub(crate) values: u32,
        pub(crate) chunk: u32,
        pub(crate) is_two: u32,
        pub(crate) slot_count: u32,
        pub(crate) reserved: u32,
    }
}

/// From keys, values and gates to the rows of which states learn. Gates of sequences without a slot do not
/// count, if there are slots, one of so many, at least 1, for each sequence.
pub(crate) fn prepare<T: ChunkElement>(
    call: &Call,
    problem: &Problem,
    [k, v, g, beta]: [TokenHeads; 4],
    parts: &Parts,
    (slots, slot_count): (IndexList, u32),
) -> Result<Launch<ChunkPrepareArgs>> {
    let Problem { schedule, h, .. } = *problem;
    let dtype = T::DTYPE.name();
    let Parts { sums, tm, w, u } = *parts;
    Ok(Launch {
        kernel: KERNELS.function(call.device(), call.op(), "chunk_prepare", dtype, &[])?,
        grid: grid(call, "k", [schedule.chunks, h as u32, 1])?,
        args: ChunkPrepareArgs {
            schedule,
            k,
            v,
            g,
            beta,
            sums,
            tm,
            w,
            u,
            slots,
            key_heads: h as u32,
            group: problem.group(),
            keys: problem.k as u32,
            values: problem.v as u32,
            chunk: problem.chunk as u32,
            is_two: problem.is_two(),
            slot_count,
            reserved: 0,
        },
    })
}
