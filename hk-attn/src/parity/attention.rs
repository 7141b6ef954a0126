//! What cases of attention share: inputs of sequences, and what is to come out of them.

use hk_core::Arch;
use hk_core::dtype::{DType, bf16};
use hk_ref::attn::attention::{
    Alibi, Attended, Dropped, Head, Scores, attend, coded_results, results,
};
use hk_ref::{Arg, Draw, Expected, Setup};

use super::paged::poison;
use crate::{AttentionElement, AttentionOptions, Dropout};

/// Sequences, heads and widths of a case.
#[derive(Debug, Clone)]
pub(super) struct Sizes {
    /// Queries and keys of each sequence.
    pub(super) lengths: Vec<[usize; 2]>,
    /// Heads of queries and of keys.
    pub(super) heads: [usize; 2],
    /// Widths of keys and of values.
    pub(super) widths: [usize; 2],
}

impl Sizes {
    /// Sequences that are equally long.
    pub(super) fn dense(b: usize, [sq, sk]: [usize; 2], heads: [usize; 2], d: usize) -> Self {
        Self { lengths: vec![[sq, sk]; b], heads, widths: [d, d] }
    }

    pub(super) fn packed(lengths: &[[usize; 2]], heads: [usize; 2], d: usize) -> Self {
        Self { lengths: lengths.to_vec(), heads, widths: [d, d] }
    }

    pub(super) fn values(self, dv: usize) -> Self {
        Self { widths: [self.widths[0], dv], ..self }
    }

    /// Rows of queries, or of keys, of all sequences.
    pub(super) fn rows(&self, of: usize) -> usize {
        self.lengths.iter().map(|lengths| lengths[of]).sum()
    }

    /// The most rows of a sequence.
    pub(super) fn most(&self, of: usize) -> usize {
        self.lengths.iter().map(|lengths| lengths[of]).max().unwrap_or_default()
    }

    /// The bounds of the sequences.
    pub(super) fn bounds(&self, of: usize) -> Vec<i32> {
        let mut bounds = vec![0];
        for lengths in &self.lengths {
            bounds.push(bounds[bounds.len() - 1] + lengths[of] as i32);
        }
        bounds
    }

    /// Sequences, the most queries and keys, heads and widths.
    pub(super) fn shape(&self) -> [usize; 7] {
        let ([hq, hk], [d, dv]) = (self.heads, self.widths);
        [self.lengths.len(), self.most(0), self.most(1), hq, hk, d, dv]
    }

    /// Whether a query of a sequence sees a key, if each sees so many before its own.
    pub(super) fn sees(&self, left: Option<u32>, sequence: usize, key: usize) -> bool {
        let [queries, keys] = self.lengths[sequence];
        left.is_none_or(|left| key + left as usize + queries >= keys)
    }

    /// Products of a case.
    pub(super) fn products(&self) -> usize {
        let pairs: usize = self.lengths.iter().map(|[q, k]| q * k).sum();
        pairs * self.heads[0] * (self.widths[0] + self.widths[1])
    }
}

/// Keys and values that are NaN.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wild {
    /// All that no query sees.
    Unseen,
    /// The last key, of which causal queries but the last see nothing; its value is a number.
    LastKey,
    /// The value that causal queries see from number 128 on.
    Value,
}

impl Wild {
    /// Makes them NaN, of the one sequence whose queries see so many keys before their own.
    pub(super) fn spoil<T: AttentionElement>(
        self,
        sizes: &Sizes,
        left: Option<u32>,
        [keys, values]: [&mut [T]; 2],
    ) {
        let ([_, hk], [d, dv], [sq, sk]) = (sizes.heads, sizes.widths, sizes.lengths[0]);
        for key in 0..sk {
            let is_wild = match self {
                Self::Unseen => !sizes.sees(left, 0, key),
                Self::LastKey => key + 1 == sk,
                Self::Value => key + sq == sk + 128,
            };
            if is_wild && self != Self::Value {
                keys[key * hk * d..][..hk * d].fill(poison());
            }
            if is_wild && self != Self::LastKey {
                values[key * hk * dv..][..hk * dv].fill(poison());
            }
        }
    }
}

