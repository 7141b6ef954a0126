//! Cases of `l2norm`.

use hk_core::dtype::{DType, Real, decode};
use hk_ref::norm::l2norm::l2norm as reference;
use hk_ref::{Arg, Case, Draw, Expected, NOT_ZERO_OR_MORE, RowCase, Setup, Types, real};

use super::between;
use crate::{L2normOut, l2norm_into};

/// Shapes `[rows, width]` of the specification.
pub(super) const SHAPES: [[usize; 2]; 8] =
    [[512, 128], [1, 1], [3, 64], [33, 96], [5, 512], [5, 513], [2, 4096], [1, 65_536]];

/// Shapes of models: queries and keys of Qwen3-Next, and rows as wide as two heads.
pub(super) const MODELS: [[usize; 2]; 2] = [[131_072, 128], [65_536, 256]];

/// Types with the range for numbers whose squares are subnormal.
const SMALL: [DType; 2] = [DType::Bf16, DType::F32];

/// The reciprocal norm of rows that begin with its inverse.
const FIRST: f64 = 1.0 / (1 << 20) as f64;

/// What varies between cases, apart from element types.
#[derive(Clone, Copy)]
struct Spec {
    row: RowCase,
    draw: Draw,
    /// Results are next to the middle between two numbers of their type, and exact, since the first element
    /// of a row is so large that the other squares do not count.
    ties: bool,
    eps: f32,
}

impl Spec {
    fn new(row: RowCase) -> Self {
        Self { row, draw: Draw::Normal, ties: false, eps: 1e-6 }
    }

    fn case(self, x: DType, y: DType) -> Case {
        let set_up = move |s: &mut Setup| real!(x, X => real!(y, Y => set_up::<X, Y>(s, self)));
        self.row.case("l2norm", "l2norm", &[x, y], set_up)
    }
}

fn set_up<X: Real, Y: Real>(s: &mut Setup, spec: Spec) {
    let (shape, [rows, width]) = (&spec.row.shape, spec.row.shape);
    let number = |i| X::from_f64(if i % width == 0 { 1.0 / FIRST } else { between(i) });
    let x = match spec.ties {
        true => s.given("x", shape, (0..rows * width).map(number).collect()),
        false => s.input::<X>("x", shape, spec.draw),
    };
    let (y, rstd) = reference(&x.numbers(), width, spec.eps);
    let scaled = || x.numbers().iter().map(|x| x * FIRST).collect::<Vec<_>>();
    let y = match spec.ties {
        true => Expected::exact(decode(&Y::encode(&scaled()))),
        false => Expected::rounded(y, Y::DTYPE, spec.draw == Draw::Normal),
    };
    let y = s.output::<Y>("y", shape, y);
    let rstd = Expected::relative(rstd, 2e-6);
    let each_row = s.carried(|element| element / width);
    let wants_rstd = ![18, 21].contains(&width);
    let rstd = wants_rstd.then(|| s.output::<f32>("rstd", &[rows], rstd).place(each_row));
    let eps = s.number("eps", spec.eps, NOT_ZERO_OR_MORE);
    s.call(move || {
        let mut rstd = rstd.as_ref().map(Arg::get);
        let out = L2normOut { y: &mut y.get(), rstd: rstd.as_deref_mut() };
        l2norm_into(&x.get(), eps.get(), &spec.row.options(), out)
    });
}

/// Every case.
pub(crate) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    let mut add = |spec: Spec| cases.extend(spec.row.pairs().map(|(x, y)| spec.case(x, y)));
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
        cases.push(Spec { ties: true, ..Spec::new(row) }.case(DType::F32, DType::Bf16));
    }
    cases
}
