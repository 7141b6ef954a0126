//! A power of two for each block of 32 elements of a row.

#[cfg(doc)]
use hk_core::Error;
use hk_core::dtype::{E8M0, Element, F4x2E2M1, F8E4M3, Real};
use hk_core::op::Arguments;
use hk_core::op::quant::{MxRound, ScaleLayout};
use hk_core::op::rows::{ROWS, RowOptions};
use hk_core::{Result, Tensor, TensorSlice};

use crate::KERNELS;
use crate::mx_quant::MxQuantArgs;

/// Elements of a block.
const BLOCK: usize = 32;

/// What can be chosen of [`dynamic_mxfp4_quant`] and [`dynamic_mxfp8_quant`].
#[derive(Debug, Clone, Copy, Default)]
pub struct MxQuantOptions<'a> {
    mode: MxRound,
    layout: ScaleLayout,
    rows: RowOptions<'a>,
}

impl<'a> MxQuantOptions<'a> {
    /// With the scales that this mode gives; [`MxRound::Even`] if not given.
    #[must_use]
    pub fn round_mode(self, mode: MxRound) -> Self {
        Self { mode, ..self }
    }

    /// With the scales in that order; [`ScaleLayout::RowMajor`] if not given.
    #[must_use]
    pub fn scale_layout(self, layout: ScaleLayout) -> Self {
        Self { layout, ..self }
    }

    /// Launched so.
    #[must_use]
    pub fn rows(self, rows: RowOptions<'a>) -> Self {
        Self { rows, ..self }
    }
}

/// What [`dynamic_mxfp4_quant`] and [`dynamic_mxfp8_quant`] return.
#[derive(Debug)]
pub struct MxQuant<C: Element> {
    /// The codes, in the shape of x.
    pub codes: Tensor<C>,
    /// The scales, in the shape that their layout says.
    pub scales: Tensor<E8M0>,
}

/// Where [`dynamic_mxfp4_quant_into`] and [`dynamic_mxfp8_quant_into`] store.
#[derive(Debug)]
pub struct MxQuantOut<'a, C: Element> {
    /// The codes, in the shape of x.
    pub codes: &'a mut TensorSlice<C>,
    /// The scales, in the shape that their layout says.
    pub scales: &'a mut TensorSlice<E8M0>,
}

/// Quantises each block of 32 consecutive elements of a row to 4-bit floating point: the largest
/// magnitude gives the scale, a power of two, and codes are `x / s`, rounded to nearest, ties to even,
/// at most 6. The last block of a row may be shorter.
///
/// A block with NaN or infinity has the scale NaN and codes of 0.
///
/// # Errors
/// [`Error::Shape`] if rows are empty, [`Error::Stride`] if they are not evenly spaced,
/// [`Error::Value`] if they have an odd number of elements, or the tile does not take such rows, and
/// [`Error::NoTile`] if there is no tile of that name.
pub fn dynamic_mxfp4_quant<T: Real>(
    x: &TensorSlice<T>,
    options: &MxQuantOptions<'_>,
) -> Result<MxQuant<F4x2E2M1>> {
    quantise("dynamic_mxfp4_quant", x, options)
}

/// As [`dynamic_mxfp4_quant`], into given tensors.
///
/// # Errors
/// As [`dynamic_mxfp4_quant`]; [`Error::Shape`] or [`Error::Stride`] also if an output is not as
/// [`MxQuantOut`] says, and [`Error::Alias`] if one overlaps another argument.
pub fn dynamic_mxfp4_quant_into<T: Real>(
    x: &TensorSlice<T>,
    options: &MxQuantOptions<'_>,
    out: MxQuantOut<'_, F4x2E2M1>,
) -> Result<()> {
    quantise_into("dynamic_mxfp4_quant", x, options, out)
}

