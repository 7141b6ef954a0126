//! The experts of tokens.

/// What logits are scored by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Score {
    /// The logit.
    Logits,
    /// Its sigmoid.
    Sigmoid,
    /// The root of its softplus.
    SqrtSoftplus,
    /// The softmax over all.
    SoftmaxFirst,
}

/// How weights are normalised.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Norm {
    /// Not.
    None,
    /// By a softmax.
    Softmax,
    /// By their sum.
    Renorm,
}

/// How experts are chosen.
#[derive(Debug, Clone)]
pub struct Rule {
    /// How many.
    pub k: usize,
    /// What logits are scored by.
    pub score: Score,
    /// Added to scores that are compared.
    pub bias: Option<Vec<f32>>,
    /// The group of each expert, how many there are and how many are kept.
    pub groups: Option<(Vec<usize>, usize, usize)>,
    /// Of equal experts the lower comes first, else the higher.
    pub takes_low: bool,
    /// The best first, else in the order of their numbers.
    pub by_value: bool,
    /// How weights are normalised.
    pub norm: Norm,
    /// What they are multiplied by.
    pub scale: f64,
}

/// The experts of a token.
#[derive(Debug, Clone, PartialEq)]
pub struct Chosen {
    /// Their numbers.
    pub experts: Vec<usize>,
    /// Their weights.
    pub weights: Vec<f64>,
    /// Whether experts, or groups, that are not the same were so close to each other where it
    /// matters that rounding errors in f32 may decide.
    pub is_close: bool,
}

/// The place of a number among all bit patterns: -NaN first, NaN last.
fn order(x: f32) -> i64 {
    let bits = i64::from(x.to_bits());
    if bits >= 1 << 31 { (1 << 31) - 1 - bits } else { bits }
}

/// One NaN stands for all that are computed.
fn one_nan(x: f32) -> f32 {
    if x.is_nan() { f32::from_bits(0x7fc0_0000) } else { x }
}

/// Scores of logits, rounded to f32.
fn scores(logits: &[f32], score: Score) -> Vec<f32> {
    let logits_f64: Vec<f64> = logits.iter().map(|x| f64::from(*x)).collect();
    let of_each = |f: fn(f64) -> f64| logits_f64.iter().map(|x| one_nan(f(*x) as f32)).collect();
    match score {
        Score::Logits => logits.to_vec(),
        Score::Sigmoid => of_each(|x| 1.0 / (1.0 + (-x).exp())),
        Score::SqrtSoftplus => of_each(|x| {
            // NaN is not below zero.
            let above_zero = if x < 0.0 { 0.0 } else { x };
            (above_zero + (-x.abs()).exp().ln_1p()).sqrt()
        }),
        Score::SoftmaxFirst => {
            let most = logits_f64.iter().copied().fold(f64::NEG_INFINITY, |a, b| {
                if a.is_nan() || b.is_nan() { f64::NAN } else { a.max(b) }
            });
            let powers: Vec<f64> = logits_f64.iter().map(|x| (x - most).exp()).collect();
            let sum: f64 = powers.iter().sum();
            powers.iter().map(|power| one_nan((power / sum) as f32)).collect()
        }
    }
}

/// Whether two choices are closer than rounding errors, and not the same.
fn is_close(a: f32, b: f32, are_same: bool) -> bool {
    let (a, b) = (f64::from(a), f64::from(b));
    !are_same && (a == b || (a - b).abs() <= 1e-5 * a.abs().max(b.abs()).max(1e-3))
}

