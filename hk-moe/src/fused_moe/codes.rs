//! Rows as codes of 8 or 4 bits with scales: of tokens once each, and of gates between the
//! products.

use hk_core::dtype::{DType, E8M0, Real};
use hk_core::op::Arguments;
use hk_core::op::quant::{
    BlockScales, ByteCode, GroupScales, MX_BLOCK, MxCode, MxRound, ScaleLayout,
};
use hk_core::op::quant_rows::{
    GroupQuantArgs, MxQuantArgs, RowQuantArgs, SmoothQuantArgs, StaticQuantArgs,
};
use hk_core::op::rows::RowOptions;
use hk_core::{DevicePtr, Result, TensorSlice};

use super::OP;
use crate::KERNELS;

/// Elements of a group.
pub(super) const GROUP: usize = 128;

/// Gives rows codes, and a power of two for each 32 of them, by which the largest is at most the
/// largest number there is: as [`MxRound::Even`] has it.
pub(super) fn in_blocks<T: Real, C: MxCode>(
    x: &TensorSlice<T>,
    codes: &mut TensorSlice<C>,
    scales: &mut TensorSlice<E8M0>,
) -> Result<()> {
    let mut args = Arguments::new(OP);
    let x_stride = args.input("x", x, &["..", "n"]).rows()?;
    let [rows, width] = args.sizes(["..", "n"])?;
    let codes_stride = args.output("codes", codes, &["..", "n"]).portable().rows()?;
    let layout = ScaleLayout::RowMajor;
    let strides = layout.output(&mut args, scales, MX_BLOCK)?;
    let call = args.check()?;
    let core = ("mx_quant", T::DTYPE.name());
    let kernel = RowOptions::default().kernel(&call, &KERNELS, core, width, x_stride)?;
    let args = MxQuantArgs {
        x: x.ptr().any(),
        codes: codes.ptr_mut().any(),
        x_stride,
        codes_stride: codes_stride / C::PACK as i64,
        x_part: 0,
        codes_part: 0,
        scales: BlockScales::new(scales, strides, layout, MxRound::Even),
        rows: rows as u32,
        width: width as u32,
        format: u32::from(C::DTYPE == DType::F4x2E2M1),
        parts: 1,
    };
    // SAFETY: the kernel reads and writes rows of the shapes and strides that were checked.
    unsafe { kernel.launch(call, rows, &args) }
}

/// Gives rows codes, and a scale for each 128 of them.
pub(super) fn in_groups<T: Real, C: ByteCode>(
    x: &TensorSlice<T>,
    codes: &mut TensorSlice<C>,
    scales: &mut TensorSlice<f32>,
) -> Result<()> {
    let mut args = Arguments::new(OP);
    let x_stride = args.input("x", x, &["..", "n"]).rows()?;
    let [rows, width] = args.sizes(["..", "n"])?;
    let codes_stride = args.output("codes", codes, &["..", "n"]).rows()?;
    let strides = ScaleLayout::RowMajor.output(&mut args, scales, GROUP)?;
    let call = args.check()?;
    let core = ("group_quant", T::DTYPE.name());
    let kernel = RowOptions::default().kernel(&call, &KERNELS, core, width, x_stride)?;
    let args = GroupQuantArgs {
        x: x.ptr().any(),
        codes: codes.ptr_mut().any(),
        x_stride,
        codes_stride,
        x_part: 0,
        codes_part: 0,
        scales: GroupScales::new::<C>(scales, strides, GROUP),
        rows: rows as u32,
        width: width as u32,
    };
    // SAFETY: the kernel reads and writes rows of the shapes and strides that were checked.
    unsafe { kernel.launch(call, rows, &args) }
}

