//! `gated_delta_net_prefill` against the references of its parts, and beside the decode step.

use hk_core::dtype::{Real, bf16, f16};
use hk_core::{Error, Stream, Tensor};
use hk_gdr::{
    ChunkElement, ConvFilter, DecodeStates, DecodeStepOptions, GateBase, GatingInputs, Indices,
    PrefillOptions, PrefillOut, PrefillSchedule, PrefillStates, QkvzbaHeads, QkvzbaSplitOptions,
    State, StateLayout, fused_qkvzba_split, gated_delta_net_prefill, gated_delta_net_prefill_into,
    gated_delta_net_prefill_qkvz, gated_delta_rule_decode_step,
};
use hk_ref::Draw;
use hk_ref::gdr::causal_conv1d::{causal_conv1d, new_state};
use hk_ref::gdr::fused_gdn_gating_prefill::{decay, sigmoid};
use hk_ref::gdr::fused_recurrent::{Token, learn, normalized};

use crate::common::devices;

const WIDTH: usize = 4;
const SLOTS: usize = 5;

fn channels(heads: QkvzbaHeads) -> usize {
    2 * heads.num_heads_qk * heads.head_qk + heads.num_heads_v * heads.head_v
}

fn numbers<T: Real>(elements: &[T]) -> Vec<f64> {
    elements.iter().map(|x| x.to_f64()).collect()
}

fn relative(got: &[f64], expected: &[f64]) -> f64 {
    let norm = expected.iter().map(|x| x * x).sum::<f64>();
    assert!(norm > 0.0 && got.len() == expected.len(), "there is something to compare with");
    (got.iter().zip(expected).map(|(x, y)| (x - y) * (x - y)).sum::<f64>() / norm).sqrt()
}

/// Weights and states of a layer.
struct Layer<T: ChunkElement = bf16, S: State = f32> {
    heads: QkvzbaHeads,
    layout: StateLayout,
    /// Beside the layout of states.
    options: PrefillOptions,
    /// What is its option, too.
    scale: Option<f32>,
    /// Whether slots are of 64 bits.
    has_wide_slots: bool,
    weight: Tensor<bf16>,
    bias: Tensor<bf16>,
    a_log: Tensor<f32>,
    dt_bias: Tensor<bf16>,
    conv_state: Tensor<T>,
    state: Tensor<S>,
}

fn tensor(stream: &Stream, seed: u64, shape: &[usize], of: Draw) -> Tensor<bf16> {
    drawn(stream, seed, shape, of)
}

fn drawn<T: Real>(stream: &Stream, seed: u64, shape: &[usize], of: Draw) -> Tensor<T> {
    let elements: Vec<T> = of.values(seed, shape.iter().product());
    Tensor::from_slice(stream, &elements, shape).unwrap()
}

impl Layer {
    fn new(stream: &Stream, heads: QkvzbaHeads, layout: StateLayout) -> Self {
        Self::of(stream, heads, layout, [WIDTH, WIDTH - 1])
    }
}

impl<T: ChunkElement, S: State> Layer<T, S> {
    /// With so many taps of filters, and so many columns of their states.
    fn of(
        stream: &Stream,
        heads: QkvzbaHeads,
        layout: StateLayout,
        [width, columns]: [usize; 2],
    ) -> Self {
        let QkvzbaHeads { num_heads_v: hv, head_qk: k, head_v: v, .. } = heads;
        let c = channels(heads);
        let [first, second] = if layout == StateLayout::Kv { [k, v] } else { [v, k] };
        let a_log: Vec<f32> = Draw::Normal.values(2, hv);
        Self {
            heads,
            layout,
            options: PrefillOptions::default(),
            scale: None,
            has_wide_slots: false,
            weight: tensor(stream, 3, &[c, width], Draw::Scaled(-1)),
            bias: tensor(stream, 4, &[c], Draw::Scaled(-2)),
            a_log: Tensor::from_slice(stream, &a_log, &[hv]).unwrap(),
            dt_bias: Tensor::filled(stream, &[hv], bf16::from_f32(-2.0)).unwrap(),
            conv_state: drawn(stream, 5, &[SLOTS, c, columns], Draw::Normal),
            state: drawn(stream, 1, &[SLOTS, hv, first, second], Draw::Scaled(-2)),
        }
    }

