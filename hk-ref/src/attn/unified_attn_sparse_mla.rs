//! Attention of queries to the latent keys that they chose.

pub use super::attention::{Attended, Head, Scores, logarithms, results};

use super::attention::attend;

/// Attention of a query's heads to keys, whose values have `rank` columns.
pub fn latent(
    heads: Vec<Vec<f64>>,
    keys: Vec<Vec<f64>>,
    values: Vec<Vec<f64>>,
    rank: usize,
    scores: &Scores,
) -> Latent {
    let all = attend(&Head { q: heads, k: keys, v: values }, scores);
    let (mut o, mut lse) = (Vec::new(), Vec::new());
    for Attended { o: row, lse: of_row, .. } in all {
        o.extend(if row.is_empty() { vec![0.0; rank] } else { row });
        lse.push(of_row);
    }
    Latent { o, lse }
}

/// What comes of a query's heads.
#[derive(Debug, Clone, Default)]
pub struct Latent {
    /// Weighed averages, a row for each head.
    pub o: Vec<f64>,
    /// Logarithms of sums of heads.
    pub lse: Vec<f64>,
}

/// The places of the keys that indices mean: those that there are, in their order, each as often as it
/// is chosen.
pub fn chosen<P>(indices: &[i32], place: impl Fn(usize) -> Option<P>) -> Vec<P> {
    indices.iter().filter_map(|index| usize::try_from(*index).ok()).filter_map(place).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_count_as_often_as_they_are_chosen() {
        let places = chosen(&[1, -1, 0, 1, 5], |index| (index < 2).then_some(index));
        assert_eq!(places, [1, 0, 1]);
        let values = places.iter().map(|place| vec![[6.0, 3.0][*place]]).collect();
        let keys = vec![vec![7.0, 1.0]; 3];
        let scores = Scores { scale: 1.0, ..Scores::default() };
        let Latent { o, lse } = latent(vec![vec![0.0, 1.0]], keys, values, 1, &scores);
        assert_eq!(o, [4.0]);
        assert!((lse[0] - (1.0 + 3f64.ln())).abs() < 1e-12);
    }

    #[test]
    fn queries_without_keys_have_no_result() {
        let Latent { o, lse } =
            latent(vec![vec![1.0; 3]; 2], vec![], vec![], 2, &Scores::default());
        assert_eq!((o, lse), (vec![0.0; 4], vec![f64::NEG_INFINITY; 2]));
    }
}
