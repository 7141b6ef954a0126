//! Cases of `fused_sigmoid_gating_recurrent` and its packed form.

use hk_core::dtype::{DType, Real, bf16};
use hk_ref::gdr::fused_sigmoid_gating_recurrent::{decay, sigmoid};
use hk_ref::{Arg, Case, CaseInfo, Draw, Placement, REALS, Setup, Size, real};

use super::delta_rule::{Inputs, Sizes, expected_results, expected_states, recurrence};
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

/// What varies between cases.
#[derive(Debug, Clone)]
struct Spec {
    name: &'static str,
    sizes: Sizes,
    packed_qkv: bool,
    slots: Slots,
    /// Whether steps, strengths and rates are such at which functions turn.
    special: bool,
    softplus: [f32; 2],
    normalizes: bool,
    scale: Option<f32>,
    layout: StateLayout,
    /// Element types of q, k and v, of o, of A_log and dt_bias, and of a and b.
    dtypes: [DType; 4],
    state: DType,
    place: Placement,
    size: Size,
}

impl Spec {
    fn new(name: &'static str, sizes: Sizes) -> Self {
        Self {
            name,
            sizes,
            packed_qkv: false,
            slots: Slots::Permuted32,
            special: false,
            softplus: [1.0, 20.0],
            normalizes: true,
            scale: None,
            layout: StateLayout::Kv,
            dtypes: [DType::Bf16, DType::Bf16, DType::F32, DType::Bf16],
            state: DType::F32,
            place: Placement::DENSE,
            size: Size::Quick,
        }
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
        for (is_said, what) in
            [(self.normalizes, ", normalised"), (self.sizes.packed, ", packed sequences")]
        {
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
            real!(qkv, Q => real!(o, O => real!(parameters, P => real!(ab, A => match state {
                DType::F32 => set_up::<Q, O, P, A, f32>(s, &self),
                _ => set_up::<Q, O, P, A, bf16>(s, &self),
            }))));
        };
        Case::new(info, set_up).place(place).size(size).writes_once()
    }
}

/// Sums of step and bias, and strengths, at which the functions turn.
const TURNS: [f64; 9] = [-100.0, 19.99, 20.01, 90.0, 0.0, -17.5, 100.0, 1.0, -1.0];

/// Logarithms of rates.
const RATES: [f64; 4] = [-20.0, 5.0, 0.0, -3.0];

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
            let [q, k] = ["q", "k"].map(|name| match spec.normalizes {
                true => s.input::<T>(name, &rows, Draw::Normal),
                false => {
                    let elements = spec.sizes.unit_rows::<T>(s, name);
                    s.given(name, &rows, elements)
                }
            });
            let v = s.input::<T>("v", &spec.sizes.of_tokens(&[hv, values]), Draw::Normal);
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

fn set_up<T: Real, O: Real, P: Real, A: Real, S: State>(s: &mut Setup, spec: &Spec) {
    let sizes = &spec.sizes;
    let Sizes { keys, values, heads: [h, hv], .. } = *sizes;
    let (qkv, [q, k, v]) = Qkv::<T>::new(s, spec);
    let of_heads = sizes.of_tokens(&[hv]);
    let (mut a, mut b) =
        (s.draw("a", &of_heads, Draw::Normal), s.draw("b", &of_heads, Draw::Normal));
    let mut a_log: Vec<P> = s.draw("a_log", &[hv], Draw::Normal);
    let mut dt_bias: Vec<P> = s.draw("dt_bias", &[hv], Draw::Normal);
    dt_bias.iter_mut().for_each(|bias| *bias = P::from_f64(bias.to_f64() - 2.0));
    if spec.special {
        let in_turn = |i: usize| A::from_f64(TURNS[i % TURNS.len()]);
        a = (0..a.len()).map(in_turn).collect();
        b = (0..b.len()).map(|i| in_turn(i / 2 + 3)).collect();
        a_log = (0..hv).map(|i| P::from_f64(RATES[i % RATES.len()])).collect();
        dt_bias.fill(P::from_f64(0.0));
    }
    let (a, b) = (s.given("a", &of_heads, a), s.given("b", &of_heads, b));
    let a_log = s.given("a_log", &[hv], a_log);
    let dt_bias = s.given("dt_bias", &[hv], dt_bias);
    let [factor, threshold] = spec.softplus;
    let (rates, biases) = (a_log.numbers(), dt_bias.numbers());
    let g = a
        .numbers()
        .into_iter()
        .enumerate()
        .map(|(i, a)| decay(rates[i % hv], a + biases[i % hv], factor, threshold).0);
    let strengths: Vec<f64> = b.numbers().into_iter().map(sigmoid).collect();
    let inputs = Inputs {
        q,
        k,
        beta: (0..v.len()).map(|i| strengths[i / values]).collect(),
        v,
        g: g.collect(),
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
    let o = s.output::<O>("o", &sizes.of_tokens(&[hv, values]), expected_results::<O>(sizes, o));
    let mut end = begin;
    let mut computed = vec![false; spec.slot_count()];
    for (n, state) in states.iter().enumerate() {
        if let Some(slot) = spec.slot(n).filter(|_| sizes.lengths[n] > 0) {
            end[slot * len..][..len].copy_from_slice(state);
            computed[slot] = true;
        }
    }
    let end = sizes.laid_out(&end, spec.layout);
    let expected = expected_states::<S>(sizes, end, |slot| computed[slot]);
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
            .use_qk_l2norm(spec.normalizes)
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
        specs.push(Spec { special: true, dtypes: f32s, softplus, ..special });
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
