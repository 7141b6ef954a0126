//! Cases of `fused_recurrent_fwd`.

use hk_core::dtype::{DType, Real, bf16};
use hk_ref::{Arg, Case, CaseInfo, Draw, Placement, REALS, Setup, Size, real};

use super::delta_rule::{Inputs, Sizes, expected_results, expected_states, numbers, recurrence};
use super::indices::{IndexArg, IndexTensor, bounds_of, indices};
use crate::{
    FusedRecurrentOptions, FusedRecurrentOut, State, StateLayout, fused_recurrent_fwd_into,
};

/// Which beta a case has.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Beta {
    None,
    Heads,
    Values,
}

/// What varies between cases.
#[derive(Debug, Clone)]
struct Spec {
    name: &'static str,
    sizes: Sizes,
    /// Whether there are decays, decays of keys, and decays of values.
    gates: [bool; 3],
    /// Added to all decays.
    more: f64,
    beta: Beta,
    initial: bool,
    finals: bool,
    normalizes: bool,
    scale: Option<f32>,
    layout: StateLayout,
    /// Element types of q and k, of v, of o, and of beta.
    dtypes: [DType; 4],
    state: DType,
    wild: bool,
    place: Placement,
    in_place: bool,
    size: Size,
}

impl Spec {
    fn new(name: &'static str, sizes: Sizes) -> Self {
        Self {
            name,
            sizes,
            gates: [true, false, false],
            more: 0.0,
            beta: Beta::Heads,
            initial: true,
            finals: true,
            normalizes: false,
            scale: None,
            layout: StateLayout::Kv,
            dtypes: [DType::Bf16; 4],
            state: DType::F32,
            wild: false,
            place: Placement::DENSE,
            in_place: false,
            size: Size::Quick,
        }
    }

    fn case(self) -> Case {
        let Self { name, gates, beta, layout, state, dtypes: [qk, v, o, beta_type], .. } = self;
        let mut title = format!("{name}, {layout:?} states of {state}, beta of {beta:?}");
        for (is_said, what) in [
            (gates[0], ", g"),
            (gates[1], ", gk"),
            (gates[2], ", gv"),
            (self.initial, ", initial"),
            (self.finals, ", final"),
            (self.normalizes, ", normalised"),
            (self.sizes.packed, ", packed"),
            (self.in_place, ", in place"),
        ] {
            title += if is_said { what } else { "" };
        }
        title += &format!(", {qk} {v} {beta_type} to {o}");
        let types = [qk, v, beta_type, o];
        let info = CaseInfo::new(
            "fused_recurrent",
            "fused_recurrent_fwd",
            title,
            &types,
            &self.sizes.shape(),
        );
        let (place, in_place, size) = (self.place, self.in_place, self.size);
        let set_up = move |s: &mut Setup| {
            real!(qk, Q => real!(v, V => real!(o, O => real!(beta_type, B => match state {
                DType::F32 => set_up::<Q, V, O, B, f32>(s, &self),
                _ => set_up::<Q, V, O, B, bf16>(s, &self),
            }))));
        };
        Case::new(info, set_up).place(place).in_place(in_place).size(size).writes_once()
    }
}