/// Options of a case, as numbers.
#[derive(Debug, Clone, Default)]
pub(super) struct Choice {
    pub(super) scale: Option<f32>,
    pub(super) causal: bool,
    pub(super) window: [Option<u32>; 2],
    pub(super) softcap: f32,
    /// Whether heads have slopes, and whether sequences have their own.
    pub(super) slopes: Option<bool>,
    /// Whether sequences, and heads, have biases of their own; and their type.
    pub(super) bias: Option<([bool; 2], DType)>,
    pub(super) sink: Option<DType>,
    pub(super) dropout: Option<Dropout>,
    /// Whether queries, keys and values have scales; those of queries for heads of keys.
    pub(super) descales: Option<bool>,
    pub(super) splits: Option<u32>,
}

impl Choice {
    pub(super) fn title(&self) -> String {
        let mut title = String::new();
        let mut say = |is_said: bool, what: &str| title += if is_said { what } else { "" };
        say(self.causal, ", causal");
        say(self.scale.is_some(), ", scaled");
        say(self.softcap > 0.0, ", capped");
        say(self.slopes == Some(false), ", slopes");
        say(self.slopes == Some(true), ", slopes of sequences");
        say(self.descales == Some(false), ", scales");
        say(self.descales == Some(true), ", scales of key heads");
        if let [left, right @ ..] = self.window
            && self.window != [None; 2]
        {
            title += &format!(", window {left:?} {right:?}");
        }
        if let Some((of, dtype)) = self.bias {
            title += &format!(", {dtype} bias {of:?}");
        }
        if let Some(dtype) = self.sink {
            title += &format!(", {dtype} sink");
        }
        if let Some(dropout) = self.dropout {
            title += &format!(", dropout {}", dropout.p);
        }
        if let Some(splits) = self.splits {
            title += &format!(", {splits} splits");
        }
        title
    }
}

/// Numbers of heads, of f32 or of bf16.
pub(super) enum Numbers {
    F32(Arg<f32>),
    Bf16(Arg<bf16>),
}

impl Numbers {
    fn input(s: &mut Setup, name: &'static str, shape: &[usize], dtype: DType) -> Self {
        match dtype {
            DType::F32 => Self::F32(s.input(name, shape, Draw::Normal)),
            _ => Self::Bf16(s.input(name, shape, Draw::Normal)),
        }
    }

    fn numbers(&self) -> Vec<f64> {
        match self {
            Self::F32(arg) => arg.numbers(),
            Self::Bf16(arg) => arg.numbers(),
        }
    }
}

/// The tensors that options are given as.
#[derive(Default)]
pub(super) struct Chosen {
    choice: Choice,
    slopes: Option<Arg<f32>>,
    bias: Option<Numbers>,
    sink: Option<Numbers>,
    descales: Option<[Arg<f32>; 3]>,
}

impl Chosen {
    /// Declares them, of sequences of that many queries and keys if there is a bias.
    pub(super) fn new(s: &mut Setup, choice: &Choice, sizes: &Sizes) -> Self {
        let (b, [hq, hk]) = (sizes.lengths.len(), sizes.heads);
        let slopes = choice.slopes.map(|own| {
            let shape = if own { vec![b, hq] } else { vec![hq] };
            s.input("alibi_slopes", &shape, Draw::Uniform)
        });
        let bias = choice.bias.map(|(own, dtype)| {
            let [b, hq] = [if own[0] { b } else { 1 }, if own[1] { hq } else { 1 }];
            Numbers::input(s, "bias", &[b, hq, sizes.most(0), sizes.most(1)], dtype)
        });
        let sink = choice.sink.map(|dtype| Numbers::input(s, "sink", &[hq], dtype));
        let descales = choice.descales.map(|of_key_heads| {
            let heads = if of_key_heads { hk } else { hq };
            let mut scales = |name, heads| s.input(name, &[b, heads], Draw::Powers(-2, 2));
            [scales("q_descale", heads), scales("k_descale", hk), scales("v_descale", hk)]
        });
        Self { choice: choice.clone(), slopes, bias, sink, descales }
    }

