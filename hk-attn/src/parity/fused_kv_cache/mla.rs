//! Cases of latent caches.

use hk_core::dtype::{DType, Real};
use hk_core::{Arch, Result};
use hk_ref::attn::fused_kv_cache::{Cache, Layout};
use hk_ref::attn::rope::Rotated;
use hk_ref::{Arg, Case, CaseInfo, Draw, Edge, Expected, Placement, REALS, Setup, Size, real};

use super::super::angles::{Numbers, Turns, size_of_rows, tables};
use super::{Slots, cached, caches, dtype_for};
use crate::fused_kv_cache::Latent;
use crate::{
    CacheElement, FusedQkRopeCatAndCacheMlaOut, KvCacheOptions, RopeStyle, cat_and_cache_mla,
    fused_qk_rope_cat_and_cache_mla_into,
};

/// What varies between cases, apart from element types and places.
#[derive(Clone, Copy)]
pub(in crate::parity) struct Spec {
    pub(in crate::parity) op: &'static str,
    /// Tokens of queries, of keys, and with slots; query and key heads; elements that are not
    /// rotated and that are; slots; tokens that are decoded.
    pub(in crate::parity) shape: [usize; 9],
    pub(in crate::parity) dim: usize,
    pub(in crate::parity) turns: Turns,
    pub(in crate::parity) slots: Slots,
    pub(in crate::parity) bits: u32,
    pub(in crate::parity) scaled: bool,
    /// Whether there are outputs that need not be.
    pub(in crate::parity) more: bool,
    pub(in crate::parity) name: &'static str,
}

impl Spec {
    pub(in crate::parity) const fn new(op: &'static str, shape: [usize; 9]) -> Self {
        Self {
            op,
            shape,
            dim: shape[6],
            turns: Turns { positions: Some(32), style: RopeStyle::Gptj, ..Turns::DEFAULT },
            slots: Slots::Apart,
            bits: 32,
            scaled: false,
            more: true,
            name: "plain",
        }
    }

    /// What varies, as a title.
    pub(in crate::parity) fn title(&self) -> String {
        format!(
            "{}, {:?} of {} bits{}{}{}, r {}",
            self.name,
            self.slots,
            self.bits,
            if self.scaled { ", scaled" } else { "" },
            if self.more { ", all" } else { "" },
            self.turns,
            self.dim
        )
    }

    fn case(self, [x, table, queries, cache]: [DType; 4], arch: Option<Arch>) -> Case {
        let dtypes = [x, table, queries, cache];
        let mut info = CaseInfo::new("fused_kv_cache", self.op, self.title(), &dtypes, &self.shape);
        let [_, all, _, query_heads, heads, n, r, ..] = self.shape;
        (info.arch, info.size) = (arch, size_of_rows(all * (query_heads + heads) * (n + r)));
        Case::new(info, move |s| {
            real!(x, T => real!(table, W => real!(queries, O => cached!(cache, C => {
                set_up::<T, W, O, C>(s, self)
            }))))
        })
    }

    /// Into caches of the types of that turn.
    fn cases(self, turn: usize) -> impl Iterator<Item = Case> {
        caches(turn).into_iter().enumerate().map(move |(i, (cache, arch))| {
            let x = dtype_for(turn, i);
            self.case([x, REALS[(turn + 1) % 3], x, cache], arch)
        })
    }
}

/// Rows side by side, of so many elements each.
fn side_by_side(a: &Rotated, b: &Rotated, widths: [usize; 2]) -> Rotated {
    let mut all = Rotated::default();
    let values = a.values.chunks_exact(widths[0]).zip(b.values.chunks_exact(widths[1]));
    all.values = values.flat_map(|(a, b)| [a, b].concat()).collect();
    let sizes = a.sizes.chunks_exact(widths[0]).zip(b.sizes.chunks_exact(widths[1]));
    all.sizes = sizes.flat_map(|(a, b)| [a, b].concat()).collect();
    all
}

/// Keys of a case, which an op puts into the cache.
struct Keys<T: Real, C: CacheElement> {
    nope: Arg<T>,
    pe: Arg<T>,
    rotated: Rotated,
    scale: Option<Arg<f32>>,
    slots: Numbers,
    kv_cache: Arg<C>,
}

