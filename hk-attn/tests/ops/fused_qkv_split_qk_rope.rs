//! The ops of the module `fused_qkv_split_qk_rope` against their references, what they refuse, and
//! what they move.

use crate::common::{Traffic, devices, few_workgroups};
use hk_attn::{
    Angles, FusedQkvSplitQkNormRopeCacheOut, FusedQkvSplitQkRopeOut, GateOrder, KvCacheOptions,
    KvCaches, QkNormOptions, QkWeights, RopeOptions, Tensor, bf16,
    fused_qkv_split_qk_norm_rope_cache, fused_qkv_split_qk_norm_rope_cache_into,
    fused_qkv_split_qk_rope, fused_qkv_split_qk_rope_into, parity,
};
use hk_core::Error;
use hk_ref::harness::rejected;
use hk_ref::{Guarded, Placement};

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

#[test]
fn fused_qkv_split_qk_norm_rope_cache_moves_rows_once() {
    for device in devices() {
        let stream = device.default_stream();
        let [tokens, qh, kh, d] = [64, 32, 8, 128];
        let qkv = Tensor::filled(&stream, &[tokens, (qh + 2 * kh) * d], bf16::ONE).unwrap();
        let empty = |heads| Tensor::<bf16>::empty(&stream, &[tokens, heads, d]).unwrap();
        let (mut q, mut k, mut v) = (empty(qh), empty(kh), empty(kh));
        let cache = || Tensor::<bf16>::zeros(&stream, &[4, 16, kh, d]).unwrap();
        let (mut key, mut value) = (cache(), cache());
        let weight = Tensor::filled(&stream, &[d], bf16::ONE).unwrap();
        let table = Tensor::filled(&stream, &[tokens, d / 2], bf16::ONE).unwrap();
        let slots: Vec<i32> = (0..tokens as i32).rev().collect();
        let slots = Tensor::from_slice(&stream, &slots, &[tokens]).unwrap();
        let cache = KvCacheOptions::default().rope(RopeOptions::default().rows(few_workgroups()));
        let options = QkNormOptions::default().cache(cache);
        // Eight query heads at once read weights, and cosines and sines of their token, and eight key
        // heads.
        let tables = tokens * 2 * 8 * (2 * d + 2 * (d / 2) * 2);
        let written = 2 * (q.len() + 2 * (k.len() + v.len()));
        // Each lane of keys and of values reads the slot of its token.
        let slots_read = 2 * tokens * 64 * 4;
        let traffic = Traffic { read: 2 * qkv.len(), written, tables, slots: slots_read };
        traffic.check(&stream, || {
            let out = FusedQkvSplitQkNormRopeCacheOut {
                q: &mut q,
                k: &mut k,
                v: &mut v,
                gate: None,
                caches: KvCaches { key: &mut *key, value: &mut *value },
            };
            let weights = QkWeights { q: &*weight, k: &*weight };
            let angles = Angles::tables(&table, &table);
            fused_qkv_split_qk_norm_rope_cache_into(&qkv, weights, &angles, &slots, &options, out)
        });
    }
}

#[test]
fn fused_qkv_split_qk_norm_rope_cache_rejects_what_does_not_fit_and_leaves_output() {
    for device in devices() {
        let stream = device.default_stream();
        let [t, qh, kh, d] = [3, 4, 2, 8];
        let ones = |shape: &[usize]| Tensor::filled(&stream, shape, bf16::ONE).unwrap();
        let (weight, table) = (ones(&[d]), ones(&[t, d / 2]));
        let weights = QkWeights { q: &*weight, k: &*weight };
        let angles = Angles::tables(&table, &table);
        let mut q = Guarded::<bf16>::new(&stream, &[t, qh, d], Placement::DENSE).unwrap();
        // Of rows of so many heads; with an order of gates, and a place for them, or without.
        let mut refused =
            |heads: usize, order: Option<GateOrder>, has_gate: bool, slots: &[i64]| {
                let qkv = ones(&[t, heads * d]);
                let (mut k, mut v, mut gate) =
                    (ones(&[t, kh, d]), ones(&[t, kh, d]), ones(&[t, qh, d]));
                let (mut key, mut value) = (ones(&[2, 4, kh, d]), ones(&[2, 4, kh, d]));
                let slots = Tensor::from_slice(&stream, slots, &[t]).unwrap();
                let options = order.into_iter().fold(QkNormOptions::default(), QkNormOptions::gate);
                rejected(&mut q, |q| {
                    let out = FusedQkvSplitQkNormRopeCacheOut {
                        q,
                        k: &mut *k,
                        v: &mut *v,
                        gate: has_gate.then_some(&mut *gate),
                        caches: KvCaches { key: &mut *key, value: &mut *value },
                    };
                    fused_qkv_split_qk_norm_rope_cache_into(
                        &qkv, weights, &angles, &slots, &options, out,
                    )
                })
            };
        let (plain, gated) = (qh + 2 * kh, 2 * qh + 2 * kh);
        let slots = [0, -1, 7];
        for order in [GateOrder::Interleaved, GateOrder::Blocked] {
            for heads in [plain, gated - 1, gated + 1] {
                let error = refused(heads, Some(order), true, &slots);
                assert!(matches!(error, Error::Shape { arg: "qkv", .. }), "{error}");
            }
            let error = refused(gated, Some(order), false, &slots);
            assert!(matches!(error, Error::Value { arg: "gate", .. }), "{error}");
        }
        let error = refused(gated, None, false, &slots);
        assert!(matches!(error, Error::Shape { arg: "qkv", .. }), "{error}");
        let error = refused(plain, None, true, &slots);
        assert!(matches!(error, Error::Value { arg: "gate", .. }), "{error}");
        for (slots, wrong) in
            [([0, -2, 1], "-2 at 1"), ([0, 1, 8], "8 at 2"), ([3, -1, 3], "3 at 2")]
        {
            let error = refused(plain, None, false, &slots);
            assert!(matches!(error, Error::Value { arg: "slot_mapping", .. }), "{error}");
            assert!(error.to_string().contains(wrong), "{error}");
        }
    }
}

#[test]
fn fused_qkv_split_qk_norm_rope_cache_rejects_parts_of_groups() {
    for device in devices() {
        let stream = device.default_stream();
        let [t, kh, d] = [3, 2, 8];
        let ones = |shape: &[usize]| Tensor::filled(&stream, shape, bf16::ONE).unwrap();
        let (weight, table) = (ones(&[d]), ones(&[t, d / 2]));
        let slots = Tensor::from_slice(&stream, &[0i64, -1, 7], &[t]).unwrap();
        let call = |qh: usize| {
            let qkv = ones(&[t, (qh + 2 * kh) * d]);
            let (mut key, mut value) = (ones(&[2, 4, kh, d]), ones(&[2, 4, kh, d]));
            let result = fused_qkv_split_qk_norm_rope_cache(
                &qkv,
                [qh, kh, d],
                QkWeights { q: &*weight, k: &*weight },
                &Angles::tables(&table, &table),
                &slots,
                &QkNormOptions::default(),
                KvCaches { key: &mut *key, value: &mut *value },
            );
            (result, [key, value].map(|cache| cache.to_vec().unwrap()))
        };
        assert!(call(4).0.is_ok());
        let (result, caches) = call(3);
        let error = result.unwrap_err();
        assert!(matches!(error, Error::Value { arg: "qh", .. }), "{error}");
        assert!(caches.iter().flatten().all(|element| *element == bf16::ONE));
    }
}
