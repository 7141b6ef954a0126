//! Cases of `mla_decode_rope`.

use hk_core::dtype::{DType, Real, bf16, decode, f16};
use hk_ref::attn::mla_decode_rope::{
    Latent, LatentRope, Rope, Rotated, Scores, TABLES, latent, logarithms, parts, results,
};
use hk_ref::{Arg, Case, CaseInfo, Draw, Expected, Setup, Size};

use super::paged::poison;
use crate::{
    LeanElement, MlaDecodeOptions, MlaDecodeOut, MlaRope, MlaTokens, RopeStyle,
    mla_decode_rope_into,
};

/// Positions of tables.
const POSITIONS: usize = 40;

/// What varies between cases.
#[derive(Clone)]
struct Spec {
    name: &'static str,
    /// Tokens of sequences.
    lengths: Vec<usize>,
    /// Heads, columns of values, and columns behind them.
    heads: [usize; 3],
    /// Columns that are rotated, if there are any, and how.
    rotary: Option<(usize, RopeStyle)>,
    table: DType,
    splits: Option<u32>,
    scale: f32,
    cap: f32,
    /// Whether values are apart, and results of parts wanted.
    is_apart: bool,
    has_parts: bool,
    /// Whether indices have 64 bits, and positions are a column.
    is_wide: bool,
}

impl Spec {
    fn new(name: &'static str, lengths: &[usize], heads: [usize; 3]) -> Self {
        Self {
            name,
            lengths: lengths.to_vec(),
            heads,
            rotary: Some((heads[2], RopeStyle::Neox)),
            table: DType::Bf16,
            splits: None,
            scale: 1.0 / 12.0,
            cap: 0.0,
            is_apart: false,
            has_parts: false,
            is_wide: false,
        }
    }

    fn split(self, splits: u32) -> Self {
        Self { splits: Some(splits), has_parts: true, ..self }
    }

    fn rotary(self, rotary: usize, style: RopeStyle) -> Self {
        Self { rotary: Some((rotary, style)), ..self }
    }

    fn case<T: LeanElement + Real>(self) -> Case {
        let [hq, c, r] = self.heads;
        let nnz: usize = self.lengths.iter().sum();
        let mut title = self.name.to_owned();
        match self.rotary {
            None => title += ", nothing rotated",
            Some((columns, style)) => title += &format!(", {columns} rotated {style:?}"),
        }
        if let Some(splits) = self.splits {
            title += &format!(", {splits} splits");
        }
        let mut say = |is_said: bool, what: &str| title += if is_said { what } else { "" };
        say(self.has_parts, ", parts");
        say(self.is_apart, ", values apart");
        say(self.cap > 0.0, ", capped");
        say(self.scale < 0.0, ", negative");
        say(self.is_wide, ", indices of 64 bits");
        let shape = [self.lengths.len(), hq, c + r, c, nnz];
        let dtypes = match self.rotary {
            Some(_) => vec![T::DTYPE, self.table, T::DTYPE],
            None => vec![T::DTYPE],
        };
        let info = CaseInfo::new("mla_decode_rope", "mla_decode_rope", title, &dtypes, &shape);
        let size = if nnz * hq * (2 * c + r) < 20_000_000 { Size::Quick } else { Size::Core };
        Case::new(CaseInfo { size, ..info }, move |s| match self.table {
            DType::F32 => set_up::<T, f32>(s, &self),
            DType::F16 => set_up::<T, f16>(s, &self),
            _ => set_up::<T, bf16>(s, &self),
        })
    }
}

/// A number as an element of the type has it.
fn rounded<T: Real>(x: f64) -> f64 {
    decode(&T::encode(&[x]))[0]
}

