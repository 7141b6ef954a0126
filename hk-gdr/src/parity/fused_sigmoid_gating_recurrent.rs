//! Cases of `fused_sigmoid_gating_recurrent` and its packed form.

use hk_core::dtype::{DType, Element, Real, bf16};
use hk_ref::gdr::fused_sigmoid_gating_recurrent::{decay, sigmoid};
use hk_ref::{Arg, Case, CaseInfo, Draw, Expected, Placement, REALS, Setup, Size, real};

use super::delta_rule::{
    Far, Inputs, Sizes, expected_results, expected_states, one_hot, placed, recurrence,
};
use super::indices::{IndexArg, IndexTensor, bounds_of, indices};
use crate::{
    GatingInputs, QkvzbaHeads, SigmoidGatingOptions, SigmoidGatingOut, State, StateLayout,
    fused_sigmoid_gating_recurrent_into, fused_sigmoid_gating_recurrent_packed_into,
};

/// Which slots sequences have.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Slots {
    /// No states.
    None,
    /// Those of their numbers.
    Own,
    /// In another order, of 32 bits; every third is -1.
    Permuted32,
    /// The same, of 64 bits.
    Permuted64,
    /// As before, but instead of -1 there are slots that there are not, and bounds are beside the
    /// tokens.
    Wild,
    /// All are -1.
    Nowhere,
}

/// Of which size steps, strengths and rates are.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Gates {
    Drawn,
    /// Such at which functions turn.
    Special,
    /// Large rates of small steps, and small strengths: all digits of large powers count. Each token
    /// has the first key.
    Steep,
}

/// What varies between cases.
#[derive(Debug, Clone)]
struct Spec {
    name: &'static str,
    sizes: Sizes,
    packed_qkv: bool,
    /// Whether a and b have all tokens of all sequences in one dimension.
    flat_gates: bool,
    slots: Slots,
    gates: Gates,
    softplus: [f32; 2],
    normalizes: bool,
    scale: Option<f32>,
    layout: StateLayout,
    /// Element types of q, k and v, of o, of A_log and dt_bias, and of a and b.
    dtypes: [DType; 4],
    /// Whether dt_bias is of bf16, and all others of the types of [`Spec::new`].
    bf16_bias: bool,
    state: DType,
    /// Of all that tokens have.
    far: Option<Far>,
    place: Placement,
    size: Size,
}

impl Spec {
    fn new(name: &'static str, sizes: Sizes) -> Self {
        Self {
            name,
            sizes,
            packed_qkv: false,
            flat_gates: false,
            slots: Slots::Permuted32,
            gates: Gates::Drawn,
            softplus: [1.0, 20.0],
            normalizes: true,
            scale: None,
            layout: StateLayout::Kv,
            dtypes: [DType::Bf16, DType::Bf16, DType::F32, DType::Bf16],
            bf16_bias: false,
            state: DType::F32,
            far: None,
            place: Placement::DENSE,
            size: Size::Quick,
        }
    }

    /// Puts a tensor of that shape where the case says.
    fn placed<T: Element>(&self, arg: Arg<T>, shape: &[usize]) -> Arg<T> {
        placed(arg, shape, self.far)
    }

    fn slot(&self, sequence: usize) -> Option<usize> {
        match self.slots {
            Slots::None | Slots::Nowhere => None,
            Slots::Own => Some(sequence),
            _ if sequence % 3 == 2 => None,
            _ => Some(self.slot_count() - 1 - sequence),
        }
    }

    /// So many that some are nobody's.
    fn slot_count(&self) -> usize {
        self.sizes.lengths.len() + 2
    }

    fn case(self) -> Case {
        let Self { name, slots, layout, state, softplus: [factor, threshold], .. } = self;
        let [qkv, o, parameters, ab] = self.dtypes;
        let mut title = format!("{name}, {layout:?} states of {state}, slots {slots:?}");
        title += &format!(", A_log {parameters}, softplus {factor} to {threshold}");
        for (is_said, what) in [
            (self.normalizes, ", normalised"),
            (self.sizes.packed, ", packed sequences"),
            (self.flat_gates, ", a and b of two dimensions"),
            (self.bf16_bias, ", dt_bias bf16"),
        ] {
            title += if is_said { what } else { "" };
        }
        title += &format!(", {qkv} {ab} to {o}");
        let op = match self.packed_qkv {
            true => "fused_sigmoid_gating_recurrent_packed",
            false => "fused_sigmoid_gating_recurrent",
        };
        let module = "fused_sigmoid_gating_recurrent";
        let info = CaseInfo::new(module, op, title, &[qkv, ab, o], &self.sizes.shape());
        let (place, size) = (self.place, self.size);
        let set_up = move |s: &mut Setup| {
            if self.bf16_bias {
                return set_up::<bf16, bf16, f32, bf16, bf16, f32>(s, &self);
            }
            real!(qkv, Q => real!(o, O => real!(parameters, P => real!(ab, A => match state {
                DType::F32 => set_up::<Q, O, P, P, A, f32>(s, &self),
                _ => set_up::<Q, O, P, P, A, bf16>(s, &self),
            }))));
        };
        Case::new(info, set_up).place(place).size(size).writes_once()
    }
}

