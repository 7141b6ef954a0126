//! Attention of one head, with materialised scores.

use hk_types::dtype::DType;

use crate::Expected;

/// How distances between positions enter scores.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Alibi {
    /// `-slope |position - j|`.
    Distance,
    /// `slope (j - position)`.
    Relative,
    /// `slope (j - position of query 0)`.
    ToContext,
}

/// Weights that are dropped.
#[derive(Debug, Clone, Copy)]
pub struct Dropped {
    /// Probability.
    pub p: f32,
    /// Seed of the random numbers.
    pub seed: u64,
    /// Offset of the random numbers.
    pub offset: u64,
    /// Number of the sequence times heads, and the head.
    pub head: u32,
}

/// What is done to scores, `scale (q k)`, in this order.
#[derive(Debug, Clone, Default)]
pub struct Scores {
    /// Factor of products.
    pub scale: f64,
    /// What scores are capped to, if they are.
    pub softcap: Option<f64>,
    /// The slope of distances.
    pub alibi: Option<(Alibi, f64)>,
    /// What is added, queries by keys.
    pub bias: Option<Vec<f64>>,
    /// Visible keys before a query's position, and behind it; all if `None`.
    pub window: [Option<usize>; 2],
    /// Position of query 0.
    pub first_position: i64,
    /// Further, which keys are visible, queries by keys.
    pub mask: Option<Vec<bool>>,
    /// Score of a key without value.
    pub sink: Option<f64>,
    /// What is dropped of weights, after they were added up.
    pub dropped: Option<Dropped>,
    /// Factors of values of keys.
    pub value_scales: Option<Vec<f64>>,
    /// Factors of scores of keys.
    pub key_scales: Option<Vec<f64>>,
}

/// Queries, keys and values of a head, in rows.
#[derive(Debug, Clone, Default)]
pub struct Head {
    /// Rows of queries.
    pub q: Vec<Vec<f64>>,
    /// Rows of keys.
    pub k: Vec<Vec<f64>>,
    /// Rows of values.
    pub v: Vec<Vec<f64>>,
}

/// What comes of a query.
#[derive(Debug, Clone)]
pub struct Attended {
    /// The weighed average of values.
    pub o: Vec<f64>,
    /// Logarithm of the sum of exponentials of scores; -inf if no key is visible, or scores are all -inf.
    pub lse: f64,
    /// Weights of keys, negative if they were dropped.
    pub weights: Vec<f64>,
}

/// One of the four words of Philox4x32-10 (Salmon et al., 2011).
pub fn philox(counter: [u32; 4], key: [u32; 2]) -> [u32; 4] {
    let [mut c0, mut c1, mut c2, mut c3] = counter;
    for round in 0..10u32 {
        let keys = [
            key[0].wrapping_add(0x9E37_79B9u32.wrapping_mul(round)),
            key[1].wrapping_add(0xBB67_AE85u32.wrapping_mul(round)),
        ];
        let (a, b) = (u64::from(c0) * 0xD251_1F53, u64::from(c2) * 0xCD9E_8D57);
        [c0, c1, c2, c3] =
            [(b >> 32) as u32 ^ c1 ^ keys[0], b as u32, (a >> 32) as u32 ^ c3 ^ keys[1], a as u32];
    }
    [c0, c1, c2, c3]
}

impl Dropped {
    /// Whether the weight of a query and a key is kept.
    pub fn keeps(&self, query: usize, key: usize) -> bool {
        let counter = [(key / 4) as u32, query as u32, self.head, self.offset as u32];
        let keys = [self.seed as u32, (self.seed >> 32) as u32 ^ (self.offset >> 32) as u32];
        let word = philox(counter, keys)[key % 4];
        f64::from(word) >= (f64::from(self.p) * 4_294_967_296.0).floor()
    }
}

