//! The ops of the module `fused_kv_cache` against their references, what they refuse, and what they
//! move.

mod common;

use common::{Traffic, devices, few_workgroups};
use hk_attn::{
    CacheLayout, KvCacheOptions, KvCaches, RopeOptions, Tensor, bf16, parity, reshape_and_cache,
};
use hk_core::Error;
use hk_ref::harness::rejected;
use hk_ref::{Guarded, Placement};

#[test]
fn fused_kv_cache_has_parity() {
    hk_ref::run_module("fused_kv_cache", &parity::cases(), &devices(), 60_000_000);
}

#[test]
fn fused_kv_cache_rejects_wrong_tensors() {
    hk_ref::run_rejections("fused_kv_cache", &parity::cases(), &devices());
}

#[test]
fn reshape_and_cache_rejects_wrong_slots_and_leaves_caches() {
    for device in devices() {
        let stream = device.default_stream();
        let x = Tensor::filled(&stream, &[3, 1, 4], bf16::ONE).unwrap();
        let mut key = Guarded::<bf16>::new(&stream, &[2, 2, 1, 4], Placement::DENSE).unwrap();
        for (slots, wrong) in
            [([0, -2, 1], "-2 at 1"), ([0, 1, 4], "4 at 2"), ([3, -1, 3], "3 at 2")]
        {
            let slots = Tensor::from_slice(&stream, &slots, &[3]).unwrap();
            let mut value = Tensor::zeros(&stream, &[2, 2, 1, 4]).unwrap();
            let error = rejected(&mut key, |key| {
                let caches = KvCaches { key, value: &mut *value };
                reshape_and_cache(&x, &x, &slots, &KvCacheOptions::default(), caches)
            });
            assert!(matches!(error, Error::Value { arg: "slot_mapping", .. }), "{error}");
            assert!(error.to_string().contains(wrong), "{error}");
        }
    }
}

#[test]
fn reshape_and_cache_rejects_parts_of_runs() {
    for device in devices() {
        let stream = device.default_stream();
        let slots = Tensor::from_slice(&stream, &[-1i64], &[1]).unwrap();
        let options = KvCacheOptions::default().layout(CacheLayout::PagedXShuffledV);
        for ([d, bs], arg) in [([12, 8], "d"), ([8, 12], "bs")] {
            let x = Tensor::filled(&stream, &[1, 1, d], bf16::ONE).unwrap();
            let mut key = Tensor::<bf16>::zeros(&stream, &[2, 1, d / 8, bs, 8]).unwrap();
            let mut value = Tensor::zeros(&stream, &[2, 1, bs / 8, d, 8]).unwrap();
            let caches = KvCaches { key: &mut *key, value: &mut *value };
            let error = reshape_and_cache(&x, &x, &slots, &options, caches).unwrap_err();
            assert!(matches!(error, Error::Value { arg: of, .. } if of == arg), "{error}");
        }
    }
}

#[test]
fn reshape_and_cache_moves_rows_once() {
    for device in devices() {
        let stream = device.default_stream();
        let [tokens, heads, width] = [256, 8, 128];
        let x = Tensor::filled(&stream, &[tokens, heads, width], bf16::ONE).unwrap();
        let slots: Vec<i32> = (0..tokens as i32).rev().collect();
        let slots = Tensor::from_slice(&stream, &slots, &[tokens]).unwrap();
        let mut key = Tensor::<bf16>::zeros(&stream, &[16, 16, heads, width]).unwrap();
        let mut value = Tensor::<bf16>::zeros(&stream, &[16, 16, heads, width]).unwrap();
        let options = KvCacheOptions::default().rope(RopeOptions::default().rows(few_workgroups()));
        let bytes = 2 * x.len() * 2;
        // Each lane reads the slot of its token.
        let traffic = Traffic { read: bytes, written: bytes, tables: 2 * tokens * 64 * 4 };
        traffic.check(&stream, || {
            let caches = KvCaches { key: &mut *key, value: &mut *value };
            reshape_and_cache(&x, &x, &slots, &options, caches)
        });
    }
}
