//! The core `group_quant`: kernels that scale each group of consecutive elements of a row.

use hk_core::dtype::Real;
use hk_core::op::Call;
use hk_core::op::quant::{ByteCode, GroupScales};
use hk_core::op::quant_rows::GroupQuantArgs;
use hk_core::op::rows::RowOptions;
use hk_core::{Result, TensorSlice};

use crate::KERNELS;
use crate::flatten::Parts;

/// Launches it, on arguments that were checked.
pub(crate) fn launch<T: Real, C: ByteCode>(
    call: Call,
    options: &RowOptions<'_>,
    of: &Parts,
    (x, codes): (&TensorSlice<T>, &TensorSlice<C>),
    scales: GroupScales,
) -> Result<()> {
    let Parts { rows, parts, width, x: [x_stride, x_part], codes: [codes_stride, codes_part] } =
        *of;
    let core = ("group_quant", T::DTYPE.name());
    let kernel = options.kernel(&call, &KERNELS, core, width, of.stride())?;
    let args = GroupQuantArgs {
        x: x.ptr().any(),
        codes: codes.ptr().any(),
        x_stride,
        codes_stride,
        x_part,
        codes_part,
        scales,
        rows: rows as u32,
        width: width as u32,
    };
    // SAFETY: the kernel reads and writes rows of the shapes and strides that were checked.
    unsafe { kernel.parts(parts as u32).launch(call, rows, &args) }
}
