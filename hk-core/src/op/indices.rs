//! Indices that lie on the device: positions of tokens, slots of caches, bounds of sequences. Kernels
//! access nothing outside of their tensors whatever these are; a pass that looks at them before the
//! launch tells which are wrong.

use super::{Arguments, Call};
use crate::{AnyPtr, DevicePtr, Error, Result, Tensor, TensorSlice, TensorView, kernel_args};

/// A tensor of indices, of 32 or 64 bits.
#[derive(Debug, Clone, Copy)]
pub enum Indices<'a> {
    /// Of 32 bits.
    I32(&'a TensorSlice<i32>),
    /// Of 64 bits.
    I64(&'a TensorSlice<i64>),
}

macro_rules! indices {
    ($($variant:ident: $element:ty),*) => {$(
        impl<'a> From<&'a TensorSlice<$element>> for Indices<'a> {
            fn from(tensor: &'a TensorSlice<$element>) -> Self {
                Self::$variant(tensor)
            }
        }

        impl<'a> From<&'a Tensor<$element>> for Indices<'a> {
            fn from(tensor: &'a Tensor<$element>) -> Self {
                Self::$variant(tensor)
            }
        }

        impl<'a> From<&'a TensorView<'_, $element>> for Indices<'a> {
            fn from(tensor: &'a TensorView<'_, $element>) -> Self {
                Self::$variant(tensor)
            }
        }
    )*};
}

indices!(I32: i32, I64: i64);

kernel_args! {
    /// Indices as kernels take them: `IndexList` in `hk/indices.h`.
    pub struct IndexList {
        base: AnyPtr,
        pub(super) count: u32,
        is_64: u32,
    }
}

/// Where a list without indices lies: kernels do not read it, but take null for no list.
const NOTHING: u64 = align_of::<i64>() as u64;

impl IndexList {
    /// No list.
    pub const NONE: Self = Self { base: AnyPtr::NULL, count: 0, is_64: 0 };

    /// So many at an address, which is null if nothing is there: those of the argument `name`.
    fn given(
        args: &Arguments,
        name: &'static str,
        base: AnyPtr,
        count: usize,
        is_64: u32,
    ) -> Result<Self> {
        let few = u32::try_from(count).ok();
        args.require(few.is_some(), name, "fewer than 2^32 indices", count)?;
        let base = if base.address() == 0 { base.moved_to(NOTHING) } else { base };
        Ok(Self { base, count: few.unwrap_or_default(), is_64 })
    }

    /// So many that a kernel before writes.
    pub const fn written(base: DevicePtr<i32>, count: u32) -> Self {
        Self { base: base.any(), count, is_64: 0 }
    }

    /// Those of a tensor without gaps that an op declares otherwise, as it writes them too.
    ///
    /// # Errors
    /// [`Error::Value`] if they are more than 32 bits count.
    pub fn of(args: &Arguments, name: &'static str, indices: &TensorSlice<i32>) -> Result<Self> {
        Self::given(args, name, indices.ptr().any(), indices.len(), 0)
    }
}

