//! Cases of comparisons, conversions, reductions and `l2_normalize`.

use hk_core::dtype::{DType, bf16};
use hk_core::{Result, TensorSlice};
use hk_ref::gdr::reductions::{err_ratio, l2_normalize, largest};
use hk_ref::{Arg, Case, CaseInfo, Draw, Expected, NOT_ZERO_OR_MORE, Placement, Setup, Size};

use crate::reductions::*;

const COUNTS: [usize; 9] = [1, 3, 63, 64, 255, 257, 1024, 4097, 65_537];

const SPECIAL: [f32; 12] = [
    f32::NEG_INFINITY,
    1.5,
    f32::INFINITY,
    f32::NAN,
    -0.0,
    1e-40,
    -1e-45,
    f32::MAX,
    f32::MIN,
    f32::MIN_POSITIVE,
    0.0,
    -7.25,
];

type OfDifference = fn(f32) -> f32;
type Of2 = fn(&TensorSlice<f32>, &TensorSlice<f32>, &mut TensorSlice<f32>) -> Result<()>;

fn info(op: &'static str, name: &str, dtypes: &[DType], shape: &[usize]) -> CaseInfo {
    CaseInfo::new("gdr_utils", op, name, dtypes, shape)
}

/// Of two tensors, elementwise. The special ones meet each other.
fn differences(cases: &mut Vec<Case>) {
    let ops: [(_, Of2, OfDifference); 2] = [
        ("abs_diff", abs_diff_into, f32::abs),
        ("squared_diff", squared_diff_into, |difference| difference * difference),
    ];
    for (op, into, of) in ops {
        let set_up = move |s: &mut Setup, count: usize, is_special: bool| {
            let shape = [count];
            let mut x: Vec<f32> = s.draw("x", &shape, Draw::Normal);
            let mut y: Vec<f32> = s.draw("y", &shape, Draw::Normal);
            if is_special {
                x = (0..count).map(|i| SPECIAL[i % 12]).collect();
                y = (0..count).map(|i| SPECIAL[i / 12 % 12]).collect();
            }
            let out = x.iter().zip(&y).map(|(x, y)| f64::from(of(x - y))).collect();
            let (x, y) = (s.given("x", &shape, x), s.given("y", &shape, y));
            let out = s.output::<f32>("out", &shape, Expected::exact(out));
            s.call(move || into(&x.get(), &y.get(), &mut out.get()));
        };
        for count in COUNTS {
            let info = info(op, "plain", &[DType::F32], &[count]);
            let case = Case::new(info, move |s| set_up(s, count, false)).writes_once();
            cases.push(case.most_accesses(3 * count.div_ceil(256) as u64 + 9));
        }
        let special = info(op, "special", &[DType::F32], &[144]);
        cases.push(Case::new(special, move |s| set_up(s, 144, true)));
        let in_place = info(op, "in place", &[DType::F32], &[1027]);
        cases.push(Case::new(in_place, move |s| set_up(s, 1027, false)).in_place(true));
    }
}

/// Numbers whose rounding turns: ties of both kinds, the end of the range, subnormal ones.
fn ties() -> Vec<f32> {
    let halves = (0u32..512).map(|i| f32::from_bits(i << 22 | i << 16 & 0x1f_0000 | 0x8000));
    // Of NaNs, only those at the end: what else they have in their mantissas is the hardware's to keep.
    let halves = halves.filter(|x| !x.is_nan()).map(f32::to_bits);
    let near =
        (0u32..64).flat_map(|i| [0x3f80_7fff, 0x3f80_8000, 0x3f80_8001].map(|x| x + (i << 16)));
    let ends = [0x7f7f_7fff, 0x7f7f_8000, 0xff7f_8000, 0x7f7f_ffff, 1, 0x7fff, 0x8000, 0x8001];
    let ends = ends.into_iter().chain([0x0080_0000, 0x8000_0000, 0x7f80_0001, 0xffc0_0000]);
    halves.chain(near).chain(ends).map(f32::from_bits).collect()
}

