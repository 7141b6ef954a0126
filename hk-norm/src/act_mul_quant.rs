//! The core `act_mul_quant`: kernels that quantise gated activations.

use hk_core::op::quant::{BlockScales, GroupScales};
use hk_core::{AnyPtr, kernel_args};

kernel_args! {
    /// Arguments of the kernel, as `kernels/act_mul_quant.hip` declares them.
    pub(crate) struct ActMulQuantArgs {
        pub(crate) x: AnyPtr,
        pub(crate) codes: AnyPtr,
        pub(crate) x_stride: i64,
        pub(crate) codes_stride: i64,
        pub(crate) groups: GroupScales,
        pub(crate) blocks: BlockScales,
        pub(crate) rows: u32,
        pub(crate) width: u32,
        pub(crate) is_interleaved: u32,
        pub(crate) is_e2m1: u32,
        pub(crate) kind: u32,
        pub(crate) slope: f32,
    }
}
