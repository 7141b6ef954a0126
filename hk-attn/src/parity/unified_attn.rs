//! Cases of `unified_attn_fwd`.

use hk_core::dtype::{DType, F8E4M3, F8E4M3Fnuz, F8E5M2, F8E5M2Fnuz, bf16, f16};
use hk_ref::attn::unified_attn::Alibi;
use hk_ref::{Arg, Case, CaseInfo, Draw, Setup, Size};

use super::attention::{Choice, Chosen, Inputs, Sizes, arch_of, expected, stored};
use super::paged::{Caches, Pages, Paging};
use crate::{
    AttentionElement, AttentionOutput, CacheLayout, PagedSequences, UnifiedAttnOptions,
    unified_attn_fwd_into,
};

/// What varies between cases.
#[derive(Clone)]
struct Spec {
    name: &'static str,
    sizes: Sizes,
    paging: Paging,
    choice: Choice,
    /// Whether there are scales of queries, keys, values and results.
    scales: [bool; 4],
    dtypes: [DType; 3],
    set_up: fn(&mut Setup, &Self),
}

impl Spec {
    /// Sequences of so many queries and keys, these in pages of `bs`.
    fn new(
        name: &'static str,
        lengths: &[[usize; 2]],
        heads: [usize; 2],
        d: usize,
        bs: usize,
    ) -> Self {
        let spec = Self {
            name,
            sizes: Sizes::packed(lengths, heads, d),
            paging: Paging { layout: CacheLayout::Nhd, bs, x: 1 },
            choice: Choice::default(),
            scales: [false; 4],
            dtypes: [DType::Bf16; 3],
            set_up: set_up::<bf16, bf16, bf16>,
        };
        spec.with(Choice::default())
    }

    /// With queries, caches and results of these types.
    fn of<Q: AttentionElement, K: AttentionElement, O: AttentionOutput>(self) -> Self {
        Self { dtypes: [Q::DTYPE, K::DTYPE, O::DTYPE], set_up: set_up::<Q, K, O>, ..self }
    }

    fn with(self, choice: Choice) -> Self {
        Self { choice: Choice { causal: true, ..choice }, ..self }
    }

    fn laid(self, layout: CacheLayout, x: usize) -> Self {
        Self { paging: Paging { layout, x, ..self.paging }, ..self }
    }

    fn scaled(self, scales: [bool; 4]) -> Self {
        Self { scales, ..self }
    }

    fn case(self) -> Case {
        let Paging { layout, bs, .. } = self.paging;
        let mut title = format!("{}, {layout:?} of {bs}{}", self.name, self.choice.title());
        if self.scales != [false; 4] {
            title += &format!(", scales {:?}", self.scales.map(u8::from));
        }
        let [b, sq, sk, hq, hk, d, dv] = self.sizes.shape();
        let shape = [b, sq, sk, hq, hk, d, dv, bs];
        let info = CaseInfo::new("unified_attn", "unified_attn_fwd", title, &self.dtypes, &shape);
        let size = if self.sizes.products() < 8_000_000 { Size::Quick } else { Size::Core };
        let arch = self.dtypes.into_iter().find_map(arch_of);
        Case::new(CaseInfo { size, arch, ..info }, move |s| (self.set_up)(s, &self))
    }
}

