//! Typed arrays in device memory.

mod buffer;
mod foreign;
mod layout;
mod overlap;
mod region;
mod transfer;
mod views;

use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut, Range};
use std::sync::Arc;

use ndarray::{ArrayView, Dimension};

pub(crate) use buffer::{Buffer, give_back};
use layout::Layout;
pub use layout::MAX_RANK;
pub(crate) use region::{Placement, Region};

use crate::dtype::{DType, Element};
use crate::launch::DevicePtr;
use crate::{Device, Error, Result, Stream, Use};

/// An array of `T` in device memory, which it owns.
///
/// What can be done with it, and what ops take, is the [`TensorSlice`] that it dereferences to, as
/// `Vec<T>` does to `[T]`: an input is a `&TensorSlice<T>`, an output a `&mut TensorSlice<T>`.
///
/// The memory is given back when the tensor is dropped, after the work that was given to streams
/// before.
///
/// ```
/// use hk_core::{Device, Tensor};
/// let stream = Device::open("sim:mi355x")?.default_stream();
/// let x = Tensor::upload(&stream, ndarray::array![[1.0f32, 2.0], [3.0, 4.0]].view())?;
/// assert_eq!(x.slice(1..2)?.to_vec()?, [3.0, 4.0]);
/// assert_eq!(x.transpose(0, 1)?.to_vec()?, [1.0, 3.0, 2.0, 4.0]);
/// # Ok::<(), hk_core::Error>(())
/// ```
pub struct Tensor<T: Element>(Held<T>);

/// Elements of device memory in a shape: a whole [`Tensor`], or what a view shows of one.
///
/// It carries a stream: everything done to it happens in that stream's order. Views may be moved to
/// other streams; what is done to the same memory happens in the order in which it is asked for, see
/// [`Stream::submit`].
///
/// Reading takes `&TensorSlice`, writing `&mut TensorSlice`. As for slices of host memory, safe code
/// holds no two of the latter that overlap: views of `&self` can only be read, those of `&mut self`
/// can be written, and [`split_mut`](Self::split_mut) yields disjoint ones. Ops check it all the same
/// ([`Error::Alias`]), since tensors over foreign memory may overlap.
///
/// Dimensions may be any distances apart: there may be gaps between them, as in a range of columns,
/// they may be in another order than in memory ([`permute`](Self::permute)), and they may repeat
/// elements ([`broadcast`](Self::broadcast)). Ops say what they take.
///
/// Shapes count logical elements: a packed type such as
/// [`F4x2E2M1`](crate::dtype::F4x2E2M1) has two in each byte, and an even innermost dimension, whose
/// elements are adjacent.
///
/// It has no size known to the compiler, so that what a `&mut` of it leads to cannot be swapped with
/// another one that lives longer.
///
/// ```
/// # let stream = hk_core::Device::open("sim:mi355x")?.default_stream();
/// # let mut x = hk_core::Tensor::<f32>::zeros(&stream, &[4, 8])?;
/// let [mut left, mut right] = x.split_mut(1, [3, 5])?;
/// left.copy_from(&right.narrow(1, 0..3)?)?;
/// right.fill(1.0)?;
/// # Ok::<(), hk_core::Error>(())
/// ```
///
/// ```compile_fail,E0499
/// # let stream = hk_core::Device::open("sim:mi355x")?.default_stream();
/// # let mut x = hk_core::Tensor::<f32>::zeros(&stream, &[4, 8])?;
/// let (mut top, mut all) = (x.slice_mut(0..2)?, x.view_mut());
/// top.copy_from(&all.slice(0..2)?)?;
/// # Ok::<(), hk_core::Error>(())
/// ```
///
/// ```compile_fail,E0277
/// # let stream = hk_core::Device::open("sim:mi355x")?.default_stream();
/// # let [mut x, mut y] = [4, 8].map(|n| hk_core::Tensor::<f32>::zeros(&stream, &[n]).unwrap());
/// std::mem::swap(&mut *x.view_mut(), &mut *y);
/// # Ok::<(), hk_core::Error>(())
/// ```
pub struct TensorSlice<T: Element, Size: ?Sized = [()]> {
    buffer: Arc<Buffer>,
    /// Start in the buffer, in logical elements; a multiple of `T::PACK`.
    offset: usize,
    layout: Layout,
    stream: Stream,
    element: PhantomData<fn() -> T>,
    /// Nothing; it only makes the type unsized.
    size: Size,
}

/// A slice by value, of which only its owners can make use.
type Held<T> = TensorSlice<T, [(); 0]>;

/// Elements of a tensor that can be read. See [`TensorSlice::view`].
pub struct TensorView<'a, T: Element>(Held<T>, PhantomData<&'a TensorSlice<T>>);

/// Elements of a tensor that can be read and written. See [`TensorSlice::view_mut`].
pub struct TensorViewMut<'a, T: Element>(Held<T>, PhantomData<&'a mut TensorSlice<T>>);

