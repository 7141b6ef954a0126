//! Cases of `fused_gemm_a8w8_blockscale_split_cat`.

use std::marker::PhantomData;

use hk_core::dtype::{F8E4M3, F8E4M3Fnuz, Real};
use hk_core::op::quant::Fp8;
use hk_core::op::stored::Stored;
use hk_core::{Arch, Result, TensorSlice};
use hk_ref::{Case, Draw, in_rows};

use super::split_cat::{self, Kind};
use crate::{
    BlockscaleOptions, GemmOptions, SplitCatOut, fused_gemm_a8w8_blockscale_split_cat_into,
};

/// With scales of blocks of 128 by 128.
struct Blockscale<T>(PhantomData<T>);

impl<T: Fp8> Kind for Blockscale<T> {
    type T = T;
    type Scale = f32;
    const MODULE: &'static str = "fused_gemm_a8w8_blockscale_split_cat";
    const GROUPS: [usize; 3] = [1, 128, 128];
    const SCALES: Draw = Draw::Scaled(-6);

    fn call<U: Real, Y: Real>(
        x: &TensorSlice<T>,
        w: Stored<'_, T>,
        x_scale: Stored<'_, f32>,
        w_scale: Stored<'_, f32>,
        y: &TensorSlice<U>,
        s1: usize,
        options: &GemmOptions<'_>,
        out: SplitCatOut<'_, Y>,
    ) -> Result<()> {
        let options = BlockscaleOptions::default().gemm(options.clone());
        fused_gemm_a8w8_blockscale_split_cat_into(
            x,
            w,
            in_rows(x_scale),
            in_rows(w_scale),
            y,
            s1,
            &options,
            out,
        )
    }
}

pub(super) fn add(cases: &mut Vec<Case>) {
    let core = "a8w8_blockscale_split_cat";
    split_cat::add::<Blockscale<F8E4M3>>(cases, core, Some(Arch::Gfx950));
    split_cat::add::<Blockscale<F8E4M3Fnuz>>(cases, core, Some(Arch::Gfx942));
}
