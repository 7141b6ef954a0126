//! Cases of the module `fused_bmm_rope_kv_cache`.

use hk_core::Arch;
use hk_core::dtype::{
    DType, E8M0, Element, F4x2E2M1, F8E4M3, F8E4M3Fnuz, Real, Real16, bf16, decode, f16,
};
use hk_core::op::quant::Fp8;
use hk_ref::attn::fused_bmm_rope_kv_cache::beside;
use hk_ref::gemm::gemm_afp4wfp4::{BLOCK, dequantised};
use hk_ref::gemm::product::{Operands, Step, Term};
use hk_ref::gemm::{batched_gemm_a8w8_ptgq, gemm_a16wfp4};
use hk_ref::{Arg, Case, CaseInfo, Draw, Edge, Placement, Setup, Size, real};
use ndarray::{Array2, ArrayView2};

use super::angles::Turns;
use super::fused_kv_cache::mla::{Spec, set_up_fused};
use super::fused_kv_cache::{Slots, cached};
use crate::fused_kv_cache::Latent;
use crate::{
    BmmRopeOptions, CacheElement, RopeStyle, RowOptions, fused_fp4_bmm_rope_cat_and_cache_mla_into,
    fused_fp8_bmm_rope_cat_and_cache_mla_into,
};

/// What varies between cases, apart from element types and places.
#[derive(Clone, Copy)]
struct Bmm {
    /// Everything but the products.
    spec: Spec,
    p: usize,
    group: usize,
    /// Whether each head's matrix has a scale of its own.
    scale_per_head: bool,
    y_scale: bool,
    /// Stores the first parts of queries by tokens.
    by_tokens: bool,
    tile: Option<&'static str>,
    /// Whether matrices are to be read once.
    once: bool,
}

/// Elements of the matrices, and what queries are quantised to.
trait Weight: Element {
    const OP: &'static str;
    /// The chip that has them, if not all have.
    const ARCH: Option<Arch>;

    /// Adds the matrices' scales, and sets up the rest.
    fn set_up<T: Real16, W: Real, O: Real, C: CacheElement>(s: &mut Setup, bmm: Bmm);
}

impl Bmm {
    fn new(shape: [usize; 9], p: usize) -> Self {
        let (group, scale_per_head, y_scale, by_tokens) = (128, false, false, true);
        let spec = Spec::new("", shape);
        let (tile, once) = (None, false);
        Self { spec, p, group, scale_per_head, y_scale, by_tokens, tile, once }
    }

    fn case<F: Weight, T: Real16>(
        mut self,
        [table, queries, cache]: [DType; 3],
        arch: Option<Arch>,
    ) -> Case {
        self.spec.op = F::OP;
        let title = format!(
            "{}, p {}, groups of {}{}{}{}",
            self.spec.title(),
            self.p,
            self.group,
            if self.scale_per_head { ", a scale per head" } else { "" },
            if self.y_scale { ", y_scale" } else { "" },
            self.tile.map_or_else(String::new, |tile| format!(", {tile}"))
        );
        let dtypes = [T::DTYPE, F::DTYPE, table, queries, cache];
        let [tokens, _, _, heads, _, n, ..] = self.spec.shape;
        let mut info =
            CaseInfo::new("fused_bmm_rope_kv_cache", F::OP, title, &dtypes, &self.spec.shape);
        info.arch = arch.or(F::ARCH);
        let products = tokens * heads * n * self.p;
        info.size = if products < 100_000 { Size::Quick } else { Size::Core };
        let case = Case::new(info, move |s| {
            real!(table, W => real!(queries, O => cached!(cache, C => {
                F::set_up::<T, W, O, C>(s, self)
            })))
        });
        if !self.once {
            return case;
        }
        // With all else, whose lanes past the last row count, too, less than codes twice would be.
        let codes = heads * n * self.p * size_of::<F>() / F::PACK;
        let scales = if F::PACK == 1 { 0 } else { heads * n * self.p / BLOCK };
        case.most_read((codes + scales) as u64 * 9 / 4)
    }

