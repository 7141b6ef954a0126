//! Cases of gradients of attention.

use hk_core::Result;
use hk_core::dtype::{DType, Element, bf16, f16};
use hk_ref::attn::attention::{Head, attend};
use hk_ref::attn::attention_backward::{by_scores, by_sinks, by_values, gradients, products};
use hk_ref::{Arg, Case, CaseInfo, Draw, Edge, Placement, Setup, Size};

use super::attention::{Choice, Chosen, Sizes, Wild};
use crate::{
    AttnForward, AttnGradientsOut, BackwardElement, BackwardMode, BackwardOptions, Dropout,
    TensorSlice, VarlenOptions,
};

/// What distinguishes the modules.
pub(super) trait Kind: Copy + Send + Sync + 'static {
    const MODULE: &'static str;
    /// Of dense sequences, and of packed ones.
    const OPS: [&'static str; 2];
    /// Whether heads of packed logarithms come before rows.
    const HEADS_FIRST: bool;
    /// Ways to add up gradients of queries that can be chosen.
    const MODES: &'static [BackwardMode];
    /// Whether there is no choice, and they are added up in memory.
    const IS_FUSED: bool;

    fn dense<T: BackwardElement>(
        dout: &TensorSlice<T>,
        forward: &AttnForward<'_, T>,
        options: &BackwardOptions<'_>,
        out: AttnGradientsOut<'_, T>,
    ) -> Result<()>;

    fn packed<'a, T: BackwardElement>(
        dout: &TensorSlice<T>,
        forward: &AttnForward<'_, T>,
        varlen: &VarlenOptions<'a>,
        options: &BackwardOptions<'a>,
        out: AttnGradientsOut<'_, T>,
    ) -> Result<()>;
}

/// What varies between cases.
#[derive(Debug, Clone)]
struct Spec {
    name: &'static str,
    sizes: Sizes,
    choice: Choice,
    is_packed: bool,
    dtype: DType,
    /// Whether gradients of results lie with rows before sequences.
    rows_first: bool,
    /// Rows of queries and of keys of each sequence that count, of those that there are.
    used: Option<Vec<[usize; 2]>>,
    mode: BackwardMode,
    /// By which power of two queries are larger than usual.
    peaky: i32,
    /// Whether keys are alike by fours.
    tied: bool,
    /// Whether keys and values that no query sees are NaN.
    wild: bool,
    place: Placement,
}

impl Spec {
    fn dense(name: &'static str, sizes: Sizes) -> Self {
        let (choice, dtype) = (Choice::default(), DType::Bf16);
        let mode = BackwardMode::Deterministic;
        Self {
            name,
            sizes,
            choice,
            is_packed: false,
            dtype,
            rows_first: false,
            used: None,
            mode,
            peaky: 0,
            tied: false,
            wild: false,
            place: Placement::DENSE,
        }
    }

    fn packed(name: &'static str, lengths: &[[usize; 2]], heads: [usize; 2], d: usize) -> Self {
        Self { is_packed: true, ..Self::dense(name, Sizes::packed(lengths, heads, d)) }
    }

    fn with(self, choice: Choice) -> Self {
        Self { choice, ..self }
    }

    fn f16(self) -> Self {
        Self { dtype: DType::F16, ..self }
    }

    fn case<K: Kind>(self) -> Case {
        let mut title = format!("{}{}", self.name, self.choice.title());
        title += if self.rows_first { ", rows first" } else { "" };
        title += if self.used.is_some() { ", some used" } else { "" };
        title += if self.mode == BackwardMode::FusedAtomic { ", fused" } else { "" };
        let op = K::OPS[usize::from(self.is_packed)];
        let dtypes = [self.dtype];
        let info = CaseInfo::new(K::MODULE, op, title, &dtypes, &self.sizes.shape());
        let size = if self.sizes.products() < 4_000_000 { Size::Quick } else { Size::Core };
        let place = self.place;
        let case = Case::new(CaseInfo { size, ..info }, move |s| match self.dtype {
            DType::F16 => set_up::<K, f16>(s, &self),
            _ => set_up::<K, bf16>(s, &self),
        });
        case.place(place)
    }
}

/// A sequence and a head of queries, whose rows begin with these among all.
struct Part {
    b: usize,
    h: usize,
    first: [usize; 2],
    queries: usize,
    head: Head,
}

/// What comes of all sequences and heads.
struct All {
    dq: Vec<f64>,
    dk: Vec<f64>,
    dv: Vec<f64>,
    dsink: Vec<f64>,
    /// Of rows of heads.
    delta: Vec<f64>,
}

