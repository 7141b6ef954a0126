//! Sums of rows of tables.

/// The sum of rows `ids[i]` of each table, of `width` elements; an id that is no row adds nothing. And how
/// far off sums in f32 may make each element: 2^-23 of what its terms come to without their signs.
pub fn embedding(lookups: &[(&[f64], &[i64])], width: usize) -> (Vec<f64>, Vec<f64>) {
    let rows = lookups.first().map_or(0, |(_, ids)| ids.len());
    let (mut y, mut slack) = (vec![0.0; rows * width], vec![0.0; rows * width]);
    for (t, (table, ids)) in lookups.iter().enumerate() {
        for (i, id) in ids.iter().enumerate() {
            let row = usize::try_from(*id).ok().and_then(|id| table.chunks_exact(width).nth(id));
            for (j, term) in row.into_iter().flatten().enumerate() {
                let sum = &mut y[i * width + j];
                // The first is not added to a zero, which would change the sign of one.
                *sum = if t == 0 { *term } else { *sum + term };
                slack[i * width + j] += 2f64.powi(-23) * term.abs();
            }
        }
    }
    (y, slack)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_added_by_their_ids() {
        let words = [1.0, 2.0, 3.0, 4.0];
        let places = [10.0, 20.0];
        let (y, _) = embedding(&[(&words, &[1, 0, 7]), (&places, &[0, -1, 0])], 2);
        assert_eq!(y, [13.0, 24.0, 1.0, 2.0, 10.0, 20.0]);
    }
}
