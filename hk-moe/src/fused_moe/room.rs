//! Memory of a layer.

use hk_core::dtype::Element;
use hk_core::{Result, Stream, Tensor};

/// What scratch tensors are made in, or only counted.
#[derive(Debug)]
pub struct Room<'a> {
    stream: &'a Stream,
    counts_only: bool,
    bytes: usize,
}

impl<'a> Room<'a> {
    /// Memory on a stream.
    pub(super) const fn new(stream: &'a Stream) -> Self {
        Self { stream, counts_only: false, bytes: 0 }
    }

    /// None: tensors are empty.
    pub(super) const fn counting(stream: &'a Stream) -> Self {
        Self { stream, counts_only: true, bytes: 0 }
    }

    /// Bytes of all tensors so far.
    pub(super) const fn bytes(&self) -> usize {
        self.bytes
    }

    /// A tensor of zeros: rows that no gate has are read as well, and have to be something.
    pub(super) fn tensor<T: Element>(&mut self, shape: &[usize]) -> Result<Tensor<T>> {
        let count = shape.iter().fold(1usize, |count, size| count.saturating_mul(*size));
        self.bytes = self.bytes.saturating_add(count.saturating_mul(size_of::<T>()) / T::PACK);
        if self.counts_only {
            return Tensor::empty(self.stream, &[0]);
        }
        Tensor::zeros(self.stream, shape)
    }

    /// A tensor of these numbers.
    pub(super) fn numbers(&mut self, numbers: Vec<i32>) -> Result<Tensor<i32>> {
        let mut tensor = self.tensor(&[numbers.len()])?;
        if !self.counts_only {
            tensor.write(&numbers)?;
        }
        Ok(tensor)
    }
}
