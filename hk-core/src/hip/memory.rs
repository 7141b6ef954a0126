//! Device memory: allocating and freeing it in stream order, copying and filling it.

use std::collections::BTreeMap;
use std::ffi::{c_int, c_void};
use std::ptr::NonNull;
use std::sync::{Arc, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use super::{Handle, Hip, Past, RawStream, note_stream, sys};
use crate::{Error, Result};

impl Hip {
    /// Free and total memory of the current device, in bytes.
    pub(crate) fn memory(&self) -> Result<(usize, usize)> {
        let (mut free, mut total) = (0, 0);
        call!(self, hipMemGetInfo(&mut free, &mut total))?;
        Ok((free, total))
    }

    /// Allocates in stream order on the current device. `bytes` is not zero. `None` if there is not
    /// enough memory.
    pub(crate) fn allocate(&self, bytes: usize, stream: Handle) -> Result<Option<NonNull<c_void>>> {
        let mut pointer = std::ptr::null_mut();
        let status =
            self.outside_captures(|| call!(self, hipMallocAsync(&mut pointer, bytes, stream)));
        unless_out_of_memory(status, pointer)
    }

    /// Allocates on the current device for work of any stream, captured or not. `bytes` is not zero.
    /// `None` if there is not enough memory.
    pub(crate) fn allocate_at_once(&self, bytes: usize) -> Result<Option<NonNull<c_void>>> {
        let mut pointer = std::ptr::null_mut();
        let status = self.outside_captures(|| call!(self, hipMalloc(&mut pointer, bytes)));
        unless_out_of_memory(status, pointer)
    }

    /// Frees in stream order, on the stream's device.
    ///
    /// # Safety
    /// The address came from [`allocate`](Self::allocate), is freed once, and work that uses the
    /// memory is ordered before this point of the stream.
    pub(crate) unsafe fn free(
        &self,
        address: NonNull<c_void>,
        stream: &Arc<RawStream>,
    ) -> Result<()> {
        call!(self, hipFreeAsync(address.as_ptr(), stream.handle()))?;
        note_stream(&mut self.freeing(), stream);
        Ok(())
    }

    /// Waits until all memory of a device is free that was freed in the order of some stream,
    /// unless that is being captured.
    pub(crate) fn wait_for_frees(&self, device: i32) {
        self.sweep();
        let streams = std::mem::take(&mut *self.freeing());
        for known in streams {
            let Some(stream) = known.upgrade() else { continue };
            if stream.ordinal() != device || stream.is_capturing().unwrap_or(true) {
                self.freeing().push(known);
                continue;
            }
            let mut frees = Past::of(known);
            // Not by a synchronisation, which would take the report of a failure from the thread
            // whose work has failed.
            while !frees.is_done() {
                std::thread::sleep(Duration::from_micros(100));
            }
        }
        self.sweep();
    }

    fn freeing(&self) -> MutexGuard<'_, Vec<Weak<RawStream>>> {
        // As for `retired`.
        self.freeing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that memory is in use, until [`forget_allocation`](Self::forget_allocation).
    pub(crate) fn note_allocation(&self, address: u64, bytes: usize) {
        self.live().insert(address, bytes);
    }

    pub(crate) fn forget_allocation(&self, address: u64) {
        self.live().remove(&address);
    }

    /// Start and length of the allocation that holds an address, ours or another's of the same HIP
    /// library; one past the end counts as inside of ours, as it does for pointers.
    pub(crate) fn allocation_of(&self, address: u64) -> Option<(u64, usize)> {
        let found = self.live().range(..=address).next_back().map(|(at, bytes)| (*at, *bytes));
        if let Some((start, bytes)) = found.filter(|(at, bytes)| address - at <= *bytes as u64) {
            return Some((start, bytes));
        }
        let (mut start, mut bytes) = (std::ptr::null_mut(), 0);
        let address = address as *mut c_void;
        call!(self, hipMemGetAddressRange(&mut start, &mut bytes, address)).ok()?;
        Some((start as u64, bytes))
    }

    fn live(&self) -> MutexGuard<'_, BTreeMap<u64, usize>> {
        // Each update is one call of the map, so a panic elsewhere cannot leave it half done.
        self.allocations.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Copies to the device, in stream order.
    ///
    /// # Safety
    /// The device range is allocated, and `from` lives until the stream was synchronised.
    pub(crate) unsafe fn upload(&self, to: u64, from: &[u8], stream: Handle) -> Result<()> {
        let (to, source) = (to as *mut c_void, from.as_ptr().cast::<c_void>());
        call!(self, hipMemcpyAsync(to, source, from.len(), sys::MEMCPY_HOST_TO_DEVICE, stream))
    }

    /// Copies from the device, in stream order.
    ///
    /// # Safety
    /// The device range is allocated, and `to` lives until the stream was synchronised.
    pub(crate) unsafe fn download(&self, to: &mut [u8], from: u64, stream: Handle) -> Result<()> {
        let (target, from) = (to.as_mut_ptr().cast::<c_void>(), from as *const c_void);
        call!(self, hipMemcpyAsync(target, from, to.len(), sys::MEMCPY_DEVICE_TO_HOST, stream))
    }

    /// Copies within the device, in stream order.
    ///
    /// # Safety
    /// Both ranges are allocated and do not overlap.
    pub(crate) unsafe fn copy(
        &self,
        to: u64,
        from: u64,
        bytes: usize,
        stream: Handle,
    ) -> Result<()> {
        let (to, from) = (to as *mut c_void, from as *const c_void);
        call!(self, hipMemcpyAsync(to, from, bytes, sys::MEMCPY_DEVICE_TO_DEVICE, stream))
    }

    /// Fills with a repeated pattern of 1, 2 or 4 bytes, in stream order; `count` patterns.
    ///
    /// # Safety
    /// The range is allocated and aligned to the pattern.
    pub(crate) unsafe fn fill(
        &self,
        to: u64,
        pattern: Pattern,
        count: usize,
        stream: Handle,
    ) -> Result<()> {
        let to = to as *mut c_void;
        match pattern {
            Pattern::Byte(byte) => {
                call!(self, hipMemsetAsync(to, c_int::from(byte), count, stream))
            }
            Pattern::Half(half) => call!(self, hipMemsetD16Async(to, half, count, stream)),
            Pattern::Word(word) => {
                call!(self, hipMemsetD32Async(to, word.cast_signed(), count, stream))
            }
        }
    }
}

/// What an allocation gave; `None` if there is not enough memory.
fn unless_out_of_memory(
    result: Result<()>,
    pointer: *mut c_void,
) -> Result<Option<NonNull<c_void>>> {
    match result {
        Ok(()) => Ok(NonNull::new(pointer)),
        Err(Error::Hip { code: sys::ERROR_OUT_OF_MEMORY, .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// A value that [`Hip::fill`] repeats.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Pattern {
    Byte(u8),
    Half(u16),
    Word(u32),
}

impl Pattern {
    pub(crate) const fn bytes(self) -> usize {
        match self {
            Self::Byte(_) => 1,
            Self::Half(_) => 2,
            Self::Word(_) => 4,
        }
    }
}
