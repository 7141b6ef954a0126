//! Gates of the gated delta rule, from projections of the tokens: for token i and head j
//! `g[i,j] = -exp(A_log[j]) softplus(a[i,j] + dt_bias[j])`, the natural logarithm of the factor by which
//! the head's state decays, and `beta[i,j] = 1 / (1 + exp(-b[i,j]))`, the strength of what it learns.
//!
//! `softplus(x) = ln(1 + exp(c x)) / c` with c = [`GdnGatingOptions::softplus_beta`], and x itself where
//! `c x` is above [`GdnGatingOptions::softplus_threshold`].
//!
//! | | |
//! |---|---|
//! | Shapes | A_log, dt_bias `[n]`; a, b `[.., n]` -> g, beta `[.., n]`; n heads, any number; rows any distance apart |
//! | Dtypes | A_log, dt_bias, beta bf16, f16, f32 each; a and b bf16, f16, f32; g f32 |
//! | Numerics | f32 throughout, rounded once at the store; g <= 0, and 0 where softplus is 0, however large exp(A_log) is |
//! | Hardware | cdna3, cdna4 |
//! | Source | Yang, Kautz and Hatamizadeh, "Gated Delta Networks" (2024); Qwen3-Next |
//!
//! ```
//! # #[cfg(feature = "cdna3")] {
//! use hk_gdr::{Device, GdnGatingOptions, Tensor, fused_gdn_gating};
//!
//! let stream = Device::open("sim:mi325x")?.default_stream();
//! let a_log = Tensor::from_slice(&stream, &[0.0f32, 1.0], &[2])?;
//! let dt_bias = Tensor::from_slice(&stream, &[0.0f32, -1.0], &[2])?;
//! let a = Tensor::from_slice(&stream, &[0.0f32, 1.0], &[1, 2])?;
//! let b = Tensor::from_slice(&stream, &[0.0f32, 2.0], &[1, 2])?;
//! let gates = fused_gdn_gating(&a_log, &dt_bias, &a, &b, &GdnGatingOptions::default())?;
//! approx::assert_abs_diff_eq!(gates.g.to_vec()?[..], [-0.693147, -1.884169], epsilon = 1e-6);
//! approx::assert_abs_diff_eq!(gates.beta.to_vec()?[..], [0.5, 0.880797], epsilon = 1e-6);
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

/// How gates are computed, where the default is not wanted.
#[derive(Debug, Clone, Copy)]
pub struct GdnGatingOptions<'a> {
    softplus_beta: f32,
    softplus_threshold: f32,
    rows: RowOptions<'a>,
}

impl Default for GdnGatingOptions<'_> {
    /// 1 and 20.
    fn default() -> Self {
        Self { softplus_beta: 1.0, softplus_threshold: 20.0, rows: RowOptions::default() }
    }
}

impl<'a> GdnGatingOptions<'a> {
    /// Factor of the argument of softplus, and divisor of its result.
    #[must_use]
    pub fn softplus_beta(mut self, factor: f32) -> Self {
        self.softplus_beta = factor;
        self
    }

    /// The product of that factor and the argument above which softplus is its argument.
    #[must_use]
    pub fn softplus_threshold(mut self, threshold: f32) -> Self {
        self.softplus_threshold = threshold;
        self
    }

    /// How the kernel is launched.
    #[must_use]
    pub fn rows(mut self, rows: RowOptions<'a>) -> Self {
        self.rows = rows;
        self
    }
}

/// What [`fused_gdn_gating`] returns.
#[derive(Debug)]
pub struct GdnGating {
    /// Logarithms of decays, in the shape of a.
    pub g: Tensor<f32>,
    /// Strengths, in the shape of a.
    pub beta: Tensor<f32>,
}

/// Where [`fused_gdn_gating_into`] stores.
#[derive(Debug)]
pub struct GdnGatingOut<'a, B: Real> {
    /// Logarithms of decays, in the shape of a.
    pub g: &'a mut TensorSlice<f32>,
    /// Strengths, in the shape of a.
    pub beta: &'a mut TensorSlice<B>,
}

