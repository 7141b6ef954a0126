//! Cases of the module `quant_moe`.

use std::collections::BTreeSet;

use hk_core::dtype::{
    DType, E8M0, Element, F4x2E2M1, F8E4M3, F8E4M3Fnuz, F8E5M2, Real, bf16, decode,
};
use hk_core::op::quant::{Fp8, MX_BLOCK, MxCode, MxRound, QuantisedOut};
use hk_core::{Arch, Error};
use hk_ref::quant::quant::{dequantize, dynamic_mx_quant};
use hk_ref::quant::quant_moe::{at_the_end, from_the_end, mxfp4_away, static_fp8};
use hk_ref::{Case, CaseInfo, Draw, Expected, Placement, RowCase, Setup, Size, real};

use super::quant::{PIECES, TYPES, make_special, suite_of_pieces};
use crate::RowOptions;
use crate::quant_moe::*;

const MODULE: &str = "quant_moe";

/// An expression with the type of MX codes that a `DType` names.
macro_rules! mx_code {
    ($dtype:expr, $name:ident => $body:expr) => {
        match $dtype {
            DType::F4x2E2M1 => {
                type $name = F4x2E2M1;
                $body
            }
            DType::F8E4M3 => {
                type $name = F8E4M3;
                $body
            }
            _ => {
                type $name = F8E5M2;
                $body
            }
        }
    };
}

/// Types of MX codes, with how ties of 4-bit ones are rounded.
const CODES: [(DType, Fp4Ties); 4] = [
    (DType::F4x2E2M1, Fp4Ties::Away),
    (DType::F8E4M3, Fp4Ties::Away),
    (DType::F8E5M2, Fp4Ties::Away),
    (DType::F4x2E2M1, Fp4Ties::ToEven),
];

/// Modes of scales, of which all types of codes have all but the last.
const MODES: [MxRound; 5] =
    [MxRound::RoundUp, MxRound::FloorOfRatio, MxRound::RoundDown, MxRound::Ceil, MxRound::Even];

/// What x holds.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Content {
    Spread,
    /// Numbers just between codes, and codes.
    Ties,
    /// Blocks of zeros, with one huge number, with NaN, with infinity, and of subnormal numbers.
    Special,
}

/// A tensor to quantise along a dimension.
#[derive(Debug, Clone)]
struct Downcast {
    shape: Vec<usize>,
    axis: isize,
    /// The order of its dimensions in memory, if it is another.
    order: Vec<usize>,
    content: Content,
    mode: MxRound,
    codes: (DType, Fp4Ties),
    options: RowOptions<'static>,
}

impl Downcast {
    /// What an op can be asked for in turn.
    fn new(shape: &[usize], axis: isize, content: Content, i: usize) -> Self {
        let codes = CODES[i % 4];
        let modes = if codes.0 == DType::F8E5M2 { 4 } else { 5 };
        let (shape, order) = (shape.to_vec(), (0..shape.len()).collect());
        let (mode, options) = (MODES[i / 4 % modes], RowOptions::default());
        Self { shape, axis, order, content, mode, codes, options }
    }

    fn at(&self) -> usize {
        if self.axis < 0 { self.shape.len() - self.axis.unsigned_abs() } else { self.axis as usize }
    }

    fn case(self, name: &str, x: DType) -> Case {
        let Self { axis, mode, codes: (codes, ties), content, .. } = &self;
        let is_tie = *codes == DType::F4x2E2M1;
        let ties = if is_tie { format!(", {ties:?}") } else { String::new() };
        let name = format!("{name}, axis {axis}, {content:?}, {mode:?}{ties}");
        let info = CaseInfo::new(MODULE, "downcast_to_mxfp", name, &[x, *codes], &self.shape);
        let codes = *codes;
        Case::new(info, move |s| {
            real!(x, T => mx_code!(codes, C => self.set_up::<T, C>(s)));
        })
    }

