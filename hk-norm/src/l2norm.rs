//! Normalisation of rows to a Euclidean length of one, `y[i,j] = x[i,j] r[i]` with
//! `r[i] = 1 / sqrt(sum_j x[i,j]^2 + eps)`. [`l2norm_bwd`](crate::l2norm_bwd()) is its derivative.
//!
//! | | |
//! |---|---|
//! | Shapes | x `[.., n]` -> y `[.., n]`, rstd `[..]`; any n >= 1, rows any distance apart |
//! | Dtypes | x bf16, f16, f32; y bf16, f16, f32, whatever x is |
//! | Numerics | f32 throughout, rounded once at the store; bitwise deterministic |
//! | Hardware | cdna3, cdna4 |
//! | Source | queries and keys of the gated delta rule, as Yang, Kautz and Hatamizadeh, "Gated Delta Networks" (2024), normalise them |
//!
//! ```
//! # #[cfg(feature = "cdna3")] {
//! use hk_norm::{Device, RowOptions, Tensor, l2norm};
//!
//! let stream = Device::open("sim:mi325x")?.default_stream();
//! let x = Tensor::from_slice(&stream, &[3.0f32, 4.0, 0.0, 0.0], &[2, 2])?;
//! let y: Tensor<f32> = l2norm(&x, 1e-6, &RowOptions::default())?;
//! approx::assert_abs_diff_eq!(y.to_vec()?[..], [0.6, 0.8, 0.0, 0.0], epsilon = 1e-6);
//! # }
//! # Ok::<(), hk_core::Error>(())
//! ```

#[cfg(doc)]
use hk_core::Error;
use hk_core::dtype::Real;
use hk_core::op::Arguments;
use hk_core::op::rows::{ROWS, RowOptions};
use hk_core::{AnyPtr, DevicePtr, Result, Tensor, TensorSlice, kernel_args};

use crate::KERNELS;

/// Where [`l2norm_into`] stores.
#[derive(Debug)]
pub struct L2normOut<'a, Y: Real> {
    /// The normalised rows, in the shape of x; may be x, if it is of the same type.
    pub y: &'a mut TensorSlice<Y>,
    /// `r` of every row, in the shape of x without its last dimension, without gaps.
    pub rstd: Option<&'a mut TensorSlice<f32>>,
}

/// Divides the rows of `x` by their Euclidean length.
///
/// `eps` is added to the sum of squares, in units of x squared; 1e-6 is usual.
///
/// # Errors
/// [`Error::Shape`] if rows are empty, [`Error::Stride`] if they are not evenly spaced,
/// [`Error::Value`] if `eps` is negative or not finite, or the tile does not take such rows, and
/// [`Error::NoTile`] if there is no tile of that name.
pub fn l2norm<T: Real>(
    x: &TensorSlice<T>,
    eps: f32,
    options: &RowOptions<'_>,
) -> Result<Tensor<T>> {
    let mut y = Tensor::empty(x.stream(), x.shape())?;
    l2norm_into(x, eps, options, L2normOut { y: &mut *y, rstd: None })?;
    Ok(y)
}

/// As [`l2norm`], into `x`.
///
/// # Errors
/// As [`l2norm`].
pub fn l2norm_inplace<T: Real>(
    x: &mut TensorSlice<T>,
    eps: f32,
    options: &RowOptions<'_>,
) -> Result<()> {
    let (x, mut y) = x.in_place();
    l2norm_into(&x, eps, options, L2normOut { y: &mut y, rstd: None })
}

kernel_args! {
    /// Arguments of the kernel, as `kernels/l2norm.hip` declares them.
    pub(crate) struct L2normArgs {
        pub(crate) x: AnyPtr,
        pub(crate) y: AnyPtr,
        pub(crate) rstd: DevicePtr<f32>,
        pub(crate) x_stride: i64,
        pub(crate) y_stride: i64,
        pub(crate) rows: u32,
        pub(crate) width: u32,
        pub(crate) y_type: u32,
        pub(crate) eps: f32,
    }
}

/// As [`l2norm`], into given tensors; `y` may have another element type.
///
/// # Errors
/// As [`l2norm`]; [`Error::Shape`] or [`Error::Stride`] also if an output is not as [`L2normOut`] says,
/// and [`Error::Alias`] if one overlaps another argument otherwise.
pub fn l2norm_into<T: Real, Y: Real>(
    x: &TensorSlice<T>,
    eps: f32,
    options: &RowOptions<'_>,
    mut out: L2normOut<'_, Y>,
) -> Result<()> {
    let mut args = Arguments::new("l2norm");
    let mut declared = args.input("x", x, ROWS);
    if T::DTYPE == Y::DTYPE {
        declared = declared.may_be("y");
    }
    let x_stride = declared.rows()?;
    let y_stride = args.output("y", out.y, ROWS).rows()?;
    if let Some(rstd) = &mut out.rstd {
        args.output("rstd", rstd, &[".."]).contiguous()?;
    }
    args.require(eps >= 0.0 && eps.is_finite(), "eps", "finite and not negative", eps)?;
    let [rows, width] = options.check(&args)?;
    let call = args.check()?;

    let core = ("l2norm", T::DTYPE.name());
    let stride = x_stride.max(y_stride);
    let kernel = options.kernel(&call, &KERNELS, core, width, stride)?;
    let args = L2normArgs {
        x: x.ptr().any(),
        y: out.y.ptr().any(),
        rstd: out.rstd.map_or(DevicePtr::NULL, TensorSlice::ptr_mut),
        x_stride,
        y_stride,
        rows: rows as u32,
        width: width as u32,
        y_type: Y::CODE,
        eps,
    };
    // SAFETY: the kernel reads and writes rows of the shapes and strides that were checked.
    unsafe { kernel.launch(call, rows, &args) }
}