    fn prefill<A: Real>(
        &mut self,
        x: &Tensor<T>,
        [a, b]: [&Tensor<A>; 2],
        schedule: &PrefillSchedule,
        slots: &[i32],
        has: &[u8],
    ) -> hk_core::Result<Vec<T>> {
        let stream = x.stream().clone();
        let wide: Vec<i64> = slots.iter().map(|slot| i64::from(*slot)).collect();
        let wide = Tensor::from_slice(&stream, &wide, &[slots.len()])?;
        let slots = Tensor::from_slice(&stream, slots, &[slots.len()])?;
        let has = Tensor::from_slice(&stream, has, &[has.len()])?;
        let mut options = self.options.state_layout(self.layout);
        if let Some(scale) = self.scale {
            options = options.scale(scale);
        }
        let has_wide_slots = self.has_wide_slots;
        let indices = if has_wide_slots { Indices::from(&wide) } else { Indices::from(&slots) };
        let indices = Some(indices);
        let Self { heads, weight, bias, a_log, dt_bias, conv_state, state, .. } = self;
        let gating = GatingInputs { a_log, dt_bias, a, b };
        let conv = ConvFilter { weight, bias: Some(bias) };
        let states = PrefillStates { conv_state, state, indices, has_initial_state: &has };
        gated_delta_net_prefill(x, conv, gating, *heads, states, schedule, &options)?.to_vec()
    }

    /// States of a head, keys by values.
    fn states(&self) -> Vec<f64> {
        let QkvzbaHeads { head_qk: k, head_v: v, .. } = self.heads;
        let all = numbers(&self.state.to_vec().unwrap());
        let of = all.chunks_exact(k * v);
        of.flat_map(|x| match self.layout {
            StateLayout::Kv => x.to_vec(),
            StateLayout::Vk => (0..k * v).map(|i| x[i % v * k + i / v]).collect(),
        })
        .collect()
    }
}

#[test]
fn a_layer_becomes_its_parts() {
    let heads = QkvzbaHeads { num_heads_qk: 2, num_heads_v: 4, head_qk: 64, head_v: 64 };
    for device in devices() {
        let stream = device.default_stream();
        for layout in [StateLayout::Kv, StateLayout::Vk] {
            Layer::new(&stream, heads, layout).becomes_its_parts(&stream);
        }
    }
}

#[test]
fn a_layer_of_all_types_options_and_widths_becomes_its_parts() {
    let heads = QkvzbaHeads { num_heads_qk: 1, num_heads_v: 2, head_qk: 40, head_v: 24 };
    for device in devices() {
        let stream = device.default_stream();
        let (kv, vk) = (StateLayout::Kv, StateLayout::Vk);
        let of_f16 = Layer::<f16, f32>::of(&stream, heads, kv, [4, 3]);
        Layer { scale: Some(0.5), ..of_f16 }.becomes_its_parts(&stream);
        let of_bf16 = Layer::<bf16, bf16>::of(&stream, heads, vk, [2, 1]);
        Layer { has_wide_slots: true, ..of_bf16 }.becomes_its_parts(&stream);
        let options = PrefillOptions::default().gate_base(GateBase::Two);
        let of_three = Layer::<bf16, f32>::of(&stream, heads, vk, [3, 5]);
        Layer { options, ..of_three }.becomes_its_parts(&stream);
        Layer::<f16, bf16>::of(&stream, heads, kv, [4, 6]).becomes_its_parts(&stream);
    }
}

