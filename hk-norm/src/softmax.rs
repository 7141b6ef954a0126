//! Softmax of rows, `y[i,j] = exp(x[i,j] - m[i]) / sum_k exp(x[i,k] - m[i])` with
//! `m[i] = max_k x[i,k]`.
//!
//! Where some elements of a row are -inf, the results are 0; a row of nothing else, or with +inf or
//! NaN, becomes NaN.
//!
//! | | |
//! |---|---|
//! | Shapes | x `[.., n]` -> y `[.., n]`; any n >= 1, rows any distance apart |
//! | Dtypes | x bf16, f16, f32; y bf16, f16, f32, whatever x is |
//! | Numerics | f32 throughout, rounded once at the store; bitwise deterministic |
//! | Hardware | cdna3, cdna4 |
//! | Source | Milakov and Gimelshein, "Online normalizer calculation for softmax" (2018) |
//!
//! ```
//! # #[cfg(feature = "cdna3")] {
//! use hk_norm::{Device, RowOptions, Tensor, softmax};
//!
//! let stream = Device::open("sim:mi325x")?.default_stream();
//! let x = Tensor::from_slice(&stream, &[0.0f32, 3f32.ln(), 5.0, 5.0], &[2, 2])?;
//! let y = softmax(&x, &RowOptions::default())?;
//! approx::assert_abs_diff_eq!(y.to_vec()?[..], [0.25, 0.75, 0.5, 0.5], epsilon = 1e-6);
//! # }
//! # Ok::<(), hk_core::Error>(())
//! ```

#[cfg(doc)]
use hk_core::Error;
use hk_core::dtype::Real;
use hk_core::op::Arguments;
use hk_core::op::rows::{ROWS, RowOptions};
use hk_core::{AnyPtr, Result, Tensor, TensorSlice, kernel_args};

use crate::KERNELS;

/// The softmax of each row of `x`.
///
/// # Errors
/// [`Error::Shape`] if rows are empty, [`Error::Stride`] if they are not evenly spaced,
/// [`Error::Value`] if the tile does not take such rows, and [`Error::NoTile`] if there is no tile of
/// that name.
pub fn softmax<T: Real>(x: &TensorSlice<T>, options: &RowOptions<'_>) -> Result<Tensor<T>> {
    let mut y = Tensor::empty(x.stream(), x.shape())?;
    softmax_into(x, options, &mut *y)?;
    Ok(y)
}

/// As [`softmax`], into `x`.
///
/// # Errors
/// As [`softmax`].
pub fn softmax_inplace<T: Real>(x: &mut TensorSlice<T>, options: &RowOptions<'_>) -> Result<()> {
    let (x, mut y) = x.in_place();
    softmax_into(&x, options, &mut *y)
}

kernel_args! {
    /// Arguments of the kernel, as `kernels/softmax.hip` declares them.
    pub(crate) struct SoftmaxArgs {
        pub(crate) x: AnyPtr,
        pub(crate) y: AnyPtr,
        pub(crate) x_stride: i64,
        pub(crate) y_stride: i64,
        pub(crate) rows: u32,
        pub(crate) width: u32,
        pub(crate) y_type: u32,
    }
}

/// As [`softmax`], into `y` of the shape of `x`, which may have another element type; it may be `x` if
/// it has not.
///
/// # Errors
/// As [`softmax`]; [`Error::Shape`] or [`Error::Stride`] also if `y` has another shape or rows that are
/// not evenly spaced, and [`Error::Alias`] if it overlaps `x` otherwise.
pub fn softmax_into<T: Real, Y: Real>(
    x: &TensorSlice<T>,
    options: &RowOptions<'_>,
    y: &mut TensorSlice<Y>,
) -> Result<()> {
    let mut args = Arguments::new("softmax");
    let mut declared = args.input("x", x, ROWS);
    if T::DTYPE == Y::DTYPE {
        declared = declared.may_be("y");
    }
    let x_stride = declared.rows()?;
    let y_stride = args.output("y", y, ROWS).rows()?;
    let [rows, width] = options.check(&args)?;
    let call = args.check()?;

    let core = ("softmax", T::DTYPE.name());
    let kernel = options.kernel(&call, &KERNELS, core, width, x_stride.max(y_stride))?;
    let args = SoftmaxArgs {
        x: x.ptr().any(),
        y: y.ptr().any(),
        x_stride,
        y_stride,
        rows: rows as u32,
        width: width as u32,
        y_type: Y::CODE,
    };
    // SAFETY: the kernel reads and writes rows of the shapes and strides that were checked.
    unsafe { kernel.launch(call, rows, &args) }
}
