//! Products with scales of MX blocks that are combined with two operands: steps of an epilogue behind the
//! product.

pub use super::fused_gemm_a8w8_blockscale_mul_add::combined;
