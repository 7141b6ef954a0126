//! Cases of `gemm_a16w16`.

use hk_core::dtype::{DType, bf16, f16};
use hk_ref::{Case, Draw, Edge, Placement, Size};

use super::config::Config;
use super::gemm_a16w16::{Factor, Spec, Step, case, case_of};
use super::gemm_a16w16_limits;
use super::traffic::Whole;
use crate::{Activation, Layout};

/// m, n, k of every remainder that there is, within 50 MFLOP.
pub(super) const SHAPES: [[usize; 3]; 16] = [
    [1, 1, 1],
    [3, 5, 2],
    [16, 16, 16],
    [17, 33, 70],
    [1, 256, 512],
    [31, 48, 96],
    [64, 64, 64],
    [129, 127, 65],
    [64, 192, 320],
    [257, 255, 131],
    [32, 256, 512],
    [128, 128, 256],
    [256, 256, 256],
    [7, 1000, 96],
    [16, 16, 16_384],
    [5, 2, 131_072],
];

pub(super) const ACTIVATIONS: [Activation; 10] = [
    Activation::Relu,
    Activation::Relu6,
    Activation::LeakyRelu(0.1),
    Activation::Gelu,
    Activation::GeluTanh,
    Activation::Silu,
    Activation::SiluExp2,
    Activation::Sigmoid,
    Activation::Tanh,
    Activation::Mish,
];

/// Every case.
pub(crate) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    shapes(&mut cases);
    epilogues(&mut cases);
    inputs(&mut cases);
    tiles(&mut cases);
    gemm_a16w16_limits::add(&mut cases);
    kernel_bench(&mut cases);
    models(&mut cases);
    cases
}

fn shapes(cases: &mut Vec<Case>) {
    for shape in SHAPES {
        for layout in Layout::ALL {
            let size = if layout == Layout::Tn { Size::Quick } else { Size::Core };
            let spec = Spec { layout, size, ..Spec::new("plain", shape) };
            cases.push(case::<bf16, bf16>(spec.clone()));
            // Drawing so long operands is most of a case.
            if layout == Layout::Tn || shape[2] < 100_000 {
                cases.push(case::<f16, f16>(Spec { size: Size::Core, ..spec }));
            }
        }
    }
    for layout in Layout::ALL {
        let spec = Spec { layout, ..Spec::new("plain", [65, 40, 100]) };
        cases.push(case::<bf16, f16>(spec.clone()));
        cases.push(case::<bf16, f32>(spec.clone()));
        cases.push(case::<f16, bf16>(spec.clone()));
        cases.push(case::<f16, f32>(spec.clone()));
        let gap =
            |gap, shift| Spec { place: Placement::DENSE.gap(gap).shift(shift), ..spec.clone() };
        cases.push(case::<bf16, bf16>(Spec { name: "rows of wider tensors".into(), ..gap(24, 0) }));
        cases.push(case::<bf16, bf16>(Spec { name: "rows off alignment".into(), ..gap(5, 3) }));
        for splits in [2, 3, 7] {
            let name = format!("{splits} splits");
            let spec = Spec { layout, splits: Some(splits), ..Spec::new(name, [33, 40, 1800]) };
            cases.push(case::<bf16, f32>(spec.clone()));
            cases.push(case::<bf16, bf16>(spec.integers()));
        }
    }
    cases.push(case::<bf16, bf16>(Spec::new("no rows", [0, 64, 64])));
}

