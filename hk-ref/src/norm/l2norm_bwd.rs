//! The derivative of normalisation to a Euclidean length of one.

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
    use crate::norm::l2norm::l2norm;

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
