//! The ops of the module `pa_mqa_logits` against their references, and what they refuse.

use crate::common::devices;
use hk_attn::{
    F8E4M3, F8E4M3Fnuz, MqaLogitsOptions, Tensor, paged_mqa_logits_into,
    paged_mqa_logits_ragged_into, parity,
};
use hk_core::op::quant::Fp8;
use hk_core::{Arch, Device, Error};
use hk_ref::harness::rejected;
use hk_ref::{Guarded, Placement};

#[test]
fn pa_mqa_logits_has_parity() {
    hk_ref::run_module("pa_mqa_logits", &parity::cases(), &devices(), 20_000_000);
}

#[test]
fn pa_mqa_logits_rejects_wrong_tensors() {
    hk_ref::run_rejections("pa_mqa_logits", &parity::cases(), &devices());
}

/// The error of a call for two sequences, of at most 6 keys, from a cache of three pages of so many:
/// with lengths and a table, or, if pages have one key, sums of lengths and a list.
fn error_of<F: Fp8>(
    device: &Device,
    one: F,
    [depth, page_keys]: [usize; 2],
    lengths: &[i32],
    table: &[i32],
) -> Error {
    let stream = device.default_stream();
    let q = Tensor::filled(&stream, &[2, 1, 1, depth], one).unwrap();
    let weights = Tensor::filled(&stream, &[2, 1], 1.0).unwrap();
    let lengths = Tensor::from_slice(&stream, lengths, &[lengths.len()]).unwrap();
    let options = MqaLogitsOptions::default();
    let mut logits = Guarded::<f32>::new(&stream, &[2, 6], Placement::DENSE).unwrap();
    rejected(&mut logits, |logits| {
        if page_keys == 1 {
            let cache = Tensor::zeros(&stream, &[3, 1, depth + 4]).unwrap();
            let table = Tensor::from_slice(&stream, table, &[table.len()]).unwrap();
            return paged_mqa_logits_ragged_into(
                &q, &cache, &weights, &lengths, &table, &options, logits,
            );
        }
        let cache = Tensor::zeros(&stream, &[3, page_keys, 1, depth + 4]).unwrap();
        let table = Tensor::from_slice(&stream, table, &[2, table.len() / 2]).unwrap();
        paged_mqa_logits_into(&q, &cache, &weights, &lengths, &table, &options, logits)
    })
}

#[test]
fn pa_mqa_logits_rejects_wrong_lengths_and_pages() {
    for device in devices() {
        let of = |sizes, lengths: &[i32], table: &[i32]| match device.arch() {
            Arch::Gfx942 => error_of(&device, F8E4M3Fnuz::from_f32(1.0), sizes, lengths, table),
            _ => error_of(&device, F8E4M3::from_f32(1.0), sizes, lengths, table),
        };
        for (lengths, table, wrong) in [
            (&[2, -1], &[0, 1, 2, 0], "-1 at 1"),
            (&[7, 0], &[0, 1, 2, 0], "7 at 0"),
            (&[4, 5], &[0, 1, 2, 0], "5 at 1"),
        ] {
            let error = of([32, 2], lengths, table);
            assert!(matches!(error, Error::Value { arg: "context_lens", .. }), "{error}");
            assert!(error.to_string().contains(wrong), "{error}");
        }
        for (lengths, table, wrong) in
            [(&[3, 2], &[0, 3, 2, 9], "3 at 1"), (&[3, 3], &[0, 1, 2, -1], "-1 at 3")]
        {
            let error = of([32, 2], lengths, table);
            assert!(matches!(error, Error::Value { arg: "kv_indices", .. }), "{error}");
            assert!(error.to_string().contains(wrong), "{error}");
        }
        for sums in [&[1, 2, 3], &[0, 3, 2], &[0, 3, 9], &[0, 7, 7]] {
            let error = of([32, 1], sums, &[0, 1, 2, 0, 1, 2, 0, 1]);
            let arg = "prefix_sum_context_lens";
            assert!(matches!(error, Error::Value { arg: of, .. } if of == arg), "{error}");
        }
        let error = of([32, 1], &[0, 2, 3], &[0, 1, 3]);
        assert!(matches!(error, Error::Value { arg: "kv_indices", .. }), "{error}");
        let error = of([257, 2], &[0, 0], &[0, 0]);
        assert!(matches!(error, Error::Shape { arg: "q", .. }), "{error}");
    }
}
