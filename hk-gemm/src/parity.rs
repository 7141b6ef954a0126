//! The cases by which the ops of this crate are compared with their references, for tests and the
//! command `hipkittens check`.

mod a16w16;
mod a16w16_cases;
mod a16w16_limits;

use hk_core::kernel::KernelSet;
use hk_ref::Case;

pub use a16w16::tensor_case as a16w16_tensor_case;

/// Every case of every op.
pub fn cases() -> Vec<Case> {
    a16w16_cases::cases()
}

/// The kernels that were built into this crate.
pub fn kernels() -> &'static KernelSet {
    &crate::KERNELS
}
