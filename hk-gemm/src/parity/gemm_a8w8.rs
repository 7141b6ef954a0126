//! Cases of `gemm_a8w8`.

use hk_core::dtype::{DType, F8E4M3, F8E4M3Fnuz, F8E5M2, F8E5M2Fnuz, Real, bf16, f16};
use hk_core::op::product::Element8;
use hk_ref::{Case, Draw, Edge, Placement, Size};

use super::config::Config;
use super::gemm_a16w16_cases::SHAPES;
use super::product::{Along, Scale, Spec, Tiles, case};
use crate::{Activation, Layout, gemm_a8w8_into};

/// The case with operands of type `T` and a result of type `Y`.
fn of<T: Element8, Y: Real>(spec: Spec) -> Case {
    case::<T, T, Y>(spec, |x, w, given, options, y| {
        gemm_a8w8_into(x, w, &given.scales[0], &given.scales[1], options, y)
    })
}

/// As [`of`], with operands of a type that is a value.
fn with_operands<Y: Real>(dtype: DType, spec: Spec) -> Case {
    match dtype {
        DType::I8 => of::<i8, Y>(spec),
        DType::F8E4M3 => of::<F8E4M3, Y>(spec),
        DType::F8E4M3Fnuz => of::<F8E4M3Fnuz, Y>(spec),
        DType::F8E5M2 => of::<F8E5M2, Y>(spec),
        _ => of::<F8E5M2Fnuz, Y>(spec),
    }
}

/// As [`of`], with the types as values.
fn case_of(operands: DType, result: DType, spec: Spec) -> Case {
    match result {
        DType::Bf16 => with_operands::<bf16>(operands, spec),
        DType::F16 => with_operands::<f16>(operands, spec),
        _ => with_operands::<f32>(operands, spec),
    }
}

/// Every operand type, of each chip.
const OPERANDS: [DType; 5] =
    [DType::I8, DType::F8E4M3, DType::F8E4M3Fnuz, DType::F8E5M2, DType::F8E5M2Fnuz];

/// The types of results and of biases.
const REAL: [DType; 3] = [DType::Bf16, DType::F16, DType::F32];

fn spec(dtype: DType, name: impl Into<String>, shape: [usize; 3]) -> Spec {
    // Codes of five exponent bits span too much for sums to depend on most of them.
    let is_wide = matches!(dtype, DType::F8E5M2 | DType::F8E5M2Fnuz);
    let draw = if is_wide { Draw::Normal } else { Draw::Codes };
    let scales = [Some(Scale::Each); 2];
    Spec { draw: [draw; 2], scales, ..Spec::new("gemm_a8w8", name, shape) }
}

pub(super) fn add(cases: &mut Vec<Case>) {
    shapes(cases);
    epilogues(cases);
    factors(cases);
    extremes(cases);
    places(cases);
    tiles(cases);
    stored(cases);
    models(cases);
}

fn shapes(cases: &mut Vec<Case>) {
    for shape in SHAPES {
        for dtype in OPERANDS {
            let spec = spec(dtype, "plain", shape);
            let is_short = shape[2] < 10_000;
            let size = if is_short { Size::Quick } else { Size::Core };
            cases.push(with_operands::<bf16>(dtype, Spec { size, ..spec }));
        }
    }
    for dtype in OPERANDS {
        cases.push(with_operands::<bf16>(dtype, spec(dtype, "no rows", [0, 64, 64])));
        for (splits, k) in [(2, 1800), (4, 1000), (7, 4100)] {
            let spec = spec(dtype, format!("{splits} splits"), [33, 40, k]);
            cases.push(with_operands::<f32>(dtype, Spec { splits: Some(splits), ..spec }));
        }
    }
}

/// Every way in which scales are given, with every type of the result and of a bias, in blocks within
/// y and in others.
fn epilogues(cases: &mut Vec<Case>) {
    let scales = [Scale::One, Scale::Each, Scale::Flat];
    for (x, w) in scales.into_iter().flat_map(|x| scales.map(|w| (x, w))) {
        for shape in [[64, 128, 128], [37, 75, 40]] {
            let spec = Spec {
                scales: [Some(x), Some(w)],
                bias: Some(DType::F32),
                ..spec(DType::I8, format!("scales {x:?} {w:?}"), shape)
            };
            // What is tried with shapes that are wrong must have one form.
            let size = if w == Scale::Flat { Size::Core } else { Size::Quick };
            cases.push(of::<i8, f32>(Spec { size, ..spec }));
        }
    }
    for dtype in OPERANDS {
        for (result, bias) in REAL.into_iter().flat_map(|y| REAL.map(|bias| (y, bias))) {
            for (shape, splits) in [([64, 128, 64], None), ([21, 83, 1200], Some(2))] {
                let name = if splits.is_some() { "split" } else { "whole" };
                let spec = Spec { bias: Some(bias), splits, ..spec(dtype, name, shape) };
                cases.push(case_of(dtype, result, spec));
            }
        }
        let apart = Spec {
            bias: Some(DType::F16),
            vectors_apart: true,
            ..spec(dtype, "gaps in scales and the bias", [37, 75, 96])
        };
        cases.push(with_operands::<f32>(dtype, apart));
        let all = Spec {
            bias: Some(DType::F32),
            activation: Some(Activation::Silu),
            residual: true,
            ..spec(dtype, "all options", [70, 90, 100])
        };
        cases.push(with_operands::<bf16>(dtype, all.clone()));
        let whole = Spec { shape: [128, 256, 256], size: Size::Core, ..all };
        cases.push(with_operands::<f32>(dtype, whole));
    }
}

