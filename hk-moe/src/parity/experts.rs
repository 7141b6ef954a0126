//! Cases of products of tokens with the matrices of their experts.

use hk_core::dtype::{DType, Element, F8E4M3, F8E4M3Fnuz, Real, bf16, decode, f16};
use hk_core::kernel::Kernel;
use hk_core::op::epilogue::Operand;
use hk_core::op::quant::ByteCode;
use hk_core::{Arch, Result, Tensor, TensorSlice};
use hk_ref::moe::moe_op::{Problem, dequantised};
use hk_ref::quant::quant::dynamic_per_tensor_quant;
use hk_ref::quant::quant_moe::static_fp8;
use hk_ref::{Arg, Case, CaseInfo, Draw, Edge, Expected, Placement, Setup, Size};
use ndarray::{Array2, Array3, ArrayView2, ArrayView3};

use super::loads::{Aligned, Load};
use super::ragged::SWIGLU;
use crate::{Activation, AlignedGates, BlockScales, ExpertElement, ExpertWeight, MoeGemmOptions};

/// What distinguishes the ops.
pub(super) trait Kind: Copy + Send + Sync + 'static {
    /// The module.
    const MODULE: &'static str;
    /// The op.
    const OP: &'static str;
    /// Rows of an expert's matrix for each column of the results.
    const ROWS: usize;

    /// Calls the op.
    fn call<T: ExpertElement, W: ExpertWeight<T>, Y: Real>(
        operands: (&TensorSlice<T>, &TensorSlice<W>),
        gates: &AlignedGates<'_>,
        top_k: usize,
        options: &MoeGemmOptions<'_>,
        c: &mut TensorSlice<Y>,
    ) -> Result<()>;

    /// The reference.
    fn expect(problem: &Problem<'_>, gated: &Gated, dtype: DType) -> Expected;
}

/// What is special to some: a bias, and an activation of gates and what they let through.
#[derive(Default)]
pub(super) struct Gated {
    pub(super) bias: Option<Array2<f64>>,
    pub(super) activation: Option<Activation>,
}

/// What 8-bit operands have scales of.
#[derive(Clone, Copy, PartialEq)]
enum Scales {
    Blocks,
    /// Each expert's matrix, and all rows of a.
    Matrices,
    /// Each row of matrices.
    Rows,
}

/// What rows of 16 bits are made before they are multiplied, with that scale, or that of all of them.
type Encode = fn(&[f64], Option<f32>) -> Vec<f64>;

/// Codes of type `C`, times their scale.
pub(super) fn encoded<C: ByteCode>(rows: &[f64], scale: Option<f32>) -> Vec<f64> {
    let (codes, scale) = match scale {
        Some(scale) => (static_fp8::<C>(rows, scale, C::MOST), scale),
        None => dynamic_per_tensor_quant::<C>(rows, C::MOST),
    };
    codes.into_iter().map(|code| code * f64::from(scale)).collect()
}

/// What operands hold.
#[derive(Clone, Copy, PartialEq)]
enum Content {
    Drawn,
    /// All are 1, so that sums are k.
    Ones,
    /// Rows of a have their number, matrices a 1 at a place of their own: rows or matrices of others show.
    Marks,
    /// The first rows of a have a NaN, or an infinity, or are large.
    Special,
}

impl Content {
    /// Rows of a, drawn before.
    fn rows<T: Element>(self, drawn: Vec<T>, k: usize) -> Vec<T> {
        let numbers: Vec<f64> = match self {
            Self::Drawn => return drawn,
            Self::Ones => vec![1.0; drawn.len()],
            Self::Marks => (0..drawn.len()).map(|at| (at / k % 128) as f64).collect(),
            Self::Special => {
                let mut numbers = decode(&drawn);
                let special = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY];
                let mut rows = numbers.chunks_mut(k);
                for (number, row) in special.into_iter().zip(rows.by_ref()) {
                    row[k / 2] = number;
                }
                rows.next().into_iter().flatten().for_each(|number| *number *= 30.0);
                numbers
            }
        };
        T::encode(&numbers)
    }

    /// Matrices of so many rows of k, drawn before, of which each n are those of the columns of the results.
    fn matrices<W: Element>(self, drawn: Vec<W>, [rows, n, k]: [usize; 3]) -> Vec<W> {
        let is_marked = |at: usize| {
            let (expert, row, column) = (at / (rows * k), at / k % rows, at % k);
            row % n == expert % n && column == (7 * expert + 1) % k
        };
        let numbers: Vec<f64> = match self {
            Self::Drawn | Self::Special => return drawn,
            Self::Ones => vec![1.0; drawn.len()],
            Self::Marks => (0..drawn.len()).map(|at| f64::from(u8::from(is_marked(at)))).collect(),
        };
        W::encode(&numbers)
    }
}

