//! Cases of `fused_mul_add`.

use hk_core::Result;
use hk_core::dtype::{DType, Real, bf16, decode, f16};
use hk_ref::norm::fused_mul_add::{expected, fused_mul_add as reference};
use hk_ref::{Arg, Case, CaseInfo, Draw, Edge, Placement, REALS, Setup, Size, real};

use crate::{Operand, RowOptions, fused_mul_add_into};

/// Shapes of the specification, and counts with a remainder of a chunk, a piece, and the row as which
/// the kernel counts elements.
const SHAPES: [&[usize]; 10] = [
    &[1],
    &[8],
    &[500],
    &[501],
    &[2, 5, 103],
    &[10_000],
    &[4096],
    &[32, 7168],
    &[0],
    &[(1 << 20) + 1026],
];

/// Shapes of models.
const LARGE: [&[usize]; 2] = [&[16, 50, 4186], &[32_768, 7168]];

/// What an operand is.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Number,
    /// One element in memory.
    Element(DType),
    Tensor(DType),
}

impl Kind {
    fn name(self) -> String {
        match self {
            Self::Number => "number".to_owned(),
            Self::Element(dtype) => format!("element of {dtype}"),
            Self::Tensor(dtype) => format!("{dtype}"),
        }
    }
}

/// What varies between cases, apart from element types and places.
#[derive(Clone, Copy)]
struct Spec {
    shape: &'static [usize],
    name: &'static str,
    draw: Draw,
    /// Infinities and NaN among the elements.
    special: bool,
    /// Operands in other shapes than x, and than `[1]`.
    reshaped: bool,
    workgroups: Option<u32>,
}

impl Spec {
    const fn new(shape: &'static [usize], name: &'static str) -> Self {
        let (draw, special, reshaped, workgroups) = (Draw::Normal, false, false, None);
        Self { shape, name, draw, special, reshaped, workgroups }
    }

    fn case(self, x: DType, a: Kind, b: Kind) -> Case {
        let name = format!("{}, a {}, b {}", self.name, a.name(), b.name());
        let info = CaseInfo::new("fused_mul_add", "fused_mul_add", name, &[x], self.shape);
        Case::new(info, move |s| real!(x, T => set_up::<T>(s, self, a, b)))
            .in_turns(self.workgroups)
    }
}

/// An operand of a case.
enum Given {
    Number(f32),
    Bf16(Arg<bf16>),
    F16(Arg<f16>),
    F32(Arg<f32>),
}

impl Given {
    /// Of so many elements, if it is a tensor; and its numbers.
    fn new(s: &mut Setup, spec: Spec, name: &'static str, kind: Kind) -> (Self, Vec<f64>) {
        let count = [spec.shape.iter().product()];
        let (shape, dtype) = match kind {
            Kind::Number => {
                let number = s.draw::<f32>(name, &[1], Draw::Normal)[0];
                return (Self::Number(number), vec![number.into()]);
            }
            Kind::Element(dtype) if spec.reshaped => (&[1, 1][..], dtype),
            Kind::Element(dtype) => (&[1][..], dtype),
            Kind::Tensor(dtype) if spec.reshaped => (&count[..], dtype),
            Kind::Tensor(dtype) => (spec.shape, dtype),
        };
        match dtype {
            DType::Bf16 => {
                let tensor = s.input(name, shape, spec.draw);
                (Self::Bf16(tensor.clone()), tensor.numbers())
            }
            DType::F16 => {
                let tensor = s.input(name, shape, spec.draw);
                (Self::F16(tensor.clone()), tensor.numbers())
            }
            _ => {
                let tensor = s.input(name, shape, spec.draw);
                (Self::F32(tensor.clone()), tensor.numbers())
            }
        }
    }

