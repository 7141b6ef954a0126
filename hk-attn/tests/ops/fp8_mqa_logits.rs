//! The ops of the module `fp8_mqa_logits` against their references, and what they refuse.

use crate::common::devices;
use hk_attn::{F8E4M3, MqaLogitsOptions, Tensor, bf16, fp8_mqa_logits, fp8_ocp_to_fnuz, parity};
use hk_core::Error;

#[test]
fn fp8_mqa_logits_has_parity() {
    hk_ref::run_module("fp8_mqa_logits", &parity::cases(), &devices(), 20_000_000);
}

#[test]
fn fp8_mqa_logits_rejects_wrong_tensors() {
    hk_ref::run_rejections("fp8_mqa_logits", &parity::cases(), &devices());
}

#[test]
fn fp8_mqa_logits_has_rows_of_whole_chunks() {
    for device in devices() {
        let stream = device.default_stream();
        let [starts, ends] =
            [0, 300].map(|at| Tensor::from_slice(&stream, &[at; 2], &[2]).unwrap());
        let weights = Tensor::filled(&stream, &[2, 3], 1.0).unwrap();
        let call = |depth, rows| {
            let q = Tensor::filled(&stream, &[2, 3, depth], bf16::ONE).unwrap();
            let kv = Tensor::filled(&stream, &[300, depth], bf16::ONE).unwrap();
            let options = MqaLogitsOptions::default().rows_per_workgroup(rows);
            fp8_mqa_logits(&q, &kv, None, &weights, &starts, &ends, &options)
        };
        let logits = call(64, 1).unwrap();
        assert_eq!((logits.shape(), logits.strides()), (&[2, 300][..], &[512, 1][..]));
        assert_eq!(logits.to_vec().unwrap(), vec![192.0; 600]);
        let error = call(64, 0).unwrap_err();
        assert!(matches!(error, Error::Value { arg: "rows_per_workgroup", .. }), "{error}");
        for depth in [0, 257] {
            let error = call(depth, 1).unwrap_err();
            assert!(matches!(error, Error::Shape { arg: "q", .. }), "{error}");
        }
    }
}

#[test]
fn fp8_ocp_to_fnuz_halves_all_numbers() {
    let codes: Vec<_> = (0..=u8::MAX).map(F8E4M3::from_bits).collect();
    let halves = fp8_ocp_to_fnuz(&codes);
    assert_eq!(halves.len(), codes.len());
    for (code, half) in codes.into_iter().zip(halves) {
        let (number, half) = (code.to_f64(), half.to_f64());
        assert!(number.is_nan() && half.is_nan() || number == 2.0 * half, "{number} {half}");
    }
}
