//! Cases of `fused_flatten_mxfp4_quant`.

use hk_core::dtype::{DType, E8M0, F4x2E2M1, Real, decode};
use hk_core::op::quant::{MX_BLOCK, MxOptions, MxRound, QuantisedOut, ScaleLayout};
use hk_ref::quant::quant::dynamic_mx_quant as reference;
use hk_ref::{Case, Expected, Setup, real};

use super::LAYOUTS;
use crate::fused_flatten_mxfp4_quant_into;
use crate::parity::flatten::{Flat, all};
use crate::parity::quant::Scales;

fn set_up<T: Real>(s: &mut Setup, of: Flat, mode: MxRound, layout: ScaleLayout) {
    let [m, h, n] = of.shape;
    let x = of.x::<T>(s, 6.0);
    let (codes, scales) = reference::<F4x2E2M1>(&x.numbers(), n, mode, 6.0);
    let codes = s.output::<F4x2E2M1>("codes", &[m, h * n], Expected::exact(codes));
    let shape = [m, h * n.next_multiple_of(MX_BLOCK)];
    let whole = Scales { shape, group: MX_BLOCK, layout };
    let scales = Expected::exact(decode(&whole.arrange(&scales, E8M0::ONE)));
    let scales = s.output::<E8M0>("scales", &whole.in_memory(), scales);
    s.call(move || {
        let options = MxOptions::default().round_mode(mode).scale_layout(layout);
        let out = QuantisedOut { codes: &mut codes.get(), scales: &mut scales.get() };
        fused_flatten_mxfp4_quant_into(&x.get(), &options.rows(of.options()), out)
    });
}

/// Rows that share waves and end within a chunk, whose parts have several tiles of shuffled scales.
const TILES: [usize; 3] = [3, 9, 44];

/// Every case.
pub(super) fn cases() -> Vec<Case> {
    let case = |(i, (of, x, layout)): (usize, (Flat, DType, ScaleLayout))| {
        let mode = MxRound::ALL[i % 5];
        let (op, types) = ("fused_flatten_mxfp4_quant", [x, DType::F4x2E2M1]);
        let mut case = of.case("fused_mxfp4_quant", op, &types, move |s| {
            real!(x, T => set_up::<T>(s, of, mode, layout));
        });
        case.info.case += &format!(", {mode:?}, {layout:?}");
        case
    };
    let others = all(2).into_iter().enumerate().map(|(i, (of, x))| (of, x, LAYOUTS[i % 3]));
    let tiles = all(2).into_iter().take(4).map(|(mut of, x)| {
        of.shape = TILES;
        (of, x, ScaleLayout::Shuffled32x8)
    });
    others.chain(tiles).enumerate().map(case).collect()
}
