//! Cases of `l2norm_bwd`.

use hk_core::dtype::{DType, Element, Real, decode};
use hk_ref::norm::l2norm::l2norm;
use hk_ref::norm::l2norm_bwd::l2norm_bwd as reference;
use hk_ref::{Case, Draw, Expected, RowCase, Setup, real};

use super::between;
use super::l2norm::{MODELS, NOT_LONG, SHAPES};
use crate::l2norm_bwd_into;

/// What varies between cases, apart from element types.
#[derive(Clone, Copy)]
struct Spec {
    row: RowCase,
    draw: Draw,
    /// Results are next to the middle between two numbers of their type, and exact, since y is zero, so that
    /// only rstd counts.
    ties: bool,
}

impl Spec {
    fn new(row: RowCase) -> Self {
        Self { row, draw: Draw::Normal, ties: false }
    }

    fn case(self, dtype: DType) -> Case {
        let set_up = move |s: &mut Setup| real!(dtype, T => set_up::<T>(s, self));
        self.row.case("l2norm_bwd", "l2norm_bwd", &[dtype], set_up)
    }
}

fn set_up<T: Real>(s: &mut Setup, spec: Spec) {
    let (shape, [rows, width]) = (&spec.row.shape, spec.row.shape);
    // What the forward pass would store: rounded.
    let (y, rstd) = l2norm(&decode(&s.draw::<T>("x", shape, spec.draw)), width, 1e-6);
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
    let (dx, slack) = reference(&y.numbers(), &rstd.numbers(), &dy.numbers(), width);
    let mut dx = match spec.ties {
        true => Expected::exact(decode(&T::encode(&dx))),
        false => Expected::rounded(dx, T::DTYPE, false).plus(slack.clone()),
    };
    if T::DTYPE == DType::F32 && width <= NOT_LONG {
        // 2e-6 of all terms as they would add up without cancelling; slack is 2^-20 of those of the sum.
        let (rstd, dy) = (rstd.numbers(), dy.numbers());
        let terms = dy.iter().zip(&slack).enumerate();
        let terms = terms.map(|(i, (dy, sum))| rstd[i / width] * dy.abs() + sum * 2f64.powi(20));
        for (allowed, terms) in dx.allowed.iter_mut().zip(terms) {
            *allowed = f64::min(*allowed, 2e-6 * terms + 2f64.powi(-149));
        }
    }
    let dx = s.output::<T>("dx", shape, dx);
    s.call(move || {
        l2norm_bwd_into(&y.get(), &rstd.get(), &dy.get(), &spec.row.options(), &mut dx.get())
    });
}

/// Every case.
pub(crate) fn cases() -> Vec<Case> {
    let plain = SHAPES.iter().map(|shape| RowCase::new(*shape, "plain"));
    let rows = RowCase::suite().into_iter().chain(plain).chain(RowCase::models(&MODELS));
    let zeros = Spec { draw: Draw::Zeros, ..Spec::new(RowCase::new([9, 130], "zeros")) };
    let ties = RowCase::of_tiles([9, 63], "ties").chain(RowCase::of_tiles([9, 64], "ties"));
    let of_types = |spec: Spec| spec.row.inputs().iter().map(move |dtype| spec.case(*dtype));
    let mut cases: Vec<Case> = rows.map(Spec::new).chain([zeros]).flat_map(of_types).collect();
    cases.extend(ties.map(|row| Spec { ties: true, ..Spec::new(row) }.case(DType::Bf16)));
    cases
}
