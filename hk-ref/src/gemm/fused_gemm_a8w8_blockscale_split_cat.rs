//! Products whose columns are heads of two parts.

use hk_types::dtype::{DType, Element, bf16, decode, f16};

use crate::expected::Expected;

/// Heads, and the columns of one that are the first part and the second, and those of the copy.
#[derive(Debug, Clone, Copy)]
pub struct Parts {
    /// Heads of a row.
    pub heads: usize,
    /// Columns of the first part.
    pub s1: usize,
    /// Columns of the second part.
    pub s2: usize,
    /// Columns that are copied behind the first.
    pub s3: usize,
}

/// A number in a type, to nearest, ties to even.
fn rounded(number: f64, dtype: DType) -> f64 {
    let numbers = match dtype {
        DType::Bf16 => decode(&bf16::encode(&[number])),
        DType::F16 => decode(&f16::encode(&[number])),
        _ => decode(&f32::encode(&[number])),
    };
    numbers[0]
}

/// The first parts with `y` behind them, and the second parts, of a product of `m` rows. `y` has a row for
/// each head, or one for all; what is copied is rounded to `dtype`.
pub fn split_cat(
    product: &Expected,
    y: &[f64],
    Parts { heads, s1, s2, s3 }: Parts,
    m: usize,
    dtype: DType,
) -> [Expected; 2] {
    let (mut first, mut second) = (Expected::default(), Expected::default());
    let y_heads = if y.len() == m * s3 { 1 } else { heads };
    for (row, head) in (0..m).flat_map(|row| (0..heads).map(move |head| (row, head))) {
        let at = (row * heads + head) * (s1 + s2);
        let take = |to: &mut Expected, from: usize, count: usize| {
            to.values.extend(&product.values[from..from + count]);
            to.allowed.extend(&product.allowed[from..from + count]);
        };
        take(&mut first, at, s1);
        take(&mut second, at + s1, s2);
        for copied in &y[(row * y_heads + head % y_heads) * s3..][..s3] {
            first.values.push(rounded(*copied, dtype));
            first.allowed.push(0.0);
        }
    }
    [first, second]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_are_split_and_what_is_copied_comes_behind() {
        let product = Expected {
            values: vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0],
            allowed: vec![0.0; 6],
            ..Expected::default()
        };
        let parts = Parts { heads: 2, s1: 1, s2: 2, s3: 1 };
        let [first, second] = split_cat(&product, &[9.0], parts, 1, DType::F32);
        assert_eq!(first.values, [1.0, 9.0, 4.0, 9.0]);
        assert_eq!(second.values, [2.0, 3.0, 5.0, 6.0]);
        let [first, _] = split_cat(&product, &[9.0, 8.0], parts, 1, DType::F32);
        assert_eq!(first.values, [1.0, 9.0, 4.0, 8.0]);
    }
}
