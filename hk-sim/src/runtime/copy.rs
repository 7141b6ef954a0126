//! Copies and fills between host and device memory.

use std::sync::Arc;

use super::error::{HipError, HipResult};
use super::node_memory::NodeMemory;
use super::order::What;
use super::stream::{Failure, Job};
use super::{memory, runtime};
use crate::mem::{Pin, Region};
use crate::sanitize::{Footprint, Span, Touch};

/// Which sides of a copy have to be memory that the runtime knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sides {
    pub(crate) dst_is_device: bool,
    pub(crate) src_is_device: bool,
}

impl Sides {
    /// Sides of a `hipMemcpyKind`.
    pub(crate) fn of_kind(kind: i32) -> HipResult<Self> {
        const HOST_TO_HOST: i32 = 0;
        const HOST_TO_DEVICE: i32 = 1;
        const DEVICE_TO_HOST: i32 = 2;
        const DEVICE_TO_DEVICE: i32 = 3;
        const DEFAULT: i32 = 4;
        const DEVICE_TO_DEVICE_NO_CU: i32 = 1024;
        let (src_is_device, dst_is_device) = match kind {
            HOST_TO_HOST | DEFAULT => (false, false),
            HOST_TO_DEVICE => (false, true),
            DEVICE_TO_HOST => (true, false),
            DEVICE_TO_DEVICE | DEVICE_TO_DEVICE_NO_CU => (true, true),
            _ => return Err(HipError::INVALID_MEMCPY_DIRECTION),
        };
        Ok(Self { dst_is_device, src_is_device })
    }
}

/// One checked side of a copy.
pub(crate) struct Side {
    pub(crate) address: u64,
    /// The allocation, kept until the copy is done; `None` for pageable host memory.
    allocation: Option<(Region, Pin)>,
    /// The allocation node that it is of, if it is of one.
    of_node: Option<Arc<NodeMemory>>,
}

impl Side {
    /// Checks that `len` bytes at `address` stay inside their allocation, if there is one.
    pub(crate) fn new(address: u64, len: u64, must_be_known: bool) -> HipResult<Self> {
        if address == 0 || address.checked_add(len).is_none() {
            return Err(HipError::INVALID_VALUE);
        }
        // That may come into being by the time of the work.
        let of_node = runtime().node_memories.at(address);
        let allocation = match &of_node {
            Some(memory) => Some((memory.region(), memory.pin())),
            None => memory().pin(address).map(|(allocation, pin)| (allocation.region, pin)),
        };
        match &allocation {
            Some((region, _)) if len > region.len - (address - region.base) => {
                Err(HipError::INVALID_VALUE)
            }
            None if must_be_known => Err(HipError::INVALID_VALUE),
            _ => Ok(Self { address, allocation, of_node }),
        }
    }

    /// Fails where the memory is that of an allocation node and not there.
    pub(super) fn check(&self) -> Result<(), Failure> {
        self.of_node.as_ref().map_or(Ok(()), |memory| memory.check())
    }

    /// The allocation, if there is one, with the bytes of rows in it.
    fn piece(&self, rows: Rows, extent: Extent, touch: Touch) -> Option<(Region, Footprint)> {
        let (region, _) = self.allocation.as_ref()?;
        let mut spans = Vec::new();
        extent.for_each_row(|z, y| spans.push(Span::new(rows.row(z, y), extent.width, touch)));
        Some((*region, spans.into_iter().collect()))
    }

    /// Whether the memory is neither a device's nor pinned.
    pub(crate) fn is_pageable(&self) -> bool {
        self.allocation.is_none()
    }
}

/// What the host does when it has submitted a copy that need not be over when the call returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Host {
    /// Nothing: both sides stay.
    GoesOn,
    /// It waits until its pageable memory was read. On a device that may be long before the copy is
    /// over, so it says nothing about the destination.
    Stages,
    /// It waits until its pageable memory was written.
    Waits,
}

/// Where the rows of one side of a copy are, or those of a fill.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rows {
    pub(crate) address: u64,
    /// Bytes from one row to the next.
    pub(crate) pitch: u64,
    /// Bytes from one slice to the next.
    pub(crate) slice: u64,
}

/// How much is copied or filled: bytes of a row, rows of a slice, slices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Extent {
    pub(crate) width: u64,
    pub(crate) height: u64,
    pub(crate) depth: u64,
}

impl Extent {
    fn is_empty(&self) -> bool {
        self.width == 0 || self.height == 0 || self.depth == 0
    }

    /// Bytes, of an extent that fits in memory.
    fn bytes(&self) -> u64 {
        self.width * self.height * self.depth
    }

    /// Calls `row` with the number of each slice and row.
    fn for_each_row(&self, mut row: impl FnMut(u64, u64)) {
        for z in 0..self.depth {
            (0..self.height).for_each(|y| row(z, y));
        }
    }
}

impl Rows {
    /// One row.
    fn linear(address: u64, len: u64) -> Self {
        Self { address, pitch: len, slice: len }
    }

