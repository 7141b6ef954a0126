//! Cases of `mha_fwd` and `mha_varlen_fwd`.

use hk_core::dtype::{DType, bf16, f16};
use hk_ref::attn::mha::{logarithms, weights};
use hk_ref::{Case, CaseInfo, Draw, Setup, Size};

use super::attention::{
    Choice, Chosen, Inputs, Sizes, Wild, arch_of, attention_element, expected, stored,
};
use crate::{
    AttentionElement, AttentionOutput, Dropout, MhaOut, VarlenOptions, mha_fwd_into,
    mha_varlen_fwd_into,
};

/// What varies between cases.
#[derive(Debug, Clone)]
struct Spec {
    name: &'static str,
    sizes: Sizes,
    choice: Choice,
    is_packed: bool,
    /// Of inputs and of results.
    dtypes: [DType; 2],
    /// By which power of two queries are larger than usual.
    peaky: i32,
    /// What is NaN of keys and values.
    wild: Option<Wild>,
    /// What all scores of the first head of the first sequence's last query are, if no numbers.
    score: Option<f64>,
    /// Whether heads lie before rows in memory.
    heads_first: bool,
    lse: bool,
    /// Whether weights are wanted.
    weights: bool,
    /// What is said to be the most queries of a sequence, if not what is.
    most: Option<usize>,
    size: Size,
}

impl Spec {
    fn dense(name: &'static str, sizes: Sizes) -> Self {
        Self {
            name,
            sizes,
            choice: Choice::default(),
            is_packed: false,
            dtypes: [DType::Bf16; 2],
            peaky: 0,
            wild: None,
            score: None,
            heads_first: false,
            lse: true,
            weights: false,
            most: None,
            size: Size::Quick,
        }
    }

    fn packed(name: &'static str, sizes: Sizes) -> Self {
        Self { is_packed: true, ..Self::dense(name, sizes) }
    }

    fn with(self, choice: Choice) -> Self {
        Self { choice, ..self }
    }

    fn of(self, input: DType, output: DType) -> Self {
        Self { dtypes: [input, output], ..self }
    }

    fn op(&self) -> &'static str {
        if self.is_packed { "mha_varlen_fwd" } else { "mha_fwd" }
    }

    fn case(self) -> Case {
        let mut title = format!("{}{}", self.name, self.choice.title());
        title += if self.heads_first { ", heads first" } else { "" };
        title += if self.lse { "" } else { ", without sums" };
        title += if self.weights { ", weights" } else { "" };
        if let Some(most) = self.most {
            title += &format!(", at most {most} queries");
        }
        let info = CaseInfo::new("mha", self.op(), title, &self.dtypes, &self.sizes.shape());
        let info = CaseInfo { size: self.size, arch: arch_of(self.dtypes[0]), ..info };
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
    let Spec { sizes, is_packed, .. } = spec;
    let ([hq, hk], [d, dv]) = (sizes.heads, sizes.widths);
    let b = sizes.lengths.len();
    let rows = |of: usize, heads: usize, width: usize| match is_packed {
        true => vec![sizes.rows(of), heads, width],
        false => vec![b, sizes.most(of), heads, width],
    };
    let draw = Draw::Scaled(spec.peaky);
    let shapes = [rows(1, hk, d), rows(1, hk, dv)];
    let mut queries: Vec<T> = s.draw("q", &rows(0, hq, d), draw);
    let mut keys = s.draw("k", &shapes[0], Draw::Normal);
    let mut values = s.draw("v", &shapes[1], Draw::Normal);
    if let Some(wild) = spec.wild {
        wild.spoil::<T>(sizes, spec.choice.window[0], [&mut keys, &mut values]);
    }
    if let Some(score) = spec.score {
        keys.iter_mut().step_by(d).for_each(|key| *key = T::encode(&[1.0])[0]);
        queries[(sizes.lengths[0][0] - 1) * hq * d] = T::encode(&[score])[0];
    }
    let mut q = s.given("q", &rows(0, hq, d), queries);
    let [mut k, mut v] = [s.given("k", &shapes[0], keys), s.given("v", &shapes[1], values)];
    if spec.heads_first {
        let order: &[usize] = if *is_packed { &[1, 0, 2] } else { &[0, 2, 1, 3] };
        [q, k, v] = [q, k, v].map(|x| x.order(order));
    }
    let bounds = is_packed.then(|| {
        let count = [b + 1];
        [("cu_seqlens_q", 0), ("cu_seqlens_k", 1)]
            .map(|(name, of)| s.given(name, &count, sizes.bounds(of)))
    });
    let chosen = Chosen::new(s, &spec.choice, sizes);
    let inputs = Inputs { q: q.numbers(), k: k.numbers(), v: v.numbers() };
    let all = expected(sizes, &inputs, |b, h| chosen.scores(sizes, b, h));
    let (of_rows, of_heads) = (all.lse_of_rows(), all.lse_of_heads());
    let of_weights = spec.weights.then(|| all.all_weights([0, 1].map(|of| sizes.most(of))));
    let out = s.output::<O>(
        "out",
        &rows(0, hq, dv),
        stored(all.o, &all.largest, [T::DTYPE; 2], O::DTYPE),
    );
    let lse = spec.lse.then(|| match is_packed {
        true => s.output::<f32>("lse", &[sizes.rows(0), hq], logarithms(of_rows)),
        false => s.output::<f32>("lse", &[b, hq, sizes.most(0)], logarithms(of_heads)),
    });
    let [max_seqlen_q, max_seqlen_k] = [0, 1].map(|of| sizes.most(of));
    let max_seqlen_q = spec.most.unwrap_or(max_seqlen_q);
    let s_dmask = of_weights.map(|values| {
        s.output::<f32>("s_dmask", &[b, hq, max_seqlen_q, max_seqlen_k], weights(values))
    });
    s.call(move || {
        let (q, k, v) = (q.get(), k.get(), v.get());
        let (mut out, mut lse) = (out.get(), lse.as_ref().map(|lse| lse.get()));
        let mut s_dmask = s_dmask.as_ref().map(|s_dmask| s_dmask.get());
        let (lse, s_dmask) = (lse.as_deref_mut(), s_dmask.as_deref_mut());
        let out = MhaOut { out: &mut *out, lse, s_dmask };
        chosen.with(|options| match &bounds {
            None => mha_fwd_into(&q, &k, &v, options, out),
            Some([of_q, of_k]) => {
                let (of_q, of_k) = (of_q.get(), of_k.get());
                let varlen = VarlenOptions {
                    cu_seqlens_q: (&of_q).into(),
                    cu_seqlens_k: (&of_k).into(),
                    max_seqlen_q,
                    max_seqlen_k,
                };
                mha_varlen_fwd_into(&q, &k, &v, &varlen, options, out)
            }
        })
    });
}

