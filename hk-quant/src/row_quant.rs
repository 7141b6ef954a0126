//! The core `row_quant`: kernels that scale each row.

use hk_core::{AnyPtr, DevicePtr, kernel_args};

kernel_args! {
    /// Arguments of the kernel of smoothed rows, as `kernels/row_quant.hip` declares them.
    pub(crate) struct SmoothQuantArgs {
        pub(crate) x: AnyPtr,
        pub(crate) smooth: AnyPtr,
        pub(crate) codes: AnyPtr,
        pub(crate) scales: DevicePtr<f32>,
        pub(crate) x_stride: i64,
        pub(crate) codes_stride: i64,
        pub(crate) rows: u32,
        pub(crate) width: u32,
        pub(crate) smooth_type: u32,
    }
}
