//! What the tests of modules share.

#[cfg(not(any(feature = "cdna3", feature = "cdna4")))]
compile_error!("tests need kernels: run them with --features cdna3,cdna4, or one of the two");

use hk_core::Device;
use hk_gdr::parity;

/// A simulated device of each architecture that there are kernels for.
pub(crate) fn devices() -> Vec<Device> {
    hk_ref::devices_of(parity::kernels()).unwrap()
}
