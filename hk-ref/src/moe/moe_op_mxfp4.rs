//! Products of tokens with the matrices of their experts, of 4-bit floating point in MX blocks.

pub use super::moe_op::Problem;
pub use crate::gemm::gemm_afp4wfp4::{BLOCK, dequantised};
