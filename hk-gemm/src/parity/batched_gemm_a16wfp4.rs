//! Cases of `batched_gemm_a16wfp4`, which has the kernels of `gemm_a16wfp4`.

use std::marker::PhantomData;

use hk_core::dtype::{F4x2E2M1, Real, Real16, bf16, f16};
use hk_ref::{Case, Draw};

use super::mx::{self, Make};
use super::product::{Prequant, Spec, case};
use crate::{A16Wfp4Options, batched_gemm_a16wfp4_into};

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
            batched_gemm_a16wfp4_into(x, w, &given.blocks[0], &options, y)
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

pub(super) fn add(cases: &mut Vec<Case>) {
    for prequant in [true, false] {
        mx::add_batched(cases, Op::<bf16> { prequant, of: PhantomData });
        mx::add_batched(cases, Op::<f16> { prequant, of: PhantomData });
    }
}
