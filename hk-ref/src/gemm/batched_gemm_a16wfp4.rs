//! Batches of products of an operand that is quantised before: each as one.

pub use super::gemm_a16wfp4::quantised;
