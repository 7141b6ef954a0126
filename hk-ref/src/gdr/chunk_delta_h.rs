//! States of a gated delta rule from chunk to chunk.

/// A chunk of a head: rows of k and w of as many keys, and of u, and sums of logarithms of decays.
#[derive(Debug, Clone)]
pub struct Chunk<'a> {
    /// Of as many keys each.
    pub k: Vec<&'a [f64]>,
    /// Of as many keys each.
    pub w: Vec<&'a [f64]>,
    /// Of as many values each.
    pub u: Vec<&'a [f64]>,
    /// Up to each token.
    pub sums: Vec<f64>,
}

/// Lets a state, keys by values, learn a chunk, and gives `u - w S`.
pub fn learn(state: &mut [f64], chunk: &Chunk<'_>) -> Vec<Vec<f64>> {
    let values = chunk.u[0].len();
    let news: Vec<Vec<f64>> = chunk
        .w
        .iter()
        .zip(&chunk.u)
        .map(|(w, u)| {
            let known = |j: usize| -> f64 {
                w.iter().enumerate().map(|(i, x)| x * state[i * values + j]).sum()
            };
            u.iter().enumerate().map(|(j, u)| u - known(j)).collect()
        })
        .collect();
    let last = chunk.sums[chunk.sums.len() - 1];
    for (i, row) in state.chunks_exact_mut(values).enumerate() {
        for (j, s) in row.iter_mut().enumerate() {
            let learnt = chunk.k.iter().zip(&chunk.sums).zip(&news);
            let learnt: f64 =
                learnt.map(|((k, sum), new)| k[i] * (last - sum).exp() * new[j]).sum();
            *s = last.exp() * *s + learnt;
        }
    }
    news
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_known_is_not_learnt_again() {
        let rows: [[&[f64]; 2]; 3] = [[&[1.0], &[2.0]], [&[1.0], &[0.5]], [&[5.0], &[7.0]]];
        let [k, w, u] = rows.map(Vec::from);
        let chunk = Chunk { k, w, u, sums: vec![0.0, 0.5f64.ln()] };
        let mut state = [2.0];
        assert_eq!(learn(&mut state, &chunk), [[3.0], [6.0]]);
        approx::assert_abs_diff_eq!(state[0], 1.0 + 0.5 * 3.0 + 2.0 * 6.0, epsilon = 1e-12);
    }
}
