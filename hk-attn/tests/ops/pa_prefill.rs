//! The op of the module `pa_prefill` against their references, and what they refuse.

use crate::common::{OnesCache, devices};
use hk_attn::{PaPrefillOptions, Tensor, bf16, pa_prefill_fwd, parity};
use hk_core::Error;

#[test]
fn pa_prefill_has_parity() {
    hk_ref::run_module("pa_prefill", &parity::cases(), &devices(), 60_000_000);
}

#[test]
fn pa_prefill_rejects_wrong_tensors() {
    hk_ref::run_rejections("pa_prefill", &parity::cases(), &devices());
}

#[test]
fn pa_prefill_looks_at_pages_bounds_and_lengths() {
    for device in devices() {
        let stream = device.default_stream();
        let of = |shape: &[usize]| Tensor::filled(&stream, shape, bf16::ONE).unwrap();
        // Pages of two slots, of which a sequence has three at most.
        let (four, three, two) = (of(&[4, 4, 16]), of(&[4, 3, 16]), of(&[4, 2, 16]));
        let call = |q, pages: [i32; 6], bounds: [i32; 3], lengths: [i32; 2], most, options: &_| {
            let cache = OnesCache::new(&stream, [5, 2], [&pages, &bounds, &lengths])?;
            pa_prefill_fwd(q, &two, &two, &cache.get(), most, options)?;
            stream.synchronize()
        };
        // Three new tokens behind three, and one behind two; pages behind those are nobody's.
        let (pages, bounds, lengths) = ([4, 0, 99, 3, -1, 99], [0, 3, 4], [6, 3]);
        let options = PaPrefillOptions::default();
        assert!(call(&four, pages, bounds, lengths, 3, &options).is_ok());
        for (arg, q, pages, bounds, lengths, most, options) in [
            ("hq", &three, pages, bounds, lengths, 3, options),
            ("sm_scale", &four, pages, bounds, lengths, 3, options.sm_scale(f32::NAN)),
            ("b_start_loc", &four, pages, [1, 3, 4], lengths, 3, options),
            ("b_start_loc", &four, pages, [0, 5, 4], lengths, 5, options),
            ("max_input_len", &four, pages, bounds, lengths, 2, options),
            ("b_seq_len", &four, pages, bounds, [2, 3], 3, options),
            ("b_seq_len", &four, pages, bounds, [10, 3], 3, options),
            ("b_seq_len", &four, pages, bounds, [6, -1], 3, options),
            ("b_loc", &four, [4, 5, 99, 3, -1, 99], bounds, lengths, 3, options),
            ("b_loc", &four, [4, 0, 99, -3, -1, 99], bounds, lengths, 3, options),
        ] {
            let error = call(q, pages, bounds, lengths, most, &options).unwrap_err();
            assert!(matches!(error, Error::Value { arg: of, .. } if of == arg), "{error}");
        }
    }
}

#[test]
fn pa_prefill_takes_a_table_without_pages() {
    for device in devices() {
        let stream = device.default_stream();
        let of = |shape: &[usize]| Tensor::filled(&stream, shape, bf16::ONE).unwrap();
        let (q, new) = (of(&[3, 4, 16]), of(&[3, 2, 16]));
        let cache = OnesCache::new(&stream, [1, 2], [&[], &[0, 3], &[3]]).unwrap();
        // The new tokens see each other alone, whose values are all 1.
        let options = PaPrefillOptions::default();
        let out = pa_prefill_fwd(&q, &new, &new, &cache.get(), 3, &options).unwrap();
        assert_eq!(out.to_vec().unwrap(), [bf16::ONE; 3 * 4 * 16]);
    }
}
