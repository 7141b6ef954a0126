//! Cases of `moe_op_silu_fused`.

use hk_core::dtype::{DType, Real};
use hk_core::{Activation as Plain, Result, TensorSlice};
use hk_ref::moe::moe_op_mxfp4_silu_fused::expect;
use hk_ref::moe::moe_op_silu_fused::Problem;
use hk_ref::{Case, Expected};

use super::experts::{self, Gated, Kind};
use super::ragged::act;
use crate::{
    Activation, AlignedGates, ExpertElement, ExpertWeight, MoeGemmOptions, moe_silu_fused_into,
};

#[derive(Clone, Copy)]
struct SiluFused;

impl Kind for SiluFused {
    const MODULE: &'static str = "moe_op_silu_fused";
    const OP: &'static str = "moe_silu_fused";
    const ROWS: usize = 2;

    fn call<T: ExpertElement, W: ExpertWeight<T>, Y: Real>(
        (a, b): (&TensorSlice<T>, &TensorSlice<W>),
        gates: &AlignedGates<'_>,
        top_k: usize,
        options: &MoeGemmOptions<'_>,
        c: &mut TensorSlice<Y>,
    ) -> Result<()> {
        moe_silu_fused_into(a, b, gates, top_k, options, c)
    }

    fn expect(problem: &Problem<'_>, gated: &Gated, dtype: DType) -> Expected {
        match gated {
            Gated { bias: None, activation: None } => problem.expect_gated(Plain::Silu, dtype),
            Gated { bias, activation } => {
                let act = act(activation.unwrap_or(Activation::SiluAndMul));
                expect(problem, bias.as_ref().map(|bias| bias.view()), act, dtype)
            }
        }
    }
}

pub(super) fn add(cases: &mut Vec<Case>) {
    experts::add::<SiluFused>(cases);
    experts::add_i8::<SiluFused>(cases);
    experts::add_gated::<SiluFused>(cases);
    experts::add_scaled::<SiluFused>(cases);
}
