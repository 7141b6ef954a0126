//! Gated activations.

#[cfg(doc)]
use hk_core::Error;
use hk_core::dtype::Real;
use hk_core::op::Arguments;
use hk_core::op::rows::RowOptions;
use hk_core::{Activation, DevicePtr, Result, Tensor, TensorSlice};

use super::GatedArgs;
use crate::KERNELS;

/// Where gates and what they let through are in a row of x.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum GateLayout {
    /// All gates, then all others.
    #[default]
    Halves,
    /// A gate and what it lets through, side by side.
    Interleaved,
}

/// What gated activations do besides the default.
#[derive(Debug, Clone, Copy, Default)]
pub struct GatedOptions<'a> {
    layout: GateLayout,
    rows: RowOptions<'a>,
}

impl<'a> GatedOptions<'a> {
    /// Where gates are: in the first half of a row, if not given.
    #[must_use]
    pub fn layout(mut self, layout: GateLayout) -> Self {
        self.layout = layout;
        self
    }

    /// How the kernel is launched.
    #[must_use]
    pub fn rows(mut self, rows: RowOptions<'a>) -> Self {
        self.rows = rows;
        self
    }
}

/// What is computed of a gate and what it lets through.
struct Gate {
    /// As the kernel names it: 0 for `g sigmoid(slope g)`.
    kind: u32,
    slope: f32,
    limit: f32,
    offset: f32,
}

impl Gate {
    const fn new(activation: Activation) -> Self {
        let (kind, slope) = (activation.code(), activation.parameter());
        Self { kind, slope, limit: f32::INFINITY, offset: 0.0 }
    }
}

/// The shape of the result for such an x.
pub(super) fn output_shape<T: Real>(x: &TensorSlice<T>) -> Vec<usize> {
    let mut shape = x.shape().to_vec();
    if let Some(width) = shape.last_mut() {
        *width /= 2;
    }
    shape
}

/// An uninitialised y for such an x.
fn output<T: Real>(x: &TensorSlice<T>) -> Result<Tensor<T>> {
    Tensor::empty(x.stream(), &output_shape(x))
}

fn gated<T: Real>(
    op: &'static str,
    x: &TensorSlice<T>,
    weights: Option<&TensorSlice<f32>>,
    gate: &Gate,
    options: &GatedOptions<'_>,
    y: &mut TensorSlice<T>,
) -> Result<()> {
    let mut args = Arguments::new(op);
    let y_stride = args.output("y", y, &["..", "n"]).rows()?;
    let [rows, width] = options.rows.check(&args)?;
    args.limit("n", 1..=i32::MAX as usize / 2)?;
    args.define("2n", 2 * width);
    let x_stride = args.input("x", x, &["..", "2n"]).rows()?;
    let (mut weights_stride, mut weights_width) = (0, 0);
    if let Some(weights) = weights {
        weights_width = weights.shape().last().copied().unwrap_or_default();
        let dims: &[&str] = if weights_width == 1 { &["..", "1"] } else { &["..", "n"] };
        weights_stride = args.input("weights", weights, dims).rows()?;
    }
    args.require(gate.slope.is_finite(), "alpha", "finite", gate.slope)?;
    args.require(gate.limit >= 0.0, "limit", "not negative", gate.limit)?;
    let call = args.check()?;

    let variant =
        [if weights.is_some() { "weighted_" } else { "gated_" }, T::DTYPE.name()].concat();
    let core = ("activation", &*variant);
    let stride = x_stride.max(y_stride).max(weights_stride);
    let kernel = options.rows.kernel(&call, &KERNELS, core, width, stride)?;
    let args = GatedArgs {
        x: x.ptr().any(),
        weights: weights.map_or(DevicePtr::NULL, TensorSlice::ptr),
        y: y.ptr().any(),
        x_stride,
        weights_stride,
        y_stride,
        rows: rows as u32,
        width: width as u32,
        weights_width: weights_width as u32,
        is_interleaved: u32::from(options.layout == GateLayout::Interleaved),
        kind: gate.kind,
        slope: gate.slope,
        limit: gate.limit,
        offset: gate.offset,
    };
    // SAFETY: the kernel reads and writes rows of the shapes and strides that were checked.
    unsafe { kernel.launch(call, rows, &args) }
}

