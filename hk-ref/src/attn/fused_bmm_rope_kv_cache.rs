//! Products of latent queries with the matrices of their heads.

use hk_types::dtype::DType;

use crate::Expected;
use crate::gemm::product::{Operands, Step, expect_batch};

/// What `(tokens, heads, n + r)` should be, whose first n columns are the products of each head, of a
/// row for each token, and the others those of `second`, in rows of r.
pub fn beside(products: &[(Operands<'_>, Vec<Step>)], second: &Expected, dtype: DType) -> Expected {
    let first = expect_batch(products, dtype);
    let heads = products.len();
    let (tokens, n) = products.first().map_or((0, 0), |(of, _)| (of.x.nrows(), of.w.nrows()));
    let r = second.values.len() / (tokens * heads).max(1);
    let rows = |first: &[f64], second: &[f64]| -> Vec<f64> {
        let row = |row: usize| {
            let (token, head) = (row / heads, row % heads);
            [&first[(head * tokens + token) * n..][..n], &second[row * r..][..r]].concat()
        };
        (0..tokens * heads).flat_map(row).collect()
    };
    let values = rows(&first.values, &second.values);
    let allowed = rows(&first.allowed, &second.allowed);
    Expected { values, allowed, frobenius: first.frobenius, ..Expected::default() }
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;

    #[test]
    fn heads_are_beside_each_other() {
        // Two tokens of two heads.
        let x = [array![[1.0], [2.0]], array![[3.0], [4.0]]];
        let w = array![[1.0], [-1.0]];
        let of = |x| (Operands { x, w: w.view(), integers: false }, Vec::new());
        let products = x.each_ref().map(|x| of(x.view()));
        let second = Expected::exact(vec![5.0, 6.0, 7.0, 8.0]);
        let expected = beside(&products, &second, DType::F32);
        let rows = [[1.0, -1.0, 5.0], [3.0, -3.0, 6.0], [2.0, -2.0, 7.0], [4.0, -4.0, 8.0]];
        assert_eq!(expected.values, rows.concat());
        assert_eq!(expected.allowed.len(), 12);
    }
}
