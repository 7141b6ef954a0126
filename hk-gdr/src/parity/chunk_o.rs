//! Cases of `chunk_fwd_o`.

use hk_core::dtype::{DType, Real, bf16, f16};
use hk_ref::gdr::chunk_o::{Queries, answer};
use hk_ref::{Arg, Case, CaseInfo, Draw, Expected, Placement, REALS, Setup, Size, real};

use super::chunks::{
    Apart, FAR_CHUNK, chunks, far_tokens, log2_of, logarithms, per_head, placed_tokens, rows,
    scalars, schedule, shape, sums_of,
};
use super::delta_rule::{Far, Sizes, numbers, placed};
use crate::{ChunkElement, ChunkGates, ChunkOOptions, GateBase, StateLayout, chunk_fwd_o_into};

/// What a case has.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Content {
    /// As models.
    Model,
    /// States of zeros.
    NoStates,
    /// Values of zeros.
    NoValues,
    /// Queries and keys of the first unit vector, no decays and no states: running sums.
    Sums,
}

/// What varies between cases.
#[derive(Debug, Clone)]
struct Spec {
    sizes: Sizes,
    chunk: usize,
    base: GateBase,
    gated: bool,
    content: Content,
    layout: StateLayout,
    scale: Option<f32>,
    /// Element types of q, k, v and o, and of snapshots.
    dtypes: [DType; 2],
    /// Whether tokens of q, and keys of states, are 2^30 bytes apart: of two, less than kernels address.
    apart: [bool; 2],
    /// Whether heads come before tokens in memory.
    head_first: bool,
    /// Whether numbers of the schedule are beside what there is.
    wild: bool,
    far: Option<(Apart, Far)>,
    place: Placement,
    size: Size,
}

impl Spec {
    fn new(sizes: Sizes, chunk: usize) -> Self {
        Self {
            sizes,
            chunk,
            base: GateBase::E,
            gated: true,
            content: Content::Model,
            layout: StateLayout::Kv,
            scale: None,
            dtypes: [DType::Bf16; 2],
            apart: [false; 2],
            head_first: false,
            wild: false,
            far: None,
            place: Placement::DENSE,
            size: Size::Quick,
        }
    }

    /// How far apart this is.
    fn far(&self, which: Apart) -> Option<Far> {
        self.far.filter(|(of, _)| *of == which).map(|(_, far)| far)
    }

    fn case(self) -> Case {
        let Self { chunk, base, layout, content, .. } = self;
        let mut title = format!("{:?}, chunks of {chunk}", self.sizes.lengths);
        title += &format!(", {base:?}, {layout:?} states, {content:?}");
        title += &self.scale.map(|scale| format!(", times {scale}")).unwrap_or_default();
        let [tokens, keys] = self.apart;
        for (is_said, what) in [
            (self.sizes.packed, ", packed"),
            (!self.gated, ", no decays"),
            (tokens, ", tokens far apart"),
            (keys, ", keys of states far apart"),
            (self.head_first, ", heads first"),
            (self.wild, ", wild"),
        ] {
            title += if is_said { what } else { "" };
        }
        title += &self.far.map(|(which, of)| format!(", {which:?}: {of:?}")).unwrap_or_default();
        let (place, size) = (self.place, self.size);
        let [k, h] = self.dtypes;
        title += &format!(", {k} {h}");
        let shape = shape(&self.sizes);
        let info = CaseInfo::new("chunk_o", "chunk_fwd_o", title, &[k, h, k], &shape);
        let set_up = move |s: &mut Setup| {
            real!(h, H => match k {
                DType::F16 => set_up::<f16, H>(s, &self),
                _ => set_up::<bf16, H>(s, &self),
            });
        };
        Case::new(info, set_up).place(place).size(size).writes_once()
    }
}

