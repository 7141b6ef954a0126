//! Where a tensor is, whatever its element type.

use std::fmt;
use std::sync::Arc;

use super::Buffer;
use super::layout::Layout;
use crate::{Error, Result, Stream};

/// Where a layout lies in memory and how large its elements are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Placement {
    /// Address of the first element.
    pub(crate) start: u64,
    /// Bytes of a storage element.
    pub(crate) size: usize,
    /// Logical elements in one.
    pub(crate) pack: usize,
}

/// A tensor without its element type.
pub(crate) struct Region {
    pub(crate) buffer: Arc<Buffer>,
    pub(crate) placement: Placement,
    pub(crate) layout: Layout,
    pub(crate) stream: Stream,
}

impl Region {
    /// Whether the two share memory.
    pub(crate) fn overlaps(&self, other: &Self) -> bool {
        self.stream.device() == other.stream.device()
            && self.layout.overlaps(self.placement, &other.layout, other.placement)
    }

    /// Whether the two have the same elements at the same indices.
    pub(crate) fn is_same_view(&self, other: &Self) -> bool {
        self.placement == other.placement && self.layout == other.layout
    }

    /// Requires two arguments of an op to be on one stream, and so on one device.
    pub(crate) fn check_same_stream(
        &self,
        op: &'static str,
        a: &'static str,
        other: &Self,
        b: &'static str,
    ) -> Result<()> {
        let (own, others) = (&self.stream, &other.stream);
        if own.device() != others.device() {
            let at = |name, stream: &Stream| format!("{name} on {}", stream.device());
            return Err(Error::Device { op, a: at(a, own), b: at(b, others) });
        }
        if own != others {
            return Err(Error::Stream { op, a, b });
        }
        Ok(())
    }
}

impl fmt::Debug for Region {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x} {:?} on {:?}", self.placement.start, self.layout, self.stream)
    }
}
