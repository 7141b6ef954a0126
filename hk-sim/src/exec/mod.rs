//! Execution of decoded instructions.

pub mod simd;
