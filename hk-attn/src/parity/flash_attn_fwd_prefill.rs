//! Cases of `flash_attn_fwd_prefill`.

use hk_core::dtype::{DType, bf16, f16};
use hk_ref::attn::flash_attn_fwd_prefill::{logarithms, weights};
use hk_ref::{Case, CaseInfo, Draw, Setup};

use super::attention::{
    Choice, Chosen, Inputs, Sizes, arch_of, attention_element, expected, stored,
};
use crate::{
    AttentionElement, AttentionOutput, Dropout, FlashLayout, FlashOptions, MhaOut, VarlenOptions,
    flash_attn_fwd_prefill_into,
};

/// How tensors lie.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Layout {
    Bshd,
    Bhsd,
    Thd,
}

/// What varies between cases.
#[derive(Debug, Clone)]
struct Spec {
    name: &'static str,
    /// Rows that there are.
    sizes: Sizes,
    /// Rows of each sequence that count, if only some do.
    used: Option<Vec<[usize; 2]>>,
    layout: Layout,
    choice: Choice,
    dtypes: [DType; 2],
}

impl Spec {
    fn new(name: &'static str, layout: Layout, sizes: Sizes) -> Self {
        let (used, choice) = (None, Choice::default());
        Self { name, sizes, used, layout, choice, dtypes: [DType::Bf16; 2] }
    }

    fn with(self, choice: Choice) -> Self {
        Self { choice, ..self }
    }

    fn of(self, input: DType, output: DType) -> Self {
        Self { dtypes: [input, output], ..self }
    }

    fn case(self) -> Case {
        let mut title = format!("{}, {:?}{}", self.name, self.layout, self.choice.title());
        title += if self.used.is_some() { ", some rows" } else { "" };
        let op = "flash_attn_fwd_prefill";
        let info = CaseInfo::new(op, op, title, &self.dtypes, &self.sizes.shape());
        let info = CaseInfo { arch: arch_of(self.dtypes[0]), ..info };
        Case::new(info, move |s| {
            let [input, output] = self.dtypes;
            attention_element!(input, T => match output {
                DType::F16 => set_up::<T, f16>(s, &self),
                DType::F32 => set_up::<T, f32>(s, &self),
                _ => set_up::<T, bf16>(s, &self),
            });
        })
    }
}