fn set_up<K: ChunkElement, H: Real>(s: &mut Setup, spec: &Spec) {
    let Spec { ref sizes, chunk: size, base, layout, content, .. } = *spec;
    let Sizes { keys, values, heads: [h, hv], .. } = *sizes;
    let [b, t] = sizes.tokens();
    let len = sizes.state_len();
    let rows_of = |arg: Arg<K>, shape: &[usize]| {
        let arg = if spec.head_first { arg.order(&[0, 2, 1, 3]) } else { arg };
        placed_tokens(arg, shape, spec.far(Apart::Tokens))
    };
    let unit = |s: &mut Setup, name| {
        let mut elements = sizes.unit_rows::<K>(s, name);
        if content == Content::Sums {
            let first = |i| K::from_f64(if i % keys == 0 { 1.0 } else { 0.0 });
            elements = (0..elements.len()).map(first).collect();
        }
        let shape = sizes.of_tokens(&[h, keys]);
        rows_of(s.given(name, &shape, elements), &shape)
    };
    let (q, k) = (unit(s, "q"), unit(s, "k"));
    let apart = |axis, size| Far { axis, distance: (1 << 30) / size };
    let q = match spec.apart[0] {
        true => apart(1, size_of::<K>()).arg(q, &sizes.of_tokens(&[h, keys])),
        false => q,
    };
    let zeros = |is_zero: bool, count| is_zero.then(|| vec![0.0; count]);
    let value_shape = sizes.of_tokens(&[hv, values]);
    let mut v: Vec<K> = s.draw("v", &value_shape, Draw::Normal);
    if let Some(zeros) = zeros(content == Content::NoValues, v.len()) {
        v = zeros.into_iter().map(K::from_f64).collect();
    }
    let v = rows_of(s.given("v", &value_shape, v), &value_shape);
    let g: Vec<f64> = logarithms(s, sizes).into_iter().map(f64::from).collect();
    let sums = sums_of(sizes, size, &g, base);
    let sums = spec.gated.then(|| {
        let of_tokens = sizes.of_tokens(&[hv]);
        let sums = s.given("g", &of_tokens, sums);
        let sums = if spec.head_first { sums.order(&[0, 2, 1]) } else { sums };
        placed_tokens(sums, &of_tokens, spec.far(Apart::Tokens))
    });
    let all = chunks(sizes, size);
    let state_shape = sizes.states(all.len(), layout);
    let mut states: Vec<H> = s.draw("h", &state_shape, Draw::Scaled(-1));
    if let Some(zeros) = zeros(matches!(content, Content::NoStates | Content::Sums), states.len()) {
        states = zeros.into_iter().map(H::from_f64).collect();
    }
    let states = s.given("h", &state_shape, states);
    let states = match spec.apart[1] {
        true => apart(2, size_of::<H>()).arg(states, &state_shape),
        false => placed(states, &state_shape, spec.far(Apart::Snapshots)),
    };

    let (of_q, of_k, of_v) = (q.numbers(), k.numbers(), v.numbers());
    let of_states = sizes.turned(&states.numbers(), layout);
    let of_sums = match &sums {
        Some(_) => numbers(&sums).into_iter().map(|sum| sum / log2_of(base)).collect(),
        None => vec![0.0; b * t * hv],
    };
    let scale = spec.scale.map_or(1.0 / (keys as f64).sqrt(), f64::from);
    let mut o = vec![0.0; b * t * hv * values];
    for (number, tokens) in all.iter().enumerate() {
        for head in 0..hv {
            let chunk = Queries {
                q: rows(&of_q, tokens, [h, head / (hv / h), keys]),
                k: rows(&of_k, tokens, [h, head / (hv / h), keys]),
                v: rows(&of_v, tokens, [hv, head, values]),
                sums: scalars(&of_sums, tokens, hv, head),
            };
            let state = &of_states[(number * hv + head) * len..][..len];
            for (token, answer) in tokens.iter().zip(answer(state, &chunk, scale)) {
                o[(token * hv + head) * values..][..values].copy_from_slice(&answer);
            }
        }
    }
    let gate = if K::DTYPE == DType::Bf16 { 3.6e-3 } else { 5e-4 };
    let expected = match content {
        // Sums of f32, of as many numbers as there are before, rounded once.
        Content::Sums => {
            let most = o.iter().fold(0.0, |most, x| f64::max(most, x.abs()));
            let slack = vec![1e-5 * most; o.len()];
            Expected::rounded(o, K::DTYPE, false).plus(slack)
        }
        _ => per_head(o, [b, t, hv, values], K::DTYPE, gate),
    };
    let o = rows_of(s.output::<K>("o", &value_shape, expected), &value_shape);
    let (schedule, spec) = (schedule(s, sizes, size, spec.wild), spec.clone());
    s.call(move || {
        let sums = sums.as_ref().map(Arg::get);
        let mut options = ChunkOOptions::default().state_layout(layout);
        options = match &schedule {
            Some(schedule) => options.schedule(schedule),
            None => options.chunk_size(spec.chunk),
        };
        if let Some(sums) = &sums {
            options = options.gates(ChunkGates { sums, base });
        }
        if let Some(scale) = spec.scale {
            options = options.scale(scale);
        }
        let (q, k, v, h) = (q.get(), k.get(), v.get(), states.get());
        chunk_fwd_o_into(&q, &k, &v, &h, &options, &mut *o.get())
    });
}

