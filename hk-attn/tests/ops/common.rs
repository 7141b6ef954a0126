//! What the tests of modules share.

#[cfg(not(any(feature = "cdna3", feature = "cdna4")))]
compile_error!("tests need kernels: run them with --features cdna3,cdna4, or one of the two");

use hk_attn::{Device, PrefixCache, Result, RowOptions, Stream, Tensor, bf16, parity};
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

/// A cache of two heads of 16 ones, and what sequences have of its pages.
pub(crate) struct OnesCache {
    keys: Tensor<bf16>,
    values: Tensor<bf16>,
    table: Tensor<i32>,
    bounds: Tensor<i32>,
    lengths: Tensor<i32>,
}

impl OnesCache {
    /// So many pages of so many slots; and the pages of all sequences, their bounds, and their lengths.
    pub(crate) fn new(
        stream: &Stream,
        [pages, slots]: [usize; 2],
        [table, bounds, lengths]: [&[i32]; 3],
    ) -> Result<Self> {
        let ones = |shape: &[usize]| Tensor::filled(stream, shape, bf16::ONE);
        let list = |list: &[i32], shape: &[usize]| Tensor::from_slice(stream, list, shape);
        let sequences = lengths.len();
        Ok(Self {
            keys: ones(&[pages, 2, 2, slots, 8])?,
            values: ones(&[pages, 2, 16, slots])?,
            table: list(table, &[sequences, table.len() / sequences])?,
            bounds: list(bounds, &[bounds.len()])?,
            lengths: list(lengths, &[sequences])?,
        })
    }

    /// As ops take it.
    pub(crate) fn get(&self) -> PrefixCache<'_, bf16> {
        PrefixCache {
            key_cache: &self.keys,
            value_cache: &self.values,
            b_loc: (&self.table).into(),
            b_start_loc: (&self.bounds).into(),
            b_seq_len: (&self.lengths).into(),
        }
    }
}
