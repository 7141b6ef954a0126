//! Cases of `fused_qkv_split_qk_rope` and `fused_qkv_split_qk_norm_rope_cache`.

use hk_core::Arch;
use hk_core::dtype::{DType, Real, decode};
use hk_ref::attn::fused_kv_cache::{Cache, Layout};
use hk_ref::attn::fused_qkv_split_qk_rope::norm;
use hk_ref::attn::rope::{NORM, Rotated};
use hk_ref::{Arg, Case, CaseInfo, Draw, Edge, NOT_POSITIVE, Placement, REALS, Setup, Size, real};

use super::angles::{Numbers, Turns, size_of_rows, tables};
use super::fused_kv_cache::{Slots, cached, caches, dtype_for};
use crate::{
    CacheElement, CacheLayout, FusedQkvSplitQkNormRopeCacheOut, FusedQkvSplitQkRopeOut, GateOrder,
    KvCacheOptions, KvCaches, QkNormOptions, QkWeights, RowOptions,
    fused_qkv_split_qk_norm_rope_cache_into, fused_qkv_split_qk_rope_into,
};

/// What varies between cases, apart from element types and places.
#[derive(Clone, Copy)]
struct Spec {
    /// Tokens, query and key heads, elements.
    shape: [usize; 4],
    dim: usize,
    turns: Turns,
    name: &'static str,
    workgroups: Option<u32>,
    /// Of the op that normalises.
    norm: Option<Norm>,
}

/// What varies between cases of the op that normalises.
#[derive(Clone, Copy)]
struct Norm {
    gate: Option<GateOrder>,
    weight_offset: f32,
    scaled: bool,
    layout: CacheLayout,
    cache: DType,
    weights: DType,
    slots: Slots,
    /// Bits of slots.
    bits: u32,
}

impl Spec {
    const fn new(shape: [usize; 4], name: &'static str) -> Self {
        let turns = Turns { positions: Some(32), ..Turns::DEFAULT };
        Self { shape, dim: shape[3], turns, name, workgroups: None, norm: None }
    }

    fn case(self, x: DType, table: DType, arch: Option<Arch>) -> Case {
        let name = format!("{}, r {}{}", self.name, self.dim, self.turns);
        let module = "fused_qkv_split_qk_rope";
        let [t, qh, kh, d] = self.shape;
        let size = size_of_rows(t * (qh + 2 * kh) * d);
        let Some(norm) = self.norm else {
            let info = CaseInfo::new(module, module, name, &[x, table, x], &self.shape);
            return Case::new(
                CaseInfo { size, ..info },
                move |s| real!(x, T => real!(table, W => split::<T, W>(s, self))),
            )
            .in_turns(self.workgroups);
        };
        let Norm { gate, weight_offset, scaled, layout, cache, weights, slots, bits } = norm;
        let gate = gate.map(|gate| format!(", {gate:?}")).unwrap_or_default();
        let scaled = if scaled { ", scaled" } else { "" };
        let name = format!("{name}{gate}, {weight_offset} + w, {layout:?}{scaled}");
        let name = format!("{name}, {slots:?} of {bits} bits");
        let dtypes = [x, table, weights, cache];
        let op = "fused_qkv_split_qk_norm_rope_cache";
        let mut info = CaseInfo::new(module, op, name, &dtypes, &self.shape);
        (info.arch, info.size) = (arch, size);
        Case::new(info, move |s| {
            real!(x, T => real!(table, W => real!(weights, N => cached!(cache, C => {
                normalise::<T, W, N, C>(s, self, norm)
            }))))
        })
    }

    /// Rows of tokens as heads of kinds: of each kind, which of the heads of a row.
    fn heads(&self, kinds: &[Vec<usize>], row: &[f64]) -> Vec<Vec<f64>> {
        let [_, _, _, d] = self.shape;
        let of_row = kinds.iter().map(Vec::len).sum::<usize>() * d;
        let all_of = |kind: &Vec<usize>| {
            let rows = row.chunks_exact(of_row);
            let heads = rows.flat_map(|row| kind.iter().map(move |head| &row[head * d..][..d]));
            heads.flatten().copied().collect()
        };
        kinds.iter().map(all_of).collect()
    }
}