/// Every case.
pub(super) fn cases() -> Vec<Case> {
    let causal = Choice { causal: true, ..Choice::default() };
    let dropout = Dropout { p: 0.2, seed: 0x1234_5678_9abc_def0, offset: 0xfedc_ba98_7654_3210 };
    let small = || Sizes::dense(2, [17, 33], [4, 2], 40);
    let all = Choice {
        slopes: Some(true),
        sink: Some(DType::F32),
        descales: Some(false),
        softcap: 30.0,
        ..causal.clone()
    };
    let tiny = [[3, 5], [2, 7]];
    let mut specs = vec![
        Spec::dense("tiny", Sizes::dense(2, [3, 5], [4, 2], 16).values(8)).with(all.clone()),
        Spec::packed("tiny", Sizes::packed(&tiny, [4, 2], 16).values(8)).with(all),
        Spec::dense("square", Sizes::dense(1, [128, 128], [2, 2], 64)),
        Spec::dense("square", Sizes::dense(1, [128, 128], [2, 2], 64)).of(DType::F16, DType::F16),
        Spec::dense("short queries", Sizes::dense(1, [64, 128], [4, 2], 128)).with(causal.clone()),
        Spec::dense("more queries than keys", Sizes::dense(2, [33, 17], [2, 1], 40))
            .with(causal.clone()),
        Spec::dense("one query of eight heads", Sizes::dense(1, [1, 257], [8, 1], 128)),
        Spec::dense("one query of eight heads", Sizes::dense(1, [1, 257], [8, 1], 128))
            .with(Choice { splits: Some(3), ..Choice::default() }),
        Spec::dense("one query of one head", Sizes::dense(1, [1, 70], [1, 1], 64))
            .of(DType::F16, DType::F32),
        Spec::dense("one query, wide", Sizes::dense(1, [1, 97], [4, 2], 256)),
        Spec::dense("one query, wide", Sizes::dense(1, [1, 97], [4, 2], 256))
            .of(DType::F16, DType::F16),
        Spec::dense("windowed", Sizes::dense(1, [97, 131], [3, 3], 72))
            .with(Choice { window: [Some(20), Some(5)], ..Choice::default() }),
        Spec::dense("right window", Sizes::dense(1, [40, 90], [2, 1], 64))
            .with(Choice { window: [None, Some(3)], ..Choice::default() })
            .of(DType::F16, DType::F16),
        Spec::dense("self alone", Sizes::dense(1, [70, 70], [2, 1], 64))
            .with(Choice { window: [Some(0), Some(0)], ..Choice::default() }),
        Spec::dense("rotated part", Sizes::dense(1, [48, 80], [2, 2], 192).values(128)),
        Spec::dense("rotated part", Sizes::dense(1, [48, 80], [2, 2], 192).values(128))
            .of(DType::F16, DType::F16),
        Spec::dense("wide", Sizes::dense(1, [40, 70], [2, 1], 256)).with(causal.clone()),
        Spec::dense("wide", Sizes::dense(1, [40, 70], [2, 1], 256)).of(DType::F16, DType::F16),
        Spec::dense("odd widths", Sizes::dense(1, [9, 45], [2, 1], 19).values(7)),
        Spec::dense("odd widths", Sizes::dense(1, [90, 45], [2, 2], 130).values(129))
            .of(DType::F16, DType::F16),
        Spec::dense("no keys", Sizes::dense(2, [3, 0], [2, 1], 64))
            .with(Choice { sink: Some(DType::F32), ..Choice::default() }),
        Spec::dense("no keys", Sizes::dense(2, [3, 0], [2, 1], 64)),
        Spec { peaky: 3, ..Spec::dense("peaky", Sizes::dense(1, [50, 200], [2, 1], 64)) },
        Spec { peaky: 3, ..Spec::dense("peaky", Sizes::dense(1, [2, 200], [2, 1], 64)) }
            .of(DType::F16, DType::F16),
        Spec { heads_first: true, ..Spec::dense("strided", Sizes::dense(2, [37, 70], [4, 2], 64)) },
        Spec { lse: false, ..Spec::dense("split", Sizes::dense(1, [20, 300], [2, 1], 64)) }
            .with(Choice { splits: Some(2), ..Choice::default() }),
        Spec::dense("more splits than tiles", Sizes::dense(1, [3, 100], [2, 1], 128))
            .with(Choice { splits: Some(7), sink: Some(DType::Bf16), ..causal.clone() }),
        Spec::dense("flat", small()).with(Choice { scale: Some(0.0), ..Choice::default() }),
        Spec::dense("inverted", small()).with(Choice { scale: Some(-0.3), ..causal.clone() }),
        Spec::dense("capped", small()).with(Choice {
            softcap: 1.5,
            sink: Some(DType::Bf16),
            ..causal.clone()
        }),
        Spec::dense("sloped", small()).with(Choice { slopes: Some(false), ..Choice::default() }),
        Spec::dense("sloped", small())
            .with(Choice { slopes: Some(true), ..causal.clone() })
            .of(DType::F16, DType::F16),
        Spec::dense("dropped", Sizes::dense(2, [21, 70], [4, 2], 64))
            .with(Choice { dropout: Some(dropout), ..Choice::default() }),
        Spec::dense("dropped", Sizes::dense(2, [70, 70], [2, 1], 200))
            .with(Choice { dropout: Some(dropout), ..causal.clone() })
            .of(DType::F16, DType::F16),
        Spec::packed("packed", Sizes::packed(&[[1, 9], [0, 3], [77, 0], [5, 130]], [4, 2], 64)),
        Spec::packed("packed", Sizes::packed(&[[1, 9], [0, 3], [77, 0], [5, 130]], [4, 2], 64))
            .with(Choice { sink: Some(DType::F32), splits: Some(2), ..causal.clone() })
            .of(DType::F16, DType::F16),
        Spec {
            heads_first: true,
            ..Spec::packed("packed", Sizes::packed(&[[20, 33], [3, 3], [40, 80]], [2, 1], 24))
        }
        .with(Choice {
            slopes: Some(true),
            window: [Some(7), Some(2)],
            ..Choice::default()
        }),
    ];
    // All that there may be at once, also in parts of keys; and what models of windows with sinks have.
    let every = Choice {
        window: [Some(9), Some(4)],
        softcap: 2.0,
        slopes: Some(true),
        bias: Some(([true; 2], DType::F32)),
        sink: Some(DType::F32),
        dropout: Some(dropout),
        ..Choice::default()
    };
    let near = Choice { window: [Some(31), None], sink: Some(DType::Bf16), ..causal.clone() };
    specs.extend([
        Spec::dense("all at once", small()).with(every.clone()),
        Spec::dense("all at once", Sizes::dense(1, [21, 150], [2, 1], 64))
            .with(Choice { splits: Some(2), ..every.clone() })
            .of(DType::F16, DType::F16),
        Spec::packed("all at once", Sizes::packed(&[[20, 33], [3, 3], [40, 80]], [2, 1], 24))
            .with(Choice { bias: None, ..every }),
        Spec::dense("sinks and windows", Sizes::dense(1, [40, 200], [8, 1], 64)).with(near),
    ]);
    for (turn, own) in
        [[true, true], [false, true], [true, false], [false; 2]].into_iter().enumerate()
    {
        let dtype = [DType::F32, DType::Bf16][turn % 2];
        let choice = Choice { bias: Some((own, dtype)), ..Choice::default() };
        specs.push(Spec::dense("biased", small()).with(choice));
    }
    for (turn, dtype) in
        [DType::F8E4M3, DType::F8E4M3Fnuz, DType::F8E5M2, DType::F8E5M2Fnuz, DType::I8]
            .into_iter()
            .enumerate()
    {
        let choice = Choice { descales: Some(turn % 2 == 1), ..causal.clone() };
        let output = [DType::Bf16, DType::F32][turn / 2 % 2];
        let sizes = Sizes::dense(2, [21, 70], [4, 2], 64);
        let scale = if dtype == DType::I8 { 1e-5 } else { 0.125 };
        let choice = Choice { scale: Some(scale), ..choice };
        specs.push(Spec::dense("codes", sizes).with(choice).of(dtype, output));
    }
    for dtype in [DType::F8E4M3, DType::F8E4M3Fnuz] {
        let mut of = |spec: Spec, choice: &Choice| {
            specs.push(spec.with(choice.clone()).of(dtype, DType::Bf16));
        };
        let plain = Choice::default();
        of(Spec::dense("codes", Sizes::dense(1, [150, 100], [2, 1], 128)), &causal);
        of(Spec::dense("codes", Sizes::dense(1, [70, 90], [2, 1], 256)), &causal);
        of(Spec::dense("codes", Sizes::dense(1, [3, 330], [4, 2], 64)), &causal);
        let split = Choice { splits: Some(2), sink: Some(DType::F32), ..causal.clone() };
        of(Spec::dense("codes", Sizes::dense(1, [2, 300], [4, 1], 128)), &split);
        of(
            Spec::dense("codes of odd widths", Sizes::dense(1, [33, 45], [2, 1], 19).values(7)),
            &plain,
        );
        of(
            Spec::dense("codes of odd widths", Sizes::dense(1, [20, 70], [2, 2], 140).values(129)),
            &plain,
        );
        let peaky = Spec::dense("peaky codes", Sizes::dense(1, [50, 200], [2, 1], 64));
        of(Spec { peaky: 3, ..peaky }, &causal);
        of(Spec::dense("flat codes", small()), &Choice { scale: Some(0.0), ..plain.clone() });
        let near = Choice { window: [Some(20), Some(5)], softcap: 2.0, ..plain.clone() };
        of(Spec::dense("codes", Sizes::dense(1, [97, 131], [3, 3], 72)), &near);
        let dropped = Choice { dropout: Some(dropout), sink: Some(DType::F32), ..plain.clone() };
        of(Spec::dense("codes", Sizes::dense(2, [40, 70], [2, 1], 64)), &dropped);
        let packed = || {
            let lengths = [[1, 9], [0, 3], [77, 0], [5, 130]];
            Spec::packed("codes", Sizes::packed(&lengths, [4, 2], 64))
        };
        of(packed(), &causal);
        let own = Choice { slopes: Some(true), descales: Some(true), ..causal.clone() };
        of(packed(), &Choice { scale: Some(0.125), ..own });
    }
    let near = |left| Choice { window: [Some(left), None], ..causal.clone() };
    let wild = |wild, spec: Spec| Spec { wild: Some(wild), ..spec };
    let mut wilds = Vec::new();
    for [sq, sk] in [[40, 80], [35, 200], [3, 100]] {
        for d in [64, 128, 256] {
            let spec = || Spec::dense("NaN", Sizes::dense(1, [sq, sk], [2, 1], d));
            wilds.push(wild(Wild::Unseen, spec()).with(near(10)));
            wilds.push(wild(Wild::LastKey, spec()).with(causal.clone()));
        }
    }
    let spec = || Spec::dense("NaN", Sizes::dense(1, [100, 130], [2, 2], 128));
    for (input, output) in [
        (DType::F16, DType::F16),
        (DType::F8E4M3, DType::Bf16),
        (DType::F8E4M3Fnuz, DType::Bf16),
        (DType::F8E5M2, DType::Bf16),
        (DType::F8E5M2Fnuz, DType::Bf16),
    ] {
        wilds.push(wild(Wild::Unseen, spec()).with(near(3)).of(input, output));
        wilds.push(wild(Wild::LastKey, spec()).with(causal.clone()).of(input, output));
    }
    // Behind tiles of 64 and of 128 queries.
    for d in [64, 128, 200] {
        for dtype in [DType::Bf16, DType::F8E4M3, DType::F8E4M3Fnuz] {
            let spec = Spec::dense("NaN", Sizes::dense(1, [129, 139], [1, 1], d));
            let spec = wild(Wild::Value, spec).with(causal.clone());
            wilds.push(spec.of(dtype, DType::Bf16));
        }
    }
    specs.extend(wilds.into_iter().map(|spec| {
        let name = match spec.wild {
            Some(Wild::LastKey) => "the last key is NaN",
            Some(Wild::Value) => "a value is NaN",
            _ => "unseen keys are NaN",
        };
        Spec { name, ..spec }
    }));
    let weighed = |spec: Spec| Spec { weights: true, ..spec };
    let dropped = || Choice { dropout: Some(dropout), ..causal.clone() };
    let some = [[1, 9], [0, 3], [7, 0], [5, 130]];
    specs.extend([
        weighed(Spec::dense("tiny", Sizes::dense(2, [3, 5], [4, 2], 16).values(8))).with(dropped()),
        weighed(Spec::dense("plain", Sizes::dense(1, [70, 150], [2, 1], 64))),
        weighed(Spec::dense("dropped", Sizes::dense(2, [40, 23], [4, 2], 40)))
            .with(Choice { sink: Some(DType::F32), ..dropped() })
            .of(DType::F16, DType::F16),
        weighed(Spec {
            lse: false,
            ..Spec::dense("dropped", Sizes::dense(1, [90, 70], [1, 1], 136))
        })
        .with(Choice { window: [Some(20), Some(5)], causal: false, ..dropped() }),
        weighed(Spec { lse: false, ..Spec::packed("packed", Sizes::packed(&some, [4, 2], 64)) })
            .with(Choice { splits: Some(2), ..dropped() }),
        weighed(Spec::dense("no keys", Sizes::dense(2, [3, 0], [2, 1], 64))),
    ]);
    // Of each kernel: whole rows, few rows, shares of keys, and scores that change.
    let sloped = Choice { slopes: Some(false), sink: Some(DType::F32), ..Choice::default() };
    let split = Choice { splits: Some(2), ..Choice::default() };
    for (name, score) in [("no score of a query", f64::NEG_INFINITY), ("a query is NaN", f64::NAN)]
    {
        let odd = |sizes| Spec { score: Some(score), ..Spec::dense(name, sizes) };
        specs.extend([
            odd(small()),
            odd(small()).with(causal.clone()).of(DType::F16, DType::F16),
            odd(Sizes::dense(1, [1, 257], [8, 1], 128)),
            odd(Sizes::dense(1, [20, 300], [2, 1], 64)).with(split.clone()),
            weighed(odd(small())).with(sloped.clone()),
        ]);
    }
    for dtype in [DType::F8E4M3, DType::F8E4M3Fnuz] {
        let odd = Spec::dense("a query is NaN", Sizes::dense(1, [17, 70], [2, 1], 64));
        specs.push(Spec { score: Some(f64::NAN), ..odd }.of(dtype, DType::Bf16));
    }
    let of_size = |spec: Spec| Spec { size: size_of(&spec.sizes), ..spec };
    let mut cases: Vec<_> = specs.into_iter().map(|spec| of_size(spec).case()).collect();
    // 2^25 rows of heads, if all sequences were as long as one may be; hardly any is there.
    let steps = Spec::packed("steps", Sizes::packed(&[[1, 1]; 1 << 11], [8, 1], 8));
    cases.push(Spec { most: Some(1 << 11), size: Size::Large, ..steps }.case());
    cases
}

/// How much work a case of these sizes is.
fn size_of(sizes: &Sizes) -> Size {
    match sizes.products() {
        ..8_000_000 => Size::Quick,
        8_000_000..500_000_000 => Size::Core,
        _ => Size::Large,
    }
}
