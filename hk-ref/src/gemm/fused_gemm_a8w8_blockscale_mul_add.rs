//! Products of matrices with a scale per group of k, multiplied and added.

pub use super::gemm_a8w8_blockscale::dequantised;
use super::product::{Step, Term};

/// The steps of `a p + b` if `scales_product`, else of `a b + p`, on a product p.
pub fn combined(scales_product: bool, [a, b]: [Term; 2]) -> Vec<Step> {
    match scales_product {
        true => vec![Step::Multiply(a), Step::Add(b, 1.0)],
        false => vec![Step::AddProduct(a, b)],
    }
}
