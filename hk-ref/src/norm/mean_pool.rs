//! Means of the rows of sequences that follow each other.

/// The mean of the rows, of `width` elements, of each sequence, 0 without rows, as of one that ends before it
/// starts. And how far off sums in f32 may make each element: 2^-20 of the mean without signs.
pub fn mean_pool(x: &[f64], bounds: &[i64], width: usize) -> (Vec<f64>, Vec<f64>) {
    let (mut y, mut slack) = (Vec::new(), Vec::new());
    for bound in bounds.windows(2) {
        let [start, end] = [bound[0], bound[1]].map(|bound| bound as usize);
        let mean = |of: fn(f64) -> f64, j| {
            let sum: f64 = (start..end).map(|i| of(x[i * width + j])).sum();
            sum / end.saturating_sub(start).max(1) as f64
        };
        y.extend((0..width).map(|j| mean(|x| x, j)));
        slack.extend((0..width).map(|j| 2f64.powi(-20) * mean(f64::abs, j)));
    }
    (y, slack)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sequences_have_means_of_their_own() {
        let x = [1.0, -2.0, 3.0, 6.0, 5.0, 7.0];
        let (y, slack) = mean_pool(&x, &[0, 2, 2, 3], 2);
        assert_eq!(y, [2.0, 2.0, 0.0, 0.0, 5.0, 7.0]);
        assert_eq!(slack[1], 2f64.powi(-20) * 4.0);
        let (y, _) = mean_pool(&x, &[0, 2, 1, 3], 2);
        assert_eq!(y, [2.0, 2.0, 0.0, 0.0, 4.0, 6.5]);
    }
}