/// The experts of a token, from its logits.
pub fn moe_topk(logits: &[f32], rule: &Rule) -> Chosen {
    let scores = scores(logits, rule.score);
    let bias = |expert: usize| rule.bias.as_ref().map_or(0.0, |bias| bias[expert]);
    let mut choices = scores.clone();
    if rule.bias.is_some() {
        for (expert, choice) in choices.iter_mut().enumerate() {
            *choice = one_nan(*choice + bias(expert));
        }
    }
    let is_exact = rule.score == Score::Logits;
    let mut close = false;
    if let Some((group_of, count, kept)) = &rule.groups {
        let best = |group: usize| {
            let mut best: Vec<f32> = (0..choices.len())
                .filter(|expert| group_of[*expert] == group)
                .map(|expert| choices[expert])
                .collect();
            best.sort_by_key(|choice| std::cmp::Reverse(order(*choice)));
            best.truncate(if rule.bias.is_some() { 2 } else { 1 });
            best
        };
        let value = |best: &[f32]| match best {
            [first, second] => one_nan(first + second),
            [first] => *first,
            _ => f32::from_bits(u32::MAX),
        };
        let mut groups: Vec<(usize, Vec<f32>)> =
            (0..*count).map(|group| (group, best(group))).collect();
        // Stable: the lower group first.
        groups.sort_by_key(|(_, best)| std::cmp::Reverse(order(value(best))));
        if let [.., _] = groups[*kept..] {
            let [a, b] = [&groups[kept - 1].1, &groups[*kept].1];
            close |= !is_exact && is_close(value(a), value(b), a == b);
        }
        groups.truncate(*kept);
        for (expert, choice) in choices.iter_mut().enumerate() {
            if groups.iter().all(|(group, _)| *group != group_of[expert]) {
                *choice = f32::NEG_INFINITY;
            }
        }
    }
    let mut experts: Vec<usize> = (0..logits.len()).collect();
    if !rule.takes_low {
        experts.reverse();
    }
    // Stable.
    experts.sort_by_key(|expert| std::cmp::Reverse(order(choices[*expert])));
    for (at, pair) in experts.windows(2).enumerate().take(rule.k) {
        let [a, b] = [pair[0], pair[1]];
        let same = (logits[a] == logits[b] && bias(a) == bias(b))
            || (choices[a].is_infinite() && choices[b].is_infinite());
        let matters = rule.by_value || at + 1 == rule.k;
        close |= !is_exact && matters && is_close(choices[a], choices[b], same);
    }
    experts.truncate(rule.k);
    if !rule.by_value {
        experts.sort_unstable();
    }
    let mut weights: Vec<f64> = experts.iter().map(|expert| f64::from(scores[*expert])).collect();
    if rule.norm == Norm::Softmax {
        let most = weights.iter().copied().fold(f64::NEG_INFINITY, |a, b| {
            if a.is_nan() || b.is_nan() { f64::NAN } else { a.max(b) }
        });
        weights.iter_mut().for_each(|weight| *weight = (*weight - most).exp());
    }
    let sum: f64 = weights.iter().sum();
    let divisor = match rule.norm {
        Norm::None => 1.0,
        Norm::Softmax => sum,
        Norm::Renorm => sum + 1e-20,
    };
    weights.iter_mut().for_each(|weight| *weight *= rule.scale / divisor);
    Chosen { experts, weights, is_close: close }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule() -> Rule {
        Rule {
            k: 2,
            score: Score::Logits,
            bias: None,
            groups: None,
            takes_low: false,
            by_value: false,
            norm: Norm::None,
            scale: 1.0,
        }
    }

    #[test]
    fn bit_patterns_have_an_order() {
        let nan = f32::from_bits(0x7fc0_0000);
        let ascending = [-nan, f32::NEG_INFINITY, -1.0, -0.0, 0.0, 1.0, f32::INFINITY, nan];
        assert!(ascending.windows(2).all(|pair| order(pair[0]) < order(pair[1])));
    }

    #[test]
    fn of_equal_experts_the_rule_takes_one() {
        let logits = [1.0, 2.0, 2.0, 2.0];
        assert_eq!(moe_topk(&logits, &rule()).experts, [2, 3]);
        assert_eq!(moe_topk(&logits, &Rule { takes_low: true, ..rule() }).experts, [1, 2]);
        assert_eq!(moe_topk(&logits, &Rule { by_value: true, ..rule() }).experts, [3, 2]);
    }

    #[test]
    fn a_biased_group_is_as_good_as_its_two_best() {
        let groups = Some((vec![0, 0, 1, 1], 2, 1));
        let logits = [3.0, -9.0, 2.0, 2.0];
        let unbiased = Rule { groups: groups.clone(), score: Score::Sigmoid, ..rule() };
        assert_eq!(moe_topk(&logits, &unbiased).experts, [0, 1]);
        let biased = Rule { bias: Some(vec![0.0; 4]), ..unbiased };
        assert_eq!(moe_topk(&logits, &biased).experts, [2, 3]);
    }

    #[test]
    fn weights_do_not_have_the_bias() {
        let bias = Some(vec![5.0, 0.0, 0.0]);
        let rule = Rule { bias, score: Score::Sigmoid, norm: Norm::Renorm, scale: 2.5, ..rule() };
        let chosen = moe_topk(&[0.0, 0.0, -1.0], &rule);
        assert_eq!((chosen.experts, chosen.weights), (vec![0, 1], vec![1.25, 1.25]));
    }
}
