//! Programs built by hipcc: code objects, kernels and variables that register themselves at load.

use std::collections::HashMap;
use std::ffi::{c_char, c_int, c_uint, c_void};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use super::module::image_bytes;
use super::types::{Dim3, FatBinaryWrapper, HipDeviceptr, HipError, HipFunction, HipStream};
use super::{api, call, name, passed_on, put, transfer};
use crate::mem::{RegionKind, Request};
use crate::runtime::{
    Function, HipResult, Module, current_device, current_ordinal, memory, runtime,
};

/// A registered fat binary.
struct FatBinary {
    /// Address of the offload bundle, part of the program's image.
    image: usize,
    /// The module of each device that used it.
    modules: Mutex<HashMap<usize, Arc<Module>>>,
    /// Managed variables: name in the code object, and the memory.
    managed: Mutex<Vec<(String, u64)>>,
}

impl FatBinary {
    /// The module on the calling thread's device, loaded at the first use.
    fn module(&self) -> HipResult<Arc<Module>> {
        let device = current_device()?;
        let mut modules = self.modules.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(loaded) = modules.get(&device.ordinal) {
            return Ok(Arc::clone(loaded));
        }
        // SAFETY: hipcc put a bundle there, which lives until it is unregistered.
        let bytes = unsafe { image_bytes(std::ptr::with_exposed_provenance(self.image))? };
        let module = Arc::new(Module::load(device.ordinal, device.product, bytes)?);
        for (name, target) in self.managed.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            // The variable of that name in the code object holds the address of the memory.
            if let Some((slot, 8)) = module.variable(name) {
                // SAFETY: the slot is inside the image of the module, which no kernel uses yet.
                unsafe {
                    std::ptr::with_exposed_provenance_mut::<u64>(slot as usize)
                        .write_unaligned(*target);
                }
            }
        }
        modules.insert(device.ordinal, Arc::clone(&module));
        Ok(module)
    }
}

/// What a host symbol stands for.
#[derive(Clone)]
struct Symbol {
    binary: Arc<FatBinary>,
    name: String,
}

#[derive(Default)]
struct Registry {
    binaries: HashMap<usize, Arc<FatBinary>>,
    functions: HashMap<usize, Symbol>,
    variables: HashMap<usize, Symbol>,
}

fn registry() -> MutexGuard<'static, Registry> {
    static REGISTRY: OnceLock<Mutex<Registry>> = OnceLock::new();
    REGISTRY.get_or_init(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner)
}

/// Kernel of a host function on the calling thread's device.
pub(super) fn registered_function(host: *const c_void) -> HipResult<Function> {
    let symbol = registry().functions.get(&(host as usize)).cloned();
    let symbol = symbol.ok_or(HipError::INVALID_DEVICE_FUNCTION)?;
    symbol.binary.module()?.function(&symbol.name).ok_or(HipError::INVALID_DEVICE_FUNCTION)
}

/// Kernel of a host function or of a function handle.
pub(super) fn function_of(pointer: *const c_void) -> HipResult<Function> {
    match runtime().functions.get(pointer) {
        Some(function) => Ok(Function::clone(&function)),
        None => registered_function(pointer),
    }
}

/// Address and size of the device's copy of a host variable.
fn registered_variable(host: *const c_void) -> HipResult<(u64, u64)> {
    let symbol = registry().variables.get(&(host as usize)).cloned();
    let symbol = symbol.ok_or(HipError::INVALID_SYMBOL)?;
    symbol.binary.module()?.variable(&symbol.name).ok_or(HipError::INVALID_SYMBOL)
}

/// Part of a variable, as a pointer.
pub(super) fn variable_range(
    host: *const c_void,
    size: usize,
    offset: usize,
) -> HipResult<*mut c_void> {
    let (start, len) = registered_variable(host)?;
    let end = (offset as u64).checked_add(size as u64).ok_or(HipError::INVALID_VALUE)?;
    if end > len {
        return Err(HipError::INVALID_VALUE);
    }
    Ok(std::ptr::with_exposed_provenance_mut((start + offset as u64) as usize))
}

fn binary(handle: *mut *mut c_void) -> HipResult<Arc<FatBinary>> {
    registry().binaries.get(&(handle as usize)).cloned().ok_or(HipError::INVALID_VALUE)
}

/// Registers the code objects of a program; null if they are not of the known form.
///
/// # Safety
///
/// `wrapper` is null or the structure that hipcc made.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __hipRegisterFatBinary(
    wrapper: *const FatBinaryWrapper,
) -> *mut *mut c_void {
    if wrapper.is_null() {
        return std::ptr::null_mut();
    }
    // SAFETY: it is not null, so valid.
    let wrapper = unsafe { wrapper.read_unaligned() };
    if wrapper.magic != FatBinaryWrapper::MAGIC || wrapper.version != 1 {
        return std::ptr::null_mut();
    }
    let binary = Arc::new(FatBinary {
        image: wrapper.binary.expose_provenance(),
        modules: Mutex::default(),
        managed: Mutex::default(),
    });
    let handle = Arc::as_ptr(&binary).cast_mut().cast();
    registry().binaries.insert(handle as usize, binary);
    handle
}

/// Forgets the code objects of a program.
///
/// # Safety
///
/// None of the program's kernels is launched afterwards.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __hipUnregisterFatBinary(handle: *mut *mut c_void) {
    let mut registry = registry();
    if let Some(binary) = registry.binaries.remove(&(handle as usize)) {
        registry.functions.retain(|_, symbol| !Arc::ptr_eq(&symbol.binary, &binary));
        registry.variables.retain(|_, symbol| !Arc::ptr_eq(&symbol.binary, &binary));
    }
}

