//! The core `group_quant`: kernels that scale each group of consecutive elements of a row.

use hk_core::op::quant::GroupScales;
use hk_core::{AnyPtr, kernel_args};

kernel_args! {
    /// Arguments of the kernel, as `kernels/group_quant.hip` declares them.
    pub(crate) struct GroupQuantArgs {
        pub(crate) x: AnyPtr,
        pub(crate) codes: AnyPtr,
        pub(crate) x_stride: i64,
        pub(crate) codes_stride: i64,
        pub(crate) x_part: i64,
        pub(crate) codes_part: i64,
        pub(crate) scales: GroupScales,
        pub(crate) rows: u32,
        pub(crate) width: u32,
    }
}
