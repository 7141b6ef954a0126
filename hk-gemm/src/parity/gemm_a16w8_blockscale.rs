//! Cases of `gemm_a16w8_blockscale`.

use hk_core::dtype::{DType, F8E4M3, F8E4M3Fnuz, Real, Real16, bf16, f16};
use hk_core::op::quant::ByteCode;
use hk_ref::{Case, Draw, Edge, Placement, Size};

use super::config::Config;
use super::product::{Prequant, Spec, Tiles, case};
use crate::{A16W8Options, Activation, Layout, gemm_a16w8_blockscale_into};

/// The case with operands of types `X` and `W` and a result of type `Y`.
fn of<X: Real16, W: ByteCode, Y: Real>(spec: Spec) -> Case {
    let (([n, k], _), prequant) =
        (spec.groups.unwrap_or(([128; 2], None)), spec.prequant.is_some());
    case::<X, W, Y>(spec, move |x, w, given, options, y| {
        let options = A16W8Options::default().gemm(options.clone()).groups(n, k).prequant(prequant);
        gemm_a16w8_blockscale_into(x, w, &given.scales[0], &options, y)
    })
}

/// Adds the case with each type of w.
fn push<X: Real16, Y: Real>(cases: &mut Vec<Case>, spec: &Spec) {
    cases.push(of::<X, i8, Y>(spec.clone()));
    cases.push(of::<X, F8E4M3, Y>(spec.clone()));
    cases.push(of::<X, F8E4M3Fnuz, Y>(spec.clone()));
}

/// Adds the case with x quantised to w's type.
fn push_quantised<X: Real16, Y: Real>(cases: &mut Vec<Case>, spec: &Spec) {
    let k = spec.groups.map_or(128, |([_, k], _)| k);
    let of_type = |dtype| {
        let name = format!("{}, x quantised", spec.name);
        Spec { prequant: Some(Prequant::Groups(dtype, k)), name, ..spec.clone() }
    };
    cases.push(of::<X, F8E4M3, Y>(of_type(DType::F8E4M3)));
    cases.push(of::<X, F8E4M3Fnuz, Y>(of_type(DType::F8E4M3Fnuz)));
}

fn spec(name: impl Into<String>, shape: [usize; 3]) -> Spec {
    let groups = Some(([128; 2], None));
    let draw = [Draw::Outliers, Draw::Codes];
    Spec { draw, groups, ..Spec::new("gemm_a16w8_blockscale", name, shape) }
}

/// Every remainder of groups, of whole k and of n.
const SHAPES: [[usize; 3]; 14] = [
    [1, 1, 1],
    [3, 5, 2],
    [16, 16, 128],
    [17, 33, 160],
    [1, 256, 512],
    [31, 48, 96],
    [64, 129, 256],
    [129, 192, 224],
    [64, 192, 320],
    [257, 255, 131],
    [32, 256, 512],
    [128, 128, 384],
    [7, 1000, 96],
    [16, 16, 16_384],
];

pub(super) fn add(cases: &mut Vec<Case>) {
    for shape in SHAPES {
        push::<bf16, bf16>(cases, &spec("plain", shape));
        push::<f16, f32>(cases, &Spec { size: Size::Core, ..spec("plain", shape) });
        push_quantised::<bf16, f32>(cases, &spec("plain", shape));
    }
    push::<bf16, bf16>(cases, &spec("no rows", [0, 64, 64]));
    push_quantised::<bf16, bf16>(cases, &spec("no rows", [0, 64, 64]));
    for (n, k) in [(1, 32), (8, 64), (64, 128), (128, 32), (128, 256), (256, 128), (512, 64)] {
        for (shape, splits) in [([40, 300, 300], None), ([17, 33, 1100], Some(2))] {
            let spec = spec(format!("groups of {n} x {k}"), shape);
            let spec = Spec { groups: Some(([n, k], None)), splits, ..spec };
            push::<bf16, f32>(cases, &spec);
            push_quantised::<f16, f32>(cases, &spec);
        }
    }
    for splits in [2, 3, 7] {
        let name = format!("{splits} splits");
        let spec = Spec { splits: Some(splits), ..spec(name, [33, 40, 1800]) };
        push::<f16, f32>(cases, &spec);
    }
    options(cases);
    places(cases);
    tiles(cases);
    transposed(cases);
    let tiles = Tiles { w: true, ..Tiles::default() };
    for (shape, splits) in [
        ([1, 16, 32], None),
        ([33, 48, 160], None),
        ([70, 272, 416], None),
        ([40, 80, 1184], Some(2)),
    ] {
        let spec = Spec { tiles, splits, ..spec("tiles", shape) };
        push::<bf16, f32>(cases, &spec);
        push::<f16, bf16>(cases, &Spec { groups: Some(([32, 64], None)), ..spec.clone() });
        push_quantised::<bf16, f32>(cases, &spec);
    }
    for [n, k] in [[4096, 7168], [7168, 2048], [2112, 7168], [1536, 7168]] {
        for m in [1, 64, 256] {
            push::<bf16, bf16>(cases, &Spec { size: Size::Large, ..spec("model", [m, n, k]) });
        }
    }
}

