//! Cases of `ff_fused_ungated`.

use hk_core::dtype::{DType, Real, Real16};
use hk_core::{Result, TensorSlice};
use hk_ref::gemm::ff_fused_ungated::expect_layer;
use hk_ref::{Case, Expected};
use ndarray::ArrayView2;

use super::feed_forward::{self, Kind};
use crate::{Activation, FeedForwardOptions, ff_a16w16_fused_ungated_into};

struct Ungated;

impl Kind for Ungated {
    const MODULE: &'static str = "ff_fused_ungated";
    const OP: &'static str = "ff_a16w16_fused_ungated";
    const ROWS: usize = 1;
    const FORM: &'static str = "plain";

    fn call<T: Real16, Y: Real>(
        x: &TensorSlice<T>,
        [w_up, w_down]: [&TensorSlice<T>; 2],
        options: &FeedForwardOptions<'_>,
        y: &mut TensorSlice<Y>,
    ) -> Result<()> {
        ff_a16w16_fused_ungated_into(x, w_up, w_down, options, y)
    }

    fn expect<T: Real16>(
        x: ArrayView2<'_, f64>,
        [w_up, w_down]: [ArrayView2<'_, f64>; 2],
        activation: Option<Activation>,
        dtype: DType,
    ) -> Expected {
        expect_layer::<T>(x, w_up, w_down, activation, dtype)
    }
}

pub(super) fn add(cases: &mut Vec<Case>) {
    feed_forward::add::<Ungated>(cases);
}
