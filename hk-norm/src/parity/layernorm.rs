//! Cases of `layernorm` and `fused_add_layernorm`.

use hk_core::dtype::{DType, Real, decode};
use hk_ref::norm::layernorm::layernorm as reference;
use hk_ref::norm::rmsnorm::add;
use hk_ref::{Arg, Case, Draw, Expected, NOT_POSITIVE, REALS, RowCase, Setup, Size, Types, real};

use crate::{FusedAddLayernormOut, LayernormOut, fused_add_layernorm_into, layernorm_into};

/// Shapes `[rows, width]` of the specification.
const SHAPES: [[usize; 2]; 10] = [
    [2, 128],
    [1, 4],
    [128, 2],
    [1, 128],
    [359, 1],
    [1, 359],
    [182, 781],
    [1, 89_999],
    [1, 131_072],
    [9, 4096],
];

/// Shapes of models: vision towers among them.
const MODELS: [[usize; 2]; 6] =
    [[4096, 128], [1823, 781], [8192, 8192], [4096, 8192], [16_384, 1280], [8192, 5120]];

/// Elements of f32 that a workgroup has at once of rows in pieces, 8 a lane.
const PIECE: usize = 4096;

/// Element types of weight and bias, if there are such.
type Columns = (Option<DType>, Option<DType>);

/// What rows hold, apart from what is drawn.
#[derive(Clone, Copy, PartialEq)]
enum Rows {
    Drawn,
    /// With so much added to each element.
    Around(f64),
    /// Each of equal elements, immense ones in the second if the type has such.
    Constant,
    /// An infinity in the second, a NaN at the end of the third.
    Special,
    /// See [`halves`], of which the shortest have so many elements.
    Halves(usize),
    /// See [`uneven_halves`].
    UnevenHalves,
    /// See [`last_part`].
    LastPart,
}

impl Rows {
    /// Whether means have to be exact, which elements are equal to.
    const fn have_exact_means(self) -> bool {
        matches!(self, Self::Halves(_) | Self::UnevenHalves | Self::LastPart)
    }
}

/// What varies between cases, apart from element types.
#[derive(Clone, Copy)]
struct Spec {
    row: RowCase,
    fused: bool,
    draw: Draw,
    rows: Rows,
    eps: f32,
    /// Whether mean and rstd are stored.
    statistics: [bool; 2],
    /// The element type of a weight or bias that is not there.
    absent: DType,
}

impl Spec {
    fn new(row: RowCase) -> Self {
        let width = row.shape[1];
        let statistics = [![19, 24].contains(&width), ![18, 21, 24].contains(&width)];
        let (fused, draw, rows, eps) = (false, Draw::Normal, Rows::Drawn, 1e-5);
        Self { row, fused, draw, rows, eps, statistics, absent: DType::F32 }
    }

    fn case(self, dtype: DType, (weight, bias): Columns) -> Case {
        let op = if self.fused { "fused_add_layernorm" } else { "layernorm" };
        let dtypes: Vec<DType> = [Some(dtype), weight, bias].into_iter().flatten().collect();
        let mut case = self.row.case("layernorm", op, &dtypes, move |s| {
            let (is_weighted, is_biased) = (weight.is_some(), bias.is_some());
            let (weight, bias) = (weight.unwrap_or(self.absent), bias.unwrap_or(self.absent));
            let width = &self.row.shape[1..];
            real!(dtype, T => real!(weight, W => real!(bias, B => {
                let weight = is_weighted.then(|| s.draw::<W>("weight", width, Draw::Normal));
                let bias = is_biased.then(|| s.draw::<B>("bias", width, Draw::Normal));
                set_up::<T, W, B>(s, self, weight, bias);
            })));
        });
        let name = |of: Option<DType>| of.map_or("none", DType::name);
        case.info.case += &format!(", weight {}, bias {}", name(weight), name(bias));
        case
    }
}

