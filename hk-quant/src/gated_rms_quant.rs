//! The core `gated_rms_quant`: kernels that normalise, gate and quantise rows.

use hk_core::{AnyPtr, DevicePtr, kernel_args};

kernel_args! {
    /// Arguments of the kernel, as `kernels/gated_rms_quant.hip` declares them.
    pub(crate) struct GatedRmsQuantArgs {
        pub(crate) x: AnyPtr,
        pub(crate) z: AnyPtr,
        pub(crate) weight: AnyPtr,
        pub(crate) bias: AnyPtr,
        pub(crate) codes: AnyPtr,
        pub(crate) scales: DevicePtr<f32>,
        pub(crate) roots: DevicePtr<f32>,
        pub(crate) x_stride: i64,
        pub(crate) z_stride: i64,
        pub(crate) codes_stride: i64,
        pub(crate) scales_stride: i64,
        pub(crate) rows: u32,
        pub(crate) width: u32,
        pub(crate) group: u32,
        pub(crate) weight_type: u32,
        pub(crate) bias_type: u32,
        pub(crate) step: u32,
        pub(crate) gates_first: u32,
        pub(crate) is_sigmoid: u32,
        pub(crate) is_power: u32,
        pub(crate) eps: f32,
        pub(crate) most: f32,
        pub(crate) reserved: u32,
    }
}

/// What a launch does; the enum `gated_step` of `kernels/gated_rms_quant.hip`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Step {
    /// Rows with a scale each.
    WholeRows,
    /// Rows with a scale for each group of 4, 8 or 16 lanes.
    Lanes,
    /// What rows are multiplied by to be normalised.
    Roots,
    /// Groups of a row, whose root is known, as rows of their own.
    Groups,
}
