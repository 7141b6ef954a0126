//! Views: other shapes, parts and orders of the same elements, without a copy.

use std::marker::PhantomData;
use std::ops::Range;
use std::sync::Arc;

use super::layout::Layout;
use super::{Held, Tensor, TensorSlice, TensorView, TensorViewMut};
use crate::dtype::Element;
use crate::{Error, Result};

/// Defines a view to read and one to write, by the layout of both and the offset of its first element
/// in `of`. A view of a view lives as long as the tensor.
macro_rules! views {
    ($(
        $(#[$doc:meta])*
        $name:ident, $name_mut:ident($of:ident $(, $arg:ident: $type:ty)*) $part:expr;
    )*) => {
        impl<T: Element> TensorSlice<T> {$(
            $(#[$doc])*
            pub fn $name(&self $(, $arg: $type)*) -> Result<TensorView<'_, T>> {
                let $of = self;
                Ok(TensorView(part($of, $part?), PhantomData))
            }

            #[doc = concat!("As [`", stringify!($name), "`](Self::", stringify!($name), "), to write.")]
            ///
            /// # Errors
            #[doc = concat!("As [`", stringify!($name), "`](Self::", stringify!($name), ").")]
            pub fn $name_mut(&mut self $(, $arg: $type)*) -> Result<TensorViewMut<'_, T>> {
                let $of = &*self;
                Ok(TensorViewMut(part($of, $part?), PhantomData))
            }
        )*}

        impl<'a, T: Element> TensorView<'a, T> {$(
            #[doc = concat!("As [`TensorSlice::", stringify!($name), "`].")]
            ///
            /// # Errors
            #[doc = concat!("As [`TensorSlice::", stringify!($name), "`].")]
            pub fn $name(&self $(, $arg: $type)*) -> Result<TensorView<'a, T>> {
                let $of = &**self;
                Ok(TensorView(part($of, $part?), PhantomData))
            }
        )*}

        impl<'a, T: Element> TensorViewMut<'a, T> {$(
            #[doc = concat!("As [`TensorSlice::", stringify!($name_mut), "`].")]
            ///
            /// # Errors
            #[doc = concat!("As [`TensorSlice::", stringify!($name), "`].")]
            pub fn $name_mut(self $(, $arg: $type)*) -> Result<TensorViewMut<'a, T>> {
                let $of = &*self;
                Ok(TensorViewMut(part($of, $part?), PhantomData))
            }
        )*}
    };
}

views! {
    /// A range of the outermost dimension.
    ///
    /// # Errors
    /// [`Error::Value`] if the range is not within that dimension.
    slice, slice_mut(of, range: Range<usize>)
        of.layout.narrow("Tensor::slice", 0, range, T::PACK);

    /// A range of any dimension.
    ///
    /// # Errors
    /// [`Error::Value`] if there is no such dimension, the range is not within it, or it would
    /// split packed elements.
    narrow, narrow_mut(of, axis: usize, range: Range<usize>)
        of.layout.narrow("Tensor::narrow", axis, range, T::PACK);

    /// One index of the outermost dimension, which goes away.
    ///
    /// # Errors
    /// [`Error::Value`] if the index is not within that dimension, or it is the only one.
    index, index_mut(of, index: usize) of.layout.index("Tensor::index", index);

    /// The same elements in another shape, in the same order.
    ///
    /// # Errors
    /// [`Error::Shape`] if the number of elements differs, [`Error::Stride`] if gaps are in the
    /// way: [`to_contiguous`](Self::to_contiguous) removes them.
    reshape, reshape_mut(of, shape: &[usize])
        of.layout.reshape("Tensor::reshape", shape, T::PACK).map(|layout| (0, layout));

    /// The dimensions in another order: dimension `i` is what `axes[i]` was.
    ///
    /// # Errors
    /// [`Error::Value`] if the axes are not each dimension once, or packed elements would no
    /// longer be innermost.
    permute, permute_mut(of, axes: &[usize])
        of.layout.permute("Tensor::permute", axes, T::PACK).map(|layout| (0, layout));

    /// Two dimensions in each other's place.
    ///
    /// # Errors
    /// [`Error::Value`] if there is no such dimension, or packed elements would no longer be
    /// innermost.
    transpose, transpose_mut(of, a: usize, b: usize)
        of.layout.transpose("Tensor::transpose", a, b, T::PACK).map(|layout| (0, layout));
}

