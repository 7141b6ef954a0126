//! The largest elements of rows.

use std::cmp::Ordering;

/// The columns of the `k` largest elements of each row of `width`, in descending order: NaN first, of
/// equals the first.
pub fn topk(x: &[f64], width: usize, k: usize) -> Vec<usize> {
    let descending = |a: f64, b: f64| match (a.is_nan(), b.is_nan()) {
        (false, false) => b.partial_cmp(&a).unwrap_or(Ordering::Equal),
        (a, b) => b.cmp(&a),
    };
    let of_row = |row: &[f64]| {
        let mut columns: Vec<_> = (0..row.len()).collect();
        // Stable.
        columns.sort_by(|a, b| descending(row[*a], row[*b]));
        columns.truncate(k);
        columns
    };
    x.chunks_exact(width).flat_map(of_row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nan_is_the_largest_and_zeros_are_equal() {
        let row = [0.0, -0.0, f64::INFINITY, f64::NAN, -1.0, f64::NAN];
        assert_eq!(topk(&row, 6, 6), [3, 5, 2, 0, 1, 4]);
        assert_eq!(topk(&[1.0, 2.0, 2.0, 0.0], 2, 1), [1, 0]);
    }
}
