//! Devices.

use std::ffi::{c_char, c_int, c_uint};
use std::sync::atomic::Ordering;

use super::properties::{Properties, attribute};
use super::types::{HipDevice, HipDevicePropR0000, HipDevicePropR0600, HipError, HipUuid};
use super::{api, name, passed_on, put, put_text, read};
use crate::runtime::{current_device, current_ordinal, memory, runtime, set_current};

/// `hipLimit_t`.
const LIMIT_STACK_SIZE: c_int = 0;
const LIMIT_PRINTF_FIFO: c_int = 1;
const LIMIT_MALLOC_HEAP: c_int = 2;
/// Largest stack of a work-item: 128 Ki dwords less 16.
const MAX_STACK: u64 = (128 * 1024 - 16) * 4;
/// Flags of `hipSetDeviceFlags`: scheduling, mapped host memory, local memory.
const DEVICE_FLAGS: c_uint = 0x1f;
/// Priorities of streams, from the least to the greatest.
pub(super) const PRIORITY_LOW: c_int = 1;
pub(super) const PRIORITY_HIGH: c_int = -1;

fn properties(ordinal: c_int) -> Result<Properties, HipError> {
    let device = runtime().device(ordinal)?;
    Ok(Properties::new(device.product, device.ordinal))
}

/// What a program asks of a device.
struct Wanted {
    capability: (c_int, c_int),
    memory: usize,
    lds: usize,
    units: c_int,
}

/// First device with at least that; the first of all if there is none.
fn first_with(wanted: Wanted) -> c_int {
    let fits = |ordinal: &c_int| {
        properties(*ordinal).is_ok_and(|properties| {
            let prop = properties.r0600();
            (prop.major, prop.minor) >= wanted.capability
                && prop.total_global_mem >= wanted.memory
                && prop.shared_mem_per_block >= wanted.lds
                && prop.multi_processor_count >= wanted.units
        })
    };
    (0..runtime().devices.len() as c_int).find(fits).unwrap_or(0)
}

/// What a structure of properties asks for, of either layout.
macro_rules! wanted {
    ($properties:expr) => {{
        let properties = $properties;
        Wanted {
            capability: (properties.major, properties.minor),
            memory: properties.total_global_mem,
            lds: properties.shared_mem_per_block,
            units: properties.multi_processor_count,
        }
    }};
}

