//! Cases of `unified_attn_sparse_mla`.

use hk_core::dtype::{bf16, decode, f16};
use hk_ref::attn::unified_attn_sparse_mla::{Scores, chosen, latent, logarithms, results};
use hk_ref::{Case, CaseInfo, Draw, Setup, Size};

use super::attention::Sizes;
use super::paged::{Pages, Paging, Scattered};
use crate::{
    CacheLayout, IndexSpace, LeanElement, SparseMlaOptions, SparseMlaOut, sparse_mla_attn_fwd_into,
};

/// How many queries without keys there are: of so many, one.
const NOTHING: usize = 3;

/// What varies between cases.
#[derive(Clone)]
struct Spec {
    name: &'static str,
    /// Queries and keys of sequences.
    lengths: Vec<[usize; 2]>,
    /// Heads, columns of values, and columns behind them.
    heads: [usize; 3],
    /// Keys that a query chooses.
    k: usize,
    bs: usize,
    is_logical: bool,
    splits: Option<u32>,
    scale: Option<f32>,
    /// Whether there are queries that choose nothing, and whether all of them do.
    nothing: [bool; 2],
    /// Whether some indices and pages are none that there are, which are not looked at.
    wrong: bool,
    lse: bool,
    /// Whether heads are before queries in memory, and rows of indices apart.
    is_spread: bool,
}

impl Spec {
    fn new(name: &'static str, lengths: &[[usize; 2]], heads: [usize; 3], k: usize) -> Self {
        Self {
            name,
            lengths: lengths.to_vec(),
            heads,
            k,
            bs: 16,
            is_logical: false,
            splits: None,
            scale: None,
            nothing: [false; 2],
            wrong: false,
            lse: true,
            is_spread: false,
        }
    }

    fn logical(self) -> Self {
        Self { is_logical: true, ..self }
    }

    fn split(self, splits: u32) -> Self {
        Self { splits: Some(splits), ..self }
    }

    fn case<T: LeanElement>(self) -> Case {
        let [hq, c, r] = self.heads;
        let t: usize = self.lengths.iter().map(|[queries, _]| queries).sum();
        let mut title = format!("{}, pages of {}", self.name, self.bs);
        let mut say = |is_said: bool, what: &str| title += if is_said { what } else { "" };
        say(self.is_logical, ", logical");
        say(self.nothing[0], ", some without keys");
        say(self.nothing[1], ", all without keys");
        say(self.wrong, ", some that there are not");
        say(self.scale.is_some(), ", scaled");
        say(!self.lse, ", without sums");
        say(self.is_spread, ", spread");
        if let Some(splits) = self.splits {
            title += &format!(", {splits} splits");
        }
        let shape = [t, hq, c + r, c, self.k];
        let module = "unified_attn_sparse_mla";
        let info = CaseInfo::new(module, "sparse_mla_attn_fwd", title, &[T::DTYPE], &shape);
        let products = t * hq * self.k * (2 * c + r);
        let size = if products < 20_000_000 { Size::Quick } else { Size::Core };
        Case::new(CaseInfo { size, ..info }, move |s| set_up::<T>(s, &self))
    }
}