/// A gap between matrices, or results, that offsets of 32 bits do not reach over.
pub(super) const fn far<T: Element>() -> Placement {
    Placement::DENSE.gap((1 << 32) / size_of::<T>() * T::PACK)
}

/// A gap between rows of results, of which some are beyond 4 GiB.
pub(super) const FAR_ROWS: Placement = Placement::DENSE.gap(1 << 30);

/// A case as data.
#[derive(Clone)]
pub(super) struct Spec {
    name: String,
    /// Rows, columns of the results, k, gates of a row, and experts.
    shape: [usize; 5],
    block_size: usize,
    load: Load,
    weights: bool,
    /// Of weights.
    weights_dtype: DType,
    absent: Option<usize>,
    scales: Scales,
    /// Rows and k of a block of scales, if they are given.
    block_shape: Option<[usize; 2]>,
    /// Whether k is the outer dimension of matrices.
    by_rows: bool,
    /// Shares of k, if they are given.
    splits: Option<u32>,
    /// How rows become codes, and whether their scale is given.
    encode: Option<(Encode, bool)>,
    bias: bool,
    activation: Option<Activation>,
    content: Content,
    /// Whether matrices are far apart, and results.
    is_far: bool,
    tile: Option<(Arch, &'static str)>,
    place: Placement,
    size: Size,
}

fn spec(name: impl Into<String>, shape: [usize; 5], block_size: usize) -> Spec {
    Spec {
        name: name.into(),
        shape,
        block_size,
        load: Load::Uniform,
        weights: true,
        weights_dtype: DType::F32,
        absent: None,
        scales: Scales::Blocks,
        block_shape: None,
        by_rows: false,
        splits: None,
        encode: None,
        bias: false,
        activation: None,
        content: Content::Drawn,
        is_far: false,
        tile: None,
        place: Placement::default(),
        size: Size::Quick,
    }
}

/// Weights of gates, of one of their types.
enum Weights<F = Arg<f32>, B = Arg<bf16>, H = Arg<f16>> {
    F32(F),
    Bf16(B),
    F16(H),
}

impl Weights {
    fn new(s: &mut Setup, shape: [usize; 2], dtype: DType, place: Placement) -> Self {
        let (name, draw) = ("topk_weights", Draw::Normal);
        match dtype {
            DType::Bf16 => Self::Bf16(s.input(name, &shape, draw).place(place)),
            DType::F16 => Self::F16(s.input(name, &shape, draw).place(place)),
            _ => Self::F32(s.input(name, &shape, draw).place(place)),
        }
    }

    fn numbers(&self) -> Vec<f64> {
        match self {
            Self::F32(weights) => weights.numbers(),
            Self::Bf16(weights) => weights.numbers(),
            Self::F16(weights) => weights.numbers(),
        }
    }

    fn get(&self) -> Weights<Tensor<f32>, Tensor<bf16>, Tensor<f16>> {
        match self {
            Self::F32(weights) => Weights::F32(weights.get()),
            Self::Bf16(weights) => Weights::Bf16(weights.get()),
            Self::F16(weights) => Weights::F16(weights.get()),
        }
    }
}

impl Weights<Tensor<f32>, Tensor<bf16>, Tensor<f16>> {
    fn operand(&self) -> Operand<'_> {
        match self {
            Self::F32(weights) => weights.into(),
            Self::Bf16(weights) => weights.into(),
            Self::F16(weights) => weights.into(),
        }
    }
}

/// What is in results that are not written.
const HELD: f64 = 17.0;

/// Rows of a block of scales, and k.
const GROUP: usize = 128;