    /// Calls `body` with the options.
    pub(super) fn with<R>(&self, body: impl FnOnce(&AttentionOptions<'_>) -> R) -> R {
        let choice = &self.choice;
        let (slopes, scales) = (
            self.slopes.as_ref().map(Arg::get),
            self.descales.as_ref().map(|all| all.each_ref().map(Arg::get)),
        );
        let [bias, sink] = [&self.bias, &self.sink].map(|numbers| match numbers {
            Some(Numbers::F32(arg)) => (Some(arg.get()), None),
            Some(Numbers::Bf16(arg)) => (None, Some(arg.get())),
            None => (None, None),
        });
        let mut options = AttentionOptions::default()
            .causal(choice.causal)
            .window(choice.window[0], choice.window[1])
            .softcap(choice.softcap);
        if let Some(scale) = choice.scale {
            options = options.scale(scale);
        }
        if let Some(slopes) = &slopes {
            options = options.alibi_slopes(slopes);
        }
        match &bias {
            (Some(bias), _) => options = options.bias(bias),
            (_, Some(bias)) => options = options.bias(bias),
            _ => (),
        }
        match &sink {
            (Some(sink), _) => options = options.sink(sink),
            (_, Some(sink)) => options = options.sink(sink),
            _ => (),
        }
        if let Some(dropout) = choice.dropout {
            options = options.dropout(dropout);
        }
        if let Some([q, k, v]) = &scales {
            options = options.q_descale(q).k_descale(k).v_descale(v);
        }
        if let Some(splits) = choice.splits {
            options = options.num_splits(splits);
        }
        body(&options)
    }

    /// What is done to the scores of a sequence and a head of queries.
    pub(super) fn scores(&self, sizes: &Sizes, b: usize, h: usize) -> Scores {
        let (choice, [hq, hk]) = (&self.choice, sizes.heads);
        let [sq, sk] = sizes.lengths[b];
        let group = hq / hk;
        let mut scale = choice.scale.map_or(1.0 / (sizes.widths[0] as f64).sqrt(), f64::from);
        let mut value_scales = None;
        if let Some([q, k, v]) = &self.descales {
            let q = q.numbers();
            scale *= if q.len() == sizes.lengths.len() * hq {
                q[b * hq + h]
            } else {
                q[b * hk + h / group]
            };
            scale *= k.numbers()[b * hk + h / group];
            value_scales = Some(vec![v.numbers()[b * hk + h / group]; sk]);
        }
        let slope = self.slopes.as_ref().map(|slopes| {
            let slopes = slopes.numbers();
            (Alibi::Distance, if slopes.len() == hq { slopes[h] } else { slopes[b * hq + h] })
        });
        let bias = self.bias.as_ref().map(|bias| {
            let (all, own) = (bias.numbers(), choice.bias.map_or([false; 2], |bias| bias.0));
            let heads = if own[1] { hq } else { 1 };
            let of = usize::from(own[0]) * b * heads + usize::from(own[1]) * h;
            all[of * sq * sk..][..sq * sk].to_vec()
        });
        let right = if choice.causal { Some(0) } else { choice.window[1] };
        Scores {
            scale,
            softcap: (choice.softcap > 0.0).then_some(f64::from(choice.softcap)),
            alibi: slope,
            bias,
            window: [choice.window[0], right].map(|side| side.map(|keys| keys as usize)),
            first_position: sk as i64 - sq as i64,
            mask: None,
            sink: self.sink.as_ref().map(|sink| sink.numbers()[h]),
            dropped: choice.dropout.map(|Dropout { p, seed, offset }| Dropped {
                p,
                seed,
                offset,
                head: (b * hq + h) as u32,
            }),
            value_scales,
            key_scales: None,
        }
    }
}

/// Numbers of queries, keys and values, rows after rows of all heads.
pub(super) struct Inputs {
    pub(super) q: Vec<f64>,
    pub(super) k: Vec<f64>,
    pub(super) v: Vec<f64>,
}

/// What comes out: results, rows after rows of heads, and logarithms of sums of sequences, heads and
/// rows.
pub(super) struct Results {
    pub(super) o: Vec<f64>,
    /// For each, the largest magnitude of values of its head.
    pub(super) largest: Vec<f64>,
    pub(super) lse: Vec<Vec<Vec<f64>>>,
    /// Weights of keys of rows of heads of sequences.
    weights: Vec<Vec<Vec<Vec<f64>>>>,
}

impl Results {
    /// Logarithms of rows of heads.
    pub(super) fn lse_of_rows(&self) -> Vec<f64> {
        let mut all = Vec::new();
        for heads in &self.lse {
            let rows = heads.first().map_or(0, Vec::len);
            (0..rows).for_each(|i| all.extend(heads.iter().map(|head| head[i])));
        }
        all
    }

    /// Weights of each sequence, head, row and key, of so many rows and keys, of which those are 0 that are not
    /// there.
    pub(super) fn all_weights(&self, [rows, keys]: [usize; 2]) -> Vec<f64> {
        let mut all = Vec::new();
        for head in self.weights.iter().flatten() {
            let end = all.len() + rows * keys;
            for row in head {
                let next = all.len() + keys;
                all.extend(row);
                all.resize(next, 0.0);
            }
            all.resize(end, 0.0);
        }
        all
    }

