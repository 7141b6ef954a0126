//! Cases of `chunk_scaled_dot_kkt` and `recompute_w_u`.

use hk_core::TensorSlice;
use hk_core::dtype::{DType, Real, bf16, f16};
use hk_ref::gdr::solve_tril::solve_tril;
use hk_ref::gdr::wy_representation::{kkt, lower_times};
use hk_ref::{Arg, Case, CaseInfo, Draw, Expected, Placement, REALS, Setup, Size, real};

use super::chunks::{
    FAR_CHUNK, chunks, decay, far_tokens, logarithms, per_head, placed_tokens, rows, scalars,
    schedule, shape, sums_of,
};
use super::delta_rule::{Far, Sizes, exactly, numbers};
use crate::{
    ChunkElement, ChunkGates, ChunkKktOptions, ChunkWUOut, GateBase, RealTensor,
    RecomputeWUOptions, chunk_scaled_dot_kkt_into, recompute_w_u_into,
};

/// What the inverse of a chunk is.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Inverse {
    /// That of I and products of keys.
    Model,
    /// Of I; strengths alone count.
    Identity,
}

/// What varies between cases.
#[derive(Debug, Clone)]
struct Spec {
    sizes: Sizes,
    chunk: usize,
    base: GateBase,
    gated: bool,
    /// Whether there are strengths.
    learns: bool,
    inverse: Inverse,
    /// Element types of keys and values, of beta, and of A or Tm.
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
            gated: true,
            learns: true,
            inverse: Inverse::Model,
            dtypes: [DType::Bf16, DType::F32, DType::F32],
            head_first: false,
            wild: false,
            far: None,
            place: Placement::DENSE,
            size: Size::Quick,
        }
    }

    fn case(self, op: &'static str) -> Case {
        let [k, beta, a] = self.dtypes;
        let Sizes { lengths, .. } = &self.sizes;
        let mut title = format!("{lengths:?}, chunks of {}, {:?}", self.chunk, self.base);
        for (is_said, what) in [
            (self.sizes.packed, ", packed"),
            (!self.gated, ", no decays"),
            (!self.learns, ", all learnt"),
            (self.inverse == Inverse::Identity, ", identity"),
            (self.head_first, ", heads first"),
            (self.wild, ", wild"),
        ] {
            title += if is_said { what } else { "" };
        }
        title += &self.far.map(|far| format!(", {far:?}")).unwrap_or_default();
        title += &format!(", {k} {beta} {a}");
        let (place, size) = (self.place, self.size);
        let is_kkt = op == "chunk_scaled_dot_kkt";
        let of = shape(&self.sizes);
        let of = if is_kkt { &of[..5] } else { &of[..] };
        let info = CaseInfo::new("wy_representation", op, title, &self.dtypes, of);
        let set_up = move |s: &mut Setup| {
            real!(beta, B => real!(a, A => match (is_kkt, k) {
                (true, DType::F16) => products::<f16, B, A>(s, &self),
                (true, _) => products::<bf16, B, A>(s, &self),
                (false, DType::F16) => rows_of_wu::<f16, B, A>(s, &self),
                (false, _) => rows_of_wu::<bf16, B, A>(s, &self),
            }));
        };
        Case::new(info, set_up).place(place).size(size).writes_once()
    }

    /// Keys of length 1.
    fn keys<K: ChunkElement>(&self, s: &mut Setup) -> Arg<K> {
        let Sizes { keys, heads: [h, _], .. } = self.sizes;
        let (elements, shape) =
            (self.sizes.unit_rows::<K>(s, "k"), self.sizes.of_tokens(&[h, keys]));
        placed_tokens(s.given("k", &shape, elements), &shape, self.far)
    }

    /// Sums of the logarithms of decays, if there are any.
    fn sums(&self, s: &mut Setup) -> Option<Arg<f32>> {
        let g: Vec<f64> = logarithms(s, &self.sizes).into_iter().map(f64::from).collect();
        let sums = sums_of(&self.sizes, self.chunk, &g, self.base);
        let shape = self.sizes.of_tokens(&[self.sizes.heads[1]]);
        self.gated.then(|| placed_tokens(s.given("g", &shape, sums), &shape, self.far))
    }

    fn beta<B: Real>(&self, s: &mut Setup) -> Option<Arg<B>> {
        let shape = self.sizes.of_tokens(&[self.sizes.heads[1]]);
        self.learns.then(|| {
            let beta = s.input::<B>("beta", &shape, Draw::Uniform);
            placed_tokens(beta, &shape, self.far)
        })
    }

    fn gates<'a>(&self, sums: Option<&'a hk_core::Tensor<f32>>) -> Option<ChunkGates<'a>> {
        sums.map(|sums| ChunkGates { sums, base: self.base })
    }
}

