//! Root-mean-square normalisation of rows into wider ones:
//! `y[i,j] = h[i,j] / sqrt(mean_j h[i,j]^2 + eps) * (weight[j] + weight_offset)` for `j < n`, and
//! `y[i,j] = 0` from there to `n'`, the next multiple of a number.
//!
//! `h` is `x`, or, in the fused op, `x + residual`, which is normalised as it is and stored rounded
//! to the element type of the residual.
//!
//! | | |
//! |---|---|
//! | Shapes | x `[.., n]`, residual `[.., n]`, weight `[n]` -> y `[.., n']`, residual_out `[.., n]`; any n >= 1, rows any distance apart |
//! | Dtypes | x, residual and weight bf16, f16, f32, each whatever the others are; y as x, residual_out as residual |
//! | Numerics | f32 throughout, rounded once at each store; bitwise deterministic |
//! | Hardware | cdna3, cdna4 |
//! | Source | Zhang and Sennrich, "Root Mean Square Layer Normalization" (2019); rows of zeros beyond the model's width are what matrix products of padded weights take |
//!
//! ```
//! # #[cfg(feature = "cdna3")] {
//! use hk_norm::{Device, RmsnormPadOptions, Tensor, fused_add_rmsnorm_pad};
//!
//! let stream = Device::open("sim:mi325x")?.default_stream();
//! let [x, residual, weight] =
//!     [[2.0f32, 3.0], [1.0, 1.0], [1.0, 2.0]].map(|v| Tensor::from_slice(&stream, &v, &[2]));
//! let (x, residual) = (x?, residual?);
//! let options = RmsnormPadOptions::default().pad_to_multiple(4);
//! let out = fused_add_rmsnorm_pad(&x, &residual, &weight?, 1e-12, &options)?;
//! assert_eq!(out.residual_out.to_vec()?, [3.0, 4.0]);
//! approx::assert_abs_diff_eq!(out.y.to_vec()?[..], [0.848_528, 2.262_742, 0.0, 0.0], epsilon = 1e-6);
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

/// What [`rmsnorm_pad`] and [`fused_add_rmsnorm_pad`] do besides the default.
#[derive(Debug, Clone, Copy, Default)]
pub struct RmsnormPadOptions<'a> {
    pad_to_multiple: usize,
    weight_offset: f32,
    rows: RowOptions<'a>,
}

impl<'a> RmsnormPadOptions<'a> {
    /// Makes the rows of y as wide as the next multiple of that number, such as 256. As wide as those
    /// of x if it is 0 or not given.
    #[must_use]
    pub fn pad_to_multiple(mut self, multiple: usize) -> Self {
        self.pad_to_multiple = multiple;
        self
    }

    /// Adds a number to each weight, as [`RmsnormOptions`](crate::RmsnormOptions) does.
    #[must_use]
    pub fn weight_offset(mut self, offset: f32) -> Self {
        self.weight_offset = offset;
        self
    }

    /// How the kernel is launched.
    #[must_use]
    pub fn rows(mut self, rows: RowOptions<'a>) -> Self {
        self.rows = rows;
        self
    }

    /// The width of y, if that can be counted.
    fn padded(&self, width: usize) -> Option<usize> {
        if self.pad_to_multiple == 0 {
            return Some(width);
        }
        width.checked_next_multiple_of(self.pad_to_multiple)
    }

    /// An uninitialised y for such an x; as that if it is too large, which the op refuses.
    fn output<T: Real>(&self, x: &TensorSlice<T>) -> Result<Tensor<T>> {
        let mut shape = x.shape().to_vec();
        if let Some(width) = shape.last_mut() {
            *width = self.padded(*width).unwrap_or(*width);
        }
        Tensor::empty(x.stream(), &shape)
    }
}

/// What [`fused_add_rmsnorm_pad`] returns.
#[derive(Debug)]
pub struct FusedAddRmsnormPad<T: Real, R: Real> {
    /// The normalised rows, padded.
    pub y: Tensor<T>,
    /// `x + residual`, rounded to the element type of the residual.
    pub residual_out: Tensor<R>,
}

/// Where [`fused_add_rmsnorm_pad_into`] stores.
#[derive(Debug)]
pub struct FusedAddRmsnormPadOut<'a, T: Real, R: Real> {
    /// The normalised rows, padded.
    pub y: &'a mut TensorSlice<T>,
    /// `x + residual`, rounded to the element type of the residual; may be the residual.
    pub residual_out: &'a mut TensorSlice<R>,
}

/// Normalises the rows of `x` to a root mean square of one, scales the columns by `weight`, and
/// appends zeros.
///
/// `eps` is added to the mean of squares, in units of x squared.
///
/// # Errors
/// [`Error::Shape`] if `weight` is not as long as a row or rows are empty, [`Error::Stride`] if rows
/// are not evenly spaced, [`Error::Value`] if `eps` is not positive and finite, rows of y would be
/// longer than 2^31 - 1, or the tile does not hold rows so long, and [`Error::NoTile`] if there is no
/// tile of that name.
pub fn rmsnorm_pad<T: Real, W: Real>(
    x: &TensorSlice<T>,
    weight: &TensorSlice<W>,
    eps: f32,
    options: &RmsnormPadOptions<'_>,
) -> Result<Tensor<T>> {
    let mut y = options.output(x)?;
    rmsnorm_pad_into(x, weight, eps, options, &mut *y)?;
    Ok(y)
}

