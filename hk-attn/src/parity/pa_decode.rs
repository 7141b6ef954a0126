//! Cases of `pa_decode`.

use hk_core::dtype::{DType, F8E4M3, F8E4M3Fnuz, F8E5M2, F8E5M2Fnuz, bf16, f16};
use hk_ref::attn::pa_decode::{Alibi, logarithms, results};
use hk_ref::{Arg, Case, CaseInfo, Draw, Setup, Size};

use super::attention::{Choice, Chosen, Inputs, Sizes, arch_of, expected, stored};
use super::paged::{Caches, Pages, Paging};
use crate::{
    AttentionElement, AttentionOutput, CacheLayout, PaDecodeOptions, PaDecodeOut, pa_decode_into,
};

/// Scales of caches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scales {
    None,
    OfAll,
    OfSlots,
}

/// What varies between cases.
#[derive(Clone)]
struct Spec {
    name: &'static str,
    sizes: Sizes,
    bs: usize,
    choice: Choice,
    scales: Scales,
    lse: bool,
    dtypes: [DType; 3],
    set_up: fn(&mut Setup, &Self),
}

impl Spec {
    /// Sequences of that many keys, in pages of `bs`.
    fn new(name: &'static str, lengths: &[usize], heads: [usize; 2], d: usize, bs: usize) -> Self {
        let lengths: Vec<_> = lengths.iter().map(|length| [1, *length]).collect();
        let sizes = Sizes::packed(&lengths, heads, d);
        let spec = Self {
            name,
            sizes,
            bs,
            choice: Choice::default(),
            scales: Scales::None,
            lse: true,
            dtypes: [DType::Bf16; 3],
            set_up: set_up::<bf16, bf16, bf16>,
        };
        spec.of::<bf16, bf16, bf16>()
    }

    /// With queries, caches and results of these types.
    fn of<Q: AttentionElement, K: AttentionElement, O: AttentionOutput>(self) -> Self {
        Self { dtypes: [Q::DTYPE, K::DTYPE, O::DTYPE], set_up: set_up::<Q, K, O>, ..self }
    }

    fn with(self, choice: Choice) -> Self {
        Self { choice, ..self }
    }

    fn scaled(self, scales: Scales) -> Self {
        Self { scales, ..self }
    }

    fn case(self) -> Case {
        let mut title = format!("{}, pages of {}{}", self.name, self.bs, self.choice.title());
        title += match self.scales {
            Scales::None => "",
            Scales::OfAll => ", a scale",
            Scales::OfSlots => ", scales of slots",
        };
        title += if self.lse { "" } else { ", without sums" };
        let [b, _, most, hq, hk, d, dv] = self.sizes.shape();
        let shape = [b, most, hq, hk, d, dv, self.bs];
        let info = CaseInfo::new("pa_decode", "pa_decode", title, &self.dtypes, &shape);
        let size = if self.sizes.products() < 8_000_000 { Size::Quick } else { Size::Core };
        let arch = self.dtypes.into_iter().find_map(arch_of);
        Case::new(CaseInfo { size, arch, ..info }, move |s| (self.set_up)(s, &self))
    }
}

