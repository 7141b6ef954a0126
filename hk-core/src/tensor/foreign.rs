//! Tensors over memory of others.

use std::ffi::c_void;
use std::marker::PhantomData;
use std::sync::Arc;

use super::layout::Layout;
use super::{Buffer, Held, Tensor};
use crate::dtype::Element;
use crate::{Error, Result, Stream};

impl<T: Element> Tensor<T> {
    /// A tensor over device memory that other code allocated and fills on `stream`: its first
    /// element, its shape, and the distances between neighbours of each dimension, in logical
    /// elements.
    ///
    /// `owner` keeps the memory alive, such as a tensor of another framework. It is dropped after the
    /// tensor and all its views, as soon as all work that uses them comes before what `stream` is
    /// given from then on; if memory is not freed in that order, `owner` has to wait for the stream.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// use hk_core::{Device, Tensor};
    /// let stream = Device::open("sim:mi355x")?.default_stream();
    /// # let theirs = Arc::new(Tensor::from_slice(&stream, &[1.0f32, 2.0, 3.0, 4.0], &[4])?);
    /// # let (address, owner) = (theirs.ptr().address() as *mut _, Arc::clone(&theirs));
    /// // SAFETY: the owner keeps four elements alive.
    /// let turned = unsafe { Tensor::<f32>::from_raw(&stream, address, &[2, 2], &[1, 2], owner) }?;
    /// assert_eq!(turned.to_vec()?, [1.0, 3.0, 2.0, 4.0]);
    /// # Ok::<(), hk_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Shape`] if the shape is not possible; [`Error::Stride`] if there is not one stride for
    /// each dimension, they lead beyond what can be addressed, or would split packed elements;
    /// [`Error::Value`] if the address is null or not a multiple of the element's size. The owner is
    /// dropped.
    ///
    /// # Safety
    /// While the owner lives, every element is in memory of the stream's device, of its HIP library,
    /// that work of the stream may read and write. Where another tensor or other code uses the same
    /// memory, the caller orders that: neither the borrow checker nor [`Stream::submit`] knows of
    /// it.
    pub unsafe fn from_raw(
        stream: &Stream,
        address: *mut c_void,
        shape: &[usize],
        strides: &[usize],
        owner: impl Send + 'static,
    ) -> Result<Self> {
        let op = "Tensor::from_raw";
        let layout = Layout::strided(op, shape, strides, T::PACK)?;
        let size = size_of::<T>();
        let aligned = !address.is_null() && (address as usize).is_multiple_of(size);
        if !aligned && layout.len() > 0 {
            let constraint = format!("a multiple of {size}, and not null");
            return Err(Error::value(op, "address", constraint, format!("{address:?}")));
        }
        // As of own memory, what is empty has no address: nobody knows what is at the one given.
        let address = if layout.len() > 0 { address as u64 } else { 0 };
        let buffer = Arc::new(Buffer::foreign(stream, address, Box::new(owner)));
        let (stream, element) = (stream.clone(), PhantomData);
        Ok(Self(Held { buffer, offset: 0, layout, stream, element, size: [] }))
    }
}
