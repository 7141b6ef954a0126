//! A library that passes for `libamdhip64`, and sees no GPU. The tests compile it with `rustc`: as it
//! is, with `--cfg old` as one of HIP 4.3, and with `--cfg incomplete` as one without
//! `hipMallocAsync`.

use std::ffi::{c_char, c_int};

/// `hipErrorNoDevice`.
const NO_DEVICE: c_int = 100;
const VERSION: c_int = if cfg!(old) { 40_321_422 } else { 60_140_091 };

macro_rules! refuse {
    ($($(#[$attribute:meta])* $name:ident)*) => {$(
        $(#[$attribute])*
        #[unsafe(no_mangle)]
        pub extern "C" fn $name() -> c_int {
            NO_DEVICE
        }
    )*};
}

refuse! {
    hipGetDevice hipSetDevice hipMemGetInfo hipMalloc
    #[cfg(not(incomplete))]
    hipMallocAsync
    hipFreeAsync hipMemGetAddressRange hipMemcpyAsync hipMemsetAsync hipMemsetD16Async
    hipMemsetD32Async
    hipStreamCreateWithFlags hipStreamDestroy hipStreamSynchronize hipStreamQuery
    hipStreamWaitEvent hipStreamIsCapturing hipStreamGetCaptureInfo_v2
    hipStreamBeginCapture hipStreamEndCapture hipThreadExchangeStreamCaptureMode
    hipGraphInstantiate hipGraphLaunch hipGraphExecDestroy hipGraphDestroy
    hipEventCreateWithFlags hipEventDestroy hipEventRecord hipEventSynchronize hipEventQuery
    hipEventElapsedTime hipDeviceSynchronize hipModuleLoadData hipModuleUnload
    hipModuleGetFunction hipModuleLaunchKernel hipModuleOccupancyMaxActiveBlocksPerMultiprocessor
    hipGetDevicePropertiesR0600
}

#[unsafe(no_mangle)]
pub extern "C" fn hipGetLastError() -> c_int {
    0
}

/// # Safety
/// `to` is valid for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipGetDeviceCount(to: *mut c_int) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { *to = 0 };
    NO_DEVICE
}

/// # Safety
/// `to` is valid for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipRuntimeGetVersion(to: *mut c_int) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { *to = VERSION };
    0
}

/// # Safety
/// `to` is valid for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipDriverGetVersion(to: *mut c_int) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { *to = VERSION };
    0
}

#[unsafe(no_mangle)]
pub extern "C" fn hipGetErrorName(_error: c_int) -> *const c_char {
    c"hipErrorNoDevice".as_ptr()
}

#[unsafe(no_mangle)]
pub extern "C" fn hipGetErrorString(_error: c_int) -> *const c_char {
    c"no ROCm-capable device is detected".as_ptr()
}