    /// With matrices of each type and with caches of a wide and of a narrow type.
    fn cases<T: Real16>(self, turn: usize) -> Vec<Case> {
        let (fnuz, ocp) = (DType::F8E4M3Fnuz, DType::F8E4M3);
        let wide = [DType::Bf16, DType::F16, DType::F32];
        let [table, queries, cache] = [wide[turn % 3], wide[turn / 3 % 3], wide[(turn + 1) % 3]];
        let is_narrow = turn.is_multiple_of(2);
        let of = |narrow| [table, queries, if is_narrow { narrow } else { cache }];
        let mut cases =
            vec![self.case::<F8E4M3Fnuz, T>(of(fnuz), None), self.case::<F8E4M3, T>(of(ocp), None)];
        if self.p.is_multiple_of(BLOCK) {
            if is_narrow {
                cases.push(self.case::<F4x2E2M1, T>(of(fnuz), Some(Arch::Gfx942)));
                cases.push(self.case::<F4x2E2M1, T>(of(ocp), Some(Arch::Gfx950)));
            } else {
                cases.push(self.case::<F4x2E2M1, T>(of(cache), None));
            }
        }
        cases
    }

    /// The first parts of queries.
    fn q_nope<T: Real16>(&self, s: &mut Setup) -> Arg<T> {
        let [tokens, _, _, heads, ..] = self.spec.shape;
        let q_nope = s.input::<T>("q_nope", &[heads, tokens, self.p], Draw::Outliers);
        if self.by_tokens { q_nope.order(&[1, 0, 2]) } else { q_nope }
    }

    /// Sets up all but the products, whose operands are `x` and `w` of each head.
    fn set_up<T: Real16, W: Real, O: Real, C: CacheElement>(
        self,
        s: &mut Setup,
        heads: &[(Array2<f64>, Array2<f64>, f64)],
        call: impl Fn(
            Latent<'_, T, W>,
            &BmmRopeOptions<'_>,
            crate::FusedQkRopeCatAndCacheMlaOut<'_, T, O, C>,
        ) -> hk_core::Result<()>
        + 'static,
    ) {
        let y_scale = self.y_scale.then(|| s.given("y_scale", &[1], vec![1.7f32]));
        let products: Vec<_> = heads
            .iter()
            .map(|(x, w, scale)| {
                let mut steps = vec![Step::Multiply(Term::number(*scale as f32))];
                steps.extend(y_scale.as_ref().map(|scale| Step::Divide(scale.elements()[0])));
                (Operands { x: x.view(), w: w.view(), integers: false }, steps)
            })
            .collect();
        let slack = self.spec.turns.slack();
        set_up_fused::<T, W, O, C>(
            s,
            self.spec,
            |rotated| {
                let second = rotated.clone().expected(T::DTYPE, O::DTYPE, slack);
                beside(&products, &second, O::DTYPE)
            },
            move |latent, out| {
                let y_scale = y_scale.as_ref().map(Arg::get);
                let rows = self.tile.into_iter().fold(RowOptions::default(), RowOptions::tile);
                let cache = latent.options.rope(latent.options.rope.rows(rows));
                let options = BmmRopeOptions::default().cache(cache).group_size(self.group);
                let options = y_scale.iter().fold(options, |options, y| options.y_scale(y));
                call(latent, &options, out)
            },
        );
    }
}

/// So many matrices.
fn matrices(
    numbers: &[f64],
    count: usize,
    [rows, columns]: [usize; 2],
) -> impl Iterator<Item = ArrayView2<'_, f64>> {
    let size = rows * columns;
    (0..count).map(move |of| {
        let of = &numbers[of * size..][..size];
        ArrayView2::from_shape((rows, columns), of).expect("a matrix of the batch")
    })
}

