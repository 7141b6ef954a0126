//! Rows that are appended to caches.

use hk_core::op::indices::IndexList;
use hk_core::{AnyPtr, DevicePtr, kernel_args};

use super::{KeyRows, KeySource};

kernel_args! {
    /// Rows that are appended: `NewRows` of the core `cache_append`.
    pub(crate) struct NewRows {
        pub(crate) base: AnyPtr,
        pub(crate) sequence: i64,
        pub(crate) row: i64,
        pub(crate) head: i64,
    }
}

impl NewRows {
    /// Those that attention reads at these places, one page each.
    pub(crate) fn of(rows: &KeyRows) -> Self {
        Self { base: rows.base, sequence: rows.sequence, row: rows.page, head: rows.head }
    }
}

kernel_args! {
    /// Arguments of the core `cache_append`.
    pub(crate) struct AppendArgs {
        pub(crate) cache: KeySource,
        pub(crate) cached_keys: AnyPtr,
        pub(crate) cached_values: AnyPtr,
        pub(crate) keys: NewRows,
        pub(crate) values: NewRows,
        pub(crate) lengths: IndexList,
        pub(crate) after: DevicePtr<i32>,
        pub(crate) advanced: DevicePtr<i32>,
        pub(crate) rows: u32,
        pub(crate) heads: u32,
        pub(crate) element: u32,
        pub(crate) reserved: u32,
    }
}
