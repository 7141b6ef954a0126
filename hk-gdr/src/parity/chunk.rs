//! Cases of `chunk_pipeline`.

use hk_core::TensorSlice;
use hk_core::dtype::{DType, Real, bf16, f16};
use hk_ref::gdr::chunk::pipeline;
use hk_ref::gdr::fused_recurrent::normalized;
use hk_ref::{Arg, Case, CaseInfo, Draw, Expected, Placement, REALS, Setup, Size, real};

use super::chunks::{chunks, log2_of, logarithms, per_head, rows, scalars, schedule, shape};
use super::delta_rule::Sizes;
use crate::{
    ChunkElement, ChunkPipelineOptions, ChunkPipelineOut, GateBase, RealTensor, chunk_pipeline_into,
};

/// What keys are.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Keys {
    Unlike,
    /// Of a large part in common.
    Alike,
    /// The first unit vector, of which all is learnt, without decays.
    Same,
}

/// What varies between cases.
#[derive(Debug, Clone)]
struct Spec {
    sizes: Sizes,
    chunk: usize,
    base: GateBase,
    keys: Keys,
    /// Whether inverses are wanted.
    tm: bool,
    /// Element types of keys and values, of g, and of beta.
    dtypes: [DType; 3],
    head_first: bool,
    place: Placement,
    size: Size,
}

impl Spec {
    fn new(sizes: Sizes, chunk: usize) -> Self {
        Self {
            sizes,
            chunk,
            base: GateBase::E,
            keys: Keys::Unlike,
            tm: true,
            dtypes: [DType::Bf16, DType::F32, DType::F32],
            head_first: false,
            place: Placement::DENSE,
            size: Size::Quick,
        }
    }

    fn case(self) -> Case {
        let Self { chunk, base, keys, .. } = self;
        let lengths = &self.sizes.lengths;
        let mut title = format!("{lengths:?}, chunks of {chunk}, {base:?}, keys {keys:?}");
        for (is_said, what) in [
            (self.sizes.packed, ", packed"),
            (!self.tm, ", no Tm"),
            (self.head_first, ", heads first"),
        ] {
            title += if is_said { what } else { "" };
        }
        let (place, size) = (self.place, self.size);
        let [k, g, beta] = self.dtypes;
        title += &format!(", {k} {g} {beta}");
        let shape = shape(&self.sizes);
        let info = CaseInfo::new("chunk", "chunk_pipeline", title, &[k, g, beta, k], &shape);
        let set_up = move |s: &mut Setup| {
            real!(g, G => real!(beta, B => match k {
                DType::F16 => set_up::<f16, G, B>(s, &self),
                _ => set_up::<bf16, G, B>(s, &self),
            }));
        };
        Case::new(info, set_up).place(place).size(size)
    }
}

fn set_up<K: ChunkElement, G: Real, B: Real>(s: &mut Setup, spec: &Spec)
where
    for<'a> RealTensor<'a>: From<&'a TensorSlice<G>> + From<&'a TensorSlice<B>>,
{
    let Spec { ref sizes, chunk: size, base, .. } = *spec;
    let Sizes { keys, values, heads: [h, hv], .. } = *sizes;
    let is_same = spec.keys == Keys::Same;
    let elements = match spec.keys {
        Keys::Unlike => sizes.unit_rows::<K>(s, "k"),
        Keys::Alike => alike(s, sizes),
        Keys::Same => {
            let count = sizes.of_tokens(&[h, keys]).iter().product();
            (0..count).map(|i| K::from_f64(if i % keys == 0 { 1.0 } else { 0.0 })).collect()
        }
    };
    let k = s.given("k", &sizes.of_tokens(&[h, keys]), elements);
    let v = s.input::<K>("v", &sizes.of_tokens(&[hv, values]), Draw::Normal);
    let of_tokens = sizes.of_tokens(&[hv]);
    let g = logarithms(s, sizes).into_iter();
    let g = g.map(|g| G::from_f64(if is_same { 0.0 } else { g.into() })).collect();
    let g = s.given("g", &of_tokens, g);
    let strengths: Vec<B> = s.draw("beta", &of_tokens, Draw::Uniform);
    let strengths = strengths.into_iter().map(|x| if is_same { B::from_f64(1.0) } else { x });
    let beta = s.given("beta", &of_tokens, strengths.collect());

    let [b, t] = sizes.tokens();
    let count = b * t * hv;
    let (of_k, of_v, of_g, of_beta) = (k.numbers(), v.numbers(), g.numbers(), beta.numbers());
    let (mut sums, mut sums_allowed) = (vec![0.0; count], vec![0.0; count]);
    let mut tm = vec![0.0; count * size];
    let (mut w, mut u) = (vec![0.0; count * keys], vec![0.0; count * values]);
    for tokens in &chunks(sizes, size) {
        let n = tokens.len();
        for head in 0..hv {
            let key_rows = rows(&of_k, tokens, [h, head / (hv / h), keys]);
            let value_rows = rows(&of_v, tokens, [hv, head, values]);
            let strengths = scalars(&of_beta, tokens, hv, head);
            let logarithms = scalars(&of_g, tokens, hv, head);
            let of_chunk = pipeline(&key_rows, &value_rows, &logarithms, &strengths);
            for (i, token) in tokens.iter().enumerate() {
                let at = token * hv + head;
                let (sum, largest) = of_chunk.sums[i];
                sums[at] = sum * log2_of(base);
                sums_allowed[at] = 4e-6 * largest * log2_of(base);
                tm[at * size..][..n].copy_from_slice(&of_chunk.tm[i * n..][..n]);
                w[at * keys..][..keys].copy_from_slice(&of_chunk.w[i]);
                u[at * values..][..values].copy_from_slice(&of_chunk.u[i]);
            }
        }
    }
    let sums = Expected { values: sums, allowed: sums_allowed, ..Expected::default() };
    let sums = s.output::<f32>("sums", &of_tokens, sums);
    let part = if K::DTYPE == DType::Bf16 { 1.0 } else { 0.15 };
    let expected = |numbers: Vec<f64>, n: usize, gate: f64| match spec.keys {
        // Differences of two numbers, rounded once.
        Keys::Same => Expected::rounded(numbers, K::DTYPE, false),
        _ => per_head(numbers, [b, t, hv, n], K::DTYPE, gate * part),
    };
    let tm = spec.tm.then(|| {
        let expected = expected(tm, size, 2e-3);
        s.output::<K>("tm", &sizes.of_tokens(&[hv, size]), expected)
    });
    let w = s.output::<K>("w", &sizes.of_tokens(&[hv, keys]), expected(w, keys, 5e-3));
    let u = s.output::<K>("u", &sizes.of_tokens(&[hv, values]), expected(u, values, 4e-3));
    let order = |arg: Arg<K>| if spec.head_first { arg.order(&[0, 2, 1, 3]) } else { arg };
    let (w, u) = (order(w), order(u));
    let schedule = schedule(s, sizes, size);
    s.call(move || {
        let mut options = ChunkPipelineOptions::default().gate_base(base);
        options = match &schedule {
            Some(schedule) => options.schedule(schedule),
            None => options.chunk_size(size),
        };
        let (g, beta) = (g.get(), beta.get());
        let mut tm = tm.as_ref().map(Arg::get);
        let (mut sums, mut w, mut u) = (sums.get(), w.get(), u.get());
        let (sums, w, u) = (&mut *sums, &mut *w, &mut *u);
        let out = ChunkPipelineOut { sums, tm: tm.as_deref_mut(), w, u };
        chunk_pipeline_into(&k.get(), &v.get(), &*g, &*beta, &options, out)
    });
}

