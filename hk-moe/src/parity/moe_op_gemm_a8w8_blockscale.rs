//! Cases of `moe_op_gemm_a8w8_blockscale`.

use hk_core::dtype::{DType, F8E4M3, F8E4M3Fnuz, Real, Scalar, bf16, f16};
use hk_core::op::epilogue::Operand;
use hk_core::{Arch, Tensor};
use hk_ref::moe::moe_op_gemm_a8w8_blockscale::scaled;
use hk_ref::{Arg, Case, Draw, Setup};

use super::ragged::{Kind, Operands, Spec, specified, specs, tiles};
use crate::{RaggedElement, RaggedOutput, RaggedScales, moe_a8w8_blockscale_into};

const MODULE: &str = "moe_op_gemm_a8w8_blockscale";

/// Which operands have scales, and of what groups.
#[derive(Clone, Copy)]
struct Groups {
    has: [bool; 2],
    of: [usize; 3],
    /// Whether groups of k are next to each other, rather than rows of them.
    by_k: bool,
}

fn operands<T: RaggedElement + Scalar, Y: RaggedOutput>(
    s: &mut Setup,
    spec: &Spec,
    groups: Groups,
) -> Operands<Y> {
    let ([_, n, k, _, experts], rows) = (spec.shape, spec.rows());
    let [group_m, group_n, group_k] = groups.of;
    let is_i8 = T::DTYPE == DType::I8;
    let draw = if is_i8 { Draw::Codes } else { Draw::Normal };
    let (x, w) = (spec.x::<T>(s, draw), spec.w::<T>(s, draw));
    let size = spec.scale(Draw::Scaled(if is_i8 { -6 } else { 0 }));
    let depth = k.div_ceil(group_k);
    let [of_x, of_w] = [[1, rows.div_ceil(group_m)], [experts, n.div_ceil(group_n)]];
    let x_scales = groups.has[0].then(|| {
        let scales = s.input::<f32>("x_block_scales", &[of_x[1], depth], size);
        if groups.by_k { scales } else { scales.order(&[1, 0]) }
    });
    let w_scales = groups.has[1].then(|| {
        let scales = s.input::<f32>("w_block_scales", &[of_w[0], of_w[1], depth], size);
        if groups.by_k { scales } else { scales.order(&[0, 2, 1]) }
    });
    let by = |scales: &Option<Arg<f32>>, numbers, shape, groups| match scales {
        Some(scales) => scaled(numbers, &scales.numbers(), shape, groups),
        None => numbers,
    };
    Operands {
        x: by(&x_scales, x.numbers(), [rows, k], [group_m, group_k]),
        w: by(&w_scales, w.numbers(), [n, k], [group_n, group_k]),
        call: Box::new(move |gates, options, y| {
            let [of_x, of_w] = [&x_scales, &w_scales].map(|scales| scales.as_ref().map(Arg::get));
            let scales = RaggedScales::default().group_m(group_m).group_n(group_n);
            let scales = scales.group_k(group_k);
            let scales = of_x.iter().fold(scales, |scales, of| scales.x(of));
            let scales = of_w.iter().fold(scales, |scales, of| scales.w(of));
            moe_a8w8_blockscale_into(&x.get(), &w.get(), &scales, gates, options, y)
        }),
    }
}

fn all<T: RaggedElement + Scalar, Y: Real + RaggedOutput>(
    cases: &mut Vec<Case>,
    (arch, dtype): (Option<Arch>, &'static str),
    specs: Vec<Spec>,
    groups: &[Groups],
) where
    for<'a> Operand<'a>: From<&'a Tensor<Y>>,
{
    let kind = Kind { module: MODULE, op: "moe_a8w8_blockscale", arch, dtype };
    for (turn, spec) in specs.into_iter().enumerate() {
        let groups = groups[turn % groups.len()];
        let [m, n, k] = groups.of;
        let sides = [["no", "w"], ["x", "both"]];
        let has = sides[usize::from(groups.has[0])][usize::from(groups.has[1])];
        let order = if groups.by_k { "" } else { ", columns first" };
        let name = format!("{}, {has} scaled by {m}x{n}x{k}{order}", spec.name);
        let statics = groups.has.map(|has| !has);
        let spec = Spec { name, statics, ..spec };
        cases.push(kind.case::<Y>(spec, move |s, spec| operands::<T, Y>(s, spec, groups)));
    }
}

pub(super) fn add(cases: &mut Vec<Case>) {
    let (cdna3, cdna4) = ((Some(Arch::Gfx942), "e4m3fnuz"), (Some(Arch::Gfx950), "e4m3"));
    let of = |of| Groups { has: [true; 2], of, by_k: true };
    let usual = of([1, 128, 128]);
    let only = |has| Groups { has, ..usual };
    let of_128 = [
        usual,
        Groups { by_k: false, ..usual },
        only([true, false]),
        only([false, true]),
        of([128, 128, 128]),
    ];
    let of_any = [
        of([1, 1, 32]),
        of([64, 64, 64]),
        Groups { by_k: false, ..of([1, 32, 256]) },
        of([32, 1, 128]),
        Groups { has: [false, true], ..of([1, 64, 64]) },
    ];
    for [deep, k] in [[130, 0], [32, 1]] {
        let groups: &[Groups] = if k == 0 { &of_128 } else { &of_any };
        all::<F8E4M3Fnuz, bf16>(cases, cdna3, specs(deep), groups);
        all::<F8E4M3, bf16>(cases, cdna4, specs(deep), groups);
    }
    let shapes =
        [[4, 300, 300, 4, 8], [4, 256, 256, 2, 8], [64, 256, 256, 2, 8], [9, 130, 129, 2, 3]];
    all::<F8E4M3Fnuz, bf16>(cases, cdna3, specified(&shapes), &of_128);
    all::<F8E4M3, bf16>(cases, cdna4, specified(&shapes), &of_128);
    all::<i8, bf16>(cases, (None, "i8"), specs(33), &of_any);
    all::<i8, f32>(cases, (None, "i8"), specs(64).into_iter().take(6).collect(), &of_128);
    for variant in ["e4m3_128", "e4m3_any"] {
        let groups = if variant == "e4m3_128" { [usual] } else { [of_any[0]] };
        for spec in tiles(variant) {
            match spec.tile {
                Some((Arch::Gfx942, _)) => {
                    all::<F8E4M3Fnuz, f16>(cases, cdna3, vec![spec], &groups);
                }
                _ => all::<F8E4M3, f16>(cases, cdna4, vec![spec], &groups),
            }
        }
    }
    all::<i8, f16>(cases, (None, "i8"), tiles("i8_any"), &[of_any[2]]);
}
