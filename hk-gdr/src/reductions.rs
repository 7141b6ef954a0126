//! What comparisons of tensors need: `abs_diff = |x - y|`, `squared_diff = (x - y)^2`, conversions of bf16
//! and f32, the largest element and the sum of all, rows divided by `sqrt(sum x^2 + eps)`, and two
//! measures of error, `abs_err = max |x - y|` and `err_ratio = rms(x - y) / (rms(x) + 1e-8)`, where x is what
//! should be.
//!
//! | | |
//! |---|---|
//! | Shapes | x, y `[..]` -> the same, or `[1]`, without gaps; of l2_normalize x `[.., n]` -> the same, rows any distance apart |
//! | Dtypes | f32; conversions bf16 -> f32 and f32 -> bf16 |
//! | Numerics | differences and conversions are exact or rounded once; sums are of 64 bits, in an order that depends on the number of elements alone; a NaN is the largest element; rows of zeros stay so, and rows of finite elements whose squares are more than f32 holds become zeros |
//! | Hardware | cdna3, cdna4; 16-byte accesses |
//! | Source | the tests of AITER's gated delta rule kernels, whose measure `err_ratio` is |
//!
//! ```
//! # #[cfg(feature = "cdna3")] {
//! use hk_gdr::{Device, Tensor, abs_err, sum_reduce};
//!
//! let stream = Device::open("sim:mi325x")?.default_stream();
//! let x = Tensor::from_slice(&stream, &[1.0f32, -2.0, 4.0], &[3])?;
//! let y = Tensor::from_slice(&stream, &[1.0f32, -2.5, 4.25], &[3])?;
//! assert_eq!(sum_reduce(&x)?.to_vec()?, [3.0]);
//! assert_eq!(abs_err(&x, &y)?.to_vec()?, [0.5]);
//! # }
//! # Ok::<(), hk_core::Error>(())
//! ```

#[cfg(doc)]
use hk_core::Error;
use hk_core::dtype::{Element, bf16};
use hk_core::op::{Arguments, Call};
use hk_core::{AnyPtr, DevicePtr, Result, Tensor, TensorSlice, kernel_args};

use crate::KERNELS;

kernel_args! {
    /// Arguments of the kernel `elementwise`, as `kernels/reductions.hip` declares them.
    pub(crate) struct ElementwiseArgs {
        x: AnyPtr,
        y: AnyPtr,
        out: AnyPtr,
        count: i64,
        kind: u32,
        reserved: u32,
    }
}

kernel_args! {
    /// Arguments of the kernels `parts` and `partials`.
    pub(crate) struct ReduceArgs {
        x: DevicePtr<f32>,
        y: DevicePtr<f32>,
        partials: AnyPtr,
        result: DevicePtr<f32>,
        count: i64,
        kind: u32,
        workgroups: u32,
    }
}

kernel_args! {
    /// Arguments of the kernel `l2_normalize`.
    pub(crate) struct L2NormalizeArgs {
        x: DevicePtr<f32>,
        out: DevicePtr<f32>,
        x_stride: i64,
        out_stride: i64,
        rows: u32,
        width: u32,
        eps: f32,
        reserved: u32,
    }
}

/// Elementwise functions as the kernel counts them.
#[derive(Clone, Copy)]
enum Elementwise {
    AbsDiff,
    SquaredDiff,
    Widen,
    Round,
}

/// Reductions as the kernel counts them.
#[derive(Clone, Copy)]
enum Reduction {
    Sum,
    Maximum,
    LargestDifference,
    Squares,
}

/// Workgroups for each compute unit that a launch should have.
const WORKGROUPS_PER_CU: u64 = 8;

/// `|x - y|` of each element.
///
/// # Errors
/// [`Error::Shape`] if x and y differ in shape, and [`Error::Stride`] if one has gaps.
pub fn abs_diff(x: &TensorSlice<f32>, y: &TensorSlice<f32>) -> Result<Tensor<f32>> {
    let mut out = Tensor::empty(x.stream(), x.shape())?;
    abs_diff_into(x, y, &mut out)?;
    Ok(out)
}