fn split<T: Real, W: Real>(s: &mut Setup, spec: Spec) {
    let [t, qh, kh, d] = spec.shape;
    let qkv = s.input::<T>("qkv", &[t, (qh + 2 * kh) * d], Draw::Normal);
    let kinds = [(0..qh).collect(), (qh..qh + kh).collect(), (qh + kh..qh + 2 * kh).collect()];
    let heads = spec.heads(&kinds, &qkv.numbers());
    let rope = spec.turns.rope(spec.dim, d);
    let angles = tables::<W>(s, &rope, spec.turns, &[t], |token| token);
    let mut add = |name: &'static str, x: &[f64], count: usize, rotates: bool| {
        let mut y = Rotated::default();
        for (row, x) in x.chunks_exact(d).enumerate() {
            let [cos, sin] = angles.rows(angles.positions[row / count]);
            if rotates { rope.rotate(x, cos, sin, &mut y) } else { y.copy(x) }
        }
        let y = y.expected(T::DTYPE, T::DTYPE, spec.turns.slack());
        s.output::<T>(name, &[t, count, d], y)
    };
    let q = add("q", &heads[0], qh, true);
    let k = add("k", &heads[1], kh, true);
    let v = add("v", &heads[2], kh, false);
    let rows = spec.workgroups.into_iter().fold(RowOptions::default(), RowOptions::workgroups);
    let options = spec.turns.options().rows(rows);
    s.call(move || {
        angles.with(|angles| {
            let (mut q, mut k, mut v) = (q.get(), k.get(), v.get());
            let out = FusedQkvSplitQkRopeOut { q: &mut q, k: &mut k, v: &mut v };
            fused_qkv_split_qk_rope_into(&qkv.get(), angles, &options, out)
        })
    });
}

/// Blocks, or more if there are so many tokens, and slots of each, of caches.
const BLOCKS: [usize; 2] = [4, 16];

