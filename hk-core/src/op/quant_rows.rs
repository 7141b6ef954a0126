//! What the kernels of `hk/row_quant.h`, `hk/smooth_quant.h`, `hk/static_quant.h`, `hk/group_quant.h` and
//! `hk/mx_quant.h` take, which make rows of codes.

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

kernel_args! {
    /// Arguments of the kernels of `hk/smooth_quant.h`.
    pub struct SmoothQuantArgs {
        /// Rows.
        pub x: AnyPtr,
        /// What each column is multiplied by.
        pub smooth: AnyPtr,
        /// Codes of the products.
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
        /// The element type of `smooth`: its [`Real::CODE`](crate::dtype::Real::CODE).
        pub smooth_type: u32,
    }
}

/// Most workgroups that find the largest magnitude; the `most_workgroups` of `hk/static_quant.h`.
pub const MOST_WORKGROUPS: u32 = 2048;

kernel_args! {
    /// Arguments of the kernel of `hk/static_quant.h` that finds the largest magnitude.
    pub struct AmaxArgs {
        /// Rows.
        pub x: AnyPtr,
        /// That of each workgroup, as bits of f32.
        pub largest: DevicePtr<u32>,
        /// Elements from row to row.
        pub x_stride: i64,
        /// Rows.
        pub rows: u32,
        /// Elements of a row.
        pub width: u32,
    }
}

kernel_args! {
    /// Arguments of the kernel of `hk/static_quant.h` that quantises.
    pub struct StaticQuantArgs {
        /// Rows.
        pub x: AnyPtr,
        /// The scale; null if it follows from the largest magnitude.
        pub scale: DevicePtr<f32>,
        /// The largest magnitude of each workgroup of the launch before.
        pub largest: DevicePtr<u32>,
        /// Where the scale that follows is stored.
        pub scale_out: DevicePtr<f32>,
        /// Codes of the rows.
        pub codes: AnyPtr,
        /// Elements from row to row.
        pub x_stride: i64,
        /// Codes from row to row.
        pub codes_stride: i64,
        /// Workgroups of the launch before.
        pub workgroups: u32,
        /// Rows.
        pub rows: u32,
        /// Elements of a row.
        pub width: u32,
        /// The enum `byte_format` of `hk/quant.h`.
        pub format: u32,
        /// Whether numbers are divided by the scale, rather than multiplied with its inverse.
        pub divides: u32,
    }
}
