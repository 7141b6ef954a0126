//! Cases of `gemm_a8w8_blockscale`.

use hk_core::dtype::{DType, F8E4M3, F8E4M3Fnuz, Real, bf16, f16};
use hk_core::op::quant::Fp8;
use hk_ref::{Case, Draw, Edge, Placement, Size};

use super::config::Config;
use super::product::{Spec, Tiles, case};
use crate::{Activation, BlockscaleOptions, Layout, ScaleLayout, gemm_a8w8_blockscale_into};

/// The case with operands of type `T` and a result of type `Y`.
fn of<T: Fp8, Y: Real>(spec: Spec) -> Case {
    let ([n, k], layout) = spec.groups.unwrap_or(([128; 2], None));
    case::<T, T, Y>(spec, move |x, w, given, options, y| {
        let options = BlockscaleOptions::default()
            .gemm(options.clone())
            .groups(n, k)
            .x_scale_layout(layout.unwrap_or_default());
        gemm_a8w8_blockscale_into(x, w, &given.scales[0], &given.scales[1], &options, y)
    })
}

/// Adds the case for both chips.
fn push<Y: Real>(cases: &mut Vec<Case>, spec: &Spec) {
    cases.push(of::<F8E4M3, Y>(spec.clone()));
    cases.push(of::<F8E4M3Fnuz, Y>(spec.clone()));
}

fn spec(name: impl Into<String>, shape: [usize; 3]) -> Spec {
    let groups = Some(([128; 2], Some(ScaleLayout::RowMajor)));
    Spec { draw: [Draw::Codes; 2], groups, ..Spec::new("gemm_a8w8_blockscale", name, shape) }
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
        push::<bf16>(cases, &spec("plain", shape));
        let columns = Some(([128; 2], Some(ScaleLayout::ColMajor)));
        push::<f32>(cases, &Spec { groups: columns, ..spec("scales of x by columns", shape) });
    }
    push::<bf16>(cases, &spec("no rows", [0, 64, 64]));
    for (n, k) in
        [(1, 32), (1, 128), (8, 64), (64, 128), (128, 32), (128, 256), (256, 128), (512, 64)]
    {
        for (shape, splits) in [([40, 300, 300], None), ([17, 33, 1100], Some(2))] {
            let spec = spec(format!("groups of {n} x {k}"), shape);
            let groups = Some(([n, k], Some(ScaleLayout::RowMajor)));
            push::<f32>(cases, &Spec { groups, splits, ..spec });
        }
    }
    for splits in [2, 3, 7] {
        let name = format!("{splits} splits");
        push::<f32>(cases, &Spec { splits: Some(splits), ..spec(name, [33, 40, 1800]) });
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
        ([130, 128, 512], None),
        ([40, 80, 1184], Some(2)),
    ] {
        for layout in [ScaleLayout::RowMajor, ScaleLayout::ColMajor] {
            let groups = Some(([128; 2], Some(layout)));
            let spec = spec(format!("scales of x {layout:?}"), shape);
            push::<f32>(cases, &Spec { tiles, splits, groups, ..spec });
        }
        let groups = Some(([32, 64], Some(ScaleLayout::RowMajor)));
        push::<bf16>(cases, &Spec { tiles, splits, groups, ..spec("groups of 32 x 64", shape) });
    }
    for [n, k] in [[4096, 7168], [7168, 2048], [2112, 7168], [1536, 7168]] {
        for m in [1, 64, 256] {
            push::<bf16>(cases, &Spec { size: Size::Large, ..spec("model", [m, n, k]) });
        }
    }
}

fn options(cases: &mut Vec<Case>) {
    for (shape, splits) in [([64, 128, 128], None), ([21, 83, 1200], Some(2))] {
        for bias in [DType::Bf16, DType::F32] {
            let what = if splits.is_some() { "split" } else { "whole" };
            let spec = Spec { bias: Some(bias), splits, ..spec(what, shape) };
            push::<bf16>(cases, &spec);
            push::<f16>(cases, &spec);
            let all = Spec { activation: Some(Activation::Silu), residual: true, ..spec };
            push::<f32>(cases, &Spec { name: format!("{what}, all options"), ..all });
        }
    }
    for (draw, name) in
        [(Draw::Zeros, "zeros"), (Draw::Normal, "normal"), (Draw::Denormal, "denormal")]
    {
        push::<f32>(cases, &Spec { draw: [draw, Draw::Codes], ..spec(name, [24, 40, 200]) });
    }
}

