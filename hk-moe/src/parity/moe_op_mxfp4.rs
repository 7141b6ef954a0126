//! Cases of `moe_op_mxfp4`.

use hk_core::dtype::{DType, E8M0, F4x2E2M1, F8E4M3, F8E4M3Fnuz, Real, bf16, decode, f16};
use hk_core::{Arch, Tensor};
use hk_ref::moe::moe_op_mxfp4::{BLOCK, Problem, dequantised};
use hk_ref::{Arg, Case, CaseInfo, Draw, Edge, Placement, Setup, Size};
use ndarray::{Array2, Array3};

use super::experts::{FAR_ROWS, FEW, far, tiles};
use super::loads::{Aligned, Load};
use crate::{MoeGemmOptions, Mxfp4Element, moe_mxfp4_into};

/// A case as data.
#[derive(Clone)]
struct Spec {
    name: String,
    /// Rows, columns, k, gates of a row, and experts.
    shape: [usize; 5],
    block_size: usize,
    load: Load,
    scales: Draw,
    /// Of blocks of a.
    a_scales: Option<Draw>,
    weights: bool,
    /// Of a and of experts.
    factors: bool,
    splits: Option<u32>,
    /// Whether matrices are far apart, and results.
    is_far: bool,
    tile: Option<(Arch, &'static str)>,
    place: Placement,
    size: Size,
}

/// What is in results that are not written.
const HELD: f64 = 17.0;

/// The rows of a case, and their scales of blocks, which begin with NaN if they are [`WITH_NAN`].
pub(super) struct Rows<T: Mxfp4Element> {
    pub(super) codes: Arg<T>,
    pub(super) scales: Option<Arg<E8M0>>,
    pub(super) numbers: Array2<f64>,
}

impl<T: Mxfp4Element> Rows<T> {
    pub(super) fn new(
        s: &mut Setup,
        [rows, k]: [usize; 2],
        scales: Option<Draw>,
        place: Placement,
    ) -> Self {
        let draw = if size_of::<T>() == 1 { Draw::Codes } else { Draw::Normal };
        let codes = s.input::<T>("a", &[rows, k], draw).place(place);
        let numbers = decode(&codes.elements());
        let mut numbers = Array2::from_shape_vec((rows, k), numbers).expect("rows of that shape");
        let scales = scales.map(|draw| {
            let shape = [rows, k.div_ceil(BLOCK)];
            let mut scales = s.draw::<E8M0>("a_mx_scale", &shape, draw);
            if draw == WITH_NAN {
                scales[0] = E8M0::NAN;
            }
            let of = Array2::from_shape_vec(shape, decode(&scales)).expect("scales of that shape");
            numbers = dequantised(numbers.view(), of.view());
            s.given("a_mx_scale", &shape, scales).place(place)
        });
        Self { codes, scales, numbers }
    }

    /// How its type is named.
    pub(super) fn dtype(scales: Option<Draw>) -> String {
        let mx = if scales.is_some() { "mx " } else { "" };
        format!("{mx}{}", T::DTYPE)
    }

