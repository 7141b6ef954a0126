//! Products of rows with the matrices of their experts, of 8 bits with scales of groups of k.

pub use super::ragged::{Act, Problem};

/// Numbers of matrices of so many rows of k, times the scales of their groups of rows and of k.
pub fn scaled(
    numbers: Vec<f64>,
    scales: &[f64],
    [rows, k]: [usize; 2],
    [group_rows, group_k]: [usize; 2],
) -> Vec<f64> {
    let (high, deep) = (rows.div_ceil(group_rows), k.div_ceil(group_k));
    let of = |(i, x): (usize, f64)| {
        let (matrix, row) = (i / k / rows, i / k % rows);
        x * scales[(matrix * high + row / group_rows) * deep + i % k / group_k]
    };
    numbers.into_iter().enumerate().map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_at_the_ends_may_be_smaller() {
        let scales: Vec<f64> = (1..=8).map(f64::from).collect();
        // Two matrices of three rows of three.
        let numbers = scaled(vec![1.0; 18], &scales, [3, 3], [2, 2]);
        assert_eq!(numbers[..9], [1.0, 1.0, 2.0, 1.0, 1.0, 2.0, 3.0, 3.0, 4.0]);
        assert_eq!(numbers[9..12], [5.0, 5.0, 6.0]);
    }
}