fn rows<T: Real>(s: &Setup, spec: Spec) -> Vec<T> {
    let ([_, width], mut x) = (spec.row.shape, s.draw::<T>("x", &spec.row.shape, spec.draw));
    match spec.rows {
        Rows::Drawn => {}
        Rows::Around(offset) => {
            x.iter_mut().for_each(|x| *x = T::from_f64(x.to_f64() + offset));
        }
        Rows::Constant => {
            x.chunks_mut(width).for_each(|row| row.fill(row[0]));
            // The square of the mean is infinite.
            if T::DTYPE != DType::F16 && !x.is_empty() {
                x[width..2 * width].fill(T::from_f64(-1e20));
            }
        }
        Rows::Special => {
            x[width + width / 3] = T::from_f64(f64::INFINITY);
            x[3 * width - 1] = T::from_f64(f64::NAN);
        }
        Rows::Halves(shortest) => x = T::encode(&halves(spec.row.shape, shortest)),
        Rows::UnevenHalves => x = T::encode(&uneven_halves(width)),
        Rows::LastPart => x = T::encode(&last_part(width)),
    }
    x
}

/// Rows of f32 with the mean 1, as every second element is. The others are above it and below it
/// in turns of `shortest` elements, and of twice as many every two rows, of which the second begins
/// below. The mean of eight elements in a turn above comes out as 2, that of eight below as -2^-23.
/// Half their difference, rounded to f32, takes the 2 to 1, but the -2^-23 to less.
fn halves([height, width]: [usize; 2], shortest: usize) -> Vec<f64> {
    let rest = 2f64.powi(-22);
    let element = |row: usize, column: usize| {
        let half = shortest << (row / 2);
        // Elements that do not make up two turns are all 1; if there are no two, those of the last
        // lane, which lacks some.
        let paired = width / (2 * half) * (2 * half);
        let is_rest = if paired > 0 { column >= paired } else { column % PIECE >= PIECE - 8 };
        if column.is_multiple_of(2) || is_rest {
            1.0
        } else if column / half % 2 == row % 2 {
            3.0 + rest
        } else {
            -1.0 - rest
        }
    };
    (0..height * width).map(|i| element(i / width, i % width)).collect()
}

/// A row of 5 m - 1 elements with the mean m, as every second element is. The first 4 m of them
/// have the mean 1, the others 5 m. No part of their difference is exact: the smaller, which takes
/// the 1 to m, is good enough for it, the larger, which would take the 5 m there, is not.
fn uneven_halves(width: usize) -> Vec<f64> {
    let first = width.div_ceil(5) * 4;
    let mean = (first / 4) as f64;
    let element = |column: usize| {
        if column == width - 1 {
            5.0 * mean
        } else if column.is_multiple_of(2) {
            mean
        } else if column < first {
            2.0 - mean
        } else {
            9.0 * mean
        }
    };
    (0..width).map(element).collect()
}

/// A row of zeros but for a chunk: the first of those behind the largest power of two. Lanes that
/// have as many elements, or all that are left, have an exact mean, and so has the row, which takes
/// the quotient of both counts: see [`LAST_PARTS`].
fn last_part(width: usize) -> Vec<f64> {
    let first = width.next_power_of_two() / 2;
    let odd = |count: usize| count >> count.trailing_zeros();
    let (left, all) = (odd(width - first), odd(width));
    let common = (1..=left).rev().find(|by| left % by == 0 && all % by == 0).unwrap_or(1);
    let number = (left / common * all) as f64;
    let is_there = |column| (first..first + 8).contains(&column);
    (0..width).map(|column| if is_there(column) { number } else { 0.0 }).collect()
}

/// Widths for [`last_part`], for each number of lanes that has a part, odd ones and even ones, and of
/// whole chunks: those for which a quotient that is not rounded right takes the mean elsewhere.
const LAST_PARTS: [usize; 30] = [
    15, 25, 30, 41, 49, 50, 71, 74, 75, 120, 142, 143, 145, 200, 284, 296, 297, 515, 517, 543, 568,
    1030, 1031, 1034, 1136, 2057, 2060, 2062, 2063, 2272,
];