/// Registers a kernel under its host function.
///
/// # Safety
///
/// `handle` came from `__hipRegisterFatBinary`, `device_name` is a string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __hipRegisterFunction(
    handle: *mut *mut c_void,
    host: *const c_void,
    _device_function: *mut c_char,
    device_name: *const c_char,
    _thread_limit: c_uint,
    _thread: *mut c_void,
    _block: *mut c_void,
    _block_dim: *mut Dim3,
    _grid_dim: *mut Dim3,
    _wave_size: *mut c_int,
) {
    call(|| {
        // SAFETY: the caller passes a string.
        let name = unsafe { name(device_name)? }.to_owned();
        let symbol = Symbol { binary: binary(handle)?, name };
        registry().functions.insert(host as usize, symbol);
        Ok(())
    });
}

/// Registers a device variable under its host shadow.
///
/// # Safety
///
/// `handle` came from `__hipRegisterFatBinary`, `host_name` is a string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __hipRegisterVar(
    handle: *mut *mut c_void,
    host: *mut c_void,
    host_name: *mut c_char,
    _device_name: *mut c_char,
    _external: c_int,
    _size: usize,
    _constant: c_int,
    _global: c_int,
) {
    call(|| {
        // SAFETY: the caller passes a string.
        let name = unsafe { name(host_name)? }.to_owned();
        let symbol = Symbol { binary: binary(handle)?, name };
        registry().variables.insert(host as usize, symbol);
        Ok(())
    });
}

/// Allocates a managed variable and tells host and code objects where it is.
///
/// # Safety
///
/// `handle` came from `__hipRegisterFatBinary`; `pointer` is valid for a write, `initial` for
/// reads of `size` bytes; `device_name` is a string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __hipRegisterManagedVar(
    handle: *mut c_void,
    pointer: *mut *mut c_void,
    initial: *const c_void,
    device_name: *const c_char,
    size: usize,
    _align: c_uint,
) {
    call(|| {
        let request = Request {
            len: size as u64,
            kind: RegionKind::HostPinned,
            device: current_ordinal(),
            flags: 0,
            managed: true,
        };
        let target = memory().allocate(request, u64::MAX).map_err(|_| HipError::OUT_OF_MEMORY)?;
        // SAFETY: the caller passes a string, `size` readable bytes, and a place for the address.
        unsafe {
            let name = name(device_name)?.to_owned();
            let memory = std::ptr::with_exposed_provenance_mut::<u8>(target as usize);
            if !initial.is_null() {
                memory.copy_from_nonoverlapping(initial.cast(), size);
            }
            put(pointer, memory.cast())?;
            let binary = binary(handle.cast())?;
            binary.managed.lock().unwrap_or_else(PoisonError::into_inner).push((name, target));
        }
        Ok(())
    });
}

/// Textures are not offered; programs that hold one still load.
///
/// # Safety
///
/// None; nothing is touched.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __hipRegisterTexture(
    _handle: *mut *mut c_void,
    _host: *mut c_void,
    _host_name: *mut c_char,
    _device_name: *mut c_char,
    _kind: c_int,
    _normalised: c_int,
    _external: c_int,
) {
}

/// Surfaces are not offered; programs that hold one still load.
///
/// # Safety
///
/// None; nothing is touched.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __hipRegisterSurface(
    _handle: *mut *mut c_void,
    _host: *mut c_void,
    _host_name: *mut c_char,
    _device_name: *mut c_char,
    _kind: c_int,
    _external: c_int,
) {
}

api! {
    /// Handle of the kernel of a host function.
    fn hipGetFuncBySymbol(handle: *mut HipFunction, host: *const c_void) {
        put(handle, runtime().functions.insert_unique(registered_function(host)?))
    }

    /// Address of the device's copy of a variable.
    fn hipGetSymbolAddress(pointer: *mut HipDeviceptr, symbol: *const c_void) {
        let (start, _) = registered_variable(symbol)?;
        put(pointer, std::ptr::with_exposed_provenance_mut(start as usize))
    }

    /// Size of a device variable.
    fn hipGetSymbolSize(size: *mut usize, symbol: *const c_void) {
        put(size, registered_variable(symbol)?.1 as usize)
    }

    /// Copies into a device variable and waits.
    fn hipMemcpyToSymbol(
        symbol: *const c_void,
        src: *const c_void,
        size: usize,
        offset: usize,
        kind: c_int,
    ) {
        let to = variable_range(symbol, size, offset)?;
        passed_on(transfer::hipMemcpy(to, src, size, kind))
    }

    /// Copies into a device variable on a stream.
    fn hipMemcpyToSymbolAsync(
        symbol: *const c_void,
        src: *const c_void,
        size: usize,
        offset: usize,
        kind: c_int,
        stream: HipStream,
    ) {
        let to = variable_range(symbol, size, offset)?;
        passed_on(transfer::hipMemcpyAsync(to, src, size, kind, stream))
    }

    /// Copies from a device variable and waits.
    fn hipMemcpyFromSymbol(
        dst: *mut c_void,
        symbol: *const c_void,
        size: usize,
        offset: usize,
        kind: c_int,
    ) {
        let from = variable_range(symbol, size, offset)?;
        passed_on(transfer::hipMemcpy(dst, from, size, kind))
    }

    /// Copies from a device variable on a stream.
    fn hipMemcpyFromSymbolAsync(
        dst: *mut c_void,
        symbol: *const c_void,
        size: usize,
        offset: usize,
        kind: c_int,
        stream: HipStream,
    ) {
        let from = variable_range(symbol, size, offset)?;
        passed_on(transfer::hipMemcpyAsync(dst, from, size, kind, stream))
    }
}