impl<T: ChunkElement, S: State> Layer<T, S> {
    /// Takes sequences of several lengths, and requires results and states to be those of the references.
    fn becomes_its_parts(mut self, stream: &Stream) {
        let layer = &mut self;
        let (heads, scale) = (layer.heads, layer.scale);
        let QkvzbaHeads { num_heads_qk: h, num_heads_v: hv, head_qk: k, head_v: v } = heads;
        let c = channels(heads);
        let (width, columns) = (layer.weight.shape()[1], layer.conv_state.shape()[2]);
        let scale = scale.map_or(1.0 / (k as f64).sqrt(), f64::from);
        let bounds = [0usize, 3, 3, 70, 80];
        let (slots, has) = ([3i32, 1, 0, -1], [1u8, 1, 0, 1]);
        let x: Tensor<T> = drawn(stream, 10, &[80, c], Draw::Normal);
        // Of padding, the last sequence, results are zeros whatever gates are.
        let [a, b] = [11, 12].map(|seed| {
            let mut gates: Vec<bf16> = Draw::Normal.values(seed, 80 * hv);
            gates[70 * hv..].fill(bf16::NAN);
            Tensor::from_slice(stream, &gates, &[80, hv]).unwrap()
        });
        let cu_seqlens = bounds.map(|bound| bound as i32);
        let schedule = PrefillSchedule::new(stream, &cu_seqlens, 64).unwrap();
        let conv_before = layer.conv_state.to_vec().unwrap();
        let bits_before = layer.state.to_vec().unwrap();
        let states_before = layer.states();
        let o = layer.prefill(&x, [&a, &b], &schedule, &slots, &has).unwrap();

        let (x, weight) = (x.to_vec().unwrap(), numbers(&layer.weight.to_vec().unwrap()));
        let bias = numbers(&layer.bias.to_vec().unwrap());
        let (a, b) = (numbers(&a.to_vec().unwrap()), numbers(&b.to_vec().unwrap()));
        let a_log = numbers(&layer.a_log.to_vec().unwrap());
        let mut conv_after = conv_before.clone();
        let mut states_after = states_before.clone();
        let mut expected = Vec::new();
        for (n, bounds) in bounds.windows(2).enumerate() {
            let tokens = bounds[0]..bounds[1];
            let Ok(slot) = usize::try_from(slots[n]) else {
                expected.resize(expected.len() + tokens.len() * hv * v, 0.0);
                continue;
            };
            if tokens.is_empty() {
                continue;
            }
            let mut rows = vec![vec![0.0; c]; tokens.len()];
            for channel in 0..c {
                let own: Vec<T> = tokens.clone().map(|t| x[t * c + channel]).collect();
                let places = (slot * c + channel) * columns;
                let before = match has[n] {
                    0 => vec![T::from_f64(0.0); width - 1],
                    _ => conv_before[places..][..width - 1].to_vec(),
                };
                conv_after[places..][..width - 1].copy_from_slice(&new_state(&own, &before));
                let filter = &weight[channel * width..][..width];
                let sums =
                    causal_conv1d(&numbers(&own), &numbers(&before), filter, bias[channel], true);
                for (row, sum) in rows.iter_mut().zip(&sums) {
                    row[channel] = T::from_f64(sum.value).to_f64();
                }
            }
            let len = hv * k * v;
            let mut state = states_before[slot * len..][..len].to_vec();
            if has[n] == 0 {
                state.fill(0.0);
            }
            for (row, t) in rows.iter().zip(tokens) {
                for (head, state) in state.chunks_exact_mut(k * v).enumerate() {
                    let of = |first: usize, n: usize| &row[first..first + n];
                    let unit = |first: usize| -> Vec<f64> {
                        let unit = normalized(of(first + head / (hv / h) * k, k));
                        unit.into_iter().map(|x| T::from_f64(x).to_f64()).collect()
                    };
                    let (q, key) = (unit(0), unit(h * k));
                    let (g, _) = decay(a_log[head], a[t * hv + head] - 2.0, 1.0, 20.0);
                    let beta = vec![sigmoid(b[t * hv + head]); v];
                    let value = of(2 * h * k + head * v, v);
                    let token =
                        Token { q: &q, k: &key, v: value, g, gk: &[], gv: &[], beta: &beta };
                    expected.extend(learn(state, &token, scale));
                }
            }
            states_after[slot * len..][..len].copy_from_slice(&state);
        }
        assert!(relative(&numbers(&o), &expected) <= 8e-3);
        assert!(o[70 * hv * v..].iter().all(|x| x.to_f64() == 0.0));
        assert!(relative(&layer.states(), &states_after) <= 8e-3);
        assert_eq!(layer.conv_state.to_vec().unwrap(), conv_after);
        // Slots 1, 2 and 4 have no tokens.
        let state = layer.state.to_vec().unwrap();
        let len = hv * k * v;
        for slot in [1, 2, 4] {
            assert_eq!(state[slot * len..][..len], bits_before[slot * len..][..len]);
        }
    }
}

