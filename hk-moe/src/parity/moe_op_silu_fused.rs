//! Cases of `moe_op_silu_fused`.

use hk_core::dtype::{DType, Real, Real16};
use hk_core::{Activation, Result, TensorSlice};
use hk_ref::moe::moe_op_silu_fused::Problem;
use hk_ref::{Case, Expected};

use super::experts::{self, Kind};
use crate::{AlignedGates, ExpertElement, ExpertWeight, MoeGemmOptions, moe_silu_fused_into};

#[derive(Clone, Copy)]
struct Gated;

impl Kind for Gated {
    const MODULE: &'static str = "moe_op_silu_fused";
    const OP: &'static str = "moe_silu_fused";
    const ROWS: usize = 2;

    fn call<T: Real16 + ExpertElement, W: ExpertWeight<T>, Y: Real>(
        (a, b): (&TensorSlice<T>, &TensorSlice<W>),
        gates: &AlignedGates<'_>,
        top_k: usize,
        options: &MoeGemmOptions<'_>,
        c: &mut TensorSlice<Y>,
    ) -> Result<()> {
        moe_silu_fused_into(a, b, gates, top_k, options, c)
    }

    fn expect(problem: &Problem<'_>, dtype: DType) -> Expected {
        problem.expect_gated(Activation::Silu, dtype)
    }
}

pub(super) fn add(cases: &mut Vec<Case>) {
    experts::add::<Gated>(cases);
    experts::add_i8::<Gated>(cases);
}
