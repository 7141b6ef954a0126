//! Products whose shares of k are added to a result in any order.

use hk_types::dtype::DType;
use ndarray::ArrayView2;

use super::product::{Operands, Step, Term, expect};
use crate::expected::Expected;

/// `held + x w^T` in f32, where `held` is what the result holds, if that counts. The error of the sums
/// may be twice that of a product in one go, and each share's addition is rounded.
pub fn expect_in_shares(
    x: ArrayView2<'_, f64>,
    w: ArrayView2<'_, f64>,
    held: Option<Vec<f64>>,
    shares: u32,
) -> Expected {
    let operands = Operands { x, w, integers: false };
    let product = expect(operands, &[], DType::F32, false);
    let add = |values| Step::Add(Term { values, row_stride: w.nrows(), column_stride: 1 }, 1.0);
    let steps: Vec<_> = held.into_iter().map(add).collect();
    let mut expected = expect(operands, &steps, DType::F32, false);
    let rounding = 2f64.powi(-24) * f64::from(shares);
    for (i, allowed) in expected.allowed.iter_mut().enumerate() {
        let sum = product.values[i].abs().max(expected.values[i].abs());
        *allowed += product.allowed[i] + rounding * sum;
    }
    expected.frobenius = expected.frobenius.map(|most| 2.0 * most);
    expected
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;

    #[test]
    fn sums_are_added_to_what_is_held() {
        let (x, w) = (array![[1.0, 2.0]], array![[3.0, 4.0], [-5.0, 1.0]]);
        let sums = |held| expect_in_shares(x.view(), w.view(), held, 2).values;
        assert_eq!(sums(None), [11.0, -3.0]);
        assert_eq!(sums(Some(vec![100.0, 200.0])), [111.0, 197.0]);
    }
}
