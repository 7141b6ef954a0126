//! The programs.

use std::ffi::c_int;
use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicBool, Ordering};

use hk_sim::HipError;
use hk_sim::capi::types::HipMemsetParams;
use hk_sim::capi::*;

use super::support::*;
use super::{BYTES, COUNT, Pointer, World, sleep};

const H2D: c_int = 1;
const D2H: c_int = 2;
const D2D: c_int = 3;
const NULL: Pointer = null_mut();

unsafe extern "C" fn raise_flag(data: Pointer) {
    // SAFETY: the program passes a flag that outlives the stream's work.
    unsafe { &*data.cast::<AtomicBool>() }.store(true, Ordering::Release);
}

fn element(buffer: Pointer, index: usize) -> Pointer {
    buffer.wrapping_byte_add(4 * index)
}

fn device_buffer() -> Pointer {
    upload(&[0u32; COUNT])
}

fn pinned() -> Pointer {
    get(|pointer| unsafe { hipHostMalloc(pointer, BYTES, 0) })
}

fn blocking_stream() -> Pointer {
    get(|stream| unsafe { hipStreamCreate(stream) })
}

/// Makes what is submitted to `to` from now on wait for what is in `from`.
fn connect(from: Pointer, to: Pointer) {
    unsafe {
        let event = get(|event| hipEventCreate(event));
        ok(hipEventRecord(event, from));
        ok(hipStreamWaitEvent(to, event, 0));
        ok(hipEventDestroy(event));
    }
}

/// A program: its name, what it does (in its wrong version if the flag is set), and the two
/// operations that are to be named.
pub(crate) type Case = (&'static str, fn(&World, bool), [&'static str; 2]);

