//! Normalisation to a Euclidean length of one.

/// Rows of `width` elements divided by `sqrt(sum of squares + eps)`, and the reciprocals of these.
pub fn l2norm(x: &[f64], width: usize, eps: f32) -> (Vec<f64>, Vec<f64>) {
    let length = |row: &[f64]| (row.iter().map(|x| x * x).sum::<f64>() + f64::from(eps)).sqrt();
    let rstd: Vec<f64> = x.chunks_exact(width).map(|row| 1.0 / length(row)).collect();
    let rows = x.chunks_exact(width).zip(&rstd);
    (rows.flat_map(|(row, r)| row.iter().map(move |x| x * r)).collect(), rstd)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_get_a_length_of_one() {
        let (y, rstd) = l2norm(&[3.0, 4.0, 0.0, 0.0], 2, 0.25);
        let r = 1.0 / 25.25f64.sqrt();
        assert_eq!((y, rstd), (vec![3.0 * r, 4.0 * r, 0.0, 0.0], vec![r, 2.0]));
    }
}