fn normalise<T: Real, W: Real, N: Real, C: CacheElement>(s: &mut Setup, spec: Spec, of: Norm) {
    let [t, qh, kh, d] = spec.shape;
    let eps = 1e-5;
    let queries = if of.gate.is_some() { 2 * qh } else { qh };
    let width = (queries + 2 * kh) * d;
    let qkv = s.input::<T>("qkv", &[t, width], Draw::Normal);
    let [q_weight, k_weight] =
        ["q_weight", "k_weight"].map(|name| s.input::<N>(name, &[d], Draw::Normal));
    let of_queries = |first: usize, step: usize| (0..qh).map(|i| first + i * step).collect();
    let (of_q, of_gate) = match of.gate {
        None => (of_queries(0, 1), Vec::new()),
        Some(GateOrder::Interleaved) => (of_queries(0, 2), of_queries(1, 2)),
        Some(GateOrder::Blocked) => (of_queries(0, 1), of_queries(qh, 1)),
    };
    let keys = (queries..queries + kh).collect();
    let kinds = [of_q, keys, (queries + kh..queries + 2 * kh).collect(), of_gate];
    let heads = spec.heads(&kinds, &qkv.numbers());
    let rope = spec.turns.rope(spec.dim, d);
    let angles = tables::<W>(s, &rope, spec.turns, &[t], |token| token);
    let rotate = |x: &[f64], weight: &Arg<N>, count: usize| {
        let mut y = Rotated::default();
        for (row, x) in x.chunks_exact(d).enumerate() {
            let [cos, sin] = angles.rows(angles.positions[row / count]);
            let x = norm(x, &weight.numbers(), eps, of.weight_offset);
            let start = y.sizes.len();
            rope.rotate(&x, cos, sin, &mut y);
            // What is not rotated is not exact either.
            let sizes = y.sizes[start..].iter_mut().zip(&x);
            sizes.for_each(|(size, x)| *size = size.or(Some(x.abs())));
        }
        y
    };
    let copy = |x: &[f64]| {
        let mut y = Rotated::default();
        y.copy(x);
        y
    };
    let (of_q, of_k) = (rotate(&heads[0], &q_weight, qh), rotate(&heads[1], &k_weight, kh));
    let of_v = copy(&heads[2]);
    let blocks = BLOCKS[0].max(t.div_ceil(BLOCKS[1]));
    let slots = of.slots.draw(s, t, blocks * BLOCKS[1], of.bits);
    let layout = if of.layout == CacheLayout::Hnd { Layout::Hnd } else { Layout::Nhd };
    let cache = Cache { layout, sizes: [blocks, BLOCKS[1], kh, d], x: 1 };
    let [k_scale, v_scale] = [("k_scale", 0.37f32), ("v_scale", 0.11)]
        .map(|(name, scale)| of.scaled.then(|| s.given(name, &[1], vec![scale])));
    let mut add_cache = |name: &'static str, rows: &Rotated, scale: &Option<Arg<f32>>| {
        let held: Vec<C> = s.draw(name, &cache.shape(), Draw::Normal);
        let scale = scale.as_ref().map(|scale| scale.elements()[0]);
        let expected =
            cache.expected(decode(&held), rows, &slots, scale, [T::DTYPE, C::DTYPE], NORM);
        s.output::<C>(name, &cache.shape(), expected).holding(held)
    };
    let key_cache = add_cache("key_cache", &of_k, &k_scale);
    let value_cache = add_cache("value_cache", &of_v, &v_scale);
    let slots = Numbers::given(s, "slot_mapping", &[t], &slots, of.bits);
    let mut add = |name: &'static str, rows: Rotated, count: usize| {
        let expected = rows.expected(T::DTYPE, T::DTYPE, NORM);
        s.output::<T>(name, &[t, count, d], expected)
    };
    let (q, k, v) = (add("q", of_q, qh), add("k", of_k, kh), add("v", of_v, kh));
    let gate = of.gate.map(|_| add("gate", copy(&heads[3]), qh));
    let eps = s.number("eps", eps, NOT_POSITIVE);
    s.call(move || {
        let [k_scale, v_scale] = [&k_scale, &v_scale].map(|scale| scale.as_ref().map(Arg::get));
        let rows = spec.workgroups.into_iter().fold(RowOptions::default(), RowOptions::workgroups);
        let cache = KvCacheOptions::default().layout(of.layout);
        let rope = spec.turns.options().rows(rows);
        let looks = of.slots.are_right();
        let cache = cache.rope(if looks { rope } else { rope.validate_indices(false) });
        let cache = k_scale.iter().fold(cache, |cache, scale| cache.k_scale(scale));
        let cache = v_scale.iter().fold(cache, |cache, scale| cache.v_scale(scale));
        let options = QkNormOptions::default().eps(eps.get()).weight_offset(of.weight_offset);
        let options = of.gate.into_iter().fold(options.cache(cache), QkNormOptions::gate);
        let (q_weight, k_weight) = (q_weight.get(), k_weight.get());
        let weights = QkWeights { q: &*q_weight, k: &*k_weight };
        let mut gate = gate.as_ref().map(Arg::get);
        let out = FusedQkvSplitQkNormRopeCacheOut {
            q: &mut *q.get(),
            k: &mut *k.get(),
            v: &mut *v.get(),
            gate: gate.as_deref_mut(),
            caches: KvCaches { key: &mut *key_cache.get(), value: &mut *value_cache.get() },
        };
        let qkv = qkv.get();
        angles.with(|angles| {
            slots.with(|slots| {
                fused_qkv_split_qk_norm_rope_cache_into(&qkv, weights, angles, slots, &options, out)
            })
        })
    });
}

