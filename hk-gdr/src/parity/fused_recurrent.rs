//! Cases of `fused_recurrent_fwd`.

use hk_core::dtype::{DType, Real, bf16};
use hk_ref::{Arg, Case, CaseInfo, Draw, Edge, Expected, Placement, REALS, Setup, Size, real};

use super::delta_rule::{
    Far, Inputs, Sizes, exactly, expected_results, expected_states, numbers, one_hot, placed,
    recurrence,
};
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

/// What tensors hold.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Content {
    Drawn,
    /// Each token has a key of its own, of which the state is zero before, and learns values around
    /// ties of narrower types: all that is stored is known exactly.
    Ties,
    /// Nothing is learnt, and what there is decays or grows by large powers.
    Steep,
}

/// The key that a token of [`Content::Ties`] has.
const fn key_of(token: usize) -> usize {
    5 * token
}

/// Numbers at and around ties of bf16 and of f16, with even and odd digits before; at last one beyond
/// both types, and NaN.
fn ties(count: usize) -> Vec<f64> {
    const BF16: [u32; 6] = [0x8000, 0x7fff, 0x8001, 0xffff, 0, 1];
    const F16: [u32; 6] = [0x1000, 0x0fff, 0x1001, 0x1fff, 0, 1];
    let tie = |i: usize| {
        let digits = (i as u32).wrapping_mul(0x9e37_79b9);
        let (sign, exponent, mantissa) = (digits & 1, 125 + (digits >> 1 & 3), digits >> 9);
        let mantissa = match i % 2 {
            0 => mantissa & !0xffff | BF16[i / 2 % 6],
            _ => mantissa & !0x1fff | F16[i / 2 % 6],
        };
        f64::from(f32::from_bits(sign << 31 | exponent << 23 | mantissa))
    };
    let mut numbers: Vec<f64> = (0..count).map(tie).collect();
    numbers[count - 3] = f64::from(f32::MAX);
    numbers[count - 6] = f64::NAN;
    numbers
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
    /// The power of two of the deviation of queries and keys that are normalised.
    power: i32,
    scale: Option<f32>,
    layout: StateLayout,
    /// Element types of q and k, of v, of o, and of beta.
    dtypes: [DType; 4],
    state: DType,
    /// Whether final states are of the other type, where dtypes are [`TURNED`].
    turned: bool,
    wild: bool,
    content: Content,
    /// Of states.
    far: Option<Far>,
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
            power: 1,
            scale: None,
            layout: StateLayout::Kv,
            dtypes: [DType::Bf16; 4],
            state: DType::F32,
            turned: false,
            wild: false,
            content: Content::Drawn,
            far: None,
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
            (self.turned, ", final states of the other type"),
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
        let set_up = move |s: &mut Setup| match (self.turned, state) {
            (true, DType::F32) => set_up::<bf16, f32, bf16, bf16, f32, bf16>(s, &self),
            (true, _) => set_up::<bf16, f32, bf16, bf16, bf16, f32>(s, &self),
            (false, _) => {
                real!(qk, Q => real!(v, V => real!(o, O => real!(beta_type, B => match state {
                    DType::F32 => set_up::<Q, V, O, B, f32, f32>(s, &self),
                    _ => set_up::<Q, V, O, B, bf16, bf16>(s, &self),
                }))));
            }
        };
        Case::new(info, set_up).place(place).in_place(in_place).size(size).writes_once()
    }
}

/// Element types of q and k, of v, of o, and of beta, where final states are of another than initial ones.
const TURNED: [DType; 4] = [DType::Bf16, DType::F32, DType::Bf16, DType::Bf16];

