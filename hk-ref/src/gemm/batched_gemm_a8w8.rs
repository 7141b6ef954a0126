//! Batches of products of quantised matrices with a scale per row of each.

pub use super::gemm_a8w8::scaled;
