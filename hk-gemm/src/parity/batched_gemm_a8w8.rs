//! Cases of `batched_gemm_a8w8`.

use hk_core::dtype::{DType, F8E4M3, F8E4M3Fnuz, F8E5M2, F8E5M2Fnuz, Real, bf16, f16};
use hk_core::op::product::Element8;
use hk_ref::{Case, Draw, Edge, Placement, Size, in_rows};

use super::config::Config;
use super::product::{Scale, Spec, case};
use crate::{Activation, Layout, batched_gemm_a8w8_into};

/// The case with operands of type `T` and a result of type `Y`.
fn of<T: Element8, Y: Real>(spec: Spec) -> Case {
    case::<T, T, Y>(spec, |x, w, given, options, y| {
        batched_gemm_a8w8_into(x, in_rows(w), &given.scales[0], &given.scales[1], options, y)
    })
}

/// Adds the case with operands of each type.
fn push<Y: Real>(cases: &mut Vec<Case>, spec: &Spec) {
    let narrow = || Spec { draw: [Draw::Codes; 2], ..spec.clone() };
    cases.push(of::<i8, Y>(narrow()));
    cases.push(of::<F8E4M3, Y>(narrow()));
    cases.push(of::<F8E4M3Fnuz, Y>(narrow()));
    cases.push(of::<F8E5M2, Y>(spec.clone()));
    cases.push(of::<F8E5M2Fnuz, Y>(spec.clone()));
}

fn spec(name: impl Into<String>, batch: usize, shape: [usize; 3]) -> Spec {
    let scales = [Some(Scale::Each); 2];
    Spec { batch: Some(batch), scales, ..Spec::new("batched_gemm_a8w8", name, shape) }
}

pub(super) fn add(cases: &mut Vec<Case>) {
    for batch in [1, 3] {
        for shape in [[1, 1, 1], [17, 33, 70], [64, 64, 64], [129, 127, 65], [7, 200, 96]] {
            push::<bf16>(cases, &spec("plain", batch, shape));
        }
    }
    for (shape, splits) in [([64, 128, 64], None), ([37, 75, 40], None), ([21, 83, 1200], Some(2))]
    {
        let what = if splits.is_some() { "split" } else { "whole" };
        for (x, w) in [(Scale::One, Scale::Each), (Scale::Each, Scale::One)] {
            let spec = Spec {
                scales: [Some(x), Some(w)],
                splits,
                ..spec(format!("{what}, scales {x:?} {w:?}"), 3, shape)
            };
            push::<f32>(cases, &spec);
        }
        let flat = Spec {
            scales: [Some(Scale::Flat); 2],
            size: Size::Core,
            splits,
            ..spec(format!("{what}, flat scales"), 3, shape)
        };
        push::<bf16>(cases, &flat);
        let bias = Spec { bias: Some(DType::Bf16), splits, ..spec(what, 3, shape) };
        push::<f16>(cases, &bias);
        for scale in [Scale::Each, Scale::Flat] {
            let name = format!("{what}, gaps in scales {scale:?} and the bias");
            let scales = [Some(scale); 2];
            push::<bf16>(cases, &Spec { name, scales, vectors_apart: true, ..bias.clone() });
        }
        let all =
            Spec { activation: Some(Activation::Silu), residual: true, by_rows: true, ..bias };
        push::<bf16>(cases, &Spec { name: format!("{what}, all options"), ..all });
    }
    for (place, name) in [
        (Placement::DENSE.gap(48), "rows of wider tensors"),
        (Placement::DENSE.gap(5).shift(3), "rows off alignment"),
        (Placement::DENSE.edge(Edge::End), "end of memory"),
    ] {
        let spec = Spec { place, ..spec(name, 3, [40, 72, 80]) };
        push::<bf16>(cases, &spec);
    }
    for layout in [Layout::Tt, Layout::Nn, Layout::Nt] {
        for shape in [[17, 33, 70], [129, 144, 160]] {
            push::<bf16>(cases, &Spec { layout, ..spec("transposed", 3, shape) });
        }
    }
    // Where scales begin does not depend on the elements, nor on the tile.
    for config in Config::all("a8w8").filter(|config| config.dtype == DType::I8 && config.m <= 32) {
        let Config { arch, name, m, n, .. } = config;
        let (matrices, deep) = config.tail();
        let cut = spec(format!("tile {name}, the last matrix cut"), matrices, [m, n - 5, deep]);
        let cut = Spec { tile: Some((arch, name)), compute_units: Some(2), ..cut };
        let cut = Spec { draw: [Draw::Codes; 2], residual: true, size: Size::Core, ..cut };
        cases.push(of::<i8, bf16>(cut));
    }
    for shared in [[true, false], [false, true]] {
        let spec = Spec {
            shared,
            size: Size::Core,
            ..spec(format!("shared {shared:?}"), 3, [40, 72, 70])
        };
        push::<bf16>(cases, &spec);
    }
}
