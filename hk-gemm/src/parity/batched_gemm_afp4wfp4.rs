//! Cases of `batched_gemm_afp4wfp4`, which has the kernels of `gemm_afp4wfp4`.

use hk_core::dtype::{F4x2E2M1, Real};
use hk_ref::{Case, Draw, in_rows};

use super::mx::{self, Make};
use super::product::{Spec, case};
use crate::batched_gemm_afp4wfp4_into;

#[derive(Clone, Copy)]
struct Op;

impl Make for Op {
    type X = F4x2E2M1;

    fn case<Y: Real>(self, spec: Spec) -> Case {
        case::<F4x2E2M1, F4x2E2M1, Y>(spec, |x, w, given, options, y| {
            batched_gemm_afp4wfp4_into(
                x,
                in_rows(w),
                in_rows(given.blocks[0]),
                in_rows(given.blocks[1]),
                options,
                y,
            )
        })
    }

    fn spec(self, name: String, shape: [usize; 3]) -> Spec {
        let blocks = [Some(Draw::Powers(-9, 2)), Some(Draw::Powers(-4, 7))];
        let draw = [Draw::Codes; 2];
        Spec { draw, blocks, ..Spec::new("batched_gemm_afp4wfp4", name, shape) }
    }
}

pub(super) fn add(cases: &mut Vec<Case>) {
    mx::add_batched(cases, Op);
}
