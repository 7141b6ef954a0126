//! Batches of products of 16-bit matrices with an epilogue.

pub use super::product::expect_batch as expect;