    fn x<T: Real>(&self, s: &Setup, most: f32) -> Vec<T> {
        let mut x = s.draw::<T>("x", &self.shape, Draw::Spread);
        if self.content == Content::Ties {
            // Up to the largest code, in steps of half the distance of codes at most.
            let step = if most == 6.0 { 0.25 } else { f64::from(most) / 896.0 };
            let count = (f64::from(most) / step) as i64;
            let drawn = Draw::Integers(-count, count + 1);
            for (x, i) in x.iter_mut().zip(s.draw::<f32>("steps", &self.shape, drawn)) {
                *x = T::from_f64(f64::from(i) * step);
            }
        }
        if self.content == Content::Special {
            let along = self.shape[self.at()];
            let mut rows = at_the_end(&x, &self.shape, self.at());
            let blocks = rows.chunks_exact_mut(along).flat_map(|row| row.chunks_mut(MX_BLOCK));
            for (i, block) in blocks.enumerate() {
                let middle = block.len() / 2;
                match i % 5 {
                    0 => block.fill(T::from_f64(0.0)),
                    4 => {
                        block.copy_from_slice(&s.draw::<T>("tiny", &[block.len()], Draw::Denormal));
                    }
                    kind => {
                        let numbers = [0.75 * T::MAX, f64::NAN, f64::NEG_INFINITY];
                        block[middle] = T::from_f64(numbers[kind - 1]);
                    }
                }
            }
            x = from_the_end(&rows, &self.shape, self.at());
        }
        x
    }

    fn set_up<T: Real, C: MxCode>(&self, s: &mut Setup) {
        let Self { shape, axis, mode, codes: (_, ties), .. } = self;
        let (at, n) = (self.at(), shape[self.at()]);
        let x = self.x::<T>(s, C::MOST);
        let rows = at_the_end(&decode(&x), shape, at);
        let (codes, scales) = match (C::DTYPE, ties) {
            (DType::F4x2E2M1, Fp4Ties::Away) => mxfp4_away(&rows, n, *mode),
            _ => dynamic_mx_quant::<C>(&rows, n, *mode, C::MOST),
        };
        let mut outer = shape.clone();
        outer.remove(at);
        let x = s.given("x", shape, x).order(&self.order);
        let [of_codes, of_scales] =
            [n, n.div_ceil(MX_BLOCK)].map(|last| [&outer[..], &[last]].concat());
        let codes = s.output::<C>("codes", &of_codes, Expected::exact(codes));
        let scales = s.output::<E8M0>("scales", &of_scales, Expected::exact(decode(&scales)));
        let options = DowncastOptions::default().round_mode(*mode).ties(*ties).rows(self.options);
        let axis = *axis;
        s.call(move || {
            let out = QuantisedOut { codes: &mut codes.get(), scales: &mut scales.get() };
            downcast_to_mxfp_into(&x.get(), axis, &options, out)
        });
    }
}

/// Shapes of the specification, and dimensions of them.
const SHAPES: [(&[usize], isize); 7] = [
    (&[128, 256], -1),
    (&[128, 256], 0),
    (&[3, 32], 1),
    (&[7, 34], 1),
    (&[2, 64, 96], 1),
    (&[4, 32, 3], 1),
    (&[66], 0),
];

/// Others, whose columns are quantised: of rows, the last block has 2, 30, 8 or 16; of columns, one lane
/// has all, or some have some of theirs; several turns of a wave; dimensions that are merged.
const COLUMNS: [(&[usize], isize); 12] = [
    (&[2, 9], 0),
    (&[62, 7], 0),
    (&[40, 130], -2),
    (&[3, 48, 136], 1),
    (&[34, 129], 0),
    (&[98, 1], 0),
    (&[2, 70, 3, 5], 1),
    (&[33, 2, 4], 0),
    (&[2, 1, 9], 1),
    (&[5, 31, 24], -2),
    (&[0, 32, 8], 1),
    (&[2, 32, 0], 1),
];

