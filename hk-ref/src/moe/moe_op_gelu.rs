//! Products of tokens with the matrices of their experts, activated.

pub use super::moe_op::{Problem, dequantised};
