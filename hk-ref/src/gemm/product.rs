//! Products of matrices with an epilogue: what the references of all of them share.

use hk_types::Activation;
use hk_types::dtype::DType;
use ndarray::linalg::general_mat_mul;
use ndarray::{Array2, ArrayView2, Axis};

use crate::activation::{activate, keeps_relative_accuracy, steepest};
use crate::draw::Random;
use crate::expected::{Expected, half_subnormal, unit_roundoff};

/// An operand of a step, which extends along the rows, the columns, both or neither.
#[derive(Debug, Clone)]
pub struct Term {
    /// The numbers.
    pub values: Vec<f64>,
    /// Distance between rows.
    pub row_stride: usize,
    /// Distance between columns.
    pub column_stride: usize,
}

impl Term {
    /// One number for all.
    pub fn number(value: f32) -> Self {
        Self { values: vec![f64::from(value)], row_stride: 0, column_stride: 0 }
    }

    fn at(&self, m: usize, n: usize) -> f64 {
        self.values[m * self.row_stride + n * self.column_stride]
    }
}

/// A step of the epilogue, on each element `v`.
#[derive(Debug, Clone)]
pub enum Step {
    /// `v *= t`
    Multiply(Term),
    /// `v /= d`
    Divide(f32),
    /// `v += beta t`
    Add(Term, f32),
    /// `v += a b`
    AddProduct(Term, Term),
    /// `v += s v`
    ScaleAddSelf(f32),
    /// `v = activation(v)`
    Activate(Activation),
}

/// An element on its way through the epilogue.
#[derive(Debug, Clone, Copy)]
struct Element {
    value: f64,
    /// How far off the f32 accumulator's errors may have put it.
    error: f64,
    /// The largest number that appeared on the way.
    largest: f64,
    /// Whether no step has rounded it yet.
    is_exact: bool,
}

/// Units in the last place that the activations of relative accuracy may be off, at most.
const ACTIVATION_ULP: f64 = 6.0;

impl Element {
    fn apply(&mut self, step: &Step, m: usize, n: usize) {
        match step {
            Step::Multiply(t) => {
                self.value *= t.at(m, n);
                self.error *= t.at(m, n).abs();
            }
            Step::Divide(d) => {
                self.value /= f64::from(*d);
                self.error /= f64::from(d.abs());
            }
            Step::Add(t, beta) => self.add(f64::from(*beta) * t.at(m, n)),
            Step::AddProduct(a, b) => self.add(a.at(m, n) * b.at(m, n)),
            Step::ScaleAddSelf(s) => {
                self.error *= 1.0 + f64::from(s.abs());
                self.add(f64::from(*s) * self.value);
            }
            Step::Activate(activation) if keeps_relative_accuracy(*activation) => {
                let rounded = if self.is_exact { 0.0 } else { 2f64.powi(-23) * self.largest };
                self.error = (self.error + rounded) * steepest(*activation);
                // Powers that are subnormal are flushed.
                let least = 2f64.powi(23 - 126) * self.value.abs().max(1.0);
                self.value = activate(*activation, self.value);
                self.largest = ACTIVATION_ULP * self.value.abs() + least;
            }
            Step::Activate(activation) => {
                self.value = activate(*activation, self.value);
                self.error *= steepest(*activation);
            }
        }
        self.is_exact = false;
        self.largest = self.largest.max(self.value.abs());
    }

    /// How far off a result of that type may be. Of a sum of several terms, the errors of steps count for
    /// f32 alone.
    fn allowed(self, dtype: DType, is_sum: bool) -> f64 {
        let Self { value, error, largest, is_exact } = self;
        let rounded = if is_exact { 0.0 } else { 2f64.powi(-23) * largest };
        let allowed = 1.02 * unit_roundoff(dtype) * value.abs() + error;
        match dtype {
            DType::F32 => allowed + rounded,
            _ if is_sum => allowed + half_subnormal(dtype),
            _ => allowed + half_subnormal(dtype) + rounded,
        }
    }

    /// `gate * value`, each with its error.
    fn times(self, value: Self) -> Self {
        let product = self.value * value.value;
        let rounded = |of: &Self| if of.is_exact { 0.0 } else { 2f64.powi(-23) * of.largest };
        let [gate_error, value_error] = [&self, &value].map(|of| of.error + rounded(of));
        let error = gate_error * (value.value.abs() + value_error) + value_error * self.value.abs();
        let is_exact = self.is_exact && value.is_exact && f64::from(product as f32) == product;
        Self { value: product, error, largest: product.abs(), is_exact }
    }

