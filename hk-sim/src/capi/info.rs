//! Functions that return no error code: names, numbers, conversions.

use std::collections::HashMap;
use std::ffi::{CString, c_char, c_int, c_uint, c_void};
use std::sync::{Mutex, OnceLock, PoisonError};

use half::f16;

use super::fatbin::registered_function;
use super::types::{HipChannelFormatDesc, HipError, HipFunction, HipStream};
use crate::runtime::runtime;

/// Name of a kernel as a C string that lives as long as the process.
fn kernel_name(name: &str) -> *const c_char {
    static NAMES: OnceLock<Mutex<HashMap<String, CString>>> = OnceLock::new();
    let names = NAMES.get_or_init(Mutex::default);
    let mut names = names.lock().unwrap_or_else(PoisonError::into_inner);
    // The text of a CString stays where it is when the map grows. Symbols have no zero byte.
    let text = || CString::new(name).unwrap_or_default();
    names.entry(name.to_owned()).or_insert_with(text).as_ptr()
}

/// Name of a kernel, by its handle; null for what is none.
#[unsafe(no_mangle)]
pub extern "C" fn hipKernelNameRef(kernel: HipFunction) -> *const c_char {
    let found = runtime().functions.get(kernel);
    found.map_or(std::ptr::null(), |function| kernel_name(&function.kernel().name))
}

/// Name of a kernel, by its host function; null for what is none.
#[unsafe(no_mangle)]
pub extern "C" fn hipKernelNameRefByPtr(host: *const c_void, _stream: HipStream) -> *const c_char {
    let found = registered_function(host);
    found.map_or(std::ptr::null(), |function| kernel_name(&function.kernel().name))
}

/// Device of a stream; -1 for what is none.
#[unsafe(no_mangle)]
pub extern "C" fn hipGetStreamDeviceId(stream: HipStream) -> c_int {
    runtime().stream(stream).map_or(-1, |stream| stream.device as c_int)
}

/// Name of a traced function; none is traced.
#[unsafe(no_mangle)]
pub extern "C" fn hipApiName(_id: u32) -> *const c_char {
    c"unknown".as_ptr()
}

/// Calls are not traced.
#[unsafe(no_mangle)]
pub extern "C" fn hipRegisterTracerCallback(_callback: *const c_void) {}

/// Format of the elements of an array.
#[unsafe(no_mangle)]
pub extern "C" fn hipCreateChannelDesc(
    x: c_int,
    y: c_int,
    z: c_int,
    w: c_int,
    kind: c_int,
) -> HipChannelFormatDesc {
    HipChannelFormatDesc { x, y, z, w, kind }
}

/// Text of an error of the run-time compiler, of which there is none.
#[unsafe(no_mangle)]
pub extern "C" fn hiprtcGetErrorString(_error: c_int) -> *const c_char {
    HipError::NOT_SUPPORTED.text().as_ptr()
}

/// The precompiled header of the run-time compiler, of which there is none.
///
/// # Safety
///
/// The pointers are null or valid for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __hipGetPCH(header: *mut *const c_char, size: *mut c_uint) {
    // SAFETY: the caller keeps the contract. Either may be null.
    unsafe {
        let _ = super::put(header, std::ptr::null());
        let _ = super::put(size, 0);
    }
}

/// Name of the build.
#[unsafe(no_mangle)]
pub extern "C" fn amd_dbgapi_get_build_name() -> *const c_char {
    c"hk-sim".as_ptr()
}

/// Commit of the build, which is not recorded.
#[unsafe(no_mangle)]
pub extern "C" fn amd_dbgapi_get_git_hash() -> *const c_char {
    c"".as_ptr()
}

/// Number of the build.
#[unsafe(no_mangle)]
pub extern "C" fn amd_dbgapi_get_build_id() -> usize {
    0
}

/// Single precision of a half.
#[unsafe(no_mangle)]
pub extern "C" fn __gnu_h2f_ieee(bits: u16) -> f32 {
    f16::from_bits(bits).to_f32()
}

/// Half of a single precision number, to nearest even.
#[unsafe(no_mangle)]
pub extern "C" fn __gnu_f2h_ieee(value: f32) -> u16 {
    f16::from_f32(value).to_bits()
}
