//! Cases of `gemm_a16w16` at its branches: steps that a whole block treats by itself, every way in
//! which types mix, functions far from where they bend, orders of blocks, further turns of loops, and
//! memory at its limits.

use hk_core::Arch;
use hk_core::dtype::{DType, bf16, f16};
use hk_ref::gemm::gemm_a16w16::{Operands, expect};
use hk_ref::{Case, CaseInfo, Draw, Edge, Placement, Size};
use ndarray::ArrayView2;

use super::config::Config;
use super::gemm_a16w16::{Factor, Spec, Step, case, case_of};
use super::gemm_a16w16_cases::{ACTIVATIONS, tile_spec};
use crate::{Activation, GemmOptions, Layout, gemm_a16w16_into};

/// The element types of results and of the epilogue's operands.
const REAL: [DType; 3] = [DType::Bf16, DType::F16, DType::F32];

pub(super) fn add(cases: &mut Vec<Case>) {
    steps(cases);
    types(cases);
    activations(cases);
    signed_zeros(cases);
    unrounded(cases);
    tails(cases);
    short_rows(cases);
    orders(cases);
    turns(cases);
    edges(cases);
    far_rows(cases);
    cases.extend([5, 70, 600].map(repeated));
}

/// Steps by themselves, on blocks within y and on others: a block within y has a way of its own for
/// a bias, and for no step at all.
fn steps(cases: &mut Vec<Case>) {
    let full = Factor::Full;
    let products = [Step::AddProduct(full, full); 4];
    let options = [
        Step::AddColumns,
        Step::Act(Activation::Silu),
        Step::AddTensor(1.0),
        Step::MulScalar(-3.0),
        Step::AddRows,
    ];
    let lists: [(&str, &[Step]); 20] = [
        ("residual", &[Step::AddTensor(1.0)]),
        ("residual subtracted", &[Step::AddTensor(-2.0)]),
        ("onto the output", &[Step::AddOutput(1.0)]),
        ("scaled bias", &[Step::AddScaledColumns(-0.75)]),
        ("bias of rows", &[Step::AddRows]),
        ("two biases", &[Step::AddColumns, Step::AddColumns]),
        ("bias last", &[Step::ScaleAddSelf(-1.5), Step::AddColumns]),
        ("columns", &[Step::MulColumns]),
        ("rows", &[Step::MulRows]),
        ("tensor", &[Step::MulTensor]),
        ("number", &[Step::MulScalar(-3.0)]),
        ("number in memory", &[Step::MulScalarTensor]),
        ("divisor", &[Step::DivScalar(-10.0)]),
        ("added to itself", &[Step::ScaleAddSelf(2.5)]),
        ("numbers", &[Step::AddProduct(Factor::Number(3.0), Factor::Number(-2.0))]),
        ("number and tensor", &[Step::AddProduct(Factor::Number(-2.0), full)]),
        ("tensor and one", &[Step::AddProduct(full, Factor::One)]),
        ("one and tensor", &[Step::AddProduct(Factor::One, full)]),
        ("eight tensors", &products),
        ("all options", &options),
    ];
    for (name, steps) in lists {
        let by_options = matches!(name, "residual" | "all options");
        for (shape, splits) in
            [([64, 128, 64], None), ([37, 75, 40], None), ([21, 83, 600], Some(2))]
        {
            let name = format!("{name} alone");
            let spec = Spec { by_options, splits, ..Spec::new(name, shape).steps(steps) };
            cases.push(case::<bf16, bf16>(spec.clone()));
            cases.push(case::<f16, f32>(Spec { operand: DType::Bf16, ..spec }));
        }
    }
}

/// Every type of the result with every type of the epilogue's operands.
fn types(cases: &mut Vec<Case>) {
    let steps = [Step::MulRows, Step::AddColumns, Step::AddTensor(0.5)];
    for operands in [DType::Bf16, DType::F16] {
        for (result, operand) in REAL.into_iter().flat_map(|y| REAL.map(|operand| (y, operand))) {
            let spec = |what: &str, shape| {
                let spec = Spec::new(format!("{what} of {operand}, every type"), shape);
                Spec { operand, ..spec }
            };
            let bias = spec("bias", [64, 128, 40]).steps(&[Step::AddColumns]);
            let ragged = spec("three operands", [37, 75, 40]).steps(&steps);
            let split = Spec { splits: Some(3), ..spec("split", [21, 83, 1030]).steps(&steps) };
            for spec in [bias, ragged, split] {
                cases.push(case_of(operands, result, spec));
            }
        }
    }
}