/// The gates `g` and `beta` of every token and head.
///
/// # Errors
/// [`Error::Shape`] if rows are empty or shapes differ, [`Error::Stride`] if rows are not evenly
/// spaced, [`Error::Value`] if `softplus_beta` is not positive and finite, `softplus_threshold` is NaN,
/// or the tile does not take such rows, and [`Error::NoTile`] if there is no tile of that name.
pub fn fused_gdn_gating<A: Real, D: Real, T: Real>(
    a_log: &TensorSlice<A>,
    dt_bias: &TensorSlice<D>,
    a: &TensorSlice<T>,
    b: &TensorSlice<T>,
    options: &GdnGatingOptions<'_>,
) -> Result<GdnGating> {
    let mut g = Tensor::empty(a.stream(), a.shape())?;
    let mut beta = Tensor::empty(a.stream(), a.shape())?;
    let out = GdnGatingOut { g: &mut g, beta: &mut *beta };
    fused_gdn_gating_into(a_log, dt_bias, a, b, options, out)?;
    Ok(GdnGating { g, beta })
}

kernel_args! {
    /// Arguments of the kernel, as `kernels/fused_gdn_gating_prefill.hip` declares them.
    pub(crate) struct GdnGatingArgs {
        pub(crate) a_log: AnyPtr,
        pub(crate) dt_bias: AnyPtr,
        pub(crate) a: AnyPtr,
        pub(crate) b: AnyPtr,
        pub(crate) g: DevicePtr<f32>,
        pub(crate) beta: AnyPtr,
        pub(crate) a_stride: i64,
        pub(crate) b_stride: i64,
        pub(crate) g_stride: i64,
        pub(crate) beta_stride: i64,
        pub(crate) rows: u32,
        pub(crate) width: u32,
        pub(crate) a_log_type: u32,
        pub(crate) dt_bias_type: u32,
        pub(crate) beta_type: u32,
        pub(crate) softplus_beta: f32,
        pub(crate) softplus_beta_inverse: f32,
        pub(crate) softplus_threshold: f32,
    }
}

/// As [`fused_gdn_gating`], into given tensors; `beta` may have another element type.
///
/// # Errors
/// As [`fused_gdn_gating`]; [`Error::Shape`] or [`Error::Stride`] also if an output is not as
/// [`GdnGatingOut`] says, and [`Error::Alias`] if one overlaps another argument otherwise.
pub fn fused_gdn_gating_into<A: Real, D: Real, T: Real, B: Real>(
    a_log: &TensorSlice<A>,
    dt_bias: &TensorSlice<D>,
    a: &TensorSlice<T>,
    b: &TensorSlice<T>,
    options: &GdnGatingOptions<'_>,
    out: GdnGatingOut<'_, B>,
) -> Result<()> {
    let (factor, threshold) = (options.softplus_beta, options.softplus_threshold);
    let mut args = Arguments::new("fused_gdn_gating");
    let a_stride = args.input("a", a, ROWS).rows()?;
    let b_stride = args.input("b", b, ROWS).rows()?;
    args.input("a_log", a_log, &["n"]).contiguous()?;
    args.input("dt_bias", dt_bias, &["n"]).contiguous()?;
    let g_stride = args.output("g", out.g, ROWS).rows()?;
    let beta_stride = args.output("beta", out.beta, ROWS).rows()?;
    let is_factor = factor > 0.0 && factor.is_finite();
    args.require(is_factor, "softplus_beta", "positive and finite", factor)?;
    args.require(!threshold.is_nan(), "softplus_threshold", "a number", threshold)?;
    let [rows, width] = options.rows.check(&args)?;
    let call = args.check()?;

    let core = ("fused_gdn_gating_prefill", T::DTYPE.name());
    let stride = [a_stride, b_stride, g_stride, beta_stride].into_iter().fold(0, i64::max);
    let kernel = options.rows.kernel(&call, &KERNELS, core, width, stride)?;
    let args = GdnGatingArgs {
        a_log: a_log.ptr().any(),
        dt_bias: dt_bias.ptr().any(),
        a: a.ptr().any(),
        b: b.ptr().any(),
        g: out.g.ptr_mut(),
        beta: out.beta.ptr().any(),
        a_stride,
        b_stride,
        g_stride,
        beta_stride,
        rows: rows as u32,
        width: width as u32,
        a_log_type: A::CODE,
        dt_bias_type: D::CODE,
        beta_type: B::CODE,
        softplus_beta: factor,
        softplus_beta_inverse: 1.0 / factor,
        softplus_threshold: threshold,
    };
    // SAFETY: the kernel reads and writes rows of the shapes and strides that were checked.
    unsafe { kernel.launch(call, rows, &args) }
}
