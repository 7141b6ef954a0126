//! What the tests of the C API share.

#![allow(dead_code, reason = "not every test uses every helper")]

use std::ffi::c_void;

use hk_sim::HipError;
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
