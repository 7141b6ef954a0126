//! Cases of `batched_gemm_bf16`.

use hk_core::dtype::{DType, Real, Real16, bf16, f16};
use hk_ref::{Case, Edge, Placement, Size, in_rows};

use super::config::Config;
use super::product::{Spec, case};
use crate::{Activation, Layout, batched_gemm_bf16_into};

/// The case with operands of type `T` and a result of type `Y`.
fn of<T: Real16, Y: Real>(spec: Spec) -> Case {
    case::<T, T, Y>(spec, |x, w, _, options, y| batched_gemm_bf16_into(x, in_rows(w), options, y))
}

fn spec(name: impl Into<String>, batch: usize, shape: [usize; 3]) -> Spec {
    Spec { batch: Some(batch), ..Spec::new("batched_gemm_bf16", name, shape) }
}

pub(super) fn add(cases: &mut Vec<Case>) {
    for batch in [1, 2, 3, 5] {
        for shape in
            [[1, 1, 1], [3, 5, 2], [17, 33, 70], [64, 64, 64], [129, 127, 65], [7, 200, 96]]
        {
            for layout in Layout::ALL {
                let size = if layout == Layout::Tn { Size::Quick } else { Size::Core };
                let spec = Spec { layout, size, ..spec("plain", batch, shape) };
                cases.push(of::<bf16, bf16>(spec.clone()));
                cases.push(of::<f16, f16>(Spec { size: Size::Core, ..spec }));
            }
        }
    }
    cases.push(of::<bf16, bf16>(spec("no products", 0, [8, 8, 8])));
    cases.push(of::<bf16, bf16>(spec("no rows", 3, [0, 8, 8])));
    // More than one workgroup of each XCD for each product, and products that lie in between.
    cases.push(of::<bf16, bf16>(spec("many", 77, [16, 70, 40])));
    // More than one dimension of a grid may count.
    let most = spec("more than 65,535", 65_537, [1, 1, 8]);
    cases.push(of::<bf16, bf16>(Spec { size: Size::Core, ..most }));
    layouts(cases);
    tiles(cases);
    options(cases);
    places(cases);
    models(cases);
}

/// Results by rows, and operands that all products share.
fn layouts(cases: &mut Vec<Case>) {
    for (shape, splits) in [([40, 72, 64], None), ([19, 43, 70], None), ([33, 40, 600], Some(2))] {
        for (shared, name) in [
            ([false; 2], "by rows"),
            ([true, false], "one x"),
            ([false, true], "one w"),
            ([true; 2], "one x and w"),
        ] {
            // A tensor that is repeated cannot come in other shapes.
            let size = if shared == [false; 2] { Size::Quick } else { Size::Core };
            for layout in [Layout::Tn, Layout::Nt] {
                for by_rows in [true, false] {
                    let name = if by_rows { format!("{name}, by rows") } else { name.to_owned() };
                    let spec =
                        Spec { shared, by_rows, layout, splits, size, ..spec(name, 3, shape) };
                    cases.push(of::<bf16, f32>(spec));
                }
            }
        }
    }
}

/// Every tile configuration, with partial sums of more than one product.
fn tiles(cases: &mut Vec<Case>) {
    for Config { arch, dtype, layout, name, m, n, k, .. } in Config::all("a16w16") {
        let spec = spec(format!("tile {name}, shares of two products"), 2, [m, n, k + 8]);
        let spec = Spec { layout, tile: Some((arch, name)), splits: Some(2), ..spec };
        let spec = Spec { size: Size::Core, ..spec };
        cases.push(match dtype {
            DType::F16 => of::<f16, f16>(spec),
            _ => of::<bf16, bf16>(spec),
        });
    }
    for config in Config::all("a16w16").filter(Config::is_plain) {
        let (matrices, deep) = config.tail();
        let Config { arch, name, m, n, .. } = config;
        // The last matrix; and the last row of blocks of both, or one of two.
        for (what, batch, rows) in [
            ("the last matrix cut", matrices, m - 3),
            ("the last blocks of two matrices cut", 2, matrices.div_ceil(2) * m - 3),
        ] {
            let cut = spec(format!("tile {name}, {what}"), batch, [rows, n - 5, deep]);
            let cut = Spec { tile: Some((arch, name)), compute_units: Some(2), ..cut };
            let cut = Spec { bias: Some(DType::F32), residual: true, size: Size::Core, ..cut };
            cases.push(of::<bf16, bf16>(cut));
        }
    }
}

