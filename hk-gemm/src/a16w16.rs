//! The core of products of 16-bit operands.

use hk_core::dtype::Real16;

use crate::Layout;

pub(crate) const CORE: &str = "a16w16";

/// The kernels' variant for operands of a type and layout.
pub(crate) fn variant<T: Real16>(layout: Layout) -> String {
    format!("{}_{}", T::DTYPE.name(), layout.name())
}
