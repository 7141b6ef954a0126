//! The C API without kernels: devices, memory, streams, events, errors.

#![expect(clippy::undocumented_unsafe_blocks, reason = "each block calls the C API under test")]

mod support;

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::ptr::null_mut;
use std::sync::Mutex;

use hk_sim::HipError;
use hk_sim::capi::types::*;
use hk_sim::capi::*;
use support::*;

const NOT_READY: HipError = HipError::NOT_READY;
const INVALID: HipError = HipError::INVALID_VALUE;

/// Serialises the tests that look at the memory or the capture state of the whole process.
static ALONE: Mutex<()> = Mutex::new(());

fn alone() -> std::sync::MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

#[test]
fn devices_are_those_of_the_products() {
    unsafe {
        ok(hipInit(0));
        assert_eq!(hipInit(1), INVALID);
        assert!(get(|count| hipGetDeviceCount(count)) >= 2);
        for (name, arch, major_minor, units, lds) in [
            ("mi300x", "gfx942:sramecc+:xnack-", (9, 4), 304, 65_536),
            ("mi355x", "gfx950:sramecc+:xnack-", (9, 5), 256, 163_840),
        ] {
            use_product(name);
            let device = get(|device| hipGetDevice(device));
            assert_eq!(get(|handle| hipDeviceGet(handle, device)), device);
            let prop = get(|prop| hipGetDevicePropertiesR0600(prop, device));
            let target = CStr::from_ptr(prop.gcn_arch_name.as_ptr());
            assert_eq!(target.to_str(), Ok(arch));
            assert_eq!((prop.major, prop.minor), major_minor);
            assert_eq!((prop.multi_processor_count, prop.shared_mem_per_block), (units, lds));
            let (mut major, mut minor) = (0, 0);
            ok(hipDeviceComputeCapability(&mut major, &mut minor, device));
            assert_eq!((major, minor), major_minor);
            let total = get(|bytes| hipDeviceTotalMem(bytes, device));
            assert_eq!(total, prop.total_global_mem);
            let warp = get(|value| hipDeviceGetAttribute(value, 87, device));
            assert_eq!(warp, 64);
            let mut text = [0 as c_char; 64];
            ok(hipDeviceGetName(text.as_mut_ptr(), 8, device));
            assert_eq!(CStr::from_ptr(text.as_ptr()).to_str(), Ok("AMD Ins"));
            ok(hipDeviceGetPCIBusId(text.as_mut_ptr(), 64, device));
            assert_eq!(get(|found| hipDeviceGetByPCIBusId(found, text.as_ptr())), device);
        }
        for call in [hipSetDevice(99), hipSetDevice(-1)] {
            assert_eq!(call, HipError::INVALID_DEVICE);
        }
        assert_eq!(hipDeviceGetAttribute(null_mut(), 87, 0), INVALID);
        assert_eq!(hk_sim::device_ordinal("h100"), None);
    }
}

#[test]
fn the_old_structure_is_not_overrun() {
    unsafe {
        let mut memory = [0x5au8; 1472];
        ok(hipGetDeviceProperties(memory.as_mut_ptr().cast(), 0));
        assert!(memory[792..].iter().all(|byte| *byte == 0x5a));
        assert_ne!(memory[788..792], [0x5a; 4]);
        let new: HipDevicePropR0600 = get(|prop| hipGetDevicePropertiesR0600(prop, 0));
        assert_eq!(memory[256..264], new.total_global_mem.to_le_bytes());
        assert_eq!(memory[276..280], 64i32.to_le_bytes());
    }
}

#[test]
fn entry_points_by_name_and_version() {
    unsafe {
        let find = |name: &CStr, version| {
            let mut function = null_mut();
            let mut status = -1;
            let error = hipGetProcAddress(name.as_ptr(), &mut function, version, 0, &mut status);
            (error, function.cast_const(), status)
        };
        let success = HipError::SUCCESS;
        let malloc = hipMalloc as *const c_void;
        assert_eq!(find(c"hipMalloc", 600), (success, malloc, 0));
        let old = hipGetDeviceProperties as *const c_void;
        let new = hipGetDevicePropertiesR0600 as *const c_void;
        assert_eq!(find(c"hipGetDeviceProperties", 504), (success, old, 0));
        assert_eq!(find(c"hipGetDeviceProperties", 600), (success, new, 0));
        let name = hipGetErrorName as *const c_void;
        assert_eq!(find(c"hipGetErrorName", 600), (success, name, 0));
        assert_eq!(find(c"hipNoSuchThing", 600), (INVALID, std::ptr::null(), 1));
    }
}

