//! The ops of the module `fused_qk_concat` against their references, what they refuse, and what
//! they move.

use crate::common::{Traffic, devices, few_workgroups};
use hk_attn::{
    Angles, FusedQkCatOut, RopeOptions, RopeStyle, RowOptions, Tensor, bf16, fused_qk_cat,
    fused_qk_cat_into, fused_qk_rope_cat, fused_qk_rope_cat_into, parity,
};
use hk_core::Error;

#[test]
fn fused_qk_concat_has_parity() {
    hk_ref::run_module("fused_qk_concat", &parity::cases(), &devices(), 30_000_000);
}

#[test]
fn fused_qk_concat_rejects_wrong_tensors() {
    hk_ref::run_rejections("fused_qk_concat", &parity::cases(), &devices());
}

#[test]
fn fused_qk_cat_rejects_elements_of_64_bits() {
    for device in devices() {
        let x = Tensor::filled(&device.default_stream(), &[1, 1, 2], 1i64).unwrap();
        let error = fused_qk_cat(&x, &x, &x, &x, &RowOptions::default()).unwrap_err();
        assert!(matches!(error, Error::Value { arg: "q1", .. }), "{error}");
    }
}

#[test]
fn fused_qk_cat_counts_heads_in_32_bits() {
    for device in devices() {
        let stream = device.default_stream();
        let x = |heads| Tensor::<u8>::empty(&stream, &[0, heads, 2]).unwrap();
        let call = |heads| {
            let (q, k) = (x(heads), x(1));
            fused_qk_cat(&q, &q, &k, &k, &RowOptions::default())
        };
        assert!(call((1 << 31) - 1).is_ok());
        let error = call(1 << 31).unwrap_err();
        assert!(matches!(error, Error::Shape { arg: "q1", .. }), "{error}");
    }
}

#[test]
fn fused_qk_rope_cat_takes_tables_without_rows_for_no_tokens() {
    for device in devices() {
        let stream = device.default_stream();
        let of = |shape: &[usize]| Tensor::filled(&stream, shape, 1.0f32).unwrap();
        let call = |tokens| {
            let (x, table) = (of(&[tokens, 1, 8]), of(&[0, 4]));
            let angles = Angles::tables(&table, &table);
            fused_qk_rope_cat(&x, &x, &x, &x, &angles, &RopeOptions::default())
        };
        assert!(call(0).is_ok());
        let error = call(1).unwrap_err();
        assert!(matches!(error, Error::Shape { arg: "cos", .. }), "{error}");
    }
}

#[test]
fn fused_qk_rope_cat_rejects_parts_of_rows_and_of_groups() {
    for device in devices() {
        let stream = device.default_stream();
        let x = |heads, width| Tensor::filled(&stream, &[2, heads, width], 1.0f32).unwrap();
        let table = |columns| Tensor::filled(&stream, &[2, columns], 0.5f32).unwrap();
        let call = |heads: usize, columns: usize| {
            let table = table(columns);
            let angles = Angles::tables(&table, &table);
            let (q1, q2, k1, k2) = (x(heads, 4), x(heads, 8), x(2, 4), x(2, 8));
            fused_qk_rope_cat(&q1, &q2, &k1, &k2, &angles, &RopeOptions::default())
        };
        assert!(call(4, 4).is_ok());
        for columns in [3, 5] {
            let error = call(4, columns).unwrap_err();
            assert!(matches!(error, Error::Shape { arg: "cos", .. }), "{error}");
        }
        let error = call(3, 4).unwrap_err();
        assert!(matches!(error, Error::Value { arg: "qh", .. }), "{error}");
    }
}

#[test]
fn fused_qk_cat_moves_rows_once() {
    for device in devices() {
        let stream = device.default_stream();
        let x = |heads, width| Tensor::filled(&stream, &[32, heads, width], 7u8).unwrap();
        let (q1, q2, k1, k2) = (x(16, 512), x(16, 64), x(1, 512), x(1, 64));
        let (mut q, mut k) = (x(16, 576), x(1, 576));
        let bytes = q.len() + k.len();
        let traffic = Traffic { read: bytes, written: bytes, tables: 0, slots: 0 };
        traffic.check(&stream, || {
            let out = FusedQkCatOut { q: &mut q, k: &mut k };
            fused_qk_cat_into(&q1, &q2, &k1, &k2, &few_workgroups(), out)
        });
    }
}

#[test]
fn fused_qk_rope_cat_moves_rows_once() {
    for device in devices() {
        let stream = device.default_stream();
        let [tokens, qh, kh, n, r] = [64, 128, 1, 512, 64];
        let x = |heads, width| Tensor::filled(&stream, &[tokens, heads, width], bf16::ONE).unwrap();
        let (q1, q2, k1, k2) = (x(qh, n), x(qh, r), x(kh, n), x(kh, r));
        let (mut q, mut k) = (x(qh, n + r), x(kh, n + r));
        let table = Tensor::filled(&stream, &[tokens, r / 2], bf16::ONE).unwrap();
        let angles = Angles::tables(&table, &table);
        let options = RopeOptions::default().style(RopeStyle::Gptj).rows(few_workgroups());
        let bytes = 2 * (q.len() + k.len());
        // Sixteen query heads at once read cosines and sines of their token, and the key head.
        let tables = tokens * (16 + 1) * 2 * (r / 2) * 2;
        let traffic = Traffic { read: bytes, written: bytes, tables, slots: 0 };
        traffic.check(&stream, || {
            let out = FusedQkCatOut { q: &mut *q, k: &mut *k };
            fused_qk_rope_cat_into(&q1, &q2, &k1, &k2, &angles, &options, out)
        });
    }
}
