//! Cases of `rmsnorm_pad` and `fused_add_rmsnorm_pad`.

use hk_core::dtype::{DType, Real, decode};
use hk_ref::norm::fused_add_rmsnorm_pad::add_into;
use hk_ref::norm::rmsnorm::rmsnorm as reference;
use hk_ref::{Case, Draw, Expected, NOT_POSITIVE, REALS, RowCase, Setup, Types, real};

use super::between;
use crate::{
    FusedAddRmsnormPadOut, RmsnormPadOptions, fused_add_rmsnorm_pad_into, rmsnorm_pad_into,
};

/// Rows and widths of the specification, each with each, with padding and without.
const ROWS: [usize; 6] = [1, 4, 8, 16, 32, 256];
const WIDTHS: [usize; 5] = [4, 16, 320, 640, 2880];

/// Shapes of the specification with the number of which rows become a multiple: more than it, as wide
/// as it, and less.
const PADDED: [([usize; 2], usize); 3] = [([3, 257], 256), ([7, 256], 256), ([5, 4], 256)];

/// A number of which bf16 has the lowest bit.
const ODD: f32 = 1.0 + 1.0 / 128.0;

/// Elements of a piece, of rows in pieces.
const PIECE: usize = 8192;

/// Shapes of models: GPT-OSS, and widths of the specification.
const MODELS: [[usize; 2]; 5] = [[8192, 2880], [8192, 640], [8192, 320], [8192, 16], [8192, 4]];

/// What varies between cases, apart from element types.
#[derive(Clone, Copy)]
struct Spec {
    row: RowCase,
    /// The type of the residual, if there is one.
    residual: Option<DType>,
    pad: usize,
    offset: f32,
    /// Row 1 has a NaN, and row 2 both infinities.
    special: bool,
    /// The weight lies between two numbers of the type of y: see [`between`].
    ties: bool,
    /// The weight is [`ODD`], and so is minus its offset, so that results are zeros.
    vanishing: bool,
    /// Rows of f32 begin with a piece that has nearly all of the sum of squares.
    heavy: bool,
    draw: Draw,
}

impl Spec {
    fn new(row: RowCase, pad: usize) -> Self {
        let (residual, offset, draw) = (None, 0.0, Draw::Normal);
        let [special, ties, vanishing, heavy] = [false; 4];
        Self { row, residual, pad, offset, special, ties, vanishing, heavy, draw }
    }

    fn padded(&self) -> usize {
        let width = self.row.shape[1];
        if self.pad == 0 { width } else { width.next_multiple_of(self.pad) }
    }

    /// Rows of that type with a weight of the other, and a residual as it is said.
    fn case(self, x: DType, weight: DType) -> Case {
        let op = if self.residual.is_some() { "fused_add_rmsnorm_pad" } else { "rmsnorm_pad" };
        let dtypes: Vec<_> = [Some(x), self.residual, Some(weight)].into_iter().flatten().collect();
        let residual = self.residual.unwrap_or(x);
        let set_up = move |s: &mut Setup| {
            real!(x, T => real!(residual, R => real!(weight, W => set_up::<T, R, W>(s, self))));
        };
        let mut case = self.row.case("fused_add_rmsnorm_pad", op, &dtypes, set_up);
        let residual = self.residual.map(|of| format!(", residual {of}")).unwrap_or_default();
        case.info.case += &format!(", padded to {}, weight {weight}{residual}", self.padded());
        case
    }

    /// Both ops, with each pair of types for the weight, and for the residual.
    fn cases(self) -> impl Iterator<Item = Case> {
        self.row.pairs().flat_map(move |(x, other)| {
            let fused = Self { residual: Some(other), ..self };
            // In place is what the residual alone can be.
            let plain = (!self.row.in_place).then(|| self.case(x, other));
            // Each type of weight with each of a residual is a loop of its own, for rows of 16 and of 32 bits.
            let all = x != DType::F16 && self.row.name == "turns";
            let weights = REALS.into_iter().filter(move |weight| *weight == x || all);
            plain.into_iter().chain(weights.map(move |weight| fused.case(x, weight)))
        })
    }
}

