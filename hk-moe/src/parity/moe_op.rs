//! Cases of `moe_op`.

use hk_core::dtype::{DType, Real};
use hk_core::{Result, TensorSlice};
use hk_ref::moe::moe_op::Problem;
use hk_ref::{Case, Expected};

use super::experts::{self, Gated, Kind};
use crate::{AlignedGates, ExpertElement, ExpertWeight, MoeGemmOptions, moe_gemm_into};

#[derive(Clone, Copy)]
struct Plain;

impl Kind for Plain {
    const MODULE: &'static str = "moe_op";
    const OP: &'static str = "moe_gemm";
    const ROWS: usize = 1;

    fn call<T: ExpertElement, W: ExpertWeight<T>, Y: Real>(
        (a, b): (&TensorSlice<T>, &TensorSlice<W>),
        gates: &AlignedGates<'_>,
        top_k: usize,
        options: &MoeGemmOptions<'_>,
        c: &mut TensorSlice<Y>,
    ) -> Result<()> {
        moe_gemm_into(a, b, gates, top_k, options, c)
    }

    fn expect(problem: &Problem<'_>, gated: &Gated, dtype: DType) -> Expected {
        problem.expect(gated.bias.as_ref().map(|bias| bias.view()), None, dtype)
    }
}

pub(super) fn add(cases: &mut Vec<Case>) {
    experts::add::<Plain>(cases);
    experts::add_i8::<Plain>(cases);
    experts::add_scaled::<Plain>(cases);
}
