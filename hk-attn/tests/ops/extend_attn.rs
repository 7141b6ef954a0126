//! The op of the module `extend_attn` against their references, and what they refuse.

use crate::common::devices;
use hk_attn::{ExtendMask, ExtendOptions, ExtendPrefix, Tensor, bf16, extend_attn_fwd, parity};
use hk_core::Error;

#[test]
fn extend_attn_has_parity() {
    hk_ref::run_module("extend_attn", &parity::cases(), &devices(), 60_000_000);
}

#[test]
fn extend_attn_rejects_wrong_tensors() {
    hk_ref::run_rejections("extend_attn", &parity::cases(), &devices());
}

#[test]
fn extend_attn_looks_at_bounds_tokens_and_masks() {
    for device in devices() {
        let stream = device.default_stream();
        let x = |rows| Tensor::filled(&stream, &[rows, 2, 16], bf16::ONE).unwrap();
        let (new, cached) = (x(3), x(8));
        let mask = Tensor::filled(&stream, &[13], 1u8).unwrap();
        let call = |bounds: [i64; 3], tokens: [i32; 4], starts: [i64; 3], validates: bool| {
            let of = |values: &[i64]| Tensor::from_slice(&stream, values, &[values.len()]);
            let (qo_indptr, kv_indptr) = (of(&[0, 1, 3])?, of(&bounds)?);
            let kv_indices = Tensor::from_slice(&stream, &tokens, &[4])?;
            let mask_indptr = of(&starts)?;
            let prefix = ExtendPrefix {
                k_buffer: &cached,
                v_buffer: &cached,
                kv_indptr: (&kv_indptr).into(),
                kv_indices: (&kv_indices).into(),
            };
            let mask = ExtendMask {
                custom_mask: &mask,
                mask_indptr: (&mask_indptr).into(),
                skip_prefix: false,
            };
            let options = ExtendOptions::default().custom_mask(mask).validate_indices(validates);
            extend_attn_fwd(&new, &new, &new, &qo_indptr, 2, Some(&prefix), &options)?;
            stream.synchronize()
        };
        // A new token behind two, and two behind one; the last index is nobody's.
        let (bounds, tokens, starts) = ([0, 2, 3], [7, 0, 3, 99], [0, 3, 9]);
        assert!(call(bounds, tokens, starts, true).is_ok());
        for (arg, bounds, tokens, starts) in [
            ("kv_indptr", [1, 2, 3], tokens, starts),
            ("kv_indptr", [0, 3, 2], tokens, starts),
            ("kv_indptr", [0, 2, 5], tokens, starts),
            ("kv_indices", bounds, [7, 0, 8, 0], starts),
            ("kv_indices", bounds, [7, -1, 3, 0], starts),
            ("mask_indptr", bounds, tokens, [-1, 3, 9]),
            ("mask_indptr", bounds, tokens, [0, 8, 9]),
            ("mask_indptr", bounds, tokens, [0, i64::MAX, 9]),
        ] {
            let error = call(bounds, tokens, starts, true).unwrap_err();
            assert!(matches!(error, Error::Value { arg: of, .. } if of == arg), "{error}");
            // Nothing is read where it should not be, even so.
            assert!(call(bounds, tokens, starts, false).is_ok());
        }
    }
}

#[test]
fn extend_attn_names_its_cap() {
    for device in devices() {
        let stream = device.default_stream();
        let x = Tensor::filled(&stream, &[1, 2, 16], bf16::ONE).unwrap();
        let bounds = Tensor::from_slice(&stream, &[0i32, 1], &[2]).unwrap();
        for cap in [-1.0, f32::NAN, f32::INFINITY] {
            let options = ExtendOptions::default().logit_cap(cap);
            let error = extend_attn_fwd(&x, &x, &x, &bounds, 1, None, &options).unwrap_err();
            assert!(matches!(error, Error::Value { arg: "logit_cap", .. }), "{error}");
        }
    }
}
