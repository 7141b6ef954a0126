//! Cases of products with scales of MX blocks: what the ops over the core `mx` share.

use hk_core::dtype::{DType, Element, Real, bf16, f16};
use hk_ref::{Case, Draw, Edge, Placement, Size};

use super::config::Config;
use super::product::{Spec, Tiles};
use crate::{Activation, Layout};

/// Makes a case of one op and type of x, for a type of result.
pub(super) trait Make: Copy {
    /// The type of x.
    type X: Element;
    /// The case.
    fn case<Y: Real>(self, spec: Spec) -> Case;
    /// What x and w are, and their scales.
    fn spec(self, name: String, shape: [usize; 3]) -> Spec;
}

/// Every remainder of blocks, of whole steps along k and of n.
const SHAPES: [[usize; 3]; 16] = [
    [1, 1, 32],
    [3, 5, 64],
    [16, 16, 96],
    [17, 33, 160],
    [1, 256, 512],
    [31, 48, 96],
    [64, 129, 256],
    [129, 192, 224],
    [64, 192, 320],
    [257, 255, 160],
    [32, 256, 512],
    [128, 128, 384],
    [7, 1000, 96],
    [33, 40, 544],
    [16, 16, 16_384],
    [5, 2, 8_224],
];

/// Those of one type of x.
pub(super) fn add(cases: &mut Vec<Case>, make: impl Make) {
    let spec = |name: &str, shape| make.spec(name.to_owned(), shape);
    for shape in SHAPES {
        cases.push(make.case::<bf16>(spec("plain", shape)));
        let normal = Spec { draw: [Draw::Normal; 2], ..spec("normal", shape) };
        cases.push(make.case::<f32>(normal));
    }
    cases.push(make.case::<bf16>(spec("no rows", [0, 64, 64])));
    for splits in [2, 3, 7] {
        let spec = spec(&format!("{splits} splits"), [33, 40, 4000]);
        cases.push(make.case::<f32>(Spec { splits: Some(splits), ..spec }));
    }
    options(cases, make);
    places(cases, make);
    transposed(cases, make);
    tiles(cases, make);
    shuffled(cases, make);
    for [n, k] in [[4096, 7168], [7168, 2048], [2112, 7168], [512, 128]] {
        for m in [1, 64, 256] {
            let spec = Spec { size: Size::Large, ..spec("model", [m, n, k]) };
            cases.push(make.case::<bf16>(spec));
        }
    }
}

fn options(cases: &mut Vec<Case>, make: impl Make) {
    for (shape, splits) in [([64, 128, 256], None), ([21, 83, 2400], Some(2))] {
        for bias in [DType::Bf16, DType::F32] {
            let what = if splits.is_some() { "split" } else { "whole" };
            let spec = Spec { bias: Some(bias), splits, ..make.spec(what.into(), shape) };
            cases.push(make.case::<bf16>(spec.clone()));
            cases.push(make.case::<f16>(spec.clone()));
            let name = format!("{}, all options", spec.name);
            let all = Spec { activation: Some(Activation::Silu), residual: true, name, ..spec };
            cases.push(make.case::<f32>(all));
        }
    }
    let zeros = make.spec("zeros".into(), [24, 40, 224]);
    cases.push(make.case::<f32>(Spec { draw: [Draw::Zeros, Draw::Codes], ..zeros }));
    for draw in [Draw::Codes, Draw::Zeros] {
        let spec = make.spec(format!("NaN as a scale, w {draw:?}"), [24, 40, 224]);
        let draw = [spec.draw[0], draw];
        cases.push(make.case::<f32>(Spec { nan_scales: true, draw, ..spec }));
    }
    // Scales at both ends of their range, whose products are in f32's.
    let ends = [
        (Draw::Powers(-127, -95), Draw::Powers(96, 128)),
        (Draw::Powers(96, 128), Draw::Powers(-127, -95)),
    ];
    for (x_scale, w_scale) in ends {
        let name = format!("ends of the scales' range, x {x_scale:?}");
        let spec = make.spec(name, [40, 72, 320]);
        let [has_blocks, _] = spec.blocks;
        if has_blocks.is_some() {
            cases.push(make.case::<f32>(Spec { blocks: [Some(x_scale), Some(w_scale)], ..spec }));
        }
    }
}

