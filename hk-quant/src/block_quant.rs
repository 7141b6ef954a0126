//! The core `block_quant`: kernels that scale each tile of 128 x 128 elements.

use hk_core::{AnyPtr, DevicePtr, kernel_args};

kernel_args! {
    /// Arguments of the kernel, as `kernels/block_quant.hip` declares them.
    pub(crate) struct BlockQuantArgs {
        pub(crate) x: AnyPtr,
        pub(crate) codes: AnyPtr,
        pub(crate) scales: DevicePtr<f32>,
        pub(crate) x_stride: i64,
        pub(crate) codes_stride: i64,
        pub(crate) scales_stride: i64,
        pub(crate) rows: u32,
        pub(crate) width: u32,
        pub(crate) format: u32,
    }
}
