//! Root-mean-square normalisation.

use hk_types::dtype::{DType, Scalar, bf16, f16};

use crate::expected::{Expected, half_subnormal, unit_roundoff};

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

/// The tolerance of `y`: one rounding of a 16-bit result and nothing more, or 4e-6 of an f32 one.
/// `comparable` says that rows are of comparable magnitude, so that the error of all together
/// averages out; or, where it does not, as of rows that are scaled by nearly a power of two, is at
/// most that of the right result, rounded.
pub fn expect_y(values: Vec<f64>, dtype: DType, comparable: bool) -> Expected {
    let relative = match dtype {
        DType::F32 => 4e-6,
        _ => unit_roundoff(dtype) * (1.0 + 2f64.powi(-6)),
    };
    let floor = match dtype {
        DType::F32 => 2f64.powi(-149),
        _ => half_subnormal(dtype),
    };
    let allowed = values.iter().map(|value| relative * value.abs() + floor).collect();
    let frobenius = match dtype {
        DType::Bf16 => Some(2.0e-3),
        DType::F16 => Some(2.6e-4),
        _ => None,
    };
    let frobenius = frobenius.filter(|_| comparable && values.len() >= 1024);
    let frobenius = frobenius.map(|most: f64| most.max(1.02 * rounding_error(&values, dtype)));
    Expected { at: None, values, allowed, frobenius }
}

/// The relative error of all values together, by the Frobenius norm, that rounding them to a 16-bit
/// type makes.
fn rounding_error(values: &[f64], dtype: DType) -> f64 {
    let round = |value: f64| match dtype {
        DType::Bf16 => bf16::from_f64(value).to_f64(),
        _ => f16::from_f64(value).to_f64(),
    };
    let squares: f64 = values.iter().map(|value| value * value).sum();
    let errors: f64 = values.iter().map(|value| (round(*value) - value).powi(2)).sum();
    if errors == 0.0 { 0.0 } else { (errors / squares).sqrt() }
}

/// The tolerance of `rstd`: 2e-6.
pub fn expect_rstd(values: Vec<f64>) -> Expected {
    let allowed = values.iter().map(|value| 2e-6 * value.abs() + 2f64.powi(-149)).collect();
    Expected { at: None, values, allowed, frobenius: None }
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
