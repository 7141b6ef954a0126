//! `gated_delta_rule_decode_step` against references of its two parts, over many steps.

use hk_core::counters::count;
use hk_core::dtype::{Element, Real, bf16, f16};
use hk_core::{Error, Stream, Tensor};
use hk_gdr::{
    ConvFilter, DecodeStates, DecodeStepOptions, DecodeStepOut, GatingInputs, QkvzbaHeads,
    SigmoidGatingOptions, State, StateLayout, fused_sigmoid_gating_recurrent_packed,
    gated_delta_rule_decode_step, gated_delta_rule_decode_step_into,
};
use hk_ref::Draw;
use hk_ref::expected::{half_subnormal, unit_roundoff};
use hk_ref::gdr::causal_conv1d::{causal_conv1d, new_state};
use hk_ref::gdr::fused_recurrent::{Token, learn, normalized};
use hk_ref::gdr::fused_sigmoid_gating_recurrent::{decay, sigmoid};

use crate::common::devices;

const WIDTH: usize = 4;

/// A layer of rows of T, and the states of its sequences on the device and as the reference has them.
struct Layer<S: State, T: Real = bf16> {
    stream: Stream,
    heads: QkvzbaHeads,
    layout: StateLayout,
    /// Taps of filters.
    width: usize,
    /// Whether slots are of 64 bits.
    has_wide_slots: bool,
    weight: Tensor<bf16>,
    a_log: Tensor<f32>,
    dt_bias: Tensor<bf16>,
    conv_state: Tensor<T>,
    state: Tensor<S>,
    /// Of keys by values, of all heads of each slot.
    states: Vec<Vec<f64>>,
}

fn draw<T: Real>(seed: usize, count: usize, draw: Draw) -> Vec<T> {
    draw.values(seed as u64, count)
}

fn numbers<T: Real>(elements: &[T]) -> Vec<f64> {
    elements.iter().map(|x| x.to_f64()).collect()
}

/// The error of all numbers together.
fn relative(got: &[f64], expected: &[f64]) -> f64 {
    let square = |x: f64| x * x;
    let norm = expected.iter().map(|x| square(*x)).sum::<f64>();
    assert!(norm > 0.0, "there is something to compare with");
    (got.iter().zip(expected).map(|(x, y)| square(x - y)).sum::<f64>() / norm).sqrt()
}

/// Of both heads and layouts: channels of a token.
fn channels(heads: QkvzbaHeads) -> usize {
    2 * heads.num_heads_qk * heads.head_qk + heads.num_heads_v * heads.head_v
}

/// Drawn elements.
fn tensor<T: Real>(stream: &Stream, seed: usize, shape: &[usize], of: Draw) -> Tensor<T> {
    let elements = draw::<T>(seed, shape.iter().product(), of);
    Tensor::from_slice(stream, &elements, shape).unwrap()
}

impl<S: State> Layer<S> {
    fn new(stream: &Stream, heads: QkvzbaHeads, layout: StateLayout, slots: usize) -> Self {
        Self::of_width(stream, heads, layout, slots, WIDTH)
    }

    /// Takes a token of each sequence, without the reference.
    fn take(
        &mut self,
        x: &Tensor<bf16>,
        of_heads: &Tensor<bf16>,
        slots: &Tensor<i32>,
        [o, conv_qkv]: [&mut Tensor<bf16>; 2],
    ) {
        let options = DecodeStepOptions::default().state_layout(self.layout).state_indices(slots);
        let gating =
            GatingInputs { a_log: &self.a_log, dt_bias: &self.dt_bias, a: of_heads, b: of_heads };
        let states = DecodeStates { conv_state: &mut self.conv_state, state: &mut self.state };
        let out = DecodeStepOut { o, conv_qkv, states };
        let conv = ConvFilter { weight: &self.weight, bias: None };
        gated_delta_rule_decode_step_into(x, conv, gating, self.heads, &options, out).unwrap();
    }
}

