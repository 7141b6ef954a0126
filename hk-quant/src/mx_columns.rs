//! The core `mx_columns`: kernels that scale each block of 32 elements of a column by a power of two.

use hk_core::{AnyPtr, kernel_args};

kernel_args! {
    /// Arguments of the kernel, as `kernels/mx_columns.hip` declares them.
    pub(crate) struct MxColumnsArgs {
        pub(crate) x: AnyPtr,
        pub(crate) codes: AnyPtr,
        pub(crate) scales: AnyPtr,
        pub(crate) x_matrix: i64,
        pub(crate) x_stride: i64,
        pub(crate) codes_matrix: i64,
        pub(crate) codes_stride: i64,
        pub(crate) scales_matrix: i64,
        pub(crate) scales_stride: i64,
        pub(crate) matrices: u32,
        pub(crate) rows: u32,
        pub(crate) columns: u32,
        pub(crate) mode: u32,
        pub(crate) format: u32,
    }
}