/// Every case.
pub(crate) fn cases() -> Vec<Case> {
    let mut specs = Vec::new();
    for layout in [StateLayout::Kv, StateLayout::Vk] {
        for chunk in [16, 32, 64] {
            let sizes = Sizes::new([2, chunk + 3], [1, 2], [64, 64]);
            specs.push(Spec { layout, ..Spec::new(sizes, chunk) });
            for tokens in [1, 15, 33] {
                let sizes = Sizes::new([1, tokens], [1, 2], [60, 60]);
                specs.push(Spec { layout, ..Spec::new(sizes, chunk) });
            }
        }
        for (heads, sizes) in [
            ([1, 1], [1, 1]),
            ([1, 2], [100, 17]),
            ([1, 1], [128, 64]),
            ([1, 1], [64, 256]),
            ([1, 1], [256, 40]),
            ([1, 1], [255, 129]),
            ([2, 8], [32, 16]),
        ] {
            specs.push(Spec { layout, ..Spec::new(Sizes::new([1, 65], heads, sizes), 64) });
        }
        for lengths in [&[15, 0, 40, 1][..], &[0, 0]] {
            let sizes = Sizes::packed(lengths, [1, 2], [36, 20]);
            specs.push(Spec { layout, ..Spec::new(sizes, 16) });
        }
        for dtypes in [DType::Bf16, DType::F16].iter().flat_map(|k| REALS.map(|h| [*k, h])) {
            let sizes = Sizes::new([1, 37], [1, 2], [44, 28]);
            specs.push(Spec { layout, dtypes, base: GateBase::Two, ..Spec::new(sizes, 32) });
        }
        for content in [Content::NoStates, Content::NoValues, Content::Sums] {
            let sizes = Sizes::new([1, 64], [1, 2], [40, 64]);
            let gated = content != Content::Sums;
            specs.push(Spec { layout, content, gated, ..Spec::new(sizes, 64) });
        }
        let small = Spec::new(Sizes::new([2, 3], [2, 4], [4, 8]), 16);
        specs.push(Spec { layout, gated: false, ..small.clone() });
        specs.push(Spec { layout, scale: Some(2.5), ..small.clone() });
        specs.push(Spec { layout, head_first: true, ..small.clone() });
        let wild = Spec::new(Sizes::packed(&[3, 0, 17, 2], [1, 2], [12, 8]), 16);
        specs.push(Spec { layout, wild: true, ..wild });
        specs.push(Spec { layout, place: Placement::DENSE.gap(8).shift(1), ..small });
    }
    for apart in [[true, false], [false, true]] {
        let two = Spec::new(Sizes::new([1, 2], [1, 1], [2, 8]), 16);
        specs.push(Spec { apart, size: Size::Core, ..two });
    }
    let of_f16 = |spec: &Spec| Spec {
        dtypes: [DType::F16, spec.dtypes[1]],
        size: Size::Core,
        ..spec.clone()
    };
    let others = specs.iter().filter(|spec| spec.base == GateBase::E);
    specs.extend(others.map(of_f16).collect::<Vec<_>>());
    let far = far_tokens([8, 8]).into_iter().map(|(far, sizes)| (Apart::Tokens, far, sizes));
    let snapshots = [(2, 1 << 32), (3, 1 << 31)].map(|(count, distance)| {
        let sizes = Sizes::new([count, 2], [1, 1], [2, 8]);
        (Apart::Snapshots, Far { axis: 0, distance }, sizes)
    });
    specs.extend(far.chain(snapshots).map(|(which, far, sizes)| Spec {
        far: Some((which, far)),
        size: Size::Core,
        ..Spec::new(sizes, FAR_CHUNK)
    }));
    let wide = Spec::new(Sizes::new([1, 33], [1, 1], [20, 512]), 32);
    specs.push(Spec { size: Size::Core, ..wide });
    let long = Spec::new(Sizes::new([1, 300], [2, 4], [128, 128]), 64);
    specs.push(Spec { size: Size::Core, ..long });
    let large = Spec::new(Sizes::new([1, 8192], [2, 4], [128, 128]), 64);
    specs.push(Spec { size: Size::Large, ..large });
    specs.into_iter().map(Spec::case).collect()
}
