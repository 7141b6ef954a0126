//! The core `static_quant`: kernels that scale all elements by one number, and find it.

use hk_core::{AnyPtr, DevicePtr, kernel_args};

/// Most workgroups that find the largest magnitude; the `most_workgroups` of
/// `kernels/static_quant.hip`.
pub(crate) const MOST_WORKGROUPS: u32 = 2048;

kernel_args! {
    /// Arguments of the kernel that finds the largest magnitude, as `kernels/static_quant.hip`
    /// declares them.
    pub(crate) struct AmaxArgs {
        pub(crate) x: AnyPtr,
        pub(crate) largest: DevicePtr<u32>,
        pub(crate) x_stride: i64,
        pub(crate) rows: u32,
        pub(crate) width: u32,
    }
}

kernel_args! {
    /// Arguments of the kernel that quantises, as `kernels/static_quant.hip` declares them.
    pub(crate) struct StaticQuantArgs {
        pub(crate) x: AnyPtr,
        pub(crate) scale: DevicePtr<f32>,
        pub(crate) largest: DevicePtr<u32>,
        pub(crate) scale_out: DevicePtr<f32>,
        pub(crate) codes: AnyPtr,
        pub(crate) x_stride: i64,
        pub(crate) codes_stride: i64,
        pub(crate) workgroups: u32,
        pub(crate) rows: u32,
        pub(crate) width: u32,
        pub(crate) format: u32,
        pub(crate) divides: u32,
    }
}