/// Factors behind a bias, and behind the scales, in blocks within y and in others: what is done to a block
/// as a whole has an order of its own.
fn factors(cases: &mut Vec<Case>) {
    use Along::{Columns, Rows};
    let lists: [(&str, bool, &[Along]); 4] = [
        ("factors of rows behind a bias", true, &[Rows]),
        ("factors of columns behind a bias", true, &[Columns]),
        ("factors of rows and columns", false, &[Rows, Columns]),
        ("factors of columns and rows", false, &[Columns, Rows]),
    ];
    for (name, has_bias, factors) in lists {
        for dtype in [DType::I8, DType::F8E4M3, DType::F8E4M3Fnuz] {
            for shape in [[64, 128, 64], [37, 75, 40]] {
                let bias = has_bias.then_some(DType::F32);
                let spec = Spec { bias, factors, ..spec(dtype, name, shape) };
                cases.push(with_operands::<f32>(dtype, spec));
            }
        }
    }
}

/// Sums as large as there are: those of integers are exact.
fn extremes(cases: &mut Vec<Case>) {
    for (draw, name) in [(Draw::Integers(-128, -127), "-128"), (Draw::Integers(127, 128), "127")] {
        for (k, splits) in [(4096, 1), (65_536, 1), (140_000, 3)] {
            let spec = spec(DType::I8, format!("all {name}"), [5, 3, k]);
            let size = if k > 4096 { Size::Core } else { Size::Quick };
            let spec = Spec { draw: [draw; 2], splits: Some(splits), size, ..spec };
            cases.push(of::<i8, f32>(spec));
        }
    }
    for dtype in OPERANDS {
        for (draw, name) in [(Draw::Zeros, "zeros"), (Draw::Denormal, "denormal")] {
            let spec = spec(dtype, name, [24, 40, 96]);
            cases.push(with_operands::<f32>(dtype, Spec { draw: [draw, spec.draw[1]], ..spec }));
        }
    }
}

/// Rows that are not aligned or far apart, and operands at the edges of allocations.
fn places(cases: &mut Vec<Case>) {
    for dtype in OPERANDS {
        for (place, name) in [
            (Placement::DENSE.gap(48), "rows of wider tensors"),
            (Placement::DENSE.gap(5).shift(3), "rows off alignment"),
            (Placement::DENSE.edge(Edge::Start), "start of memory"),
            (Placement::DENSE.edge(Edge::End), "end of memory"),
        ] {
            for (shape, splits) in [([40, 72, 80], None), ([17, 33, 1210], Some(2))] {
                let spec = spec(dtype, name, shape);
                let spec = Spec { place, splits, residual: true, ..spec };
                cases.push(with_operands::<bf16>(dtype, spec));
            }
        }
    }
    let far = Spec {
        place: Placement::DENSE.gap(1 << 32),
        size: Size::Core,
        ..spec(DType::I8, "rows far apart", [2, 2, 80])
    };
    cases.push(of::<i8, bf16>(far));
}