/// Functions of NaN, of infinities, and of numbers of every magnitude; other slopes.
fn activations(cases: &mut Vec<Case>) {
    let slopes = [-0.5, 0.0, 2.5].map(Activation::LeakyRelu);
    for activation in ACTIVATIONS.into_iter().chain(slopes) {
        let steps = [Step::Act(activation)];
        let spec =
            |what: &str, shape| Spec::new(format!("{activation:?}{what}"), shape).steps(&steps);
        let special = Spec { special: true, ..spec(" of special values", [40, 72, 64]) };
        let spread = Spec { draw: [Draw::Spread; 2], ..spec(" of all magnitudes", [40, 72, 1]) };
        // Deviations up to 64: past the ends of the ranges of polynomials and powers. Of one term, so
        // that the activated number is exact.
        let wide = Spec { draw: [Draw::Scaled(5), Draw::Normal], ..spec(", wide", [40, 72, 1]) };
        let near = Spec { draw: [Draw::Scaled(1), Draw::Normal], ..spec(", near", [40, 72, 1]) };
        // In the kernel that adds up splits, too.
        let added = |spec: &Spec, name: &str| Spec {
            name: format!("{activation:?}{name}"),
            shape: [40, 72, 600],
            one_term: true,
            splits: Some(2),
            ..spec.clone()
        };
        let added = [added(&wide, ", wide, split"), added(&near, ", near, split")];
        for spec in [special, spread, wide, near].into_iter().chain(added) {
            cases.push(case::<bf16, bf16>(spec.clone()));
            cases.push(case::<f16, f32>(spec));
        }
    }
}

/// Functions that pass zeros with their signs.
fn signed_zeros(cases: &mut Vec<Case>) {
    let slopes = [-0.5, 2.5].map(Activation::LeakyRelu);
    for activation in [Activation::Relu, Activation::Relu6].into_iter().chain(slopes) {
        for (sign, name) in [(1.0, "zeros"), (-1.0, "negative zeros")] {
            for (k, splits) in [(8, None), (600, Some(2))] {
                let steps = [Step::MulScalar(sign), Step::Act(activation)];
                let spec = Spec::new(format!("{activation:?} of {name}"), [24, 40, k]);
                let spec = Spec { draw: [Draw::Zeros; 2], bits: true, splits, ..spec };
                cases.push(case::<bf16, bf16>(spec.steps(&steps)));
            }
        }
    }
}

/// Steps that round nothing: each bit that is read shows in the result.
fn unrounded(cases: &mut Vec<Case>) {
    let activated = |activation| vec![Step::AddTensor(4.0), Step::Act(activation)];
    let lists = [
        ("tensor", vec![Step::AddTensor(1.0)]),
        ("first factor", vec![Step::AddProduct(Factor::Full, Factor::Number(1.0))]),
        ("second factor", vec![Step::AddProduct(Factor::Number(1.0), Factor::Full)]),
        ("ReLU", activated(Activation::Relu)),
        ("ReLU6", activated(Activation::Relu6)),
        ("leaky ReLU", activated(Activation::LeakyRelu(-0.5))),
    ];
    for (name, steps) in lists {
        for operand in REAL {
            for (place, gap) in [("aligned", 8), ("not aligned", 5)] {
                for (k, splits) in [(8, None), (600, Some(2))] {
                    let name = format!("{name} of {operand}, {place}, bit by bit");
                    let spec = Spec::new(name, [24, 40, k]).steps(&steps);
                    let operand_place = Placement::DENSE.gap(gap);
                    let spec = Spec { operand, operand_place, splits, ..spec };
                    let spec = Spec { draw: [Draw::Zeros; 2], bits: true, ..spec };
                    cases.push(case::<bf16, f32>(spec));
                }
            }
        }
    }
}

