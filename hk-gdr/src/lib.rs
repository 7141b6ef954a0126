//! Gated delta rule kernels for AMD CDNA3 (gfx942) and CDNA4 (gfx950).
//!
//! Tokens are rows; heads, and their channels, are what a row has. Build with the feature `cdna3` or
//! `cdna4`, or both, to have code for the chips.

pub mod fused_gdn_gating_prefill;
#[cfg(feature = "parity")]
pub mod parity;

pub use fused_gdn_gating_prefill::{
    GdnGating, GdnGatingOptions, GdnGatingOut, fused_gdn_gating, fused_gdn_gating_into,
};

pub use hk_core::op::rows::RowOptions;
pub use hk_core::prelude::*;

mod generated {
    include!(concat!(env!("OUT_DIR"), "/kernels.rs"));
}

pub(crate) use generated::KERNELS;
