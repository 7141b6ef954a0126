//! Back from codes and scales.

#[cfg(doc)]
use hk_core::Error;
use hk_core::dtype::{E8M0, Element, F4x2E2M1, Real};
use hk_core::op::Arguments;
use hk_core::op::quant::{
    ByteCode, GroupOptions, MX_BLOCK, MxCode, MxFp8, ScaleLayout, ScaleOptions,
};
use hk_core::op::rows::{ROWS, RowOptions};
use hk_core::{AnyPtr, Result, Tensor, TensorSlice};

use super::per_block::{MATRIX, SIDE, TILES, define_tiles};
use crate::KERNELS;
use crate::dequant::DequantArgs;

/// `c[i,j] s[i]`, rounded once: what the codes of
/// [`per_token_quant`](super::per_token_quant) stand for.
///
/// # Errors
/// [`Error::Shape`] if rows are empty or there is not a scale for each, [`Error::Stride`] if rows
/// are not evenly spaced or scales have gaps, [`Error::ArchMismatch`] if the codes are those of
/// another chip, [`Error::Value`] if the tile does not take such rows, and [`Error::NoTile`] if
/// there is no tile of that name.
pub fn dequantize_per_token<C: ByteCode, T: Real>(
    codes: &TensorSlice<C>,
    scales: &TensorSlice<f32>,
    options: &RowOptions<'_>,
) -> Result<Tensor<T>> {
    let mut y = Tensor::empty(codes.stream(), codes.shape())?;
    dequantize_per_token_into(codes, scales, options, &mut y)?;
    Ok(y)
}

/// As [`dequantize_per_token`], into `y`.
///
/// # Errors
/// As [`dequantize_per_token`]; [`Error::Shape`] or [`Error::Stride`] also if `y` has not the shape
/// of the codes, in evenly spaced rows, and [`Error::Alias`] if it overlaps another argument.
pub fn dequantize_per_token_into<C: ByteCode, T: Real>(
    codes: &TensorSlice<C>,
    scales: &TensorSlice<f32>,
    options: &RowOptions<'_>,
    y: &mut TensorSlice<T>,
) -> Result<()> {
    let op = Dequantize { op: "dequantize_per_token", format: C::CODE, dims: ROWS, options };
    op.launch(codes, y, |args| {
        args.input("scales", scales, &[".."]).contiguous()?;
        Ok(Scales { strides: [1, 0], ..Scales::new(scales.ptr().any()) })
    })
}

/// `c[i,j] s`, rounded once: what the codes of
/// [`static_per_tensor_quant`](super::static_per_tensor_quant) stand for.
///
/// # Errors
/// As [`dequantize_per_token`], with one scale.
pub fn dequantize_per_tensor<C: ByteCode, T: Real>(
    codes: &TensorSlice<C>,
    scale: &TensorSlice<f32>,
    options: &RowOptions<'_>,
) -> Result<Tensor<T>> {
    let mut y = Tensor::empty(codes.stream(), codes.shape())?;
    dequantize_per_tensor_into(codes, scale, options, &mut y)?;
    Ok(y)
}

/// As [`dequantize_per_tensor`], into `y`.
///
/// # Errors
/// As [`dequantize_per_token_into`], with one scale.
pub fn dequantize_per_tensor_into<C: ByteCode, T: Real>(
    codes: &TensorSlice<C>,
    scale: &TensorSlice<f32>,
    options: &RowOptions<'_>,
    y: &mut TensorSlice<T>,
) -> Result<()> {
    let op = Dequantize { op: "dequantize_per_tensor", format: C::CODE, dims: ROWS, options };
    op.launch(codes, y, |args| {
        args.input("scale", scale, &["1"]).contiguous()?;
        Ok(Scales::new(scale.ptr().any()))
    })
}

/// `c[i,j] s[i,j/g]`, rounded once: what the codes of [`per_group_quant`](super::per_group_quant)
/// stand for.
///
/// # Errors
/// As [`dequantize_per_token`], with scales in their layout, and [`Error::Value`] also if groups
/// have another size than 32, 64 or 128, or scales are shuffled.
pub fn dequantize_per_group<C: ByteCode, T: Real>(
    codes: &TensorSlice<C>,
    scales: &TensorSlice<f32>,
    options: &GroupOptions<'_>,
) -> Result<Tensor<T>> {
    let mut y = Tensor::empty(codes.stream(), codes.shape())?;
    dequantize_per_group_into(codes, scales, options, &mut y)?;
    Ok(y)
}

