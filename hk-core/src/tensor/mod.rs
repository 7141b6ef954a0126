//! Typed arrays in device memory.

mod buffer;
mod layout;
mod region;

use std::fmt;
use std::marker::PhantomData;
use std::ops::Range;
use std::sync::Arc;

use ndarray::{ArrayD, ArrayView, Dimension, IxDyn};

pub(crate) use buffer::Buffer;
pub use layout::MAX_RANK;
use layout::{Layout, Placement};
pub(crate) use region::Region;

use crate::dtype::{DType, Element};
use crate::hip::Pattern;
use crate::launch::DevicePtr;
use crate::{Device, Error, Result, Stream, Use};

/// A row-major array of `T` in device memory, or a view of a part of one.
///
/// A tensor carries its stream: everything done to it happens in that stream's order. Views share
/// the memory, which is given back when the last tensor in it is dropped, after the work that was
/// given to the stream before. Views may be on different streams: what is done to them happens in
/// the order in which it is asked for, see [`Stream::submit`]. Elements of the innermost dimension are adjacent; outer dimensions
/// may have gaps, as those of a range of columns do.
///
/// Reading takes `&Tensor`, writing `&mut Tensor`. As views share memory, ops also refuse outputs
/// that overlap their inputs ([`Error::Alias`]); no host reference ever points into device
/// memory, so an overlap could spoil values, but not memory safety.
///
/// Shapes count logical elements: a packed type such as
/// [`F4x2E2M1`](crate::dtype::F4x2E2M1) has two in each byte, and an even innermost dimension.
///
/// ```
/// use hk_core::{Device, Tensor};
/// let stream = Device::open("sim:mi355x")?.default_stream();
/// let x = Tensor::upload(&stream, ndarray::array![[1.0f32, 2.0], [3.0, 4.0]].view())?;
/// assert_eq!(x.slice(1..2)?.to_vec()?, [3.0, 4.0]);
/// # Ok::<(), hk_core::Error>(())
/// ```
pub struct Tensor<T: Element> {
    buffer: Arc<Buffer>,
    /// Start in the buffer, in logical elements; a multiple of `T::PACK`.
    offset: usize,
    layout: Layout,
    stream: Stream,
    element: PhantomData<fn() -> T>,
}

/// Bytes of that many logical elements, a multiple of `T::PACK`.
const fn bytes_of<T: Element>(elements: usize) -> usize {
    elements / T::PACK * size_of::<T>()
}

impl<T: Element> Tensor<T> {
    /// Allocates without writing: the elements are whatever was in the memory.
    ///
    /// # Errors
    /// [`Error::Shape`] if the shape is not possible, [`Error::OutOfMemory`], [`Error::Hip`].
    pub fn empty(stream: &Stream, shape: &[usize]) -> Result<Self> {
        Self::allocate("Tensor::empty", stream, shape)
    }

    fn allocate(op: &'static str, stream: &Stream, shape: &[usize]) -> Result<Self> {
        let layout = Layout::contiguous(op, shape, T::PACK)?;
        let buffer = Arc::new(Buffer::new(op, stream, bytes_of::<T>(layout.len()))?);
        Ok(Self { buffer, offset: 0, layout, stream: stream.clone(), element: PhantomData })
    }

    /// Allocates, all bytes zero.
    ///
    /// # Errors
    /// As [`empty`](Self::empty).
    pub fn zeros(stream: &Stream, shape: &[usize]) -> Result<Self> {
        let mut tensor = Self::allocate("Tensor::zeros", stream, shape)?;
        tensor.fill(T::zeroed())?;
        Ok(tensor)
    }

    /// Allocates, every storage element set to `value`.
    ///
    /// # Errors
    /// As [`empty`](Self::empty).
    pub fn filled(stream: &Stream, shape: &[usize], value: T) -> Result<Self> {
        let mut tensor = Self::allocate("Tensor::filled", stream, shape)?;
        tensor.fill(value)?;
        Ok(tensor)
    }

