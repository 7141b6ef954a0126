//! Cases of `moe_op_e2e`.

use hk_core::dtype::{DType, Element, F8E4M3, F8E4M3Fnuz, Real, Real16, bf16, f16};
use hk_core::op::quant::ByteCode;
use hk_core::{Arch, Result, Tensor, TensorView};
use hk_ref::moe::moe_op::dequantised;
use hk_ref::moe::moe_op_e2e::{Problem, expect_coded_layer, expect_layer, summed};
use hk_ref::quant::quant::{per_group_quant, per_token_quant};
use hk_ref::{Arg, Case, CaseInfo, Draw, Edge, Placement, Size};
use ndarray::{Array3, ArrayView2, ArrayView3};

use super::experts::{FEW, FEW_AND_ABSENT, encoded};
use super::loads::{Aligned, Load};
use crate::{ExpertElement, ExpertWeight, MoeLayerOptions, moe_e2e_into};

/// Scales of matrices of e4m3, and how rows are made such.
#[derive(Clone, Copy, PartialEq)]
enum Scales {
    /// Of experts or of rows; all of a has one, which is perhaps given, and z one for each row or one.
    Given { a: bool, per_tensor: bool },
    /// Of blocks of so many rows and columns.
    Blocks([usize; 2]),
}

/// What rows of that width are as codes.
type Coded = fn(&[f64], usize, Scales) -> Vec<f64>;

/// What all of a is, by a scale that may be given.
const A_SCALE: f32 = 0.005;

fn coded_a<C: ByteCode>(a: &[f64], width: usize, scales: Scales) -> Vec<f64> {
    match scales {
        Scales::Given { a: is_given, .. } => encoded::<C>(a, is_given.then_some(A_SCALE)),
        Scales::Blocks(_) => coded_z::<C>(a, width, scales),
    }
}

fn coded_z<C: ByteCode>(z: &[f64], width: usize, scales: Scales) -> Vec<f64> {
    let (codes, scales, group) = match scales {
        Scales::Given { per_tensor: true, .. } => return encoded::<C>(z, None),
        Scales::Given { .. } => {
            let (codes, scales) = per_token_quant::<C>(z, width, C::MOST);
            (codes, scales, width)
        }
        Scales::Blocks([_, group]) => {
            let (codes, scales) = per_group_quant::<C>(z, width, group, C::MOST);
            (codes, scales, group)
        }
    };
    let groups = width.div_ceil(group);
    let scale = |at: usize| f64::from(scales[at / width * groups + at % width / group]);
    codes.iter().enumerate().map(|(at, code)| code * scale(at)).collect()
}

/// Rows and columns of the usual block.
const GROUP: usize = 128;

/// A case as data.
#[derive(Clone)]
struct Spec {
    name: &'static str,
    /// Rows, hidden numbers, k, gates of a row, and experts.
    shape: [usize; 5],
    block_size: usize,
    load: Load,
    weights: bool,
    absent: Option<usize>,
    /// Whether the rows of w1 and w2 are the inner dimension.
    by_rows: [bool; 2],
    /// Whether gates of a row are added up.
    reduce: bool,
    /// Of e4m3.
    coded: Option<(Scales, [Coded; 2])>,
    place: Placement,
    size: Size,
}

/// Matrices by their rows, which may be the inner dimension.
fn in_rows<W: Element>(w: &Tensor<W>, by_rows: bool) -> Result<TensorView<'_, W>> {
    if by_rows { w.permute(&[0, 2, 1]) } else { Ok(w.view()) }
}

/// What is in results that are not written.
const HELD: f64 = 17.0;

