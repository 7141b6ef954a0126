//! The core `qk_norm`: queries and keys, divided by their lengths.

use hk_core::op::Call;
use hk_core::{Error, Result, kernel_args};

use crate::KERNELS;
use crate::chunk::{Launch, Problem};
use crate::chunks::{ChunkElement, grid};
use crate::delta_rule::TokenHeads;

kernel_args! {
    /// Arguments of the kernel, as `kernels/qk_norm.hip` declares them.
    pub(crate) struct QkNormArgs {
        q: TokenHeads,
        k: TokenHeads,
        normalized_q: TokenHeads,
        normalized_k: TokenHeads,
        tokens: u32,
        heads: u32,
        keys: u32,
        rows: u32,
    }
}

/// Rows of a workgroup.
const ROWS: u32 = 16;

/// Queries and keys, divided by their lengths.
pub(crate) fn qk_norm<T: ChunkElement>(
    call: &Call,
    problem: &Problem,
    [q, k]: [TokenHeads; 2],
    [normalized_q, normalized_k]: [TokenHeads; 2],
) -> Result<Launch<QkNormArgs>> {
    let rows = problem.b.saturating_mul(problem.t).saturating_mul(problem.h);
    let Some(rows) = u32::try_from(rows).ok().filter(|rows| *rows < 1 << 31) else {
        return Err(Error::value(call.op(), "q", "fewer than 2^31 rows", rows));
    };
    let workgroups = (2 * rows).div_ceil(ROWS);
    Ok(Launch {
        kernel: KERNELS.function(call.device(), call.op(), "qk_norm", T::DTYPE.name(), &[])?,
        grid: grid(call, "q", [workgroups, 1, 1])?,
        args: QkNormArgs {
            q,
            k,
            normalized_q,
            normalized_k,
            tokens: problem.t as u32,
            heads: problem.h as u32,
            keys: problem.k as u32,
            rows,
        },
    })
}
