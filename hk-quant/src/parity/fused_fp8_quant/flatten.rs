//! Cases of `fused_flatten_fp8_group_quant`.

use hk_core::dtype::{DType, F8E4M3, F8E4M3Fnuz, Real};
use hk_core::op::quant::{Fp8, GroupOptions, QuantisedOut, ScaleLayout};
use hk_ref::quant::quant::per_group_quant as reference;
use hk_ref::{Case, Expected, Setup, real};

use crate::fused_flatten_fp8_group_quant_into;
use crate::parity::flatten::{Flat, all};
use crate::parity::quant::{CODES, Scales, expected};

/// Groups and orders that cases have in turn.
const SCALES: [(usize, ScaleLayout); 4] = [
    (128, ScaleLayout::RowMajor),
    (32, ScaleLayout::ColMajor),
    (64, ScaleLayout::RowMajor),
    (128, ScaleLayout::ColMajor),
];

fn set_up<T: Real, C: Fp8>(s: &mut Setup, of: Flat, (group, layout): (usize, ScaleLayout)) {
    let [m, h, n] = of.shape;
    let x = of.x::<T>(s, C::MOST);
    let (codes, scales) = reference::<C>(&x.numbers(), n, group, C::MOST);
    let of_row = n.div_ceil(group);
    let codes = expected(&codes, |i| scales[i / n * of_row + i % n / group].is_finite());
    let codes = s.output::<C>("codes", &[m, h * n], codes);
    let whole = Scales { shape: [m, h * of_row * group], group, layout };
    let scales: Vec<_> = scales.into_iter().map(f64::from).collect();
    let scales = Expected::exact(whole.arrange(&scales, 1.0));
    let scales = s.output::<f32>("scales", &whole.in_memory(), scales);
    s.call(move || {
        let options = GroupOptions::default().group(group).scale_layout(layout);
        let out = QuantisedOut { codes: &mut codes.get(), scales: &mut scales.get() };
        fused_flatten_fp8_group_quant_into(&x.get(), &options.rows(of.options()), out)
    });
}

/// Every case.
pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for (i, (of, x)) in all(1).into_iter().enumerate() {
        for (codes, arch) in [CODES[1], CODES[2]] {
            let (group, layout) = SCALES[i % 4];
            let op = "fused_flatten_fp8_group_quant";
            let mut case = of.case("fused_fp8_quant", op, &[x, codes], move |s| {
                real!(x, T => match codes {
                    DType::F8E4M3Fnuz => set_up::<T, F8E4M3Fnuz>(s, of, SCALES[i % 4]),
                    _ => set_up::<T, F8E4M3>(s, of, SCALES[i % 4]),
                });
            });
            case.info.arch = arch;
            case.info.case += &format!(", groups of {group}, {layout:?}");
            cases.push(case);
        }
    }
    cases
}