    /// Calls with what the op is given.
    fn with(&self, call: impl FnOnce(Operand<'_>) -> Result<()>) -> Result<()> {
        match self {
            Self::Number(number) => call(Operand::Number(*number)),
            Self::Bf16(tensor) => call(Operand::from(&*tensor.get())),
            Self::F16(tensor) => call(Operand::from(&*tensor.get())),
            Self::F32(tensor) => call(Operand::from(&*tensor.get())),
        }
    }
}

fn set_up<T: Real>(s: &mut Setup, spec: Spec, a: Kind, b: Kind) {
    let mut x: Vec<T> = s.draw("x", spec.shape, spec.draw);
    if spec.special {
        for (x, number) in x.iter_mut().zip([f64::INFINITY, f64::NEG_INFINITY, f64::NAN]) {
            *x = T::from_f64(number);
        }
    }
    let (a, a_numbers) = Given::new(s, spec, "a", a);
    let (b, b_numbers) = Given::new(s, spec, "b", b);
    let out = reference(&decode(&x), &a_numbers, &b_numbers);
    let x = s.given("x", spec.shape, x);
    let out = s.output::<T>("out", spec.shape, expected(out, T::DTYPE));
    let options = spec.workgroups.into_iter().fold(RowOptions::default(), RowOptions::workgroups);
    s.call(move || {
        let (x, out) = (&x.get(), &mut *out.get());
        a.with(|a| b.with(|b| fused_mul_add_into(x, a, b, &options, out)))
    });
}

/// Every case.
pub(crate) fn cases() -> Vec<Case> {
    let kinds = || {
        let tensors = REALS.map(Kind::Tensor).into_iter();
        tensors.chain([Kind::Number])
    };
    let all = || kinds().flat_map(|a| kinds().map(move |b| (a, b)));
    // One of each of the kernel's variants.
    let few = |x: DType| {
        let (number, tensor) = (Kind::Number, Kind::Tensor(x));
        [(number, number), (number, tensor), (tensor, number), (tensor, tensor)]
    };
    let mut cases = Vec::new();
    for x in REALS {
        for shape in SHAPES {
            let plain = Spec::new(shape, "plain");
            cases.extend(few(x).map(|(a, b)| plain.case(x, a, b)));
        }
        let (end, shift) = (Placement::DENSE.edge(Edge::End), Placement::DENSE.shift(1));
        // Several pieces for each wave, and fewer pieces than waves.
        let shapes: [&[usize]; 4] = [&[9000], &[9001], &[78], &[77]];
        for (name, place) in [("turns to the end of memory", end), ("shifted", shift)] {
            for spec in shapes.map(|shape| Spec::new(shape, name)) {
                let turns = Spec { workgroups: Some(1), ..spec };
                cases.extend(all().map(|(a, b)| turns.case(x, a, b).place(place)));
            }
        }
        let elements = REALS.map(Kind::Element).into_iter();
        let kinds: Vec<_> = kinds().chain(elements).collect();
        let pairs = kinds.iter().flat_map(|a| kinds.iter().map(move |b| (*a, *b)));
        let is_element = |kind| matches!(kind, Kind::Element(_));
        let of_elements = pairs.filter(|(a, b)| is_element(*a) || is_element(*b));
        cases.extend(of_elements.map(|(a, b)| Spec::new(&[77], "element").case(x, a, b)));
        for (a, b) in few(x) {
            let turns = Spec { workgroups: Some(1), ..Spec::new(&[10_001], "turns") };
            let case = |name| Spec { name, ..turns }.case(x, a, b);
            cases.push(case("in place").in_place(true));
            cases.push(case("end of memory").place(Placement::DENSE.edge(Edge::End)));
            cases.push(case("turns"));
            let special = Spec { special: true, ..Spec::new(&[33], "special") };
            cases.push(special.case(x, a, b));
            let spread = Spec { draw: Draw::Spread, ..Spec::new(&[999], "magnitudes") };
            cases.push(spread.case(x, a, b));
        }
        let reshaped = Spec { reshaped: true, ..Spec::new(&[2, 5, 103], "other shapes") };
        let (tensor, element) = (Kind::Tensor(DType::F32), Kind::Element(DType::Bf16));
        for (a, b) in [(tensor, tensor), (tensor, element), (element, tensor)] {
            cases.push(reshaped.case(x, a, b));
        }
        for shape in LARGE {
            let large = Spec::new(shape, "model");
            cases.extend(few(x).map(|(a, b)| large.case(x, a, b).size(Size::Large)));
        }
    }
    // Three of the rows as which the kernel counts elements: waves go on by a row and four pieces,
    // from the last pieces of the first row to the third. The first lies across 4 GiB near its end.
    let place = Placement::DENSE.carry((1 << 20) - 3000);
    let shapes: [&[usize]; 2] = [&[(2 << 20) + 10_317], &[(2 << 20) + 10_318]];
    for x in [DType::Bf16, DType::F32] {
        for spec in shapes.map(|shape| Spec::new(shape, "rows across 4 GiB")) {
            let rows = Spec { workgroups: Some(257), ..spec };
            let case = |(a, b)| rows.case(x, a, b).place(place).size(Size::Core);
            cases.extend(all().map(case));
        }
    }
    cases
}
