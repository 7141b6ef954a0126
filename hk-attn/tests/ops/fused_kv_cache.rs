//! The ops of the module `fused_kv_cache` against their references, what they refuse, and what they
//! move.

use crate::common::{Traffic, devices, few_workgroups};
use hk_attn::{
    Angles, CacheElement, CacheLayout, F8E4M3, F8E4M3Fnuz, FusedQkRopeCatAndCacheMlaOut,
    FusedQkRopeReshapeAndCacheOut, KvCacheOptions, KvCaches, RopeOptions, RopeStyle, Stream,
    Tensor, bf16, cat_and_cache_mla, fused_qk_rope_cat_and_cache_mla_into,
    fused_qk_rope_cosine_cache_llama, fused_qk_rope_reshape_and_cache,
    fused_qk_rope_reshape_and_cache_into, parity, reshape_and_cache,
};
use hk_core::dtype::decode;
use hk_core::{Arch, Device, Error};
use hk_ref::harness::{BYTES_AT_ONCE, Moved, rejected};
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
        let traffic =
            Traffic { read: bytes, written: bytes, tables: 0, slots: 2 * tokens * 64 * 4 };
        traffic.check(&stream, || {
            let caches = KvCaches { key: &mut *key, value: &mut *value };
            reshape_and_cache(&x, &x, &slots, &options, caches)
        });
    }
}

/// Into a cache of such elements.
fn cache_moves_rows_once<C: CacheElement>(stream: &Stream, layout: CacheLayout) {
    let [tokens, heads, width, block] = [64, 8, 128, 16];
    let (blocks, x) = (tokens / block, 16 / size_of::<C>());
    let keys = match layout {
        CacheLayout::Nhd => vec![blocks, block, heads, width],
        CacheLayout::Hnd => vec![blocks, heads, block, width],
        _ => vec![blocks, heads, width / x, block, x],
    };
    let values = match layout {
        CacheLayout::PagedX => vec![blocks, heads, width, block],
        CacheLayout::PagedXShuffledV => vec![blocks, heads, block / x, width, x],
        _ => keys.clone(),
    };
    let k = Tensor::filled(stream, &[tokens, heads, width], bf16::ONE).unwrap();
    let slots: Vec<i32> = (0..tokens as i32).rev().collect();
    let slots = Tensor::from_slice(stream, &slots, &[tokens]).unwrap();
    let mut key = Tensor::<C>::empty(stream, &keys).unwrap();
    let mut value = Tensor::<C>::empty(stream, &values).unwrap();
    let rope = RopeOptions::default().rows(few_workgroups());
    let options = KvCacheOptions::default().layout(layout).rope(rope);
    let moved = Moved::by(stream, || {
        let caches = KvCaches { key: &mut *key, value: &mut *value };
        reshape_and_cache(&k, &k, &slots, &options, caches)
    });
    // Each lane reads the slot of its token, once for keys and once for values.
    let lanes = 2 * tokens * 64;
    let shared = 4 * lanes as u64 + moved.counters.scalar_read_bytes;
    moved.once(4 * k.len(), shared..=shared, 2 * k.len() * size_of::<C>());
    // Lanes store what they have of eight elements, which lie apart of values in blocks by column.
    let are_apart = matches!(layout, CacheLayout::PagedX | CacheLayout::PagedXShuffledV);
    let stores = k.len() / 8 + k.len() / if are_apart { 1 } else { 8 };
    let loads = 4.0 * k.len() as f64 / BYTES_AT_ONCE;
    moved.in_full_waves(loads + (lanes + stores) as f64 / 64.0);
}

#[test]
fn reshape_and_cache_moves_rows_once_in_every_layout() {
    for device in devices() {
        let stream = device.default_stream();
        for layout in
            [CacheLayout::Nhd, CacheLayout::Hnd, CacheLayout::PagedX, CacheLayout::PagedXShuffledV]
        {
            cache_moves_rows_once::<bf16>(&stream, layout);
            match device.arch() {
                Arch::Gfx942 => cache_moves_rows_once::<F8E4M3Fnuz>(&stream, layout),
                Arch::Gfx950 => cache_moves_rows_once::<F8E4M3>(&stream, layout),
            }
        }
    }
}