fn set_up<Q: AttentionElement, K: AttentionElement, O: AttentionOutput>(
    s: &mut Setup,
    spec: &Spec,
) {
    let Spec { sizes, paging, .. } = spec;
    let ([hq, _], [d, dv]) = (sizes.heads, sizes.widths);
    let b = sizes.lengths.len();
    let lengths: Vec<_> = sizes.lengths.iter().map(|[_, keys]| *keys).collect();
    let pages = Pages::new(paging.bs, &lengths);
    let q = s.input::<Q>("q", &[sizes.rows(0), hq, d], Draw::Normal);
    let is_seen = |b, key| sizes.sees(spec.choice.window[0], b, key);
    let Caches::<K> { k, v, numbers: [keys, values] } =
        Caches::new(s, *paging, &pages, sizes, ["k_cache", "v_cache"], is_seen);
    let bounds = s.given("cu_seqlens_q", &[b + 1], sizes.bounds(0));
    let of_lengths = lengths.iter().map(|length| *length as i32).collect();
    let seqused_k = s.given("seqused_k", &[b], of_lengths);
    let (shape, rows) = pages.table();
    let table = s.given("block_table", &shape, rows);
    let chosen = Chosen::new(s, &spec.choice, sizes);
    let names = ["q_descale", "k_descale", "v_descale", "output_scale"];
    let scales: Vec<_> = names
        .into_iter()
        .zip(spec.scales)
        .map(|(name, is_there)| is_there.then(|| s.given(name, &[1], vec![0.75f32])))
        .collect();
    let [of_q, of_k, of_v, of_o] =
        [0, 1, 2, 3].map(|i| scales[i].as_ref().map_or(1.0, |scale| scale.numbers()[0]));
    let inputs = Inputs { q: q.numbers(), k: keys, v: values };
    let mut all = expected(sizes, &inputs, |b, h| {
        let mut scores = chosen.scores(sizes, b, h);
        if let Some((form, _)) = &mut scores.alibi {
            *form = Alibi::ToContext;
        }
        scores.scale *= of_q * of_k;
        scores
    });
    all.o.iter_mut().chain(&mut all.largest).for_each(|o| *o *= of_v / of_o);
    let out = s.output::<O>(
        "out",
        &[sizes.rows(0), hq, dv],
        stored(all.o, &all.largest, [Q::DTYPE, K::DTYPE], O::DTYPE),
    );
    let [max_seqlen_q, max_seqlen_k] = [0, 1].map(|of| sizes.most(of));
    let layout = paging.layout;
    s.call(move || {
        let (q, k, v, table) = (q.get(), k.get(), v.get(), table.get());
        let (bounds, lengths, mut out) = (bounds.get(), seqused_k.get(), out.get());
        let scales: Vec<_> = scales.iter().map(|scale| scale.as_ref().map(Arg::get)).collect();
        let sequences = PagedSequences {
            cu_seqlens_q: (&bounds).into(),
            max_seqlen_q,
            seqused_k: (&lengths).into(),
            max_seqlen_k,
            block_table: (&table).into(),
        };
        chosen.with(|attention| {
            let mut attention = *attention;
            if let Some(scale) = &scales[0] {
                attention = attention.q_descale(scale);
            }
            if let Some(scale) = &scales[1] {
                attention = attention.k_descale(scale);
            }
            if let Some(scale) = &scales[2] {
                attention = attention.v_descale(scale);
            }
            if let Some(scale) = &scales[3] {
                attention = attention.output_scale(scale);
            }
            let options = UnifiedAttnOptions { attention, layout };
            unified_attn_fwd_into(&q, &k, &v, &sequences, &options, &mut out)
        })
    });
}

