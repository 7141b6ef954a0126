//! The k largest elements of each row, in descending order, and their columns.
//!
//! NaN comes before infinity, zeros are equal whatever their signs, and of equal elements the first
//! comes first: the result is the only one.
//!
//! | | |
//! |---|---|
//! | Shapes | x `[.., n]` -> values, indices `[.., k]`; any n from 1 to 2^24 and k from 1 to n, rows any distance apart |
//! | Dtypes | x bf16, f16, f32; values as x, bit by bit, or of [`topk_values_f32`] in f32; indices i64 or i32 |
//! | Numerics | exact |
//! | Hardware | cdna3, cdna4 |
//! | Source | radix selection, as Alabi, Blanchard, Gordon and Steinbach, "Fast k-Selection Algorithms for Graphics Processing Units" (2012), describe it; Batcher, "Sorting networks and their applications" (1968) |
//!
//! What more k costs is what its results cost to sort and to store, up to 2048 of a row; each 2048 more
//! are another turn over the row.
//!
//! ```
//! # #[cfg(feature = "cdna3")] {
//! use hk_norm::{Device, RowOptions, Tensor, topk};
//!
//! let stream = Device::open("sim:mi325x")?.default_stream();
//! let x = Tensor::from_slice(&stream, &[1.0f32, 5.0, f32::NAN, 5.0], &[1, 4])?;
//! let top = topk(&x, 3, &RowOptions::default())?;
//! assert_eq!(top.indices.to_vec()?, [2, 1, 3]);
//! assert_eq!(top.values.to_vec()?[1..], [5.0, 5.0]);
//! # }
//! # Ok::<(), hk_core::Error>(())
//! ```

#[cfg(doc)]
use hk_core::Error;
use hk_core::dtype::{DType, Real, Scalar};
use hk_core::op::Arguments;
use hk_core::op::rows::{ROWS, RowOptions};
use hk_core::{AnyPtr, Result, Tensor, TensorSlice, kernel_args};

use crate::KERNELS;

/// Element types of columns.
pub trait Column: Scalar {
    /// Whether they are of 64 bits rather than 32.
    const IS_WIDE: bool;
}

impl Column for i32 {
    const IS_WIDE: bool = false;
}

impl Column for i64 {
    const IS_WIDE: bool = true;
}

/// What [`topk`] and [`topk_values_f32`] return.
#[derive(Debug)]
pub struct Topk<T: Real> {
    /// The largest elements, in descending order.
    pub values: Tensor<T>,
    /// Their columns.
    pub indices: Tensor<i64>,
}

/// Where [`topk_into`] and [`topk_values_f32_into`] store.
#[derive(Debug)]
pub struct TopkOut<'a, T: Real, I: Column> {
    /// The largest elements, in descending order.
    pub values: &'a mut TensorSlice<T>,
    /// Their columns.
    pub indices: &'a mut TensorSlice<I>,
}

/// The `k` largest elements of each row of `x`, and their columns.
///
/// # Errors
/// [`Error::Shape`] if rows are empty or longer than 2^24, [`Error::Stride`] if they are not evenly
/// spaced, [`Error::Value`] if `k` is 0 or more than a row has, and [`Error::NoTile`] if there is no
/// tile of the name that is asked for, for such rows and such a `k`.
pub fn topk<T: Real>(x: &TensorSlice<T>, k: usize, options: &RowOptions<'_>) -> Result<Topk<T>> {
    let mut top = empty(x, k)?;
    topk_into(x, k, options, top.out())?;
    Ok(top)
}

/// As [`topk`], with values in f32 whatever `x` has.
///
/// # Errors
/// As [`topk`].
pub fn topk_values_f32<T: Real>(
    x: &TensorSlice<T>,
    k: usize,
    options: &RowOptions<'_>,
) -> Result<Topk<f32>> {
    let mut top = empty(x, k)?;
    topk_values_f32_into(x, k, options, top.out())?;
    Ok(top)
}

