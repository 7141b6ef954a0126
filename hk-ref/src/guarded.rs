//! Tensors surrounded by memory that nobody may touch.

use std::ops::Range;

use hk_core::dtype::Element;
use hk_core::{Result, Stream, Tensor, TensorView};

/// Elements before and after the rows: enough for a lane's widest access, and a multiple of 16
/// bytes for every element type.
const GUARD: usize = 256;

/// Bytes of a lane's widest access.
const ALIGN: usize = 16;

/// Bytes to which the memory that a device maps for an allocation is rounded up, at least.
const PAGE: usize = 4096;

/// Of an address, the lowest bit of the upper half.
const HIGH: usize = 1 << 32;

/// Where a tensor's rows are in its memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Placement {
    /// Elements between rows. Of a gap that is longer than the guards of both rows only these are
    /// ever touched, so that rows may be gigabytes apart.
    pub gap: usize,
    /// Elements by which the first row is off an address that is a multiple of 16.
    pub shift: usize,
    /// The end of the allocation that has no guard.
    pub edge: Edge,
    /// The element behind the start of the first row whose address is a multiple of 4 GiB, so that
    /// sums of addresses carry into the upper half: one of a certain row, or on a real device, since
    /// simulated memory lies across such a multiple anyway. The allocation is larger than that for
    /// it.
    pub carry: Option<usize>,
    /// Indices by which the dimensions between the outermost and the rows are longer in memory, so
    /// that rows are not evenly spaced.
    pub slack: usize,
    /// Bytes of which the address of the first element is a multiple, in spite of the above.
    pub align: usize,
}

impl Default for Placement {
    fn default() -> Self {
        Self::DENSE
    }
}

impl Placement {
    /// Rows without gaps, guarded on both sides.
    pub const DENSE: Self =
        Self { gap: 0, shift: 0, edge: Edge::None, carry: None, slack: 0, align: 1 };

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

/// A tensor within a larger allocation.
#[derive(Debug)]
pub struct Guarded<T: Element> {
    /// One dimension. Everything here counts in its storage elements.
    whole: Tensor<T>,
    /// Where the first element is.
    first: usize,
    /// The tensor's dimensions in the order in which they are in memory.
    dims: Vec<Dim>,
    /// Which dimension of the tensor each of these is.
    order: Vec<usize>,
    place: Placement,
}

/// A dimension in memory.
#[derive(Debug, Clone, Copy)]
struct Dim {
    size: usize,
    /// Its size with the gap, which is behind it, or at the end of an allocation before it.
    room: usize,
    /// Distance from one index to the next.
    stride: usize,
}

/// Adjacent elements: where they are, and how many.
type Run = (usize, usize);

impl<T: Element> Guarded<T> {
    /// Allocates room for a tensor and the guards.
    ///
    /// # Errors
    /// As [`Tensor::empty`].
    pub fn new(stream: &Stream, shape: &[usize], place: Placement) -> Result<Self> {
        let order: Vec<usize> = (0..shape.len()).collect();
        Self::ordered(stream, shape, &order, place)
    }

