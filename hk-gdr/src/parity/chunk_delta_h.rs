//! Cases of `chunk_delta_h_fwd`.

use hk_core::dtype::{DType, Real, bf16, f16};
use hk_ref::gdr::chunk_delta_h::{Chunk, learn};
use hk_ref::{Arg, Case, CaseInfo, Draw, Placement, REALS, Setup, Size, real};

use super::chunks::{
    Apart, FAR_CHUNK, chunks_of, far_tokens, log2_of, logarithms, per_head, placed_tokens, rows,
    scalars, schedule, shape, sums_of,
};
use super::delta_rule::{Far, Sizes, numbers, placed};
use super::indices::{IndexArg, IndexTensor, indices};
use crate::{
    ChunkDeltaHOptions, ChunkDeltaHOut, ChunkElement, ChunkGates, ChunkStates, GateBase, State,
    StateLayout, chunk_delta_h_fwd_into,
};

/// Where states are.
#[derive(Debug, Clone, PartialEq)]
enum Where {
    /// Of each sequence: whether there are initial ones, and whether final ones are wanted.
    Each(bool, bool),
    /// Slots of a pool of so many, and which sequences begin with theirs, if that is given.
    Pool { slots: Option<Vec<i64>>, count: usize, has: Option<Vec<u8>> },
}

/// What varies between cases.
#[derive(Debug, Clone)]
struct Spec {
    name: &'static str,
    sizes: Sizes,
    chunk: usize,
    base: GateBase,
    gated: bool,
    states: Where,
    layout: StateLayout,
    /// Whether nothing is learnt.
    idle: bool,
    /// Whether a token makes the state forget nearly all.
    forgets: bool,
    /// Whether snapshots, and what is learnt, are wanted.
    wanted: [bool; 2],
    /// Element types of k, w and u, of snapshots, and of states.
    dtypes: [DType; 3],
    /// Whether final states are of the other type, and all but states of bf16.
    turned: bool,
    /// Whether heads come before tokens in memory.
    head_first: bool,
    /// Whether slots are not looked at, and numbers of the schedule are beside what there is.
    wild: bool,
    far: Option<(Apart, Far)>,
    place: Placement,
    in_place: bool,
    size: Size,
}

impl Spec {
    fn new(name: &'static str, sizes: Sizes, chunk: usize) -> Self {
        Self {
            name,
            sizes,
            chunk,
            base: GateBase::E,
            gated: true,
            states: Where::Each(true, true),
            layout: StateLayout::Kv,
            idle: false,
            forgets: false,
            wanted: [true; 2],
            dtypes: [DType::Bf16, DType::Bf16, DType::F32],
            turned: false,
            head_first: false,
            wild: false,
            far: None,
            place: Placement::DENSE,
            in_place: false,
            size: Size::Quick,
        }
    }

    /// How far apart this is.
    fn far(&self, which: Apart) -> Option<Far> {
        self.far.filter(|(of, _)| *of == which).map(|(_, far)| far)
    }

    fn case(self) -> Case {
        let Self { name, chunk, base, layout, ref states, .. } = self;
        let mut title = format!("{name}, {:?}, chunks of {chunk}", self.sizes.lengths);
        title += &format!(", {base:?}, {layout:?} states, {states:?}");
        for (is_said, what) in [
            (self.sizes.packed, ", packed"),
            (!self.gated, ", no decays"),
            (!self.wanted[0], ", no snapshots"),
            (!self.wanted[1], ", no v_new"),
            (self.turned, ", final states of the other type"),
            (self.head_first, ", heads first"),
            (self.wild, ", wild"),
            (self.in_place, ", in place"),
        ] {
            title += if is_said { what } else { "" };
        }
        title += &self.far.map(|(which, of)| format!(", {which:?}: {of:?}")).unwrap_or_default();
        let (place, in_place, size) = (self.place, self.in_place, self.size);
        let [k, h, state] = self.dtypes;
        title += &format!(", {k} {state} to {h}");
        let shape = shape(&self.sizes);
        let info =
            CaseInfo::new("chunk_delta_h", "chunk_delta_h_fwd", title, &[k, state, h], &shape);
        let set_up = move |s: &mut Setup| match (self.turned, state) {
            (true, DType::F32) => set_up::<bf16, bf16, f32, bf16>(s, &self),
            (true, _) => set_up::<bf16, bf16, bf16, f32>(s, &self),
            (false, _) => real!(h, H => match (k, state) {
                (DType::F16, DType::F32) => set_up::<f16, H, f32, f32>(s, &self),
                (DType::F16, _) => set_up::<f16, H, bf16, bf16>(s, &self),
                (_, DType::F32) => set_up::<bf16, H, f32, f32>(s, &self),
                (_, _) => set_up::<bf16, H, bf16, bf16>(s, &self),
            }),
        };
        Case::new(info, set_up).place(place).in_place(in_place).size(size).writes_once()
    }
}