fn case<T: Real16 + ExpertElement, W: ExpertWeight<T>, Y: Real>(spec: Spec) -> Case {
    let [rows, hidden, k, top_k, experts] = spec.shape;
    let weights = if spec.weights { "weighted" } else { "not weighted" };
    let mut name =
        format!("{}, {:?}, tiles of {}, {weights}", spec.name, spec.load, spec.block_size);
    name += &match spec.coded {
        None => String::new(),
        Some((Scales::Blocks([GROUP, GROUP]), _)) => ", scales of blocks".into(),
        Some((Scales::Blocks(block), _)) => format!(", scales of blocks of {block:?}"),
        Some((Scales::Given { a: true, .. }, _)) => ", scale of a given".into(),
        Some((Scales::Given { per_tensor: true, .. }, _)) => ", one scale of z".into(),
        Some(_) => ", scales of rows of z".into(),
    };
    name += match spec.by_rows {
        [false, false] => "",
        [true, false] => ", columns of w1 adjacent",
        [false, true] => ", columns of w2 adjacent",
        [true, true] => ", columns adjacent",
    };
    name += if spec.reduce { ", sums" } else { "" };
    // Gates that no tile has count as zeros.
    let held_number = if spec.reduce { 0.0 } else { HELD };
    let info = CaseInfo::new("moe_op_e2e", "moe_e2e", name, &[], &spec.shape);
    let is_narrow = size_of::<W>() == 1;
    let of_w = if is_narrow { format!("*{}", W::DTYPE) } else { String::new() };
    let dtype = format!("{}{of_w}->{}", T::DTYPE, Y::DTYPE);
    let arch = match W::DTYPE {
        DType::F8E4M3 => Some(Arch::Gfx950),
        DType::F8E4M3Fnuz => Some(Arch::Gfx942),
        _ => None,
    };
    Case::new(CaseInfo { dtype, arch, size: spec.size, ..info }, move |s| {
        let place = spec.place;
        let a = s.input::<T>("a", &[rows, k], Draw::Normal).place(place);
        let draws = [Draw::Scaled(-2), Draw::Normal];
        let [of_w1, of_w2] = if is_narrow { [Draw::Codes; 2] } else { draws };
        let [w1_shape, w2_shape] = [[experts, 2 * hidden, k], [experts, k, hidden]];
        let stored = |[experts, rows, columns]: [usize; 3], by_rows: bool| match by_rows {
            true => [experts, columns, rows],
            false => [experts, rows, columns],
        };
        let [w1_rows, w2_rows] = spec.by_rows;
        let w1 = s.input::<W>("w1", &stored(w1_shape, w1_rows), of_w1).place(place);
        let w2 = s.input::<W>("w2", &stored(w2_shape, w2_rows), of_w2).place(place);
        let of_scales = spec.coded.map(|(scales, _)| scales);
        let block = match of_scales {
            Some(Scales::Blocks(block)) => Some(block),
            _ => None,
        };
        let of_blocks = block.is_some();
        let [block_rows, depth] = block.unwrap_or([GROUP; 2]);
        let groups = |rows: usize, columns: usize| {
            [experts, rows.div_ceil(block_rows), columns.div_ceil(depth)]
        };
        let block_scales = of_blocks.then(|| {
            [("w1_scale", groups(2 * hidden, k)), ("w2_scale", groups(k, hidden))]
                .map(|(name, shape)| s.input::<f32>(name, &shape, Draw::Scaled(-8)))
        });
        let is_given = matches!(of_scales, Some(Scales::Given { a: true, .. }));
        let a_scale = is_given.then(|| s.given("a_scale", &[1], vec![A_SCALE]));
        let scales = (is_narrow && !of_blocks).then(|| {
            let [up, down] = [[experts, 2 * hidden], [experts, k]];
            // With weights, a scale for each matrix.
            let rank = if spec.weights { 1 } else { 2 };
            [("w1_scale", up), ("w2_scale", down)]
                .map(|(name, shape)| s.input::<f32>(name, &shape[..rank], Draw::Scaled(-8)))
        });
        let weights =
            spec.weights.then(|| s.input::<f32>("topk_weights", &[rows, top_k], Draw::Normal));
        let of_gates = [rows, top_k, experts];
        let aligned = Aligned::new(s, of_gates, spec.load, spec.block_size, spec.absent);

        let expected = {
            let numbers = |w: &Arg<W>, shape: [usize; 3], by_rows: bool| -> Vec<f64> {
                let all = Array3::from_shape_vec(stored(shape, by_rows), w.numbers());
                let all = all.expect("matrices of that shape");
                let rows = if by_rows { all.permuted_axes([0, 2, 1]) } else { all };
                rows.iter().copied().collect()
            };
            let mut a = a.numbers();
            let mut up = numbers(&w1, w1_shape, w1_rows);
            let mut down = numbers(&w2, w2_shape, w2_rows);
            if let Some([of_up, of_down]) = &scales {
                for (matrices, scales) in [(&mut up, of_up), (&mut down, of_down)] {
                    let scales = scales.numbers();
                    let each = (matrices.len() / scales.len()).max(1);
                    matrices.iter_mut().enumerate().for_each(|(at, x)| *x *= scales[at / each]);
                }
            }
            if let Some(scales) = &block_scales {
                let sizes = [[2 * hidden, k], [k, hidden]];
                for ((matrices, [rows, columns]), scales) in
                    [&mut up, &mut down].into_iter().zip(sizes).zip(scales)
                {
                    let [_, down, across] = groups(rows, columns);
                    let scales = scales.numbers();
                    let scales = Array3::from_shape_vec((experts, down, across), scales);
                    let scales = scales.expect("scales of matrices");
                    let each = matrices.chunks_exact_mut(rows * columns);
                    for (matrix, scales) in each.zip(scales.outer_iter()) {
                        let of = ArrayView2::from_shape((rows, columns), matrix).expect("a matrix");
                        let scaled = dequantised(of, scales, [block_rows, depth]);
                        matrix.iter_mut().zip(&scaled).for_each(|(to, from)| *to = *from);
                    }
                }
            }
            if let Some((scales, [of_a, _])) = spec.coded {
                a = of_a(&a, k, scales);
            }
            let weights = weights.as_ref().map(|weights| weights.numbers());
            let matrices =
                |shape, numbers| ArrayView3::from_shape(shape, numbers).expect("matrices");
            let problem = Problem {
                a: ArrayView2::from_shape((rows, k), &a).expect("a matrix of that shape"),
                b: matrices((experts, 2 * hidden, k), &up),
                ids: &aligned.ids,
                top_k,
                weights: weights.as_deref(),
                absent: spec.absent,
                held: held_number,
            };
            let down = matrices((experts, k, hidden), &down);
            let of_gates = match spec.coded {
                None => expect_layer::<T>(&problem, down, Y::DTYPE),
                Some((scales, [_, of_z])) => {
                    let coded = |z: &[f64]| of_z(z, hidden, scales);
                    expect_coded_layer::<T>(&problem, down, &coded, Y::DTYPE)
                }
            };
            match spec.reduce {
                true => summed(&of_gates, top_k, k, Y::DTYPE),
                false => of_gates,
            }
        };
        let shape = [rows, top_k, k];
        let shape = if spec.reduce { &[rows, k][..] } else { &shape };
        let held = Y::encode(&vec![HELD; shape.iter().product()]);
        let c = s.output::<Y>("c", shape, expected).place(place).holding(held);

        let reduce = spec.reduce;
        let per_tensor = matches!(of_scales, Some(Scales::Given { per_tensor: true, .. }));
        s.call(move || {
            let weights: Option<Tensor<f32>> = weights.as_ref().map(|weights| weights.get());
            let options = MoeLayerOptions::default();
            let options = weights.iter().fold(options, |options, of| options.topk_weights(of));
            let scales = scales.as_ref().map(|scales| scales.each_ref().map(Arg::get));
            let options = scales.iter().fold(options, |options, [w1, w2]| options.scales([w1, w2]));
            let of_blocks = block_scales.as_ref().map(|scales| scales.each_ref().map(Arg::get));
            let options =
                of_blocks.iter().fold(options, |options, [w1, w2]| options.block_scales([w1, w2]));
            let shape = block.filter(|block| *block != [GROUP; 2]);
            let options = shape.into_iter().fold(options, MoeLayerOptions::block_shape);
            let a_scale = a_scale.as_ref().map(Arg::get);
            let options = a_scale.iter().fold(options, |options, scale| options.a_scale(scale));
            let options = if reduce { options.reduce() } else { options };
            let options = if per_tensor { options.intermediate_per_tensor() } else { options };
            let (a, w1, w2) = (a.get(), w1.get(), w2.get());
            let (w1, w2) = (in_rows(&w1, w1_rows)?, in_rows(&w2, w2_rows)?);
            aligned.with(|gates| moe_e2e_into(&a, &w1, &w2, gates, top_k, &options, &mut c.get()))
        });
    })
}