fn conversions(cases: &mut Vec<Case>) {
    let patterns: Vec<bf16> = (0..=u16::MAX).map(bf16::from_bits).collect();
    let types = [DType::Bf16, DType::F32];
    for elements in [patterns, vec![bf16::ONE; 1], vec![bf16::from_f32(-3.5); 1023]] {
        let shape = [elements.len()];
        let info = info("bf16_to_float", "patterns", &types, &shape);
        let set_up = move |s: &mut Setup| {
            let x = s.given("x", &shape, elements.clone());
            // Whatever NaNs have in their mantissas, too.
            let out = elements.iter().map(|x| f32::from_bits(u32::from(x.to_bits()) << 16));
            let out = Expected::bits(&out.collect::<Vec<_>>());
            let out = s.output::<f32>("out", &shape, out);
            s.call(move || bf16_to_float_into(&x.get(), &mut out.get()));
        };
        cases.push(Case::new(info, set_up).writes_once());
    }
    let drawn: Vec<f32> = Draw::Spread.values(3, 5003);
    for (name, elements) in [("ties", ties()), ("drawn", drawn), ("one", vec![1.001])] {
        let shape = [elements.len()];
        let info = info("float_to_bf16", name, &[DType::F32, DType::Bf16], &shape);
        let set_up = move |s: &mut Setup| {
            let out = elements.iter().map(|x| bf16::from_f32(*x).to_f32().into()).collect();
            let x = s.given("x", &shape, elements.clone());
            let out = s.output::<bf16>("out", &shape, Expected::exact(out));
            s.call(move || float_to_bf16_into(&x.get(), &mut out.get()));
        };
        cases.push(Case::new(info, set_up).writes_once());
    }
}

/// The elements of a reduction.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Content {
    Drawn,
    /// Below 0, and the largest at the end.
    Negative,
    /// With NaN, and with infinities, in the middle.
    Nan,
    Infinite,
    /// All are minus infinity.
    Lowest,
}

impl Content {
    fn x(self, s: &Setup, count: usize) -> Vec<f32> {
        let mut x: Vec<f32> = s.draw("x", &[count], Draw::Normal);
        match self {
            Self::Drawn => {}
            Self::Negative => {
                x.iter_mut().for_each(|x| *x = -1.0 - x.abs());
                x[count - 1] = -0.5;
            }
            Self::Nan => x[count / 2] = f32::NAN,
            Self::Infinite => x[count / 2] = f32::INFINITY,
            Self::Lowest => x.fill(f32::NEG_INFINITY),
        }
        x
    }
}

/// Of an exact value, what f32 makes of it.
fn off_by(value: f64, allowed: f64) -> Expected {
    let allowed = if value.is_finite() { allowed } else { 0.0 };
    Expected { values: vec![value], allowed: vec![allowed], ..Expected::default() }
}

fn reductions(cases: &mut Vec<Case>) {
    let contents = [Content::Negative, Content::Nan, Content::Infinite, Content::Lowest];
    let special = contents.into_iter().flat_map(|of| [(5, of), (300, of), (9001, of)]);
    let plain = COUNTS.into_iter().map(|count| (count, Content::Drawn));
    let large = (5_000_000, Content::Drawn);
    for (count, content) in plain.chain(special).chain([large]) {
        let size = if count > 1 << 20 { Size::Core } else { Size::Quick };
        let title = format!("{content:?}");
        let mut add = |op, set_up: fn(&mut Setup, usize, Content)| {
            let info = info(op, &title, &[DType::F32], &[count]);
            cases
                .push(Case::new(info, move |s| set_up(s, count, content)).size(size).writes_once());
        };
        add("max_reduce", |s, count, content| {
            let x = content.x(s, count);
            let x = s.given("x", &[count], x);
            let out = s.output::<f32>("out", &[1], Expected::exact(vec![largest(&x.numbers())]));
            s.call(move || max_reduce_into(&x.get(), &mut out.get()));
        });
        add("sum_reduce", |s, count, content| {
            let x = content.x(s, count);
            let x = s.given("x", &[count], x);
            let sum = x.numbers().iter().sum::<f64>();
            let size = x.numbers().iter().map(|x| x.abs()).sum::<f64>();
            let out = s.output::<f32>("out", &[1], off_by(sum, 1e-6 * size));
            s.call(move || sum_reduce_into(&x.get(), &mut out.get()));
        });
        add("abs_err", |s, count, content| {
            let x = content.x(s, count);
            let (x, y) = (s.given("x", &[count], x), s.input::<f32>("y", &[count], Draw::Normal));
            let differences =
                x.elements().into_iter().zip(y.elements()).map(|(x, y)| (x - y).abs());
            let most = largest(&differences.map(f64::from).collect::<Vec<_>>());
            let out = s.output::<f32>("out", &[1], Expected::exact(vec![most]));
            s.call(move || abs_err_into(&x.get(), &y.get(), &mut out.get()));
        });
        if content == Content::Drawn {
            add("err_ratio", |s, count, content| {
                let x = content.x(s, count);
                let x = s.given("x", &[count], x);
                let y = x.elements().into_iter().enumerate();
                let y = y.map(|(i, x)| x + 0.01 * (i % 7) as f32).collect();
                let y = s.given("y", &[count], y);
                let ratio = err_ratio(&x.numbers(), &y.numbers());
                // Differences are rounded to f32.
                let out = s.output::<f32>("out", &[1], off_by(ratio, 2e-6 * ratio));
                s.call(move || err_ratio_into(&x.get(), &y.get(), &mut out.get()));
            });
        }
    }
}

