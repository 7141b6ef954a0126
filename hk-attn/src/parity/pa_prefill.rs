//! Cases of `pa_prefill_fwd`, and what those of `chunked_prefill_paged_decode` share with them.

use hk_core::dtype::{DType, bf16, decode, f16};
use hk_ref::attn::pa_prefill::{Alibi, Scores, results};
use hk_ref::{Arg, Case, CaseInfo, Draw, Setup};

use super::attention::{Inputs, Sizes, arch_of, attention_element, expected};
use super::paged::{Caches, Pages, Paging};
use crate::lean_atten::LeanElement;
use crate::{
    AttentionElement, CacheLayout, PaPrefillOptions, PrefixCache,
    chunked_prefill_paged_decode_into, pa_prefill_fwd_into,
};

/// What varies between cases.
#[derive(Debug, Clone)]
pub(super) struct Spec {
    pub(super) name: &'static str,
    /// Of each sequence, tokens before and new ones.
    pub(super) tokens: Vec<[usize; 2]>,
    pub(super) heads: [usize; 2],
    pub(super) d: usize,
    pub(super) bs: usize,
    pub(super) x: usize,
    /// Of queries, and of caches.
    pub(super) dtypes: [DType; 2],
    pub(super) window: Option<u32>,
    pub(super) slopes: bool,
    pub(super) scales: bool,
    pub(super) scale: Option<f32>,
    pub(super) skip_decode: bool,
    /// Whether sequences with one new token have it in the cache.
    pub(super) is_chunked: bool,
}

impl Spec {
    pub(super) fn new(
        name: &'static str,
        tokens: &[[usize; 2]],
        heads: [usize; 2],
        d: usize,
        bs: usize,
    ) -> Self {
        Self {
            name,
            tokens: tokens.to_vec(),
            heads,
            d,
            bs,
            x: 8,
            dtypes: [DType::Bf16; 2],
            window: None,
            slopes: false,
            scales: false,
            scale: None,
            skip_decode: false,
            is_chunked: false,
        }
    }

    /// Tokens of a sequence that are in the cache.
    fn cached(&self, [before, new]: [usize; 2]) -> usize {
        if self.is_chunked && new == 1 { before + 1 } else { before }
    }

    pub(super) fn case(self) -> Case {
        let mut title = format!("{}, tokens {:?}, x {}", self.name, self.tokens, self.x);
        for (is_said, what) in [
            (self.window.is_some(), ", window"),
            (self.slopes, ", slopes"),
            (self.scales, ", scales"),
            (self.scale.is_some(), ", scaled"),
            (self.skip_decode, ", without steps"),
        ] {
            title += if is_said { what } else { "" };
        }
        let [hq, hk] = self.heads;
        let most = self.tokens.iter().map(|[_, new]| *new).max().unwrap_or_default();
        let shape = [self.tokens.len(), most, hq, hk, self.d, self.bs];
        let [module, op] = if self.is_chunked {
            ["chunked_pa_prefill", "chunked_prefill_paged_decode"]
        } else {
            ["pa_prefill", "pa_prefill_fwd"]
        };
        let info = CaseInfo::new(module, op, title, &self.dtypes, &shape);
        let info = CaseInfo { arch: arch_of(self.dtypes[1]), ..info };
        Case::new(info, move |s| {
            attention_element!(self.dtypes[1], K => match self.dtypes[0] {
                DType::F16 => set_up::<f16, K>(s, &self),
                _ => set_up::<bf16, K>(s, &self),
            });
        })
    }
}

