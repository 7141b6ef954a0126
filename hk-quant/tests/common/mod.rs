//! What the tests of modules share.

#[cfg(not(any(feature = "cdna3", feature = "cdna4")))]
compile_error!("tests need kernels: run them with --features cdna3,cdna4, or one of the two");

use hk_core::{Device, Result, Stream};
use hk_quant::parity;
use hk_ref::harness::Moved;

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
    let moved = Moved::by(stream, launch);
    moved.once(read, 0..=arguments as u64, written);
    moved.in_full_waves(accesses as f64);
}