fn set_up<Q: Real, V: Real, O: Real, B: Real, S: State>(s: &mut Setup, spec: &Spec)
where
    for<'a> crate::RealTensor<'a>: From<&'a hk_core::TensorSlice<B>>,
{
    let sizes = &spec.sizes;
    let Sizes { keys, values, heads: [h, hv], .. } = *sizes;
    let draw = if spec.normalizes { Draw::Scaled(1) } else { Draw::Normal };
    let rows = sizes.of_tokens(&[h, keys]);
    let row = |s: &mut Setup, name| match spec.normalizes {
        true => s.input::<Q>(name, &rows, draw),
        false => {
            let elements = sizes.unit_rows::<Q>(s, name);
            s.given(name, &rows, elements)
        }
    };
    let (q, k) = (row(s, "q"), row(s, "k"));
    let v = s.input::<V>("v", &sizes.of_tokens(&[hv, values]), Draw::Normal);
    let gate = |s: &mut Setup, at: usize, name: &'static str, more: &[usize]| {
        let shape = sizes.of_tokens(more);
        let mut decays: Vec<f32> = s.draw(name, &shape, Draw::Uniform);
        decays.iter_mut().for_each(|g| *g = spec.more as f32 - 0.5 * *g);
        spec.gates[at].then(|| s.given(name, &shape, decays))
    };
    let g = gate(s, 0, "g", &[hv]);
    let gk = gate(s, 1, "gk", &[hv, keys]);
    let gv = gate(s, 2, "gv", &[hv, values]);
    let beta = match spec.beta {
        Beta::None => None,
        Beta::Heads => Some(s.input::<B>("beta", &sizes.of_tokens(&[hv]), Draw::Uniform)),
        Beta::Values => Some(s.input::<B>("beta", &sizes.of_tokens(&[hv, values]), Draw::Uniform)),
    };
    let sequences = sizes.lengths.len();
    let state_shape = sizes.states(sequences, spec.layout);
    let initial =
        spec.initial.then(|| s.input::<S>("initial_state", &state_shape, Draw::Scaled(-2)));

    let of_values = match spec.beta {
        Beta::None => vec![1.0; v.numbers().len()],
        Beta::Heads => numbers(&beta).into_iter().flat_map(|beta| vec![beta; values]).collect(),
        Beta::Values => numbers(&beta),
    };
    let inputs = Inputs {
        q: q.numbers(),
        k: k.numbers(),
        v: v.numbers(),
        g: numbers(&g),
        gk: numbers(&gk),
        gv: numbers(&gv),
        beta: of_values,
        scale: spec.scale.map_or(1.0 / (keys as f64).sqrt(), f64::from),
        normalizes: spec.normalizes,
    };
    let len = hv * sizes.state_len();
    let begin = sizes.turned(&numbers(&initial), spec.layout);
    let mut states: Vec<Vec<f64>> = match spec.initial {
        true => begin.chunks_exact(len).map(<[f64]>::to_vec).collect(),
        false => vec![vec![0.0; len]; sequences],
    };
    let o = recurrence(sizes, &inputs, &mut states);
    let o = s.output::<O>("o", &sizes.of_tokens(&[hv, values]), expected_results::<O>(sizes, o));
    let finals = spec.finals.then(|| {
        let finals = sizes.laid_out(&states.concat(), spec.layout);
        let finals = expected_states::<S>(sizes, finals, |n| sizes.lengths[n] > 0);
        s.output::<S>("final_state", &state_shape, finals)
    });
    let bounds = sizes.packed.then(|| {
        let mut bounds = bounds_of(&sizes.lengths);
        if spec.wild {
            bounds[0] = i64::MIN;
            bounds[sequences] = i64::MAX;
        }
        indices(s, "cu_seqlens", bounds, spec.wild)
    });
    let spec = spec.clone();
    s.call(move || {
        let [g, gk, gv] = [&g, &gk, &gv].map(|gate| gate.as_ref().map(Arg::get));
        let beta = beta.as_ref().map(Arg::get);
        let bounds = bounds.as_ref().map(IndexArg::get);
        let mut options = FusedRecurrentOptions::default()
            .use_qk_l2norm(spec.normalizes)
            .state_layout(spec.layout)
            .validate_indices(!spec.wild);
        if let Some(g) = &g {
            options = options.g(g);
        }
        if let Some(gk) = &gk {
            options = options.gk(gk);
        }
        if let Some(gv) = &gv {
            options = options.gv(gv);
        }
        if let Some(beta) = &beta {
            options = options.beta(&**beta);
        }
        if let Some(scale) = spec.scale {
            options = options.scale(scale);
        }
        if let Some(bounds) = bounds.as_ref().map(IndexTensor::indices) {
            options = options.cu_seqlens(bounds);
        }
        let initial = initial.as_ref().map(Arg::get);
        let mut finals = finals.as_ref().map(Arg::get);
        let out = FusedRecurrentOut { o: &mut *o.get(), final_state: finals.as_deref_mut() };
        fused_recurrent_fwd_into(&q.get(), &k.get(), &v.get(), initial.as_deref(), &options, out)
    });
}