fn epilogues(cases: &mut Vec<Case>) {
    for activation in ACTIVATIONS {
        // The products are Gaussian with deviation 8; divided, they are where the function bends.
        let steps = [Step::DivScalar(4.0), Step::Act(activation)];
        let spec = Spec::new(format!("{activation:?}"), [40, 72, 64]).steps(&steps);
        cases.push(case::<bf16, f32>(spec.clone()));
        cases.push(case::<bf16, bf16>(spec));
    }
    let options = [Step::AddColumns, Step::Act(Activation::Gelu), Step::AddTensor(1.0)];
    let long = [
        Step::MulRows,
        Step::MulColumns,
        Step::AddRows,
        Step::AddColumns,
        Step::MulTensor,
        Step::AddTensor(0.5),
        Step::MulScalarTensor,
        Step::ScaleAddSelf(0.5),
    ];
    let products = [
        Step::AddProduct(Factor::Full, Factor::Full),
        Step::AddProduct(Factor::Number(2.0), Factor::One),
        Step::MulScalar(0.25),
    ];
    let lists: [(&str, &[Step], bool); 5] = [
        ("bias, activation, residual", &options, true),
        ("eight steps", &long, false),
        ("products", &products, false),
        ("onto the output", &[Step::AddOutput(0.5)], false),
        ("bias", &[Step::AddColumns], true),
    ];
    // k is long enough for two splits of any tile.
    for shape in [[50, 70, 192], [64, 128, 256], [256, 256, 768]] {
        for (name, steps, by_options) in lists {
            for (operand, splits) in
                [(DType::F32, None), (DType::Bf16, Some(2)), (DType::F16, None)]
            {
                let name =
                    format!("{name}, {operand}{}", if splits.is_some() { ", split" } else { "" });
                let spec = Spec { by_options, operand, splits, ..Spec::new(name, shape) };
                let size = if shape[0] == 256 { Size::Core } else { Size::Quick };
                let spec = Spec { size, ..spec.steps(steps) };
                cases.push(case::<bf16, bf16>(spec.clone()));
                cases.push(case::<f16, f32>(spec));
            }
        }
    }
    // In runs that are whole and not, of results and of partial sums.
    let by_columns = [Step::AddTensor(0.5), Step::AddProduct(Factor::Full, Factor::Full)];
    for shape in [[50, 70, 192], [64, 128, 256], [70, 1, 192], [1, 70, 192]] {
        for (i, splits) in [(0, None), (1, Some(2)), (2, None)] {
            let [result, operand] = TYPES[i];
            let spec = Spec::new(format!("operands by columns, {operand}"), shape);
            let spec = Spec { by_columns: true, operand, splits, ..spec.steps(&by_columns) };
            cases.push(case_of(DType::Bf16, result, spec));
        }
    }
    for ([result, operand], chain) in TYPES.into_iter().zip(&CHAINS) {
        let spec = |what: &str, shape| {
            let spec = Spec::new(format!("{what}, {operand}"), shape).steps(chain);
            Spec { operand, ..spec }
        };
        let split = Spec { splits: Some(2), ..spec("chain, split", [35, 43, 771]) };
        let split = Spec { place: RAGGED, operand_place: RAGGED, ..split };
        cases.push(case_of(DType::Bf16, result, split));
        for (what, steps) in [("chain", &chain[..]), ("bias", &[Step::AddColumns])] {
            let off = spec(&format!("{what} off alignment"), [256, 256, 64]).steps(steps);
            let operand_place = Placement::DENSE.gap(5).shift(3);
            cases.push(case_of(DType::Bf16, result, Spec { operand_place, ..off }));
        }
    }
}

fn inputs(cases: &mut Vec<Case>) {
    let normal = Draw::Normal;
    for (draw, name) in [
        ([Draw::Uniform, Draw::Uniform], "uniform"),
        ([Draw::Alternating, Draw::Uniform], "alternating"),
        ([Draw::Outliers, normal], "outliers"),
        ([Draw::Denormal, normal], "denormal"),
        ([Draw::Zeros, normal], "zeros"),
    ] {
        let spec = Spec { draw, ..Spec::new(name, [48, 80, 200]) };
        cases.push(case::<bf16, bf16>(spec.clone()));
        cases.push(case::<f16, f32>(spec));
    }
    let special = Spec { special: true, ..Spec::new("special values", [20, 30, 100]) };
    cases.push(case::<bf16, bf16>(special.clone()));
    cases.push(case::<f16, f16>(special));
    // Accuracy of long sums. Few rows and columns, since drawing the operands is most of a case.
    for i in 0..8 {
        for (draw, name) in [
            ([normal, normal], "long sum, normal"),
            ([Draw::Uniform, Draw::Uniform], "long sum, uniform"),
            ([Draw::Alternating, Draw::Uniform], "long sum, alternating"),
        ] {
            let spec = Spec { draw, size: Size::Core, ..Spec::new(name, [8, 8, 4096 << i]) };
            if [1, 3, 5].contains(&i) {
                cases.push(case::<bf16, bf16>(spec.clone()));
            }
            cases.push(case::<bf16, f32>(spec));
        }
    }
}

