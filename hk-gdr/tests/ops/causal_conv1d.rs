//! `causal_conv1d` against its reference, what it refuses, and what it moves.

use hk_core::dtype::bf16;
use hk_core::{Error, Stream, Tensor};
use hk_gdr::{
    CausalConv1dFwdSplitQkvOut, CausalConv1dOptions, CausalConv1dOut, CausalConv1dUpdateOut,
    CausalConv1dUpdateSplitQkvOut, CausalConv1dVarlenOut, causal_conv1d,
    causal_conv1d_fwd_split_qkv_into, causal_conv1d_into, causal_conv1d_update,
    causal_conv1d_update_into, causal_conv1d_update_split_qkv_into, causal_conv1d_varlen,
    causal_conv1d_varlen_into, parity,
};
use hk_ref::harness::{BYTES_AT_ONCE, Moved, rejected};
use hk_ref::{Guarded, Placement};

use crate::common::{devices, of_arguments};

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

/// A convolution, of the ways in which there are tokens and states.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Op {
    Dense,
    Varlen,
    Update,
    UpdateSplit,
    FwdSplit,
}

impl Op {
    const ALL: [Self; 5] =
        [Self::Dense, Self::Varlen, Self::Update, Self::UpdateSplit, Self::FwdSplit];

    fn name(self) -> &'static str {
        match self {
            Self::Dense => "causal_conv1d",
            Self::Varlen => "causal_conv1d_varlen",
            Self::Update => "causal_conv1d_update",
            Self::UpdateSplit => "causal_conv1d_update_split_qkv",
            Self::FwdSplit => "causal_conv1d_fwd_split_qkv",
        }
    }

    /// The argument that states are.
    fn states(self) -> &'static str {
        match self {
            Self::Dense => "initial_state",
            Self::Update | Self::UpdateSplit => "conv_state",
            Self::Varlen | Self::FwdSplit => "conv_states",
        }
    }

    fn has_bounds(self) -> bool {
        matches!(self, Self::Varlen | Self::FwdSplit)
    }
}

/// What an op is given with five tokens, of eight channels, of each of two sequences.
#[derive(Debug, Clone, Copy)]
struct Given<'a> {
    weight: [usize; 2],
    /// Lines, channels and columns; none for an op with bounds alone.
    states: Option<[usize; 3]>,
    bounds: &'a [i32],
    options: CausalConv1dOptions<'a, bf16>,
}

impl<'a> Given<'a> {
    /// What is right for the op.
    fn right(op: Op) -> Self {
        let lines = if op == Op::Dense { 2 } else { 3 };
        let (states, options) = (Some([lines, 8, 3]), CausalConv1dOptions::default());
        Self { weight: [8, 4], states, bounds: &[0, 5, 10], options }
    }

    fn with(self, options: CausalConv1dOptions<'a, bf16>) -> Self {
        Self { options, ..self }
    }

