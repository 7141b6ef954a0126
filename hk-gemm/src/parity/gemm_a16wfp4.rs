//! Cases of `gemm_a16wfp4`.

use std::marker::PhantomData;

use hk_core::dtype::{DType, F4x2E2M1, Real, Real16, bf16, f16};
use hk_ref::{Case, Draw, Size};

use super::mx::{self, Make};
use super::product::{Prequant, Spec, case};
use crate::{A16Wfp4Options, gemm_a16wfp4_into};

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
            gemm_a16wfp4_into(x, w, given.blocks[0], &options, y)
        })
    }

    fn spec(self, name: String, shape: [usize; 3]) -> Spec {
        let name = if self.prequant { format!("{name}, x quantised") } else { name };
        Spec {
            draw: [Draw::Outliers, Draw::Codes],
            blocks: [None, Some(Draw::Powers(-4, 7))],
            prequant: self.prequant.then_some(Prequant::Mx),
            // The product is the same for both types once they are quantised.
            size: if self.prequant && T::DTYPE == DType::F16 { Size::Core } else { Size::Quick },
            ..Spec::new("gemm_a16wfp4", name, shape)
        }
    }
}

pub(super) fn add(cases: &mut Vec<Case>) {
    of::<bf16>(cases);
    of::<f16>(cases);
}

fn of<T: Real16>(cases: &mut Vec<Case>) {
    for prequant in [true, false] {
        let op = Op::<T> { prequant, of: PhantomData };
        mx::add(cases, op);
        // Numbers that MX blocks hold as they are, so that both ways agree; and those that they hold
        // worst.
        for draw in [Draw::Integers(-4, 5), Draw::Denormal, Draw::Spread] {
            let spec = op.spec(format!("{draw:?}"), [40, 72, 320]);
            let draw = [draw, Draw::Codes];
            cases.push(op.case::<f32>(Spec { draw, size: Size::Quick, ..spec }));
        }
        let special = op.spec("infinity and NaN in x".into(), [24, 40, 224]);
        cases.push(op.case::<f32>(Spec { special: true, ..special }));
    }
}
