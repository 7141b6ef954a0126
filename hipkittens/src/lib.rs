//! GPU kernels for AMD CDNA3 and CDNA4: re-exports of every kernel crate.

#[cfg(feature = "models")]
pub mod models;
#[cfg(feature = "problems")]
pub mod problems;

pub use hk_core::prelude::*;

pub use hk_attn as attn;
pub use hk_core as core;
pub use hk_gdr as gdr;
pub use hk_gemm as gemm;
pub use hk_moe as moe;
pub use hk_norm as norm;
pub use hk_quant as quant;
