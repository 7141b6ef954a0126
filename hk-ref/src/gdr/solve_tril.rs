//! Inverses of unit lower triangular matrices.

/// The inverse of I and what of the square matrix `a`, of `size` rows, is below the diagonal.
pub fn solve_tril(a: &[f64], size: usize) -> Vec<f64> {
    let mut inverse = vec![0.0; size * size];
    for i in 0..size {
        inverse[i * size + i] = 1.0;
        for j in 0..i {
            let products = (j..i).map(|m| a[i * size + m] * inverse[m * size + j]);
            inverse[i * size + j] = -products.sum::<f64>();
        }
    }
    inverse
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_product_with_the_inverse_is_the_identity() {
        let (size, nan) = (4, f64::NAN);
        let a = [nan, nan, nan, nan, 0.5, nan, nan, nan, -1.0, 2.0, nan, nan, 0.25, 3.0, -0.5, nan];
        let inverse = solve_tril(&a, size);
        for i in 0..size {
            for j in 0..size {
                let below = (0..i).map(|m| a[i * size + m] * inverse[m * size + j]).sum::<f64>();
                let identity = if i == j { 1.0 } else { 0.0 };
                approx::assert_abs_diff_eq!(
                    below + inverse[i * size + j],
                    identity,
                    epsilon = 1e-12
                );
            }
        }
    }

    #[test]
    fn of_ones_it_is_the_difference_of_neighbours() {
        assert_eq!(solve_tril(&[1.0; 9], 3), [1.0, 0.0, 0.0, -1.0, 1.0, 0.0, 0.0, -1.0, 1.0]);
    }
}
