//! What `chunk_gated_delta_rule` must be, whatever its numbers are: the same however sequences are split,
//! packed and ordered, and what deltas, decays and strengths mean.

use hk_core::dtype::{Real, bf16};
use hk_core::{Error, Stream, Tensor};
use hk_gdr::{
    ChunkGatedDeltaRule, ChunkGatedDeltaRuleOptions, ChunkGatedDeltaRuleOut, ChunkStates,
    FusedRecurrentOptions, Indices, PrefillSchedule, StateLayout, chunk_gated_delta_rule,
    chunk_gated_delta_rule_into, fused_recurrent_fwd,
};
use hk_ref::gdr::fused_recurrent::normalized;
use hk_ref::harness::rejected;
use hk_ref::{Draw, Guarded, Placement};

use crate::common::devices;

/// Sequences `[b, t, ..]` of heads of keys and of values, as numbers.
#[derive(Clone)]
struct Tokens {
    b: usize,
    t: usize,
    heads: [usize; 2],
    keys: usize,
    values: usize,
    q: Vec<bf16>,
    k: Vec<bf16>,
    v: Vec<bf16>,
    g: Vec<f32>,
    beta: Vec<f32>,
    state: Vec<f32>,
}

fn draw<T: Real>(seed: u64, count: usize, draw: Draw) -> Vec<T> {
    draw.values(seed, count)
}

fn unit_rows(seed: u64, count: usize, keys: usize) -> Vec<bf16> {
    let drawn: Vec<f32> = draw(seed, count * keys, Draw::Normal);
    let rows = drawn.chunks_exact(keys);
    rows.flat_map(|row| {
        let row: Vec<f64> = row.iter().map(|x| f64::from(*x)).collect();
        normalized(&row).into_iter().map(bf16::from_f64)
    })
    .collect()
}

impl Tokens {
    /// As models have them.
    fn new([b, t]: [usize; 2], heads: [usize; 2], keys: usize, values: usize) -> Self {
        let [h, hv] = heads;
        let gates: Vec<f32> = draw(3, b * t * hv, Draw::Uniform);
        Self {
            b,
            t,
            heads,
            keys,
            values,
            q: unit_rows(1, b * t * h, keys),
            k: unit_rows(2, b * t * h, keys),
            v: draw(4, b * t * hv * values, Draw::Normal),
            g: gates.iter().map(|x| -0.3 * x * x).collect(),
            beta: draw(5, b * t * hv, Draw::Uniform),
            state: draw(6, b * hv * keys * values, Draw::Scaled(-2)),
        }
    }

    /// Tokens of the first sequence.
    fn part(&self, tokens: std::ops::Range<usize>, state: Vec<f32>) -> Self {
        let [h, hv] = self.heads;
        fn of<T: Copy>(x: &[T], n: usize, tokens: &std::ops::Range<usize>) -> Vec<T> {
            x[tokens.start * n..tokens.end * n].to_vec()
        }
        Self {
            b: 1,
            t: tokens.len(),
            q: of(&self.q, h * self.keys, &tokens),
            k: of(&self.k, h * self.keys, &tokens),
            v: of(&self.v, hv * self.values, &tokens),
            g: of(&self.g, hv, &tokens),
            beta: of(&self.beta, hv, &tokens),
            state,
            ..self.clone()
        }
    }

    /// Results and final states.
    fn run(&self, stream: &Stream, options: &ChunkGatedDeltaRuleOptions<'_>) -> Results {
        self.run_states(stream, options, [self.keys, self.values], &self.state)
    }

