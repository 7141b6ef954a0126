//! Cases of `batched_gemm_a16wfp4`, which has the kernels of `gemm_a16wfp4`.

use std::marker::PhantomData;

use hk_core::Arch;
use hk_core::dtype::{DType, F4x2E2M1, F8E4M3, F8E4M3Fnuz, Real, Real16, bf16, f16};
use hk_core::op::quant::Fp8;
use hk_ref::{Case, Draw, Edge, Placement, Size, in_rows};

use super::config::Config;
use super::mx::{self, Make};
use super::product::{Prequant, Spec, case};
use crate::{A16Wfp4Options, Activation, batched_gemm_a16wfp4_fp8_into, batched_gemm_a16wfp4_into};

/// With x quantised, or as it is.
#[derive(Clone, Copy)]
struct Op<T> {
    prequant: bool,
    of: PhantomData<T>,
}

impl<T: Real16> Make for Op<T> {
    type X = T;

    fn case<Y: Real>(self, spec: Spec) -> Case {
        let prequant = self.prequant;
        case::<T, F4x2E2M1, Y>(spec, move |x, w, given, options, y| {
            let options = A16Wfp4Options::default().gemm(options.clone()).prequant(prequant);
            batched_gemm_a16wfp4_into(x, in_rows(w), in_rows(given.blocks[0]), &options, y)
        })
    }

    fn spec(self, name: String, shape: [usize; 3]) -> Spec {
        let name = if self.prequant { format!("{name}, x quantised") } else { name };
        Spec {
            draw: [Draw::Outliers, Draw::Codes],
            blocks: [None, Some(Draw::Powers(-4, 7))],
            prequant: self.prequant.then_some(Prequant::Mx),
            ..Spec::new("batched_gemm_a16wfp4", name, shape)
        }
    }
}

/// With codes as the result, of every way to store them.
fn add_encoded<T: Real16, Y: Fp8>(cases: &mut Vec<Case>, prequant: bool) {
    let make = Op::<T> { prequant, of: PhantomData };
    let spec = |name: &str, batch, shape| {
        let (batch, y_scale) = (Some(batch), Some(Draw::Scaled(3)));
        Spec { batch, y_scale, ..make.spec(name.to_owned(), shape) }
    };
    let mut push = |spec: Spec| {
        cases.push(case::<T, F4x2E2M1, Y>(spec, move |x, w, given, options, y| {
            let options = A16Wfp4Options::default().gemm(options.clone()).prequant(prequant);
            let y_scale = given.scales.last().expect("a scale of the result");
            batched_gemm_a16wfp4_fp8_into(
                x,
                in_rows(w),
                in_rows(given.blocks[0]),
                y_scale,
                &options,
                y,
            )
        }));
    };
    for batch in [1, 3] {
        for shape in [[1, 1, 32], [17, 33, 96], [64, 64, 512], [7, 200, 544]] {
            push(spec("codes", batch, shape));
        }
    }
    push(spec("codes, no products", 0, [3, 5, 64]));
    push(spec("codes, no rows", 3, [0, 64, 64]));
    let split = Spec { splits: Some(2), ..spec("codes, split", 3, [21, 83, 1216]) };
    push(Spec { bias: Some(DType::Bf16), by_rows: true, ..split.clone() });
    push(Spec { activation: Some(Activation::Silu), residual: true, ..split });
    push(Spec { special: true, ..spec("codes, infinity and NaN", 2, [12, 40, 96]) });
    for y_scale in [Draw::Scaled(-12), Draw::Scaled(16)] {
        let name = format!("codes, y_scale {y_scale:?}");
        push(Spec { y_scale: Some(y_scale), ..spec(&name, 2, [24, 40, 96]) });
    }
    for (place, name) in [
        (Placement::DENSE.gap(96), "codes, rows of wider tensors"),
        (Placement::DENSE.gap(10).shift(6), "codes, rows off alignment"),
        (Placement::DENSE.edge(Edge::End), "codes, end of memory"),
    ] {
        push(Spec { place, ..spec(name, 3, [40, 72, 96]) });
    }
    // The last row or column of blocks of one product is cut along k.
    let arch = if Y::DTYPE == DType::F8E4M3 { Arch::Gfx950 } else { Arch::Gfx942 };
    let variant = if prequant { "e2m1".to_owned() } else { format!("{}_e2m1", T::DTYPE.name()) };
    let of_few_rows =
        |config: &Config| config.arch == arch && config.variant == variant && config.m == 16;
    for config in Config::all("mx").filter(of_few_rows) {
        for ([m, n, k], what) in config.with_tail().into_iter().zip(["row", "column"]) {
            let name = format!("codes, the last {what} of blocks cut");
            push(Spec {
                compute_units: Some(2),
                tile: Some((config.arch, config.name)),
                size: Size::Core,
                ..spec(&name, 1, [m, n, k.next_multiple_of(32)])
            });
        }
    }
}

pub(super) fn add(cases: &mut Vec<Case>) {
    for prequant in [true, false] {
        mx::add_batched(cases, Op::<bf16> { prequant, of: PhantomData });
        mx::add_batched(cases, Op::<f16> { prequant, of: PhantomData });
        add_encoded::<bf16, F8E4M3>(cases, prequant);
        add_encoded::<bf16, F8E4M3Fnuz>(cases, prequant);
        add_encoded::<f16, F8E4M3>(cases, prequant);
        add_encoded::<f16, F8E4M3Fnuz>(cases, prequant);
    }
}