    /// Bytes from the first to the last, of an extent that is not empty.
    fn span(&self, extent: Extent) -> HipResult<u64> {
        let Extent { width, height, depth } = extent;
        if self.pitch < width {
            return Err(HipError::INVALID_PITCH_VALUE);
        }
        let last = |count: u64, step: u64| step.checked_mul(count - 1);
        let rows = last(height, self.pitch).and_then(|rows| rows.checked_add(width));
        let rows = rows.ok_or(HipError::INVALID_VALUE)?;
        if depth > 1 && self.slice < rows {
            return Err(HipError::INVALID_VALUE);
        }
        last(depth, self.slice)
            .and_then(|slices| slices.checked_add(rows))
            .ok_or(HipError::INVALID_VALUE)
    }

    fn row(&self, z: u64, y: u64) -> u64 {
        self.address + z * self.slice + y * self.pitch
    }
}

/// Rows to copy.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Transfer {
    pub(crate) dst: Rows,
    pub(crate) src: Rows,
    pub(crate) extent: Extent,
}

impl Transfer {
    /// One row.
    pub(crate) fn linear(dst: u64, src: u64, len: u64) -> Self {
        let extent = Extent { width: len, height: 1, depth: 1 };
        Self { dst: Rows::linear(dst, len), src: Rows::linear(src, len), extent }
    }

    /// Checks the copy; `None` if it has no bytes.
    pub(crate) fn job(self, sides: Sides) -> HipResult<Option<(Job, Host)>> {
        let Self { dst, src, extent } = self;
        if extent.is_empty() {
            return Ok(None);
        }
        let to = Side::new(dst.address, dst.span(extent)?, sides.dst_is_device)?;
        let from = Side::new(src.address, src.span(extent)?, sides.src_is_device)?;
        let host = match (to.is_pageable(), from.is_pageable()) {
            (true, _) => Host::Waits,
            (false, true) => Host::Stages,
            (false, false) => Host::GoesOn,
        };
        let sides = (to, from);
        let job: Job = Arc::new(move |worker| {
            // Whole, so that the closure owns what keeps the memory alive.
            let (to_side, from_side) = &sides;
            to_side.check()?;
            from_side.check()?;
            extent.for_each_row(|z, y| {
                let (from, to) = (src.row(z, y), dst.row(z, y));
                // SAFETY: `Side::new` checked both spans against their allocations, which the
                // sides keep alive; host memory that is not known is the caller's promise.
                // `copy` allows overlap.
                unsafe {
                    std::ptr::with_exposed_provenance_mut::<u8>(to as usize).copy_from(
                        std::ptr::with_exposed_provenance(from as usize),
                        extent.width as usize,
                    );
                }
                memory().note_write(to, extent.width);
            });
            worker.touch(|| {
                let written = to_side.piece(dst, extent, Touch::WRITE);
                let read = from_side.piece(src, extent, Touch::READ);
                (What::Copy { bytes: extent.bytes() }, read.into_iter().chain(written))
            })
        });
        Ok(Some((job, host)))
    }
}

/// Rows of one repeated value.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fill {
    pub(crate) dst: Rows,
    /// The width is a multiple of the element size.
    pub(crate) extent: Extent,
    pub(crate) value: u32,
    /// Size of the value: 1, 2 or 4 bytes.
    pub(crate) element: usize,
}

impl Fill {
    /// One row of `count` elements.
    pub(crate) fn linear(dst: u64, value: u32, element: usize, count: u64) -> HipResult<Self> {
        let width = count.checked_mul(element as u64).ok_or(HipError::INVALID_VALUE)?;
        let extent = Extent { width, height: 1, depth: 1 };
        Ok(Self { dst: Rows::linear(dst, width), extent, value, element })
    }

    /// Checks the fill; `None` if it has no bytes.
    pub(crate) fn job(self) -> HipResult<Option<Job>> {
        let Self { dst, extent, value, element } = self;
        if extent.is_empty() {
            return Ok(None);
        }
        let side = Side::new(dst.address, dst.span(extent)?, true)?;
        Ok(Some(Arc::new(move |worker| {
            // Whole, so that the closure owns what keeps the memory alive.
            let side = &side;
            side.check()?;
            let bytes = value.to_le_bytes();
            extent.for_each_row(|z, y| {
                let start = dst.row(z, y);
                let to = std::ptr::with_exposed_provenance_mut::<u8>(start as usize);
                // SAFETY: `Side::new` checked the span against its allocation, which the side
                // keeps alive. Elements are written as bytes, so alignment does not matter.
                unsafe {
                    if element == 1 {
                        to.write_bytes(bytes[0], extent.width as usize);
                    } else {
                        for at in (0..extent.width as usize).step_by(element) {
                            to.add(at).copy_from_nonoverlapping(bytes.as_ptr(), element);
                        }
                    }
                }
                memory().note_write(start, extent.width);
            });
            worker.touch(|| {
                let written = side.piece(dst, extent, Touch::WRITE);
                (What::Fill { bytes: extent.bytes() }, written)
            })
        })))
    }
}