    fn run_states(
        &self,
        stream: &Stream,
        options: &ChunkGatedDeltaRuleOptions<'_>,
        [rows, columns]: [usize; 2],
        state: &[f32],
    ) -> Results {
        let Self { b, t, heads: [h, hv], keys, values, .. } = *self;
        let rows_of =
            |x: &[bf16], shape: [usize; 4]| Tensor::from_slice(stream, x, &shape).unwrap();
        let (q, k) = (rows_of(&self.q, [b, t, h, keys]), rows_of(&self.k, [b, t, h, keys]));
        let v = rows_of(&self.v, [b, t, hv, values]);
        let gate = |x: &[f32]| Tensor::from_slice(stream, x, &[b, t, hv]).unwrap();
        let (g, beta) = (gate(&self.g), gate(&self.beta));
        let sequences = state.len() / (hv * keys * values);
        let state = Tensor::from_slice(stream, state, &[sequences, hv, rows, columns]).unwrap();
        let options = options.output_final_state(true);
        let out = chunk_gated_delta_rule(&q, &k, &v, &g, &beta, Some(&*state), &options);
        Results::of(out.unwrap())
    }

    /// Token after token.
    fn recurrent(&self, stream: &Stream) -> Results {
        let Self { b, t, heads: [h, hv], keys, values, .. } = *self;
        let rows_of =
            |x: &[bf16], shape: [usize; 4]| Tensor::from_slice(stream, x, &shape).unwrap();
        let (q, k) = (rows_of(&self.q, [b, t, h, keys]), rows_of(&self.k, [b, t, h, keys]));
        let v = rows_of(&self.v, [b, t, hv, values]);
        let gate = |x: &[f32]| Tensor::from_slice(stream, x, &[b, t, hv]).unwrap();
        let (g, beta) = (gate(&self.g), gate(&self.beta));
        let state = Tensor::from_slice(stream, &self.state, &[b, hv, keys, values]).unwrap();
        let options = FusedRecurrentOptions::default().g(&g).beta(&beta).output_final_state(true);
        let out = fused_recurrent_fwd(&q, &k, &v, Some(&*state), &options).unwrap();
        let state = out.final_state.expect("it is wanted").to_vec().unwrap();
        Results { o: out.o.to_vec().unwrap(), state }
    }
}

#[derive(Debug, PartialEq)]
struct Results {
    o: Vec<bf16>,
    state: Vec<f32>,
}

impl Results {
    fn of(out: ChunkGatedDeltaRule<bf16, f32>) -> Self {
        let state = out.final_state.expect("it is wanted").to_vec().unwrap();
        Self { o: out.o.to_vec().unwrap(), state }
    }

    /// As close as chunks are to tokens one after the other.
    fn is_near(&self, other: &Self) {
        let numbers = |x: &[bf16]| x.iter().map(|x| x.to_f64()).collect::<Vec<f64>>();
        let far = relative(&numbers(&self.o), &numbers(&other.o));
        assert!(far <= 6e-3, "results are {far:.2e} off");
        let far = relative(&wide(&self.state), &wide(&other.state));
        assert!(far <= 5.5e-3, "states are {far:.2e} off");
    }
}

fn wide(x: &[f32]) -> Vec<f64> {
    x.iter().map(|x| f64::from(*x)).collect()
}

/// The error of all numbers together.
fn relative(got: &[f64], expected: &[f64]) -> f64 {
    let norm = expected.iter().map(|x| x * x).sum::<f64>();
    assert!(norm > 0.0 && got.len() == expected.len(), "there is something to compare with");
    let zeros = got.iter().all(|x| *x == 0.0);
    assert!(!zeros, "zeros are no results");
    (got.iter().zip(expected).map(|(x, y)| (x - y) * (x - y)).sum::<f64>() / norm).sqrt()
}

/// Matrices of `rows` by `columns`, transposed.
fn turned(x: &[f32], rows: usize, columns: usize) -> Vec<f32> {
    let matrices = x.chunks_exact(rows * columns);
    matrices.flat_map(|x| (0..rows * columns).map(|i| x[i % rows * columns + i / rows])).collect()
}

fn in_chunks(size: usize) -> ChunkGatedDeltaRuleOptions<'static> {
    ChunkGatedDeltaRuleOptions::default().chunk_size(size)
}

