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
    use approx::assert_abs_diff_eq;

    use super::*;
    use crate::gdr::chunk_o::{Queries, answer};
    use crate::gdr::fused_recurrent::{Token, learn as learn_token, normalized};
    use crate::gdr::solve_tril::solve_tril;
    use crate::gdr::wy_representation::{kkt, lower_times};

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
        let (tokens, keys, values, size) = (37, 12, 7, 16);
        let rows = |seed: u64, n: usize| {
            numbers(seed, tokens * n).chunks(n).map(<[f64]>::to_vec).collect::<Vec<_>>()
        };
        let k: Vec<Vec<f64>> = rows(1, keys).iter().map(|k| normalized(k)).collect();
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
            let n = of.len();
            let sums: Vec<f64> = (0..n).map(|i| g[first..=first + i].iter().sum::<f64>()).collect();
            let [ks, qs, vs] =
                [&k, &q, &v].map(|x| x[of.clone()].iter().map(Vec::as_slice).collect::<Vec<_>>());
            let strengths = &beta[of];
            let tm = solve_tril(&kkt(&ks, &sums, strengths, f64::exp), n);
            let decayed: Vec<f64> =
                strengths.iter().zip(&sums).map(|(beta, sum)| beta * sum.exp()).collect();
            let (w, u) = (lower_times(&tm, &ks, &decayed), lower_times(&tm, &vs, strengths));
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