    /// The argument that the op blames, by that kind of error, with nothing launched or written.
    fn refused(&self, stream: &Stream, op: Op) -> (&'static str, &'static str) {
        let Given { weight, states, bounds: at, options } = self;
        let ones = |shape: &[usize]| Tensor::filled(stream, shape, bf16::ONE).unwrap();
        let (weight, at) = (ones(weight), bounds(stream, at));
        let (shape, shape_of_x): (&[usize], &[usize]) = match op {
            Op::Dense | Op::Update => (&[2, 8, 5], &[2, 8, 5]),
            Op::Varlen => (&[8, 10], &[8, 10]),
            Op::UpdateSplit => (&[2, 4, 5], &[2, 8, 5]),
            Op::FwdSplit => (&[10, 4], &[8, 10]),
        };
        let x = ones(shape_of_x);
        let mut keys = shape.to_vec();
        keys[1] = 2;
        let (mut q, mut k) = (ones(&keys), ones(&keys));
        let has_states = states.is_some();
        let mut state = ones(&states.unwrap_or([3, 8, 3]));
        let mut y = Guarded::<bf16>::new(stream, shape, Placement::DENSE).unwrap();
        let error = rejected(&mut y, |y| match op {
            Op::Dense => {
                let initial = ones(state.shape());
                let out = CausalConv1dOut { y, final_state: Some(&mut *state) };
                causal_conv1d_into(&x, &weight, Some(&*initial), options, out)
            }
            Op::Varlen => {
                let conv_states = has_states.then_some(&mut *state);
                let out = CausalConv1dVarlenOut { y, conv_states };
                causal_conv1d_varlen_into(&x, &weight, &at, options, out)
            }
            Op::Update => {
                let conv_state = &mut *state;
                let out = CausalConv1dUpdateOut { y, conv_state, intermediate_conv_window: None };
                causal_conv1d_update_into(&x, &weight, options, out)
            }
            Op::UpdateSplit => {
                let (q, k, conv_state) = (&mut *q, &mut *k, &mut *state);
                let out = CausalConv1dUpdateSplitQkvOut { q, k, v: y, conv_state };
                causal_conv1d_update_split_qkv_into(&x, &weight, 2, 4, options, out)
            }
            Op::FwdSplit => {
                let (q, k) = (&mut *q, &mut *k);
                let conv_states = has_states.then_some(&mut *state);
                let out = CausalConv1dFwdSplitQkvOut { q, k, v: y, conv_states };
                causal_conv1d_fwd_split_qkv_into(&x, &weight, &at, 2, 4, options, out)
            }
        });
        for output in [&q, &k, &state] {
            assert!(output.to_vec().unwrap().iter().all(|x| *x == bf16::ONE), "{op:?}: {error}");
        }
        let (name, kind, arg) = match error {
            Error::Shape { op, arg, .. } => (op, "shape", arg),
            Error::Value { op, arg, .. } => (op, "value", arg),
            _ => panic!("{op:?}: {error}"),
        };
        assert_eq!(name, op.name());
        (kind, arg)
    }
}

#[test]
fn wrong_widths_states_indices_and_options_are_refused() {
    for (device, op) in devices().iter().flat_map(|device| Op::ALL.map(|op| (device, op))) {
        let stream = device.default_stream();
        let right = Given::right(op);
        let refused = |given: Given<'_>, kind: &str, arg: &str| {
            assert_eq!(given.refused(&stream, op), (kind, arg), "{op:?}: {given:?}");
        };
        for width in [1, 5] {
            refused(Given { weight: [8, width], ..right }, "shape", "weight");
        }
        // Fewer columns than the filter reads, and fewer lines than there are sequences.
        for states in [[3, 8, 2], [1, 8, 3]] {
            let lines = if op == Op::Dense { states[0].min(2) } else { states[0] };
            let states = Some([lines, states[1], states[2]]);
            refused(Given { states, ..right }, "shape", op.states());
        }

        for list in [[3, 0], [-2, 0], [1, 1], [0, i32::MAX]] {
            let few = Tensor::from_slice(&stream, &list, &[2]).unwrap();
            refused(right.with(right.options.cache_indices(&few)), "value", "cache_indices");
            let many = Tensor::from_slice(&stream, &list.map(i64::from), &[2]).unwrap();
            refused(right.with(right.options.cache_indices(&many)), "value", "cache_indices");
        }
        // Its lower half is a line that there is.
        let far = Tensor::from_slice(&stream, &[1i64 << 32, 1], &[2]).unwrap();
        refused(right.with(right.options.cache_indices(&far)), "value", "cache_indices");
        // Dense sequences have states of their own.
        let lines = Tensor::from_slice(&stream, &[1i32, 0], &[2]).unwrap();
        if op == Op::Dense {
            refused(right.with(right.options.cache_indices(&lines)), "value", "cache_indices");
        }

        let begun = Tensor::from_slice(&stream, &[1u8, 0], &[2]).unwrap();
        let begun = right.with(right.options.has_initial_state(&begun));
        if op.has_bounds() {
            refused(Given { states: None, ..begun }, "value", "has_initial_state");
            for bounds in [&[1, 5, 10][..], &[0, 5, 9], &[0, 5, 11], &[0, 6, 5, 10]] {
                refused(Given { bounds, ..right }, "value", "query_start_loc");
            }
        } else {
            refused(begun, "value", "has_initial_state");
        }
        let accepted = Tensor::from_slice(&stream, &[1i32, 1], &[2]).unwrap();
        let accepted = right.with(right.options.num_accepted_tokens(&accepted));
        refused(accepted, "value", "num_accepted_tokens");
        for chunk in [0, 8, 24] {
            refused(right.with(right.options.chunk(chunk)), "value", "chunk");
        }
    }
}

