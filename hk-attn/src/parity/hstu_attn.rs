//! Cases of `hstu_attn_fwd`.

use hk_core::dtype::{DType, Real, bf16, f16};
use hk_ref::attn::hstu_attn::{Rules, attend, results};
use hk_ref::{Arg, Case, CaseInfo, Draw, Edge, Placement, Setup, Size};

use crate::{BackwardElement, HstuOptions, Indices, hstu_attn_fwd_into};

/// What varies between cases.
#[derive(Debug, Clone)]
struct Spec {
    name: &'static str,
    lengths: Vec<usize>,
    /// Heads, and widths of keys and of values.
    heads: usize,
    widths: [usize; 2],
    causal: bool,
    /// Targets of each sequence, as far as it has so many rows.
    targets: Option<Vec<usize>>,
    most_distance: usize,
    context: usize,
    /// What is added to the longest sequence for `max_seq_len`.
    spare: usize,
    alpha: f32,
    /// Whether sequences are given an order, and whether indices have 64 bits.
    sorted: bool,
    wide: bool,
    /// By which power of two keys are larger than usual.
    scale: i32,
    /// Has a key whose scores are -inf.
    infinite: bool,
    /// Has a query whose scores are -inf.
    infinite_query: bool,
    /// Rows that have values of NaN, from one to another, which those of a tile from `APART` on do not see:
    /// these are compared.
    wild: &'static [[usize; 2]],
    dtype: DType,
}

impl Spec {
    fn new(name: &'static str, lengths: &[usize], heads: usize, d: usize) -> Self {
        Self {
            name,
            lengths: lengths.to_vec(),
            heads,
            widths: [d, d],
            causal: true,
            targets: None,
            most_distance: 0,
            context: 0,
            spare: 0,
            alpha: 1.0 / d as f32,
            sorted: false,
            wide: false,
            scale: 0,
            infinite: false,
            infinite_query: false,
            wild: &[],
            dtype: DType::Bf16,
        }
    }

    fn targets(self, targets: &[usize]) -> Self {
        Self { targets: Some(targets.to_vec()), ..self }
    }

    fn f16(self) -> Self {
        Self { dtype: DType::F16, ..self }
    }

    /// The targets of sequence b.
    fn targets_of(&self, b: usize) -> usize {
        self.targets.as_ref().map_or(0, |of| of[b % of.len()].min(self.lengths[b]))
    }

    fn case(self) -> Case {
        let mut title = self.name.to_owned();
        let mut say = |is_said: bool, what: &str| title += if is_said { what } else { "" };
        say(!self.causal, ", both sides");
        say(self.targets.is_some(), ", targets");
        say(self.most_distance > 0, ", near");
        say(self.context > 0, ", context");
        say(self.sorted, ", sorted");
        say(self.wide, ", 64-bit indices");
        let ([d, dv], heads) = (self.widths, self.heads);
        let longest = self.lengths.iter().max().copied().unwrap_or_default();
        let shape = [self.lengths.len(), longest, heads, d, dv];
        let info = CaseInfo::new("hstu_attn", "hstu_attn_fwd", title, &[self.dtype], &shape);
        let pairs: usize = self.lengths.iter().map(|rows| rows * rows).sum();
        let size = match pairs * heads * (d + dv) {
            ..8_000_000 => Size::Quick,
            8_000_000..500_000_000 => Size::Core,
            _ => Size::Large,
        };
        Case::new(CaseInfo { size, ..info }, move |s| match self.dtype {
            DType::F16 => set_up::<f16>(s, &self),
            _ => set_up::<bf16>(s, &self),
        })
    }
}

/// A row with which tiles of rows of each width begin.
const APART: usize = 128;

/// Indices of 32 or 64 bits.
enum List {
    I32(Arg<i32>),
    I64(Arg<i64>),
}

