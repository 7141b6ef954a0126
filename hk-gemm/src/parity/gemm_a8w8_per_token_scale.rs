//! Cases of `gemm_a8w8_per_token_scale`, which has the kernels of `gemm_a8w8`.

use hk_core::dtype::{DType, F8E4M3, F8E4M3Fnuz, bf16};
use hk_core::op::product::Element8;
use hk_ref::{Case, Draw};

use super::product::{Scale, Spec, case};
use crate::gemm_a8w8_per_token_scale_into;

pub(super) fn add(cases: &mut Vec<Case>) {
    for shape in [[1, 1, 1], [17, 33, 70], [1, 256, 512], [64, 192, 320], [128, 128, 256]] {
        for (bias, splits) in
            [(None, None), (Some(DType::F32), Some(1)), (Some(DType::Bf16), Some(2))]
        {
            let spec = Spec {
                scales: [Some(Scale::Each); 2],
                upright: true,
                draw: [Draw::Codes; 2],
                bias,
                splits: splits.filter(|splits| *splits as usize <= shape[2]),
                ..Spec::new("gemm_a8w8_per_token_scale", format!("{splits:?} splits"), shape)
            };
            cases.push(of::<i8>(spec.clone()));
            cases.push(of::<F8E4M3>(spec.clone()));
            cases.push(of::<F8E4M3Fnuz>(spec));
        }
    }
}

fn of<T: Element8>(spec: Spec) -> Case {
    case::<T, T, bf16>(spec, |x, w, given, options, y| {
        gemm_a8w8_per_token_scale_into(x, w, &given.scales[0], &given.scales[1], options, y)
    })
}
