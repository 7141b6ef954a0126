//! What the tests of modules share.

#[cfg(not(any(feature = "cdna3", feature = "cdna4")))]
compile_error!("tests need kernels: run them with --features cdna3,cdna4, or one of the two");

use hk_attn::{Device, Result, RowOptions, Stream, parity};
use hk_ref::harness::{BYTES_AT_ONCE, Moved};

/// A simulated device of each architecture that there are kernels for.
pub(crate) fn devices() -> Vec<Device> {
    hk_ref::devices_of(parity::kernels()).unwrap()
}

/// How to launch for [`Traffic::check`]: with so few workgroups that a wave has all heads of a
/// token.
pub(crate) fn few_workgroups() -> RowOptions<'static> {
    RowOptions::default().workgroups(2)
}

/// Bytes that an op has to move: of rows of heads, and of tables and slots, which all lanes that
/// work on a token read, of slots 4 bytes each.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Traffic {
    pub(crate) read: usize,
    pub(crate) written: usize,
    pub(crate) tables: usize,
    pub(crate) slots: usize,
}

impl Traffic {
    /// Launches once, and requires that no row is read or written twice, nor tables more often than
    /// said, and that full waves access 16 bytes a lane.
    pub(crate) fn check(self, stream: &Stream, launch: impl FnOnce() -> Result<()>) {
        let Self { read, written, tables, slots } = self;
        let moved = Moved::by(stream, launch);
        // Arguments are the same for all rows.
        let shared = (tables + slots) as u64 + moved.counters.scalar_read_bytes;
        moved.once(read, shared..=shared, written);
        let in_runs = read + tables + written;
        moved.in_full_waves(in_runs as f64 / BYTES_AT_ONCE + slots as f64 / (64.0 * 4.0));
    }
}