#[test]
fn fused_qk_rope_reshape_and_cache_moves_rows_once() {
    for device in devices() {
        let stream = device.default_stream();
        let [tokens, qh, kh, width] = [64, 32, 8, 128];
        let x = |heads| Tensor::filled(&stream, &[tokens, heads, width], bf16::ONE).unwrap();
        let (q, k, mut q_out, mut k_out) = (x(qh), x(kh), x(qh), x(kh));
        let slots: Vec<i32> = (0..tokens as i32).rev().collect();
        let slots = Tensor::from_slice(&stream, &slots, &[tokens]).unwrap();
        let mut key = Tensor::<bf16>::zeros(&stream, &[4, 16, kh, width]).unwrap();
        let mut value = Tensor::<bf16>::zeros(&stream, &[4, 16, kh, width]).unwrap();
        let table = Tensor::filled(&stream, &[tokens, width / 2], bf16::ONE).unwrap();
        let angles = Angles::tables(&table, &table);
        let options = KvCacheOptions::default().rope(RopeOptions::default().rows(few_workgroups()));
        // Eight query heads at once read cosines and sines of their token, and eight key heads.
        let tables = tokens * (8 + 8) * 2 * (width / 2) * 2;
        let traffic = Traffic {
            read: 2 * (q.len() + 2 * k.len()),
            written: 2 * (q.len() + 3 * k.len()),
            tables,
            // Each lane of keys and of values reads the slot of its token.
            slots: 2 * tokens * 64 * 4,
        };
        traffic.check(&stream, || {
            let out = FusedQkRopeReshapeAndCacheOut {
                q: &mut *q_out,
                k: Some(&mut *k_out),
                zeros: None,
                caches: KvCaches { key: &mut *key, value: &mut *value },
            };
            fused_qk_rope_reshape_and_cache_into(&q, &k, &k, &slots, &angles, &options, out)
        });
    }
}

#[test]
fn cat_and_cache_mla_moves_rows_once() {
    for device in devices() {
        let stream = device.default_stream();
        let [tokens, n, r] = [256, 512, 64];
        let x = |width| Tensor::filled(&stream, &[tokens, 1, width], bf16::ONE).unwrap();
        let (k_nope, k_pe, mut kv_cache) = (x(n), x(r), x(n + r));
        let slots: Vec<i32> = (0..tokens as i32).rev().collect();
        let slots = Tensor::from_slice(&stream, &slots, &[tokens]).unwrap();
        let options = KvCacheOptions::default().rope(RopeOptions::default().rows(few_workgroups()));
        let bytes = 2 * kv_cache.len();
        // Each lane, which has sixteen elements, reads the slot of its token.
        let slots_read = tokens * (n + r) / 16 * 4;
        let traffic = Traffic { read: bytes, written: bytes, tables: 0, slots: slots_read };
        traffic
            .check(&stream, || cat_and_cache_mla(&k_nope, &k_pe, &slots, &options, &mut kv_cache));
    }
}

#[test]
fn fused_qk_rope_cat_and_cache_mla_moves_rows_once() {
    for device in devices() {
        let stream = device.default_stream();
        let [tokens, qh, n, r] = [64, 128, 512, 64];
        let x = |heads, width| Tensor::filled(&stream, &[tokens, heads, width], bf16::ONE).unwrap();
        let (q_nope, q_pe, k_nope, k_pe) = (x(qh, n), x(qh, r), x(1, n), x(1, r));
        let (mut q, mut k_pe_out, mut kv_cache) = (x(qh, n + r), x(1, r), x(1, n + r));
        let slots: Vec<i32> = (0..tokens as i32).rev().collect();
        let slots = Tensor::from_slice(&stream, &slots, &[tokens]).unwrap();
        let table = Tensor::filled(&stream, &[tokens, r / 2], bf16::ONE).unwrap();
        let angles = Angles::tables(&table, &table);
        let rope = RopeOptions::default().style(RopeStyle::Gptj).rows(few_workgroups());
        let options = KvCacheOptions::default().rope(rope);
        // Sixteen query heads at once read cosines and sines of their token, and the key head; each
        // lane of keys reads the slot.
        let slots_read = tokens * (n + r) / 16 * 4;
        let tables = tokens * (16 + 1) * 2 * (r / 2) * 2;
        let read = 2 * tokens * (qh + 1) * (n + r);
        let traffic = Traffic { read, written: read + 2 * tokens * r, tables, slots: slots_read };
        traffic.check(&stream, || {
            let out = FusedQkRopeCatAndCacheMlaOut {
                q: &mut *q,
                k_pe: Some(&mut *k_pe_out),
                decode_q_pe: None,
                q_nope_zeros: None,
                kv_cache: &mut *kv_cache,
            };
            fused_qk_rope_cat_and_cache_mla_into(
                &q_nope, &q_pe, &k_nope, &k_pe, &slots, &angles, &options, out,
            )
        });
    }
}

