//! The HIP entry points that the host API calls, with their C signatures.
//!
//! Names, signatures and constants are those of the public header `hip/hip_runtime_api.h`; the
//! functions exist in every release since HIP 5.2, but the optional ones.

use std::ffi::{c_char, c_int, c_uint, c_void};

/// `hipError_t`.
pub(crate) type Status = c_int;
/// `hipStream_t`, `hipEvent_t`, `hipModule_t`, `hipFunction_t`, `hipGraph_t`, `hipGraphExec_t`: opaque
/// to us.
pub(crate) type Handle = *mut c_void;

pub(crate) const SUCCESS: Status = 0;
pub(crate) const ERROR_OUT_OF_MEMORY: Status = 2;
pub(crate) const ERROR_NOT_READY: Status = 600;
/// Illegal address, launch timed out, launch failure: what faults in kernels surface as.
#[cfg(feature = "sim")]
pub(crate) const KERNEL_FAULTS: [Status; 3] = [700, 702, 719];

pub(crate) const MEMCPY_HOST_TO_DEVICE: c_int = 1;
pub(crate) const MEMCPY_DEVICE_TO_HOST: c_int = 2;
pub(crate) const MEMCPY_DEVICE_TO_DEVICE: c_int = 3;

pub(crate) const STREAM_NON_BLOCKING: c_uint = 1;
pub(crate) const STREAM_CAPTURE_NONE: c_int = 0;
pub(crate) const STREAM_CAPTURE_ACTIVE: c_int = 1;
pub(crate) const STREAM_CAPTURE_THREAD_LOCAL: c_uint = 1;
pub(crate) const STREAM_CAPTURE_RELAXED: c_uint = 2;
pub(crate) const EVENT_DISABLE_TIMING: c_uint = 2;
pub(crate) const USER_OBJECT_NO_DESTRUCTOR_SYNC: c_uint = 1;
pub(crate) const GRAPH_USER_OBJECT_MOVE: c_uint = 1;

// Keys of the `extra` list of `hipModuleLaunchKernel`.
pub(crate) const LAUNCH_PARAM_BUFFER_POINTER: *mut c_void = std::ptr::without_provenance_mut(1);
pub(crate) const LAUNCH_PARAM_BUFFER_SIZE: *mut c_void = std::ptr::without_provenance_mut(2);
pub(crate) const LAUNCH_PARAM_END: *mut c_void = std::ptr::without_provenance_mut(3);