impl<T: Element> TensorSlice<T> {
    /// All of it, to read.
    pub fn view(&self) -> TensorView<'_, T> {
        TensorView(part(self, (0, self.layout)), PhantomData)
    }

    /// All of it, to write.
    pub fn view_mut(&mut self) -> TensorViewMut<'_, T> {
        TensorViewMut(part(self, (0, self.layout)), PhantomData)
    }

    /// The same elements in a larger shape, to read: dimensions of one element are repeated, and so
    /// is all along new dimensions in front.
    ///
    /// # Errors
    /// [`Error::Shape`] if another dimension differs.
    pub fn broadcast(&self, shape: &[usize]) -> Result<TensorView<'_, T>> {
        let layout = self.layout.broadcast("Tensor::broadcast", shape, T::PACK)?;
        Ok(TensorView(part(self, (0, layout)), PhantomData))
    }

    /// Parts of these sizes of a dimension, one behind the other, to read.
    ///
    /// # Errors
    /// [`Error::Value`] if there is no such dimension, the sizes do not add up to it, or packed elements
    /// would be split.
    pub fn split<const N: usize>(
        &self,
        axis: usize,
        sizes: [usize; N],
    ) -> Result<[TensorView<'_, T>; N]> {
        let parts = self.layout.split("Tensor::split", axis, sizes, T::PACK)?;
        Ok(parts.map(|of| TensorView(part(self, of), PhantomData)))
    }

    /// As [`split`](Self::split), to write.
    ///
    /// # Errors
    /// As [`split`](Self::split); [`Error::Stride`] if elements are repeated.
    pub fn split_mut<const N: usize>(
        &mut self,
        axis: usize,
        sizes: [usize; N],
    ) -> Result<[TensorViewMut<'_, T>; N]> {
        let op = "Tensor::split_mut";
        let parts = self.layout.split(op, axis, sizes, T::PACK)?;
        if !self.layout.is_injective() {
            let expected = "an element of its own at every index";
            let (shape, got) = (self.shape().to_vec(), self.strides().to_vec());
            return Err(Error::Stride { op, arg: "self", expected, shape, got });
        }
        Ok(parts.map(|of| TensorViewMut(part(self, of), PhantomData)))
    }

    /// All of it twice, to read and to write, for ops that may work in place: each says of which
    /// inputs and outputs it takes the two, and others refuse them ([`Error::Alias`]).
    pub fn in_place(&mut self) -> (TensorView<'_, T>, TensorViewMut<'_, T>) {
        let [read, write] = [0; 2].map(|skip| part(self, (skip, self.layout)));
        (TensorView(read, PhantomData), TensorViewMut(write, PhantomData))
    }

    /// The same bytes as another type of the same size and packing, such as `u8` as
    /// [`F8E4M3`](crate::dtype::F8E4M3).
    ///
    /// # Errors
    /// [`Error::DType`] if sizes or packing differ.
    pub fn bitcast<U: Element>(&self) -> Result<TensorView<'_, U>> {
        Ok(TensorView(self.cast()?, PhantomData))
    }

    /// As [`bitcast`](Self::bitcast), to write.
    ///
    /// # Errors
    /// As [`bitcast`](Self::bitcast).
    pub fn bitcast_mut<U: Element>(&mut self) -> Result<TensorViewMut<'_, U>> {
        Ok(TensorViewMut(self.cast()?, PhantomData))
    }

    /// Another owner of the same elements.
    ///
    /// # Safety
    /// As for any two tensors over the same foreign memory, the borrow checker does not see that they
    /// overlap: the caller keeps safe code from writing through one what it may use through the
    /// other.
    pub unsafe fn alias(&self) -> Tensor<T> {
        Tensor(part(self, (0, self.layout)))
    }

    fn cast<U: Element>(&self) -> Result<Held<U>> {
        if (size_of::<U>(), U::PACK) != (size_of::<T>(), T::PACK) {
            let (expected, got) = (T::DTYPE, U::DTYPE);
            return Err(Error::DType { op: "Tensor::bitcast", arg: "U", expected, got });
        }
        let Held { buffer, offset, layout, stream, size, .. } = part(self, (0, self.layout));
        Ok(Held { buffer, offset, layout, stream, element: PhantomData, size })
    }
}

impl<'a, T: Element> TensorView<'a, T> {
    /// Another one of the same.
    pub fn view(&self) -> Self {
        Self(part(self, (0, self.layout)), PhantomData)
    }

    /// As [`TensorSlice::split`].
    ///
    /// # Errors
    /// As [`TensorSlice::split`].
    pub fn split<const N: usize>(
        &self,
        axis: usize,
        sizes: [usize; N],
    ) -> Result<[TensorView<'a, T>; N]> {
        let parts = self.layout.split("Tensor::split", axis, sizes, T::PACK)?;
        Ok(parts.map(|of| TensorView(part(self, of), PhantomData)))
    }

    /// As [`TensorSlice::broadcast`].
    ///
    /// # Errors
    /// As [`TensorSlice::broadcast`].
    pub fn broadcast(&self, shape: &[usize]) -> Result<TensorView<'a, T>> {
        let layout = self.layout.broadcast("Tensor::broadcast", shape, T::PACK)?;
        Ok(TensorView(part(self, (0, layout)), PhantomData))
    }

    /// As [`TensorSlice::bitcast`].
    ///
    /// # Errors
    /// As [`TensorSlice::bitcast`].
    pub fn bitcast<U: Element>(&self) -> Result<TensorView<'a, U>> {
        Ok(TensorView(self.cast()?, PhantomData))
    }
}

/// So many elements on, in that layout, which is checked to stay inside the buffer.
fn part<T: Element>(of: &TensorSlice<T>, (skip, layout): (usize, Layout)) -> Held<T> {
    Held {
        buffer: Arc::clone(&of.buffer),
        offset: of.offset + skip,
        layout,
        stream: of.stream.clone(),
        element: PhantomData,
        size: [],
    }
}