#[test]
fn a_scale_of_zero_gives_what_ieee_says() {
    for device in devices() {
        let stream = device.default_stream();
        let x = [-2.0, 0.0, 3.0, 0.5].map(bf16::from_f32);
        let x = Tensor::from_slice(&stream, &x, &[1, 1, 4]).unwrap();
        let slots = Tensor::from_slice(&stream, &[0], &[1]).unwrap();
        let scale = Tensor::filled(&stream, &[1], 0.0).unwrap();
        let mut key = Tensor::<bf16>::zeros(&stream, &[1, 1, 1, 4]).unwrap();
        let mut value = Tensor::zeros(&stream, &[1, 1, 1, 4]).unwrap();
        let options = KvCacheOptions::default().k_scale(&scale);
        let caches = KvCaches { key: &mut *key, value: &mut *value };
        reshape_and_cache(&x, &x, &slots, &options, caches).unwrap();
        let got: Vec<f32> = key.to_vec().unwrap().into_iter().map(bf16::to_f32).collect();
        assert!(got[1].is_nan(), "{got:?}");
        let infinite = [f32::NEG_INFINITY, f32::INFINITY, f32::INFINITY];
        assert_eq!([got[0], got[2], got[3]], infinite);
        assert_eq!(value.to_vec().unwrap(), x.to_vec().unwrap());
    }
}

#[test]
fn fused_qk_rope_cosine_cache_llama_is_the_op_without_keys() {
    for device in devices() {
        let stream = device.default_stream();
        let x: Vec<f32> = (0..2 * 2 * 4).map(|i| (i as f32).sin()).collect();
        let x = Tensor::from_slice(&stream, &x, &[2, 2, 4]).unwrap();
        let slots = Tensor::from_slice(&stream, &[3, 1], &[2]).unwrap();
        let freqs = Tensor::from_slice(&stream, &[0.3, 1.2, 2.5, -1.0f32], &[2, 2]).unwrap();
        let angles = Angles::freqs(&freqs);
        let options = KvCacheOptions::default();
        let caches = || [(); 2].map(|()| Tensor::<f32>::zeros(&stream, &[2, 2, 2, 4]).unwrap());
        let ([mut key, mut value], [mut other_key, mut other_value]) = (caches(), caches());
        let caches = KvCaches { key: &mut *key, value: &mut *value };
        let all = fused_qk_rope_reshape_and_cache(&x, &x, &x, &slots, &angles, &options, caches);
        let all = all.unwrap();
        let caches = KvCaches { key: &mut *other_key, value: &mut *other_value };
        let q = fused_qk_rope_cosine_cache_llama(&x, &x, &x, &slots, &angles, &options, caches);
        let q = q.unwrap().to_vec().unwrap();
        assert_eq!(q, all.q.to_vec().unwrap());
        assert_eq!(q, all.k.to_vec().unwrap());
        assert_eq!(key.to_vec().unwrap()[3 * 8..], q[..8]);
        assert_eq!(other_key.to_vec().unwrap(), key.to_vec().unwrap());
        assert_eq!(other_value.to_vec().unwrap(), value.to_vec().unwrap());
    }
}

/// Requires that a cache of 8-bit numbers up to `most` holds what IEEE says of a scale of zero, clamped.
fn divide_by_zero<C: CacheElement>(device: &Device, most: f64) {
    let stream = device.default_stream();
    let numbers = [-2.0, 0.0, 3.0, 0.5];
    let x = Tensor::from_slice(&stream, &numbers.map(bf16::from_f32), &[1, 1, 4]).unwrap();
    let slots = Tensor::from_slice(&stream, &[0], &[1]).unwrap();
    let scale = Tensor::filled(&stream, &[1], 0.0).unwrap();
    let mut key = Tensor::<C>::zeros(&stream, &[1, 1, 1, 4]).unwrap();
    let mut value = Tensor::<C>::zeros(&stream, &[1, 1, 1, 4]).unwrap();
    let options = KvCacheOptions::default().k_scale(&scale);
    let caches = KvCaches { key: &mut *key, value: &mut *value };
    reshape_and_cache(&x, &x, &slots, &options, caches).unwrap();
    let got = decode(&key.to_vec().unwrap());
    assert!(got[1].is_nan(), "{got:?}");
    assert_eq!([got[0], got[2], got[3]], [-most, most, most]);
    assert_eq!(decode(&value.to_vec().unwrap()), numbers.map(f64::from));
}

#[test]
fn a_scale_of_zero_gives_the_ends_of_8_bits() {
    for device in devices() {
        match device.arch() {
            Arch::Gfx942 => divide_by_zero::<F8E4M3Fnuz>(&device, 240.0),
            Arch::Gfx950 => divide_by_zero::<F8E4M3>(&device, 448.0),
        }
    }
}