/// Shapes of models: GPT-OSS and DeepSeek-V3, and activations.
const MODELS: [(&[usize], isize); 3] =
    [(&[32, 2880, 5760], 1), (&[256, 7168, 4096], 1), (&[16_384, 7168], -1)];

/// Every way through rows, of whole chunks, of halves, of whole dwords and neither, with all types of codes: with
/// every mode in one kernel, and with one in turn in the others.
fn ways() -> Vec<Case> {
    let mut cases = Vec::new();
    for ((tile, _), width) in PIECES.into_iter().flat_map(|of| [40, 42, 43, 44].map(|n| (of, n))) {
        for (i, codes) in CODES.into_iter().enumerate() {
            let width = if codes.0 == DType::F4x2E2M1 { width / 2 * 2 } else { width };
            for (j, x) in TYPES.into_iter().enumerate() {
                let allowed = if codes.0 == DType::F8E5M2 { &MODES[..4] } else { &MODES };
                let one = [allowed[(i + j + width) % allowed.len()]];
                let modes = if x[0] == DType::Bf16 { allowed } else { &one };
                // Special blocks have the same scales in several modes.
                let contents = [Content::Special, Content::Spread];
                let contents = if x[0] == DType::Bf16 { &contents[..] } else { &contents[..1] };
                for mode in modes.iter().copied() {
                    let row = RowCase {
                        tile: Some(tile),
                        workgroups: Some(1),
                        // Two turns of rows that share waves.
                        ..RowCase::new([if tile == "n128" { 17 } else { 9 }, width], "")
                    };
                    for content in contents.iter().copied() {
                        let of = Downcast::new(&row.shape, -1, content, 0);
                        let of = Downcast { mode, codes, options: row.options(), ..of };
                        let case = of.case(&format!("ways, {tile}"), x[0]);
                        cases.push(case.size(Size::Core).writes_once());
                    }
                }
            }
        }
    }
    // Pieces that waves take in turn, beyond the first of their rows.
    for (i, codes) in CODES.into_iter().enumerate() {
        let width = if codes.0 == DType::F4x2E2M1 { 1158 } else { 1157 };
        let of = Downcast::new(&[3, width], -1, Content::Spread, 0);
        let options = RowOptions::default().tile("any").workgroups(1);
        let case = Downcast { codes, options, ..of }.case("pieces in turn", TYPES[i % 3][0]);
        cases.push(case.size(Size::Core).writes_once());
    }
    // Widths that are the same in whole bytes fall together.
    let mut names = BTreeSet::new();
    cases.retain(|case| names.insert(case.info.title()));
    cases
}