/// Every case.
pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    let dense = Placement::DENSE;
    let gaps = dense.gap(8).shift(3);
    let mut turn = 0;
    // Types in turn.
    let mut add = |spec: Spec, place: Placement| {
        turn += 1;
        let (x, table) = (REALS[turn % 3], REALS[turn / 3 % 3]);
        let all = match spec.norm {
            None => vec![spec.case(x, table, None)],
            Some(norm) => {
                let cached = |(i, (cache, arch))| {
                    let norm = Norm { cache, weights: REALS[turn % 3], ..norm };
                    Spec { norm: Some(norm), ..spec }.case(dtype_for(turn, i), table, arch)
                };
                caches(turn).into_iter().enumerate().map(cached).collect()
            }
        };
        cases.extend(all.into_iter().map(|case| case.place(place)));
    };
    let norm = Norm {
        gate: None,
        weight_offset: 1.0,
        scaled: false,
        layout: CacheLayout::Nhd,
        cache: DType::Bf16,
        weights: DType::Bf16,
        slots: Slots::Apart,
        bits: 32,
    };
    for t in [1, 4, 8, 33] {
        for (qh, kh) in [(1, 1), (2, 1), (4, 1), (16, 1), (4, 4), (8, 4), (16, 4), (64, 4)] {
            for d in [64, 128] {
                let turns = Turns { positions: Some(64), offsets: kh == 4, ..Turns::DEFAULT };
                let turns = Turns { rows: 512, ..turns };
                let spec = Spec { turns, ..Spec::new([t, qh, kh, d], "heads") };
                add(spec, if kh == 4 { gaps } else { dense });
            }
        }
    }
    for turns in Turns::all() {
        for (d, dim) in [(64, 32), (64, 64), (10, 6)] {
            let spec = Spec { turns, dim, ..Spec::new([5, 4, 2, d], "styles") };
            add(spec, gaps);
            add(Spec { norm: Some(Norm { scaled: dim == 32, ..norm }), ..spec }, gaps);
        }
    }
    for gate in [None, Some(GateOrder::Interleaved), Some(GateOrder::Blocked)] {
        for layout in [CacheLayout::Nhd, CacheLayout::Hnd] {
            for (d, dim) in [(256, 64), (160, 160), (22, 6)] {
                let scaled = layout == CacheLayout::Hnd;
                let weight_offset = if scaled { 0.0 } else { 1.0 };
                let norm = Some(Norm { gate, layout, scaled, weight_offset, ..norm });
                add(Spec { norm, dim, ..Spec::new([9, 4, 2, d], "gates") }, dense);
            }
        }
    }
    // Slots of both sizes, in the caches and outside of them.
    for layout in [CacheLayout::Nhd, CacheLayout::Hnd] {
        for slots in [Slots::Apart, Slots::Outside] {
            for bits in [32, 64] {
                let gate = (bits == 64).then_some(GateOrder::Interleaved);
                let scaled = slots == Slots::Outside;
                let norm = Some(Norm { gate, layout, scaled, slots, bits, ..norm });
                add(Spec { norm, dim: 16, ..Spec::new([23, 4, 2, 32], "slots") }, dense);
            }
        }
    }
    // Rows that a wave has a part of at a time; more tokens than workgroups, at the end of memory.
    for norm in [None, Some(norm)] {
        for (d, dim) in [(150, 140), (1296, 640)] {
            add(Spec { norm, dim, ..Spec::new([3, 2, 2, d], "wide") }, gaps);
        }
        let few = Spec { workgroups: Some(1), dim: 16, ..Spec::new([37, 9, 3, 48], "turns") };
        add(Spec { norm, ..few }, dense.edge(Edge::End));
    }
    add(Spec::new([0, 4, 2, 16], "nothing"), dense);
    // As many lanes for a row as there can be, in runs and one by one.
    for lanes in (0..7).map(|power| 1 << power) {
        for (d, dim) in [(16 * lanes, 16 * lanes), (2 * lanes, 2)] {
            let spec = Spec { dim, norm: Some(norm), ..Spec::new([3, 2, 1, d], "lanes") };
            cases.push(spec.case(DType::Bf16, DType::F32, None).place(gaps));
        }
    }
    // A last unit that is half of one, in one lane more than there are, and in one of them; turns
    // without a head.
    for (x, d, dim) in [
        (DType::Bf16, 129, 2),
        (DType::Bf16, 1032, 16),
        (DType::F32, 516, 8),
        (DType::Bf16, 101, 2),
        (DType::Bf16, 824, 16),
        (DType::F32, 412, 8),
    ] {
        let names = ["halves, weights of bf16", "halves, of f16", "halves, of f32"];
        for (weights, name) in REALS.into_iter().zip(names) {
            let norm = Some(Norm { weights, ..norm });
            let spec = Spec { dim, norm, workgroups: Some(1), ..Spec::new([4, 3, 1, d], name) };
            cases.push(spec.case(x, DType::F32, None).place(gaps));
        }
    }
    let turns = Turns { positions: Some(32), rows: 131_072, ..Turns::DEFAULT };
    for [qh, kh, d] in [[32, 8, 128], [64, 8, 128], [32, 32, 128], [64, 8, 64], [128, 8, 128]] {
        let spec = Spec { turns, ..Spec::new([8192, qh, kh, d], "model") };
        cases.push(spec.case(DType::Bf16, DType::F32, None).size(Size::Large));
    }
    let qwen = Norm { gate: Some(GateOrder::Interleaved), ..norm };
    let qwen = Spec { norm: Some(qwen), turns, dim: 64, ..Spec::new([8192, 16, 2, 256], "model") };
    cases.push(qwen.case(DType::Bf16, DType::F32, None).size(Size::Large));
    cases
}