/// As [`rmsnorm_pad`], into `y`, whose rows are those of x with so many zeros that they are a multiple
/// of [`pad_to_multiple`](RmsnormPadOptions::pad_to_multiple) wide.
///
/// # Errors
/// As [`rmsnorm_pad`]; [`Error::Shape`] or [`Error::Stride`] also if `y` has another shape or rows that
/// are not evenly spaced, and [`Error::Alias`] if it overlaps another argument.
pub fn rmsnorm_pad_into<T: Real, W: Real>(
    x: &TensorSlice<T>,
    weight: &TensorSlice<W>,
    eps: f32,
    options: &RmsnormPadOptions<'_>,
    y: &mut TensorSlice<T>,
) -> Result<()> {
    launch::<T, T, W>("rmsnorm_pad", x, None, weight, eps, options, y)
}

/// Adds `residual` to `x`, and normalises the sum, before it is rounded, as [`rmsnorm_pad`] does.
///
/// # Errors
/// As [`rmsnorm_pad`]; [`Error::Shape`] also if `residual` has another shape than `x`.
pub fn fused_add_rmsnorm_pad<T: Real, R: Real, W: Real>(
    x: &TensorSlice<T>,
    residual: &TensorSlice<R>,
    weight: &TensorSlice<W>,
    eps: f32,
    options: &RmsnormPadOptions<'_>,
) -> Result<FusedAddRmsnormPad<T, R>> {
    let mut y = options.output(x)?;
    let mut residual_out = Tensor::empty(x.stream(), x.shape())?;
    let out = FusedAddRmsnormPadOut { y: &mut *y, residual_out: &mut *residual_out };
    fused_add_rmsnorm_pad_into(x, residual, weight, eps, options, out)?;
    Ok(FusedAddRmsnormPad { y, residual_out })
}

/// As [`fused_add_rmsnorm_pad`], into given tensors.
///
/// # Errors
/// As [`fused_add_rmsnorm_pad`]; [`Error::Shape`] or [`Error::Stride`] also if an output is not as
/// [`FusedAddRmsnormPadOut`] says, and [`Error::Alias`] if one overlaps another argument otherwise.
pub fn fused_add_rmsnorm_pad_into<T: Real, R: Real, W: Real>(
    x: &TensorSlice<T>,
    residual: &TensorSlice<R>,
    weight: &TensorSlice<W>,
    eps: f32,
    options: &RmsnormPadOptions<'_>,
    out: FusedAddRmsnormPadOut<'_, T, R>,
) -> Result<()> {
    let fused = Some((residual, out.residual_out));
    launch("fused_add_rmsnorm_pad", x, fused, weight, eps, options, out.y)
}

kernel_args! {
    /// Arguments of the kernels, as `kernels/fused_add_rmsnorm_pad.hip` declares them.
    pub(crate) struct FusedAddRmsnormPadArgs {
        pub(crate) x: AnyPtr,
        pub(crate) residual: AnyPtr,
        pub(crate) weight: AnyPtr,
        pub(crate) y: AnyPtr,
        pub(crate) residual_out: AnyPtr,
        pub(crate) x_stride: i64,
        pub(crate) residual_stride: i64,
        pub(crate) y_stride: i64,
        pub(crate) residual_out_stride: i64,
        pub(crate) rows: u32,
        pub(crate) width: u32,
        pub(crate) padded: u32,
        pub(crate) weight_type: u32,
        pub(crate) residual_type: u32,
        pub(crate) eps: f32,
        pub(crate) weight_offset: f32,
    }
}

fn launch<T: Real, R: Real, W: Real>(
    op: &'static str,
    x: &TensorSlice<T>,
    mut fused: Option<(&TensorSlice<R>, &mut TensorSlice<R>)>,
    weight: &TensorSlice<W>,
    eps: f32,
    options: &RmsnormPadOptions<'_>,
    y: &mut TensorSlice<T>,
) -> Result<()> {
    const PADDED: &str = "padded(n)";
    let mut args = Arguments::new(op);
    let x_stride = args.input("x", x, ROWS).rows()?;
    args.input("weight", weight, &["n"]).contiguous()?;
    let [mut residual_stride, mut residual_out_stride] = [0; 2];
    if let Some((residual, sum)) = &mut fused {
        residual_stride = args.input("residual", residual, ROWS).may_be("residual_out").rows()?;
        residual_out_stride = args.output("residual_out", sum, ROWS).rows()?;
    }
    let [rows, width] = options.rows.check(&args)?;
    args.define(PADDED, options.padded(width).unwrap_or(usize::MAX));
    args.limit(PADDED, 1..=i32::MAX as usize)?;
    let y_stride = args.output("y", y, &["..", PADDED]).rows()?;
    args.require(eps > 0.0 && eps.is_finite(), "eps", "positive and finite", eps)?;
    let [padded] = args.sizes([PADDED])?;
    let call = args.check()?;

    let stride = x_stride.max(residual_stride).max(residual_out_stride).max(y_stride);
    let variant = [if fused.is_some() { "add_" } else { "" }, T::DTYPE.name()].concat();
    let core = ("fused_add_rmsnorm_pad", &*variant);
    let kernel = options.rows.kernel(&call, &KERNELS, core, padded, stride)?;
    let (residual, sum) = fused.unzip();
    let args = FusedAddRmsnormPadArgs {
        x: x.ptr().any(),
        residual: residual.map_or(AnyPtr::NULL, |residual| residual.ptr().any()),
        weight: weight.ptr().any(),
        y: y.ptr().any(),
        residual_out: sum.map_or(AnyPtr::NULL, |sum| sum.ptr().any()),
        x_stride,
        residual_stride,
        y_stride,
        residual_out_stride,
        rows: rows as u32,
        width: width as u32,
        padded: padded as u32,
        weight_type: W::CODE,
        residual_type: R::CODE,
        eps,
        weight_offset: options.weight_offset,
    };
    // SAFETY: the kernel reads and writes rows of the shapes and strides that were checked.
    unsafe { kernel.launch(call, rows, &args) }
}