/// Every case.
pub(super) fn cases() -> Vec<Case> {
    let batch = &[[1, 37], [5, 5], [9, 70]];
    let mixed = |name| Spec::new(name, batch, [8, 2], 64, 16);
    let shuffled = |spec: Spec, x| spec.laid(CacheLayout::PagedXShuffledV, x);
    let all = [true; 4];
    let specs = vec![
        Spec::new("small", &[[2, 5], [3, 3]], [4, 2], 16, 2),
        Spec::new("small", &[[2, 5], [3, 3]], [4, 2], 16, 2).of::<f16, f16, f16>(),
        mixed("mixed"),
        mixed("mixed").of::<f16, f16, f32>(),
        mixed("all").scaled(all).with(Choice {
            window: [Some(13), None],
            sink: Some(DType::F32),
            slopes: Some(false),
            softcap: 2.0,
            ..Choice::default()
        }),
        mixed("windowed").with(Choice {
            window: [Some(13), Some(0)],
            sink: Some(DType::Bf16),
            ..Choice::default()
        }),
        mixed("sloped").with(Choice {
            slopes: Some(false),
            sink: Some(DType::F32),
            splits: Some(3),
            ..Choice::default()
        }),
        // Scores far beyond the cap.
        mixed("capped").with(Choice { scale: Some(100.0), softcap: 1.0, ..Choice::default() }),
        Spec::new("any size", batch, [6, 2], 80, 7),
        Spec::new("any size", batch, [6, 2], 80, 7).of::<f16, f16, f16>(),
        Spec::new("prompts", &[[70, 70], [33, 50], [0, 20], [64, 100]], [4, 1], 128, 16),
        Spec::new("wide", &[[3, 40], [20, 20]], [2, 1], 256, 5),
        Spec::new("widest", &[[3, 40], [20, 20], [1, 300]], [4, 1], 512, 16),
        Spec::new("widest", &[[3, 40], [1, 70]], [2, 1], 512, 16).of::<f16, f16, f16>().with(
            Choice { softcap: 5.0, sink: Some(DType::F32), splits: Some(2), ..Choice::default() },
        ),
        Spec::new("one step each", &[[1, 300], [1, 17], [1, 1]], [8, 1], 64, 64)
            .with(Choice { splits: Some(4), ..Choice::default() }),
        shuffled(Spec::new("small", &[[2, 5], [3, 3]], [4, 2], 16, 8), 8),
        shuffled(mixed("mixed"), 8),
        shuffled(mixed("mixed"), 8).of::<f16, f16, f16>(),
        shuffled(Spec::new("any size", batch, [2, 1], 12, 12), 4),
        mixed("other values").laid(CacheLayout::PagedX, 8),
        mixed("heads first").laid(CacheLayout::Hnd, 1),
        mixed("codes").of::<bf16, F8E4M3, bf16>().scaled([false, true, true, false]),
        mixed("codes").of::<bf16, F8E4M3Fnuz, bf16>().scaled([false, true, true, false]),
        mixed("codes").of::<F8E4M3, F8E4M3, F8E4M3>().scaled(all),
        mixed("codes").of::<F8E4M3Fnuz, F8E4M3Fnuz, F8E4M3Fnuz>().scaled(all),
        mixed("codes").of::<f16, F8E5M2, f16>().scaled([false, true, false, false]),
        mixed("codes").of::<f16, F8E5M2Fnuz, f16>().scaled([false, false, true, false]),
        mixed("codes").laid(CacheLayout::PagedX, 16).of::<F8E4M3, F8E4M3, bf16>().scaled(all),
        mixed("codes")
            .laid(CacheLayout::PagedX, 8)
            .of::<F8E4M3Fnuz, F8E4M3Fnuz, bf16>()
            .scaled(all),
        mixed("codes").laid(CacheLayout::Hnd, 1).of::<F8E4M3, F8E5M2, bf16>(),
        mixed("codes").laid(CacheLayout::Hnd, 1).of::<F8E4M3Fnuz, F8E5M2Fnuz, bf16>(),
        mixed("scaled results").of::<bf16, bf16, F8E4M3>().scaled([false, false, false, true]),
        mixed("scaled results").of::<bf16, bf16, F8E4M3Fnuz>().scaled([false, false, false, true]),
        shuffled(Spec::new("codes", batch, [4, 2], 64, 32), 16).of::<bf16, F8E4M3, bf16>(),
        shuffled(Spec::new("codes", batch, [4, 2], 64, 32), 16).of::<bf16, F8E4M3Fnuz, bf16>(),
        Spec::new("prompts and steps", &[[1, 1328], [1, 523], [37, 37], [1, 2011]], [8, 1], 64, 64),
        Spec::new("GPT-OSS", &[[1, 700], [130, 200]], [16, 2], 64, 16).with(Choice {
            window: [Some(127), None],
            sink: Some(DType::Bf16),
            ..Choice::default()
        }),
        Spec::new("four prompts", &[[1, 513], [1, 257], [16, 144], [32, 96]], [8, 2], 128, 16),
    ];
    specs.into_iter().map(Spec::case).collect()
}
