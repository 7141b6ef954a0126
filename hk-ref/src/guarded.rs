//! Tensors surrounded by memory that nobody may touch.

use std::ops::Range;

use hk_core::dtype::Element;
use hk_core::{Result, Stream, Tensor};

/// Elements before and after the rows: enough for a lane's widest access, and a multiple of 16
/// bytes for every element type.
const GUARD: usize = 256;

/// Bytes to which the memory that a device maps for an allocation is rounded up, at least.
const PAGE: usize = 4096;

/// Of an address, the lowest bit of the upper half.
const HIGH: usize = 1 << 32;

/// Where a tensor's rows are in its memory.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Placement {
    /// Elements between rows. Of a gap that is longer than the guards of both rows only these are
    /// ever touched, so that rows may be gigabytes apart.
    pub gap: usize,
    /// Elements by which the first row is off the alignment that allocations have.
    pub shift: usize,
    /// The end of the allocation that has no guard.
    pub edge: Edge,
    /// The element behind the start of the first row whose address is a multiple of 4 GiB, so that
    /// sums of addresses carry into the upper half. The allocation is larger than that for it.
    pub carry: Option<usize>,
}

impl Placement {
    /// Rows without gaps, guarded on both sides.
    pub const DENSE: Self = Self { gap: 0, shift: 0, edge: Edge::None, carry: None };

    /// With so many elements between rows.
    #[must_use]
    pub const fn gap(self, gap: usize) -> Self {
        Self { gap, ..self }
    }

    /// With the first row so many elements off alignment.
    #[must_use]
    pub const fn shift(self, shift: usize) -> Self {
        Self { shift, ..self }
    }

    /// With this element, counted from the first row's start, at a multiple of 4 GiB. Of an edge or a
    /// shift nothing is left.
    #[must_use]
    pub const fn carry(self, element: usize) -> Self {
        Self { shift: 0, edge: Edge::None, carry: Some(element), ..self }
    }

    /// With the rows at an edge of the allocation.
    #[must_use]
    pub const fn edge(self, edge: Edge) -> Self {
        Self { edge, ..self }
    }
}

/// An end of an allocation at which rows lie without a guard, so that an access beyond them is one
/// outside of the allocation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Edge {
    /// There are guards on both sides.
    #[default]
    None,
    /// The first row starts where the allocation does, or `shift` elements after.
    Start,
    /// The last row ends where the allocation and its last page do. `shift` has no effect.
    End,
}

/// A matrix within a larger allocation.
#[derive(Debug)]
pub struct Guarded<T: Element> {
    whole: Tensor<T>,
    /// Where the first row starts.
    first: usize,
    rows: usize,
    width: usize,
    place: Placement,
}

impl<T: Element> Guarded<T> {
    /// Allocates room for `rows` of `width` elements and the guards.
    ///
    /// # Errors
    /// As [`Tensor::empty`].
    pub fn new(stream: &Stream, rows: usize, width: usize, place: Placement) -> Result<Self> {
        let room = rows * (width + place.gap);
        if let Some(element) = place.carry {
            let whole = Tensor::empty(stream, &[HIGH / size_of::<T>() + room + 2 * GUARD])?;
            let address = whole.ptr().address() as usize;
            let first_at = address + (GUARD + element) * size_of::<T>();
            let first = (first_at.next_multiple_of(HIGH) - address) / size_of::<T>() - element;
            return Ok(Self { whole, first, rows, width, place });
        }
        let (first, len) = match place.edge {
            Edge::None => (GUARD + place.shift, 2 * GUARD + place.shift + room),
            Edge::Start => (place.shift, place.shift + room + GUARD),
            Edge::End => {
                // The gap is before each row, not behind.
                let len = (GUARD + room).next_multiple_of(PAGE / size_of::<T>());
                (len - room + place.gap, len)
            }
        };
        Ok(Self { whole: Tensor::empty(stream, &[len])?, first, rows, width, place })
    }