impl<S: State, T: Real> Layer<S, T> {
    fn of_width(
        stream: &Stream,
        heads: QkvzbaHeads,
        layout: StateLayout,
        slots: usize,
        width: usize,
    ) -> Self {
        let QkvzbaHeads { num_heads_v: hv, head_qk: k, head_v: v, .. } = heads;
        let c = channels(heads);
        let state: Vec<S> = draw(1, slots * hv * k * v, Draw::Scaled(-2));
        let in_memory = match layout {
            StateLayout::Kv => [slots, hv, k, v],
            StateLayout::Vk => [slots, hv, v, k],
        };
        // The reference's are of keys by values.
        let of_slots = numbers(&state);
        let states = of_slots.chunks_exact(hv * k * v).map(|of| match layout {
            StateLayout::Kv => of.to_vec(),
            StateLayout::Vk => turned(of, v, k),
        });
        Self {
            stream: stream.clone(),
            heads,
            layout,
            width,
            has_wide_slots: false,
            weight: tensor(stream, 2, &[c, width], Draw::Scaled(-1)),
            a_log: Tensor::from_slice(stream, &draw::<f32>(3, hv, Draw::Normal), &[hv]).unwrap(),
            dt_bias: Tensor::filled(stream, &[hv], bf16::from_f32(-2.0)).unwrap(),
            conv_state: tensor(stream, 4, &[slots, c, width - 1], Draw::Normal),
            states: states.collect(),
            state: Tensor::from_slice(stream, &state, &in_memory).unwrap(),
        }
    }

    /// Takes new tokens on the device and, from the convolution's results there on, in the reference;
    /// checks all results.
    fn step(&mut self, seed: usize, slots: &[i32], t: usize) {
        let QkvzbaHeads { num_heads_qk: h, num_heads_v: hv, head_qk: k, head_v: v } = self.heads;
        let (b, c, stream) = (slots.len(), channels(self.heads), self.stream.clone());
        let (width, roundoff) = (self.width, unit_roundoff(T::DTYPE));
        let x: Vec<T> = draw(seed, b * t * c, Draw::Normal);
        let (mut a, mut beta): (Vec<bf16>, Vec<bf16>) =
            (draw(seed + 1, b * t * hv, Draw::Normal), draw(seed + 2, b * t * hv, Draw::Normal));
        // Of padding, whatever gates are, results are zeros.
        for (i, _) in slots.iter().enumerate().filter(|(_, slot)| **slot < 0) {
            a[i * t * hv..][..t * hv].fill(bf16::NAN);
            beta[i * t * hv..][..t * hv].fill(bf16::NAN);
        }
        let before = self.conv_state.to_vec().unwrap();
        let of_heads = |x: &[bf16]| Tensor::from_slice(&stream, x, &[b, t, hv]).unwrap();
        let (a_tensor, b_tensor) = (of_heads(&a), of_heads(&beta));
        let mixed_qkv = Tensor::from_slice(&stream, &x, &[b, t, c]).unwrap();
        let indices = Tensor::from_slice(&stream, slots, &[b]).unwrap();
        let wide: Vec<i64> = slots.iter().map(|slot| i64::from(*slot)).collect();
        let wide = Tensor::from_slice(&stream, &wide, &[b]).unwrap();
        let mut o = Tensor::<T>::empty(&stream, &[b, t, hv, v]).unwrap();
        let mut conv_qkv = Tensor::<T>::empty(&stream, &[b, t, c]).unwrap();
        let options = DecodeStepOptions::default().state_layout(self.layout);
        let options = match self.has_wide_slots {
            true => options.state_indices(&wide),
            false => options.state_indices(&indices),
        };
        let gating =
            GatingInputs { a_log: &self.a_log, dt_bias: &self.dt_bias, a: &a_tensor, b: &b_tensor };
        let states = DecodeStates { conv_state: &mut self.conv_state, state: &mut self.state };
        let out = DecodeStepOut { o: &mut o, conv_qkv: &mut conv_qkv, states };
        let conv = ConvFilter { weight: &self.weight, bias: None };
        gated_delta_rule_decode_step_into(&mixed_qkv, conv, gating, self.heads, &options, out)
            .unwrap();

        let (o, qkv) = (numbers(&o.to_vec().unwrap()), conv_qkv.to_vec().unwrap());
        let (weight, after) =
            (numbers(&self.weight.to_vec().unwrap()), self.conv_state.to_vec().unwrap());
        let mut conv_state = before.clone();
        let (rates, mut expected) = (numbers(&self.a_log.to_vec().unwrap()), vec![0.0; o.len()]);
        for (i, slot) in slots.iter().enumerate() {
            let rows = &qkv[i * t * c..][..t * c];
            let Ok(slot) = usize::try_from(*slot) else {
                assert!(rows.iter().all(|x| x.to_f64() == 0.0));
                continue;
            };
            for channel in 0..c {
                let line =
                    (slot * c + channel) * (width - 1)..(slot * c + channel + 1) * (width - 1);
                let tokens: Vec<T> = (0..t).map(|t_| x[(i * t + t_) * c + channel]).collect();
                let taps = &weight[channel * width..][..width];
                let window = &before[line.clone()];
                let sums = causal_conv1d(&numbers(&tokens), &numbers(window), taps, 0.0, true);
                for (token, sum) in sums.iter().enumerate() {
                    let got = rows[token * c + channel].to_f64();
                    let most = sum.value.abs() * roundoff * 1.02 + 4e-6 * sum.magnitude;
                    let most = most + half_subnormal(T::DTYPE);
                    assert!((got - sum.value).abs() <= most, "{got} is not {}", sum.value);
                }
                conv_state[line].copy_from_slice(&new_state(&tokens, window));
            }
            let rows = numbers(rows);
            for (head, state) in self.states[slot].chunks_exact_mut(k * v).enumerate() {
                for token in 0..t {
                    let row = &rows[token * c..][..c];
                    let key = head / (hv / h) * k;
                    let at = (i * t + token) * hv + head;
                    let beta = vec![sigmoid(beta[at].to_f64()); v];
                    let of_head = Token {
                        q: &normalized(&row[key..][..k]),
                        k: &normalized(&row[h * k + key..][..k]),
                        v: &row[2 * h * k + head * v..][..v],
                        g: decay(rates[head], a[at].to_f64() - 2.0, 1.0, 20.0).0,
                        gk: &[],
                        gv: &[],
                        beta: &beta,
                    };
                    let answer = learn(state, &of_head, 1.0 / (k as f64).sqrt());
                    expected[at * v..][..v].copy_from_slice(&answer);
                }
            }
        }
        assert_eq!(after, conv_state);
        if S::DTYPE == f32::DTYPE {
            // One rounding, and what states may have drifted.
            let most = expected.iter().fold(0.0, |most, o| f64::max(most, o.abs()));
            for (got, o) in o.iter().zip(&expected) {
                let allowed = o.abs() * roundoff * (1.0 + 2f64.powi(-6)) + 2e-5 * most;
                let allowed = allowed + half_subnormal(T::DTYPE);
                assert!((got - o).abs() <= allowed, "{got} is not {o}");
            }
            let error = relative(&o, &expected);
            assert!(o.len() < 1000 || error <= 2.5e-3, "results are {error:.2e} off");
        }
        let padded = slots.iter().enumerate().filter(|(_, slot)| **slot < 0);
        for (i, _) in padded {
            assert!(o[i * t * hv * v..][..t * hv * v].iter().all(|o| *o == 0.0));
        }
    }

