//! Cases of `gemm_a8wfp4`.

use hk_core::dtype::{F4x2E2M1, F8E4M3, F8E4M3Fnuz, Real, bf16};
use hk_core::op::quant::Fp8;
use hk_ref::{Case, Draw};

use super::mx::{self, Make};
use super::product::{Scale, Spec, case};
use crate::gemm_a8wfp4_into;

#[derive(Clone, Copy)]
struct Op<T>(T);

impl<T: Fp8> Make for Op<T> {
    type X = T;

    fn case<Y: Real>(self, spec: Spec) -> Case {
        case::<T, F4x2E2M1, Y>(spec, |x, w, given, options, y| {
            gemm_a8wfp4_into(x, w, &given.scales[0], given.blocks[0], options, y)
        })
    }

    fn spec(self, name: String, shape: [usize; 3]) -> Spec {
        let blocks = [None, Some(Draw::Powers(-4, 7))];
        let (draw, scales) = ([Draw::Codes; 2], [Some(Scale::Each), None]);
        Spec { draw, blocks, scales, ..Spec::new("gemm_a8wfp4", name, shape) }
    }
}

pub(super) fn add(cases: &mut Vec<Case>) {
    of(cases, Op(F8E4M3::default()));
    of(cases, Op(F8E4M3Fnuz::default()));
}

fn of<T: Fp8>(cases: &mut Vec<Case>, op: Op<T>) {
    mx::add(cases, op);
    for scale in [Scale::One, Scale::Flat] {
        for (shape, splits) in [([64, 128, 256], None), ([21, 83, 2400], Some(2))] {
            let spec = op.spec(format!("scale of x {scale:?}, {splits:?} splits"), shape);
            cases.push(op.case::<bf16>(Spec { scales: [Some(scale), None], splits, ..spec }));
        }
    }
}