/// As [`dequantize_per_group`], into `y`.
///
/// # Errors
/// As [`dequantize_per_group`] and [`dequantize_per_token_into`].
pub fn dequantize_per_group_into<C: ByteCode, T: Real>(
    codes: &TensorSlice<C>,
    scales: &TensorSlice<f32>,
    options: &GroupOptions<'_>,
    y: &mut TensorSlice<T>,
) -> Result<()> {
    let rows = options.row_options();
    let op = Dequantize { op: "dequantize_per_group", format: C::CODE, dims: ROWS, options: rows };
    op.launch(codes, y, |args| {
        options.check(args)?;
        let group = options.group_size();
        let strides = options.layout().input(args, scales, group)?;
        Ok(Scales { strides, group, ..Scales::new(scales.ptr().any()) })
    })
}

/// `c[i,j] s[i/128,j/128]`, rounded once: what the codes of
/// [`per_block_quant`](super::per_block_quant) stand for.
///
/// # Errors
/// As [`dequantize_per_token`], with a scale for each tile of a matrix.
pub fn dequantize_per_block<C: ByteCode, T: Real>(
    codes: &TensorSlice<C>,
    scales: &TensorSlice<f32>,
    options: &RowOptions<'_>,
) -> Result<Tensor<T>> {
    let mut y = Tensor::empty(codes.stream(), codes.shape())?;
    dequantize_per_block_into(codes, scales, options, &mut y)?;
    Ok(y)
}

/// As [`dequantize_per_block`], into `y`.
///
/// # Errors
/// As [`dequantize_per_block`] and [`dequantize_per_token_into`].
pub fn dequantize_per_block_into<C: ByteCode, T: Real>(
    codes: &TensorSlice<C>,
    scales: &TensorSlice<f32>,
    options: &RowOptions<'_>,
    y: &mut TensorSlice<T>,
) -> Result<()> {
    let op = Dequantize { op: "dequantize_per_block", format: C::CODE, dims: MATRIX, options };
    op.launch(codes, y, |args| {
        define_tiles(args)?;
        let strides = [args.input("scales", scales, TILES).rows()?, 1];
        Ok(Scales { strides, rows: SIDE, group: SIDE, ..Scales::new(scales.ptr().any()) })
    })
}

/// Of [`dequantize_mxfp4`] and [`dequantize_mxfp8`].
pub type DequantizeMxOptions<'a> = ScaleOptions<'a, ()>;

/// `c[i,j] s[i,j/32]`, rounded once: what the codes of
/// [`dynamic_mxfp4_quant`](super::dynamic_mxfp4_quant) stand for. Of a block whose scale is NaN, it
/// is NaN.
///
/// # Errors
/// As [`dequantize_per_token`], with scales in their layout.
pub fn dequantize_mxfp4<T: Real>(
    codes: &TensorSlice<F4x2E2M1>,
    scales: &TensorSlice<E8M0>,
    options: &DequantizeMxOptions<'_>,
) -> Result<Tensor<T>> {
    let mut y = Tensor::empty(codes.stream(), codes.shape())?;
    dequantize_mxfp4_into(codes, scales, options, &mut y)?;
    Ok(y)
}

/// As [`dequantize_mxfp4`], into `y`.
///
/// # Errors
/// As [`dequantize_mxfp4`] and [`dequantize_per_token_into`].
pub fn dequantize_mxfp4_into<T: Real>(
    codes: &TensorSlice<F4x2E2M1>,
    scales: &TensorSlice<E8M0>,
    options: &DequantizeMxOptions<'_>,
    y: &mut TensorSlice<T>,
) -> Result<()> {
    dequantize_mx("dequantize_mxfp4", codes, scales, options, y)
}