    /// The error of the worst slot's state.
    fn error(&self) -> f64 {
        let QkvzbaHeads { num_heads_v: hv, head_qk: k, head_v: v, .. } = self.heads;
        let states = numbers(&self.state.to_vec().unwrap());
        let of_slots = states.chunks_exact(hv * k * v).zip(&self.states);
        let errors = of_slots.map(|(got, expected)| match self.layout {
            StateLayout::Kv => relative(got, expected),
            StateLayout::Vk => relative(&turned(got, v, k), expected),
        });
        errors.fold(0.0, f64::max)
    }
}

/// Matrices of `rows` by `columns`, transposed.
fn turned(matrices: &[f64], rows: usize, columns: usize) -> Vec<f64> {
    let of = matrices.chunks_exact(rows * columns);
    of.flat_map(|matrix| (0..rows * columns).map(|i| matrix[i % rows * columns + i / rows]))
        .collect()
}

#[test]
fn steps_of_a_model_are_those_of_the_references() {
    let heads = QkvzbaHeads { num_heads_qk: 2, num_heads_v: 4, head_qk: 128, head_v: 128 };
    for device in devices() {
        let stream = device.default_stream();
        for layout in [StateLayout::Kv, StateLayout::Vk] {
            let mut layer = Layer::<f32>::new(&stream, heads, layout, 5);
            let untouched = layer.state.to_vec().unwrap();
            for step in 0..4 {
                layer.step(100 + 10 * step, &[4, -1, 1], if step == 3 { 2 } else { 1 });
            }
            let error = layer.error();
            assert!(error <= 3e-6, "states are {error:.2e} off");
            let (len, state) = (4 * 128 * 128, layer.state.to_vec().unwrap());
            for slot in [0, 2, 3] {
                let of = slot * len..(slot + 1) * len;
                assert_eq!(state[of.clone()], untouched[of], "slot {slot}");
            }
        }
    }
}

