//! Shapes and strides, with the checks that keep every view inside its buffer.

use std::ops::Range;

use crate::{Error, Result};

/// Most dimensions that a tensor can have.
pub const MAX_RANK: usize = 8;

/// Shape and strides in logical elements, outermost dimension first. The innermost stride is
/// always 1. Stored inline: making a view allocates nothing.
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
            len = len
                .checked_mul(shape[axis].max(1))
                .filter(|len| *len <= isize::MAX as usize / 8)
                .ok_or_else(|| Error::Shape {
                    op,
                    arg: "shape",
                    expected: "fewer than 2^60 elements".into(),
                    got: shape.to_vec(),
                    why: "it must be addressable".into(),
                })?;
        }
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

    /// Elements from the first to one past the last, gaps included.
    pub(crate) fn span(&self) -> usize {
        if self.len() == 0 {
            return 0;
        }
        let steps = self.shape().iter().zip(self.strides());
        1 + steps.map(|(dim, stride)| (dim - 1) * stride).sum::<usize>()
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

    /// Distance between rows, a row being the innermost dimension, if it is the same everywhere.
    pub(crate) fn row_stride(&self) -> Option<usize> {
        let outer = self.rank.saturating_sub(1);
        let row = self.dims[..self.rank].last().copied().unwrap_or(1);
        let mut stride = None;
        let mut rows = 1;
        for axis in (0..outer).rev().filter(|axis| self.dims[*axis] != 1) {
            match stride {
                None => stride = Some(self.strides[axis]),
                Some(stride) if self.strides[axis] == stride * rows => {}
                Some(_) => return None,
            }
            rows *= self.dims[axis];
        }
        Some(stride.unwrap_or(row))
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
        self.reshape_strided(target).ok_or_else(|| Error::Stride {
            op,
            arg: "self",
            expected: "dimensions without gaps where the shape merges or splits them",
            shape: self.shape().to_vec(),
            got: self.strides().to_vec(),
        })
    }

    /// Gives the target's dimensions strides by pairing groups of equal product; within a group
    /// the old dimensions must have no gaps.
    fn reshape_strided(&self, mut target: Self) -> Option<Self> {
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
            let base = self.strides[old_end - 1];
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
        // What is left on either side has one element: its stride is never used. The innermost
        // stride is 1 as the innermost group began with ours.
        Some(target)
    }

    /// Whether some element of `self` at `a` and some element of `other` at `b` share a position;
    /// all in bytes, given the bytes of an element (as a ratio, for packed ones). Exact for
    /// rows of the same stride, else it may report an overlap of interleaved views that is none.
    pub(crate) fn overlaps(&self, a: Placement, other: &Self, b: Placement) -> bool {
        let (a_span, b_span) = (a.bytes(self.span()), b.bytes(other.span()));
        if a_span == 0 || b_span == 0 || a.start + a_span <= b.start || b.start + b_span <= a.start
        {
            return false;
        }
        let rows = |layout: &Self, placement: Placement| {
            let stride = placement.bytes(layout.row_stride()?);
            let row = placement.bytes(layout.shape().last().copied().unwrap_or(1));
            Some((stride, row))
        };
        match (rows(self, a), rows(other, b)) {
            (Some((stride, a_row)), Some((b_stride, b_row)))
                if stride == b_stride && a_row <= stride && b_row <= stride =>
            {
                // Position of b's rows in the period of a's.
                let shift = (b.start + stride - a.start % stride) % stride;
                shift < a_row || shift + b_row > stride
            }
            _ => true,
        }
    }
}

/// Where a layout lies in memory and how large its elements are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Placement {
    /// Address of the first element.
    pub(crate) start: u64,
    /// Bytes of a storage element.
    pub(crate) size: usize,
    /// Logical elements in one.
    pub(crate) pack: usize,
}

impl Placement {
    /// Bytes of that many logical elements.
    fn bytes(self, elements: usize) -> u64 {
        (elements.div_ceil(self.pack) * self.size) as u64
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
        ] {
            assert_eq!(run_positions(&layout), positions(&layout), "{layout:?}");
            let last = positions(&layout).last().map_or(0, |last| last + 1);
            assert_eq!(layout.span(), last, "{layout:?}");
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
    fn overlap_agrees_with_the_sets_of_positions() {
        let base = contiguous(&[4, 12]);
        let views: Vec<(usize, Layout)> = [(0, 4), (4, 8), (3, 5), (0, 12), (8, 12), (5, 5)]
            .into_iter()
            .map(|(from, to)| columns(&base, 1, from..to))
            .collect();
        for (a_start, a) in &views {
            for (b_start, b) in &views {
                let at = |start: &usize| Placement { start: *start as u64, size: 1, pack: 1 };
                let set = |start: &usize, layout: &Layout| {
                    positions(layout).into_iter().map(|p| p + start).collect::<Vec<_>>()
                };
                let shared = set(b_start, b);
                let expected = set(a_start, a).iter().any(|p| shared.contains(p));
                assert_eq!(a.overlaps(at(a_start), b, at(b_start)), expected, "{a:?} {b:?}");
            }
        }
    }

    #[test]
    fn impossible_shapes_are_refused() {
        for shape in [&[usize::MAX, 2][..], &[0, usize::MAX, usize::MAX], &[1; MAX_RANK + 1]] {
            let refused = Layout::contiguous("test", shape, 1);
            assert!(matches!(refused, Err(Error::Shape { .. })), "{refused:?}");
        }
        assert!(Layout::contiguous("test", &[4, 3], 2).is_err());
        assert!(Layout::contiguous("test", &[], 2).is_err());
        assert!(Layout::contiguous("test", &[3, 4], 2).is_ok());
    }
}
