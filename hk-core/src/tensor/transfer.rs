//! Copies between host and device, and on the device.

use ndarray::{ArrayD, IxDyn};

use super::{Tensor, TensorSlice, bytes_of, check_len};
use crate::dtype::Element;
use crate::hip::Pattern;
use crate::{Error, Result};

impl<T: Element> TensorSlice<T> {
    /// Copies to the host, in row-major order, waiting for the stream.
    ///
    /// # Errors
    /// [`Error::Fault`] or [`Error::Hip`] if this, or earlier work of the stream, fails;
    /// [`Error::StreamCapture`] if the stream is being captured.
    pub fn to_vec(&self) -> Result<Vec<T>> {
        let mut host = vec![T::zeroed(); self.len() / T::PACK];
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut host);
        let (run, starts) = self.layout.runs();
        if run > 0 {
            self.stream.copy("Tensor::to_vec", &[self.as_input()], |hip| {
                for (chunk, start) in bytes.chunks_exact_mut(bytes_of::<T>(run)).zip(starts) {
                    // SAFETY: the layout keeps runs inside the buffer, and `host` lives until
                    // `copy` has waited.
                    unsafe { hip.download(chunk, self.address_of(start), self.stream.raw())? };
                }
                Ok(())
            })?;
        }
        Ok(host)
    }

    /// Copies to the host, waiting for the stream. Of a packed type, the array holds storage
    /// elements, and its innermost dimension is so many times shorter.
    ///
    /// # Errors
    /// As [`to_vec`](Self::to_vec).
    pub fn download(&self) -> Result<ArrayD<T>> {
        let mut shape = self.shape().to_vec();
        if let Some(last) = shape.last_mut() {
            *last /= T::PACK;
        }
        let data = self.to_vec()?;
        let count = data.len();
        ArrayD::from_shape_vec(IxDyn(&shape), data)
            .map_err(|_| Error::shape("Tensor::download", "self", &[count], &shape, "one vector"))
    }

    /// Overwrites all elements from the host, in row-major order, and waits until the data was
    /// copied.
    ///
    /// # Errors
    /// [`Error::Shape`] if `data` does not have as many elements; else as [`to_vec`](Self::to_vec).
    pub fn write(&mut self, data: &[T]) -> Result<()> {
        check_len("Tensor::write", data.len() * T::PACK, self.len(), self.shape())?;
        let bytes: &[u8] = bytemuck::cast_slice(data);
        let (run, starts) = self.layout.runs();
        if run == 0 {
            return Ok(());
        }
        let uses = [self.as_output()];
        self.stream.copy("Tensor::write", &uses, |hip| {
            for (chunk, start) in bytes.chunks_exact(bytes_of::<T>(run)).zip(starts) {
                // SAFETY: the layout keeps runs inside the buffer, and `data` lives until `copy`
                // has waited.
                unsafe { hip.upload(self.address_of(start), chunk, self.stream.raw())? };
            }
            Ok(())
        })
    }

    /// Sets every storage element to `value`, without waiting.
    ///
    /// # Errors
    /// [`Error::Hip`] if HIP refuses.
    pub fn fill(&mut self, value: T) -> Result<()> {
        let bytes = bytemuck::bytes_of(&value);
        // Types of 8 bytes that are not one word twice have no memset: they go through the host.
        let pattern = match *bytes {
            [first, ref rest @ ..] if rest.iter().all(|byte| *byte == first) => {
                Pattern::Byte(first)
            }
            [a, b] => Pattern::Half(u16::from_ne_bytes([a, b])),
            [a, b, c, d] => Pattern::Word(u32::from_ne_bytes([a, b, c, d])),
            [a, b, c, d, e, f, g, h] if [a, b, c, d] == [e, f, g, h] => {
                Pattern::Word(u32::from_ne_bytes([a, b, c, d]))
            }
            _ => return self.write(&vec![value; self.len() / T::PACK]),
        };
        let hip = self.device().bind()?;
        let (run, starts) = self.layout.runs();
        let count = bytes_of::<T>(run) / pattern.bytes();
        if count == 0 {
            return Ok(());
        }
        let uses = [self.as_output()];
        self.stream.submit(&uses, || {
            for start in starts {
                // SAFETY: the layout keeps runs inside the buffer; elements are aligned, and the
                // pattern is no larger than one.
                unsafe { hip.fill(self.address_of(start), pattern, count, self.stream.raw())? };
            }
            Ok(())
        })
    }

    /// Overwrites all elements from another tensor of the same shape and stream, without waiting.
    ///
    /// # Errors
    /// [`Error::Shape`], [`Error::Device`], [`Error::Stream`] or [`Error::Alias`] if the two do not
    /// go together.
    pub fn copy_from(&mut self, from: &Self) -> Result<()> {
        let op = "Tensor::copy_from";
        if from.shape() != self.shape() {
            return Err(Error::shape(op, "from", self.shape(), from.shape(), "that of self"));
        }
        from.region().check_same_stream(op, "from", &self.region(), "self")?;
        if from.overlaps(self) {
            return Err(Error::Alias { op, a: "self", b: "from" });
        }
        let hip = self.device().bind()?;
        let (to_run, to_starts) = self.layout.runs();
        let (from_run, from_starts) = from.layout.runs();
        // Runs of either side are whole multiples of the other's: both are products of inner
        // dimensions of one shape.
        let run = to_run.min(from_run);
        if run == 0 {
            return Ok(());
        }
        let to = pieces(to_starts, to_run, run);
        let uses = [from.as_input(), self.as_output()];
        self.stream.submit(&uses, || {
            for (to, from_start) in to.zip(pieces(from_starts, from_run, run)) {
                let (to, source) = (self.address_of(to), from.address_of(from_start));
                // SAFETY: both layouts keep runs inside their buffers, which are disjoint.
                unsafe { hip.copy(to, source, bytes_of::<T>(run), self.stream.raw())? };
            }
            Ok(())
        })
    }

    /// A copy without gaps in memory of its own, without waiting.
    ///
    /// # Errors
    /// As [`Tensor::empty`](crate::Tensor::empty).
    pub fn to_contiguous(&self) -> Result<Tensor<T>> {
        let mut copy = Tensor::allocate("Tensor::to_contiguous", &self.stream, self.shape())?;
        copy.copy_from(self)?;
        Ok(copy)
    }
}

/// Cuts runs of `whole` elements into runs of `piece`, which divides it.
fn pieces(
    starts: impl Iterator<Item = usize>,
    whole: usize,
    piece: usize,
) -> impl Iterator<Item = usize> {
    starts.flat_map(move |start| (start..start + whole).step_by(piece))
}
