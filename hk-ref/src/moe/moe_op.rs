//! Products of tokens with the matrices of their experts.

use hk_types::Activation;
use hk_types::dtype::{DType, Real, decode};
use ndarray::{Array2, ArrayView2, ArrayView3, Axis};

use super::moe_align_block_size::buckets;
use crate::expected::Expected;
pub use crate::gemm::gemm_a8w8_blockscale::dequantised;
use crate::gemm::product::{Operands, Step, Term, expect, expect_gated};

/// What is multiplied.
#[derive(Debug, Clone, Copy)]
pub struct Problem<'a> {
    /// Rows, of which each has the next `top_k` gates.
    pub a: ArrayView2<'a, f64>,
    /// A matrix of rows for each expert.
    pub b: ArrayView3<'a, f64>,
    /// The expert of each gate.
    pub ids: &'a [i32],
    /// Gates of a row.
    pub top_k: usize,
    /// The weight of each gate.
    pub weights: Option<&'a [f64]>,
    /// An expert whose tiles have none, so that its gates' results are 0.
    pub absent: Option<usize>,
    /// What results of gates hold that have no expert.
    pub held: f64,
}

impl Problem<'_> {
    /// The results of the gates, `[gates, n]`, from those of the gates of each expert: `of` is given their
    /// rows, their weights as a step, the expert's number and its matrix.
    pub(super) fn of_experts(
        &self,
        n: usize,
        of: impl Fn(ArrayView2<'_, f64>, &[Step], usize, ArrayView2<'_, f64>) -> Expected,
    ) -> Expected {
        let mut all = Expected {
            values: vec![self.held; self.ids.len() * n],
            allowed: vec![0.0; self.ids.len() * n],
            ..Expected::default()
        };
        for (expert, gates) in buckets(self.ids, self.b.len_of(Axis(0))).into_iter().enumerate() {
            let rows: Vec<_> = gates.iter().map(|gate| gate / self.top_k).collect();
            let x: Array2<f64> = self.a.select(Axis(0), &rows);
            let weigh = self.weights.map(|weights| {
                let values = gates.iter().map(|gate| weights[*gate]).collect();
                Step::Multiply(Term { values, row_stride: 1, column_stride: 0 })
            });
            let steps: Vec<_> = weigh.into_iter().collect();
            let one = of(x.view(), &steps, expert, self.b.index_axis(Axis(0), expert));
            for (row, gate) in gates.iter().enumerate() {
                for column in 0..n {
                    let (from, to) = (row * n + column, gate * n + column);
                    let is_absent = self.absent == Some(expert);
                    all.values[to] = if is_absent { 0.0 } else { one.values[from] };
                    all.allowed[to] = if is_absent { 0.0 } else { one.allowed[from] };
                }
            }
        }
        all
    }

    /// `w activation(a b^T + bias)` with its tolerance as an output of type `dtype`; a row of the bias for each
    /// expert.
    pub fn expect(
        &self,
        bias: Option<ArrayView2<'_, f64>>,
        activation: Option<Activation>,
        dtype: DType,
    ) -> Expected {
        self.of_experts(self.b.len_of(Axis(1)), |x, weigh, expert, w| {
            let bias = bias.map(|bias| {
                let values = bias.row(expert).to_vec();
                Step::Add(Term { values, row_stride: 0, column_stride: 1 }, 1.0)
            });
            let activation = activation.map(Step::Activate);
            let steps: Vec<_> =
                bias.into_iter().chain(activation).chain(weigh.iter().cloned()).collect();
            expect(Operands { x, w, integers: false }, &steps, dtype, false)
        })
    }

    /// `activation(w a gates^T) * (w a values^T)` with its tolerance as an output of type `dtype`.
    pub fn expect_gated(&self, activation: Activation, dtype: DType) -> Expected {
        let n = self.b.len_of(Axis(1)) / 2;
        self.of_experts(n, |x, weigh, _, w| {
            let (gates, values) = w.split_at(Axis(0), n);
            expect_gated(x, [gates, values], [weigh; 2], Some(activation), &[], dtype)
        })
    }
}

/// The numbers of unsigned integers with a scale, and a zero point by its number, for each group: `(q - zero) scale`
/// in f32, rounded to `T`.
pub fn in_groups<T: Real>(
    codes: &[u8],
    scales: &[f64],
    group: usize,
    zero: impl Fn(usize) -> u8,
) -> Vec<f64> {
    let number = |(at, code): (usize, &u8)| {
        let (difference, scale) =
            (f32::from(*code) - f32::from(zero(at / group)), scales[at / group]);
        f64::from(difference * scale as f32)
    };
    decode(&T::encode(&codes.iter().enumerate().map(number).collect::<Vec<_>>()))
}
