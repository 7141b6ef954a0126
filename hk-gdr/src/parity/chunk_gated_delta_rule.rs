//! Cases of `chunk_gated_delta_rule`, against the rule token after token.

use hk_core::TensorSlice;
use hk_core::dtype::{DType, Real, bf16, f16};
use hk_ref::gdr::fused_recurrent::normalized;
use hk_ref::{Arg, Case, CaseInfo, Draw, Placement, Setup, Size};

use super::chunk::alike;
use super::chunks::{logarithms, per_head, schedule, shape};
use super::delta_rule::{Inputs, Sizes, recurrence};
use super::indices::{IndexArg, IndexTensor, indices};
use crate::{
    ChunkElement, ChunkGatedDeltaRuleOptions, ChunkGatedDeltaRuleOut, ChunkStates, GateBase,
    RealTensor, State, StateLayout, chunk_gated_delta_rule_into,
};

/// What varies between cases.
#[derive(Debug, Clone)]
struct Spec {
    sizes: Sizes,
    chunk: usize,
    base: GateBase,
    layout: StateLayout,
    scale: Option<f32>,
    normalizes: bool,
    /// The power of two of the deviation of queries and keys that are normalised.
    power: i32,
    /// Whether keys have much in common.
    alike: bool,
    /// What logarithms are divided by, and whether half of them are 0.
    divisor: f64,
    half: bool,
    /// Whether there are initial states, and whether final ones are wanted.
    each: [bool; 2],
    /// Slots of a pool with one more than there are sequences, instead.
    slots: Option<Vec<i64>>,
    /// Element types of q, k and v, of g and beta, and of states.
    dtypes: [DType; 3],
    /// Whether final states are of the other type, where all but states are of bf16.
    turned: bool,
    /// Whether slots are of 64 bits and not looked at, and numbers of the schedule beside what there is.
    wild: bool,
    place: Placement,
    in_place: bool,
    size: Size,
}

impl Spec {
    fn new(sizes: Sizes, chunk: usize) -> Self {
        Self {
            sizes,
            chunk,
            base: GateBase::E,
            layout: StateLayout::Kv,
            scale: None,
            normalizes: false,
            power: 1,
            alike: false,
            divisor: 1.0,
            half: false,
            each: [true; 2],
            slots: None,
            dtypes: [DType::Bf16, DType::F32, DType::F32],
            turned: false,
            wild: false,
            place: Placement::DENSE,
            in_place: false,
            size: Size::Quick,
        }
    }

    fn case(self) -> Case {
        let Self { chunk, base, layout, divisor, each, .. } = self;
        let mut title = format!("{:?}, chunks of {chunk}, {base:?}", self.sizes.lengths);
        title += &format!(", {layout:?} states {each:?}, logarithms over {divisor}");
        title += &self.scale.map(|scale| format!(", times {scale}")).unwrap_or_default();
        title += &self.slots.as_ref().map(|at| format!(", slots {at:?}")).unwrap_or_default();
        for (is_said, what) in [
            (self.sizes.packed, ", packed"),
            (self.normalizes, ", normalised"),
            (self.alike, ", keys alike"),
            (self.half, ", half of them 0"),
            (self.turned, ", final states of the other type"),
            (self.wild, ", wild"),
            (self.in_place, ", in place"),
        ] {
            title += if is_said { what } else { "" };
        }
        if self.power != 1 {
            title += &format!(", of 2^{}", self.power);
        }
        let (place, in_place, size) = (self.place, self.in_place, self.size);
        let [k, g, state] = self.dtypes;
        title += &format!(", {k} {g} {state}");
        let shape = shape(&self.sizes);
        let op = "chunk_gated_delta_rule";
        let info = CaseInfo::new("chunk", op, title, &[k, g, state, k], &shape);
        let set_up = move |s: &mut Setup| match (k, g, state) {
            (_, _, DType::F32) if self.turned => set_up::<bf16, bf16, f32, bf16>(s, &self),
            _ if self.turned => set_up::<bf16, bf16, bf16, f32>(s, &self),
            (DType::F16, _, _) => set_up::<f16, f32, f32, f32>(s, &self),
            (_, DType::Bf16, DType::F32) => set_up::<bf16, bf16, f32, f32>(s, &self),
            (_, DType::Bf16, _) => set_up::<bf16, bf16, bf16, bf16>(s, &self),
            (_, _, DType::F32) => set_up::<bf16, f32, f32, f32>(s, &self),
            _ => set_up::<bf16, f32, bf16, bf16>(s, &self),
        };
        Case::new(info, set_up).place(place).in_place(in_place).size(size)
    }
}