    /// Logarithms of heads of rows, of each sequence.
    pub(super) fn lse_of_heads(&self) -> Vec<f64> {
        self.lse.iter().flatten().flatten().copied().collect()
    }
}

/// Results of queries and of keys and values of these types, as they are stored: all of e4m3 are multiplied as
/// such, as weights are. `largest` are those of [`Results`].
pub(super) fn stored(o: Vec<f64>, largest: &[f64], inputs: [DType; 2], output: DType) -> Expected {
    let is_code = |dtype| matches!(dtype, DType::F8E4M3 | DType::F8E4M3Fnuz);
    if inputs.into_iter().all(is_code) {
        coded_results(o, largest, output)
    } else {
        results(o, output)
    }
}

/// The attention of all sequences and heads.
pub(super) fn expected(
    sizes: &Sizes,
    inputs: &Inputs,
    scores: impl Fn(usize, usize) -> Scores,
) -> Results {
    let ([hq, hk], [d, dv]) = (sizes.heads, sizes.widths);
    let row = |x: &[f64], at: usize, heads: usize, head: usize, width: usize| {
        x[(at * heads + head) * width..][..width].to_vec()
    };
    let (mut o, mut lse) = (vec![0.0; sizes.rows(0) * hq * dv], Vec::new());
    let (mut all_largest, mut weights) = (o.clone(), Vec::new());
    let mut first = [0; 2];
    for (b, [sq, sk]) in sizes.lengths.iter().copied().enumerate() {
        let (mut of_heads, mut weights_of_heads) = (Vec::new(), Vec::new());
        for h in 0..hq {
            let of = h / (hq / hk);
            let head = Head {
                q: (0..sq).map(|i| row(&inputs.q, first[0] + i, hq, h, d)).collect(),
                k: (0..sk).map(|j| row(&inputs.k, first[1] + j, hk, of, d)).collect(),
                v: (0..sk).map(|j| row(&inputs.v, first[1] + j, hk, of, dv)).collect(),
            };
            let scores = scores(b, h);
            let attended: Vec<Attended> = attend(&head, &scores);
            let scale = |j: usize| scores.value_scales.as_ref().map_or(1.0, |scales| scales[j]);
            let of_row = |(j, row): (usize, &Vec<f64>)| {
                scale(j) * row.iter().fold(0.0, |most: f64, x| most.max(x.abs()))
            };
            let largest = head.v.iter().enumerate().map(of_row).fold(0.0, f64::max);
            for (i, attended) in attended.iter().enumerate() {
                let at = ((first[0] + i) * hq + h) * dv;
                o[at..at + attended.o.len()].copy_from_slice(&attended.o);
                all_largest[at..at + dv].fill(largest);
            }
            let (sums, of_rows) = attended
                .into_iter()
                .map(|row| (row.lse, row.weights))
                .unzip::<_, _, Vec<_>, Vec<_>>();
            of_heads.push(sums);
            weights_of_heads.push(of_rows);
        }
        lse.push(of_heads);
        weights.push(weights_of_heads);
        first = [first[0] + sq, first[1] + sk];
    }
    Results { o, largest: all_largest, lse, weights }
}

/// The architecture whose 8-bit floating point an element type is.
pub(super) fn arch_of(dtype: DType) -> Option<Arch> {
    match dtype {
        DType::F8E4M3 | DType::F8E5M2 => Some(Arch::Gfx950),
        DType::F8E4M3Fnuz | DType::F8E5M2Fnuz => Some(Arch::Gfx942),
        _ => None,
    }
}

/// Makes types of the element types of queries, keys and values.
macro_rules! attention_element {
    ($dtype:expr, $T:ident => $body:expr) => {
        match $dtype {
            hk_core::dtype::DType::F16 => {
                type $T = hk_core::dtype::f16;
                $body
            }
            hk_core::dtype::DType::F8E4M3 => {
                type $T = hk_core::dtype::F8E4M3;
                $body
            }
            hk_core::dtype::DType::F8E4M3Fnuz => {
                type $T = hk_core::dtype::F8E4M3Fnuz;
                $body
            }
            hk_core::dtype::DType::F8E5M2 => {
                type $T = hk_core::dtype::F8E5M2;
                $body
            }
            hk_core::dtype::DType::F8E5M2Fnuz => {
                type $T = hk_core::dtype::F8E5M2Fnuz;
                $body
            }
            hk_core::dtype::DType::I8 => {
                type $T = i8;
                $body
            }
            _ => {
                type $T = hk_core::dtype::bf16;
                $body
            }
        }
    };
}
pub(super) use attention_element;