fn case<K: Kind, T: ExpertElement, W: ExpertWeight<T>, Y: Real>(spec: Spec) -> Case {
    let [rows, n, k, top_k, experts] = spec.shape;
    let weights = if spec.weights { "weighted" } else { "not weighted" };
    let mut name =
        format!("{}, {:?}, tiles of {}, {weights}", spec.name, spec.load, spec.block_size);
    if spec.weights_dtype != DType::F32 {
        name += &format!(" by {}", spec.weights_dtype);
    }
    match spec.scales {
        Scales::Blocks => (),
        Scales::Matrices => name += ", scales of matrices",
        Scales::Rows => name += ", scales of rows",
    }
    if let Some(shape) = spec.block_shape {
        name += &format!(" of {shape:?}");
    }
    name += if spec.by_rows { ", columns adjacent" } else { "" };
    name += match spec.encode {
        Some((_, true)) => ", scale of a given",
        Some((_, false)) => ", scale of a found",
        None => "",
    };
    name += &spec.splits.map_or(String::new(), |splits| format!(", {splits} shares of k"));
    name += if spec.bias { ", bias" } else { "" };
    if let Some(activation) = spec.activation {
        name += &format!(", {activation:?}");
    }
    let info = CaseInfo::new(K::MODULE, K::OP, name, &[], &spec.shape);
    let of_b = if T::DTYPE == W::DTYPE { String::new() } else { format!("*{}", W::DTYPE) };
    let dtype = format!("{}{of_b}->{}", T::DTYPE, Y::DTYPE);
    let are_narrow = [size_of::<T>() == 1, size_of::<W>() == 1];
    let arch = match W::DTYPE {
        DType::F8E4M3 => Some(Arch::Gfx950),
        DType::F8E4M3Fnuz => Some(Arch::Gfx942),
        _ => spec.tile.map(|(arch, _)| arch),
    };
    Case::new(CaseInfo { dtype, arch, size: spec.size, ..info }, move |s| {
        let (place, b_rows) = (spec.place, K::ROWS * n);
        let draw = |is_narrow| if is_narrow { Draw::Codes } else { Draw::Normal };
        let drawn = s.draw::<T>("a", &[rows, k], draw(are_narrow[0]));
        let a = s.given("a", &[rows, k], spec.content.rows(drawn, k)).place(place);
        let b_shape = if spec.by_rows { [experts, k, b_rows] } else { [experts, b_rows, k] };
        let drawn = s.draw::<W>("b", &b_shape, draw(are_narrow[1]));
        let drawn = spec.content.matrices(drawn, [b_rows, n, k]);
        let [b_place, c_place] = if spec.is_far { [far::<W>(), FAR_ROWS] } else { [place; 2] };
        // Those that are far apart have no gaps between their rows.
        let whole = [experts, b_rows * k];
        let b = s.given("b", if spec.is_far { &whole[..] } else { &b_shape }, drawn);
        let b = b.place(b_place);
        let block @ [of_rows, of_k] = spec.block_shape.unwrap_or([GROUP; 2]);
        let groups = [b_rows.div_ceil(of_rows), k.div_ceil(of_k)];
        let of_blocks = are_narrow[0] && spec.scales == Scales::Blocks;
        let scales = of_blocks.then(|| {
            let a = s.input::<f32>("a_scale", &[rows, groups[1]], Draw::Scaled(-6));
            let shape = [experts, groups[0], groups[1]];
            (a, s.input::<f32>("b_scale", &shape, Draw::Scaled(-6)))
        });
        let b_scale = (are_narrow[1] && !of_blocks).then(|| {
            let shape = [experts, b_rows];
            let shape = if spec.scales == Scales::Rows { &shape[..] } else { &shape[..1] };
            s.input::<f32>("b_scale", shape, Draw::Scaled(-6))
        });
        let a_scale = (are_narrow[0] && spec.scales == Scales::Matrices)
            .then(|| s.input::<f32>("a_scale", &[1], Draw::Scaled(-2)));
        // By which the largest of normal numbers are beyond the largest code.
        let is_given = spec.encode.is_some_and(|(_, is_given)| is_given);
        let a_scale = a_scale.or_else(|| is_given.then(|| s.given("a_scale", &[1], vec![0.01])));
        let weights =
            spec.weights.then(|| Weights::new(s, [rows, top_k], spec.weights_dtype, place));
        let bias = spec.bias.then(|| s.input::<f32>("bias", &[experts, b_rows], Draw::Normal));
        let of_gates = [rows, top_k, experts];
        let aligned = Aligned::new(s, of_gates, spec.load, spec.block_size, spec.absent);

        let expected = {
            let (a, b) = (decode(&a.elements()), decode(&b.elements()));
            let a = ArrayView2::from_shape((rows, k), &a).expect("a matrix of that shape");
            let b = ArrayView3::from_shape(b_shape, &b).expect("matrices");
            let b = if spec.by_rows { b.permuted_axes([0, 2, 1]) } else { b };
            let (mut a, mut b) = (a.to_owned(), b.to_owned());
            if let Some((a_scale, b_scale)) = &scales {
                let of_a = a_scale.numbers();
                let of_a = ArrayView2::from_shape((rows, groups[1]), &of_a).expect("scales");
                a = dequantised(a.view(), of_a, [1, of_k]);
                let of_b = b_scale.numbers();
                let shape = (experts, groups[0], groups[1]);
                let of_b = Array3::from_shape_vec(shape, of_b).expect("scales");
                for (mut matrix, scales) in b.outer_iter_mut().zip(of_b.outer_iter()) {
                    let scaled = dequantised(matrix.view(), scales, block);
                    matrix.assign(&scaled);
                }
            }
            if let Some((encode, is_given)) = spec.encode {
                let scale = a_scale.as_ref().filter(|_| is_given).map(|scale| scale.elements()[0]);
                let codes = encode(&a.iter().copied().collect::<Vec<_>>(), scale);
                a = Array2::from_shape_vec((rows, k), codes).expect("a matrix of that shape");
            } else if let Some(a_scale) = &a_scale {
                a *= a_scale.numbers()[0];
            }
            if let Some(b_scale) = &b_scale {
                let of_b = b_scale.numbers();
                for (expert, mut matrix) in b.outer_iter_mut().enumerate() {
                    for (row, mut elements) in matrix.outer_iter_mut().enumerate() {
                        let of_row = expert * b_rows + row;
                        elements *= of_b[if of_b.len() > experts { of_row } else { expert }];
                    }
                }
            }
            let weights = weights.as_ref().map(Weights::numbers);
            let problem = Problem {
                a: a.view(),
                b: b.view(),
                ids: &aligned.ids,
                top_k,
                weights: weights.as_deref(),
                absent: spec.absent,
                held: HELD,
            };
            let bias = bias.as_ref().map(|bias| {
                Array2::from_shape_vec((experts, b_rows), bias.numbers()).expect("a matrix")
            });
            K::expect(&problem, &Gated { bias, activation: spec.activation }, Y::DTYPE)
        };
        let held = Y::encode(&vec![HELD; rows * top_k * n]);
        let c = s.output::<Y>("c", &[rows, top_k, n], expected).place(c_place).holding(held);

        let spec = spec.clone();
        s.call(move || {
            let weights = weights.as_ref().map(Weights::get);
            let scales = scales.as_ref().map(|(a, b)| (a.get(), b.get()));
            let options = MoeGemmOptions::default();
            let options =
                weights.iter().fold(options, |options, of| options.topk_weights(of.operand()));
            let options =
                scales.iter().fold(options, |options, (a, b)| options.scales(BlockScales { a, b }));
            let options = spec.block_shape.into_iter().fold(options, MoeGemmOptions::block_shape);
            let [a_scale, b_scale, bias] =
                [&a_scale, &b_scale, &bias].map(|of| of.as_ref().map(Arg::get));
            let options = bias.iter().fold(options, |options, of| options.bias(of));
            let options = spec.activation.into_iter().fold(options, MoeGemmOptions::activation);
            let options = a_scale.iter().fold(options, |options, of| options.a_scale(of));
            let options = b_scale.iter().fold(options, |options, of| options.b_scale(of));
            let options = spec.splits.into_iter().fold(options, MoeGemmOptions::splits);
            let tile = spec.tile.map(|(_, tile)| tile);
            let options = tile.into_iter().fold(options, MoeGemmOptions::tile);
            let b = b.get();
            let b = match (spec.by_rows, spec.is_far) {
                (true, _) => b.permute(&[0, 2, 1])?,
                (false, true) => b.reshape(&b_shape)?,
                (false, false) => b.view(),
            };
            aligned.with(|gates| {
                K::call::<T, W, Y>((&a.get(), &b), gates, top_k, &options, &mut c.get())
            })
        });
    })
}