fn set_up<K: ChunkElement, G: Real, S: State, F: State>(s: &mut Setup, spec: &Spec)
where
    for<'a> RealTensor<'a>: From<&'a TensorSlice<G>>,
{
    let Spec { ref sizes, layout, base, normalizes, .. } = *spec;
    let Sizes { keys, values, heads: [h, hv], .. } = *sizes;
    let [b, t] = sizes.tokens();
    let shape = sizes.of_tokens(&[h, keys]);
    let row = |s: &mut Setup, name: &'static str| {
        let elements = match (normalizes, spec.alike && name == "k") {
            (true, _) => s.draw::<K>(name, &shape, Draw::Scaled(spec.power)),
            (_, true) => alike(s, sizes),
            _ => sizes.unit_rows::<K>(s, name),
        };
        s.given(name, &shape, elements)
    };
    let (q, k) = (row(s, "q"), row(s, "k"));
    let v = s.input::<K>("v", &sizes.of_tokens(&[hv, values]), Draw::Normal);
    let of_tokens = sizes.of_tokens(&[hv]);
    let drawn = logarithms(s, sizes).into_iter().enumerate();
    let is_zero = |i: usize| spec.half && i / hv % 2 == 1;
    let g = drawn
        .map(|(i, g)| G::from_f64(if is_zero(i) { 0.0 } else { f64::from(g) / spec.divisor }))
        .collect();
    let g = s.given("g", &of_tokens, g);
    let beta = s.input::<G>("beta", &of_tokens, Draw::Uniform);

    let sequences = sizes.lengths.len();
    let count = if spec.slots.is_some() { sequences + 1 } else { sequences };
    let state_shape = sizes.states(count, layout);
    let before: Vec<S> = s.draw("state", &state_shape, Draw::Scaled(-2));
    let given: Vec<f64> = before.iter().map(|x| x.to_f64()).collect();
    let mut all = sizes.turned(&given, layout);
    let [has_initial, has_final] = spec.each;
    if !has_initial {
        all.fill(0.0);
    }
    let len = hv * sizes.state_len();
    let slot_of = |sequence: usize| match &spec.slots {
        Some(slots) => usize::try_from(slots[sequence]).ok().filter(|slot| *slot < count),
        None => Some(sequence),
    };
    let begin = |sequence| match slot_of(sequence) {
        Some(slot) => all[slot * len..][..len].to_vec(),
        None => vec![0.0; len],
    };
    let mut states: Vec<Vec<f64>> = (0..sequences).map(begin).collect();
    // Of normalised rows, what is left after they are rounded.
    let rows = |x: Vec<f64>| match normalizes {
        true => {
            let rows = x.chunks_exact(keys).flat_map(normalized);
            rows.map(|x| K::from_f64(x).to_f64()).collect()
        }
        false => x,
    };
    let inputs = Inputs {
        q: rows(q.numbers()),
        k: rows(k.numbers()),
        v: v.numbers(),
        g: g.numbers(),
        gk: Vec::new(),
        gv: Vec::new(),
        beta: beta.numbers().into_iter().flat_map(|beta| vec![beta; values]).collect(),
        scale: spec.scale.map_or(1.0 / (keys as f64).sqrt(), f64::from),
        normalizes: false,
    };
    let o = recurrence(sizes, &inputs, &mut states);
    let mut changed = vec![false; count];
    for (sequence, state) in states.iter().enumerate() {
        if let Some(slot) = slot_of(sequence).filter(|_| sizes.lengths[sequence] > 0) {
            all[slot * len..][..len].copy_from_slice(state);
            changed[slot] = true;
        }
    }

    let part = if K::DTYPE == DType::Bf16 { 1.0 } else { 0.15 };
    let of_o = per_head(o, [b, t, hv, values], K::DTYPE, 6e-3 * part);
    let gate = if F::DTYPE == DType::F32 { 5.5e-3 * part } else { 6e-3 };
    let numbers = sizes.laid_out(&all, layout);
    let mut of_states = per_head(numbers, [count * hv, 1, 1, len / hv], F::DTYPE, gate);
    let numbers = of_states.allowed.iter_mut().zip(&mut of_states.values).enumerate();
    for (_, (allowed, value)) in numbers.filter(|(i, _)| !changed[i / len]) {
        (*allowed, *value) = (0.0, F::from_f64(*value).to_f64());
    }
    let (mut initial, mut finals, mut pool) = (None, None, None);
    if spec.slots.is_some() {
        pool = Some(s.output::<S>("state", &state_shape, of_states).holding(before));
    } else {
        initial = has_initial.then(|| s.given("initial_state", &state_shape, before));
        finals = has_final.then(|| s.output::<F>("final_state", &state_shape, of_states));
    }
    let slots = spec.slots.clone().map(|slots| indices(s, "state_indices", slots, spec.wild));
    let o = s.output::<K>("o", &sizes.of_tokens(&[hv, values]), of_o);
    let (schedule, spec) = (schedule(s, sizes, spec.chunk, spec.wild), spec.clone());
    s.call(move || {
        let mut options = ChunkGatedDeltaRuleOptions::default()
            .gate_base(base)
            .use_qk_l2norm_in_kernel(normalizes)
            .state_layout(layout)
            .validate_indices(!spec.wild);
        options = match &schedule {
            Some(schedule) => options.schedule(schedule),
            None => options.chunk_size(spec.chunk),
        };
        if let Some(scale) = spec.scale {
            options = options.scale(scale);
        }
        let (g, beta) = (g.get(), beta.get());
        let (initial, slots) = (initial.as_ref().map(Arg::get), slots.as_ref().map(IndexArg::get));
        let mut finals = finals.as_ref().map(Arg::get);
        let mut pool = pool.as_ref().map(Arg::get);
        let states = match pool.as_deref_mut() {
            Some(states) => ChunkStates::Pool {
                states,
                indices: slots.as_ref().map(IndexTensor::indices),
                has_initial_state: None,
            },
            None => {
                ChunkStates::Each { initial: initial.as_deref(), finals: finals.as_deref_mut() }
            }
        };
        let out = ChunkGatedDeltaRuleOut { o: &mut *o.get(), states };
        let (q, k, v) = (q.get(), k.get(), v.get());
        chunk_gated_delta_rule_into(&q, &k, &v, &*g, &*beta, &options, out)
    });
}