    /// As [`new`](Self::new), with the dimensions in that order in memory, the outermost first.
    ///
    /// # Errors
    /// As [`Tensor::empty`].
    pub fn ordered(
        stream: &Stream,
        shape: &[usize],
        order: &[usize],
        place: Placement,
    ) -> Result<Self> {
        let storage = |elements: usize| elements.div_ceil(T::PACK);
        let dim = |axis: &usize| Dim { size: shape[*axis], room: shape[*axis], stride: 1 };
        let mut dims: Vec<Dim> = order.iter().map(dim).collect();
        if let Some((row, outer)) = dims.split_last_mut() {
            row.size = storage(row.size);
            row.room = row.size + storage(place.gap);
            outer.iter_mut().skip(1).for_each(|dim| dim.room += place.slack);
        }
        let mut room = 1;
        for dim in dims.iter_mut().rev() {
            dim.stride = room;
            room *= dim.room;
        }
        let align = (place.align / size_of::<T>()).max(1);
        let shift = storage(place.shift).next_multiple_of(align);
        let allocate = |len: usize| Tensor::empty(stream, &[len * T::PACK]);
        let (whole, first) = match (place.carry, place.edge) {
            (Some(element), _) => {
                let whole = allocate(HIGH / size_of::<T>() + room + 2 * GUARD)?;
                let (address, element) = (whole.ptr().address() as usize, storage(element));
                let carry_at =
                    (address + (GUARD + element) * size_of::<T>()).next_multiple_of(HIGH);
                let first = (carry_at - address) / size_of::<T>() - element;
                (whole, first.next_multiple_of(align))
            }
            (None, Edge::None) => {
                let page = PAGE / size_of::<T>();
                let whole = allocate(2 * GUARD + shift + room + 2 * page)?;
                let address = whole.ptr().address() as usize;
                // Simulated memory has a multiple of 4 GiB in its middle: within a row, if it can be.
                let row = dims.last().map_or(0, |row| row.size);
                let carry_at = (address.next_multiple_of(HIGH) - address) / size_of::<T>();
                let start = carry_at.saturating_sub(shift + room / 2 + row / 3);
                let aligned = start - start % align.max(ALIGN / size_of::<T>());
                let is_there = (GUARD..=GUARD + 2 * page).contains(&aligned);
                (whole, if is_there { aligned } else { GUARD } + shift)
            }
            (None, Edge::Start) => (allocate(shift + room + GUARD)?, shift),
            (None, Edge::End) => {
                let len = (GUARD + room).next_multiple_of(PAGE / size_of::<T>());
                let first = len - room + gaps_before(&dims);
                (allocate(len)?, first - first % align)
            }
        };
        Ok(Self { whole, first, dims, order: order.to_vec(), place })
    }

    /// The tensor, which shares its elements with `self` and all others of this kind, so that a
    /// test can hand them to an op as it likes, overlaps included.
    ///
    /// # Errors
    /// None is expected; those of [`narrow`](hk_core::TensorSlice::narrow).
    pub fn tensor(&self) -> Result<Tensor<T>> {
        let before = if self.place.edge == Edge::End { gaps_before(&self.dims) } else { 0 };
        let start = (self.first - before) * T::PACK;
        let mut rooms: Vec<usize> = self.dims.iter().map(|dim| dim.room).collect();
        let mut sizes: Vec<usize> = self.dims.iter().map(|dim| dim.size).collect();
        for innermost in [&mut rooms, &mut sizes] {
            innermost.last_mut().into_iter().for_each(|size| *size *= T::PACK);
        }
        let room: usize = rooms.iter().product();
        let mut view = self.whole.slice(start..start + room)?.reshape(&rooms)?;
        for (axis, (size, room)) in sizes.into_iter().zip(rooms).enumerate() {
            let skip = if before > 0 { room - size } else { 0 };
            view = view.narrow(axis, skip..skip + size)?;
        }
        let mut axes = vec![0; self.order.len()];
        for (at, axis) in self.order.iter().enumerate() {
            axes[*axis] = at;
        }
        // SAFETY: `self` writes and reads the elements only between calls, and expects what others
        // did.
        Ok(unsafe { view.permute(&axes)?.alias() })
    }

    /// Runs of adjacent elements, in the order of memory.
    fn runs(&self) -> Vec<Run> {
        let gap = self.dims.iter().rposition(|dim| dim.room != dim.size).unwrap_or(0);
        let (outer, inner) = self.dims.split_at(gap);
        let len = inner.first().map_or(1, |dim| dim.size * dim.stride);
        let mut starts = vec![self.first];
        for dim in outer {
            let within = |start: usize| (0..dim.size).map(move |i| start + i * dim.stride);
            starts = starts.into_iter().flat_map(within).collect();
        }
        starts.into_iter().filter(|_| len > 0).map(|start| (start, len)).collect()
    }