#[test]
fn a_decode_step_continues_a_prefill() {
    let heads = QkvzbaHeads { num_heads_qk: 1, num_heads_v: 2, head_qk: 40, head_v: 24 };
    let c = channels(heads);
    for device in devices() {
        let stream = device.default_stream();
        let x = tensor(&stream, 20, &[30, c], Draw::Normal);
        let a = tensor(&stream, 21, &[30, 2], Draw::Normal);
        let b = tensor(&stream, 22, &[30, 2], Draw::Normal);
        let part = |of: &Tensor<bf16>, tokens: std::ops::Range<usize>| {
            let rows = of.slice(tokens.clone()).unwrap().to_vec().unwrap();
            Tensor::from_slice(&stream, &rows, &[tokens.len(), of.shape()[1]]).unwrap()
        };
        let schedule = |t: i32| PrefillSchedule::new(&stream, &[0, t], 16).unwrap();
        let mut whole = Layer::new(&stream, heads, StateLayout::Kv);
        let expected = whole.prefill(&x, [&a, &b], &schedule(30), &[2], &[0]).unwrap();
        let mut layer = Layer::new(&stream, heads, StateLayout::Kv);
        let (of_x, of_a, of_b) = (part(&x, 0..27), part(&a, 0..27), part(&b, 0..27));
        let mut o = layer.prefill(&of_x, [&of_a, &of_b], &schedule(27), &[2], &[0]).unwrap();
        let slots = Tensor::from_slice(&stream, &[2i32], &[1]).unwrap();
        for t in 27..30 {
            let of = |of: &Tensor<bf16>| {
                let row = part(of, t..t + 1).to_vec().unwrap();
                Tensor::from_slice(&stream, &row, &[1, 1, row.len()]).unwrap()
            };
            let (x, a, b) = (of(&x), of(&a), of(&b));
            let Layer { weight, bias, a_log, dt_bias, conv_state, state, .. } = &mut layer;
            let gating = GatingInputs { a_log, dt_bias, a: &*a, b: &*b };
            let conv = ConvFilter { weight, bias: Some(bias) };
            let states = DecodeStates { conv_state, state };
            let options = DecodeStepOptions::default().state_indices(&slots);
            let step = gated_delta_rule_decode_step(&x, conv, gating, heads, states, &options);
            o.extend(step.unwrap().to_vec().unwrap());
        }
        assert!(relative(&numbers(&o), &numbers(&expected)) <= 8e-3);
        assert!(relative(&layer.states(), &whole.states()) <= 8e-3);
        assert_eq!(layer.conv_state.to_vec().unwrap(), whole.conv_state.to_vec().unwrap());
    }
}

#[test]
fn projections_may_be_interleaved() {
    let heads = QkvzbaHeads { num_heads_qk: 2, num_heads_v: 4, head_qk: 20, head_v: 12 };
    for device in devices() {
        let stream = device.default_stream();
        let mixed_qkvz = tensor(&stream, 30, &[25, 2 * (2 * 20 + 2 * 2 * 12)], Draw::Normal);
        let of_ba: Vec<f32> = Draw::Normal.values(31, 25 * 8);
        let mixed_ba = Tensor::from_slice(&stream, &of_ba, &[25, 8]).unwrap();
        let options = QkvzbaSplitOptions::default();
        let split = fused_qkvzba_split(&mixed_qkvz, &mixed_ba, heads, &options).unwrap();
        let schedule = PrefillSchedule::new(&stream, &[0, 9, 25], 16).unwrap();
        let mut one = Layer::new(&stream, heads, StateLayout::Kv);
        let (a, b) = (&split.a, &split.b);
        let expected = one.prefill(&split.mixed_qkv, [a, b], &schedule, &[0, 1], &[1, 1]).unwrap();

        let mut other = Layer::new(&stream, heads, StateLayout::Kv);
        let Layer { weight, bias, a_log, dt_bias, conv_state, state, .. } = &mut other;
        let has = Tensor::filled(&stream, &[2], 1u8).unwrap();
        let states = PrefillStates { conv_state, state, indices: None, has_initial_state: &has };
        let conv = ConvFilter { weight, bias: Some(bias) };
        let options = PrefillOptions::default();
        let out = gated_delta_net_prefill_qkvz(
            (&mixed_qkvz, &mixed_ba),
            conv,
            (a_log, dt_bias),
            heads,
            states,
            &schedule,
            &options,
        );
        let out = out.unwrap();
        assert_eq!(out.o.to_vec().unwrap(), expected);
        assert_eq!(out.z.to_vec().unwrap(), split.z.to_vec().unwrap());
        assert_eq!(other.states(), one.states());
    }
}