/// Names of cases in which most gates of a row have an expert that is elsewhere.
pub(super) const FEW: &str = "fewer experts here than gates of a row";
pub(super) const FEW_AND_ABSENT: &str = "fewer experts here than gates of a row, one without tiles";

/// Rows, columns, k, gates of a row, experts.
const SHAPES: [[usize; 5]; 9] = [
    [4, 4, 8, 2, 2],
    [16, 64, 128, 2, 4],
    [33, 136, 160, 3, 5],
    [8, 96, 256, 2, 16],
    [16, 131, 33, 1, 1],
    [1, 200, 512, 2, 4],
    [16, 72, 1, 2, 4],
    [5, 1, 40, 2, 3],
    [0, 8, 16, 2, 4],
];

/// Others of the specification, with as many rows of matrices.
const SPECIFIED: [[usize; 5]; 4] =
    [[4, 4, 8, 1, 2], [64, 64, 128, 2, 8], [1, 1024, 1024, 2, 4], [16, 1792, 1, 2, 4]];

/// Those of an op for elements of 16 bits.
pub(super) fn add<K: Kind>(cases: &mut Vec<Case>) {
    for shape in SHAPES {
        for block_size in [16, 64] {
            let spec = spec("plain", shape, block_size);
            cases.push(case::<K, bf16, bf16, bf16>(spec.clone()));
            let spec = Spec { weights: false, ..spec };
            cases.push(case::<K, f16, f16, f32>(spec));
        }
    }
    for [rows, b_rows, k, top_k, experts] in SPECIFIED {
        let size = if rows * b_rows * k < 1000 { Size::Quick } else { Size::Core };
        let spec = spec("specified", [rows, b_rows / K::ROWS, k, top_k, experts], 16);
        cases.push(case::<K, bf16, bf16, bf16>(Spec { size, ..spec }));
    }
    let contents = [
        (Content::Ones, "ones", [21, 40, 72, 2, 3]),
        (Content::Marks, "marks", [150, 24, 40, 2, 5]),
        (Content::Special, "special numbers", [9, 40, 72, 2, 3]),
    ];
    for (content, name, shape) in contents {
        let spec = Spec { content, weights: false, ..spec(name, shape, 16) };
        cases.push(case::<K, bf16, bf16, f32>(spec.clone()));
        cases.push(case::<K, f16, f16, f32>(spec));
    }
    let far = Spec { is_far: true, size: Size::Core, ..spec("far apart", [3, 20, 40, 2, 3], 16) };
    cases.push(case::<K, bf16, bf16, bf16>(far));
    let all = [Load::Zipf, Load::One(2), Load::Even, Load::Wrong, Load::Absent];
    for load in all {
        for block_size in [16, 48, 128] {
            let spec = Spec { load, ..spec("load", [37, 40, 72, 2, 6], block_size) };
            cases.push(case::<K, bf16, bf16, f16>(spec));
        }
    }
    let absent = Spec { absent: Some(1), ..spec("an expert is elsewhere", [20, 24, 40, 2, 3], 16) };
    cases.push(case::<K, bf16, bf16, bf16>(absent));
    for (absent, name) in [(None, FEW), (Some(1), FEW_AND_ABSENT)] {
        let few = Spec { load: Load::Wrong, absent, ..spec(name, [9, 40, 72, 6, 3], 16) };
        cases.push(case::<K, bf16, bf16, bf16>(few));
    }
    let many = spec("more than a tile", [129, 24, 40, 1, 1], 128);
    cases.push(case::<K, bf16, bf16, bf16>(many));
    let most = spec("as many gates of a row as there may be", [3, 24, 40, 64, 5], 16);
    cases.push(case::<K, bf16, bf16, bf16>(most));
    for (place, name) in [
        (Placement::DENSE.gap(48), "rows of wider tensors"),
        (Placement::DENSE.gap(5).shift(3), "rows off alignment"),
        (Placement::DENSE.edge(Edge::Start), "start of memory"),
        (Placement::DENSE.edge(Edge::End), "end of memory"),
    ] {
        let spec = Spec { place, ..spec(name, [21, 72, 80, 2, 3], 32) };
        cases.push(case::<K, bf16, bf16, bf16>(spec));
    }
    for (weights_dtype, shape) in
        [(DType::Bf16, [9, 40, 72, 3, 4]), (DType::F16, [5, 24, 40, 2, 2])]
    {
        let spec = Spec { weights_dtype, ..spec("weights of 16 bits", shape, 16) };
        cases.push(case::<K, bf16, bf16, bf16>(spec.clone()));
        // Their rows are apart.
        let place = Placement::DENSE.gap(3);
        cases.push(case::<K, f16, f16, f32>(Spec { place, ..spec }));
    }
    if K::ROWS == 1 {
        add_shares::<K>(cases);
    }
    let of_rows = [[4, 4, 8, 2, 2], [33, 136, 160, 3, 5], [16, 131, 33, 1, 1], [16, 72, 1, 2, 4]];
    for shape in of_rows {
        let spec = Spec { by_rows: true, ..spec("by rows", shape, 64) };
        cases.push(case::<K, bf16, bf16, bf16>(spec.clone()));
        let weights = false;
        cases.push(case::<K, f16, f16, f32>(Spec { weights, block_size: 16, ..spec }));
    }
    for (kernel, arch, name, [m, columns, k]) in tiles() {
        let variant = kernel.variant.trim_end_matches("_by_rows");
        let by_rows = variant != kernel.variant;
        let gated = variant.contains('_');
        let is_plain = match by_rows {
            true => ["bf16", "f16", "bf16_halves", "f16_halves"].contains(&variant),
            false => ["bf16", "f16", "bf16_gated", "f16_gated"].contains(&variant),
        };
        if !is_plain || gated != (K::ROWS == 2) {
            continue;
        }
        let columns = if variant.ends_with("gated") { columns / 2 } else { columns };
        let shape = [2 * m + 5, columns + 9, 3 * k + 8, 2, 3];
        let end = Placement::DENSE.edge(Edge::End);
        let tile = Some((arch, name));
        let spec = Spec { tile, by_rows, place: end, ..spec(format!("tile {name}"), shape, m) };
        cases.push(match kernel.variant.starts_with("f16") {
            true => case::<K, f16, f16, f32>(spec),
            false => case::<K, bf16, bf16, bf16>(spec),
        });
    }
}