fn places(cases: &mut Vec<Case>) {
    for (place, name) in [
        (Placement::DENSE.gap(48), "rows of wider tensors"),
        (Placement::DENSE.gap(5).shift(3), "rows off alignment"),
        (Placement::DENSE.edge(Edge::Start), "start of memory"),
        (Placement::DENSE.edge(Edge::End), "end of memory"),
    ] {
        for (shape, splits) in [([40, 72, 80], None), ([17, 33, 1210], Some(2))] {
            push::<bf16>(cases, &Spec { place, splits, residual: true, ..spec(name, shape) });
        }
    }
}

/// Operands that are stored with adjacent rows.
fn transposed(cases: &mut Vec<Case>) {
    for layout in [Layout::Tt, Layout::Nn, Layout::Nt] {
        for (shape, splits, size) in [
            ([1, 1, 1], None, Size::Quick),
            ([17, 33, 160], None, Size::Quick),
            ([129, 144, 160], None, Size::Core),
            ([40, 300, 1210], Some(2), Size::Core),
        ] {
            push::<bf16>(cases, &Spec { layout, splits, size, ..spec("transposed", shape) });
        }
        let groups = Some(([32, 64], Some(ScaleLayout::ColMajor)));
        let place = Placement::DENSE.gap(5).shift(3);
        let gaps = Spec { layout, groups, place, ..spec("rows off alignment", [37, 75, 200]) };
        push::<f32>(cases, &gaps);
    }
    let tiles = Tiles { w: true, ..Tiles::default() };
    let turned_x = Spec { tiles, layout: Layout::Nn, ..spec("tiles", [21, 48, 160]) };
    push::<f32>(cases, &turned_x);
}

/// Every tile configuration, whether it would be chosen or not.
fn tiles(cases: &mut Vec<Case>) {
    let end = Placement::DENSE.edge(Edge::End);
    for config in Config::all("a8w8_blockscale") {
        let Config { m, n, k, stages, .. } = config;
        // Groups of a step, or several steps of one group.
        let sizes = if config.variant == "e4m3_any" {
            [[1, 32], [64, 64], [32, 256]]
        } else {
            [[128, 128], [256, 256], [128, 256]]
        };
        let mut push = |what: &str, shape, groups, result: DType| {
            let is_cut = what.ends_with("cut");
            let spec = Spec {
                splits: (!is_cut).then_some(1),
                compute_units: is_cut.then_some(2),
                tile: Some((config.arch, config.name)),
                groups: Some((groups, Some(ScaleLayout::RowMajor))),
                size: if what.is_empty() { Size::Quick } else { Size::Core },
                place: end,
                ..spec(format!("tile {}, groups {groups:?}{what}", config.name), shape)
            };
            let of_chip = match (config.arch, result) {
                (hk_core::Arch::Gfx950, DType::Bf16) => of::<F8E4M3, bf16>,
                (hk_core::Arch::Gfx950, _) => of::<F8E4M3, f32>,
                (_, DType::Bf16) => of::<F8E4M3Fnuz, bf16>,
                _ => of::<F8E4M3Fnuz, f32>,
            };
            cases.push(of_chip(spec));
        };
        let steps = (3 * stages - 1).max(4);
        let [rows, columns] = config.with_tail();
        push(", the last row of blocks cut", rows, sizes[0], DType::Bf16);
        push(", the last column of blocks cut", columns, sizes[0], DType::F32);
        for groups in sizes {
            push("", [m + 5, n + 9, (steps - 1) * k + 7], groups, DType::F32);
            for steps in 1..=4 {
                push(", whole", [m, n, steps * k], groups, DType::Bf16);
            }
            push(", 11 x 3 blocks", [11 * m, 3 * n, 16], groups, DType::F32);
        }
    }
}