impl List {
    fn given(s: &mut Setup, name: &'static str, list: &[usize], wide: bool) -> Self {
        let shape = [list.len()];
        if wide {
            Self::I64(s.given(name, &shape, list.iter().map(|at| *at as i64).collect()))
        } else {
            Self::I32(s.given(name, &shape, list.iter().map(|at| *at as i32).collect()))
        }
    }

    /// Calls `body` with them.
    fn with<R>(&self, body: impl FnOnce(Indices<'_>) -> R) -> R {
        match self {
            Self::I32(arg) => body((&arg.get()).into()),
            Self::I64(arg) => body((&arg.get()).into()),
        }
    }
}

fn set_up<T: BackwardElement + Real>(s: &mut Setup, spec: &Spec) {
    let ([d, dv], heads) = (spec.widths, spec.heads);
    let rows: usize = spec.lengths.iter().sum();
    let mut queries: Vec<T> = s.draw("q", &[rows, heads, d], Draw::Normal);
    let mut keys: Vec<T> = s.draw("k", &[rows, heads, d], Draw::Scaled(spec.scale));
    if spec.infinite {
        queries.iter_mut().step_by(d).for_each(|q| *q = T::from_f64(1.0));
        keys[0] = T::from_f64(f64::NEG_INFINITY);
    }
    if spec.infinite_query {
        keys.iter_mut().step_by(d).for_each(|k| *k = T::from_f64(-1.0));
        queries[0] = T::from_f64(f64::INFINITY);
    }
    let q = s.given("q", &[rows, heads, d], queries);
    let k = s.given("k", &[rows, heads, d], keys);
    let mut values: Vec<T> = s.draw("v", &[rows, heads, dv], Draw::Normal);
    for [from, to] in spec.wild {
        values[from * heads * dv..to * heads * dv].fill(T::from_f64(f64::NAN));
    }
    let v = s.given("v", &[rows, heads, dv], values);
    let mut bounds = vec![0];
    for rows in &spec.lengths {
        bounds.push(bounds[bounds.len() - 1] + rows);
    }
    let count = spec.lengths.len();
    let offsets = List::given(s, "seq_offsets", &bounds, spec.wide);
    let targets: Vec<usize> = (0..count).map(|b| spec.targets_of(b)).collect();
    let num_targets =
        spec.targets.as_ref().map(|_| List::given(s, "num_targets", &targets, spec.wide));
    let order = spec.sorted.then(|| {
        let mut order: Vec<usize> = (0..count).collect();
        order.sort_by_key(|b| std::cmp::Reverse(spec.lengths[*b]));
        List::given(s, "sort_by_length_indices", &order, spec.wide)
    });

    let max_seq_len = spec.lengths.iter().max().copied().unwrap_or_default() + spec.spare;
    let (queries, key_numbers, value_numbers) = (q.numbers(), k.numbers(), v.numbers());
    let at = |x: &[f64], row: usize, head: usize, width: usize| {
        x[(row * heads + head) * width..][..width].to_vec()
    };
    let mut expected = Vec::new();
    for (b, rows) in spec.lengths.iter().copied().enumerate() {
        let rules = Rules {
            rows,
            causal: spec.causal,
            targets: targets[b],
            most_distance: (spec.most_distance > 0).then_some(spec.most_distance),
            context: spec.context,
        };
        let of_heads: Vec<[Vec<Vec<f64>>; 2]> = (0..heads)
            .map(|head| {
                let all = |x: &[f64], width| {
                    (bounds[b]..bounds[b + 1]).map(|row| at(x, row, head, width)).collect()
                };
                [all(&key_numbers, d), all(&value_numbers, dv)]
            })
            .collect();
        for i in 0..rows {
            for (head, [k, v]) in of_heads.iter().enumerate() {
                let q = at(&queries, bounds[b] + i, head, d);
                let factors = (f64::from(spec.alpha), max_seq_len);
                expected.push(attend((i, &q), k, v, factors, &rules, spec.dtype));
            }
        }
    }
    let is_wild = !spec.wild.is_empty();
    let compared = if is_wild { APART..rows.min(2 * APART) } else { 0..rows };
    let (first, end) = (compared.start * heads, compared.end * heads);
    let mut expected = results(expected.drain(first..end).collect(), spec.dtype);
    if is_wild {
        expected.at = Some((first * dv..end * dv).collect());
    }
    let out = s.output::<T>("out", &[rows, heads, dv], expected);
    let (causal, most_distance, context, alpha) =
        (spec.causal, spec.most_distance, spec.context, spec.alpha);
    s.call(move || {
        let options = HstuOptions::default()
            .causal(causal)
            .max_attn_len(most_distance)
            .contextual_seq_len(context);
        let call = |offsets: Indices<'_>, options: &HstuOptions<'_>| {
            let (q, k, v) = (q.get(), k.get(), v.get());
            hstu_attn_fwd_into(&q, &k, &v, offsets, max_seq_len, alpha, options, &mut out.get())
        };
        offsets.with(|offsets| match (&num_targets, &order) {
            (None, None) => call(offsets, &options),
            (Some(targets), None) => {
                targets.with(|targets| call(offsets, &options.num_targets(targets)))
            }
            (None, Some(order)) => {
                order.with(|order| call(offsets, &options.sort_by_length_indices(order)))
            }
            (Some(targets), Some(order)) => targets.with(|targets| {
                let options = options.num_targets(targets);
                order.with(|order| call(offsets, &options.sort_by_length_indices(order)))
            }),
        })
    });
}

/// Every case.
pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    let mut add = |spec: Spec| cases.push(spec.case());
    let ragged = [64, 0, 33, 1];
    let all = |spec: Spec| Spec {
        context: 5,
        most_distance: 9,
        sorted: true,
        ..spec.targets(&[7, 3, 0])
    };
    add(all(Spec { widths: [8, 16], ..Spec::new("tiny", &[9, 4], 2, 16) }));
    for d in [32, 64] {
        let spec = || Spec::new("ragged", &ragged, 2, d);
        add(spec());
        add(Spec { causal: false, ..spec() });
        add(spec().targets(&[7, 3, 0]));
        add(Spec { causal: false, ..spec().targets(&[4, 0, 33]) });
        add(Spec { most_distance: 9, ..spec() });
        add(Spec { most_distance: 9, causal: false, ..spec() });
        add(Spec { context: 5, ..spec() });
        add(Spec { sorted: true, wide: true, spare: 31, ..spec() });
        add(all(spec()));
        add(Spec { most_distance: 1, causal: false, wide: true, ..spec().targets(&[5]) });
        // More context and targets than rows.
        add(Spec { name: "all context", context: 40, ..spec().targets(&[30]) });
        add(Spec { name: "all targets", ..spec().targets(&[64]) });
    }
    // Several tiles of rows and of keys, whose bounds are in tiles.
    for (d, dv) in [(16, 16), (128, 128), (256, 256), (64, 128), (40, 200)] {
        let long = || Spec { widths: [d, dv], ..Spec::new("long", &[300, 97], 2, d) };
        add(Spec { spare: 20, ..long() });
        add(Spec { causal: false, most_distance: 140, ..long().targets(&[20]) });
        add(Spec { context: 10, most_distance: 70, sorted: true, ..long().targets(&[20]) });
        add(Spec { context: 150, ..long().targets(&[60]) });
    }
    add(Spec { alpha: 30.0, ..Spec::new("steep", &[40, 70], 2, 64) });
    add(Spec { alpha: -0.3, causal: false, ..Spec::new("inverted", &[40, 70], 2, 64) });
    add(Spec { infinite: true, ..Spec::new("an infinite key", &[20], 1, 64) });
    add(Spec { infinite: true, ..Spec::new("an infinite key", &[20], 1, 64) }.f16());
    // A query whose scores are all -inf, also where there is no key behind the last.
    let query = Spec {
        infinite_query: true,
        causal: false,
        ..Spec::new("an infinite query", &[20], 1, 64)
    };
    add(query.clone());
    add(query.f16());
    // Values in the same tile as those that are near.
    for d in [64, 128, 256] {
        let spec = Spec::new("values far before are NaN", &[150], 1, d);
        add(Spec { wild: &[[0, 120]], most_distance: 3, ..spec });
    }
    // Those of other targets: between what is seen, in the same tiles, and behind it.
    let name = "values of other targets are NaN";
    for d in [64, 128, 256] {
        let spec = Spec::new(name, &[150], 1, d).targets(&[100]);
        add(Spec { wild: &[[50, 128]], ..spec.clone() });
        add(Spec { wild: &[[0, 30], [50, 128]], most_distance: 20, ..spec }.f16());
    }
    for d in [30, 200] {
        let spec = Spec::new(name, &[270], 1, d).targets(&[220]);
        add(Spec { wild: &[[50, 128], [256, 270]], causal: false, ..spec.clone() });
        add(Spec { wild: &[[50, 128], [256, 270]], context: 9, ..spec });
    }
    // More context and targets than rows, of which each sees only itself.
    let alone = Spec::new(name, &[150], 2, 64).targets(&[100]);
    add(Spec { wild: &[[0, 128]], context: 60, ..alone });
    for d in [64, 128, 256] {
        add(all(Spec::new("ragged", &ragged, 2, d)).f16());
        let rows = if d == 256 { 90 } else { 140 };
        add(Spec { causal: false, ..Spec::new("long", &[rows], 1, d) }.f16());
    }
    // Weights that are divided by so many rows are below what f16 has all bits of.
    let small = Spec::new("small weights", &[40, 70], 2, 64).f16();
    add(Spec { spare: 4000, ..small });
    // Weights that f16 has room for only once they are divided.
    let large = Spec::new("large weights", &[40, 70], 2, 64).f16();
    add(Spec { spare: 4000, alpha: 30.0, scale: 7, ..large });
    add(Spec::new("nothing", &[], 2, 64));
    add(Spec::new("nothing of three", &[0, 0, 0], 2, 64));
    // Of recommenders: inputs of 0.01, and weights that make up for it.
    for (lengths, d) in [(&[64, 128, 96][..], 128), (&[512, 380, 190], 128)] {
        let spec = Spec::new("recommender", lengths, 4, d).targets(&[20, 1, 9]);
        add(Spec { alpha: 10_000.0 / d as f32, scale: -7, ..spec });
    }
    let full = vec![3072 * 366 / 1000; 8];
    add(Spec { alpha: 10_000.0 / 128.0, scale: -7, ..Spec::new("full size", &full, 4, 128) });
    let gaps = Placement::DENSE.gap(8).shift(8);
    let placed = Spec::new("apart", &[50, 20], 3, 64).targets(&[3]);
    cases.push(placed.case().place(gaps));
    // Widths that are no whole chunks, also of one of both alone, with nothing or NaN behind rows.
    let dense = Placement::DENSE;
    for (d, dv, place) in [
        (1, 1, dense),
        (5, 3, dense.gap(3).shift(1)),
        (19, 16, dense.gap(5)),
        (64, 60, dense.edge(Edge::End)),
        (7, 100, dense.gap(3).shift(1)),
        (133, 133, dense.edge(Edge::End)),
        (40, 255, dense.gap(1)),
    ] {
        let spec = Spec { widths: [d, dv], ..Spec::new("odd widths", &[50, 0, 21], 2, d) };
        cases.push(all(spec.clone()).case().place(place));
        cases.push(Spec { causal: false, ..spec.f16() }.case().place(place));
    }
    let apart = Spec::new("values far before are NaN", &[150], 1, 45);
    cases.push(Spec { wild: &[[0, 120]], most_distance: 3, ..apart }.case());
    cases
}
