//! Cases of `flash_attn_fwd_decode`.

mod merge;

use hk_core::dtype::{DType, F8E4M3, F8E4M3Fnuz, F8E5M2, F8E5M2Fnuz, bf16, decode, f16};
use hk_ref::attn::flash_attn_fwd_decode::logarithms;
use hk_ref::{Arg, Case, CaseInfo, Draw, Expected, Setup, Size};

use super::angles::Numbers;
use super::attention::{Choice, Chosen, Inputs, Sizes, arch_of, expected, stored};
use super::paged::{Pages, Paging, Scattered};
use crate::{
    AttentionElement, AttentionOutput, CacheLayout, DecodeAppend, DecodeCache, MhaOut,
    flash_attn_fwd_decode_append_into, flash_attn_fwd_decode_into,
};

/// Where the slots of sequences are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Slots {
    /// Each in a row of its own.
    Rows,
    /// In a row that a list says.
    Listed,
    /// In pages of so many.
    Pages(usize),
}

/// How lengths are given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Seqlens {
    /// Not at all: all slots are keys.
    None,
    Given,
    /// To be advanced by what is appended.
    Advanced,
}

/// What varies between cases.
#[derive(Clone)]
struct Spec {
    name: &'static str,
    /// Of the keys, those that are appended included.
    sizes: Sizes,
    slots: Slots,
    seqlens: Seqlens,
    /// Rows that are appended.
    new: Option<usize>,
    /// Bits of lengths, rows and pages.
    bits: u32,
    choice: Choice,
    dtypes: [DType; 3],
    set_up: fn(&mut Setup, &Self),
}

impl Spec {
    /// Sequences of `sq` queries and that many keys.
    fn new(
        name: &'static str,
        sq: usize,
        lengths: &[usize],
        heads: [usize; 2],
        d: usize,
        slots: Slots,
    ) -> Self {
        let lengths: Vec<_> = lengths.iter().map(|length| [sq, *length]).collect();
        Self {
            name,
            sizes: Sizes::packed(&lengths, heads, d),
            slots,
            seqlens: Seqlens::Given,
            new: None,
            bits: 32,
            choice: Choice::default(),
            dtypes: [DType::Bf16; 3],
            set_up: set_up::<bf16, bf16, bf16>,
        }
    }

    /// With queries, caches and results of these types.
    fn of<Q: AttentionElement, K: AttentionElement, O: AttentionOutput>(self) -> Self {
        Self { dtypes: [Q::DTYPE, K::DTYPE, O::DTYPE], set_up: set_up::<Q, K, O>, ..self }
    }

    fn with(self, choice: Choice) -> Self {
        Self { choice, ..self }
    }

    fn grown(self, new: usize, seqlens: Seqlens) -> Self {
        Self { new: Some(new), seqlens, ..self }
    }

    fn of_64_bits(self) -> Self {
        Self { bits: 64, ..self }
    }

    fn full(self) -> Self {
        Self { seqlens: Seqlens::None, ..self }
    }

    fn case(self) -> Case {
        let mut title = format!("{}, {:?}{}", self.name, self.slots, self.choice.title());
        if self.seqlens != Seqlens::Given {
            title += &format!(", lengths {:?}", self.seqlens);
        }
        if let Some(new) = self.new {
            title += &format!(", {new} new");
        }
        if self.bits == 64 {
            title += ", 64 bits";
        }
        let (module, op) = ("flash_attn_fwd_decode", "flash_attn_fwd_decode");
        let info = CaseInfo::new(module, op, title, &self.dtypes, &self.sizes.shape());
        let size = if self.sizes.products() < 8_000_000 { Size::Quick } else { Size::Core };
        let arch = self.dtypes.into_iter().find_map(arch_of);
        Case::new(CaseInfo { size, arch, ..info }, move |s| (self.set_up)(s, &self))
    }

