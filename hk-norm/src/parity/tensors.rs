//! Cases of the ops on the tensors of a model: rows of its embedding table, and weights of its norms.

use hk_core::dtype::{Real, decode};
use hk_core::{Activation, Result, TensorSlice};
use hk_ref::norm::activation::{Gate, activated, gated};
use hk_ref::norm::fused_mul_add::{expected as expected_sum, fused_mul_add};
use hk_ref::norm::l2norm::l2norm;
use hk_ref::norm::layernorm::layernorm;
use hk_ref::norm::rmsnorm::{add, rmsnorm};
use hk_ref::norm::softmax::{expected, softmax};
use hk_ref::norm::topk::topk;
use hk_ref::{Case, CaseInfo, Expected, Setup, Size};

use super::activation::pairs;
use crate::{
    FusedAddLayernormOut, GateLayout, GatedOptions, L2normOut, LayernormOut, RmsnormPadOptions,
    RowOptions, TopkOut, fused_add_layernorm_into, fused_mul_add_into, gelu_and_mul_into,
    gelu_into, gelu_tanh_and_mul_into, gelu_tanh_into, l2norm_into, layernorm_into, relu_into,
    rmsnorm_pad_into, silu_and_mul_into, silu_into, softmax_into, swiglu_and_mul_into, tanh_into,
    topk_into,
};

/// What is added to a variance, or to a sum of squares.
const EPS: f32 = 1e-6;

/// Elements of a row that are wanted, if it has so many.
const LARGEST: usize = 8;

/// Columns that rows are padded to a multiple of.
const MULTIPLE: usize = 256;

/// The factor and the limit of GPT-OSS.
const SWIGLU: [f32; 2] = [1.702, 7.0];

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

/// An op whose gates are the first halves of rows, which are of an even number of elements.
fn of_halves<T: Real>(
    op: &'static str,
    name: &str,
    [height, width]: [usize; 2],
    rows: impl Rows<T>,
    gate: Gate,
    run: fn(&TensorSlice<T>, &mut TensorSlice<T>) -> Result<()>,
) -> Case {
    let shape = [height, width / 2];
    case::<T>(("activation", op), name, shape, move |s| {
        let x = s.given("x", &[height, width], rows());
        let mut pairs = pairs(&x.numbers(), shape[1], GateLayout::Halves);
        // An offset of 0 leaves no negative zero.
        pairs.iter_mut().for_each(|[_, linear]| *linear += 0.0);
        let y = gated(&pairs, &vec![1.0; pairs.len()], gate, T::DTYPE);
        let y = s.output::<T>("y", &shape, y);
        s.call(move || run(&x.get(), &mut y.get()));
    })
}

/// The gated ops of [`row_cases`].
fn gated_cases<T: Real>(name: &str, shape: [usize; 2], rows: impl Rows<T>) -> Vec<Case> {
    let case = |op, gate, run| of_halves(op, name, shape, rows.clone(), gate, run);
    let plain = |activation| Gate::Activation(activation, None);
    vec![
        case("silu_and_mul", plain(Activation::Silu), |x, y| {
            silu_and_mul_into(x, &GatedOptions::default(), y)
        }),
        case("gelu_and_mul", plain(Activation::Gelu), |x, y| {
            gelu_and_mul_into(x, &GatedOptions::default(), y)
        }),
        case("gelu_tanh_and_mul", plain(Activation::GeluTanh), |x, y| {
            gelu_tanh_and_mul_into(x, &GatedOptions::default(), y)
        }),
        case("swiglu_and_mul", Gate::Swiglu(SWIGLU), |x, y| {
            let [alpha, limit] = SWIGLU;
            swiglu_and_mul_into(x, alpha, limit, &GatedOptions::default(), y)
        }),
    ]
}

/// The largest elements of rows.
fn topk_case<T: Real>(name: &str, shape: [usize; 2], rows: impl Rows<T>) -> Case {
    case::<T>(("topk", "topk"), name, shape, move |s| {
        let ([height, width], x) = (shape, rows());
        let k = LARGEST.min(width);
        let columns = topk(&decode(&x), width, k);
        let largest = columns.iter().enumerate().map(|(i, column)| x[i / k * width + column]);
        let values = Expected::bits(&largest.collect::<Vec<_>>());
        let columns = columns.into_iter().map(|column| column as f64).collect();
        let x = s.given("x", &shape, x);
        let values = s.output::<T>("values", &[height, k], values);
        let indices = s.output::<i64>("indices", &[height, k], Expected::exact(columns));
        s.call(move || {
            let out = TopkOut { values: &mut *values.get(), indices: &mut *indices.get() };
            topk_into(&x.get(), k, &RowOptions::default(), out)
        });
    })
}

/// A multiple of rows, and a number.
fn mul_add_case<T: Real>(name: &str, shape: [usize; 2], rows: impl Rows<T>) -> Case {
    case::<T>(("fused_mul_add", "fused_mul_add"), name, shape, move |s| {
        let x = s.given("x", &shape, rows());
        let sum = expected_sum(fused_mul_add(&x.numbers(), &[3.0], &[0.5]), T::DTYPE);
        let out = s.output::<T>("out", &shape, sum);
        let options = RowOptions::default();
        s.call(move || fused_mul_add_into(&x.get(), 3.0, 0.5, &options, &mut out.get()));
    })
}