fn set_up<T: Real, W: Real, B: Real>(
    s: &mut Setup,
    spec: Spec,
    weight: Option<Vec<W>>,
    bias: Option<Vec<B>>,
) {
    let Spec { row, eps, .. } = spec;
    let shape = row.shape;
    let [height, width] = shape;
    let x = rows::<T>(s, spec);
    let residual = spec.fused.then(|| match spec.rows {
        Rows::Constant => x.clone(),
        _ => s.draw::<T>("residual", &shape, spec.draw),
    });
    let sum = residual.as_ref().map(|residual| add(&x, residual));
    let h = decode(sum.as_deref().unwrap_or(&x));
    let numbers = |absent| vec![absent; width];
    let weights = weight.as_ref().map_or_else(|| numbers(1.0), |weight| decode(weight));
    let biases = bias.as_ref().map_or_else(|| numbers(0.0), |bias| decode(bias));
    let mut all = reference(&h, &weights, &biases, eps);
    if spec.rows.have_exact_means() {
        all.mean_slack.fill(0.0);
        let equal = all.y.iter().zip(&mut all.slack).filter(|(y, _)| **y == 0.0);
        equal.for_each(|(_, slack)| *slack = 0.0);
    }
    let y = if spec.rows == Rows::Constant {
        // The bias, exactly.
        Expected::exact(all.y.iter().map(|y| T::from_f64(*y).to_f64()).collect())
    } else {
        let comparable = spec.draw == Draw::Normal && spec.rows == Rows::Drawn;
        Expected::rounded(all.y, T::DTYPE, comparable).plus(all.slack)
    };

    let x = s.given("x", &shape, x);
    let weight = weight.map(|weight| s.given("weight", &[width], weight));
    let bias = bias.map(|bias| s.given("bias", &[width], bias));
    let y = s.output::<T>("y", &shape, y);
    let fused = residual.zip(sum).map(|(residual, sum)| {
        let sum = Expected::exact(decode(&sum));
        (s.given("residual", &shape, residual), s.output::<T>("residual_out", &shape, sum))
    });
    let infinite = |row: &usize| h[row * width..][..width].iter().any(|h| h.is_infinite());
    let specified: Vec<_> = (0..height).filter(|row| !infinite(row)).collect();
    let of_specified = |of: &[f64]| specified.iter().map(|row| of[*row]).collect::<Vec<_>>();
    let mean = Expected::exact(of_specified(&all.mean)).plus(of_specified(&all.mean_slack));
    let mean = Expected { at: Some(specified), ..mean };
    let rstd = Expected::relative(all.rstd, 4e-6).plus(all.rstd_slack);
    let each_row = s.carried(|element| element / width);
    let mut statistic = |name, of| s.output::<f32>(name, &[height], of).place(each_row);
    let mean = spec.statistics[0].then(|| statistic("mean", mean));
    let rstd = spec.statistics[1].then(|| statistic("rstd", rstd));

    let options = row.options();
    let eps = s.number("eps", eps, NOT_POSITIVE);
    s.call(move || {
        let (x, y) = (&x.get(), &mut *y.get());
        let (weight, bias) = (weight.as_ref().map(Arg::get), bias.as_ref().map(Arg::get));
        let (weight, bias) = (weight.as_deref(), bias.as_deref());
        let [mut mean, mut rstd] = [&mean, &rstd].map(|output| output.as_ref().map(Arg::get));
        let (mean, rstd) = (mean.as_deref_mut(), rstd.as_deref_mut());
        let Some((residual, sum)) = &fused else {
            let out = LayernormOut { y, mean, rstd };
            return layernorm_into(x, weight, bias, eps.get(), &options, out);
        };
        let (residual, residual_out) = (&residual.get(), &mut *sum.get());
        let out = FusedAddLayernormOut { y, residual_out, mean, rstd };
        fused_add_layernorm_into(x, residual, weight, bias, eps.get(), &options, out)
    });
}

/// Rows of each tile that end in every way, in several turns, with columns of 16 bits and without such:
/// each result is stored once.
fn end_cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for (i, row) in RowCase::of_tiles([21, 43], "ends in turns").enumerate() {
        for more in 0..8 {
            // Rows of n128 share waves, of which the last turn lacks some.
            let rows = if row.tile == Some("n128") { 21 } else { 5 };
            let row = RowCase { shape: [rows, [41, 81][i % 2] + more], workgroups: Some(1), ..row };
            let of_columns = [DType::Bf16, DType::F16][(more / 4 + i) % 2];
            let (x, fused) = (REALS[(more + i) % 3], (more / 2 + i) % 2 == 0);
            let spec = Spec { fused, absent: of_columns, ..Spec::new(row) };
            for columns in [None, Some(of_columns)] {
                cases.push(spec.case(x, (columns, columns)).writes_once());
            }
        }
    }
    cases
}