    /// Allocates and copies `data` there, in row-major order.
    ///
    /// # Errors
    /// [`Error::Shape`] if the shape does not have as many elements as `data`; else as
    /// [`empty`](Self::empty).
    pub fn from_slice(stream: &Stream, data: &[T], shape: &[usize]) -> Result<Self> {
        let op = "Tensor::from_slice";
        let layout = Layout::contiguous(op, shape, T::PACK)?;
        check_len(op, data.len() * T::PACK, layout.len(), shape)?;
        let mut tensor = Self::allocate(op, stream, shape)?;
        tensor.write(data)?;
        Ok(tensor)
    }

    /// Allocates and copies an array there. Of a packed type, the array holds storage elements, and
    /// the tensor's innermost dimension is so many times longer.
    ///
    /// # Errors
    /// As [`empty`](Self::empty).
    pub fn upload<D: Dimension>(stream: &Stream, array: ArrayView<'_, T, D>) -> Result<Self> {
        let mut shape = array.shape().to_vec();
        if let Some(last) = shape.last_mut() {
            *last = last.saturating_mul(T::PACK);
        }
        let mut tensor = Self::allocate("Tensor::upload", stream, &shape)?;
        match array.as_slice() {
            Some(data) => tensor.write(data)?,
            None => tensor.write(&array.iter().copied().collect::<Vec<T>>())?,
        }
        Ok(tensor)
    }

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
    /// As [`empty`](Self::empty).
    pub fn to_contiguous(&self) -> Result<Self> {
        let mut copy = Self::allocate("Tensor::to_contiguous", &self.stream, self.shape())?;
        copy.copy_from(self)?;
        Ok(copy)
    }

    /// Another tensor on the same elements.
    pub fn view(&self) -> Self {
        self.with(0, self.layout)
    }

    /// A view of a range of the outermost dimension.
    ///
    /// # Errors
    /// [`Error::Value`] if the range is not within that dimension.
    pub fn slice(&self, range: Range<usize>) -> Result<Self> {
        let (skip, layout) = self.layout.narrow("Tensor::slice", 0, range, T::PACK)?;
        Ok(self.with(skip, layout))
    }

    /// A view of a range of any dimension.
    ///
    /// # Errors
    /// [`Error::Value`] if there is no such dimension, the range is not within it, or it would
    /// split packed elements.
    pub fn narrow(&self, axis: usize, range: Range<usize>) -> Result<Self> {
        let (skip, layout) = self.layout.narrow("Tensor::narrow", axis, range, T::PACK)?;
        Ok(self.with(skip, layout))
    }

    /// A view at one index of the outermost dimension, which goes away.
    ///
    /// # Errors
    /// [`Error::Value`] if the index is not within that dimension, or it is the only one.
    pub fn index(&self, index: usize) -> Result<Self> {
        let (skip, layout) = self.layout.index("Tensor::index", index)?;
        Ok(self.with(skip, layout))
    }

    /// A view of the same elements in another shape.
    ///
    /// # Errors
    /// [`Error::Shape`] if the number of elements differs, [`Error::Stride`] if gaps are in the
    /// way: [`to_contiguous`](Self::to_contiguous) removes them.
    pub fn reshape(&self, shape: &[usize]) -> Result<Self> {
        let layout = self.layout.reshape("Tensor::reshape", shape, T::PACK)?;
        Ok(self.with(0, layout))
    }

    /// A view of the same bytes as another type of the same size and packing, such as `u8` as
    /// [`F8E4M3`](crate::dtype::F8E4M3).
    ///
    /// # Errors
    /// [`Error::DType`] if sizes or packing differ.
    pub fn bitcast<U: Element>(&self) -> Result<Tensor<U>> {
        if (size_of::<U>(), U::PACK) != (size_of::<T>(), T::PACK) {
            let (expected, got) = (T::DTYPE, U::DTYPE);
            return Err(Error::DType { op: "Tensor::bitcast", arg: "U", expected, got });
        }
        let Self { buffer, offset, layout, stream, .. } = self.view();
        Ok(Tensor { buffer, offset, layout, stream, element: PhantomData })
    }

    fn with(&self, skip: usize, layout: Layout) -> Self {
        Self {
            buffer: Arc::clone(&self.buffer),
            offset: self.offset + skip,
            layout,
            stream: self.stream.clone(),
            element: PhantomData,
        }
    }

