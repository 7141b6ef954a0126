//! Products of rows with the matrices of their experts, whose results lie in the order of experts.

use hk_types::dtype::DType;
use ndarray::{ArrayView2, ArrayView3, Axis};

use crate::Expected;

/// What happens to sums, after the bias is added.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Act {
    /// Nothing.
    None,
    /// `gate / (1 + exp(-alpha gate)) (linear + offset)` of columns 2j and 2j + 1, where gates are at most
    /// the limit, and linear between that and its negative.
    Swiglu {
        /// What gates are multiplied by in the exponent.
        alpha: f64,
        /// The limit.
        limit: f64,
        /// What is added.
        offset: f64,
    },
    /// `x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))) / 2`.
    GeluTanh,
}

/// A number and how far off it may be.
#[derive(Debug, Clone, Copy, Default)]
struct Near {
    value: f64,
    error: f64,
}

impl Act {
    /// How many columns become one.
    pub fn columns(self) -> usize {
        if matches!(self, Self::Swiglu { .. }) { 2 } else { 1 }
    }

    /// What becomes of a column, or of two.
    pub fn value(self, x: &[f64]) -> f64 {
        let near: Vec<_> = x.iter().map(|x| Near { value: *x, error: 0.0 }).collect();
        self.of(&near).value
    }

    fn of(self, x: &[Near]) -> Near {
        match self {
            Self::None => x[0],
            Self::GeluTanh => {
                let Near { value: x, error } = x[0];
                let inner = (2.0 / std::f64::consts::PI).sqrt() * (x + 0.044_715 * x.powi(3));
                let value = 0.5 * x * (1.0 + inner.tanh());
                Near {
                    value,
                    error: 1.2 * error + 2f64.powi(-20) * (value.abs() + x.abs().min(1.0)),
                }
            }
            Self::Swiglu { alpha, limit, offset } => {
                // NaN stays, which `min` would make the limit.
                let gate = if x[0].value > limit { limit } else { x[0].value };
                let linear = x[1].value.clamp(-limit, limit);
                let through = gate / (1.0 + (-alpha * gate).exp());
                let value = through * (linear + offset);
                let sizes = 1.2 * x[0].error * (linear + offset).abs() + through.abs() * x[1].error;
                Near {
                    value,
                    error: 2.0 * sizes + 2f64.powi(-19) * through.abs() * (1.0 + linear.abs()),
                }
            }
        }
    }
}

/// What is multiplied, with all scales.
#[derive(Debug, Clone, Copy)]
pub struct Problem<'a> {
    /// Rows.
    pub x: ArrayView2<'a, f64>,
    /// A matrix of rows for each expert.
    pub w: ArrayView3<'a, f64>,
    /// The expert of each place, in order; places behind have none.
    pub experts: &'a [usize],
    /// The row of x of each place.
    pub rows: &'a [usize],
    /// What is added to the columns of each expert.
    pub bias: Option<ArrayView2<'a, f64>>,
    /// What happens then.
    pub act: Act,
    /// What results of places are multiplied by.
    pub gammas: Option<&'a [f64]>,
    /// The places whose results each row of the output adds up; none behind its own, if there is no sum.
    pub scatter: Option<&'a [Vec<usize>]>,
    /// What is added to each row of the output that is written.
    pub residual: Option<ArrayView2<'a, f64>>,
    /// What rows hold that have no expert.
    pub held: f64,
}