pub(super) fn add(cases: &mut Vec<Case>) {
    let spec = |name, shape, block_size| Spec {
        name,
        shape,
        block_size,
        load: Load::Uniform,
        weights: true,
        absent: None,
        by_rows: [false; 2],
        reduce: false,
        coded: None,
        place: Placement::default(),
        size: Size::Quick,
    };
    for (shape, size) in [
        ([4, 2, 8, 1, 2], Size::Quick),
        ([1, 128, 512, 1, 2], Size::Core),
        ([32, 256, 128, 2, 4], Size::Core),
        ([64, 32, 128, 2, 8], Size::Core),
    ] {
        cases.push(case::<bf16, bf16, bf16>(Spec { size, ..spec("specified", shape, 16) }));
    }
    for shape in [
        [4, 2, 8, 2, 2],
        [32, 64, 128, 2, 4],
        [17, 48, 72, 2, 3],
        [17, 45, 70, 2, 3],
        [1, 128, 256, 1, 2],
        [64, 32, 64, 2, 8],
        [0, 8, 8, 2, 4],
    ] {
        for block_size in [16, 64] {
            cases.push(case::<bf16, bf16, bf16>(spec("plain", shape, block_size)));
            let unweighted = Spec { weights: false, ..spec("plain", shape, block_size) };
            cases.push(case::<f16, f16, f32>(unweighted));
        }
    }
    for shape in [[4, 2, 8, 2, 2], [17, 45, 70, 2, 3], [33, 64, 128, 2, 4]] {
        cases.push(case::<bf16, i8, bf16>(spec("i8", shape, 64)));
        cases.push(case::<f16, i8, f32>(Spec { weights: false, ..spec("i8", shape, 16) }));
    }
    add_coded(cases, &spec);
    add_sums(cases, &spec);
    // So many hidden numbers that the second product is cut into shares.
    let long = Spec { size: Size::Core, ..spec("long rows of z", [3, 4136, 24, 2, 3], 16) };
    cases.push(case::<bf16, bf16, bf16>(long.clone()));
    cases.push(case::<f16, i8, f32>(Spec { weights: false, ..long.clone() }));
    cases.push(case::<bf16, bf16, bf16>(Spec { reduce: true, ..long.clone() }));
    let name = "long rows of z, an expert is elsewhere";
    cases.push(case::<bf16, bf16, bf16>(Spec { name, absent: Some(1), ..long }));
    for by_rows in [[true, false], [false, true], [true; 2]] {
        for (shape, block_size) in [([4, 2, 8, 2, 2], 16), ([17, 45, 70, 2, 3], 64)] {
            let spec = Spec { by_rows, ..spec("by rows", shape, block_size) };
            cases.push(case::<bf16, bf16, bf16>(spec.clone()));
            cases.push(case::<f16, i8, f32>(Spec { weights: false, ..spec }));
        }
    }
    for (absent, name) in [(None, FEW), (Some(1), FEW_AND_ABSENT)] {
        let few = Spec { load: Load::Wrong, absent, ..spec(name, [9, 24, 40, 6, 3], 16) };
        cases.push(case::<bf16, bf16, bf16>(few.clone()));
        cases.push(case::<bf16, bf16, bf16>(Spec { reduce: true, ..few }));
    }
    for load in [Load::Zipf, Load::One(2), Load::Even, Load::Wrong, Load::Absent] {
        let spec = Spec { load, ..spec("load", [37, 40, 72, 2, 6], 32) };
        cases.push(case::<bf16, bf16, f16>(spec));
    }
    let absent = spec("an expert is elsewhere", [20, 24, 40, 2, 3], 16);
    cases.push(case::<bf16, bf16, bf16>(Spec { absent: Some(1), ..absent }));
    for (place, name) in [
        (Placement::DENSE.gap(48), "rows of wider tensors"),
        (Placement::DENSE.gap(5).shift(3), "rows off alignment"),
        (Placement::DENSE.edge(Edge::Start), "start of memory"),
        (Placement::DENSE.edge(Edge::End), "end of memory"),
    ] {
        cases.push(case::<bf16, bf16, bf16>(Spec { place, ..spec(name, [21, 40, 80, 2, 3], 32) }));
    }
}

