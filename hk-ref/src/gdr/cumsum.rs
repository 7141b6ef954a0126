//! Running sums in chunks.

/// Of one column: the sum of the tokens of each token's chunk up to it, or from it on, times `scale`;
/// and the sum of their magnitudes, times that of `scale`.
pub fn cumsum(s: &[f64], chunk_size: usize, reverse: bool, scale: f64) -> Vec<(f64, f64)> {
    let sum_to = |t: usize| {
        let start = t - t % chunk_size;
        let end = s.len().min(start + chunk_size);
        let summands = if reverse { &s[t..end] } else { &s[start..=t] };
        let (mut sum, mut size) = (0.0, 0.0);
        // From the side where the sum begins.
        for i in 0..summands.len() {
            let x = summands[if reverse { summands.len() - 1 - i } else { i }];
            sum += x;
            size += x.abs();
        }
        (sum * scale, size * scale.abs())
    };
    (0..s.len()).map(sum_to).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_begin_anew_in_each_chunk() {
        let s = [1.0, 2.0, -4.0, 8.0, 16.0];
        let sums: Vec<f64> = cumsum(&s, 2, false, 2.0).iter().map(|(sum, _)| *sum).collect();
        assert_eq!(sums, [2.0, 6.0, -8.0, 8.0, 32.0]);
        let sums: Vec<_> = cumsum(&s, 4, true, 1.0);
        assert_eq!(sums, [(7.0, 15.0), (6.0, 14.0), (4.0, 12.0), (8.0, 8.0), (16.0, 16.0)]);
    }
}