impl Scores {
    /// Whether a query sees a key.
    fn sees(&self, query: usize, key: usize, keys: usize) -> bool {
        let (position, at) = (self.first_position + query as i64, key as i64);
        self.window[0].is_none_or(|left| at >= position - left as i64)
            && self.window[1].is_none_or(|right| at <= position + right as i64)
            && self.mask.as_ref().is_none_or(|mask| mask[query * keys + key])
    }

    fn score(&self, product: f64, query: usize, key: usize, keys: usize) -> f64 {
        let mut score = self.scale * product;
        if let Some(scales) = &self.key_scales {
            score *= scales[key];
        }
        if let Some(cap) = self.softcap {
            score = cap * (score / cap).tanh();
        }
        if let Some((alibi, slope)) = self.alibi {
            let distance = (key as i64 - self.first_position) as f64;
            score += slope
                * match alibi {
                    Alibi::Distance => -(distance - query as f64).abs(),
                    Alibi::Relative => distance - query as f64,
                    Alibi::ToContext => distance,
                };
        }
        score + self.bias.as_ref().map_or(0.0, |bias| bias[query * keys + key])
    }
}

/// The attention of each query to the keys that it sees.
pub fn attend(head: &Head, scores: &Scores) -> Vec<Attended> {
    let keys = head.k.len();
    let width = head.v.first().map_or(0, Vec::len);
    let query = |(i, q): (usize, &Vec<f64>)| {
        let dot = |k: &Vec<f64>| q.iter().zip(k).map(|(q, k)| q * k).sum::<f64>();
        let visible: Vec<_> = (0..keys).filter(|j| scores.sees(i, *j, keys)).collect();
        let values: Vec<_> =
            visible.iter().map(|j| scores.score(dot(&head.k[*j]), i, *j, keys)).collect();
        let all = values.iter().copied().chain(scores.sink);
        let most = all.clone().fold(f64::NEG_INFINITY, f64::max);
        // Scores that are all -inf have no weights. NaN is no maximum, but stays in the sum.
        let from = if most == f64::NEG_INFINITY { 0.0 } else { most };
        let sum: f64 = all.map(|score| (score - from).exp()).sum();
        let mut attended =
            Attended { o: vec![0.0; width], lse: from + sum.ln(), weights: vec![0.0; keys] };
        for (j, score) in visible.into_iter().zip(values) {
            let weight = if sum == 0.0 { 0.0 } else { (score - from).exp() / sum };
            let keeps = scores.dropped.is_none_or(|dropped| dropped.keeps(i, j));
            attended.weights[j] = if keeps { weight } else { -weight };
            if !keeps {
                continue;
            }
            let kept = scores.dropped.map_or(1.0, |dropped| 1.0 / (1.0 - f64::from(dropped.p)));
            let scale = scores.value_scales.as_ref().map_or(1.0, |scales| scales[j]);
            for (o, v) in attended.o.iter_mut().zip(&head.v[j]) {
                *o += weight * kept * scale * v;
            }
        }
        attended
    };
    head.q.iter().enumerate().map(query).collect()
}

/// What becomes of parts, each with a logarithm of its weights' sum, by the part's base, and that sum:
/// averages, and logarithms of all sums.
pub fn combined(parts: &[(&[f64], f64, f64)], ln_of_base: f64, width: usize) -> (Vec<f64>, f64) {
    let present = || parts.iter().filter(|(_, m, _)| *m > f64::NEG_INFINITY);
    let most = present().map(|(_, m, _)| *m).fold(f64::NEG_INFINITY, f64::max);
    let weight = |m: f64| ((m - most) * ln_of_base).exp();
    let sum: f64 = present().map(|(_, m, l)| weight(*m) * l).sum();
    if sum == 0.0 {
        return (vec![0.0; width], f64::NEG_INFINITY);
    }
    let column = |i: usize| present().map(|(o, m, _)| weight(*m) * o[i]).sum::<f64>() / sum;
    ((0..width).map(column).collect(), most * ln_of_base + sum.ln())
}