impl Problem<'_> {
    /// The results of a place.
    fn place(&self, place: usize) -> Vec<Near> {
        let expert = self.experts[place];
        let (x, w) =
            (self.x.index_axis(Axis(0), self.rows[place]), self.w.index_axis(Axis(0), expert));
        let roots = (x.len() as f64).sqrt();
        let column = |n: usize| {
            let products = || x.iter().zip(w.index_axis(Axis(0), n)).map(|(x, w)| x * w);
            let bias = self.bias.map_or(0.0, |bias| bias[[expert, n]]);
            let sizes: f64 = products().map(f64::abs).sum();
            let value = products().sum::<f64>() + bias;
            // Sums in f32, and the factors that they are multiplied by. What is infinite is not off.
            let error = 2f64.powi(-20) * roots * sizes + 2f64.powi(-22) * value.abs();
            Near { value, error: if value.is_finite() { error } else { 0.0 } }
        };
        let sums: Vec<_> = (0..w.nrows()).map(column).collect();
        let gamma = self.gammas.map_or(1.0, |gammas| gammas[place]);
        let after = |x: &[Near]| {
            let Near { value, error } = self.act.of(x);
            Near { value: gamma * value, error: gamma.abs() * error }
        };
        sums.chunks_exact(self.act.columns()).map(after).collect()
    }

    /// The rows of results, each column with its error before it is rounded; `between` is the share of
    /// themselves by which rows that are added up may be off besides.
    fn results(&self, between: f64) -> Vec<Vec<Near>> {
        let width = self.w.len_of(Axis(1)) / self.act.columns();
        let held = || vec![Near { value: self.held, error: 0.0 }; width];
        let places: Vec<_> = (0..self.rows.len())
            .map(|place| if place < self.experts.len() { self.place(place) } else { held() })
            .collect();
        let mut rows = match self.scatter {
            None => places,
            Some(scatter) => scatter
                .iter()
                .map(|of| {
                    let mut row = vec![Near::default(); width];
                    for place in of {
                        for (sum, one) in row.iter_mut().zip(&places[*place]) {
                            sum.value += one.value;
                            sum.error += one.error + between * one.value.abs();
                        }
                    }
                    row
                })
                .collect(),
        };
        let written = if self.scatter.is_some() { rows.len() } else { self.experts.len() };
        let residual = self.residual.iter().flat_map(|of| of.outer_iter());
        for (row, residual) in rows[..written].iter_mut().zip(residual) {
            row.iter_mut().zip(residual).for_each(|(of, residual)| of.value += residual);
        }
        rows
    }

    /// The results with their tolerance as an output of type `dtype`.
    pub fn expect(&self, dtype: DType) -> Expected {
        let unit = match dtype {
            DType::F32 => 2f64.powi(-22),
            DType::F16 => 2f64.powi(-11),
            _ => 2f64.powi(-8),
        };
        let between = if dtype == DType::F32 || self.act != Act::None { 0.0 } else { unit };
        let mut all = Expected::default();
        for Near { value, error } in self.results(between).into_iter().flatten() {
            all.values.push(value);
            all.allowed.push(error + unit * value.abs());
        }
        all
    }

    /// The results as multiples of a scale, of 8-bit floating point with that largest number.
    pub fn expect_codes(&self, scale: f64, most: f64) -> Expected {
        let mut all = Expected::default();
        for Near { value, error } in self.results(0.0).into_iter().flatten() {
            let code = (value / scale).clamp(-most, most);
            all.values.push(code);
            all.allowed.push(
                (2f64.powi(-4) + 2f64.powi(-10)) * code.abs() + 2f64.powi(-10) + error / scale,
            );
        }
        all
    }

    /// The results themselves, row after row.
    pub fn values(&self) -> Vec<f64> {
        self.results(0.0).into_iter().flatten().map(|near| near.value).collect()
    }
}

#[cfg(test)]
mod tests {
    use hk_types::Activation;
    use ndarray::{Array3, array};

    use super::*;
    use crate::activation::activate;

    #[test]
    fn places_have_the_row_and_the_matrix_that_are_theirs() {
        let x = array![[1.0, 2.0], [3.0, 4.0]];
        let w = Array3::from_shape_vec((2, 2, 2), vec![1.0, 0.0, 0.0, 1.0, 10.0, 0.0, 0.0, 10.0])
            .unwrap();
        let problem = Problem {
            x: x.view(),
            w: w.view(),
            experts: &[0, 1],
            rows: &[1, 0, 0],
            bias: None,
            act: Act::None,
            gammas: Some(&[1.0, 0.5, 1.0]),
            scatter: None,
            residual: None,
            held: 7.0,
        };
        assert_eq!(problem.values(), [3.0, 4.0, 5.0, 10.0, 7.0, 7.0]);
        let sums = [vec![0, 1], vec![]];
        let all = Problem { scatter: Some(&sums), ..problem };
        assert_eq!(all.values(), [8.0, 14.0, 0.0, 0.0]);
    }

    #[test]
    fn gelu_at_infinities_is_that_of_other_ops() {
        for x in [f64::INFINITY, f64::NEG_INFINITY, -1e30, -3.0, f64::NAN] {
            let [of_places, of_others] =
                [Act::GeluTanh.value(&[x]), activate(Activation::GeluTanh, x)];
            let are_near = (of_places - of_others).abs() < 1e-9 || of_places == of_others;
            assert!(are_near || of_places.is_nan() && of_others.is_nan(), "{x}");
        }
    }

    #[test]
    fn limits_of_infinite_sums_are_as_near_as_others() {
        let x = array![[f64::INFINITY, 1.0]];
        let w = Array3::from_shape_vec((1, 2, 2), vec![1.0, 0.5, -1.0, 0.5]).unwrap();
        let problem = Problem {
            x: x.view(),
            w: w.view(),
            experts: &[0],
            rows: &[0],
            bias: None,
            act: Act::Swiglu { alpha: 1.0, limit: 7.0, offset: 1.0 },
            gammas: None,
            scatter: None,
            residual: None,
            held: 0.0,
        };
        let expected = problem.expect(DType::F32);
        assert_eq!(expected.values, [7.0 / (1.0 + (-7f64).exp()) * -6.0]);
        assert!(expected.allowed[0] < 1e-3);
    }

    #[test]
    fn gates_are_limited_from_above_and_what_they_let_through_on_both_sides() {
        let near = |value| Near { value, error: 0.0 };
        let act = Act::Swiglu { alpha: 1.702, limit: 7.0, offset: 1.0 };
        let silu = |x: f64| x / (1.0 + (-1.702 * x).exp());
        assert_eq!(act.of(&[near(9.0), near(-9.0)]).value, silu(7.0) * -6.0);
        assert_eq!(act.of(&[near(-9.0), near(9.0)]).value, silu(-9.0) * 8.0);
        for pair in [[f64::NAN, 1.0], [1.0, f64::NAN]] {
            assert!(act.value(&pair).is_nan());
        }
    }
}
