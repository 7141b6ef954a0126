//! What the tests of modules share.

#[cfg(not(any(feature = "cdna3", feature = "cdna4")))]
compile_error!("tests need kernels: run them with --features cdna3,cdna4, or one of the two");

use hk_core::counters::{Counters, count};
use hk_core::{Device, Result, Stream};
use hk_quant::parity;

/// A simulated device of each architecture that there are kernels for.
pub(crate) fn devices() -> Vec<Device> {
    hk_ref::devices_of(parity::kernels()).unwrap()
}

/// Workgroups for tests of traffic: so few that what happens once in each hardly counts.
pub(crate) const FEW: u32 = 2;

/// Requires that kernels read and write so many bytes, nothing twice, in full waves: so many
/// accesses of one, where each lane has 8 elements; and that LDS has no bank conflicts.
pub(crate) fn moves(stream: &Stream, bytes: [usize; 3], launch: impl FnOnce() -> Result<()>) {
    moves_beside(0, stream, bytes, launch);
}

/// As [`moves`], of kernels that also read so many bytes of their arguments again, at most, which the
/// scalar cache has.
pub(crate) fn moves_beside(
    arguments: usize,
    stream: &Stream,
    [read, written, accesses]: [usize; 3],
    launch: impl FnOnce() -> Result<()>,
) {
    let (result, counters) = count(|| launch().and_then(|()| stream.synchronize()));
    result.unwrap();
    let names: Vec<_> = counters.keys().collect();
    let sum = |of: fn(&Counters) -> u64| counters.values().map(of).sum::<u64>() as f64;
    assert_eq!(sum(|of| of.written_bytes), written as f64, "{names:?}");
    assert_eq!(sum(|of| of.distinct_written_bytes), written as f64, "{names:?}");
    let (got, read) = (sum(|of| of.read_bytes), read as f64);
    let is_once = got >= read && got < 1.02 * read + arguments as f64;
    assert!(is_once, "{names:?} read {} of what they have to", got / read);
    let accesses = sum(|of| of.instructions.vector_memory) / accesses as f64;
    // The row after the last is empty, but loaded.
    assert!(accesses < 1.1, "{names:?} make {accesses} of the accesses that they have to");
    assert_eq!(sum(|of| of.lds_conflict_cycles), 0.0, "{names:?}");
}