fn set_up<Q: AttentionElement, K: AttentionElement, O: AttentionOutput>(
    s: &mut Setup,
    spec: &Spec,
) {
    let Spec { sizes, bs, scales, .. } = spec;
    let ([hq, hk], [d, dv]) = (sizes.heads, sizes.widths);
    let b = sizes.lengths.len();
    let lengths: Vec<_> = sizes.lengths.iter().map(|[_, keys]| *keys).collect();
    let pages = Pages::new(*bs, &lengths);
    let q = s.input::<Q>("query", &[b, hq, d], Draw::Normal);
    let paging = Paging { layout: CacheLayout::Hnd, bs: *bs, x: 1 };
    let is_seen = |b, key| sizes.sees(spec.choice.window[0], b, key);
    let Caches::<K> { k, v, numbers: [keys, values] } =
        Caches::new(s, paging, &pages, sizes, ["key_cache", "value_cache"], is_seen);
    let of_lengths = lengths.iter().map(|length| *length as i32).collect();
    let seq_lens = s.given("seq_lens", &[b], of_lengths);
    let (shape, rows) = pages.table();
    let table = s.given("block_tables", &shape, rows);
    let chosen = Chosen::new(s, &spec.choice, sizes);
    let scale_args = scale_args(s, *scales, &pages, sizes, is_seen);
    let inputs = Inputs { q: q.numbers(), k: keys, v: values };
    let is_scaled = size_of::<K>() == 1;
    let all = expected(sizes, &inputs, |b, h| {
        let mut scores = chosen.scores(sizes, b, h);
        if let Some((form, _)) = &mut scores.alibi {
            *form = Alibi::Relative;
        }
        if let Some(args) = scale_args.as_ref().filter(|_| is_scaled) {
            let head = h / (hq / hk);
            let [of_keys, of_values] = args.each_ref().map(|arg| {
                let numbers = arg.numbers();
                let number = |key| match pages.place(b, key) {
                    _ if numbers.len() == 1 => numbers[0],
                    [page, slot] => numbers[(page * hk + head) * bs + slot],
                };
                (0..lengths[b]).map(number).collect()
            });
            (scores.key_scales, scores.value_scales) = (Some(of_keys), Some(of_values));
        }
        scores
    });
    let lse = all.lse_of_rows();
    // Weights that are multiplied by scales of slots are not rounded to codes.
    let expected = match scales {
        Scales::OfSlots => results(all.o, O::DTYPE),
        _ => stored(all.o, &all.largest, [Q::DTYPE, K::DTYPE], O::DTYPE),
    };
    let out = s.output::<O>("out", &[b, hq, dv], expected);
    let lse = spec.lse.then(|| s.output::<f32>("lse", &[b, hq], logarithms(lse)));
    s.call(move || {
        let (q, k, v, seq_lens) = (q.get(), k.get(), v.get(), seq_lens.get());
        let (table, scales) =
            (table.get(), scale_args.as_ref().map(|of| of.each_ref().map(Arg::get)));
        let (mut out, mut lse) = (out.get(), lse.as_ref().map(Arg::get));
        let out = PaDecodeOut { out: &mut *out, lse: lse.as_deref_mut() };
        chosen.with(|attention| {
            let [k_scale, v_scale] = match &scales {
                Some([k, v]) => [Some(&**k), Some(&**v)],
                None => [None; 2],
            };
            let attention = *attention;
            let options = PaDecodeOptions { attention, k_scale, v_scale, max_seq_len: None };
            pa_decode_into(&q, &k, &v, (&seq_lens).into(), (&table).into(), &options, out)
        })
    });
}

/// Scales of keys and of values; those of slots that no key is in that is seen are no numbers.
fn scale_args(
    s: &mut Setup,
    scales: Scales,
    pages: &Pages,
    sizes: &Sizes,
    is_seen: impl Fn(usize, usize) -> bool,
) -> Option<[Arg<f32>; 2]> {
    let hk = sizes.heads[1];
    let mut one = |name| match scales {
        Scales::OfSlots => {
            let shape = [pages.blocks, hk, pages.bs];
            let drawn: Vec<f32> = s.draw(name, &shape, Draw::Uniform);
            let mut all = vec![f32::NAN; drawn.len()];
            let keys = sizes.lengths.iter().enumerate();
            let keys = keys.flat_map(|(b, [_, length])| (0..*length).map(move |key| (b, key)));
            for (b, key) in keys.filter(|(b, key)| is_seen(*b, *key)) {
                let [page, slot] = pages.place(b, key);
                for head in 0..hk {
                    let at = (page * hk + head) * pages.bs + slot;
                    all[at] = 0.5 + drawn[at];
                }
            }
            s.given(name, &shape, all)
        }
        _ => s.input(name, &[1], Draw::Uniform),
    };
    (scales != Scales::None).then(|| ["k_scale", "v_scale"].map(&mut one))
}