    fn add(&mut self, addend: f64) {
        self.value += addend;
        self.largest = self.largest.max(addend.abs());
    }
}

/// The operands of a product as matrices of f64: x `(m, k)`, w `(n, k)`.
#[derive(Debug, Clone, Copy)]
pub struct Operands<'a> {
    /// x
    pub x: ArrayView2<'a, f64>,
    /// w
    pub w: ArrayView2<'a, f64>,
    /// Whether sums are of integers, which are exact but for the rounding to f32.
    pub integers: bool,
}

/// Elements of a row that are multiplied at once.
const PART: usize = 4096;

/// Rows or columns that stand for all when a product is too large to be computed on the CPU.
const SAMPLES: usize = 64;

/// `epilogue(x w^T)` with its tolerance as an output of type `dtype`: of all elements, or, if
/// `sampled`, of 64 rows and 64 columns, the last of them included.
///
/// With `R = |sum x w|` and `T = sqrt(sum (x w)^2)` of an element, the accumulator's error is at
/// most `2^-22 sqrt(k / 16 + 16) (R + T)`, of integers `2^-22 (R + T)`, and zero if no more than one
/// term is not; the epilogue's steps carry it on.
pub fn expect(operands: Operands<'_>, steps: &[Step], dtype: DType, sampled: bool) -> Expected {
    let Operands { x, w, .. } = operands;
    let ([m, n], k) = ([x.nrows(), w.nrows()], x.ncols());
    let mut expected = Expected::default();
    if sampled {
        let mut random = Random::new((m + n + k) as u64);
        let mut choose = |count: usize| -> Vec<usize> {
            let mut chosen: Vec<_> = (0..SAMPLES - 2).map(|_| random.below(count)).collect();
            chosen.extend([0, count - 1]);
            chosen.sort_unstable();
            chosen.dedup();
            chosen
        };
        let (rows, columns) = (choose(m), choose(n));
        let (some_x, some_w) = (x.select(Axis(0), &rows), w.select(Axis(0), &columns));
        let some_rows = Operands { x: some_x.view(), ..operands };
        let some_columns = Operands { w: some_w.view(), ..operands };
        let parts = [(some_rows, [&rows, &all(n)]), (some_columns, [&all(m), &columns])];
        let mut at = Vec::new();
        for (operands, [rows, columns]) in parts {
            extend(&mut expected, operands, [rows, columns], steps, dtype);
            at.extend(rows.iter().flat_map(|row| columns.iter().map(move |c| row * n + c)));
        }
        expected.at = Some(at);
    } else {
        extend(&mut expected, operands, [&all(m), &all(n)], steps, dtype);
    }
    expected.frobenius = frobenius(m * n, k, dtype);
    expected
}

fn all(count: usize) -> Vec<usize> {
    (0..count).collect()
}

/// The greatest relative error of so many results together, if they are many.
fn frobenius(results: usize, k: usize, dtype: DType) -> Option<f64> {
    let most = match dtype {
        DType::Bf16 => 2.5e-3,
        DType::F16 => 3.5e-4,
        _ => 2e-6 * (k as f64 / 4096.0).max(1.0).sqrt(),
    };
    Some(most).filter(|_| results >= 1024)
}