/// Every number of columns that a lane's last run may have, in rows of y that are aligned.
fn tails(cases: &mut Vec<Case>) {
    for left in 1..8 {
        // The gap of y is 8 longer.
        let place = Placement::DENSE.gap(8 - left);
        let spec = |what: &str, k| {
            let spec = Spec::new(format!("{left} of a run, {what}"), [19, 40 + left, k]);
            Spec { place, operand_place: place, ..spec }
        };
        let steps = [Step::AddTensor(1.0), Step::AddColumns];
        let split = Spec { splits: Some(2), ..spec("split", 600) };
        // The second run of a row is its last.
        let short = Spec { shape: [19, 8 + left, 600], ..split.clone() };
        cases.push(case::<f16, f16>(Spec { operand: DType::F16, ..short.clone() }));
        cases.push(case::<bf16, bf16>(short));
        for spec in [spec("plain", 24), spec("steps", 16 + left).steps(&steps), split.steps(&steps)]
        {
            cases.push(case::<bf16, bf16>(spec.clone()));
            cases.push(case::<bf16, f32>(Spec { operand: DType::Bf16, ..spec }));
        }
    }
}

/// Rows of one run or less, in all lanes of a wave, and lanes that all take the same way through a
/// function: what adds up splits has a lane for each run.
fn short_rows(cases: &mut Vec<Case>) {
    let full = Factor::Full;
    let steps = [Step::AddTensor(1.0), Step::AddColumns, Step::AddProduct(full, full)];
    for n in 1..=8 {
        for (result, gap, name) in REAL.into_iter().flat_map(|y| {
            // The gap of y is 8 longer: aligned rows, and such as are not.
            [(y, 16 - n, "aligned"), (y, 5, "not aligned")]
        }) {
            let place = Placement::DENSE.gap(gap);
            let spec = Spec::new(format!("short rows, {name}"), [70, n, 600]).steps(&steps);
            let spec = Spec { splits: Some(2), operand: result, place, ..spec };
            cases.push(case_of(DType::Bf16, result, Spec { operand_place: place, ..spec }));
        }
    }
    // Operands that are copied, of which a row is a part of a chunk.
    for k in 1..8 {
        let place = Placement::DENSE.gap(5).shift(3);
        let copied = Spec::new("few terms, rows off alignment", [70, 40, k]);
        cases.push(case::<bf16, bf16>(Spec { place, ..copied }));
    }
    let steps = [Step::MulScalar(1000.0), Step::Act(Activation::Gelu)];
    let far = Spec::new("far from zero", [64, 64, 600]).steps(&steps);
    cases.push(case::<bf16, bf16>(Spec { splits: Some(2), ..far }));
}

/// Grids of blocks, rows and columns of them: with 1 to 7 rows left by the last group, more than 40
/// columns, and every remainder of more than 64 blocks on eight XCDs.
const GRIDS: [[usize; 2]; 23] = [
    [1, 41],
    [2, 7],
    [3, 5],
    [3, 43],
    [4, 9],
    [4, 17],
    [5, 13],
    [5, 15],
    [6, 3],
    [6, 11],
    [7, 11],
    [7, 17],
    [8, 9],
    [9, 4],
    [10, 7],
    [11, 9],
    [12, 5],
    [13, 17],
    [14, 5],
    [15, 43],
    [16, 3],
    [17, 9],
    [23, 3],
];

/// Every block is taken once, whatever the grid.
fn orders(cases: &mut Vec<Case>) {
    for config in smallest() {
        let Config { m, n, k, .. } = config;
        for [rows, columns] in GRIDS {
            let what = format!(", {rows} x {columns} blocks");
            cases.push(case::<bf16, bf16>(tile_spec(&config, &what, [rows * m, columns * n, 8])));
        }
        for [rows, columns] in [[3, 5], [7, 3], [11, 5]] {
            let what = format!(", {rows} x {columns} blocks, split");
            let split = tile_spec(&config, &what, [rows * m, columns * n, 2 * k + 8]);
            cases.push(case::<bf16, bf16>(Spec { splits: Some(3), ..split }));
        }
    }
}

/// The smallest tile configuration of each chip.
fn smallest() -> impl Iterator<Item = Config> {
    Arch::ALL.into_iter().filter_map(|arch| {
        let of_arch = |config: &Config| config.is_plain() && config.arch == arch;
        Config::all("a16w16").filter(of_arch).min_by_key(|config| config.m * config.n)
    })
}

