//! A multiply-add of all elements.

use hk_types::dtype::DType;

use crate::expected::Expected;

/// `a x + b`, with one of `a` and of `b` for all or for each.
pub fn fused_mul_add(x: &[f64], a: &[f64], b: &[f64]) -> Vec<f64> {
    let of = |operand: &[f64], i: usize| if operand.len() == 1 { operand[0] } else { operand[i] };
    x.iter().enumerate().map(|(i, x)| of(a, i).mul_add(*x, of(b, i))).collect()
}

/// What the op should give: results that are rounded once, also where the terms cancel.
pub fn expected(values: Vec<f64>, dtype: DType) -> Expected {
    match dtype {
        DType::F32 => Expected::relative(values, 2f64.powi(-24) * (1.0 + 2f64.powi(-6))),
        _ => Expected::rounded(values, dtype, true),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operands_are_for_all_or_for_each() {
        assert_eq!(fused_mul_add(&[1.0, 2.0], &[3.0], &[0.5, -6.0]), [3.5, 0.0]);
    }
}
