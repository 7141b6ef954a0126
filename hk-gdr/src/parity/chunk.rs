//! Cases of `chunk_pipeline`.

use hk_core::TensorSlice;
use hk_core::dtype::{DType, Real, bf16, f16};
use hk_ref::gdr::chunk::pipeline;
use hk_ref::gdr::fused_recurrent::normalized;
use hk_ref::{Arg, Case, CaseInfo, Draw, Expected, Placement, REALS, Setup, Size, real};

use super::chunks::{
    FAR_CHUNK, chunks, far_tokens, log2_of, logarithms, per_head, placed_tokens, rows, scalars,
    schedule, shape,
};
use super::delta_rule::{Far, Sizes};
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
    /// Whether numbers of the schedule are beside what there is.
    wild: bool,
    /// Of all tensors.
    far: Option<Far>,
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
            wild: false,
            far: None,
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
            (self.wild, ", wild"),
        ] {
            title += if is_said { what } else { "" };
        }
        title += &self.far.map(|far| format!(", {far:?}")).unwrap_or_default();
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
    let [key_shape, value_shape] =
        [[h, keys], [hv, values]].map(|of_token| sizes.of_tokens(&of_token));
    let k = placed_tokens(s.given("k", &key_shape, elements), &key_shape, spec.far);
    let v = s.input::<K>("v", &value_shape, Draw::Normal);
    let v = placed_tokens(v, &value_shape, spec.far);
    let of_tokens = sizes.of_tokens(&[hv]);
    let g = logarithms(s, sizes).into_iter();
    let g = g.map(|g| G::from_f64(if is_same { 0.0 } else { g.into() })).collect();
    let g = placed_tokens(s.given("g", &of_tokens, g), &of_tokens, spec.far);
    let strengths: Vec<B> = s.draw("beta", &of_tokens, Draw::Uniform);
    let strengths = strengths.into_iter().map(|x| if is_same { B::from_f64(1.0) } else { x });
    let beta = s.given("beta", &of_tokens, strengths.collect());
    let beta = placed_tokens(beta, &of_tokens, spec.far);

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
    let sums = placed_tokens(sums, &of_tokens, spec.far);
    let part = if K::DTYPE == DType::Bf16 { 1.0 } else { 0.15 };
    let expected = |numbers: Vec<f64>, n: usize, gate: f64| match spec.keys {
        // Differences of two numbers, rounded once.
        Keys::Same => Expected::rounded(numbers, K::DTYPE, false),
        _ => per_head(numbers, [b, t, hv, n], K::DTYPE, gate * part),
    };
    let tm = spec.tm.then(|| {
        let (expected, shape) = (expected(tm, size, 2e-3), sizes.of_tokens(&[hv, size]));
        placed_tokens(s.output::<K>("tm", &shape, expected), &shape, spec.far)
    });
    let w_shape = sizes.of_tokens(&[hv, keys]);
    let w = s.output::<K>("w", &w_shape, expected(w, keys, 5e-3));
    let u = s.output::<K>("u", &value_shape, expected(u, values, 4e-3));
    let order = |arg: Arg<K>| if spec.head_first { arg.order(&[0, 2, 1, 3]) } else { arg };
    let w = placed_tokens(order(w), &w_shape, spec.far);
    let u = placed_tokens(order(u), &value_shape, spec.far);
    let schedule = schedule(s, sizes, size, spec.wild);
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
        // Whole chunks alone.
        for tokens in [chunk, 2 * chunk] {
            specs.push(Spec::new(Sizes::new([1, tokens], [1, 1], [24, 16]), chunk));
        }
        specs.push(Spec::new(Sizes::packed(&[chunk, 0, 2 * chunk], [1, 1], [24, 16]), chunk));
    }
    specs.push(Spec::new(Sizes::new([1, 65], [1, 1], [1, 1]), 64));
    let wild = Spec::new(Sizes::packed(&[3, 0, 17, 2], [1, 2], [12, 8]), 16);
    specs.push(Spec { wild: true, ..wild });
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
    specs.extend(far_tokens([8, 8]).into_iter().map(|(far, sizes)| Spec {
        far: Some(far),
        size: Size::Core,
        ..Spec::new(sizes, FAR_CHUNK)
    }));
    for (heads, sizes) in [([1, 2], [100, 17]), ([1, 1], [256, 100]), ([1, 1], [64, 256])] {
        let spec = Spec::new(Sizes::new([1, 65], heads, sizes), 64);
        let dtypes = [DType::F16, spec.dtypes[1], spec.dtypes[2]];
        let core = Spec { size: Size::Core, ..spec };
        specs.extend([core.clone(), Spec { dtypes, ..core }]);
    }
    let wide = Spec::new(Sizes::new([1, 33], [1, 1], [20, 512]), 32);
    specs.push(Spec { size: Size::Core, ..wide });
    let long = Spec::new(Sizes::new([1, 300], [2, 4], [128, 128]), 64);
    specs.push(Spec { size: Size::Core, ..long });
    let large = Spec::new(Sizes::new([1, 8192], [2, 4], [128, 128]), 64);
    specs.push(Spec { size: Size::Large, ..large });
    specs.into_iter().map(Spec::case).collect()
}