api! {
    /// Number of visible devices.
    fn hipGetDeviceCount(count: *mut c_int) {
        let devices = runtime().devices.len() as c_int;
        put(count, devices)?;
        if devices == 0 { Err(HipError::NO_DEVICE) } else { Ok(()) }
    }

    /// Device of the calling thread.
    fn hipGetDevice(device: *mut c_int) {
        current_device()?;
        put(device, current_ordinal() as c_int)
    }

    /// Makes a device the calling thread's.
    fn hipSetDevice(device: c_int) {
        set_current(runtime().device(device)?.ordinal);
        Ok(())
    }

    /// Handle of a device, which is its ordinal.
    fn hipDeviceGet(device: *mut HipDevice, ordinal: c_int) {
        runtime().device(ordinal)?;
        put(device, ordinal)
    }

    /// Marketing name.
    fn hipDeviceGetName(text: *mut c_char, len: c_int, device: HipDevice) {
        put_text(text, len, runtime().device(device)?.product.marketing)
    }

    /// Identity of a device.
    fn hipDeviceGetUuid(uuid: *mut HipUuid, device: HipDevice) {
        put(uuid, properties(device)?.uuid())
    }

    /// Attribute of a device.
    fn hipDeviceGetAttribute(value: *mut c_int, number: c_int, device: c_int) {
        if value.is_null() {
            return Err(HipError::INVALID_VALUE);
        }
        put(value, attribute(&properties(device)?, number)?)
    }

    /// Bytes of device memory.
    fn hipDeviceTotalMem(bytes: *mut usize, device: HipDevice) {
        put(bytes, runtime().device(device)?.product.memory_bytes as usize)
    }

    /// PCI address as text.
    fn hipDeviceGetPCIBusId(text: *mut c_char, len: c_int, device: c_int) {
        put_text(text, len, &properties(device)?.pci_text())
    }

    /// Device at a PCI address.
    fn hipDeviceGetByPCIBusId(device: *mut c_int, text: *const c_char) {
        let wanted = name(text)?;
        let at_address = |ordinal: &c_int| {
            properties(*ordinal).is_ok_and(|found| found.pci_text().eq_ignore_ascii_case(wanted))
        };
        let found = (0..runtime().devices.len() as c_int).find(at_address);
        put(device, found.ok_or(HipError::INVALID_VALUE)?)
    }

    /// Compute capability.
    fn hipDeviceComputeCapability(major: *mut c_int, minor: *mut c_int, device: HipDevice) {
        let (first, second) = properties(device)?.capability();
        put(major, first)?;
        put(minor, second)
    }

    /// Properties in the structure of HIP 6.0 and later.
    fn hipGetDevicePropertiesR0600(prop: *mut HipDevicePropR0600, device: c_int) {
        put(prop, properties(device)?.r0600())
    }

    /// Properties in the structure before HIP 6.0.
    fn hipGetDevicePropertiesR0000(prop: *mut HipDevicePropR0000, device: c_int) {
        put(prop, properties(device)?.r0000())
    }

    /// The unversioned name keeps the structure before HIP 6.0.
    fn hipGetDeviceProperties(prop: *mut HipDevicePropR0000, device: c_int) {
        put(prop, properties(device)?.r0000())
    }

    /// First device with at least the memory, LDS and units that are asked for.
    fn hipChooseDeviceR0600(device: *mut c_int, wanted: *const HipDevicePropR0600) {
        put(device, first_with(wanted!(read(wanted)?)))
    }

    /// The same in the structure before HIP 6.0.
    fn hipChooseDeviceR0000(device: *mut c_int, wanted: *const HipDevicePropR0000) {
        put(device, first_with(wanted!(read(wanted)?)))
    }

    /// The unversioned name keeps the structure before HIP 6.0.
    fn hipChooseDevice(device: *mut c_int, wanted: *const HipDevicePropR0000) {
        passed_on(hipChooseDeviceR0000(device, wanted))
    }

    /// Waits for all work of the calling thread's device.
    fn hipDeviceSynchronize() {
        runtime().refuse_during_capture()?;
        let device = current_device()?;
        runtime().synchronize_device(&device)
    }

    /// Destroys everything that belongs to the calling thread's device.
    fn hipDeviceReset() {
        runtime().refuse_during_capture()?;
        let device = current_device()?;
        // The reset drops pending errors with everything else.
        let _ = runtime().synchronize_device(&device);
        let ordinal = device.ordinal;
        runtime().streams.remove_where(|stream| stream.device == ordinal);
        runtime().events.remove_where(|event| event.device == ordinal);
        runtime().functions.remove_where(|function| function.module.device == ordinal);
        runtime().modules.remove_where(|module| module.device == ordinal);
        device.set_pool(None);
        runtime().pools.remove_where(|pool| pool.device == ordinal);
        memory().release_device(ordinal);
        runtime().node_memories.free_all(ordinal);
        device.flags.store(0, Ordering::Relaxed);
        Ok(())
    }

    /// Scheduling and mapping flags.
    fn hipSetDeviceFlags(flags: c_uint) {
        super::check_flags(flags, DEVICE_FLAGS)?;
        current_device()?.flags.store(flags, Ordering::Relaxed);
        Ok(())
    }

    /// Scheduling and mapping flags.
    fn hipGetDeviceFlags(flags: *mut c_uint) {
        put(flags, current_device()?.flags.load(Ordering::Relaxed))
    }

    /// Cache preference, which these devices do not have.
    fn hipDeviceSetCacheConfig(_config: c_int) {
        runtime().refuse_during_capture()?;
        current_device().map(drop)
    }

    /// Cache preference, which these devices do not have.
    fn hipDeviceGetCacheConfig(config: *mut c_int) {
        put(config, 0)
    }

    /// LDS bank width, which these devices do not let choose.
    fn hipDeviceSetSharedMemConfig(_config: c_int) {
        runtime().refuse_during_capture()?;
        current_device().map(drop)
    }

    /// LDS bank width: four bytes.
    fn hipDeviceGetSharedMemConfig(config: *mut c_int) {
        const FOUR_BYTES: c_int = 1;
        put(config, FOUR_BYTES)
    }

    /// Limit of the device.
    fn hipDeviceGetLimit(value: *mut usize, limit: c_int) {
        let device = current_device()?;
        let found = match limit {
            LIMIT_STACK_SIZE => device.stack_limit.load(Ordering::Relaxed),
            LIMIT_MALLOC_HEAP => device.heap_limit.load(Ordering::Relaxed),
            _ => return Err(HipError::UNSUPPORTED_LIMIT),
        };
        put(value, found as usize)
    }

    /// Sets a limit of the device.
    fn hipDeviceSetLimit(limit: c_int, value: usize) {
        let device = current_device()?;
        let value = value as u64;
        match limit {
            LIMIT_STACK_SIZE if value < MAX_STACK => {
                device.stack_limit.store(value, Ordering::Relaxed);
            }
            LIMIT_MALLOC_HEAP if value < device.product.memory_bytes => {
                device.heap_limit.store(value, Ordering::Relaxed);
            }
            LIMIT_STACK_SIZE | LIMIT_MALLOC_HEAP => return Err(HipError::INVALID_VALUE),
            LIMIT_PRINTF_FIFO => return Err(HipError::UNSUPPORTED_LIMIT),
            _ => return Err(HipError::UNSUPPORTED_LIMIT),
        }
        Ok(())
    }

    /// Least and greatest priority of streams.
    fn hipDeviceGetStreamPriorityRange(least: *mut c_int, greatest: *mut c_int) {
        // Either may be null.
        let _ = put(least, PRIORITY_LOW);
        let _ = put(greatest, PRIORITY_HIGH);
        Ok(())
    }

    /// Whether kernels of one device can access memory of another.
    fn hipDeviceCanAccessPeer(can: *mut c_int, device: c_int, peer: c_int) {
        let (device, peer) = (runtime().device(device)?, runtime().device(peer)?);
        put(can, c_int::from(device.ordinal != peer.ordinal))
    }

    /// Lets kernels of the calling thread's device access memory of another.
    fn hipDeviceEnablePeerAccess(peer: c_int, flags: c_uint) {
        super::check_flags(flags, 0)?;
        let (device, peer) = (current_device()?, runtime().device(peer)?);
        if device.ordinal == peer.ordinal {
            return Err(HipError::INVALID_DEVICE);
        }
        if memory().grant(device.ordinal, peer.ordinal) {
            Ok(())
        } else {
            Err(HipError::PEER_ACCESS_ALREADY_ENABLED)
        }
    }

    /// Undoes `hipDeviceEnablePeerAccess`.
    fn hipDeviceDisablePeerAccess(peer: c_int) {
        let (device, peer) = (current_device()?, runtime().device(peer)?);
        if memory().revoke(device.ordinal, peer.ordinal) {
            Ok(())
        } else {
            Err(HipError::PEER_ACCESS_NOT_ENABLED)
        }
    }

    /// Relation of two devices.
    fn hipDeviceGetP2PAttribute(value: *mut c_int, number: c_int, from: c_int, to: c_int) {
        let (from, to) = (runtime().device(from)?, runtime().device(to)?);
        if from.ordinal == to.ordinal {
            return Err(HipError::INVALID_DEVICE);
        }
        match number {
            // Performance rank; access; native atomics; access to arrays.
            0 => put(value, 0),
            1 | 2 => put(value, 1),
            3 => put(value, 0),
            _ => Err(HipError::INVALID_VALUE),
        }
    }
}
