//! Products with scales of MX blocks whose columns are heads of two parts.

pub use super::fused_gemm_a8w8_blockscale_split_cat::{Parts, split_cat};
pub use super::gemm_afp4wfp4::dequantised;
