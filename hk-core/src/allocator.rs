//! Where device memory comes from: HIP, or an allocator of the program's own.

use std::ffi::c_void;
use std::ptr::NonNull;
use std::sync::Arc;

use crate::hip::{Handle, RawStream};
use crate::{Error, Result, Stream};

/// Gives a [`Device`](crate::Device) its memory in HIP's place, so that a program with a pool of its
/// own, such as a framework's, has all memory in it: see
/// [`Device::set_allocator`](crate::Device::set_allocator).
///
/// Streams are given as the device's number in the HIP library and a `hipStream_t`.
///
/// # Safety
/// What [`allocate`](Self::allocate) returns is memory of that device, of so many bytes or more,
/// aligned to 256, that is its caller's alone until it is given to [`free`](Self::free), for work
/// that the stream is given from now on.
pub unsafe trait Allocator: Send + Sync {
    /// Memory for work of a stream; `None` if there is not enough. `bytes` is not zero.
    ///
    /// While the stream is being captured in a graph, the memory is for that graph, and is freed on
    /// the null stream when the graph is gone.
    fn allocate(&self, bytes: usize, device: i32, stream: *mut c_void) -> Option<NonNull<c_void>>;

    /// Takes memory back. Work that the stream was given before may still use it, that of other
    /// streams is ordered before what it is given from now on.
    ///
    /// # Safety
    /// The memory came from [`allocate`](Self::allocate), for so many bytes on that device, and is
    /// given back once.
    unsafe fn free(&self, memory: NonNull<c_void>, bytes: usize, device: i32, stream: *mut c_void);
}

/// Device memory of its own. It is freed by [`free`](Self::free), not by being dropped.
pub(crate) struct Allocation {
    address: NonNull<c_void>,
    bytes: usize,
    /// Who gave it, if not HIP.
    by: Option<Arc<dyn Allocator>>,
}

// SAFETY: the address is that of device memory, which is not accessed through it.
unsafe impl Send for Allocation {}
// SAFETY: as above.
unsafe impl Sync for Allocation {}

impl Allocation {
    /// Allocates in stream order, waiting for what is still to be freed if there is no other memory.
    /// `bytes` is not zero.
    pub(crate) fn new(op: &'static str, stream: &Stream, bytes: usize) -> Result<Self> {
        let _entered = stream.enter(op)?;
        if stream.queue().is_capturing()? {
            return Err(Error::StreamCapture { op, why: "memory cannot be allocated" });
        }
        let hip = stream.queue().bind()?;
        hip.sweep();
        let by = stream.device().allocator();
        let attempt = || match &by {
            Some(by) => Ok(by.allocate(bytes, stream.device().ordinal(), stream.raw())),
            None => hip.allocate(bytes, stream.raw()),
        };
        if let Some(address) = attempt()? {
            return Ok(Self::of(stream, address, bytes, by));
        }
        // Some may be free as soon as streams get to where it was dropped.
        hip.wait_for_frees(stream.device().ordinal());
        match attempt()? {
            Some(address) => Ok(Self::of(stream, address, bytes, by)),
            None => Err(Error::OutOfMemory { requested: bytes, free: hip.memory()?.0 }),
        }
    }

    /// Address of memory for the graph that a stream is being captured in, which is freed with it.
    pub(crate) fn for_graph(stream: &Stream, bytes: usize, graph: Handle) -> Result<u64> {
        let hip = stream.queue().bind()?;
        let by = stream.device().allocator();
        let found = match &by {
            Some(by) => by.allocate(bytes, stream.device().ordinal(), stream.raw()),
            None => hip.allocate_at_once(bytes)?,
        };
        let Some(address) = found else {
            return Err(Error::OutOfMemory { requested: bytes, free: hip.memory()?.0 });
        };
        let allocation = Self::of(stream, address, bytes, by);
        let (address, device) = (allocation.address(), stream.device());
        // The stream may be gone by then.
        let queue = RawStream::foreign(device.hip(), device.ordinal(), std::ptr::null_mut());
        let mut allocation = Some(allocation);
        device.hip().retire_with_graph(graph, move || {
            let freed = allocation.take().map_or(Ok(()), |allocation| allocation.free(&queue));
            if let Err(error) = freed {
                tracing::warn!(%error, "memory of a graph could not be freed");
            }
            true
        })?;
        Ok(address)
    }

    fn of(
        stream: &Stream,
        address: NonNull<c_void>,
        bytes: usize,
        by: Option<Arc<dyn Allocator>>,
    ) -> Self {
        let allocation = Self { address, bytes, by };
        stream.device().hip().note_allocation(allocation.address(), bytes);
        allocation
    }

    pub(crate) fn address(&self) -> u64 {
        self.address.as_ptr() as u64
    }

    /// Frees in the order of a stream, behind which all uses are ordered.
    pub(crate) fn free(self, queue: &Arc<RawStream>) -> Result<()> {
        let hip = queue.bind()?;
        hip.forget_allocation(self.address());
        match &self.by {
            // SAFETY: it came from `allocate`, and this consumes its only owner.
            Some(by) => unsafe {
                by.free(self.address, self.bytes, queue.ordinal(), queue.handle());
            },
            // SAFETY: as above, and what was given to the stream before is all that uses it.
            None => unsafe { hip.free(self.address, queue) }?,
        }
        Ok(())
    }
}
