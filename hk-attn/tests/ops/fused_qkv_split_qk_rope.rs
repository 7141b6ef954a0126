//! The ops of the module `fused_qkv_split_qk_rope` against their references, what they refuse, and
//! what they move.

use crate::common::{Traffic, devices, few_workgroups};
use hk_attn::{
    Angles, FusedQkvSplitQkRopeOut, RopeOptions, Tensor, bf16, fused_qkv_split_qk_rope,
    fused_qkv_split_qk_rope_into, parity,
};
use hk_core::Error;

#[test]
fn fused_qkv_split_qk_rope_has_parity() {
    hk_ref::run_module("fused_qkv_split_qk_rope", &parity::cases(), &devices(), 60_000_000);
}

#[test]
fn fused_qkv_split_qk_rope_rejects_wrong_tensors_and_numbers() {
    hk_ref::run_rejections("fused_qkv_split_qk_rope", &parity::cases(), &devices());
}

#[test]
fn fused_qkv_split_qk_rope_rejects_other_heads_than_rows_have() {
    for device in devices() {
        let stream = device.default_stream();
        let qkv = Tensor::filled(&stream, &[3, 32], 1.0f32).unwrap();
        let table = Tensor::filled(&stream, &[3, 2], 0.5f32).unwrap();
        let angles = Angles::tables(&table, &table);
        let options = RopeOptions::default();
        let split = |heads| fused_qkv_split_qk_rope(&qkv, heads, &angles, &options);
        assert!(split([4, 2, 4]).is_ok());
        let error = split([4, 1, 4]).unwrap_err();
        assert!(matches!(error, Error::Shape { arg: "qkv", .. }), "{error}");
        let error = split([3, 2, 4]).unwrap_err();
        assert!(matches!(error, Error::Shape { .. } | Error::Value { .. }), "{error}");
    }
}

#[test]
fn fused_qkv_split_qk_rope_moves_rows_once() {
    for device in devices() {
        let stream = device.default_stream();
        let [tokens, qh, kh, d] = [128, 32, 8, 128];
        let qkv = Tensor::filled(&stream, &[tokens, (qh + 2 * kh) * d], bf16::ONE).unwrap();
        let empty = |heads| Tensor::<bf16>::empty(&stream, &[tokens, heads, d]).unwrap();
        let (mut q, mut k, mut v) = (empty(qh), empty(kh), empty(kh));
        let table = Tensor::filled(&stream, &[tokens, d / 2], bf16::ONE).unwrap();
        let angles = Angles::tables(&table, &table);
        let options = RopeOptions::default().rows(few_workgroups());
        let bytes = qkv.len() * 2;
        // Eight query heads at once read cosines and sines of their token, and eight key heads.
        let tables = tokens * 2 * 8 * 2 * (d / 2) * 2;
        let traffic = Traffic { read: bytes, written: bytes, tables, slots: 0 };
        traffic.check(&stream, || {
            let out = FusedQkvSplitQkRopeOut { q: &mut q, k: &mut k, v: &mut v };
            fused_qkv_split_qk_rope_into(&qkv, &angles, &options, out)
        });
    }
}
