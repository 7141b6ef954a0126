//! Element types of attention.

use hk_core::dtype::{DType, F8E4M3, F8E4M3Fnuz, F8E5M2, F8E5M2Fnuz, Scalar, bf16, f16};

/// Element types of queries, keys and values: bf16, f16, both types of 8-bit floating point in the
/// flavour of the chip, and i8.
pub trait AttentionElement: Scalar {
    /// The type as kernels' arguments name it; the enum `row_type` of `hk/attention_rows.h`.
    const CODE: u32;

    /// What results of queries of this type are stored as, unless the caller says otherwise.
    type Output: AttentionOutput;
}

/// Element types of results: bf16, f16, f32, and e4m3 in the flavour of the chip.
pub trait AttentionOutput: Scalar {
    /// As [`AttentionElement::CODE`].
    const CODE: u32;
}

macro_rules! elements {
    ($($element:ty: $code:literal -> $output:ty),*) => {$(
        impl AttentionElement for $element {
            const CODE: u32 = $code;
            type Output = $output;
        }
    )*};
}

/// The code of e4m3.
pub(super) const E4M3: u32 = 3;

elements!(
    bf16: 0 -> bf16, f16: 1 -> f16, F8E4M3: 3 -> bf16, F8E4M3Fnuz: 3 -> bf16,
    F8E5M2: 4 -> bf16, F8E5M2Fnuz: 4 -> bf16, i8: 5 -> bf16
);

macro_rules! outputs {
    ($($element:ty: $code:literal),*) => {$(
        impl AttentionOutput for $element {
            const CODE: u32 = $code;
        }
    )*};
}

outputs!(bf16: 0, f16: 1, f32: 2, F8E4M3: 3, F8E4M3Fnuz: 3);

/// Whether elements have 8 bits.
pub(crate) fn is_narrow<T: Scalar>() -> bool {
    size_of::<T>() == 1
}

/// The variant of kernels that multiplies elements of a type: 8-bit ones as bf16, which is exact, unless they
/// are multiplied as codes.
pub(crate) fn variant(dtype: DType) -> &'static str {
    if dtype == DType::F16 { "f16" } else { "bf16" }
}