/// Steps of rows of that type with filters of that many taps.
fn takes<T: Real>(stream: &Stream, width: usize, has_wide_slots: bool) {
    let heads = QkvzbaHeads { num_heads_qk: 1, num_heads_v: 2, head_qk: 20, head_v: 36 };
    let layer = Layer::<f32, T>::of_width(stream, heads, StateLayout::Vk, 4, width);
    let mut layer = Layer { has_wide_slots, ..layer };
    for step in 0..3 {
        layer.step(300 + 10 * step, &[3, -1, 0], if step == 2 { 2 } else { 1 });
    }
    let error = layer.error();
    assert!(error <= 3e-6, "states are {error:.2e} off");
}

#[test]
fn steps_take_all_types_of_rows_and_slots_and_all_widths() {
    for device in devices() {
        let stream = device.default_stream();
        takes::<f16>(&stream, WIDTH, false);
        takes::<f32>(&stream, WIDTH, true);
        takes::<bf16>(&stream, 2, true);
        takes::<bf16>(&stream, 3, false);
    }
}

#[test]
fn states_of_a_step_are_read_once_and_written_once() {
    let heads = QkvzbaHeads { num_heads_qk: 2, num_heads_v: 4, head_qk: 128, head_v: 128 };
    for (device, layout) in
        devices().into_iter().flat_map(|of| [(of.clone(), StateLayout::Kv), (of, StateLayout::Vk)])
    {
        let stream = device.default_stream();
        let mut layer = Layer::<f32>::new(&stream, heads, layout, 6);
        let before = layer.state.to_vec().unwrap();
        let x: Tensor<bf16> = tensor(&stream, 31, &[4, channels(heads)], Draw::Normal);
        let of_heads = tensor(&stream, 32, &[4, 4], Draw::Normal);
        let slots = Tensor::from_slice(&stream, &[5i32, -1, 0, 2], &[4]).unwrap();
        let mut o = Tensor::<bf16>::empty(&stream, &[4, 4, 128]).unwrap();
        let mut conv_qkv = Tensor::<bf16>::empty(&stream, x.shape()).unwrap();
        let (done, by_kernel) = count(|| {
            layer.take(&x, &of_heads, &slots, [&mut o, &mut conv_qkv]);
            stream.synchronize()
        });
        done.unwrap();
        let of_rule = by_kernel.iter().find(|(name, _)| name.contains("delta_rule"));
        let (_, counters) = of_rule.unwrap_or_else(|| panic!("{by_kernel:?}"));
        let (len, waves) = (4 * 128 * 128, 4 * 4 * 4);
        let states = 3 * len as u64 * 4;
        let written = states + 4 * 4 * 128 * 2;
        assert_eq!(counters.written_bytes, written);
        assert_eq!(counters.distinct_written_bytes, written);
        // Beside states, a wave reads a token, and the kernel's arguments several times.
        let read = counters.read_bytes;
        assert!((states..=states + waves * 6000).contains(&read), "{read} bytes are read");
        let after = layer.state.to_vec().unwrap();
        for slot in [1, 3, 4] {
            let of = slot * len..(slot + 1) * len;
            assert_eq!(after[of.clone()], before[of], "slot {slot}");
        }
    }
}