#[test]
fn errors_are_kept_until_they_are_read() {
    unsafe {
        assert_eq!(hipMalloc(null_mut(), 16), INVALID);
        ok(hipSetDevice(0));
        assert_eq!(hipPeekAtLastError(), INVALID);
        assert_eq!(hipGetLastError(), INVALID);
        assert_eq!(hipGetLastError(), HipError::SUCCESS);
        // The older form is of the last call alone, and knows it if that succeeded.
        assert_eq!(hipMalloc(null_mut(), 16), INVALID);
        assert_eq!([hipExtGetLastError(), hipExtGetLastError()], [INVALID, HipError::SUCCESS]);
        assert_eq!(hipMalloc(null_mut(), 16), INVALID);
        ok(hipSetDevice(0));
        assert_eq!(hipExtGetLastError(), HipError::SUCCESS);
        assert_eq!(hipGetLastError(), INVALID);
        let text = CStr::from_ptr(hipGetErrorString(INVALID));
        assert_eq!(text.to_str(), Ok("invalid argument"));
        let name = get(|text| hipDrvGetErrorName(HipError(709), text));
        assert_eq!(CStr::from_ptr(name).to_str(), Ok("hipErrorContextIsDestroyed"));
        let mut text = null_mut::<c_char>().cast_const();
        assert_eq!(hipDrvGetErrorName(HipError(12_345), &mut text), INVALID);
    }
}

#[test]
fn memory_is_counted_and_limited() {
    let _alone = alone();
    unsafe {
        use_product("mi300x");
        let info = || {
            let (mut free, mut total) = (0, 0);
            ok(hipMemGetInfo(&mut free, &mut total));
            (free, total)
        };
        let (before, total) = info();
        assert_eq!(total, 192 << 30);
        let buffer: *mut c_void = get(|pointer| hipMalloc(pointer, 10_000));
        assert_eq!(info().0, before - 12_288);
        assert_eq!(buffer as usize % 4096, 0);
        let mut none = buffer;
        ok(hipMalloc(&mut none, 0));
        assert!(none.is_null());
        assert_eq!(hipMalloc(&mut none, total + 1), HipError::OUT_OF_MEMORY);
        assert_eq!(hipFree(buffer.wrapping_byte_add(64)), INVALID);
        free(buffer);
        assert_eq!(hipFree(buffer), INVALID);
        ok(hipFree(null_mut()));
        assert_eq!(info().0, before);
    }
}

#[test]
fn copies_stay_inside_their_allocations() {
    unsafe {
        use_product("mi325x");
        let values: Vec<u32> = (0..1000).collect();
        let a = upload(&values);
        let b: *mut c_void = get(|pointer| hipMalloc(pointer, 4000));
        ok(hipMemcpyDtoD(b, a, 4000));
        assert_eq!(download::<u32>(b, 1000), values);
        assert_eq!(hipMemcpyDtoD(b, a, 4001), INVALID);
        assert_eq!(hipMemcpyDtoD(b.byte_add(4), a, 4000), INVALID);
        let mut host = vec![0u32; 2000];
        let out = host.as_mut_ptr().cast::<c_void>();
        assert_eq!(hipMemcpyDtoH(out, b, 8000), INVALID);
        // The device side of a copy has to be memory that the runtime gave.
        assert_eq!(hipMemcpyHtoD(out, a, 16), INVALID);
        assert_eq!(hipMemcpy(out, a, 16, 77), HipError::INVALID_MEMCPY_DIRECTION);
        assert_eq!(hipMemcpy(null_mut(), a, 16, 2), INVALID);
        // The direction is found from the pointers.
        ok(hipMemcpy(out, b.byte_add(400), 400, 4));
        assert_eq!(host[..100], values[100..200]);
        ok(hipMemcpy(out, null_mut(), 0, 2));
        free(a);
        assert_eq!(hipMemcpyDtoH(out, a, 4), INVALID);
        free(b);
    }
}

#[test]
fn fills_write_elements_of_their_size() {
    unsafe {
        use_product("mi355x");
        let buffer: *mut c_void = get(|pointer| hipMalloc(pointer, 64));
        ok(hipMemset(buffer, 0x1ab, 64));
        assert_eq!(download::<u8>(buffer, 64), [0xab; 64]);
        ok(hipMemsetD16(buffer.byte_add(2), 0x1234, 3));
        ok(hipMemsetD32(buffer.byte_add(9), -2, 2));
        let bytes = download::<u8>(buffer, 64);
        assert_eq!(bytes[..9], [0xab, 0xab, 0x34, 0x12, 0x34, 0x12, 0x34, 0x12, 0xab]);
        assert_eq!(bytes[9..18], [0xfe, 0xff, 0xff, 0xff, 0xfe, 0xff, 0xff, 0xff, 0xab]);
        assert_eq!(hipMemsetD32(buffer, 0, 17), INVALID);
        assert_eq!(hipMemsetD32(buffer, 0, usize::MAX), INVALID);
        let stream = stream();
        ok(hipMemsetAsync(buffer, 0, 64, stream));
        ok(hipStreamSynchronize(stream));
        assert_eq!(download::<u64>(buffer, 8), [0; 8]);
        ok(hipStreamDestroy(stream));
        free(buffer);
    }
}

