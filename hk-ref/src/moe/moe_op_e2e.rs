//! Feed-forward layers of experts.

use hk_types::Activation;
use hk_types::dtype::{DType, Real16, decode};
use ndarray::{ArrayView3, Axis};

use super::moe_align_block_size::buckets;
pub use super::moe_op::Problem;
use crate::expected::{Expected, unit_roundoff};
use crate::gemm::ff_fused_gated::expect_gated_layer;

/// `w z w2^T`, where z is `silu(a gates^T) * (a values^T)`, rounded to `T`, and b of the problem the gates, then
/// the values, with its tolerance as an output of type `dtype`.
pub fn expect_layer<T: Real16>(
    problem: &Problem<'_>,
    w2: ArrayView3<'_, f64>,
    dtype: DType,
) -> Expected {
    let (experts, k) = (w2.len_of(Axis(0)), w2.len_of(Axis(1)));
    let unweighted = Problem { weights: None, ..*problem };
    let mut all = unweighted.of_experts(k, |x, _, expert, w1| {
        let down = w2.index_axis(Axis(0), expert);
        expect_gated_layer::<T>(x, w1, down.t(), Some(Activation::Silu), dtype)
    });
    let Some(weights) = problem.weights else { return all };
    for gate in buckets(problem.ids, experts).into_iter().flatten() {
        for at in gate * k..(gate + 1) * k {
            all.values[at] *= weights[gate];
            // And one more rounding in f32.
            let rounded = 2f64.powi(-23) * all.values[at].abs();
            all.allowed[at] = all.allowed[at] * weights[gate].abs() + rounded;
        }
    }
    all
}

/// Half the largest distance of neighbours of e4m3, relative.
const STEP: f64 = 1.0 / 16.0;

/// As [`expect_layer`], where the rows of z, rounded to `T`, become what `coded` makes of all of them before
/// they are multiplied: codes of 8-bit floating point, of which those near a tie may be one step off. Gates
/// that have no expert have rows of zeros.
pub fn expect_coded_layer<T: Real16>(
    problem: &Problem<'_>,
    w2: ArrayView3<'_, f64>,
    coded: &dyn Fn(&[f64]) -> Vec<f64>,
    dtype: DType,
) -> Expected {
    let (experts, k, inner) = w2.dim();
    let gates = problem.ids.len();
    let mut z = vec![0.0; gates * inner];
    let all = buckets(problem.ids, experts);
    let present = || all.iter().enumerate().filter(|(e, _)| problem.absent != Some(*e));
    for (expert, gates) in present() {
        let w1 = problem.b.index_axis(Axis(0), expert);
        for gate in gates {
            let sums = w1.dot(&problem.a.row(gate / problem.top_k));
            for at in 0..inner {
                let through = sums[at];
                z[gate * inner + at] = through / (1.0 + (-through).exp()) * sums[inner + at];
            }
        }
    }
    let z = coded(&decode(&T::encode(&z)));
    let mut expected = Expected {
        values: vec![problem.held; gates * k],
        allowed: vec![0.0; gates * k],
        frobenius: Some(1e-2),
        ..Expected::default()
    };
    for gate in all.iter().flatten() {
        expected.values[gate * k..(gate + 1) * k].fill(0.0);
    }
    for (expert, gates) in present() {
        let w2 = w2.index_axis(Axis(0), expert);
        for gate in gates {
            let weight = problem.weights.map_or(1.0, |weights| weights[*gate]);
            let z = &z[gate * inner..(gate + 1) * inner];
            for (column, w2) in w2.outer_iter().enumerate() {
                let products = || z.iter().zip(w2).map(|(z, w)| z * w * weight);
                let value: f64 = products().sum();
                let size = products().map(|product| product * product).sum::<f64>().sqrt();
                let at = gate * k + column;
                expected.values[at] = value;
                expected.allowed[at] =
                    unit_roundoff(dtype) * value.abs() + 2.0 * STEP * size + 2f64.powi(-20);
            }
        }
    }
    expected
}

/// The sums of so many gates of each row, of results for each gate, `[gates, width]`, which are of type `dtype`.
pub fn summed(gates: &Expected, each: usize, width: usize, dtype: DType) -> Expected {
    let mut all = Expected { frobenius: Some(4e-3), ..Expected::default() };
    for row in 0..gates.values.len() / (each * width).max(1) {
        for column in 0..width {
            let of = |numbers: &[f64]| -> f64 {
                (0..each).map(|slot| numbers[(row * each + slot) * width + column]).sum()
            };
            let value = of(&gates.values);
            all.values.push(value);
            let rounded = (unit_roundoff(dtype) + 2f64.powi(-20)) * value.abs();
            all.allowed.push(of(&gates.allowed) + rounded);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use hk_types::dtype::bf16;
    use ndarray::{Array3, array};

    use super::*;

    #[test]
    fn rows_between_the_products_become_codes_together() {
        let a = array![[1.0], [2.0]];
        // z of 30 and 60 3, and of 60 and 120 6, of the first expert; the other one is elsewhere.
        let b = Array3::from_shape_vec((2, 2, 1), vec![30.0, 3.0, 1.0, 1.0]).unwrap();
        let w2 = Array3::from_shape_vec((2, 2, 1), vec![1.0, -2.0, 5.0, 5.0]).unwrap();
        let problem = Problem {
            a: a.view(),
            b: b.view(),
            ids: &[0, 1, -1, 0],
            top_k: 2,
            weights: Some(&[1.0, 1.0, 1.0, 0.5]),
            absent: Some(1),
            held: 17.0,
        };
        let coded = |z: &[f64]| {
            assert_eq!(z, [90.0, 0.0, 0.0, 360.0]);
            z.iter().map(|z| z / 90.0).collect()
        };
        let expected = expect_coded_layer::<bf16>(&problem, w2.view(), &coded, DType::F32);
        assert_eq!(expected.values, [1.0, -2.0, 0.0, 0.0, 17.0, 17.0, 2.0, -4.0]);
    }

    #[test]
    fn sums_are_of_the_gates_of_a_row() {
        let gates = Expected {
            values: vec![1.0, 2.0, 10.0, 20.0, 5.0, 6.0, -5.0, 0.5],
            allowed: vec![0.5; 8],
            ..Expected::default()
        };
        let sums = summed(&gates, 2, 2, DType::Bf16);
        assert_eq!(sums.values, [11.0, 22.0, 0.0, 6.5]);
        assert!(sums.allowed[0] > 1.0 + 11.0 / 256.0 && sums.allowed[2] == 1.0);
    }
}
