//! Cases of `moe_op_gemm_a8w4`.

use hk_core::dtype::{DType, E8M0, F4x2E2M1, F8E4M3, F8E4M3Fnuz, Real, bf16, decode, f16};
use hk_core::op::epilogue::Operand;
use hk_core::{Arch, Tensor};
use hk_ref::moe::moe_op_gemm_a8w4::scaled;
use hk_ref::{Arg, Case, Draw, Held, Setup};

use super::loads::Load;
use super::ragged::{
    Kind, MxCall, Operands, Spec, ends_of_scales, shuffled, specified, specs, tiles,
};
use crate::{A8w4Element, Activation, RaggedOutput, moe_a8w4_into, moe_a8w4_mx_into};

const MODULE: &str = "moe_op_gemm_a8w4";

/// What is multiplied, and the numbers that it stands for.
struct Inputs<T: A8w4Element> {
    x: Arg<T>,
    x_scales: Option<Arg<E8M0>>,
    w: Arg<F4x2E2M1>,
    w_scales: Held<E8M0>,
    numbers: [Vec<f64>; 2],
}

fn inputs<T: A8w4Element>(
    s: &mut Setup,
    spec: &Spec,
    (is_mx, columns_first): (bool, bool),
) -> Inputs<T> {
    let ([_, n, k, _, experts], rows) = (spec.shape, spec.rows());
    let draw = if T::DTYPE == DType::Bf16 { Draw::Normal } else { Draw::Codes };
    let x = spec.x::<T>(s, draw);
    let w = spec.w::<F4x2E2M1>(s, Draw::Codes);
    let blocks = k.div_ceil(32);
    let x_scales = is_mx.then(|| {
        let shape = [rows, blocks];
        let scales = spec.block_scales(s, ("x_scales", &shape), Draw::Powers(-9, -4));
        s.given("x_scales", &shape, scales)
    });
    let shape = [experts, n, blocks];
    let scales = spec.block_scales(s, ("w_scales", &shape), Draw::Powers(-4, 2));
    let w_scales = if spec.shuffled {
        Held::scales(s, "w_scales", (scales, &shape), true)
    } else {
        let scales = s.given("w_scales", &shape, scales);
        Held::rows(if columns_first { scales.order(&[0, 2, 1]) } else { scales })
    };
    let of_x = decode(&x.elements());
    let of_x = match &x_scales {
        Some(scales) => scaled(of_x, &decode(&scales.elements()), k),
        None => of_x,
    };
    let of_w = scaled(decode(&w.elements()), &w_scales.numbers(), k);
    Inputs { x, x_scales, w, w_scales, numbers: [of_x, of_w] }
}

