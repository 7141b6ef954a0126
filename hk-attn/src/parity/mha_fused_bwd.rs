//! Cases of the ops of the module `mha_fused_bwd`.

use hk_core::Result;
use hk_ref::Case;

use super::backward::{self, Kind};
use crate::{
    AttnForward, AttnGradientsOut, BackwardElement, BackwardMode, BackwardOptions, TensorSlice,
    VarlenOptions, mha_fused_bwd_into, mha_varlen_fused_bwd_into,
};

#[derive(Clone, Copy)]
struct Ops;

impl Kind for Ops {
    const MODULE: &'static str = "mha_fused_bwd";
    const OPS: [&'static str; 2] = ["mha_fused_bwd", "mha_varlen_fused_bwd"];
    const HEADS_FIRST: bool = false;
    const MODES: &'static [BackwardMode] = &[BackwardMode::Deterministic];
    const IS_FUSED: bool = true;

    fn dense<T: BackwardElement>(
        dout: &TensorSlice<T>,
        forward: &AttnForward<'_, T>,
        options: &BackwardOptions<'_>,
        out: AttnGradientsOut<'_, T>,
    ) -> Result<()> {
        mha_fused_bwd_into(dout, forward, options, out)
    }

    fn packed<'a, T: BackwardElement>(
        dout: &TensorSlice<T>,
        forward: &AttnForward<'_, T>,
        varlen: &VarlenOptions<'a>,
        options: &BackwardOptions<'a>,
        out: AttnGradientsOut<'_, T>,
    ) -> Result<()> {
        mha_varlen_fused_bwd_into(dout, forward, varlen, options, out)
    }
}

/// Every case.
pub(super) fn cases() -> Vec<Case> {
    backward::cases::<Ops>()
}
