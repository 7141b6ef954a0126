//! What the kernels of `hk/row_quant.h`, `hk/group_quant.h` and `hk/mx_quant.h` take, which make
//! rows of codes.

use super::quant::{BlockScales, GroupScales};
use crate::{AnyPtr, DevicePtr, kernel_args};

kernel_args! {
    /// Arguments of the kernels of `hk/row_quant.h`.
    pub struct RowQuantArgs {
        /// Rows.
        pub x: AnyPtr,
        /// Their codes.
        pub codes: AnyPtr,
        /// The scale of each row.
        pub scales: DevicePtr<f32>,
        /// Elements from row to row.
        pub x_stride: i64,
        /// Codes from row to row.
        pub codes_stride: i64,
        /// Rows.
        pub rows: u32,
        /// Elements of a row.
        pub width: u32,
        /// The enum `byte_format` of `hk/quant.h`.
        pub format: u32,
    }
}

kernel_args! {
    /// Arguments of the kernels of `hk/group_quant.h`.
    pub struct GroupQuantArgs {
        /// Rows.
        pub x: AnyPtr,
        /// Their codes.
        pub codes: AnyPtr,
        /// Elements from row to row.
        pub x_stride: i64,
        /// Codes from row to row.
        pub codes_stride: i64,
        /// Elements from part to part of a row.
        pub x_part: i64,
        /// Codes from part to part.
        pub codes_part: i64,
        /// Where scales are.
        pub scales: GroupScales,
        /// Rows.
        pub rows: u32,
        /// Elements of a part of a row.
        pub width: u32,
    }
}

kernel_args! {
    /// Arguments of the kernels of `hk/mx_quant.h`.
    pub struct MxQuantArgs {
        /// Rows.
        pub x: AnyPtr,
        /// Their codes.
        pub codes: AnyPtr,
        /// Elements from row to row.
        pub x_stride: i64,
        /// Bytes of codes from row to row.
        pub codes_stride: i64,
        /// Elements from part to part of a row.
        pub x_part: i64,
        /// Bytes of codes from part to part.
        pub codes_part: i64,
        /// Where scales are.
        pub scales: BlockScales,
        /// Rows.
        pub rows: u32,
        /// Elements of a part of a row.
        pub width: u32,
        /// The enum `mx_format` of `hk/quant.h`.
        pub format: u32,
        /// Parts of a row.
        pub parts: u32,
    }
}
