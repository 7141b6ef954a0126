//! What the tokens of a chunk teach a gated delta rule, without the state before it.

/// `beta[i] decay(G[i] - G[j]) (k[i] . k[j])` of the tokens i > j of a chunk, 0 elsewhere: a square of as
/// many rows as there are tokens. Keys are rows of as many numbers each.
pub fn kkt(keys: &[&[f64]], sums: &[f64], beta: &[f64], decay: impl Fn(f64) -> f64) -> Vec<f64> {
    let count = keys.len();
    let mut a = vec![0.0; count * count];
    for i in 0..count {
        for j in 0..i {
            let product: f64 = keys[i].iter().zip(keys[j]).map(|(x, y)| x * y).sum();
            a[i * count + j] = beta[i] * decay(sums[i] - sums[j]) * product;
        }
    }
    a
}

/// The product of the lower triangle of a square matrix, and rows times a number each.
pub fn lower_times(tm: &[f64], rows: &[&[f64]], factors: &[f64]) -> Vec<Vec<f64>> {
    let count = rows.len();
    let row = |i: usize| {
        let mut sum = vec![0.0; rows[i].len()];
        for j in 0..=i {
            let part = tm[i * count + j] * factors[j];
            sum.iter_mut().zip(rows[j]).for_each(|(sum, x)| *sum += part * x);
        }
        sum
    };
    (0..count).map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_below_the_diagonal_counts() {
        let keys: [&[f64]; 3] = [&[1.0, 2.0], &[3.0, -1.0], &[0.5, 0.5]];
        let a = kkt(&keys, &[0.0, 1.0, 3.0], &[9.0, 2.0, 0.5], |x| x);
        assert_eq!(a, [0.0, 0.0, 0.0, 2.0, 0.0, 0.0, 2.25, 1.0, 0.0]);
        let tm = [1.0, 7.0, 2.0, 1.0];
        let product = lower_times(&tm, &keys[..2], &[1.0, 10.0]);
        assert_eq!(product, [[1.0, 2.0], [32.0, -6.0]]);
    }
}