fn set_up_fp8<F: Fp8, T: Real16, W: Real, O: Real, C: CacheElement>(s: &mut Setup, bmm: Bmm) {
    let [tokens, _, _, heads, _, n, ..] = bmm.spec.shape;
    let q_nope = bmm.q_nope::<T>(s);
    let w_k = s.input::<F>("w_k", &[heads, n, bmm.p], Draw::Codes);
    let scales = if bmm.scale_per_head { heads } else { 1 };
    let w_k_scale = s.input::<f32>("w_k_scale", &[scales], Draw::Scaled(-6));
    let (x, w, scale) = (q_nope.numbers(), w_k.numbers(), w_k_scale.numbers());
    let x = matrices(&x, heads, [tokens, bmm.p])
        .map(|x| batched_gemm_a8w8_ptgq::quantised::<F>(x, bmm.group, F::MOST));
    let w = matrices(&w, heads, [n, bmm.p]).map(|w| w.to_owned());
    let of_heads = x.zip(w).zip(scale.iter().cycle()).map(|((x, w), scale)| (x, w, *scale));
    let of_heads: Vec<_> = of_heads.collect();
    bmm.set_up::<T, W, O, C>(s, &of_heads, move |latent, options, out| {
        let Latent { q_pe, k_nope, k_pe, slots, angles, .. } = latent;
        let (q_nope, w_k, scale) = (q_nope.get(), w_k.get(), w_k_scale.get());
        fused_fp8_bmm_rope_cat_and_cache_mla_into(
            &q_nope, &w_k, &scale, q_pe, k_nope, k_pe, slots, angles, options, out,
        )
    });
}

impl Weight for F8E4M3 {
    const OP: &'static str = "fused_fp8_bmm_rope_cat_and_cache_mla";
    const ARCH: Option<Arch> = Some(Arch::Gfx950);

    fn set_up<T: Real16, W: Real, O: Real, C: CacheElement>(s: &mut Setup, bmm: Bmm) {
        set_up_fp8::<Self, T, W, O, C>(s, bmm);
    }
}

impl Weight for F8E4M3Fnuz {
    const OP: &'static str = "fused_fp8_bmm_rope_cat_and_cache_mla";
    const ARCH: Option<Arch> = Some(Arch::Gfx942);

    fn set_up<T: Real16, W: Real, O: Real, C: CacheElement>(s: &mut Setup, bmm: Bmm) {
        set_up_fp8::<Self, T, W, O, C>(s, bmm);
    }
}

impl Weight for F4x2E2M1 {
    const OP: &'static str = "fused_fp4_bmm_rope_cat_and_cache_mla";
    const ARCH: Option<Arch> = None;

    fn set_up<T: Real16, W: Real, O: Real, C: CacheElement>(s: &mut Setup, bmm: Bmm) {
        let [tokens, _, _, heads, _, n, ..] = bmm.spec.shape;
        let q_nope = bmm.q_nope::<T>(s);
        let w_k = s.input::<Self>("w_k", &[heads, n, bmm.p], Draw::Codes);
        let blocks = [n, bmm.p / BLOCK];
        let w_k_scale = s.input::<E8M0>("w_k_scale", &[heads, n, blocks[1]], Draw::Powers(-4, 7));
        let (x, w) = (q_nope.numbers(), w_k.numbers());
        let scales = decode(&w_k_scale.elements());
        let x = matrices(&x, heads, [tokens, bmm.p]).map(gemm_a16wfp4::quantised);
        let w = matrices(&w, heads, [n, bmm.p]).zip(matrices(&scales, heads, blocks));
        let w = w.map(|(w, scales)| dequantised(w, scales));
        let of_heads: Vec<_> = x.zip(w).map(|(x, w)| (x, w, 1.0)).collect();
        bmm.set_up::<T, W, O, C>(s, &of_heads, move |latent, options, out| {
            let Latent { q_pe, k_nope, k_pe, slots, angles, .. } = latent;
            let (q_nope, w_k, scale) = (q_nope.get(), w_k.get(), w_k_scale.get());
            fused_fp4_bmm_rope_cat_and_cache_mla_into(
                &q_nope, &w_k, &scale, q_pe, k_nope, k_pe, slots, angles, options, out,
            )
        });
    }
}

