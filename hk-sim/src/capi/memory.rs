//! Allocation of device and host memory.

use std::ffi::{c_int, c_uint, c_void};
use std::sync::Arc;

use super::graph_memory::{captured_allocation, freed};
use super::types::{
    HipDeviceptr, HipError, HipExtent, HipMemLocation, HipMemoryType, HipPitchedPtr,
    HipPointerAttribute, HipStream,
};
use super::{api, check_flags, enqueue, order, passed_on, put};
use crate::mem::{Allocation, MemoryError, RegionKind, Request};
use crate::runtime::{
    HipResult, NodeMemory, Pool, Stream, What, Work, Worker, current_device, free_job, memory,
    raise, runtime, whole,
};

/// Rows of pitched memory are a multiple of this.
const PITCH: usize = 256;
/// Flags of `hipHostMalloc`: portable, mapped, write-combined, uncached, NUMA, coherent or not.
const HOST_FLAGS: c_uint = 0xf000_0007;
/// Flags of `hipHostRegister`: portable, mapped, I/O memory, read-only, uncached.
const REGISTER_FLAGS: c_uint = 0x8000_000f;
/// `hipMemAttachGlobal`, `hipMemAttachHost`, `hipMemAttachSingle`.
const ATTACH_FLAGS: c_uint = 7;

pub(super) fn as_pointer(address: u64) -> *mut c_void {
    std::ptr::with_exposed_provenance_mut(address as usize)
}

/// Address of a pointer that the program passes.
pub(super) fn address(pointer: *const c_void) -> u64 {
    pointer.expose_provenance() as u64
}

fn hip_error(error: MemoryError) -> HipError {
    match error {
        MemoryError::OutOfMemory { .. } => HipError::OUT_OF_MEMORY,
        MemoryError::AlreadyRegistered(_) => HipError::HOST_MEMORY_ALREADY_REGISTERED,
        MemoryError::NotFound(_) | MemoryError::InvalidRange { .. } => HipError::INVALID_VALUE,
    }
}

/// Allocates on the calling thread's device; no bytes give a null pointer.
fn allocate(
    pointer: *mut *mut c_void,
    size: usize,
    kind: RegionKind,
    flags: c_uint,
    managed: bool,
) -> HipResult {
    runtime().refuse_during_capture()?;
    let device = current_device()?.ordinal;
    allocate_on(device, pointer, Request { len: size as u64, kind, device, flags, managed })
}

/// Allocates what is asked for on a device; no bytes give a null pointer.
fn allocate_on(device: usize, pointer: *mut *mut c_void, request: Request) -> HipResult {
    if pointer.is_null() {
        return Err(HipError::INVALID_VALUE);
    }
    let device = runtime().devices.get(device).ok_or(HipError::INVALID_DEVICE)?;
    let mut allocated = std::ptr::null_mut();
    if request.len != 0 {
        let limit = device.product.memory_bytes;
        allocated = as_pointer(memory().allocate(request, limit).map_err(hip_error)?);
    }
    // SAFETY: it is not null; the API demands that it is valid then.
    unsafe { put(pointer, allocated) }
}

/// Allocates device memory from a pool in the order of a stream; it is there at once.
///
/// # Safety
///
/// `pointer` is null or valid for a write.
pub(super) unsafe fn allocate_in_order(
    pointer: *mut *mut c_void,
    size: usize,
    pool: &Pool,
    stream: &Arc<Stream>,
) -> HipResult {
    if let Some(capture) = stream.capture() {
        let push = |work| capture.push(stream, work);
        // SAFETY: the caller promises it.
        return unsafe { captured_allocation(pointer, size, pool, push) };
    }
    // Captures of other streams forbid it only where they forbid all work of this one.
    order(stream)?;
    let (kind, device) = (RegionKind::Device, pool.device);
    let request = Request { len: size as u64, kind, device, flags: 0, managed: false };
    allocate_on(device, pointer, request)?;
    // SAFETY: the allocation wrote it.
    let start = address(unsafe { pointer.read_unaligned() });
    pool.add(start);
    if let (Some(_), Some(found)) = (runtime().order(), memory().find(start)) {
        let allocate =
            move |worker: &mut Worker<'_>| worker.touch(|| (What::Allocate, [whole(found.region)]));
        enqueue(stream, Work::Other(Arc::new(allocate)))?;
    }
    Ok(())
}

