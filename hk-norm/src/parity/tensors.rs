//! Cases of the ops on the tensors of a model: rows of its embedding table, and weights of its norms.

use hk_core::dtype::{Real, decode};
use hk_core::{Activation, Result, TensorSlice};
use hk_ref::norm::activation::activated;
use hk_ref::norm::l2norm::l2norm;
use hk_ref::norm::layernorm::layernorm;
use hk_ref::norm::softmax::{expected, softmax};
use hk_ref::{Case, CaseInfo, Expected, Setup, Size};

use crate::{
    L2normOut, LayernormOut, RowOptions, l2norm_into, layernorm_into, silu_into, softmax_into,
};

/// What is added to a variance, or to a sum of squares.
const EPS: f32 = 1e-6;

/// Rows of a model, `[rows, width]`, when they are needed.
pub trait Rows<T>: Fn() -> Vec<T> + Clone + Send + Sync + 'static {}

impl<T, F: Fn() -> Vec<T> + Clone + Send + Sync + 'static> Rows<T> for F {}

fn case<T: Real>(
    (module, op): (&'static str, &'static str),
    name: &str,
    shape: [usize; 2],
    set_up: impl Fn(&mut Setup) + Send + Sync + 'static,
) -> Case {
    let info = CaseInfo::new(module, op, name.to_owned(), &[T::DTYPE], &shape);
    Case::new(CaseInfo { size: Size::Core, ..info }, set_up)
}

/// An op that takes rows alone.
fn of_rows<T: Real>(
    op: (&'static str, &'static str),
    name: &str,
    shape: [usize; 2],
    rows: impl Rows<T>,
    reference: fn(&[f64], usize) -> Expected,
    run: fn(&TensorSlice<T>, &mut TensorSlice<T>) -> Result<()>,
) -> Case {
    case::<T>(op, name, shape, move |s| {
        let x = s.given("x", &shape, rows());
        let y = s.output::<T>("y", &shape, reference(&x.numbers(), shape[1]));
        s.call(move || run(&x.get(), &mut y.get()));
    })
}

/// The ops that take rows alone.
pub fn row_cases<T: Real>(name: &str, shape: [usize; 2], rows: impl Rows<T>) -> Vec<Case> {
    let case = |op, reference, run| of_rows(op, name, shape, rows.clone(), reference, run);
    vec![
        case(
            ("softmax", "softmax"),
            |x, width| expected(softmax(x, width), T::DTYPE, true),
            |x, y| softmax_into(x, &RowOptions::default(), y),
        ),
        case(
            ("l2norm", "l2norm"),
            |x, width| Expected::rounded(l2norm(x, width, EPS).0, T::DTYPE, true),
            |x, y| l2norm_into(x, EPS, &RowOptions::default(), L2normOut { y, rstd: None }),
        ),
        case(
            ("activation", "silu"),
            |x, _| activated(x, Activation::Silu, T::DTYPE),
            |x, y| silu_into(x, &RowOptions::default(), y),
        ),
    ]
}

/// `layernorm` of rows by a norm's weight.
pub fn layernorm_case<T: Real, W: Real>(
    name: &str,
    shape: [usize; 2],
    operands: impl Fn() -> (Vec<T>, Vec<W>) + Send + Sync + 'static,
) -> Case {
    let mut case = case::<T>(("layernorm", "layernorm"), name, shape, move |s| {
        let (rows, weight) = operands();
        let width = shape[1];
        let all = layernorm(&decode(&rows), &decode(&weight), &vec![0.0; width], EPS);
        let x = s.given("x", &shape, rows);
        let weight = s.given("weight", &[width], weight);
        let y = Expected::rounded(all.y, T::DTYPE, true).plus(all.slack);
        let y = s.output::<T>("y", &shape, y);
        s.call(move || {
            let out = LayernormOut { y: &mut *y.get(), mean: None, rstd: None };
            let options = RowOptions::default();
            layernorm_into(
                &x.get(),
                Some(&*weight.get()),
                None::<&TensorSlice<W>>,
                EPS,
                &options,
                out,
            )
        });
    });
    case.info.dtype = format!("{}, weight {}", T::DTYPE, W::DTYPE);
    case
}
