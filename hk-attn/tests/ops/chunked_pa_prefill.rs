//! The op of the module `chunked_pa_prefill` against their references, and what they refuse.

use crate::common::{OnesCache, devices};
use hk_attn::{PaPrefillOptions, Tensor, bf16, chunked_prefill_paged_decode, parity};
use hk_core::Error;
use hk_core::op::dry_run;

#[test]
fn chunked_pa_prefill_has_parity() {
    hk_ref::run_module("chunked_pa_prefill", &parity::cases(), &devices(), 60_000_000);
}

#[test]
fn chunked_pa_prefill_rejects_wrong_tensors() {
    hk_ref::run_rejections("chunked_pa_prefill", &parity::cases(), &devices());
}

#[test]
fn chunked_pa_prefill_looks_at_pages_bounds_and_lengths() {
    for device in devices() {
        let stream = device.default_stream();
        let of = |shape: &[usize]| Tensor::filled(&stream, shape, bf16::ONE).unwrap();
        // Pages of two slots, of which a sequence has three at most.
        let (four, three, two) = (of(&[4, 4, 16]), of(&[4, 3, 16]), of(&[4, 2, 16]));
        let call = |q, pages: [i32; 6], bounds: [i32; 3], lengths: [i32; 2], most, options: &_| {
            let cache = OnesCache::new(&stream, [5, 2], [&pages, &bounds, &lengths])?;
            chunked_prefill_paged_decode(q, &two, &two, &cache.get(), most, options)?;
            stream.synchronize()
        };
        // Three new tokens behind three, and a step whose three tokens are in the cache.
        let (pages, bounds, lengths) = ([4, 0, 99, 3, 1, 99], [0, 3, 4], [6, 3]);
        let options = PaPrefillOptions::default();
        assert!(call(&four, pages, bounds, lengths, 3, &options).is_ok());
        for (arg, q, pages, bounds, lengths, most, options) in [
            ("hq", &three, pages, bounds, lengths, 3, options),
            ("sm_scale", &four, pages, bounds, lengths, 3, options.sm_scale(f32::NAN)),
            ("skip_decode", &four, pages, bounds, lengths, 3, options.skip_decode(true)),
            ("query_start_loc", &four, pages, [1, 3, 4], lengths, 3, options),
            ("query_start_loc", &four, pages, [0, 5, 4], lengths, 5, options),
            ("max_query_len", &four, pages, bounds, lengths, 2, options),
            ("seq_lens", &four, pages, bounds, [2, 3], 3, options),
            ("seq_lens", &four, pages, bounds, [10, 3], 3, options),
            ("seq_lens", &four, pages, bounds, [6, -1], 3, options),
            ("block_table", &four, [4, 5, 99, 3, 1, 99], bounds, lengths, 3, options),
            ("block_table", &four, [4, 0, 99, 3, -1, 99], bounds, lengths, 3, options),
        ] {
            let error = call(q, pages, bounds, lengths, most, &options).unwrap_err();
            assert!(matches!(error, Error::Value { arg: of, .. } if of == arg), "{error}");
        }
    }
}

#[test]
fn chunked_pa_prefill_has_parts_of_single_queries_alone() {
    for device in devices() {
        let stream = device.default_stream();
        let of = |shape: &[usize]| Tensor::filled(&stream, shape, bf16::ONE).unwrap();
        let (q, new) = (of(&[64, 4, 16]), of(&[64, 2, 16]));
        // So many keys that they are split.
        let lists: [&[i32]; 3] = [&[0, 0], &[0, 63, 64], &[1000, 1000]];
        let cache = OnesCache::new(&stream, [1, 1024], lists).unwrap();
        let bytes = |most| {
            let options = PaPrefillOptions::default();
            let cache = cache.get();
            let call = || chunked_prefill_paged_decode(&q, &new, &new, &cache, most, &options);
            let (result, calls) = dry_run(call);
            result.unwrap();
            calls[0].workspace_bytes
        };
        let (of_one, of_many) = (bytes(1), bytes(64));
        assert!(of_one > 0 && of_one == of_many, "{of_one} {of_many}");
    }
}