/// Work-items of the largest grid of the kernels that copy and add up, on any chip: each moves 8
/// elements a turn.
const GRID: usize = 256 * 8 * 304;

/// Rows and columns that the kernels which add up take in several turns on one compute unit, whose
/// work-items take 2048 runs of 8 columns a turn: 157 rows and 7 runs of the next, 2048 rows, and no
/// whole row.
pub(super) const TURNS: [[usize; 2]; 3] = [[331, 104], [2100, 5], [3, 16_403]];

/// Second turns where lanes take several pieces of work.
fn turns(cases: &mut Vec<Case>) {
    let layout = Layout::Nt;
    let pack = Spec { layout, ..Spec::new("second turn of packing", [3, 5, GRID + GRID / 8]) };
    cases.push(case::<bf16, f32>(Spec { size: Size::Core, ..pack }));
    let steps = [Step::AddRows, Step::AddColumns];
    let flat = |config: &Config| config.is_plain() && config.m * config.n == 256 * 128;
    for config in Config::all("a16w16").filter(flat) {
        let Config { n, k, .. } = config;
        let shape = [GRID / (n / 8) + 100, n, k + 8];
        let sums = tile_spec(&config, ", second turn of adding up", shape);
        cases.push(case::<bf16, bf16>(Spec { splits: Some(2), ..sums.steps(&steps) }));
    }
    // What y holds is not to be added twice.
    let steps = [Step::AddRows, Step::AddColumns, Step::AddOutput(1.0)];
    for [m, n] in TURNS {
        let few = Spec::new("several turns of few workgroups", [m, n, 600]).steps(&steps);
        let few = Spec { splits: Some(2), compute_units: Some(1), size: Size::Core, ..few };
        cases.push(case::<bf16, bf16>(few.clone()));
        cases.push(case::<f16, f32>(few));
    }
}

/// Operands, results and steps' operands at the edges of allocations.
fn edges(cases: &mut Vec<Case>) {
    let steps = [Step::MulRows, Step::AddColumns, Step::AddTensor(1.0)];
    // All but one of a run's columns in the last row.
    let short = [35, 39].map(|n| ([17, n, 70], None));
    for (edge, name) in [(Edge::Start, "start of memory"), (Edge::End, "end of memory")] {
        let place = Placement::DENSE.edge(edge);
        for layout in Layout::ALL {
            let shapes = [([40, 72, 64], None), ([17, 33, 70], None), ([24, 40, 600], Some(2))];
            for (shape, splits) in shapes.into_iter().chain(short) {
                let spec = Spec { layout, place, operand_place: place, ..Spec::new(name, shape) };
                let spec = Spec { splits, ..spec };
                cases.push(case::<bf16, bf16>(spec.clone().steps(&steps)));
                let spec = Spec { operand: DType::F16, ..spec };
                cases.push(case::<f16, f32>(spec.steps(&[Step::AddColumns])));
            }
        }
    }
}