fn set_up<K: ChunkElement, H: Real, S: State, F: State>(s: &mut Setup, spec: &Spec) {
    let Spec { ref sizes, chunk: size, base, layout, .. } = *spec;
    let Sizes { keys, values, heads: [h, hv], .. } = *sizes;
    let [b, t] = sizes.tokens();
    let len = sizes.state_len();
    let rows_of = |arg: Arg<K>, shape: &[usize]| {
        let arg = if spec.head_first { arg.order(&[0, 2, 1, 3]) } else { arg };
        placed_tokens(arg, shape, spec.far(Apart::Tokens))
    };
    let small = |s: &mut Setup, name, shape: &[usize], elements: Vec<K>| {
        let zero = |x: K| if spec.idle { K::from_f64(0.0) } else { x };
        rows_of(s.given(name, shape, elements.into_iter().map(zero).collect()), shape)
    };
    let elements = sizes.unit_rows::<K>(s, "k");
    let k = small(s, "k", &sizes.of_tokens(&[h, keys]), elements);
    let shape = sizes.of_tokens(&[hv, keys]);
    let factor = 0.4 / (keys as f64).sqrt();
    let drawn: Vec<f32> = s.draw("w", &shape, Draw::Normal);
    let elements = drawn.into_iter().map(|x| K::from_f64(f64::from(x) * factor)).collect();
    let w = small(s, "w", &shape, elements);
    let shape = sizes.of_tokens(&[hv, values]);
    let elements = s.draw("u", &shape, Draw::Normal);
    let u = small(s, "u", &shape, elements);
    let mut g: Vec<f64> = logarithms(s, sizes).into_iter().map(f64::from).collect();
    if spec.forgets {
        g.iter_mut().skip(3 * hv).take(hv).for_each(|g| *g = -50.0);
    }
    let sums = sums_of(sizes, size, &g, base);
    let sums = spec.gated.then(|| {
        let of_tokens = sizes.of_tokens(&[hv]);
        let sums = s.given("g", &of_tokens, sums);
        let sums = if spec.head_first { sums.order(&[0, 2, 1]) } else { sums };
        placed_tokens(sums, &of_tokens, spec.far(Apart::Tokens))
    });

    let sequences = sizes.lengths.len();
    let (count, slots, has) = match &spec.states {
        Where::Each(..) => (sequences, None, None),
        Where::Pool { slots, count, has } => (*count, slots.clone(), has.clone()),
    };
    let state_shape = sizes.states(count, layout);
    let before: Vec<S> = s.draw("state", &state_shape, Draw::Scaled(-2));
    let given: Vec<f64> = before.iter().map(|x| x.to_f64()).collect();
    let mut all = sizes.turned(&given, layout);
    if spec.states == Where::Each(false, true) || spec.states == Where::Each(false, false) {
        all.fill(0.0);
    }
    let mut changed = vec![false; count];

    let (of_k, of_w, of_u) = (k.numbers(), w.numbers(), u.numbers());
    let of_sums = match &sums {
        Some(_) => numbers(&sums).into_iter().map(|sum| sum / log2_of(base)).collect(),
        None => vec![0.0; b * t * hv],
    };
    let mut news = vec![0.0; b * t * hv * values];
    let mut snapshots = Vec::new();
    for sequence in 0..sequences {
        let slot = slots.as_ref().map_or(sequence as i64, |slots| slots[sequence]);
        let slot = usize::try_from(slot).ok().filter(|slot| *slot < count);
        let begins = has.as_ref().is_none_or(|has| has[sequence] != 0);
        let mut states = match slot.filter(|_| begins) {
            Some(slot) => all[slot * hv * len..][..hv * len].to_vec(),
            None => vec![0.0; hv * len],
        };
        let of_sequence = chunks_of(sizes, size, sequence);
        for tokens in &of_sequence {
            snapshots.extend_from_slice(&states);
            for (head, state) in states.chunks_exact_mut(len).enumerate() {
                let chunk = Chunk {
                    k: rows(&of_k, tokens, [h, head / (hv / h), keys]),
                    w: rows(&of_w, tokens, [hv, head, keys]),
                    u: rows(&of_u, tokens, [hv, head, values]),
                    sums: scalars(&of_sums, tokens, hv, head),
                };
                for (token, new) in tokens.iter().zip(learn(state, &chunk)) {
                    news[(token * hv + head) * values..][..values].copy_from_slice(&new);
                }
            }
        }
        if let Some(slot) = slot.filter(|_| !of_sequence.is_empty()) {
            all[slot * hv * len..][..hv * len].copy_from_slice(&states);
            changed[slot] = true;
        }
    }

    let several = sizes.lengths.iter().any(|length| *length > size);
    let gate = |one: f64| match (several, K::DTYPE) {
        (true, DType::Bf16) => 5e-3,
        (true, _) => 7e-4,
        (false, DType::Bf16) => one,
        (false, _) => one / 7.0,
    };
    let head_states = |states: Vec<f64>, dtype, gate| {
        let heads = states.len() / len;
        per_head(sizes.laid_out(&states, layout), [heads, 1, 1, len], dtype, gate)
    };
    // Of 16-bit states, the rounding is much of it.
    let of_states = |dtype| if dtype == DType::F32 { gate(4e-3) } else { gate(4e-3).max(4e-3) };
    let mut expected = head_states(all, F::DTYPE, of_states(F::DTYPE));
    let numbers_of = expected.allowed.iter_mut().zip(&mut expected.values).enumerate();
    for (i, (allowed, value)) in numbers_of {
        if spec.idle || !changed[i / len / hv] {
            (*allowed, *value) = (0.0, F::from_f64(*value).to_f64());
        }
    }
    let (mut initial, mut finals, mut pool) = (None, None, None);
    match &spec.states {
        Where::Each(has_initial, has_finals) => {
            let far = spec.far(Apart::States);
            initial = has_initial
                .then(|| placed(s.given("initial_state", &state_shape, before), &state_shape, far));
            finals = has_finals.then(|| {
                let finals = s.output::<F>("final_state", &state_shape, expected);
                placed(finals, &state_shape, far)
            });
        }
        Where::Pool { .. } => {
            let states = s.output::<S>("state", &state_shape, expected).holding(before);
            pool = Some(placed(states, &state_shape, spec.far(Apart::States)));
        }
    }
    let chunk_count = snapshots.len() / (len * hv);
    let mut expected = head_states(snapshots, H::DTYPE, of_states(H::DTYPE));
    if spec.idle {
        let numbers: Vec<f64> = expected.values.iter().map(|x| H::from_f64(*x).to_f64()).collect();
        expected = hk_ref::Expected::exact(numbers);
    }
    let snapshot_shape = sizes.states(chunk_count, layout);
    let [wants_h, wants_new] = spec.wanted;
    let snapshots = wants_h.then(|| {
        let snapshots = s.output::<H>("h", &snapshot_shape, expected);
        placed(snapshots, &snapshot_shape, spec.far(Apart::Snapshots))
    });
    let expected = per_head(news, [b, t, hv, values], K::DTYPE, gate(2.5e-3));
    let news = wants_new.then(|| {
        let shape = sizes.of_tokens(&[hv, values]);
        rows_of(s.output::<K>("v_new", &shape, expected), &shape)
    });
    let slots = slots.map(|slots| indices(s, "state_indices", slots, sequences % 2 == 0));
    let has = has.map(|has| s.given("has_initial_state", &[sequences], has));
    let (schedule, spec) = (schedule(s, sizes, size, spec.wild), spec.clone());
    s.call(move || {
        let sums = sums.as_ref().map(Arg::get);
        let mut options =
            ChunkDeltaHOptions::default().state_layout(layout).validate_indices(!spec.wild);
        options = match &schedule {
            Some(schedule) => options.schedule(schedule),
            None => options.chunk_size(spec.chunk),
        };
        if let Some(sums) = &sums {
            options = options.gates(ChunkGates { sums, base });
        }
        let (initial, slots) = (initial.as_ref().map(Arg::get), slots.as_ref().map(IndexArg::get));
        let has = has.as_ref().map(Arg::get);
        let mut finals = finals.as_ref().map(Arg::get);
        let mut pool = pool.as_ref().map(Arg::get);
        let states = match pool.as_deref_mut() {
            Some(states) => ChunkStates::Pool {
                states,
                indices: slots.as_ref().map(IndexTensor::indices),
                has_initial_state: has.as_deref(),
            },
            None => {
                ChunkStates::Each { initial: initial.as_deref(), finals: finals.as_deref_mut() }
            }
        };
        let (mut h, mut v_new) = (snapshots.as_ref().map(Arg::get), news.as_ref().map(Arg::get));
        let out = ChunkDeltaHOut { h: h.as_deref_mut(), v_new: v_new.as_deref_mut(), states };
        chunk_delta_h_fwd_into(&k.get(), &w.get(), &u.get(), &options, out)
    });
}

