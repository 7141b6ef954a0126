//! Cases of weights as models have them: quantised, and back. And of rows that are normalised by a
//! model's weights, and quantised.

use hk_core::dtype::{DType, E8M0, Element, F4x2E2M1, F8E4M3, F8E4M3Fnuz, Real, decode};
use hk_core::op::quant::{
    ByteCode, Fp8, GroupOptions, MX_BLOCK, MxCode, MxOptions, MxRound, QuantisedOut,
};
use hk_core::{Arch, Result, TensorSlice};
use hk_ref::quant::fused_fp8_quant::{norm, products, quotients, scale as scale_of_norm};
use hk_ref::quant::fused_mxfp4_quant::blocks;
use hk_ref::quant::quant::{
    amax, dequantize, dynamic_mx_quant, dynamic_per_tensor_quant, per_block_quant, per_group_quant,
    per_token_quant, scale,
};
use hk_ref::quant::quant_moe::{at_the_end, mxfp4_away, static_fp8};
use hk_ref::{Arg, Case, CaseInfo, Expected, Setup, Size, Steps};

use super::{CODES, code};
use crate::{
    DequantizeMxOptions, DowncastOptions, RmsInput, RmsOthers, RmsnormDynamicOptions, RowOptions,
    StaticOptions, dequantize_mxfp4_into, dequantize_mxfp8_into, dequantize_per_block_into,
    dequantize_per_group_into, dequantize_per_tensor_into, dequantize_per_token_into,
    downcast_to_mxfp_into, downcast_to_static_fp8_into, dynamic_mxfp4_quant_into,
    dynamic_mxfp8_quant_into, dynamic_per_tensor_quant_into, fused_rms_fp8_group_quant_into,
    fused_rms_fp8_per_tensor_static_quant_into, fused_rms_mxfp4_quant_into, per_block_quant_into,
    per_group_quant_into, per_token_quant_into, rmsnorm_dynamic_quant_into, upcast_from_mxfp_into,
};

/// Elements of a group.
const GROUP: usize = 32;

/// Rows and columns of a tile.
const SIDE: usize = 128;

/// What is done to a matrix of that shape.
type SetUp<T> = fn(&mut Setup, [usize; 2], Arg<T>);

