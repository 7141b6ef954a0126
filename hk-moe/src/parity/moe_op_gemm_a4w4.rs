//! Cases of `moe_op_gemm_a4w4`.

use hk_core::Tensor;
use hk_core::dtype::{F4x2E2M1, Real, bf16, decode, f16};
use hk_core::op::epilogue::Operand;
use hk_ref::moe::moe_op_gemm_a4w4::scaled;
use hk_ref::{Case, Draw, Held};

use super::ragged::{Kind, Operands, Spec, ends_of_scales, shuffled, specified, specs, tiles};
use crate::{RaggedOutput, moe_a4w4_into};

const MODULE: &str = "moe_op_gemm_a4w4";

fn all<Y: Real + RaggedOutput>(cases: &mut Vec<Case>, draw: Draw, specs: Vec<Spec>)
where
    for<'a> Operand<'a>: From<&'a Tensor<Y>>,
{
    let kind = Kind { module: MODULE, op: "moe_a4w4", arch: None, dtype: "e2m1*e2m1" };
    for (turn, spec) in specs.into_iter().enumerate() {
        let columns_first = turn % 4 == 1;
        let is_tiled = spec.shuffled;
        cases.push(kind.case::<Y>(spec, move |s, spec| {
            let ([_, n, k, _, experts], rows) = (spec.shape, spec.rows());
            let x = spec.x::<F4x2E2M1>(s, Draw::Codes);
            let w = spec.w::<F4x2E2M1>(s, Draw::Codes);
            let blocks = k.div_ceil(32);
            let (of_x, of_w) = ([rows, blocks], [experts, n, blocks]);
            let x_scales = spec.block_scales(s, ("x_scales", &of_x), draw);
            let x_scales = s.given("x_scales", &of_x, x_scales);
            let x_scales = if columns_first { x_scales.order(&[1, 0]) } else { x_scales };
            let w_scales = spec.block_scales(s, ("w_scales", &of_w), draw);
            let w_scales = if is_tiled {
                Held::scales(s, "w_scales", (w_scales, &of_w), true)
            } else {
                let scales = s.given("w_scales", &of_w, w_scales);
                Held::rows(if columns_first { scales.order(&[0, 2, 1]) } else { scales })
            };
            Operands {
                x: scaled(decode(&x.elements()), &decode(&x_scales.elements()), k),
                w: scaled(decode(&w.elements()), &w_scales.numbers(), k),
                call: Box::new(move |gates, options, y| {
                    let (x, of_x, w, of_w) = (x.get(), x_scales.get(), w.get(), w_scales.get());
                    moe_a4w4_into(&x, &of_x, &w, of_w.stored(), gates, options, y)
                }),
            }
        }));
    }
}

pub(super) fn add(cases: &mut Vec<Case>) {
    let usual = Draw::Powers(-4, 1);
    all::<bf16>(cases, usual, specs(34));
    all::<f32>(cases, usual, specs(32));
    all::<bf16>(cases, usual, shuffled());
    all::<f16>(cases, usual, tiles("e2m1"));
    all::<f32>(cases, usual, ends_of_scales(128));
    let shapes =
        [[8, 130, 160, 3, 4], [64, 64, 128, 2, 8], [4, 256, 256, 2, 8], [3, 24, 2880, 2, 3]];
    all::<bf16>(cases, usual, specified(&shapes));
    // Every scale but NaN, as far as products are numbers.
    for scales in [Draw::Powers(-63, -50), Draw::Powers(50, 57)] {
        let name = format!("scales of {scales:?}");
        all::<f32>(cases, scales, vec![Spec::new(name, [9, 24, 64, 1, 2], 16)]);
    }
}