fn set_up<T: AttentionElement, O: AttentionOutput>(s: &mut Setup, spec: &Spec) {
    let Spec { sizes, layout, used, .. } = spec;
    let ([hq, hk], [d, dv]) = (sizes.heads, sizes.widths);
    let (b, layout) = (sizes.lengths.len(), *layout);
    let dims = |of: usize, heads: usize, width: usize| match layout {
        Layout::Bshd => vec![b, sizes.most(of), heads, width],
        Layout::Bhsd => vec![b, heads, sizes.most(of), width],
        Layout::Thd => vec![sizes.rows(of), heads, width],
    };
    let q = s.input::<T>("q", &dims(0, hq, d), Draw::Normal);
    let k = s.input::<T>("k", &dims(1, hk, d), Draw::Normal);
    let v = s.input::<T>("v", &dims(1, hk, dv), Draw::Normal);
    let bounds = (layout == Layout::Thd).then(|| {
        [("cu_seqlens_q", 0), ("cu_seqlens_k", 1)]
            .map(|(name, of)| s.given(name, &[b + 1], sizes.bounds(of)))
    });
    let counts = used.as_ref().map(|used| {
        [("seqused_q", 0), ("seqused_k", 1)].map(|(name, of)| {
            s.given::<i32>(name, &[b], used.iter().map(|rows| rows[of] as i32).collect())
        })
    });
    // What counts, at most what there is.
    let lengths: Vec<[usize; 2]> = match used {
        None => sizes.lengths.clone(),
        Some(used) => {
            let least = |(a, b): (&[usize; 2], &[usize; 2])| [a[0].min(b[0]), a[1].min(b[1])];
            used.iter().zip(&sizes.lengths).map(least).collect()
        }
    };
    let counting = Sizes { lengths, ..sizes.clone() };
    let chosen = Chosen::new(s, &spec.choice, &counting);
    // Rows that count of all heads, sequence after sequence.
    let rows = |x: Vec<f64>, of: usize, heads: usize, width: usize| {
        let (mut all, mut first) = (Vec::new(), 0);
        for (at, lengths) in counting.lengths.iter().enumerate() {
            for i in 0..lengths[of] {
                for head in 0..heads {
                    let row = match layout {
                        Layout::Bhsd => (at * heads + head) * sizes.most(of) + i,
                        _ => (first + i) * heads + head,
                    };
                    all.extend_from_slice(&x[row * width..][..width]);
                }
            }
            first += sizes.lengths[at][of];
        }
        all
    };
    let inputs = Inputs {
        q: rows(q.numbers(), 0, hq, d),
        k: rows(k.numbers(), 1, hk, d),
        v: rows(v.numbers(), 1, hk, dv),
    };
    let all = expected(&counting, &inputs, |b, h| chosen.scores(&counting, b, h));
    // Where results go; the rest stays.
    let out_dims = dims(0, hq, dv);
    let mut o = vec![0.5; out_dims.iter().product()];
    let mut largest = vec![0.0; o.len()];
    let lse_dims = match layout {
        Layout::Thd => vec![hq, sizes.rows(0)],
        _ => vec![b, hq, sizes.most(0)],
    };
    let mut lse = vec![0.5; lse_dims.iter().product()];
    let (mut from, mut first) = (0, 0);
    for (at, [count, _]) in counting.lengths.iter().copied().enumerate() {
        for i in 0..count {
            for head in 0..hq {
                let row = match layout {
                    Layout::Bhsd => (at * hq + head) * sizes.most(0) + i,
                    _ => (first + i) * hq + head,
                };
                o[row * dv..][..dv].copy_from_slice(&all.o[from * dv..][..dv]);
                largest[row * dv..][..dv].copy_from_slice(&all.largest[from * dv..][..dv]);
                from += 1;
                let place = match layout {
                    Layout::Thd => head * sizes.rows(0) + first + i,
                    _ => (at * hq + head) * sizes.most(0) + i,
                };
                lse[place] = all.lse[at][head][i];
            }
        }
        first += sizes.lengths[at][0];
    }
    let held = O::encode(&vec![0.5; o.len()]);
    let out =
        s.output::<O>("out", &out_dims, stored(o, &largest, [T::DTYPE; 2], O::DTYPE)).holding(held);
    let held = vec![0.5f32; lse.len()];
    let lse = s.output::<f32>("lse", &lse_dims, logarithms(lse)).holding(held);
    let [max_seqlen_q, max_seqlen_k] = [0, 1].map(|of| sizes.most(of));
    let s_dmask = spec.choice.dropout.map(|_| {
        let values = all.all_weights([max_seqlen_q, max_seqlen_k]);
        s.output::<f32>("s_dmask", &[b, hq, max_seqlen_q, max_seqlen_k], weights(values))
    });
    s.call(move || {
        let (q, k, v) = (q.get(), k.get(), v.get());
        let (mut out, mut lse) = (out.get(), lse.get());
        let mut s_dmask = s_dmask.as_ref().map(|s_dmask| s_dmask.get());
        let bounds = bounds.as_ref().map(|all| all.each_ref().map(|arg| arg.get()));
        let counts = counts.as_ref().map(|all| all.each_ref().map(|arg| arg.get()));
        chosen.with(|attention| {
            let layout = match (&bounds, layout) {
                (Some([of_q, of_k]), _) => FlashLayout::Thd(VarlenOptions {
                    cu_seqlens_q: of_q.into(),
                    cu_seqlens_k: of_k.into(),
                    max_seqlen_q,
                    max_seqlen_k,
                }),
                (None, Layout::Bhsd) => FlashLayout::Bhsd,
                (None, _) => FlashLayout::Bshd,
            };
            let mut options = FlashOptions::default().layout(layout).attention(*attention);
            if let Some([of_q, of_k]) = &counts {
                options = options.seqused_q(of_q).seqused_k(of_k);
            }
            let into =
                MhaOut { out: &mut *out, lse: Some(&mut *lse), s_dmask: s_dmask.as_deref_mut() };
            flash_attn_fwd_prefill_into(&q, &k, &v, &options, into)
        })
    });
}

