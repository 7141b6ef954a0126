//! Answers of a gated delta rule to the queries of a chunk.

/// A chunk of a head: rows of q and k of as many keys, of what the state learns, and sums of logarithms of
/// decays.
#[derive(Debug, Clone)]
pub struct Queries<'a> {
    /// Of as many keys each.
    pub q: Vec<&'a [f64]>,
    /// Of as many keys each.
    pub k: Vec<&'a [f64]>,
    /// Of as many values each.
    pub v: Vec<&'a [f64]>,
    /// Up to each token.
    pub sums: Vec<f64>,
}

/// The answers of the state before the chunk, keys by values, and of what the chunk has taught up to each
/// token.
pub fn answer(state: &[f64], chunk: &Queries<'_>, scale: f64) -> Vec<Vec<f64>> {
    let values = chunk.v[0].len();
    let dot = |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(x, y)| x * y).sum::<f64>();
    let token = |i: usize| {
        let (q, sum) = (chunk.q[i], chunk.sums[i]);
        let mut o = vec![0.0; values];
        for (x, row) in q.iter().zip(state.chunks_exact(values)) {
            o.iter_mut().zip(row).for_each(|(o, s)| *o += sum.exp() * x * s);
        }
        for j in 0..=i {
            let part = (sum - chunk.sums[j]).exp() * dot(q, chunk.k[j]);
            o.iter_mut().zip(chunk.v[j]).for_each(|(o, v)| *o += part * v);
        }
        o.iter_mut().for_each(|o| *o *= scale);
        o
    };
    (0..chunk.q.len()).map(token).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_answers_itself_and_those_before() {
        let (q, v): ([&[f64]; 2], [&[f64]; 2]) = ([&[1.0], &[2.0]], [&[3.0], &[5.0]]);
        let half = 0.5f64.ln();
        let chunk = Queries { q: q.into(), k: q.into(), v: v.into(), sums: vec![0.0, half] };
        let answers = answer(&[7.0], &chunk, 10.0);
        let expected = [10.0 * (7.0 + 3.0), 10.0 * (7.0 + 0.5 * 2.0 * 3.0 + 4.0 * 5.0)];
        approx::assert_abs_diff_eq!(answers.concat()[..], expected[..], epsilon = 1e-12);
    }
}