fn set_up<K: Kind, T: BackwardElement + Element>(s: &mut Setup, spec: &Spec) {
    let Spec { sizes, is_packed, .. } = spec;
    let ([hq, hk], [d, dv]) = (sizes.heads, sizes.widths);
    let b = sizes.lengths.len();
    let rows = |of: usize, heads: usize, width: usize| match is_packed {
        true => vec![sizes.rows(of), heads, width],
        false => vec![b, sizes.most(of), heads, width],
    };
    let q = s.input::<T>("q", &rows(0, hq, d), Draw::Scaled(spec.peaky));
    let shapes = [rows(1, hk, d), rows(1, hk, dv)];
    let mut keys: Vec<T> = s.draw("k", &shapes[0], Draw::Normal);
    let mut values: Vec<T> = s.draw("v", &shapes[1], Draw::Normal);
    if spec.tied {
        for four in keys.chunks_mut(4 * hk * d) {
            let (first, rest) = four.split_at_mut(hk * d);
            rest.chunks_mut(hk * d).for_each(|row| row.copy_from_slice(first));
        }
    }
    if spec.wild {
        Wild::Unseen.spoil(sizes, spec.choice.window[0], [&mut keys, &mut values]);
    }
    let [k, v] = [s.given("k", &shapes[0], keys), s.given("v", &shapes[1], values)];
    let dout = s.input::<T>("dout", &rows(0, hq, dv), Draw::Normal);
    let dout = if spec.rows_first { dout.order(&[1, 0, 2, 3]) } else { dout };
    let bounds = is_packed.then(|| {
        [("cu_seqlens_q", 0), ("cu_seqlens_k", 1)]
            .map(|(name, of)| s.given(name, &[b + 1], sizes.bounds(of)))
    });
    let used = spec.used.as_ref().map(|used| {
        [("seqused_q", 0), ("seqused_k", 1)].map(|(name, of)| {
            s.given::<i32>(name, &[b], used.iter().map(|used| used[of] as i32).collect())
        })
    });
    let counted = Sizes {
        lengths: spec.used.clone().unwrap_or_else(|| sizes.lengths.clone()),
        ..sizes.clone()
    };
    let chosen = Chosen::new(s, &spec.choice, &counted);

    // The forward pass, as it stores its results.
    let numbers = [q.numbers(), k.numbers(), v.numbers(), dout.numbers()];
    let row = |x: &[f64], at: usize, heads: usize, head: usize, width: usize| {
        x[(at * heads + head) * width..][..width].to_vec()
    };
    let all_rows = sizes.rows(0);
    let (mut o, mut lse) = (vec![0.0; all_rows * hq * dv], vec![0.0; all_rows * hq]);
    let heads: Vec<Part> = {
        let mut heads = Vec::new();
        let mut first = [0; 2];
        for (b, [sq, sk]) in sizes.lengths.iter().copied().enumerate() {
            let [nq, nk] = counted.lengths[b];
            for h in 0..hq {
                let of = h / (hq / hk);
                let head = Head {
                    q: (0..nq).map(|i| row(&numbers[0], first[0] + i, hq, h, d)).collect(),
                    k: (0..nk).map(|j| row(&numbers[1], first[1] + j, hk, of, d)).collect(),
                    v: (0..nk).map(|j| row(&numbers[2], first[1] + j, hk, of, dv)).collect(),
                };
                for (i, attended) in
                    attend(&head, &chosen.scores(&counted, b, h)).iter().enumerate()
                {
                    let at = (first[0] + i) * hq + h;
                    o[at * dv..][..attended.o.len()].copy_from_slice(&attended.o);
                    lse[at] = attended.lse;
                }
                heads.push(Part { b, h, first, queries: nq, head });
            }
            first = [first[0] + sq, first[1] + sk];
        }
        heads
    };
    let out = s.given::<T>("out", &rows(0, hq, dv), T::encode(&o));
    let stored = out.numbers();

    let mut all = All {
        dq: vec![0.0; all_rows * hq * d],
        dk: vec![0.0; sizes.rows(1) * hk * d],
        dv: vec![0.0; sizes.rows(1) * hk * dv],
        dsink: vec![0.0; hq],
        delta: vec![0.0; all_rows * hq],
    };
    for Part { b, h, first, queries, head } in &heads {
        let of_rows = |x: &[f64]| -> Vec<Vec<f64>> {
            (0..*queries).map(|i| row(x, first[0] + i, hq, *h, dv)).collect()
        };
        let scores = chosen.scores(&counted, *b, *h);
        let found = gradients(head, &scores, &of_rows(&stored), &of_rows(&numbers[3]));
        let add = |to: &mut [f64], rows: &[Vec<f64>], first: usize, heads: usize, h: usize| {
            for (i, row) in rows.iter().enumerate() {
                let at = ((first + i) * heads + h) * row.len();
                to[at..][..row.len()].iter_mut().zip(row).for_each(|(to, x)| *to += x);
            }
        };
        let of = h / (hq / hk);
        add(&mut all.dq, &found.q, first[0], hq, *h);
        add(&mut all.dk, &found.k, first[1], hk, of);
        add(&mut all.dv, &found.v, first[1], hk, of);
        all.dsink[*h] += found.sink;
        for (i, delta) in found.delta.iter().enumerate() {
            all.delta[(first[0] + i) * hq + h] = *delta;
        }
    }

    // Numbers of rows of heads, as logarithms lie.
    let most = sizes.most(0);
    let (shape, place): (Vec<usize>, Vec<usize>) = match (is_packed, K::HEADS_FIRST) {
        (false, _) => {
            let of = |at: usize| (at / most / hq * most + at % most) * hq + at / most % hq;
            (vec![b, hq, most], (0..all_rows * hq).map(of).collect())
        }
        (true, true) => {
            let of = |at: usize| at % all_rows * hq + at / all_rows;
            (vec![hq, all_rows], (0..all_rows * hq).map(of).collect())
        }
        (true, false) => (vec![all_rows, hq], (0..all_rows * hq).collect()),
    };
    let lay = |x: &[f64]| -> Vec<f64> { place.iter().map(|at| x[*at]).collect() };
    let lse = s.given::<f32>("lse", &shape, lay(&lse).into_iter().map(|x| x as f32).collect());
    let (is_zero, mode) = (spec.used.is_some(), spec.mode);
    let dq = s.output::<T>("dq", &rows(0, hq, d), by_scores(all.dq));
    let is_fused = K::IS_FUSED || mode == BackwardMode::FusedAtomic;
    let dq = if is_fused { dq.in_any_order() } else { dq };
    let dk = s.output::<T>("dk", &rows(1, hk, d), by_scores(all.dk));
    let d_v = s.output::<T>("dv", &rows(1, hk, dv), by_values(all.dv));
    let delta = s.output::<f32>("delta", &shape, products(lay(&all.delta), dv));
    let delta = if is_zero { delta.holding(vec![0.0; all_rows * hq]) } else { delta };
    let dsink = spec.choice.sink.map(|_| s.output::<f32>("dsink", &[hq], by_sinks(all.dsink)));
    let [max_seqlen_q, max_seqlen_k] = [0, 1].map(|of| sizes.most(of));
    s.call(move || {
        let (q, k, v, o, lse, dout) = (q.get(), k.get(), v.get(), out.get(), lse.get(), dout.get());
        let forward = AttnForward { q: &q, k: &k, v: &v, out: &o, lse: &lse };
        let (mut dq, mut dk, mut dv, mut delta) = (dq.get(), dk.get(), d_v.get(), delta.get());
        let mut dsink = dsink.as_ref().map(|dsink| dsink.get());
        let into = AttnGradientsOut {
            dq: &mut dq,
            dk: &mut dk,
            dv: &mut dv,
            delta: &mut delta,
            dsink: dsink.as_deref_mut(),
        };
        let used = used.as_ref().map(|used| used.each_ref().map(Arg::get));
        let of = |which: usize| used.as_ref().map(|used| (&used[which]).into());
        chosen.with(|options| {
            let options = BackwardOptions::default().attention(*options).seqused(of(0), of(1));
            let options = options.zero_tensors(is_zero);
            let options = if K::MODES.len() > 1 { options.mode(mode) } else { options };
            match &bounds {
                None => K::dense(&dout, &forward, &options, into),
                Some([of_q, of_k]) => {
                    let (of_q, of_k) = (of_q.get(), of_k.get());
                    let varlen = VarlenOptions {
                        cu_seqlens_q: (&of_q).into(),
                        cu_seqlens_k: (&of_k).into(),
                        max_seqlen_q,
                        max_seqlen_k,
                    };
                    K::packed(&dout, &forward, &varlen, &options, into)
                }
            }
        })
    });
}