/// Every case.
pub(crate) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    let mut add = |spec: Spec| {
        for (x, y) in spec.row.pairs() {
            // Of each type of rows, weights of each and biases of each, or none.
            let third = REALS.into_iter().find(|of| ![x, y].contains(of)).unwrap_or(x);
            let mut columns = vec![(Some(y), Some(third))];
            match (x == y, y) {
                (true, _) => {}
                (_, DType::Bf16) => columns.push((None, Some(x))),
                (_, DType::F16) => columns.push((Some(x), None)),
                _ => columns.push((None, None)),
            }
            for columns in columns {
                cases.extend([false, true].map(|fused| Spec { fused, ..spec }.case(x, columns)));
            }
        }
    };
    let each = |shape, name| RowCase { types: Types::Each, ..RowCase::new(shape, name) };
    let plain = SHAPES.map(|shape| each(shape, "plain"));
    for row in RowCase::suite().into_iter().chain(plain).chain(RowCase::models(&MODELS)) {
        add(Spec::new(row));
    }
    for row in RowCase::of_tiles([9, usize::MAX], "constant rows") {
        // Biases of f16 are halfway between numbers of bf16, among others.
        let even = RowCase { shape: [3, row.shape[1].next_multiple_of(8)], ..row };
        for row in [row, even] {
            add(Spec { rows: Rows::Constant, ..Spec::new(row) });
        }
        add(Spec::new(RowCase { name: "whole chunks", ..even }));
    }
    // In both chunks of a lane.
    add(Spec::new(RowCase { tile: Some("n8192"), ..each([1, 8192], "whole chunks") }));
    // The first piece of a row is loaded while the row before is stored: here with nothing behind
    // it, in the first chunk of some lanes and in the second.
    for width in [43, 44, 4139, 4140] {
        let turns = each([3, width], "turns of one piece");
        add(Spec::new(RowCase { tile: Some("any"), workgroups: Some(1), ..turns }));
    }
    // Fails if squares are added up before the mean is known.
    for row in RowCase::of_tiles([3, usize::MAX], "far from zero") {
        let row = RowCase { types: Types::Only(&[DType::F32]), ..row };
        add(Spec { rows: Rows::Around(1e4), ..Spec::new(row) });
    }
    for row in RowCase::of_tiles([4, usize::MAX], "special values") {
        add(Spec { rows: Rows::Special, ..Spec::new(row) });
    }
    for (draw, eps, name) in [
        (Draw::Zeros, 1e-5, "zeros"),
        (Draw::Outliers, 1e-5, "outliers"),
        (Draw::Uniform, 1e-5, "uniform"),
        (Draw::Scaled(-20), 0.25, "large eps"),
    ] {
        add(Spec { draw, eps, ..Spec::new(each([5, 301], name)) });
    }
    let large = Types::Only(&[DType::Bf16, DType::F32]);
    let large = RowCase { types: large, ..each([5, 301], "large") };
    add(Spec { draw: Draw::Scaled(40), ..Spec::new(large) });
    // All lanes need the same mean, whichever half they are of. Halves are lanes, waves, pieces and
    // what is folded of these: twice 64, or twice 63, as many as are left at the end.
    let mut add_exact = |tile, shape: [usize; 2], rows| {
        let size = if shape[1] > 3 * PIECE { Size::Core } else { Size::Quick };
        let row = RowCase { tile: Some(tile), size, ..RowCase::new(shape, "exact means") };
        let columns = (Some(DType::F32), None);
        cases.push(Spec { rows, ..Spec::new(row) }.case(DType::F32, columns));
    };
    for (tile, shape, shortest) in [
        ("n512", [12, 512], 8),
        ("n512", [10, 511], 8),
        ("n8192", [20, 8192], 8),
        ("n8192", [18, 8191], 8),
        ("any", [18, PIECE], 8),
        ("any", [16, PIECE - 1], 8),
        ("any", [2, 2 * PIECE], PIECE),
        ("any", [2, 2 * PIECE + 3], PIECE),
        ("any", [2, 191 * PIECE], 64 * PIECE),
        ("any", [2, 191 * PIECE - 1], 64 * PIECE),
        ("any", [2, 126 * PIECE], 63 * PIECE),
        ("any", [2, 126 * PIECE - 1], 63 * PIECE),
    ] {
        add_exact(tile, shape, Rows::Halves(shortest));
    }
    for (tile, width) in [("n128", 79), ("n2048", 1279), ("any", 2559)] {
        add_exact(tile, [1, width], Rows::UnevenHalves);
    }
    for tile in ["n128", "n512", "n2048", "n8192", "any"] {
        let most = tile[1..].parse().unwrap_or(usize::MAX);
        for width in LAST_PARTS.into_iter().filter(|width| *width <= most) {
            add_exact(tile, [1, width], Rows::LastPart);
        }
    }
    cases.extend(end_cases());
    cases
}