/// Every tile configuration, whether it would be chosen or not.
fn tiles(cases: &mut Vec<Case>) {
    let end = Placement::DENSE.edge(Edge::End);
    for config in Config::all("a8w8") {
        let Config { dtype, m, n, k, stages, .. } = config;
        let tile = |what: &str, shape| Spec {
            splits: Some(1),
            tile: Some((config.arch, config.name)),
            size: Size::Core,
            ..spec(dtype, format!("tile {}{what}", config.name), shape)
        };
        let steps = (3 * stages - 1).max(4);
        let remainders = tile("", [m + 5, n + 9, (steps - 1) * k + 7]);
        let size = if dtype == DType::I8 { Size::Quick } else { Size::Core };
        cases.push(with_operands::<bf16>(dtype, Spec { size, ..remainders }));
        for steps in 1..=4 {
            let result = REAL[steps % 3];
            let whole = Spec { place: end, ..tile("", [m, n, steps * k]) };
            cases.push(case_of(dtype, result, whole.clone()));
            let bias = Spec { bias: Some(REAL[(steps + 1) % 3]), ..whole };
            cases.push(case_of(dtype, result, Spec { scales: [Some(Scale::One); 2], ..bias }));
        }
        cases.push(with_operands::<f32>(dtype, tile(", 11 x 3 blocks", [11 * m, 3 * n, 16])));
        let last = Spec {
            place: end,
            residual: true,
            ..tile(", end of memory", [m + 8, n + 8, 3 * k + 16])
        };
        cases.push(with_operands::<bf16>(dtype, last));
        // Where scales and results begin does not depend on the elements.
        let tails = config.with_tail().into_iter().zip(["row", "column"]);
        for (shape, what) in tails.filter(|_| dtype == DType::I8) {
            let cut = tile(&format!(", the last {what} of blocks cut"), shape);
            let cut = Spec { splits: None, compute_units: Some(2), residual: true, ..cut };
            // What belongs to the next row or column is farther on.
            let cut = Spec { vectors_apart: true, bias: Some(DType::F16), ..cut };
            cases.push(with_operands::<bf16>(dtype, cut));
        }
        for (result, left) in REAL.into_iter().zip([11, 1, 4]) {
            let chain = Spec {
                activation: Some(Activation::Gelu),
                bias: Some(result),
                ..tile(", chain", [m / 2 + 3, n / 2 + left, k + 3])
            };
            cases.push(case_of(dtype, result, chain));
        }
    }
}

/// Operands that are stored otherwise: transposed, or w shuffled.
fn stored(cases: &mut Vec<Case>) {
    for dtype in OPERANDS {
        for layout in [Layout::Tt, Layout::Nn, Layout::Nt] {
            for (shape, splits) in [
                ([1, 1, 1], None),
                ([17, 33, 70], None),
                ([129, 144, 160], None),
                ([40, 300, 1210], Some(2)),
            ] {
                let spec = Spec { layout, splits, ..spec(dtype, "transposed", shape) };
                cases.push(with_operands::<bf16>(dtype, spec));
            }
        }
        // Each remainder of a chunk of 16 bytes, at the end of memory.
        for size in 33..49 {
            let place = Placement::DENSE.edge(Edge::End);
            let spec = spec(dtype, "transposed at the end of memory", [size, 81 - size, 24]);
            cases.push(with_operands::<f32>(dtype, Spec { layout: Layout::Nt, place, ..spec }));
        }
        let place = Placement::DENSE.gap(5).shift(3);
        let gaps =
            Spec { layout: Layout::Nt, place, ..spec(dtype, "rows off alignment", [37, 75, 40]) };
        cases.push(with_operands::<bf16>(dtype, gaps));

        let tiles = Tiles { w: true, ..Tiles::default() };
        for (shape, splits) in [
            ([1, 16, 32], None),
            ([33, 48, 96], None),
            ([70, 272, 160], None),
            ([130, 128, 512], None),
            ([40, 80, 1056], Some(2)),
        ] {
            let place = Placement::DENSE.edge(Edge::End);
            let spec = Spec { tiles, splits, place, ..spec(dtype, "tiles", shape) };
            cases.push(with_operands::<f32>(dtype, spec));
        }
        let turned_x = Spec { tiles, layout: Layout::Nn, ..spec(dtype, "tiles", [21, 48, 64]) };
        cases.push(with_operands::<f32>(dtype, turned_x));
    }
    for config in Config::all("a8w8") {
        let Config { dtype, m, n, k, stages, .. } = config;
        let spec = spec(
            dtype,
            format!("tile {}, tiles", config.name),
            [m + 5, n + 16, (3 * stages - 1) * k + 32],
        );
        let spec = Spec {
            tiles: Tiles { w: true, ..Tiles::default() },
            tile: Some((config.arch, config.name)),
            splits: Some(1),
            size: Size::Core,
            ..spec
        };
        cases.push(with_operands::<bf16>(dtype, spec));
    }
}

/// Products of language models, `(n, k)` of the weight with a batch each of decoding and prefill.
fn models(cases: &mut Vec<Case>) {
    for [n, k] in [[1280, 8192], [8192, 1024], [7168, 2048], [106_496, 16_384]] {
        for m in [1, 32, 256] {
            let spec = spec(DType::I8, "model", [m, n, k]);
            cases.push(of::<i8, bf16>(Spec { size: Size::Large, ..spec }));
        }
    }
}