#[test]
fn chunks_of_all_sizes_are_tokens_one_after_the_other() {
    for device in devices() {
        let stream = device.default_stream();
        let tokens = Tokens::new([1, 130], [1, 2], 64, 40);
        let expected = tokens.recurrent(&stream);
        for size in [16, 32, 64] {
            tokens.run(&stream, &in_chunks(size)).is_near(&expected);
        }
    }
}

#[test]
fn a_sequence_may_be_split() {
    for device in devices() {
        let stream = device.default_stream();
        let tokens = Tokens::new([1, 100], [1, 2], 40, 24);
        let whole = tokens.run(&stream, &in_chunks(32));
        for (at, is_exact) in [(64, true), (41, false)] {
            let first = tokens.part(0..at, tokens.state.clone()).run(&stream, &in_chunks(32));
            let second = tokens.part(at..100, first.state).run(&stream, &in_chunks(32));
            let o = [first.o, second.o].concat();
            let split = Results { o, state: second.state };
            if is_exact {
                assert_eq!(split, whole);
            } else {
                split.is_near(&whole);
            }
        }
    }
}

#[test]
fn sequences_that_follow_each_other_are_those_alone() {
    for device in devices() {
        let stream = device.default_stream();
        let tokens = Tokens::new([1, 80], [1, 2], 36, 20);
        let len = tokens.state.len();
        let states: Vec<f32> = draw(9, 4 * len, Draw::Scaled(-2));
        let bounds = [0i32, 15, 15, 62, 80];
        let schedule = PrefillSchedule::new(&stream, &bounds, 16).unwrap();
        let options = ChunkGatedDeltaRuleOptions::default().schedule(&schedule);
        let packed = tokens.run_states(&stream, &options, [36, 20], &states);
        let (mut o, mut finals) = (Vec::new(), Vec::new());
        for (i, bounds) in bounds.windows(2).enumerate() {
            let state = states[i * len..][..len].to_vec();
            let alone = tokens.part(bounds[0] as usize..bounds[1] as usize, state);
            let alone = alone.run(&stream, &in_chunks(16));
            o.extend(alone.o);
            finals.extend(alone.state);
        }
        assert_eq!(packed, Results { o, state: finals });
        // A sequence without tokens ends as it begins.
        assert_eq!(packed.state[len..2 * len], states[len..2 * len]);

        // The first two sequences are decoded elsewhere, with their 15 tokens.
        let rest = PrefillSchedule::after_decodes(&stream, &bounds, 16, 2, 15).unwrap();
        let options = ChunkGatedDeltaRuleOptions::default().schedule(&rest);
        let after = tokens.part(15..80, Vec::new());
        let after = after.run_states(&stream, &options, [36, 20], &states[2 * len..]);
        assert_eq!(after.o, packed.o[15 * 2 * 20..]);
        assert_eq!(after.state, packed.state[2 * len..]);
    }
}

#[test]
fn grouped_heads_are_repeated_ones_and_layouts_are_transposed() {
    for device in devices() {
        let stream = device.default_stream();
        let tokens = Tokens::new([2, 37], [2, 6], 40, 20);
        let grouped = tokens.run(&stream, &in_chunks(16));
        let repeat = |x: &[bf16]| {
            let heads = x.chunks_exact(40);
            heads.flat_map(|head| head.repeat(3)).collect::<Vec<_>>()
        };
        let (q, k) = (repeat(&tokens.q), repeat(&tokens.k));
        let repeated = Tokens { heads: [6, 6], q, k, ..tokens.clone() };
        assert_eq!(repeated.run(&stream, &in_chunks(16)), grouped);

        let options = in_chunks(16).state_layout(StateLayout::Vk);
        let state = turned(&tokens.state, 40, 20);
        let other = tokens.run_states(&stream, &options, [20, 40], &state);
        let state = turned(&other.state, 20, 40);
        Results { o: other.o, state }.is_near(&grouped);
    }
}

