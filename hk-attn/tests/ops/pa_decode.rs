//! The op of the module `pa_decode` against its reference, and what it refuses.

use crate::common::devices;
use hk_attn::{
    AttentionOptions, Device, PaDecodeOptions, PaDecodeOut, Result, Tensor, bf16, f16, pa_decode,
    pa_decode_into, parity,
};
use hk_core::dtype::{F8E4M3, F8E4M3Fnuz, Scalar};
use hk_core::{Arch, Error};

#[test]
fn pa_decode_has_parity() {
    hk_ref::run_module("pa_decode", &parity::cases(), &devices(), 60_000_000);
}

#[test]
fn pa_decode_rejects_wrong_tensors() {
    hk_ref::run_rejections("pa_decode", &parity::cases(), &devices());
}

/// Two sequences, of that many keys, with those rows of a table of pages of two slots, of which there
/// are four.
fn call(
    device: &Device,
    lengths: [i32; 2],
    table: [i32; 6],
    options: &PaDecodeOptions<'_>,
) -> Result<()> {
    let stream = device.default_stream();
    let query = Tensor::filled(&stream, &[2, 4, 16], bf16::ONE)?;
    let cache = Tensor::filled(&stream, &[4, 2, 2, 16], bf16::ONE)?;
    let lengths = Tensor::from_slice(&stream, &lengths, &[2])?;
    let table = Tensor::from_slice(&stream, &table, &[2, 3])?;
    pa_decode(&query, &cache, &cache, (&lengths).into(), (&table).into(), options)?;
    stream.synchronize()
}

#[test]
fn pa_decode_looks_at_lengths_and_pages() {
    for device in devices() {
        let options = PaDecodeOptions::default();
        let right = [3, 0, -7, 1, i32::MAX, -1];
        assert!(call(&device, [3, 2], right, &options).is_ok());
        let few = PaDecodeOptions { max_seq_len: Some(2), ..options };
        for (arg, lengths, table, options) in [
            ("seq_lens", [7, 2], right, options),
            ("seq_lens", [3, -1], right, options),
            ("seq_lens", [3, 2], right, few),
            ("block_tables", [5, 2], right, options),
            ("block_tables", [3, 3], right, options),
            ("block_tables", [3, 2], [4, 0, 0, 1, 0, 0], options),
        ] {
            let error = call(&device, lengths, table, &options).unwrap_err();
            assert!(matches!(error, Error::Value { arg: of, .. } if of == arg), "{error}");
            // Nothing is read where it should not be, even so.
            let attention = AttentionOptions::default().validate_indices(false);
            assert!(
                call(&device, lengths, table, &PaDecodeOptions { attention, ..options }).is_ok()
            );
        }
    }
}

#[test]
fn pa_decode_names_the_option_that_is_wrong() {
    for device in devices() {
        let stream = device.default_stream();
        let scale = Tensor::filled(&stream, &[1], 1.0f32).unwrap();
        let bias = Tensor::filled(&stream, &[1, 1, 1, 6], 1.0f32).unwrap();
        let options = AttentionOptions::default();
        for (arg, attention) in [
            ("scale", options.scale(f32::NAN)),
            ("num_splits", options.num_splits(0)),
            ("bias", options.bias(&bias)),
            ("k_descale", options.k_descale(&scale)),
            ("v_descale", options.v_descale(&scale)),
        ] {
            let options = PaDecodeOptions { attention, ..PaDecodeOptions::default() };
            let error = call(&device, [1, 1], [0; 6], &options).unwrap_err();
            assert!(matches!(error, Error::Value { arg: of, .. } if of == arg), "{error}");
        }
        let query = Tensor::filled(&stream, &[1, 1, 16], f16::ONE).unwrap();
        let cache = Tensor::filled(&stream, &[1, 1, 2, 16], bf16::ONE).unwrap();
        let index = Tensor::filled(&stream, &[1, 1], 0i32).unwrap();
        let length = Tensor::filled(&stream, &[1], 1i32).unwrap();
        let options = PaDecodeOptions::default();
        let (length, table) = ((&length).into(), (&index).into());
        let error = pa_decode(&query, &cache, &cache, length, table, &options).unwrap_err();
        assert!(matches!(error, Error::Value { arg: "key_cache", .. }), "{error}");
    }
}

#[test]
fn results_of_8_bits_are_at_most_the_largest() {
    fn check<O: hk_attn::AttentionOutput + Scalar>(device: &Device, most: f64) {
        let stream = device.default_stream();
        let query = Tensor::filled(&stream, &[1, 1, 16], bf16::ONE).unwrap();
        let value = bf16::from_f32(-1000.0);
        let cache = Tensor::filled(&stream, &[1, 1, 2, 16], value).unwrap();
        let table = Tensor::filled(&stream, &[1, 1], 0i32).unwrap();
        let lengths = Tensor::filled(&stream, &[1], 2i32).unwrap();
        let mut out = Tensor::<O>::empty(&stream, &[1, 1, 16]).unwrap();
        let into = PaDecodeOut { out: &mut *out, lse: None };
        let (lengths, table) = ((&lengths).into(), (&table).into());
        let options = PaDecodeOptions::default();
        pa_decode_into(&query, &cache, &cache, lengths, table, &options, into).unwrap();
        assert!(out.to_vec().unwrap().iter().all(|o| o.to_f64() == -most));
    }
    for device in devices() {
        match device.arch() {
            Arch::Gfx942 => check::<F8E4M3Fnuz>(&device, 240.0),
            _ => check::<F8E4M3>(&device, 448.0),
        }
    }
}