/// As [`abs_diff`], into a given tensor, which may be x or y.
///
/// # Errors
/// As [`abs_diff`], of it too; [`Error::Alias`] if it overlaps x or y otherwise.
pub fn abs_diff_into(
    x: &TensorSlice<f32>,
    y: &TensorSlice<f32>,
    out: &mut TensorSlice<f32>,
) -> Result<()> {
    elementwise("abs_diff", Elementwise::AbsDiff, x, Some(y), out)
}

/// `(x - y)^2` of each element.
///
/// # Errors
/// As [`abs_diff`].
pub fn squared_diff(x: &TensorSlice<f32>, y: &TensorSlice<f32>) -> Result<Tensor<f32>> {
    let mut out = Tensor::empty(x.stream(), x.shape())?;
    squared_diff_into(x, y, &mut out)?;
    Ok(out)
}

/// As [`squared_diff`], into a given tensor, which may be x or y.
///
/// # Errors
/// As [`abs_diff_into`].
pub fn squared_diff_into(
    x: &TensorSlice<f32>,
    y: &TensorSlice<f32>,
    out: &mut TensorSlice<f32>,
) -> Result<()> {
    elementwise("squared_diff", Elementwise::SquaredDiff, x, Some(y), out)
}

/// The same numbers in f32.
///
/// # Errors
/// [`Error::Stride`] if x has gaps.
pub fn bf16_to_float(x: &TensorSlice<bf16>) -> Result<Tensor<f32>> {
    let mut out = Tensor::empty(x.stream(), x.shape())?;
    bf16_to_float_into(x, &mut out)?;
    Ok(out)
}

/// As [`bf16_to_float`], into a given tensor.
///
/// # Errors
/// As [`bf16_to_float`]; [`Error::Shape`] or [`Error::Stride`] also if it is not as x, and
/// [`Error::Alias`] if it overlaps x.
pub fn bf16_to_float_into(x: &TensorSlice<bf16>, out: &mut TensorSlice<f32>) -> Result<()> {
    elementwise("bf16_to_float", Elementwise::Widen, x, None, out)
}

/// The nearest numbers of bf16, ties to even.
///
/// # Errors
/// [`Error::Stride`] if x has gaps.
pub fn float_to_bf16(x: &TensorSlice<f32>) -> Result<Tensor<bf16>> {
    let mut out = Tensor::empty(x.stream(), x.shape())?;
    float_to_bf16_into(x, &mut out)?;
    Ok(out)
}

/// As [`float_to_bf16`], into a given tensor.
///
/// # Errors
/// As [`bf16_to_float_into`].
pub fn float_to_bf16_into(x: &TensorSlice<f32>, out: &mut TensorSlice<bf16>) -> Result<()> {
    elementwise("float_to_bf16", Elementwise::Round, x, None, out)
}

/// The largest element, `[1]`; NaN if one is.
///
/// # Errors
/// [`Error::Shape`] if there is no element, and [`Error::Stride`] if x has gaps.
pub fn max_reduce(x: &TensorSlice<f32>) -> Result<Tensor<f32>> {
    allocated(x, |out| max_reduce_into(x, out))
}

/// As [`max_reduce`], into a given tensor.
///
/// # Errors
/// As [`max_reduce`]; [`Error::Shape`] also if it is not `[1]`, and [`Error::Alias`] if it overlaps x.
pub fn max_reduce_into(x: &TensorSlice<f32>, out: &mut TensorSlice<f32>) -> Result<()> {
    reduce("max_reduce", Reduction::Maximum, x, None, out)
}

/// The sum of all elements, `[1]`; 0 if there is none.
///
/// # Errors
/// [`Error::Stride`] if x has gaps.
pub fn sum_reduce(x: &TensorSlice<f32>) -> Result<Tensor<f32>> {
    allocated(x, |out| sum_reduce_into(x, out))
}

