//! Rotary position embedding.

use hk_types::dtype::DType;

use crate::Expected;

/// Parts of the magnitudes of a pair that its elements may be off, with cosines and sines of
/// tables.
pub const TABLES: f64 = 1.0 / (1 << 22) as f64;
/// As [`TABLES`], with cosines and sines of angles.
pub const ANGLES: f64 = TABLES + 1.0 / (1 << 18) as f64;
/// As [`TABLES`], of a pair that was normalised before.
pub const NORM: f64 = 1.0 / (1 << 20) as f64;

/// Which elements of rows are rotated, as which pairs, by which columns of the tables.
#[derive(Debug, Clone, Copy)]
pub struct Rope {
    /// Elements of a row that are rotated.
    pub dim: usize,
    /// The first of these.
    pub first: usize,
    /// Whether pairs are `(2i, 2i + 1)` rather than `(i, i + dim/2)`.
    pub interleaved: bool,
    /// Whether tables have a column for each pair, rather than for each element.
    pub paired: bool,
}

/// Rotated rows.
#[derive(Debug, Clone, Default)]
pub struct Rotated {
    /// The elements.
    pub values: Vec<f64>,
    /// Of each element, the magnitudes of its pair before, added; none of what was not rotated.
    pub sizes: Vec<Option<f64>>,
}

impl Rope {
    /// Columns of the tables.
    pub fn columns(&self) -> usize {
        if self.paired { self.dim / 2 } else { self.dim }
    }

    /// Appends a row that is rotated by a row of cosines and one of sines.
    pub fn rotate(&self, x: &[f64], cos: &[f64], sin: &[f64], to: &mut Rotated) {
        let (mut values, mut sizes) = (x.to_vec(), vec![None; x.len()]);
        for pair in 0..self.dim / 2 {
            let [i, j] = if self.interleaved {
                [2 * pair, 2 * pair + 1]
            } else {
                [pair, pair + self.dim / 2]
            };
            let [of_i, of_j] = if self.paired { [pair; 2] } else { [i, j] };
            let (a, b) = (x[self.first + i], x[self.first + j]);
            values[self.first + i] = a * cos[of_i] - b * sin[of_i];
            values[self.first + j] = b * cos[of_j] + a * sin[of_j];
            [i, j].iter().for_each(|at| sizes[self.first + at] = Some(a.abs() + b.abs()));
        }
        to.values.extend(values);
        to.sizes.extend(sizes);
    }
}

impl Rotated {
    /// Appends elements that are not rotated.
    pub fn copy(&mut self, x: &[f64]) {
        self.values.extend(x);
        self.sizes.extend(vec![None; x.len()]);
    }

    /// What an output of that type should be, with so many parts of its pair's magnitudes allowed
    /// of each element that was rotated; what was not is exact if the type is that of the input.
    pub fn expected(self, from: DType, to: DType, part: f64) -> Expected {
        let Self { values, sizes } = self;
        let slack = sizes.iter().map(|size| size.unwrap_or(0.0) * part).collect();
        let mut expected = Expected::rounded(values, to, true).plus(slack);
        for (allowed, size) in expected.allowed.iter_mut().zip(&sizes) {
            if size.is_none() && from == to {
                *allowed = 0.0;
            }
        }
        expected
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_turned_by_their_angles() {
        let x = [9.0, 1.0, 2.0, 3.0, 4.0];
        let rotate = |interleaved, paired, cos: &[f64], sin: &[f64]| {
            let mut y = Rotated::default();
            Rope { dim: 4, first: 1, interleaved, paired }.rotate(&x, cos, sin, &mut y);
            y.values
        };
        // A right angle and none.
        assert_eq!(rotate(false, true, &[0.0, 1.0], &[1.0, 0.0]), [9.0, -3.0, 2.0, 1.0, 4.0]);
        assert_eq!(rotate(true, true, &[0.0, 1.0], &[1.0, 0.0]), [9.0, -2.0, 1.0, 3.0, 4.0]);
        let (cos, sin) = ([0.0, 1.0, 1.0, 0.0], [1.0, 0.0, 0.0, -1.0]);
        assert_eq!(rotate(false, false, &cos, &sin), [9.0, -3.0, 2.0, 3.0, -2.0]);
    }
}
