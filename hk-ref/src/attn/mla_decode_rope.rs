//! Attention of one query of each sequence to latent keys, whose last columns are rotated before.

pub use super::attention::{Scores, logarithms, results};
pub use super::rope::{Rope, Rotated, TABLES};
pub use super::unified_attn_sparse_mla::{Latent, latent};

/// What rotates the columns behind the first `rank` of rows, of positions that have a row of cosines and
/// sines of pairs.
#[derive(Debug, Clone)]
pub struct LatentRope {
    /// Columns before.
    pub rank: usize,
    /// How these are rotated.
    pub rope: Rope,
    /// Rows of cosines, then sines.
    pub table: Vec<f64>,
}

impl LatentRope {
    /// The columns of a row that are behind the first, rotated.
    pub fn rotate(&self, row: &[f64], position: usize, to: &mut Rotated) {
        let columns = self.rope.columns();
        let (cos, sin) = self.table[position * 2 * columns..][..2 * columns].split_at(columns);
        self.rope.rotate(&row[self.rank..], cos, sin, to);
    }

    /// The whole row, with what is rotated rounded as `round` does.
    pub fn row(&self, row: &[f64], position: usize, round: impl Fn(f64) -> f64) -> Vec<f64> {
        let mut rotated = Rotated::default();
        self.rotate(row, position, &mut rotated);
        let first = row[..self.rank].iter().copied();
        first.chain(rotated.values.into_iter().map(round)).collect()
    }
}

/// The tokens of each of `count` parts.
pub fn parts<T>(tokens: &[T], count: usize) -> Vec<&[T]> {
    let each = tokens.len().div_ceil(count);
    let of = |part: usize| &tokens[(part * each).min(tokens.len())..];
    (0..count).map(|part| &of(part)[..each.min(of(part).len())]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_end_where_tokens_do() {
        let none: [u8; 0] = [];
        assert_eq!(parts(&[1, 2, 3, 4, 5], 4), [&[1, 2][..], &[3, 4], &[5], &[]]);
        assert_eq!(parts(&none, 2), [&none[..]; 2]);
    }

    #[test]
    fn the_last_columns_are_turned() {
        let rope = Rope { dim: 2, first: 0, interleaved: false, paired: true };
        // None, and a right angle.
        let rope = LatentRope { rank: 1, rope, table: vec![1.0, 0.0, 0.0, 1.0] };
        assert_eq!(rope.row(&[9.0, 1.0, 2.0, 3.0], 1, |x| x), [9.0, -2.0, 1.0, 3.0]);
    }
}
