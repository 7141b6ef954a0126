//! What a chunk teaches a gated delta rule, from its logarithms of decays and keys.

use super::fused_cumsum_kkt::cumsum_kkt;
use super::solve_tril::solve_tril;
use super::wy_representation::lower_times;

/// What follows from a chunk of a head.
#[derive(Debug, Clone)]
pub struct Pipeline {
    /// Sums of logarithms up to each token, with the sums of their magnitudes.
    pub sums: Vec<(f64, f64)>,
    /// The inverse, a square.
    pub tm: Vec<f64>,
    /// Of as many keys each.
    pub w: Vec<Vec<f64>>,
    /// Of as many values each.
    pub u: Vec<Vec<f64>>,
}

/// All steps, of rows of keys and values.
pub fn pipeline(keys: &[&[f64]], values: &[&[f64]], g: &[f64], beta: &[f64]) -> Pipeline {
    let (sums, a) = cumsum_kkt(g, keys, beta, false);
    let tm = solve_tril(&a, g.len());
    let decayed: Vec<f64> =
        beta.iter().zip(&sums).map(|(beta, (sum, _))| beta * sum.exp()).collect();
    let (w, u) = (lower_times(&tm, keys, &decayed), lower_times(&tm, values, beta));
    Pipeline { sums, tm, w, u }
}

#[cfg(test)]
mod tests {
    use approx::assert_abs_diff_eq;

    use super::*;
    use crate::gdr::chunk_delta_h::{Chunk, learn};
    use crate::gdr::chunk_o::{Queries, answer};
    use crate::gdr::fused_recurrent::{Token, learn as learn_token, normalized};

    /// Numbers between -1 and 1.
    fn numbers(seed: u64, count: usize) -> Vec<f64> {
        let mut state = seed;
        let mut next = move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 11) as f64 / 2f64.powi(52) - 1.0
        };
        (0..count).map(|_| next()).collect()
    }

    /// The whole chunked form, and token after token.
    #[test]
    fn chunks_teach_what_their_tokens_do() {
        for (tokens, keys) in [(37, 12), (130, 24)] {
            for (size, common) in [16, 32, 64].into_iter().flat_map(|c| [(c, 0.0), (c, 1.5)]) {
                chunks_teach(tokens, keys, size, common);
            }
        }
    }

    /// Chunks of that size, of keys that have a part in common.
    fn chunks_teach(tokens: usize, keys: usize, size: usize, common: f64) {
        let values = 7;
        let rows = |seed: u64, n: usize| {
            numbers(seed, tokens * n).chunks(n).map(<[f64]>::to_vec).collect::<Vec<_>>()
        };
        let alike = |k: &Vec<f64>| normalized(&k.iter().map(|x| x + common).collect::<Vec<_>>());
        let k: Vec<Vec<f64>> = rows(1, keys).iter().map(alike).collect();
        let (q, v) = (rows(2, keys), rows(3, values));
        let g: Vec<f64> = numbers(4, tokens).iter().map(|x| -x.abs()).collect();
        let beta: Vec<f64> = numbers(5, tokens).iter().map(|x| x.abs()).collect();
        let mut one = numbers(6, keys * values);
        let mut other = one.clone();
        let expected = (0..tokens).map(|t| {
            let strengths = vec![beta[t]; values];
            let (q, k, v) = (&q[t][..], &k[t][..], &v[t][..]);
            let token = Token { q, k, v, g: g[t], gk: &[], gv: &[], beta: &strengths };
            learn_token(&mut one, &token, 0.3)
        });
        let expected: Vec<f64> = expected.flatten().collect();
        let mut got = Vec::new();
        for first in (0..tokens).step_by(size) {
            let of = first..tokens.min(first + size);
            let [ks, qs, vs] =
                [&k, &q, &v].map(|x| x[of.clone()].iter().map(Vec::as_slice).collect::<Vec<_>>());
            let Pipeline { sums, w, u, .. } = pipeline(&ks, &vs, &g[of.clone()], &beta[of]);
            let sums: Vec<f64> = sums.iter().map(|(sum, _)| *sum).collect();
            let before = other.clone();
            let chunk = Chunk {
                k: ks.clone(),
                w: w.iter().map(Vec::as_slice).collect(),
                u: u.iter().map(Vec::as_slice).collect(),
                sums: sums.clone(),
            };
            let news = learn(&mut other, &chunk);
            let news: Vec<&[f64]> = news.iter().map(Vec::as_slice).collect();
            let queries = Queries { q: qs, k: ks, v: news, sums };
            got.extend(answer(&before, &queries, 0.3).into_iter().flatten());
        }
        assert_abs_diff_eq!(got[..], expected[..], epsilon = 1e-12);
        assert_abs_diff_eq!(other[..], one[..], epsilon = 1e-12);
    }
}
