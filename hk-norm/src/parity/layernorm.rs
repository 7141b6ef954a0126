//! Cases of `layernorm` and `fused_add_layernorm`.

use hk_core::dtype::{DType, Real, decode};
use hk_ref::norm::layernorm::layernorm as reference;
use hk_ref::norm::rmsnorm::add;
use hk_ref::{Arg, Case, Draw, Expected, NOT_POSITIVE, REALS, RowCase, Setup, Types, real};

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

/// Element types of weight and bias, if there are such.
type Columns = (Option<DType>, Option<DType>);

/// What rows hold, apart from what is drawn.
#[derive(Clone, Copy, PartialEq)]
enum Rows {
    Drawn,
    /// With so much added to each element.
    Around(f64),
    /// Each of equal elements.
    Constant,
    /// An infinity in the second, a NaN at the end of the third.
    Special,
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
}

impl Spec {
    fn new(row: RowCase) -> Self {
        let width = row.shape[1];
        let statistics = [![19, 24].contains(&width), ![18, 21, 24].contains(&width)];
        let (fused, draw, rows, eps) = (false, Draw::Normal, Rows::Drawn, 1e-5);
        Self { row, fused, draw, rows, eps, statistics }
    }

    fn case(self, dtype: DType, (weight, bias): Columns) -> Case {
        let op = if self.fused { "fused_add_layernorm" } else { "layernorm" };
        let dtypes: Vec<DType> = [Some(dtype), weight, bias].into_iter().flatten().collect();
        let mut case = self.row.case("layernorm", op, &dtypes, move |s| {
            let (is_weighted, is_biased) = (weight.is_some(), bias.is_some());
            let (weight, bias) = (weight.unwrap_or(DType::F32), bias.unwrap_or(DType::F32));
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
        Rows::Constant => x.chunks_mut(width).for_each(|row| row.fill(row[0])),
        Rows::Special => {
            x[width + width / 3] = T::from_f64(f64::INFINITY);
            x[3 * width - 1] = T::from_f64(f64::NAN);
        }
    }
    x
}

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
    let all = reference(&h, &weights, &biases, eps);
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
        add(Spec { rows: Rows::Constant, ..Spec::new(row) });
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
    cases
}