/// The ops that take rows alone, and those that take them as gates and what these let through, if rows
/// have two halves.
pub fn row_cases<T: Real>(name: &str, shape: [usize; 2], rows: impl Rows<T>) -> Vec<Case> {
    let case = |op, reference, run| of_rows(op, name, shape, rows.clone(), reference, run);
    let mut cases = vec![
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
        case(
            ("activation", "gelu"),
            |x, _| activated(x, Activation::Gelu, T::DTYPE),
            |x, y| gelu_into(x, &RowOptions::default(), y),
        ),
        case(
            ("activation", "gelu_tanh"),
            |x, _| activated(x, Activation::GeluTanh, T::DTYPE),
            |x, y| gelu_tanh_into(x, &RowOptions::default(), y),
        ),
        case(
            ("activation", "relu"),
            |x, _| activated(x, Activation::Relu, T::DTYPE),
            |x, y| relu_into(x, &RowOptions::default(), y),
        ),
        case(
            ("activation", "tanh"),
            |x, _| activated(x, Activation::Tanh, T::DTYPE),
            |x, y| tanh_into(x, &RowOptions::default(), y),
        ),
        mul_add_case::<T>(name, shape, rows.clone()),
        topk_case::<T>(name, shape, rows.clone()),
    ];
    if shape[1].is_multiple_of(2) {
        cases.extend(gated_cases::<T>(name, shape, rows));
    }
    cases
}

/// With the type of the weight.
fn by_weight<T: Real, W: Real>(mut case: Case) -> Case {
    case.info.dtype = format!("{}, weight {}", T::DTYPE, W::DTYPE);
    case
}

/// `layernorm` of rows by a norm's weight, or, fused, of their sums with others.
pub fn layernorm_case<T: Real, W: Real>(
    name: &str,
    shape: [usize; 2],
    fused: bool,
    operands: impl Fn() -> (Vec<T>, Vec<W>) + Send + Sync + 'static,
) -> Case {
    let op = if fused { "fused_add_layernorm" } else { "layernorm" };
    let case = case::<T>(("layernorm", op), name, shape, move |s| {
        let (rows, weight) = operands();
        let width = shape[1];
        let residual: Option<Vec<T>> = fused.then(|| rows.iter().rev().copied().collect());
        let sum = residual.as_ref().map(|residual| add(&rows, residual));
        let h = decode(sum.as_deref().unwrap_or(&rows));
        let all = layernorm(&h, &decode(&weight), &vec![0.0; width], EPS);
        let x = s.given("x", &shape, rows);
        let weight = s.given("weight", &[width], weight);
        let y = Expected::rounded(all.y, T::DTYPE, true).plus(all.slack);
        let y = s.output::<T>("y", &shape, y);
        let others = residual.zip(sum).map(|(residual, sum)| {
            let sum = Expected::exact(decode(&sum));
            (s.given("residual", &shape, residual), s.output::<T>("residual_out", &shape, sum))
        });
        s.call(move || {
            let (x, weight, y, options) =
                (&x.get(), weight.get(), &mut *y.get(), RowOptions::default());
            let (weight, bias) = (Some(&*weight), None::<&TensorSlice<W>>);
            let Some((residual, sum)) = &others else {
                let out = LayernormOut { y, mean: None, rstd: None };
                return layernorm_into(x, weight, bias, EPS, &options, out);
            };
            let residual_out = &mut *sum.get();
            let out = FusedAddLayernormOut { y, residual_out, mean: None, rstd: None };
            fused_add_layernorm_into(x, &residual.get(), weight, bias, EPS, &options, out)
        });
    });
    by_weight::<T, W>(case)
}

/// `rmsnorm_pad` of rows by a norm's weight.
pub fn rmsnorm_pad_case<T: Real, W: Real>(
    name: &str,
    shape: [usize; 2],
    operands: impl Fn() -> (Vec<T>, Vec<W>) + Send + Sync + 'static,
) -> Case {
    let op = ("fused_add_rmsnorm_pad", "rmsnorm_pad");
    let case = case::<T>(op, name, shape, move |s| {
        let (rows, weight) = operands();
        let [height, width] = shape;
        let padded = width.next_multiple_of(MULTIPLE);
        let y = rmsnorm(&decode(&rows), &decode(&weight), EPS, 0.0).y;
        let with_zeros = |row: &[f64]| [row, &vec![0.0; padded - width]].concat();
        let y = y.chunks_exact(width).flat_map(with_zeros).collect();
        let x = s.given("x", &shape, rows);
        let weight = s.given("weight", &[width], weight);
        let y = s.output::<T>("y", &[height, padded], Expected::rounded(y, T::DTYPE, true));
        s.call(move || {
            let options = RmsnormPadOptions::default().pad_to_multiple(MULTIPLE);
            rmsnorm_pad_into(&x.get(), &weight.get(), EPS, &options, &mut *y.get())
        });
    });
    by_weight::<T, W>(case)
}
