//! The one expert of each token, by the sigmoid of its logit.

/// The expert of a token and its weight.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Top1 {
    /// The expert.
    pub expert: usize,
    /// Its weight.
    pub weight: f64,
    /// The error that sums in f32 may make of the logits.
    pub delta: f64,
    /// Whether such errors may decide between it and the next best.
    pub is_close: bool,
}

/// The best expert for a row of `x`, of the `experts` columns of `w`; by the logits themselves or
/// by their scores, in the steps in which these are rounded.
pub fn sigmoid_top1(x: &[f64], w: &[f64], experts: usize, by_logit: bool) -> Top1 {
    let column = |expert: usize| w.iter().skip(expert).step_by(experts);
    let logit = |expert: usize| -> f64 { x.iter().zip(column(expert)).map(|(x, w)| x * w).sum() };
    let size =
        |expert: usize| -> f64 { x.iter().zip(column(expert)).map(|(x, w)| (x * w).abs()).sum() };
    let logits: Vec<f64> = (0..experts).map(logit).collect();
    let score = |logit: f64| {
        let divisor = (1.0 + (-f64::from(logit as f32)).exp()) as f32;
        f64::from((1.0 / f64::from(divisor)) as f32)
    };
    let value = |expert: usize| if by_logit { logits[expert] } else { score(logits[expert]) };
    // NaN is the best, and of equal ones the first.
    let is_better = |a: f64, b: f64| !b.is_nan() && (a.is_nan() || a > b);
    let best = (1..experts)
        .fold(0, |best, expert| if is_better(value(expert), value(best)) { expert } else { best });
    let delta_of = |expert: usize| 2f64.powi(-20) * (x.len() as f64).sqrt() * size(expert);
    let delta = delta_of(best);
    let is_close = (0..experts).filter(|expert| *expert != best).any(|expert| {
        let apart = (value(best) - value(expert)).abs();
        let is_exact = logits.iter().all(|logit| logit.fract() == 0.0);
        let most = delta.max(delta_of(expert));
        !is_exact && apart <= if by_logit { 2.0 * most } else { 4e-6 + most / 2.0 }
    });
    Top1 { expert: best, weight: score(logits[best]), delta, is_close }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn saturated_scores_are_equal() {
        let by = |by_logit| sigmoid_top1(&[1.0], &[2.0, 17.0, 18.0], 3, by_logit);
        assert_eq!((by(false).expert, by(false).weight), (1, 1.0));
        assert_eq!(by(true).expert, 2);
        let nan = sigmoid_top1(&[1.0], &[2.0, f64::NAN, f64::NAN], 3, false);
        assert_eq!((nan.expert, nan.weight.is_nan()), (1, true));
    }
}