/// The keys, of which `rotate` gives the second parts as they are stored.
fn keys<T: Real, C: CacheElement>(
    s: &mut Setup,
    spec: Spec,
    rotate: impl FnOnce(&[f64], usize) -> Rotated,
) -> Keys<T, C> {
    let [_, all, listed, _, heads, n, r, count, _] = spec.shape;
    let cache = Cache { layout: Layout::Nhd, sizes: [count, 1, heads, n + r], x: 1 };
    let slots = spec.slots.draw(s, listed, count, spec.bits);
    let nope = s.input::<T>("k_nope", &[all, heads, n], Draw::Normal);
    let pe = s.input::<T>("k_pe", &[all, heads, r], Draw::Normal);
    let scale = spec.scaled.then(|| s.given("k_scale", &[1], vec![0.21f32]));
    let rotated = rotate(&pe.numbers(), heads);
    let rows = side_by_side(&copied(&nope), &rotated, [n, r]);
    let held: Vec<C> = s.draw("kv_cache", &[count, heads, n + r], Draw::Normal);
    let number = scale.as_ref().map(|scale: &Arg<f32>| scale.elements()[0]);
    let (numbers, dtypes) = (hk_core::dtype::decode(&held), [T::DTYPE, C::DTYPE]);
    let expected = cache.expected(numbers, &rows, &slots, number, dtypes, spec.turns.slack());
    let kv_cache = s.output::<C>("kv_cache", &[count, heads, n + r], expected).holding(held);
    let slots = Numbers::given(s, "slot_mapping", &[listed], &slots, spec.bits);
    Keys { nope, pe, rotated, scale, slots, kv_cache }
}

fn copied<T: Real>(x: &Arg<T>) -> Rotated {
    let mut rows = Rotated::default();
    rows.copy(&x.numbers());
    rows
}

