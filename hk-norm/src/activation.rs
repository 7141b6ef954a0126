//! Activations of all elements, `y[i,j] = f(x[i,j])`, and gated ones,
//! `y[i,j] = f(min(g, c)) (clamp(l, -c, c) + o)`, whose x has two elements for each of y: a gate g and
//! what it lets through, l.
//!
//! | op | f(x) | o |
//! |---|---|---|
//! | [`silu`], [`silu_and_mul`] | `x sigmoid(x)` | 0 |
//! | [`gelu`], [`gelu_and_mul`] | `x (1 + erf(x / sqrt 2)) / 2` | 0 |
//! | [`gelu_tanh`], [`gelu_tanh_and_mul`] | `x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2` | 0 |
//! | [`relu`] | `max(x, 0)` | |
//! | [`tanh`] | `tanh x` | |
//! | [`activation`], [`fused_clamp_act_mul`] | any [`Activation`] | 0 |
//! | [`swiglu_and_mul`] | `x sigmoid(alpha x)` | 1 |
//!
//! There is a limit c in the last two of the gated ops only. [`fused_clamp_act_mul`] also takes weights,
//! one for each row or each element, by which it multiplies.
//!
//! | | |
//! |---|---|
//! | Shapes | x `[.., n]` -> y `[.., n]`; gated x `[.., 2n]`, weights `[.., 1]` or `[.., n]` -> y `[.., n]`; any n >= 1, rows any distance apart |
//! | Dtypes | x bf16, f16, f32; weights f32; y as x |
//! | Numerics | f32 throughout, rounded once at the store; NaN stays NaN, and finite numbers stay finite, but for products that are too large |
//! | Hardware | cdna3, cdna4 |
//! | Source | Hendrycks and Gimpel, "Gaussian Error Linear Units" (2016); Shazeer, "GLU Variants Improve Transformer" (2020); GPT-OSS, for swiglu with limits |
//!
//! ```
//! # #[cfg(feature = "cdna3")] {
//! use hk_norm::{Device, GatedOptions, RowOptions, Tensor, relu, silu_and_mul};
//!
//! let stream = Device::open("sim:mi325x")?.default_stream();
//! let x = Tensor::from_slice(&stream, &[0.0f32, -1.0, 3.0, 2.0], &[1, 4])?;
//! assert_eq!(relu(&x, &RowOptions::default())?.to_vec()?, [0.0, 0.0, 3.0, 2.0]);
//! let y = silu_and_mul(&x, &GatedOptions::default())?;
//! approx::assert_abs_diff_eq!(y.to_vec()?[..], [0.0, -0.537_883], epsilon = 1e-6);
//! # }
//! # Ok::<(), hk_core::Error>(())
//! ```

mod gated;

pub use gated::{
    GateLayout, GatedOptions, fused_clamp_act_mul, fused_clamp_act_mul_into, gelu_and_mul,
    gelu_and_mul_into, gelu_tanh_and_mul, gelu_tanh_and_mul_into, silu_and_mul, silu_and_mul_into,
    swiglu_and_mul, swiglu_and_mul_into,
};

#[cfg(doc)]
use hk_core::Error;
use hk_core::dtype::Real;
use hk_core::op::Arguments;
use hk_core::op::rows::{ROWS, RowOptions};
use hk_core::{Activation, AnyPtr, DevicePtr, Result, Tensor, TensorSlice, kernel_args};

use crate::KERNELS;

kernel_args! {
    /// Arguments of the kernel, as `kernels/activation.hip` declares them.
    pub(crate) struct ActivationArgs {
        pub(crate) x: AnyPtr,
        pub(crate) y: AnyPtr,
        pub(crate) x_stride: i64,
        pub(crate) y_stride: i64,
        pub(crate) rows: u32,
        pub(crate) width: u32,
        pub(crate) kind: u32,
        pub(crate) slope: f32,
    }
}

kernel_args! {
    /// Arguments of the kernel, as `kernels/activation.hip` declares them.
    pub(crate) struct GatedArgs {
        pub(crate) x: AnyPtr,
        pub(crate) weights: DevicePtr<f32>,
        pub(crate) y: AnyPtr,
        pub(crate) x_stride: i64,
        pub(crate) weights_stride: i64,
        pub(crate) y_stride: i64,
        pub(crate) rows: u32,
        pub(crate) width: u32,
        pub(crate) weights_width: u32,
        pub(crate) is_interleaved: u32,
        pub(crate) kind: u32,
        pub(crate) slope: f32,
        pub(crate) limit: f32,
        pub(crate) offset: f32,
    }
}

