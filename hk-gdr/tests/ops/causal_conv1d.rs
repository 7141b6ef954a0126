//! `causal_conv1d` against its reference, what it refuses, and what it moves.

use hk_core::dtype::bf16;
use hk_core::{Error, Stream, Tensor};
use hk_gdr::{
    CausalConv1dOptions, CausalConv1dVarlenOut, causal_conv1d, causal_conv1d_update,
    causal_conv1d_varlen, causal_conv1d_varlen_into, parity,
};
use hk_ref::harness::{BYTES_AT_ONCE, Moved, rejected};
use hk_ref::{Guarded, Placement};

use crate::common::devices;

#[test]
fn causal_conv1d_has_parity() {
    hk_ref::run_module("causal_conv1d", &parity::cases(), &devices(), 60_000_000);
}

#[test]
fn causal_conv1d_rejects_wrong_tensors() {
    hk_ref::run_rejections("causal_conv1d", &parity::cases(), &devices());
}

/// Tokens of channels, either of which can be adjacent in memory.
fn tokens(stream: &Stream, [channels, count]: [usize; 2], by_token: bool) -> Tensor<bf16> {
    let number = |i: usize| bf16::from_f32((i * 37 % 101) as f32 / 16.0 - 3.0);
    let data: Vec<bf16> = (0..channels * count).map(number).collect();
    if by_token {
        let whole = Tensor::from_slice(stream, &data, &[count, channels]).unwrap();
        // SAFETY: nobody has the whole any more.
        return unsafe { whole.permute(&[1, 0]).unwrap().alias() };
    }
    Tensor::from_slice(stream, &data, &[channels, count]).unwrap()
}

fn bounds(stream: &Stream, bounds: &[i32]) -> Tensor<i32> {
    Tensor::from_slice(stream, bounds, &[bounds.len()]).unwrap()
}

#[test]
fn a_sequence_in_parts_gives_the_same_bits() {
    for (device, by_token) in devices().into_iter().flat_map(|of| [(of.clone(), true), (of, false)])
    {
        let stream = device.default_stream();
        let (channels, count, width) = (75, 150, 4);
        let x = tokens(&stream, [channels, count], by_token);
        let weight = tokens(&stream, [channels, width], false);
        let states = || Tensor::zeros(&stream, &[1, channels, width - 1]).unwrap();
        let begun = Tensor::from_slice(&stream, &[1u8], &[1]).unwrap();
        let options = CausalConv1dOptions::default().silu(true).has_initial_state(&begun);
        let mut whole_state = states();
        let all = bounds(&stream, &[0, count as i32]);
        let whole =
            causal_conv1d_varlen(&x, &weight, &all, Some(&mut whole_state), &options).unwrap();
        for first in [1, 2, 3, 16, 70, 149] {
            let mut state = states();
            let mut y = Tensor::<bf16>::zeros(&stream, &[channels, count]).unwrap();
            for (from, to) in [(0, first), (first, count)] {
                let part = bounds(&stream, &[0, (to - from) as i32]);
                let options = options.chunk(32);
                let x = x.narrow(1, from..to).unwrap();
                let out = CausalConv1dVarlenOut {
                    y: &mut y.narrow_mut(1, from..to).unwrap(),
                    conv_states: Some(&mut state),
                };
                causal_conv1d_varlen_into(&x, &weight, &part, &options, out).unwrap();
            }
            assert_eq!(y.to_vec().unwrap(), whole.to_vec().unwrap(), "{first} tokens first");
            assert_eq!(state.to_vec().unwrap(), whole_state.to_vec().unwrap());
        }
    }
}

#[test]
fn updates_after_a_prefix_give_the_same_bits() {
    for device in devices() {
        let stream = device.default_stream();
        let (channels, count, width, first) = (75, 40, 4, 33);
        let x = tokens(&stream, [channels, count], true);
        let weight = tokens(&stream, [channels, width], false);
        let options = CausalConv1dOptions::default().silu(true);
        let batch = |from, to| {
            let part = x.narrow(1, from..to).unwrap();
            // SAFETY: it is only read.
            unsafe { part.alias() }.to_contiguous().unwrap()
        };
        let dense = |x: Tensor<bf16>| {
            let shape = [1, channels, x.shape()[1]];
            causal_conv1d(&x.reshape(&shape).unwrap(), &weight, None, &options).unwrap()
        };
        let whole = dense(batch(0, count));
        let mut state = dense(batch(0, first)).final_state;
        let rows = whole.y.to_vec().unwrap();
        for token in first..count {
            let x = batch(token, token + 1);
            let x = x.reshape(&[1, channels]).unwrap();
            let y = causal_conv1d_update(&x, &weight, &mut state, &options).unwrap();
            let expected: Vec<bf16> = (0..channels).map(|c| rows[c * count + token]).collect();
            assert_eq!(y.to_vec().unwrap(), expected, "token {token}");
        }
        assert_eq!(state.to_vec().unwrap(), whole.final_state.to_vec().unwrap());
    }
}