/// Rows so far apart that a matrix does not fit into 32-bit offsets.
fn far_rows(cases: &mut Vec<Case>) {
    // Beyond 2^32 elements from one row to the next: operands are packed.
    let far = Placement::DENSE.gap(1 << 32);
    let steps = [Step::AddTensor(0.5)];
    for (layout, shape, splits) in [
        (Layout::Tn, [2, 2, 40], None),
        (Layout::Tn, [2, 2, 600], Some(2)),
        (Layout::Nt, [2, 72, 2], None),
    ] {
        let spec = Spec { layout, splits, ..Spec::new("rows far apart", shape) };
        let spec = Spec { place: far, operand_place: far, operand: DType::Bf16, ..spec };
        cases.push(case::<bf16, bf16>(Spec { size: Size::Core, ..spec.steps(&steps) }));
    }
    // As far as operands may be that are not, so that the last are beyond 2^32 elements.
    let medium = |config: &Config| config.dtype == DType::Bf16 && [config.m, config.n] == [64; 2];
    for config in Config::all("a16w16").filter(medium) {
        let stride = (1 << 30) / config.m.max(config.k) - 64;
        let reach = (1 << 32) / stride + config.k + 8;
        let (shape, splits) = match config.layout {
            Layout::Tn => ([reach, 64, 40], 1),
            Layout::Nt => ([64, 64, reach], (reach / config.k) as u32),
            _ => continue,
        };
        let width = if config.layout == Layout::Tn { 40 } else { 64 };
        let spec = tile_spec(&config, ", rows far apart", shape);
        let place = Placement::DENSE.gap(stride - width);
        cases.push(case::<bf16, bf16>(Spec { place, splits: Some(splits), ..spec }));
    }
    // Results as far as a block may be that is stored through one buffer.
    for config in Config::all("a16w16").filter(Config::is_plain) {
        let Config { m, n, k, .. } = config;
        for (result, size) in [(DType::Bf16, 2), (DType::F16, 2), (DType::F32, 4)] {
            let spec = tile_spec(&config, ", results far apart", [m, n, k]);
            let place = Placement::DENSE.gap((1 << 31) / (m * size) - n.max(k) - 64);
            cases.push(case_of(DType::Bf16, result, Spec { place, ..spec }));
        }
    }
    // Steps of one block that are beyond 2^32 bytes from its first.
    for config in Config::all("a16w16").filter(medium) {
        if config.layout == Layout::Tn {
            continue;
        }
        let stride = (1 << 30) / config.m.max(config.k) - 64;
        let spec = tile_spec(&config, ", steps far apart", [64, 64, 6 * config.k]);
        let place = Placement::DENSE.gap(stride - (6 * config.k).max(64));
        cases.push(case::<bf16, bf16>(Spec { place, ..spec }));
    }
    // Blocks whose first row and first k are on either side of 2^32 elements: in the second of two
    // splits, 384 lines of the matrix are 1024 elements less.
    const STRIDE: usize = ((1 << 32) - 1024) / 384;
    let alike = |of: &Config| of.layout.x_is_transposed() == of.layout.w_is_transposed();
    for config in Config::all("a16w16").filter(medium).filter(alike) {
        let across = |transposed| if transposed { (1088, 768) } else { (448, 2176) };
        let (x_rows, x_k) = across(config.layout.x_is_transposed());
        let (w_rows, w_k) = across(config.layout.w_is_transposed());
        for (what, shape, width) in
            [("x", [x_rows, 16, x_k], x_rows.max(x_k)), ("w", [16, w_rows, w_k], w_rows.max(w_k))]
        {
            let spec = tile_spec(&config, &format!(", {what} across 2^32"), shape);
            let place = Placement::DENSE.gap(STRIDE - width);
            cases.push(case::<bf16, bf16>(Spec { place, splits: Some(2), ..spec }));
        }
    }
}

/// Operands that are stored as `(k, rows)` with one line for all k: what is past the end of k is not past
/// that of the line.
fn repeated(k: usize) -> Case {
    let (m, n) = (24, 40);
    let name = "the same for all k, nt";
    let info = CaseInfo::new("gemm_a16w16", "gemm_a16w16", name, &[], &[m, n, k]);
    // A tensor that is repeated cannot come in other shapes.
    let info = CaseInfo { dtype: "bf16->f32".into(), size: Size::Core, ..info };
    Case::new(info, move |s| {
        let x = s.input::<bf16>("x", &[1, m], Draw::Normal);
        let w = s.input::<bf16>("w", &[1, n], Draw::Normal);
        let expected = {
            let (x, w) = (x.numbers(), w.numbers());
            let x = ArrayView2::from_shape((m, 1), &x).expect("a column of x");
            let w = ArrayView2::from_shape((n, 1), &w).expect("a column of w");
            let [x, w] = [(x, m), (w, n)]
                .map(|(of, rows)| of.broadcast((rows, k)).expect("a column for each k").to_owned());
            expect(Operands { x: x.view(), w: w.view(), integers: false }, &[], DType::F32, false)
        };
        let y = s.output::<f32>("y", &[m, n], expected);
        s.call(move || {
            let (x, w) = (x.get(), w.get());
            let (x, w) = (x.broadcast(&[k, m])?, w.broadcast(&[k, n])?);
            let options = GemmOptions::default().layout(Layout::Nt);
            gemm_a16w16_into(&x, &w, &options, &mut y.get())
        });
    })
}