/// Sums of step and bias, and strengths, at which the functions turn: in an order in which no head
/// has but small results, or ends with a small state.
const TURNS: [f64; 13] = [
    f64::INFINITY,
    f64::NEG_INFINITY,
    90.0,
    -100.0,
    0.0,
    20.01,
    -1.0,
    1.0,
    -50.0,
    // Four times this is a threshold.
    0.75,
    -17.5,
    19.99,
    100.0,
];

/// Logarithms of rates.
const RATES: [f64; 4] = [-20.0, 5.0, 0.0, f64::NEG_INFINITY];

/// Logarithms of large rates, and of steps that are as small.
const STEEP_RATES: [f64; 4] = [82.0, 79.3, 77.7, 81.1];
const STEEP_STEPS: [f64; 4] = [-80.0, -77.9, -79.1, -79.3];

/// What powers, and what is computed from one, may be off; and logarithms of decays, which are of two.
const STEEP: f64 = 7e-7;
const STEEP_DECAYS: f64 = 1e-6;

/// Queries, keys and values of a case: each alone, or side by side.
enum Qkv<T: Real> {
    Apart([Arg<T>; 3]),
    Packed(Arg<T>),
}

impl<T: Real> Qkv<T> {
    /// Adds them, and gives their numbers.
    fn new(s: &mut Setup, spec: &Spec) -> (Self, [Vec<f64>; 3]) {
        let Sizes { keys, values, heads: [h, hv], .. } = spec.sizes;
        if !spec.packed_qkv {
            let rows = spec.sizes.of_tokens(&[h, keys]);
            let [q, k] = ["q", "k"].map(|name| {
                let elements = match spec.gates {
                    Gates::Steep => one_hot(rows[..3].iter().product(), keys, |_| 0),
                    _ if spec.normalizes => s.draw(name, &rows, Draw::Normal),
                    _ => spec.sizes.unit_rows::<T>(s, name),
                };
                let row = s.given(name, &rows, elements);
                spec.placed(row, &rows)
            });
            let rows = spec.sizes.of_tokens(&[hv, values]);
            let v = s.input::<T>("v", &rows, Draw::Normal);
            let v = spec.placed(v, &rows);
            let numbers = [&q, &k, &v].map(Arg::numbers);
            return (Self::Apart([q, k, v]), numbers);
        }
        let width = 2 * h * keys + hv * values;
        let mixed = s.input::<T>("mixed_qkv", &spec.sizes.of_tokens(&[width]), Draw::Normal);
        let of_rows = mixed.numbers();
        let part = |first: usize, count: usize| -> Vec<f64> {
            of_rows.chunks_exact(width).flat_map(|row| row[first..first + count].to_vec()).collect()
        };
        let numbers =
            [part(0, h * keys), part(h * keys, h * keys), part(2 * h * keys, hv * values)];
        (Self::Packed(mixed), numbers)
    }
}

