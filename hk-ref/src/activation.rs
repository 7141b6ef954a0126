//! Activations.

use hk_types::Activation;

/// The activation of `x`.
pub fn activate(activation: Activation, x: f64) -> f64 {
    match activation {
        // Zeros keep their signs, and NaN passes.
        Activation::Relu if x < 0.0 => 0.0,
        Activation::Relu => x,
        Activation::Relu6 => x.clamp(0.0, 6.0),
        Activation::LeakyRelu(slope) => {
            if x >= 0.0 {
                x
            } else {
                f64::from(slope) * x
            }
        }
        Activation::Gelu => 0.5 * x * erfc(-x * std::f64::consts::FRAC_1_SQRT_2),
        Activation::GeluTanh => {
            0.5 * x * (1.0 + (0.797_884_560_8 * (x + 0.044_715 * x * x * x)).tanh())
        }
        Activation::Silu => x / (1.0 + (-x).exp()),
        Activation::SiluExp2 => x / (1.0 + (-std::f64::consts::LOG2_E * x).exp2()),
        Activation::Sigmoid => 1.0 / (1.0 + (-x).exp()),
        Activation::Tanh => x.tanh(),
        Activation::Mish => x * x.exp().ln_1p().tanh(),
    }
}

/// The steepest slope of the activation: an error of x grows by no more.
pub fn steepest(activation: Activation) -> f64 {
    match activation {
        Activation::Relu | Activation::Relu6 | Activation::Tanh | Activation::Sigmoid => 1.0,
        Activation::LeakyRelu(slope) => f64::from(slope).abs().max(1.0),
        _ => 1.13,
    }
}

/// Whether the activation of an exact number is good to a few units in the last place, however small
/// it is beside the number.
pub fn keeps_relative_accuracy(activation: Activation) -> bool {
    matches!(activation, Activation::Sigmoid | Activation::Silu | Activation::Mish)
}

/// `1 - erf(x)`, to a few units in the last place: the power series where it converges fast and
/// does not cancel, else the continued fraction.
pub fn erfc(x: f64) -> f64 {
    let a = x.abs();
    if a < 2.0 {
        let mut term = a;
        let mut sum = a;
        for n in 1..80 {
            let n = f64::from(n);
            term *= 2.0 * a * a / (2.0 * n + 1.0);
            sum += term;
        }
        let erf = 2.0 / std::f64::consts::PI.sqrt() * (-a * a).exp() * sum;
        if x < 0.0 { 1.0 + erf } else { 1.0 - erf }
    } else {
        let fraction = (1..=120).rev().fold(a, |f, i| a + f64::from(i) / 2.0 / f);
        let erfc = (-a * a).exp() / (fraction * std::f64::consts::PI.sqrt());
        if x < 0.0 { 2.0 - erfc } else { erfc }
    }
}

#[cfg(test)]
mod tests {
    use approx::{assert_abs_diff_eq, assert_relative_eq};

    use super::*;

    #[test]
    fn erfc_has_the_values_of_tables() {
        // Abramowitz and Stegun, table 7.1, and erfc(5) of Wolfram's functions site.
        for (x, erf) in [(0.5, 0.520_499_877_8), (1.0, 0.842_700_792_9), (2.0, 0.995_322_265_0)] {
            assert_abs_diff_eq!(erfc(x), 1.0 - erf, epsilon = 1e-10);
            assert_abs_diff_eq!(erfc(-x), 1.0 + erf, epsilon = 1e-10);
        }
        assert_relative_eq!(erfc(5.0), 1.537_459_794_428_034_8e-12, max_relative = 1e-12);
        // Both methods meet.
        assert_relative_eq!(erfc(2.0 - 1e-12), erfc(2.0), max_relative = 1e-10);
    }
}
