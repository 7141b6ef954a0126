//! What the tests of the C API share.

#![allow(dead_code, reason = "not every test uses every helper")]

use std::ffi::{c_int, c_void};
use std::ptr::null_mut;

use hk_sim::HipError;
use hk_sim::capi::types::*;
use hk_sim::capi::*;

/// Panics, with the name of the error, unless the call succeeded.
#[track_caller]
pub(crate) fn ok(error: HipError) {
    assert_eq!(error, HipError::SUCCESS, "{:?}", hk_sim::last_message());
}

/// The value that a call writes through its first pointer.
#[track_caller]
pub(crate) fn get<T>(call: impl FnOnce(*mut T) -> HipError) -> T {
    let mut value = std::mem::MaybeUninit::uninit();
    ok(call(value.as_mut_ptr()));
    // SAFETY: the call succeeded, so it wrote the value.
    unsafe { value.assume_init() }
}

/// Makes a product the device of this thread.
pub(crate) fn use_product(name: &str) {
    let ordinal = hk_sim::device_ordinal(name).expect("a known product");
    // SAFETY: the call takes no pointer.
    ok(unsafe { hipSetDevice(ordinal) });
}

/// Device memory that holds the values.
pub(crate) fn upload<T: Copy>(values: &[T]) -> *mut c_void {
    let size = size_of_val(values);
    // SAFETY: the copy stays inside both buffers.
    unsafe {
        let buffer = get(|pointer| hipMalloc(pointer, size));
        ok(hipMemcpy(buffer, values.as_ptr().cast(), size, 1));
        buffer
    }
}

/// Values in device memory, after everything on the null stream.
pub(crate) fn download<T: Copy + Default>(buffer: *mut c_void, count: usize) -> Vec<T> {
    let mut values = vec![T::default(); count];
    // SAFETY: the runtime checks the device side; the vector has the size.
    ok(unsafe { hipMemcpy(values.as_mut_ptr().cast(), buffer, count * size_of::<T>(), 2) });
    values
}

/// A stream of this thread's device.
pub(crate) fn stream() -> *mut c_void {
    // SAFETY: the pointer is valid.
    get(|stream| unsafe { hipStreamCreateWithFlags(stream, 1) })
}

/// Frees device memory.
pub(crate) fn free(buffer: *mut c_void) {
    // SAFETY: the runtime checks the pointer.
    ok(unsafe { hipFree(buffer) });
}

/// A pool of a device's memory.
pub(crate) fn pool_props(device: c_int) -> HipMemPoolProps {
    HipMemPoolProps {
        alloc_type: 1,
        handle_types: 0,
        location: HipMemLocation { kind: 1, id: device },
        security_attributes: null_mut(),
        max_size: 0,
        reserved: [0; 56],
    }
}

/// An allocation node of the device of this thread.
pub(crate) fn alloc_node_params(bytesize: usize) -> HipMemAllocNodeParams {
    // SAFETY: the pointer is valid.
    let device = get(|device| unsafe { hipGetDevice(device) });
    HipMemAllocNodeParams {
        pool_props: pool_props(device),
        access_descs: std::ptr::null(),
        access_desc_count: 0,
        bytesize,
        dptr: null_mut(),
    }
}

/// A copy of rows within device memory, by the driver's structure.
pub(crate) fn drv_copy(
    dst: *mut c_void,
    src: *mut c_void,
    pitch: usize,
    [width_in_bytes, height]: [usize; 2],
) -> HipDrvMemcpy3D {
    HipDrvMemcpy3D {
        src_x_in_bytes: 0,
        src_y: 0,
        src_z: 0,
        src_lod: 0,
        src_memory_type: 2,
        src_host: null_mut(),
        src_device: src,
        src_array: null_mut(),
        src_pitch: pitch,
        src_height: height,
        dst_x_in_bytes: 0,
        dst_y: 0,
        dst_z: 0,
        dst_lod: 0,
        dst_memory_type: 2,
        dst_host: null_mut(),
        dst_device: dst,
        dst_array: null_mut(),
        dst_pitch: pitch,
        dst_height: height,
        width_in_bytes,
        height,
        depth: 1,
    }
}