#[test]
fn results_may_be_given_and_are_checked_first() {
    let heads = QkvzbaHeads { num_heads_qk: 2, num_heads_v: 4, head_qk: 20, head_v: 12 };
    for device in devices() {
        let stream = device.default_stream();
        let x = tensor(&stream, 50, &[25, channels(heads)], Draw::Normal);
        let (a, b) = (
            tensor(&stream, 51, &[25, 4], Draw::Normal),
            tensor(&stream, 52, &[25, 4], Draw::Normal),
        );
        let schedule = PrefillSchedule::new(&stream, &[0, 9, 25], 16).unwrap();
        let mut one = Layer::new(&stream, heads, StateLayout::Vk);
        let expected = one.prefill(&x, [&a, &b], &schedule, &[0, 1], &[1, 0]).unwrap();

        let mut layer = Layer::new(&stream, heads, StateLayout::Vk);
        let before = layer.states();
        let mut run = |width: usize| {
            let Layer { weight, bias, a_log, dt_bias, conv_state, state, .. } = &mut layer;
            let filled = |width| Tensor::filled(&stream, &[25, width], bf16::ONE).unwrap();
            let [mut q, mut k, mut v] = [40, width, 48].map(filled);
            let mut o = Tensor::filled(&stream, &[25, 4, 12], bf16::ONE).unwrap();
            let [mut g, mut beta] =
                [1.0f32; 2].map(|x| Tensor::filled(&stream, &[25, 4], x).unwrap());
            let has = Tensor::from_slice(&stream, &[1u8, 0], &[2]).unwrap();
            let states =
                PrefillStates { conv_state, state, indices: None, has_initial_state: &has };
            let out = PrefillOut {
                o: &mut o,
                q: &mut q,
                k: &mut k,
                v: &mut v,
                g: &mut g,
                beta: &mut beta,
                states,
            };
            let gating = GatingInputs { a_log, dt_bias, a: &*a, b: &*b };
            let conv = ConvFilter { weight, bias: Some(bias) };
            let options = PrefillOptions::default().state_layout(StateLayout::Vk);
            let done =
                gated_delta_net_prefill_into(&x, conv, gating, heads, &schedule, &options, out);
            (done, o.to_vec().unwrap())
        };
        let (refused, o) = run(39);
        let error = refused.unwrap_err();
        assert!(matches!(error, Error::Shape { arg: "k", .. }), "{error}");
        assert!(o.iter().all(|o| *o == bf16::ONE));
        let (done, o) = run(40);
        done.unwrap();
        assert_eq!(o, expected);
        assert_eq!(layer.states(), one.states());
        assert_ne!(layer.states(), before);
    }
}