#[test]
fn skipped_sequences_have_zeros_where_results_are_allocated() {
    for device in devices() {
        let stream = device.default_stream();
        let (channels, width) = (75, 3);
        let weight = tokens(&stream, [channels, width], false);
        let lines = Tensor::from_slice(&stream, &[1i64, -1], &[2]).unwrap();
        let options = CausalConv1dOptions::default().cache_indices(&lines);
        for by_token in [true, false] {
            let x = tokens(&stream, [channels, 60], by_token);
            let mut states = Tensor::zeros(&stream, &[2, channels, width - 1]).unwrap();
            let both = bounds(&stream, &[0, 20, 60]);
            let y = causal_conv1d_varlen(&x, &weight, &both, Some(&mut states), &options).unwrap();
            let y = y.to_vec().unwrap();
            for row in y.chunks(60) {
                assert!(row[20..].iter().all(|y| y.to_bits() == 0));
                assert!(row[..20].iter().any(|y| *y != bf16::ZERO));
            }
        }
        let x = Tensor::filled(&stream, &[2, channels], bf16::ONE).unwrap();
        let mut state = Tensor::filled(&stream, &[2, channels, width - 1], bf16::ONE).unwrap();
        let y = causal_conv1d_update(&x, &weight, &mut state, &options).unwrap();
        let y = y.to_vec().unwrap();
        assert!(y[channels..].iter().all(|y| y.to_bits() == 0));
        assert!(y[..channels].iter().any(|y| *y != bf16::ZERO));
    }
}

#[test]
fn wrong_indices_and_options_are_refused() {
    for device in devices() {
        let stream = device.default_stream();
        let x = tokens(&stream, [8, 10], true);
        let weight = tokens(&stream, [8, 4], false);
        let mut y = Guarded::<bf16>::new(&stream, &[8, 10], Placement::DENSE).unwrap();
        let mut states = Tensor::zeros(&stream, &[3, 8, 3]).unwrap();
        let begun = Tensor::from_slice(&stream, &[1u8], &[1]).unwrap();
        let accepted = Tensor::from_slice(&stream, &[1i32], &[1]).unwrap();
        let default = CausalConv1dOptions::default();
        let mut refused =
            |at: &[i32], has_states: bool, options: &CausalConv1dOptions<'_, bf16>| {
                let at = bounds(&stream, at);
                let error = rejected(&mut y, |y| {
                    let conv_states = has_states.then_some(&mut *states);
                    let out = CausalConv1dVarlenOut { y, conv_states };
                    causal_conv1d_varlen_into(&x, &weight, &at, options, out)
                });
                let Error::Value { arg, .. } = error else { panic!("{error}") };
                arg
            };
        for at in [[1, 10], [0, 9], [0, 11]] {
            assert_eq!(refused(&at, true, &default), "query_start_loc");
        }
        assert_eq!(refused(&[0, 6, 5, 10], true, &default), "query_start_loc");
        for lines in [[3, 0], [-2, 0], [1, 1]] {
            let lines = Tensor::from_slice(&stream, &lines, &[2]).unwrap();
            let options = default.cache_indices(&lines);
            assert_eq!(refused(&[0, 5, 10], true, &options), "cache_indices");
        }
        assert_eq!(
            refused(&[0, 10], false, &default.has_initial_state(&begun)),
            "has_initial_state"
        );
        let accepted = default.num_accepted_tokens(&accepted);
        assert_eq!(refused(&[0, 10], true, &accepted), "num_accepted_tokens");
        for chunk in [0, 8, 24] {
            assert_eq!(refused(&[0, 10], true, &default.chunk(chunk)), "chunk");
        }
    }
}

#[test]
fn chunks_read_nothing_twice_but_what_is_before_them() {
    for device in devices() {
        let stream = device.default_stream();
        for (by_token, chunk) in [(true, 128), (true, 256), (false, 128), (false, 256)] {
            let shape = [1024, 2048];
            let [channels, count] = shape;
            let x = tokens(&stream, shape, by_token);
            let weight = Tensor::filled(&stream, &[channels, 4], bf16::ONE).unwrap();
            let all = bounds(&stream, &[0, count as i32]);
            let options = CausalConv1dOptions::default().chunk(chunk).validate_indices(false);
            let moved =
                Moved::by(&stream, || causal_conv1d_varlen(&x, &weight, &all, None, &options));
            let chunks = count / chunk;
            let (bytes, filter) = (2 * channels * count, chunks * channels * 4 * 2);
            let compulsory = bytes + (chunks - 1) * channels * 3 * 2 + filter;
            moved.once(compulsory, 0..=0, bytes);
            moved.in_full_waves((compulsory + bytes) as f64 / BYTES_AT_ONCE);
        }
    }
}
