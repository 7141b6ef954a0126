//! Results of products whose columns are heads of two parts: what the kernels of `hk/split_cat.h` take.

use super::product::{Matrices, real_code};
use crate::dtype::Element;
use crate::{AnyPtr, TensorSlice, kernel_args};

/// Numbers that a lane moves at a time, if parts are whole runs of so many.
const RUN: u64 = 8;

/// Heads of a row: `(m, heads, width)`.
#[derive(Debug, Clone, Copy)]
pub struct Heads {
    rows: Matrices,
    /// Elements from head to head.
    head: i64,
    /// And from element to element of one.
    step: i64,
    count: u64,
    /// Elements of a head.
    width: u64,
}

impl Heads {
    /// Those of a tensor with these distances between rows, between heads, and between elements.
    pub fn of<T: Element>(tensor: &TensorSlice<T>, [row, head, step]: [i64; 3]) -> Self {
        let [m, count, width] = <[usize; 3]>::try_from(tensor.shape()).unwrap_or_default();
        let (m, count, width) = (m as u64, count as u64, width as u64);
        // Of one head, the distance to the next does not matter.
        let head = if count == 1 { 0 } else { head };
        Self { rows: Matrices::of(tensor, [0, row]).with_rows(m), head, step, count, width }
    }
}

/// Where the columns of a product go, which are heads of two parts.
#[derive(Debug, Clone, Copy)]
pub struct SplitCat {
    /// The first parts, `(m, heads, s1 + s3)`, beside the copies of `copied`: elements are adjacent.
    pub first: Heads,
    /// The second parts, `(m, heads, s2)`: elements are adjacent.
    pub second: Heads,
    /// What is copied behind the first parts, `(m, heads, s3)`, if that is anything.
    pub copied: Heads,
}

impl SplitCat {
    /// Columns of a head in the first part.
    fn at(&self) -> u64 {
        self.first.width - self.copied.width
    }

    /// As the main kernels take it.
    pub(super) fn columns(&self) -> SplitColumns {
        let parts = [self.at(), self.second.width];
        SplitColumns {
            second: self.second.rows.ptr,
            first_head: self.first.head,
            second_row: self.second.rows.strides[1],
            second_head: self.second.head,
            width: (self.at() + self.second.width) as u32,
            at: self.at() as u32,
            whole: parts.into_iter().all(|part| part.is_multiple_of(RUN)).into(),
            reserved: 0,
        }
    }

    /// The copy's arguments, and the pieces of which it has one per work-item; none if there is nothing
    /// to copy.
    pub(super) fn copy(&self) -> Option<(CatArgs, u64)> {
        let Heads { rows, head, step, count, width } = self.copied;
        let target = self.first;
        let offset = self.at() * target.rows.dtype.size() as u64;
        let whole = width.is_multiple_of(RUN);
        let args = CatArgs {
            x: rows.ptr,
            y: target.rows.ptr.moved_to(target.rows.ptr.address() + offset),
            x_row: rows.strides[1],
            x_head: head,
            x_step: step,
            y_row: target.rows.strides[1],
            y_head: target.head,
            m: rows.rows() as u32,
            heads: count as u32,
            width: width as u32,
            x_type: real_code(rows.dtype),
            y_type: real_code(target.rows.dtype),
            whole: whole.into(),
        };
        let pieces = rows.rows() * count * width / if whole { RUN } else { 1 };
        (width > 0).then_some((args, pieces))
    }

    /// The first parts as a result of a product of so many columns.
    pub fn results(&self, n: u64) -> Matrices {
        self.first.rows.with_width(n)
    }
}

kernel_args! {
    /// Where columns go, as `hk/split_cat.h` declares it.
    pub struct SplitColumns {
        second: AnyPtr,
        first_head: i64,
        second_row: i64,
        second_head: i64,
        width: u32,
        at: u32,
        whole: u32,
        reserved: u32,
    }
}

impl SplitColumns {
    /// The same of rows from one on, with elements of so many bytes.
    pub(super) fn with_rows_from(self, row: i64, size: u64) -> Self {
        let bytes = row * self.second_row * size as i64;
        let at = self.second.address().wrapping_add_signed(bytes);
        Self { second: self.second.moved_to(at), ..self }
    }

    /// Of columns that stay together.
    pub(super) const NONE: Self = Self {
        second: AnyPtr::NULL,
        first_head: 0,
        second_row: 0,
        second_head: 0,
        width: 1,
        at: 1,
        whole: 0,
        reserved: 0,
    };
}

kernel_args! {
    /// Arguments of the copy, as `hk/split_cat.h` declares them.
    pub struct CatArgs {
        x: AnyPtr,
        y: AnyPtr,
        x_row: i64,
        x_head: i64,
        x_step: i64,
        y_row: i64,
        y_head: i64,
        m: u32,
        heads: u32,
        width: u32,
        x_type: u32,
        y_type: u32,
        whole: u32,
    }
}
