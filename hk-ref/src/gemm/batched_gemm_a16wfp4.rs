//! Batches of products of an operand that is quantised before: each as one.

use hk_types::dtype::DType;

use super::product::{Operands, Step, expect_batch};
use crate::expected::{Expected, Steps};

pub use super::gemm_a16wfp4::quantised;

/// The codes of the results of a batch, whose last step is the division by their scale.
pub fn codes(products: &[(Operands<'_>, Vec<Step>)]) -> Expected {
    Expected::codes(expect_batch(products, DType::F32).values, Steps::NEAR_TIES)
}
