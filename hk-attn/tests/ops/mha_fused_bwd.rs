//! The ops of the module `mha_fused_bwd` against their references, and what they refuse.

use crate::common::devices;
use hk_attn::{
    AttentionOptions, AttnForward, BackwardMode, BackwardOptions, Device, Result, Tensor, bf16,
    mha_fused_bwd, mha_fwd, mha_onekernel_bwd, parity,
};
use hk_core::Error;

#[test]
fn mha_fused_bwd_has_parity() {
    hk_ref::run_module("mha_fused_bwd", &parity::cases(), &devices(), 40_000_000);
}

#[test]
fn mha_fused_bwd_rejects_wrong_tensors() {
    hk_ref::run_rejections("mha_fused_bwd", &parity::cases(), &devices());
}

/// Gradients of queries of 200 of them and as many keys, added up in a mode or as the op says.
fn gradients(device: &Device, is_fused: bool, mode: Option<BackwardMode>) -> Result<Vec<bf16>> {
    let stream = device.default_stream();
    let x = |phase: usize| {
        let of = |i: usize| bf16::from_f32(((i * 7919 + phase) % 509) as f32 / 128.0 - 2.0);
        Tensor::from_slice(&stream, &(0..200 * 64).map(of).collect::<Vec<_>>(), &[1, 200, 1, 64])
    };
    let (q, k, v, dout) = (x(1)?, x(100)?, x(200)?, x(300)?);
    let given = mha_fwd(&q, &k, &v, &AttentionOptions::default())?;
    let forward = AttnForward { q: &q, k: &k, v: &v, out: &given.out, lse: &given.lse };
    let options = mode.into_iter().fold(BackwardOptions::default(), BackwardOptions::mode);
    let gradients = match is_fused {
        true => mha_fused_bwd(&dout, &forward, &options)?,
        false => mha_onekernel_bwd(&dout, &forward, &options)?,
    };
    gradients.dq.to_vec()
}

#[test]
fn both_ways_to_add_up_give_what_bf16_can_tell_apart() {
    for device in devices() {
        let [fused, other] = [true, false].map(|of| gradients(&device, of, None).unwrap());
        let squares =
            |of: &dyn Fn(usize) -> f64| (0..fused.len()).map(|i| of(i).powi(2)).sum::<f64>();
        let difference = squares(&|i| f64::from(fused[i].to_f32() - other[i].to_f32()));
        let size = squares(&|i| f64::from(other[i].to_f32()));
        assert!(size > 0.0 && difference <= 2f64.powi(-16) * size, "{difference} of {size}");
    }
}

#[test]
fn ops_that_add_up_in_one_way_refuse_the_other() {
    for device in devices() {
        for (is_fused, mode) in
            [(true, BackwardMode::Deterministic), (false, BackwardMode::FusedAtomic)]
        {
            let error = gradients(&device, is_fused, Some(mode)).unwrap_err();
            assert!(matches!(error, Error::Value { arg: "mode", .. }), "{error}");
        }
    }
}
