//! A product with scales of blocks beside one of 16-bit numbers.

pub use super::gemm_a8w8_blockscale::dequantised;
pub use super::product::{Operands, Step, Term, expect};
