//! The core `dequant`: kernels that multiply codes by their scales.

use hk_core::{AnyPtr, kernel_args};

kernel_args! {
    /// Arguments of the kernel, as `kernels/dequant.hip` declares them.
    pub(crate) struct DequantArgs {
        pub(crate) codes: AnyPtr,
        pub(crate) scales: AnyPtr,
        pub(crate) y: AnyPtr,
        pub(crate) codes_stride: i64,
        pub(crate) y_stride: i64,
        pub(crate) scales_row_stride: i64,
        pub(crate) scales_group_stride: i64,
        pub(crate) rows: u32,
        pub(crate) width: u32,
        pub(crate) row_shift: u32,
        pub(crate) group_shift: u32,
        pub(crate) shuffled_columns: u32,
        pub(crate) format: u32,
    }
}