/// Those whose k is cut into shares.
fn add_shares<K: Kind>(cases: &mut Vec<Case>) {
    // As many as there are rows enough for, of which the last one is shorter.
    for (splits, shape, block_size) in [
        (2, [33, 136, 300, 3, 5], 64),
        (3, [16, 131, 1000, 1, 1], 16),
        (9, [5, 21, 2070, 2, 3], 16),
        (4, [4, 4, 8, 2, 2], 16),
        (2, [0, 8, 300, 2, 4], 16),
    ] {
        let spec = Spec { splits: Some(splits), ..spec("shares", shape, block_size) };
        cases.push(case::<K, bf16, bf16, bf16>(Spec { bias: true, ..spec.clone() }));
        cases.push(case::<K, f16, f16, f32>(Spec { weights: false, ..spec.clone() }));
        let scales = Scales::Rows;
        cases.push(case::<K, bf16, i8, bf16>(Spec { scales, ..spec }));
    }
    // Without being asked for; results of experts that are elsewhere are zeros, whatever is added to others.
    for (absent, name) in [(None, "long rows"), (Some(1), "long rows, an expert elsewhere")] {
        let spec = Spec { absent, bias: true, ..spec(name, [3, 40, 4136, 2, 3], 16) };
        cases.push(case::<K, bf16, bf16, bf16>(spec));
    }
    for load in [Load::Wrong, Load::Absent, Load::One(2)] {
        let spec = Spec { load, splits: Some(2), ..spec("load", [37, 40, 300, 2, 6], 32) };
        cases.push(case::<K, bf16, bf16, f16>(spec));
    }
    for (place, name) in [
        (Placement::DENSE.gap(5).shift(3), "shares, off alignment"),
        (Placement::DENSE.edge(Edge::End), "shares, end of memory"),
    ] {
        let spec = Spec { place, splits: Some(2), ..spec(name, [21, 72, 280, 2, 3], 32) };
        cases.push(case::<K, bf16, bf16, bf16>(Spec { bias: true, ..spec }));
    }
}

