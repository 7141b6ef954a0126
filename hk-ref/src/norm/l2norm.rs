//! Normalisation to a Euclidean length of one, and its derivative.

/// Rows of `width` elements divided by `sqrt(sum of squares + eps)`, and the reciprocals of these.
pub fn l2norm(x: &[f64], width: usize, eps: f32) -> (Vec<f64>, Vec<f64>) {
    let length = |row: &[f64]| (row.iter().map(|x| x * x).sum::<f64>() + f64::from(eps)).sqrt();
    let rstd: Vec<f64> = x.chunks_exact(width).map(|row| 1.0 / length(row)).collect();
    let rows = x.chunks_exact(width).zip(&rstd);
    (rows.flat_map(|(row, r)| row.iter().map(move |x| x * r)).collect(), rstd)
}

/// `rstd (dy - y sum(dy y))` of each row, and how far off a sum in f32 may make each element: 2^-20 of
/// what the terms of the sum would add up to without cancelling.
pub fn l2norm_bwd(y: &[f64], rstd: &[f64], dy: &[f64], width: usize) -> (Vec<f64>, Vec<f64>) {
    let (mut dx, mut slack) = (Vec::new(), Vec::new());
    for ((y, dy), r) in y.chunks_exact(width).zip(dy.chunks_exact(width)).zip(rstd) {
        let products = y.iter().zip(dy).map(|(y, dy)| y * dy);
        let (sum, size) = products.fold((0.0, 0.0), |(sum, size), p| (sum + p, size + p.abs()));
        dx.extend(y.iter().zip(dy).map(|(y, dy)| r * (dy - y * sum)));
        slack.extend(y.iter().map(|y| 2f64.powi(-20) * r * y.abs() * size));
    }
    (dx, slack)
}

#[cfg(test)]
mod tests {
    use approx::assert_abs_diff_eq;

    use super::*;

    #[test]
    fn rows_get_a_length_of_one() {
        let (y, rstd) = l2norm(&[3.0, 4.0, 0.0, 0.0], 2, 0.25);
        let r = 1.0 / 25.25f64.sqrt();
        assert_eq!((y, rstd), (vec![3.0 * r, 4.0 * r, 0.0, 0.0], vec![r, 2.0]));
    }

    #[test]
    fn the_derivative_is_that_of_differences() {
        let (x, dy) = ([0.5, -1.25, 2.0], [1.0, 0.25, -0.75]);
        let loss = |x: &[f64]| {
            let (y, _) = l2norm(x, 3, 0.125);
            y.iter().zip(dy).map(|(y, dy)| y * dy).sum::<f64>()
        };
        let (y, rstd) = l2norm(&x, 3, 0.125);
        let (dx, _) = l2norm_bwd(&y, &rstd, &dy, 3);
        for j in 0..3 {
            let (mut more, mut less) = (x, x);
            more[j] += 1e-5;
            less[j] -= 1e-5;
            assert_abs_diff_eq!((loss(&more) - loss(&less)) / 2e-5, dx[j], epsilon = 1e-9);
        }
    }
}
