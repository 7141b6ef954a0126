//! The op of the module `mla_decode_rope` against its reference, and what it refuses.

use crate::common::devices;
use hk_attn::{
    Device, MlaDecodeOptions, MlaRope, MlaTokens, Result, RopeStyle, Tensor, bf16, mla_decode_rope,
    parity,
};
use hk_core::Error;
use hk_ref::Draw;

#[test]
fn mla_decode_rope_has_parity() {
    hk_ref::run_module("mla_decode_rope", &parity::cases(), &devices(), 60_000_000);
}

#[test]
fn mla_decode_rope_rejects_wrong_tensors() {
    hk_ref::run_rejections("mla_decode_rope", &parity::cases(), &devices());
}

/// What is given to a call: of two sequences, bounds of three tokens among four, the tokens and the
/// positions of tables of five.
#[derive(Clone, Copy)]
struct Given {
    bounds: [i32; 3],
    tokens: [i32; 3],
    positions: [i32; 2],
    rank: usize,
    /// Columns of tables.
    rotary: usize,
    scale: f32,
    options: MlaDecodeOptions,
}

fn call(device: &Device, given: Given) -> Result<()> {
    let stream = device.default_stream();
    let q = Tensor::filled(&stream, &[2, 3, 40], bf16::ONE)?;
    let k_buffer = Tensor::filled(&stream, &[4, 1, 40], bf16::ONE)?;
    let kv_indptr = Tensor::from_slice(&stream, &given.bounds, &[3])?;
    let kv_indices = Tensor::from_slice(&stream, &given.tokens, &[3])?;
    let cos_sin_cache = Tensor::filled(&stream, &[5, given.rotary], 1.0f32)?;
    let positions = Tensor::from_slice(&stream, &given.positions, &[2])?;
    let mut k_pe_tokens = Tensor::filled(&stream, &[2, 8], bf16::ONE)?;
    let tokens = MlaTokens {
        kv_indptr: (&kv_indptr).into(),
        kv_indices: (&kv_indices).into(),
        kv_lora_rank: given.rank,
    };
    let rope = MlaRope {
        cos_sin_cache: &cos_sin_cache,
        positions: (&positions).into(),
        style: RopeStyle::Neox,
        k_pe_tokens: &mut k_pe_tokens,
    };
    mla_decode_rope(&q, &k_buffer, None, &tokens, Some(rope), given.scale, &given.options)?;
    stream.synchronize()
}

#[test]
fn mla_decode_rope_names_what_is_wrong() {
    for device in devices() {
        let options = MlaDecodeOptions::default();
        let right = Given {
            bounds: [0, 1, 3],
            tokens: [3, 0, 2],
            positions: [4, 0],
            rank: 32,
            rotary: 8,
            scale: 0.5,
            options,
        };
        call(&device, right).unwrap();
        for (arg, given) in [
            ("kv_indptr", Given { bounds: [0, 2, 1], ..right }),
            ("kv_indptr", Given { bounds: [1, 2, 3], ..right }),
            ("kv_indptr", Given { bounds: [0, 2, 4], ..right }),
            ("kv_indptr", Given { bounds: [-9, i32::MAX, 3], ..right }),
            ("kv_indices", Given { tokens: [0, 4, 1], ..right }),
            ("kv_indices", Given { tokens: [0, 1, -1], ..right }),
            ("positions", Given { positions: [5, 0], ..right }),
            ("positions", Given { positions: [0, -1], ..right }),
        ] {
            let error = call(&device, given).unwrap_err();
            assert!(matches!(error, Error::Value { arg: of, .. } if of == arg), "{error}");
            // Nothing is read where it should not be, even so.
            let options = MlaDecodeOptions { validate_indices: Some(false), ..options };
            assert!(call(&device, Given { options, ..given }).is_ok());
        }
        let of = |options| Given { options, ..right };
        for (arg, given) in [
            ("kv_lora_rank", Given { rank: 0, ..right }),
            ("kv_lora_rank", Given { rank: 513, ..right }),
            ("cos_sin_cache", Given { rotary: 7, ..right }),
            ("scale", Given { scale: f32::INFINITY, ..right }),
            ("logit_cap", of(MlaDecodeOptions { logit_cap: -1.0, ..options })),
            ("num_kv_splits", of(MlaDecodeOptions { num_kv_splits: Some(0), ..options })),
            ("num_kv_splits", of(MlaDecodeOptions { num_kv_splits: Some(129), ..options })),
        ] {
            let error = call(&device, given).unwrap_err();
            assert!(matches!(error, Error::Value { arg: of, .. } if of == arg), "{error}");
        }
        for given in [Given { rotary: 10, ..right }, Given { rank: 40, ..right }] {
            let error = call(&device, given).unwrap_err();
            assert!(matches!(error, Error::Shape { .. }), "{error}");
        }
    }
}

#[test]
fn mla_decode_rope_takes_more_indices_than_there_are_tokens() {
    for device in devices() {
        let stream = device.default_stream();
        let of = |seed, shape: &[usize]| {
            let values = Draw::Normal.values::<bf16>(seed, shape.iter().product());
            Tensor::from_slice(&stream, &values, shape).unwrap()
        };
        let (q, k_buffer) = (of(1, &[2, 3, 40]), of(2, &[4, 1, 40]));
        let kv_indptr = Tensor::from_slice(&stream, &[0i32, 1, 3], &[3]).unwrap();
        // What is behind the last bound is not looked at.
        let of_tokens = |list: &[i32]| {
            let kv_indices = Tensor::from_slice(&stream, list, &[list.len()]).unwrap();
            let tokens = MlaTokens {
                kv_indptr: (&kv_indptr).into(),
                kv_indices: (&kv_indices).into(),
                kv_lora_rank: 32,
            };
            let options =
                MlaDecodeOptions { num_kv_splits: Some(2), ..MlaDecodeOptions::default() };
            let rope = None::<MlaRope<'_, bf16, f32>>;
            let o = mla_decode_rope(&q, &k_buffer, None, &tokens, rope, 0.5, &options).unwrap();
            o.to_vec().unwrap()
        };
        assert_eq!(of_tokens(&[3, 0, 2, 99, -1]), of_tokens(&[3, 0, 2]), "{device:?}");
    }
}