    /// Where the slots of sequences are, as pages: those of rows are one page for each.
    fn pages(&self) -> Pages {
        let lengths: Vec<_> = self.sizes.lengths.iter().map(|[_, keys]| *keys).collect();
        let is_full = self.seqlens == Seqlens::None;
        let spare = if is_full { 0 } else { 3 };
        match self.slots {
            Slots::Pages(bs) => Pages::new(bs, &lengths),
            Slots::Listed => Pages::rows(self.sizes.most(1) + spare, lengths.len(), 2),
            Slots::Rows => Pages::rows(self.sizes.most(1) + spare, lengths.len(), 0),
        }
    }
}

/// A cache before and after, and what is appended to it.
struct Cache<K: AttentionElement> {
    shape: Vec<usize>,
    before: Vec<K>,
    after: Vec<K>,
    new: Vec<K>,
    numbers: Vec<f64>,
}

impl<K: AttentionElement> Cache<K> {
    /// Draws rows, of which the last of each sequence are new.
    fn new(s: &Setup, name: &'static str, spec: &Spec, pages: &Pages, of: usize) -> Self {
        let sizes = &spec.sizes;
        let (hk, d) = (sizes.heads[1], sizes.widths[of]);
        let new = spec.new.unwrap_or_default();
        let rows: Vec<K> = s.draw(name, &[sizes.rows(1), hk, d], Draw::Normal);
        let paging = Paging { layout: CacheLayout::Nhd, bs: pages.bs, x: 1 };
        let is_key = of == 0;
        let Scattered { shape, elements: after } =
            Scattered::new(paging, pages, sizes, is_key, &rows, |_, _| true);
        let is_old = |b: usize, key: usize| key + new < sizes.lengths[b][1];
        let Scattered { elements: before, .. } =
            Scattered::new(paging, pages, sizes, is_key, &rows, is_old);
        let mut first = 0;
        let mut appended = Vec::new();
        for [_, keys] in &sizes.lengths {
            appended.extend_from_slice(&rows[(first + keys - new) * hk * d..][..new * hk * d]);
            first += keys;
        }
        Self { shape, before, after, new: appended, numbers: decode(&rows) }
    }

    /// The tensor that the op reads, or writes too.
    fn arg(&self, s: &mut Setup, name: &'static str, is_written: bool) -> Arg<K> {
        if !is_written {
            return s.given(name, &self.shape, self.after.clone());
        }
        let expected = Expected::exact(decode(&self.after));
        s.output(name, &self.shape, expected).holding(self.before.clone())
    }
}