fn set_up<T: LeanElement + Real, W: Real>(s: &mut Setup, spec: &Spec) {
    let Spec { lengths, heads: [hq, c, r], scale, cap, splits, .. } = spec.clone();
    let (d, b, nnz) = (c + r, lengths.len(), lengths.iter().sum::<usize>());
    let q = s.input::<T>("q", &[b, hq, d], Draw::Normal);
    // Tokens in no order; some rows are nobody's.
    let n = nnz + 2 + usize::from((nnz + 2).is_multiple_of(7));
    let tokens: Vec<_> = (0..nnz).map(|i| (i * 7 + 3) % n).collect();
    let buffer = |s: &mut Setup, name: &'static str, width: usize| {
        let mut elements: Vec<T> = s.draw(name, &[n, 1, width], Draw::Normal);
        for row in (0..n).filter(|row| !tokens.contains(row)) {
            elements[row * width..][..width].fill(poison());
        }
        s.given(name, &[n, 1, width], elements)
    };
    let k = buffer(s, "k_buffer", d);
    let v = spec.is_apart.then(|| buffer(s, "v_buffer", c));
    let mut bounds = vec![0];
    lengths.iter().for_each(|length| bounds.push(bounds[bounds.len() - 1] + length));

    let positions: Vec<usize> = (0..b).map(|b| (b * 11 + 5) % POSITIONS).collect();
    let rope = spec.rotary.map(|(dim, style)| {
        // Cosines and sines of some angles.
        let angles: Vec<f32> = s.draw("angles", &[POSITIONS, dim / 2], Draw::Normal);
        let row = |row: &[f32]| -> Vec<f64> {
            let angles = || row.iter().copied().map(f64::from);
            angles().map(f64::cos).chain(angles().map(f64::sin)).collect()
        };
        let table: Vec<f64> = angles.chunks_exact(dim / 2).flat_map(row).collect();
        let table = s.given("cos_sin_cache", &[POSITIONS, dim], W::encode(&table));
        let interleaved = style == RopeStyle::Gptj;
        let rope = Rope { dim, first: 0, interleaved, paired: true };
        (LatentRope { rank: c, rope, table: table.numbers() }, table, style)
    });

    let (of_q, of_k) = (q.numbers(), k.numbers());
    let of_v = v.as_ref().map(Arg::numbers);
    let count = splits.map_or(1, |splits| splits as usize);
    let scores = Scores {
        scale: f64::from(scale),
        softcap: (cap > 0.0).then_some(f64::from(cap)),
        ..Scores::default()
    };
    let (mut o, mut logits, mut lse) = (Vec::new(), Vec::new(), Vec::new());
    let mut k_pe = Rotated::default();
    for (b, length) in lengths.iter().enumerate() {
        let heads = of_q[b * hq * d..][..hq * d].chunks_exact(d);
        let heads: Vec<_> = heads
            .map(|head| match &rope {
                Some((rope, ..)) => rope.row(head, positions[b], rounded::<T>),
                None => head.to_vec(),
            })
            .collect();
        let of_sequence = &tokens[bounds[b]..][..*length];
        let mut keys: Vec<Vec<f64>> =
            of_sequence.iter().map(|token| of_k[token * d..][..d].to_vec()).collect();
        if let Some((rope, ..)) = &rope {
            match keys.last_mut() {
                Some(last) => {
                    rope.rotate(last, positions[b], &mut k_pe);
                    *last = rope.row(last, positions[b], rounded::<T>);
                }
                None => k_pe.copy(&vec![0.0; r]),
            }
        }
        let keys: Vec<_> = keys.into_iter().zip(of_sequence).collect();
        let of = |keys: &[(Vec<f64>, &usize)]| -> Latent {
            let values = |(key, token): &(Vec<f64>, &usize)| match &of_v {
                Some(v) => v[**token * c..][..c].to_vec(),
                None => key[..c].to_vec(),
            };
            let values = keys.iter().map(values).collect();
            let keys = keys.iter().map(|(key, _)| key.clone()).collect();
            latent(heads.clone(), keys, values, c, &scores)
        };
        o.extend(of(&keys).o);
        let all: Vec<_> = parts(&keys, count).into_iter().map(of).collect();
        for head in 0..hq {
            for part in &all {
                logits.push(part.o[head * c..][..c].to_vec());
                lse.push(part.lse[head]);
            }
        }
    }

    let bounds = bounds.into_iter().map(|at| at as i32).collect();
    let kv_indptr = s.given("kv_indptr", &[b + 1], bounds);
    let is_wide = spec.is_wide;
    let wide = is_wide.then(|| {
        let tokens = tokens.iter().map(|token| *token as i64).collect();
        let positions = positions.iter().map(|position| *position as i64).collect();
        let of_rope = rope.as_ref().map(|_| s.given("positions", &[b, 1], positions));
        (s.given("kv_indices", &[nnz], tokens), of_rope)
    });
    let narrow = (!is_wide).then(|| {
        let tokens = tokens.iter().map(|token| *token as i32).collect();
        let positions = positions.iter().map(|position| *position as i32).collect();
        let of_rope = rope.as_ref().map(|_| s.given("positions", &[b], positions));
        (s.given("kv_indices", &[nnz], tokens), of_rope)
    });
    let out = s.output::<T>("out", &[b, hq, c], results(o, T::DTYPE));
    let k_pe = rope
        .is_some()
        .then(|| s.output::<T>("k_pe_tokens", &[b, r], k_pe.expected(T::DTYPE, T::DTYPE, TABLES)));
    let parts = spec.has_parts.then(|| {
        let shape = [b, hq, count, c + 1];
        s.output::<f32>("attn_logits", &shape, of_parts(&logits, &lse, T::DTYPE))
    });
    s.call(move || {
        let (q, k, v) = (q.get(), k.get(), v.as_ref().map(Arg::get));
        let kv_indptr = kv_indptr.get();
        let wide = wide.as_ref().map(|(of, at)| (of.get(), at.as_ref().map(Arg::get)));
        let narrow = narrow.as_ref().map(|(of, at)| (of.get(), at.as_ref().map(Arg::get)));
        let (kv_indices, positions) = match (&wide, &narrow) {
            (Some((of, at)), _) => (of.into(), at.as_ref().map(Into::into)),
            (_, Some((of, at))) => (of.into(), at.as_ref().map(Into::into)),
            _ => unreachable!("tokens have 32 or 64 bits"),
        };
        let tokens = MlaTokens { kv_indptr: (&kv_indptr).into(), kv_indices, kv_lora_rank: c };
        let table = rope.as_ref().map(|(_, table, _)| table.get());
        let mut k_pe = k_pe.as_ref().map(Arg::get);
        let rope = match (&rope, &table, positions, &mut k_pe) {
            (Some((.., style)), Some(table), Some(positions), Some(k_pe)) => Some(MlaRope {
                cos_sin_cache: &**table,
                positions,
                style: *style,
                k_pe_tokens: &mut **k_pe,
            }),
            _ => None,
        };
        let (mut out, mut parts) = (out.get(), parts.as_ref().map(Arg::get));
        let into = MlaDecodeOut { out: &mut *out, attn_logits: parts.as_deref_mut() };
        let options = MlaDecodeOptions {
            logit_cap: cap,
            num_kv_splits: splits,
            ..MlaDecodeOptions::default()
        };
        mla_decode_rope_into(&q, &k, v.as_deref(), &tokens, rope, scale, &options, into)
    });
}