/// As [`dequantize_mxfp4`], of the codes of [`dynamic_mxfp8_quant`](super::dynamic_mxfp8_quant), or
/// of e5m2, whose infinity and NaN stay.
///
/// # Errors
/// As [`dequantize_mxfp4`].
pub fn dequantize_mxfp8<C: MxFp8, T: Real>(
    codes: &TensorSlice<C>,
    scales: &TensorSlice<E8M0>,
    options: &DequantizeMxOptions<'_>,
) -> Result<Tensor<T>> {
    let mut y = Tensor::empty(codes.stream(), codes.shape())?;
    dequantize_mxfp8_into(codes, scales, options, &mut y)?;
    Ok(y)
}

/// As [`dequantize_mxfp8`], into `y`.
///
/// # Errors
/// As [`dequantize_mxfp8`] and [`dequantize_per_token_into`].
pub fn dequantize_mxfp8_into<C: MxFp8, T: Real>(
    codes: &TensorSlice<C>,
    scales: &TensorSlice<E8M0>,
    options: &DequantizeMxOptions<'_>,
    y: &mut TensorSlice<T>,
) -> Result<()> {
    dequantize_mx("dequantize_mxfp8", codes, scales, options, y)
}

/// Of MX codes of any type.
pub(crate) fn dequantize_mx<C: MxCode, T: Real>(
    op: &'static str,
    codes: &TensorSlice<C>,
    scales: &TensorSlice<E8M0>,
    options: &DequantizeMxOptions<'_>,
    y: &mut TensorSlice<T>,
) -> Result<()> {
    let op = Dequantize { op, format: C::CODE, dims: ROWS, options: options.row_options() };
    op.launch(codes, y, |args| {
        let layout = options.layout();
        let strides = layout.input(args, scales, MX_BLOCK)?;
        let is_shuffled = layout == ScaleLayout::Shuffled32x8;
        let shuffled_columns = if is_shuffled { scales.shape()[1] as u32 } else { 0 };
        let new = Scales::new(scales.ptr().any());
        Ok(Scales { strides, group: MX_BLOCK, shuffled_columns, ..new })
    })
}

/// Scales, and what has one of them.
struct Scales {
    scales: AnyPtr,
    /// From row to row and from group to group.
    strides: [i64; 2],
    /// Rows and columns that share one: powers of two.
    rows: usize,
    group: usize,
    shuffled_columns: u32,
}

impl Scales {
    /// One for all.
    const fn new(scales: AnyPtr) -> Self {
        Self { scales, strides: [0, 0], rows: 1, group: 1, shuffled_columns: 0 }
    }
}

/// What ops that dequantise differ in, but for their scales.
struct Dequantize<'a> {
    op: &'static str,
    /// Of the codes; the enum `code_format` of `kernels/dequant.hip`.
    format: u32,
    dims: &'static [&'static str],
    options: &'a RowOptions<'a>,
}

impl Dequantize<'_> {
    fn launch<C: Element, T: Real>(
        self,
        codes: &TensorSlice<C>,
        y: &mut TensorSlice<T>,
        declare_scales: impl FnOnce(&mut Arguments) -> Result<Scales>,
    ) -> Result<()> {
        let Self { op, format, dims, options } = self;
        let mut args = Arguments::new(op);
        let mut declared = args.input("codes", codes, dims);
        if format > 1 {
            declared = declared.portable();
        }
        let codes_stride = declared.rows()?;
        let scales = declare_scales(&mut args)?;
        let y_stride = args.output("y", y, dims).rows()?;
        let [rows, width] = options.check_rows(&args, dims[0])?;
        let call = args.check()?;

        let core = ("dequant", T::DTYPE.name());
        let stride = codes_stride.max(y_stride);
        let kernel = options.kernel(&call, &KERNELS, core, width, stride)?;
        let [scales_row_stride, scales_group_stride] = scales.strides;
        let args = DequantArgs {
            codes: codes.ptr().any(),
            scales: scales.scales,
            y: y.ptr().any(),
            codes_stride: codes_stride / C::PACK as i64,
            y_stride,
            scales_row_stride,
            scales_group_stride,
            rows: rows as u32,
            width: width as u32,
            row_shift: scales.rows.ilog2(),
            group_shift: scales.group.ilog2(),
            shuffled_columns: scales.shuffled_columns,
            format,
        };
        // SAFETY: the kernel reads and writes rows of the shapes and strides that were checked.
        unsafe { kernel.launch(call, rows, &args) }
    }
}
