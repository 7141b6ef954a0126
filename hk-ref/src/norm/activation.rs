//! Activations of rows, gated or not.

use hk_types::Activation;
use hk_types::dtype::DType;

use crate::Expected;
use crate::activation::activate;

/// How far off f32 may make the activation of a number: `2^-20 min(|x|, 1) + 2^-22 |x|`.
fn slack(x: f64) -> f64 {
    let size = if x.is_finite() { x.abs() } else { 0.0 };
    2f64.powi(-20) * size.min(1.0) + 2f64.powi(-22) * size
}

/// What the activations of numbers should be.
pub fn activated(x: &[f64], activation: Activation, dtype: DType) -> Expected {
    let values = x.iter().map(|x| activate(activation, *x)).collect();
    Expected::rounded(values, dtype, false).plus(x.iter().map(|x| slack(*x)).collect())
}

/// What is made of a gate and what it lets through.
#[derive(Debug, Clone, Copy)]
pub enum Gate {
    /// The activation of the gate, of at most the limit, if there is one, times the other, of at most
    /// that in magnitude.
    Activation(Activation, Option<f32>),
    /// `g sigmoid(alpha g)` times the other plus 1, with `[alpha, limit]`.
    Swiglu([f32; 2]),
}

/// What gated rows should be, times the weights: of pairs of a gate and what it lets through.
pub fn gated(pairs: &[[f64; 2]], weights: &[f64], gate: Gate, dtype: DType) -> Expected {
    let (values, slacks) = gated_values(pairs, weights, gate);
    Expected::rounded(values, dtype, false).plus(slacks)
}

/// As [`gated`]: the values, and how far off f32 may make each.
pub fn gated_values(pairs: &[[f64; 2]], weights: &[f64], gate: Gate) -> (Vec<f64>, Vec<f64>) {
    // Both keep NaN, which `min` and `max` of f64 do not.
    let at_most = |x: f64, limit: f64| if x > limit { limit } else { x };
    let within = |x: f64, limit: f64| if x < -limit { -limit } else { at_most(x, limit) };
    let (mut values, mut slacks) = (Vec::new(), Vec::new());
    for ([gate_in, linear], weight) in pairs.iter().zip(weights) {
        let (g, activated, factor) = match gate {
            Gate::Activation(activation, limit) => {
                let limit = limit.map_or(f64::INFINITY, f64::from);
                let g = at_most(*gate_in, limit);
                (g, activate(activation, g), within(*linear, limit))
            }
            Gate::Swiglu([alpha, limit]) => {
                let g = at_most(*gate_in, limit.into());
                let activated = g / (1.0 + (-f64::from(alpha) * g).exp());
                (g, activated, within(*linear, limit.into()) + 1.0)
            }
        };
        values.push(activated * factor * weight);
        let slack = slack(g) * (factor * weight).abs();
        slacks.push(if slack.is_finite() { slack } else { 0.0 });
    }
    (values, slacks)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gates_and_what_they_let_through_are_cut_off() {
        let relu = Gate::Activation(Activation::Relu, Some(2.0));
        let pairs = [[3.0, -5.0], [1.0, 0.5], [f64::NAN, 1.0]];
        let values = gated(&pairs, &[1.0, 3.0, 1.0], relu, DType::F32).values;
        assert_eq!(values[..2], [-4.0, 1.5]);
        assert!(values[2].is_nan());
        let swiglu = gated(&[[0.0, 9.0]], &[1.0], Gate::Swiglu([1.0, 2.0]), DType::F32);
        assert_eq!(swiglu.values, [0.0]);
    }
}
