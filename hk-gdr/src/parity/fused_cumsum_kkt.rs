//! Cases of `fused_cumsum_kkt`.

use hk_core::dtype::{DType, Real};
use hk_ref::gdr::fused_cumsum_kkt::cumsum_kkt;
use hk_ref::{Case, CaseInfo, Draw, Expected, Placement, REALS, Setup, Size, real};

use super::chunks::{
    FAR_CHUNK, chunks, far_tokens, log2_of, logarithms, placed_tokens, rows, scalars, schedule,
    shape,
};
use super::delta_rule::{Far, Sizes};
use crate::{
    ChunkElement, CumsumKktOptions, CumsumKktOut, GateBase, RealTensor, fused_cumsum_kkt_into,
};

/// What varies between cases.
#[derive(Debug, Clone)]
struct Spec {
    sizes: Sizes,
    chunk: usize,
    clamp: bool,
    /// Whether logarithms have both signs.
    both_signs: bool,
    base: GateBase,
    /// Element types of g, k and beta.
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
            clamp: false,
            both_signs: false,
            base: GateBase::E,
            dtypes: [DType::F32, DType::Bf16, DType::F32],
            head_first: false,
            wild: false,
            far: None,
            place: Placement::DENSE,
            size: Size::Quick,
        }
    }

    fn case(self) -> Case {
        let [g, k, beta] = self.dtypes;
        let mut title =
            format!("{:?}, chunks of {}, {:?}", self.sizes.lengths, self.chunk, self.base);
        for (is_said, what) in [
            (self.sizes.packed, ", packed"),
            (self.clamp, ", clamped"),
            (self.both_signs, ", both signs"),
            (self.head_first, ", heads first"),
            (self.wild, ", wild"),
        ] {
            title += if is_said { what } else { "" };
        }
        title += &self.far.map(|far| format!(", {far:?}")).unwrap_or_default();
        title += &format!(", {g} {k} {beta}");
        let (place, size) = (self.place, self.size);
        let of = shape(&self.sizes);
        let info =
            CaseInfo::new("fused_cumsum_kkt", "fused_cumsum_kkt", title, &self.dtypes, &of[..5]);
        let set_up = move |s: &mut Setup| {
            real!(g, G => real!(beta, B => match k {
                DType::F16 => set_up::<G, hk_core::dtype::f16, B>(s, &self),
                _ => set_up::<G, hk_core::dtype::bf16, B>(s, &self),
            }));
        };
        Case::new(info, set_up).place(place).size(size).writes_once()
    }
}

fn set_up<G: Real, K: ChunkElement, B: Real>(s: &mut Setup, spec: &Spec)
where
    for<'a> RealTensor<'a>: From<&'a hk_core::TensorSlice<G>> + From<&'a hk_core::TensorSlice<B>>,
{
    let Spec { ref sizes, chunk: size, clamp, base, .. } = *spec;
    let Sizes { keys, heads: [h, hv], .. } = *sizes;
    let of_tokens = sizes.of_tokens(&[hv]);
    let drawn = match spec.both_signs {
        true => s.draw("g", &of_tokens, Draw::Scaled(-3)),
        false => logarithms(s, sizes),
    };
    let g = drawn.into_iter().map(|g: f32| G::from_f64(g.into())).collect();
    let g = placed_tokens(s.given("g", &of_tokens, g), &of_tokens, spec.far);
    let (elements, k_shape) = (sizes.unit_rows::<K>(s, "k"), sizes.of_tokens(&[h, keys]));
    let k = placed_tokens(s.given("k", &k_shape, elements), &k_shape, spec.far);
    let beta = s.input::<B>("beta", &of_tokens, Draw::Uniform);
    let beta = placed_tokens(beta, &of_tokens, spec.far);

    let (of_g, of_k, of_beta) = (g.numbers(), k.numbers(), beta.numbers());
    let count = of_g.len();
    let (mut sums, mut sums_allowed) = (vec![0.0; count], vec![0.0; count]);
    let (mut a, mut allowed) = (vec![0.0; count * size], vec![0.0; count * size]);
    for tokens in &chunks(sizes, size) {
        for head in 0..hv {
            let key_rows = rows(&of_k, tokens, [h, head / (hv / h), keys]);
            let strengths = scalars(&of_beta, tokens, hv, head);
            let logarithms = scalars(&of_g, tokens, hv, head);
            let (both, products) = cumsum_kkt(&logarithms, &key_rows, &strengths, clamp);
            for (i, token) in tokens.iter().enumerate() {
                let at = token * hv + head;
                let (sum, largest) = both[i];
                sums[at] = sum * log2_of(base);
                sums_allowed[at] = 4e-6 * largest * log2_of(base);
                for j in 0..i {
                    let value = products[i * tokens.len() + j];
                    // Decays have the error of the sums' roundings, and products that of sums of keys.
                    let difference = sum - both[j].0;
                    let scale = strengths[i] * difference.exp();
                    // What would be 1 may count or not.
                    let is_near = clamp && difference.abs() < 1e-5;
                    a[at * size + j] = value;
                    let part = 2e-6 + 2f64.powi(-22) * largest;
                    allowed[at * size + j] = scale * if is_near { 2.0 } else { part };
                }
            }
        }
    }
    let expected = Expected { values: sums, allowed: sums_allowed, ..Expected::default() };
    let sums = s.output::<f32>("sums", &of_tokens, expected);
    let sums = if spec.head_first { sums.order(&[0, 2, 1]) } else { sums };
    let sums = placed_tokens(sums, &of_tokens, spec.far);
    let together = (!clamp && count >= 1000).then_some(3e-6);
    let expected = Expected { values: a, allowed, frobenius: together, ..Expected::default() };
    let a_shape = sizes.of_tokens(&[hv, size]);
    let a = placed_tokens(s.output::<f32>("a", &a_shape, expected), &a_shape, spec.far);
    let schedule = schedule(s, sizes, size, spec.wild);
    s.call(move || {
        let mut options = CumsumKktOptions::default().clamp(clamp).gate_base(base);
        options = match &schedule {
            Some(schedule) => options.schedule(schedule),
            None => options.chunk_size(size),
        };
        let (g, beta) = (g.get(), beta.get());
        let out = CumsumKktOut { sums: &mut sums.get(), a: &mut a.get() };
        fused_cumsum_kkt_into(&*g, &k.get(), &*beta, &options, out)
    });
}