    /// The parts of the memory that are filled and checked, each with the runs in it: all of it,
    /// unless rows are far apart or there is more of it for other reasons.
    fn windows(&self) -> Vec<(Range<usize>, Vec<Run>)> {
        let mut windows: Vec<(Range<usize>, Vec<Run>)> = Vec::new();
        for (start, len) in self.runs() {
            match windows.last_mut() {
                Some((window, runs)) if start <= window.end + GUARD => {
                    window.end = start + len + GUARD;
                    runs.push((start, len));
                }
                _ => {
                    let window = start.saturating_sub(GUARD)..start + len + GUARD;
                    windows.push((window, vec![(start, len)]));
                }
            }
        }
        let end = self.whole.len() / T::PACK;
        if windows.is_empty() {
            windows.push((self.first.saturating_sub(GUARD)..self.first + GUARD, Vec::new()));
        }
        // What is rounded up to pages.
        let near = |distance: usize| distance <= GUARD + 2 * PAGE;
        if let Some((window, _)) = windows.first_mut().filter(|first| near(first.0.start)) {
            window.start = 0;
        }
        if let Some((window, _)) = windows.last_mut() {
            window.end = if near(end.saturating_sub(window.end)) { end } else { window.end };
        }
        windows
    }

    /// For each element in the order of memory, which of the tensor's it is; nothing if both are in
    /// the same order.
    fn positions(&self) -> Option<Vec<usize>> {
        if self.order.is_sorted() {
            return None;
        }
        let mut strides = vec![1; self.dims.len()];
        let mut stride = 1;
        for axis in (0..self.dims.len()).rev() {
            let at = self.order.iter().position(|of| *of == axis)?;
            strides[at] = stride;
            stride *= self.dims[at].size;
        }
        let mut positions = vec![0];
        for (dim, stride) in self.dims.iter().zip(strides) {
            let within = |start: usize| (0..dim.size).map(move |i| start + i * stride);
            positions = positions.into_iter().flat_map(within).collect();
        }
        Some(positions)
    }

    /// Writes `values` into the tensor and `pattern` into every byte around it. `pattern` fills the
    /// tensor too if there are no values.
    ///
    /// # Errors
    /// As [`TensorSlice::write`](hk_core::TensorSlice::write).
    pub fn write(&mut self, values: &[T], pattern: u8) -> Result<()> {
        let filler: T = bytemuck::pod_read_unaligned(&vec![pattern; size_of::<T>()]);
        let reordered = self.positions().filter(|_| !values.is_empty());
        let reordered: Option<Vec<T>> =
            reordered.map(|positions| positions.into_iter().map(|at| values[at]).collect());
        let mut rest = reordered.as_deref().unwrap_or(values);
        for (window, runs) in self.windows() {
            let mut all = vec![filler; window.len()];
            for (start, len) in runs {
                let Some((run, others)) = rest.split_at_checked(len) else { break };
                all[start - window.start..][..len].copy_from_slice(run);
                rest = others;
            }
            let window = window.start * T::PACK..window.end * T::PACK;
            self.whole.slice_mut(window)?.write(&all)?;
        }
        Ok(())
    }

    /// The elements; and where one around them no longer holds `pattern`, if there is one.
    ///
    /// # Errors
    /// As [`TensorSlice::to_vec`](hk_core::TensorSlice::to_vec).
    pub fn read(&self, pattern: u8) -> Result<(Vec<T>, Option<String>)> {
        let intact = |element: &T| bytemuck::bytes_of(element).iter().all(|byte| *byte == pattern);
        let (mut values, mut spoilt) = (Vec::new(), None);
        for (window, runs) in self.windows() {
            let all = self.part(&window)?.to_vec()?;
            let mut at = window.start;
            // What is behind the last run, too.
            for (start, len) in runs.into_iter().chain([(window.end, 0)]) {
                let gap = &all[at - window.start..start - window.start];
                spoilt = spoilt.or_else(|| Some(at + gap.iter().position(|e| !intact(e))?));
                values.extend_from_slice(&all[start - window.start..][..len]);
                at = start + len;
            }
        }
        if let Some(positions) = self.positions() {
            let mut ordered = values.clone();
            positions.into_iter().zip(values).for_each(|(at, value)| ordered[at] = value);
            values = ordered;
        }
        Ok((values, spoilt.map(|at| self.describe(at))))
    }

