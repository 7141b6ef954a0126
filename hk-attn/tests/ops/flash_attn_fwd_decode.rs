//! The ops of the module `flash_attn_fwd_decode` against their references, and what they refuse.

use crate::common::devices;
use hk_attn::{
    AttentionOptions, DecodeAppend, DecodeCache, Device, MhaOut, Result, Tensor,
    attn_merge_states_into, bf16, flash_attn_fwd_decode, flash_attn_fwd_decode_append,
    flash_attn_fwd_decode_into, parity, splitk_combine_into,
};
use hk_core::Error;

#[test]
fn flash_attn_fwd_decode_has_parity() {
    hk_ref::run_module("flash_attn_fwd_decode", &parity::cases(), &devices(), 60_000_000);
}

#[test]
fn flash_attn_fwd_decode_rejects_wrong_tensors() {
    hk_ref::run_rejections("flash_attn_fwd_decode", &parity::cases(), &devices());
}

/// What is given to a call, of two sequences in rows of five slots, or in pages of two, of which there
/// are five.
#[derive(Clone, Copy, Default)]
struct Given<'a> {
    lengths: Option<[i32; 2]>,
    advanced: Option<[i32; 2]>,
    rows: Option<[i32; 2]>,
    table: Option<[i32; 6]>,
    new: Option<usize>,
    options: AttentionOptions<'a>,
}

fn call(device: &Device, given: Given<'_>) -> Result<()> {
    let stream = device.default_stream();
    let q = Tensor::filled(&stream, &[2, 3, 4, 16], bf16::ONE)?;
    let shape = if given.table.is_some() { [5, 2, 2, 16] } else { [2, 5, 2, 16] };
    let cache = || Tensor::filled(&stream, &shape, bf16::ONE);
    let (mut k, mut v) = (cache()?, cache()?);
    let pair =
        |of: Option<[i32; 2]>| of.map(|of| Tensor::from_slice(&stream, &of, &[2])).transpose();
    let (lengths, mut advanced, rows) =
        (pair(given.lengths)?, pair(given.advanced)?, pair(given.rows)?);
    let table =
        given.table.map(|table| Tensor::from_slice(&stream, &table, &[2, 3])).transpose()?;
    let cache = DecodeCache {
        cache_seqlens: lengths.as_ref().map(Into::into),
        cache_batch_idx: rows.as_ref().map(Into::into),
        block_table: table.as_ref().map(Into::into),
    };
    if let Some(new) = given.new {
        let new = Tensor::filled(&stream, &[2, new, 2, 16], bf16::ONE)?;
        let append = DecodeAppend {
            k_new: &new,
            v_new: &new,
            cache,
            advance_seqlens: advanced.as_deref_mut(),
            seqlens: None,
        };
        flash_attn_fwd_decode_append(&q, &mut k, &mut v, append, &given.options)?;
    } else {
        flash_attn_fwd_decode(&q, &k, &v, &cache, &given.options)?;
    }
    stream.synchronize()
}

#[test]
fn flash_attn_fwd_decode_looks_at_lengths_and_places() {
    for device in devices() {
        let none = Given::default();
        let lengths = Some([3, 2]);
        let table = Some([3, 0, i32::MAX, 1, i32::MAX, -1]);
        let some = Given { lengths, ..none };
        let paged = Given { table, ..some };
        for right in [
            none,
            some,
            paged,
            Given { new: Some(1), ..paged_with(paged, [3, 0, -1, 1, 2, -1]) },
            Given { new: Some(2), ..some },
            Given { new: Some(2), ..none },
            Given { rows: Some([1, 0]), ..some },
            Given { new: Some(2), advanced: lengths, ..none },
        ] {
            call(&device, right).unwrap();
        }
        for (arg, given) in [
            ("cache_seqlens", Given { lengths: Some([6, 0]), ..none }),
            ("cache_seqlens", Given { lengths: Some([-1, 0]), ..none }),
            ("cache_seqlens", Given { new: Some(3), ..some }),
            ("cache_seqlens", Given { new: Some(3), advanced: lengths, ..none }),
            ("cache_seqlens", Given { lengths: Some([7, 0]), ..paged }),
            ("cache_batch_idx", Given { rows: Some([2, 0]), ..some }),
            ("block_table", paged_with(paged, [3, 5, 0, 1, 0, 0])),
            // There is no page for what is appended.
            ("block_table", Given { new: Some(2), ..paged }),
        ] {
            let error = call(&device, given).unwrap_err();
            assert!(matches!(error, Error::Value { arg: of, .. } if of == arg), "{error}");
            // Nothing is read or written where it should not be, even so.
            let options = given.options.validate_indices(false);
            assert!(call(&device, Given { options, ..given }).is_ok());
        }
    }
}