/// Every case.
pub(crate) fn cases() -> Vec<Case> {
    let mut specs = Vec::new();
    let layouts = [StateLayout::Kv, StateLayout::Vk];
    let states = [DType::F32, DType::Bf16];
    let kinds = layouts.into_iter().flat_map(|layout| states.map(|state| (layout, state)));
    let plain = |sequences, heads, sizes| Spec::new("plain", Sizes::new(sequences, heads, sizes));
    for (layout, state) in kinds {
        let of = |spec: Spec| Spec { layout, state, ..spec };
        // Of each tile, heads that fill it, and such as do not.
        for (heads, sizes) in [
            ([2, 4], [64, 32]),
            ([1, 1], [1, 1]),
            ([2, 2], [60, 36]),
            ([1, 2], [100, 17]),
            ([1, 1], [256, 64]),
            ([1, 1], [255, 33]),
            ([2, 4], [128, 128]),
            ([1, 2], [66, 40]),
        ] {
            specs.push(of(plain([2, 4], heads, sizes)));
        }
        specs.push(of(plain([3, 1], [2, 4], [128, 128])));
        specs.push(of(Spec { normalizes: true, ..plain([2, 3], [2, 4], [128, 64]) }));
        specs.push(of(Spec { initial: false, ..plain([2, 2], [1, 2], [20, 8]) }));
        for lengths in [&[15][..], &[0, 1, 0, 6, 0], &[3, 5, 9]] {
            specs.push(of(Spec::new("plain", Sizes::packed(lengths, [1, 2], [68, 24]))));
        }
        let none = Sizes::packed(&[0, 0], [1, 2], [68, 24]);
        specs.push(of(Spec::new("no tokens", none.clone())));
        specs.push(of(Spec { initial: false, ..Spec::new("no tokens, no states", none) }));
        let sizes = Sizes::packed(&[3, 0, 9], [1, 2], [65, 40]);
        specs.push(of(Spec { wild: true, ..Spec::new("wild bounds", sizes) }));
        let gates = [true; 3];
        specs.push(of(Spec { gates, beta: Beta::Values, ..plain([2, 3], [1, 2], [132, 44]) }));
        specs.push(of(Spec { in_place: true, ..plain([2, 2], [1, 2], [40, 40]) }));
        for shift in [0, 1] {
            let place = Placement::DENSE.gap(8).shift(shift);
            let name = if shift == 0 { "gaps" } else { "gaps, shifted" };
            specs.push(of(Spec { place, ..Spec::new(name, Sizes::new([2, 2], [1, 2], [72, 48])) }));
        }
    }
    for bits in 0..8 {
        for beta in [Beta::None, Beta::Heads, Beta::Values] {
            for (initial, finals) in [(true, true), (true, false), (false, true), (false, false)] {
                let gates = [0, 1, 2].map(|bit| bits >> bit & 1 == 1);
                let spec = plain([2, 3], [1, 2], [16, 8]);
                specs.push(Spec { gates, beta, initial, finals, ..spec });
            }
        }
    }
    for dtype in [DType::F16, DType::F32] {
        for (layout, state) in layouts.into_iter().flat_map(|of| states.map(|state| (of, state))) {
            let types = Spec::new("types", Sizes::new([1, 2], [1, 1], [200, 34]));
            let gates = [true; 3];
            specs.push(Spec { dtypes: [dtype; 4], gates, layout, state, ..types });
        }
    }
    for qk in REALS {
        for (v, o, beta) in REALS.iter().flat_map(|v| REALS.map(|o| (*v, o, o))) {
            specs.push(Spec { dtypes: [qk, v, o, beta], ..plain([2, 2], [1, 2], [36, 34]) });
        }
    }
    let reset = Spec::new("reset", Sizes::new([2, 2], [1, 2], [16, 34]));
    specs.push(Spec { more: f64::NEG_INFINITY, ..reset.clone() });
    specs.push(Spec { name: "growing", more: 1.0, ..reset.clone() });
    specs.push(Spec { name: "scaled", scale: Some(3.0), ..reset });
    let core = |sequences, heads, sizes| {
        let spec = Spec::new("long", Sizes::new(sequences, heads, sizes));
        Spec { size: Size::Core, ..spec }
    };
    specs.push(core([1, 63], [1, 1], [64, 64]));
    specs.push(core([2, 200], [2, 2], [60, 60]));
    specs.push(core([1, 30], [2, 4], [128, 128]));
    specs.push(core([1, 4], [1, 2], [128, 512]));
    let packed = Sizes::packed(&[256, 244, 500], [1, 1], [64, 64]);
    specs.push(Spec { size: Size::Core, ..Spec::new("long", packed) });
    let large = |sequences, heads| Spec { size: Size::Large, ..core(sequences, heads, [128, 128]) };
    specs.extend([large([2, 1000], [2, 8]), large([64, 1], [16, 32]), large([256, 1], [2, 4])]);
    specs.into_iter().map(Spec::case).collect()
}