#[test]
fn rows_are_copied_with_their_pitches() {
    unsafe {
        use_product("mi325x");
        let (mut rows, mut pitch) = (null_mut(), 0);
        ok(hipMallocPitch(&mut rows, &mut pitch, 300, 5));
        assert_eq!(pitch, 512);
        let host: Vec<u8> = (0..5 * 310).map(|i| (i % 251) as u8).collect();
        ok(hipMemcpy2D(rows, pitch, host.as_ptr().cast(), 310, 300, 5, 1));
        let mut back = vec![0u8; 5 * 300];
        let parameters = HipMemcpy2D {
            src_x_in_bytes: 1,
            src_y: 1,
            src_memory_type: 2,
            src_host: null_mut(),
            src_device: rows,
            src_array: null_mut(),
            src_pitch: pitch,
            dst_x_in_bytes: 2,
            dst_y: 0,
            dst_memory_type: 1,
            dst_host: back.as_mut_ptr().cast(),
            dst_device: null_mut(),
            dst_array: null_mut(),
            dst_pitch: 300,
            width_in_bytes: 200,
            height: 4,
        };
        ok(hipMemcpyParam2D(&parameters));
        for row in 0..4 {
            assert_eq!(back[row * 300 + 2..][..200], host[(row + 1) * 310 + 1..][..200]);
        }
        let narrow = hipMemcpy2D(rows, 200, host.as_ptr().cast(), 310, 300, 5, 1);
        assert_eq!(narrow, HipError::INVALID_PITCH_VALUE);
        assert_eq!(hipMemcpy2D(rows, pitch, host.as_ptr().cast(), 310, 300, 6, 1), INVALID);
        ok(hipMemset2D(rows, pitch, 7, 10, 5));
        let bytes = download::<u8>(rows, 512);
        assert_eq!((bytes[9], bytes[10]), (7, host[10]));
        free(rows);
    }
}

#[test]
fn pointers_tell_what_they_are() {
    unsafe {
        use_product("mi355x");
        let device = get(|device| hipGetDevice(device));
        let buffer: *mut c_void = get(|pointer| hipMalloc(pointer, 4096));
        let pinned: *mut c_void = get(|pointer| hipHostMalloc(pointer, 100, 2));
        let managed: *mut c_void = get(|pointer| hipMallocManaged(pointer, 100, 1));
        let kind = |pointer: *mut c_void| {
            let found = get(|found| hipPointerGetAttributes(found, pointer));
            (found.kind, found.device, !found.host_pointer.is_null(), found.is_managed)
        };
        assert_eq!(kind(buffer.byte_add(4095)), (HipMemoryType::Device, device, false, 0));
        assert_eq!(kind(pinned.byte_add(99)), (HipMemoryType::Host, device, true, 0));
        assert_eq!(kind(managed), (HipMemoryType::Managed, device, true, 1));
        let mut attributes = std::mem::MaybeUninit::<HipPointerAttribute>::uninit();
        let local = 0u32;
        let unknown = hipPointerGetAttributes(attributes.as_mut_ptr(), (&raw const local).cast());
        assert_eq!(unknown, INVALID);
        assert_eq!(attributes.assume_init().kind, HipMemoryType::Unregistered);
        let nothing = get(|found| hipPointerGetAttributes(found, std::ptr::null()));
        assert_eq!(nothing.kind, HipMemoryType::Unregistered);
        let (mut base, mut size) = (null_mut(), 0);
        ok(hipMemGetAddressRange(&mut base, &mut size, buffer.byte_add(123)));
        assert_eq!((base, size), (buffer, 4096));
        assert_eq!(get(|device| hipHostGetDevicePointer(device, pinned, 0)), pinned);
        assert_eq!(get(|flags| hipHostGetFlags(flags, pinned)), 2);
        assert_eq!(hipFree(pinned), INVALID);
        assert_eq!(hipHostFree(buffer), INVALID);
        ok(hipHostFree(pinned));
        free(managed);
        free(buffer);
    }
}

#[test]
fn host_memory_is_registered_once() {
    unsafe {
        use_product("mi355x");
        let mut host = vec![1u64; 1024];
        let start = host.as_mut_ptr().cast::<c_void>();
        ok(hipHostRegister(start, 8192, 0));
        let again = hipHostRegister(start.byte_add(8), 8, 0);
        assert_eq!(again, HipError::HOST_MEMORY_ALREADY_REGISTERED);
        // Copies are checked against the registered range.
        let buffer = upload(&host);
        assert_eq!(hipMemcpy(start.byte_add(8), buffer, 8192, 2), INVALID);
        ok(hipHostUnregister(start));
        assert_eq!(hipHostUnregister(start), HipError::HOST_MEMORY_NOT_REGISTERED);
        free(buffer);
    }
}

/// What the callbacks of a test saw.
#[derive(Default)]
struct Log(Mutex<Vec<u32>>);

struct Entry<'a> {
    log: &'a Log,
    number: u32,
    delay_ms: u64,
}