fn all<T: A8w4Element, Y: Real + RaggedOutput>(
    cases: &mut Vec<Case>,
    (arch, dtype): (Option<Arch>, &'static str),
    is_mx: bool,
    specs: Vec<Spec>,
) where
    for<'a> Operand<'a>: From<&'a Tensor<Y>>,
{
    let kind = Kind { module: MODULE, op: "moe_a8w4", arch, dtype };
    for (turn, spec) in specs.into_iter().enumerate() {
        let columns_first = turn % 4 == 1;
        let has = !is_mx && T::DTYPE != DType::Bf16 && turn % 2 == 0;
        let spec = Spec { statics: [has; 2], ..spec };
        cases.push(kind.case::<Y>(spec, move |s, spec| {
            let Inputs { x, x_scales, w, w_scales, numbers: [of_x, of_w] } =
                inputs::<T>(s, spec, (is_mx, columns_first));
            Operands {
                x: of_x,
                w: of_w,
                call: Box::new(move |gates, options, y| {
                    let of_x = x_scales.as_ref().map(Arg::get);
                    let (x, w, of_w) = (x.get(), w.get(), w_scales.get());
                    moe_a8w4_into(&x, of_x.as_deref(), &w, of_w.stored(), gates, options, y)
                }),
            }
        }));
    }
}

/// Results in blocks of MX.
fn chained(cases: &mut Vec<Case>, act: Activation, shape: [usize; 5]) {
    let kind = Kind { module: MODULE, op: "moe_a8w4", arch: None, dtype: "bf16*e2m1" };
    for gammas in [false, true] {
        let load = if gammas { Load::Wrong } else { Load::Uniform };
        let spec = Spec { act, gammas, load, bias: true, ..Spec::new("chained", shape, 16) };
        cases.push(kind.blocks(spec, move |s, spec| {
            let Inputs { x, w, w_scales, numbers, .. } = inputs::<bf16>(s, spec, (false, false));
            let call: MxCall = Box::new(move |gates, options, out| {
                moe_a8w4_mx_into(
                    &x.get(),
                    None,
                    &w.get(),
                    w_scales.get().stored(),
                    gates,
                    options,
                    out,
                )
            });
            (numbers, call)
        }));
    }
}

pub(super) fn add(cases: &mut Vec<Case>) {
    let (cdna3, cdna4) = ((Some(Arch::Gfx942), "e4m3fnuz*e2m1"), (Some(Arch::Gfx950), "e4m3*e2m1"));
    all::<bf16, bf16>(cases, (None, "bf16*e2m1"), false, specs(34));
    all::<bf16, f32>(cases, (None, "bf16*e2m1"), false, tiles("bf16_e2m1"));
    all::<F8E4M3, bf16>(cases, (None, "mxfp8*e2m1"), true, specs(32));
    all::<bf16, f32>(cases, (None, "bf16*e2m1"), false, shuffled());
    all::<F8E4M3, f32>(cases, (None, "mxfp8*e2m1"), true, shuffled());
    all::<F8E4M3, f16>(cases, (None, "mxfp8*e2m1"), true, tiles("mxfp8_e2m1"));
    all::<F8E4M3Fnuz, bf16>(cases, cdna3, false, specs(50));
    all::<F8E4M3, bf16>(cases, cdna4, false, specs(50));
    for spec in tiles("e4m3_e2m1") {
        match spec.tile {
            Some((Arch::Gfx942, _)) => all::<F8E4M3Fnuz, f32>(cases, cdna3, false, vec![spec]),
            _ => all::<F8E4M3, f32>(cases, cdna4, false, vec![spec]),
        }
    }
    all::<F8E4M3, f32>(cases, (None, "mxfp8*e2m1"), true, ends_of_scales(125));
    // Of bf16, whose products with them are as large or as small.
    let ends = [Draw::Powers(-127, -100), Draw::Powers(100, 110)].map(|draw| {
        let name = format!("scales of {draw:?}");
        Spec { scales: Some([draw; 2]), ..Spec::new(name, [9, 24, 64, 1, 2], 16) }
    });
    all::<bf16, f32>(cases, (None, "bf16*e2m1"), false, ends.into());
    let nan = Spec::new("a NaN as a scale", [9, 24, 64, 1, 2], 16);
    let nan = vec![Spec { nan_scale: true, ..nan }];
    all::<bf16, f32>(cases, (None, "bf16*e2m1"), false, nan.clone());
    all::<F8E4M3Fnuz, f32>(cases, cdna3, false, nan.clone());
    all::<F8E4M3, f32>(cases, cdna4, false, nan);
    let shapes = [[16, 40, 50, 2, 4], [8, 256, 256, 2, 16], [5, 100, 300, 2, 3]];
    all::<bf16, bf16>(cases, (None, "bf16*e2m1"), false, specified(&shapes));
    all::<F8E4M3, bf16>(cases, (None, "mxfp8*e2m1"), true, specified(&shapes));
    all::<F8E4M3Fnuz, bf16>(cases, cdna3, false, specified(&shapes));
    all::<F8E4M3, bf16>(cases, cdna4, false, specified(&shapes));
    chained(cases, Activation::None, [19, 96, 64, 2, 4]);
    chained(cases, Activation::SiluAndMul, [19, 192, 64, 2, 4]);
    chained(cases, Activation::SiluAndMul, [5, 1344, 32, 2, 4]);
}
