//! Products of 8-bit floating point, with a scale per row, and an operand with scales of MX blocks.

pub use super::gemm_a8w8::scaled;
pub use super::gemm_afp4wfp4::dequantised;