/// Averages of parts, with logarithms behind each.
fn of_parts(averages: &[Vec<f64>], lse: &[f64], dtype: DType) -> Expected {
    let (mut values, mut allowed) = (Vec::new(), Vec::new());
    for (row, lse) in averages.iter().zip(lse) {
        for expected in [results(row.clone(), dtype), logarithms(vec![*lse])] {
            values.extend(expected.values);
            allowed.extend(expected.allowed);
        }
    }
    Expected { values, allowed, ..Expected::default() }
}

/// Every case.
pub(super) fn cases() -> Vec<Case> {
    use RopeStyle::{Gptj, Neox};
    let new = Spec::new;
    // What DeepSeek has.
    let (wide, narrow) = ([16, 512, 64], [16, 256, 64]);
    let small = |name| new(name, &[3, 2], [2, 24, 8]);
    let mixed = |name| new(name, &[1, 40, 0, 77], narrow);
    let specs = vec![
        Spec { splits: Some(2), has_parts: true, is_apart: true, ..small("small") },
        Spec { rotary: None, ..small("small") },
        new("short", &[1, 40], wide).split(1),
        new("short", &[1, 40], wide).split(2).rotary(64, Gptj),
        new("short", &[1, 40], wide).split(5),
        new("short", &[1, 40], wide),
        new("any width", &[1, 40], [16, 512, 127]).rotary(64, Neox),
        new("any width", &[33, 7], [5, 256, 127]).rotary(64, Gptj).split(3),
        new("widest", &[33, 7], [5, 512, 128]).rotary(64, Neox),
        new("any heads", &[50, 65], [70, 256, 64]).split(2),
        Spec { is_wide: true, table: DType::F32, ..mixed("mixed").rotary(32, Gptj) },
        Spec { is_wide: true, ..mixed("mixed").split(8) },
        Spec { rotary: None, ..mixed("mixed").split(3) },
        Spec { rotary: None, ..mixed("mixed") },
        Spec { is_apart: true, ..mixed("mixed").split(3) },
        Spec { is_apart: true, rotary: None, ..new("mixed", &[1, 40, 70], wide) },
        Spec { is_apart: true, ..new("mixed", &[1, 40, 70], wide) },
        Spec { cap: 2.0, ..mixed("mixed").split(2) },
        Spec { scale: -0.1, ..mixed("mixed") },
        new("split by default", &[700, 300], [3, 256, 64]),
        new("nothing", &[0, 0], narrow).split(2),
    ];
    let large = vec![
        new("AITER", &[2048], [128, 512, 64]),
        new("AITER", &[2048], [128, 512, 127]).rotary(64, Neox),
        new("AITER", &[2050], [128, 512, 128]).rotary(64, Gptj),
        new("DeepSeek V3", &[4096; 2], [16, 512, 64]).rotary(64, Gptj),
    ];
    let mut cases = Vec::new();
    for spec in specs {
        cases.push(spec.clone().case::<bf16>());
        let table = if spec.table == DType::F32 { DType::F32 } else { DType::F16 };
        cases.push(Spec { table, ..spec }.case::<f16>());
    }
    cases.extend(large.into_iter().map(Spec::case::<bf16>));
    cases
}
