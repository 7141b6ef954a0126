//! Short causal convolutions of channels, `y[c,t] = act(bias[c] + sum_j weight[c,j] x[c,t-(w-1)+j])` for
//! j from 0 to w - 1, where what lies before the first token is the state of the sequence, or zeros.
//!
//! A state is the last w - 1 inputs of a channel, oldest first. Lines of `conv_states` may be longer;
//! columns from w - 1 on are left alone. The new state is the last w - 1 of the old one, or of zeros, and
//! the inputs; a sequence without tokens leaves its state as it was.
//!
//! | | |
//! |---|---|
//! | Shapes | x `[b, c, l]`, or `[c, t]` of sequences that follow each other, or `[n, c]` and `[n, c, s]` of new tokens; weight `[c, w]` with w of 2 to 4, bias `[c]`; states `[lines, c, >= w-1]`; y as x; any strides of x, y and states |
//! | Dtypes | x bf16, f16, f32; weight and bias bf16, f16, f32, whatever x is; y and states as x; bounds and lines i32, i64; has_initial_state u8 |
//! | Numerics | f32, taps in order by fused multiply-add, rounded once at the store; states are copied bit by bit; bitwise deterministic, however a sequence is split |
//! | Hardware | cdna3, cdna4; 16-byte accesses where channels of a token, or tokens of a channel, are adjacent; of x, only the w - 1 tokens before each chunk are read again, and those of a new state |
//! | Source | Gu and Dao, "Mamba: Linear-Time Sequence Modeling with Selective State Spaces" (2023) |
//!
//! ```
//! # #[cfg(feature = "cdna3")] {
//! use hk_gdr::{CausalConv1dOptions, Device, Tensor, causal_conv1d, causal_conv1d_update};
//!
//! let stream = Device::open("sim:mi325x")?.default_stream();
//! let x = Tensor::from_slice(&stream, &[1.0f32, 2.0, 3.0, 4.0], &[1, 1, 4])?;
//! let weight = Tensor::from_slice(&stream, &[10.0f32, 1.0], &[1, 2])?;
//! let options = CausalConv1dOptions::default();
//! let mut all = causal_conv1d(&x, &weight, None, &options)?;
//! assert_eq!(all.y.to_vec()?, [1.0, 12.0, 23.0, 34.0]);
//! // The next token.
//! let x = Tensor::from_slice(&stream, &[5.0f32], &[1, 1])?;
//! let y = causal_conv1d_update(&x, &weight, &mut all.final_state, &options)?;
//! assert_eq!(y.to_vec()?, [45.0]);
//! assert_eq!(all.final_state.to_vec()?, [5.0]);
//! # }
//! # Ok::<(), hk_core::Error>(())
//! ```

mod dense;
mod launch;
mod options;
mod update;
mod varlen;

use hk_core::op::indices::IndexList;
use hk_core::{AnyPtr, DevicePtr, kernel_args};

pub use dense::{CausalConv1d, CausalConv1dOut, causal_conv1d, causal_conv1d_into};
pub(crate) use launch::{Convolution, Order};
pub use options::{CausalConv1dOptions, ConvFilter};
pub use update::{
    CausalConv1dUpdateOut, causal_conv1d_update, causal_conv1d_update_inplace,
    causal_conv1d_update_into,
};
pub(crate) use update::{new_tokens, update};
pub use varlen::{CausalConv1dVarlenOut, causal_conv1d_varlen, causal_conv1d_varlen_into};

kernel_args! {
    /// Distances in elements.
    pub(crate) struct ConvStrides {
        pub(crate) sequence: i64,
        pub(crate) token: i64,
        pub(crate) channel: i64,
    }
}

kernel_args! {
    /// A part of the results: channels from the end of the part before on.
    pub(crate) struct ConvPart {
        pub(crate) base: AnyPtr,
        pub(crate) strides: ConvStrides,
        pub(crate) end: u32,
        pub(crate) reserved: u32,
    }
}

kernel_args! {
    /// Arguments of the kernels, as `kernels/causal_conv1d.hip` declares them.
    pub(crate) struct CausalConv1dArgs {
        pub(crate) x: AnyPtr,
        pub(crate) weight: AnyPtr,
        pub(crate) bias: AnyPtr,
        pub(crate) initial_states: AnyPtr,
        pub(crate) final_states: AnyPtr,
        pub(crate) has_initial: DevicePtr<u8>,
        pub(crate) bounds: IndexList,
        pub(crate) lines: IndexList,
        pub(crate) parts: [ConvPart; 3],
        pub(crate) x_strides: ConvStrides,
        pub(crate) initial_strides: ConvStrides,
        pub(crate) final_strides: ConvStrides,
        pub(crate) pad_slot: i64,
        pub(crate) line_count: u32,
        pub(crate) sequences: u32,
        pub(crate) tokens: u32,
        pub(crate) channels: u32,
        pub(crate) width: u32,
        pub(crate) chunk_log2: u32,
        pub(crate) slots: u32,
        pub(crate) weight_type: u32,
        pub(crate) silu: u32,
        pub(crate) zeros: u32,
    }
}