/// As [`sum_reduce`], into a given tensor.
///
/// # Errors
/// As [`sum_reduce`]; [`Error::Shape`] also if it is not `[1]`, and [`Error::Alias`] if it overlaps x.
pub fn sum_reduce_into(x: &TensorSlice<f32>, out: &mut TensorSlice<f32>) -> Result<()> {
    reduce("sum_reduce", Reduction::Sum, x, None, out)
}

/// `max |x - y|`, `[1]`; NaN if a difference is.
///
/// # Errors
/// [`Error::Shape`] if there is no element or x and y differ in shape, and [`Error::Stride`] if one has
/// gaps.
pub fn abs_err(x: &TensorSlice<f32>, y: &TensorSlice<f32>) -> Result<Tensor<f32>> {
    allocated(x, |out| abs_err_into(x, y, out))
}

/// As [`abs_err`], into a given tensor.
///
/// # Errors
/// As [`abs_err`]; [`Error::Shape`] also if it is not `[1]`, and [`Error::Alias`] if it overlaps x or y.
pub fn abs_err_into(
    x: &TensorSlice<f32>,
    y: &TensorSlice<f32>,
    out: &mut TensorSlice<f32>,
) -> Result<()> {
    reduce("abs_err", Reduction::LargestDifference, x, Some(y), out)
}

/// `rms(x - y) / (rms(x) + 1e-8)`, `[1]`.
///
/// # Errors
/// As [`abs_err`].
pub fn err_ratio(x: &TensorSlice<f32>, y: &TensorSlice<f32>) -> Result<Tensor<f32>> {
    allocated(x, |out| err_ratio_into(x, y, out))
}

/// As [`err_ratio`], into a given tensor.
///
/// # Errors
/// As [`abs_err_into`].
pub fn err_ratio_into(
    x: &TensorSlice<f32>,
    y: &TensorSlice<f32>,
    out: &mut TensorSlice<f32>,
) -> Result<()> {
    reduce("err_ratio", Reduction::Squares, x, Some(y), out)
}

/// Rows divided by `sqrt(sum x^2 + eps)`.
///
/// # Errors
/// [`Error::Shape`] if rows are empty, [`Error::Stride`] if they are not evenly spaced, and
/// [`Error::Value`] if `eps` is negative or not finite.
pub fn l2_normalize(x: &TensorSlice<f32>, eps: f32) -> Result<Tensor<f32>> {
    let mut out = Tensor::empty(x.stream(), x.shape())?;
    l2_normalize_into(x, eps, &mut out)?;
    Ok(out)
}

/// As [`l2_normalize`], into a given tensor, which may be x.
///
/// # Errors
/// As [`l2_normalize`], of it too; [`Error::Alias`] if it overlaps x otherwise.
pub fn l2_normalize_into(x: &TensorSlice<f32>, eps: f32, out: &mut TensorSlice<f32>) -> Result<()> {
    let mut args = Arguments::new("l2_normalize");
    let x_stride = args.input("x", x, &["..", "n"]).may_be("out").rows()?;
    let out_stride = args.output("out", out, &["..", "n"]).rows()?;
    args.limit("n", 1..=i32::MAX as usize)?;
    args.limit("..", 0..=i32::MAX as usize)?;
    args.require(eps >= 0.0 && eps.is_finite(), "eps", "at least 0 and finite", eps)?;
    let [rows, width] = args.sizes(["..", "n"])?;
    let call = args.check()?;
    let kernel = KERNELS.function(call.device(), call.op(), "reductions", "l2_normalize", &[])?;
    if rows == 0 {
        return Ok(());
    }
    let args = L2NormalizeArgs {
        x: x.ptr(),
        out: out.ptr_mut(),
        x_stride,
        out_stride,
        rows: rows as u32,
        width: width as u32,
        eps,
        reserved: 0,
    };
    // HIP counts work-items in 32 bits: of many rows, waves take several.
    let most = call.device().info().compute_units * WORKGROUPS_PER_CU as u32;
    let grid = args.rows.div_ceil(kernel.tile().threads / 64).min(most);
    call.submit(|stream| {
        // SAFETY: the kernel reads and writes rows of the shapes and strides that were checked.
        unsafe { kernel.launch(stream, [grid, 1, 1], &args) }
    })
}