#[test]
fn a_slot_that_one_state_lacks_is_nobodys() {
    let heads = QkvzbaHeads { num_heads_qk: 1, num_heads_v: 2, head_qk: 4, head_v: 8 };
    let cases = [[SLOTS - 1, SLOTS], [SLOTS, SLOTS - 1]];
    for (device, [lines, slots]) in
        devices().into_iter().flat_map(|of| cases.map(|case| (of.clone(), case)))
    {
        let stream = device.default_stream();
        let c = channels(heads);
        let mut layer = Layer::new(&stream, heads, StateLayout::Kv);
        layer.conv_state = tensor(&stream, 5, &[lines, c, WIDTH - 1], Draw::Normal);
        layer.state = Tensor::filled(&stream, &[slots, 2, 4, 8], 1.0f32).unwrap();
        let before = layer.conv_state.to_vec().unwrap();
        let x = tensor(&stream, 40, &[5, c], Draw::Normal);
        let of_heads = tensor(&stream, 41, &[5, 2], Draw::Normal);
        let schedule = PrefillSchedule::new(&stream, &[0, 2, 5], 16).unwrap();
        let at = Tensor::from_slice(&stream, &[0, SLOTS as i32 - 1], &[2]).unwrap();
        let has = Tensor::from_slice(&stream, &[1u8, 1], &[2]).unwrap();
        let Layer { weight, bias, a_log, dt_bias, conv_state, state, .. } = &mut layer;
        let gating = GatingInputs { a_log, dt_bias, a: &of_heads, b: &of_heads };
        let conv = ConvFilter { weight, bias: Some(bias) };
        let indices = Some(Indices::from(&at));
        let states = PrefillStates { conv_state, state, indices, has_initial_state: &has };
        let options = PrefillOptions::default().validate_indices(false);
        let o = gated_delta_net_prefill(&x, conv, gating, heads, states, &schedule, &options);
        let o = numbers(&o.unwrap().to_vec().unwrap());
        assert!(o[..2 * 16].iter().any(|o| *o != 0.0));
        assert!(o[2 * 16..].iter().all(|o| *o == 0.0));
        let (first, others) = (0..c * (WIDTH - 1), c * (WIDTH - 1)..);
        let after = layer.conv_state.to_vec().unwrap();
        assert_ne!(after[first.clone()], before[first]);
        assert_eq!(after[others.clone()], before[others]);
        let state = layer.state.to_vec().unwrap();
        assert!(state[..2 * 4 * 8].iter().any(|s| *s != 1.0));
        assert!(state[2 * 4 * 8..].iter().all(|s| *s == 1.0));
    }
}

#[test]
fn wrong_options_widths_and_sizes_are_refused_before_anything_changes() {
    let plain = QkvzbaHeads { num_heads_qk: 1, num_heads_v: 2, head_qk: 4, head_v: 8 };
    for (device, is_interleaved) in
        devices().into_iter().flat_map(|of| [(of.clone(), false), (of, true)])
    {
        let stream = device.default_stream();
        let refused = |heads: QkvzbaHeads, [width, begun]: [usize; 2], options: &PrefillOptions| {
            let mut layer = Layer::<bf16, f32>::of(&stream, heads, StateLayout::Kv, [width, 4]);
            let before = (layer.conv_state.to_vec().unwrap(), layer.state.to_vec().unwrap());
            let (c, hv) = (channels(heads), heads.num_heads_v);
            let schedule = PrefillSchedule::new(&stream, &[0, 2, 5], 16).unwrap();
            let has = Tensor::filled(&stream, &[begun], 1u8).unwrap();
            let Layer { weight, bias, a_log, dt_bias, conv_state, state, .. } = &mut layer;
            let states =
                PrefillStates { conv_state, state, indices: None, has_initial_state: &has };
            let conv = ConvFilter { weight, bias: Some(bias) };
            let error = if is_interleaved {
                let mixed_qkvz = tensor(&stream, 60, &[5, c + hv * heads.head_v], Draw::Normal);
                let mixed_ba = tensor(&stream, 61, &[5, 2 * hv], Draw::Normal);
                let result = gated_delta_net_prefill_qkvz(
                    (&mixed_qkvz, &mixed_ba),
                    conv,
                    (a_log, dt_bias),
                    heads,
                    states,
                    &schedule,
                    options,
                );
                result.unwrap_err()
            } else {
                let x = tensor(&stream, 60, &[5, c], Draw::Normal);
                let of_heads = tensor(&stream, 61, &[5, hv], Draw::Normal);
                let gating = GatingInputs { a_log, dt_bias, a: &of_heads, b: &of_heads };
                let result =
                    gated_delta_net_prefill(&x, conv, gating, heads, states, &schedule, options);
                result.unwrap_err()
            };
            let after = (layer.conv_state.to_vec().unwrap(), layer.state.to_vec().unwrap());
            assert_eq!(after, before);
            error
        };
        let (sizes, options) = ([WIDTH, 2], PrefillOptions::default());
        let many = |head_qk, head_v| QkvzbaHeads { head_qk, head_v, ..plain };
        for (error, wrong) in [
            (refused(plain, sizes, &options.scale(0.0)), "scale"),
            (refused(plain, sizes, &options.scale(f32::INFINITY)), "scale"),
            (refused(plain, sizes, &options.softplus_beta(-1.0)), "softplus_beta"),
            (refused(plain, sizes, &options.softplus_beta(f32::NAN)), "softplus_beta"),
            (refused(plain, sizes, &options.softplus_threshold(f32::NAN)), "softplus_threshold"),
            (refused(plain, [5, 2], &options), "conv_weight"),
            (refused(plain, [1, 2], &options), "conv_weight"),
            (refused(plain, [WIDTH, 3], &options), "has_initial_state"),
            (refused(many(257, 8), sizes, &options), "k"),
            (refused(many(4, 513), sizes, &options), "v"),
        ] {
            let is_right = match &error {
                Error::Shape { op, arg, .. } | Error::Value { op, arg, .. } => {
                    *op == "gated_delta_net_prefill" && *arg == wrong
                }
                _ => false,
            };
            assert!(is_right, "{wrong}: {error}");
        }
    }
}