pub(crate) const CASES: &[Case] = &[
    (
        "two kernels write",
        |w, wrong| {
            let a = device_buffer();
            w.fill(a, w.s[0]);
            w.fill(a, w.s[usize::from(wrong)]);
        },
        ["kernel fill", "kernel fill"],
    ),
    (
        "one kernel reads",
        |w, wrong| {
            let (a, b) = (device_buffer(), device_buffer());
            w.fill(a, w.s[0]);
            if !wrong {
                connect(w.s[0], w.s[1]);
            }
            w.copy(b, a, w.s[1]);
        },
        ["kernel fill", "kernel copy"],
    ),
    (
        "one kernel writes what another read",
        |w, wrong| {
            let (a, b) = (device_buffer(), device_buffer());
            w.copy(b, a, w.s[0]);
            if !wrong {
                ok(unsafe { hipStreamSynchronize(w.s[0]) });
            }
            w.fill(a, w.s[1]);
        },
        ["kernel copy", "kernel fill"],
    ),
    (
        "an event is recorded too early",
        |w, wrong| unsafe {
            let (a, b) = (device_buffer(), device_buffer());
            let event = get(|event| hipEventCreate(event));
            if wrong {
                ok(hipEventRecord(event, w.s[0]));
            }
            w.fill(a, w.s[0]);
            if !wrong {
                ok(hipEventRecord(event, w.s[0]));
            }
            ok(hipStreamWaitEvent(w.s[1], event, 0));
            w.copy(b, a, w.s[1]);
        },
        ["kernel fill", "kernel copy"],
    ),
    (
        "an event is recorded on the wrong stream",
        |w, wrong| unsafe {
            let (a, b) = (device_buffer(), device_buffer());
            let event = get(|event| hipEventCreate(event));
            w.fill(a, w.s[0]);
            ok(hipEventRecord(event, w.s[usize::from(wrong)]));
            ok(hipStreamWaitEvent(w.s[1], event, 0));
            w.copy(b, a, w.s[1]);
        },
        ["kernel fill", "kernel copy"],
    ),
    (
        "an event is waited for before it is recorded again",
        |w, wrong| unsafe {
            let (a, b) = (device_buffer(), device_buffer());
            let event = get(|event| hipEventCreate(event));
            ok(hipEventRecord(event, w.s[0]));
            if wrong {
                ok(hipStreamWaitEvent(w.s[1], event, 0));
            }
            w.fill(a, w.s[0]);
            ok(hipEventRecord(event, w.s[0]));
            if !wrong {
                ok(hipStreamWaitEvent(w.s[1], event, 0));
            }
            w.copy(b, a, w.s[1]);
        },
        ["kernel fill", "kernel copy"],
    ),
    (
        "three streams in a chain",
        |w, wrong| {
            let (a, b) = (device_buffer(), device_buffer());
            let middle = stream();
            w.fill(a, w.s[0]);
            connect(w.s[0], middle);
            if !wrong {
                connect(middle, w.s[1]);
            }
            w.copy(b, a, w.s[1]);
            ok(unsafe { hipStreamDestroy(middle) });
        },
        ["kernel fill", "kernel copy"],
    ),
    (
        "a copy from pinned memory",
        |w, wrong| unsafe {
            let (a, b, host) = (device_buffer(), device_buffer(), pinned());
            ok(hipMemcpyAsync(a, host, BYTES, H2D, w.s[0]));
            if !wrong {
                ok(hipStreamSynchronize(w.s[0]));
            }
            w.copy(b, a, w.s[1]);
        },
        ["copy of 256 bytes", "kernel copy"],
    ),
    (
        "a copy from pageable memory",
        |w, wrong| unsafe {
            let (a, b, host) = (device_buffer(), device_buffer(), [1u32; COUNT]);
            ok(hipMemcpyHtoDAsync(a, host.as_ptr().cast(), BYTES, w.s[0]));
            if !wrong {
                connect(w.s[0], w.s[1]);
            }
            w.copy(b, a, w.s[1]);
        },
        ["copy of 256 bytes", "kernel copy"],
    ),
    (
        "a copy to the host while a kernel writes",
        |w, wrong| unsafe {
            let (a, host) = (device_buffer(), pinned());
            ok(hipMemcpyAsync(host, a, BYTES, D2H, w.s[0]));
            if !wrong {
                let event = get(|event| hipEventCreate(event));
                ok(hipEventRecord(event, w.s[0]));
                ok(hipEventSynchronize(event));
            }
            w.fill(a, w.s[1]);
        },
        ["copy of 256 bytes", "kernel fill"],
    ),
    (
        "a result is copied before it is there",
        |w, wrong| unsafe {
            let (a, mut host) = (device_buffer(), [0u32; COUNT]);
            w.fill(a, w.s[0]);
            if !wrong {
                connect(w.s[0], w.s[1]);
            }
            ok(hipMemcpyAsync(host.as_mut_ptr().cast(), a, BYTES, D2H, w.s[1]));
        },
        ["kernel fill", "copy of 256 bytes"],
    ),
    (
        "a copy on the device and a fill",
        |w, wrong| unsafe {
            let (a, b) = (device_buffer(), device_buffer());
            ok(hipMemcpyAsync(b, a, BYTES, D2D, w.s[0]));
            if !wrong {
                ok(hipDeviceSynchronize());
            }
            ok(hipMemsetAsync(a, 1, BYTES, w.s[1]));
        },
        ["copy of 256 bytes", "fill of 256 bytes"],
    ),
    (
        "a fill and a kernel",
        |w, wrong| unsafe {
            let a = device_buffer();
            ok(hipMemsetD32Async(a, 1, COUNT, w.s[0]));
            while !wrong && hipStreamQuery(w.s[0]) == HipError::NOT_READY {
                std::thread::yield_now();
            }
            w.fill(a, w.s[1]);
        },
        ["fill of 256 bytes", "kernel fill"],
    ),
    (
        "a host buffer is used by two copies",
        |w, wrong| unsafe {
            let (a, b, host) = (device_buffer(), device_buffer(), pinned());
            let event = get(|event| hipEventCreate(event));
            ok(hipMemcpyAsync(host, a, BYTES, D2H, w.s[0]));
            ok(hipEventRecord(event, w.s[0]));
            while !wrong && hipEventQuery(event) == HipError::NOT_READY {
                std::thread::yield_now();
            }
            ok(hipMemcpyAsync(b, host, BYTES, H2D, w.s[1]));
        },
        ["copy of 256 bytes", "copy of 256 bytes"],
    ),
    (
        "rows beside each other",
        |w, wrong| unsafe {
            let (a, b) = (device_buffer(), device_buffer());
            let width = 16 + 4 * usize::from(wrong);
            ok(hipMemcpy2DAsync(a, 32, b, 32, width, 8, D2D, w.s[0]));
            ok(hipMemset2DAsync(a.wrapping_byte_add(16), 32, 1, 16, 8, w.s[1]));
        },
        ["copy of 160 bytes", "fill of 128 bytes"],
    ),
    (
        "parts of one buffer",
        |w, wrong| {
            let a = upload(&[0u32; 2 * COUNT]);
            w.fill(a, w.s[0]);
            w.fill(element(a, COUNT - usize::from(wrong)), w.s[1]);
        },
        ["kernel fill", "kernel fill"],
    ),
    (
        "a kernel and the null stream",
        |w, wrong| {
            let a = device_buffer();
            let own = if wrong { w.s[0] } else { blocking_stream() };
            w.fill(a, own);
            w.fill(a, NULL);
            w.fill(a, own);
        },
        ["kernel fill", "kernel fill"],
    ),
    (
        "a synchronous copy",
        |w, wrong| {
            let a = device_buffer();
            w.fill(a, if wrong { w.s[0] } else { blocking_stream() });
            let mut host = [0u32; COUNT];
            w.check(unsafe { hipMemcpy(host.as_mut_ptr().cast(), a, BYTES, D2H) });
        },
        ["kernel fill", "copy of 256 bytes"],
    ),
    (
        "the stream of the thread",
        |w, wrong| {
            let a = device_buffer();
            w.fill(a, 2 as Pointer);
            w.fill(a, if wrong { w.s[0] } else { 1 as Pointer });
        },
        ["kernel fill", "kernel fill"],
    ),
    (
        "the stream of a thread that ended",
        |w, wrong| {
            let a = device_buffer();
            let ordinal = w.ordinals[0];
            let (to, world) = (a as usize, w as *const World as usize);
            let thread = std::thread::spawn(move || unsafe {
                ok(hipSetDevice(ordinal));
                // The thread is joined before the world goes.
                let world = &*(world as *const World);
                ok(hipLaunchHostFunc(2 as Pointer, Some(sleep), null_mut()));
                world.fill(to as Pointer, 2 as Pointer);
            });
            thread.join().expect("it does not panic");
            w.fill(a, if wrong { w.s[0] } else { NULL });
        },
        ["kernel fill", "kernel fill"],
    ),
    (
        "a stream that was destroyed",
        |w, wrong| unsafe {
            let a = device_buffer();
            let own = if wrong { stream() } else { blocking_stream() };
            ok(hipLaunchHostFunc(own, Some(sleep), null_mut()));
            w.fill(a, own);
            ok(hipStreamDestroy(own));
            w.fill(a, NULL);
        },
        ["kernel fill", "kernel fill"],
    ),
    (
        "a free on another stream",
        |w, wrong| unsafe {
            let a = get(|pointer| hipMallocAsync(pointer, BYTES, w.s[0]));
            w.fill(a, w.s[0]);
            connect(w.s[0], w.s[1]);
            w.fill(a, w.s[0]);
            if !wrong {
                connect(w.s[0], w.s[1]);
            }
            ok(hipFreeAsync(a, w.s[1]));
        },
        ["kernel fill", "free"],
    ),
    (
        "a use before the allocation",
        |w, wrong| unsafe {
            let a = get(|pointer| hipMallocAsync(pointer, BYTES, w.s[0]));
            if !wrong {
                connect(w.s[0], w.s[1]);
            }
            w.fill(a, w.s[1]);
            connect(w.s[1], w.s[0]);
            ok(hipFreeAsync(a, w.s[0]));
        },
        ["allocation in stream order", "kernel fill"],
    ),
    (
        "memory that goes round",
        |w, wrong| unsafe {
            // A pool of the program: one block serves two streams in turn.
            let (block, b) = (device_buffer(), device_buffer());
            w.fill(block, w.s[0]);
            w.copy(b, block, w.s[0]);
            if !wrong {
                let event = get(|event| hipEventCreateWithFlags(event, 2));
                ok(hipEventRecord(event, w.s[0]));
                ok(hipStreamWaitEvent(w.s[1], event, 0));
            }
            ok(hipMemsetAsync(block, 0, BYTES, w.s[1]));
        },
        ["kernel fill", "fill of 256 bytes"],
    ),
    (
        "a free by the host while another device reads",
        |w, wrong| unsafe {
            let a = device_buffer();
            w.use_device(1);
            let b = device_buffer();
            ok(hipLaunchHostFunc(w.s[2], Some(sleep), null_mut()));
            w.copy_on(1, b, a, w.s[2]);
            if !wrong {
                ok(hipStreamSynchronize(w.s[2]));
            }
            w.use_device(0);
            w.check(hipFree(a));
        },
        ["kernel copy", "free"],
    ),
    (
        "two devices",
        |w, wrong| {
            let (a, host) = (device_buffer(), pinned());
            w.copy(host, a, w.s[0]);
            if !wrong {
                connect(w.s[0], w.s[2]);
            }
            w.use_device(1);
            w.copy_on(1, device_buffer(), host, w.s[2]);
            w.use_device(0);
        },
        ["kernel copy", "kernel copy"],
    ),
    (
        "a host function tells",
        |w, wrong| unsafe {
            let a = device_buffer();
            let flag: &AtomicBool = Box::leak(Box::new(AtomicBool::new(wrong)));
            ok(hipLaunchHostFunc(w.s[0], Some(sleep), null_mut()));
            w.fill(a, w.s[0]);
            let data = (&raw const *flag).cast_mut().cast();
            ok(hipLaunchHostFunc(w.s[0], Some(raise_flag), data));
            while !flag.load(Ordering::Acquire) {
                std::thread::yield_now();
            }
            w.fill(a, w.s[1]);
        },
        ["kernel fill", "kernel fill"],
    ),
    (
        "atomic operations",
        |w, wrong| {
            let a = device_buffer();
            w.add(a, w.s[0]);
            if wrong { w.fill(a, w.s[1]) } else { w.add(a, w.s[1]) }
        },
        ["kernel count", "kernel fill"],
    ),
    (
        "branches of a captured graph",
        |w, wrong| unsafe {
            let (a, b) = (device_buffer(), device_buffer());
            let mut graph = null_mut();
            ok(hipStreamBeginCapture(w.s[0], 2));
            w.fill(b, w.s[0]);
            connect(w.s[0], w.s[1]);
            w.fill(a, w.s[0]);
            if !wrong {
                connect(w.s[0], w.s[1]);
            }
            w.copy(b, a, w.s[1]);
            connect(w.s[1], w.s[0]);
            ok(hipStreamEndCapture(w.s[0], &mut graph));
            let executable = get(|exec| hipGraphInstantiateWithFlags(exec, graph, 0));
            ok(hipGraphLaunch(executable, w.s[0]));
            ok(hipGraphLaunch(executable, w.s[0]));
        },
        ["kernel fill", "kernel copy"],
    ),
    (
        "a graph among other work",
        |w, wrong| unsafe {
            let (a, b) = (device_buffer(), device_buffer());
            let mut graph = null_mut();
            ok(hipStreamBeginCapture(w.s[0], 2));
            w.fill(b, w.s[0]);
            w.copy(a, b, w.s[0]);
            ok(hipStreamEndCapture(w.s[0], &mut graph));
            let executable = get(|exec| hipGraphInstantiateWithFlags(exec, graph, 0));
            w.fill(a, w.s[1]);
            if !wrong {
                connect(w.s[1], w.s[0]);
            }
            ok(hipGraphLaunch(executable, w.s[0]));
            connect(w.s[0], w.s[1]);
            w.copy(b, a, w.s[1]);
        },
        ["kernel fill", "kernel copy"],
    ),
    (
        "a word tells the other stream",
        |w, wrong| unsafe {
            let (a, b, word) = (device_buffer(), device_buffer(), upload(&[0u32]));
            w.fill(a, w.s[0]);
            ok(hipStreamWriteValue32(w.s[0], word, 1, 0));
            if !wrong {
                ok(hipStreamWaitValue32(w.s[1], word, 1, 0, u32::MAX));
            }
            w.copy(b, a, w.s[1]);
        },
        ["kernel fill", "kernel copy"],
    ),
    (
        "an edge of a graph that is built by hand",
        |w, wrong| unsafe {
            let a = device_buffer();
            let fill = HipMemsetParams {
                dst: a,
                element_size: 4,
                height: 1,
                pitch: 0,
                value: 1,
                width: COUNT,
            };
            let graph = get(|graph| hipGraphCreate(graph, 0));
            let first = get(|node| hipGraphAddMemsetNode(node, graph, null(), 0, &fill));
            let edges = usize::from(!wrong);
            ok(hipGraphAddMemsetNode(&mut null_mut(), graph, &first, edges, &fill));
            let executable = get(|exec| hipGraphInstantiateWithFlags(exec, graph, 0));
            ok(hipGraphLaunch(executable, w.s[0]));
        },
        ["fill of 256 bytes", "fill of 256 bytes"],
    ),
    (
        "memory that a graph frees",
        |w, wrong| unsafe {
            let mut graph = null_mut();
            ok(hipStreamBeginCapture(w.s[0], 2));
            let a = get(|pointer| hipMallocAsync(pointer, BYTES, w.s[0]));
            w.fill(a, w.s[0]);
            connect(w.s[0], w.s[1]);
            w.fill(a, w.s[1]);
            if !wrong {
                connect(w.s[1], w.s[0]);
            }
            ok(hipFreeAsync(a, w.s[0]));
            connect(w.s[1], w.s[0]);
            ok(hipStreamEndCapture(w.s[0], &mut graph));
            let executable = get(|exec| hipGraphInstantiateWithFlags(exec, graph, 0));
            ok(hipGraphLaunch(executable, w.s[0]));
            ok(hipGraphLaunch(executable, w.s[0]));
        },
        ["kernel fill", "free"],
    ),
    (
        "memory that a graph leaves",
        |w, wrong| unsafe {
            let mut graph = null_mut();
            ok(hipStreamBeginCapture(w.s[0], 2));
            let a = get(|pointer| hipMallocAsync(pointer, BYTES, w.s[0]));
            ok(hipStreamEndCapture(w.s[0], &mut graph));
            let executable = get(|exec| hipGraphInstantiateWithFlags(exec, graph, 0));
            ok(hipGraphLaunch(executable, w.s[0]));
            connect(w.s[0], w.s[1]);
            w.fill(a, w.s[1]);
            if !wrong {
                connect(w.s[1], w.s[0]);
            }
            ok(hipFreeAsync(a, w.s[0]));
        },
        ["kernel fill", "free"],
    ),
];