/// Chains of steps that between them have every function, and each of which reads, as each factor of
/// a product, numbers, tensors of one element and rows of a tensor.
const CHAINS: [[Step; 8]; 3] = [
    [
        Step::DivScalar(4.0),
        Step::MulRows,
        Step::Act(Activation::LeakyRelu(0.1)),
        Step::AddProduct(Factor::Full, Factor::Full),
        Step::Act(Activation::Gelu),
        Step::AddColumns,
        Step::Act(Activation::Tanh),
        Step::AddProduct(Factor::One, Factor::One),
    ],
    [
        Step::DivScalar(4.0),
        Step::AddProduct(Factor::Full, Factor::Full),
        Step::Act(Activation::Relu6),
        Step::AddRows,
        Step::Act(Activation::GeluTanh),
        Step::ScaleAddSelf(0.5),
        Step::Act(Activation::Silu),
        Step::AddProduct(Factor::One, Factor::One),
    ],
    [
        Step::AddProduct(Factor::Full, Factor::Full),
        Step::Act(Activation::Mish),
        Step::DivScalar(4.0),
        Step::AddProduct(Factor::One, Factor::One),
        Step::Act(Activation::SiluExp2),
        Step::AddProduct(Factor::Full, Factor::Number(0.5)),
        Step::Act(Activation::Relu),
        Step::Act(Activation::Sigmoid),
    ],
];

/// Element types of the result, each with one of the epilogue's operands.
const TYPES: [[DType; 2]; 3] =
    [[DType::F16, DType::F32], [DType::F32, DType::Bf16], [DType::Bf16, DType::F16]];

/// Rows of as many elements and 3 more are aligned, though they end in the middle of a lane's run.
const RAGGED: Placement = Placement::DENSE.gap(13);

/// Rows of y of one element fewer than a multiple of 8 are aligned: their gaps are 8 longer.
const SHORT: Placement = Placement::DENSE.gap(1);

