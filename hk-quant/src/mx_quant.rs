//! The core `mx_quant`: kernels that scale each block of 32 elements by a power of two.

use hk_core::dtype::{Element, Real};
use hk_core::op::Call;
use hk_core::op::quant::BlockScales;
use hk_core::op::rows::RowOptions;
use hk_core::{AnyPtr, Result, TensorSlice, kernel_args};

use crate::KERNELS;
use crate::flatten::Parts;

kernel_args! {
    /// Arguments of the kernel, as `kernels/mx_quant.hip` declares them.
    pub(crate) struct MxQuantArgs {
        x: AnyPtr,
        codes: AnyPtr,
        x_stride: i64,
        codes_stride: i64,
        x_part: i64,
        codes_part: i64,
        scales: BlockScales,
        rows: u32,
        width: u32,
        is_e2m1: u32,
        parts: u32,
    }
}

/// Launches it, on arguments that were checked.
pub(crate) fn launch<T: Real, C: Element>(
    call: Call,
    options: &RowOptions<'_>,
    of: &Parts,
    (x, codes): (&TensorSlice<T>, &TensorSlice<C>),
    scales: BlockScales,
) -> Result<()> {
    let Parts { rows, parts, width, x: [x_stride, x_part], codes: of_codes } = *of;
    let [codes_stride, codes_part] = of_codes.map(|distance| distance / C::PACK as i64);
    let family = ("mx_quant", T::DTYPE.name());
    let kernel = options.kernel(&call, &KERNELS, family, width, of.stride())?;
    let args = MxQuantArgs {
        x: x.ptr().any(),
        codes: codes.ptr().any(),
        x_stride,
        codes_stride,
        x_part,
        codes_part,
        scales,
        rows: rows as u32,
        width: width as u32,
        is_e2m1: u32::from(C::PACK == 2),
        parts: parts as u32,
    };
    // SAFETY: the kernel reads and writes rows of the shapes and strides that were checked.
    unsafe { kernel.parts(parts as u32).launch(call, rows, &args) }
}