/// Every case.
pub(super) fn cases() -> Vec<Case> {
    let small = |name| Spec::new(name, &[5, 9], [4, 2], 16, 2);
    let mixed = |name| Spec::new(name, &[57, 1, 0, 90], [4, 2], 64, 16);
    let split = |splits| Choice { splits: Some(splits), ..Choice::default() };
    let windowed =
        |name| mixed(name).with(Choice { window: [Some(13), None], ..Choice::default() });
    let specs = vec![
        small("small"),
        small("small").of::<f16, f16, f16>(),
        Spec::new("one head", &[57], [1, 1], 128, 1),
        Spec::new("one head", &[57, 1, 30, 100], [1, 1], 128, 16).of::<f16, f16, f16>(),
        Spec::new("eight heads", &[57, 1, 100, 7], [8, 1], 128, 16),
        Spec::new("eight heads", &[57], [8, 1], 128, 1).of::<f16, f16, f32>(),
        Spec::new("eight heads, long", &[1024, 1], [8, 1], 128, 16),
        Spec::new("eight heads, long", &[1024], [8, 1], 128, 16).with(split(3)),
        Spec::new("any size", &[40, 21, 3], [6, 2], 80, 7),
        Spec::new("any size", &[40, 21, 3], [6, 2], 80, 7).with(split(8)).of::<f16, f16, f16>(),
        Spec::new("one column", &[13, 0, 20, 7], [6, 2], 1, 3),
        Spec::new("wide", &[70, 33], [4, 2], 256, 16),
        Spec::new("nothing", &[0, 0], [2, 1], 64, 16),
        Spec::new("many rows", &[37, 5], [40, 2], 64, 16),
        mixed("sloped").with(Choice { slopes: Some(false), ..Choice::default() }),
        mixed("all").with(Choice {
            scale: Some(-0.2),
            softcap: 2.0,
            sink: Some(DType::F32),
            window: [Some(20), None],
            splits: Some(2),
            ..Choice::default()
        }),
        mixed("split").with(split(4)),
        Spec { lse: false, ..mixed("mixed") },
        windowed("windowed"),
        // Scales of caches of 16 bits are none.
        mixed("ignored").scaled(Scales::OfAll),
        mixed("ignored").scaled(Scales::OfSlots),
        mixed("codes").of::<bf16, F8E4M3, bf16>().scaled(Scales::OfAll),
        mixed("codes").of::<bf16, F8E4M3Fnuz, bf16>().scaled(Scales::OfSlots),
        mixed("codes").of::<f16, F8E4M3, f16>().scaled(Scales::OfSlots).with(split(2)),
        mixed("codes").of::<f16, F8E4M3Fnuz, f16>().scaled(Scales::OfAll),
        mixed("codes").of::<F8E4M3, F8E4M3, F8E4M3>().scaled(Scales::OfSlots),
        mixed("codes").of::<F8E4M3Fnuz, F8E4M3Fnuz, F8E4M3Fnuz>().scaled(Scales::OfSlots),
        windowed("codes").of::<bf16, F8E4M3, bf16>().scaled(Scales::OfSlots),
        windowed("codes").of::<bf16, F8E4M3Fnuz, bf16>().scaled(Scales::OfSlots),
        mixed("codes").of::<F8E4M3, bf16, F8E4M3>(),
        mixed("codes").of::<F8E4M3Fnuz, f16, F8E4M3Fnuz>(),
        mixed("codes").of::<bf16, F8E5M2, f32>(),
        mixed("codes").of::<bf16, F8E5M2Fnuz, f32>(),
        mixed("codes").of::<i8, i8, bf16>().scaled(Scales::OfAll),
        mixed("codes").of::<bf16, i8, bf16>().scaled(Scales::OfSlots),
        mixed("codes").of::<i8, f16, f16>(),
        mixed("codes").of::<i8, F8E4M3, bf16>().scaled(Scales::OfAll),
        mixed("codes").of::<F8E4M3Fnuz, i8, f32>(),
        small("small").of::<bf16, i8, f32>().scaled(Scales::OfSlots),
        small("small").of::<bf16, i8, bf16>().scaled(Scales::OfAll),
        Spec::new("Llama 3 70B", &[2048, 700], [8, 1], 128, 16).of::<bf16, F8E4M3, bf16>(),
        Spec::new("Llama 3 70B", &[2048, 700], [8, 1], 128, 16).of::<bf16, F8E4M3Fnuz, bf16>(),
        Spec::new("Qwen 3", &[1500, 900, 3], [16, 2], 256, 512),
        Spec::new("large pages", &[3000; 3], [8, 1], 128, 512),
    ];
    specs.into_iter().map(Spec::case).collect()
}