#[test]
fn a_step_is_captured_once_and_launched_with_other_slots() {
    let heads = QkvzbaHeads { num_heads_qk: 1, num_heads_v: 2, head_qk: 20, head_v: 36 };
    let (b, turns) = (3, [[4i32, 0, 1], [1, -1, 4]]);
    for device in devices() {
        let stream = device.new_stream().unwrap();
        let x: Tensor<bf16> = tensor(&stream, 33, &[b, channels(heads)], Draw::Normal);
        let of_heads = tensor(&stream, 34, &[b, 2], Draw::Normal);
        let mut slots = Tensor::from_slice(&stream, &turns[0], &[b]).unwrap();
        let mut o = Tensor::<bf16>::empty(&stream, &[b, 2, 36]).unwrap();
        let mut conv_qkv = Tensor::<bf16>::empty(&stream, x.shape()).unwrap();
        let results = |layer: &Layer<f32>, o: &Tensor<bf16>| {
            let states = (layer.conv_state.to_vec().unwrap(), layer.state.to_vec().unwrap());
            (o.to_vec().unwrap(), states)
        };
        let mut plain = Layer::<f32>::new(&stream, heads, StateLayout::Kv, 5);
        let expected = turns.map(|turn| {
            slots.write(&turn).unwrap();
            plain.take(&x, &of_heads, &slots, [&mut o, &mut conv_qkv]);
            results(&plain, &o)
        });

        let layer = Layer::<f32>::new(&stream, heads, StateLayout::Kv, 5);
        let state = (layer, slots, o, conv_qkv);
        let graph = stream.capture(state, |(layer, slots, o, conv_qkv)| {
            layer.take(&x, &of_heads, slots, [o, conv_qkv]);
            Ok(())
        });
        let mut graph = graph.unwrap();
        for (turn, expected) in turns.iter().zip(expected) {
            let (_, slots, o, _) = graph.state_mut();
            slots.write(turn).unwrap();
            o.fill(bf16::NAN).unwrap();
            graph.launch(&stream).unwrap();
            let (layer, _, o, _) = graph.state();
            assert_eq!(results(layer, o), expected, "{}", device.name());
        }
    }
}

/// The error of states after 1,000 steps.
fn drift<S: State>(stream: &Stream, layout: StateLayout) -> f64 {
    let heads = QkvzbaHeads { num_heads_qk: 1, num_heads_v: 2, head_qk: 20, head_v: 36 };
    let mut layer = Layer::<S>::new(stream, heads, layout, 1);
    for step in 0..1000 {
        layer.step(1000 + 10 * step, &[0], 1);
    }
    layer.error()
}

#[test]
fn states_do_not_drift_in_a_thousand_steps() {
    for device in devices() {
        let stream = device.default_stream();
        let (of_f32, of_bf16) =
            (drift::<f32>(&stream, StateLayout::Kv), drift::<bf16>(&stream, StateLayout::Vk));
        assert!(of_f32 <= 2e-5, "states of f32 are {of_f32:.2e} off");
        assert!(of_bf16 <= 2e-2, "states of bf16 are {of_bf16:.2e} off");
    }
}

#[test]
fn several_tokens_at_once_give_the_states_of_one_after_the_other() {
    let heads = QkvzbaHeads { num_heads_qk: 1, num_heads_v: 2, head_qk: 36, head_v: 40 };
    for device in devices() {
        let stream = device.default_stream();
        let (b, t, c) = (2, 4, channels(heads));
        let x: Vec<bf16> = draw(7, b * t * c, Draw::Normal);
        let run = |tokens_at_once: usize| {
            let mut layer = Layer::<f32>::new(&stream, heads, StateLayout::Kv, b);
            let mut results = vec![Vec::new(); b];
            for first in (0..t).step_by(tokens_at_once) {
                let all = Tensor::from_slice(&stream, &x, &[b, t, c]).unwrap();
                let part = all.narrow(1, first..first + tokens_at_once).unwrap();
                let of_heads = Tensor::filled(&stream, &[b, tokens_at_once, 2], bf16::ONE).unwrap();
                let Layer { a_log, dt_bias, conv_state, state, weight, .. } = &mut layer;
                let gating = GatingInputs { a_log, dt_bias, a: &of_heads, b: &of_heads };
                let states = DecodeStates { conv_state, state };
                let conv = ConvFilter { weight, bias: None };
                let options = DecodeStepOptions::default();
                let o = gated_delta_rule_decode_step(&part, conv, gating, heads, states, &options);
                let o = o.unwrap().to_vec().unwrap();
                let of_sequence = o.len() / b;
                for (i, result) in results.iter_mut().enumerate() {
                    result.extend_from_slice(&o[i * of_sequence..][..of_sequence]);
                }
            }
            (results, layer.state.to_vec().unwrap(), layer.conv_state.to_vec().unwrap())
        };
        assert_eq!(run(1), run(4));
    }
}