fn options(cases: &mut Vec<Case>) {
    for (shape, splits) in [([64, 128, 128], None), ([21, 83, 1200], Some(2))] {
        let what = if splits.is_some() { "split" } else { "whole" };
        let spec = Spec { bias: Some(DType::F32), splits, ..spec(what, shape) };
        push::<f16, f16>(cases, &spec);
        let all = Spec { activation: Some(Activation::Silu), residual: true, ..spec };
        push::<bf16, f32>(cases, &Spec { name: format!("{what}, all options"), ..all });
    }
    for draw in [Draw::Zeros, Draw::Denormal, Draw::Spread] {
        let spec = Spec { draw: [draw, Draw::Codes], ..spec(format!("{draw:?}"), [24, 40, 200]) };
        push::<f16, f32>(cases, &spec);
        push_quantised::<bf16, f32>(cases, &spec);
    }
    let special = Spec { special: true, ..spec("infinity and NaN in x", [24, 40, 200]) };
    push::<bf16, f32>(cases, &special);
    push_quantised::<f16, f32>(cases, &special);
}

fn places(cases: &mut Vec<Case>) {
    for (place, name) in [
        (Placement::DENSE.gap(48), "rows of wider tensors"),
        (Placement::DENSE.gap(5).shift(3), "rows off alignment"),
        (Placement::DENSE.edge(Edge::Start), "start of memory"),
        (Placement::DENSE.edge(Edge::End), "end of memory"),
    ] {
        for (shape, splits) in [([40, 72, 80], None), ([17, 33, 1210], Some(2))] {
            let spec = Spec { place, splits, residual: true, ..spec(name, shape) };
            push::<bf16, bf16>(cases, &spec);
            push_quantised::<bf16, bf16>(cases, &spec);
        }
    }
}

/// Operands that are stored with adjacent rows.
fn transposed(cases: &mut Vec<Case>) {
    for layout in [Layout::Tt, Layout::Nn, Layout::Nt] {
        for (shape, splits, size) in [
            ([1, 1, 1], None, Size::Quick),
            ([17, 33, 160], None, Size::Quick),
            ([40, 300, 1210], Some(2), Size::Core),
        ] {
            let spec = Spec { layout, splits, size, ..spec("transposed", shape) };
            push::<bf16, bf16>(cases, &spec);
            push::<f16, f32>(cases, &Spec { groups: Some(([32, 64], None)), ..spec.clone() });
            push_quantised::<bf16, f32>(cases, &spec);
        }
    }
}

/// Every tile configuration, whether it would be chosen or not.
fn tiles(cases: &mut Vec<Case>) {
    let end = Placement::DENSE.edge(Edge::End);
    for config in Config::all("a16w8_blockscale") {
        let Config { m, n, k, stages, .. } = config;
        // Groups of a step, or several steps of one group.
        let sizes = if config.variant.ends_with("any") {
            [[1, 32], [64, 64], [32, 256]]
        } else {
            [[128, 128], [256, 256], [128, 256]]
        };
        let is_i8 = config.variant.contains("i8");
        let mut push = |what: &str, shape, groups, result: DType| {
            let spec = Spec {
                splits: Some(1),
                tile: Some((config.arch, config.name)),
                groups: Some((groups, None)),
                size: if what.is_empty() { Size::Quick } else { Size::Core },
                place: end,
                ..spec(format!("tile {}, groups {groups:?}{what}", config.name), shape)
            };
            let is_ocp = config.arch == hk_core::Arch::Gfx950;
            cases.push(match (config.dtype, is_i8, is_ocp, result) {
                (DType::Bf16, true, _, DType::Bf16) => of::<bf16, i8, bf16>(spec),
                (DType::Bf16, true, ..) => of::<bf16, i8, f32>(spec),
                (DType::Bf16, false, true, DType::Bf16) => of::<bf16, F8E4M3, bf16>(spec),
                (DType::Bf16, false, true, _) => of::<bf16, F8E4M3, f32>(spec),
                (DType::Bf16, false, false, DType::Bf16) => of::<bf16, F8E4M3Fnuz, bf16>(spec),
                (DType::Bf16, false, false, _) => of::<bf16, F8E4M3Fnuz, f32>(spec),
                (_, true, ..) => of::<f16, i8, f32>(spec),
                (_, false, true, _) => of::<f16, F8E4M3, f32>(spec),
                (_, false, false, _) => of::<f16, F8E4M3Fnuz, f32>(spec),
            });
        };
        let steps = (3 * stages - 1).max(4);
        for groups in sizes {
            push("", [m + 5, n + 9, (steps - 1) * k + 7], groups, DType::F32);
            for steps in 1..=4 {
                push(", whole", [m, n, steps * k], groups, DType::Bf16);
            }
            push(", 11 x 3 blocks", [11 * m, 3 * n, 16], groups, DType::F32);
        }
    }
}
