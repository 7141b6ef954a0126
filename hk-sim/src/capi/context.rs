//! Contexts: each device has its primary context and no other, as in HIP itself.

use std::ffi::{c_int, c_uint};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::device::{
    hipDeviceDisablePeerAccess, hipDeviceEnablePeerAccess, hipDeviceGetCacheConfig,
    hipDeviceGetSharedMemConfig, hipDeviceSetCacheConfig, hipDeviceSetSharedMemConfig,
};
use super::types::{HipCtx, HipDevice, HipError};
use super::{api, passed_on, put};
use crate::runtime::{Device, HipResult, current_device, current_ordinal, runtime, set_current};

/// Handle of a device's context: the address of the device, which lives as long as the process.
fn handle(device: &Arc<Device>) -> HipCtx {
    Arc::as_ptr(device).cast_mut().cast()
}

fn device_of(context: HipCtx) -> HipResult<Arc<Device>> {
    let devices = runtime().devices.all();
    let of_handle = devices.into_iter().find(|device| handle(device) == context);
    of_handle.ok_or(HipError::INVALID_CONTEXT)
}

thread_local! {
    /// Devices below the current one on the context stack.
    static STACK: std::cell::RefCell<Vec<usize>> = const { std::cell::RefCell::new(Vec::new()) };
}

api! {
    /// Makes the device's context current.
    fn hipCtxCreate(context: *mut HipCtx, _flags: c_uint, device: HipDevice) {
        let device = runtime().device(device)?;
        put(context, handle(&device))?;
        STACK.with_borrow_mut(|stack| stack.push(current_ordinal()));
        set_current(device.ordinal);
        Ok(())
    }

    /// Primary contexts are not destroyed; the context below the current one is current again.
    fn hipCtxDestroy(context: HipCtx) {
        if device_of(context)?.ordinal == current_ordinal() {
            let below = STACK.with_borrow_mut(Vec::pop);
            set_current(below.unwrap_or(current_ordinal()));
        }
        Ok(())
    }

    /// Context of the calling thread's device.
    fn hipCtxGetCurrent(context: *mut HipCtx) {
        put(context, handle(&current_device()?))
    }

    /// Makes a context current; null is ignored.
    fn hipCtxSetCurrent(context: HipCtx) {
        if !context.is_null() {
            set_current(device_of(context)?.ordinal);
        }
        Ok(())
    }

    /// Makes a context current until it is popped.
    fn hipCtxPushCurrent(context: HipCtx) {
        let device = device_of(context)?;
        STACK.with_borrow_mut(|stack| stack.push(current_ordinal()));
        set_current(device.ordinal);
        Ok(())
    }

    /// Makes the context below current.
    fn hipCtxPopCurrent(context: *mut HipCtx) {
        let top = current_device()?;
        let below = STACK.with_borrow_mut(Vec::pop).ok_or(HipError::INVALID_CONTEXT)?;
        set_current(below);
        // The popped context is optional.
        let _ = put(context, handle(&top));
        Ok(())
    }

    /// Device of the current context.
    fn hipCtxGetDevice(device: *mut HipDevice) {
        put(device, current_device()?.ordinal as c_int)
    }

    /// Waits for all work of the current context.
    fn hipCtxSynchronize() {
        runtime().refuse_during_capture()?;
        let device = current_device()?;
        runtime().synchronize_device(&device)
    }

    /// Flags of the current context.
    fn hipCtxGetFlags(flags: *mut c_uint) {
        put(flags, current_device()?.flags.load(Ordering::Relaxed))
    }

    /// Version of the context interface.
    fn hipCtxGetApiVersion(_context: HipCtx, version: *mut c_uint) {
        const VERSION: c_uint = 4;
        put(version, VERSION)
    }

    /// Context of a device.
    fn hipDevicePrimaryCtxRetain(context: *mut HipCtx, device: HipDevice) {
        let device = runtime().device(device)?;
        put(context, handle(&device))?;
        device.primary_context.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    /// Gives a retained context back.
    fn hipDevicePrimaryCtxRelease(device: HipDevice) {
        let device = runtime().device(device)?;
        let less = |count: i32| (count > 0).then(|| count - 1);
        // HIP takes a release too many without complaint.
        let _ = device.primary_context.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
        Ok(())
    }

    /// Flags of a device's context, and whether it is in use.
    fn hipDevicePrimaryCtxGetState(device: HipDevice, flags: *mut c_uint, active: *mut c_int) {
        let device = runtime().device(device)?;
        put(flags, device.flags.load(Ordering::Relaxed))?;
        put(active, c_int::from(device.primary_context.load(Ordering::Relaxed) > 0))
    }

    /// Flags of a device's context.
    fn hipDevicePrimaryCtxSetFlags(device: HipDevice, flags: c_uint) {
        runtime().device(device)?.flags.store(flags, Ordering::Relaxed);
        Ok(())
    }

    /// Resets a device's context; what programs hold stays valid, as in HIP.
    fn hipDevicePrimaryCtxReset(device: HipDevice) {
        runtime().device(device).map(drop)
    }

    /// Makes memory of a context's device accessible to the current device.
    fn hipCtxEnablePeerAccess(peer: HipCtx, flags: c_uint) {
        passed_on(hipDeviceEnablePeerAccess(device_of(peer)?.ordinal as c_int, flags))
    }

    /// Undoes `hipCtxEnablePeerAccess`.
    fn hipCtxDisablePeerAccess(peer: HipCtx) {
        passed_on(hipDeviceDisablePeerAccess(device_of(peer)?.ordinal as c_int))
    }

    /// Cache preference, which these devices do not have.
    fn hipCtxSetCacheConfig(config: c_int) {
        passed_on(hipDeviceSetCacheConfig(config))
    }

    /// Cache preference, which these devices do not have.
    fn hipCtxGetCacheConfig(config: *mut c_int) {
        passed_on(hipDeviceGetCacheConfig(config))
    }

    /// LDS bank width, which these devices do not let choose.
    fn hipCtxSetSharedMemConfig(config: c_int) {
        passed_on(hipDeviceSetSharedMemConfig(config))
    }

    /// LDS bank width: four bytes.
    fn hipCtxGetSharedMemConfig(config: *mut c_int) {
        passed_on(hipDeviceGetSharedMemConfig(config))
    }
}
