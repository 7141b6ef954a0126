//! Heads that are normalised.

/// `x / sqrt(mean x^2 + eps) * (weight + weight_offset)` of a head's elements.
pub fn norm(x: &[f64], weight: &[f64], eps: f32, weight_offset: f32) -> Vec<f64> {
    let mean = x.iter().map(|x| x * x).sum::<f64>() / x.len() as f64;
    let scale = 1.0 / (mean + f64::from(eps)).sqrt();
    let weights = weight.iter().map(|weight| weight + f64::from(weight_offset));
    x.iter().zip(weights).map(|(x, weight)| x * scale * weight).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_get_a_mean_square_of_one() {
        let y = norm(&[3.0, -4.0], &[0.0, 1.0], 0.0, 1.0);
        let scale = 1.0 / 12.5f64.sqrt();
        assert_eq!(y, [3.0 * scale, -8.0 * scale]);
    }
}
