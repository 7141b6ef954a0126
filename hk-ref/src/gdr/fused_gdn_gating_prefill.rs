//! Gates of the gated delta rule.

/// `ln(1 + exp(factor x)) / factor`, and x where `factor x` is above the threshold.
pub fn softplus(x: f64, factor: f32, threshold: f32) -> f64 {
    let scaled = x * f64::from(factor);
    if scaled > f64::from(threshold) {
        return x;
    }
    // Without overflow of the power.
    let positive = if scaled > 0.0 { scaled } else { 0.0 };
    (positive + (-scaled.abs()).exp().ln_1p()) / f64::from(factor)
}

/// The logarithm of a head's decay, which is 0 where the softplus of the step is, even if the rate is
/// infinite; and how far off it may be: by the rounding of the step to f32, which softplus amplifies.
/// The product of a rate beyond f32 and a softplus below it may be any number.
pub fn decay(a_log: f64, step: f64, factor: f32, threshold: f32) -> (f64, f64) {
    let size = softplus(step, factor, threshold);
    let rate = a_log.exp();
    let g = if size == 0.0 { 0.0 } else { -rate * size };
    if rate > f64::from(f32::MAX) && size < f64::from(f32::MIN_POSITIVE) {
        return (g, f64::INFINITY);
    }
    (g, (2e-6 + 6e-8 * (f64::from(factor) * step).abs()) * g.abs() + 1e-30)
}

/// `1 / (1 + exp(-x))`.
pub fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

#[cfg(test)]
mod tests {
    use approx::assert_relative_eq;

    use super::*;

    #[test]
    fn softplus_has_its_values_and_limits() {
        assert_relative_eq!(softplus(0.0, 2.0, 20.0), 2f64.ln() / 2.0);
        assert_relative_eq!(softplus(3.0, 1.0, 20.0), (1.0 + 3f64.exp()).ln(), epsilon = 1e-15);
        assert_relative_eq!(softplus(-40.0, 1.0, 20.0), (-40f64).exp());
        assert_eq!(softplus(20.5, 1.0, 20.0), 20.5);
        assert!(softplus(20.0, 1.0, 20.0) > 20.0);
        assert_eq!(softplus(f64::NEG_INFINITY, 1.0, 20.0), 0.0);
        assert!(softplus(f64::NAN, 1.0, 20.0).is_nan());
    }

    #[test]
    fn nothing_decays_in_a_step_of_zero() {
        assert_eq!(decay(f64::INFINITY, f64::NEG_INFINITY, 1.0, 20.0).0, 0.0);
        assert_eq!(decay(-200.0, f64::INFINITY, 1.0, 20.0).0, f64::NEG_INFINITY);
        assert_relative_eq!(decay(2f64.ln(), 0.0, 1.0, 20.0).0, -2.0 * 2f64.ln());
    }
}
