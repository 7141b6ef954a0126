//! What the tests of modules share.

#[cfg(not(any(feature = "cdna3", feature = "cdna4")))]
compile_error!("tests need kernels: run them with --features cdna3,cdna4, or one of the two");

use std::ops::RangeInclusive;

use hk_core::{Device, Result, Stream};
use hk_quant::parity;
use hk_ref::harness::Moved;

/// A simulated device of each architecture that there are kernels for.
pub(crate) fn devices() -> Vec<Device> {
    hk_ref::devices_of(parity::kernels()).unwrap()
}

/// Workgroups for tests of traffic: so few that what happens once in each hardly counts.
pub(crate) const FEW: u32 = 2;

/// Bytes of arguments, at most, and waves of all workgroups of these tests, at most.
const ARGUMENTS: u64 = 512;
const WAVES: u64 = 16 * FEW as u64;

/// Requires that kernels read and write so many bytes, nothing twice, in full waves: so many
/// accesses of one, where each lane has 8 elements; and that LDS has no bank conflicts. Beside them,
/// each wave reads its arguments once.
pub(crate) fn moves(stream: &Stream, bytes: [usize; 3], launch: impl FnOnce() -> Result<()>) {
    moves_in_turns(0, stream, bytes, launch);
}

/// As [`moves`], of a tile whose waves have no room to keep all arguments: in each of so many turns
/// they read some again, which the scalar cache has.
pub(crate) fn moves_in_turns(
    turns: usize,
    stream: &Stream,
    bytes: [usize; 3],
    launch: impl FnOnce() -> Result<()>,
) {
    moves_beside(0..=0, turns, stream, bytes, launch);
}

/// As [`moves_in_turns`], of ops whose lanes read so many bytes that they share.
pub(crate) fn moves_beside(
    shared: RangeInclusive<u64>,
    turns: usize,
    stream: &Stream,
    [read, written, accesses]: [usize; 3],
    launch: impl FnOnce() -> Result<()>,
) {
    let moved = Moved::by(stream, launch);
    let arguments = moved.counters.scalar_read_bytes;
    let most = ARGUMENTS * WAVES + 160 * turns as u64;
    assert!(arguments <= most, "{arguments} bytes of arguments, not {most} at most");
    moved.once(read, *shared.start()..=shared.end() + arguments, written);
    moved.in_full_waves(accesses as f64);
}