impl Indices<'_> {
    /// Declares them as an input without gaps, and gives them as kernels take them.
    ///
    /// # Errors
    /// As [`Argument::contiguous`](super::Argument::contiguous); [`Error::Value`] if they are more than
    /// 32 bits count.
    pub fn declare(
        self,
        args: &mut Arguments,
        name: &'static str,
        dims: &'static [&'static str],
    ) -> Result<IndexList> {
        let (base, count, is_64) = match self {
            Self::I32(tensor) => {
                args.input(name, tensor, dims).contiguous()?;
                (tensor.ptr().any(), tensor.len(), 0)
            }
            Self::I64(tensor) => {
                args.input(name, tensor, dims).contiguous()?;
                (tensor.ptr().any(), tensor.len(), 1)
            }
        };
        IndexList::given(args, name, base, count, is_64)
    }

    /// Declares rows of them, any distance apart, and gives them as kernels take them, gaps included,
    /// and that distance.
    ///
    /// # Errors
    /// As [`Argument::rows`](super::Argument::rows), and as [`declare`](Self::declare).
    pub fn declare_rows(
        self,
        args: &mut Arguments,
        name: &'static str,
        dims: &'static [&'static str],
    ) -> Result<(IndexList, i64)> {
        let (base, shape, row, is_64) = match self {
            Self::I32(x) => (x.ptr().any(), x.shape(), args.input(name, x, dims).rows()?, 0),
            Self::I64(x) => (x.ptr().any(), x.shape(), args.input(name, x, dims).rows()?, 1),
        };
        let [rows @ .., width] = shape else { return Ok((IndexList::NONE, 0)) };
        let rows: usize = rows.iter().product();
        let count = if self.is_empty() { 0 } else { (rows - 1) * row as usize + width };
        Ok((IndexList::given(args, name, base, count, is_64)?, row))
    }

    /// Whether there is a row for each.
    pub fn is_column(self) -> bool {
        self.shape().len() == 2
    }

    /// Their dimensions.
    pub fn shape(&self) -> &[usize] {
        match self {
            Self::I32(tensor) => tensor.shape(),
            Self::I64(tensor) => tensor.shape(),
        }
    }

    /// How many there are.
    pub fn len(self) -> usize {
        match self {
            Self::I32(tensor) => tensor.len(),
            Self::I64(tensor) => tensor.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// The indices, once all work that writes them is done.
    ///
    /// # Errors
    /// As [`TensorSlice::to_vec`].
    pub fn to_vec(self) -> Result<Vec<i64>> {
        match self {
            Self::I32(tensor) => Ok(tensor.to_vec()?.into_iter().map(i64::from).collect()),
            Self::I64(tensor) => tensor.to_vec(),
        }
    }
}

impl Call {
    /// Whether indices are to be looked at before the launch, which waits for the stream: as the caller
    /// wants, else on the simulator and in builds with debug assertions. Never in a dry run or while
    /// the stream is being captured.
    ///
    /// # Errors
    /// As [`Stream::is_capturing`](crate::Stream::is_capturing).
    pub fn validates_indices(&self, wanted: Option<bool>) -> Result<bool> {
        let default = cfg!(debug_assertions) || self.device().is_simulated();
        Ok(wanted.unwrap_or(default) && !self.is_dry() && !self.stream().is_capturing()?)
    }

    /// Requires something of each index.
    ///
    /// # Errors
    /// [`Error::Value`] that names the first of which it does not hold.
    pub fn require_each(
        &self,
        arg: &'static str,
        indices: &[i64],
        constraint: &str,
        mut holds: impl FnMut(usize, i64) -> bool,
    ) -> Result<()> {
        let wrong = indices.iter().enumerate().find(|(at, index)| !holds(*at, **index));
        let Some((at, index)) = wrong else { return Ok(()) };
        Err(Error::value(self.op(), arg, constraint, format!("{index} at {at}")))
    }

    /// Requires slots to be below `count`, or -1 where there is none, and each to be there once.
    ///
    /// # Errors
    /// As [`require_each`](Self::require_each).
    pub fn require_slots(&self, arg: &'static str, slots: &[i64], count: usize) -> Result<()> {
        let range = -1..i64::try_from(count).unwrap_or(i64::MAX);
        let constraint = format!("-1, or a slot below {count}");
        self.require_each(arg, slots, &constraint, |_, slot| range.contains(&slot))?;
        let mut seen = std::collections::HashSet::new();
        self.require_each(arg, slots, "a slot of its own, or -1", |_, slot| {
            slot == -1 || seen.insert(slot)
        })
    }

    /// Requires bounds of sequences that follow each other: from 0 to `count`, none below the one
    /// before.
    ///
    /// # Errors
    /// As [`require_each`](Self::require_each).
    pub fn require_bounds(&self, arg: &'static str, bounds: &[i64], count: usize) -> Result<()> {
        let last = bounds.len().saturating_sub(1);
        let constraint = format!("bounds from 0 to {count}, none below the one before");
        self.require_each(arg, bounds, &constraint, |at, bound| {
            let starts = at > 0 || bound == 0;
            let ends = at < last || usize::try_from(bound) == Ok(count);
            starts && ends && (at == 0 || bounds[at - 1] <= bound)
        })
    }
}
