//! The core `silu_mul_quant`: kernels that quantise gated rows with a given scale.

use hk_core::{AnyPtr, DevicePtr, kernel_args};

kernel_args! {
    /// Arguments of the kernel, as `kernels/silu_mul_quant.hip` declares them.
    pub(crate) struct SiluMulQuantArgs {
        pub(crate) x: AnyPtr,
        pub(crate) scale: DevicePtr<f32>,
        pub(crate) codes: AnyPtr,
        pub(crate) x_stride: i64,
        pub(crate) codes_stride: i64,
        pub(crate) rows: u32,
        pub(crate) width: u32,
        pub(crate) rounds: u32,
    }
}
