//! Errors, versions, entry points.

use std::ffi::{c_char, c_int, c_uint, c_void};

use super::types::HipError;
use super::{api, lookup, name, passed_on, put};
use crate::runtime::{last_error, runtime, take_error, take_result};

/// HIP 7.0.0: major * 10^7 + minor * 10^5 + patch.
const VERSION: c_int = 70_000_000;

/// Results of `hipDriverProcAddressQueryResult`.
const SYMBOL_FOUND: c_int = 0;
const SYMBOL_NOT_FOUND: c_int = 1;
/// Flags of `hipGetProcAddress`: which stream the default stream is.
const LEGACY_STREAM: u64 = 1;
const PER_THREAD_STREAM: u64 = 2;

api! {
    /// Initialises the runtime, which every other call does too.
    fn hipInit(flags: c_uint) {
        if flags != 0 {
            return Err(HipError::INVALID_VALUE);
        }
        runtime();
        Ok(())
    }

    /// Version of the driver.
    fn hipDriverGetVersion(version: *mut c_int) {
        put(version, VERSION)
    }

    /// Version of the runtime.
    fn hipRuntimeGetVersion(version: *mut c_int) {
        put(version, VERSION)
    }

    /// Name of an error; an error itself for an unknown code.
    fn hipDrvGetErrorName(error: HipError, text: *mut *const c_char) {
        put(text, error.name().as_ptr())?;
        if error.is_known() { Ok(()) } else { Err(HipError::INVALID_VALUE) }
    }

    /// Text of an error; an error itself for an unknown code.
    fn hipDrvGetErrorString(error: HipError, text: *mut *const c_char) {
        put(text, error.text().as_ptr())?;
        if error.is_known() { Ok(()) } else { Err(HipError::INVALID_VALUE) }
    }

    /// Address of a function of this API.
    fn hipGetProcAddress(
        symbol: *const c_char,
        function: *mut *mut c_void,
        hip_version: c_int,
        flags: u64,
        status: *mut c_int,
    ) {
        if flags & !(LEGACY_STREAM | PER_THREAD_STREAM) != 0 {
            return Err(HipError::INVALID_VALUE);
        }
        let symbol = name(symbol)?;
        let per_thread = (flags & PER_THREAD_STREAM != 0)
            .then(|| lookup(&format!("{symbol}_spt"), hip_version))
            .flatten();
        let found = per_thread.or_else(|| lookup(symbol, hip_version));
        put(function, found.unwrap_or(std::ptr::null()).cast_mut())?;
        let result = if found.is_some() { SYMBOL_FOUND } else { SYMBOL_NOT_FOUND };
        // The status is optional.
        let _ = put(status, result);
        if found.is_some() { Ok(()) } else { Err(HipError::INVALID_VALUE) }
    }

    /// Address of a function of this API, as the newest callers know it.
    fn hipGetDriverEntryPoint(
        symbol: *const c_char,
        function: *mut *mut c_void,
        flags: u64,
        status: *mut c_int,
    ) {
        passed_on(hipGetProcAddress(symbol, function, VERSION / 100_000, flags, status))
    }

    /// Address of a function of this API, for programs whose default stream is the thread's.
    fn hipGetProcAddress_spt(
        symbol: *const c_char,
        function: *mut *mut c_void,
        hip_version: c_int,
        flags: u64,
        status: *mut c_int,
    ) {
        let flags = if flags == 0 { PER_THREAD_STREAM } else { flags };
        passed_on(hipGetProcAddress(symbol, function, hip_version, flags, status))
    }

    /// Address of a function of this API, for programs whose default stream is the thread's.
    fn hipGetDriverEntryPoint_spt(
        symbol: *const c_char,
        function: *mut *mut c_void,
        flags: u64,
        status: *mut c_int,
    ) {
        passed_on(hipGetProcAddress_spt(symbol, function, VERSION / 100_000, flags, status))
    }

    /// Profiling is not offered; starting it is harmless.
    fn hipProfilerStart() {
        Ok(())
    }

    /// Profiling is not offered; stopping it is harmless.
    fn hipProfilerStop() {
        Ok(())
    }
}

/// Last error of the calling thread, which is forgotten.
#[unsafe(no_mangle)]
pub extern "C" fn hipGetLastError() -> HipError {
    take_error()
}

/// Result of the last call of the calling thread, which is forgotten: what `hipGetLastError` was before
/// HIP 7.
#[unsafe(no_mangle)]
pub extern "C" fn hipExtGetLastError() -> HipError {
    take_result()
}

/// Last error of the calling thread.
#[unsafe(no_mangle)]
pub extern "C" fn hipPeekAtLastError() -> HipError {
    last_error()
}

/// Name of an error.
#[unsafe(no_mangle)]
pub extern "C" fn hipGetErrorName(error: HipError) -> *const c_char {
    error.name().as_ptr()
}

/// Text of an error.
#[unsafe(no_mangle)]
pub extern "C" fn hipGetErrorString(error: HipError) -> *const c_char {
    error.text().as_ptr()
}
