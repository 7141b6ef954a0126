//! Products of an operand that is perhaps quantised in groups of k before.

use hk_types::dtype::Scalar;
use ndarray::{Array2, ArrayView2};

use crate::quant::quant::{amax, codes, group_scale};

/// What the codes of rows in groups of so many k, and their scales, stand for. Scales are those of
/// [`group_scale`].
pub fn quantised<C: Scalar>(x: ArrayView2<'_, f64>, group: usize, most: f32) -> Array2<f64> {
    quantised_by::<C>(x, group, most, |amax| group_scale(amax, most))
}

/// As [`quantised`], with scales that follow from a group's largest magnitude.
pub fn quantised_by<C: Scalar>(
    x: ArrayView2<'_, f64>,
    group: usize,
    most: f32,
    scale: impl Fn(f32) -> f32,
) -> Array2<f64> {
    let mut result = x.to_owned();
    for mut row in result.rows_mut() {
        let numbers = row.to_vec();
        for (i, of) in numbers.chunks(group).enumerate() {
            let scale = scale(amax(of));
            for (j, code) in codes::<C>(of, scale, most).into_iter().enumerate() {
                row[i * group + j] = code * f64::from(scale);
            }
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use hk_types::dtype::F8E4M3;

    use super::*;

    #[test]
    fn the_last_group_of_a_row_may_be_shorter() {
        let x = Array2::from_shape_fn((2, 3), |(row, k)| (row * 3 + k) as f64 + 1.0);
        let quantised = quantised::<F8E4M3>(x.view(), 2, 448.0);
        // 1 of 2 is 224 of 448; 3 alone is 448.
        let [two, three] = [2.0f32, 3.0].map(|most| f64::from(most / 448.0));
        let row: Vec<_> = quantised.row(0).to_vec();
        assert_eq!(row, [224.0 * two, 448.0 * two, 448.0 * three]);
    }
}