/// Calls a macro with every entry point that returns a status; of the optional ones, which came with
/// HIP 5.3, all are there or none.
macro_rules! for_each_function {
    ($callback:ident) => {
        $callback! {
            fn hipRuntimeGetVersion(version: *mut c_int);
            fn hipDriverGetVersion(version: *mut c_int);
            fn hipGetLastError();
            fn hipGetDeviceCount(count: *mut c_int);
            fn hipGetDevice(device: *mut c_int);
            fn hipSetDevice(device: c_int);
            fn hipMemGetInfo(free: *mut usize, total: *mut usize);
            fn hipMalloc(pointer: *mut *mut c_void, bytes: usize);
            fn hipMallocAsync(pointer: *mut *mut c_void, bytes: usize, stream: Handle);
            fn hipFreeAsync(pointer: *mut c_void, stream: Handle);
            fn hipMemGetAddressRange(
                start: *mut *mut c_void,
                bytes: *mut usize,
                pointer: *mut c_void,
            );
            fn hipMemcpyAsync(
                to: *mut c_void,
                from: *const c_void,
                bytes: usize,
                kind: c_int,
                stream: Handle,
            );
            fn hipMemsetAsync(to: *mut c_void, byte: c_int, bytes: usize, stream: Handle);
            fn hipMemsetD16Async(to: *mut c_void, value: u16, count: usize, stream: Handle);
            fn hipMemsetD32Async(to: *mut c_void, value: c_int, count: usize, stream: Handle);
            fn hipStreamCreateWithFlags(stream: *mut Handle, flags: c_uint);
            fn hipStreamDestroy(stream: Handle);
            fn hipStreamSynchronize(stream: Handle);
            fn hipStreamQuery(stream: Handle);
            fn hipStreamWaitEvent(stream: Handle, event: Handle, flags: c_uint);
            fn hipStreamBeginCapture(stream: Handle, mode: c_uint);
            fn hipStreamEndCapture(stream: Handle, graph: *mut Handle);
            fn hipStreamIsCapturing(stream: Handle, status: *mut c_int);
            fn hipStreamGetCaptureInfo_v2(
                stream: Handle,
                status: *mut c_int,
                id: *mut u64,
                graph: *mut Handle,
                nodes: *mut *const Handle,
                count: *mut usize,
            );
            fn hipThreadExchangeStreamCaptureMode(mode: *mut c_uint);
            fn hipGraphInstantiate(
                executable: *mut Handle,
                graph: Handle,
                error_node: *mut Handle,
                log: *mut c_char,
                log_bytes: usize,
            );
            fn hipGraphLaunch(executable: Handle, stream: Handle);
            fn hipGraphExecDestroy(executable: Handle);
            fn hipGraphDestroy(graph: Handle);
            fn hipEventCreateWithFlags(event: *mut Handle, flags: c_uint);
            fn hipEventDestroy(event: Handle);
            fn hipEventRecord(event: Handle, stream: Handle);
            fn hipEventSynchronize(event: Handle);
            fn hipEventQuery(event: Handle);
            fn hipEventElapsedTime(ms: *mut f32, start: Handle, stop: Handle);
            fn hipDeviceSynchronize();
            fn hipModuleLoadData(module: *mut Handle, image: *const c_void);
            fn hipModuleUnload(module: Handle);
            fn hipModuleGetFunction(
                function: *mut Handle,
                module: Handle,
                name: *const c_char,
            );
            fn hipModuleLaunchKernel(
                function: Handle,
                grid_x: c_uint,
                grid_y: c_uint,
                grid_z: c_uint,
                block_x: c_uint,
                block_y: c_uint,
                block_z: c_uint,
                dynamic_lds: c_uint,
                stream: Handle,
                params: *mut *mut c_void,
                extra: *mut *mut c_void,
            );
            fn hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(
                blocks: *mut c_int,
                function: Handle,
                block_size: c_int,
                dynamic_lds: usize,
            );
            optional:
            fn hipUserObjectCreate(
                object: *mut Handle,
                data: *mut c_void,
                destroy: Option<unsafe extern "C" fn(*mut c_void)>,
                references: c_uint,
                flags: c_uint,
            );
            fn hipGraphRetainUserObject(
                graph: Handle,
                object: Handle,
                count: c_uint,
                flags: c_uint,
            );
        }
    };
}
pub(crate) use for_each_function;

/// Where the fields that we read are in `hipDeviceProp_t`, of which there are two layouts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PropertiesLayout {
    pub(crate) total_memory: usize,
    pub(crate) clock_khz: usize,
    pub(crate) compute_units: usize,
    pub(crate) arch_name: usize,
}

/// Bytes given to the runtime for `hipDeviceProp_t`: beyond the larger layout's 1472.
pub(crate) const PROPERTIES_BYTES: usize = 4096;
/// Length of the two name fields, the first of which is at offset 0.
pub(crate) const PROPERTIES_NAME_BYTES: usize = 256;

/// `hipGetDevicePropertiesR0600`, since HIP 6.0.
pub(crate) const PROPERTIES_R0600: PropertiesLayout =
    PropertiesLayout { total_memory: 288, clock_khz: 348, compute_units: 388, arch_name: 1160 };

/// `hipGetDeviceProperties` before HIP 6.0, and by that plain name in later libraries.
pub(crate) const PROPERTIES_R0000: PropertiesLayout =
    PropertiesLayout { total_memory: 256, clock_khz: 308, compute_units: 336, arch_name: 396 };

/// `hipGetErrorName`, `hipGetErrorString`.
pub(crate) type TextFn = unsafe extern "C" fn(Status) -> *const c_char;
/// `hipGetDeviceProperties` of either layout.
pub(crate) type PropertiesFn = unsafe extern "C" fn(*mut c_void, c_int) -> Status;
