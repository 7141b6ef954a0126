//! Cases of `fused_gemm_afp4wfp4_split_cat`.

use hk_core::dtype::{E8M0, F4x2E2M1, Real};
use hk_core::op::stored::Stored;
use hk_core::{Result, TensorSlice};
use hk_ref::{Case, Draw};

use super::split_cat::{self, Kind};
use crate::{GemmOptions, SplitCatOut, fused_gemm_afp4wfp4_split_cat_into};

/// With scales of MX blocks.
struct Mx;

impl Kind for Mx {
    type T = F4x2E2M1;
    type Scale = E8M0;
    const MODULE: &'static str = "fused_gemm_afp4wfp4_split_cat";
    const GROUPS: [usize; 3] = [1, 1, 32];
    const SCALES: Draw = Draw::Powers(-6, 4);

    fn call<U: Real, Y: Real>(
        x: &TensorSlice<F4x2E2M1>,
        w: Stored<'_, F4x2E2M1>,
        x_scale: Stored<'_, E8M0>,
        w_scale: Stored<'_, E8M0>,
        y: &TensorSlice<U>,
        s1: usize,
        options: &GemmOptions<'_>,
        out: SplitCatOut<'_, Y>,
    ) -> Result<()> {
        fused_gemm_afp4wfp4_split_cat_into(x, w, x_scale, w_scale, y, s1, options, out)
    }
}

pub(super) fn add(cases: &mut Vec<Case>) {
    split_cat::add::<Mx>(cases, "mx_split_cat", None);
}