    /// Where an element outside the tensor is.
    fn describe(&self, at: usize) -> String {
        let runs = self.runs();
        let after = runs.partition_point(|(start, _)| *start <= at);
        let Some((start, len)) = after.checked_sub(1).map(|row| runs[row]) else {
            let first = runs.first().map_or(at, |(start, _)| *start);
            return format!("{} elements before the first row", first - at);
        };
        let distance = at - (start + len) + 1;
        if after == runs.len() {
            return format!("{distance} elements after the last row");
        }
        format!("{distance} elements after the end of row {}", after - 1)
    }

    fn part(&self, window: &Range<usize>) -> Result<TensorView<'_, T>> {
        self.whole.slice(window.start * T::PACK..window.end * T::PACK)
    }
}

/// Elements of gaps before the first element, if gaps are before what they belong to.
fn gaps_before(dims: &[Dim]) -> usize {
    dims.iter().map(|dim| (dim.room - dim.size) * dim.stride).sum()
}

#[cfg(test)]
mod tests {
    use hk_core::Device;
    use hk_core::dtype::F4x2E2M1;

    use super::*;

    #[test]
    fn writes_around_the_rows_are_noticed() {
        let stream = Device::open("sim:mi355x").unwrap().default_stream();
        let place = Placement::DENSE.gap(3).shift(1);
        let mut guarded = Guarded::<f32>::new(&stream, &[2, 5], place).unwrap();
        let first = guarded.first;
        for (index, said) in [
            (first - 1, "1 elements before the first row"),
            (first + 5, "1 elements after the end of row 0"),
            (first + 13, "1 elements after the last row"),
        ] {
            notices(&mut guarded, index, said);
        }
    }

    #[test]
    fn rows_at_an_edge_have_no_guard_there() {
        let stream = Device::open("sim:mi355x").unwrap().default_stream();
        let place = |edge| Placement::DENSE.gap(3).edge(edge);
        let mut start = Guarded::<f32>::new(&stream, &[2, 5], place(Edge::Start)).unwrap();
        assert_eq!(start.tensor().unwrap().ptr(), start.whole.ptr());
        notices(&mut start, 5, "1 elements after the end of row 0");
        let mut end = Guarded::<f32>::new(&stream, &[2, 5], place(Edge::End)).unwrap();
        let len = end.whole.len();
        assert!((len * size_of::<f32>()).is_multiple_of(PAGE));
        let last = end.tensor().unwrap().index(1).unwrap().ptr().address();
        assert_eq!(last + 5 * 4, end.whole.ptr().address() + len as u64 * 4);
        notices(&mut end, len - 6, "3 elements after the end of row 0");
        notices(&mut end, len - 14, "1 elements before the first row");
    }

    #[test]
    fn rows_may_be_gigabytes_apart() {
        let stream = Device::open("sim:mi355x").unwrap().default_stream();
        let place = Placement::DENSE.gap(1 << 31);
        let mut guarded = Guarded::<f32>::new(&stream, &[2, 5], place).unwrap();
        let second = GUARD + 5 + (1 << 31);
        notices(
            &mut guarded,
            second - 1,
            &format!("{} elements after the end of row 0", 1u64 << 31),
        );
        notices(&mut guarded, second + 5, "1 elements after the last row");
    }

    #[test]
    fn rows_lie_across_a_multiple_of_4_gib() {
        let stream = Device::open("sim:mi355x").unwrap().default_stream();
        for (place, shape) in [
            (Placement::DENSE, [3, 40]),
            (Placement::DENSE.shift(3), [2, 5]),
            (Placement::DENSE.gap(5).shift(1), [301, 77]),
        ] {
            let guarded = Guarded::<f32>::new(&stream, &shape, place).unwrap();
            let tensor = guarded.tensor().unwrap();
            let first = tensor.ptr().address() as usize;
            assert_eq!(first % ALIGN, place.shift * 4 % ALIGN);
            let carry_at = (first.next_multiple_of(HIGH) - first) / 4;
            let (row, column) =
                (carry_at / (shape[1] + place.gap), carry_at % (shape[1] + place.gap));
            assert_eq!((row, column < shape[1]), (shape[0] / 2, true), "{place:?}");
        }
    }

