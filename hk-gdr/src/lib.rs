//! Gated delta rule kernels for AMD CDNA3 (gfx942) and CDNA4 (gfx950).
//!
//! Tokens are rows; heads, and their channels, are what a row has. Build with the feature `cdna3` or
//! `cdna4`, or both, to have code for the chips.

pub mod causal_conv1d;
pub mod causal_conv1d_fwd_split_qkv;
pub mod causal_conv1d_split_qkv;
pub mod fused_gdn_gating_prefill;
pub mod fused_qkvzba_split;
#[cfg(feature = "parity")]
pub mod parity;

pub use causal_conv1d::{
    CausalConv1d, CausalConv1dOptions, CausalConv1dOut, CausalConv1dUpdateOut,
    CausalConv1dVarlenOut, causal_conv1d, causal_conv1d_into, causal_conv1d_update,
    causal_conv1d_update_inplace, causal_conv1d_update_into, causal_conv1d_varlen,
    causal_conv1d_varlen_into,
};
pub use causal_conv1d_fwd_split_qkv::{
    CausalConv1dFwdSplitQkvOut, causal_conv1d_fwd_split_qkv, causal_conv1d_fwd_split_qkv_into,
};
pub use causal_conv1d_split_qkv::{
    CausalConv1dUpdateSplitQkvOut, ConvQkv, causal_conv1d_update_split_qkv,
    causal_conv1d_update_split_qkv_into,
};
pub use fused_gdn_gating_prefill::{
    GdnGating, GdnGatingOptions, GdnGatingOut, fused_gdn_gating, fused_gdn_gating_into,
};
pub use fused_qkvzba_split::{
    QkvzbaHeads, QkvzbaSplit, QkvzbaSplitOptions, QkvzbaSplitOut, fused_qkvzba_split,
    fused_qkvzba_split_into,
};

pub use hk_core::op::indices::Indices;
pub use hk_core::op::rows::RowOptions;
pub use hk_core::prelude::*;

mod generated {
    include!(concat!(env!("OUT_DIR"), "/kernels.rs"));
}

pub(crate) use generated::KERNELS;
