//! The gated delta rule, token after token.

/// A token of a head.
#[derive(Debug, Clone)]
pub struct Token<'a> {
    /// Of k elements.
    pub q: &'a [f64],
    /// Of k elements.
    pub k: &'a [f64],
    /// Of v elements.
    pub v: &'a [f64],
    /// The logarithm of the decay.
    pub g: f64,
    /// Logarithms of the decays of keys, and of values; empty if there are none.
    pub gk: &'a [f64],
    /// As above.
    pub gv: &'a [f64],
    /// Of v elements.
    pub beta: &'a [f64],
}

/// Numbers divided by `sqrt(sum of squares + 1e-6)`.
pub fn normalized(x: &[f64]) -> Vec<f64> {
    let length = (x.iter().map(|x| x * x).sum::<f64>() + 1e-6).sqrt();
    x.iter().map(|x| x / length).collect()
}

/// Lets a state of keys by values learn a token, and gives its answer to the query.
pub fn learn(state: &mut [f64], token: &Token<'_>, scale: f64) -> Vec<f64> {
    let Token { q, k, v, g, gk, gv, beta } = *token;
    let values = v.len();
    for (i, row) in state.chunks_exact_mut(values).enumerate() {
        for (j, s) in row.iter_mut().enumerate() {
            let more = gk.get(i).unwrap_or(&0.0) + gv.get(j).unwrap_or(&0.0);
            *s *= (g + more).exp();
        }
    }
    let answer = |state: &[f64], to: &[f64]| {
        let of_value =
            |j: usize| to.iter().enumerate().map(|(i, x)| x * state[i * values + j]).sum();
        (0..values).map(of_value).collect::<Vec<f64>>()
    };
    let known = answer(state, k);
    for (i, row) in state.chunks_exact_mut(values).enumerate() {
        for (j, s) in row.iter_mut().enumerate() {
            *s += k[i] * beta[j] * (v[j] - known[j]);
        }
    }
    answer(state, q).into_iter().map(|o| o * scale).collect()
}

#[cfg(test)]
mod tests {
    use approx::assert_abs_diff_eq;

    use super::*;

    #[test]
    fn what_is_learnt_is_answered() {
        let (q, k, v) = ([0.6, 0.8], [0.6, 0.8], [3.0, -2.0]);
        let token = Token { q: &q, k: &k, v: &v, g: -0.5, gk: &[], gv: &[], beta: &[1.0, 0.5] };
        let mut state = [1.0, 2.0, 3.0, 4.0];
        let known = (0.6 * 2.0 + 0.8 * 4.0) * (-0.5f64).exp();
        let o = learn(&mut state, &token, 1.0);
        assert_abs_diff_eq!(o[0], 3.0, epsilon = 1e-12);
        assert_abs_diff_eq!(o[1], (known - 2.0) / 2.0, epsilon = 1e-12);
    }

    #[test]
    fn decays_are_of_keys_and_values() {
        let zero = [0.0; 2];
        let (gk, gv) = ([-1.0, -2.0], [-4.0, -8.0]);
        let token = Token { q: &zero, k: &zero, v: &zero, g: 0.5, gk: &gk, gv: &gv, beta: &zero };
        let mut state = [1.0; 4];
        learn(&mut state, &token, 1.0);
        let decays = [-4.5f64, -8.5, -5.5, -9.5].map(f64::exp);
        assert_abs_diff_eq!(state[..], decays[..], epsilon = 1e-15);
        assert_abs_diff_eq!(normalized(&[3.0, 4.0])[..], [0.6, 0.8][..], epsilon = 1e-7);
    }
}