/// Memory for the largest elements and their columns.
fn empty<T: Real, V: Real>(x: &TensorSlice<T>, k: usize) -> Result<Topk<V>> {
    let mut shape = x.shape().to_vec();
    if let Some(width) = shape.last_mut() {
        // More is refused.
        *width = k.min(*width);
    }
    let values = Tensor::empty(x.stream(), &shape)?;
    Ok(Topk { values, indices: Tensor::empty(x.stream(), &shape)? })
}

impl<T: Real> Topk<T> {
    /// Where to store them.
    fn out(&mut self) -> TopkOut<'_, T, i64> {
        TopkOut { values: &mut self.values, indices: &mut self.indices }
    }
}

kernel_args! {
    /// Arguments of the kernels, as `kernels/topk.hip` declares them.
    pub(crate) struct TopkArgs {
        pub(crate) x: AnyPtr,
        pub(crate) values: AnyPtr,
        pub(crate) indices: AnyPtr,
        pub(crate) x_stride: i64,
        pub(crate) values_stride: i64,
        pub(crate) indices_stride: i64,
        pub(crate) rows: u32,
        pub(crate) width: u32,
        pub(crate) k: u32,
        pub(crate) has_wide_indices: u32,
        pub(crate) has_f32_values: u32,
    }
}

/// Widest rows, and most elements of each, that are found one after another.
const FEW: [usize; 2] = [1024, 16];

/// As [`topk`], into given tensors.
///
/// # Errors
/// As [`topk`]; [`Error::Shape`] or [`Error::Stride`] also if an output has not `k` columns or rows that
/// are not evenly spaced, and [`Error::Alias`] if one overlaps another argument.
pub fn topk_into<T: Real, I: Column>(
    x: &TensorSlice<T>,
    k: usize,
    options: &RowOptions<'_>,
    out: TopkOut<'_, T, I>,
) -> Result<()> {
    launch("topk", x, k, options, out)
}

/// As [`topk_values_f32`], into given tensors.
///
/// # Errors
/// As [`topk_into`].
pub fn topk_values_f32_into<T: Real, I: Column>(
    x: &TensorSlice<T>,
    k: usize,
    options: &RowOptions<'_>,
    out: TopkOut<'_, f32, I>,
) -> Result<()> {
    launch("topk_values_f32", x, k, options, out)
}

/// With values of the type of x, or in f32.
fn launch<T: Real, V: Real, I: Column>(
    op: &'static str,
    x: &TensorSlice<T>,
    k: usize,
    options: &RowOptions<'_>,
    out: TopkOut<'_, V, I>,
) -> Result<()> {
    const TOP: &str = "top(k)";
    let mut args = Arguments::new(op);
    let x_stride = args.input("x", x, ROWS).rows()?;
    let [rows, width] = options.check(&args)?;
    args.limit("n", 1..=1 << 24)?;
    args.require((1..=width).contains(&k), "k", format!("from 1 to {width}"), k)?;
    args.define(TOP, k);
    let values_stride = args.output("values", out.values, &["..", TOP]).rows()?;
    let indices_stride = args.output("indices", out.indices, &["..", TOP]).rows()?;
    let call = args.check()?;

    let is_few = width <= FEW[0] && k <= FEW[1];
    let variant = [if is_few { "few_" } else { "" }, T::DTYPE.name()].concat();
    let core = ("topk", &*variant);
    let kernel = options.kernel(&call, &KERNELS, core, width, x_stride)?;
    let args = TopkArgs {
        x: x.ptr().any(),
        values: out.values.ptr().any(),
        indices: out.indices.ptr().any(),
        x_stride,
        values_stride,
        indices_stride,
        rows: rows as u32,
        width: width as u32,
        k: k as u32,
        has_wide_indices: u32::from(I::IS_WIDE),
        has_f32_values: u32::from(V::DTYPE == DType::F32),
    };
    // SAFETY: the kernel reads and writes rows of the shapes and strides that were checked.
    unsafe { kernel.launch(call, rows, &args) }
}