fn set_up<T: Real, O: Real, P: Real, D: Real, A: Real, S: State>(s: &mut Setup, spec: &Spec) {
    let sizes = &spec.sizes;
    let Sizes { keys, values, heads: [h, hv], .. } = *sizes;
    let (qkv, [q, k, v]) = Qkv::<T>::new(s, spec);
    let of_heads = match spec.flat_gates {
        true => vec![sizes.tokens().iter().product(), hv],
        false => sizes.of_tokens(&[hv]),
    };
    let (mut a, mut b) =
        (s.draw("a", &of_heads, Draw::Normal), s.draw("b", &of_heads, Draw::Normal));
    let mut a_log: Vec<P> = s.draw("a_log", &[hv], Draw::Normal);
    let mut dt_bias: Vec<D> = s.draw("dt_bias", &[hv], Draw::Normal);
    dt_bias.iter_mut().for_each(|bias| *bias = D::from_f64(bias.to_f64() - 2.0));
    let gates = match spec.gates {
        Gates::Drawn => None,
        Gates::Special => Some((&TURNS[..], RATES)),
        Gates::Steep => Some((&STEEP_STEPS[..], STEEP_RATES)),
    };
    if let Some((turns, rates)) = gates {
        let rate = |head: usize| rates[head % rates.len()];
        // The product of no rate and of an infinite step is no number.
        let step = |i: usize| match turns[i % turns.len()] {
            f64::INFINITY if rate(i % hv) == f64::NEG_INFINITY => 1.0,
            turn => turn,
        };
        a = (0..a.len()).map(|i| A::from_f64(step(i))).collect();
        b = (0..b.len()).map(|i| A::from_f64(turns[(i / 2 + 3) % turns.len()])).collect();
        a_log = (0..hv).map(|head| P::from_f64(rate(head))).collect();
        dt_bias.fill(D::from_f64(0.0));
    }
    let [a, b] = [("a", a), ("b", b)].map(|(name, elements)| {
        let arg = s.given(name, &of_heads, elements);
        spec.placed(arg, &of_heads)
    });
    let a_log = s.given("a_log", &[hv], a_log);
    let dt_bias = s.given("dt_bias", &[hv], dt_bias);
    let [factor, threshold] = spec.softplus;
    let (rates, biases) = (a_log.numbers(), dt_bias.numbers());
    let decays = a.numbers().into_iter().enumerate();
    let decays: Vec<f64> = decays
        .map(|(i, a)| decay(rates[i % hv], a + biases[i % hv], factor, threshold).0)
        .collect();
    let strengths: Vec<f64> = b.numbers().into_iter().map(sigmoid).collect();
    let inputs = Inputs {
        q,
        k,
        beta: (0..v.len()).map(|i| strengths[i / values]).collect(),
        v,
        g: decays.clone(),
        gk: Vec::new(),
        gv: Vec::new(),
        scale: spec.scale.map_or(1.0 / (keys as f64).sqrt(), f64::from),
        normalizes: spec.normalizes,
    };

    let shape = sizes.states(spec.slot_count(), spec.layout);
    let len = hv * sizes.state_len();
    let mut pool: Vec<S> = s.draw("state", &shape, Draw::Scaled(-2));
    // A NaN's bits stay, too, where nobody has a slot.
    pool[len - 1] = S::from_f64(f64::NAN);
    let numbers: Vec<f64> = pool.iter().map(|x| x.to_f64()).collect();
    let begin = sizes.turned(&numbers, spec.layout);
    let mut states: Vec<Vec<f64>> = (0..sizes.lengths.len())
        .map(|n| match spec.slot(n) {
            Some(slot) => begin[slot * len..][..len].to_vec(),
            None => vec![0.0; len],
        })
        .collect();
    let o = recurrence(sizes, &inputs, &mut states);
    let rows = sizes.of_tokens(&[hv, values]);
    let o = match spec.gates {
        // Of a state of zeros, so that there is nothing but what is learnt.
        Gates::Steep if spec.slots == Slots::None => Expected::relative(o, STEEP),
        _ => expected_results::<O>(sizes, o),
    };
    let o = s.output::<O>("o", &rows, o);
    let o = spec.placed(o, &rows);
    let mut end = begin;
    let mut computed = vec![false; spec.slot_count()];
    for (n, state) in states.iter().enumerate() {
        if let Some(slot) = spec.slot(n).filter(|_| sizes.lengths[n] > 0) {
            end[slot * len..][..len].copy_from_slice(state);
            computed[slot] = true;
        }
    }
    let end = sizes.laid_out(&end, spec.layout);
    let mut expected = expected_states::<S>(sizes, end, |slot| computed[slot]);
    if spec.gates == Gates::Steep {
        let elements = expected.allowed.iter_mut().zip(&expected.values).enumerate();
        for (i, (allowed, value)) in elements.filter(|(i, _)| computed[i / len]) {
            let part = STEEP + STEEP_DECAYS * decays[i / sizes.state_len() % hv].abs();
            *allowed = part * value.abs();
        }
    }
    let state =
        (spec.slots != Slots::None).then(|| s.output::<S>("state", &shape, expected).holding(pool));
    let is_64 = matches!(spec.slots, Slots::Permuted64 | Slots::Wild);
    let slots = (!matches!(spec.slots, Slots::None | Slots::Own)).then(|| {
        let nobody = |n: usize| match spec.slots {
            Slots::Wild => [i64::MAX, i64::MIN, spec.slot_count() as i64, 1 << 32][n / 3 % 4],
            _ => -1,
        };
        let slot = |n| spec.slot(n).map_or_else(|| nobody(n), |slot| slot as i64);
        indices(s, "state_indices", (0..sizes.lengths.len()).map(slot).collect(), is_64)
    });
    let bounds = sizes.packed.then(|| {
        let mut bounds = bounds_of(&sizes.lengths);
        if spec.slots == Slots::Wild {
            bounds[0] = i64::MIN;
            bounds[sizes.lengths.len()] = i64::MAX;
        }
        indices(s, "cu_seqlens", bounds, is_64)
    });
    let spec = spec.clone();
    s.call(move || {
        let slots = slots.as_ref().map(IndexArg::get);
        let bounds = bounds.as_ref().map(IndexArg::get);
        let mut options = SigmoidGatingOptions::default()
            .softplus_beta(factor)
            .softplus_threshold(threshold)
            .use_qk_l2norm_in_kernel(spec.normalizes)
            .state_layout(spec.layout)
            .validate_indices(spec.slots != Slots::Wild);
        if let Some(scale) = spec.scale {
            options = options.scale(scale);
        }
        if let Some(slots) = slots.as_ref().map(IndexTensor::indices) {
            options = options.state_indices(slots);
        }
        if let Some(bounds) = bounds.as_ref().map(IndexTensor::indices) {
            options = options.cu_seqlens(bounds);
        }
        let (a_log, dt_bias, a, b) = (a_log.get(), dt_bias.get(), a.get(), b.get());
        let gating = GatingInputs { a_log: &a_log, dt_bias: &dt_bias, a: &a, b: &b };
        let mut state = state.as_ref().map(Arg::get);
        let out = SigmoidGatingOut { o: &mut *o.get(), state: state.as_deref_mut() };
        match &qkv {
            Qkv::Apart([q, k, v]) => fused_sigmoid_gating_recurrent_into(
                gating,
                &q.get(),
                &k.get(),
                &v.get(),
                &options,
                out,
            ),
            Qkv::Packed(mixed_qkv) => {
                let heads =
                    QkvzbaHeads { num_heads_qk: h, num_heads_v: hv, head_qk: keys, head_v: values };
                let mixed_qkv = mixed_qkv.get();
                fused_sigmoid_gating_recurrent_packed_into(gating, &mixed_qkv, heads, &options, out)
            }
        }
    });
}

