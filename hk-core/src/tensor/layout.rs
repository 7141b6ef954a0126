//! Shapes and strides, with the checks that keep every view inside its buffer.

use std::ops::Range;

use crate::{Error, Result};

/// Most dimensions that a tensor can have.
pub const MAX_RANK: usize = 8;

/// Elements that can be told apart: their bytes, and the ends of ranges of them, can be counted.
const LIMIT: usize = 1 << 60;

/// Shape and strides in logical elements, outermost dimension first. A stride of 0 repeats elements.
/// Of a packed type, the innermost stride is 1. Stored inline: making a view allocates nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Layout {
    dims: [usize; MAX_RANK],
    strides: [usize; MAX_RANK],
    rank: usize,
}

impl Layout {
    /// Row-major layout of a shape whose innermost dimension is a multiple of `pack`.
    pub(crate) fn contiguous(op: &'static str, shape: &[usize], pack: usize) -> Result<Self> {
        if shape.len() > MAX_RANK {
            let expected = format!("at most {MAX_RANK} dimensions");
            let (got, why) = (shape.to_vec(), "a limit of this library".to_owned());
            return Err(Error::Shape { op, arg: "shape", expected, got, why });
        }
        let last = shape.last().copied().unwrap_or(1);
        if !last.is_multiple_of(pack) {
            let expected = format!("[.., multiple of {pack}]");
            let (got, why) = (shape.to_vec(), "packed elements are not split".to_owned());
            return Err(Error::Shape { op, arg: "shape", expected, got, why });
        }
        let mut layout = Self { dims: [1; MAX_RANK], strides: [1; MAX_RANK], rank: shape.len() };
        layout.dims[..shape.len()].copy_from_slice(shape);
        // A dimension of zero must not hide that the others overflow.
        let mut len = 1usize;
        for axis in (0..shape.len()).rev() {
            layout.strides[axis] = len;
            len = len.checked_mul(shape[axis].max(1)).filter(|len| *len < LIMIT).ok_or_else(
                || Error::Shape {
                    op,
                    arg: "shape",
                    expected: "fewer than 2^60 elements".into(),
                    got: shape.to_vec(),
                    why: "it must be addressable".into(),
                },
            )?;
        }
        Ok(layout)
    }

    /// With these strides, one per dimension.
    pub(crate) fn strided(
        op: &'static str,
        shape: &[usize],
        strides: &[usize],
        pack: usize,
    ) -> Result<Self> {
        let mut layout = Self::contiguous(op, shape, pack)?;
        let refuse = |expected| {
            let (shape, got) = (shape.to_vec(), strides.to_vec());
            Err(Error::Stride { op, arg: "strides", expected, shape, got })
        };
        if strides.len() != shape.len() {
            return refuse("one for each dimension");
        }
        let mut last = 0usize;
        for (dim, stride) in shape.iter().zip(strides).filter(|(dim, _)| **dim > 1) {
            let end = stride.checked_mul(dim - 1).and_then(|span| last.checked_add(span));
            let Some(end) = end.filter(|end| *end < LIMIT) else {
                return refuse("elements within 2^60 of the first");
            };
            last = end;
        }
        if pack > 1 {
            // The stride of a dimension of one element is never used.
            let outer = shape.iter().zip(strides).rev().skip(1).filter(|(dim, _)| **dim > 1);
            let whole = outer.clone().all(|(_, stride)| stride.is_multiple_of(pack));
            if strides.last() != Some(&1) || !whole {
                return refuse("packed elements that are innermost and adjacent");
            }
        }
        layout.strides[..shape.len()].copy_from_slice(strides);
        Ok(layout)
    }

    pub(crate) fn shape(&self) -> &[usize] {
        &self.dims[..self.rank]
    }

    pub(crate) fn strides(&self) -> &[usize] {
        &self.strides[..self.rank]
    }

    /// Number of elements.
    pub(crate) fn len(&self) -> usize {
        self.shape().iter().product()
    }

    /// Where the contiguous inner part begins: the dimensions from here on have no gaps.
    fn inner_axis(&self) -> usize {
        let mut expected = 1;
        for axis in (0..self.rank).rev() {
            // The stride of a dimension of one element is never used.
            if self.dims[axis] != 1 && self.strides[axis] != expected {
                return axis + 1;
            }
            expected *= self.dims[axis];
        }
        0
    }

