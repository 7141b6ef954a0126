//! A scale for each group of consecutive elements of a row.

#[cfg(doc)]
use hk_core::Error;
use hk_core::dtype::Real;
use hk_core::op::Arguments;
use hk_core::op::quant::{ByteCode, ScaleLayout};
use hk_core::op::rows::{ROWS, RowOptions};
use hk_core::{Result, Tensor, TensorSlice};

use crate::KERNELS;
use crate::group_quant::GroupQuantArgs;

/// What can be chosen of [`per_group_quant`].
#[derive(Debug, Clone, Copy)]
pub struct PerGroupQuantOptions<'a> {
    group: usize,
    layout: ScaleLayout,
    rows: RowOptions<'a>,
}

impl Default for PerGroupQuantOptions<'_> {
    /// Groups of 128 elements, the scales of a row side by side.
    fn default() -> Self {
        Self { group: 128, layout: ScaleLayout::RowMajor, rows: RowOptions::default() }
    }
}

impl<'a> PerGroupQuantOptions<'a> {
    /// With groups of so many elements: 32, 64 or 128.
    #[must_use]
    pub fn group(self, group: usize) -> Self {
        Self { group, ..self }
    }

    /// With the scales in that order.
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

/// What [`per_group_quant`] returns.
#[derive(Debug)]
pub struct PerGroupQuant<C: ByteCode> {
    /// The codes, in the shape of x.
    pub codes: Tensor<C>,
    /// The scales, in the shape that their layout says.
    pub scales: Tensor<f32>,
}

/// Where [`per_group_quant_into`] stores.
#[derive(Debug)]
pub struct PerGroupQuantOut<'a, C: ByteCode> {
    /// The codes, in the shape of x.
    pub codes: &'a mut TensorSlice<C>,
    /// The scales, in the shape that their layout says.
    pub scales: &'a mut TensorSlice<f32>,
}

/// Quantises each group of consecutive elements of a row with a scale of its own,
/// `s = max(max_j |x_j|, 1e-10) / m`, where m is the largest code: 127 of i8, 240 or 448 of e4m3. The
/// last group of a row may be shorter.
///
/// The scale of a group with NaN is NaN, else that of one with infinity is infinity; what codes such a
/// group has is not specified.
///
/// # Errors
/// [`Error::Shape`] if rows are empty, [`Error::Stride`] if they are not evenly spaced,
/// [`Error::ArchMismatch`] if the codes are those of another chip, [`Error::Value`] if groups have
/// another size than 32, 64 or 128, scales are to be shuffled, or the tile does not take such rows, and [`Error::NoTile`] if
/// there is no tile of that name.
pub fn per_group_quant<T: Real, C: ByteCode>(
    x: &TensorSlice<T>,
    options: &PerGroupQuantOptions<'_>,
) -> Result<PerGroupQuant<C>> {
    let mut codes = Tensor::empty(x.stream(), x.shape())?;
    let shape = options.layout.shape(x.shape(), options.group.max(1));
    let mut scales = Tensor::empty(x.stream(), &shape)?;
    let out = PerGroupQuantOut { codes: &mut *codes, scales: &mut scales };
    per_group_quant_into(x, options, out)?;
    Ok(PerGroupQuant { codes, scales })
}

/// As [`per_group_quant`], into given tensors.
///
/// # Errors
/// As [`per_group_quant`]; [`Error::Shape`] or [`Error::Stride`] also if an output is not as
/// [`PerGroupQuantOut`] says, and [`Error::Alias`] if one overlaps another argument.
pub fn per_group_quant_into<T: Real, C: ByteCode>(
    x: &TensorSlice<T>,
    options: &PerGroupQuantOptions<'_>,
    out: PerGroupQuantOut<'_, C>,
) -> Result<()> {
    let (group, layout) = (options.group, options.layout);
    let mut args = Arguments::new("per_group_quant");
    let x_stride = args.input("x", x, ROWS).rows()?;
    args.require([32, 64, 128].contains(&group), "group", "32, 64 or 128", group)?;
    let is_taken = layout != ScaleLayout::Shuffled32x8;
    args.require(is_taken, "scale_layout", "RowMajor or ColMajor", format!("{layout:?}"))?;
    let codes_stride = args.output("codes", out.codes, ROWS).rows()?;
    let dims = layout.dims(&mut args, group)?;
    let scales_stride = args.output("scales", out.scales, dims).rows()?;
    let [rows, width] = options.rows.check(&args)?;
    let call = args.check()?;

    let [scales_row_stride, scales_group_stride] = layout.strides(scales_stride);
    let family = ("group_quant", T::DTYPE.name());
    let stride = x_stride.max(codes_stride);
    let kernel = options.rows.kernel(&call, &KERNELS, family, width, stride)?;
    let args = GroupQuantArgs {
        x: x.ptr().any(),
        codes: out.codes.ptr().any(),
        scales: out.scales.ptr_mut(),
        x_stride,
        codes_stride,
        scales_row_stride,
        scales_group_stride,
        rows: rows as u32,
        width: width as u32,
        format: C::CODE,
        group: group as u32,
    };
    // SAFETY: the kernel reads and writes rows of the shapes and strides that were checked.
    unsafe { kernel.launch(call, rows, &args) }
}