fn downcasts() -> Vec<Case> {
    let mut cases = Vec::new();
    let mut turn = 0;
    // Each shape with each type of codes, and a type of x in turn.
    let mut add =
        |name: &str, shape: &[usize], axis: isize, content, alter: &dyn Fn(&mut Downcast)| {
            for i in 0..4 {
                turn += 1;
                let mut of = Downcast::new(shape, axis, content, 4 * turn + i);
                alter(&mut of);
                let at = of.at();
                if of.codes.0 == DType::F4x2E2M1 && of.shape[at] % 2 == 1 {
                    of.shape[at] += 1;
                }
                cases.push(of.case(name, TYPES[(turn + i) % 3][0]));
            }
        };
    let same = |_: &mut Downcast| {};
    for (shape, axis) in SHAPES.into_iter().chain(COLUMNS) {
        add("plain", shape, axis, Content::Spread, &same);
    }
    add("fp8", &[5, 33], 1, Content::Spread, &same);
    let turns = |of: &mut Downcast| of.options = RowOptions::default().workgroups(1);
    add("turns", &[3, 70, 260], 1, Content::Spread, &turns);
    add("turns", &[2, 98, 37], 1, Content::Spread, &turns);
    // Adjacent along the dimension, though it is not the last.
    let across = |of: &mut Downcast| of.order = vec![0, 2, 1];
    add("adjacent", &[3, 66, 10], 1, Content::Spread, &across);
    // Every mode with every type of codes, and every remainder of a block, in one kernel of each way.
    for codes in CODES {
        let is_fp4 = codes.0 == DType::F4x2E2M1;
        for mode in MODES {
            if (codes.0, mode) == (DType::F8E5M2, MxRound::Even) {
                continue;
            }
            for content in [Content::Ties, Content::Special] {
                for (shape, axis) in [([6, 96], -1), ([96, 40], 0), ([66, 5], 0)] {
                    let of = Downcast { mode, codes, ..Downcast::new(&shape, axis, content, 0) };
                    cases.push(of.case("modes", DType::Bf16));
                }
            }
        }
        for n in (1..MX_BLOCK).filter(|n| !is_fp4 || n % 2 == 0) {
            let of = Downcast { codes, ..Downcast::new(&[n, 9], 0, Content::Spread, 0) };
            cases.push(of.case("tails", DType::Bf16));
        }
    }
    cases.extend(ways());
    let placed = [
        ("gaps", Placement::DENSE.gap(5).shift(3), Size::Quick),
        ("end of memory", Placement::DENSE.gap(3).edge(hk_ref::Edge::End), Size::Quick),
        ("far rows", Placement::DENSE.gap(3 << 30), Size::Core),
    ];
    for (i, (name, place, size)) in placed.into_iter().enumerate() {
        for (j, shape) in [[2, 40, 130], [3, 34, 9]].into_iter().enumerate() {
            for codes in 0..4 {
                let of = Downcast::new(&shape, 1, Content::Spread, 4 * (i + j) + codes);
                let case = of.case(name, TYPES[(i + j + codes) % 3][0]);
                cases.push(case.place(place).size(size));
            }
        }
    }
    for (i, (shape, axis)) in MODELS.into_iter().enumerate() {
        let of = Downcast::new(shape, axis, Content::Spread, i);
        cases.push(of.case("model", DType::Bf16).size(Size::Large));
    }
    // As all that have rows.
    for (i, row) in suite_of_pieces().enumerate() {
        let [rows, width] = row.shape;
        let codes = CODES[i % 4];
        let width = width.next_multiple_of(if codes.0 == DType::F4x2E2M1 { 2 } else { 1 });
        let mut of = Downcast::new(&[rows, width], -1, Content::Spread, i);
        of.options = row.options();
        let tile = row.tile.unwrap_or_default();
        let name = format!("{} {tile} {:?}", row.name, row.workgroups);
        cases.push(of.case(&name, TYPES[i % 3][0]).place(row.place).size(row.size));
    }
    cases
}

/// Outputs with dimensions in another order than those of x, though as many elements, are refused.
fn other_order() -> Case {
    let dtypes = [DType::Bf16, DType::F8E4M3];
    let name = "dimensions of outputs in another order";
    Case::new(CaseInfo::new(MODULE, "downcast_to_mxfp", name, &dtypes, &[32, 2, 3]), |s| {
        let shape = [32, 2, 3];
        let x = s.input::<bf16>("x", &shape, Draw::Spread);
        let rows = at_the_end(&x.numbers(), &shape, 0);
        let (codes, scales) = dynamic_mx_quant::<F8E4M3>(&rows, 32, MxRound::RoundUp, 448.0);
        let codes = s.output::<F8E4M3>("codes", &[2, 3, 32], Expected::exact(codes));
        let scales = s.output::<E8M0>("scales", &[2, 3, 1], Expected::exact(decode(&scales)));
        s.call(move || {
            let (x, mut codes, mut scales) = (x.get(), codes.get(), scales.get());
            let options = DowncastOptions::default();
            let orders = [([3usize, 2], [2usize, 3]), ([2, 3], [3, 2]), ([6, 1], [6, 1])];
            for (of_codes, of_scales) in orders {
                let mut codes = codes.reshape_mut(&[&of_codes[..], &[32]].concat())?;
                let mut scales = scales.reshape_mut(&[&of_scales[..], &[1]].concat())?;
                let out = QuantisedOut { codes: &mut codes, scales: &mut scales };
                let result = downcast_to_mxfp_into(&x, 0, &options, out);
                if !matches!(result, Err(Error::Shape { .. })) {
                    let (arg, got) = ("codes", format!("{result:?} of {of_codes:?}"));
                    return Err(Error::value("downcast_to_mxfp", arg, "in the order of x", got));
                }
            }
            let out = QuantisedOut { codes: &mut codes, scales: &mut scales };
            downcast_to_mxfp_into(&x, 0, &options, out)
        });
    })
}

