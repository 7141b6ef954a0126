//! What kernels move, by the simulator's counters.

use std::ops::RangeInclusive;

use hk_core::counters::{Counters, count};
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
        let Self { read, written, .. } = self;
        let compulsory = read + WORKGROUPS as usize * self.rows_at_once * self.shared;
        let moved = Moved::by(stream, launch);
        moved.once(compulsory, 0..=0, written);
        moved.in_full_waves((compulsory + written) as f64 / BYTES_AT_ONCE);
    }
}

/// Bytes of an access in which each lane of a wave has 16.
pub const BYTES_AT_ONCE: f64 = 64.0 * 16.0;

/// What a call has moved.
#[derive(Debug)]
pub struct Moved {
    kernels: Vec<String>,
    /// Of all its launches.
    pub counters: Counters,
}

impl Moved {
    /// Makes the call, and waits for it.
    ///
    /// # Panics
    /// If it fails, or launches nothing.
    pub fn by<R>(stream: &Stream, call: impl FnOnce() -> Result<R>) -> Self {
        let (result, by_kernel) = count(|| {
            let made = call()?;
            stream.synchronize().map(|()| made)
        });
        result.unwrap();
        assert!(!by_kernel.is_empty(), "a kernel is launched");
        let mut counters = Counters::default();
        by_kernel.values().for_each(|of| counters.add(of));
        Self { kernels: by_kernel.into_keys().collect(), counters }
    }

    /// Requires that so many bytes are read, beside so many others, and written, hardly any twice and
    /// none twice; and that LDS has no bank conflicts.
    ///
    /// # Panics
    /// If one of these is not so.
    pub fn once(&self, read: usize, beside: RangeInclusive<u64>, written: usize) {
        let Self { kernels, counters } = self;
        assert_eq!(counters.written_bytes, written as u64, "{kernels:?}");
        assert_eq!(counters.distinct_written_bytes, written as u64, "{kernels:?}");
        let least = read as u64 + beside.start();
        let most = 1.02 * read as f64 + *beside.end() as f64;
        let got = counters.read_bytes;
        assert!(
            got >= least && (got as f64) < most,
            "{kernels:?} read {got} bytes, which are not from {least} to {most}"
        );
        assert_eq!(counters.lds_conflict_cycles, 0, "{kernels:?}");
    }

    /// Requires that there are hardly more than so many accesses of waves.
    ///
    /// # Panics
    /// If there are.
    pub fn in_full_waves(&self, accesses: f64) {
        let got = self.counters.instructions.vector_memory as f64 / accesses;
        // The row after the last is empty, but loaded.
        assert!(got < 1.1, "{:?} make {got} of the accesses that they have to", self.kernels);
    }
}