fn set_up<Q: AttentionElement, K: AttentionElement, O: AttentionOutput>(
    s: &mut Setup,
    spec: &Spec,
) {
    let Spec { sizes, slots, seqlens, .. } = spec;
    let ([hq, hk], [d, dv]) = (sizes.heads, sizes.widths);
    let (b, sq, new) = (sizes.lengths.len(), sizes.most(0), spec.new.unwrap_or_default());
    let appends = spec.new.is_some();
    let pages = spec.pages();
    let q = s.input::<Q>("q", &[b, sq, hq, d], Draw::Normal);
    let keys = Cache::<K>::new(s, "k_cache", spec, &pages, 0);
    let values = Cache::<K>::new(s, "v_cache", spec, &pages, 1);
    let (k, v) = (keys.arg(s, "k_cache", appends), values.arg(s, "v_cache", appends));
    let fresh = appends.then(|| {
        let k = s.given("k_new", &[b, new, hk, d], keys.new.clone());
        (k, s.given("v_new", &[b, new, hk, dv], values.new.clone()))
    });
    let after: Vec<_> = sizes.lengths.iter().map(|[_, keys]| *keys as i32).collect();
    let before: Vec<_> = after.iter().map(|keys| keys - new as i32).collect();
    let wide = |list: &[i32]| -> Vec<_> { list.iter().copied().map(i64::from).collect() };
    let numbers: Vec<_> = after.iter().map(|keys| f64::from(*keys)).collect();
    let given = (*seqlens == Seqlens::Given)
        .then(|| Numbers::given(s, "cache_seqlens", &[b], &wide(&before), spec.bits));
    let advanced = (*seqlens == Seqlens::Advanced).then(|| {
        s.output("advance_seqlens", &[b], Expected::exact(numbers.clone())).holding(before)
    });
    let of_after = appends.then(|| s.output::<i32>("seqlens", &[b], Expected::exact(numbers)));
    let table = matches!(slots, Slots::Pages(_)).then(|| {
        let (shape, rows) = pages.table();
        Numbers::given(s, "block_table", &shape, &wide(&rows), spec.bits)
    });
    let listed = (*slots == Slots::Listed).then(|| {
        let rows: Vec<_> = (0..b).map(|b| pages.place(b, 0)[0] as i64).collect();
        Numbers::given(s, "cache_batch_idx", &[b], &rows, spec.bits)
    });
    let chosen = Chosen::new(s, &spec.choice, sizes);
    let inputs = Inputs { q: q.numbers(), k: keys.numbers, v: values.numbers };
    let all = expected(sizes, &inputs, |b, h| chosen.scores(sizes, b, h));
    let of_heads = all.lse_of_heads();
    let out = s.output::<O>(
        "out",
        &[b, sq, hq, dv],
        stored(all.o, &all.largest, [Q::DTYPE, K::DTYPE], O::DTYPE),
    );
    let lse = s.output::<f32>("lse", &[b, hq, sq], logarithms(of_heads));
    s.call(move || {
        let (q, mut k, mut v) = (q.get(), k.get(), v.get());
        let (mut out, mut lse) = (out.get(), lse.get());
        let out = MhaOut { out: &mut *out, lse: Some(&mut *lse), s_dmask: None };
        with_cache([given.as_ref(), table.as_ref(), listed.as_ref()], |cache| {
            chosen.with(|options| {
                let Some((k_new, v_new)) = &fresh else {
                    return flash_attn_fwd_decode_into(&q, &k, &v, &cache, options, out);
                };
                let (k_new, v_new) = (k_new.get(), v_new.get());
                let mut advanced = advanced.as_ref().map(Arg::get);
                let mut of_after = of_after.as_ref().map(Arg::get);
                let append = DecodeAppend {
                    k_new: &k_new,
                    v_new: &v_new,
                    cache,
                    advance_seqlens: advanced.as_deref_mut(),
                    seqlens: of_after.as_deref_mut(),
                };
                flash_attn_fwd_decode_append_into(&q, &mut k, &mut v, append, options, out)
            })
        })
    });
}