fn places(cases: &mut Vec<Case>, make: impl Make) {
    for (place, name) in [
        (Placement::DENSE.gap(96), "rows of wider tensors"),
        (Placement::DENSE.gap(10).shift(6), "rows off alignment"),
        (Placement::DENSE.edge(Edge::Start), "start of memory"),
        (Placement::DENSE.edge(Edge::End), "end of memory"),
    ] {
        for (shape, splits) in [([40, 72, 96], None), ([17, 33, 2432], Some(2))] {
            let spec = make.spec(name.into(), shape);
            cases.push(make.case::<bf16>(Spec { place, splits, residual: true, ..spec }));
        }
    }
}

/// An x that is stored with adjacent rows, if its elements are whole bytes.
fn transposed<M: Make>(cases: &mut Vec<Case>, make: M) {
    if M::X::PACK > 1 {
        return;
    }
    let spec = |shape| Spec { layout: Layout::Nn, ..make.spec("transposed".into(), shape) };
    for shape in [[1, 1, 32], [17, 33, 160], [40, 72, 544]] {
        cases.push(make.case::<bf16>(spec(shape)));
    }
    let place = Placement::DENSE.gap(10).shift(6);
    let split = Spec { place, splits: Some(2), residual: true, ..spec([21, 33, 2432]) };
    cases.push(make.case::<f32>(split));
    let tiles = Tiles { w: true, ..Tiles::default() };
    cases.push(make.case::<f32>(Spec { tiles, ..spec([19, 48, 512]) }));
}

/// Every tile configuration, whether it would be chosen or not.
fn tiles<M: Make>(cases: &mut Vec<Case>, make: M) {
    let end = Placement::DENSE.edge(Edge::End);
    let is_of = |config: &Config| match make.spec(String::new(), [1; 3]).prequant {
        Some(_) => config.variant == "e2m1",
        None => config.dtype == M::X::DTYPE,
    };
    for config in Config::all("mx").filter(is_of) {
        let Config { m, n, k, stages, .. } = config;
        let mut push = |what: &str, tiles, shape, result: DType| {
            let name = format!("tile {}{what}", config.name);
            let is_cut = what.ends_with("cut");
            let spec = Spec {
                tiles,
                splits: (!is_cut).then_some(1),
                compute_units: is_cut.then_some(2),
                tile: Some((config.arch, config.name)),
                size: if what.is_empty() { Size::Quick } else { Size::Core },
                place: end,
                ..make.spec(name, shape)
            };
            cases.push(match result {
                DType::Bf16 => make.case::<bf16>(spec),
                _ => make.case::<f32>(spec),
            });
        };
        let steps = (3 * stages - 1).max(4);
        push("", Tiles::default(), [m + 5, n + 9, (steps - 1) * k + 32], DType::F32);
        // Whole shuffled tiles, in blocks that begin with any row of those of scales.
        let has_blocks = make.spec(String::new(), [1; 3]).blocks.map(|scales| scales.is_some());
        let all = Tiles { w: true, blocks: has_blocks };
        push(", shuffled", all, [2 * m + 5, 2 * n + 16, (steps - 1) * k + 256], DType::F32);
        for steps in 1..=4 {
            push(", whole", Tiles::default(), [m, n, steps * k], DType::Bf16);
        }
        push(", 11 x 3 blocks", Tiles::default(), [11 * m, 3 * n, 32], DType::F32);
        let [[rows, narrow, k], [few, columns, _]] = config.with_tail();
        let k = k.next_multiple_of(256);
        // Shuffled weights have whole tiles of 16 rows.
        let shuffled = [few, columns / 16 * 16, k];
        match m {
            16 | 64 => push(", the last column of blocks cut", all, shuffled, DType::F32),
            _ => {
                let rows = [rows, narrow, k];
                push(", the last row of blocks cut", Tiles::default(), rows, DType::Bf16);
            }
        }
    }
}