    /// Moves the tensor to another stream of its device: later work there begins after what was
    /// given to its present stream so far.
    ///
    /// # Errors
    /// [`Error::Device`] if the stream is another device's, [`Error::StreamCapture`] if it is being
    /// captured and the present one is not, [`Error::Hip`] if HIP refuses.
    pub fn into_stream(mut self, stream: &Stream) -> Result<Self> {
        let op = "Tensor::into_stream";
        if stream.device() != self.device() {
            return Err(Error::Device {
                op,
                a: format!("self on {}", self.device()),
                b: format!("stream on {}", stream.device()),
            });
        }
        if *stream != self.stream {
            if stream.is_capturing()? && !self.stream.is_capturing()? {
                let why = "work outside the graph cannot be waited for";
                return Err(Error::StreamCapture { op, why });
            }
            // A read, so that the memory is not freed before what the stream is given from now on,
            // also by code that does not say what it uses.
            stream.submit(&[self.as_input()], || stream.wait(&self.stream.record()?))?;
            self.stream = stream.clone();
        }
        Ok(self)
    }

    /// Its shape in logical elements.
    pub fn shape(&self) -> &[usize] {
        self.layout.shape()
    }

    /// Distance between neighbours of each dimension, in logical elements. Innermost: 1.
    pub fn strides(&self) -> &[usize] {
        self.layout.strides()
    }

    /// Number of logical elements.
    pub fn len(&self) -> usize {
        self.layout.len()
    }

    /// Whether it has no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Length of a row: the innermost dimension.
    pub fn row_len(&self) -> usize {
        self.shape().last().copied().unwrap_or(1)
    }

    /// Number of rows: the product of all dimensions but the innermost.
    pub fn rows(&self) -> usize {
        self.shape().split_last().map_or(1, |(_, outer)| outer.iter().product())
    }

    /// Distance between rows in logical elements, if it is the same between all of them.
    pub fn row_stride(&self) -> Option<usize> {
        self.layout.row_stride()
    }

    /// Whether there are no gaps between elements.
    pub fn is_contiguous(&self) -> bool {
        self.layout.is_contiguous()
    }

    /// Its element type as a value.
    pub fn dtype(&self) -> DType {
        T::DTYPE
    }

    /// Its stream.
    pub fn stream(&self) -> &Stream {
        &self.stream
    }

    /// Its device.
    pub fn device(&self) -> &Device {
        self.stream.device()
    }

    /// That work reads the tensor's memory, for [`Stream::submit`].
    pub fn as_input(&self) -> Use {
        Use::new(Arc::clone(&self.buffer), false)
    }

    /// That work writes the tensor's memory, and may read it, for [`Stream::submit`].
    pub fn as_output(&mut self) -> Use {
        Use::new(Arc::clone(&self.buffer), true)
    }

    /// Address of the first element, for a kernel that reads it. Null if the tensor has no memory.
    pub fn ptr(&self) -> DevicePtr<T> {
        DevicePtr::new(self.address_of(0))
    }

    /// Address of the first element, for a kernel that writes it.
    pub fn ptr_mut(&mut self) -> DevicePtr<T> {
        self.ptr()
    }

    fn address_of(&self, element: usize) -> u64 {
        match self.buffer.address() {
            0 => 0,
            start => start + bytes_of::<T>(self.offset + element) as u64,
        }
    }

    pub(crate) fn region(&self) -> Region {
        Region {
            buffer: Arc::clone(&self.buffer),
            placement: Placement { start: self.address_of(0), size: size_of::<T>(), pack: T::PACK },
            layout: self.layout,
            stream: self.stream.clone(),
        }
    }

    /// Whether the two share memory. Exact unless rows of different strides interleave.
    pub fn overlaps<U: Element>(&self, other: &Tensor<U>) -> bool {
        self.region().overlaps(&other.region())
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

fn check_len(op: &'static str, data: usize, len: usize, shape: &[usize]) -> Result<()> {
    if data == len {
        return Ok(());
    }
    let why = format!("the shape {shape:?} has {len} elements");
    Err(Error::shape(op, "data", &[len], &[data], why))
}

impl<T: Element> fmt::Debug for Tensor<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Tensor<{}>{:?} on {}", T::DTYPE, self.shape(), self.device())
    }
}
