//! The ops of the module `lean_atten_paged` against their references, and what they refuse.

use crate::common::devices;
use hk_attn::{LeanOptions, Tensor, bf16, lean_attn_paged_by_heads_fwd, parity};
use hk_core::op::dry_run;
use hk_core::{Error, TensorSlice};

#[test]
fn lean_atten_paged_has_parity() {
    hk_ref::run_module("lean_atten_paged", &parity::cases(), &devices(), 60_000_000);
}

#[test]
fn lean_atten_paged_rejects_wrong_tensors() {
    hk_ref::run_rejections("lean_atten_paged", &parity::cases(), &devices());
}

#[test]
fn lean_attn_paged_by_heads_rejects_pages_of_more_than_2_gib() {
    for device in devices() {
        let stream = device.default_stream();
        // 33 rows that are 64 MiB apart. Nothing is written, so that the host has to find no memory.
        let all = Tensor::<bf16>::empty(&stream, &[1, 33, 1 << 25]).unwrap();
        let far = all.narrow(2, 0..64).unwrap();
        let near = Tensor::filled(&stream, &[1, 33, 64], bf16::ONE).unwrap();
        let q = Tensor::filled(&stream, &[1, 1, 64], bf16::ONE).unwrap();
        let table = Tensor::from_slice(&stream, &[0i32], &[1, 1]).unwrap();
        let ends = Tensor::from_slice(&stream, &[1i32], &[1]).unwrap();
        let options = LeanOptions::default();
        let call = |k: &TensorSlice<bf16>, v: &TensorSlice<bf16>, size| {
            let call = || lean_attn_paged_by_heads_fwd(&q, k, v, &table, &ends, size, &options);
            dry_run(call).0.map(drop)
        };
        call(&far, &far, 32).unwrap();
        for (arg, k, v) in [("k", &*far, &*near), ("v", &*near, &*far)] {
            let error = call(k, v, 33).unwrap_err();
            assert!(matches!(error, Error::Value { arg: of, .. } if of == arg), "{error}");
        }
    }
}
