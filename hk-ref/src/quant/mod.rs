//! References of `hk-quant`.

pub mod fused_fp8_quant;
pub mod fused_mxfp4_quant;
#[expect(clippy::module_inception, reason = "modules are named as in the catalogue")]
pub mod quant;
pub mod quant_moe;