/// Tokens, states and snapshots of which the last are beyond 2^32 bytes.
fn far_cases() -> Vec<Spec> {
    let of = |which, far, sizes| Spec {
        far: Some((which, far)),
        size: Size::Core,
        ..Spec::new("far apart", sizes, FAR_CHUNK)
    };
    let tokens = far_tokens([8, 8]).into_iter();
    let mut specs: Vec<Spec> = tokens.map(|(far, sizes)| of(Apart::Tokens, far, sizes)).collect();
    for (count, distance) in [(2, 1 << 32), (3, 1 << 31)] {
        let [slots, heads] = [0, 1].map(|axis| Far { axis, distance });
        let one_head = |keys| Sizes::new([count, 2], [1, 1], [keys, 8]);
        specs.push(of(Apart::Snapshots, slots, one_head(2)));
        // Of one key, as those of a head are within 2^31 bytes.
        specs.push(of(Apart::States, slots, one_head(1)));
        specs.push(of(Apart::States, heads, Sizes::new([1, 2], [count, count], [1, 8])));
        let slots_of = (0..count as i64).rev().collect();
        let states = Where::Pool { slots: Some(slots_of), count, has: None };
        specs.push(Spec { states, ..of(Apart::States, slots, one_head(1)) });
    }
    specs
}

