//! What row-wise kernels move, by the simulator's counters.

use hk_core::counters::count;
use hk_core::op::rows::RowOptions;
use hk_core::{Result, Stream};

/// Workgroups for [`Traffic::check`]: so few that what happens once in each hardly counts.
const WORKGROUPS: u32 = 2;

/// How to launch for [`Traffic::check`].
pub fn few_workgroups() -> RowOptions<'static> {
    RowOptions::default().workgroups(WORKGROUPS)
}

/// Shapes of 16-bit rows that stay in registers, with work for all lanes: `[rows, width]`, and how
/// many rows a workgroup has at once.
pub const HELD: [([usize; 2], usize); 4] =
    [([2048, 128], 16), ([512, 512], 4), ([64, 2048], 1), ([24, 8192], 1)];

/// Bytes that an op has to move: of all rows, and of what they share, such as weights, which each row
/// that a workgroup has at once reads once.
#[derive(Debug, Clone, Copy)]
pub struct Traffic {
    /// What is read of all rows.
    pub read: usize,
    /// What is written of all rows.
    pub written: usize,
    /// What they share.
    pub shared: usize,
    /// Rows that a workgroup has at once.
    pub rows_at_once: usize,
}

impl Traffic {
    /// Launches once, and requires that nothing is read or written twice, that full waves access
    /// 16 bytes a lane, and that LDS has no bank conflicts.
    ///
    /// # Panics
    /// If one of these is not so.
    pub fn check(self, stream: &Stream, launch: impl FnOnce() -> Result<()>) {
        let (result, counters) = count(|| launch().and_then(|()| stream.synchronize()));
        result.unwrap();
        let (kernel, counters) = counters.into_iter().next().expect("a kernel was launched");
        let Self { read, written, .. } = self;
        assert_eq!(counters.written_bytes, written as u64, "{kernel}");
        assert_eq!(counters.distinct_written_bytes, written as u64, "{kernel}");
        let shared = WORKGROUPS as usize * self.rows_at_once * self.shared;
        let compulsory = read + shared;
        let read = counters.read_bytes as f64 / compulsory as f64;
        assert!((1.0..1.02).contains(&read), "{kernel} reads {read} of what it has to");
        let accesses = (compulsory + written) as f64 / (64.0 * 16.0);
        let accesses = counters.instructions.vector_memory as f64 / accesses;
        // The row after the last is empty, but loaded.
        assert!(accesses < 1.1, "{kernel} makes {accesses} of the accesses that it has to");
        assert_eq!(counters.lds_conflict_cycles, 0, "{kernel}");
    }
}
