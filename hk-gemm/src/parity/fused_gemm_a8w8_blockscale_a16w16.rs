//! Cases of `fused_gemm_a8w8_blockscale_a16w16`.

use std::marker::PhantomData;

use hk_core::dtype::{F8E4M3, F8E4M3Fnuz, Real, Real16};
use hk_core::op::quant::Fp8;
use hk_core::op::stored::Stored;
use hk_core::{Arch, Result, TensorSlice};
use hk_ref::{Case, Draw, in_rows};

use super::two_products::{self, Kind};
use crate::{
    TwoProductsOptions, TwoProductsOut, fused_gemm_a8w8_blockscale_a16w16_into as op_into,
};

/// With scales of blocks of 128 by 128.
struct Blockscale<T>(PhantomData<T>);

impl<T: Fp8> Kind for Blockscale<T> {
    type T = T;
    type Scale = f32;
    const MODULE: &'static str = "fused_gemm_a8w8_blockscale_a16w16";
    const CORE: &'static str = "a8w8_blockscale_a16w16";
    const NAMES: [&'static str; 6] =
        ["x_fp8", "w_fp8", "x_fp8_scale", "w_fp8_scale", "bias_fp8", "y_fp8"];
    const GROUPS: [usize; 2] = [128; 2];
    const SCALES: Draw = Draw::Scaled(-6);

    fn call<U: Real16, Y: Real>(
        narrow: (&TensorSlice<T>, Stored<'_, T>),
        scales: [Stored<'_, f32>; 2],
        wide: [&TensorSlice<U>; 2],
        options: &TwoProductsOptions<'_>,
        out: TwoProductsOut<'_, Y>,
    ) -> Result<()> {
        op_into(narrow, scales.map(in_rows), wide, options, out)
    }
}

pub(super) fn add(cases: &mut Vec<Case>) {
    two_products::add::<Blockscale<F8E4M3>>(cases, Some(Arch::Gfx950));
    two_products::add::<Blockscale<F8E4M3Fnuz>>(cases, Some(Arch::Gfx942));
}
