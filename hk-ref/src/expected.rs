//! What should come out, how far off it may be, and how far off it is.

use hk_types::dtype::{DType, Scalar};

/// Reference values of an output with their tolerances.
#[derive(Debug, Clone, Default)]
pub struct Expected {
    /// Which elements are compared, in row-major order; all if absent.
    pub at: Option<Vec<usize>>,
    /// The reference, not rounded to the output's type.
    pub values: Vec<f64>,
    /// Greatest absolute error of each.
    pub allowed: Vec<f64>,
    /// Greatest relative error of all together, by the Frobenius norm.
    pub frobenius: Option<f64>,
}

/// How an output compares with its reference.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Statistics {
    /// Absolute error of the worst element: the one whose error is the largest part, or multiple,
    /// of its tolerance.
    pub error: f64,
    /// Tolerance of the worst element.
    pub allowed: f64,
    /// Its index in row-major order.
    pub index: usize,
    /// Its reference.
    pub expected: f64,
    /// What came out.
    pub got: f64,
    /// Relative error of all elements together, by the Frobenius norm. Elements whose reference is
    /// not finite do not count.
    pub relative: f64,
    /// Elements that are beyond their tolerance.
    pub failures: usize,
}

/// Half the distance from 1 to the next number of the type.
///
/// Only for the types that kernels' results have: bf16, f16 and f32.
pub fn unit_roundoff(dtype: DType) -> f64 {
    match dtype {
        DType::Bf16 => 2f64.powi(-8),
        DType::F16 => 2f64.powi(-11),
        _ => 2f64.powi(-24),
    }
}

/// Half the smallest subnormal number of the type.
pub fn half_subnormal(dtype: DType) -> f64 {
    match dtype {
        DType::Bf16 => 2f64.powi(-134),
        DType::F16 => 2f64.powi(-25),
        _ => 2f64.powi(-150),
    }
}

impl Expected {
    /// Values that must come out exactly; signed zeros count as equal.
    pub fn exact(values: Vec<f64>) -> Self {
        let allowed = vec![0.0; values.len()];
        Self { values, allowed, ..Self::default() }
    }

    /// Compares.
    pub fn compare<T: Scalar>(&self, got: &[T]) -> Statistics {
        let mut worst = Statistics::default();
        let mut worst_share = -1.0;
        let (mut squares, mut error_squares) = (0.0, 0.0);
        for (i, (&expected, &allowed)) in self.values.iter().zip(&self.allowed).enumerate() {
            let index = self.at.as_ref().map_or(i, |at| at[i]);
            let value = got[index].to_f64();
            let error = error::<T>(expected, value);
            if expected.is_finite() && value.is_finite() {
                squares += expected * expected;
                error_squares += error * error;
            }
            let share = if error == 0.0 { 0.0 } else { error / allowed };
            // A tolerance that is not a number allows nothing.
            let fails = error > 0.0 && (share > 1.0 || share.is_nan());
            worst.failures += usize::from(fails);
            let share = if share.is_nan() { f64::INFINITY } else { share };
            if share > worst_share {
                worst_share = share;
                worst = Statistics { error, allowed, index, expected, got: value, ..worst };
            }
        }
        worst.relative = if error_squares == 0.0 { 0.0 } else { (error_squares / squares).sqrt() };
        worst
    }

    /// Whether the comparison passes.
    pub fn accepts(&self, statistics: &Statistics) -> bool {
        statistics.failures == 0 && self.frobenius.is_none_or(|most| statistics.relative <= most)
    }
}

/// The absolute error; infinite if one is a special value that the other is not.
fn error<T: Scalar>(expected: f64, got: f64) -> f64 {
    if expected.is_nan() || got.is_nan() {
        return if expected.is_nan() && got.is_nan() { 0.0 } else { f64::INFINITY };
    }
    if got.is_infinite() || expected.is_infinite() {
        // A finite reference beyond the type's range rounds to infinity.
        let rounded = T::from_f64(expected).to_f64();
        return if rounded == got { 0.0 } else { f64::INFINITY };
    }
    (expected - got).abs()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expected(values: &[f64], allowed: f64) -> Expected {
        let allowed = vec![allowed; values.len()];
        Expected { values: values.to_vec(), allowed, ..Expected::default() }
    }

    #[test]
    fn the_worst_element_is_named() {
        let reference = expected(&[1.0, 2.0, 3.0], 0.25);
        let statistics = reference.compare(&[1.125f32, 2.5, 3.0]);
        assert!(!reference.accepts(&statistics));
        assert_eq!((statistics.index, statistics.failures), (1, 1));
        assert_eq!((statistics.error, statistics.allowed), (0.5, 0.25));
        assert_eq!((statistics.expected, statistics.got), (2.0, 2.5));
    }

    #[test]
    fn special_values_match_only_themselves() {
        let reference = expected(&[f64::NAN, f64::INFINITY, 1e39, 0.0], f64::MAX);
        let right = [f32::NAN, f32::INFINITY, f32::INFINITY, -0.0];
        assert!(reference.accepts(&reference.compare(&right)));
        for i in 0..4 {
            for wrong in [f32::NEG_INFINITY, 1.0f32, f32::NAN] {
                let mut got = right;
                got[i] = wrong;
                let fits = (i == 0 && wrong.is_nan()) || (i >= 2 && wrong == 1.0);
                let accepted = reference.accepts(&reference.compare(&got));
                assert_eq!(accepted, fits, "element {i} is {wrong}");
            }
        }
    }

    #[test]
    fn all_together_may_be_worse_than_each() {
        let mut reference = expected(&[1.0; 100], 0.01);
        let got = [1.0078125f32; 100];
        assert!(reference.accepts(&reference.compare(&got)));
        reference.frobenius = Some(0.001);
        assert!(!reference.accepts(&reference.compare(&got)));
    }

    #[test]
    fn exact_means_exact() {
        let reference = Expected::exact(vec![1.0, 0.0]);
        assert!(reference.accepts(&reference.compare(&[1.0f32, -0.0])));
        assert!(!reference.accepts(&reference.compare(&[1.0 + f32::EPSILON, 0.0])));
    }
}