/// Bytes of scales: the ends of their range and of those of f16, and NaN.
const BYTES: [u8; 9] = [0, 1, 2, 103, 127, 142, 253, 254, 255];

/// Every code with every one of these scales, in blocks along a dimension.
fn upcast(codes: DType, y: DType, axis: isize) -> Case {
    let count = if codes == DType::F4x2E2M1 { 32 } else { 256 };
    let shape = [BYTES.len(), count];
    let name = format!("every code, axis {axis}");
    let info = CaseInfo::new(MODULE, "upcast_from_mxfp", name, &[codes, y], &shape);
    Case::new(info, move |s| {
        real!(y, T => mx_code!(codes, C => set_up_upcast::<T, C>(s, shape, axis, every(C::PACK, C::from_bits))));
    })
}

/// All codes, for each scale, of so many in a byte.
fn every<C>(packed: usize, from_bits: fn(u8) -> C) -> Vec<C> {
    // Of packed codes, each with its complement, in blocks of their own.
    let one = |code: u8| if packed == 2 { code | (15 - code) << 4 } else { code };
    let last = if packed == 2 { 15 } else { 255 };
    BYTES.iter().flat_map(|_| (0..=last).map(one)).map(from_bits).collect()
}

fn set_up_upcast<T: Real, C: MxCode>(
    s: &mut Setup,
    [rows, width]: [usize; 2],
    axis: isize,
    codes: Vec<C>,
) {
    let blocks = width.div_ceil(MX_BLOCK);
    let bytes: Vec<_> =
        (0..rows * blocks).map(|i| E8M0::from_bits(BYTES[i / blocks % BYTES.len()])).collect();
    let scale = |i: usize| bytes[i / width * blocks + i % width / MX_BLOCK].to_f64();
    let scales: Vec<_> = (0..rows * width).map(scale).collect();
    let values = dequantize(&decode(&codes), &scales);
    let y = decode(&T::encode(&values));
    let codes = s.given("codes", &[rows, width], codes);
    let scales = s.given("scales", &[rows, blocks], bytes);
    // Codes of e5m2 have three.
    let y = Expected { any_nan: true, ..Expected::exact(y) };
    let y = s.output::<T>("y", &[rows, width], y);
    // As it is in memory; the op is given it with the dimension of blocks where it belongs.
    s.call(move || {
        let (codes, scales, mut y) = (codes.get(), scales.get(), y.get());
        let options = RowOptions::default();
        match axis {
            -1 | 1 => upcast_from_mxfp_into(&codes, &scales, axis, &options, &mut y),
            _ => {
                upcast_from_mxfp_into(&codes, &scales, axis, &options, &mut y.transpose_mut(0, 1)?)
            }
        }
    });
}

/// The scale that is given: some codes are clamped, and quotients are not products with its inverse.
const SCALE: f32 = 0.013;

/// Scales of no use, which give codes all the same.
const OTHER_SCALES: [f32; 3] = [1.0, 0.0, f32::NAN];

/// A scale whose inverse f32 has not exactly, nor products with it: see [`ties`].
pub(super) const TIES: f32 = 7.0 / 512.0;