macro_rules! gated_ops {
    ($($op:ident, $into:ident: $activation:ident;)*) => { $(
        #[doc = concat!("[`Activation::", stringify!($activation), "`] of the gates of `x`, times ")]
        /// what they let through.
        ///
        /// # Errors
        /// [`Error::Shape`] if rows have an odd number of elements or none, [`Error::Stride`] if they
        /// are not evenly spaced, [`Error::Value`] if the tile does not take such rows, and
        /// [`Error::NoTile`] if there is no tile of that name.
        pub fn $op<T: Real>(
            x: &TensorSlice<T>,
            options: &GatedOptions<'_>,
        ) -> Result<Tensor<T>> {
            let mut y = output(x)?;
            $into(x, options, &mut *y)?;
            Ok(y)
        }

        #[doc = concat!("As [`", stringify!($op), "`], into `y`, whose rows are half as wide as ")]
        /// those of `x`.
        ///
        /// # Errors
        #[doc = concat!("As [`", stringify!($op), "`]; [`Error::Shape`] or [`Error::Stride`] also ")]
        /// if `y` has another shape or rows that are not evenly spaced, and [`Error::Alias`] if it
        /// overlaps `x`.
        pub fn $into<T: Real>(
            x: &TensorSlice<T>,
            options: &GatedOptions<'_>,
            y: &mut TensorSlice<T>,
        ) -> Result<()> {
            let gate = Gate::new(Activation::$activation);
            gated(stringify!($op), x, None, &gate, options, y)
        }
    )* };
}

gated_ops! {
    silu_and_mul, silu_and_mul_into: Silu;
    gelu_and_mul, gelu_and_mul_into: Gelu;
    gelu_tanh_and_mul, gelu_tanh_and_mul_into: GeluTanh;
}

/// Gates g of at most `limit`, `g sigmoid(alpha g)`, times what they let through plus 1, of at most
/// `limit` in magnitude before. GPT-OSS has 1.702 and 7.
///
/// # Errors
/// As [`silu_and_mul`]; [`Error::Value`] also if `alpha` is not finite, or `limit` negative.
pub fn swiglu_and_mul<T: Real>(
    x: &TensorSlice<T>,
    alpha: f32,
    limit: f32,
    options: &GatedOptions<'_>,
) -> Result<Tensor<T>> {
    let mut y = output(x)?;
    swiglu_and_mul_into(x, alpha, limit, options, &mut *y)?;
    Ok(y)
}

/// As [`swiglu_and_mul`], into `y`, whose rows are half as wide as those of `x`.
///
/// # Errors
/// As [`swiglu_and_mul`], and for `y` as [`silu_and_mul_into`].
pub fn swiglu_and_mul_into<T: Real>(
    x: &TensorSlice<T>,
    alpha: f32,
    limit: f32,
    options: &GatedOptions<'_>,
    y: &mut TensorSlice<T>,
) -> Result<()> {
    let gate = Gate { kind: 0, slope: alpha, limit, offset: 1.0 };
    gated("swiglu_and_mul", x, None, &gate, options, y)
}

/// The activation of gates of at most `limit`, times what they let through, of at most `limit` in
/// magnitude, times the weight of the row or the element, if there are weights. There is no limit if it
/// is 0.
///
/// # Errors
/// As [`silu_and_mul`]; [`Error::Value`] also if `limit` is negative or the slope of the activation is
/// not finite, and [`Error::Shape`] if `weights` have neither one column nor those of the result.
pub fn fused_clamp_act_mul<T: Real>(
    x: &TensorSlice<T>,
    weights: Option<&TensorSlice<f32>>,
    activation: Activation,
    limit: f32,
    options: &GatedOptions<'_>,
) -> Result<Tensor<T>> {
    let mut y = output(x)?;
    fused_clamp_act_mul_into(x, weights, activation, limit, options, &mut *y)?;
    Ok(y)
}

/// As [`fused_clamp_act_mul`], into `y`, whose rows are half as wide as those of `x`.
///
/// # Errors
/// As [`fused_clamp_act_mul`], and for `y` as [`silu_and_mul_into`].
pub fn fused_clamp_act_mul_into<T: Real>(
    x: &TensorSlice<T>,
    weights: Option<&TensorSlice<f32>>,
    activation: Activation,
    limit: f32,
    options: &GatedOptions<'_>,
    y: &mut TensorSlice<T>,
) -> Result<()> {
    let limit = if limit == 0.0 { f32::INFINITY } else { limit };
    let gate = Gate { limit, ..Gate::new(activation) };
    gated("fused_clamp_act_mul", x, weights, &gate, options, y)
}