unsafe extern "C" fn note(data: *mut c_void) {
    // SAFETY: the tests pass entries that outlive the stream's work.
    let entry = unsafe { &*data.cast::<Entry<'_>>() };
    std::thread::sleep(std::time::Duration::from_millis(entry.delay_ms));
    entry.log.0.lock().expect("no test panics with the lock").push(entry.number);
}

unsafe extern "C" fn note_status(_stream: HipStream, status: HipError, data: *mut c_void) {
    assert_eq!(status, HipError::SUCCESS);
    // SAFETY: as in `note`.
    unsafe { note(data) }
}

#[test]
fn streams_keep_order_and_events_connect_them() {
    unsafe {
        use_product("mi325x");
        let log = Log::default();
        let entry = |number, delay_ms| Entry { log: &log, number, delay_ms };
        let entries = [entry(1, 60), entry(2, 0), entry(3, 0)];
        let data = |index: usize| (&raw const entries[index]).cast_mut().cast();
        let (a, b) = (stream(), stream());
        let event = get(|event| hipEventCreate(event));
        ok(hipEventQuery(event));
        ok(hipLaunchHostFunc(a, Some(note), data(0)));
        ok(hipStreamAddCallback(a, Some(note_status), data(1), 0));
        ok(hipEventRecord(event, a));
        ok(hipStreamWaitEvent(b, event, 0));
        ok(hipLaunchHostFunc(b, Some(note), data(2)));
        assert_eq!(hipStreamQuery(b), NOT_READY);
        assert_eq!(hipEventQuery(event), NOT_READY);
        ok(hipStreamSynchronize(b));
        assert_eq!(*log.0.lock().expect("not poisoned"), [1, 2, 3]);
        ok(hipStreamQuery(a));
        ok(hipEventSynchronize(event));
        assert_eq!(hipLaunchHostFunc(a, None, null_mut()), INVALID);
        ok(hipEventDestroy(event));
        assert_eq!(hipEventDestroy(event), HipError::INVALID_HANDLE);
        for stream in [a, b] {
            ok(hipStreamDestroy(stream));
            assert_eq!(hipStreamSynchronize(stream), HipError::CONTEXT_IS_DESTROYED);
        }
        assert_eq!(hipStreamDestroy(null_mut()), HipError::INVALID_HANDLE);
    }
}

#[test]
fn the_null_stream_orders_blocking_streams_only() {
    // The devices of other tests' null streams do not matter: this product is used here alone.
    unsafe {
        use_product("mi350x");
        let log = Log::default();
        let entries: Vec<_> = [50, 0, 0, 0]
            .into_iter()
            .zip(1..)
            .map(|(delay_ms, number)| Entry { log: &log, number, delay_ms })
            .collect();
        let data = |index: usize| (&raw const entries[index]).cast_mut().cast();
        let mut blocking = null_mut();
        ok(hipStreamCreate(&mut blocking));
        let free = stream();
        ok(hipLaunchHostFunc(blocking, Some(note), data(0)));
        ok(hipLaunchHostFunc(null_mut(), Some(note), data(1)));
        ok(hipLaunchHostFunc(blocking, Some(note), data(2)));
        ok(hipLaunchHostFunc(free, Some(note), data(3)));
        ok(hipStreamSynchronize(free));
        assert_eq!(*log.0.lock().expect("not poisoned"), [4]);
        ok(hipDeviceSynchronize());
        assert_eq!(*log.0.lock().expect("not poisoned"), [4, 1, 2, 3]);
        // The stream of the thread is an ordered one too, and another than the null stream.
        let per_thread = 2 as HipStream;
        ok(hipStreamSynchronize(per_thread));
        assert_eq!(get(|flags| hipStreamGetFlags(per_thread, flags)), 0);
        // The null stream is not done before the blocking one is.
        ok(hipStreamQuery(null_mut()));
        let held = log.0.lock().expect("not poisoned");
        ok(hipLaunchHostFunc(blocking, Some(note), data(1)));
        assert_eq!(hipStreamQuery(null_mut()), NOT_READY);
        drop(held);
        ok(hipStreamSynchronize(blocking));
        ok(hipStreamQuery(null_mut()));
        // Nor does it take work that would wait for a capture.
        ok(hipStreamBeginCapture(blocking, 2));
        let mut state = -1;
        let refused = hipStreamIsCapturing(null_mut(), &mut state);
        assert_eq!((refused, state), (HipError::STREAM_CAPTURE_IMPLICIT, -1));
        assert_eq!(get(|state| hipStreamIsCapturing(blocking, state)), 1);
        let refused = hipMallocAsync(&mut null_mut(), 16, null_mut());
        assert_eq!(refused, HipError::STREAM_CAPTURE_IMPLICIT);
        let lost = HipError::STREAM_CAPTURE_INVALIDATED;
        assert_eq!(hipStreamEndCapture(blocking, &mut null_mut()), lost);
        for stream in [blocking, free] {
            ok(hipStreamDestroy(stream));
        }
    }
}

#[test]
fn the_device_waits_for_destroyed_streams() {
    unsafe {
        use_product("mi355x");
        let log = Log::default();
        let entries = [1, 2].map(|number| Entry { log: &log, number, delay_ms: 30 });
        for entry in &entries {
            let stream = stream();
            ok(hipLaunchHostFunc(stream, Some(note), (&raw const *entry).cast_mut().cast()));
            ok(hipStreamDestroy(stream));
        }
        ok(hipDeviceSynchronize());
        let mut seen = log.0.lock().expect("not poisoned").clone();
        seen.sort_unstable();
        assert_eq!(seen, [1, 2]);
    }
}

#[test]
fn events_measure_time() {
    unsafe {
        use_product("mi355x");
        let stream = stream();
        let log = Log::default();
        let entry = Entry { log: &log, number: 1, delay_ms: 30 };
        let (start, stop) = (get(|e| hipEventCreate(e)), get(|e| hipEventCreate(e)));
        let mut ms = -1.0;
        assert_eq!(hipEventElapsedTime(&mut ms, start, stop), HipError::INVALID_HANDLE);
        ok(hipEventRecord(start, stream));
        ok(hipLaunchHostFunc(stream, Some(note), (&raw const entry).cast_mut().cast()));
        ok(hipEventRecord(stop, stream));
        assert_eq!(hipEventElapsedTime(&mut ms, start, stop), NOT_READY);
        ok(hipEventSynchronize(stop));
        ok(hipEventElapsedTime(&mut ms, start, stop));
        assert!((30.0..20_000.0).contains(&ms), "{ms} ms");
        ok(hipEventElapsedTime(&mut ms, stop, start));
        assert!(ms <= -30.0);
        let untimed = get(|event| hipEventCreateWithFlags(event, 2));
        ok(hipEventRecord(untimed, stream));
        ok(hipEventSynchronize(untimed));
        let refused = hipEventElapsedTime(&mut ms, start, untimed);
        assert_eq!(refused, HipError::INVALID_HANDLE);
        // An event and a stream of different devices do not go together.
        use_product("mi300x");
        assert_eq!(hipEventRecord(start, null_mut()), HipError::INVALID_HANDLE);
        ok(hipStreamDestroy(stream));
    }
}

#[test]
fn memory_is_freed_in_stream_order() {
    let _alone = alone();
    unsafe {
        use_product("mi300x");
        let stream = stream();
        let log = Log::default();
        let entry = Entry { log: &log, number: 1, delay_ms: 30 };
        // So large that what other tests allocate meanwhile does not come to lie in its middle.
        const SIZE: usize = 64 << 20;
        let buffer: *mut c_void = get(|pointer| hipMallocAsync(pointer, SIZE, stream));
        let middle = buffer.byte_add(SIZE / 2);
        ok(hipLaunchHostFunc(stream, Some(note), (&raw const entry).cast_mut().cast()));
        ok(hipMemsetAsync(buffer, 1, 4096, stream));
        ok(hipFreeAsync(buffer, stream));
        // It is still there while the stream has not come to the free.
        let mut size = 0;
        ok(hipMemGetAddressRange(null_mut(), &mut size, middle));
        ok(hipStreamSynchronize(stream));
        let gone = hipMemGetAddressRange(null_mut(), &mut size, middle);
        assert_eq!(gone, HipError::NOT_FOUND);
        assert_eq!(hipFreeAsync(buffer, stream), INVALID);
        ok(hipStreamDestroy(stream));
    }
}

#[test]
fn a_captured_graph_repeats_its_work() {
    let _alone = alone();
    unsafe {
        use_product("mi325x");
        let (a, b) = (stream(), stream());
        let source: *mut c_void = upload(&[1u32, 2, 3, 4]);
        let target: *mut c_void = upload(&[0u32; 4]);
        let event = get(|event| hipEventCreate(event));
        let back = get(|event| hipEventCreate(event));
        ok(hipStreamBeginCapture(a, 2));
        assert_eq!(get(|state| hipStreamIsCapturing(a, state)), 1);
        ok(hipMemcpyAsync(target, source, 16, 3, a));
        ok(hipEventRecord(event, a));
        assert_eq!(hipEventSynchronize(event), HipError::CAPTURED_EVENT);
        ok(hipStreamWaitEvent(b, event, 0));
        ok(hipMemsetD32Async(target, 9, 1, b));
        ok(hipEventRecord(back, b));
        ok(hipStreamWaitEvent(a, back, 0));
        let mut graph = null_mut();
        assert_eq!(hipStreamEndCapture(b, &mut graph), HipError::STREAM_CAPTURE_UNMATCHED);
        ok(hipStreamEndCapture(a, &mut graph));
        assert_eq!(get(|state| hipStreamIsCapturing(b, state)), 0);
        assert_eq!(get(|count| hipGraphGetNodes(graph, null_mut(), count)), 2);
        // Nothing was done yet.
        assert_eq!(download::<u32>(target, 4), [0; 4]);
        let executable = get(|exec| hipGraphInstantiate(exec, graph, null_mut(), null_mut(), 0));
        ok(hipGraphDestroy(graph));
        for first in [5u32, 6] {
            ok(hipMemcpy(source.byte_add(4), (&raw const first).cast(), 4, 1));
            ok(hipGraphLaunch(executable, b));
            ok(hipStreamSynchronize(b));
            assert_eq!(download::<u32>(target, 4), [9, first, 3, 4]);
        }
        ok(hipGraphExecDestroy(executable));
        assert_eq!(hipGraphLaunch(executable, b), INVALID);
        for stream in [a, b] {
            ok(hipStreamDestroy(stream));
        }
    }
}

#[test]
fn an_event_of_an_ended_capture_is_nothing_to_wait_for() {
    let _alone = alone();
    unsafe {
        use_product("mi325x");
        let (a, b) = (stream(), stream());
        let target: *mut c_void = upload(&[0u32; 4]);
        let event = get(|event| hipEventCreate(event));
        ok(hipStreamBeginCapture(a, 2));
        ok(hipMemsetD32Async(target, 1, 4, a));
        ok(hipEventRecord(event, a));
        ok(hipGraphDestroy(get(|graph| hipStreamEndCapture(a, graph))));
        assert_eq!(hipStreamWaitEvent(b, event, 0), HipError::CAPTURED_EVENT);
        // The stream goes on as before.
        assert_eq!(get(|state| hipStreamIsCapturing(b, state)), 0);
        ok(hipMemsetD32Async(target, 2, 4, b));
        ok(hipStreamSynchronize(b));
        assert_eq!(download::<u32>(target, 4), [2; 4]);
        // A capture that waits for it is lost.
        ok(hipStreamBeginCapture(b, 2));
        assert_eq!(hipStreamWaitEvent(b, event, 0), HipError::CAPTURED_EVENT);
        let lost = HipError::STREAM_CAPTURE_INVALIDATED;
        assert_eq!(hipStreamEndCapture(b, &mut null_mut()), lost);
        ok(hipEventRecord(event, a));
        ok(hipStreamWaitEvent(b, event, 0));
        ok(hipStreamSynchronize(b));
        ok(hipEventDestroy(event));
        for stream in [a, b] {
            ok(hipStreamDestroy(stream));
        }
        free(target);
    }
}

#[test]
fn the_null_stream_joins_no_capture() {
    let _alone = alone();
    unsafe {
        use_product("mi325x");
        let capturing = stream();
        let target: *mut c_void = upload(&[0u32; 4]);
        let event = get(|event| hipEventCreate(event));
        // By either handle.
        for legacy in [null_mut(), 1 as HipStream] {
            ok(hipStreamBeginCapture(capturing, 2));
            ok(hipMemsetD32Async(target, 1, 4, capturing));
            ok(hipEventRecord(event, capturing));
            let refused = hipStreamWaitEvent(legacy, event, 0);
            assert_eq!(refused, HipError::STREAM_CAPTURE_IMPLICIT);
            let lost = HipError::STREAM_CAPTURE_INVALIDATED;
            assert_eq!(hipStreamEndCapture(capturing, &mut null_mut()), lost);
            // It still does its work at once.
            ok(hipMemsetD32Async(target, 2, 4, legacy));
            ok(hipStreamSynchronize(legacy));
            assert_eq!(download::<u32>(target, 4), [2; 4]);
            ok(hipMemset(target, 0, 16));
        }
        ok(hipEventDestroy(event));
        ok(hipStreamDestroy(capturing));
        free(target);
    }
}

#[test]
fn a_capture_ends_where_all_its_streams_have_come_back() {
    let _alone = alone();
    unsafe {
        use_product("mi355x");
        let (a, b) = (stream(), stream());
        let target: *mut c_void = upload(&[0u32; 4]);
        let [to, back] = [(); 2].map(|()| get(|event| hipEventCreate(event)));
        // Whether the other stream has work of its own, and comes back.
        for (works, joins) in [(true, false), (true, true), (false, false)] {
            ok(hipStreamBeginCapture(a, 2));
            ok(hipMemsetD32Async(target, 1, 4, a));
            ok(hipEventRecord(to, a));
            ok(hipStreamWaitEvent(b, to, 0));
            if works {
                ok(hipMemsetD32Async(target, 2, 4, b));
            }
            ok(hipEventRecord(back, b));
            if joins {
                ok(hipStreamWaitEvent(a, back, 0));
            }
            ok(hipMemsetD32Async(target.byte_add(4), 3, 1, a));
            let mut graph = target;
            let ended = hipStreamEndCapture(a, &mut graph);
            if works && !joins {
                assert_eq!(ended, HipError::STREAM_CAPTURE_UNJOINED);
                assert!(graph.is_null());
            } else {
                ok(ended);
                ok(hipGraphDestroy(graph));
            }
            for stream in [a, b] {
                assert_eq!(get(|state| hipStreamIsCapturing(stream, state)), 0);
                ok(hipStreamSynchronize(stream));
            }
        }
        for event in [to, back] {
            ok(hipEventDestroy(event));
        }
        for stream in [a, b] {
            ok(hipStreamDestroy(stream));
        }
        free(target);
    }
}

#[test]
fn a_capture_forbids_no_allocation_in_the_order_of_another_stream() {
    let _alone = alone();
    unsafe {
        use_product("mi325x");
        let (capturing, other) = (stream(), stream());
        ok(hipStreamBeginCapture(capturing, 1));
        let buffer: *mut c_void = get(|pointer| hipMallocAsync(pointer, 16, other));
        ok(hipFreeAsync(buffer, other));
        let graph = get(|graph| hipStreamEndCapture(capturing, graph));
        assert_eq!(get(|count| hipGraphGetNodes(graph, null_mut(), count)), 0);
        ok(hipGraphDestroy(graph));
        ok(hipStreamSynchronize(other));
        for stream in [capturing, other] {
            ok(hipStreamDestroy(stream));
        }
    }
}

#[test]
fn questions_and_settings_end_a_capture() {
    let _alone = alone();
    unsafe {
        use_product("mi325x");
        let (capturing, other) = (stream(), stream());
        let event = get(|event| hipEventCreate(event));
        ok(hipEventRecord(event, other));
        ok(hipStreamSynchronize(other));
        let target: *mut c_void = get(|pointer| hipMallocManaged(pointer, 16, 1));
        let device = get(|device| hipGetDevice(device));
        let pool = get(|pool| hipDeviceGetDefaultMemPool(pool, device));
        let forbidden: [&dyn Fn() -> HipError; 7] = [
            &|| hipEventQuery(event),
            &|| hipEventSynchronize(event),
            &|| hipStreamQuery(other),
            &|| hipMemAdvise(target, 16, 1, device),
            &|| hipDeviceSetMemPool(device, pool),
            &|| hipDeviceSetCacheConfig(0),
            &|| hipDeviceSetSharedMemConfig(0),
        ];
        for (index, call) in forbidden.into_iter().enumerate() {
            ok(hipStreamBeginCapture(capturing, 1));
            assert_eq!(call(), HipError::STREAM_CAPTURE_UNSUPPORTED, "call {index}");
            let lost = HipError::STREAM_CAPTURE_INVALIDATED;
            assert_eq!(hipStreamEndCapture(capturing, &mut null_mut()), lost);
            // A relaxed one allows them.
            ok(hipStreamBeginCapture(capturing, 2));
            ok(call());
            ok(hipGraphDestroy(get(|graph| hipStreamEndCapture(capturing, graph))));
        }
        // A callback is given the stream's errors, which no graph has: whatever the mode.
        ok(hipStreamBeginCapture(capturing, 2));
        let refused = hipStreamAddCallback(capturing, Some(note_status), null_mut(), 0);
        assert_eq!(refused, HipError::STREAM_CAPTURE_UNSUPPORTED);
        let lost = HipError::STREAM_CAPTURE_INVALIDATED;
        assert_eq!(hipStreamEndCapture(capturing, &mut null_mut()), lost);
        ok(hipEventDestroy(event));
        free(target);
        for stream in [capturing, other] {
            ok(hipStreamDestroy(stream));
        }
    }
}

#[test]
fn a_forbidden_call_ends_a_capture() {
    let _alone = alone();
    unsafe {
        use_product("mi325x");
        let stream = stream();
        let mut graph = null_mut();
        ok(hipStreamBeginCapture(stream, 1));
        let mut pointer = null_mut();
        assert_eq!(hipMalloc(&mut pointer, 16), HipError::STREAM_CAPTURE_UNSUPPORTED);
        let lost = HipError::STREAM_CAPTURE_INVALIDATED;
        assert_eq!(hipStreamEndCapture(stream, &mut graph), lost);
        assert!(graph.is_null());
        // In the relaxed mode of the thread the same call is allowed.
        ok(hipStreamBeginCapture(stream, 1));
        let mut mode = 2;
        ok(hipThreadExchangeStreamCaptureMode(&mut mode));
        assert_eq!(mode, 0);
        let buffer: *mut c_void = get(|pointer| hipMalloc(pointer, 16));
        ok(hipThreadExchangeStreamCaptureMode(&mut mode));
        ok(hipStreamEndCapture(stream, &mut graph));
        ok(hipGraphDestroy(graph));
        free(buffer);
        // The null stream cannot be captured, and the legacy stream waits for none.
        let refused = hipStreamBeginCapture(null_mut(), 2);
        assert_eq!(refused, HipError::STREAM_CAPTURE_UNSUPPORTED);
        assert_eq!(hipStreamEndCapture(stream, &mut graph), HipError::ILLEGAL_STATE);
        ok(hipStreamDestroy(stream));
    }
}

#[test]
fn contexts_are_devices() {
    unsafe {
        use_product("mi325x");
        let first = get(|context| hipCtxGetCurrent(context));
        let ordinal = hk_sim::device_ordinal("mi355x").expect("a product");
        let second = get(|context| hipDevicePrimaryCtxRetain(context, ordinal));
        ok(hipCtxPushCurrent(second));
        assert_eq!(get(|device| hipCtxGetDevice(device)), ordinal);
        assert_eq!(get(|context| hipCtxPopCurrent(context)), second);
        assert_eq!(get(|context| hipCtxGetCurrent(context)), first);
        let mut active: c_int = 0;
        ok(hipDevicePrimaryCtxGetState(ordinal, &mut 0, &mut active));
        assert_eq!(active, 1);
        ok(hipDevicePrimaryCtxRelease(ordinal));
        assert_eq!(hipCtxSetCurrent(1 as HipCtx), HipError::INVALID_CONTEXT);
    }
}

#[test]
fn modules_that_do_not_load_say_why() {
    unsafe {
        use_product("mi355x");
        let mut module = null_mut();
        let missing = CString::new("/no/such/file.hsaco").expect("no zero");
        let error = hipModuleLoad(&mut module, missing.as_ptr());
        assert_eq!(error, HipError::FILE_NOT_FOUND);
        let garbage = [0x41u8; 64];
        let error = hipModuleLoadData(&mut module, garbage.as_ptr().cast());
        assert_eq!(error, HipError::INVALID_IMAGE);
        let message = hk_sim::last_message().expect("a reason");
        assert!(message.contains("41, 41, 41, 41"), "{message}");
        assert_eq!(hipModuleLoadData(&mut module, null_mut()), INVALID);
        assert_eq!(hipModuleUnload(garbage.as_ptr() as HipModule), HipError::INVALID_HANDLE);
    }
}

/// An attribute of a pool that has 64 bits.
unsafe fn pool_bytes(pool: HipMemPool, attribute: c_int) -> u64 {
    get(|value: *mut u64| unsafe { hipMemPoolGetAttribute(pool, attribute, value.cast()) })
}

#[test]
fn memory_comes_from_pools() {
    const REUSE: c_int = 1;
    const THRESHOLD: c_int = 4;
    const RESERVED: c_int = 5;
    const USED: c_int = 7;
    const PEAK: c_int = 8;
    let _alone = alone();
    unsafe {
        use_product("mi325x");
        let device = get(|device| hipGetDevice(device));
        assert_eq!(get(|value| hipDeviceGetAttribute(value, 88, device)), 1);
        let default = get(|pool| hipDeviceGetDefaultMemPool(pool, device));
        assert_eq!(get(|pool| hipDeviceGetMemPool(pool, device)), default);
        assert_eq!(hipMemPoolDestroy(default), INVALID);
        assert_eq!(hipDeviceGetDefaultMemPool(null_mut(), device), INVALID);

        let props = pool_props(device);
        let pool = get(|pool| hipMemPoolCreate(pool, &props));
        let exported = HipMemPoolProps { handle_types: 1, ..props };
        let mut none = null_mut();
        assert_eq!(hipMemPoolCreate(&mut none, &exported), HipError::NOT_SUPPORTED);

        // Settings are kept, with the type of each.
        let (mut off, mut all) = (0i32, u64::MAX);
        ok(hipMemPoolSetAttribute(pool, REUSE, (&raw mut off).cast()));
        ok(hipMemPoolSetAttribute(pool, THRESHOLD, (&raw mut all).cast()));
        let reuse: i32 = get(|value: *mut i32| hipMemPoolGetAttribute(pool, REUSE, value.cast()));
        assert_eq!((reuse, pool_bytes(pool, THRESHOLD)), (0, u64::MAX));
        for (attribute, value) in [(0, &raw mut all), (9, &raw mut all), (USED, &raw mut all)] {
            assert_eq!(hipMemPoolSetAttribute(pool, attribute, value.cast()), INVALID);
        }

        // Allocations are accounted to the pool that they come from.
        let stream = stream();
        let first: *mut c_void = get(|p| hipMallocFromPoolAsync(p, 5000, pool, stream));
        ok(hipDeviceSetMemPool(device, pool));
        let second: *mut c_void = get(|p| hipMallocAsync(p, 300, stream));
        assert_eq!((pool_bytes(pool, USED), pool_bytes(pool, RESERVED)), (5300, 5300));
        assert_eq!(pool_bytes(default, USED), 0);
        ok(hipMemsetAsync(first, 7, 5000, stream));
        let mut byte = 0u8;
        ok(hipMemcpyAsync((&raw mut byte).cast(), first, 1, 2, stream));
        ok(hipFreeAsync(first, stream));
        ok(hipStreamSynchronize(stream));
        assert_eq!((byte, pool_bytes(pool, USED), pool_bytes(pool, PEAK)), (7, 300, 5300));
        let mut zero = 0u64;
        ok(hipMemPoolSetAttribute(pool, PEAK, (&raw mut zero).cast()));
        assert_eq!(pool_bytes(pool, PEAK), 300);
        ok(hipMemPoolTrimTo(pool, 0));

        // A pool belongs to one device; others can be given access.
        let other = hk_sim::device_ordinal("mi350x").unwrap();
        assert_eq!(hipDeviceSetMemPool(other, pool), HipError::INVALID_DEVICE);
        let mut of_other = HipMemLocation { kind: 1, id: other };
        assert_eq!(get(|flags| hipMemPoolGetAccess(flags, pool, &mut of_other)), 0);
        let access = HipMemAccessDesc { location: of_other, flags: 3 };
        ok(hipMemPoolSetAccess(pool, &access, 1));
        assert_eq!(get(|flags| hipMemPoolGetAccess(flags, pool, &mut of_other)), 3);
        ok(hipSetDevice(other));
        ok(hipDeviceDisablePeerAccess(device));
        ok(hipSetDevice(device));

        // What was allocated outlives the pool; the device goes back to its own.
        ok(hipMemPoolDestroy(pool));
        assert_eq!(hipMemPoolTrimTo(pool, 0), INVALID);
        assert_eq!(get(|pool| hipDeviceGetMemPool(pool, device)), default);
        ok(hipMemset(second, 1, 300));
        ok(hipFreeAsync(second, stream));
        ok(hipStreamDestroy(stream));
    }
}

#[test]
fn stream_ordered_memory_is_of_the_streams_device() {
    let _alone = alone();
    unsafe {
        use_product("mi300x");
        let device = get(|device| hipGetDevice(device));
        let stream = stream();
        use_product("mi355x");
        let buffer: *mut c_void = get(|p| hipMallocAsync(p, 64, stream));
        assert_eq!(get(|attributes| hipPointerGetAttributes(attributes, buffer)).device, device);
        ok(hipFreeAsync(buffer, stream));
        ok(hipStreamDestroy(stream));
    }
}
