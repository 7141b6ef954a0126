//! Cases of `batched_gemm_a8w8_ptgq`, which has the kernels of `gemm_a8w8_blockscale`.

use hk_core::Arch;
use hk_core::dtype::{DType, F8E4M3, F8E4M3Fnuz, Real, Real16, bf16, f16};
use hk_core::op::quant::Fp8;
use hk_ref::{Case, Draw, Edge, Placement, Size, in_rows};

use super::config::Config;
use super::product::{Prequant, Spec, WScale, case};
use crate::{Activation, Layout, PtgqOptions, batched_gemm_a8w8_ptgq_into};

/// The case with operands of types `X` and `W` and a result of type `Y`.
fn of<X: Real16, W: Fp8, Y: Real>(spec: &Spec, k: usize, transpose_bm_in: bool) -> Case {
    let spec = Spec {
        prequant: Some(Prequant::Tokens(W::DTYPE, k)),
        name: format!("{}, groups of {k}", spec.name),
        x_by_rows: transpose_bm_in,
        ..spec.clone()
    };
    case::<X, W, Y>(spec, move |x, w, given, options, y| {
        let mut options = PtgqOptions::default().gemm(options.clone()).group_size(k);
        if transpose_bm_in {
            options = options.transpose_bm_in();
        }
        batched_gemm_a8w8_ptgq_into(x, in_rows(w), &given.scales[0], &options, y)
    })
}

/// Adds the case with each type of w.
fn push<X: Real16, Y: Real>(cases: &mut Vec<Case>, spec: &Spec, k: usize, transposed: bool) {
    cases.push(of::<X, F8E4M3, Y>(spec, k, transposed));
    cases.push(of::<X, F8E4M3Fnuz, Y>(spec, k, transposed));
}

fn spec(name: impl Into<String>, batch: usize, shape: [usize; 3]) -> Spec {
    Spec {
        batch: Some(batch),
        draw: [Draw::Outliers, Draw::Codes],
        w_scale: Some(WScale::One),
        ..Spec::new("batched_gemm_a8w8_ptgq", name, shape)
    }
}

pub(super) fn add(cases: &mut Vec<Case>) {
    for batch in [1, 3] {
        for shape in [[1, 1, 1], [17, 33, 128], [64, 64, 130], [129, 127, 512], [7, 200, 96]] {
            push::<bf16, bf16>(cases, &spec("plain", batch, shape), 128, false);
        }
    }
    push::<bf16, bf16>(cases, &spec("no products", 0, [3, 5, 64]), 128, false);
    push::<bf16, bf16>(cases, &spec("no rows", 3, [0, 64, 64]), 128, false);
    for k in [32, 64, 128, 256] {
        for w_scale in [WScale::Flat, WScale::PerMatrix] {
            let name = format!("scale of w {w_scale:?}");
            let spec = Spec { w_scale: Some(w_scale), ..spec(name, 3, [40, 72, 700]) };
            push::<f16, f32>(cases, &spec, k, true);
        }
    }
    for (shape, splits) in [([64, 128, 64], None), ([21, 83, 1200], Some(2))] {
        let what = if splits.is_some() { "split" } else { "whole" };
        let bias = Spec { bias: Some(DType::Bf16), splits, ..spec(what, 3, shape) };
        push::<bf16, f16>(cases, &bias, 128, false);
        let name = format!("{what}, all options");
        let all = Spec {
            activation: Some(Activation::Silu),
            residual: true,
            by_rows: true,
            name,
            ..bias
        };
        push::<bf16, f32>(cases, &all, 64, true);
    }
    for (place, name) in [
        (Placement::DENSE.gap(48), "rows of wider tensors"),
        (Placement::DENSE.gap(5).shift(3), "rows off alignment"),
        (Placement::DENSE.edge(Edge::End), "end of memory"),
    ] {
        push::<bf16, bf16>(cases, &Spec { place, ..spec(name, 3, [40, 72, 80]) }, 128, false);
    }
    for shared in [[true, false], [false, true]] {
        let spec = Spec { shared, ..spec(format!("shared {shared:?}"), 3, [40, 72, 200]) };
        push::<bf16, bf16>(cases, &Spec { size: Size::Core, ..spec }, 128, false);
    }
    let small = |config: &Config| config.variant == "e4m3_128" && config.m <= 32;
    for config in Config::all("a8w8_blockscale").filter(small) {
        let Config { arch, name, m, n, .. } = config;
        let (matrices, deep) = config.tail();
        let cut = spec(format!("tile {name}, the last matrix cut"), matrices, [m, n - 5, deep]);
        let cut = Spec { tile: Some((arch, name)), compute_units: Some(2), ..cut };
        let cut = Spec { w_scale: Some(WScale::PerMatrix), size: Size::Core, ..cut };
        cases.push(match arch {
            Arch::Gfx950 => of::<bf16, F8E4M3, bf16>(&cut, 128, false),
            _ => of::<bf16, F8E4M3Fnuz, bf16>(&cut, 128, false),
        });
    }
    for layout in [Layout::Tt, Layout::Nn, Layout::Nt] {
        for shape in [[1, 1, 1], [17, 33, 130]] {
            let transposed = Spec { layout, ..spec("transposed", 3, shape) };
            push::<bf16, bf16>(cases, &transposed, 64, false);
        }
    }
    // Matrices of x that are apart, or one for all.
    let columns = Spec { layout: Layout::Nn, ..spec("transposed", 3, [21, 40, 200]) };
    let apart = Placement::DENSE.gap(5).shift(3);
    push::<f16, f32>(cases, &Spec { place: apart, ..columns.clone() }, 128, false);
    let shared = Spec { shared: [true, false], size: Size::Core, ..columns };
    push::<bf16, f32>(cases, &shared, 128, false);
    let special = Spec { special: true, ..spec("infinity and NaN in x", 3, [24, 40, 200]) };
    push::<bf16, f32>(cases, &special, 128, false);
}
