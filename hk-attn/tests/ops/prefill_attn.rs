//! The op of the module `prefill_attn` against their references, and what they refuse.

use crate::common::devices;
use hk_attn::{PrefillOptions, Tensor, bf16, parity, prefill_attn_fwd};
use hk_core::Error;

#[test]
fn prefill_attn_has_parity() {
    hk_ref::run_module("prefill_attn", &parity::cases(), &devices(), 60_000_000);
}

#[test]
fn prefill_attn_rejects_wrong_tensors() {
    hk_ref::run_rejections("prefill_attn", &parity::cases(), &devices());
}

#[test]
fn prefill_attn_looks_at_sequences_and_scale() {
    for device in devices() {
        let stream = device.default_stream();
        let x = |heads| Tensor::filled(&stream, &[5, heads, 16], bf16::ONE).unwrap();
        let (two, three, four) = (x(2), x(3), x(4));
        let call = |q, starts: [i64; 2], lengths: [i32; 2], most, options: &PrefillOptions| {
            let starts = Tensor::from_slice(&stream, &starts, &[2])?;
            let lengths = Tensor::from_slice(&stream, &lengths, &[2])?;
            prefill_attn_fwd(q, &two, &two, &starts, &lengths, most, options)?;
            stream.synchronize()
        };
        let (starts, lengths, options) = ([2, 0], [3, 1], PrefillOptions::default());
        assert!(call(&four, starts, lengths, 3, &options).is_ok());
        for (arg, q, starts, lengths, most, options) in [
            ("hq", &three, starts, lengths, 3, options),
            ("scale", &four, starts, lengths, 3, options.scale(f32::NAN)),
            ("b_seq_len", &four, starts, lengths, 2, options),
            ("b_seq_len", &four, starts, [3, -1], 3, options),
            ("b_start_loc", &four, [3, 0], lengths, 3, options),
            ("b_start_loc", &four, [2, -1], lengths, 3, options),
            ("b_start_loc", &four, [i64::MAX, 0], lengths, 3, options),
        ] {
            let error = call(q, starts, lengths, most, &options).unwrap_err();
            assert!(matches!(error, Error::Value { arg: of, .. } if of == arg), "{error}");
        }
        // What is not looked at reads and writes nothing that is not the tensors'.
        let unchecked = options.validate_indices(false);
        for (starts, lengths) in [([3, 0], lengths), ([2, -1], lengths), (starts, [3, -1])] {
            assert!(call(&four, starts, lengths, 3, &unchecked).is_ok());
        }
    }
}
