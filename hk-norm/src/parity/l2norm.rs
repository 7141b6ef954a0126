//! Cases of `l2norm` and `l2norm_bwd`.

use hk_core::dtype::{DType, Element, Real, decode};
use hk_ref::norm::l2norm::{l2norm as reference, l2norm_bwd as reference_bwd};
use hk_ref::{Arg, Case, Draw, Expected, RowCase, Setup, Types, real};

use crate::{L2normOut, l2norm_bwd_into, l2norm_into};

/// Shapes `[rows, width]` of the specification.
const SHAPES: [[usize; 2]; 8] =
    [[512, 128], [1, 1], [3, 64], [33, 96], [5, 512], [5, 513], [2, 4096], [1, 65_536]];

/// Types with the range for numbers whose squares are subnormal.
const SMALL: [DType; 2] = [DType::Bf16, DType::F32];

/// Shapes of models: queries and keys of Qwen3-Next, and rows as wide as two heads.
const MODELS: [[usize; 2]; 2] = [[131_072, 128], [65_536, 256]];

/// What varies between cases, apart from element types.
#[derive(Clone, Copy)]
struct Spec {
    row: RowCase,
    draw: Draw,
    /// Results are next to the middle between two numbers of their type, and exact. Forward, since
    /// the first element of a row is so large that the other squares do not count; backward, since y
    /// is zero, so that only rstd does.
    ties: bool,
    eps: f32,
    rstd: bool,
}

impl Spec {
    fn new(row: RowCase) -> Self {
        let rstd = ![18, 21].contains(&row.shape[1]);
        Self { row, draw: Draw::Normal, ties: false, eps: 1e-6, rstd }
    }

    /// Elements of x.
    fn x<T: Real>(&self, s: &Setup) -> Vec<T> {
        let [rows, width] = self.row.shape;
        if !self.ties {
            return s.draw("x", &self.row.shape, self.draw);
        }
        let number = |i| if i % width == 0 { 1.0 / FIRST } else { between(i) };
        (0..rows * width).map(|i| T::from_f64(number(i))).collect()
    }
}

/// The reciprocal norm of rows that begin with its inverse.
const FIRST: f64 = 1.0 / (1 << 20) as f64;

/// A number above one of bf16 by a half of the distance to the next, or by a little less or more.
fn between(i: usize) -> f64 {
    let parts = [0.5, 0.5 - 2f64.powi(-12), 0.5 + 2f64.powi(-12), 0.25];
    1.0 + ((i / 4 % 100) as f64 + parts[i % 4]) / 128.0
}

/// Rows of type `x` to rows of type `y`.
fn forward(spec: Spec, x: DType, y: DType) -> Case {
    let set_up = move |s: &mut Setup| real!(x, X => real!(y, Y => set_up::<X, Y>(s, spec)));
    spec.row.case("l2norm", "l2norm", &[x, y], set_up)
}

fn set_up<X: Real, Y: Real>(s: &mut Setup, spec: Spec) {
    let (shape, [rows, width], eps) = (&spec.row.shape, spec.row.shape, spec.eps);
    let x = s.given("x", shape, spec.x::<X>(s));
    let (y, rstd) = reference(&x.numbers(), width, eps);
    let scaled = || x.numbers().iter().map(|x| x * FIRST).collect::<Vec<_>>();
    let y = match spec.ties {
        true => Expected::exact(decode(&Y::encode(&scaled()))),
        false => Expected::rounded(y, Y::DTYPE, spec.draw == Draw::Normal),
    };
    let y = s.output::<Y>("y", shape, y);
    let rstd = Expected::relative(rstd, 2e-6);
    let each_row = s.carried(|element| element / width);
    let rstd = spec.rstd.then(|| s.output::<f32>("rstd", &[rows], rstd).place(each_row));
    s.call(move || {
        let mut rstd = rstd.as_ref().map(Arg::get);
        let out = L2normOut { y: &mut y.get(), rstd: rstd.as_deref_mut() };
        l2norm_into(&x.get(), eps, &spec.row.options(), out)
    });
}

fn backward(spec: Spec, dtype: DType) -> Case {
    let set_up = move |s: &mut Setup| real!(dtype, T => set_up_bwd::<T>(s, spec));
    spec.row.case("l2norm", "l2norm_bwd", &[dtype], set_up)
}

fn set_up_bwd<T: Real>(s: &mut Setup, spec: Spec) {
    let (shape, [rows, width]) = (&spec.row.shape, spec.row.shape);
    // What the forward pass would store: rounded.
    let (y, rstd) = reference(&decode(&spec.x::<T>(s)), width, spec.eps);
    let (mut y, mut rstd) = (T::encode(&y), f32::encode(&rstd));
    let mut dy: Vec<T> = s.draw("dy", shape, spec.draw);
    if spec.ties {
        y = vec![T::from_f64(0.0); y.len()];
        rstd = (0..rows).map(|i| between(i) as f32).collect();
        dy = (0..dy.len()).map(|i| T::from_f64([1.0, -1.0][i % 2])).collect();
    }
    let each_row = s.carried(|element| element / width);
    let y = s.given("y", shape, y);
    let rstd = s.given("rstd", &[rows], rstd).place(each_row);
    let dy = s.given("dy", shape, dy);
    let (dx, slack) = reference_bwd(&y.numbers(), &rstd.numbers(), &dy.numbers(), width);
    let dx = match spec.ties {
        true => Expected::exact(decode(&T::encode(&dx))),
        false => Expected::rounded(dx, T::DTYPE, false).plus(slack),
    };
    let dx = s.output::<T>("dx", shape, dx);
    s.call(move || {
        l2norm_bwd_into(&y.get(), &rstd.get(), &dy.get(), &spec.row.options(), &mut dx.get())
    });
}

/// Every case.
pub(crate) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    let mut add = |spec: Spec| {
        cases.extend(spec.row.pairs().map(|(x, y)| forward(spec, x, y)));
        cases.extend(spec.row.inputs().iter().map(|dtype| backward(spec, *dtype)));
    };
    let plain = SHAPES.iter().map(|shape| RowCase::new(*shape, "plain"));
    for row in RowCase::suite().into_iter().chain(plain).chain(RowCase::models(&MODELS)) {
        add(Spec::new(row));
    }
    add(Spec { draw: Draw::Zeros, ..Spec::new(RowCase::new([9, 130], "zeros")) });
    // Magnitudes whose squares are subnormal.
    for shape in [[5, 301], [5, 300], [2, 16_901], [2, 16_896]] {
        let small = RowCase { types: Types::Only(&SMALL), ..RowCase::new(shape, "small") };
        add(Spec { draw: Draw::Scaled(-56), eps: 1e-36, ..Spec::new(small) });
    }
    for row in RowCase::of_tiles([9, 63], "ties").chain(RowCase::of_tiles([9, 64], "ties")) {
        let ties = Spec { ties: true, ..Spec::new(row) };
        cases.push(forward(ties, DType::F32, DType::Bf16));
        cases.push(backward(ties, DType::Bf16));
    }
    cases
}
