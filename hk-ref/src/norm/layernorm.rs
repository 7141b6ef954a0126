//! Normalisation to mean zero and variance one.

/// Normalised rows, and what they were normalised by.
#[derive(Debug, Clone, Default)]
pub struct Normalised {
    /// `(h - mean) rstd weight + bias`.
    pub y: Vec<f64>,
    /// How far off the statistics in f32 may make each element of y:
    /// `2^-20 (1 + A rstd) |weight| + 2^-22 |bias|`, where A is the largest magnitude of the row.
    pub slack: Vec<f64>,
    /// The mean of each row.
    pub mean: Vec<f64>,
    /// How far off each may be: `2^-21 A`.
    pub mean_slack: Vec<f64>,
    /// `1 / sqrt(variance + eps)` of each row.
    pub rstd: Vec<f64>,
    /// As far as a row varies by less than a thousandth of its largest magnitude, its variance is
    /// beyond what f32 can tell: how far off rstd may be then, of any size.
    pub rstd_slack: Vec<f64>,
}

/// Normalises rows of `weight.len()` elements, which are as many as those of the bias.
pub fn layernorm(h: &[f64], weight: &[f64], bias: &[f64], eps: f32) -> Normalised {
    let mut all = Normalised::default();
    for row in h.chunks_exact(weight.len()) {
        let most = row.iter().fold(0.0, |most, h| h.abs().max(most));
        let mean = row.iter().sum::<f64>() / row.len() as f64;
        let variance = row.iter().map(|h| (h - mean).powi(2)).sum::<f64>() / row.len() as f64;
        let rstd = 1.0 / (variance + f64::from(eps)).sqrt();
        for ((h, weight), bias) in row.iter().zip(weight).zip(bias) {
            all.y.push((h - mean) * rstd * weight + bias);
            let of_weight = 2f64.powi(-20) * (1.0 + most * rstd) * weight.abs();
            all.slack.push(of_weight + 2f64.powi(-22) * bias.abs());
        }
        all.mean.push(mean);
        all.mean_slack.push(2f64.powi(-21) * most);
        all.rstd.push(rstd);
        all.rstd_slack.push(if most * rstd > 1e3 { f64::INFINITY } else { 0.0 });
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_get_mean_zero_and_variance_one() {
        let all = layernorm(&[1.0, 3.0, 7.0, 7.0], &[2.0, 3.0], &[0.5, -1.0], 0.25);
        let r = 1.0 / 1.25f64.sqrt();
        assert_eq!((all.mean, all.rstd), (vec![2.0, 7.0], vec![r, 2.0]));
        assert_eq!(all.y, [0.5 - 2.0 * r, 3.0 * r - 1.0, 0.5, -1.0]);
        assert_eq!(all.mean_slack, [3.0, 7.0].map(|most| most / 2f64.powi(21)));
    }
}