/// Every case.
pub(crate) fn cases() -> Vec<Case> {
    let mut specs = Vec::new();
    let plain =
        |sequences, heads, sizes, chunk| Spec::new(Sizes::new(sequences, heads, sizes), chunk);
    for layout in [StateLayout::Kv, StateLayout::Vk] {
        let of = |spec: Spec| Spec { layout, ..spec };
        specs.push(of(plain([1, 130], [1, 2], [64, 64], 64)));
        specs.push(of(plain([1, 65], [1, 1], [128, 128], 64)));
        specs.push(of(Spec::new(Sizes::packed(&[15, 0, 65], [1, 2], [60, 60]), 64)));
        specs.push(of(Spec { normalizes: true, ..plain([2, 40], [1, 2], [36, 20], 16) }));
        specs.push(of(Spec { alike: true, ..plain([1, 70], [1, 1], [64, 32], 32) }));
        let packed = Spec::new(Sizes::packed(&[20, 0, 7], [1, 2], [40, 17]), 16);
        specs.push(of(Spec { slots: Some(vec![3, 1, -1]), ..packed.clone() }));
        specs.push(of(Spec { normalizes: true, base: GateBase::Two, ..packed.clone() }));
        let three = plain([3, 17], [1, 2], [33, 20], 16);
        let dtypes = [DType::Bf16, DType::Bf16, DType::Bf16];
        specs.push(of(Spec { dtypes, in_place: true, ..three.clone() }));
        specs.push(of(Spec { dtypes, turned: true, ..packed.clone() }));
        let dtypes = [DType::Bf16, DType::Bf16, DType::F32];
        specs.push(of(Spec { dtypes, turned: true, ..packed }));
        specs.push(of(Spec { place: Placement::DENSE.gap(8).shift(1), ..three.clone() }));
        specs.push(of(Spec { slots: Some(vec![2, -1, 0]), ..three }));
        let wild = Spec::new(Sizes::packed(&[20, 3, 0, 7, 17], [1, 2], [12, 8]), 16);
        let slots = Some(vec![i64::MAX, 4, i64::MIN, 1 << 32, 6]);
        specs.push(of(Spec { slots, wild: true, ..wild }));
        // So short that what is added to the square of the length counts.
        for power in [-12, -30] {
            let short = Spec { power, normalizes: true, ..plain([1, 20], [1, 1], [20, 8], 16) };
            specs.push(of(short));
        }
    }
    for (divisor, half) in [(0.1, false), (10.0, false), (1.0, true)] {
        specs.push(Spec { divisor, half, ..plain([1, 64], [1, 1], [64, 40], 64) });
    }
    let small = plain([2, 3], [2, 4], [4, 8], 16);
    for each in [[false, true], [true, false], [false, false]] {
        specs.push(Spec { each, ..small.clone() });
    }
    specs.push(Spec { scale: Some(2.0), ..small.clone() });
    specs.push(Spec { slots: Some(vec![2, 0]), ..small });
    specs.push(plain([1, 40], [1, 1], [256, 24], 32));
    let none = Spec::new(Sizes::packed(&[0, 0], [1, 2], [12, 12]), 16);
    specs.push(Spec { each: [false, true], ..none.clone() });
    specs.push(none);
    let dtypes = [DType::F16, DType::F32, DType::F32];
    specs.push(Spec { dtypes, normalizes: true, ..plain([1, 50], [1, 2], [60, 36], 32) });
    let alike = plain([1, 130], [1, 1], [64, 32], 64);
    specs.push(Spec { alike: true, size: Size::Core, ..alike });
    specs.push(Spec { size: Size::Core, ..plain([1, 33], [1, 1], [20, 512], 32) });
    let long = plain([2, 250], [1, 2], [64, 64], 64);
    specs.push(Spec { size: Size::Core, ..long });
    let packed = Spec::new(Sizes::packed(&[256, 244, 500], [1, 1], [100, 100]), 64);
    specs.push(Spec { size: Size::Core, ..packed });
    let large = plain([1, 8192], [2, 4], [128, 128], 64);
    specs.push(Spec { normalizes: true, size: Size::Large, ..large });
    specs.into_iter().map(Spec::case).collect()
}