    pub(crate) fn is_contiguous(&self) -> bool {
        self.inner_axis() == 0 || self.len() == 0
    }

    /// Length of the contiguous runs, and the start of each.
    pub(crate) fn runs(&self) -> (usize, impl Iterator<Item = usize> + use<>) {
        let layout = *self;
        let inner = self.inner_axis();
        let run: usize = self.dims[inner..self.rank].iter().product();
        let count: usize = if run == 0 { 0 } else { self.dims[..inner].iter().product() };
        let starts = (0..count).map(move |mut index| {
            let mut start = 0;
            for axis in (0..inner).rev() {
                start += index % layout.dims[axis] * layout.strides[axis];
                index /= layout.dims[axis];
            }
            start
        });
        (run, starts)
    }

    /// Distance between rows, a row being the innermost dimension, if it is the same everywhere and
    /// the elements of a row are adjacent.
    pub(crate) fn row_stride(&self) -> Option<usize> {
        let outer = self.rank.saturating_sub(1);
        let row = self.shape().last().copied().unwrap_or(1);
        // Without elements, they may be anywhere.
        if self.len() == 0 {
            return Some(row);
        }
        if row > 1 && self.strides[outer] != 1 {
            return None;
        }
        self.even_stride(outer, row)
    }

    /// As [`row_stride`](Self::row_stride), of matrices, which are the two innermost dimensions, and of
    /// the rows of each.
    pub(crate) fn matrix_strides(&self) -> Option<[usize; 2]> {
        let [.., rows, row] = self.shape() else { return None };
        if self.len() == 0 {
            return Some([rows * row, *row]);
        }
        let outer = self.rank - 2;
        if *row > 1 && self.strides[outer + 1] != 1 {
            return None;
        }
        let within = if *rows == 1 { *row } else { self.strides[outer] };
        Some([self.even_stride(outer, within * rows)?, within])
    }

    /// Distance between neighbours of so many outer dimensions, if it is the same everywhere, or
    /// another number if there are none.
    fn even_stride(&self, outer: usize, otherwise: usize) -> Option<usize> {
        let mut stride = None;
        let mut count = 1;
        for axis in (0..outer).rev().filter(|axis| self.dims[*axis] != 1) {
            match stride {
                None => stride = Some(self.strides[axis]),
                Some(stride) if self.strides[axis] == stride * count => {}
                Some(_) => return None,
            }
            count *= self.dims[axis].max(1);
        }
        Some(stride.unwrap_or(otherwise))
    }

    /// The part of a dimension; with the offset of its first element.
    pub(crate) fn narrow(
        &self,
        op: &'static str,
        axis: usize,
        range: Range<usize>,
        pack: usize,
    ) -> Result<(usize, Self)> {
        let dim = self.dim(op, axis)?;
        if range.start > range.end || range.end > dim {
            return Err(Error::value(
                op,
                "range",
                format!("within 0..{dim}"),
                format!("{range:?}"),
            ));
        }
        let innermost = axis + 1 == self.rank;
        if innermost && !(range.start.is_multiple_of(pack) && range.len().is_multiple_of(pack)) {
            let constraint = format!("multiples of {pack}, the elements packed in a byte");
            return Err(Error::value(op, "range", constraint, format!("{range:?}")));
        }
        let mut layout = *self;
        layout.dims[axis] = range.len();
        Ok((range.start * self.strides[axis], layout))
    }

    /// Parts of these sizes of a dimension, one behind the other; each with the offset of its first
    /// element.
    pub(crate) fn split<const N: usize>(
        &self,
        op: &'static str,
        axis: usize,
        sizes: [usize; N],
        pack: usize,
    ) -> Result<[(usize, Self); N]> {
        let dim = self.dim(op, axis)?;
        let all = sizes.iter().try_fold(0usize, |all, size| all.checked_add(*size));
        if all != Some(dim) {
            let constraint = format!("what adds up to {dim}");
            return Err(Error::value(op, "sizes", constraint, format!("{sizes:?}")));
        }
        let (mut parts, mut begin) = ([(0, *self); N], 0);
        for (part, size) in parts.iter_mut().zip(sizes) {
            *part = self.narrow(op, axis, begin..begin + size, pack)?;
            begin += size;
        }
        Ok(parts)
    }

