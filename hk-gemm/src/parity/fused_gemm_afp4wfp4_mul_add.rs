//! Cases of `fused_gemm_afp4wfp4_mul_add`, which has the kernels of `gemm_afp4wfp4`.

use hk_core::dtype::{DType, F4x2E2M1, Real, bf16, f16};
use hk_ref::{Case, Draw};

use super::gemm_a16w16::Factor;
use super::product::{Spec, Tiles, case};
use crate::{Fuse, fused_gemm_afp4wfp4_mul_add_into};

/// The case with a result of type `Y`.
fn of<Y: Real>(spec: Spec, fuse: Fuse) -> Case {
    case::<F4x2E2M1, F4x2E2M1, Y>(spec, move |x, w, given, options, y| {
        let ([a, b], [x_scale, w_scale]) = (given.mul_add, [given.blocks[0], given.blocks[1]]);
        fused_gemm_afp4wfp4_mul_add_into(x, w, x_scale, w_scale, a, b, fuse, options, y)
    })
}

pub(super) fn add(cases: &mut Vec<Case>) {
    let kinds = [Factor::Number(-1.5), Factor::One, Factor::Full];
    for fuse in [Fuse::ScaleProduct, Fuse::AddProduct] {
        for (a, b) in kinds.into_iter().flat_map(|a| kinds.map(|b| (a, b))) {
            for (dtype, shape, splits) in [
                (DType::F32, [33, 192, 256], None),
                (DType::Bf16, [33, 192, 256], Some(2)),
                (DType::F16, [5, 7, 96], None),
            ] {
                let name = format!("{fuse:?} {a:?} {b:?} of {dtype}, {splits:?} splits");
                let spec = Spec {
                    draw: [Draw::Codes; 2],
                    blocks: [Some(Draw::Powers(-9, 2)), Some(Draw::Powers(-4, 7))],
                    mul_add: Some((fuse, [a, b], dtype)),
                    splits,
                    ..Spec::new("fused_gemm_afp4wfp4_mul_add", name, shape)
                };
                if dtype == DType::Bf16 {
                    let tiles = Tiles { w: true, blocks: [true; 2] };
                    cases.push(of::<f32>(Spec { tiles, ..spec.clone() }, fuse));
                }
                cases.push(of::<bf16>(spec.clone(), fuse));
                cases.push(of::<f32>(spec.clone(), fuse));
                cases.push(of::<f16>(spec, fuse));
            }
        }
    }
}