/// The allocation at a pointer that is to be freed, of the kinds that `accepts` holds for. That of
/// a node must have been launched, and may not be there yet.
fn to_free(
    pointer: *mut c_void,
    accepts: impl Fn(&Allocation) -> bool,
) -> HipResult<(Allocation, Option<Arc<NodeMemory>>)> {
    let start = address(pointer);
    let of_node = runtime().node_memories.starting_at(start);
    let allocation = match &of_node {
        Some(memory) => {
            Some(memory.allocation()).filter(|_| runtime().node_memories.is_live(memory))
        }
        None => memory().find(start).filter(|found| found.region.base == start),
    };
    Ok((allocation.filter(accepts).ok_or(HipError::INVALID_VALUE)?, of_node))
}

/// Frees an allocation of the kinds that `accepts` holds for, once all work is done.
fn free(pointer: *mut c_void, accepts: impl Fn(&Allocation) -> bool) -> HipResult {
    if pointer.is_null() {
        return Ok(());
    }
    runtime().refuse_during_capture()?;
    let (allocation, of_node) = to_free(pointer, accepts)?;
    // Work of other devices that uses it keeps it alive.
    if let Some(device) = runtime().devices.get(allocation.device) {
        device.wait();
    }
    let in_order = runtime().order().map(|order| order.host_frees(allocation.region));
    memory().free(allocation.region.base).map_err(hip_error)?;
    if let Some(memory) = of_node {
        runtime().node_memories.set_live(&memory, false);
    }
    raise([in_order.and_then(Result::err)])
}

fn is_device_or_managed(allocation: &Allocation) -> bool {
    allocation.region.kind == RegionKind::Device || allocation.managed
}

fn is_host(allocation: &Allocation) -> bool {
    let Allocation { region, managed, registered, .. } = *allocation;
    region.kind == RegionKind::HostPinned && !managed && !registered
}

/// Allocation that contains the pointer and that programs may know of.
fn known(pointer: *const c_void) -> HipResult<Allocation> {
    let of_node = runtime().node_memories.at(address(pointer)).map(|memory| memory.allocation());
    of_node.or_else(|| memory().find(address(pointer))).ok_or(HipError::INVALID_VALUE)
}