/// Every option, in blocks within y and in others, of a batch.
fn options(cases: &mut Vec<Case>) {
    for (shape, splits) in [([64, 128, 64], None), ([37, 75, 40], None), ([21, 83, 600], Some(3))] {
        for bias in [DType::Bf16, DType::F16, DType::F32] {
            let what = if splits.is_some() { "split" } else { "whole" };
            let spec = Spec { bias: Some(bias), splits, ..spec(what, 3, shape) };
            cases.push(of::<bf16, bf16>(spec.clone()));
            cases.push(of::<f16, f16>(spec.clone()));
            cases.push(of::<bf16, f32>(spec.clone()));
            let all = Spec { activation: Some(Activation::Gelu), residual: true, ..spec.clone() };
            let all = Spec { name: format!("{what}, all options"), ..all };
            cases.push(of::<f16, f32>(all.clone()));
            cases.push(of::<bf16, bf16>(Spec { by_rows: true, ..all }));
            let name = format!("{what}, product of tensors");
            let product = Spec { name, add_product: Some(bias), ..spec.clone() };
            cases.push(of::<bf16, f32>(product.clone()));
            let name = format!("{what}, gaps in the bias");
            cases.push(of::<bf16, bf16>(Spec { name, vectors_apart: true, ..spec.clone() }));
            let by_columns = Spec { by_columns: true, residual: true, ..product };
            let name = format!("{what}, tensors by columns");
            cases.push(of::<bf16, bf16>(Spec { name, ..by_columns }));
        }
    }
}

/// Matrices that are not aligned or far apart, and operands at the edges of allocations.
fn places(cases: &mut Vec<Case>) {
    for (place, name) in [
        (Placement::DENSE.gap(24), "rows of wider tensors"),
        (Placement::DENSE.gap(5).shift(3), "rows off alignment"),
        (Placement::DENSE.edge(Edge::Start), "start of memory"),
        (Placement::DENSE.edge(Edge::End), "end of memory"),
    ] {
        for (shape, splits) in
            [([40, 72, 64], None), ([17, 33, 70], None), ([24, 40, 600], Some(2))]
        {
            for layout in Layout::ALL {
                let spec = spec(name, 3, shape);
                let spec = Spec { layout, place, splits, residual: true, ..spec };
                cases.push(of::<bf16, bf16>(spec));
            }
        }
    }
    // Distances with an upper half, and such as get one only where they are multiplied. Blocks of every
    // tile that is chosen for few rows lie within y.
    for (bias, batch, gap) in
        [(DType::F32, 5, 1 << 28), (DType::Bf16, 2, 1 << 32), (DType::Bf16, 3, 1 << 31)]
    {
        for (k, splits) in [(40, None), (600, Some(2))] {
            let far = spec("biases far apart", batch, [16, 64, k]);
            let far = Spec { bias: Some(bias), splits, size: Size::Core, ..far };
            let operand_place = Placement::DENSE.gap(gap);
            cases.push(of::<bf16, bf16>(Spec { operand_place, ..far }));
        }
    }
    for (batch, gap, residual) in [(5, 1 << 29, true), (2, 1 << 31, false)] {
        let far = spec("matrices far apart", batch, [1, 1, 40]);
        let place = Placement::DENSE.gap(gap);
        cases.push(of::<bf16, bf16>(Spec { place, size: Size::Core, residual, ..far }));
    }
    let far = spec("results far apart", 2, [1, 1, 600]);
    let far = Spec { shared: [true; 2], splits: Some(2), size: Size::Core, ..far };
    cases.push(of::<bf16, bf16>(Spec { place: Placement::DENSE.gap(1 << 31), ..far }));
    for (dtype, batch, gap, k, splits) in
        [(DType::F32, 3, 1 << 29, 40, None), (DType::Bf16, 2, 1 << 31, 600, Some(2))]
    {
        let far = Spec { splits, size: Size::Core, ..spec("factors far apart", batch, [1, 1, k]) };
        let operand_place = Placement::DENSE.gap(gap);
        cases.push(of::<bf16, f32>(Spec { operand_place, add_product: Some(dtype), ..far }));
    }
}

/// The projections of latent attention, and others' lists.
fn models(cases: &mut Vec<Case>) {
    for (batch, shape) in [
        (128, [1, 512, 128]),
        (128, [16, 128, 512]),
        (256, [64, 64, 64]),
        (16, [256, 1024, 4096]),
        (128, [128, 512, 256]),
    ] {
        let size = if shape[0] > 16 { Size::Large } else { Size::Core };
        cases.push(of::<bf16, bf16>(Spec { size, ..spec("model", batch, shape) }));
    }
}