#[test]
fn what_is_not_learnt_decays() {
    for device in devices() {
        let stream = device.default_stream();
        let mut tokens = Tokens::new([1, 70], [1, 1], 32, 24);
        tokens.beta.fill(0.0);
        let got = tokens.run(&stream, &in_chunks(32));
        let mut sum = 0.0;
        let mut expected = Vec::new();
        for (q, g) in tokens.q.chunks_exact(32).zip(&tokens.g) {
            sum += f64::from(*g);
            for j in 0..24 {
                let of = q
                    .iter()
                    .enumerate()
                    .map(|(i, q)| q.to_f64() * f64::from(tokens.state[i * 24 + j]));
                expected.push(of.sum::<f64>() * sum.exp() / 32f64.sqrt());
            }
        }
        let o: Vec<f64> = got.o.iter().map(|x| x.to_f64()).collect();
        assert!(relative(&o, &expected) <= 6e-3);
        let states: Vec<f64> = tokens.state.iter().map(|s| f64::from(*s) * sum.exp()).collect();
        assert!(relative(&wide(&got.state), &states) <= 3e-6);
    }
}

#[test]
fn keys_apart_are_remembered_and_the_same_key_is_overwritten() {
    for device in devices() {
        let stream = device.default_stream();
        let mut tokens = Tokens::new([1, 64], [1, 1], 64, 32);
        tokens.g.fill(0.0);
        tokens.beta.fill(1.0);
        tokens.state.fill(0.0);
        let unit = |i: usize, j: usize| bf16::from_f32(if i == j { 1.0 } else { 0.0 });
        tokens.k = (0..64 * 64).map(|at| unit(at / 64, at % 64)).collect();
        // Each asks for the value of a token before, or of its own.
        let asked = |t: usize| (t * 7) % (t + 1);
        tokens.q = (0..64 * 64).map(|at| unit(asked(at / 64), at % 64)).collect();
        let got = tokens.run(&stream, &in_chunks(32));
        for t in 0..64 {
            for j in 0..32 {
                let expected = tokens.v[asked(t) * 32 + j].to_f64() / 8.0;
                let off = (got.o[t * 32 + j].to_f64() - expected).abs();
                assert!(off <= 2f64.powi(-8) * expected.abs(), "{t} {j}: {off:.2e} off");
            }
        }

        tokens.k = (0..64 * 64).map(|at| unit(0, at % 64)).collect();
        tokens.q = tokens.k.clone();
        let got = tokens.run(&stream, &in_chunks(64));
        let o: Vec<f64> = got.o.iter().map(|x| x.to_f64()).collect();
        let v: Vec<f64> = tokens.v.iter().map(|x| x.to_f64()).collect();
        let expected: Vec<f64> = v.iter().map(|v| v / 8.0).collect();
        assert!(relative(&o, &expected) <= 3e-2);
        assert!(relative(&wide(&got.state[..32]), &v[63 * 32..]) <= 3e-2);
        assert!(got.state[32..].iter().all(|s| *s == 0.0), "no token has another key");
    }
}

#[test]
fn what_is_forgotten_does_not_matter() {
    for device in devices() {
        let stream = device.default_stream();
        let mut tokens = Tokens::new([1, 60], [1, 1], 24, 20);
        let forgets = 25;
        tokens.g[forgets] = -50.0;
        let one = tokens.run(&stream, &in_chunks(32));
        let other = Tokens::new([1, 120], [1, 1], 24, 20).part(60..120, tokens.state.clone());
        let n = forgets * 24;
        tokens.q[..n].copy_from_slice(&other.q[..n]);
        tokens.k[..n].copy_from_slice(&other.k[..n]);
        tokens.v[..forgets * 20].copy_from_slice(&other.v[..forgets * 20]);
        tokens.beta[..forgets].copy_from_slice(&other.beta[..forgets]);
        let two = tokens.run(&stream, &in_chunks(32));
        assert_ne!(one.o[..forgets * 20], two.o[..forgets * 20]);
        for (x, y) in one.o[forgets * 20..].iter().zip(&two.o[forgets * 20..]) {
            assert!((x.to_f64() - y.to_f64()).abs() <= 1e-20);
        }
    }
}

