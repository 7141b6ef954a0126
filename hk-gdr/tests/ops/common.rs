//! What the tests of modules share.

#[cfg(not(any(feature = "cdna3", feature = "cdna4")))]
compile_error!("tests need kernels: run them with --features cdna3,cdna4, or one of the two");

use std::ops::RangeInclusive;

use hk_core::Device;
use hk_gdr::parity;

/// What so many waves read at most of their kernel's arguments.
pub(crate) fn of_arguments(waves: usize) -> RangeInclusive<u64> {
    0..=waves as u64 * 512
}

/// A simulated device of each architecture that there are kernels for.
pub(crate) fn devices() -> Vec<Device> {
    hk_ref::devices_of(parity::kernels()).unwrap()
}

/// Heads of keys and of values, and their widths, of which one is none or too much, and the argument that is
/// wrong.
pub(crate) const WRONG_SIZES: [([usize; 4], &str); 6] = [
    ([0, 1, 4, 4], "k"),
    ([1, 0, 4, 4], "v"),
    ([1, 2, 0, 4], "k"),
    ([1, 2, 4, 0], "v"),
    ([1, 2, 257, 4], "k"),
    ([1, 2, 4, 513], "v"),
];
