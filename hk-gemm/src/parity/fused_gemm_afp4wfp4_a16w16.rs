//! Cases of `fused_gemm_afp4wfp4_a16w16`.

use hk_core::dtype::{E8M0, F4x2E2M1, Real, Real16};
use hk_core::op::stored::Stored;
use hk_core::{Result, TensorSlice};
use hk_ref::gemm::fused_gemm_afp4wfp4_a16w16::BLOCK;
use hk_ref::{Case, Draw};

use super::two_products::{self, Kind};
use crate::{TwoProductsOptions, TwoProductsOut, fused_gemm_afp4wfp4_a16w16_into as op_into};

/// With scales of MX blocks.
struct Mx;

impl Kind for Mx {
    type T = F4x2E2M1;
    type Scale = E8M0;
    const MODULE: &'static str = "fused_gemm_afp4wfp4_a16w16";
    const CORE: &'static str = "mx_a16w16";
    const NAMES: [&'static str; 6] =
        ["x_fp4", "w_fp4", "x_fp4_scale", "w_fp4_scale", "bias_fp4", "y_fp4"];
    const GROUPS: [usize; 2] = [1, BLOCK];
    const SCALES: Draw = Draw::Powers(-6, 4);

    fn call<U: Real16, Y: Real>(
        narrow: (&TensorSlice<F4x2E2M1>, Stored<'_, F4x2E2M1>),
        [x_scale, w_scale]: [Stored<'_, E8M0>; 2],
        wide: [&TensorSlice<U>; 2],
        options: &TwoProductsOptions<'_>,
        out: TwoProductsOut<'_, Y>,
    ) -> Result<()> {
        op_into(narrow, (x_scale, w_scale), wide, options, out)
    }
}

pub(super) fn add(cases: &mut Vec<Case>) {
    two_products::add::<Mx>(cases, None);
}
