//! Gated products of tokens with the matrices of their experts, of 4-bit floating point in MX blocks.

use hk_types::dtype::DType;
use ndarray::{Array2, Array3, ArrayView2, Axis};

pub use super::moe_op::Problem;
pub use super::ragged::Act;
use super::ragged::Problem as Ragged;
use crate::Expected;
pub use crate::gemm::gemm_afp4wfp4::{BLOCK, dequantised};

/// What becomes of the halves of the columns, after `bias` is added, with its tolerance as an output of type
/// `dtype`. Gates' weights count before that.
pub fn expect(
    problem: &Problem<'_>,
    bias: Option<ArrayView2<'_, f64>>,
    act: Act,
    dtype: DType,
) -> Expected {
    let (experts, rows, k) = problem.b.dim();
    let n = rows / 2;
    // Gates and what they let through next to each other.
    let from = |row: usize| row % 2 * n + row / 2;
    let w = Array3::from_shape_fn((experts, rows, k), |(e, row, k)| problem.b[[e, from(row), k]]);
    let bias =
        bias.map(|bias| Array2::from_shape_fn((experts, rows), |(e, row)| bias[[e, from(row)]]));
    let has_expert = |gate: &usize| usize::try_from(problem.ids[*gate]).is_ok_and(|e| e < experts);
    let gates: Vec<_> = (0..problem.ids.len()).filter(has_expert).collect();
    let x = Array2::from_shape_fn((gates.len(), k), |(place, k)| {
        let weight = problem.weights.map_or(1.0, |weights| weights[gates[place]]);
        weight * problem.a[[gates[place] / problem.top_k, k]]
    });
    let of_gates: Vec<_> = gates.iter().map(|gate| problem.ids[*gate] as usize).collect();
    let places: Vec<_> = (0..gates.len()).collect();
    let one = Ragged {
        x: x.view(),
        w: w.view(),
        experts: &of_gates,
        rows: &places,
        bias: bias.as_ref().map(|bias| bias.view()),
        act,
        gammas: None,
        scatter: None,
        residual: None,
        held: 0.0,
    }
    .expect(dtype);
    let mut all = Expected {
        values: vec![problem.held; problem.ids.len() * n],
        allowed: vec![0.0; problem.ids.len() * n],
        ..Expected::default()
    };
    for (place, gate) in gates.iter().enumerate() {
        let is_absent = problem.absent == Some(of_gates[place]);
        for column in 0..n {
            let (from, to) = (place * n + column, gate * n + column);
            all.values[to] = if is_absent { 0.0 } else { one.values[from] };
            all.allowed[to] = if is_absent { 0.0 } else { one.allowed[from] };
        }
    }
    all
}

/// Multiplies the matrix of each expert, with its scales of blocks, by a number of its own.
pub fn scaled(b: &mut Array3<f64>, scales: &[f64]) {
    for (mut matrix, scale) in b.axis_iter_mut(Axis(0)).zip(scales) {
        matrix *= *scale;
    }
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;

    #[test]
    fn the_second_half_is_let_through_by_the_first() {
        let a = array![[1.0]];
        let b = array![[[100.0], [200.0], [3.0], [-4.0]], [[50.0], [50.0], [1.0], [2.0]]];
        let problem = Problem {
            a: a.view(),
            b: b.view(),
            ids: &[1, 0, -1],
            top_k: 3,
            weights: Some(&[1.0, 2.0, 1.0]),
            absent: Some(1),
            held: 17.0,
        };
        let bias = array![[0.0, 0.0, 1.0, 0.0], [0.0; 4]];
        let act = Act::Swiglu { alpha: 1.0, limit: f64::INFINITY, offset: 0.0 };
        let expected = expect(&problem, Some(bias.view()), act, DType::F32);
        assert_eq!(expected.values, [0.0, 0.0, 1400.0, -3200.0, 17.0, 17.0]);
    }
}
