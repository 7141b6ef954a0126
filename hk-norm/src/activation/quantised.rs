//! Gated activations as codes of few bits, with scales.

#[cfg(doc)]
use hk_core::Error;
use hk_core::dtype::{E8M0, Element, F4x2E2M1, Real};
use hk_core::op::Arguments;
use hk_core::op::quant::{
    BlockScales, Fp8, GroupOptions, GroupScales, MX_BLOCK, MxOptions, Quantised, QuantisedOut,
    ScaleLayout,
};
use hk_core::op::rows::{ROWS, RowOptions};
use hk_core::{Activation, Result, Tensor, TensorSlice};

use super::GateLayout;
use super::gated::output_shape;
use crate::KERNELS;
use crate::act_mul_quant::ActMulQuantArgs;

/// The scales of codes: those of the one kind or the other.
struct Scales {
    groups: GroupScales,
    blocks: BlockScales,
}

/// [`activation`](super::activation) of the gates of x, times what they let through, y, to codes of
/// 8-bit floating point: each group of consecutive elements of a row of y has the scale `s =
/// max(max_j |y_j|, 1e-10) / m`, where m is the largest code, and codes are `y (1 / s)`, rounded to
/// nearest, ties to even. The last group of a row may be shorter.
///
/// The scale of a group with NaN is NaN, else that of one with infinity is infinity; what codes
/// such a group has is not specified.
///
/// # Errors
/// [`Error::Shape`] if rows have an odd number of elements or none, [`Error::Stride`] if they are
/// not evenly spaced, [`Error::ArchMismatch`] if the codes are those of another chip,
/// [`Error::Value`] if groups have another size than 32, 64 or 128, scales are to be shuffled, the
/// slope of the activation is not finite, or the tile does not take such rows, and
/// [`Error::NoTile`] if there is no tile of that name.
pub fn act_mul_fp8_group_quant<T: Real, C: Fp8>(
    x: &TensorSlice<T>,
    activation: Activation,
    gates: GateLayout,
    options: &GroupOptions<'_>,
) -> Result<Quantised<C>> {
    let mut quantised = empty(x, options.layout(), options.group_size().max(1))?;
    act_mul_fp8_group_quant_into(x, activation, gates, options, quantised.out())?;
    Ok(quantised)
}

/// As [`act_mul_fp8_group_quant`], into given tensors.
///
/// # Errors
/// As [`act_mul_fp8_group_quant`]; [`Error::Shape`] or [`Error::Stride`] also if an output has not
/// the shape that [`act_mul_fp8_group_quant`] gives it, and [`Error::Alias`] if one overlaps another
/// argument.
pub fn act_mul_fp8_group_quant_into<T: Real, C: Fp8>(
    x: &TensorSlice<T>,
    activation: Activation,
    gates: GateLayout,
    options: &GroupOptions<'_>,
    out: QuantisedOut<'_, C>,
) -> Result<()> {
    let QuantisedOut { codes, scales } = out;
    let op = ActMulQuant { activation, gates, rows: options.row_options() };
    op.launch("act_mul_fp8_group_quant", x, codes, |args| {
        options.check(args)?;
        let group = options.group_size();
        let strides = options.layout().output(args, scales, group)?;
        Ok(Scales {
            groups: GroupScales::new::<C>(scales, strides, group),
            blocks: BlockScales::NONE,
        })
    })
}

/// As [`act_mul_fp8_group_quant`], to 4-bit floating point: the largest magnitude of each block of
/// 32 consecutive elements of a row of y gives the scale, a power of two, and codes are `y / s`,
/// rounded to nearest, ties to even, at most 6. The last block of a row may be shorter.
///
/// A block with NaN or infinity has the scale NaN and codes of 0.
///
/// # Errors
/// [`Error::Shape`] if rows have an odd number of elements or none, [`Error::Stride`] if they are
/// not evenly spaced, [`Error::Value`] if rows of y have an odd number of elements, the slope of the
/// activation is not finite, or the tile does not take such rows, and [`Error::NoTile`] if there is
/// no tile of that name.
pub fn act_mul_mxfp4_quant<T: Real>(
    x: &TensorSlice<T>,
    activation: Activation,
    gates: GateLayout,
    options: &MxOptions<'_>,
) -> Result<Quantised<F4x2E2M1, E8M0>> {
    let width = output_shape(x).last().copied().unwrap_or_default();
    require_even(&Arguments::new("act_mul_mxfp4_quant"), width)?;
    let mut quantised = empty(x, options.layout(), MX_BLOCK)?;
    act_mul_mxfp4_quant_into(x, activation, gates, options, quantised.out())?;
    Ok(quantised)
}

