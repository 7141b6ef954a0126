//! A product with scales of MX blocks beside one of 16-bit numbers.

pub use super::gemm_afp4wfp4::{BLOCK, dequantised};
pub use super::product::{Operands, Step, Term, expect};