    /// One index of the outermost dimension, which goes away; with the offset.
    pub(crate) fn index(&self, op: &'static str, index: usize) -> Result<(usize, Self)> {
        let dim = self.dim(op, 0)?;
        if self.rank == 1 {
            return Err(Error::value(op, "self", "of two or more dimensions", "one dimension"));
        }
        if index >= dim {
            return Err(Error::value(op, "index", format!("less than {dim}"), index));
        }
        let mut layout = Self { rank: self.rank - 1, ..*self };
        layout.dims = [1; MAX_RANK];
        layout.strides = [1; MAX_RANK];
        layout.dims[..self.rank - 1].copy_from_slice(&self.dims[1..self.rank]);
        layout.strides[..self.rank - 1].copy_from_slice(&self.strides[1..self.rank]);
        Ok((index * self.strides[0], layout))
    }

    fn dim(&self, op: &'static str, axis: usize) -> Result<usize> {
        let rank = self.rank;
        self.shape()
            .get(axis)
            .copied()
            .ok_or_else(|| Error::value(op, "axis", format!("less than the rank {rank}"), axis))
    }

    /// The dimensions in another order.
    pub(crate) fn permute(&self, op: &'static str, axes: &[usize], pack: usize) -> Result<Self> {
        let rank = self.rank;
        let all = (0..rank).all(|axis| axes.contains(&axis));
        if axes.len() != rank || !all {
            let constraint = format!("each of the {rank} dimensions once");
            return Err(Error::value(op, "axes", constraint, format!("{axes:?}")));
        }
        if pack > 1 && axes.last().is_some_and(|last| last + 1 != rank) {
            let constraint = "an order that keeps packed elements innermost";
            return Err(Error::value(op, "axes", constraint, format!("{axes:?}")));
        }
        let mut layout = *self;
        for (to, from) in axes.iter().enumerate() {
            (layout.dims[to], layout.strides[to]) = (self.dims[*from], self.strides[*from]);
        }
        Ok(layout)
    }

    /// Two dimensions in each other's place.
    pub(crate) fn transpose(
        &self,
        op: &'static str,
        a: usize,
        b: usize,
        pack: usize,
    ) -> Result<Self> {
        let mut axes = [0, 1, 2, 3, 4, 5, 6, 7];
        for axis in [a, b] {
            self.dim(op, axis)?;
        }
        axes.swap(a, b);
        self.permute(op, &axes[..self.rank], pack)
    }

    /// The same elements in a larger shape: dimensions of one element are repeated, and so are all
    /// along new ones in front.
    pub(crate) fn broadcast(&self, op: &'static str, shape: &[usize], pack: usize) -> Result<Self> {
        let mut layout = Self::contiguous(op, shape, pack)?;
        let mismatch = || {
            let (expected, got) = (format!("[.., {:?}]", self.shape()), shape.to_vec());
            let why = "only dimensions of one element are repeated".to_owned();
            Error::Shape { op, arg: "shape", expected, got, why }
        };
        let new = shape.len().checked_sub(self.rank).ok_or_else(mismatch)?;
        layout.strides[..new].fill(0);
        for (axis, to) in (new..shape.len()).enumerate() {
            layout.strides[to] = match self.dims[axis] {
                same if same == shape[to] => self.strides[axis],
                1 => 0,
                _ => return Err(mismatch()),
            };
        }
        Ok(layout)
    }

    /// The same elements in another shape.
    pub(crate) fn reshape(&self, op: &'static str, shape: &[usize], pack: usize) -> Result<Self> {
        let target = Self::contiguous(op, shape, pack)?;
        if target.len() != self.len() {
            let why =
                format!("the product must be the {} elements of {:?}", self.len(), self.shape());
            let expected = format!("{} elements", self.len());
            return Err(Error::Shape { op, arg: "shape", expected, got: shape.to_vec(), why });
        }
        if self.is_contiguous() {
            return Ok(target);
        }
        self.reshape_strided(target, pack).ok_or_else(|| Error::Stride {
            op,
            arg: "self",
            expected: "dimensions without gaps where the shape merges or splits them",
            shape: self.shape().to_vec(),
            got: self.strides().to_vec(),
        })
    }