/// Keys of length 1 of which each number is 1.5 on average before.
pub(super) fn alike<K: Real>(s: &Setup, sizes: &Sizes) -> Vec<K> {
    let shape = sizes.of_tokens(&[sizes.heads[0], sizes.keys]);
    let drawn: Vec<f32> = s.draw("k", &shape, Draw::Normal);
    let rows = drawn.chunks_exact(sizes.keys);
    rows.flat_map(|row| {
        let row: Vec<f64> = row.iter().map(|x| f64::from(*x) + 1.5).collect();
        normalized(&row).into_iter().map(K::from_f64)
    })
    .collect()
}

/// Every case.
pub(crate) fn cases() -> Vec<Case> {
    let mut specs = Vec::new();
    for chunk in [16, 32, 64] {
        specs.push(Spec::new(Sizes::new([2, chunk + 2], [1, 2], [64, 64]), chunk));
        for keys in [Keys::Alike, Keys::Same] {
            let sizes = Sizes::new([1, 2 * chunk + 1], [1, 2], [64, 40]);
            specs.push(Spec { keys, ..Spec::new(sizes, chunk) });
        }
        for lengths in [&[15, 0, 70, 1][..], &[0, 0]] {
            specs.push(Spec::new(Sizes::packed(lengths, [1, 2], [36, 20]), chunk));
        }
    }
    for tokens in [1, 65, 130] {
        specs.push(Spec::new(Sizes::new([1, tokens], [1, 2], [60, 64]), 64));
    }
    for heads in [[2, 4], [2, 8]] {
        specs.push(Spec::new(Sizes::new([1, 20], heads, [32, 40]), 16));
    }
    let two = Spec::new(Sizes::new([2, 3], [2, 4], [4, 8]), 16);
    specs.push(Spec { tm: false, ..two.clone() });
    specs.push(Spec { base: GateBase::Two, ..two.clone() });
    specs.push(Spec { head_first: true, ..two.clone() });
    specs.push(Spec { place: Placement::DENSE.gap(8).shift(1), ..two.clone() });
    for k in [DType::Bf16, DType::F16] {
        for (g, beta) in REALS.iter().flat_map(|g| REALS.map(|beta| (*g, beta))) {
            let spec = Spec { dtypes: [k, g, beta], ..two.clone() };
            if spec.dtypes != two.dtypes {
                specs.push(spec);
            }
        }
    }
    // More heads of values to a head of keys than are at work at once.
    specs.push(Spec::new(Sizes::new([1, 20], [1, 10], [20, 12]), 16));
    let all = [DType::F16, DType::F32, DType::F32];
    let of_f16 = |spec: &Spec| Spec { dtypes: all, size: Size::Core, ..spec.clone() };
    let plain = specs.iter().filter(|spec| spec.dtypes == two.dtypes && spec.place.gap == 0);
    specs.extend(plain.map(of_f16).collect::<Vec<_>>());
    let long = Spec::new(Sizes::new([1, 300], [2, 4], [128, 128]), 64);
    specs.push(Spec { size: Size::Core, ..long });
    let large = Spec::new(Sizes::new([1, 8192], [2, 4], [128, 128]), 64);
    specs.push(Spec { size: Size::Large, ..large });
    specs.into_iter().map(Spec::case).collect()
}