fn allocated(
    x: &TensorSlice<f32>,
    reduce: impl FnOnce(&mut TensorSlice<f32>) -> Result<()>,
) -> Result<Tensor<f32>> {
    let mut out = Tensor::empty(x.stream(), &[1])?;
    reduce(&mut out)?;
    Ok(out)
}

fn elementwise<X: Element, O: Element>(
    op: &'static str,
    kind: Elementwise,
    x: &TensorSlice<X>,
    y: Option<&TensorSlice<X>>,
    out: &mut TensorSlice<O>,
) -> Result<()> {
    let mut args = Arguments::new(op);
    let declared = args.input("x", x, &[".."]);
    match y {
        Some(y) => {
            declared.may_be("out").contiguous()?;
            args.input("y", y, &[".."]).may_be("out").contiguous()?;
        }
        None => declared.contiguous()?,
    }
    args.output("out", out, &[".."]).contiguous()?;
    let call = args.check()?;
    let kernel = KERNELS.function(call.device(), call.op(), "reductions", "elementwise", &[])?;
    let count = x.len() as u64;
    if count == 0 {
        return Ok(());
    }
    let lane: u64 = if y.is_some() { 4 } else { 8 };
    let needed = count.div_ceil(lane * u64::from(kernel.tile().threads));
    let grid = needed.min(u64::from(call.device().info().compute_units) * WORKGROUPS_PER_CU);
    let args = ElementwiseArgs {
        x: x.ptr().any(),
        y: y.map_or(AnyPtr::NULL, |y| y.ptr().any()),
        out: out.ptr_mut().any(),
        count: count as i64,
        kind: kind as u32,
        reserved: 0,
    };
    call.submit(|stream| {
        // SAFETY: the kernel reads and writes as many elements as all tensors have.
        unsafe { kernel.launch(stream, [grid as u32, 1, 1], &args) }
    })
}

/// Bytes of what a workgroup reduces its elements to.
const PARTIAL_BYTES: usize = 24;

/// Elements that each workgroup of a reduction has at least, and the most workgroups.
const SHARE: u64 = 4096;
const MOST_WORKGROUPS: u64 = 1024;

fn reduce(
    op: &'static str,
    kind: Reduction,
    x: &TensorSlice<f32>,
    y: Option<&TensorSlice<f32>>,
    out: &mut TensorSlice<f32>,
) -> Result<()> {
    let mut args = Arguments::new(op);
    args.input("x", x, &[".."]).contiguous()?;
    if let Some(y) = y {
        args.input("y", y, &[".."]).contiguous()?;
    }
    args.output("out", out, &["1"]).contiguous()?;
    if !matches!(kind, Reduction::Sum) {
        args.limit("..", 1..=usize::MAX)?;
    }
    let mut call = args.check()?;
    let count = x.len() as u64;
    let workgroups = count.div_ceil(SHARE).clamp(1, MOST_WORKGROUPS) as u32;
    let [partials] = call.workspace([workgroups as usize * PARTIAL_BYTES])?;
    let kernel = |call: &Call, variant| {
        KERNELS.function(call.device(), call.op(), "reductions", variant, &[])
    };
    let (parts, last) = (kernel(&call, "parts")?, kernel(&call, "partials")?);
    let args = ReduceArgs {
        x: x.ptr(),
        y: y.map_or(DevicePtr::NULL, |y| y.ptr()),
        partials: partials.any(),
        result: out.ptr_mut(),
        count: count as i64,
        kind: kind as u32,
        workgroups,
    };
    call.submit(|stream| {
        // SAFETY: the kernels read as many elements as x and y have, and write a partial for each
        // workgroup and one result.
        unsafe {
            parts.launch(stream, [workgroups, 1, 1], &args)?;
            last.launch(stream, [1, 1, 1], &args)
        }
    })
}