fn plain<T: Real>(
    op: &'static str,
    x: &TensorSlice<T>,
    activation: Activation,
    options: &RowOptions<'_>,
    y: &mut TensorSlice<T>,
) -> Result<()> {
    let mut args = Arguments::new(op);
    let x_stride = args.input("x", x, ROWS).may_be("y").rows()?;
    let y_stride = args.output("y", y, ROWS).rows()?;
    let [rows, width] = options.check(&args)?;
    let call = args.check()?;

    let family = ("activation", T::DTYPE.name());
    let kernel = options.kernel(&call, &KERNELS, family, width, x_stride.max(y_stride))?;
    let args = ActivationArgs {
        x: x.ptr().any(),
        y: y.ptr().any(),
        x_stride,
        y_stride,
        rows: rows as u32,
        width: width as u32,
        kind: activation.code(),
        slope: activation.parameter(),
    };
    // SAFETY: the kernel reads and writes rows of the shapes and strides that were checked.
    unsafe { kernel.launch(call, rows, &args) }
}

/// The activation of each element of `x`.
///
/// # Errors
/// [`Error::Shape`] if rows are empty, [`Error::Stride`] if they are not evenly spaced,
/// [`Error::Value`] if the tile does not take such rows, and [`Error::NoTile`] if there is no tile of
/// that name.
pub fn activation<T: Real>(
    x: &TensorSlice<T>,
    activation: Activation,
    options: &RowOptions<'_>,
) -> Result<Tensor<T>> {
    let mut y = Tensor::empty(x.stream(), x.shape())?;
    activation_into(x, activation, options, &mut *y)?;
    Ok(y)
}

/// As [`activation`], into `x`.
///
/// # Errors
/// As [`activation`].
pub fn activation_inplace<T: Real>(
    x: &mut TensorSlice<T>,
    activation: Activation,
    options: &RowOptions<'_>,
) -> Result<()> {
    let (x, mut y) = x.in_place();
    activation_into(&x, activation, options, &mut *y)
}

/// As [`activation`], into `y` of the shape of `x`, which it may be.
///
/// # Errors
/// As [`activation`]; [`Error::Shape`] or [`Error::Stride`] also if `y` has another shape or rows that
/// are not evenly spaced, and [`Error::Alias`] if it overlaps `x` otherwise.
pub fn activation_into<T: Real>(
    x: &TensorSlice<T>,
    activation: Activation,
    options: &RowOptions<'_>,
    y: &mut TensorSlice<T>,
) -> Result<()> {
    plain("activation", x, activation, options, y)
}

macro_rules! activations {
    ($($op:ident, $into:ident, $inplace:ident: $activation:ident;)*) => { $(
        #[doc = concat!("[`Activation::", stringify!($activation), "`] of each element of `x`.")]
        ///
        /// # Errors
        /// As [`activation`].
        pub fn $op<T: Real>(x: &TensorSlice<T>, options: &RowOptions<'_>) -> Result<Tensor<T>> {
            let mut y = Tensor::empty(x.stream(), x.shape())?;
            $into(x, options, &mut *y)?;
            Ok(y)
        }

        #[doc = concat!("As [`", stringify!($op), "`], into `x`.")]
        ///
        /// # Errors
        /// As [`activation`].
        pub fn $inplace<T: Real>(x: &mut TensorSlice<T>, options: &RowOptions<'_>) -> Result<()> {
            let (x, mut y) = x.in_place();
            $into(&x, options, &mut *y)
        }

        #[doc = concat!("As [`", stringify!($op), "`], into `y`, as [`activation_into`] does.")]
        ///
        /// # Errors
        /// As [`activation_into`].
        pub fn $into<T: Real>(
            x: &TensorSlice<T>,
            options: &RowOptions<'_>,
            y: &mut TensorSlice<T>,
        ) -> Result<()> {
            plain(stringify!($op), x, Activation::$activation, options, y)
        }
    )* };
}

activations! {
    silu, silu_into, silu_inplace: Silu;
    gelu, gelu_into, gelu_inplace: Gelu;
    gelu_tanh, gelu_tanh_into, gelu_tanh_inplace: GeluTanh;
    relu, relu_into, relu_inplace: Relu;
    tanh, tanh_into, tanh_inplace: Tanh;
}