/// Gives rows codes, and a scale each.
pub(super) fn in_rows<T: Real, C: ByteCode>(
    x: &TensorSlice<T>,
    codes: &mut TensorSlice<C>,
    scales: &mut TensorSlice<f32>,
) -> Result<()> {
    let mut args = Arguments::new(OP);
    let x_stride = args.input("x", x, &["..", "n"]).rows()?;
    let [rows, width] = args.sizes(["..", "n"])?;
    let codes_stride = args.output("codes", codes, &["..", "n"]).rows()?;
    args.output("scales", scales, &[".."]).contiguous()?;
    let call = args.check()?;
    let core = ("row_quant", T::DTYPE.name());
    let kernel = RowOptions::default().kernel(&call, &KERNELS, core, width, x_stride)?;
    let args = RowQuantArgs {
        x: x.ptr().any(),
        codes: codes.ptr_mut().any(),
        scales: scales.ptr_mut(),
        x_stride,
        codes_stride,
        rows: rows as u32,
        width: width as u32,
        format: C::CODE,
    };
    // SAFETY: the kernel reads and writes rows of the shapes and strides that were checked.
    unsafe { kernel.launch(call, rows, &args) }
}

/// Gives rows, with each column multiplied by a number, codes, which are i8, and a scale each.
pub(super) fn in_smooth_rows<T: Real, C: ByteCode>(
    x: &TensorSlice<T>,
    smooth: &TensorSlice<f32>,
    codes: &mut TensorSlice<C>,
    scales: &mut TensorSlice<f32>,
) -> Result<()> {
    let mut args = Arguments::new(OP);
    let x_stride = args.input("x", x, &["..", "n"]).rows()?;
    args.input("smooth_scale", smooth, &["n"]).contiguous()?;
    let [rows, width] = args.sizes(["..", "n"])?;
    let codes_stride = args.output("codes", codes, &["..", "n"]).rows()?;
    args.output("scales", scales, &[".."]).contiguous()?;
    let call = args.check()?;
    let variant = format!("smooth_{}", T::DTYPE.name());
    let core = ("row_quant", &*variant);
    let kernel = RowOptions::default().kernel(&call, &KERNELS, core, width, x_stride)?;
    let args = SmoothQuantArgs {
        x: x.ptr().any(),
        smooth: smooth.ptr().any(),
        codes: codes.ptr_mut().any(),
        scales: scales.ptr_mut(),
        x_stride,
        codes_stride,
        rows: rows as u32,
        width: width as u32,
        smooth_type: f32::CODE,
    };
    // SAFETY: the kernel reads and writes rows of the shapes and strides that were checked.
    unsafe { kernel.launch(call, rows, &args) }
}

/// Gives rows codes, of what they are over one scale.
pub(super) fn by_scale<T: Real, C: ByteCode>(
    x: &TensorSlice<T>,
    scale: &TensorSlice<f32>,
    codes: &mut TensorSlice<C>,
) -> Result<()> {
    let mut args = Arguments::new(OP);
    let x_stride = args.input("x", x, &["..", "n"]).rows()?;
    args.input("activation_scale", scale, &["1"]).contiguous()?;
    let [rows, width] = args.sizes(["..", "n"])?;
    let codes_stride = args.output("codes", codes, &["..", "n"]).rows()?;
    let call = args.check()?;
    let core = ("static_quant", T::DTYPE.name());
    let stride = x_stride.max(codes_stride);
    let kernel = RowOptions::default().kernel(&call, &KERNELS, core, width, stride)?;
    let args = StaticQuantArgs {
        x: x.ptr().any(),
        scale: scale.ptr(),
        largest: DevicePtr::NULL,
        scale_out: DevicePtr::NULL,
        codes: codes.ptr_mut().any(),
        x_stride,
        codes_stride,
        workgroups: 0,
        rows: rows as u32,
        width: width as u32,
        format: C::CODE,
        divides: 1,
    };
    // SAFETY: the kernel reads and writes rows of the shapes and strides that were checked.
    unsafe { kernel.launch(call, rows, &args) }
}