#[test]
fn heads_and_sequences_may_be_permuted() {
    for device in devices() {
        let stream = device.default_stream();
        let tokens = Tokens::new([2, 33], [2, 2], 24, 20);
        let plain = tokens.run(&stream, &in_chunks(16));
        // Both orders reversed.
        fn reversed<T: Copy>(x: &[T], [b, t, heads, n]: [usize; 4]) -> Vec<T> {
            let at = |i: usize| {
                let (e, head, token, row) =
                    (i % n, i / n % heads, i / n / heads % t, i / n / heads / t);
                (((b - 1 - row) * t + token) * heads + heads - 1 - head) * n + e
            };
            (0..x.len()).map(|i| x[at(i)]).collect()
        }
        let other = Tokens {
            q: reversed(&tokens.q, [2, 33, 2, 24]),
            k: reversed(&tokens.k, [2, 33, 2, 24]),
            v: reversed(&tokens.v, [2, 33, 2, 20]),
            g: reversed(&tokens.g, [2, 33, 2, 1]),
            beta: reversed(&tokens.beta, [2, 33, 2, 1]),
            state: reversed(&tokens.state, [2, 1, 2, 480]),
            ..tokens
        };
        let got = other.run(&stream, &in_chunks(16));
        let o = reversed(&got.o, [2, 33, 2, 20]);
        let state = reversed(&got.state, [2, 1, 2, 480]);
        assert_eq!(Results { o, state }, plain);
    }
}

#[test]
fn prefill_then_tokens_is_prefill() {
    for device in devices() {
        let stream = device.default_stream();
        let tokens = Tokens::new([1, 50], [1, 2], 48, 32);
        let whole = tokens.run(&stream, &in_chunks(16));
        let first = tokens.part(0..44, tokens.state.clone()).run(&stream, &in_chunks(16));
        let rest = tokens.part(44..50, first.state).recurrent(&stream);
        let o = [first.o, rest.o].concat();
        Results { o, state: rest.state }.is_near(&whole);
    }
}