/// Every case.
pub(super) fn cases() -> Vec<Case> {
    let dense = Placement::DENSE;
    let gaps = dense.gap(8).shift(3);
    let (mut cases, mut turn) = (Vec::new(), 0);
    // Single elements, and large tiles, of either type.
    for turn in [0, 1] {
        let mut bmm = Bmm::new([2, 2, 2, 2, 1, 9, 6, 8, 1], 64);
        bmm.spec.name = "odd";
        cases.extend(bmm.cases::<f16>(turn));
        let mut bmm = Bmm::new([65, 65, 65, 1, 1, 136, 16, 80, 1], 64);
        (bmm.tile, bmm.spec.name) = (Some("64x128"), "large tiles");
        cases.extend(bmm.cases::<f16>(turn));
    }
    let mut add = |bmm: Bmm, place: Placement| {
        let of = if turn % 3 == 2 { bmm.cases::<f16>(turn) } else { bmm.cases::<bf16>(turn) };
        cases.extend(of.into_iter().map(|case| case.place(place)));
        turn += 1;
    };
    for (i, tokens) in [1, 2, 5].into_iter().enumerate() {
        let shape = [tokens, tokens + i, tokens + i, 4, 1, 64, 64, 16, tokens / 2];
        let mut bmm = Bmm::new(shape, 128);
        bmm.spec.scaled = i != 1;
        bmm.spec.more = i > 0;
        bmm.y_scale = i == 2;
        add(bmm, dense);
    }
    add(Bmm { once: true, ..Bmm::new([2, 2, 2, 16, 1, 512, 64, 128, 1], 128) }, dense);
    // More blocks than one in each direction, and parts of some.
    for tile in [None, Some("64x128")] {
        let mut bmm = Bmm::new([67, 70, 67, 2, 2, 136, 16, 128, 9], 160);
        bmm.tile = tile;
        bmm.scale_per_head = tile.is_some();
        add(bmm, dense);
    }
    // Parts of groups, and several steps.
    for (p, group) in [(1, 128), (130, 128), (32, 256), (608, 256)] {
        let mut bmm = Bmm::new([3, 3, 3, 2, 1, 40, 8, 8, 2], p);
        (bmm.group, bmm.by_tokens, bmm.y_scale) = (group, p % 2 == 0, p == 608);
        bmm.spec.name = "rows of p";
        add(bmm, if p == 130 { gaps } else { dense });
    }
    // More keys than slots, more slots than queries, and the other way round.
    for shape in [[5, 9, 7, 4, 2, 32, 16, 20, 5], [7, 9, 4, 4, 2, 32, 16, 20, 3]] {
        for (slots, bits) in [(Slots::Apart, 64), (Slots::Outside, 32)] {
            let mut bmm = Bmm::new(shape, 64);
            (bmm.spec.slots, bmm.spec.bits, bmm.spec.name) = (slots, bits, "counts");
            bmm.spec.scaled = bits == 32;
            // Lists end where memory does.
            add(bmm, if bits == 32 { dense.edge(Edge::End) } else { gaps });
        }
    }
    for style in [RopeStyle::Neox, RopeStyle::Gptj] {
        for per_element in [false, true] {
            // Runs of single elements.
            let mut bmm = Bmm::new([3, 4, 4, 4, 2, 7, 12, 20, 3], 32);
            let nope_first = per_element;
            bmm.spec.turns = Turns { style, per_element, nope_first, ..bmm.spec.turns };
            (bmm.spec.dim, bmm.spec.name) = (8, "styles");
            add(bmm, dense);
        }
    }
    let mut small = Bmm::new([2, 3, 2, 4, 2, 8, 8, 4, 2], 32);
    (small.y_scale, small.spec.scaled, small.spec.name) = (true, true, "small");
    for scale_per_head in [false, true] {
        add(Bmm { scale_per_head, ..small }, gaps);
    }
    // Keys alone.
    let mut none = Bmm::new([0, 3, 3, 4, 2, 32, 16, 20, 0], 64);
    none.spec.name = "no queries";
    add(none, dense);
    // DeepSeek-V3.
    let mut large = Bmm::new([512, 512, 512, 128, 1, 512, 64, 16_384, 512], 128);
    (large.spec.scaled, large.spec.name) = (true, "model");
    cases.extend(large.cases::<bf16>(0).into_iter().map(|case| case.size(Size::Large)));
    cases
}