    /// Gives the target's dimensions strides by pairing groups of equal product; within a group
    /// the old dimensions must have no gaps.
    fn reshape_strided(&self, mut target: Self, pack: usize) -> Option<Self> {
        let (mut old, mut new) = (self.rank, target.rank);
        while old > 0 && new > 0 {
            let (old_end, new_end) = (old, new);
            old -= 1;
            new -= 1;
            let (mut old_len, mut new_len) = (self.dims[old], target.dims[new]);
            while old_len != new_len {
                if old_len < new_len {
                    old = old.checked_sub(1)?;
                    old_len *= self.dims[old];
                } else {
                    new = new.checked_sub(1)?;
                    new_len *= target.dims[new];
                }
            }
            // The stride of a dimension of one element is never used.
            let innermost = (old..old_end).rev().find(|axis| self.dims[*axis] != 1);
            let base = innermost.map_or(1, |axis| self.strides[axis]);
            let mut expected = base;
            for axis in (old..old_end).rev() {
                if self.dims[axis] != 1 && self.strides[axis] != expected {
                    return None;
                }
                expected *= self.dims[axis];
            }
            let mut stride = base;
            for axis in (new..new_end).rev() {
                target.strides[axis] = stride;
                stride *= target.dims[axis];
            }
        }
        // What is left on either side has one element: its stride is never used.
        let innermost = target.strides().last().copied().unwrap_or(1);
        (pack == 1 || innermost == 1).then_some(target)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contiguous(shape: &[usize]) -> Layout {
        Layout::contiguous("test", shape, 1).unwrap()
    }

    fn columns(layout: &Layout, axis: usize, range: Range<usize>) -> (usize, Layout) {
        layout.narrow("test", axis, range, 1).unwrap()
    }

    /// Every element's position, by the definition of strides.
    fn positions(layout: &Layout) -> Vec<usize> {
        let mut positions = vec![0];
        for (dim, stride) in layout.shape().iter().zip(layout.strides()) {
            positions = positions
                .iter()
                .flat_map(|start| (0..*dim).map(move |index| start + index * stride))
                .collect();
        }
        positions
    }

    fn run_positions(layout: &Layout) -> Vec<usize> {
        let (run, starts) = layout.runs();
        starts.flat_map(|start| start..start + run).collect()
    }

    #[test]
    fn runs_cover_every_element_in_order() {
        let base = contiguous(&[3, 4, 5]);
        for layout in [
            base,
            columns(&base, 0, 1..3).1,
            columns(&base, 1, 1..3).1,
            columns(&base, 2, 2..5).1,
            columns(&columns(&base, 1, 0..2).1, 2, 1..2).1,
            columns(&base, 1, 2..2).1,
            contiguous(&[]),
            contiguous(&[0, 4]),
            contiguous(&[1, 1, 7]),
            base.permute("test", &[2, 0, 1], 1).unwrap(),
            base.permute("test", &[1, 0, 2], 1).unwrap(),
            columns(&base, 2, 1..2).1.broadcast("test", &[2, 3, 4, 5], 1).unwrap(),
        ] {
            assert_eq!(run_positions(&layout), positions(&layout), "{layout:?}");
        }
    }

    #[test]
    fn row_strides_are_found_only_where_rows_are_even() {
        let base = contiguous(&[3, 4, 5]);
        assert_eq!(base.row_stride(), Some(5));
        assert_eq!(columns(&base, 2, 1..3).1.row_stride(), Some(5));
        assert_eq!(columns(&base, 1, 1..3).1.row_stride(), None);
        assert_eq!(columns(&base, 1, 1..2).1.row_stride(), Some(20));
        assert_eq!(contiguous(&[7]).row_stride(), Some(7));
        assert_eq!(base.matrix_strides(), Some([20, 5]));
        assert_eq!(columns(&base, 1, 1..3).1.matrix_strides(), Some([20, 5]));
        let swapped = base.permute("test", &[1, 0, 2], 1).unwrap();
        assert_eq!(swapped.matrix_strides(), Some([5, 20]));
        assert_eq!(contiguous(&[2, 3, 4, 5]).matrix_strides(), Some([20, 5]));
        assert_eq!(contiguous(&[4, 5]).matrix_strides(), Some([20, 5]));
        let turned = base.permute("test", &[0, 2, 1], 1).unwrap();
        assert_eq!(turned.matrix_strides(), None, "elements of a row are apart");
        assert_eq!(turned.row_stride(), None, "elements of a row are apart");
        assert_eq!(columns(&turned, 2, 0..1).1.row_stride(), None);
        assert_eq!(base.permute("test", &[1, 0, 2], 1).unwrap().row_stride(), None);
        let row = contiguous(&[5]).broadcast("test", &[3, 4, 5], 1).unwrap();
        assert_eq!(row.row_stride(), Some(0));
    }

    #[test]
    fn reshape_keeps_positions() {
        let base = contiguous(&[6, 4, 5]);
        let cut = columns(&base, 2, 1..3).1;
        for (layout, shape) in [
            (base, &[24, 5][..]),
            (base, &[2, 3, 20]),
            (cut, &[24, 2]),
            (cut, &[2, 3, 4, 2]),
            (cut, &[6, 1, 4, 1, 2, 1]),
            (columns(&base, 1, 1..3).1, &[6, 10]),
            (columns(&base, 1, 1..3).1, &[2, 3, 10]),
            // Columns of one element, by rows; and what is in another order in groups.
            (columns(&base, 2, 1..2).1, &[24]),
            (base.permute("test", &[1, 2, 0], 1).unwrap(), &[20, 2, 3]),
            (columns(&base, 2, 1..2).1.broadcast("test", &[6, 4, 6], 1).unwrap(), &[24, 2, 3]),
        ] {
            let reshaped = layout.reshape("test", shape, 1).unwrap();
            assert_eq!(reshaped.shape(), shape);
            assert_eq!(positions(&reshaped), positions(&layout), "{shape:?}");
        }
        let refused = cut.reshape("test", &[6, 8], 1);
        assert!(matches!(refused, Err(Error::Stride { .. })), "{refused:?}");
        let refused = base.reshape("test", &[6, 4], 1);
        assert!(matches!(refused, Err(Error::Shape { .. })), "{refused:?}");
    }

    #[test]
    fn impossible_shapes_are_refused() {
        for shape in [&[usize::MAX, 2][..], &[0, usize::MAX, usize::MAX], &[1; MAX_RANK + 1]] {
            let refused = Layout::contiguous("test", shape, 1);
            assert!(matches!(refused, Err(Error::Shape { .. })), "{refused:?}");
        }
        for axes in [&[0, 1][..], &[0, 1, 1], &[0, 1, 3], &[0, 1, 2, 2]] {
            let refused = contiguous(&[3, 4, 5]).permute("test", axes, 1);
            assert!(matches!(refused, Err(Error::Value { arg: "axes", .. })), "{refused:?}");
        }
        for shape in [&[5][..], &[3, 4, 10], &[3, 1, 5], &[5, 3]] {
            let refused = contiguous(&[3, 4, 5]).broadcast("test", shape, 1);
            assert!(matches!(refused, Err(Error::Shape { arg: "shape", .. })), "{refused:?}");
        }
        let packed = Layout::contiguous("test", &[2, 3, 4], 2).unwrap();
        assert!(packed.permute("test", &[0, 2, 1], 2).is_err());
        assert!(packed.permute("test", &[1, 0, 2], 2).is_ok());
        assert!(packed.transpose("test", 0, 1, 2).is_ok());
        assert!(packed.transpose("test", 1, 2, 2).is_err());
        assert!(packed.transpose("test", 0, 3, 1).is_err());
        assert!(Layout::contiguous("test", &[4, 3], 2).is_err());
        assert!(Layout::contiguous("test", &[], 2).is_err());
        assert!(Layout::contiguous("test", &[3, 4], 2).is_ok());
    }
}
