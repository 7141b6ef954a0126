//! Root-mean-square normalisation.

use hk_types::dtype::Scalar;

/// Normalised rows, and the reciprocal root mean square of each.
#[derive(Debug, Clone)]
pub struct Normalised {
    /// `h / sqrt(mean(h^2) + eps) * (weight + weight_offset)`
    pub y: Vec<f64>,
    /// `1 / sqrt(mean(h^2) + eps)` of each row.
    pub rstd: Vec<f64>,
}

/// Normalises rows of `weight.len()` elements.
pub fn rmsnorm(h: &[f64], weight: &[f64], eps: f32, weight_offset: f32) -> Normalised {
    let mut y = Vec::with_capacity(h.len());
    let mut rstd = Vec::new();
    for row in h.chunks_exact(weight.len()) {
        let mean = row.iter().map(|h| h * h).sum::<f64>() / row.len() as f64;
        let r = 1.0 / (mean + f64::from(eps)).sqrt();
        y.extend(row.iter().zip(weight).map(|(h, w)| h * r * (w + f64::from(weight_offset))));
        rstd.push(r);
    }
    Normalised { y, rstd }
}

/// `x + residual` as the fused op stores it: rounded once, which f64 is wide enough to do from the
/// sum of two smaller numbers.
pub fn add<T: Scalar>(x: &[T], residual: &[T]) -> Vec<T> {
    x.iter().zip(residual).map(|(x, r)| T::from_f64(x.to_f64() + r.to_f64())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_get_a_root_mean_square_of_one() {
        let Normalised { y, rstd } = rmsnorm(&[3.0, 4.0, 0.0, 0.0], &[1.0, 2.0], 0.25, 1.0);
        let r = 1.0 / 12.75f64.sqrt();
        assert_eq!(rstd, [r, 2.0]);
        assert_eq!(y, [3.0 * r * 2.0, 4.0 * r * 3.0, 0.0, 0.0]);
    }
}
