//! Cases of `gemm_afp4wfp4`.

use hk_core::dtype::{F4x2E2M1, Real};
use hk_ref::{Case, Draw};

use super::mx::{self, Make};
use super::product::{Spec, case};
use crate::gemm_afp4wfp4_into;

#[derive(Clone, Copy)]
struct Op;

impl Make for Op {
    type X = F4x2E2M1;

    fn case<Y: Real>(self, spec: Spec) -> Case {
        case::<F4x2E2M1, F4x2E2M1, Y>(spec, |x, w, given, options, y| {
            gemm_afp4wfp4_into(x, w, given.blocks[0], given.blocks[1], options, y)
        })
    }

    fn spec(self, name: String, shape: [usize; 3]) -> Spec {
        let blocks = [Some(Draw::Powers(-9, 2)), Some(Draw::Powers(-4, 7))];
        let draw = [Draw::Codes; 2];
        Spec { draw, blocks, ..Spec::new("gemm_afp4wfp4", name, shape) }
    }
}

pub(super) fn add(cases: &mut Vec<Case>) {
    mx::add(cases, Op);
}