/// Those of an op of gates and what they let through, with biases and activations that have numbers.
pub(super) fn add_gated<K: Kind>(cases: &mut Vec<Case>) {
    let all = [
        Activation::SiluAndMul,
        SWIGLU,
        Activation::Swiglu { alpha: 0.5, limit: None, add_residual: false },
    ];
    for (shape, block_size) in
        [([4, 4, 8, 2, 2], 16), ([33, 35, 96, 2, 3], 64), ([16, 72, 1, 2, 4], 16)]
    {
        for activation in all {
            let activation = Some(activation);
            let spec = Spec { activation, bias: true, ..spec("biased", shape, block_size) };
            cases.push(case::<K, bf16, bf16, bf16>(spec.clone()));
            cases.push(case::<K, f16, f16, f32>(Spec { bias: false, ..spec.clone() }));
            let by_rows = Spec { by_rows: true, ..spec.clone() };
            cases.push(case::<K, bf16, bf16, bf16>(by_rows));
            let scales = Scales::Rows;
            cases.push(case::<K, bf16, i8, bf16>(Spec { scales, ..spec }));
        }
    }
    for activation in all {
        let activation = Some(activation);
        let special = spec("special numbers", [9, 40, 72, 2, 3], 16);
        let special = Spec { content: Content::Special, activation, weights: false, ..special };
        cases.push(case::<K, f16, f16, f32>(Spec { by_rows: true, ..special.clone() }));
        cases.push(case::<K, bf16, bf16, bf16>(special));
    }
    let far = spec("far apart", [3, 20, 40, 2, 3], 16);
    let far = Spec { is_far: true, activation: Some(SWIGLU), size: Size::Core, ..far };
    cases.push(case::<K, bf16, bf16, bf16>(far));
    for (kernel, arch, name, [m, columns, k]) in tiles() {
        if !["bf16_halves", "f16_halves"].contains(&kernel.variant) {
            continue;
        }
        let shape = [2 * m + 5, columns + 9, 3 * k + 8, 2, 3];
        let (tile, place) = (Some((arch, name)), Placement::DENSE.edge(Edge::End));
        let activation = Some(SWIGLU);
        let spec = Spec { tile, place, activation, ..spec(format!("tile {name}"), shape, m) };
        cases.push(match kernel.variant.starts_with("f16") {
            true => case::<K, f16, f16, f32>(spec),
            false => case::<K, bf16, bf16, bf16>(spec),
        });
    }
}

