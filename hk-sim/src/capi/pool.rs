//! Memory pools and the stream-ordered allocation from them.

use std::ffi::{c_int, c_void};
use std::sync::Arc;

use super::memory::allocate_in_order;
use super::types::{
    HipError, HipMemAccessDesc, HipMemLocation, HipMemPool, HipMemPoolProps, HipStream,
};
use super::{api, put, read};
use crate::runtime::{HipResult, Pool, PoolValue, memory, runtime};

/// `hipMemAllocationTypePinned`, `hipMemLocationTypeDevice`.
pub(super) const PINNED: c_int = 1;
pub(super) const LOCATION_DEVICE: c_int = 1;
/// `hipMemAccessFlags`.
const NO_ACCESS: c_int = 0;
const READ_WRITE: c_int = 3;
/// First `hipMemPoolAttr` whose value has 64 bits.
const FIRST_WIDE: c_int = 4;

/// Handle of a pool, the same at each call.
fn handle(pool: &Arc<Pool>) -> HipMemPool {
    runtime().pools.insert(Arc::clone(pool))
}

fn pool(handle: HipMemPool) -> HipResult<Arc<Pool>> {
    runtime().pools.get(handle).ok_or(HipError::INVALID_VALUE)
}

/// Ordinal of the device at a location.
fn device_at(location: HipMemLocation) -> HipResult<usize> {
    if location.kind != LOCATION_DEVICE {
        return Err(HipError::INVALID_VALUE);
    }
    Ok(runtime().device(location.id)?.ordinal)
}

/// The access that a program asks for.
///
/// # Safety
///
/// `list` is null or has `count` elements.
pub(super) unsafe fn access_list(
    list: *const HipMemAccessDesc,
    count: usize,
) -> HipResult<Vec<HipMemAccessDesc>> {
    if list.is_null() && count != 0 {
        return Err(HipError::INVALID_VALUE);
    }
    // SAFETY: there are `count` of them.
    Ok((0..count).map(|index| unsafe { list.add(index).read_unaligned() }).collect())
}

/// Lets devices access memory of the device `owner`.
pub(super) fn set_access(owner: usize, list: &[HipMemAccessDesc]) -> HipResult {
    for HipMemAccessDesc { location, flags } in list {
        let device = device_at(*location)?;
        match *flags {
            READ_WRITE if device != owner => {
                // It may have been granted before.
                memory().grant(device, owner);
            }
            READ_WRITE => {}
            NO_ACCESS if device != owner => {}
            _ => return Err(HipError::INVALID_VALUE),
        }
    }
    Ok(())
}

/// The device whose memory a pool with these properties has.
pub(super) fn device_of(props: &HipMemPoolProps) -> HipResult<usize> {
    if props.alloc_type != PINNED {
        return Err(HipError::INVALID_VALUE);
    }
    if props.handle_types != 0 {
        // Memory is not shared between processes.
        return Err(HipError::NOT_SUPPORTED);
    }
    device_at(props.location)
}

api! {
    /// Pool that a device starts with.
    fn hipDeviceGetDefaultMemPool(to: *mut HipMemPool, device: c_int) {
        put(to, handle(runtime().device(device)?.default_pool()))
    }

    /// Pool that stream-ordered allocations of a device come from.
    fn hipDeviceGetMemPool(to: *mut HipMemPool, device: c_int) {
        put(to, handle(&runtime().device(device)?.pool()))
    }

    /// Chooses that pool, which must be one of the device.
    fn hipDeviceSetMemPool(device: c_int, chosen: HipMemPool) {
        runtime().refuse_during_capture()?;
        let (device, chosen) = (runtime().device(device)?, pool(chosen)?);
        if chosen.device != device.ordinal {
            return Err(HipError::INVALID_DEVICE);
        }
        device.set_pool(Some(chosen));
        Ok(())
    }

    /// Creates a pool on a device.
    fn hipMemPoolCreate(to: *mut HipMemPool, props: *const HipMemPoolProps) {
        runtime().refuse_during_capture()?;
        if to.is_null() || props.is_null() {
            return Err(HipError::INVALID_VALUE);
        }
        put(to, handle(&Arc::new(Pool::new(device_of(&props.read_unaligned())?))))
    }

    /// Destroys a created pool; what was allocated from it lives on. The device goes back to its
    /// default pool if it used this one.
    fn hipMemPoolDestroy(destroyed: HipMemPool) {
        runtime().refuse_during_capture()?;
        let found = pool(destroyed)?;
        let device = runtime().devices.get(found.device).ok_or(HipError::INVALID_DEVICE)?;
        if Arc::ptr_eq(device.default_pool(), &found) {
            return Err(HipError::INVALID_VALUE);
        }
        if Arc::ptr_eq(&device.pool(), &found) {
            device.set_pool(None);
        }
        runtime().pools.remove(destroyed);
        Ok(())
    }

    /// Attribute of a pool.
    fn hipMemPoolGetAttribute(of: HipMemPool, number: c_int, value: *mut c_void) {
        match pool(of)?.attribute(number).ok_or(HipError::INVALID_VALUE)? {
            PoolValue::Int(found) => put(value.cast(), found),
            PoolValue::Bytes(found) => put(value.cast(), found),
        }
    }

    /// Sets an attribute of a pool. Reuse and release are up to the runtime, which keeps no freed
    /// memory, so the settings are only remembered.
    fn hipMemPoolSetAttribute(of: HipMemPool, number: c_int, value: *mut c_void) {
        let pool = pool(of)?;
        let value = if number < FIRST_WIDE {
            PoolValue::Int(read(value.cast())?)
        } else {
            PoolValue::Bytes(read(value.cast())?)
        };
        if pool.set_attribute(number, value) { Ok(()) } else { Err(HipError::INVALID_VALUE) }
    }

    /// Lets devices access a pool. As peer access goes by device here, it is granted for all memory
    /// of the pool's device, and taking it away has no effect.
    fn hipMemPoolSetAccess(of: HipMemPool, list: *const HipMemAccessDesc, count: usize) {
        set_access(pool(of)?.device, &access_list(list, count)?)
    }

    /// Access of a device to a pool.
    fn hipMemPoolGetAccess(flags: *mut c_int, of: HipMemPool, location: *mut HipMemLocation) {
        let owner = pool(of)?.device;
        let device = device_at(read(location)?)?;
        let granted = device == owner || memory().is_granted(device, owner);
        put(flags, if granted { READ_WRITE } else { NO_ACCESS })
    }

    /// Gives unused memory back: there is never any.
    fn hipMemPoolTrimTo(of: HipMemPool, _keep: usize) {
        pool(of).map(drop)
    }

    /// Allocates device memory from a pool; it is there at once.
    fn hipMallocFromPoolAsync(
        pointer: *mut *mut c_void,
        size: usize,
        from: HipMemPool,
        stream: HipStream,
    ) {
        let stream = runtime().stream(stream)?;
        allocate_in_order(pointer, size, &*pool(from)?, &stream)
    }
}
