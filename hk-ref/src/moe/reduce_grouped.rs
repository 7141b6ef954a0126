//! Sums of rows that belong together.

/// What is done to a row before it is added: numbers come in pairs, of a gate and what it lets
/// through, if it has numbers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Reduced {
    /// Nothing.
    None,
    /// `silu_alpha(gate) (linear + offset)`, with a limit.
    Gated {
        /// Of gates in the exponent.
        alpha: f64,
        /// Where gates, and what they let through, end.
        limit: f64,
        /// Added to what is let through.
        offset: f64,
    },
    /// GELU by its tanh.
    GeluTanh,
}

/// Sums, and how far off those in f32 may be.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Sums {
    /// The values.
    pub values: Vec<f64>,
    /// By how much computing in f32 may change them.
    pub slack: Vec<f64>,
}

/// Relative error of each step in f32 that is no sum.
const STEP: f64 = 2e-6;

fn silu(x: f64, alpha: f64) -> f64 {
    x / (1.0 + (-alpha * x).exp())
}

/// One row after its activation, from the sums of its shares and those of their sizes.
fn activated(sums: &[f64], sizes: &[f64], act: Reduced, root: f64) -> Sums {
    // What is infinite is not off.
    let delta = |at: usize| match sizes[at].is_finite() {
        true => 2f64.powi(-20) * root * sizes[at],
        false => 0.0,
    };
    let mut done = Sums::default();
    match act {
        Reduced::None => {
            done.values = sums.to_vec();
            done.slack = (0..sums.len()).map(delta).collect();
        }
        Reduced::GeluTanh => {
            for (at, x) in sums.iter().enumerate() {
                let inner = (2.0 / std::f64::consts::PI).sqrt() * (x + 0.044715 * x * x * x);
                let value = 0.5 * x * (1.0 + inner.tanh());
                done.values.push(value);
                done.slack.push(1.13 * delta(at) + STEP * (1.0 + inner.abs()) * value.abs());
            }
        }
        Reduced::Gated { alpha, limit, offset } => {
            for at in (0..sums.len()).step_by(2) {
                let gate = if sums[at] > limit { limit } else { sums[at] };
                let linear = if sums[at + 1].is_nan() {
                    f64::NAN
                } else {
                    sums[at + 1].clamp(-limit, limit)
                };
                let (through, all) = (silu(gate, alpha), linear + offset);
                done.values.push(through * all);
                let of_gate = 1.1 * (1.0 + alpha) * delta(at) * all.abs();
                let exponent = 1.0 + (alpha * gate).abs();
                let steps = STEP * exponent * through.abs() * (linear.abs() + offset.abs());
                done.slack.push(of_gate + through.abs() * delta(at + 1) + steps);
            }
        }
    }
    done
}

/// The sum of the rows of a group, which are `width` wide and of which `x` has several shares of
/// `rows` each; each times its number of `gammas`.
pub fn reduce_grouped(
    x: &[f64],
    [rows, width]: [usize; 2],
    of_group: &[Option<usize>],
    gammas: Option<&[f64]>,
    act: Reduced,
) -> Sums {
    // Without rows, there is nothing to be shared.
    let shares = x.len().checked_div(rows * width).unwrap_or_default();
    let root = ((shares * of_group.len()) as f64).sqrt();
    let wide = if matches!(act, Reduced::Gated { .. }) { width / 2 } else { width };
    let mut all = Sums { values: vec![0.0; wide], slack: vec![0.0; wide] };
    for row in of_group.iter().flatten() {
        let part = |share: usize| &x[(share * rows + row) * width..][..width];
        let sum_of = |f: fn(f64) -> f64| -> Vec<f64> {
            (0..width).map(|at| (0..shares).map(|share| f(part(share)[at])).sum()).collect()
        };
        let done = activated(&sum_of(|x| x), &sum_of(f64::abs), act, root);
        let gamma = gammas.map_or(1.0, |gammas| gammas[*row]);
        for at in 0..wide {
            let value = gamma * done.values[at];
            all.values[at] += value;
            all.slack[at] += gamma.abs() * done.slack[at] + 2f64.powi(-20) * root * value.abs();
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_added_before_the_activation_and_rows_after_it() {
        // Two shares of two rows of two columns.
        let x = [1.0, 2.0, 3.0, 4.0, 10.0, 20.0, 30.0, 40.0];
        let sum = reduce_grouped(&x, [2, 2], &[Some(1), None, Some(1)], None, Reduced::None);
        assert_eq!(sum.values, [66.0, 88.0]);
        let act = Reduced::Gated { alpha: 1.0, limit: 7.0, offset: 1.0 };
        let gated = reduce_grouped(&x, [2, 2], &[Some(0)], Some(&[0.5, 1.0]), act);
        assert_eq!(gated.values, [0.5 * silu(7.0, 1.0) * 8.0]);
    }
}
