//! The derivative of rows that are divided by their Euclidean length, as [`l2norm`](crate::l2norm()) does it:
//! `dx[i,j] = r[i] (dy[i,j] - y[i,j] sum_k dy[i,k] y[i,k])`.
//!
//! | | |
//! |---|---|
//! | Shapes | y, dy `[.., n]`, rstd `[..]` -> dx `[.., n]`; any n >= 1, rows any distance apart |
//! | Dtypes | y bf16, f16, f32; dy, dx as y; rstd f32 |
//! | Numerics | f32 throughout, rounded once at the store; bitwise deterministic |
//! | Hardware | cdna3, cdna4 |
//! | Source | the derivative of `x / sqrt(sum x^2 + eps)` by x, by what the forward pass stored |
//!
//! ```
//! # #[cfg(feature = "cdna3")] {
//! use hk_norm::{Device, RowOptions, Tensor, l2norm_bwd};
//!
//! let stream = Device::open("sim:mi325x")?.default_stream();
//! // Of x = [3, 4]: a step along x does not change y.
//! let y = Tensor::from_slice(&stream, &[0.6f32, 0.8], &[1, 2])?;
//! let rstd = Tensor::from_slice(&stream, &[0.2f32], &[1])?;
//! let dy = Tensor::from_slice(&stream, &[3.0f32, 4.0], &[1, 2])?;
//! let dx = l2norm_bwd(&y, &rstd, &dy, &RowOptions::default())?;
//! approx::assert_abs_diff_eq!(dx.to_vec()?[..], [0.0, 0.0], epsilon = 1e-6);
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
#[cfg(doc)]
use crate::l2norm_into;

/// The derivative of a loss by `x`, from that by `y`: `y` and `rstd` are what [`l2norm_into`] stored.
///
/// # Errors
/// [`Error::Shape`] if rows are empty, `dy` has another shape than `y`, or `rstd` is not one number per row,
/// [`Error::Stride`] if rows are not evenly spaced, [`Error::Value`] if the tile does not take such rows,
/// and [`Error::NoTile`] if there is no tile of that name.
pub fn l2norm_bwd<T: Real>(
    y: &TensorSlice<T>,
    rstd: &TensorSlice<f32>,
    dy: &TensorSlice<T>,
    options: &RowOptions<'_>,
) -> Result<Tensor<T>> {
    let mut dx = Tensor::empty(y.stream(), y.shape())?;
    l2norm_bwd_into(y, rstd, dy, options, &mut dx)?;
    Ok(dx)
}

kernel_args! {
    /// Arguments of the kernel, as `kernels/l2norm_bwd.hip` declares them.
    pub(crate) struct L2normBwdArgs {
        pub(crate) y: AnyPtr,
        pub(crate) dy: AnyPtr,
        pub(crate) rstd: DevicePtr<f32>,
        pub(crate) dx: AnyPtr,
        pub(crate) y_stride: i64,
        pub(crate) dy_stride: i64,
        pub(crate) dx_stride: i64,
        pub(crate) rows: u32,
        pub(crate) width: u32,
    }
}

/// As [`l2norm_bwd`], into `dx`, which may be `dy`.
///
/// # Errors
/// As [`l2norm_bwd`]; also if `dx` has another shape, and [`Error::Alias`] if it overlaps another argument
/// than `dy`, or that in part.
pub fn l2norm_bwd_into<T: Real>(
    y: &TensorSlice<T>,
    rstd: &TensorSlice<f32>,
    dy: &TensorSlice<T>,
    options: &RowOptions<'_>,
    dx: &mut TensorSlice<T>,
) -> Result<()> {
    let mut args = Arguments::new("l2norm_bwd");
    let y_stride = args.input("y", y, ROWS).rows()?;
    args.input("rstd", rstd, &[".."]).contiguous()?;
    let dy_stride = args.input("dy", dy, ROWS).may_be("dx").rows()?;
    let dx_stride = args.output("dx", dx, ROWS).rows()?;
    let [rows, width] = options.check(&args)?;
    let call = args.check()?;

    let core = ("l2norm_bwd", T::DTYPE.name());
    let stride = y_stride.max(dy_stride).max(dx_stride);
    let kernel = options.kernel(&call, &KERNELS, core, width, stride)?;
    let args = L2normBwdArgs {
        y: y.ptr().any(),
        dy: dy.ptr().any(),
        rstd: rstd.ptr(),
        dx: dx.ptr().any(),
        y_stride,
        dy_stride,
        dx_stride,
        rows: rows as u32,
        width: width as u32,
    };
    // SAFETY: the kernel reads and writes rows of the shapes and strides that were checked.
    unsafe { kernel.launch(call, rows, &args) }
}