/// Every case.
pub(crate) fn cases() -> Vec<Case> {
    let mut specs = Vec::new();
    let plain = |sequences, heads, sizes, chunk| {
        Spec::new("plain", Sizes::new(sequences, heads, sizes), chunk)
    };
    for layout in [StateLayout::Kv, StateLayout::Vk] {
        for chunk in [16, 32, 64] {
            let spec = Spec { layout, ..plain([2, 2 * chunk + 3], [1, 2], [64, 32], chunk) };
            specs.push(Spec { gated: false, ..spec.clone() });
            specs.push(spec);
            for tokens in [1, 15, 33] {
                specs.push(Spec { layout, ..plain([1, tokens], [1, 2], [60, 20], chunk) });
            }
            // Whole chunks alone.
            for tokens in [chunk, 2 * chunk] {
                specs.push(Spec { layout, ..plain([1, tokens], [1, 1], [24, 16], chunk) });
            }
            let whole = Sizes::packed(&[chunk, 0, 2 * chunk], [1, 1], [24, 16]);
            specs.push(Spec { layout, ..Spec::new("plain", whole, chunk) });
        }
        specs.push(Spec { layout, ..plain([1, 63], [1, 1], [24, 16], 64) });
        for (heads, sizes) in [
            ([1, 1], [1, 1]),
            ([1, 2], [100, 17]),
            ([1, 2], [128, 64]),
            ([1, 1], [256, 40]),
            ([1, 1], [255, 33]),
            ([2, 8], [32, 16]),
        ] {
            specs.push(Spec { layout, ..plain([1, 70], heads, sizes, 64) });
        }
        for lengths in [&[15][..], &[15, 0, 40, 1], &[0, 0]] {
            let sizes = Sizes::packed(lengths, [1, 2], [36, 20]);
            specs.push(Spec { layout, ..Spec::new("plain", sizes, 16) });
        }
        for dtypes in [DType::Bf16, DType::F16]
            .iter()
            .flat_map(|k| REALS.map(|h| (*k, h)))
            .flat_map(|(k, h)| [DType::F32, DType::Bf16].map(|state| [k, h, state]))
        {
            let spec = plain([1, 37], [1, 2], [44, 28], 32);
            specs.push(Spec { name: "types", layout, dtypes, ..spec });
        }
        for state in [DType::F32, DType::Bf16] {
            let dtypes = [DType::Bf16, DType::Bf16, state];
            let spec = Spec::new("types", Sizes::packed(&[20, 0, 37], [1, 2], [44, 28]), 32);
            specs.push(Spec { layout, dtypes, turned: true, ..spec });
        }
        let pool = |slots: Option<&[i64]>, count, has: Option<&[u8]>| Where::Pool {
            slots: slots.map(<[_]>::to_vec),
            count,
            has: has.map(<[_]>::to_vec),
        };
        let packed = Spec::new("plain", Sizes::packed(&[20, 3, 0, 17], [1, 2], [40, 24]), 16);
        for states in [
            pool(None, 4, None),
            pool(None, 5, Some(&[1, 0, 0, 1])),
            pool(Some(&[4, -1, 1, 0]), 6, None),
            pool(Some(&[-1; 4]), 1, Some(&[1; 4])),
        ] {
            specs.push(Spec { layout, states, ..packed.clone() });
        }
        let states = pool(Some(&[4, -1, 1, 0]), 6, Some(&[0, 1, 1, 1]));
        specs.push(Spec { base: GateBase::Two, layout, states, ..packed });
        // Slots that there are not, of 64 bits and of 32, and numbers of the schedule that there are not.
        for (lengths, slots) in [
            (&[20, 3, 0, 7, 1, 17][..], &[i64::MAX, 4, i64::MIN, 1 << 32, 6, 0][..]),
            (&[20, 3, 17][..], &[6, 4, -2][..]),
        ] {
            let sizes = Sizes::packed(lengths, [1, 2], [12, 8]);
            let states = pool(Some(slots), 6, None);
            specs.push(Spec { layout, states, wild: true, ..Spec::new("plain", sizes, 16) });
        }
        let three = plain([3, 20], [1, 2], [40, 24], 16);
        let states = pool(Some(&[2, -1, 0]), 4, Some(&[0, 1, 1]));
        specs.push(Spec { layout, states, ..three.clone() });
        specs.push(Spec { layout, in_place: true, ..three.clone() });
        let place = Placement::DENSE.gap(8).shift(1);
        specs.push(Spec { layout, place, ..three.clone() });
        specs.push(Spec { layout, head_first: true, ..three.clone() });
        specs.push(Spec { name: "idle", layout, idle: true, gated: false, ..three.clone() });
        specs.push(Spec { name: "forgetting", layout, forgets: true, ..three });
    }
    let two = plain([2, 40], [2, 4], [4, 8], 32);
    specs.push(Spec { base: GateBase::Two, ..two.clone() });
    for (initial, finals) in [(false, true), (true, false), (false, false)] {
        specs.push(Spec { states: Where::Each(initial, finals), ..two.clone() });
    }
    for wanted in [[false, true], [true, false], [false, false]] {
        specs.push(Spec { wanted, ..two.clone() });
    }
    let states = Where::Pool { slots: Some(vec![2, 0]), count: 3, has: Some(vec![1, 1]) };
    specs.push(Spec { states, ..plain([2, 3], [2, 4], [4, 8], 16) });
    let of_f16 = |spec: &Spec| {
        let [_, h, state] = spec.dtypes;
        Spec { dtypes: [DType::F16, h, state], size: Size::Core, ..spec.clone() }
    };
    let others = specs.iter().filter(|spec| spec.name != "types");
    specs.extend(others.map(of_f16).collect::<Vec<_>>());
    specs.extend(far_cases());
    let wide = plain([1, 33], [1, 1], [20, 512], 16);
    specs.push(Spec { size: Size::Core, ..wide });
    let long = plain([1, 300], [1, 2], [128, 128], 64);
    specs.push(Spec { size: Size::Core, ..long });
    let large = plain([1, 8192], [2, 4], [128, 128], 64);
    specs.push(Spec { size: Size::Large, ..large });
    specs.into_iter().map(Spec::case).collect()
}