/// Every case.
pub(super) fn cases() -> Vec<Case> {
    let causal = Choice { causal: true, ..Choice::default() };
    let dropout = Dropout { p: 0.2, seed: 7, offset: 1 << 40 };
    let ragged = || Sizes::packed(&[[1, 9], [0, 3], [77, 0], [5, 130]], [4, 2], 64);
    let some = |spec: Spec, used: &[[usize; 2]]| Spec { used: Some(used.to_vec()), ..spec };
    let mut specs = Vec::new();
    for (turn, layout) in [Layout::Bshd, Layout::Bhsd, Layout::Thd].into_iter().enumerate() {
        let dtype = [DType::Bf16, DType::F16][turn % 2];
        let new = |name, sizes| Spec::new(name, layout, sizes).of(dtype, dtype);
        let tiny = Sizes::dense(2, [3, 5], [4, 2], 16).values(8);
        specs.push(some(new("tiny", tiny), &[[2, 5], [3, 4]]).with(causal.clone()));
        specs.push(new("square", Sizes::dense(1, [128, 128], [2, 2], 64)).with(causal.clone()));
        specs.push(
            new("more queries than keys", Sizes::dense(2, [5, 2], [2, 1], 40)).with(causal.clone()),
        );
        specs.push(
            new("left window", Sizes::dense(1, [70, 90], [2, 1], 64))
                .with(Choice { window: [Some(9), None], ..Choice::default() }),
        );
        specs.push(
            some(new("some rows", Sizes::dense(2, [40, 70], [2, 1], 64)), &[[17, 70], [40, 33]])
                .with(Choice { sink: Some(DType::F32), ..causal.clone() }),
        );
        specs.push(new("dropped", Sizes::dense(1, [40, 70], [2, 1], 128)).with(Choice {
            dropout: Some(dropout),
            slopes: Some(false),
            ..causal.clone()
        }));
    }
    specs.push(Spec::new("ragged", Layout::Thd, ragged()).with(causal.clone()));
    specs.push(some(
        Spec::new("ragged", Layout::Thd, ragged()),
        &[[1, 4], [3, 3], [50, 9], [2, 100]],
    ));
    let biased = Choice { bias: Some(([true; 2], DType::F32)), ..Choice::default() };
    specs.push(
        Spec::new("biased", Layout::Bhsd, Sizes::dense(2, [17, 33], [4, 2], 40)).with(biased),
    );
    let dropped = Choice { dropout: Some(dropout), ..causal.clone() };
    specs.push(some(
        Spec::new("weights", Layout::Thd, ragged()).with(dropped.clone()),
        &[[1, 4], [0, 3], [50, 0], [2, 100]],
    ));
    for dtype in [DType::F8E4M3, DType::F8E4M3Fnuz] {
        specs.push(
            Spec::new("codes", Layout::Thd, ragged()).with(dropped.clone()).of(dtype, DType::F16),
        );
        let choice = Choice { descales: Some(true), scale: Some(0.125), ..causal.clone() };
        let sizes = Sizes::dense(2, [21, 70], [4, 2], 64);
        specs.push(Spec::new("codes", Layout::Bshd, sizes).with(choice).of(dtype, DType::Bf16));
    }
    specs.into_iter().map(Spec::case).collect()
}