#[test]
fn the_dimension_of_one_token_may_be_left_out() {
    let heads = QkvzbaHeads { num_heads_qk: 1, num_heads_v: 2, head_qk: 36, head_v: 40 };
    for device in devices() {
        let stream = device.default_stream();
        let (b, c) = (3, channels(heads));
        let run = |tokens: &[usize]| {
            let mut layer = Layer::<f32>::new(&stream, heads, StateLayout::Kv, b);
            let of = |seed, width| {
                let numbers = draw::<bf16>(seed, b * width, Draw::Normal);
                let shape = [&[b], tokens, &[width]].concat();
                Tensor::from_slice(&stream, &numbers, &shape).unwrap()
            };
            let (x, of_a, of_b) = (of(7, c), of(8, 2), of(9, 2));
            let Layer { a_log, dt_bias, conv_state, state, weight, .. } = &mut layer;
            let gating = GatingInputs { a_log, dt_bias, a: &*of_a, b: &*of_b };
            let states = DecodeStates { conv_state, state };
            let conv = ConvFilter { weight, bias: None };
            let options = DecodeStepOptions::default();
            let o = gated_delta_rule_decode_step(&x, conv, gating, heads, states, &options);
            let o = o.unwrap();
            assert_eq!(o.shape(), [&[b], tokens, &[2, 40]].concat());
            (o.to_vec().unwrap(), layer.state.to_vec().unwrap(), layer.conv_state.to_vec().unwrap())
        };
        assert_eq!(run(&[]), run(&[1]));
    }
}

#[test]
fn wrong_tensors_are_refused_before_anything_changes() {
    let heads = QkvzbaHeads { num_heads_qk: 1, num_heads_v: 2, head_qk: 4, head_v: 8 };
    for device in devices() {
        let stream = device.default_stream();
        let (b, c) = (2, channels(heads));
        let refused = |heads: QkvzbaHeads, width: usize, scale: f32, slots: [i32; 2]| {
            let zeros = |shape: &[usize]| Tensor::<bf16>::zeros(&stream, shape).unwrap();
            let (mixed_qkv, of_heads) = (zeros(&[b, 1, c]), zeros(&[b, 1, 2]));
            let (weight, of_head) = (zeros(&[c, width]), zeros(&[2]));
            let mut conv_state = Tensor::filled(&stream, &[3, c, 3], bf16::ONE).unwrap();
            let mut state = Tensor::filled(&stream, &[3, 2, 4, 8], 1.0f32).unwrap();
            let slots = Tensor::from_slice(&stream, &slots, &[2]).unwrap();
            let gating =
                GatingInputs { a_log: &of_head, dt_bias: &of_head, a: &of_heads, b: &of_heads };
            let options = DecodeStepOptions::default().scale(scale).state_indices(&slots);
            let states = DecodeStates { conv_state: &mut conv_state, state: &mut state };
            let conv = ConvFilter { weight: &weight, bias: None };
            let result =
                gated_delta_rule_decode_step(&mixed_qkv, conv, gating, heads, states, &options);
            assert!(conv_state.to_vec().unwrap().iter().all(|x| *x == bf16::ONE));
            assert!(state.to_vec().unwrap().iter().all(|x| *x == 1.0));
            result.unwrap_err()
        };
        let op = |error: &Error, wrong: &str| match error {
            Error::Shape { op, arg, .. } | Error::Value { op, arg, .. } => {
                *op == "gated_delta_rule_decode_step" && *arg == wrong
            }
            _ => false,
        };
        for (error, wrong) in [
            (refused(QkvzbaHeads { head_v: 16, ..heads }, 4, 1.0, [0, 1]), "mixed_qkv"),
            (refused(QkvzbaHeads { head_v: 0, ..heads }, 4, 1.0, [0, 1]), "head_v"),
            (refused(heads, 5, 1.0, [0, 1]), "conv_weight"),
            (refused(heads, 4, -1.0, [0, 1]), "scale"),
            (refused(heads, 4, 1.0, [0, 3]), "state_indices"),
            (refused(heads, 4, 1.0, [1, 1]), "state_indices"),
        ] {
            assert!(op(&error, wrong), "{wrong}: {error}");
        }
    }
}