    /// As [`new`](Self::new), for an input: `values` in the rows, all bits set (NaN, if the element
    /// type has it) around them, which spoils the result of a kernel that uses it.
    ///
    /// # Errors
    /// As [`Tensor::empty`].
    pub fn input(
        stream: &Stream,
        values: &[T],
        rows: usize,
        width: usize,
        place: Placement,
    ) -> Result<Self> {
        let mut input = Self::new(stream, rows, width, place)?;
        input.write(values, u8::MAX)?;
        Ok(input)
    }

    /// The rows, `[rows, width]`, as a tensor that shares them with `self` and all others of this
    /// kind, so that a test can hand them to an op as it likes, overlaps included.
    ///
    /// # Errors
    /// None is expected; those of [`narrow`](hk_core::TensorSlice::narrow).
    pub fn matrix(&self) -> Result<Tensor<T>> {
        let stride = self.stride();
        // Each row with its gap: behind it, or at the end of an allocation before it.
        let before = if self.place.edge == Edge::End { self.place.gap } else { 0 };
        let first = self.first - before;
        let rows = self.whole.slice(first..first + self.rows * stride)?;
        let rows = rows.reshape(&[self.rows, stride])?.narrow(1, before..before + self.width)?;
        // SAFETY: `self` writes and reads the rows only between calls, and expects what others did.
        Ok(unsafe { rows.alias() })
    }

    /// As [`matrix`](Self::matrix), as one vector, if there are no gaps.
    ///
    /// # Errors
    /// [`hk_core::Error::Stride`] if there are gaps.
    pub fn vector(&self) -> Result<Tensor<T>> {
        let rows = self.matrix()?;
        // SAFETY: as for `matrix`.
        Ok(unsafe { rows.reshape(&[self.rows * self.width])?.alias() })
    }

    fn stride(&self) -> usize {
        self.width + self.place.gap
    }

    /// The parts of the memory that are filled and checked, each with the rows in it: all of it,
    /// unless rows are far apart or there is more of it for other reasons.
    fn windows(&self) -> Vec<(Range<usize>, Range<usize>)> {
        let len = self.whole.len();
        if self.place.gap <= 2 * GUARD {
            let near = match self.place.carry {
                Some(_) => self.first - GUARD..self.first + self.rows * self.stride() + GUARD,
                None => 0..len,
            };
            return vec![(near, 0..self.rows)];
        }
        let window = |row: usize| {
            let start = self.first + row * self.stride();
            let end = (start + self.width + GUARD).min(len);
            (start.saturating_sub(GUARD)..end, row..row + 1)
        };
        (0..self.rows).map(window).collect()
    }

    /// Writes `values` into the rows and `pattern` into every byte around them. `pattern` fills the
    /// rows too if there are fewer values.
    ///
    /// # Errors
    /// As [`TensorSlice::write`](hk_core::TensorSlice::write).
    pub fn write(&mut self, values: &[T], pattern: u8) -> Result<()> {
        let filler: T = bytemuck::pod_read_unaligned(&vec![pattern; size_of::<T>()]);
        for (window, rows) in self.windows() {
            let mut all = vec![filler; window.len()];
            for row in rows {
                let Some(values) = values.get(row * self.width..(row + 1) * self.width) else {
                    break;
                };
                let start = self.first + row * self.stride() - window.start;
                all[start..start + self.width].copy_from_slice(values);
            }
            self.whole.slice_mut(window)?.write(&all)?;
        }
        Ok(())
    }

