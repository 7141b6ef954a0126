//! The core `mx_quant`: kernels that scale each block of 32 elements by a power of two.

use hk_core::op::quant::BlockScales;
use hk_core::{AnyPtr, kernel_args};

kernel_args! {
    /// Arguments of the kernel, as `kernels/mx_quant.hip` declares them.
    pub(crate) struct MxQuantArgs {
        pub(crate) x: AnyPtr,
        pub(crate) codes: AnyPtr,
        pub(crate) x_stride: i64,
        pub(crate) codes_stride: i64,
        pub(crate) x_part: i64,
        pub(crate) codes_part: i64,
        pub(crate) scales: BlockScales,
        pub(crate) rows: u32,
        pub(crate) width: u32,
        pub(crate) is_e2m1: u32,
        pub(crate) parts: u32,
    }
}