/// Those of an op for i8 matrices.
pub(super) fn add_i8<K: Kind>(cases: &mut Vec<Case>) {
    for (shape, block_size) in [
        ([4, 4, 8, 2, 2], 16),
        ([33, 136, 160, 3, 5], 64),
        ([8, 96, 270, 2, 16], 16),
        ([70, 131, 33, 1, 1], 128),
    ] {
        for (scales, weights) in
            [(Scales::Matrices, true), (Scales::Rows, false), (Scales::Rows, true)]
        {
            let spec = Spec { scales, weights, ..spec("i8", shape, block_size) };
            cases.push(match weights {
                true => case::<K, bf16, i8, bf16>(spec),
                false => case::<K, f16, i8, f32>(spec),
            });
        }
    }
    let absent = spec("an expert is elsewhere", [20, 24, 40, 2, 3], 16);
    let absent = Spec { absent: Some(1), scales: Scales::Rows, ..absent };
    cases.push(case::<K, bf16, i8, bf16>(absent));
    let few = Spec { load: Load::Wrong, scales: Scales::Rows, ..spec(FEW, [9, 40, 72, 6, 3], 16) };
    cases.push(case::<K, bf16, i8, bf16>(few));
    // Matrices that are turned before.
    for (shape, block_size) in
        [([4, 4, 8, 2, 2], 16), ([33, 136, 160, 3, 5], 64), ([9, 21, 77, 2, 3], 16)]
    {
        let spec = spec("i8 by rows", shape, block_size);
        let spec = Spec { by_rows: true, scales: Scales::Rows, ..spec };
        cases.push(case::<K, bf16, i8, bf16>(spec.clone()));
        let place = Placement::DENSE.gap(5).shift(3);
        let spec = Spec { weights: false, place, ..spec };
        cases.push(case::<K, f16, i8, f32>(spec));
    }
    for (kernel, arch, name, [m, columns, k]) in tiles() {
        if !kernel.variant.contains("_i8") || kernel.variant.ends_with("halves") != (K::ROWS == 2) {
            continue;
        }
        let shape = [2 * m + 5, columns + 9, 3 * k + 8, 2, 3];
        let (tile, scales) = (Some((arch, name)), Scales::Rows);
        let place = Placement::DENSE.edge(Edge::End);
        let spec = Spec { tile, scales, place, ..spec(format!("tile {name}"), shape, m) };
        cases.push(match kernel.variant.starts_with("f16") {
            true => case::<K, f16, i8, f32>(spec),
            false => case::<K, bf16, i8, bf16>(spec),
        });
    }
}

/// A case for the chip of either flavour of e4m3.
fn of_e4m3<K: Kind>(spec: Spec) -> [Case; 2] {
    let ocp = case::<K, F8E4M3, F8E4M3, bf16>(spec.clone());
    [ocp, case::<K, F8E4M3Fnuz, F8E4M3Fnuz, bf16>(spec)]
}