/// Sequences, tokens and heads of which the last is beyond 2^32 elements: a distance from one to the
/// next that is as long itself, or half of it.
fn far_cases() -> Vec<Spec> {
    let mut specs = Vec::new();
    for (count, distance) in [(2, 1 << 32), (3, 1 << 31)] {
        for (keys, o) in [(8, DType::Bf16), (72, DType::F16)] {
            let sizes = [keys, 8];
            for (axis, sizes) in [
                (0, Sizes::new([count, 2], [1, 1], sizes)),
                (1, Sizes::new([1, count], [1, 1], sizes)),
                (1, Sizes::packed(&vec![1; count], [1, 1], sizes)),
                (2, Sizes::new([1, 2], [count, count], sizes)),
            ] {
                let far = Some(Far { axis, distance });
                let dtypes = [DType::Bf16, o, DType::F32, DType::Bf16];
                let spec =
                    Spec { far, dtypes, slots: Slots::None, ..Spec::new("far apart", sizes) };
                specs.push(Spec { size: Size::Core, ..spec });
            }
        }
    }
    specs
}

/// Every case.
pub(crate) fn cases() -> Vec<Case> {
    let mut specs = Vec::new();
    let plain = |sequences, heads, sizes| Spec::new("plain", Sizes::new(sequences, heads, sizes));
    for layout in [StateLayout::Kv, StateLayout::Vk] {
        for state in [DType::F32, DType::Bf16] {
            for packed_qkv in [false, true] {
                let of = |spec: Spec| Spec { layout, state, packed_qkv, ..spec };
                specs.push(of(plain([2, 4], [2, 4], [64, 32])));
                specs.push(of(plain([4, 1], [2, 4], [128, 128])));
                specs.push(of(plain([3, 3], [2, 2], [60, 60])));
                specs.push(of(plain([2, 2], [1, 2], [200, 33])));
                let lengths = Sizes::packed(&[0, 3, 0, 5, 1, 0], [1, 2], [36, 40]);
                specs.push(of(Spec::new("plain", lengths.clone())));
                specs.push(of(Spec { slots: Slots::Wild, ..Spec::new("plain", lengths) }));
                let gap = Placement::DENSE.gap(8).shift(1);
                let sizes = Sizes::new([3, 2], [1, 2], [72, 48]);
                specs.push(of(Spec { place: gap, ..Spec::new("gaps, shifted", sizes) }));
            }
            for slots in [Slots::None, Slots::Own, Slots::Permuted64, Slots::Nowhere, Slots::Wild] {
                specs.push(Spec { layout, state, slots, ..plain([4, 2], [1, 2], [32, 36]) });
            }
        }
    }
    for qkv in REALS {
        for (o, parameters, ab) in
            REALS.iter().flat_map(|o| REALS.map(|parameters| (*o, parameters, parameters)))
        {
            let dtypes = [qkv, o, parameters, ab];
            specs.push(Spec { dtypes, ..plain([2, 2], [1, 2], [36, 34]) });
        }
    }
    let f32s = [DType::F32; 4];
    for softplus in [[1.0, 20.0], [0.5, 20.0], [4.0, 3.0]] {
        let special = Spec::new("special", Sizes::new([3, 3], [2, 4], [20, 8]));
        specs.push(Spec { gates: Gates::Special, dtypes: f32s, softplus, ..special });
    }
    for layout in [StateLayout::Kv, StateLayout::Vk] {
        for keys in [20, 100, 200] {
            let of = |name, sizes| Spec { layout, dtypes: f32s, ..Spec::new(name, sizes) };
            for state in [DType::F32, DType::Bf16] {
                let special = of("special, turning", Sizes::new([3, 3], [2, 4], [keys, 8]));
                let softplus = [4.0, 3.0];
                specs.push(Spec { gates: Gates::Special, state, softplus, ..special });
            }
            for slots in [Slots::None, Slots::Own] {
                let steep = of("steep", Sizes::new([1, 1], [1, 4], [keys, 8]));
                let (gates, scale) = (Gates::Steep, Some(1.0));
                specs.push(Spec { gates, scale, slots, normalizes: false, ..steep });
            }
        }
    }
    for (dtype, slots) in
        REALS.into_iter().flat_map(|of| [Slots::Own, Slots::Permuted64].map(|slots| (of, slots)))
    {
        for sizes in Sizes::carrying(8) {
            specs.push(Spec { dtypes: [dtype; 4], slots, ..Spec::new("carries", sizes) });
        }
    }
    for sizes in Sizes::carrying(8) {
        specs.push(Spec::new("carries", sizes));
    }
    specs.extend(far_cases());
    for packed_qkv in [false, true] {
        let gap = Placement::DENSE.gap(5);
        let sizes = Sizes::new([3, 2], [1, 2], [20, 8]);
        let flat = Spec { packed_qkv, flat_gates: true, ..Spec::new("flat", sizes) };
        specs.extend([flat.clone(), Spec { name: "flat, gaps", place: gap, ..flat }]);
        let sizes = Sizes::packed(&[2, 0, 1, 3], [1, 2], [20, 8]);
        let flat = Spec { packed_qkv, flat_gates: true, ..Spec::new("flat", sizes) };
        let scale = Some(2.0);
        specs.push(Spec { slots: Slots::None, scale, name: "flat, scaled", ..flat.clone() });
        specs.push(Spec { slots: Slots::Own, ..flat });
        let biases = plain([2, 3], [1, 3], [36, 34]);
        specs.push(Spec { packed_qkv, bf16_bias: true, ..biases });
    }
    let unscaled = Spec::new("scaled", Sizes::new([2, 2], [1, 2], [20, 8]));
    specs.push(Spec { scale: Some(2.0), normalizes: false, ..unscaled });
    let eight = |size, sequences, heads| Spec {
        size,
        packed_qkv: true,
        ..Spec::new("decode", Sizes::new(sequences, heads, [128, 128]))
    };
    specs.push(eight(Size::Core, [8, 1], [2, 4]));
    specs.push(eight(Size::Core, [3, 4], [2, 8]));
    for (batch, heads) in [(64, [4, 8]), (64, [16, 32]), (256, [2, 4]), (8, [16, 64])] {
        specs.push(eight(Size::Large, [batch, 1], heads));
    }
    specs.into_iter().map(Spec::case).collect()
}
