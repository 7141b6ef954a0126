//! Cases of `l2norm`.

use hk_core::dtype::{DType, Real, decode};
use hk_ref::norm::l2norm::l2norm as reference;
use hk_ref::{
    Arg, Case, Draw, Edge, Expected, NOT_ZERO_OR_MORE, Placement, REALS, RowCase, Setup, Size,
    Types, real,
};

use super::between;
use crate::{L2normOut, l2norm_into};

/// Shapes `[rows, width]` of the specification.
pub(super) const SHAPES: [[usize; 2]; 8] =
    [[512, 128], [1, 1], [3, 64], [33, 96], [5, 512], [5, 513], [2, 4096], [1, 65_536]];

/// Shapes of models: queries and keys of Qwen3-Next, and rows as wide as two heads.
pub(super) const MODELS: [[usize; 2]; 2] = [[131_072, 128], [65_536, 256]];

/// The most elements of rows that are not long: errors of f32 are held to tighter bounds there.
pub(super) const NOT_LONG: usize = 4096;

/// Types with the range for numbers whose squares are subnormal.
const SMALL: [DType; 2] = [DType::Bf16, DType::F32];

/// The reciprocal norm of rows that begin with its inverse.
const FIRST: f64 = 1.0 / (1 << 20) as f64;

/// What is put into rows.
#[derive(Clone, Copy, PartialEq)]
enum Special {
    None,
    /// Results are next to the middle between two numbers of their type, and exact, since the first element
    /// of a row is so large that the other squares do not count.
    Ties,
    /// An infinity in the first row, a NaN at the end of the second, nothing but zeros in the third.
    Values,
}

/// What varies between cases, apart from element types.
#[derive(Clone, Copy)]
struct Spec {
    row: RowCase,
    draw: Draw,
    special: Special,
    eps: f32,
}

impl Spec {
    fn new(row: RowCase) -> Self {
        Self { row, draw: Draw::Normal, special: Special::None, eps: 1e-6 }
    }

    fn case(self, x: DType, y: DType) -> Case {
        let set_up = move |s: &mut Setup| real!(x, X => real!(y, Y => set_up::<X, Y>(s, self)));
        self.row.case("l2norm", "l2norm", &[x, y], set_up)
    }
}

/// Element `i` of [`Special::Ties`] that is not a row's first.
fn tie(i: usize, y: DType) -> f64 {
    match y {
        // Only subnormal numbers of f16 have numbers of bf16 between them.
        DType::F16 => ((i / 2 % 100) as f64 + 0.5) * 2f64.powi(-24) / FIRST,
        _ => between(i),
    }
}

/// With the smaller errors that results of f32 may have where rows are not long.
fn tight(mut expected: Expected, dtype: DType, width: usize) -> Expected {
    if dtype == DType::F32 && width <= NOT_LONG {
        for (allowed, value) in expected.allowed.iter_mut().zip(&expected.values) {
            *allowed = f64::min(*allowed, 5e-7 * value.abs() + 1e-7);
        }
    }
    expected
}