/// As [`expect`], of a batch of products of one size, each with its own steps: all results, one product
/// after the other.
pub fn expect_batch(products: &[(Operands<'_>, Vec<Step>)], dtype: DType) -> Expected {
    let mut all = Expected::default();
    for (operands, steps) in products {
        let one = expect(*operands, steps, dtype, false);
        all.values.extend(one.values);
        all.allowed.extend(one.allowed);
    }
    let k = products.first().map_or(0, |(operands, _)| operands.x.ncols());
    all.frobenius = frobenius(all.values.len(), k, dtype);
    all
}

/// `behind(activation(before(x gates^T)) * before(x values^T))` with its tolerance as an output of type
/// `dtype`, where the steps before are for the columns of the gates, and for those of the values.
pub fn expect_gated(
    x: ArrayView2<'_, f64>,
    [gates, values]: [ArrayView2<'_, f64>; 2],
    before: [&[Step]; 2],
    activation: Option<Activation>,
    behind: &[Step],
    dtype: DType,
) -> Expected {
    let (m, n, k) = (x.nrows(), gates.nrows(), x.ncols());
    let gates = Sums::of(x, gates, false);
    let values = Sums::of(x, values, false);
    let mut expected = Expected::default();
    for (row, column) in (0..m).flat_map(|row| (0..n).map(move |column| (row, column))) {
        let [mut gate, mut value] = [&gates, &values].map(|sums| sums.element(row, column));
        let activate = activation.map(Step::Activate);
        let steps = before[0].iter().chain(&activate);
        steps.for_each(|step| gate.apply(step, row, column));
        before[1].iter().for_each(|step| value.apply(step, row, column));
        let mut element = gate.times(value);
        behind.iter().for_each(|step| element.apply(step, row, column));
        expected.values.push(element.value);
        expected.allowed.push(element.allowed(dtype, true));
    }
    // Two sums whose errors multiply: a fifth more than one.
    expected.frobenius = frobenius(m * n, k, dtype).map(|most| 1.2 * most);
    expected
}

/// The sums of a product and of its squares.
struct Sums {
    sums: Array2<f64>,
    squares: Array2<f64>,
    /// Terms of a row of x that are not zero.
    terms: Vec<usize>,
    growth: f64,
}

impl Sums {
    fn of(x: ArrayView2<'_, f64>, w: ArrayView2<'_, f64>, integers: bool) -> Self {
        let k = x.ncols() as f64;
        let growth = 2f64.powi(-22) * if integers { 1.0 } else { (k / 16.0 + 16.0).sqrt() };
        let terms =
            x.rows().into_iter().map(|row| row.iter().filter(|x| **x != 0.0).count()).collect();
        let size = (x.nrows(), w.nrows());
        let (mut sums, mut squares) = (Array2::zeros(size), Array2::zeros(size));
        // Parts that stay in a cache.
        let parts = x.axis_chunks_iter(Axis(1), PART).zip(w.axis_chunks_iter(Axis(1), PART));
        for (x, w) in parts {
            general_mat_mul(1.0, &x, &w.t(), 1.0, &mut sums);
            let [x, w] = [x, w].map(|part| part.mapv(|value| value * value));
            general_mat_mul(1.0, &x, &w.t(), 1.0, &mut squares);
        }
        Self { sums, squares, terms, growth }
    }

    /// As the accumulator has it.
    fn element(&self, row: usize, column: usize) -> Element {
        let value = self.sums[[row, column]];
        let error = self.growth * (value.abs() + self.squares[[row, column]].sqrt());
        let error = if self.terms[row] > 1 { error } else { 0.0 };
        Element { value, error, largest: value.abs(), is_exact: true }
    }
}

/// Appends the elements where rows and columns of the result meet, which those of the operands are.
fn extend(
    expected: &mut Expected,
    Operands { x, w, integers }: Operands<'_>,
    [rows, columns]: [&[usize]; 2],
    steps: &[Step],
    dtype: DType,
) {
    let sums = Sums::of(x, w, integers);
    expected.values.reserve(rows.len() * columns.len());
    expected.allowed.reserve(rows.len() * columns.len());
    for (i, &row) in rows.iter().enumerate() {
        for (j, &column) in columns.iter().enumerate() {
            let mut element = sums.element(i, j);
            for step in steps {
                element.apply(step, row, column);
            }
            expected.values.push(element.value);
            expected.allowed.push(element.allowed(dtype, sums.terms[i] > 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;

    #[test]
    fn steps_run_in_order() {
        let (x, w) = (array![[1.0, 2.0]], array![[3.0, 4.0], [-5.0, 1.0]]);
        let operands = Operands { x: x.view(), w: w.view(), integers: false };
        let bias = Term { values: vec![1.0, 2.0], row_stride: 0, column_stride: 1 };
        let steps = [
            Step::Add(bias, 1.0),
            Step::Activate(Activation::LeakyRelu(0.5)),
            Step::ScaleAddSelf(0.5),
        ];
        // Products 11 and -3.
        let expected = expect(operands, &steps, DType::F32, false);
        assert_eq!(expected.values, [18.0, -0.75]);
        assert!(expected.at.is_none() && expected.frobenius.is_none());
    }

    #[test]
    fn samples_are_elements_of_the_whole() {
        let count = |r: usize, c: usize| (r * 7 + c * 3) as f64 % 11.0 - 5.0;
        let x = Array2::from_shape_fn((90, 3), |(r, c)| count(r, c));
        let w = Array2::from_shape_fn((100, 3), |(r, c)| count(r + 1, c));
        let operands = Operands { x: x.view(), w: w.view(), integers: false };
        let whole = expect(operands, &[], DType::F32, false);
        let some = expect(operands, &[], DType::F32, true);
        let at = some.at.unwrap();
        assert!(at.contains(&(90 * 100 - 1)) && at.len() > 64 * 100);
        for (at, value) in at.into_iter().zip(some.values) {
            assert_eq!(whole.values[at], value);
        }
    }
}
