//! Tensors surrounded by memory that nobody may touch.

use hk_core::dtype::Element;
use hk_core::{Result, Stream, Tensor};

/// Elements before and after the rows: enough for a lane's widest access, and a multiple of 16
/// bytes for every element type.
const GUARD: usize = 256;

/// Where a tensor's rows are in its memory.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Placement {
    /// Elements between rows.
    pub gap: usize,
    /// Elements by which the first row is off the alignment that allocations have.
    pub shift: usize,
}

/// A matrix within a larger allocation.
#[derive(Debug)]
pub struct Guarded<T: Element> {
    whole: Tensor<T>,
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
        let len = 2 * GUARD + place.shift + rows * (width + place.gap);
        Ok(Self { whole: Tensor::empty(stream, &[len])?, rows, width, place })
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

    /// A view of the rows, `[rows, width]`.
    ///
    /// # Errors
    /// None is expected; those of [`Tensor::narrow`].
    pub fn matrix(&self) -> Result<Tensor<T>> {
        let stride = self.width + self.place.gap;
        let first = self.first();
        let rows = self.whole.slice(first..first + self.rows * stride)?;
        rows.reshape(&[self.rows, stride])?.narrow(1, 0..self.width)
    }

    /// A view of the rows as one vector, if there are no gaps.
    ///
    /// # Errors
    /// [`hk_core::Error::Stride`] if there are gaps.
    pub fn vector(&self) -> Result<Tensor<T>> {
        self.matrix()?.reshape(&[self.rows * self.width])
    }

    fn first(&self) -> usize {
        GUARD + self.place.shift
    }

    /// Writes `values` into the rows and `pattern` into every byte around them. `pattern` fills the
    /// rows too if there are fewer values.
    ///
    /// # Errors
    /// As [`Tensor::write`].
    pub fn write(&mut self, values: &[T], pattern: u8) -> Result<()> {
        let filler: T = bytemuck::pod_read_unaligned(&vec![pattern; size_of::<T>()]);
        let mut all = vec![filler; self.whole.len()];
        if self.width > 0 {
            let rows = values.chunks_exact(self.width);
            let first = self.first();
            for (row, to) in rows.zip(all[first..].chunks_mut(self.width + self.place.gap)) {
                to[..self.width].copy_from_slice(row);
            }
        }
        self.whole.write(&all)
    }

    /// The rows; and where an element around them no longer holds `pattern`, if there is one.
    ///
    /// # Errors
    /// As [`Tensor::to_vec`].
    pub fn read(&self, pattern: u8) -> Result<(Vec<T>, Option<String>)> {
        let all = self.whole.to_vec()?;
        let (first, stride) = (self.first(), self.width + self.place.gap);
        let end = first + self.rows * stride;
        let intact = |element: &T| bytemuck::bytes_of(element).iter().all(|byte| *byte == pattern);
        let mut values = Vec::with_capacity(self.rows * self.width);
        let mut spoilt = None;
        for (i, element) in all.iter().enumerate() {
            let inside = (first..end).contains(&i);
            let [row, column] = match stride {
                0 => [0, 0],
                _ if inside => [(i - first) / stride, (i - first) % stride],
                _ => [0, 0],
            };
            if inside && column < self.width {
                values.push(*element);
            } else if spoilt.is_none() && !intact(element) {
                spoilt = Some(if i < first {
                    format!("{} elements before the first row", first - i)
                } else if inside {
                    format!("{} elements after the end of row {row}", column - self.width + 1)
                } else {
                    format!("{} elements after the last row", i - end + 1)
                });
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
        let place = Placement { gap: 3, shift: 1 };
        let mut guarded = Guarded::<f32>::new(&stream, 2, 5, place).unwrap();
        let values: Vec<f32> = (0u8..10).map(f32::from).collect();
        let first = GUARD + 1;
        for (index, said) in [
            (first - 1, "1 elements before the first row"),
            (first + 5, "1 elements after the end of row 0"),
            (first + 16, "1 elements after the last row"),
        ] {
            guarded.write(&values, 0x5a).unwrap();
            assert_eq!(guarded.matrix().unwrap().to_vec().unwrap(), values);
            assert_eq!(guarded.read(0x5a).unwrap(), (values.clone(), None));
            guarded.whole.slice(index..index + 1).unwrap().fill(1.0).unwrap();
            assert_eq!(guarded.read(0x5a).unwrap().1.as_deref(), Some(said));
        }
    }
}
