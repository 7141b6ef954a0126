//! Cases of the module `fused_kv_cache`.

pub(super) mod mla;

use hk_core::Arch;
use hk_core::dtype::{self, DType, Element, Real, decode};
use hk_ref::attn::fused_kv_cache::{Cache, Layout};
use hk_ref::attn::rope::Rotated;
use hk_ref::{Arg, Case, CaseInfo, Draw, Edge, Expected, Placement, REALS, Setup, Size, real};

use super::angles::{Numbers, Turns, size_of_rows, tables};
use crate::{
    CacheElement, CacheLayout, FusedQkRopeReshapeAndCacheOut, KvCacheOptions, KvCaches, RopeStyle,
    RowOptions, fused_qk_rope_reshape_and_cache_into, reshape_and_cache,
};

/// Element types of caches, with the chip that has them if not all have: those of 8 bits, behind
/// another one in turn.
pub(super) fn caches(turn: usize) -> [(DType, Option<Arch>); 3] {
    let [fnuz, ocp] = FP8;
    [(REALS[turn % REALS.len()], None), fnuz, ocp]
}

const FP8: [(DType, Option<Arch>); 2] =
    [(DType::F8E4M3Fnuz, Some(Arch::Gfx942)), (DType::F8E4M3, Some(Arch::Gfx950))];

/// The element type of what goes into the cache of such a number: in turn, too, so that each comes
/// with each.
pub(super) fn dtype_for(turn: usize, cache: usize) -> DType {
    REALS[(turn + turn / REALS.len() + cache.min(1)) % REALS.len()]
}

/// An expression with the type that a `DType` of caches names.
macro_rules! cached {
    ($dtype:expr, $name:ident => $body:expr) => {
        match $dtype {
            DType::Bf16 => {
                type $name = hk_core::dtype::bf16;
                $body
            }
            DType::F16 => {
                type $name = hk_core::dtype::f16;
                $body
            }
            DType::F32 => {
                type $name = f32;
                $body
            }
            DType::F8E4M3Fnuz => {
                type $name = hk_core::dtype::F8E4M3Fnuz;
                $body
            }
            _ => {
                type $name = hk_core::dtype::F8E4M3;
                $body
            }
        }
    };
}
pub(super) use cached;

/// Which slots tokens have.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Slots {
    /// Each another one, in no order; each third token has none.
    Apart,
    /// The first of each 16.
    First,
    /// Also such that are not in the cache.
    Outside,
}

impl Slots {
    /// The slots of tokens in a cache of so many.
    pub(super) fn draw(self, s: &Setup, tokens: usize, count: usize, bits: u32) -> Vec<i64> {
        if self == Self::First {
            return (0..tokens).map(|token| 16 * token as i64).collect();
        }
        // A step that has no divisor in common with the number of slots visits all of them.
        let step = (count / 2 + 1..).find(|step| gcd(*step, count) == 1).unwrap_or(1);
        let mut slots: Vec<i64> = (0..tokens)
            .map(|token| if token % 3 == 2 { -1 } else { ((token * step + 1) % count) as i64 })
            .collect();
        let wild: Vec<i64> = s.draw("wild", &[tokens], Draw::Integers(-9, count as i64 + 9));
        for (at, slot) in slots.iter_mut().enumerate() {
            match self {
                Self::Outside if at % 2 == 1 => *slot = count as i64 * (1 + wild[at].abs()),
                Self::Outside if at % 4 == 2 && bits == 64 => *slot = (1 << 32) + wild[at],
                Self::Outside if at % 4 == 2 => *slot = i64::from(i32::MIN) + at as i64,
                _ => {}
            }
        }
        slots
    }

    /// Whether the op is to look at them.
    pub(super) fn are_right(self) -> bool {
        self != Self::Outside
    }
}