/// What is done to a matrix of that shape, and undone: rows to i8 and to the e4m3 of each chip, all of it
/// to i8, groups, tiles, and all of it with a scale that is given, to e4m3, and blocks of rows, and of
/// columns, to mxfp4 and to mxfp8, where they are of whole bytes of the one, and whole ones of the other.
pub fn tensor_cases<T: Real>(
    name: &str,
    shape: [usize; 2],
    elements: impl Fn() -> Vec<T> + Clone + Send + Sync + 'static,
) -> Vec<Case> {
    let case = |(module, op), (codes, arch): (DType, Option<Arch>), set_up: SetUp<T>| {
        let dtypes = [T::DTYPE, codes, T::DTYPE];
        let info = CaseInfo::new(module, op, format!("{name}, and back"), &dtypes, &shape);
        let elements = elements.clone();
        Case::new(CaseInfo { size: Size::Core, arch, ..info }, move |s| {
            let x = s.given("x", &shape, elements());
            set_up(s, shape, x);
        })
    };
    let all = ("quant", "dynamic_per_tensor_quant");
    let mut cases = vec![case(all, (DType::I8, None), per_tensor::<T>)];
    for of in CODES {
        let rows: SetUp<T> = code!(of.0, C => per_token::<T, C>);
        cases.push(case(("quant", "per_token_quant"), of, rows));
        let Some(arch) = of.1 else { continue };
        let groups: SetUp<T> = code!(of.0, C => per_group::<T, C>);
        cases.push(case(("quant", "per_group_quant"), of, groups));
        let tiles: SetUp<T> = code!(of.0, C => per_block::<T, C>);
        cases.push(case(("quant", "per_block_quant"), of, tiles));
        let given: SetUp<T> = match arch {
            Arch::Gfx942 => by_given::<T, F8E4M3Fnuz>,
            Arch::Gfx950 => by_given::<T, F8E4M3>,
        };
        cases.push(case(("quant_moe", "downcast_to_static_fp8"), of, given));
    }
    let [rows, width] = shape;
    if width.is_multiple_of(2) {
        let of = (DType::F4x2E2M1, None);
        cases.push(case(("quant", "dynamic_mxfp4_quant"), of, mxfp4::<T>));
    }
    if rows.is_multiple_of(2) {
        let of = (DType::F4x2E2M1, None);
        cases.push(case(("quant_moe", "downcast_to_mxfp"), of, columns::<T>));
    }
    if width.is_multiple_of(MX_BLOCK) {
        cases.push(case(("quant", "dynamic_mxfp8_quant"), (DType::F8E4M3, None), mxfp8::<T>));
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

/// With codes in that shape, as numbers that come back are, and scales of that name in their shape, of which
/// each element has the one that is said.
fn there_and_back<T: Real, C: Element, S: Element>(
    s: &mut Setup,
    x: Arg<T>,
    shape: [usize; 2],
    (name, scale_of, in_shape): (&'static str, impl Fn(usize) -> usize, &[usize]),
    (codes, scales): (Vec<f64>, Vec<f64>),
    run: ThereAndBack<T, C, S>,
) {
    let scales_of: Vec<_> = (0..codes.len()).map(|i| scales[scale_of(i)]).collect();
    let y = decode(&T::encode(&dequantize(&codes, &scales_of)));
    let codes = s.output::<C>("codes", &shape, Expected::exact(codes));
    let scales = s.output::<S>(name, in_shape, Expected::exact(scales));
    let y = s.output::<T>("y", &shape, Expected::exact(y));
    s.call(move || run(&x.get(), &mut codes.get(), &mut scales.get(), &mut y.get()));
}

/// Codes and scales as numbers.
fn numbers((codes, scales): (Vec<f64>, Vec<f32>)) -> (Vec<f64>, Vec<f64>) {
    (codes, scales.into_iter().map(f64::from).collect())
}

/// Which scale an element has, of rows with one for each so many of their elements.
fn of_groups(width: usize, group: usize) -> impl Fn(usize) -> usize {
    move |i| i / width * width.div_ceil(group) + i % width / group
}

fn per_tensor<T: Real>(s: &mut Setup, shape: [usize; 2], x: Arg<T>) {
    let (codes, scale) = dynamic_per_tensor_quant::<i8>(&x.numbers(), i8::MOST);
    let reference = numbers((codes, vec![scale]));
    let scales = ("scale", |_: usize| 0, &[1][..]);
    there_and_back::<T, i8, f32>(s, x, shape, scales, reference, |x, codes, scales, y| {
        let options = RowOptions::default();
        dynamic_per_tensor_quant_into(x, &options, QuantisedOut { codes, scales })?;
        dequantize_per_tensor_into(codes, scales, &options, y)
    });
}

fn per_token<T: Real, C: ByteCode>(s: &mut Setup, shape: [usize; 2], x: Arg<T>) {
    let [rows, width] = shape;
    let reference = numbers(per_token_quant::<C>(&x.numbers(), width, C::MOST));
    let scales = ("scales", of_groups(width, width), &[rows][..]);
    there_and_back::<T, C, f32>(s, x, shape, scales, reference, |x, codes, scales, y| {
        let options = RowOptions::default();
        per_token_quant_into(x, &options, QuantisedOut { codes, scales })?;
        dequantize_per_token_into(codes, scales, &options, y)
    });
}

fn per_group<T: Real, C: ByteCode>(s: &mut Setup, shape: [usize; 2], x: Arg<T>) {
    let [rows, width] = shape;
    let reference = numbers(per_group_quant::<C>(&x.numbers(), width, GROUP, C::MOST));
    let scales = ("scales", of_groups(width, GROUP), &[rows, width.div_ceil(GROUP)][..]);
    there_and_back::<T, C, f32>(s, x, shape, scales, reference, |x, codes, scales, y| {
        let options = GroupOptions::default().group(GROUP);
        per_group_quant_into(x, &options, QuantisedOut { codes, scales })?;
        dequantize_per_group_into(codes, scales, &options, y)
    });
}

fn per_block<T: Real, C: ByteCode>(s: &mut Setup, shape: [usize; 2], x: Arg<T>) {
    let width = shape[1];
    let reference = numbers(per_block_quant::<C>(&x.numbers(), width, SIDE, C::MOST));
    let tiles = shape.map(|size| size.div_ceil(SIDE));
    let scale_of = move |i: usize| i / width / SIDE * tiles[1] + i % width / SIDE;
    let scales = ("scales", scale_of, &tiles[..]);
    there_and_back::<T, C, f32>(s, x, shape, scales, reference, |x, codes, scales, y| {
        let options = RowOptions::default();
        per_block_quant_into(x, &options, QuantisedOut { codes, scales })?;
        dequantize_per_block_into(codes, scales, &options, y)
    });
}

/// With the scale that takes the largest magnitude to the largest code.
fn by_given<T: Real, C: Fp8>(s: &mut Setup, shape: [usize; 2], x: Arg<T>) {
    let numbers = x.numbers();
    let scale = scale(amax(&numbers), C::MOST);
    let codes = static_fp8::<C>(&numbers, scale, C::MOST);
    let scales_of = vec![f64::from(scale); codes.len()];
    let y = decode(&T::encode(&dequantize(&codes, &scales_of)));
    let scale = s.given("scale", &[1], vec![scale]);
    let codes = s.output::<C>("codes", &shape, Expected::exact(codes));
    let y = s.output::<T>("y", &shape, Expected::exact(y));
    s.call(move || {
        let (options, scale, mut codes) = (RowOptions::default(), scale.get(), codes.get());
        downcast_to_static_fp8_into(&x.get(), &scale, &options, &mut codes)?;
        dequantize_per_tensor_into(&codes, &scale, &options, &mut y.get())
    });
}

/// Blocks of rows.
fn mx<T: Real, C: MxCode>(
    s: &mut Setup,
    shape: [usize; 2],
    x: Arg<T>,
    run: ThereAndBack<T, C, E8M0>,
) {
    let [rows, width] = shape;
    let (codes, scales) = dynamic_mx_quant::<C>(&x.numbers(), width, MxRound::Even, C::MOST);
    let reference = (codes, decode(&scales));
    let scales = ("scales", of_groups(width, MX_BLOCK), &[rows, width.div_ceil(MX_BLOCK)][..]);
    there_and_back(s, x, shape, scales, reference, run);
}

fn mxfp4<T: Real>(s: &mut Setup, shape: [usize; 2], x: Arg<T>) {
    mx::<T, F4x2E2M1>(s, shape, x, |x, codes, scales, y| {
        dynamic_mxfp4_quant_into(x, &MxOptions::default(), QuantisedOut { codes, scales })?;
        dequantize_mxfp4_into(codes, scales, &DequantizeMxOptions::default(), y)
    });
}

fn mxfp8<T: Real>(s: &mut Setup, shape: [usize; 2], x: Arg<T>) {
    mx::<T, F8E4M3>(s, shape, x, |x, codes, scales, y| {
        dynamic_mxfp8_quant_into(x, &MxOptions::default(), QuantisedOut { codes, scales })?;
        dequantize_mxfp8_into(codes, scales, &DequantizeMxOptions::default(), y)
    });
}

/// Blocks of columns, which are the rows of what comes back in memory.
fn columns<T: Real>(s: &mut Setup, shape: [usize; 2], x: Arg<T>) {
    let [rows, width] = shape;
    let by_column = at_the_end(&x.numbers(), &shape, 0);
    let (codes, scales) = mxfp4_away(&by_column, rows, MxRound::RoundUp);
    let reference = (codes, decode(&scales));
    let scales = ("scales", of_groups(rows, MX_BLOCK), &[width, rows.div_ceil(MX_BLOCK)][..]);
    there_and_back::<T, F4x2E2M1, E8M0>(
        s,
        x,
        [width, rows],
        scales,
        reference,
        |x, codes, scales, y| {
            let options = DowncastOptions::default();
            downcast_to_mxfp_into(x, 0, &options, QuantisedOut { codes, scales })?;
            let options = RowOptions::default();
            upcast_from_mxfp_into(codes, scales, 0, &options, &mut y.transpose_mut(0, 1)?)
        },
    );
}

/// What is added to a mean of squares.
const EPS: f32 = 1e-6;

/// Codes that may be one step off, since the norm is not exact.
const NEAR: Steps = Steps::NEAR_TIES;

/// A scale that is given: it takes ten to the largest code of the one chip.
const GIVEN: f32 = 10.0 / 448.0;

/// What is done to rows of that shape, and a weight.
type SetUpNorm<T, W> = fn(&mut Setup, [usize; 2], Arg<T>, Arg<W>);

/// Rows that are normalised by a weight, and quantised: to i8, to the e4m3 of each chip in groups and with
/// a given scale, and to mxfp4, if they are of whole bytes of it.
pub fn norm_cases<T: Real, W: Real>(
    name: &str,
    shape: [usize; 2],
    operands: impl Fn() -> (Vec<T>, Vec<W>) + Clone + Send + Sync + 'static,
) -> Vec<Case> {
    let case = |(module, op), (codes, arch): (DType, Option<Arch>), set_up: SetUpNorm<T, W>| {
        let dtypes = [T::DTYPE, W::DTYPE, codes];
        let info = CaseInfo::new(module, op, name, &dtypes, &shape);
        let operands = operands.clone();
        Case::new(CaseInfo { size: Size::Core, arch, ..info }, move |s| {
            let (x, weight) = operands();
            let (x, weight) = (s.given("x", &shape, x), s.given("weight", &shape[1..], weight));
            set_up(s, shape, x, weight);
        })
    };
    let fp8 = "fused_fp8_quant";
    let of_rows = (fp8, "rmsnorm_dynamic_quant");
    let mut cases = vec![case(of_rows, (DType::I8, None), norm_by_row::<T, W>)];
    for of in CODES {
        let Some(arch) = of.1 else { continue };
        let [groups, given]: [SetUpNorm<T, W>; 2] = match arch {
            Arch::Gfx942 => [norm_by_group::<T, W, F8E4M3Fnuz>, norm_by_given::<T, W, F8E4M3Fnuz>],
            Arch::Gfx950 => [norm_by_group::<T, W, F8E4M3>, norm_by_given::<T, W, F8E4M3>],
        };
        cases.push(case((fp8, "fused_rms_fp8_group_quant"), of, groups));
        cases.push(case((fp8, "fused_rms_fp8_per_tensor_static_quant"), of, given));
    }
    if shape[1].is_multiple_of(2) {
        let op = ("fused_mxfp4_quant", "fused_rms_mxfp4_quant");
        cases.push(case(op, (DType::F4x2E2M1, None), norm_by_block::<T, W>));
    }
    cases
}

/// The codes of a norm whose groups have these scales.
fn codes_of_norm(groups: impl Iterator<Item = (Vec<f64>, f64)>, most: f32) -> Expected {
    let codes = groups.flat_map(|(group, scale)| quotients(&group, scale, most.into()));
    Expected::codes(codes.collect(), NEAR)
}

fn norm_by_row<T: Real, W: Real>(s: &mut Setup, shape: [usize; 2], x: Arg<T>, weight: Arg<W>) {
    let n = norm(&x.numbers(), &weight.numbers(), EPS);
    let of_row = |row: &[f64]| {
        let scale = scale_of_norm(row, 0.0, f64::INFINITY, i8::MOST.into());
        // Of zeros, 1.
        if scale < f64::from(f32::MIN_POSITIVE) { 1.0 } else { scale }
    };
    let rows: Vec<_> = n.chunks(shape[1]).map(|row| (row.to_vec(), of_row(row))).collect();
    let scales = rows.iter().map(|(_, scale)| *scale).collect();
    let codes = s.output::<i8>("codes", &shape, codes_of_norm(rows.into_iter(), i8::MOST));
    let scales = s.output::<f32>("scales", &shape[..1], Expected::relative(scales, 2e-6));
    s.call(move || {
        let out = QuantisedOut { codes: &mut codes.get(), scales: &mut scales.get() };
        let options = RmsnormDynamicOptions::default();
        rmsnorm_dynamic_quant_into(&x.get(), &weight.get(), EPS, &options, out, None)
    });
}

fn norm_by_group<T: Real, W: Real, C: Fp8>(
    s: &mut Setup,
    shape: [usize; 2],
    x: Arg<T>,
    weight: Arg<W>,
) {
    let [rows, width] = shape;
    let n = norm(&x.numbers(), &weight.numbers(), EPS);
    let least = f64::from(1e-10f32);
    let of_group = |group: &[f64]| scale_of_norm(group, least, f64::INFINITY, f64::from(C::MOST));
    let groups = n.chunks(width).flat_map(|row| row.chunks(GROUP));
    let groups: Vec<_> = groups.map(|group| (group.to_vec(), of_group(group))).collect();
    let scales = groups.iter().map(|(_, scale)| *scale).collect();
    let codes = s.output::<C>("codes", &shape, codes_of_norm(groups.into_iter(), C::MOST));
    let in_shape = [rows, width.div_ceil(GROUP)];
    let scales = s.output::<f32>("scales", &in_shape, Expected::relative(scales, 2e-6));
    s.call(move || {
        let (x, weight) = (x.get(), weight.get());
        let out = QuantisedOut { codes: &mut codes.get(), scales: &mut scales.get() };
        let (input, options) =
            (RmsInput::new(&x, &weight, EPS), GroupOptions::default().group(GROUP));
        fused_rms_fp8_group_quant_into(&input, &options, out, RmsOthers::default())
    });
}

fn norm_by_given<T: Real, W: Real, C: Fp8>(
    s: &mut Setup,
    shape: [usize; 2],
    x: Arg<T>,
    weight: Arg<W>,
) {
    let n = norm(&x.numbers(), &weight.numbers(), EPS);
    let codes = products(&n, f64::from(1.0 / GIVEN), f64::from(C::MOST));
    let scale = s.given("scale", &[1], vec![GIVEN]);
    let codes = s.output::<C>("codes", &shape, Expected::codes(codes, NEAR));
    s.call(move || {
        let (x, weight, scale, mut codes) = (x.get(), weight.get(), scale.get(), codes.get());
        let (input, options) = (RmsInput::new(&x, &weight, EPS), StaticOptions::default());
        let others = RmsOthers::default();
        fused_rms_fp8_per_tensor_static_quant_into(&input, &scale, &options, &mut codes, others)
    });
}

fn norm_by_block<T: Real, W: Real>(s: &mut Setup, shape: [usize; 2], x: Arg<T>, weight: Arg<W>) {
    let [rows, width] = shape;
    let n = norm(&x.numbers(), &weight.numbers(), EPS);
    let (codes, scales) = blocks(&n, width, MxRound::Even);
    let codes = s.output::<F4x2E2M1>("codes", &shape, Expected::codes(codes, NEAR));
    let in_shape = [rows, width.div_ceil(MX_BLOCK)];
    let scales = s.output::<E8M0>("scales", &in_shape, Expected::exact(decode(&scales)));
    s.call(move || {
        let (x, weight) = (x.get(), weight.get());
        let out = QuantisedOut { codes: &mut codes.get(), scales: &mut scales.get() };
        let (input, others) = (RmsInput::new(&x, &weight, EPS), RmsOthers::default());
        fused_rms_mxfp4_quant_into(&input, &MxOptions::default(), out, others)
    });
}
