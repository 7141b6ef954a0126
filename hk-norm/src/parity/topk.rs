//! Cases of `topk`.

use hk_core::dtype::{DType, Real};
use hk_ref::expected::half_subnormal;
use hk_ref::norm::topk::topk as reference;
use hk_ref::{Case, CaseInfo, Draw, Edge, Expected, Placement, REALS, Setup, Size, real};

use crate::topk::Column;
use crate::{RowOptions, TopkOut, topk_into, topk_values_f32_into};

/// `[rows, width, k]` of the specification beside [`short`], and such in which k is beside a power of two,
/// more than is sorted at once, or all of a row.
const SHAPES: [[usize; 3]; 24] = [
    [64, 128, 1],
    [64, 128, 8],
    [64, 128, 32],
    [16, 1024, 1],
    [16, 1024, 8],
    [16, 1024, 32],
    [4, 4096, 1],
    [4, 4096, 8],
    [4, 4096, 32],
    [3, 1, 1],
    [5, 257, 257],
    [2, 20_011, 64],
    [7, 384, 8],
    [3, 1000, 9],
    [6, 1023, 16],
    [5, 1024, 17],
    [5, 1025, 16],
    [2, 8191, 127],
    [2, 8192, 129],
    [1, 8193, 2047],
    [2, 5000, 4500],
    [1, 20_000, 2049],
    [1, 33_000, 6000],
    [0, 64, 4],
];

/// One to eight of the shortest rows of the specification.
fn short() -> impl Iterator<Item = [usize; 3]> {
    (1..=8).flat_map(|rows| [2, 8].map(|k| [rows, 16, k]))
}

/// Shapes of models: routers, logits, and the choice of tokens for sparse attention.
const LARGE: [[usize; 3]; 13] = [
    [64, 128, 8],
    [64, 1024, 1],
    [64, 1024, 8],
    [64, 1024, 32],
    [64, 4096, 1],
    [64, 4096, 8],
    [64, 4096, 32],
    [1335, 128_256, 2],
    [1335, 128_256, 8],
    [256, 151_936, 50],
    [4096, 256, 8],
    [4096, 512, 10],
    [32, 129_280, 2048],
];

/// What rows hold.
#[derive(Clone, Copy)]
enum Content {
    Drawn(Draw),
    /// Numbers of which there are few, so that most are equal to others.
    Few,
    /// Zeros of both signs, infinities, NaN of several bits, and few numbers.
    Special,
    /// So many elements of -inf, then numbers.
    Masked(usize),
    /// Numbers above or below zero only.
    OneSign(f64),
    /// Numbers below zero, and among them zeros of both signs and the numbers next to zero.
    NearZero,
}

/// What varies between cases, apart from element types and places.
#[derive(Clone, Copy)]
struct Spec {
    shape: [usize; 3],
    name: &'static str,
    content: Content,
    workgroups: Option<u32>,
    /// Whether values are in f32 whatever x has.
    in_f32: bool,
}

impl Spec {
    const fn new(shape: [usize; 3], name: &'static str) -> Self {
        let (content, workgroups) = (Content::Drawn(Draw::Normal), None);
        Self { shape, name, content, workgroups, in_f32: false }
    }

    fn case(self, dtype: DType, is_wide: bool) -> Case {
        let indices = if is_wide { DType::I64 } else { DType::I32 };
        let op = if self.in_f32 { "topk_values_f32" } else { "topk" };
        let info = CaseInfo::new("topk", op, self.name, &[dtype, indices], &self.shape);
        Case::new(info, move |s| {
            real!(dtype, T => if is_wide {
                set_up::<T, i64>(s, self);
            } else {
                set_up::<T, i32>(s, self);
            });
        })
        .writes_once()
    }
}

fn elements<T: Real>(s: &Setup, spec: Spec) -> Vec<T> {
    let [rows, width, _] = spec.shape;
    let draw = |draw| s.draw::<T>("x", &[rows, width], draw);
    let few = || draw(Draw::Integers(-3, 4));
    let of_sign = |sign: f64| -> Vec<T> {
        // No zeros, which have their own key.
        let number = |x: &T| T::from_f64(sign * x.to_f64().abs().max(0.01));
        draw(Draw::Normal).iter().map(number).collect()
    };
    match spec.content {
        Content::Drawn(of) => draw(of),
        Content::Few => few(),
        Content::Special => {
            let numbers = [-0.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 0.0, -f64::NAN];
            with_each(few(), 3, numbers)
        }
        Content::Masked(count) => {
            let mut x = few();
            let least = T::from_f64(f64::NEG_INFINITY);
            x.chunks_mut(width).for_each(|row| row[..count].fill(least));
            x
        }
        Content::OneSign(sign) => of_sign(sign),
        Content::NearZero => {
            let least = 2.0 * half_subnormal(T::DTYPE);
            with_each(of_sign(-1.0), 13, [-0.0, 0.0, least, -0.0, 0.0, -least])
        }
    }
}

/// Elements of which the first of each `step` is one of these numbers, in turn.
fn with_each<T: Real>(mut x: Vec<T>, step: usize, numbers: [f64; 6]) -> Vec<T> {
    let numbers = numbers.map(T::from_f64);
    x.iter_mut().step_by(step).zip(numbers.into_iter().cycle()).for_each(|(x, of)| *x = of);
    x
}

