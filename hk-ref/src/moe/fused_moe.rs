//! Whole layers of experts.

use ndarray::{ArrayView1, ArrayView2, ArrayView3, Axis};

use super::ragged::Act;
use crate::Expected;

/// A layer: its weights as the numbers that they stand for, and its tokens as they are multiplied.
#[derive(Clone, Copy)]
pub struct Layer<'a> {
    /// `[T, hidden]`.
    pub x: ArrayView2<'a, f64>,
    /// `[E, rows, hidden]`.
    pub w1: ArrayView3<'a, f64>,
    /// `[E, hidden, inner]`.
    pub w2: ArrayView3<'a, f64>,
    /// `[E, rows]`.
    pub b1: Option<ArrayView2<'a, f64>>,
    /// `[E, hidden]`.
    pub b2: Option<ArrayView2<'a, f64>>,
    /// Between the products.
    pub act: Act,
    /// Whether gates and what they let through are neighbours, rather than halves.
    pub in_pairs: bool,
    /// Whether the first product's sums are multiplied by the weights, rather than the second
    /// one's.
    pub weighs_input: bool,
    /// The expert of each slot of each token; others than there are matrices are none.
    pub ids: &'a [i32],
    /// And its weight.
    pub weights: &'a [f64],
    /// What is added to each token's results.
    pub shared: Option<ArrayView2<'a, f64>>,
    /// What becomes of a row between the products, such as that it is rounded.
    pub between: &'a dyn Fn(Vec<f64>) -> Vec<f64>,
}

/// How close results have to be.
#[derive(Debug, Clone, Copy)]
pub struct Bound {
    /// Half the distance from 1 to the next number of the type that rows have between the launches.
    pub unit: f64,
    /// Half the largest such distance, relative, of what is multiplied in the second product.
    pub step: f64,
    /// Relative error of all results together.
    pub frobenius: f64,
}