/// Those of sums of gates.
fn add_sums(cases: &mut Vec<Case>, spec: &dyn Fn(&'static str, [usize; 5], usize) -> Spec) {
    let spec = |name, shape, block_size| Spec { reduce: true, ..spec(name, shape, block_size) };
    for (shape, block_size) in [
        ([4, 2, 8, 2, 2], 16),
        ([17, 45, 70, 3, 4], 16),
        ([1, 32, 520, 2, 2], 64),
        ([0, 8, 8, 2, 4], 16),
    ] {
        cases.push(case::<bf16, bf16, bf16>(spec("plain", shape, block_size)));
        let unweighted = Spec { weights: false, ..spec("plain", shape, block_size) };
        cases.push(case::<f16, f16, f32>(unweighted));
    }
    cases.push(case::<f16, i8, f16>(spec("i8", [17, 45, 70, 2, 3], 16)));
    for load in [Load::Wrong, Load::Absent] {
        cases.push(case::<bf16, bf16, f16>(Spec { load, ..spec("load", [37, 24, 40, 2, 6], 32) }));
    }
    let absent = spec("an expert is elsewhere", [20, 24, 40, 2, 3], 16);
    cases.push(case::<bf16, bf16, bf16>(Spec { absent: Some(1), ..absent }));
    let place = Placement::DENSE.gap(5).shift(3);
    let apart = spec("rows off alignment", [21, 40, 80, 2, 3], 32);
    cases.push(case::<bf16, bf16, bf16>(Spec { place, ..apart }));
    let scales = Scales::Given { a: false, per_tensor: false };
    let coded = spec("e4m3", [17, 45, 70, 2, 3], 64);
    let of = |coded: [Coded; 2]| Some((scales, coded));
    let ocp = of([coded_a::<F8E4M3>, coded_z::<F8E4M3>]);
    cases.push(case::<bf16, F8E4M3, bf16>(Spec { coded: ocp, ..coded.clone() }));
    let fnuz = of([coded_a::<F8E4M3Fnuz>, coded_z::<F8E4M3Fnuz>]);
    cases.push(case::<bf16, F8E4M3Fnuz, bf16>(Spec { coded: fnuz, ..coded }));
}

/// Those of e4m3, for the chip of either flavour.
fn add_coded(cases: &mut Vec<Case>, spec: &dyn Fn(&'static str, [usize; 5], usize) -> Spec) {
    let ocp: [Coded; 2] = [coded_a::<F8E4M3>, coded_z::<F8E4M3>];
    let fnuz: [Coded; 2] = [coded_a::<F8E4M3Fnuz>, coded_z::<F8E4M3Fnuz>];
    let given = |a, per_tensor| Scales::Given { a, per_tensor };
    let usual = Scales::Blocks([GROUP; 2]);
    let all = [given(false, false), given(true, false), given(false, true), usual];
    let mut add = |spec: Spec, scales: Scales| {
        let [ocp, fnuz] = [ocp, fnuz].map(|of| Spec { coded: Some((scales, of)), ..spec.clone() });
        match spec.weights {
            true => {
                cases.push(case::<bf16, F8E4M3, bf16>(ocp));
                cases.push(case::<bf16, F8E4M3Fnuz, bf16>(fnuz));
            }
            false => {
                cases.push(case::<f16, F8E4M3, f32>(ocp));
                cases.push(case::<f16, F8E4M3Fnuz, f32>(fnuz));
            }
        }
    };
    for block in [[128, 64], [1, 32], [48, 128], [100, 256], [512, 32]] {
        let blocks = Scales::Blocks(block);
        add(spec("e4m3", [33, 80, 272, 2, 4], 64), blocks);
        add(Spec { weights: false, ..spec("e4m3", [9, 45, 70, 2, 3], 16) }, blocks);
    }
    for scales in [given(false, false), usual, Scales::Blocks([48, 64])] {
        add(Spec { by_rows: [true; 2], ..spec("by rows", [17, 45, 70, 2, 3], 16) }, scales);
        let few = Spec { load: Load::Wrong, ..spec(FEW, [9, 24, 40, 6, 3], 16) };
        add(Spec { reduce: true, ..few }, scales);
    }
    for scales in all {
        for (shape, block_size) in
            [([4, 2, 8, 2, 2], 16), ([17, 45, 70, 2, 3], 64), ([33, 160, 272, 2, 4], 64)]
        {
            add(spec("e4m3", shape, block_size), scales);
        }
        add(Spec { weights: false, ..spec("e4m3", [33, 64, 130, 2, 4], 16) }, scales);
        let absent = Spec { absent: Some(1), ..spec("elsewhere", [20, 24, 40, 2, 3], 16) };
        add(absent, scales);
        add(Spec { load: Load::Absent, ..spec("load", [9, 24, 40, 2, 3], 16) }, scales);
        let place = Placement::DENSE.gap(5).shift(3);
        add(Spec { place, ..spec("rows off alignment", [21, 40, 80, 2, 3], 32) }, scales);
    }
}
