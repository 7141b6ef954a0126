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
//! | [`activation`], [`fused_clamp_act_mul`], [`act_mul_fp8_group_quant`], [`act_mul_mxfp4_quant`] | any [`Activation`] | 0 |
//! | [`swiglu_and_mul`] | `x sigmoid(alpha x)` | 1 |
//!
//! There is a limit c in [`fused_clamp_act_mul`] and [`swiglu_and_mul`] only. The former also takes
//! weights, one for each row or each element, by which it multiplies. [`act_mul_fp8_group_quant`] and
//! [`act_mul_mxfp4_quant`] give y as codes of few bits: `y[i,j] ~ s c[i,j]`, with a scale for each group
//! of elements of a row.
//!
//! | | |
//! |---|---|
//! | Shapes | x `[.., n]` -> y `[.., n]`; gated x `[.., 2n]`, weights `[.., 1]` or `[.., n]` -> y `[.., n]`, or codes `[.., n]` and scales `[.., ceil(n/g)]` or `[ceil(n/g), rows]` with groups of g = 32, 64 or 128, of [`act_mul_mxfp4_quant`] of 32, which can be shuffled too; any n >= 1, but even of fp4; rows any distance apart |
//! | Dtypes | x bf16, f16, f32; weights f32; y as x; codes e4m3 in the flavour of the chip with scales f32, or OCP e2m1 with scales e8m0, on any chip |
//! | Numerics | f32 throughout, rounded once at the store; NaN stays NaN, and finite numbers stay finite, but for products that are too large; codes are of y in f32, rounded to nearest, ties to even |
//! | Hardware | cdna3, cdna4 |
//! | Source | Hendrycks and Gimpel, "Gaussian Error Linear Units" (2016); Shazeer, "GLU Variants Improve Transformer" (2020); GPT-OSS, for swiglu with limits; OCP Microscaling Formats (MX) Specification 1.0, for blocks |
//!
//! ```
//! # #[cfg(feature = "cdna3")] {
//! use hk_core::dtype::{E8M0, F4x2E2M1};
//! use hk_norm::{
//!     Activation, Device, GateLayout, GatedOptions, MxOptions, RowOptions, Tensor,
//!     act_mul_mxfp4_quant, relu, silu_and_mul,
//! };
//!
//! let stream = Device::open("sim:mi325x")?.default_stream();
//! let x = Tensor::from_slice(&stream, &[0.0f32, -1.0, 3.0, 2.0], &[1, 4])?;
//! assert_eq!(relu(&x, &RowOptions::default())?.to_vec()?, [0.0, 0.0, 3.0, 2.0]);
//! let y = silu_and_mul(&x, &GatedOptions::default())?;
//! approx::assert_abs_diff_eq!(y.to_vec()?[..], [0.0, -0.537_883], epsilon = 1e-6);
//!
//! // 3, 12, 0, 0 in units of 2.
//! let x = Tensor::from_slice(&stream, &[1.0f32, 2.0, 1.0, -1.0, 3.0, 6.0, 0.0, 9.0], &[1, 8])?;
//! let q = act_mul_mxfp4_quant(&x, Activation::Relu, GateLayout::Halves, &MxOptions::default())?;
//! assert_eq!(q.scales.to_vec()?, [E8M0::from_bits(128)]);
//! let codes = [F4x2E2M1::from_f32(1.5, 6.0), F4x2E2M1::from_f32(0.0, 0.0)];
//! assert_eq!(q.codes.to_vec()?, codes);
//! # }
//! # Ok::<(), hk_core::Error>(())
//! ```

mod gated;
mod quantised;

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
pub use quantised::{
    act_mul_fp8_group_quant, act_mul_fp8_group_quant_into, act_mul_mxfp4_quant,
    act_mul_mxfp4_quant_into,
};

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

    let core = ("activation", T::DTYPE.name());
    let kernel = options.kernel(&call, &KERNELS, core, width, x_stride.max(y_stride))?;
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