fn set_up<T: Real, I: Column>(s: &mut Setup, spec: Spec) {
    let [rows, width, k] = spec.shape;
    let x = elements::<T>(s, spec);
    let numbers = hk_core::dtype::decode(&x);
    let columns = reference(&numbers, width, k);
    let values: Vec<T> =
        columns.iter().enumerate().map(|(i, column)| x[i / k * width + column]).collect();
    let columns = columns.into_iter().map(|column| column as f64).collect();
    let each_row = s.carried(|element| element / width * k);
    let x = s.given("x", &[rows, width], x);
    // Of 8 bytes each, rows as far apart as those of x are more than hosts can commit.
    let near = Placement { gap: each_row.gap.min(8), ..each_row };
    let indices = s.output::<I>("indices", &[rows, k], Expected::exact(columns)).place(near);
    let options = spec.workgroups.into_iter().fold(RowOptions::default(), RowOptions::workgroups);
    if spec.in_f32 {
        let values = Expected::exact(hk_core::dtype::decode(&values));
        let values = s.output::<f32>("values", &[rows, k], values).place(each_row);
        s.call(move || {
            let out = TopkOut { values: &mut *values.get(), indices: &mut *indices.get() };
            topk_values_f32_into(&x.get(), k, &options, out)
        });
        return;
    }
    let values = s.output::<T>("values", &[rows, k], Expected::bits(&values)).place(each_row);
    s.call(move || {
        let out = TopkOut { values: &mut *values.get(), indices: &mut *indices.get() };
        topk_into(&x.get(), k, &options, out)
    });
}

/// Every case.
pub(crate) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    let mut add = |spec: Spec, place: Placement| {
        cases.extend(
            REALS.map(|dtype| spec.case(dtype, spec.shape[1].is_multiple_of(2)).place(place)),
        );
    };
    let dense = Placement::DENSE;
    for shape in SHAPES.into_iter().chain(short()) {
        add(Spec::new(shape, "plain"), dense);
        add(Spec { content: Content::Few, ..Spec::new(shape, "many equal") }, dense);
    }
    // Each kernel, of which the last launch has rows that are not for all waves.
    for shape in [[9, 301, 7], [5, 1301, 21], [3, 9001, 65]] {
        let [rows, width, k] = shape;
        let special = Spec { content: Content::Special, ..Spec::new(shape, "special") };
        add(special, dense);
        add(Spec { shape: [rows, width, width.min(700)], ..special }, dense);
        add(Spec { in_f32: true, ..special }, dense.gap(5).shift(3));
        for (sign, name) in [(1.0, "all above zero"), (-1.0, "all below zero")] {
            add(Spec { content: Content::OneSign(sign), ..Spec::new(shape, name) }, dense);
        }
        let equal = Content::Drawn(Draw::Equal);
        add(Spec { content: equal, ..Spec::new(shape, "all equal") }, dense);
        let least = Content::Masked(width);
        add(Spec { content: least, ..Spec::new(shape, "all -inf") }, dense);
        let masked = Content::Masked(width - k / 2);
        add(Spec { content: masked, ..Spec::new(shape, "begins with -inf") }, dense);
        let turns = Spec { workgroups: Some(1), ..Spec::new(shape, "turns") };
        add(turns, dense.gap(5).shift(3));
        add(Spec::new(shape, "end of memory"), dense.gap(3).edge(Edge::End));
    }
    // In both chunks of a lane. Not all zeros of the longest and of the shortest rows are results.
    let special = Spec { content: Content::Special, ..Spec::new([1, 5003, 500], "special") };
    add(special, dense);
    for shape in [[9, 301, 7], [1, 5003, 500], [1, 9001, 500]] {
        add(Spec { content: Content::NearZero, ..Spec::new(shape, "near zero") }, dense);
    }
    // Of what is beyond 512 elements, the first lane has all, which is all but its last.
    add(Spec::new([2, 519, 3], "ends before a lane's last"), dense);
    // More places without an element are sorted than a workgroup has lanes.
    add(Spec::new([1, 1300, 1030], "beyond a power of two"), dense);
    for dtype in REALS {
        let large = LARGE.map(|shape| Spec::new(shape, "model").case(dtype, true));
        cases.extend(large.map(|case| case.size(Size::Large)));
        // Columns beyond 2^23, whose highest digit is the last but one of 32 bits.
        // Each costs 50 million wave-instructions: by default the type with most digits.
        let long = Spec { content: Content::Few, ..Spec::new([1, 1 << 24, 3], "longest") };
        let size = if dtype == DType::F32 { Size::Core } else { Size::Large };
        cases.push(long.case(dtype, false).size(size));
    }
    // Beyond 2^32 elements, in the next row or in the one after it, and beyond 2^32 bytes. What is
    // zero or NaN is read again from there.
    let far = [(DType::Bf16, 2, 1 << 32), (DType::Bf16, 3, 1 << 31), (DType::F32, 2, 1 << 31)];
    for (dtype, rows, gap) in far {
        for [width, k] in [[43, 5], [43, 40], [9001, 5]] {
            let far = Spec::new([rows, width, k], "rows far apart");
            let special = Spec { content: Content::Special, name: "special, far apart", ..far };
            for spec in [far, special] {
                let spec = Spec { workgroups: Some(1), ..spec };
                cases.push(spec.case(dtype, true).place(dense.gap(gap)).size(Size::Core));
            }
        }
    }
    cases
}