/// The numbers, or so many others.
fn numbers_or<T: Real>(arg: &Option<Arg<T>>, count: usize, otherwise: f64) -> Vec<f64> {
    if arg.is_some() { numbers(arg) } else { vec![otherwise; count] }
}

fn products<K: ChunkElement, B: Real, A: Real>(s: &mut Setup, spec: &Spec)
where
    for<'a> RealTensor<'a>: From<&'a TensorSlice<B>>,
{
    let Spec { ref sizes, chunk: size, base, .. } = *spec;
    let Sizes { keys, heads: [h, hv], .. } = *sizes;
    let k = spec.keys::<K>(s);
    let sums = spec.sums(s);
    let beta = spec.beta::<B>(s);

    let [b, t] = sizes.tokens();
    let count = b * t * hv;
    let (of_k, of_sums) = (k.numbers(), numbers_or(&sums, count, 0.0));
    let of_beta = numbers_or(&beta, count, 1.0);
    let mut a = vec![0.0; count * size];
    for tokens in &chunks(sizes, size) {
        for head in 0..hv {
            let key_rows = rows(&of_k, tokens, [h, head / (hv / h), keys]);
            let of = |numbers: &[f64]| scalars(numbers, tokens, hv, head);
            let products = kkt(&key_rows, &of(&of_sums), &of(&of_beta), |sum| decay(sum, base));
            for (i, token) in tokens.iter().enumerate() {
                let at = (token * hv + head) * size;
                a[at..at + i].copy_from_slice(&products[i * tokens.len()..][..i]);
            }
        }
    }
    let gate = match A::DTYPE {
        DType::F32 => 3e-6,
        DType::F16 => 3e-4,
        _ => 2e-3,
    };
    let expected = per_head(a, [b, t, hv, size], A::DTYPE, gate);
    let a_shape = sizes.of_tokens(&[hv, size]);
    let a = placed_tokens(s.output::<A>("a", &a_shape, expected), &a_shape, spec.far);
    let (schedule, spec) = (schedule(s, sizes, size, spec.wild), spec.clone());
    s.call(move || {
        let (sums, beta) = (sums.as_ref().map(Arg::get), beta.as_ref().map(Arg::get));
        let mut options = ChunkKktOptions::default();
        options = match &schedule {
            Some(schedule) => options.schedule(schedule),
            None => options.chunk_size(spec.chunk),
        };
        if let Some(gates) = spec.gates(sums.as_ref()) {
            options = options.gates(gates);
        }
        if let Some(beta) = &beta {
            options = options.beta(&**beta);
        }
        chunk_scaled_dot_kkt_into(&k.get(), &options, &mut *a.get())
    });
}