/// Zeros, and multiples of [`TIES`] that are just between two codes of e4m3: their quotients round to
/// even, while products with its inverse are often a bit larger.
pub(super) fn ties<T: Real>(count: usize) -> Vec<T> {
    let number = |i: usize| {
        let sixteenths = if i % 6 == 1 { 0 } else { i % 8 * 2 + 17 };
        let times = sixteenths as f64 * [0.0625, 0.125, 0.25, 0.5, 1.0, 2.0, 4.0][i % 7];
        T::from_f64(times * f64::from(TIES) * if i % 5 == 2 { -1.0 } else { 1.0 })
    };
    (0..count).map(number).collect()
}

fn set_up_static<T: Real, C: Fp8>(s: &mut Setup, shape: &[usize], scale: f32, is_special: bool) {
    let mut x = if scale == TIES {
        ties::<T>(shape.iter().product())
    } else {
        s.draw::<T>("x", shape, Draw::Outliers)
    };
    if is_special {
        let width = shape[shape.len() - 1];
        for (i, row) in x.chunks_exact_mut(width).enumerate() {
            make_special(s, row, i % 6, C::MOST);
        }
    }
    let x = s.given("x", shape, x);
    let first = s.carried(|_| 0);
    let given = s.given("scale", &[1], vec![scale]).place(first);
    let codes = Expected::exact(static_fp8::<C>(&x.numbers(), scale, C::MOST));
    let codes = s.output::<C>("codes", shape, codes);
    s.call(move || {
        let options = RowOptions::default();
        downcast_to_static_fp8_into(&x.get(), &given.get(), &options, &mut *codes.get())
    });
}

fn statics() -> Vec<Case> {
    let mut cases = Vec::new();
    let shapes: [(&[usize], f32); 13] = [
        (&[256, 128], SCALE),
        (&[1, 1], SCALE),
        (&[33, 130], SCALE),
        (&[2, 17, 64], SCALE),
        // Rows that waves take in pieces, of odd widths and of even ones.
        (&[3, 151], SCALE),
        (&[3, 1156], SCALE),
        (&[3, 75], OTHER_SCALES[0]),
        (&[3, 75], OTHER_SCALES[1]),
        (&[3, 75], OTHER_SCALES[2]),
        (&[2, 17, 64], TIES),
        (&[3, 75], TIES),
        (&[3, 151], TIES),
        (&[3, 1156], TIES),
    ];
    // Rows of every special kind, which both ways through rows have.
    let special: [(&[usize], f32); 4] =
        [(&[12, 75], SCALE), (&[2, 6, 64], SCALE), (&[6, 151], 1.0), (&[6, 1156], SCALE)];
    let all = shapes.into_iter().map(|of| (of, false));
    for ((shape, scale), is_special) in all.chain(special.into_iter().map(|of| (of, true))) {
        for arch in Arch::ALL {
            for x in TYPES {
                let codes = if arch == Arch::Gfx942 { DType::F8E4M3Fnuz } else { DType::F8E4M3 };
                let special = if is_special { ", special" } else { "" };
                let (x, name) = (x[0], format!("scale {scale}{special}"));
                let op = "downcast_to_static_fp8";
                let mut info = CaseInfo::new(MODULE, op, name, &[x, codes], shape);
                info.arch = Some(arch);
                let size = if scale == TIES { Size::Core } else { Size::Quick };
                let case = Case::new(info, move |s| {
                    real!(x, T => match arch {
                        Arch::Gfx942 => set_up_static::<T, F8E4M3Fnuz>(s, shape, scale, is_special),
                        Arch::Gfx950 => set_up_static::<T, F8E4M3>(s, shape, scale, is_special),
                    });
                });
                cases.push(case.size(size));
            }
        }
    }
    cases
}

/// Every case.
pub(super) fn cases() -> Vec<Case> {
    let mut cases = downcasts();
    for codes in [DType::F4x2E2M1, DType::F8E4M3, DType::F8E5M2] {
        for (y, axis) in [(DType::Bf16, -1), (DType::F16, 0), (DType::F32, 1), (DType::Bf16, -2)] {
            cases.push(upcast(codes, y, axis));
        }
    }
    cases.extend(statics());
    cases.push(other_order());
    cases
}