fn set_up<T: LeanElement>(s: &mut Setup, spec: &Spec) {
    let Spec { lengths, heads: [hq, c, r], k, bs, .. } = spec.clone();
    let (d, b) = (c + r, lengths.len());
    let sizes = Sizes::packed(&lengths, [hq, 1], d);
    let t = sizes.rows(0);
    let q = s.input::<T>("q", &[t, hq, d], Draw::Normal);
    let q = if spec.is_spread { q.order(&[1, 0, 2]) } else { q };
    let of_keys: Vec<_> = lengths.iter().map(|[_, keys]| *keys).collect();
    let pages = Pages::new(bs, &of_keys);
    let keys: Vec<T> = s.draw("kv", &[sizes.rows(1), 1, d], Draw::Normal);
    let paging = Paging { layout: CacheLayout::Nhd, bs, x: 1 };
    let Scattered { shape, elements } =
        Scattered::new(paging, &pages, &sizes, true, &keys, |_, _| true);
    let numbers = decode(&elements);
    let kv = s.given("kv", &shape, elements);

    let is_lost = |b: usize, page: usize| spec.wrong && spec.is_logical && (b + page) % 3 == 1;
    // Some of what is chosen is none, and, of sequences, behind the last token.
    let (mut indices, mut o, mut lse) = (Vec::new(), Vec::new(), Vec::new());
    let queries = lengths.iter().enumerate();
    let queries = queries.flat_map(|(b, [queries, keys])| (0..*queries).map(move |_| (b, *keys)));
    let of_q = q.numbers();
    for (row, (b, length)) in queries.enumerate() {
        let is_none = spec.nothing[1] || spec.nothing[0] && row % NOTHING == 0;
        let end = if spec.is_logical { length + 3 } else { length } as i64;
        let drawn: Vec<i32> = s.draw(&format!("topk {row}"), &[k], Draw::Integers(-1, end));
        let is_none = |at: usize| is_none || spec.wrong && at.is_multiple_of(5);
        let drawn = drawn.into_iter().enumerate();
        let drawn: Vec<_> = drawn.map(|(at, of)| if is_none(at) { -1 } else { of }).collect();
        let is_there = |token: usize| token < length && !is_lost(b, token / bs);
        let places = chosen(&drawn, |token| is_there(token).then(|| pages.place(b, token)));
        let end = if spec.is_logical { length } else { pages.blocks * bs } as i32;
        let wrong = [end, i32::MAX, i32::MIN, -2];
        indices.extend(drawn.iter().enumerate().map(|(at, token)| match usize::try_from(*token) {
            Err(_) if spec.wrong => wrong[at / 5 % wrong.len()],
            Ok(token) if !spec.is_logical => {
                let [page, slot] = pages.place(b, token);
                (page * bs + slot) as i32
            }
            _ => *token,
        }));
        let row_at = |[page, slot]: &[usize; 2]| &numbers[(page * bs + slot) * d..][..d];
        let keys = places.iter().map(|place| row_at(place).to_vec()).collect();
        let values = places.iter().map(|place| row_at(place)[..c].to_vec()).collect();
        let heads = of_q[row * hq * d..][..hq * d].chunks_exact(d).map(<[f64]>::to_vec);
        let scale = spec.scale.map_or(1.0 / (d as f64).sqrt(), f64::from);
        let scores = Scores { scale, ..Scores::default() };
        let of_row = latent(heads.collect(), keys, values, c, &scores);
        o.extend(of_row.o);
        lse.extend(of_row.lse);
    }
    let topk = s.given("topk_indices", &[t, k], indices);
    let sequences = spec.is_logical.then(|| {
        let of_sequences = of_keys.iter().map(|keys| *keys as i32).collect();
        let (shape, mut table) = pages.table();
        for (at, page) in table.iter_mut().enumerate() {
            let (b, number) = (at / shape[1], at % shape[1]);
            if is_lost(b, number) {
                *page = [pages.blocks as i32, -1, i32::MIN][number % 3];
            }
        }
        (
            s.given("cu_seqlens_q", &[b + 1], sizes.bounds(0)),
            s.given("seqused_k", &[b], of_sequences),
            s.given("block_table", &shape, table),
        )
    });
    let out = s.output::<T>("out", &[t, hq, c], results(o, T::DTYPE));
    let out = if spec.is_spread { out.order(&[1, 0, 2]) } else { out };
    let lse = spec.lse.then(|| s.output::<f32>("lse", &[t, hq], logarithms(lse)));
    let Spec { splits, scale, wrong, .. } = *spec;
    s.call(move || {
        let (q, kv, topk) = (q.get(), kv.get(), topk.get());
        let (mut out, mut lse) = (out.get(), lse.as_ref().map(hk_ref::Arg::get));
        let into = SparseMlaOut { out: &mut *out, lse: lse.as_deref_mut() };
        let sequences =
            sequences.as_ref().map(|(bounds, used, table)| (bounds.get(), used.get(), table.get()));
        let index_space = match &sequences {
            None => IndexSpace::Physical,
            Some((bounds, used, table)) => IndexSpace::Logical {
                cu_seqlens_q: bounds.into(),
                seqused_k: used.into(),
                block_table: table.into(),
            },
        };
        let options = SparseMlaOptions {
            softmax_scale: scale,
            index_space,
            num_splits: splits,
            validate_indices: wrong.then_some(false),
        };
        sparse_mla_attn_fwd_into(&q, &kv, &topk, c, &options, into)
    });
}

/// Every case.
pub(super) fn cases() -> Vec<Case> {
    let new = Spec::new;
    // What DeepSeek has.
    let (wide, narrow) = ([16, 512, 64], [16, 256, 64]);
    let small = |name| new(name, &[[2, 5], [1, 9]], [2, 24, 8], 7);
    let some = [true, false];
    let specs = vec![
        Spec { bs: 2, ..small("small") },
        Spec { bs: 2, ..small("small").logical() },
        Spec { nothing: some, ..new("one query", &[[1, 64], [1, 177]], wide, 64) },
        new("one query", &[[1, 177], [1, 1]], narrow, 78).logical(),
        Spec { bs: 64, nothing: some, ..new("some queries", &[[5, 64], [5, 177]], narrow, 78) },
        Spec { bs: 64, ..new("some queries", &[[5, 1], [5, 177]], wide, 64).logical() },
        Spec { bs: 64, ..new("some queries", &[[5, 177], [0, 40], [1, 64]], wide, 78).split(3) },
        new("any heads", &[[2, 100], [1, 33]], [24, 512, 64], 40),
        new("any heads", &[[1, 100]], [70, 256, 64], 40).logical().split(2),
        new("any width", &[[3, 50]], [3, 100, 27], 33),
        new("any width", &[[3, 50]], [5, 260, 127], 33).logical().split(2),
        new("widest", &[[1, 50]], [4, 512, 128], 65),
        Spec { nothing: [false, true], ..new("nothing", &[[2, 20]], wide, 64) },
        Spec { nothing: [false, true], ..new("nothing", &[[2, 20]], narrow, 64).split(2) },
        new("no keys", &[[2, 0]], narrow, 4).logical(),
        new("no list", &[[2, 20]], narrow, 0),
        Spec { scale: Some(-0.2), ..new("scale", &[[2, 50]], narrow, 40) },
        Spec { is_spread: true, lse: false, ..new("layout", &[[3, 50]], narrow, 40) },
        Spec { bs: 1, ..new("one slot", &[[3, 50]], wide, 40) },
        Spec { bs: 8, wrong: true, ..new("wrong", &[[3, 100], [2, 70]], narrow, 45) },
        Spec { bs: 8, wrong: true, ..new("wrong", &[[3, 100], [2, 70]], narrow, 45).logical() },
    ];
    let large = vec![
        new("DeepSeek V3.2", &[[1, 4096]], [128, 512, 64], 2048),
        Spec { bs: 64, ..new("DeepSeek V3.2", &[[4, 3000]], [128, 512, 64], 2048).logical() },
        new("AITER", &[[64, 64], [16, 177]], [32, 512, 64], 256),
    ];
    let mut cases = Vec::new();
    for spec in &specs {
        cases.push(spec.clone().case::<bf16>());
        cases.push(spec.clone().case::<f16>());
    }
    cases.extend(large.into_iter().map(Spec::case::<bf16>));
    cases
}