fn rows_of_wu<K: ChunkElement, B: Real, A: Real>(s: &mut Setup, spec: &Spec)
where
    for<'a> RealTensor<'a>: From<&'a TensorSlice<A>> + From<&'a TensorSlice<B>>,
{
    let Spec { ref sizes, chunk: size, base, .. } = *spec;
    let Sizes { keys, values, heads: [h, hv], .. } = *sizes;
    let k = spec.keys::<K>(s);
    let v_shape = sizes.of_tokens(&[hv, values]);
    let v = placed_tokens(s.input::<K>("v", &v_shape, Draw::Normal), &v_shape, spec.far);
    let sums = spec.sums(s);
    let beta = spec.beta::<B>(s);

    let [b, t] = sizes.tokens();
    let count = b * t * hv;
    let (of_k, of_v) = (k.numbers(), v.numbers());
    let of_sums = numbers_or(&sums, count, 0.0);
    let of_beta = numbers_or(&beta, count, 1.0);
    // What is above the diagonal, and beyond a last chunk, is not looked at.
    let mut tm = vec![A::from_f64(f64::NAN); count * size];
    let (mut w, mut u) = (vec![0.0; count * keys], vec![0.0; count * values]);
    for tokens in &chunks(sizes, size) {
        let n = tokens.len();
        for head in 0..hv {
            let of = |numbers: &[f64]| scalars(numbers, tokens, hv, head);
            let key_rows = rows(&of_k, tokens, [h, head / (hv / h), keys]);
            let (own_sums, strengths) = (of(&of_sums), of(&of_beta));
            let a = match spec.inverse {
                Inverse::Model => kkt(&key_rows, &own_sums, &strengths, |sum| decay(sum, base)),
                Inverse::Identity => vec![0.0; n * n],
            };
            // As the op is given it, and as it is rounded before it is multiplied.
            let given: Vec<A> = solve_tril(&a, n).into_iter().map(A::from_f64).collect();
            let inverse: Vec<f64> = given.iter().map(|x| x.to_f64()).collect();
            let decayed: Vec<f64> =
                strengths.iter().zip(&own_sums).map(|(x, sum)| x * decay(*sum, base)).collect();
            let new_w = lower_times(&inverse, &key_rows, &decayed);
            let value_rows = rows(&of_v, tokens, [hv, head, values]);
            let new_u = lower_times(&inverse, &value_rows, &strengths);
            for (i, token) in tokens.iter().enumerate() {
                let at = token * hv + head;
                tm[at * size..][..=i].copy_from_slice(&given[i * n..][..=i]);
                w[at * keys..][..keys].copy_from_slice(&new_w[i]);
                u[at * values..][..values].copy_from_slice(&new_u[i]);
            }
        }
    }
    let tm_shape = sizes.of_tokens(&[hv, size]);
    let tm = placed_tokens(s.given("tm", &tm_shape, tm), &tm_shape, spec.far);
    let gate = if K::DTYPE == DType::F16 { 6e-4 } else { 4e-3 };
    let expected = |numbers: Vec<f64>, n: usize| match spec.inverse {
        Inverse::Model => per_head(numbers, [b, t, hv, n], K::DTYPE, gate),
        // A product of numbers, rounded once.
        Inverse::Identity => Expected::rounded(numbers, K::DTYPE, false),
    };
    let expected_u = match spec.inverse {
        Inverse::Model => expected(u, values),
        // Of two numbers, in f32.
        Inverse::Identity => {
            let product = |(i, v): (usize, &f64)| *v as f32 * of_beta[i / values] as f32;
            let products = of_v.iter().enumerate().map(product);
            exactly::<K>(&products.map(f64::from).collect::<Vec<_>>())
        }
    };
    let w_shape = sizes.of_tokens(&[hv, keys]);
    let w = s.output::<K>("w", &w_shape, expected(w, keys));
    let u = s.output::<K>("u", &v_shape, expected_u);
    let order = |arg: Arg<K>| if spec.head_first { arg.order(&[0, 2, 1, 3]) } else { arg };
    let w = placed_tokens(order(w), &w_shape, spec.far);
    let u = placed_tokens(order(u), &v_shape, spec.far);
    let (schedule, spec) = (schedule(s, sizes, size, spec.wild), spec.clone());
    s.call(move || {
        let (sums, beta) = (sums.as_ref().map(Arg::get), beta.as_ref().map(Arg::get));
        let mut options = RecomputeWUOptions::default();
        options = match &schedule {
            Some(schedule) => options.schedule(schedule),
            None => options.chunk_size(spec.chunk),
        };
        if let Some(gates) = spec.gates(sums.as_ref()) {
            options = options.gates(gates);
        }
        if let Some(beta) = &beta {
            options = options.beta(&**beta);
        }
        let tm = tm.get();
        let out = ChunkWUOut { w: &mut w.get(), u: &mut u.get() };
        recompute_w_u_into(&k.get(), &v.get(), &*tm, &options, out)
    });
}