impl Layer<'_> {
    /// The row of one token between the products of an expert, with its weight.
    fn between(&self, x: ArrayView1<'_, f64>, expert: usize, weight: f64) -> Vec<f64> {
        let w1 = self.w1.index_axis(Axis(0), expert);
        let on_input = if self.weighs_input { weight } else { 1.0 };
        let sum = |row: usize| {
            let bias = self.b1.map_or(0.0, |bias| bias[[expert, row]]);
            on_input * w1.index_axis(Axis(0), row).dot(&x) + bias
        };
        let inner = w1.nrows() / self.act.columns();
        let row = (0..inner).map(|at| match (self.act.columns(), self.in_pairs) {
            (1, _) => self.act.value(&[sum(at)]),
            (_, true) => self.act.value(&[sum(2 * at), sum(2 * at + 1)]),
            (_, false) => self.act.value(&[sum(at), sum(inner + at)]),
        });
        (self.between)(row.collect())
    }

    /// What a slot of a token adds to it, column by column, and how much of each is made of what.
    fn slot(&self, token: usize, slot: usize) -> Vec<[f64; 2]> {
        let hidden = self.w2.len_of(Axis(1));
        let gate = token * (self.ids.len() / self.x.nrows()) + slot;
        let (weight, expert) = (self.weights[gate], usize::try_from(self.ids[gate]));
        let Some(expert) = expert.ok().filter(|expert| *expert < self.w2.len_of(Axis(0))) else {
            return vec![[0.0; 2]; hidden];
        };
        let z = self.between(self.x.index_axis(Axis(0), token), expert, weight);
        let w2 = self.w2.index_axis(Axis(0), expert);
        let by = if self.weighs_input { 1.0 } else { weight };
        let column = |row: usize| {
            let products = || z.iter().zip(w2.index_axis(Axis(0), row)).map(|(z, w)| z * w);
            let bias = self.b2.map_or(0.0, |bias| bias[[expert, row]]);
            let size = products().map(|product| product * product).sum::<f64>().sqrt();
            [by * (products().sum::<f64>() + bias), by.abs() * size]
        };
        (0..hidden).map(column).collect()
    }

    /// The results, and for each a tolerance: numbers between the products that are on a rounding
    /// boundary may be one step off, results of experts and their sum are rounded.
    pub fn expect(&self, bound: Bound) -> Expected {
        let (tokens, hidden) = (self.x.nrows(), self.w2.len_of(Axis(1)));
        let slots = self.ids.len().checked_div(tokens).unwrap_or_default();
        let mut all = Expected { frobenius: Some(bound.frobenius), ..Expected::default() };
        for token in 0..tokens {
            let of_slots: Vec<_> = (0..slots).map(|slot| self.slot(token, slot)).collect();
            for column in 0..hidden {
                let parts = || of_slots.iter().map(|slot| slot[column]);
                let shared = self.shared.map_or(0.0, |shared| shared[[token, column]]);
                let value = parts().map(|[value, _]| value).sum::<f64>() + shared;
                let rounded = parts().map(|[value, _]| value.abs()).sum::<f64>() + value.abs();
                let moved = parts().map(|[_, size]| size).sum::<f64>();
                all.values.push(value);
                all.allowed.push(bound.unit * rounded + 2.0 * bound.step * moved + 2f64.powi(-20));
            }
        }
        all
    }

    /// The results without tolerances, of all experts for all tokens, those that a token has not
    /// left out.
    pub fn dense(&self) -> Vec<f64> {
        let (tokens, hidden) = (self.x.nrows(), self.w2.len_of(Axis(1)));
        let slots = self.ids.len() / tokens.max(1);
        let mut all: Vec<f64> = match self.shared {
            Some(shared) => shared.iter().copied().collect(),
            None => vec![0.0; tokens * hidden],
        };
        for (expert, w2) in self.w2.outer_iter().enumerate() {
            for (token, x) in self.x.outer_iter().enumerate() {
                for slot in 0..slots {
                    let gate = token * slots + slot;
                    let has = f64::from(u8::from(usize::try_from(self.ids[gate]) == Ok(expert)));
                    let weight = has * self.weights[gate];
                    let z = ndarray::Array1::from(self.between(x, expert, self.weights[gate]));
                    let y = w2.dot(&z);
                    let by = if self.weighs_input { has } else { weight };
                    for column in 0..hidden {
                        let bias = self.b2.map_or(0.0, |bias| bias[[expert, column]]);
                        all[token * hidden + column] += by * (y[column] + bias);
                    }
                }
            }
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use ndarray::{Array3, array};

    use super::*;

    #[test]
    fn tokens_have_the_weighted_sum_of_their_experts() {
        let x = array![[1.0, 2.0], [3.0, -1.0]];
        // An expert's inner number is the first one of the token, the other's the second one.
        let w1 = Array3::from_shape_vec((2, 1, 2), vec![1.0, 0.0, 0.0, 1.0]).unwrap();
        let w2 = Array3::from_shape_vec((2, 2, 1), vec![1.0, 10.0, 100.0, 1000.0]).unwrap();
        let b2 = array![[0.5, 0.0], [0.0, 0.0]];
        let layer = Layer {
            x: x.view(),
            w1: w1.view(),
            w2: w2.view(),
            b1: None,
            b2: Some(b2.view()),
            act: Act::None,
            in_pairs: false,
            weighs_input: false,
            ids: &[0, 1, 1, -1],
            weights: &[2.0, 1.0, 3.0, 7.0],
            shared: None,
            between: &|row| row,
        };
        let bound = Bound { unit: 0.0, step: 0.0, frobenius: 0.0 };
        // 2 (1 (1, 10) + (0.5, 0)) + 2 (100, 1000), and 3 (-1) (100, 1000).
        let expected = [203.0, 2020.0, -300.0, -3000.0];
        assert_eq!(layer.expect(bound).values, expected);
        assert_eq!(layer.dense(), expected);
        // Weights and biases after the first product: 2 1 (1, 10) + (0.5, 0) + (200, 2000).
        let on_input = Layer { weighs_input: true, ..layer };
        assert_eq!(on_input.expect(bound).values, [202.5, 2020.0, -300.0, -3000.0]);
        assert_eq!(on_input.dense(), [202.5, 2020.0, -300.0, -3000.0]);
    }

    #[test]
    fn gates_are_halves_or_neighbours() {
        let (x, w2) = (array![[1.0]], Array3::from_elem((1, 1, 2), 1.0));
        let act = Act::Swiglu { alpha: 1.0, limit: f64::INFINITY, offset: 0.0 };
        let halves = Array3::from_shape_vec((1, 4, 1), vec![30.0, 40.0, 2.0, 3.0]).unwrap();
        let pairs = Array3::from_shape_vec((1, 4, 1), vec![30.0, 2.0, 40.0, 3.0]).unwrap();
        for (w1, in_pairs) in [(halves, false), (pairs, true)] {
            let layer = Layer {
                x: x.view(),
                w1: w1.view(),
                w2: w2.view(),
                b1: None,
                b2: None,
                act,
                in_pairs,
                weighs_input: false,
                ids: &[0],
                weights: &[1.0],
                shared: None,
                between: &|row| row,
            };
            assert!((layer.dense()[0] - 180.0).abs() < 1e-9);
        }
    }
}
