//! Cases of weights as models have them: quantised, and back.

use hk_core::dtype::{DType, E8M0, Element, F4x2E2M1, Real, decode};
use hk_core::op::quant::{ByteCode, GroupOptions, MX_BLOCK, MxOptions, MxRound, QuantisedOut};
use hk_core::{Result, TensorSlice};
use hk_ref::quant::quant::{dequantize, dynamic_mx_quant, per_group_quant, per_token_quant};
use hk_ref::{Case, CaseInfo, Expected, Setup, Size};

use super::{CODES, code};
use crate::{
    DequantizeMxOptions, RowOptions, dequantize_mxfp4_into, dequantize_per_group_into,
    dequantize_per_token_into, dynamic_mxfp4_quant_into, per_group_quant_into,
    per_token_quant_into,
};

/// Elements of a group.
const GROUP: usize = 32;

/// What is done to a matrix of that shape, and undone: rows to i8, groups to the e4m3 of each chip,
/// and blocks to mxfp4, if rows are of whole bytes of it.
pub fn tensor_cases<T: Real>(
    name: &str,
    shape: [usize; 2],
    elements: impl Fn() -> Vec<T> + Clone + Send + Sync + 'static,
) -> Vec<Case> {
    let info = |op, codes| {
        let dtypes = [T::DTYPE, codes, T::DTYPE];
        let info = CaseInfo::new("quant", op, format!("{name}, and back"), &dtypes, &shape);
        CaseInfo { size: Size::Core, ..info }
    };
    let given = elements.clone();
    let mut cases = vec![Case::new(info("per_token_quant", DType::I8), move |s| {
        per_token(s, shape, given());
    })];
    for (codes, arch) in CODES.into_iter().filter(|(_, arch)| arch.is_some()) {
        let given = elements.clone();
        let info = CaseInfo { arch, ..info("per_group_quant", codes) };
        cases.push(Case::new(info, move |s| {
            code!(codes, C => per_group::<T, C>(s, shape, given()));
        }));
    }
    if shape[1].is_multiple_of(2) {
        cases.push(Case::new(info("dynamic_mxfp4_quant", DType::F4x2E2M1), move |s| {
            mxfp4(s, shape, elements());
        }));
    }
    cases
}

/// Quantises, and dequantises what comes out.
type ThereAndBack<T, C, S> = fn(
    &TensorSlice<T>,
    &mut TensorSlice<C>,
    &mut TensorSlice<S>,
    &mut TensorSlice<T>,
) -> Result<()>;

/// With codes and scales of groups of so many elements, the scales in that shape.
fn there_and_back<T: Real, C: Element, S: Element>(
    s: &mut Setup,
    shape: [usize; 2],
    x: Vec<T>,
    (group, in_shape): (usize, &[usize]),
    (codes, scales): (Vec<f64>, Vec<f64>),
    run: ThereAndBack<T, C, S>,
) {
    let width = shape[1];
    let groups = width.div_ceil(group);
    let scale_of = |i: usize| scales[i / width * groups + i % width / group];
    let scales_of: Vec<_> = (0..codes.len()).map(scale_of).collect();
    let y = decode(&T::encode(&dequantize(&codes, &scales_of)));
    let x = s.given("x", &shape, x);
    let codes = s.output::<C>("codes", &shape, Expected::exact(codes));
    let scales = s.output::<S>("scales", in_shape, Expected::exact(scales));
    let y = s.output::<T>("y", &shape, Expected::exact(y));
    s.call(move || run(&x.get(), &mut codes.get(), &mut scales.get(), &mut y.get()));
}

fn per_token<T: Real>(s: &mut Setup, shape: [usize; 2], x: Vec<T>) {
    let [rows, width] = shape;
    let (codes, scales) = per_token_quant::<i8>(&decode(&x), width, i8::MOST);
    let reference = (codes, scales.into_iter().map(f64::from).collect());
    there_and_back::<T, i8, f32>(
        s,
        shape,
        x,
        (width, &[rows]),
        reference,
        |x, codes, scales, y| {
            let options = RowOptions::default();
            per_token_quant_into(x, &options, QuantisedOut { codes, scales })?;
            dequantize_per_token_into(codes, scales, &options, y)
        },
    );
}

fn per_group<T: Real, C: ByteCode>(s: &mut Setup, shape: [usize; 2], x: Vec<T>) {
    let [rows, width] = shape;
    let (codes, scales) = per_group_quant::<C>(&decode(&x), width, GROUP, C::MOST);
    let reference = (codes, scales.into_iter().map(f64::from).collect());
    let groups = (GROUP, &[rows, width.div_ceil(GROUP)][..]);
    there_and_back::<T, C, f32>(s, shape, x, groups, reference, |x, codes, scales, y| {
        let options = GroupOptions::default().group(GROUP);
        per_group_quant_into(x, &options, QuantisedOut { codes, scales })?;
        dequantize_per_group_into(codes, scales, &options, y)
    });
}

fn mxfp4<T: Real>(s: &mut Setup, shape: [usize; 2], x: Vec<T>) {
    let [rows, width] = shape;
    let (codes, scales) = dynamic_mx_quant::<F4x2E2M1>(&decode(&x), width, MxRound::Even, 6.0);
    let reference = (codes, decode(&scales));
    let groups = (MX_BLOCK, &[rows, width.div_ceil(MX_BLOCK)][..]);
    there_and_back::<T, F4x2E2M1, E8M0>(s, shape, x, groups, reference, |x, codes, scales, y| {
        dynamic_mxfp4_quant_into(x, &MxOptions::default(), QuantisedOut { codes, scales })?;
        dequantize_mxfp4_into(codes, scales, &DequantizeMxOptions::default(), y)
    });
}