fn gcd(a: usize, b: usize) -> usize {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// What varies between cases, apart from element types and places.
#[derive(Clone, Copy)]
struct Spec {
    op: &'static str,
    layout: CacheLayout,
    /// Tokens, those of them without queries, query and key heads, elements of a row, blocks, slots
    /// of a block.
    shape: [usize; 7],
    dim: usize,
    turns: Turns,
    slots: Slots,
    bits: u32,
    scaled: bool,
    /// Whether there are outputs that need not be.
    more: bool,
    /// Whether elements of rows of caches are further apart than rows.
    spread: bool,
    name: &'static str,
    workgroups: Option<u32>,
}

impl Spec {
    const fn new(op: &'static str, layout: CacheLayout, shape: [usize; 7]) -> Self {
        Self {
            op,
            layout,
            shape,
            dim: shape[4],
            turns: Turns { positions: Some(32), ..Turns::DEFAULT },
            slots: Slots::Apart,
            bits: 32,
            scaled: false,
            more: true,
            spread: false,
            name: "plain",
            workgroups: None,
        }
    }

    fn case(self, [x, table, queries, cache]: [DType; 4], arch: Option<Arch>) -> Case {
        let Self { layout, slots, turns, .. } = self;
        let other = format!(", queries as {}", queries.name());
        let name = format!(
            "{}, {layout:?}{}, {slots:?} of {} bits{}{}{turns}, r {}{}",
            self.name,
            if self.spread { " spread" } else { "" },
            self.bits,
            if self.scaled { ", scaled" } else { "" },
            if self.more { ", all" } else { "" },
            self.dim,
            if queries == x { "" } else { &other }
        );
        let mut info = CaseInfo::new(
            "fused_kv_cache",
            self.op,
            name,
            &[x, table, queries, cache],
            &self.shape,
        );
        let [tokens, _, query_heads, heads, width, ..] = self.shape;
        let size = size_of_rows(tokens * (query_heads + 2 * heads) * width);
        (info.arch, info.size) = (arch, size);
        Case::new(info, move |s| {
            real!(x, T => real!(table, W => real!(queries, O => cached!(cache, C => {
                set_up::<T, W, O, C>(s, self)
            }))))
        })
    }

    /// Into caches of the types of that turn.
    fn cases(self, turn: usize) -> impl Iterator<Item = Case> {
        caches(turn).into_iter().enumerate().map(move |(i, (cache, arch))| {
            let x = if self.name == "plain" && i == 0 { cache } else { dtype_for(turn, i) };
            self.case([x, REALS[turn % 3], x, cache], arch)
        })
    }
}

/// A cache with what it holds before.
fn add_cache<C: CacheElement>(
    s: &mut Setup,
    name: &'static str,
    (cache, spread): (Cache, bool),
    expected: impl FnOnce(Vec<f64>) -> Expected,
) -> Arg<C> {
    let held: Vec<C> = s.draw(name, &cache.shape(), Draw::Normal);
    let expected = expected(decode(&held));
    let cache = s.output::<C>(name, &cache.shape(), expected).holding(held);
    if spread { cache.order(&[0, 1, 3, 2]) } else { cache }
}

fn set_up<T: Real, W: Real, O: Real, C: CacheElement>(s: &mut Setup, spec: Spec) {
    let [tokens, alone, query_heads, heads, width, blocks, of_block] = spec.shape;
    let x = 16 / size_of::<C>();
    let layouts = match spec.layout {
        CacheLayout::Nhd => [Layout::Nhd; 2],
        CacheLayout::Hnd => [Layout::Hnd; 2],
        CacheLayout::PagedX => [Layout::Split, Layout::Columns],
        CacheLayout::PagedXShuffledV => [Layout::Split, Layout::SplitColumns],
    };
    let [of_keys, of_values] =
        layouts.map(|layout| Cache { layout, sizes: [blocks, of_block, heads, width], x });
    let slots = spec.slots.draw(s, tokens, blocks * of_block, spec.bits);
    let k = s.input::<T>("k", &[tokens, heads, width], Draw::Normal);
    let v = s.input::<T>("v", &[tokens, heads, width], Draw::Normal);
    let [k_scale, v_scale] = [("k_scale", 0.37f32), ("v_scale", 0.11)]
        .map(|(name, scale)| spec.scaled.then(|| s.given(name, &[1], vec![scale])));
    let scale_of = |scale: &Option<Arg<f32>>| scale.as_ref().map(|scale| scale.elements()[0]);
    let mut values = Rotated::default();
    values.copy(&v.numbers());
    let dtypes = [T::DTYPE, C::DTYPE];
    let value_cache = add_cache::<C>(s, "value_cache", (of_values, spec.spread), |held| {
        of_values.expected(held, &values, &slots, scale_of(&v_scale), dtypes, spec.turns.slack())
    });
    let rotates = spec.op != "reshape_and_cache";
    let queries = tokens - alone;
    let rope = spec.turns.rope(spec.dim, width);
    let angles = rotates.then(|| tables::<W>(s, &rope, spec.turns, &[queries], |token| token));
    let rotate = |x: &[f64], heads: usize| {
        let mut rotated = Rotated::default();
        for (row, x) in x.chunks_exact(width).enumerate() {
            match &angles {
                Some(angles) if row / heads < queries => {
                    let [cos, sin] = angles.rows(angles.positions[row / heads]);
                    rope.rotate(x, cos, sin, &mut rotated);
                }
                _ => rotated.copy(x),
            }
        }
        rotated
    };
    let keys = rotate(&k.numbers(), heads);
    let key_cache = add_cache::<C>(s, "key_cache", (of_keys, spec.spread), |held| {
        of_keys.expected(held, &keys, &slots, scale_of(&k_scale), dtypes, spec.turns.slack())
    });
    let slots = Numbers::given(s, "slot_mapping", &[tokens], &slots, spec.bits);
    let options = move |call: &mut dyn FnMut(&KvCacheOptions<'_>) -> hk_core::Result<()>| {
        let [k_scale, v_scale] = [&k_scale, &v_scale].map(|scale| scale.as_ref().map(Arg::get));
        let rows = spec.workgroups.into_iter().fold(RowOptions::default(), RowOptions::workgroups);
        let mut rope = spec.turns.options().rows(rows);
        if !spec.slots.are_right() {
            rope = rope.validate_indices(false);
        }
        let options = KvCacheOptions::default().layout(spec.layout).rope(rope);
        let options = k_scale.iter().fold(options, |options, scale| options.k_scale(scale));
        call(&v_scale.iter().fold(options, |options, scale| options.v_scale(scale)))
    };
    if !rotates {
        s.call(move || {
            options(&mut |options| {
                let caches =
                    KvCaches { key: &mut *key_cache.get(), value: &mut *value_cache.get() };
                slots.with(|slots| reshape_and_cache(&k.get(), &v.get(), slots, options, caches))
            })
        });
        return;
    }
    let shape = [queries, query_heads, width];
    let q = s.input::<T>("q", &shape, Draw::Normal);
    let slack = spec.turns.slack();
    let q_out = rotate(&q.numbers(), query_heads).expected(T::DTYPE, O::DTYPE, slack);
    let q_out = s.output::<O>("q_out", &shape, q_out);
    let k_out = spec.more.then(|| {
        let k_out = keys.expected(T::DTYPE, T::DTYPE, slack);
        s.output::<T>("k_out", &[tokens, heads, width], k_out)
    });
    let zeros = spec.more.then(|| {
        let zeros = Expected::bits(&vec![O::from_f64(0.0); shape.iter().product()]);
        s.output::<O>("zeros", &shape, zeros)
    });
    let Some(angles) = angles else { return };
    s.call(move || {
        options(&mut |options| {
            let (mut k_out, mut zeros) =
                (k_out.as_ref().map(Arg::get), zeros.as_ref().map(Arg::get));
            let caches = KvCaches { key: &mut *key_cache.get(), value: &mut *value_cache.get() };
            let out = FusedQkRopeReshapeAndCacheOut {
                q: &mut *q_out.get(),
                k: k_out.as_deref_mut(),
                zeros: zeros.as_deref_mut(),
                caches,
            };
            let (q, k, v) = (q.get(), k.get(), v.get());
            angles.with(|angles| {
                slots.with(|slots| {
                    fused_qk_rope_reshape_and_cache_into(&q, &k, &v, slots, angles, options, out)
                })
            })
        })
    });
}

/// Any bits, of which every other ones have all of that exponent: those of a NaN, or of infinity.
fn bits(s: &Setup, name: &str, dims: &[usize], exponent: u32) -> impl Iterator<Item = u32> {
    let codes: Vec<u32> = s.draw(name, dims, Draw::Codes);
    let special = [0, exponent].into_iter().cycle();
    codes.into_iter().zip(special).map(|(code, special)| code | special)
}

/// Numbers of which many are beyond those of 8 bits, and some are infinite or not a number.
fn beyond(s: &Setup, name: &str, dims: &[usize]) -> Vec<f32> {
    let mut x: Vec<f32> = s.draw(name, dims, Draw::Spread);
    let special = [f32::INFINITY, f32::NEG_INFINITY, f32::NAN].into_iter().cycle();
    x.iter_mut().step_by(5).zip(special).for_each(|(x, special)| *x = special);
    x
}

/// How the elements of a case are drawn, of that name and shape.
type Drawn<T> = fn(&Setup, &str, &[usize]) -> Vec<T>;

/// Rows of so many elements, not rotated, into a cache where `stored` says what they are exactly.
fn exact<T: Real, C: CacheElement>(
    name: &'static str,
    width: usize,
    arch: Option<Arch>,
    draw: Drawn<T>,
    stored: fn(&[T]) -> Vec<C>,
) -> Case {
    let [tokens, heads, blocks, of_block] = [7, 2, 3, 4];
    let shape = [tokens, heads, width, blocks, of_block];
    let dtypes = [T::DTYPE, C::DTYPE];
    let info = CaseInfo::new("fused_kv_cache", "reshape_and_cache", name, &dtypes, &shape);
    Case::new(CaseInfo { arch, ..info }, move |s| {
        let cache = Cache { layout: Layout::Nhd, sizes: [blocks, of_block, heads, width], x: 1 };
        let slots = Slots::Apart.draw(s, tokens, blocks * of_block, 32);
        let mut add = |name: [&'static str; 2]| {
            let rows = [tokens, heads, width];
            let elements = draw(s, name[0], &rows);
            let held: Vec<C> = s.draw(name[1], &cache.shape(), Draw::Normal);
            let all = cache.copied(held.clone(), &stored(&elements), &slots);
            // Which of the NaNs of e4m3 is not specified.
            let expected = match size_of::<C>() {
                1 => Expected::exact(decode(&all)),
                _ => Expected::bits(&all),
            };
            let x = s.given::<T>(name[0], &rows, elements);
            (x, s.output::<C>(name[1], &cache.shape(), expected).holding(held))
        };
        let ((k, key), (v, value)) = (add(["k", "key_cache"]), add(["v", "value_cache"]));
        let slots = Numbers::given(s, "slot_mapping", &[tokens], &slots, 32);
        s.call(move || {
            let caches = KvCaches { key: &mut *key.get(), value: &mut *value.get() };
            let options = KvCacheOptions::default();
            slots.with(|slots| reshape_and_cache(&k.get(), &v.get(), slots, &options, caches))
        });
    })
}

/// Elements of any bits into a cache of their type, elements that are often half-way between two of
/// the cache's, and such as are beyond these.
fn exact_cases(width: usize) -> [Case; 6] {
    type Bf16 = dtype::bf16;
    type F16 = dtype::f16;
    let [fnuz, ocp] = FP8.map(|(_, arch)| arch);
    let bf16_bits: Drawn<Bf16> = |s, name, dims| {
        bits(s, name, dims, 0x7f80).map(|code| Bf16::from_bits(code as u16)).collect()
    };
    let f16_bits: Drawn<F16> = |s, name, dims| {
        bits(s, name, dims, 0x7c00).map(|code| F16::from_bits(code as u16)).collect()
    };
    let f32_bits: Drawn<f32> =
        |s, name, dims| bits(s, name, dims, 0x7f80_0000).map(f32::from_bits).collect();
    let codes: Drawn<F16> = |s, name, dims| s.draw(name, dims, Draw::Codes);
    [
        exact("bits", width, None, bf16_bits, <[Bf16]>::to_vec),
        exact("bits", width, None, f16_bits, <[F16]>::to_vec),
        exact("bits", width, None, f32_bits, <[f32]>::to_vec),
        exact("ties", width, None, codes, |x| Bf16::encode(&decode(x))),
        exact("beyond", width, fnuz, beyond, |x| dtype::F8E4M3Fnuz::encode(&decode(x))),
        exact("beyond", width, ocp, beyond, |x| dtype::F8E4M3::encode(&decode(x))),
    ]
}

/// Every case.
pub(super) fn cases() -> Vec<Case> {
    const LAYOUTS: [CacheLayout; 4] =
        [CacheLayout::Nhd, CacheLayout::Hnd, CacheLayout::PagedX, CacheLayout::PagedXShuffledV];
    let [plain, fused] = ["reshape_and_cache", "fused_qk_rope_reshape_and_cache"];
    let mut cases = mla::cases();
    // In runs, and one by one.
    cases.extend([24, 101].into_iter().flat_map(exact_cases));
    let dense = Placement::DENSE;
    let gaps = dense.gap(8).shift(3);
    let mut turn = 0;
    let mut add = |spec: Spec, place: Placement| {
        cases.extend(spec.cases(turn).map(|case| case.place(place)));
        turn += 1;
    };
    for layout in LAYOUTS {
        let seed = Spec::new(plain, layout, [4, 0, 1, 8, 128, 8, 16]);
        add(Spec { slots: Slots::First, ..seed }, dense);
        add(Spec { scaled: true, bits: 64, name: "scaled", ..seed }, gaps);
        let counts = [(1, 0, 16), (8, 3, 64), (33, 0, 64), (33, 9, 16), (33, 9, 64)];
        for (tokens, alone, of_block) in counts {
            let shape = [tokens, alone, 16, 8, 64, 64 / of_block + 1, of_block];
            let scaled = tokens == 8 || alone == 9;
            let spec = Spec { scaled, more: alone > 0, ..Spec::new(fused, layout, shape) };
            add(Spec { name: "tokens", ..spec }, if scaled { gaps } else { dense });
        }
        for bits in [32, 64] {
            let (slots, shape) = (Slots::Outside, [23, 3, 4, 2, 32, 3, 16]);
            let spec = Spec { slots, bits, name: "slots", ..Spec::new(fused, layout, shape) };
            add(spec, dense);
        }
        for op in [plain, fused] {
            let shape = [4, 2, 4, 2, 16, 3, 16];
            let scaled = layout == CacheLayout::PagedX;
            add(Spec { scaled, name: "small", ..Spec::new(op, layout, shape) }, gaps);
        }
        let few = Spec::new(fused, layout, [37, 5, 6, 3, 96, 4, 16]);
        let few = Spec { workgroups: Some(1), dim: 48, name: "turns", ..few };
        add(few, dense.edge(Edge::End));
        let last = Spec { scaled: true, name: "one element", ..few };
        let ragged = matches!(layout, CacheLayout::Nhd | CacheLayout::Hnd);
        let width = if ragged { 22 } else { 48 };
        let shape = [9, 2, 4, 2, width, 5, 16];
        add(Spec { shape, dim: 18, workgroups: None, ..last }, gaps);
    }
    for turns in Turns::all() {
        let turns = Turns { positions: Some(64), offsets: true, freqs: turns.nope_first, ..turns };
        let spec = Spec::new(fused, CacheLayout::Nhd, [9, 2, 4, 2, 64, 4, 5]);
        add(Spec { turns, dim: 32, scaled: true, name: "styles", ..spec }, dense);
    }
    // Each type into each, in runs and one by one; queries in turn.
    for (i, x) in REALS.into_iter().enumerate() {
        for (cache, arch) in REALS.map(|real| (real, None)).into_iter().chain(FP8) {
            let (split, rows) = (CacheLayout::PagedX, CacheLayout::Nhd);
            for (layout, dim, scaled, spread) in [
                (split, 64, true, false),
                (split, 18, true, false),
                (split, 18, false, false),
                (rows, 64, false, true),
                (rows, 64, true, false),
            ] {
                let spec = Spec::new(fused, layout, [7, 1, 2, 1, 64, 3, 4]);
                turn += 1;
                let queries = REALS[(turn + i) % 3];
                let case = Spec { dim, scaled, spread, name: "types", ..spec };
                cases.push(case.case([x, REALS[turn % 3], queries, cache], arch).place(gaps));
            }
        }
    }
    // Each type into each, in runs of every other element: the least distance that is not adjacent.
    for (i, x) in REALS.into_iter().enumerate() {
        for (cache, arch) in REALS.map(|real| (real, None)).into_iter().chain(FP8) {
            let spec = Spec::new(fused, CacheLayout::Nhd, [5, 1, 2, 2, 32, 2, 4]);
            let spec = Spec { spread: true, more: false, name: "every other", ..spec };
            cases.push(spec.case([x, REALS[(i + 1) % 3], x, cache], arch).place(dense));
        }
    }
    // Blocks of a size for which the estimate of a division is one too low of the third slot of the
    // second one, which is the second token's.
    let blocks = Spec::new(plain, CacheLayout::Nhd, [3, 0, 1, 1, 1, 2, 92_818]);
    let blocks = Spec { name: "large blocks", ..blocks };
    cases.push(blocks.case([DType::Bf16; 4], None).place(dense));
    // Rows of more units than a wave has lanes, of which the last has half of one; in other types.
    for i in 0..REALS.len() {
        let spec = Spec::new(fused, CacheLayout::Hnd, [2, 1, 2, 1, 129, 2, 2]);
        let spec = Spec { dim: 2, name: "halves", ..spec };
        let [x, queries, cache] = [0, 1, 2].map(|more| REALS[(i + more) % 3]);
        cases.push(spec.case([x, x, queries, cache], None).place(gaps));
    }
    let style = RopeStyle::Gptj;
    let turns = Turns { style, ..Turns::DEFAULT };
    let in_place = Spec::new(fused, CacheLayout::Nhd, [9, 2, 4, 2, 64, 4, 5]);
    let in_place = Spec { turns, more: true, name: "in place", ..in_place };
    let in_place = in_place.case([DType::Bf16; 4], None);
    cases.push(in_place.place(gaps).in_place(true));
    let seed = Spec::new(plain, CacheLayout::Hnd, [2048, 0, 1, 8, 128, 16_384, 16]);
    cases.extend(seed.cases(0).map(|case| case.size(Size::Large)));
    for shape in [[8192, 0, 64, 8, 128, 16_384, 16], [8192, 0, 64, 8, 64, 16_384, 16]] {
        let spec = Spec::new(fused, CacheLayout::Nhd, shape);
        cases.extend(spec.cases(0).map(|case| case.size(Size::Large)));
    }
    cases
}