api! {
    /// Allocates device memory.
    fn hipMalloc(pointer: *mut *mut c_void, size: usize) {
        allocate(pointer, size, RegionKind::Device, 0, false)
    }

    /// Allocates device memory of a kind; all kinds are alike here.
    fn hipExtMallocWithFlags(pointer: *mut *mut c_void, size: usize, flags: c_uint) {
        allocate(pointer, size, RegionKind::Device, flags, false)
    }

    /// Frees device memory after all work is done.
    fn hipFree(pointer: *mut c_void) {
        free(pointer, is_device_or_managed)
    }

    /// Allocates memory of the stream's device; it is there at once.
    fn hipMallocAsync(pointer: *mut *mut c_void, size: usize, stream: HipStream) {
        let stream = runtime().stream(stream)?;
        let device = runtime().devices.get(stream.device).ok_or(HipError::INVALID_DEVICE)?;
        allocate_in_order(pointer, size, &device.pool(), &stream)
    }

    /// Frees device memory once the stream gets there.
    fn hipFreeAsync(pointer: *mut c_void, stream: HipStream) {
        if pointer.is_null() {
            return Err(HipError::INVALID_VALUE);
        }
        let stream = runtime().stream(stream)?;
        if let Some(capture) = stream.capture() {
            return capture.push(&stream, freed(pointer)?);
        }
        let (allocation, of_node) = to_free(pointer, is_device_or_managed)?;
        enqueue(&stream, Work::Other(free_job(allocation.region)))?;
        if let Some(memory) = of_node {
            runtime().node_memories.set_live(&memory, false);
        }
        Ok(())
    }

    /// Allocates memory that host and devices share.
    fn hipMallocManaged(pointer: *mut *mut c_void, size: usize, flags: c_uint) {
        check_flags(flags, ATTACH_FLAGS)?;
        allocate(pointer, size, RegionKind::HostPinned, flags, true)
    }

    /// Allocates device memory in rows.
    fn hipMallocPitch(pointer: *mut *mut c_void, pitch: *mut usize, width: usize, height: usize) {
        let row = width.checked_next_multiple_of(PITCH).ok_or(HipError::INVALID_VALUE)?;
        let size = row.checked_mul(height).ok_or(HipError::INVALID_VALUE)?;
        put(pitch, row)?;
        allocate(pointer, size, RegionKind::Device, 0, false)
    }

    /// Allocates device memory in rows and slices.
    fn hipMalloc3D(pitched: *mut HipPitchedPtr, extent: HipExtent) {
        let slices = extent.height.checked_mul(extent.depth).ok_or(HipError::INVALID_VALUE)?;
        if pitched.is_null() {
            return Err(HipError::INVALID_VALUE);
        }
        let (mut pointer, mut pitch) = (std::ptr::null_mut(), 0);
        passed_on(hipMallocPitch(&mut pointer, &mut pitch, extent.width, slices))?;
        put(pitched, HipPitchedPtr { pointer, pitch, x: extent.width, y: extent.height })
    }

    /// Allocates device memory in rows.
    fn hipMemAllocPitch(
        pointer: *mut HipDeviceptr,
        pitch: *mut usize,
        width: usize,
        height: usize,
        element: c_uint,
    ) {
        if !matches!(element, 4 | 8 | 16) {
            return Err(HipError::INVALID_VALUE);
        }
        passed_on(hipMallocPitch(pointer, pitch, width, height))
    }

    /// Allocates pinned host memory.
    fn hipHostMalloc(pointer: *mut *mut c_void, size: usize, flags: c_uint) {
        check_flags(flags, HOST_FLAGS)?;
        allocate(pointer, size, RegionKind::HostPinned, flags, false)
    }

    /// Allocates pinned host memory.
    fn hipHostAlloc(pointer: *mut *mut c_void, size: usize, flags: c_uint) {
        check_flags(flags, HOST_FLAGS)?;
        allocate(pointer, size, RegionKind::HostPinned, flags, false)
    }

    /// Allocates pinned host memory.
    fn hipMemAllocHost(pointer: *mut *mut c_void, size: usize) {
        allocate(pointer, size, RegionKind::HostPinned, 0, false)
    }

    /// Allocates pinned host memory, by its old name.
    fn hipMallocHost(pointer: *mut *mut c_void, size: usize) {
        allocate(pointer, size, RegionKind::HostPinned, 0, false)
    }

    /// Frees pinned host memory after all work is done.
    fn hipHostFree(pointer: *mut c_void) {
        free(pointer, is_host)
    }

    /// Frees pinned host memory after all work is done, by its old name.
    fn hipFreeHost(pointer: *mut c_void) {
        free(pointer, is_host)
    }

    /// Makes host memory of the program accessible to devices.
    fn hipHostRegister(pointer: *mut c_void, size: usize, flags: c_uint) {
        check_flags(flags, REGISTER_FLAGS)?;
        let device = current_device()?.ordinal;
        memory().register(address(pointer), size as u64, device, flags).map_err(hip_error)
    }

    /// Undoes `hipHostRegister`, once all work is done.
    fn hipHostUnregister(pointer: *mut c_void) {
        runtime().devices.all().iter().for_each(|device| device.wait());
        let undone = memory().unregister(address(pointer)).map(drop);
        undone.map_err(|_| HipError::HOST_MEMORY_NOT_REGISTERED)
    }

    /// Address of pinned host memory for kernels, which is the same.
    fn hipHostGetDevicePointer(device: *mut *mut c_void, host: *mut c_void, flags: c_uint) {
        check_flags(flags, 0)?;
        if known(host)?.region.kind != RegionKind::HostPinned {
            return Err(HipError::INVALID_VALUE);
        }
        put(device, host)
    }

    /// Flags of pinned host memory.
    fn hipHostGetFlags(flags: *mut c_uint, host: *mut c_void) {
        let allocation = known(host)?;
        if allocation.region.kind != RegionKind::HostPinned {
            return Err(HipError::INVALID_VALUE);
        }
        put(flags, allocation.flags)
    }

    /// Free and total bytes of the calling thread's device.
    fn hipMemGetInfo(free: *mut usize, total: *mut usize) {
        let device = current_device()?;
        let bytes = device.product.memory_bytes;
        put(free, bytes.saturating_sub(memory().used(device.ordinal)) as usize)?;
        put(total, bytes as usize)
    }

    /// What is known of a pointer; a null pointer is no error, as in CUDA since version 11.
    fn hipPointerGetAttributes(attributes: *mut HipPointerAttribute, pointer: *const c_void) {
        let Ok(allocation) = known(pointer) else {
            put(attributes, HipPointerAttribute {
                kind: HipMemoryType::Unregistered,
                device: -2,
                device_pointer: std::ptr::null_mut(),
                host_pointer: std::ptr::null_mut(),
                is_managed: 0,
                allocation_flags: 0,
            })?;
            return if pointer.is_null() { Ok(()) } else { Err(HipError::INVALID_VALUE) };
        };
        let host = allocation.region.kind == RegionKind::HostPinned;
        let kind = match (host, allocation.managed) {
            (_, true) => HipMemoryType::Managed,
            (true, false) => HipMemoryType::Host,
            (false, false) => HipMemoryType::Device,
        };
        put(attributes, HipPointerAttribute {
            kind,
            device: allocation.device as c_int,
            device_pointer: pointer.cast_mut(),
            host_pointer: if host { pointer.cast_mut() } else { std::ptr::null_mut() },
            is_managed: c_int::from(allocation.managed),
            allocation_flags: allocation.flags,
        })
    }

    /// One fact about a pointer (`hipPointer_attribute`).
    fn hipPointerGetAttribute(data: *mut c_void, number: c_int, pointer: HipDeviceptr) {
        let allocation = known(pointer)?;
        let region = allocation.region;
        match number {
            2 => put(data.cast::<c_int>(), match region.kind {
                RegionKind::HostPinned => HipMemoryType::Host as c_int,
                _ => HipMemoryType::Device as c_int,
            }),
            3 => put(data.cast(), pointer),
            4 if region.kind == RegionKind::HostPinned => put(data.cast(), pointer),
            7 => put(data.cast::<c_uint>(), region.serial as c_uint),
            8 => put(data.cast::<bool>(), allocation.managed),
            9 => put(data.cast::<c_int>(), allocation.device as c_int),
            11 => put(data.cast(), as_pointer(region.base)),
            12 => put(data.cast::<usize>(), region.len as usize),
            13 => put(data.cast::<bool>(), true),
            _ => Err(HipError::INVALID_VALUE),
        }
    }

    /// Allocation that contains a pointer.
    fn hipMemGetAddressRange(base: *mut HipDeviceptr, size: *mut usize, pointer: HipDeviceptr) {
        let allocation = memory().find(address(pointer)).ok_or(HipError::NOT_FOUND)?;
        // Either may be null.
        let _ = put(base, as_pointer(allocation.region.base));
        let _ = put(size, allocation.region.len as usize);
        Ok(())
    }

    /// Size of the allocation that contains a pointer.
    fn hipMemPtrGetInfo(pointer: *mut c_void, size: *mut usize) {
        put(size, known(pointer)?.region.len as usize)
    }

    /// Memory does not migrate, so a prefetch has nothing to do.
    fn hipMemPrefetchAsync(pointer: *const c_void, _size: usize, _device: c_int, stream: HipStream) {
        runtime().stream(stream)?;
        known(pointer).map(drop)
    }

    /// Memory does not migrate, so advice changes nothing.
    fn hipMemAdvise(pointer: *const c_void, _size: usize, _advice: c_int, _device: c_int) {
        runtime().refuse_during_capture()?;
        known(pointer).map(drop)
    }

    /// Memory does not migrate, so a prefetch has nothing to do.
    fn hipMemPrefetchAsync_v2(
        pointer: *const c_void,
        _size: usize,
        _location: HipMemLocation,
        flags: c_uint,
        stream: HipStream,
    ) {
        check_flags(flags, 0)?;
        runtime().stream(stream)?;
        known(pointer).map(drop)
    }

    /// Memory does not migrate, so advice changes nothing.
    fn hipMemAdvise_v2(
        pointer: *const c_void,
        _size: usize,
        _advice: c_int,
        _location: HipMemLocation,
    ) {
        runtime().refuse_during_capture()?;
        known(pointer).map(drop)
    }

    /// Memory is visible to every stream, so attaching changes nothing.
    fn hipStreamAttachMemAsync(
        stream: HipStream,
        pointer: *mut c_void,
        _length: usize,
        flags: c_uint,
    ) {
        check_flags(flags, ATTACH_FLAGS)?;
        runtime().stream(stream)?;
        known(pointer).map(drop)
    }
}