fn set_up<Q: Real, V: Real, O: Real, B: Real, S: State, F: State>(s: &mut Setup, spec: &Spec)
where
    for<'a> crate::RealTensor<'a>: From<&'a hk_core::TensorSlice<B>>,
{
    let sizes = &spec.sizes;
    let Sizes { keys, values, heads: [h, hv], .. } = *sizes;
    let rows = sizes.of_tokens(&[h, keys]);
    let row = |s: &mut Setup, name| {
        let elements = match spec.content {
            _ if spec.normalizes => return s.input::<Q>(name, &rows, Draw::Scaled(spec.power)),
            Content::Drawn => sizes.unit_rows::<Q>(s, name),
            Content::Steep if name == "k" => vec![Q::from_f64(0.0); rows.iter().product()],
            _ => one_hot(rows[..3].iter().product(), keys, |row| key_of(row / h % rows[1])),
        };
        s.given(name, &rows, elements)
    };
    let (q, k) = (row(s, "q"), row(s, "k"));
    let v_shape = sizes.of_tokens(&[hv, values]);
    let v = match spec.content {
        Content::Ties => {
            let elements = ties(v_shape.iter().product());
            s.given("v", &v_shape, elements.into_iter().map(V::from_f64).collect())
        }
        _ => s.input::<V>("v", &v_shape, Draw::Normal),
    };
    let gate = |s: &mut Setup, at: usize, name: &'static str, more: &[usize]| {
        let shape = sizes.of_tokens(more);
        let mut decays: Vec<f32> = s.draw(name, &shape, Draw::Uniform);
        for (i, g) in decays.iter_mut().enumerate() {
            *g = match spec.content {
                Content::Drawn => spec.more as f32 - 0.5 * *g,
                Content::Ties => 0.0,
                Content::Steep if i % 2 == 0 => 76.0 - 8.0 * *g,
                Content::Steep => 8.0 * *g - 76.0,
            };
        }
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
    let initial = spec.initial.then(|| {
        let drawn: Vec<S> = s.draw("initial_state", &state_shape, Draw::Scaled(-2));
        let mut states = sizes.turned(&drawn, spec.layout);
        if spec.content == Content::Ties {
            for (i, element) in states.iter_mut().enumerate() {
                let is_of_token = |token| key_of(token) == i / values % keys;
                if (0..sizes.tokens()[1]).any(is_of_token) {
                    *element = S::from_f64(0.0);
                }
            }
        }
        let initial = s.given("initial_state", &state_shape, sizes.laid_out(&states, spec.layout));
        placed(initial, &state_shape, spec.far)
    });

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
    let o = match spec.content {
        Content::Drawn => expected_results::<O>(sizes, o),
        Content::Ties => exactly::<O>(&o),
        Content::Steep => Expected::relative(o, STEEP),
    };
    let o = s.output::<O>("o", &v_shape, o);
    let finals = spec.finals.then(|| {
        let finals = sizes.laid_out(&states.concat(), spec.layout);
        let finals = match spec.content {
            Content::Drawn => expected_states::<F>(sizes, finals, |n| sizes.lengths[n] > 0),
            Content::Ties => exactly::<F>(&finals),
            Content::Steep => Expected::relative(finals, STEEP),
        };
        let finals = s.output::<F>("final_state", &state_shape, finals);
        placed(finals, &state_shape, spec.far)
    });
    let bounds = sizes.packed.then(|| {
        let mut bounds = bounds_of(&sizes.lengths);
        if spec.wild {
            // Just before the tokens, too, where a sequence has none.
            if sizes.lengths[0] == 0 {
                (bounds[0], bounds[1]) = (-1, -1);
            } else {
                bounds[0] = i64::MIN;
            }
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
            .use_qk_l2norm_in_kernel(spec.normalizes)
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

/// What numbers of [`Content::Steep`] may be off: a power by 2 ulp, and its product.
const STEEP: f64 = 5e-7;

/// Results and states that are known exactly: with each remainder of the pieces of 16 bytes, in each
/// tile, to each type.
fn ties_cases() -> Vec<Spec> {
    let mut specs = Vec::new();
    let layouts = [StateLayout::Kv, StateLayout::Vk];
    for (layout, state) in
        layouts.into_iter().flat_map(|of| [DType::F32, DType::Bf16].map(|state| (of, state)))
    {
        for (least, rest) in [56, 120, 248].into_iter().flat_map(|k| (1..=8).map(move |r| (k, r))) {
            for (turn, o) in REALS.into_iter().enumerate() {
                // The larger tiles differ in their states alone.
                if least > 56 && turn != rest % 3 {
                    continue;
                }
                let sizes = Sizes::new([1, 2], [1, 1], [least + rest, 24 + rest]);
                let dtypes = [DType::Bf16, DType::F32, o, DType::Bf16];
                let ties = Spec { layout, state, dtypes, ..Spec::new("ties", sizes) };
                let (content, scale) = (Content::Ties, Some(1.0));
                let ties = Spec { content, scale, beta: Beta::None, ..ties };
                if dtypes == TURNED {
                    specs.push(Spec { turned: true, ..ties.clone() });
                }
                specs.push(ties);
            }
        }
        // A sequence without tokens has its state, rounded.
        let sizes = Sizes::packed(&[2, 0], [1, 1], [66, 20]);
        let types = Spec { layout, state, dtypes: TURNED, ..Spec::new("types", sizes) };
        specs.push(Spec { turned: true, ..types.clone() });
        let (turned, place) = (true, Placement::DENSE.gap(8).shift(1));
        specs.push(Spec { name: "types, gaps", turned, place, ..types.clone() });
        for keys in [128, 256] {
            let sizes = Sizes::new([1, 2], [1, 1], [keys, 32]);
            specs.push(Spec { turned, sizes, ..types.clone() });
        }
    }
    specs
}

/// Decays of which all digits count, and such that are none at all.
fn decay_cases() -> Vec<Spec> {
    let mut specs = Vec::new();
    for layout in [StateLayout::Kv, StateLayout::Vk] {
        for (keys, at) in [20, 100, 200].into_iter().flat_map(|k| (0..3).map(move |at| (k, at))) {
            let mut gates = [false; 3];
            gates[at] = true;
            let of = |name, tokens| Spec {
                gates,
                layout,
                dtypes: [DType::F32; 4],
                ..Spec::new(name, Sizes::new([1, tokens], [1, 4], [keys, 34]))
            };
            let (content, scale) = (Content::Steep, Some(1.0));
            specs.push(Spec { content, scale, ..of("steep", 1) });
            specs.push(Spec { more: f64::NEG_INFINITY, ..of("reset", 2) });
        }
    }
    specs
}

/// Every case.
pub(crate) fn cases() -> Vec<Case> {
    let mut specs = [ties_cases(), decay_cases()].concat();
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
        let all = Spec::new("all gates", Sizes::packed(&[2, 0, 3], [1, 2], [20, 12]));
        let all = Spec { gates: [true; 3], beta: Beta::Values, normalizes: true, ..all };
        specs.push(of(Spec { scale: Some(2.0), ..all }));
        let none = Sizes::packed(&[0, 0], [1, 2], [68, 24]);
        specs.push(of(Spec::new("no tokens", none.clone())));
        specs.push(of(Spec { initial: false, ..Spec::new("no tokens, no states", none) }));
        let sizes = Sizes::packed(&[3, 0, 9], [1, 2], [65, 40]);
        specs.push(of(Spec { wild: true, ..Spec::new("wild bounds", sizes) }));
        let wild = Spec::new("wild bounds", Sizes::packed(&[0, 3, 2], [1, 1], [8, 8]));
        specs.push(of(Spec { wild: true, ..wild }));
        let gates = [true; 3];
        let (place, beta) = (Placement::DENSE.edge(Edge::End), Beta::Values);
        let end = Spec::new("end of memory", Sizes::new([1, 2], [1, 1], [9, 33]));
        specs.push(of(Spec { gates, beta, place, ..end }));
        // Rows of a state that are 2^30 bytes apart.
        let sizes =
            Sizes::new([1, 2], [1, 1], if layout == StateLayout::Kv { [2, 8] } else { [8, 2] });
        let far = Some(Far { axis: 0, distance: (6 << 30) / state.size() });
        let rows = Spec::new("rows of states far apart", sizes);
        specs.push(of(Spec { far, size: Size::Core, ..rows }));
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
    // So short that what is added to the square of the length counts, and so long that it does not.
    for (name, power) in [("no length", -30), ("short", -12), ("shorter", -13), ("long", 30)] {
        for keys in [20, 100, 200] {
            let lengths = Spec::new(name, Sizes::new([1, 2], [2, 2], [keys, 8]));
            let dtypes = [DType::F32; 4];
            specs.push(Spec { normalizes: true, power, dtypes, ..lengths });
        }
    }
    for (keys, dtype) in [8, 72].into_iter().flat_map(|keys| REALS.map(|dtype| (keys, dtype))) {
        for (sizes, beta) in Sizes::carrying(keys)
            .into_iter()
            .flat_map(|sizes| [Beta::Heads, Beta::Values].map(|beta| (sizes.clone(), beta)))
        {
            let (gates, dtypes) = ([true; 3], [dtype; 4]);
            specs.push(Spec { gates, beta, dtypes, ..Spec::new("carries", sizes) });
        }
    }
    // Sequences and heads that no power of two divides.
    specs.push(plain([5, 1], [3, 9], [8, 33]));
    specs.push(plain([2, 2], [3, 9], [20, 70]));
    // The second slot, and the second head, beyond 2^32 elements; a row's distance is the longest.
    for axis in [0, 1] {
        let sizes = match axis {
            0 => Sizes::new([2, 2], [1, 1], [1, 8]),
            _ => Sizes::new([1, 2], [2, 2], [1, 8]),
        };
        let far = Some(Far { axis, distance: 1 << 32 });
        let states = Spec { far, state: DType::Bf16, ..Spec::new("states far apart", sizes) };
        specs.push(Spec { size: Size::Core, ..states });
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