/// As [`dynamic_mxfp4_quant`], to OCP's e4m3, whatever the chip computes with; codes are at most 448.
///
/// # Errors
/// As [`dynamic_mxfp4_quant`], and [`Error::Value`] also if rows have no whole blocks.
pub fn dynamic_mxfp8_quant<T: Real>(
    x: &TensorSlice<T>,
    options: &MxQuantOptions<'_>,
) -> Result<MxQuant<F8E4M3>> {
    quantise("dynamic_mxfp8_quant", x, options)
}

/// As [`dynamic_mxfp8_quant`], into given tensors.
///
/// # Errors
/// As [`dynamic_mxfp8_quant`]; [`Error::Shape`] or [`Error::Stride`] also if an output is not as
/// [`MxQuantOut`] says, and [`Error::Alias`] if one overlaps another argument.
pub fn dynamic_mxfp8_quant_into<T: Real>(
    x: &TensorSlice<T>,
    options: &MxQuantOptions<'_>,
    out: MxQuantOut<'_, F8E4M3>,
) -> Result<()> {
    quantise_into("dynamic_mxfp8_quant", x, options, out)
}

/// Elements of which a row has whole numbers.
const fn unit<C: Element>() -> usize {
    if C::PACK == 2 { 2 } else { BLOCK }
}

fn quantise<T: Real, C: Element>(
    op: &'static str,
    x: &TensorSlice<T>,
    options: &MxQuantOptions<'_>,
) -> Result<MxQuant<C>> {
    let width = x.shape().last().copied().unwrap_or_default();
    require_whole::<C>(&Arguments::new(op), width)?;
    let mut codes = Tensor::empty(x.stream(), x.shape())?;
    let mut scales = Tensor::empty(x.stream(), &options.layout.shape(x.shape(), BLOCK))?;
    let out = MxQuantOut { codes: &mut *codes, scales: &mut scales };
    quantise_into(op, x, options, out)?;
    Ok(MxQuant { codes, scales })
}

fn require_whole<C: Element>(args: &Arguments, width: usize) -> Result<()> {
    let unit = unit::<C>();
    args.require(width.is_multiple_of(unit), "n", format!("a multiple of {unit}"), width)
}

fn quantise_into<T: Real, C: Element>(
    op: &'static str,
    x: &TensorSlice<T>,
    options: &MxQuantOptions<'_>,
    out: MxQuantOut<'_, C>,
) -> Result<()> {
    let layout = options.layout;
    let is_shuffled = layout == ScaleLayout::Shuffled32x8;
    let mut args = Arguments::new(op);
    let x_stride = args.input("x", x, ROWS).rows()?;
    let codes_stride = args.output("codes", out.codes, ROWS).portable().rows()?;
    let dims = layout.dims(&mut args, BLOCK)?;
    let scales = args.output("scales", out.scales, dims);
    let scales_stride = if is_shuffled { scales.contiguous().map(|()| 0) } else { scales.rows() }?;
    let [rows, width] = options.rows.check(&args)?;
    require_whole::<C>(&args, width)?;
    let call = args.check()?;

    let [scales_row_stride, scales_block_stride] = layout.strides(scales_stride);
    let family = ("mx_quant", T::DTYPE.name());
    let stride = x_stride.max(codes_stride);
    let kernel = options.rows.kernel(&call, &KERNELS, family, width, stride)?;
    if is_shuffled && !call.is_dry() {
        out.scales.fill(E8M0::ONE)?;
    }
    let args = MxQuantArgs {
        x: x.ptr().any(),
        codes: out.codes.ptr().any(),
        scales: out.scales.ptr().any(),
        x_stride,
        codes_stride: codes_stride / C::PACK as i64,
        scales_row_stride,
        scales_block_stride,
        rows: rows as u32,
        width: width as u32,
        is_e2m1: u32::from(C::PACK == 2),
        mode: options.mode as u32,
        shuffled_columns: if is_shuffled { out.scales.shape()[1] as u32 } else { 0 },
    };
    // SAFETY: the kernel reads and writes rows of the shapes and strides that were checked.
    unsafe { kernel.launch(call, rows, &args) }
}