/// As [`act_mul_mxfp4_quant`], into given tensors.
///
/// # Errors
/// As [`act_mul_mxfp4_quant`]; [`Error::Shape`] or [`Error::Stride`] also if an output has not the
/// shape that [`act_mul_mxfp4_quant`] gives it, and [`Error::Alias`] if one overlaps another
/// argument.
pub fn act_mul_mxfp4_quant_into<T: Real>(
    x: &TensorSlice<T>,
    activation: Activation,
    gates: GateLayout,
    options: &MxOptions<'_>,
    out: QuantisedOut<'_, F4x2E2M1, E8M0>,
) -> Result<()> {
    let QuantisedOut { codes, scales } = out;
    let op = ActMulQuant { activation, gates, rows: options.row_options() };
    op.launch("act_mul_mxfp4_quant", x, codes, |args| {
        let [width] = args.sizes(["n"])?;
        require_even(args, width)?;
        let layout = options.layout();
        let strides = layout.output(args, scales, MX_BLOCK)?;
        let blocks = BlockScales::new(scales, strides, layout, options.mode());
        Ok(Scales { groups: GroupScales::NONE, blocks })
    })
}

/// Requires rows of whole bytes of 4-bit codes.
fn require_even(args: &Arguments, width: usize) -> Result<()> {
    args.require(width.is_multiple_of(2), "n", "a multiple of 2", width)
}

/// Uninitialised codes and scales for such an x.
fn empty<T: Real, C: Element, S: Element>(
    x: &TensorSlice<T>,
    layout: ScaleLayout,
    group: usize,
) -> Result<Quantised<C, S>> {
    let shape = output_shape(x);
    let scales = Tensor::empty(x.stream(), &layout.shape(&shape, group))?;
    Ok(Quantised { codes: Tensor::empty(x.stream(), &shape)?, scales })
}

/// What is done to rows, whatever the codes are.
struct ActMulQuant<'a> {
    activation: Activation,
    gates: GateLayout,
    rows: &'a RowOptions<'a>,
}

impl ActMulQuant<'_> {
    /// Launches it, with scales that are declared after the codes.
    fn launch<T: Real, C: Element>(
        &self,
        op: &'static str,
        x: &TensorSlice<T>,
        codes: &mut TensorSlice<C>,
        declare_scales: impl FnOnce(&mut Arguments) -> Result<Scales>,
    ) -> Result<()> {
        let mut args = Arguments::new(op);
        let x_stride = args.input("x", x, &["..", "both"]).rows()?;
        let codes_stride = match C::PACK {
            1 => args.output("codes", codes, ROWS).rows()?,
            _ => args.output("codes", codes, ROWS).portable().rows()? / C::PACK as i64,
        };
        let [rows, width] = self.rows.check(&args)?;
        args.limit("n", 1..=i32::MAX as usize / 2)?;
        args.limit("both", 2 * width..=2 * width)?;
        let Scales { groups, blocks } = declare_scales(&mut args)?;
        let slope = self.activation.parameter();
        args.require(slope.is_finite(), "activation", "one with a finite slope", slope)?;
        let call = args.check()?;

        let core = ("act_mul_quant", T::DTYPE.name());
        let stride = x_stride.max(codes_stride * C::PACK as i64);
        let kernel = self.rows.kernel(&call, &KERNELS, core, width, stride)?;
        let args = ActMulQuantArgs {
            x: x.ptr().any(),
            codes: codes.ptr().any(),
            x_stride,
            codes_stride,
            groups,
            blocks,
            rows: rows as u32,
            width: width as u32,
            is_interleaved: u32::from(self.gates == GateLayout::Interleaved),
            is_e2m1: u32::from(C::PACK == 2),
            kind: self.activation.code(),
            slope,
        };
        // SAFETY: the kernel reads and writes rows of the shapes and strides that were checked.
        unsafe { kernel.launch(call, rows, &args) }
    }
}