fn set_up<T: LeanElement, K: AttentionElement>(s: &mut Setup, spec: &Spec) {
    let Spec { heads: [hq, hk], d, bs, .. } = *spec;
    let b = spec.tokens.len();
    let sizes = |lengths: Vec<[usize; 2]>| Sizes { lengths, heads: spec.heads, widths: [d; 2] };
    let all = sizes(spec.tokens.iter().map(|[before, new]| [*new, before + new]).collect());
    let cached = sizes(spec.tokens.iter().map(|of| [of[1], spec.cached(*of)]).collect());
    let tq = all.rows(0);
    let names = if spec.is_chunked {
        ["query", "key", "value", "block_table", "query_start_loc", "seq_lens", "output"]
    } else {
        ["q", "k", "v", "b_loc", "b_start_loc", "b_seq_len", "out"]
    };
    let q = s.input::<T>(names[0], &[tq, hq, d], Draw::Normal);
    // Rows that are not to be read are NaN.
    let fresh = [1, 2].map(|of| {
        let mut rows = s.draw::<T>(names[of], &[tq, hk, d], Draw::Normal);
        let nan = T::encode(&vec![f64::NAN; hk * d]);
        let mut first = 0;
        for tokens in &spec.tokens {
            if spec.cached(*tokens) > tokens[0] {
                rows[first * hk * d..][..hk * d].copy_from_slice(&nan);
            }
            first += tokens[1];
        }
        rows
    });
    let [of_k, of_v] = fresh.each_ref().map(|rows| decode(rows));
    let [k, v] = fresh;
    let (k, v) = (s.given(names[1], &[tq, hk, d], k), s.given(names[2], &[tq, hk, d], v));
    let lengths: Vec<_> = cached.lengths.iter().map(|[_, keys]| *keys).collect();
    let pages = Pages::new(bs, &lengths);
    let paging = Paging { layout: CacheLayout::PagedX, bs, x: spec.x };
    let is_seen = |b, key| all.sees(spec.window.map(|window| window - 1), b, key);
    let names_of_caches = ["key_cache", "value_cache"];
    let caches = Caches::<K>::new(s, paging, &pages, &cached, names_of_caches, is_seen);
    let (shape, rows) = pages.table();
    let table = s.given(names[3], &shape, rows);
    let bounds = s.given(names[4], &[b + 1], all.bounds(0));
    let of_tokens = all.lengths.iter().map(|[_, keys]| *keys as i32).collect();
    let lengths = s.given(names[5], &[b], of_tokens);
    let slopes = spec.slopes.then(|| s.input::<f32>("alibi_slopes", &[hq], Draw::Uniform));
    let scales = spec
        .scales
        .then(|| [s.given("k_scale", &[1], vec![0.75f32]), s.given("v_scale", &[1], vec![1.5f32])]);
    let is_narrow = size_of::<K>() == 1;
    let by = |of: usize| {
        let scale = scales.as_ref().filter(|_| is_narrow).map(|scales| scales[of].numbers()[0]);
        scale.unwrap_or(1.0)
    };
    // Keys and values of sequences, those of the cache first and scaled.
    let joined = |of: usize, new: &[f64]| {
        let (mut rows, mut at) = (Vec::new(), [0; 2]);
        for (tokens, [_, count]) in spec.tokens.iter().zip(&cached.lengths) {
            let of_cache = &caches.numbers[of][at[0] * hk * d..][..count * hk * d];
            rows.extend(of_cache.iter().map(|number| number * by(of)));
            let skipped = at[1] + count - tokens[0];
            let rest = tokens[0] + tokens[1] - count;
            rows.extend_from_slice(&new[skipped * hk * d..][..rest * hk * d]);
            at = [at[0] + count, at[1] + tokens[1]];
        }
        rows
    };
    let inputs = Inputs { q: q.numbers(), k: joined(0, &of_k), v: joined(1, &of_v) };
    let attended = expected(&all, &inputs, |b, h| {
        let [new, keys] = all.lengths[b];
        Scores {
            scale: spec.scale.map_or(1.0 / (d as f64).sqrt(), f64::from),
            alibi: slopes.as_ref().map(|slopes| (Alibi::Relative, slopes.numbers()[h])),
            window: [spec.window.map(|window| window as usize - 1), Some(0)],
            first_position: (keys - new) as i64,
            ..Scores::default()
        }
    });
    // Results of steps stay, if they are to be skipped.
    let (mut o, mut first) = (attended.o, 0);
    for [_, new] in &spec.tokens {
        if spec.skip_decode && *new == 1 {
            o[first * hq * d..][..hq * d].fill(0.5);
        }
        first += new;
    }
    let held = T::encode(&vec![0.5; o.len()]);
    let out = s.output::<T>(names[6], &[tq, hq, d], results(o, T::DTYPE)).holding(held);
    let (spec, most) = (spec.clone(), all.most(0));
    s.call(move || {
        let (q, k, v, table) = (q.get(), k.get(), v.get(), table.get());
        let (key_cache, value_cache) = (caches.k.get(), caches.v.get());
        let (bounds, lengths) = (bounds.get(), lengths.get());
        let slopes = slopes.as_ref().map(Arg::get);
        let scales = scales.as_ref().map(|scales| scales.each_ref().map(Arg::get));
        let cache = PrefixCache {
            key_cache: &key_cache,
            value_cache: &value_cache,
            b_loc: (&table).into(),
            b_start_loc: (&bounds).into(),
            b_seq_len: (&lengths).into(),
        };
        let mut options = PaPrefillOptions::default().skip_decode(spec.skip_decode);
        options = spec.window.into_iter().fold(options, PaPrefillOptions::sliding_window);
        options = spec.scale.into_iter().fold(options, PaPrefillOptions::sm_scale);
        if let Some(slopes) = &slopes {
            options = options.alibi_slopes(slopes);
        }
        if let Some([k, v]) = &scales {
            options = options.k_scale(k).v_scale(v);
        }
        let out = &mut out.get();
        if spec.is_chunked {
            chunked_prefill_paged_decode_into(&q, &k, &v, &cache, most, &options, out)
        } else {
            pa_prefill_fwd_into(&q, &k, &v, &cache, most, &options, out)
        }
    });
}