fn set_up<T: Real, R: Real, W: Real>(s: &mut Setup, spec: Spec) {
    const EPS: f32 = 1e-6;
    let (shape, [height, width]) = (&spec.row.shape, spec.row.shape);
    let mut x = s.draw::<T>("x", shape, spec.draw);
    let mut weight = s.draw::<W>("weight", &[width], Draw::Normal);
    let mut residual = spec.residual.map(|_| s.draw::<R>("residual", shape, spec.draw));
    if spec.special {
        x[width + width / 3] = T::from_f64(f64::NAN);
        // Beside a number of which bf16 has the lowest bit.
        let infinite = 2 * width + width / 3;
        x[infinite - 1] = T::from_f64(1.0 + 2f64.powi(-7));
        x[infinite] = T::from_f64(f64::NEG_INFINITY);
        x[3 * width - 1] = T::from_f64(f64::INFINITY);
    }
    if spec.ties {
        x = (0..x.len()).map(|i| T::from_f64([1.0, -1.0][i % 2])).collect();
        residual = residual.map(|residual| vec![R::from_f64(0.0); residual.len()]);
        weight = (0..width).map(|i| W::from_f64(between(i))).collect();
    }
    if spec.vanishing {
        // Of two elements of 16 bits that are a dword, what is left of one in the other shows here.
        weight.fill(W::from_f64(ODD.into()));
    }
    let heavy = spec.heavy && T::DTYPE == DType::F32;
    if heavy {
        // A lane's squares come to 2^24 in the first piece and to 1 in others. These are lost if
        // they are added to that one by one, and not to each other first.
        x = (0..x.len()).map(|i| T::from_f64(if i < PIECE { 1024.0 } else { 0.25 })).collect();
        residual = residual.map(|residual| vec![R::from_f64(0.0); residual.len()]);
    }
    let (sum, rounded) = add_into::<T, R>(&x, residual.as_deref());
    let y = reference(&sum, &decode(&weight), EPS, spec.offset).y;
    let padded = spec.padded();
    let with_zeros = |row: &[f64]| [row, &vec![0.0; padded - width]].concat();
    let y: Vec<f64> = y.chunks_exact(width).flat_map(with_zeros).collect();
    let comparable = spec.draw == Draw::Normal && !spec.special;
    let y = match (spec.ties || spec.vanishing, heavy) {
        (true, _) => Expected::exact(y.iter().map(|y| T::from_f64(*y).to_f64()).collect()),
        (_, true) => Expected::relative(y, 1e-6),
        _ => Expected::rounded(y, T::DTYPE, comparable),
    };
    let x = s.given("x", shape, x);
    let weight = s.given("weight", &[width], weight);
    // Of the same row as of x, in rows of another width.
    let place = s.carried(|element| element / width * padded);
    let y = s.output::<T>("y", &[height, padded], y);
    let y = if place.carry.is_some() { y.place(place) } else { y };
    let fused = residual.map(|residual| {
        let sum = s.output::<R>("residual_out", shape, Expected::exact(decode(&rounded)));
        (s.given("residual", shape, residual), sum)
    });
    let options = RmsnormPadOptions::default().pad_to_multiple(spec.pad);
    let options = options.weight_offset(spec.offset).rows(spec.row.options());
    let eps = s.number("eps", EPS, NOT_POSITIVE);
    s.call(move || {
        let (x, weight, y) = (&x.get(), &weight.get(), &mut *y.get());
        let Some((residual, sum)) = &fused else {
            return rmsnorm_pad_into(x, weight, eps.get(), &options, y);
        };
        let out = FusedAddRmsnormPadOut { y, residual_out: &mut *sum.get() };
        fused_add_rmsnorm_pad_into(x, &residual.get(), weight, eps.get(), &options, out)
    });
}

/// Every case.
pub(crate) fn cases() -> Vec<Case> {
    let each = |shape, name| RowCase { types: Types::Each, ..RowCase::new(shape, name) };
    // Rows end in a way of their own for each type of residual.
    let types = |row: RowCase| if row.name == "end of memory" { Types::Pairs } else { row.types };
    let suite = RowCase::suite().into_iter().map(|row| RowCase { types: types(row), ..row });
    let of_row = |row: RowCase| Spec { heavy: row.name == "long", ..Spec::new(row, padding(row)) };
    let mut specs: Vec<_> = suite.map(of_row).collect();
    for shape in ROWS.into_iter().flat_map(|rows| WIDTHS.map(|width| [rows, width])) {
        specs.extend([0, 256].map(|pad| Spec::new(each(shape, "plain"), pad)));
    }
    for (shape, pad) in PADDED {
        let offset = Spec { offset: 1.0, ..Spec::new(each(shape, "weights from one"), pad) };
        specs.extend([Spec::new(each(shape, "plain"), pad), offset]);
    }
    let even = RowCase::of_tiles([3, 100], "special");
    // Odd rows have loops of their own, one for each type of a residual.
    let odd = RowCase::of_tiles([3, 101], "special");
    let odd = odd.map(|row| RowCase { types: Types::Pairs, ..row });
    let special = even.chain(odd);
    specs.extend(special.map(|row| Spec { special: true, ..Spec::new(row, 11) }));
    for row in [100, 101].into_iter().flat_map(|w| RowCase::of_tiles([3, w], "vanishing weight")) {
        let row = RowCase { types: Types::Pairs, ..row };
        specs.push(Spec { vanishing: true, offset: -ODD, ..Spec::new(row, 0) });
    }
    specs.push(Spec { draw: Draw::Zeros, ..Spec::new(each([9, 130], "zeros"), 16) });
    let mut cases: Vec<_> = specs.into_iter().flat_map(Spec::cases).collect();
    for row in RowCase::of_tiles([9, 63], "ties").chain(RowCase::of_tiles([9, 64], "ties")) {
        let ties = Spec { ties: true, ..Spec::new(row, 0) };
        cases.push(ties.case(DType::Bf16, DType::F32));
        let fused = Spec { residual: Some(DType::F32), ..ties };
        cases.push(fused.case(DType::Bf16, DType::F32));
    }
    for row in RowCase::models(&MODELS) {
        cases.extend([0, 256].into_iter().flat_map(|pad| Spec::new(row, pad).cases()));
    }
    cases
}

/// A padding for rows of the suite: as much as their tile has room for, even and odd.
fn padding(row: RowCase) -> usize {
    match (row.tile, row.shape[1]) {
        (Some("n128"), 24..) => 0,
        (Some("n128"), width) => width + 8 - width % 2,
        (Some("n8192"), _) => 2700,
        (_, width) if width.is_multiple_of(8) => 16,
        _ => 13,
    }
}