/// Every way in which operands are shuffled, with rows and k of any number of their tiles.
fn shuffled(cases: &mut Vec<Case>, make: impl Make) {
    let [x_has, _] = make.spec(String::new(), [1; 3]).blocks.map(|scales| scales.is_some());
    for (w, scales) in [(true, false), (false, true), (true, true)] {
        let tiles = Tiles { w, blocks: [scales && x_has, scales] };
        let spec = |name: &str, shape| Spec { tiles, ..make.spec(name.into(), shape) };
        for shape in [[1, 16, 256], [33, 48, 512], [17, 272, 768], [70, 128, 1280]] {
            cases.push(make.case::<f32>(spec("plain", shape)));
        }
        let place = Placement::DENSE.edge(Edge::End);
        let split = Spec { splits: Some(3), place, ..spec("3 splits", [40, 80, 2304]) };
        cases.push(make.case::<bf16>(split));
        if scales {
            let nan = Spec { nan_scales: true, ..spec("NaN as a scale", [24, 48, 512]) };
            cases.push(make.case::<f32>(nan));
        } else {
            for k in [64, 192, 320, 1088] {
                cases.push(make.case::<f32>(spec("part of a step", [19, 96, k])));
            }
        }
    }
    if x_has {
        let x_alone = Tiles { blocks: [true, false], ..Tiles::default() };
        let spec = make.spec("plain".into(), [50, 24, 768]);
        cases.push(make.case::<f32>(Spec { tiles: x_alone, ..spec }));
    }
}

/// Those of a batch.
pub(super) fn add_batched<M: Make>(cases: &mut Vec<Case>, make: M) {
    let spec = |name: &str, batch, shape| {
        let spec = make.spec(name.to_owned(), shape);
        Spec { batch: Some(batch), ..spec }
    };
    for batch in [1, 2, 3] {
        for shape in [[1, 1, 32], [17, 33, 96], [64, 64, 512], [129, 127, 64], [7, 200, 544]] {
            cases.push(make.case::<bf16>(spec("plain", batch, shape)));
        }
    }
    cases.push(make.case::<bf16>(spec("no products", 0, [3, 5, 64])));
    cases.push(make.case::<bf16>(spec("no rows", 3, [0, 64, 64])));
    for (shape, splits) in [([64, 128, 64], None), ([21, 83, 1216], Some(2))] {
        let what = if splits.is_some() { "split" } else { "whole" };
        let bias = Spec { bias: Some(DType::Bf16), splits, ..spec(what, 3, shape) };
        cases.push(make.case::<f16>(bias.clone()));
        let name = format!("{}, all options", bias.name);
        let all = Spec {
            activation: Some(Activation::Silu),
            residual: true,
            by_rows: true,
            name,
            ..bias
        };
        cases.push(make.case::<f32>(all));
    }
    for (place, name) in [
        (Placement::DENSE.gap(96), "rows of wider tensors"),
        (Placement::DENSE.gap(10).shift(6), "rows off alignment"),
        (Placement::DENSE.edge(Edge::End), "end of memory"),
    ] {
        cases.push(make.case::<bf16>(Spec { place, ..spec(name, 3, [40, 72, 96]) }));
    }
    for shared in [[true, false], [false, true]] {
        let name = format!("shared {shared:?}");
        cases.push(make.case::<bf16>(Spec { shared, ..spec(&name, 3, [40, 72, 96]) }));
    }
    if M::X::PACK == 1 {
        let columns = |name: &str| Spec { layout: Layout::Nn, ..spec(name, 3, [17, 40, 96]) };
        cases.push(make.case::<bf16>(columns("transposed")));
        let apart = Placement::DENSE.gap(10).shift(6);
        cases.push(make.case::<f32>(Spec { place: apart, ..columns("transposed, apart") }));
        let shared = Spec { shared: [true, false], ..columns("transposed, one x") };
        cases.push(make.case::<f32>(shared));
    }
}
