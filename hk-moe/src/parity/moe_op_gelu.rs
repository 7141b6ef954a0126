//! Cases of `moe_op_gelu`.

use hk_core::dtype::{DType, Real};
use hk_core::{Activation, Result, TensorSlice};
use hk_ref::moe::moe_op_gelu::Problem;
use hk_ref::{Case, Expected};

use super::experts::{self, Gated, Kind};
use crate::{AlignedGates, ExpertElement, ExpertWeight, MoeGemmOptions, moe_gelu_into};

#[derive(Clone, Copy)]
struct Activated;

impl Kind for Activated {
    const MODULE: &'static str = "moe_op_gelu";
    const OP: &'static str = "moe_gelu";
    const ROWS: usize = 1;

    fn call<T: ExpertElement, W: ExpertWeight<T>, Y: Real>(
        (a, b): (&TensorSlice<T>, &TensorSlice<W>),
        gates: &AlignedGates<'_>,
        top_k: usize,
        options: &MoeGemmOptions<'_>,
        c: &mut TensorSlice<Y>,
    ) -> Result<()> {
        moe_gelu_into(a, b, gates, top_k, options, c)
    }

    fn expect(problem: &Problem<'_>, gated: &Gated, dtype: DType) -> Expected {
        problem.expect(
            gated.bias.as_ref().map(|bias| bias.view()),
            Some(Activation::GeluTanh),
            dtype,
        )
    }
}

pub(super) fn add(cases: &mut Vec<Case>) {
    experts::add::<Activated>(cases);
    experts::add_i8::<Activated>(cases);
    experts::add_scaled::<Activated>(cases);
}