fn set_up<X: Real, Y: Real>(s: &mut Setup, spec: Spec) {
    let (shape, [rows, width]) = (&spec.row.shape, spec.row.shape);
    let mut x = s.draw::<X>("x", shape, spec.draw);
    match spec.special {
        Special::None => {}
        Special::Ties => {
            let number = |i| if i % width == 0 { 1.0 / FIRST } else { tie(i, Y::DTYPE) };
            x = (0..rows * width).map(|i| X::from_f64(number(i))).collect();
        }
        Special::Values => {
            x[1] = X::from_f64(f64::INFINITY);
            x[2 * width - 1] = X::from_f64(f64::NAN);
            x[2 * width..].fill(X::from_f64(0.0));
        }
    }
    let x = s.given("x", shape, x);
    let (y, rstd) = reference(&x.numbers(), width, spec.eps);
    let scaled = || x.numbers().iter().map(|x| x * FIRST).collect::<Vec<_>>();
    let y = match spec.special {
        Special::Ties => Expected::exact(decode(&Y::encode(&scaled()))),
        _ => tight(Expected::rounded(y, Y::DTYPE, spec.draw == Draw::Normal), Y::DTYPE, width),
    };
    let y = s.output::<Y>("y", shape, y);
    let rstd = tight(Expected::relative(rstd, 2e-6), DType::F32, width);
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

/// What the suite has for odd widths only, for other tiles, or for each type to itself.
pub(super) fn more_rows() -> Vec<RowCase> {
    let mut rows = Vec::new();
    // Waves that have fewer rows than they could, in the first turn and in the last.
    let place = Placement::DENSE.gap(3).edge(Edge::End);
    for (shape, workgroups) in [([3, 48], None), ([19, 48], Some(1)), ([19, 43], Some(1))] {
        let end = RowCase::of_tiles(shape, "end of memory");
        rows.extend(end.map(|row| RowCase { workgroups, place, ..row }));
    }
    // Rows that share a wave, nearly as far apart as they may be: 2^30 bytes behind the first of f32
    // there is an element of the third.
    for width in [96, 99] {
        let place = Placement::DENSE.gap((1 << 27) - 32 - width);
        let (tile, size) = (Some("n128"), Size::Core);
        let wave = RowCase::new([4, width], "rows of a wave far apart");
        rows.push(RowCase { tile, place, size, ..wave });
    }
    // Rows beyond 2^32 bytes, and those of 16-bit elements beyond 2^32 elements. Five, of which the
    // last comes in a later turn, are nearer: tensors take 16 GiB at most.
    for (tile, [height, width], workgroups) in [
        ("n512", [2, 43], None),
        ("n512", [5, 43], Some(1)),
        ("n8192", [2, 43], None),
        ("n8192", [2, 43], Some(1)),
        ("any", [2, 16_901], None),
        ("any", [2, 16_901], Some(1)),
    ] {
        for width in [width, width + 1] {
            let (place, size) = (Placement::DENSE.gap(3 << 31), Size::Core);
            let far = RowCase::new([height, width], "rows of all types far apart");
            rows.push(RowCase { tile: Some(tile), workgroups, place, size, ..far });
        }
    }
    rows
}

/// Every case.
pub(crate) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    let mut add = |spec: Spec| cases.extend(spec.row.pairs().map(|(x, y)| spec.case(x, y)));
    let plain = SHAPES.iter().map(|shape| RowCase::new(*shape, "plain"));
    let rows = RowCase::suite().into_iter().chain(more_rows()).chain(plain);
    for row in rows.chain(RowCase::models(&MODELS)) {
        add(Spec::new(row));
    }
    add(Spec { draw: Draw::Zeros, ..Spec::new(RowCase::new([9, 130], "zeros")) });
    // Magnitudes whose squares are subnormal.
    for shape in [[5, 301], [5, 300], [2, 16_901], [2, 16_896]] {
        let small = RowCase { types: Types::Only(&SMALL), ..RowCase::new(shape, "small") };
        add(Spec { draw: Draw::Scaled(-56), eps: 1e-36, ..Spec::new(small) });
    }
    let of_tiles = |rows, name| [63, 64].map(|width| RowCase::of_tiles([rows, width], name));
    for row in of_tiles(9, "ties").into_iter().flatten() {
        let ties = Spec { special: Special::Ties, ..Spec::new(row) };
        cases.push(ties.case(DType::F32, DType::Bf16));
        cases.push(ties.case(DType::Bf16, DType::F16));
    }
    // By so large a number zeros are multiplied that any other in their place is seen.
    let eps = f32::from_bits(1);
    for row in of_tiles(3, "special values, least eps").into_iter().flatten() {
        let special = Spec { special: Special::Values, eps, ..Spec::new(row) };
        cases.extend(REALS.map(|y| special.case(DType::Bf16, y)));
        cases.extend([DType::F16, DType::F32].map(|dtype| special.case(dtype, dtype)));
    }
    // So many pieces that sums are folded. Without that, the rounding errors of equal numbers are
    // too large.
    for more in [9, 10] {
        let fold = RowCase { size: Size::Core, ..RowCase::new([1, (64 << 14) + more], "fold") };
        cases.extend(REALS.map(|y| Spec::new(fold).case(DType::Bf16, y)));
    }
    for width in [8 << 20, (8 << 20) + 1] {
        let equal = RowCase { size: Size::Core, ..RowCase::new([1, width], "equal") };
        let equal = Spec { draw: Draw::Equal, ..Spec::new(equal) };
        cases.push(equal.case(DType::F32, DType::Bf16));
    }
    cases
}
