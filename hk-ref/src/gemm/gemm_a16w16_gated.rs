//! Gated products of 16-bit matrices.

pub use super::product::{Step, Term, expect_gated};