/// Every tile configuration, whether it would be chosen or not: cases that between them execute all
/// of its code.
fn tiles(cases: &mut Vec<Case>) {
    // Loads past an operand's last row or column are loads past its allocation.
    let end = Placement::DENSE.edge(Edge::End);
    for config in Config::all("a16w16") {
        let Config { dtype, m, n, k, stages, .. } = config;
        let plain = config.is_plain();
        // Twice around the loop over stages, and as many steps more as there can be.
        let steps = (3 * stages - 1).max(4);
        let remainders = tile_spec(&config, "", [m + 5, n + 9, (steps - 1) * k + 7]);
        let size = if plain { Size::Quick } else { Size::Core };
        let carry = Some(remainders.shape[2] / 2);
        cases.push(case_of(dtype, dtype, Spec { size, carry, ..remainders }));
        // Where each of the steps begins.
        cases.extend((1..steps - 1).map(|step| {
            let name = format!(", step {step} behind 4 GiB");
            let behind = tile_spec(&config, &name, [m, n, (steps - 1) * k + 8]);
            case_of(dtype, dtype, Spec { carry: Some(step * k), ..behind })
        }));
        let whole = if plain { 1..=4 } else { 2..=2 };
        cases.extend(whole.map(|steps| {
            let shape = [m, n, steps * k];
            let whole = tile_spec(&config, "", shape);
            let case = case_of(dtype, dtype, Spec { place: end, ..whole });
            Whole { shape, result: dtype, beside: 0 }.limit(&config, case)
        }));
        // Groups of blocks that are not full, and one XCD with a block more than the others.
        if plain {
            let shape = [11 * m, 3 * n, 8];
            let blocks = case_of(dtype, dtype, tile_spec(&config, ", 11 x 3 blocks", shape));
            cases.push(Whole { shape, result: dtype, beside: 0 }.limit(&config, blocks));
        }
        if plain {
            let [by_row, by_column] = config.with_tail();
            let (shape, what) = if m >= n { (by_row, "row") } else { (by_column, "column") };
            let name = format!(", the last {what} of blocks cut");
            let cut =
                Spec { splits: None, compute_units: Some(2), ..tile_spec(&config, &name, shape) };
            // Of a tensor by columns, the next column is elsewhere.
            let cut = Spec { by_columns: m < n, ..cut };
            cases.push(case_of(dtype, dtype, cut.steps(&[Step::AddColumns, Step::AddTensor(0.5)])));
        }
        // One k, or one chunk, more than a step.
        for more in [1, 9] {
            let name = format!(", {more} k more than a step");
            cases.push(case_of(dtype, dtype, tile_spec(&config, &name, [9, 9, k + more])));
        }
        // Four steps, of which loops over three stages leave one.
        let last = tile_spec(&config, ", end of memory", [m + 8, n + 8, 3 * k + 8]);
        let last = Spec { place: end, operand_place: end, ..last };
        cases.push(case_of(dtype, dtype, last.steps(&[Step::AddColumns, Step::AddTensor(1.0)])));
        for (i, ([result, operand], chain)) in TYPES.into_iter().zip(&CHAINS).enumerate() {
            let shape = [m, n, (i + 1) * k];
            let bias = tile_spec(&config, &format!(", bias of {operand}"), shape);
            let bias = Spec { operand, operand_place: end, ..bias.steps(&[Step::AddColumns]) };
            cases.push(case_of(dtype, result, bias));
            // The second run of columns may be the last.
            let shape = [m / 2 + 3, if i == 0 { 11 } else { n / 2 + 3 }, i * k + 3];
            let chain = tile_spec(&config, &format!(", chain of {operand}"), shape).steps(chain);
            let chain = Spec { operand, place: RAGGED, operand_place: RAGGED, ..chain };
            cases.push(case_of(dtype, result, chain));
        }
        // Half a step, of rows so far apart that the middle one is 2^30 bytes behind the first.
        let half = k / 2;
        let lurking = tile_spec(&config, ", infinities 1 GiB away", [half; 3]);
        let place = Placement::DENSE.gap(Spec::HALF / half - half);
        cases.push(case_of(dtype, dtype, Spec { lurking: true, place, ..lurking }));
        // Each bit of a bias, and of a sum of nothing.
        let zeros = tile_spec(&config, ", zeros", [m, n, k]);
        let zeros = Spec { draw: [Draw::Zeros; 2], bits: true, operand: DType::Bf16, ..zeros };
        let bias = Spec { name: format!("{}, bias", zeros.name), ..zeros.clone() };
        for zeros in [zeros, bias.steps(&[Step::AddColumns])] {
            cases.push(case_of(dtype, DType::F32, zeros));
        }
        if plain {
            // Rows of y so far apart that those of later blocks are beyond 4 GiB. Few, since memory of each is
            // touched.
            if m.max(n) == 64 {
                let gap = Spec::HALF / 64 - 128;
                let far = tile_spec(&config, ", rows far apart", [256, n, 8]);
                cases.push(case_of(dtype, dtype, Spec { place: Placement::DENSE.gap(gap), ..far }));
            }
            // Sums of integers that lie between two numbers of the result's type.
            for (what, shape) in [("ties", [m, n, 2 * k]), ("ties, ragged", [m + 5, n + 9, k + 7])]
            {
                let ties = tile_spec(&config, &format!(", {what}"), shape);
                cases.push(case_of(dtype, dtype, ties.integers()));
            }
            let shape = [m, n, k];
            let lists = [
                (", residual", Step::AddTensor(1.0), 1),
                (", factors", Step::AddProduct(Factor::Full, Factor::Full), 2),
            ];
            for (name, step, tensors) in lists {
                for result in [dtype, DType::F16, DType::F32] {
                    let spec = tile_spec(&config, name, shape).steps(&[step]);
                    let by_options = tensors == 1;
                    let case = case_of(dtype, result, Spec { by_options, ..spec });
                    let beside = tensors * m * n * size_of::<f32>();
                    cases.push(Whole { shape, result, beside }.limit(&config, case));
                }
            }
            for result in [DType::Bf16, DType::F16] {
                let special = tile_spec(&config, ", special values", shape);
                cases.push(case_of(dtype, result, Spec { special: true, ..special }));
            }
            // Tiles that a column or a row is missing from, in an aligned y.
            let column = tile_spec(&config, ", a column short", [m, 2 * n - 1, k]);
            cases.push(case_of(dtype, dtype, Spec { place: SHORT, ..column }));
            let row = tile_spec(&config, ", a row short", [2 * m - 1, n, k]);
            cases.push(case_of(dtype, DType::F32, Spec { place: end, ..row }));
        }
    }
}