/// Calls `body` with the slots that lengths, pages and rows say.
fn with_cache<R>(
    [lengths, table, rows]: [Option<&Numbers>; 3],
    body: impl FnOnce(DecodeCache<'_>) -> R,
) -> R {
    Numbers::with_one(lengths, |cache_seqlens| {
        Numbers::with_one(table, |block_table| {
            Numbers::with_one(rows, |cache_batch_idx| {
                body(DecodeCache { cache_seqlens, cache_batch_idx, block_table })
            })
        })
    })
}

/// Every case.
pub(super) fn cases() -> Vec<Case> {
    use Seqlens::{Advanced, Given, None as Absent};
    use Slots::{Listed, Pages, Rows};
    let small = |slots| Spec::new("small", 2, &[5, 9], [4, 2], 16, slots);
    let causal = || Choice { causal: true, ..Choice::default() };
    let split = |splits| Choice { splits: Some(splits), ..Choice::default() };
    let lengths = &[2, 64, 70, 33];
    let mixed = |name, slots| Spec::new(name, 3, lengths, [4, 1], 128, slots);
    let mut specs = vec![
        small(Rows),
        small(Listed),
        small(Pages(2)),
        Spec::new("small", 2, &[9, 9], [4, 2], 16, Rows).full(),
        small(Rows).grown(2, Given),
        small(Listed).grown(2, Advanced),
        small(Pages(2)).grown(2, Given),
        small(Pages(2)).grown(2, Advanced),
        Spec::new("small", 2, &[9, 9], [4, 2], 16, Rows).grown(2, Absent),
        small(Pages(2)).of_64_bits(),
        small(Listed).grown(2, Given).of_64_bits(),
        small(Pages(2)).grown(2, Given).of_64_bits(),
        Spec::new("one query", 1, &[97, 97], [4, 2], 64, Rows).full(),
        Spec::new("one query", 1, &[97, 97], [4, 2], 64, Rows).full().of::<f16, f16, f16>(),
        Spec::new("one query", 1, &[97, 97], [4, 2], 64, Listed).full().of::<f16, f16, f32>(),
        Spec::new("one query", 1, &[96, 96], [4, 2], 64, Pages(16)),
        Spec::new("three queries", 3, &[70], [4, 1], 128, Rows).full().with(causal()),
        Spec::new("lengths", 1, &[0, 1, 64, 70], [4, 1], 128, Rows),
        Spec::new("lengths", 1, &[0, 1, 64, 70], [4, 1], 128, Pages(16)).with(split(2)),
        Spec::new("lengths", 1, &[0, 1, 64, 70], [4, 1], 128, Pages(7)),
        mixed("lengths", Rows).with(causal()),
        mixed("lengths", Pages(16)).with(causal()).of::<f16, f16, f16>(),
        mixed("lengths", Pages(7)).with(causal()),
        mixed("windowed", Pages(7)).with(Choice { window: [Some(9), Some(1)], ..causal() }),
        mixed("sloped", Rows).with(Choice { slopes: Some(false), ..causal() }),
        mixed("sloped", Pages(16)).with(Choice { slopes: Some(true), ..causal() }),
        mixed("scaled", Pages(7)).of::<bf16, i8, f32>().with(Choice {
            descales: Some(true),
            scale: Some(0.02),
            ..causal()
        }),
        mixed("codes", Rows).of::<F8E4M3, F8E4M3, bf16>(),
        mixed("codes", Rows).of::<F8E4M3Fnuz, F8E4M3Fnuz, bf16>(),
        mixed("codes", Pages(16)).of::<bf16, F8E4M3, F8E4M3>().grown(2, Given),
        mixed("codes", Pages(16)).of::<bf16, F8E4M3Fnuz, F8E4M3Fnuz>().grown(2, Given),
        mixed("codes", Listed).of::<bf16, F8E5M2, bf16>().grown(2, Advanced).with(causal()),
        mixed("codes", Listed).of::<f16, F8E5M2Fnuz, f16>().grown(2, Advanced).with(causal()),
        Spec::new("full", 3, &[70, 70], [4, 1], 128, Rows).grown(3, Absent).with(causal()),
        Spec::new("full", 3, &[70, 70], [4, 1], 128, Listed).grown(3, Absent).with(causal()),
        Spec::new("nothing new", 2, &[9, 4], [2, 1], 64, Pages(4)).grown(0, Advanced),
        Spec::new("only new", 2, &[2, 2], [2, 1], 64, Pages(4)).grown(2, Advanced).with(causal()),
        Spec::new("eight wide heads", 4, &[300, 90], [8, 1], 256, Pages(64)).with(causal()),
        Spec::new("long", 1, &[8192], [4, 1], 128, Rows).full(),
        Spec::new("long", 4, &[2048, 1500], [8, 2], 128, Pages(16))
            .grown(4, Advanced)
            .with(causal()),
    ];
    for slots in [Rows, Listed, Pages(16), Pages(7)] {
        specs.push(mixed("grown", slots).grown(2, Given).with(causal()));
        specs.push(mixed("grown", slots).grown(1, Advanced).of::<f16, f16, f16>());
    }
    for splits in [1, 3, 8] {
        let long = || Spec::new("splits", 2, &[300, 97], [4, 2], 64, Pages(16));
        specs.push(long().with(Choice { splits: Some(splits), ..causal() }));
        let grown = long().grown(2, Given);
        specs.push(grown.with(Choice { splits: Some(splits), ..causal() }));
    }
    let mut cases: Vec<_> = specs.into_iter().map(Spec::case).collect();
    cases.extend(merge::cases());
    cases
}