macro_rules! dereference {
    ($($holder:ty),*) => {$(
        impl<T: Element> Deref for $holder {
            type Target = TensorSlice<T>;

            fn deref(&self) -> &TensorSlice<T> {
                &self.0
            }
        }

        impl<T: Element> fmt::Debug for $holder {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    )*};
}

dereference!(Tensor<T>, TensorView<'_, T>, TensorViewMut<'_, T>);

impl<T: Element> DerefMut for Tensor<T> {
    fn deref_mut(&mut self) -> &mut TensorSlice<T> {
        &mut self.0
    }
}

impl<T: Element> DerefMut for TensorViewMut<'_, T> {
    fn deref_mut(&mut self) -> &mut TensorSlice<T> {
        &mut self.0
    }
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
        Ok(Self(Held {
            buffer,
            offset: 0,
            layout,
            stream: stream.clone(),
            element: PhantomData,
            size: [],
        }))
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

    /// Moves the tensor to another stream of its device: later work there begins after what was
    /// given to its present stream so far.
    ///
    /// # Errors
    /// [`Error::Device`] if the stream is another device's, [`Error::StreamCapture`] if it is being
    /// captured and the present one is not, [`Error::Hip`] if HIP refuses.
    pub fn into_stream(mut self, stream: &Stream) -> Result<Self> {
        self.0.move_to(stream)?;
        Ok(self)
    }

    /// The same elements in another shape, as [`reshape`](TensorSlice::reshape) shows them.
    ///
    /// # Errors
    /// As [`reshape`](TensorSlice::reshape).
    ///
    /// ```
    /// # let stream = hk_core::Device::open("sim:mi355x")?.default_stream();
    /// let x = hk_core::Tensor::from_slice(&stream, &[1.0f32, 2.0, 3.0, 4.0], &[4])?;
    /// let x = x.into_reshaped(&[2, 2])?;
    /// assert_eq!((x.shape(), x.to_vec()?), (&[2, 2][..], vec![1.0, 2.0, 3.0, 4.0]));
    /// assert!(x.into_reshaped(&[3]).is_err());
    /// # Ok::<(), hk_core::Error>(())
    /// ```
    pub fn into_reshaped(mut self, shape: &[usize]) -> Result<Self> {
        self.0.layout = self.0.layout.reshape("Tensor::into_reshaped", shape, T::PACK)?;
        Ok(self)
    }

    /// The dimensions in another order, as [`permute`](TensorSlice::permute) shows them.
    ///
    /// # Errors
    /// As [`permute`](TensorSlice::permute).
    ///
    /// ```
    /// # let stream = hk_core::Device::open("sim:mi355x")?.default_stream();
    /// let x = hk_core::Tensor::from_slice(&stream, &[1.0f32, 2.0, 3.0, 4.0], &[2, 2])?;
    /// assert_eq!(x.into_permuted(&[1, 0])?.to_vec()?, [1.0, 3.0, 2.0, 4.0]);
    /// # Ok::<(), hk_core::Error>(())
    /// ```
    pub fn into_permuted(mut self, axes: &[usize]) -> Result<Self> {
        self.0.layout = self.0.layout.permute("Tensor::into_permuted", axes, T::PACK)?;
        Ok(self)
    }

    /// A range of one dimension, as [`narrow`](TensorSlice::narrow) shows it; the rest stays allocated.
    ///
    /// # Errors
    /// As [`narrow`](TensorSlice::narrow).
    ///
    /// ```
    /// # let stream = hk_core::Device::open("sim:mi355x")?.default_stream();
    /// let x = hk_core::Tensor::from_slice(&stream, &[1.0f32, 2.0, 3.0, 4.0], &[2, 2])?;
    /// assert_eq!(x.into_narrowed(1, 1..2)?.to_vec()?, [2.0, 4.0]);
    /// # Ok::<(), hk_core::Error>(())
    /// ```
    pub fn into_narrowed(mut self, axis: usize, range: Range<usize>) -> Result<Self> {
        let (offset, layout) =
            self.0.layout.narrow("Tensor::into_narrowed", axis, range, T::PACK)?;
        self.0.offset += offset;
        self.0.layout = layout;
        Ok(self)
    }
}

impl<T: Element> TensorView<'_, T> {
    /// As [`Tensor::into_stream`].
    ///
    /// # Errors
    /// As [`Tensor::into_stream`].
    pub fn into_stream(mut self, stream: &Stream) -> Result<Self> {
        self.0.move_to(stream)?;
        Ok(self)
    }
}

impl<T: Element> TensorViewMut<'_, T> {
    /// As [`Tensor::into_stream`].
    ///
    /// # Errors
    /// As [`Tensor::into_stream`].
    pub fn into_stream(mut self, stream: &Stream) -> Result<Self> {
        self.0.move_to(stream)?;
        Ok(self)
    }
}

impl<T: Element> Held<T> {
    fn move_to(&mut self, stream: &Stream) -> Result<()> {
        let op = "Tensor::into_stream";
        if stream.device() != self.stream.device() {
            return Err(Error::Device {
                op,
                a: format!("self on {}", self.stream.device()),
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
            let uses = [Use::new(Arc::clone(&self.buffer), false)];
            stream.submit(&uses, || stream.wait(&self.stream.record()?))?;
            self.stream = stream.clone();
        }
        Ok(())
    }
}

impl<T: Element> TensorSlice<T> {
    /// Its shape in logical elements.
    pub fn shape(&self) -> &[usize] {
        self.layout.shape()
    }

    /// Distance between neighbours of each dimension, in logical elements.
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

    /// Whether its elements are in row-major order without gaps.
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

    /// Whether the two share memory. Exact for all views of contiguous tensors; of tensors over
    /// foreign memory whose dimensions do not nest it may say so where they only interleave.
    pub fn overlaps<U: Element>(&self, other: &TensorSlice<U>) -> bool {
        self.region().overlaps(&other.region())
    }
}

fn check_len(op: &'static str, data: usize, len: usize, shape: &[usize]) -> Result<()> {
    if data == len {
        return Ok(());
    }
    let why = format!("the shape {shape:?} has {len} elements");
    Err(Error::shape(op, "data", &[len], &[data], why))
}

impl<T: Element, Size: ?Sized> fmt::Debug for TensorSlice<T, Size> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Tensor<{}>{:?} on {}", T::DTYPE, self.layout.shape(), self.stream.device())
    }
}
