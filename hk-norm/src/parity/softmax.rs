//! Cases of `softmax`.

use hk_core::dtype::{DType, Real};
use hk_ref::norm::softmax::{expected, softmax as reference};
use hk_ref::{Case, CaseInfo, Draw, Expected, REALS, RowCase, Setup, Size, Types, real};

use super::l2norm::more_rows;
use crate::{RowOptions, softmax_into};

/// Shapes `[rows, width]` of the specification.
const SHAPES: [[usize; 2]; 10] = [
    [1, 1],
    [128, 1],
    [359, 1],
    [1, 128],
    [1, 359],
    [182, 781],
    [64, 1024],
    [8, 8192],
    [1, 89_999],
    [1, 131_072],
];

/// Shapes of models: attention, and logits of Llama 3, Qwen3 and GPT-OSS.
const MODELS: [[usize; 2]; 10] = [
    [512, 128],
    [512, 1024],
    [512, 4096],
    [512, 8192],
    [1823, 781],
    [4096, 8192],
    [8192, 8192],
    [256, 128_256],
    [256, 151_936],
    [64, 201_088],
];

/// What is put into rows after they were drawn.
#[derive(Clone, Copy, PartialEq)]
enum Special {
    None,
    /// -inf in the first part of each row, of so many elements.
    Masked(usize),
    /// A row each with one -inf, with nothing else, with +inf, with NaN at its end, and with all three.
    Values,
}

/// What varies between cases, apart from element types.
#[derive(Clone, Copy)]
struct Spec {
    row: RowCase,
    draw: Draw,
    special: Special,
}

impl Spec {
    fn new(row: RowCase) -> Self {
        Self { row, draw: Draw::Normal, special: Special::None }
    }

    fn case(self, x: DType, y: DType) -> Case {
        let set_up = move |s: &mut Setup| real!(x, X => real!(y, Y => set_up::<X, Y>(s, self)));
        self.row.case("softmax", "softmax", &[x, y], set_up)
    }

    /// Rows of each type, to each other one that its rows are for.
    fn cases(self) -> impl Iterator<Item = Case> {
        self.row.pairs().map(move |(x, y)| self.case(x, y))
    }
}

fn set_up<X: Real, Y: Real>(s: &mut Setup, spec: Spec) {
    let (shape, width) = (&spec.row.shape, spec.row.shape[1]);
    let mut x = s.draw::<X>("x", shape, spec.draw);
    let [inf, nan] = [f64::INFINITY, f64::NAN].map(X::from_f64);
    let least = X::from_f64(f64::NEG_INFINITY);
    match spec.special {
        Special::None => {}
        Special::Masked(count) => x.chunks_mut(width).for_each(|row| row[..count].fill(least)),
        Special::Values => {
            x[width / 3] = least;
            x[width..2 * width].fill(least);
            x[3 * width - 1] = inf;
            x[4 * width - 1] = nan;
            x[4 * width..][..3].copy_from_slice(&[inf, nan, least]);
        }
    }
    let x = s.given("x", shape, x);
    let comparable = (spec.draw, spec.special) == (Draw::Normal, Special::None);
    let y = expected(reference(&x.numbers(), width), Y::DTYPE, comparable);
    let y = s.output::<Y>("y", shape, y);
    s.call(move || softmax_into(&x.get(), &spec.row.options(), &mut *y.get()));
}

/// No rows of each of several matrices, which are further apart than that: nothing is done.
fn no_rows(dtype: DType) -> Case {
    let name = "no rows of several matrices";
    let info = CaseInfo::new("softmax", "softmax", name, &[dtype], &[3, 0, 16]);
    Case::new(info, move |s| real!(dtype, T => set_up_no_rows::<T>(s)))
}

fn set_up_no_rows<T: Real>(s: &mut Setup) {
    let x = s.input::<T>("x", &[3, 4, 16], Draw::Normal);
    let y = s.output::<T>("y", &[3, 0, 16], Expected::exact(Vec::new()));
    s.call(move || {
        let x = x.get();
        softmax_into(&x.narrow(1, 0..0)?, &RowOptions::default(), &mut *y.get())
    });
}

/// Every case.
pub(crate) fn cases() -> Vec<Case> {
    let plain = SHAPES.iter().map(|shape| RowCase::new(*shape, "plain"));
    let rows = RowCase::suite().into_iter().chain(more_rows()).chain(plain);
    let mut specs: Vec<_> = rows.chain(RowCase::models(&MODELS)).map(Spec::new).collect();
    let each = |shape, name| RowCase { types: Types::Each, ..RowCase::new(shape, name) };
    let special = RowCase::of_tiles([6, usize::MAX], "special");
    specs.extend(special.map(|row| Spec { special: Special::Values, ..Spec::new(row) }));
    for (power, name) in [(-30, "all but equal"), (4, "apart"), (12, "far apart")] {
        let rows = [[5, 301], [2, 17_003]].map(|shape| each(shape, name));
        specs.extend(rows.map(|row| Spec { draw: Draw::Scaled(power), ..Spec::new(row) }));
    }
    // The first pieces of rows have no finite number.
    let masked = Spec::new(each([2, 50_003], "begins with -inf"));
    specs.push(Spec { special: Special::Masked(40_000), ..masked });
    let mut cases: Vec<_> = specs.into_iter().flat_map(Spec::cases).collect();
    // One of the powers is 1. If the last bit of f32 were another in an element, even that would
    // vanish, or be infinite.
    for row in [63, 64].into_iter().flat_map(|width| RowCase::of_tiles([5, width], "one-hot")) {
        let apart = Spec { draw: Draw::Scaled(40), ..Spec::new(row) };
        cases.extend(REALS.map(|y| apart.case(DType::Bf16, y)));
    }
    // So many pieces that sums are folded twice.
    for width in [1_040_401, 1_040_402] {
        let long = RowCase { size: Size::Core, ..RowCase::new([1, width], "folded twice") };
        cases.extend(REALS.map(|y| Spec::new(long).case(DType::Bf16, y)));
    }
    cases.extend(REALS.map(no_rows));
    cases
}
