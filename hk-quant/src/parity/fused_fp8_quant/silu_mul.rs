//! Cases of `fused_silu_mul_fp8_per_tensor_static_quant`.

use hk_core::dtype::{DType, F8E4M3, F8E4M3Fnuz, Real, decode};
use hk_core::op::quant::Fp8;
use hk_ref::quant::fused_fp8_quant::{products, silu_mul};
use hk_ref::{Case, Draw, Expected, RowCase, Setup, Types, real};

use super::{NEAR, SCALE};
use crate::parity::quant::{CODES, TYPES, suite_of_pieces};
use crate::{StaticOptions, fused_silu_mul_fp8_per_tensor_static_quant_into};

/// Shapes of models: Llama 3 70B and Qwen3-Next.
const MODELS: [[usize; 2]; 2] = [[512, 28_672], [8192, 512]];

/// Small rows.
const SHAPES: [[usize; 2]; 8] =
    [[1, 1], [3, 7], [33, 257], [0, 64], [8, 1024], [2, 1023], [2, 1026], [1, 16_900]];

fn set_up<T: Real, C: Fp8>(s: &mut Setup, row: RowCase, rounds: bool) {
    let [rows, width] = row.shape;
    let twice = s.carried(|element| element / width * 2 * width);
    let x = s.input::<T>("x", &[rows, 2 * width], Draw::Normal).place(twice);
    let y = silu_mul(&x.numbers(), width);
    let y = if rounds { decode(&T::encode(&y)) } else { y };
    let codes = products(&y, f64::from(1.0 / SCALE), f64::from(C::MOST));
    let one = s.carried(|_| 0);
    let scale = s.given("scale", &[1], vec![SCALE]).place(one);
    let codes = s.output::<C>("codes", &row.shape, Expected::codes(codes, NEAR));
    s.call(move || {
        let options = StaticOptions::default().rows(row.options());
        let options = if rounds { options.convert_to_input_type() } else { options };
        let (x, scale) = (x.get(), scale.get());
        fused_silu_mul_fp8_per_tensor_static_quant_into(&x, &scale, &options, &mut *codes.get())
    });
}

/// Every case.
pub(super) fn cases() -> Vec<Case> {
    let small = SHAPES.into_iter().enumerate().map(|(i, shape)| RowCase {
        types: Types::Only(TYPES[i % 3]),
        ..RowCase::new(shape, "small")
    });
    let rows = suite_of_pieces().chain(small).chain(RowCase::models(&MODELS));
    let mut cases = Vec::new();
    for (i, row) in rows.enumerate() {
        let both = row.name == "turns";
        for rounds in [false, true].into_iter().filter(|rounds| both || *rounds == (i % 2 == 1)) {
            cases.extend(cases_of(row, rounds));
        }
    }
    cases
}

/// Of each type of rows and of codes.
fn cases_of(row: RowCase, rounds: bool) -> impl Iterator<Item = Case> {
    let types = row.inputs().iter().flat_map(|x| CODES[1..].iter().map(move |codes| (*x, *codes)));
    types.map(move |(x, (codes, arch))| {
        let op = "fused_silu_mul_fp8_per_tensor_static_quant";
        let mut case = row.case("fused_fp8_quant", op, &[x, codes], move |s| {
            real!(x, T => match codes {
                DType::F8E4M3Fnuz => set_up::<T, F8E4M3Fnuz>(s, row, rounds),
                _ => set_up::<T, F8E4M3>(s, row, rounds),
            });
        });
        case.info.arch = arch;
        case.info.case += if rounds { ", rounded" } else { "" };
        case
    })
}