    /// The chip that has its type, if it is not that of both.
    pub(super) fn arch(scales: Option<Draw>) -> Option<Arch> {
        match (T::DTYPE, scales) {
            (DType::F8E4M3, None) => Some(Arch::Gfx950),
            (DType::F8E4M3Fnuz, _) => Some(Arch::Gfx942),
            _ => None,
        }
    }
}

/// The matrices of a case, far apart or at a place, their scales of blocks, which begin with NaN if they are
/// [`MATRICES_WITH_NAN`], and their numbers.
pub(super) fn matrices(
    s: &mut Setup,
    shape: [usize; 3],
    scales: Draw,
    (is_far, place): (bool, Placement),
) -> (Arg<F4x2E2M1>, Arg<E8M0>, Array3<f64>) {
    let [experts, rows, k] = shape;
    let of_blocks = [experts, rows, k.div_ceil(BLOCK)];
    let codes = match is_far {
        // Without gaps between their rows.
        true => {
            let codes = s.input::<F4x2E2M1>("b", &[experts, rows * k], Draw::Codes);
            codes.place(far::<F4x2E2M1>())
        }
        false => s.input::<F4x2E2M1>("b", &shape, Draw::Codes).place(place),
    };
    let mut drawn = s.draw::<E8M0>("b_mx_scale", &of_blocks, scales);
    if scales == MATRICES_WITH_NAN {
        drawn[0] = E8M0::NAN;
    }
    let scales = s.given("b_mx_scale", &of_blocks, drawn);
    let cube = |shape: [usize; 3], numbers| {
        Array3::from_shape_vec(shape, numbers).expect("matrices of that shape")
    };
    let mut numbers = cube(shape, decode(&codes.elements()));
    let of_matrices = cube(of_blocks, decode(&scales.elements()));
    for (mut matrix, scales) in numbers.outer_iter_mut().zip(of_matrices.outer_iter()) {
        let scaled = dequantised(matrix.view(), scales);
        matrix.assign(&scaled);
    }
    (codes, scales, numbers)
}

fn case<T: Mxfp4Element, Y: Real>(spec: Spec) -> Case {
    let [rows, n, k, top_k, experts] = spec.shape;
    let weights = if spec.weights { "weighted" } else { "not weighted" };
    let mut name =
        format!("{}, {:?}, tiles of {}, {weights}", spec.name, spec.load, spec.block_size);
    name += &spec.splits.map_or(String::new(), |splits| format!(", {splits} shares of k"));
    let info = CaseInfo::new("moe_op_mxfp4", "moe_mxfp4", name, &[], &spec.shape);
    let dtype = format!("{}*e2m1->{}", Rows::<T>::dtype(spec.a_scales), Y::DTYPE);
    let arch = spec.tile.map(|(arch, _)| arch).or(Rows::<T>::arch(spec.a_scales));
    Case::new(CaseInfo { dtype, arch, size: spec.size, ..info }, move |s| {
        let place = spec.place;
        let Rows { codes: a, scales: a_mx_scale, numbers } =
            Rows::<T>::new(s, [rows, k], spec.a_scales, place);
        let of_b = [experts, n, k];
        let (b, scale, mut of_b) = matrices(s, of_b, spec.scales, (spec.is_far, place));
        let weights =
            spec.weights.then(|| s.input::<f32>("topk_weights", &[rows, top_k], Draw::Normal));
        let factors = spec.factors.then(|| {
            let a_scale = s.input::<f32>("a_scale", &[1], Draw::Normal);
            (a_scale, s.input::<f32>("b_scale", &[experts], Draw::Normal))
        });
        let of_gates = [rows, top_k, experts];
        let aligned = Aligned::new(s, of_gates, spec.load, spec.block_size, None);

        let expected = {
            if let Some((a_scale, b_scale)) = &factors {
                let factor = a_scale.numbers()[0];
                for (mut matrix, of) in of_b.outer_iter_mut().zip(b_scale.numbers()) {
                    matrix *= of * factor;
                }
            }
            let weights = weights.as_ref().map(|weights| weights.numbers());
            let problem = Problem {
                a: numbers.view(),
                b: of_b.view(),
                ids: &aligned.ids,
                top_k,
                weights: weights.as_deref(),
                absent: None,
                held: HELD,
            };
            problem.expect(None, None, Y::DTYPE)
        };
        let held = Y::encode(&vec![HELD; rows * top_k * n]);
        let place = if spec.is_far { FAR_ROWS } else { place };
        let c = s.output::<Y>("c", &[rows, top_k, n], expected).place(place).holding(held);

        let spec = spec.clone();
        s.call(move || {
            let weights: Option<Tensor<f32>> = weights.as_ref().map(|weights| weights.get());
            let options = MoeGemmOptions::default();
            let options = weights.iter().fold(options, |options, of| options.topk_weights(of));
            let factors = factors.as_ref().map(|(a, b)| (a.get(), b.get()));
            let options = factors.iter().fold(options, |options, (a_scale, b_scale)| {
                options.a_scale(a_scale).b_scale(b_scale)
            });
            let a_mx_scale = a_mx_scale.as_ref().map(Arg::get);
            let options =
                a_mx_scale.iter().fold(options, |options, scale| options.a_mx_scale(scale));
            let options = spec.splits.into_iter().fold(options, MoeGemmOptions::splits);
            let tile = spec.tile.map(|(_, tile)| tile);
            let options = tile.into_iter().fold(options, MoeGemmOptions::tile);
            let (a, b, scale) = (a.get(), b.get(), scale.get());
            let b = if spec.is_far { b.reshape(&[experts, n, k])? } else { b.view() };
            aligned
                .with(|gates| moe_mxfp4_into(&a, &b, &scale, gates, top_k, &options, &mut c.get()))
        });
    })
}

pub(super) fn add(cases: &mut Vec<Case>) {
    let spec = |name: &str, shape, block_size| Spec {
        name: name.into(),
        shape,
        block_size,
        load: Load::Uniform,
        scales: Draw::Powers(-6, 4),
        a_scales: None,
        weights: true,
        factors: false,
        splits: None,
        is_far: false,
        tile: None,
        place: Placement::default(),
        size: Size::Quick,
    };
    for shape in [
        [4, 4, 64, 2, 2],
        [64, 64, 128, 2, 8],
        [33, 70, 96, 2, 3],
        [8, 96, 256, 2, 16],
        [1, 200, 1024, 1, 2],
        [9, 40, 34, 2, 3],
        [5, 24, 306, 1, 2],
        [0, 8, 32, 2, 4],
    ] {
        for block_size in [16, 64] {
            cases.push(case::<bf16, bf16>(spec("plain", shape, block_size)));
            let unweighted = Spec { weights: false, ..spec("plain", shape, block_size) };
            cases.push(case::<f16, f32>(unweighted));
        }
    }
    for shape in [[4, 4, 64, 2, 2], [33, 70, 96, 2, 3]] {
        cases.push(case::<bf16, bf16>(Spec { factors: true, ..spec("factors", shape, 16) }));
    }
    for (splits, shape) in [(2, [33, 70, 528, 2, 3]), (3, [9, 41, 1072, 1, 2])] {
        let spec = Spec { splits: Some(splits), ..spec("shares", shape, 16) };
        cases.push(case::<bf16, bf16>(Spec { factors: true, ..spec.clone() }));
        cases.push(case::<f16, f32>(spec));
    }
    // Every scale but NaN.
    for scales in [Draw::Powers(-127, -100), Draw::Powers(100, 110)] {
        let name = format!("scales of {scales:?}");
        let of = Spec { scales, ..spec(&name, [9, 24, 64, 1, 2], 16) };
        cases.push(case::<bf16, f32>(of));
    }
    let nan = Spec { scales: MATRICES_WITH_NAN, ..spec("a NaN as a scale", [9, 24, 64, 1, 2], 16) };
    cases.push(case::<bf16, f32>(nan.clone()));
    add_codes(cases, nan);
    for shape in [[16, 256, 256, 4, 128], [1, 256, 1024, 1, 2]] {
        let spec = Spec { size: Size::Core, ..spec("specified", shape, 16) };
        cases.push(case::<bf16, bf16>(spec));
    }
    let far = spec("far apart", [3, 20, 64, 2, 3], 16);
    let far = Spec { is_far: true, size: Size::Core, ..far };
    cases.push(case::<bf16, bf16>(far.clone()));
    cases.push(case::<F4x2E2M1, bf16>(Spec { a_scales: Some(A_SCALES), ..far }));
    let few = Spec { load: Load::Wrong, ..spec(FEW, [9, 40, 96, 6, 3], 16) };
    cases.push(case::<bf16, bf16>(few.clone()));
    cases.push(case::<F4x2E2M1, bf16>(Spec { a_scales: Some(A_SCALES), ..few }));
    for load in [Load::Zipf, Load::One(2), Load::Wrong, Load::Absent] {
        cases.push(case::<bf16, f16>(Spec { load, ..spec("load", [37, 40, 96, 2, 6], 32) }));
    }
    for (place, name) in [
        (Placement::DENSE.gap(64), "rows of wider tensors"),
        (Placement::DENSE.gap(6).shift(2), "rows off alignment"),
        (Placement::DENSE.edge(Edge::Start), "start of memory"),
        (Placement::DENSE.edge(Edge::End), "end of memory"),
    ] {
        cases.push(case::<bf16, bf16>(Spec { place, ..spec(name, [21, 72, 96, 2, 3], 32) }));
    }
    add_coded(cases, &spec);
    for (kernel, arch, name, [m, columns, k]) in tiles() {
        let Some(of_a) = kernel.variant.strip_suffix("_e2m1").or(match kernel.variant {
            "e2m1" => Some("e2m1"),
            _ => None,
        }) else {
            continue;
        };
        let shape = [2 * m + 5, columns + 9, 3 * k + 32, 2, 3];
        let tile = Some((arch, name));
        let place = Placement::DENSE.edge(Edge::End);
        let spec = Spec { tile, place, ..spec(&format!("tile {name}"), shape, m) };
        let mx = || Spec { a_scales: Some(A_SCALES), ..spec.clone() };
        cases.push(match (of_a, arch) {
            ("f16", _) => case::<f16, f32>(spec),
            ("bf16", _) => case::<bf16, bf16>(spec),
            ("e2m1", _) => case::<F4x2E2M1, bf16>(mx()),
            ("mxfp8", _) => case::<F8E4M3, bf16>(mx()),
            (_, Arch::Gfx942) => case::<F8E4M3Fnuz, bf16>(spec),
            (_, Arch::Gfx950) => case::<F8E4M3, bf16>(spec),
        });
    }
}

/// Usual scales of a.
pub(super) const A_SCALES: Draw = Draw::Powers(-4, 1);
/// As usual, but for one.
const WITH_NAN: Draw = Draw::Powers(-5, 1);
/// Likewise, of matrices.
pub(super) const MATRICES_WITH_NAN: Draw = Draw::Powers(-6, 1);

/// One of rows of each kind of codes.
fn add_codes(cases: &mut Vec<Case>, spec: Spec) {
    let mx = Spec { a_scales: spec.a_scales.or(Some(A_SCALES)), ..spec.clone() };
    cases.push(case::<F4x2E2M1, bf16>(mx.clone()));
    cases.push(case::<F8E4M3, bf16>(mx));
    if spec.a_scales.is_none() {
        cases.push(case::<F8E4M3, f32>(spec.clone()));
        cases.push(case::<F8E4M3Fnuz, f32>(spec));
    }
}

/// Those of rows of 8 and 4 bits.
fn add_coded(cases: &mut Vec<Case>, spec: &dyn Fn(&str, [usize; 5], usize) -> Spec) {
    for (shape, block_size) in [
        ([4, 4, 32, 2, 2], 16),
        ([64, 64, 128, 2, 8], 64),
        ([33, 70, 96, 2, 3], 64),
        ([16, 24, 256, 4, 128], 16),
        ([1, 200, 1024, 1, 2], 16),
        ([9, 40, 34, 2, 3], 16),
        ([0, 8, 32, 2, 4], 16),
    ] {
        add_codes(cases, spec("rows of codes", shape, block_size));
    }
    let factors = Spec { factors: true, weights: false, ..spec("factors", [4, 4, 64, 2, 2], 16) };
    add_codes(cases, factors);
    add_codes(cases, Spec { splits: Some(2), ..spec("shares", [33, 40, 528, 2, 3], 16) });
    // Scales from the smallest on, as far as products, and what rows are expanded to, are numbers.
    let [least, small, large] =
        [Draw::Powers(-127, -121), Draw::Powers(-120, -114), Draw::Powers(100, 110)];
    let extreme = |a_scales, scales| {
        let name = format!("scales of {a_scales:?} by {scales:?}");
        Spec { a_scales: Some(a_scales), scales, ..spec(&name, [9, 24, 64, 1, 2], 16) }
    };
    add_codes(cases, extreme(small, large));
    cases.push(case::<F4x2E2M1, bf16>(extreme(least, large)));
    add_codes(cases, extreme(large, least));
    add_codes(cases, extreme(WITH_NAN, A_SCALES));
    for load in [Load::Zipf, Load::Wrong, Load::Absent] {
        add_codes(cases, Spec { load, ..spec("load", [37, 24, 96, 2, 6], 32) });
    }
    for (place, name) in [
        (Placement::DENSE.gap(64), "rows of wider tensors"),
        (Placement::DENSE.gap(6).shift(2), "rows off alignment"),
        (Placement::DENSE.edge(Edge::End), "end of memory"),
    ] {
        add_codes(cases, Spec { place, ..spec(name, [21, 40, 96, 2, 3], 32) });
    }
}
