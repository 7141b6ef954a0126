//! Cases of `fused_gemm_a8w8_blockscale_mul_add`, which has the kernels of `gemm_a8w8_blockscale`.

use hk_core::dtype::{DType, F8E4M3, F8E4M3Fnuz, Real, bf16, f16};
use hk_core::op::quant::Fp8;
use hk_ref::{Case, Draw};

use super::gemm_a16w16::Factor;
use super::product::{Spec, Tiles, case};
use crate::{
    BlockscaleOptions, Fuse, Layout, ScaleLayout, fused_gemm_a8w8_blockscale_mul_add_into,
};

/// The case with operands of type `T` and a result of type `Y`.
fn of<T: Fp8, Y: Real>(spec: Spec, fuse: Fuse) -> Case {
    case::<T, T, Y>(spec, move |x, w, given, options, y| {
        let options = BlockscaleOptions::default().gemm(options.clone());
        let ([a, b], [x_scale, w_scale]) = (given.mul_add, [&given.scales[0], &given.scales[1]]);
        fused_gemm_a8w8_blockscale_mul_add_into(x, w, x_scale, w_scale, a, b, fuse, &options, y)
    })
}

pub(super) fn add(cases: &mut Vec<Case>) {
    let kinds = [Factor::Number(-1.5), Factor::One, Factor::Full];
    let groups = Some(([128; 2], Some(ScaleLayout::RowMajor)));
    let spec = |name, shape| Spec {
        draw: [Draw::Codes; 2],
        groups,
        ..Spec::new("fused_gemm_a8w8_blockscale_mul_add", name, shape)
    };
    for fuse in [Fuse::ScaleProduct, Fuse::AddProduct] {
        let mul_add = Some((fuse, [Factor::Full; 2], DType::F16));
        let transposed = spec(format!("{fuse:?}, transposed"), [19, 35, 160]);
        let transposed = Spec { layout: Layout::Nt, mul_add, ..transposed };
        cases.push(of::<F8E4M3, bf16>(transposed.clone(), fuse));
        cases.push(of::<F8E4M3Fnuz, bf16>(transposed, fuse));
        for (dtype, splits) in [(DType::Bf16, None), (DType::F32, Some(2))] {
            let name = format!("{fuse:?} of tensors of {dtype} by columns, {splits:?} splits");
            let mul_add = Some((fuse, [Factor::Full; 2], dtype));
            let by_columns = spec(name, [33, 75, 256]);
            let spec = Spec { by_columns: true, mul_add, splits, ..by_columns };
            cases.push(of::<F8E4M3, bf16>(spec.clone(), fuse));
            cases.push(of::<F8E4M3Fnuz, f32>(spec, fuse));
        }
        for (a, b) in kinds.into_iter().flat_map(|a| kinds.map(|b| (a, b))) {
            for (dtype, shape, splits) in [
                (DType::F32, [33, 192, 256], None),
                (DType::Bf16, [33, 192, 256], Some(2)),
                (DType::F16, [5, 7, 130], None),
            ] {
                let name = format!("{fuse:?} {a:?} {b:?} of {dtype}, {splits:?} splits");
                let spec =
                    Spec { mul_add: Some((fuse, [a, b], dtype)), splits, ..spec(name, shape) };
                if dtype == DType::Bf16 {
                    let tiles = Tiles { w: true, ..Tiles::default() };
                    let spec = Spec { tiles, ..spec.clone() };
                    cases.push(of::<F8E4M3, f32>(spec.clone(), fuse));
                    cases.push(of::<F8E4M3Fnuz, f32>(spec, fuse));
                }
                cases.push(of::<F8E4M3, bf16>(spec.clone(), fuse));
                cases.push(of::<F8E4M3Fnuz, bf16>(spec.clone(), fuse));
                cases.push(of::<F8E4M3, f32>(spec.clone(), fuse));
                cases.push(of::<F8E4M3Fnuz, f16>(spec, fuse));
            }
        }
    }
}