impl<T: Real, C: CacheElement> Keys<T, C> {
    /// Calls with the options of the case.
    fn with_options(
        &self,
        spec: Spec,
        call: impl FnOnce(&KvCacheOptions<'_>) -> Result<()>,
    ) -> Result<()> {
        let scale = self.scale.as_ref().map(Arg::get);
        let mut rope = spec.turns.options();
        if !spec.slots.are_right() {
            rope = rope.validate_indices(false);
        }
        let options = KvCacheOptions::default().rope(rope);
        call(&scale.iter().fold(options, |options, scale| options.k_scale(scale)))
    }
}

fn set_up<T: Real, W: Real, O: Real, C: CacheElement>(s: &mut Setup, spec: Spec) {
    let [tokens, _, _, query_heads, _, n, r, ..] = spec.shape;
    if spec.op == "cat_and_cache_mla" {
        let keys = keys::<T, C>(s, spec, |x, _| {
            let mut rows = Rotated::default();
            rows.copy(x);
            rows
        });
        s.call(move || {
            keys.with_options(spec, |options| {
                let (nope, pe) = (keys.nope.get(), keys.pe.get());
                let cache = &mut *keys.kv_cache.get();
                keys.slots.with(|slots| cat_and_cache_mla(&nope, &pe, slots, options, cache))
            })
        });
        return;
    }
    let q_nope = s.input::<T>("q_nope", &[tokens, query_heads, n], Draw::Normal);
    let first = copied(&q_nope);
    let queries = |rotated: &Rotated| {
        let queries = side_by_side(&first, rotated, [n, r]);
        queries.expected(T::DTYPE, O::DTYPE, spec.turns.slack())
    };
    set_up_fused::<T, W, O, C>(s, spec, queries, move |latent, out| {
        let Latent { q_pe, k_nope, k_pe, slots, angles, options } = latent;
        let q = q_nope.get();
        fused_qk_rope_cat_and_cache_mla_into(&q, q_pe, k_nope, k_pe, slots, angles, options, out)
    });
}

/// Sets up all but the first parts of queries, for `call`. `queries` gives what becomes of them, beside
/// their second parts, rotated.
pub(in crate::parity) fn set_up_fused<T: Real, W: Real, O: Real, C: CacheElement>(
    s: &mut Setup,
    spec: Spec,
    queries: impl FnOnce(&Rotated) -> Expected,
    call: impl Fn(Latent<'_, T, W>, FusedQkRopeCatAndCacheMlaOut<'_, T, O, C>) -> Result<()> + 'static,
) {
    let [tokens, all, _, query_heads, heads, n, r, _, decoded] = spec.shape;
    let (rope, slack) = (spec.turns.rope(spec.dim, r), spec.turns.slack());
    let angles = tables::<W>(s, &rope, spec.turns, &[tokens], |token| token);
    let rotate = |x: &[f64], heads: usize| {
        let mut rotated = Rotated::default();
        for (row, x) in x.chunks_exact(r).enumerate() {
            match angles.positions.get(row / heads) {
                Some(position) => {
                    let [cos, sin] = angles.rows(*position);
                    rope.rotate(x, cos, sin, &mut rotated);
                }
                None => rotated.copy(x),
            }
        }
        rotated
    };
    let keys = keys::<T, C>(s, spec, rotate);
    let q_pe = s.input::<T>("q_pe", &[tokens, query_heads, r], Draw::Normal);
    let rotated = rotate(&q_pe.numbers(), query_heads);
    let q_out = s.output::<O>("q_out", &[tokens, query_heads, n + r], queries(&rotated));
    let k_pe_out = spec.more.then(|| {
        let expected = keys.rotated.clone().expected(T::DTYPE, T::DTYPE, slack);
        s.output::<T>("k_pe_out", &[all, heads, r], expected)
    });
    let decode = spec.more.then(|| {
        let mut first = rotated;
        first.values.truncate(decoded * query_heads * r);
        first.sizes.truncate(decoded * query_heads * r);
        let expected = first.expected(T::DTYPE, O::DTYPE, slack);
        s.output::<O>("decode_q_pe_out", &[decoded, query_heads, r], expected)
    });
    let zeros = spec.more.then(|| {
        let zeros = vec![O::from_f64(0.0); decoded * query_heads * n];
        s.output::<O>("q_nope_zeros", &[decoded, query_heads, n], Expected::bits(&zeros))
    });
    s.call(move || {
        keys.with_options(spec, |options| {
            let (mut k_pe_out, mut decode, mut zeros) = (
                k_pe_out.as_ref().map(Arg::get),
                decode.as_ref().map(Arg::get),
                zeros.as_ref().map(Arg::get),
            );
            let out = FusedQkRopeCatAndCacheMlaOut {
                q: &mut *q_out.get(),
                k_pe: k_pe_out.as_deref_mut(),
                decode_q_pe: decode.as_deref_mut(),
                q_nope_zeros: zeros.as_deref_mut(),
                kv_cache: &mut *keys.kv_cache.get(),
            };
            let (q_pe, k_nope, k_pe) = (&*q_pe.get(), &*keys.nope.get(), &*keys.pe.get());
            angles.with(|angles| {
                keys.slots
                    .with(|slots| call(Latent { q_pe, k_nope, k_pe, slots, angles, options }, out))
            })
        })
    });
}

/// Every case.
pub(super) fn cases() -> Vec<Case> {
    let [plain, fused] = ["cat_and_cache_mla", "fused_qk_rope_cat_and_cache_mla"];
    let mut cases = Vec::new();
    let dense = Placement::DENSE;
    let gaps = dense.gap(8).shift(3);
    let mut turn = 0;
    let mut add = |spec: Spec, place: Placement| {
        cases.extend(spec.cases(turn).map(|case| case.place(place)));
        turn += 1;
    };
    for (i, tokens) in [1, 8, 33].into_iter().enumerate() {
        let scaled = i != 1;
        let spec = Spec::new(plain, [2, tokens + 1, tokens, 2, 2, 512, 64, 128, 2]);
        add(Spec { scaled, ..spec }, gaps);
        let shape = [tokens, tokens + i, tokens + i, 16, 1, 512, 64, 128, tokens / 2];
        add(Spec { scaled, more: i > 0, ..Spec::new(fused, shape) }, dense);
    }
    // More keys than slots, more slots than queries, and the other way round.
    for shape in [[5, 9, 7, 4, 2, 32, 16, 20, 5], [7, 9, 4, 4, 2, 32, 16, 20, 3]] {
        for (slots, bits) in [(Slots::Apart, 64), (Slots::Outside, 32), (Slots::Outside, 64)] {
            let spec = Spec { slots, bits, scaled: bits == 32, ..Spec::new(fused, shape) };
            // Lists end where memory does.
            let place = if bits == 32 { dense.edge(Edge::End) } else { gaps };
            add(Spec { name: "counts", ..spec }, place);
        }
    }
    for turns in Turns::all() {
        let spec = Spec::new(fused, [5, 6, 6, 4, 2, 7, 12, 20, 3]);
        let turns = Turns { positions: Some(64), offsets: true, ..turns };
        add(Spec { turns, dim: 8, name: "styles", ..spec }, dense);
    }
    for op in [plain, fused] {
        let shape = [2, 3, 2, 4, 2, 8, 8, 4, 2];
        add(Spec { scaled: op == plain, name: "small", ..Spec::new(op, shape) }, gaps);
    }
    // Keys of which none has a slot.
    for (op, queries) in [(plain, 0), (fused, 0), (fused, 2)] {
        let spec = Spec::new(op, [queries, 3, 0, 2, 1, 32, 16, 4, 0]);
        add(Spec { name: "no slots", ..spec }, dense);
    }
    // DeepSeek-V3.
    let large = Spec::new(fused, [8192, 8192, 8192, 128, 1, 512, 64, 16_384, 512]);
    let large = Spec { scaled: true, name: "model", ..large };
    cases.extend(large.cases(0).map(|case| case.size(Size::Large)));
    cases
}