/// Every case.
pub(super) fn cases() -> Vec<Case> {
    let tokens = [[0, 5], [17, 33], [50, 1]];
    let new = |name, bs| Spec::new(name, &tokens, [4, 2], 64, bs);
    let mut specs = vec![
        Spec { slopes: true, scales: true, ..Spec::new("tiny", &[[3, 2], [2, 3]], [4, 2], 8, 2) },
        new("before and new", 8),
        new("before and new", 16),
        Spec { dtypes: [DType::F16; 2], window: Some(9), ..new("before and new", 5) },
        Spec { slopes: true, window: Some(20), ..new("before and new", 16) },
        Spec { skip_decode: true, scale: Some(0.3), ..new("before and new", 8) },
        Spec { x: 4, ..Spec::new("odd width", &tokens, [2, 1], 20, 7) },
        Spec::new("narrow", &tokens, [8, 1], 24, 16),
        Spec { dtypes: [DType::F16; 2], ..Spec::new("ten groups", &tokens, [2, 2], 80, 16) },
        Spec::new("wide", &[[40, 9], [70, 30]], [2, 1], 256, 16),
        Spec::new("nothing new", &[[20, 0], [4, 6]], [2, 2], 64, 16),
    ];
    for dtype in [DType::F8E4M3, DType::F8E4M3Fnuz, DType::F8E5M2, DType::F8E5M2Fnuz, DType::I8] {
        let scale = (dtype == DType::I8).then_some(1e-3);
        let dtypes = [DType::Bf16, dtype];
        let codes = |bs| Spec { dtypes, scale, scales: true, ..new("codes", bs) };
        specs.push(codes(16));
        // Groups as wide as caches of 8 bits have them.
        specs.push(Spec { x: 16, window: Some(20), slopes: true, ..codes(5) });
    }
    specs.into_iter().map(Spec::case).collect()
}