#[test]
fn states_after_each_token_are_refused() {
    for device in devices() {
        let stream = device.default_stream();
        let ones = |shape: &[usize]| Tensor::filled(&stream, shape, bf16::ONE).unwrap();
        let (x, weight) = (ones(&[2, 8, 5]), ones(&[8, 4]));
        let (mut y, mut state) = (ones(&[2, 8, 5]), ones(&[2, 8, 3]));
        let mut window = Guarded::<bf16>::new(&stream, &[2, 5, 8, 3], Placement::DENSE).unwrap();
        let error = rejected(&mut window, |window| {
            let (y, conv_state) = (&mut *y, &mut *state);
            let intermediate_conv_window = Some(&mut **window);
            let out = CausalConv1dUpdateOut { y, conv_state, intermediate_conv_window };
            causal_conv1d_update_into(&x, &weight, &CausalConv1dOptions::default(), out)
        });
        assert!(matches!(error, Error::Value { arg: "intermediate_conv_window", .. }), "{error}");
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

#[test]
fn sequences_of_one_length_and_their_states_are_read_and_written_once() {
    for (device, by_token) in devices().into_iter().flat_map(|of| [(of.clone(), true), (of, false)])
    {
        let stream = device.default_stream();
        let ([n, channels, count], width, chunk) = ([2, 1024, 1024], 4, 256);
        let (shape, axes) = if by_token {
            ([n, count, channels], [0, 2, 1])
        } else {
            ([n, channels, count], [0, 1, 2])
        };
        let ones = |shape: &[usize]| Tensor::filled(&stream, shape, bf16::ONE).unwrap();
        let (whole, mut results, weight) = (ones(&shape), ones(&shape), ones(&[channels, width]));
        let of_states = [n, channels, width - 1];
        let (initial, mut last) = (ones(&of_states), ones(&of_states));
        let x = whole.permute(&axes).unwrap();
        let mut y = results.permute_mut(&axes).unwrap();
        let options = CausalConv1dOptions::default().chunk(chunk);
        let moved = Moved::by(&stream, || {
            let out = CausalConv1dOut { y: &mut *y, final_state: Some(&mut *last) };
            causal_conv1d_into(&x, &weight, Some(&*initial), &options, out)
        });
        let (bytes, state) = (2 * x.len(), 2 * initial.len());
        let chunks = count / chunk;
        // The tokens before each chunk but the first are as many as a state, which the last ones become.
        let compulsory =
            bytes + state + state * (chunks - 1) + state + n * chunks * 2 * weight.len();
        moved.once(compulsory, 0..=0, bytes + state);
        moved.in_full_waves((compulsory + bytes + state) as f64 / BYTES_AT_ONCE);
    }
}

#[test]
fn new_tokens_and_their_states_are_read_and_written_once() {
    for device in devices() {
        let stream = device.default_stream();
        let (n, channels, width) = (64, 2048, 4);
        let ones = |shape: &[usize]| Tensor::filled(&stream, shape, bf16::ONE).unwrap();
        let (x, weight) = (ones(&[n, channels]), ones(&[channels, width]));
        let mut state = ones(&[n, channels, width - 1]);
        let options = CausalConv1dOptions::default().validate_indices(false);
        let moved = Moved::by(&stream, || causal_conv1d_update(&x, &weight, &mut state, &options));
        // A wave has 512 channels of a sequence, and reads their filter.
        let written = 2 * n * channels * width;
        let read = written + 2 * n * channels * width;
        moved.once(read, of_arguments(n * channels / 512), written);
        moved.in_full_waves((read + written) as f64 / BYTES_AT_ONCE);
    }
}
