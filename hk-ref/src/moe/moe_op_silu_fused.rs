//! Gated products of tokens with the matrices of their experts.

pub use super::moe_op::Problem;