/// Every case.
pub(crate) fn cases() -> Vec<Case> {
    let mut specs = Vec::new();
    for chunk in [16, 32, 64] {
        specs.push(Spec::new(Sizes::new([2, chunk + 2], [2, 4], [64, 64]), chunk));
        for tokens in [1, 33, 130] {
            specs.push(Spec::new(Sizes::new([1, tokens], [1, 2], [60, 60]), chunk));
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
    let wild = Spec::new(Sizes::packed(&[3, 0, 17, 2], [1, 2], [12, 8]), 16);
    specs.push(Spec { wild: true, ..wild });
    specs.push(Spec::new(Sizes::new([2, 3], [2, 4], [4, 8]), 16));
    for (heads, sizes) in [
        ([1, 1], [1, 1]),
        ([1, 2], [100, 17]),
        ([1, 1], [128, 64]),
        ([1, 1], [64, 256]),
        ([1, 1], [256, 100]),
        ([3, 6], [33, 40]),
    ] {
        specs.push(Spec::new(Sizes::new([1, 63], heads, sizes), 64));
    }
    let two = Spec::new(Sizes::new([2, 40], [2, 4], [48, 32]), 32);
    for (gated, learns) in [(false, true), (true, false), (false, false)] {
        specs.push(Spec { gated, learns, ..two.clone() });
    }
    specs.push(Spec { base: GateBase::Two, ..two.clone() });
    specs.push(Spec { head_first: true, ..two.clone() });
    specs.push(Spec { inverse: Inverse::Identity, ..two.clone() });
    specs.push(Spec { place: Placement::DENSE.gap(8).shift(1), ..two });
    for (k, beta) in [DType::Bf16, DType::F16].iter().flat_map(|k| REALS.map(|beta| (*k, beta))) {
        for a in REALS {
            let is_plain = (k, beta, a) == (DType::Bf16, DType::F32, DType::F32);
            if !is_plain {
                let spec = Spec::new(Sizes::new([1, 21], [1, 2], [40, 24]), 16);
                specs.push(Spec { dtypes: [k, beta, a], ..spec });
            }
        }
    }
    let all = [DType::F16, DType::F32, DType::F32];
    let of_f16 = |spec: &Spec| Spec { dtypes: all, size: Size::Core, ..spec.clone() };
    let plain = [DType::Bf16, DType::F32, DType::F32];
    let plain = specs.iter().filter(|spec| spec.dtypes == plain);
    specs.extend(plain.map(of_f16).collect::<Vec<_>>());
    specs.extend(far_tokens([8, 8]).into_iter().map(|(far, sizes)| Spec {
        far: Some(far),
        size: Size::Core,
        ..Spec::new(sizes, FAR_CHUNK)
    }));
    let wide = Spec::new(Sizes::new([1, 33], [1, 1], [20, 512]), 32);
    specs.push(Spec { size: Size::Core, ..wide });
    let long = Spec::new(Sizes::new([1, 300], [2, 4], [128, 128]), 64);
    specs.push(Spec { size: Size::Core, ..long });
    let large = Spec::new(Sizes::new([1, 8192], [2, 4], [128, 128]), 64);
    specs.push(Spec { size: Size::Large, ..large });
    // Tm is of the type of keys, or f32.
    let takes = |spec: &Spec| spec.dtypes[2] == DType::F32 || spec.dtypes[2] == spec.dtypes[0];
    let has_inverse = |spec: &Spec| spec.inverse == Inverse::Identity;
    let wu = specs.iter().filter(|spec| takes(spec)).cloned();
    let wu: Vec<Case> = wu.map(|spec| spec.case("recompute_w_u")).collect();
    let kkt = specs.into_iter().filter(|spec| !has_inverse(spec));
    kkt.map(|spec| spec.case("chunk_scaled_dot_kkt")).chain(wu).collect()
}