    /// The rows; and where an element around them no longer holds `pattern`, if there is one.
    ///
    /// # Errors
    /// As [`TensorSlice::to_vec`](hk_core::TensorSlice::to_vec).
    pub fn read(&self, pattern: u8) -> Result<(Vec<T>, Option<String>)> {
        let stride = self.stride();
        let end = self.first + self.rows * stride;
        let intact = |element: &T| bytemuck::bytes_of(element).iter().all(|byte| *byte == pattern);
        let mut values = Vec::with_capacity(self.rows * self.width);
        let mut spoilt = None;
        for (window, _) in self.windows() {
            let all = self.whole.slice(window.clone())?.to_vec()?;
            for (i, element) in window.zip(&all) {
                let inside = (self.first..end).contains(&i);
                let [row, column] = match stride {
                    0 => [0, 0],
                    _ if inside => [(i - self.first) / stride, (i - self.first) % stride],
                    _ => [0, 0],
                };
                if inside && column < self.width {
                    values.push(*element);
                } else if spoilt.is_none() && !intact(element) {
                    spoilt = Some(if i < self.first {
                        format!("{} elements before the first row", self.first - i)
                    } else if inside {
                        format!("{} elements after the end of row {row}", column - self.width + 1)
                    } else {
                        format!("{} elements after the last row", i - end + 1)
                    });
                }
            }
        }
        Ok((values, spoilt))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hk_core::Device;

    #[test]
    fn writes_around_the_rows_are_noticed() {
        let stream = Device::open("sim:mi355x").unwrap().default_stream();
        let place = Placement::DENSE.gap(3).shift(1);
        let mut guarded = Guarded::<f32>::new(&stream, 2, 5, place).unwrap();
        let first = GUARD + 1;
        for (index, said) in [
            (first - 1, "1 elements before the first row"),
            (first + 5, "1 elements after the end of row 0"),
            (first + 16, "1 elements after the last row"),
        ] {
            notices(&mut guarded, index, said);
        }
    }

    #[test]
    fn rows_at_an_edge_have_no_guard_there() {
        let stream = Device::open("sim:mi355x").unwrap().default_stream();
        let place = |edge| Placement::DENSE.gap(3).edge(edge);
        let mut start = Guarded::<f32>::new(&stream, 2, 5, place(Edge::Start)).unwrap();
        assert_eq!(start.matrix().unwrap().ptr(), start.whole.ptr());
        notices(&mut start, 5, "1 elements after the end of row 0");
        let mut end = Guarded::<f32>::new(&stream, 2, 5, place(Edge::End)).unwrap();
        let len = end.whole.len();
        assert!((len * size_of::<f32>()).is_multiple_of(PAGE));
        let last = end.matrix().unwrap().index(1).unwrap().ptr().address();
        assert_eq!(last + 5 * 4, end.whole.ptr().address() + len as u64 * 4);
        notices(&mut end, len - 6, "3 elements after the end of row 0");
        notices(&mut end, len - 14, "1 elements before the first row");
    }

    #[test]
    fn rows_may_be_gigabytes_apart() {
        let stream = Device::open("sim:mi355x").unwrap().default_stream();
        let place = Placement::DENSE.gap(1 << 31);
        let mut guarded = Guarded::<f32>::new(&stream, 2, 5, place).unwrap();
        let second = GUARD + 5 + (1 << 31);
        notices(
            &mut guarded,
            second - 1,
            &format!("{} elements after the end of row 0", 1u64 << 31),
        );
        notices(&mut guarded, second + 5, "1 elements after the end of row 1");
    }

    #[test]
    fn rows_may_lie_across_a_multiple_of_4_gib() {
        let stream = Device::open("sim:mi355x").unwrap().default_stream();
        let place = Placement::DENSE.gap(3).shift(1).carry(9);
        let mut guarded = Guarded::<f32>::new(&stream, 2, 5, place).unwrap();
        let second = guarded.matrix().unwrap().index(1).unwrap().ptr().address();
        assert_eq!((second + 4) % (1 << 32), 0);
        let first = guarded.first;
        notices(&mut guarded, first - 1, "1 elements before the first row");
        notices(&mut guarded, first + 16, "1 elements after the last row");
    }

    /// Requires that the rows are read as they are written, and a write at `index` of the memory
    /// is told.
    fn notices(guarded: &mut Guarded<f32>, index: usize, said: &str) {
        let values: Vec<f32> = (0u8..10).map(f32::from).collect();
        guarded.write(&values, 0x5a).unwrap();
        assert_eq!(guarded.matrix().unwrap().to_vec().unwrap(), values);
        assert_eq!(guarded.read(0x5a).unwrap(), (values, None));
        guarded.whole.slice_mut(index..index + 1).unwrap().fill(1.0).unwrap();
        assert_eq!(guarded.read(0x5a).unwrap().1.as_deref(), Some(said));
    }
}
