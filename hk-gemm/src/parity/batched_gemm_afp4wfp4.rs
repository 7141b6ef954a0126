//! Cases of `batched_gemm_afp4wfp4`, which has the kernels of `gemm_afp4wfp4`.

use hk_core::dtype::{F4x2E2M1, Real, bf16};
use hk_ref::{Case, Draw, Size, in_rows};

use super::config::Config;
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
    let small = |config: &Config| config.variant == "e2m1" && config.m <= 32;
    for config in Config::all("mx").filter(small) {
        let Config { arch, name, m, n, .. } = config;
        let (matrices, deep) = config.tail();
        let cut = Op.spec(format!("tile {name}, the last matrix cut"), [m, n - 5, deep]);
        let cut = Spec { batch: Some(matrices), compute_units: Some(2), ..cut };
        let cut = Spec { tile: Some((arch, name)), size: Size::Core, ..cut };
        cases.push(Op.case::<bf16>(cut));
    }
}
