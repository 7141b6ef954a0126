//! The kernel crates that have ops: the one list that the subcommands go by.

use hk_core::kernel::KernelSet;
use hk_ref::Case;

/// The parity cases of every op.
pub(crate) fn cases() -> Vec<Case> {
    [hk_norm::parity::cases(), hk_gemm::parity::cases()].into_iter().flatten().collect()
}

/// The kernels of every crate that has some.
pub(crate) fn kernels() -> [&'static KernelSet; 2] {
    [hk_norm::parity::kernels(), hk_gemm::parity::kernels()]
}
