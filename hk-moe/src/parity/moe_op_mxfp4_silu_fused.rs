//! Cases of `moe_op_mxfp4_silu_fused`.

use hk_core::dtype::{F4x2E2M1, F8E4M3, F8E4M3Fnuz, Real, bf16, f16};
use hk_core::{Arch, Tensor};
use hk_ref::moe::moe_op_mxfp4_silu_fused::{Problem, expect, scaled};
use hk_ref::{Arg, Case, CaseInfo, Draw, Edge, Placement, Size};
use ndarray::Array2;

use super::experts::{FEW, FEW_AND_ABSENT, tiles};
use super::loads::{Aligned, Load};
use super::moe_op_mxfp4::{A_SCALES, MATRICES_WITH_NAN, Rows, matrices};
use super::ragged::{SWIGLU, act};
use crate::{Activation, MoeGatedOptions, Mxfp4Element, moe_mxfp4_silu_fused_into};

/// A case as data.
#[derive(Clone)]
struct Spec {
    name: String,
    /// Rows, columns of the results, k, gates of a row, and experts.
    shape: [usize; 5],
    block_size: usize,
    load: Load,
    scales: Draw,
    /// Of blocks of a.
    a_scales: Option<Draw>,
    activation: Activation,
    weights: bool,
    bias: bool,
    /// Of a and of experts.
    factors: bool,
    absent: Option<usize>,
    tile: Option<(Arch, &'static str)>,
    place: Placement,
    size: Size,
}

/// What is in results that are not written.
const HELD: f64 = 17.0;

fn title(spec: &Spec) -> String {
    let mut title = format!(
        "{}, {:?}, tiles of {}, {:?}",
        spec.name, spec.load, spec.block_size, spec.activation
    );
    for (is_set, name) in
        [(spec.weights, ", weighted"), (spec.bias, ", bias"), (spec.factors, ", factors")]
    {
        title += if is_set { name } else { "" };
    }
    title
}

fn case<T: Mxfp4Element, Y: Real>(spec: Spec) -> Case {
    let [rows, n, k, top_k, experts] = spec.shape;
    let info = CaseInfo::new(
        "moe_op_mxfp4_silu_fused",
        "moe_mxfp4_silu_fused",
        title(&spec),
        &[],
        &spec.shape,
    );
    let dtype = format!("{}*e2m1->{}", Rows::<T>::dtype(spec.a_scales), Y::DTYPE);
    let arch = spec.tile.map(|(arch, _)| arch).or(Rows::<T>::arch(spec.a_scales));
    Case::new(CaseInfo { dtype, arch, size: spec.size, ..info }, move |s| {
        let place = spec.place;
        let Rows { codes: a, scales: a_mx_scale, numbers } =
            Rows::<T>::new(s, [rows, k], spec.a_scales, place);
        let (b, scale, mut of_b) = matrices(s, [experts, 2 * n, k], spec.scales, (false, place));
        let mut floats = |is_there: bool, name, shape: &[usize]| {
            is_there.then(|| s.input::<f32>(name, shape, Draw::Normal))
        };
        let weights = floats(spec.weights, "topk_weights", &[rows, top_k]);
        let bias = floats(spec.bias, "bias", &[experts, 2 * n]);
        let a_scale = floats(spec.factors, "a_scale", &[1]);
        let b_scale = floats(spec.factors, "b_scale", &[experts]);
        let of_gates = [rows, top_k, experts];
        let aligned = Aligned::new(s, of_gates, spec.load, spec.block_size, spec.absent);

        let expected = {
            if let (Some(a_scale), Some(b_scale)) = (&a_scale, &b_scale) {
                let factor = a_scale.numbers()[0];
                let factors: Vec<_> = b_scale.numbers().iter().map(|of| of * factor).collect();
                scaled(&mut of_b, &factors);
            }
            let weights = weights.as_ref().map(|weights| weights.numbers());
            let bias = bias.as_ref().map(|bias| {
                let shape = (experts, 2 * n);
                Array2::from_shape_vec(shape, bias.numbers()).expect("a matrix of that shape")
            });
            let problem = Problem {
                a: numbers.view(),
                b: of_b.view(),
                ids: &aligned.ids,
                top_k,
                weights: weights.as_deref(),
                absent: spec.absent,
                held: HELD,
            };
            expect(&problem, bias.as_ref().map(|bias| bias.view()), act(spec.activation), Y::DTYPE)
        };
        let held = Y::encode(&vec![HELD; rows * top_k * n]);
        let c = s.output::<Y>("c", &[rows, top_k, n], expected).place(place).holding(held);

        let spec = spec.clone();
        s.call(move || {
            let tensors: [Option<Tensor<f32>>; 4] =
                [&weights, &bias, &a_scale, &b_scale].map(|of| of.as_ref().map(|of| of.get()));
            let [weights, bias, a_scale, b_scale] = &tensors;
            let options = MoeGatedOptions::new(spec.activation);
            let options = weights.iter().fold(options, |options, of| options.topk_weights(of));
            let options = bias.iter().fold(options, |options, of| options.bias(of));
            let options = a_scale.iter().fold(options, |options, of| options.a_scale(of));
            let options = b_scale.iter().fold(options, |options, of| options.b_scale(of));
            let a_mx_scale = a_mx_scale.as_ref().map(Arg::get);
            let options =
                a_mx_scale.iter().fold(options, |options, scale| options.a_mx_scale(scale));
            let tile = spec.tile.map(|(_, tile)| tile);
            let options = tile.into_iter().fold(options, MoeGatedOptions::tile);
            let (a, b, scale) = (a.get(), b.get(), scale.get());
            aligned.with(|gates| {
                moe_mxfp4_silu_fused_into(&a, &b, &scale, gates, top_k, &options, &mut c.get())
            })
        });
    })
}

pub(super) fn add(cases: &mut Vec<Case>) {
    let spec = |name: &str, shape, block_size| Spec {
        name: name.into(),
        shape,
        block_size,
        load: Load::Uniform,
        // Gates are neither all small nor all beyond the limit.
        scales: Draw::Powers(-6, 0),
        a_scales: None,
        activation: SWIGLU,
        weights: false,
        bias: true,
        factors: false,
        absent: None,
        tile: None,
        place: Placement::default(),
        size: Size::Quick,
    };
    // Halves of 32, of 35, and those that no run divides.
    for shape in [
        [4, 4, 64, 2, 2],
        [64, 32, 128, 2, 8],
        [33, 35, 96, 2, 3],
        [16, 128, 256, 4, 128],
        [8, 97, 256, 2, 16],
        [1, 512, 1024, 1, 2],
        [64, 256, 256, 2, 8],
        [9, 40, 34, 2, 3],
        [5, 24, 306, 1, 2],
        [0, 8, 32, 2, 4],
    ] {
        let [rows, n, k, top_k, experts] = shape;
        let is_small = (rows * top_k).max(experts) * n * k < 1_000_000;
        let size = if is_small { Size::Quick } else { Size::Core };
        for block_size in if is_small { vec![16, 64] } else { vec![16] } {
            let spec = |name, shape, block_size| Spec { size, ..spec(name, shape, block_size) };
            cases.push(case::<bf16, bf16>(spec("plain", shape, block_size)));
            let silu = Spec {
                activation: Activation::SiluAndMul,
                bias: false,
                weights: true,
                factors: true,
                ..spec("plain", shape, block_size)
            };
            cases.push(case::<f16, f32>(silu));
        }
    }
    for activation in [
        SWIGLU,
        Activation::SiluAndMul,
        Activation::Swiglu { alpha: 0.5, limit: Some(0.75), add_residual: false },
        Activation::Swiglu { alpha: 1.702, limit: None, add_residual: true },
    ] {
        let of = spec("activation", [19, 44, 96, 2, 3], 16);
        let all = Spec { activation, weights: true, factors: true, ..of };
        cases.push(case::<bf16, f32>(all.clone()));
        cases.push(case::<f16, f16>(Spec { bias: false, factors: false, ..all }));
    }
    for (absent, name) in [(None, FEW), (Some(1), FEW_AND_ABSENT)] {
        let few = Spec { load: Load::Wrong, absent, ..spec(name, [9, 40, 96, 6, 3], 16) };
        cases.push(case::<bf16, bf16>(few));
    }
    let nan = spec("a NaN as a scale", [9, 24, 64, 1, 2], 16);
    let nan = Spec { scales: MATRICES_WITH_NAN, bias: false, ..nan };
    cases.push(case::<bf16, f32>(nan.clone()));
    cases.push(case::<F4x2E2M1, bf16>(Spec { a_scales: Some(A_SCALES), ..nan.clone() }));
    cases.push(case::<F8E4M3, bf16>(Spec { a_scales: Some(A_SCALES), ..nan }));
    // Scales at both ends of their range, whose products are about 1.
    let ends = |a_scales, scales| {
        let name = format!("scales of {a_scales:?} by {scales:?}");
        let ends = spec(&name, [9, 24, 64, 1, 2], 16);
        Spec { a_scales: Some(a_scales), scales, ..ends }
    };
    let (least, most) = (Draw::Powers(-127, -121), Draw::Powers(116, 122));
    cases.push(case::<F4x2E2M1, f32>(ends(least, most)));
    cases.push(case::<F4x2E2M1, f32>(ends(most, least)));
    // As far as what rows of e4m3 are expanded to are numbers.
    cases.push(case::<F8E4M3, f32>(ends(Draw::Powers(-120, -114), Draw::Powers(104, 110))));
    cases.push(case::<F8E4M3, f32>(ends(Draw::Powers(110, 116), least)));
    let specified = spec("specified", [1, 128, 1024, 1, 2], 16);
    cases.push(case::<bf16, bf16>(Spec { size: Size::Core, ..specified }));
    for load in [Load::Zipf, Load::One(2), Load::Wrong, Load::Absent] {
        let of = Spec { load, weights: true, ..spec("load", [37, 40, 96, 2, 6], 32) };
        cases.push(case::<bf16, f16>(of));
    }
    for place in [Placement::DENSE, Placement::DENSE.gap(3).edge(Edge::End)] {
        let name = format!("an expert is elsewhere {place:?}");
        let of = Spec { absent: Some(1), place, ..spec(&name, [20, 23, 64, 2, 3], 16) };
        cases.push(case::<bf16, bf16>(of));
    }
    for (place, name) in [
        (Placement::DENSE.gap(64), "rows of wider tensors"),
        (Placement::DENSE.gap(6).shift(2), "rows off alignment"),
        (Placement::DENSE.edge(Edge::Start), "start of memory"),
        (Placement::DENSE.edge(Edge::End), "end of memory"),
    ] {
        cases.push(case::<bf16, bf16>(Spec { place, ..spec(name, [21, 72, 96, 2, 3], 32) }));
    }
    for (kernel, arch, name, [m, columns, k]) in tiles() {
        let Some(of_a) = kernel.variant.strip_suffix("e2m1_halves") else { continue };
        let shape = [2 * m + 5, columns + 9, 3 * k + 32, 2, 3];
        let tile = Some((arch, name));
        let place = Placement::DENSE.edge(Edge::End);
        let spec = Spec { tile, place, ..spec(&format!("tile {name}"), shape, m) };
        let mx = || of_codes(&spec, Some(A_SCALES));
        let one = || of_codes(&spec, None);
        cases.push(match (of_a, arch) {
            ("f16_", _) => case::<f16, f32>(spec),
            ("bf16_", _) => case::<bf16, bf16>(spec),
            ("", _) => case::<F4x2E2M1, bf16>(mx()),
            ("mxfp8_", _) => case::<F8E4M3, bf16>(mx()),
            (_, Arch::Gfx942) => case::<F8E4M3Fnuz, bf16>(one()),
            (_, Arch::Gfx950) => case::<F8E4M3, bf16>(one()),
        });
    }
    add_coded(cases, &spec);
    // GPT-OSS's, of few of its experts, as one of eight devices has it.
    let of = Spec { size: Size::Core, ..spec("gpt-oss", [8, 360, 2880, 4, 4], 16) };
    cases.push(case::<bf16, bf16>(of));
}

/// The same of rows of codes, of which numbers are larger.
fn of_codes(spec: &Spec, a_scales: Option<Draw>) -> Spec {
    Spec { a_scales, scales: Draw::Powers(-12, -6), ..spec.clone() }
}

/// Those of rows of 8 and 4 bits.
fn add_coded(cases: &mut Vec<Case>, spec: &dyn Fn(&str, [usize; 5], usize) -> Spec) {
    let mut add = |spec: Spec| {
        let (mx, one) = (of_codes(&spec, Some(A_SCALES)), of_codes(&spec, None));
        cases.push(case::<F4x2E2M1, bf16>(Spec { scales: Draw::Powers(-6, 0), ..mx.clone() }));
        cases.push(case::<F8E4M3, bf16>(mx));
        cases.push(case::<F8E4M3, f32>(one.clone()));
        cases.push(case::<F8E4M3Fnuz, f32>(one));
    };
    for (shape, block_size) in [
        ([4, 4, 32, 2, 2], 16),
        ([33, 35, 96, 2, 3], 64),
        ([64, 32, 128, 2, 8], 16),
        ([9, 40, 34, 2, 3], 16),
        ([0, 8, 32, 2, 4], 16),
    ] {
        add(spec("rows of codes", shape, block_size));
    }
    let (activation, weights) = (Activation::SiluAndMul, true);
    let factors = spec("factors", [19, 44, 96, 2, 3], 16);
    add(Spec { activation, weights, factors: true, bias: false, ..factors });
    for load in [Load::Zipf, Load::Wrong, Load::Absent] {
        add(Spec { load, weights, ..spec("load", [37, 24, 96, 2, 6], 32) });
    }
    add(Spec { absent: Some(1), ..spec("an expert is elsewhere", [20, 23, 64, 2, 3], 16) });
    for (place, name) in [
        (Placement::DENSE.gap(6).shift(2), "rows off alignment"),
        (Placement::DENSE.edge(Edge::End), "end of memory"),
    ] {
        add(Spec { place, ..spec(name, [21, 40, 96, 2, 3], 32) });
    }
}