/// A case of a tile configuration, without splits.
pub(super) fn tile_spec(config: &Config, what: &str, shape: [usize; 3]) -> Spec {
    Spec {
        layout: config.layout,
        splits: Some(1),
        tile: Some((config.arch, config.name)),
        size: Size::Core,
        ..Spec::new(format!("tile {}{what}", config.name), shape)
    }
}

/// The matrix products of KernelBench, levels 1 and 2, in the sizes of its first revision and, where
/// later ones are larger, in those too.
fn kernel_bench(cases: &mut Vec<Case>) {
    let mish = Step::Act(Activation::Mish);
    let leaky = Step::Act(Activation::LeakyRelu(0.1));
    let relu = Step::Act(Activation::Relu);
    let gelu = Step::Act(Activation::Gelu);
    let bias = Step::AddColumns;
    let problems: [(&str, [usize; 3], Layout, &[Step]); 19] = [
        ("1.1 square", [2048, 2048, 2048], Layout::Tt, &[]),
        ("1.1 square, later", [4096, 4096, 4096], Layout::Tt, &[]),
        ("1.2 standard", [1024, 2048, 4096], Layout::Tt, &[]),
        ("1.6 large k", [256, 256, 131_072], Layout::Tt, &[]),
        ("1.6 large k, later", [256, 256, 524_288], Layout::Tt, &[]),
        ("1.7 small k", [16_384, 16_384, 32], Layout::Tt, &[]),
        ("1.8 irregular", [8205, 5921, 2949], Layout::Tt, &[]),
        ("1.9 tall and skinny", [16_384, 16_384, 16], Layout::Tt, &[]),
        ("1.9 tall and skinny, later", [16_384, 16_384, 32], Layout::Tt, &[]),
        ("1.16 A transposed", [1024, 2048, 4096], Layout::Nt, &[]),
        ("1.17 B transposed", [1024, 2048, 4096], Layout::Tn, &[]),
        (
            "2.12 multiply, leaky ReLU",
            [128, 512, 1024],
            Layout::Tn,
            &[bias, Step::MulScalar(2.0), leaky],
        ),
        ("2.29 mish of mish", [128, 20, 10], Layout::Tn, &[bias, mish, mish]),
        ("2.40 scale and add itself", [128, 128, 64], Layout::Tn, &[bias, Step::ScaleAddSelf(0.5)]),
        (
            "2.40 scale and add a residual",
            [128, 128, 64],
            Layout::Tn,
            &[bias, Step::MulScalar(0.5), Step::AddTensor(1.0)],
        ),
        ("2.76 bias, ReLU", [128, 512, 1024], Layout::Tn, &[bias, relu]),
        ("2.86 divide, GELU", [128, 1024, 512], Layout::Tn, &[bias, Step::DivScalar(10.0), gelu]),
        ("1.6 large k, in small", [16, 16, 131_072], Layout::Tt, &[]),
        ("1.8 irregular, in small", [205, 121, 149], Layout::Tt, &[]),
    ];
    for (name, shape, layout, steps) in problems {
        let work: usize = shape.iter().product();
        let size = match work {
            0..10_000_000 => Size::Quick,
            10_000_000..100_000_000 => Size::Core,
            _ => Size::Large,
        };
        let name = format!("KernelBench {name}");
        let spec = Spec { layout, size, ..Spec::new(name, shape).steps(steps) };
        cases.push(case::<bf16, bf16>(spec.clone()));
        cases.push(case::<f16, f16>(spec));
    }
}

/// Products of language models, `(n, k)` of the weight with a batch each of decoding and prefill,
/// and the sizes that other libraries' lists single out.
fn models(cases: &mut Vec<Case>) {
    for [n, k] in [
        [10_240, 8192],
        [8192, 28_672],
        [7168, 2048],
        [2112, 7168],
        [24_576, 1536],
        [12_288, 2048],
        [64, 2048],
        [5120, 2880],
        [128, 2880],
    ] {
        for m in [1, 64, 2048] {
            let spec = Spec { size: Size::Large, ..Spec::new("model", [m, n, k]) };
            cases.push(case::<bf16, bf16>(spec));
        }
    }
    for shape in [[159, 17_389, 597], [2048, 2048, 2049], [4864, 8192, 4160], [1, 8192, 1024]] {
        let spec = Spec { size: Size::Large, ..Spec::new("irregular", shape) };
        cases.push(case::<bf16, bf16>(spec));
    }
}