/// Of numbers whose squares f32 has no numbers for, above and below.
fn ratios_of_extremes(cases: &mut Vec<Case>) {
    for (name, power) in [("large squares", 80), ("small squares", -80)] {
        let shape = [300];
        let set_up = move |s: &mut Setup| {
            let x = s.input::<f32>("x", &shape, Draw::Scaled(power));
            let y = x.elements().into_iter().map(|x| 1.25 * x).collect();
            let y = s.given("y", &shape, y);
            let ratio = err_ratio(&x.numbers(), &y.numbers());
            let out = s.output::<f32>("out", &[1], off_by(ratio, 2e-6 * ratio));
            s.call(move || err_ratio_into(&x.get(), &y.get(), &mut out.get()));
        };
        cases.push(Case::new(info("err_ratio", name, &[DType::F32], &shape), set_up));
    }
}

fn normalization(s: &mut Setup, x: Arg<f32>, [rows, width]: [usize; 2], eps: f32) {
    let out = l2_normalize(&x.numbers(), width, eps);
    let slack = vec![1e-7; out.len()];
    let out = Expected::relative(out, 5e-7).plus(slack);
    let out = s.output::<f32>("out", &[rows, width], out);
    let eps = s.number("eps", eps, NOT_ZERO_OR_MORE);
    s.call(move || l2_normalize_into(&x.get(), eps.get(), &mut out.get()));
}

fn normalizations(cases: &mut Vec<Case>) {
    let shapes = [1, 3, 65, 96, 192, 384, 1000, 2048, 2049, 4097].map(|width| [7, width]);
    let place = Placement::DENSE;
    let mut add = |[rows, width]: [usize; 2], name: &str, draw, eps, place: Placement, in_place| {
        let size = if rows > 100 { Size::Core } else { Size::Quick };
        let info = info("l2_normalize", name, &[DType::F32], &[rows, width]);
        let set_up = move |s: &mut Setup| {
            let x = s.input::<f32>("x", &[rows, width], draw);
            normalization(s, x, [rows, width], eps);
        };
        let case = Case::new(info, set_up).place(place).in_place(in_place).size(size);
        cases.push(case.writes_once());
    };
    for shape in [[16, 64]].into_iter().chain(shapes) {
        add(shape, "plain", Draw::Normal, 1e-6, place, false);
        add(shape, "in place", Draw::Normal, 1e-6, place, true);
        add(shape, "gaps", Draw::Normal, 1e-6, place.gap(5).shift(1), false);
    }
    // More rows than there are waves.
    add([9999, 3], "many rows", Draw::Normal, 1e-6, place.gap(5), false);
    add([5, 130], "zeros, eps 0", Draw::Zeros, 0.0, place, false);
    add([5, 131], "zeros", Draw::Zeros, 1e-6, place, false);
    add([5, 132], "beyond f32", Draw::Scaled(66), 1e-6, place, false);
    // Squares that f32 has no numbers for, or but a few digits.
    add([5, 134], "small, eps 0", Draw::Scaled(-80), 0.0, place, false);
    add([5, 135], "subnormal squares, eps 0", Draw::Scaled(-70), 0.0, place, false);
    add([5, 137], "subnormal, eps 0", Draw::Scaled(-140), 0.0, place, false);
    add([5, 133], "large eps", Draw::Normal, 100.0, place, false);
    // Rows with an infinity, a NaN, both, and neither.
    for shape in [[4, 136], [4, 2050]] {
        let set_up = move |s: &mut Setup| {
            let mut x: Vec<f32> = s.draw("x", &shape, Draw::Normal);
            let width = shape[1];
            (x[1], x[2 * width + 7]) = (f32::INFINITY, f32::NEG_INFINITY);
            (x[2 * width - 1], x[3 * width - 2]) = (f32::NAN, f32::NAN);
            let x = s.given("x", &shape, x);
            normalization(s, x, shape, 1e-6);
        };
        cases.push(Case::new(info("l2_normalize", "special", &[DType::F32], &shape), set_up));
    }
}

/// Every case.
pub(crate) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    differences(&mut cases);
    conversions(&mut cases);
    reductions(&mut cases);
    ratios_of_extremes(&mut cases);
    normalizations(&mut cases);
    cases
}