#[test]
fn wrong_sizes_states_and_slots_are_refused_and_nothing_is_written() {
    for device in devices() {
        let stream = device.default_stream();
        let refused = |[b, h, hv, k, v]: [usize; 5],
                       (states, slots): (usize, Option<[i32; 2]>),
                       options: &ChunkGatedDeltaRuleOptions<'_>| {
            let keys = Tensor::filled(&stream, &[b, 5, h, k], bf16::ONE).unwrap();
            let values = Tensor::filled(&stream, &[b, 5, hv, v], bf16::ONE).unwrap();
            let gates = Tensor::filled(&stream, &[b, 5, hv], -1.0f32).unwrap();
            let mut o = Tensor::filled(&stream, values.shape(), bf16::ONE).unwrap();
            let slots = slots.map(|slots| Tensor::from_slice(&stream, &slots, &[2]).unwrap());
            let shape = [states, hv, k, v];
            let mut states = Guarded::<f32>::new(&stream, &shape, Placement::DENSE).unwrap();
            let error = rejected(&mut states, |states| {
                let indices = slots.as_ref().map(Indices::from);
                let states: ChunkStates<'_, f32> = match indices {
                    Some(_) => ChunkStates::Pool { states, indices, has_initial_state: None },
                    None => ChunkStates::Each { initial: None, finals: Some(&mut **states) },
                };
                let out = ChunkGatedDeltaRuleOut { o: &mut *o, states };
                chunk_gated_delta_rule_into(&keys, &keys, &values, &gates, &gates, options, out)
            });
            assert!(o.to_vec().unwrap().iter().all(|o| *o == bf16::ONE));
            error
        };
        let (each, plain) = ((2, None), in_chunks(16));
        for (sizes, wrong) in [
            ([2, 0, 1, 4, 4], "q"),
            ([2, 1, 0, 4, 4], "v"),
            ([2, 1, 2, 0, 4], "q"),
            ([2, 1, 2, 4, 0], "v"),
            ([2, 1, 2, 257, 4], "q"),
            ([2, 1, 2, 4, 513], "v"),
        ] {
            let error = refused(sizes, each, &plain);
            assert!(matches!(error, Error::Shape { arg, .. } if arg == wrong), "{error}");
        }
        let error = refused([2, 2, 3, 4, 4], each, &plain);
        assert!(matches!(error, Error::Value { arg: "hv", .. }), "{error}");
        for chunk in [0, 24, 128] {
            let error = refused([2, 1, 2, 4, 4], each, &in_chunks(chunk));
            assert!(matches!(error, Error::Value { arg: "chunk_size", .. }), "{error}");
        }
        for slots in [[1, 1], [0, 3], [-2, 0]] {
            let error = refused([2, 1, 2, 4, 4], (3, Some(slots)), &plain);
            assert!(matches!(error, Error::Value { arg: "state_indices", .. }), "{error}");
        }
        let error = refused([2, 1, 2, 4, 4], (3, None), &plain);
        assert!(matches!(error, Error::Shape { arg: "final_state", .. }), "{error}");

        // Sequences that follow each other are one row of tokens, and have a state each.
        let schedule = PrefillSchedule::new(&stream, &[0, 2, 5], 16).unwrap();
        let packed = ChunkGatedDeltaRuleOptions::default().schedule(&schedule);
        let error = refused([2, 1, 2, 4, 4], each, &packed);
        assert!(matches!(error, Error::Shape { arg: "q", .. }), "{error}");
        let error = refused([1, 1, 2, 4, 4], (3, None), &packed);
        assert!(matches!(error, Error::Shape { arg: "final_state", .. }), "{error}");
        let longer = PrefillSchedule::new(&stream, &[0, 2, 6], 16).unwrap();
        let packed = ChunkGatedDeltaRuleOptions::default().schedule(&longer);
        let error = refused([1, 1, 2, 4, 4], each, &packed);
        assert!(matches!(error, Error::Shape { arg: "q", .. }), "{error}");
    }
}

#[test]
fn wrong_slots_are_refused_where_there_are_no_tokens() {
    for device in devices() {
        let stream = device.default_stream();
        let schedule = PrefillSchedule::new(&stream, &[0, 0], 16).unwrap();
        let rows = Tensor::<bf16>::empty(&stream, &[1, 0, 1, 4]).unwrap();
        let gates = Tensor::<f32>::empty(&stream, &[1, 0, 1]).unwrap();
        let mut o = Tensor::<bf16>::empty(&stream, &[1, 0, 1, 4]).unwrap();
        let slots = Tensor::from_slice(&stream, &[3i32], &[1]).unwrap();
        let mut pool = Guarded::<f32>::new(&stream, &[3, 1, 4, 4], Placement::DENSE).unwrap();
        let options = ChunkGatedDeltaRuleOptions::default().schedule(&schedule);
        let error = rejected(&mut pool, |states| {
            let indices = Some((&slots).into());
            let states: ChunkStates<'_, f32> =
                ChunkStates::Pool { states, indices, has_initial_state: None };
            let out = ChunkGatedDeltaRuleOut { o: &mut *o, states };
            chunk_gated_delta_rule_into(&rows, &rows, &rows, &gates, &gates, &options, out)
        });
        assert!(matches!(error, Error::Value { arg: "state_indices", .. }), "{error}");
    }
}