fn paged_with(given: Given<'_>, table: [i32; 6]) -> Given<'_> {
    Given { table: Some(table), ..given }
}

#[test]
fn flash_attn_fwd_decode_appends_to_no_page_of_more_than_32_bits() {
    for device in devices() {
        let stream = device.default_stream();
        let filled = |shape: &[usize], x| Tensor::filled(&stream, shape, x).unwrap();
        let of = |number: i64, shape: &[usize]| Tensor::from_slice(&stream, &[number], shape);
        let (q, new) = (filled(&[1, 1, 1, 16], bf16::ONE), filled(&[1, 1, 1, 16], bf16::ZERO));
        // The low half is a page that there is.
        let beyond = (1 << 32) + 1;
        let (table, row) = (of(beyond, &[1, 1]).unwrap(), of(beyond, &[1]).unwrap());
        let lengths = of(1, &[1]).unwrap();
        let some = DecodeCache { cache_seqlens: Some((&lengths).into()), ..DecodeCache::default() };
        for (arg, cache) in [
            ("block_table", DecodeCache { block_table: Some((&table).into()), ..some }),
            ("cache_batch_idx", DecodeCache { cache_batch_idx: Some((&row).into()), ..some }),
        ] {
            let (mut k, mut v) =
                (filled(&[2, 4, 1, 16], bf16::ONE), filled(&[2, 4, 1, 16], bf16::ONE));
            let mut call = |options: AttentionOptions<'_>| {
                let (k_new, v_new) = (&*new, &*new);
                let (advance_seqlens, seqlens) = (None, None);
                let append = DecodeAppend { k_new, v_new, cache, advance_seqlens, seqlens };
                flash_attn_fwd_decode_append(&q, &mut k, &mut v, append, &options)
            };
            let error = call(AttentionOptions::default()).unwrap_err();
            assert!(matches!(error, Error::Value { arg: of, .. } if of == arg), "{error}");
            call(AttentionOptions::default().validate_indices(false)).unwrap();
            for cached in [k, v] {
                assert_eq!(cached.to_vec().unwrap(), [bf16::ONE; 2 * 4 * 16]);
            }
        }
    }
}

#[test]
fn flash_attn_fwd_decode_names_what_does_not_go_together() {
    for device in devices() {
        let stream = device.default_stream();
        let bias = Tensor::filled(&stream, &[1, 1, 3, 5], 1.0f32).unwrap();
        let (none, lengths) = (Given::default(), Some([3, 2]));
        let table = Some([0; 6]);
        let of_options = |options| Given { options, ..none };
        let options = AttentionOptions::default();
        for (arg, given) in [
            ("cache_batch_idx", Given { rows: Some([0, 1]), table, lengths, ..none }),
            ("advance_seqlens", Given { lengths, advanced: lengths, new: Some(1), ..none }),
            ("cache_seqlens", Given { table, new: Some(1), ..none }),
            ("k_new", Given { new: Some(6), ..none }),
            ("bias", of_options(options.bias(&bias))),
            ("softcap", of_options(options.softcap(-1.0))),
            ("num_splits", of_options(options.num_splits(0))),
        ] {
            let error = call(&device, given).unwrap_err();
            assert!(matches!(error, Error::Value { arg: of, .. } if of == arg), "{error}");
        }
    }
}

#[test]
fn weights_are_refused_by_what_has_none() {
    for device in devices() {
        let stream = device.default_stream();
        let ones = |shape: &[usize]| Tensor::filled(&stream, shape, 1.0f32).unwrap();
        let x = Tensor::filled(&stream, &[1, 1, 1, 16], bf16::ONE).unwrap();
        let mut out = Tensor::filled(&stream, &[1, 1, 1, 16], bf16::ONE).unwrap();
        let mut states = Tensor::filled(&stream, &[1, 1, 16], bf16::ONE).unwrap();
        let mut weights = ones(&[1, 1, 1, 1]);
        let (parts, state, lse) = (ones(&[1, 1, 1, 1, 16]), ones(&[1, 1, 1, 1]), ones(&[1, 1, 1]));
        let (cache, options) = (DecodeCache::default(), AttentionOptions::default());
        let into = MhaOut { out: &mut *out, lse: None, s_dmask: Some(&mut *weights) };
        let decoded = flash_attn_fwd_decode_into(&x, &x, &x, &cache, &options, into);
        let into = MhaOut { out: &mut *out, lse: None, s_dmask: Some(&mut *weights) };
        let combined = splitk_combine_into(&parts, &state, &state, into);
        let into = MhaOut { out: &mut *states, lse: None, s_dmask: Some(&mut *weights) };
        let merged = attn_merge_states_into(&x, &lse, into);
        for result in [decoded, combined, merged] {
            let error = result.unwrap_err();
            assert!(matches!(error, Error::Value { arg: "s_dmask", .. }), "{error}");
        }
    }
}