/// Every case of a module.
pub(super) fn cases<K: Kind>() -> Vec<Case> {
    let causal = || Choice { causal: true, ..Choice::default() };
    let dropout = Dropout { p: 0.2, seed: 0x1234_5678_9abc_def0, offset: 0xfedc_ba98_7654_3210 };
    let dropped = || Choice { dropout: Some(dropout), ..Choice::default() };
    let sinks = || Choice { sink: Some(DType::F32), ..causal() };
    let dense = |name, b, lengths, heads, d| Spec::dense(name, Sizes::dense(b, lengths, heads, d));
    let lengths = [[1, 5], [0, 3], [31, 40]];
    let mut specs = vec![
        Spec {
            sizes: Sizes::dense(2, [3, 5], [4, 2], 16).values(8),
            ..dense("tiny", 2, [3, 5], [4, 2], 16)
        }
        .with(Choice { slopes: Some(true), softcap: 2.0, ..sinks() }),
        Spec::packed("tiny", &[[3, 5], [2, 7]], [4, 2], 16)
            .with(Choice { slopes: Some(true), ..sinks() }),
        dense("square", 1, [64, 64], [2, 1], 32),
        dense("square", 1, [64, 64], [2, 1], 32).with(causal()).f16(),
        dense("oblong", 1, [48, 80], [2, 2], 64),
        dense("oblong", 1, [48, 80], [2, 2], 64).with(causal()),
        dense("oblong", 1, [48, 80], [2, 2], 64).with(dropped()).f16(),
        dense("more queries than keys", 1, [80, 48], [2, 2], 64).with(causal()),
        dense("more queries than keys", 1, [80, 48], [2, 2], 64).with(causal()).f16(),
        dense("narrow", 2, [33, 17], [4, 2], 40),
        dense("narrow", 2, [33, 17], [4, 2], 40).with(Choice { dropout: Some(dropout), ..sinks() }),
        dense("several tiles", 1, [140, 300], [2, 1], 64).with(causal()),
        dense("several tiles", 1, [300, 140], [2, 1], 128),
        dense("several tiles", 1, [150, 140], [3, 1], 128)
            .with(Choice { window: [Some(40), Some(3)], ..Choice::default() }),
        dense("wide", 1, [70, 90], [2, 1], 256).with(causal()),
        dense("wide", 1, [70, 90], [2, 1], 256).with(Choice { softcap: 5.0, ..dropped() }).f16(),
        dense("wide", 1, [40, 70], [2, 2], 136),
        dense("windowed", 1, [97, 131], [3, 3], 72)
            .with(Choice { window: [Some(7), Some(3)], ..Choice::default() }),
        dense("windowed", 1, [131, 97], [2, 1], 64).with(Choice {
            window: [Some(7), None],
            slopes: Some(false),
            ..Choice::default()
        }),
        dense("self and the one before", 1, [70, 70], [2, 1], 64)
            .with(Choice { window: [Some(1), Some(0)], ..Choice::default() }),
        dense("steep", 1, [50, 60], [2, 1], 64).with(Choice { scale: Some(1.0), ..sinks() }),
        dense("inverted", 1, [50, 60], [2, 1], 64).with(Choice { scale: Some(-0.3), ..causal() }),
        dense("capped", 1, [50, 60], [2, 1], 64).with(Choice { softcap: 1.5, ..sinks() }),
        dense("no keys", 2, [3, 0], [2, 1], 64).with(sinks()),
        dense("no queries", 2, [0, 3], [2, 1], 64),
        // Gradients of sinks are sums over nothing.
        dense("no sequences", 0, [3, 5], [2, 1], 64).with(sinks()),
        Spec::packed("no sequences", &[], [2, 1], 64).with(sinks()),
        Spec { rows_first: true, ..dense("strided", 2, [37, 70], [4, 2], 64) },
        Spec::dense("rotated part", Sizes::dense(1, [48, 80], [2, 2], 96).values(64)),
        Spec::dense("rotated part", Sizes::dense(1, [48, 80], [2, 2], 192).values(128))
            .with(Choice { window: [Some(20), Some(0)], ..Choice::default() })
            .f16(),
        Spec::packed("packed", &lengths, [2, 1], 64),
        Spec::packed("packed", &lengths, [2, 1], 64)
            .with(Choice { dropout: Some(dropout), ..sinks() }),
        Spec::packed("packed", &lengths, [4, 1], 128).with(causal()).f16(),
        Spec::packed("packed", &[[77, 0], [5, 130], [70, 66]], [2, 2], 32).with(causal()),
    ];
    // Scaled inputs, ties, and what must not matter.
    for (d, lengths) in [(64, [70, 90]), (128, [40, 150])] {
        let spec = |name| dense(name, 1, lengths, [2, 1], d).with(causal());
        specs.push(Spec { peaky: 3, ..spec("peaky") });
        specs.push(Spec { peaky: 3, ..spec("peaky") }.f16());
        specs.push(Spec { tied: true, ..spec("tied") });
    }
    let near = |left, right| Choice { window: [Some(left), right], ..Choice::default() };
    for (d, lengths, choice) in [
        (64, [40, 80], near(10, Some(0))),
        (128, [40, 150], near(30, Some(5))),
        (256, [30, 100], near(0, None)),
        (64, [30, 200], Choice { softcap: 5.0, ..near(20, Some(0)) }),
    ] {
        let spec = dense("unseen keys are NaN", 1, lengths, [2, 1], d).with(choice);
        specs.push(Spec { wild: true, ..spec.clone() });
        specs.push(Spec { wild: true, ..spec }.f16());
    }
    specs.push(
        dense("sinks", 1, [32, 128], [6, 1], 64)
            .with(Choice { sink: Some(DType::Bf16), ..causal() }),
    );
    specs.push(dense("sinks", 1, [128, 64], [3, 1], 64).with(sinks()));
    specs.push(
        dense("sinks", 1, [32, 128], [2, 1], 128)
            .with(Choice { dropout: Some(dropout), ..sinks() }),
    );
    let used = vec![[20, 33], [0, 5], [37, 0]];
    specs.push(Spec {
        used: Some(used.clone()),
        ..dense("shorter", 3, [37, 50], [4, 2], 64).with(causal())
    });
    specs.push(Spec {
        used: Some(used),
        ..Spec::packed("shorter", &[[21, 33], [9, 9], [40, 8]], [2, 1], 64)
    });
    // Widths that are no whole chunks, also of one of both alone, with nothing or NaN behind rows.
    let gaps = Placement::DENSE.gap(3).shift(1);
    let end = Placement::DENSE.edge(Edge::End);
    let odd = |lengths, heads, [d, dv]: [usize; 2]| {
        Spec::dense("odd widths", Sizes::dense(1, lengths, heads, d).values(dv))
    };
    // Of narrow ones so many heads that what rounds weights evens out.
    for (heads, d, dv) in [([12, 6], 1, 1), ([6, 3], 5, 3), ([2, 1], 19, 16), ([2, 1], 64, 60)] {
        specs.push(odd([20, 37], heads, [d, dv]).with(causal()));
        specs.push(Spec { place: gaps, ..odd([20, 37], heads, [d, dv]).f16() });
    }
    let all = Choice { slopes: Some(true), softcap: 2.0, dropout: Some(dropout), ..sinks() };
    let near_all = || Choice { causal: false, window: [Some(9), Some(4)], ..all.clone() };
    specs.extend([
        dense("all at once", 1, [40, 70], [4, 2], 64).with(near_all()),
        Spec::packed("all at once", &lengths, [4, 2], 64).with(near_all()).f16(),
        Spec {
            used: Some(vec![[20, 33], [0, 5], [37, 0]]),
            ..dense("all at once, shorter", 3, [37, 50], [4, 2], 64).with(near_all())
        },
        Spec { place: gaps, ..odd([150, 40], [2, 1], [60, 7]).with(near(20, Some(3))) },
        Spec { place: end, ..odd([40, 70], [2, 1], [100, 100]).with(causal()) },
        Spec { place: gaps, ..odd([70, 40], [2, 2], [100, 37]).f16() },
        Spec { place: gaps, ..odd([40, 70], [2, 1], [133, 133]) },
        odd([40, 37], [2, 1], [255, 250]).with(causal()).f16(),
        Spec { place: gaps, ..odd([21, 33], [4, 2], [67, 67]).with(all.clone()) },
        odd([21, 33], [2, 1], [131, 129]).with(all.clone()),
        odd([21, 33], [2, 1], [131, 129]).with(all.clone()).f16(),
        Spec { wild: true, ..odd([40, 80], [2, 1], [45, 45]).with(near(10, Some(0))) },
    ]);
    for (d, place) in [(13, gaps), (100, end), (201, gaps)] {
        specs
            .push(Spec { place, ..Spec::packed("odd widths", &lengths, [2, 1], d).with(causal()) });
    }
    // Of Llama 3 8B, and of it with sinks and dropout, in small.
    specs.push(dense("llama", 1, [256, 256], [8, 2], 128).with(causal()));
    specs.push(
        dense("llama", 1, [128, 64], [8, 1], 128)
            .with(Choice { dropout: Some(dropout), ..sinks() }),
    );
    let of = |mode: &BackwardMode| {
        let mode = *mode;
        specs.iter().cloned().map(move |spec| Spec { mode, ..spec })
    };
    K::MODES.iter().flat_map(of).map(Spec::case::<K>).collect()
}