    #[test]
    fn an_element_may_be_at_a_multiple_of_4_gib() {
        let stream = Device::open("sim:mi355x").unwrap().default_stream();
        let place = Placement::DENSE.gap(3).shift(1).carry(9);
        let mut guarded = Guarded::<f32>::new(&stream, &[2, 5], place).unwrap();
        let second = guarded.tensor().unwrap().index(1).unwrap().ptr().address();
        assert_eq!((second + 4) % (1 << 32), 0);
        let first = guarded.first;
        notices(&mut guarded, first - 1, "1 elements before the first row");
        notices(&mut guarded, first + 13, "1 elements after the last row");
    }

    #[test]
    fn dimensions_may_be_in_another_order_and_unevenly_spaced() {
        let stream = Device::open("sim:mi355x").unwrap().default_stream();
        let place = Placement { slack: 1, ..Placement::DENSE.gap(3).shift(2) };
        for edge in [Edge::None, Edge::Start, Edge::End] {
            // Rows of 5 in pairs, in memory with room for 8 elements and three rows.
            let place = place.edge(edge);
            let guarded = Guarded::<f32>::new(&stream, &[3, 2, 5], place).unwrap();
            assert_eq!(guarded.tensor().unwrap().strides(), [24, 8, 1]);
            let mut guarded =
                Guarded::<f32>::ordered(&stream, &[5, 3, 2], &[1, 2, 0], place).unwrap();
            let tensor = guarded.tensor().unwrap();
            assert_eq!((tensor.shape(), tensor.strides()), (&[5, 3, 2][..], &[1, 24, 8][..]));
            let values: Vec<f32> = (0u8..30).map(f32::from).collect();
            guarded.write(&values, 0x5a).unwrap();
            assert_eq!(tensor.to_vec().unwrap(), values);
            assert_eq!(guarded.read(0x5a).unwrap(), (values, None));
            let at = guarded.first + 14;
            guarded.whole.slice_mut(at..at + 1).unwrap().fill(1.0).unwrap();
            let said = "2 elements after the end of row 1";
            assert_eq!(guarded.read(0x5a).unwrap().1.as_deref(), Some(said));
        }
    }

    #[test]
    fn packed_elements_lie_in_whole_bytes_and_addresses_keep_an_alignment() {
        let stream = Device::open("sim:mi355x").unwrap().default_stream();
        let place = Placement { align: 4, ..Placement::DENSE.gap(4).shift(3) };
        for edge in [Edge::None, Edge::Start, Edge::End] {
            let place = place.edge(edge);
            let mut guarded = Guarded::<F4x2E2M1>::new(&stream, &[2, 6], place).unwrap();
            let tensor = guarded.tensor().unwrap();
            assert_eq!((tensor.shape(), tensor.strides()), (&[2, 6][..], &[10, 1][..]));
            assert!(tensor.ptr().address().is_multiple_of(4));
            let values: Vec<_> = (0..6).map(F4x2E2M1::from_bits).collect();
            guarded.write(&values, 0x5a).unwrap();
            assert_eq!(tensor.to_vec().unwrap(), values);
            assert_eq!(guarded.read(0x5a).unwrap(), (values, None));
        }
    }

    /// Requires that the rows are read as they are written, and a write at `index` of the memory
    /// is told.
    fn notices(guarded: &mut Guarded<f32>, index: usize, said: &str) {
        let values: Vec<f32> = (0u8..10).map(f32::from).collect();
        guarded.write(&values, 0x5a).unwrap();
        assert_eq!(guarded.tensor().unwrap().to_vec().unwrap(), values);
        assert_eq!(guarded.read(0x5a).unwrap(), (values, None));
        guarded.whole.slice_mut(index..index + 1).unwrap().fill(1.0).unwrap();
        assert_eq!(guarded.read(0x5a).unwrap().1.as_deref(), Some(said));
    }
}