/// Every case.
pub(crate) fn cases() -> Vec<Case> {
    let mut specs = Vec::new();
    let of = |batches, heads, keys| Sizes::new(batches, heads, [keys, 1]);
    for chunk in [16, 32, 64] {
        let plain = Spec::new(of([2, 2 * chunk + 2], [2, 4], 64), chunk);
        specs.push(Spec { clamp: true, both_signs: true, ..plain.clone() });
        specs.push(plain);
        for tokens in [1, 15, 17, 65] {
            specs.push(Spec::new(of([1, tokens], [1, 2], 60), chunk));
        }
        for lengths in [&[15, 0, 70, 1][..], &[0, 0]] {
            specs.push(Spec::new(Sizes::packed(lengths, [1, 2], [36, 1]), chunk));
        }
        // Whole chunks alone.
        for tokens in [chunk, 2 * chunk] {
            specs.push(Spec::new(of([1, tokens], [1, 1], 24), chunk));
        }
        specs.push(Spec::new(Sizes::packed(&[chunk, 0, 2 * chunk], [1, 1], [24, 1]), chunk));
    }
    let wild = Spec::new(Sizes::packed(&[3, 0, 17, 2], [1, 2], [12, 1]), 16);
    specs.push(Spec { wild: true, ..wild });
    for keys in [1, 33, 100, 256] {
        specs.push(Spec::new(of([1, 70], [1, 2], keys), 64));
    }
    for heads in [[1, 1], [2, 8], [1, 9], [3, 3]] {
        specs.push(Spec::new(of([1, 40], heads, 32), 64));
    }
    let two = Spec::new(of([2, 40], [2, 4], 48), 32);
    specs.push(Spec { base: GateBase::Two, ..two.clone() });
    specs.push(Spec { head_first: true, ..two.clone() });
    specs.push(Spec { both_signs: true, ..two.clone() });
    specs.push(Spec { place: Placement::DENSE.gap(8).shift(1), ..two.clone() });
    for (g, beta) in REALS.iter().flat_map(|g| REALS.map(|beta| (*g, beta))) {
        for k in [DType::Bf16, DType::F16] {
            let is_plain = (g, k, beta) == (DType::F32, DType::Bf16, DType::F32);
            if !is_plain {
                let spec = Spec::new(of([1, 21], [1, 2], 40), 16);
                specs.push(Spec { dtypes: [g, k, beta], ..spec });
            }
        }
    }
    let all = [DType::F32, DType::F16, DType::F32];
    let of_f16 = |spec: &Spec| Spec { dtypes: all, size: Size::Core, ..spec.clone() };
    let plain = specs.iter().filter(|spec| spec.dtypes == two.dtypes);
    specs.extend(plain.map(of_f16).collect::<Vec<_>>());
    specs.extend(far_tokens([8, 1]).into_iter().map(|(far, sizes)| Spec {
        far: Some(far),
        size: Size::Core,
        ..Spec::new(sizes, FAR_CHUNK)
    }));
    let long = Spec::new(of([1, 1000], [2, 8], 128), 64);
    specs.push(Spec { size: Size::Core, ..long });
    let large = Spec::new(of([1, 8192], [16, 32], 128), 64);
    specs.push(Spec { size: Size::Large, ..large });
    specs.into_iter().map(Spec::case).collect()
}