#[test]
fn wrong_tensors_are_refused_before_anything_changes() {
    let heads = QkvzbaHeads { num_heads_qk: 1, num_heads_v: 2, head_qk: 4, head_v: 8 };
    for device in devices() {
        let stream = device.default_stream();
        let refused = |of: QkvzbaHeads, t: usize, slots: [i32; 2]| {
            let mut layer = Layer::new(&stream, heads, StateLayout::Kv);
            layer.heads = of;
            let x = tensor(&stream, 40, &[t, channels(heads)], Draw::Normal);
            let of_heads = tensor(&stream, 41, &[t, 2], Draw::Normal);
            let schedule = PrefillSchedule::new(&stream, &[0, 2, 5], 16).unwrap();
            let [conv, state] = [
                numbers(&layer.conv_state.to_vec().unwrap()),
                numbers(&layer.state.to_vec().unwrap()),
            ];
            let result = layer.prefill(&x, [&of_heads, &of_heads], &schedule, &slots, &[1, 1]);
            assert_eq!(numbers(&layer.conv_state.to_vec().unwrap()), conv);
            assert_eq!(numbers(&layer.state.to_vec().unwrap()), state);
            result.unwrap_err()
        };
        let op = |error: &Error, wrong: &str| match error {
            Error::Shape { op, arg, .. } | Error::Value { op, arg, .. } => {
                *op == "gated_delta_net_prefill" && *arg == wrong
            }
            _ => false,
        };
        for (error, wrong) in [
            (refused(QkvzbaHeads { head_v: 16, ..heads }, 5, [0, 1]), "mixed_qkv"),
            (refused(QkvzbaHeads { head_v: 0, ..heads }, 5, [0, 1]), "head_v"),
            (refused(heads, 6, [0, 1]), "mixed_qkv"),
            (refused(heads, 5, [0, SLOTS as i32]), "state_indices"),
            (refused(heads, 5, [1, 1]), "state_indices"),
        ] {
            assert!(op(&error, wrong), "{wrong}: {error}");
        }
        // No line for anybody, of whom all are nobody's.
        let mut layer = Layer::new(&stream, heads, StateLayout::Kv);
        layer.conv_state = Tensor::empty(&stream, &[0, channels(heads), WIDTH - 1]).unwrap();
        let (x, of_heads) = (
            tensor(&stream, 40, &[5, channels(heads)], Draw::Normal),
            tensor(&stream, 41, &[5, 2], Draw::Normal),
        );
        let schedule = PrefillSchedule::new(&stream, &[0, 2, 5], 16).unwrap();
        let result = layer.prefill(&x, [&of_heads, &of_heads], &schedule, &[-1, -1], &[1, 1]);
        let error = result.unwrap_err();
        assert!(op(&error, "conv_state"), "{error}");
    }
}