#[test]
fn wrong_options_and_large_heads_are_refused_before_anything_changes() {
    let heads = QkvzbaHeads { num_heads_qk: 1, num_heads_v: 2, head_qk: 4, head_v: 8 };
    for device in devices() {
        let stream = device.default_stream();
        let refused = |heads: QkvzbaHeads, options: &DecodeStepOptions<'_>| {
            let QkvzbaHeads { num_heads_v: hv, head_qk: k, head_v: v, .. } = heads;
            let c = channels(heads);
            let zeros = |shape: &[usize]| Tensor::<bf16>::zeros(&stream, shape).unwrap();
            let (mixed_qkv, of_heads) = (zeros(&[2, c]), zeros(&[2, hv]));
            let (weight, of_head) = (zeros(&[c, WIDTH]), zeros(&[hv]));
            let mut conv_state = Tensor::filled(&stream, &[2, c, WIDTH - 1], bf16::ONE).unwrap();
            let mut state = Tensor::filled(&stream, &[2, hv, k, v], 1.0f32).unwrap();
            let gating =
                GatingInputs { a_log: &of_head, dt_bias: &of_head, a: &of_heads, b: &of_heads };
            let states = DecodeStates { conv_state: &mut conv_state, state: &mut state };
            let conv = ConvFilter { weight: &weight, bias: None };
            let result =
                gated_delta_rule_decode_step(&mixed_qkv, conv, gating, heads, states, options);
            assert!(conv_state.to_vec().unwrap().iter().all(|x| *x == bf16::ONE));
            assert!(state.to_vec().unwrap().iter().all(|x| *x == 1.0));
            result.unwrap_err()
        };
        let plain = DecodeStepOptions::default();
        let is_of = |error: &Error, wrong: &str| match error {
            Error::Value { op, arg, .. } => *op == "gated_delta_rule_decode_step" && *arg == wrong,
            _ => false,
        };
        for factor in [0.0, -1.0, f32::NAN, f32::INFINITY] {
            let error = refused(heads, &plain.softplus_beta(factor));
            assert!(is_of(&error, "softplus_beta"), "{error}");
        }
        let error = refused(heads, &plain.softplus_threshold(f32::NAN));
        assert!(is_of(&error, "softplus_threshold"), "{error}");
        let error = refused(QkvzbaHeads { head_qk: 257, ..heads }, &plain);
        assert!(is_of(&error, "k"), "{error}");
        let error = refused(QkvzbaHeads { head_v: 513, ..heads }, &plain);
        assert!(is_of(&error, "v"), "{error}");
        let error = refused(QkvzbaHeads { num_heads_qk: 2, num_heads_v: 3, ..heads }, &plain);
        assert!(is_of(&error, "hv"), "{error}");
    }
}

#[test]
fn states_of_the_convolution_are_to_have_the_slots_too() {
    let heads = QkvzbaHeads { num_heads_qk: 1, num_heads_v: 2, head_qk: 4, head_v: 8 };
    for device in devices() {
        let stream = device.default_stream();
        let (b, c) = (2, channels(heads));
        let zeros = |shape: &[usize]| Tensor::<bf16>::zeros(&stream, shape).unwrap();
        let refused = |shape: [usize; 3], slots: Option<[i32; 2]>| {
            let (mixed_qkv, of_heads) = (zeros(&[b, c]), zeros(&[b, 2]));
            let (weight, of_head) = (zeros(&[c, 4]), zeros(&[2]));
            let mut conv_state = zeros(&shape);
            let mut state = Tensor::filled(&stream, &[3, 2, 4, 8], 1.0f32).unwrap();
            let slots = slots.map(|slots| Tensor::from_slice(&stream, &slots, &[2]).unwrap());
            let gating =
                GatingInputs { a_log: &of_head, dt_bias: &of_head, a: &of_heads, b: &of_heads };
            let mut options = DecodeStepOptions::default();
            if let Some(slots) = &slots {
                options = options.state_indices(slots);
            }
            let states = DecodeStates { conv_state: &mut conv_state, state: &mut state };
            let conv = ConvFilter { weight: &weight, bias: None };
            let result =
                gated_delta_rule_decode_step(&mixed_qkv, conv, gating, heads, states, &options);
            assert!(state.to_vec().unwrap().iter().all(|x| *x == 1.0));
            result.unwrap_err()
        };
        let op = "gated_delta_rule_decode_step";
        for (shape, slots) in [([1, c, 3], None), ([0, c, 3], Some([-1, -1])), ([3, c, 2], None)] {
            let error = refused(shape, slots);
            let is_right = matches!(
                error,
                Error::Shape { op: of, arg: "conv_state", .. } if of == op
            );
            assert!(is_right, "{error}");
        }
        let error = refused([2, c, 3], Some([0, 2]));
        let is_right =
            matches!(error, Error::Value { op: of, arg: "state_indices", .. } if of == op);
        assert!(is_right, "{error}");
    }
}