/// Those of an op for 8-bit elements.
pub(super) fn add_scaled<K: Kind>(cases: &mut Vec<Case>) {
    for (shape, block_size) in [
        ([4, 4, 8, 2, 2], 16),
        ([33, 136, 160, 3, 5], 64),
        ([8, 300, 256, 2, 16], 16),
        ([70, 131, 416, 1, 2], 128),
    ] {
        for weights in [false, true] {
            let spec = Spec { weights, ..spec("scales of blocks", shape, block_size) };
            cases.extend(of_e4m3::<K>(spec));
        }
    }
    for (block, shape, block_size) in [
        ([128, 64], [33, 136, 160, 3, 5], 64),
        ([1, 32], [4, 36, 104, 2, 2], 16),
        ([64, 256], [9, 70, 300, 2, 3], 16),
        ([48, 96], [33, 136, 200, 2, 3], 64),
        ([100, 128], [9, 150, 300, 2, 3], 16),
        ([256, 160], [5, 24, 330, 1, 1], 16),
        ([512, 4096], [5, 24, 330, 1, 2], 16),
        // Longer than any row.
        ([1 << 30, 1 << 30], [5, 24, 330, 1, 2], 16),
    ] {
        let spec = Spec { block_shape: Some(block), ..spec("scales of blocks", shape, block_size) };
        cases.extend(of_e4m3::<K>(spec));
    }
    let block_shape = Some([48, 96]);
    for (scales, block_shape) in
        [(Scales::Blocks, None), (Scales::Blocks, block_shape), (Scales::Rows, None)]
    {
        // Matrices that are turned before.
        let spec = spec("by rows", [19, 140, 200, 2, 3], 16);
        let spec = Spec { scales, block_shape, by_rows: true, ..spec };
        cases.extend(of_e4m3::<K>(spec));
    }
    for (load, by_rows) in [(Load::Wrong, false), (Load::Uniform, true)] {
        let spec = Spec { load, by_rows, scales: Scales::Rows, ..spec(FEW, [9, 40, 77, 6, 3], 16) };
        let of = |encode: Encode| Spec { encode: Some((encode, false)), ..spec.clone() };
        cases.push(case::<K, bf16, F8E4M3, bf16>(of(encoded::<F8E4M3>)));
        cases.push(case::<K, bf16, F8E4M3Fnuz, bf16>(of(encoded::<F8E4M3Fnuz>)));
    }
    if K::ROWS == 1 {
        let block_shape = Some([64, 96]);
        let spec =
            Spec { block_shape, splits: Some(3), ..spec("shares", [9, 140, 1100, 2, 3], 16) };
        cases.extend(of_e4m3::<K>(spec));
    }
    for scales in [Scales::Blocks, Scales::Rows].into_iter().filter(|_| K::ROWS == 1) {
        let spec = Spec { scales, splits: Some(3), ..spec("shares", [19, 140, 1100, 2, 3], 16) };
        cases.extend(of_e4m3::<K>(spec));
    }
    for (shape, block_size) in [([33, 136, 160, 3, 5], 64), ([8, 30, 77, 2, 16], 16)] {
        for scales in [Scales::Matrices, Scales::Rows] {
            let spec = Spec { scales, ..spec("scales of tensors", shape, block_size) };
            cases.extend(of_e4m3::<K>(spec));
        }
    }
    for (shape, block_size) in [
        ([4, 4, 8, 2, 2], 16),
        ([33, 136, 160, 3, 5], 64),
        ([8, 30, 77, 2, 16], 16),
        ([0, 8, 16, 2, 4], 16),
    ] {
        for (scales, is_given) in [(Scales::Matrices, false), (Scales::Rows, true)] {
            let encode = Some((encoded::<F8E4M3> as Encode, is_given));
            let spec = Spec { scales, encode, ..spec("rows made codes", shape, block_size) };
            cases.push(case::<K, bf16, F8E4M3, bf16>(spec.clone()));
            let encode = Some((encoded::<F8E4M3Fnuz> as Encode, is_given));
            cases.push(case::<K, f16, F8E4M3Fnuz, f32>(Spec { encode, ..spec }));
        }
    }
    for scales in [Scales::Blocks, Scales::Rows].into_iter().filter(|_| K::ROWS == 2) {
        // What gates let through begins within a block of scales.
        let spec = spec("with numbers", [19, 200, 300, 2, 3], 16);
        let spec = Spec { scales, activation: Some(SWIGLU), bias: true, ..spec };
        cases.extend(of_e4m3::<K>(spec));
    }
    for (place, name) in [
        (Placement::DENSE.gap(5).shift(3), "codes of rows off alignment"),
        (Placement::DENSE.edge(Edge::End), "codes of rows at the end of memory"),
    ] {
        let scales = Scales::Matrices;
        let spec = Spec { place, scales, ..spec(name, [21, 72, 80, 2, 3], 32) };
        let encode = Some((encoded::<F8E4M3> as Encode, false));
        cases.push(case::<K, f16, F8E4M3, f32>(Spec { encode, ..spec.clone() }));
        let encode = Some((encoded::<F8E4M3Fnuz> as Encode, false));
        cases.push(case::<K, bf16, F8E4M3Fnuz, bf16>(Spec { encode, ..spec }));
    }
    for (kernel, arch, name, [m, columns, k]) in tiles() {
        let is_gated = kernel.variant.ends_with("_halves");
        let of_both = kernel.variant.starts_with("e4m3") && !kernel.variant.contains("e2m1");
        if of_both && is_gated == (K::ROWS == 2) {
            let shape = [2 * m + 5, columns + 9, 3 * k + 40, 2, 3];
            let tile = Some((arch, name));
            let place = Placement::DENSE.edge(Edge::End);
            let block_shape = kernel.variant.contains("_any").then_some([32, 96]);
            let of_blocks = kernel.variant.contains("_128") || block_shape.is_some();
            let scales = if of_blocks { Scales::Blocks } else { Scales::Rows };
            let spec = spec(format!("tile {name}"), shape, m);
            let spec = Spec { tile, scales, block_shape, place, ..spec };
            cases.push(match arch {
                Arch::Gfx950 => case::<K, F8E4M3, F8E4M3, bf16>(spec),
                Arch::Gfx942 => case::<K, F8E4M3Fnuz, F8E4M3Fnuz, bf16>(spec),
            });
        }
    }
}

/// Every tile configuration, with the rows, columns and k of a block.
pub(super) fn tiles() -> impl Iterator<Item = (&'static Kernel, Arch, &'static str, [usize; 3])> {
    tiles_of(|kernel| kernel.core == "experts")
}

/// As [`tiles`], of some kernels.
pub(super) fn tiles_of(
    are_wanted: impl Fn(&Kernel) -> bool,
) -> impl Iterator<Item = (&'static Kernel, Arch, &'static str, [usize; 3])> {
    let kernels = crate::KERNELS.kernels.iter().filter(move |kernel| are_wanted(kernel));
    kernels.flat_map(|kernel| {
        kernel.tiles.iter().filter_map(move |tile| {
            let int = |name| usize::try_from(tile.int(name)?).ok();
            let arch = Arch::from_target_id(kernel.arch)?;
            Some((kernel, arch, tile.name, [int("BM")?, int("BN")?, int("BK")?]))
        })
    })
}