/// Results as they may come out: of a type, from 16-bit inputs, whose weights are rounded once.
pub fn results(values: Vec<f64>, dtype: DType) -> Expected {
    let (together, slack, part) = match dtype {
        DType::F16 => (7e-4, 2e-3, 2e-3),
        // Of 8 bits, three are behind the point.
        DType::F8E4M3 | DType::F8E4M3Fnuz => (6e-2, 1e-2, 1e-2 + 2f64.powi(-4)),
        _ => (4e-3, 1e-2, 1e-2),
    };
    let allowed = values.iter().map(|value| slack + part * value.abs()).collect();
    let frobenius = Some(together);
    Expected { values, allowed, frobenius, ..Expected::default() }
}

/// As [`results`], of inputs of 8 bits and weights of as many; for each, the largest magnitude of values of its
/// head.
pub fn coded_results(values: Vec<f64>, largest: &[f64], dtype: DType) -> Expected {
    let (together, part) = match dtype {
        DType::F8E4M3 | DType::F8E4M3Fnuz => (6e-2, 2f64.powi(-4)),
        _ => (4e-2, 0.0),
    };
    let each = |(value, largest): (&f64, &f64)| 5e-2 * largest + part * value.abs();
    let allowed = values.iter().zip(largest).map(each).collect();
    Expected { values, allowed, frobenius: Some(together), ..Expected::default() }
}

/// Weights, of 16-bit inputs: as far off as logarithms of sums make them.
pub fn weights(values: Vec<f64>) -> Expected {
    let allowed = values.iter().map(|value| 5e-4 * value.abs() + 1e-9).collect();
    Expected { values, allowed, ..Expected::default() }
}

/// Logarithms of sums, of 16-bit inputs.
pub fn logarithms(values: Vec<f64>) -> Expected {
    let allowed = values.iter().map(|value| 1e-4 + 2e-5 * value.abs()).collect();
    Expected { values, allowed, ..Expected::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn philox_has_its_known_answers() {
        assert_eq!(philox([0; 4], [0; 2]), [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]);
        let ones = philox([u32::MAX; 4], [u32::MAX; 2]);
        assert_eq!(ones, [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]);
    }

    #[test]
    fn equal_scores_average_what_is_visible() {
        let head = Head {
            q: vec![vec![0.0]; 2],
            k: vec![vec![1.0]; 3],
            v: vec![vec![1.0], vec![2.0], vec![6.0]],
        };
        let scores = Scores { scale: 1.0, window: [None, Some(0)], ..Scores::default() };
        let [first, second] = attend(&head, &scores).try_into().unwrap();
        assert_eq!((first.o, first.lse), (vec![1.0], 0.0));
        assert_eq!((second.o, second.lse), (vec![1.5], 2f64.ln()));
        let sink = Scores { sink: Some(0.0), ..scores };
        let [first, _] = attend(&head, &sink).try_into().unwrap();
        assert_eq!((first.o, first.lse), (vec![0.5], 2f64.ln()));
    }

    #[test]
    fn queries_that_see_nothing_have_no_sum() {
        let head = Head { q: vec![vec![1.0]], ..Head::default() };
        let [nothing] = attend(&head, &Scores::default()).try_into().unwrap();
        assert_eq!((nothing.o.len(), nothing.lse), (0, f64::NEG_INFINITY));
    }

    #[test]
    fn scores_of_minus_infinity_have_no_weights_and_nan_stays() {
        let of = |q| {
            let head = Head { q: vec![vec![q]], k: vec![vec![1.0]; 2], v: vec![vec![3.0]; 2] };
            let [attended] =
                attend(&head, &Scores { scale: 1.0, ..Scores::default() }).try_into().unwrap();
            attended
        };
        let none = of(f64::NEG_INFINITY);
        assert_eq!((none.o, none.lse, none.weights), (vec![0.0], f64::NEG_INFINITY, vec![0.0; 2]));
        for q in [f64::NAN, f64::INFINITY] {
            let Attended { o, lse, weights } = of(q);
            assert!(o[0].is_nan() && lse.is_nan() && weights.iter().all(|weight| weight.is_nan()));
        }
    }
}