#[test]
fn a_slot_that_one_state_lacks_is_nobodys() {
    let heads = QkvzbaHeads { num_heads_qk: 1, num_heads_v: 2, head_qk: 4, head_v: 8 };
    for (device, [lines, slots]) in
        devices().into_iter().flat_map(|of| [(of.clone(), [2, 3]), (of, [3, 2])])
    {
        let stream = device.default_stream();
        let c = channels(heads);
        let ones = |shape: &[usize]| Tensor::filled(&stream, shape, bf16::ONE).unwrap();
        let mixed_qkv = Tensor::filled(&stream, &[2, c], bf16::from_f32(2.0)).unwrap();
        let (weight, of_head, of_heads) = (ones(&[c, WIDTH]), ones(&[2]), ones(&[2, 2]));
        let mut conv_state = ones(&[lines, c, WIDTH - 1]);
        let mut state = Tensor::filled(&stream, &[slots, 2, 4, 8], 1.0f32).unwrap();
        let indices = Tensor::from_slice(&stream, &[0i32, 2], &[2]).unwrap();
        let gating =
            GatingInputs { a_log: &of_head, dt_bias: &of_head, a: &of_heads, b: &of_heads };
        let options = DecodeStepOptions::default().state_indices(&indices).validate_indices(false);
        let states = DecodeStates { conv_state: &mut conv_state, state: &mut state };
        let conv = ConvFilter { weight: &weight, bias: None };
        let o = gated_delta_rule_decode_step(&mixed_qkv, conv, gating, heads, states, &options);
        let o = numbers(&o.unwrap().to_vec().unwrap());
        assert!(o[..2 * 8].iter().any(|o| *o != 0.0));
        assert!(o[2 * 8..].iter().all(|o| *o == 0.0));
        let (conv_state, state) = (conv_state.to_vec().unwrap(), state.to_vec().unwrap());
        let (conv_of_first, conv_of_others) = conv_state.split_at(c * (WIDTH - 1));
        assert!(conv_of_first.iter().any(|x| *x != bf16::ONE));
        assert!(conv_of_others.iter().all(|x| *x == bf16::ONE));
        let (first, others) = state.split_at(2 * 4 * 8);
        assert!(first.iter().any(|s| *s != 1.0));
        assert!(others.iter().all(|s| *s == 1.0));
    }
}

#[test]
fn the_recurrence_of_a_step_is_that_of_its_op() {
    let heads = QkvzbaHeads { num_heads_qk: 1, num_heads_v: 2, head_qk: 20, head_v: 36 };
    for device in devices() {
        let stream = device.default_stream();
        let mut layer = Layer::<f32>::new(&stream, heads, StateLayout::Vk, 1);
        let shape = layer.state.shape().to_vec();
        let copy = layer.state.to_vec().unwrap();
        let mut state = Tensor::from_slice(&stream, &copy, &shape).unwrap();
        let x: Vec<bf16> = draw(9, channels(heads), Draw::Normal);
        let x = Tensor::from_slice(&stream, &x, &[1, 1, channels(heads)]).unwrap();
        let of_heads = Tensor::filled(&stream, &[1, 1, 2], bf16::ONE).unwrap();
        let Layer { weight, a_log, dt_bias, conv_state, state: of_layer, .. } = &mut layer;
        let gating = GatingInputs { a_log, dt_bias, a: &of_heads, b: &of_heads };
        let mut o = Tensor::<bf16>::empty(&stream, &[1, 1, 2, 36]).unwrap();
        let mut conv_qkv = Tensor::<bf16>::empty(&stream, x.shape()).unwrap();
        let states = DecodeStates { conv_state, state: of_layer };
        let out = DecodeStepOut { o: &mut o, conv_qkv: &mut conv_qkv, states };
        let options = DecodeStepOptions::default().state_layout(StateLayout::Vk);
        let conv = ConvFilter { weight, bias: None };
        gated_delta_rule_decode_step_into(&x, conv, gating, heads, &options, out).unwrap();
        let options = SigmoidGatingOptions::default().use_qk_l2norm_in_kernel(true);
        let options = options.state_layout(StateLayout::Vk);
        let state_of = Some(&mut *state);
        let alone =
            fused_sigmoid_gating_recurrent_packed(gating, &conv_qkv, heads, state_of, &options);
        assert_eq!(alone.unwrap().to_vec().unwrap(), o.to_vec().unwrap());
        assert_eq!(state.to_vec().unwrap(), layer.state.to_vec().unwrap());
    }
}
