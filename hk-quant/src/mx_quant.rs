//! The core `mx_quant`: kernels that scale each block of 32 elements of a row by a power of two.

use hk_core::dtype::{DType, Element, Real};
use hk_core::op::Call;
use hk_core::op::quant::{BlockScales, MxCode};
use hk_core::op::quant_rows::MxQuantArgs;
use hk_core::op::rows::RowOptions;
use hk_core::{Result, TensorSlice};

use crate::KERNELS;
use crate::flatten::Parts;
use crate::quant_moe::Fp4Ties;

/// Codes as kernels' arguments name them: the enum `mx_format` of `hk/quant.h`.
#[derive(Debug, Clone, Copy)]
#[repr(u32)]
pub(crate) enum MxFormat {
    E4M3 = 0,
    E2M1 = 1,
    E2M1Away = 2,
    E5M2 = 3,
}

impl MxFormat {
    /// That of a type of codes; of 4-bit ones, with ties rounded so.
    pub(crate) const fn of<C: MxCode>(ties: Fp4Ties) -> Self {
        match (C::DTYPE, ties) {
            (DType::F4x2E2M1, Fp4Ties::ToEven) => Self::E2M1,
            (DType::F4x2E2M1, Fp4Ties::Away) => Self::E2M1Away,
            (DType::F8E5M2, _) => Self::E5M2,
            _ => Self::E4M3,
        }
    }
}

/// Launches it, on arguments that were checked.
pub(crate) fn launch<T: Real, C: Element>(
    call: Call,
    options: &RowOptions<'_>,
    of: &Parts,
    (x, codes): (&TensorSlice<T>, &TensorSlice<C>),
    (format, scales): (MxFormat, BlockScales),
) -> Result<()> {
    let Parts { rows, parts, width, x: [x_stride, x_part], codes: of_codes } = *of;
    let [codes_stride, codes_part] = of_codes.map(|distance| distance / C::PACK as i64);
    let core = ("mx_quant", T::DTYPE.name());
    let kernel = options.kernel(&call, &KERNELS, core, width, of.stride())?;
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
        format: format as u32,
        parts: parts as u32,
    };
    // SAFETY: the kernel reads and writes rows of the shapes and strides that were checked.
    unsafe { kernel.parts(parts as u32).launch(call, rows, &args) }
}
