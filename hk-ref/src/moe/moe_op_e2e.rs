//! Feed-forward layers of experts.

use hk_types::Activation;
use hk_types::dtype::{DType, Real16};
use ndarray::{ArrayView3, Axis};

use super::moe_align_block_size::buckets;
pub use super::moe_op::Problem;
use crate::expected::Expected;
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
