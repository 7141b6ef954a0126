//! The core `static_quant`: kernels that scale all elements by a given number.

use hk_core::{AnyPtr, DevicePtr, kernel_args};

kernel_args! {
    /// Arguments of the kernel, as `kernels/static_quant.hip` declares them.
    pub(crate) struct StaticQuantArgs {
        pub(crate) x: AnyPtr,
        pub(crate) scale: DevicePtr<f32>,
        pub(crate) codes: AnyPtr,
        pub(crate) x_stride: i64,
        pub(crate) codes_stride: i64,
        pub(crate) rows: u32,
        pub(crate) width: u32,
        pub(crate) format: u32,
    }
}
