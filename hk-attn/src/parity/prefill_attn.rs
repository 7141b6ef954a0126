//! Cases of `prefill_attn_fwd`.

use hk_core::dtype::{DType, bf16, f16};
use hk_ref::attn::prefill_attn::{Scores, results};
use hk_ref::{Case, CaseInfo, Draw, Setup};

use super::attention::{Inputs, Sizes, expected};
use crate::lean_atten::LeanElement;
use crate::{PrefillOptions, prefill_attn_fwd_into};

/// What varies between cases.
#[derive(Debug, Clone)]
struct Spec {
    name: &'static str,
    sizes: Sizes,
    /// Where sequences begin.
    starts: Vec<usize>,
    tokens: usize,
    dtype: DType,
    is_causal: bool,
    scale: Option<f32>,
}

impl Spec {
    /// Of sequences with one token of nobody's before each.
    fn new(name: &'static str, lengths: &[usize], heads: [usize; 2], widths: [usize; 2]) -> Self {
        let mut starts = Vec::new();
        let mut tokens = 0;
        for length in lengths {
            starts.push(tokens + 1);
            tokens += length + 1;
        }
        let lengths = lengths.iter().map(|length| [*length; 2]).collect();
        let sizes = Sizes { lengths, heads, widths };
        let dtype = DType::Bf16;
        Self { name, sizes, starts, tokens, dtype, is_causal: true, scale: None }
    }

    fn case(self) -> Case {
        let mut title = format!("{}, starts {:?}", self.name, self.starts);
        title += if self.is_causal { ", causal" } else { "" };
        title += if self.scale.is_some() { ", scaled" } else { "" };
        let [b, most, _, hq, hk, d, dv] = self.sizes.shape();
        let shape = [b, most, hq, hk, d, dv];
        let info = CaseInfo::new("prefill_attn", "prefill_attn_fwd", title, &[self.dtype], &shape);
        Case::new(info, move |s| match self.dtype {
            DType::F16 => set_up::<f16>(s, &self),
            _ => set_up::<bf16>(s, &self),
        })
    }
}

fn set_up<T: LeanElement>(s: &mut Setup, spec: &Spec) {
    let Spec { sizes, starts, tokens, .. } = spec;
    let (tokens, [hq, hk], [d, dv]) = (*tokens, sizes.heads, sizes.widths);
    let b = starts.len();
    let q = s.input::<T>("q", &[tokens, hq, d], Draw::Normal);
    let k = s.input::<T>("k", &[tokens, hk, d], Draw::Normal);
    let v = s.input::<T>("v", &[tokens, hk, dv], Draw::Normal);
    // Rows of sequences, one after the other.
    let rows = |x: Vec<f64>, width: usize| -> Vec<f64> {
        let of = |(start, [length, _]): (&usize, &[usize; 2])| {
            x[start * width..(start + length) * width].to_vec()
        };
        starts.iter().zip(&sizes.lengths).flat_map(of).collect()
    };
    let inputs = Inputs {
        q: rows(q.numbers(), hq * d),
        k: rows(k.numbers(), hk * d),
        v: rows(v.numbers(), hk * dv),
    };
    let all = expected(sizes, &inputs, |_, _| Scores {
        scale: spec.scale.map_or(1.0 / (d as f64).sqrt(), f64::from),
        window: [None, spec.is_causal.then_some(0)],
        ..Scores::default()
    });
    // What is in no sequence stays.
    let held = T::encode(&vec![0.5; tokens * hq * dv]);
    let mut o = vec![0.5; tokens * hq * dv];
    let mut from = 0;
    for (start, [length, _]) in starts.iter().zip(&sizes.lengths) {
        let count = length * hq * dv;
        o[start * hq * dv..][..count].copy_from_slice(&all.o[from..][..count]);
        from += count;
    }
    let of_starts = starts.iter().map(|start| *start as i32).collect();
    let of_lengths = sizes.lengths.iter().map(|[length, _]| *length as i64).collect();
    let b_start_loc = s.given::<i32>("b_start_loc", &[b], of_starts);
    let b_seq_len = s.given::<i64>("b_seq_len", &[b], of_lengths);
    let out = s.output::<T>("out", &[tokens, hq, dv], results(o, T::DTYPE)).holding(held);
    let mut options = PrefillOptions::default().is_causal(spec.is_causal);
    options = spec.scale.into_iter().fold(options, PrefillOptions::scale);
    let most = sizes.most(0);
    s.call(move || {
        let (starts, lengths) = (b_start_loc.get(), b_seq_len.get());
        let (q, k, v) = (q.get(), k.get(), v.get());
        prefill_attn_fwd_into(&q, &k, &v, &starts, &lengths, most, &options, &mut out.get())
    });
}

/// Every case.
pub(super) fn cases() -> Vec<Case> {
    let new = Spec::new;
    let specs = [
        new("tiny", &[3, 2], [4, 2], [8, 8]),
        new("ragged", &[64, 1, 37, 0], [2, 1], [64, 64]),
        Spec { is_causal: false, ..new("ragged", &[64, 1, 37, 0], [2, 1], [64, 64]) },
        Spec { dtype: DType::F16, ..new("long", &[200, 90], [2, 2], [128, 128]) },
        Spec { scale: Some(0.5), ..new("wide", &[90, 20], [4, 2], [256, 192]) },
        new("widest", &[70, 20], [2, 1], [512, 512]),
        Spec { dtype: DType::F16, ..new("widest keys", &[40], [2, 1], [602, 300]) },
        Spec {
            dtype: DType::F16,
            is_causal: false,
            ..new("odd widths", &[50, 33], [2, 1], [23, 31])
        },
        Spec { starts: vec![70, 1], ..new("in another order", &[40, 60], [2, 1], [64, 64]) },
    ];
    let fits = |spec: Spec| {
        let ends =
            spec.starts.iter().zip(&spec.sizes.lengths).map(|(start, [rows, _])| start + rows);
        Spec { tokens: ends.max().unwrap_or_default() + 1, ..spec }
    };
    specs.into_iter().map(|spec| fits(spec).case()).collect()
}
