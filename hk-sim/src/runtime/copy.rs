//! Copies and fills between host and device memory.

use std::sync::Arc;

use super::error::{HipError, HipResult};
use super::memory;
use super::order::What;
use super::stream::Job;
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
}

impl Side {
    /// Checks that `len` bytes at `address` stay inside their allocation, if there is one.
    pub(crate) fn new(address: u64, len: u64, must_be_known: bool) -> HipResult<Self> {
        if address == 0 || address.checked_add(len).is_none() {
            return Err(HipError::INVALID_VALUE);
        }
        match memory().pin(address) {
            Some((allocation, pin)) => {
                let region = allocation.region;
                if len > region.len - (address - region.base) {
                    return Err(HipError::INVALID_VALUE);
                }
                Ok(Self { address, allocation: Some((region, pin)) })
            }
            None if must_be_known => Err(HipError::INVALID_VALUE),
            None => Ok(Self { address, allocation: None }),
        }
    }

    /// The allocation, if there is one, with the bytes of rows in it.
    fn rows(
        &self,
        pitch: u64,
        width: u64,
        height: u64,
        touch: Touch,
    ) -> Option<(Region, Footprint)> {
        let (region, _) = self.allocation.as_ref()?;
        let rows = (0..height).map(|row| Span::new(self.address + row * pitch, width, touch));
        Some((*region, rows.collect()))
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

/// Rows to copy.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Copy2d {
    pub(crate) dst: u64,
    pub(crate) dst_pitch: u64,
    pub(crate) src: u64,
    pub(crate) src_pitch: u64,
    pub(crate) width: u64,
    pub(crate) height: u64,
}

impl Copy2d {
    /// One row.
    pub(crate) fn linear(dst: u64, src: u64, len: u64) -> Self {
        Self { dst, dst_pitch: len, src, src_pitch: len, width: len, height: 1 }
    }

    /// Checks the copy; `None` if it has no bytes.
    pub(crate) fn job(self, sides: Sides) -> HipResult<Option<(Job, Host)>> {
        let Self { dst, dst_pitch, src, src_pitch, width, height } = self;
        if width == 0 || height == 0 {
            return Ok(None);
        }
        if dst_pitch < width || src_pitch < width {
            return Err(HipError::INVALID_PITCH_VALUE);
        }
        let span = |pitch: u64| {
            let rows = pitch.checked_mul(height - 1).and_then(|rows| rows.checked_add(width));
            rows.ok_or(HipError::INVALID_VALUE)
        };
        let to = Side::new(dst, span(dst_pitch)?, sides.dst_is_device)?;
        let from = Side::new(src, span(src_pitch)?, sides.src_is_device)?;
        let host = match (to.is_pageable(), from.is_pageable()) {
            (true, _) => Host::Waits,
            (false, true) => Host::Stages,
            (false, false) => Host::GoesOn,
        };
        let sides = (to, from);
        let job: Job = Arc::new(move |worker| {
            // Whole, so that the closure owns what keeps the memory alive.
            let (to, from) = &sides;
            for row in 0..height {
                // SAFETY: `Side::new` checked both spans against their allocations, which the
                // sides keep alive; host memory that is not known is the caller's promise.
                // `copy` allows overlap.
                unsafe {
                    let from = (from.address + row * src_pitch) as usize;
                    let to = (to.address + row * dst_pitch) as usize;
                    std::ptr::with_exposed_provenance_mut::<u8>(to)
                        .copy_from(std::ptr::with_exposed_provenance(from), width as usize);
                }
                memory().note_write(to.address + row * dst_pitch, width);
            }
            worker.touch(|| {
                let written = to.rows(dst_pitch, width, height, Touch::WRITE);
                let read = from.rows(src_pitch, width, height, Touch::READ);
                (What::Copy { bytes: width * height }, read.into_iter().chain(written))
            })
        });
        Ok(Some((job, host)))
    }
}

/// Rows of one repeated value.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fill {
    pub(crate) dst: u64,
    pub(crate) pitch: u64,
    /// Bytes of a row, a multiple of the element size.
    pub(crate) width: u64,
    pub(crate) height: u64,
    pub(crate) value: u32,
    /// Size of the value: 1, 2 or 4 bytes.
    pub(crate) element: usize,
}

impl Fill {
    /// One row of `count` elements.
    pub(crate) fn linear(dst: u64, value: u32, element: usize, count: u64) -> HipResult<Self> {
        let width = count.checked_mul(element as u64).ok_or(HipError::INVALID_VALUE)?;
        Ok(Self { dst, pitch: width, width, height: 1, value, element })
    }

    /// Checks the fill; `None` if it has no bytes.
    pub(crate) fn job(self) -> HipResult<Option<Job>> {
        let Self { dst, pitch, width, height, value, element } = self;
        if width == 0 || height == 0 {
            return Ok(None);
        }
        if pitch < width {
            return Err(HipError::INVALID_PITCH_VALUE);
        }
        let rows = pitch.checked_mul(height - 1).and_then(|rows| rows.checked_add(width));
        let side = Side::new(dst, rows.ok_or(HipError::INVALID_VALUE)?, true)?;
        Ok(Some(Arc::new(move |worker| {
            // Whole, so that the closure owns what keeps the memory alive.
            let side = &side;
            let bytes = value.to_le_bytes();
            for row in 0..height {
                let start = (side.address + row * pitch) as usize;
                let to = std::ptr::with_exposed_provenance_mut::<u8>(start);
                // SAFETY: `Side::new` checked the span against its allocation, which the side
                // keeps alive. Elements are written as bytes, so alignment does not matter.
                unsafe {
                    if element == 1 {
                        to.write_bytes(bytes[0], width as usize);
                    } else {
                        for at in (0..width as usize).step_by(element) {
                            to.add(at).copy_from_nonoverlapping(bytes.as_ptr(), element);
                        }
                    }
                }
                memory().note_write(start as u64, width);
            }
            worker.touch(|| {
                let written = side.rows(pitch, width, height, Touch::WRITE);
                (What::Fill { bytes: width * height }, written)
            })
        })))
    }
}
