//! Every form of copies and fills does the same to memory: at once, on a stream, for other devices, with the
//! structures of the driver, on the thread's stream.

#![expect(clippy::undocumented_unsafe_blocks, reason = "each block calls the C API under test")]

mod support;

use std::ffi::{c_int, c_void};
use std::ptr::null_mut;

use hk_sim::HipError;
use hk_sim::capi::types::*;
use hk_sim::capi::*;
use support::*;

const PER_THREAD: HipStream = std::ptr::without_provenance_mut(2);
/// Rows of 4 bytes, 8 bytes apart.
const PITCH: usize = 8;
const ROWS: usize = 3;
const WIDTH: usize = 4;
const BYTES: usize = PITCH * ROWS;

/// When the work of a call is done.
#[derive(Clone, Copy, Debug, PartialEq)]
enum When {
    /// When the call returns.
    AtOnce,
    /// When the stream that it is given gets there.
    OnStream,
    /// When the stream of the thread gets there; its null handle is that stream.
    OnThreads,
}
use When::*;

/// Does something to memory; checks when, and what the memory holds then.
///
/// A stream that is waiting shows whether a call appends to it.
fn check(
    name: &str,
    when: When,
    target: *mut c_void,
    expected: &[u8],
    call: impl Fn(HipStream) -> HipError,
) {
    let held = || unsafe { std::slice::from_raw_parts(target.cast::<u8>(), BYTES) }.to_vec();
    unsafe { target.cast::<u8>().write_bytes(0, BYTES) };
    let (own, gate) = (stream(), upload(&[0u32]));
    let (waits, given) = match when {
        AtOnce => {
            ok(call(own));
            assert_eq!(held(), expected, "{name}");
            return;
        }
        OnStream => (own, own),
        OnThreads => (PER_THREAD, null_mut()),
    };
    unsafe {
        ok(hipStreamWaitValue32(waits, gate, 1, 0, u32::MAX));
        ok(call(given));
        assert_eq!(held(), [0; BYTES], "{name} does not wait for its stream");
        gate.cast::<u32>().write_volatile(1);
        ok(hipStreamSynchronize(waits));
        assert_eq!(held(), expected, "{name}");
        ok(hipStreamDestroy(own));
    }
    free(gate);
}

fn pitched(pointer: *mut c_void) -> HipPitchedPtr {
    HipPitchedPtr { pointer, pitch: PITCH, x: WIDTH, y: ROWS }
}

const EXTENT: HipExtent = HipExtent { width: WIDTH, height: ROWS, depth: 1 };

fn plane(dst: *mut c_void, src: *mut c_void) -> HipMemcpy2D {
    HipMemcpy2D {
        src_x_in_bytes: 0,
        src_y: 0,
        src_memory_type: 2,
        src_host: null_mut(),
        src_device: src,
        src_array: null_mut(),
        src_pitch: PITCH,
        dst_x_in_bytes: 0,
        dst_y: 0,
        dst_memory_type: 2,
        dst_host: null_mut(),
        dst_device: dst,
        dst_array: null_mut(),
        dst_pitch: PITCH,
        width_in_bytes: WIDTH,
        height: ROWS,
    }
}

fn slices(dst: *mut c_void, src: *mut c_void) -> HipMemcpy3DParms {
    HipMemcpy3DParms {
        src_array: null_mut(),
        src_pos: HipPos::default(),
        src_ptr: pitched(src),
        dst_array: null_mut(),
        dst_pos: HipPos::default(),
        dst_ptr: pitched(dst),
        extent: EXTENT,
        kind: 3,
    }
}

fn peers(dst: (*mut c_void, c_int), src: (*mut c_void, c_int)) -> HipMemcpy3DPeerParms {
    HipMemcpy3DPeerParms {
        src_array: null_mut(),
        src_pos: HipPos::default(),
        src_ptr: pitched(src.0),
        src_device: src.1,
        dst_array: null_mut(),
        dst_pos: HipPos::default(),
        dst_ptr: pitched(dst.0),
        dst_device: dst.1,
        extent: EXTENT,
    }
}

/// A form of a copy: its name, when it is done, and its call with target and source, each with its device.
type CopyForm = (
    &'static str,
    When,
    unsafe fn((*mut c_void, c_int), (*mut c_void, c_int), HipStream) -> HipError,
);

#[test]
fn all_forms_copy_the_same_bytes() {
    const LINEAR: &[CopyForm] = &[
        ("hipMemcpyWithStream", AtOnce, |d, s, stream| unsafe {
            hipMemcpyWithStream(d.0, s.0, BYTES, 3, stream)
        }),
        ("hipMemcpyDtoDAsync", OnStream, |d, s, stream| unsafe {
            hipMemcpyDtoDAsync(d.0, s.0, BYTES, stream)
        }),
        ("hipMemcpyPeer", AtOnce, |d, s, _| unsafe { hipMemcpyPeer(d.0, d.1, s.0, s.1, BYTES) }),
        ("hipMemcpyPeerAsync", OnStream, |d, s, stream| unsafe {
            hipMemcpyPeerAsync(d.0, d.1, s.0, s.1, BYTES, stream)
        }),
        ("hipMemcpyAsync_spt", OnThreads, |d, s, stream| unsafe {
            hipMemcpyAsync_spt(d.0, s.0, BYTES, 3, stream)
        }),
    ];
    const ROWWISE: &[CopyForm] = &[
        ("hipMemcpyParam2DAsync", OnStream, |d, s, stream| unsafe {
            hipMemcpyParam2DAsync(&plane(d.0, s.0), stream)
        }),
        ("hipDrvMemcpy2DUnaligned", AtOnce, |d, s, _| unsafe {
            hipDrvMemcpy2DUnaligned(&plane(d.0, s.0))
        }),
        ("hipMemcpy2DAsync_spt", OnThreads, |d, s, stream| unsafe {
            hipMemcpy2DAsync_spt(d.0, PITCH, s.0, PITCH, WIDTH, ROWS, 3, stream)
        }),
        ("hipMemcpy3D_spt", AtOnce, |d, s, _| unsafe { hipMemcpy3D_spt(&slices(d.0, s.0)) }),
        ("hipMemcpy3DAsync_spt", OnThreads, |d, s, stream| unsafe {
            hipMemcpy3DAsync_spt(&slices(d.0, s.0), stream)
        }),
        ("hipMemcpy3DPeer", AtOnce, |d, s, _| unsafe { hipMemcpy3DPeer(&peers(d, s)) }),
        ("hipMemcpy3DPeerAsync", OnStream, |d, s, stream| unsafe {
            hipMemcpy3DPeerAsync(&peers(d, s), stream)
        }),
        ("hipDrvMemcpy3DAsync", OnStream, |d, s, stream| unsafe {
            hipDrvMemcpy3DAsync(&drv_copy(d.0, s.0, PITCH, [WIDTH, ROWS]), stream)
        }),
    ];
    let source: [u8; BYTES] = std::array::from_fn(|i| i as u8 + 1);
    let rows: [u8; BYTES] = std::array::from_fn(|i| if i % PITCH < WIDTH { source[i] } else { 0 });
    let here = hk_sim::device_ordinal("mi355x").expect("a product");
    let there = hk_sim::device_ordinal("mi325x").expect("a product");
    use_product("mi325x");
    let to = upload(&[0u8; BYTES]);
    use_product("mi355x");
    let from = upload(&source);
    for (forms, expected) in [(LINEAR, source), (ROWWISE, rows)] {
        for (name, when, form) in forms {
            let call = |stream| unsafe { form((to, there), (from, here), stream) };
            check(name, *when, to, &expected, call);
        }
    }
    unsafe {
        // Devices that there are not.
        for error in [
            hipMemcpyPeer(to, 99, from, here, 1),
            hipMemcpyPeerAsync(to, there, from, -1, 1, null_mut()),
            hipMemcpy3DPeer(&peers((to, 99), (from, here))),
            hipMemcpy3DPeerAsync(&peers((to, there), (from, 99)), null_mut()),
        ] {
            assert_eq!(error, HipError::INVALID_DEVICE);
        }
        // To the host, in pinned memory, which nobody waits for.
        let pinned: *mut c_void = get(|pointer| hipHostMalloc(pointer, BYTES, 0));
        check("hipMemcpyDtoH", AtOnce, pinned, &source, |_| hipMemcpyDtoH(pinned, from, BYTES));
        check("hipMemcpyDtoHAsync", OnStream, pinned, &source, |stream| {
            hipMemcpyDtoHAsync(pinned, from, BYTES, stream)
        });
        ok(hipHostFree(pinned));
    }
    free(from);
    free(to);
}

/// A form of a fill: its name, when it is done, what it writes, and its call.
type FillForm = (&'static str, When, [u8; BYTES], unsafe fn(*mut c_void, HipStream) -> HipError);

/// Rows whose first bytes are these.
const fn in_rows(bytes: [u8; WIDTH]) -> [u8; BYTES] {
    let mut all = [0; BYTES];
    let mut at = 0;
    while at < BYTES {
        if at % PITCH < WIDTH {
            all[at] = bytes[at % PITCH];
        }
        at += 1;
    }
    all
}

#[test]
fn all_forms_fill_their_elements() {
    const FORMS: &[FillForm] = &[
        ("hipMemsetD8", AtOnce, [9; BYTES], |d, _| unsafe { hipMemsetD8(d, 9, BYTES) }),
        ("hipMemsetD8Async", OnStream, [9; BYTES], |d, stream| unsafe {
            hipMemsetD8Async(d, 9, BYTES, stream)
        }),
        ("hipMemsetD16Async", OnStream, [9; BYTES], |d, stream| unsafe {
            hipMemsetD16Async(d, 0x909, BYTES / 2, stream)
        }),
        ("hipMemset_spt", AtOnce, [9; BYTES], |d, _| unsafe { hipMemset_spt(d, 9, BYTES) }),
        ("hipMemset2D_spt", AtOnce, in_rows([9; 4]), |d, _| unsafe {
            hipMemset2D_spt(d, PITCH, 9, WIDTH, ROWS)
        }),
        ("hipMemset3DAsync", OnStream, in_rows([9; 4]), |d, stream| unsafe {
            hipMemset3DAsync(pitched(d), 9, EXTENT, stream)
        }),
        ("hipMemset3DAsync_spt", OnThreads, in_rows([9; 4]), |d, stream| unsafe {
            hipMemset3DAsync_spt(pitched(d), 9, EXTENT, stream)
        }),
        ("hipMemsetD2D8", AtOnce, in_rows([9, 9, 9, 0]), |d, _| unsafe {
            hipMemsetD2D8(d, PITCH, 9, 3, ROWS)
        }),
        ("hipMemsetD2D8Async", OnStream, in_rows([9, 9, 9, 0]), |d, stream| unsafe {
            hipMemsetD2D8Async(d, PITCH, 9, 3, ROWS, stream)
        }),
        ("hipMemsetD2D16Async", OnStream, in_rows([2, 1, 2, 1]), |d, stream| unsafe {
            hipMemsetD2D16Async(d, PITCH, 0x102, 2, ROWS, stream)
        }),
        ("hipMemsetD2D32Async", OnStream, in_rows([4, 3, 2, 1]), |d, stream| unsafe {
            hipMemsetD2D32Async(d, PITCH, 0x102_0304, 1, ROWS, stream)
        }),
    ];
    use_product("mi325x");
    let target = upload(&[0u8; BYTES]);
    for (name, when, expected, form) in FORMS {
        check(name, *when, target, expected, |stream| unsafe { form(target, stream) });
    }
    free(target);
}

/// Counts the calls that come with this argument.
unsafe extern "C" fn count(data: *mut c_void) {
    unsafe { *data.cast::<u32>() += 1 };
}

unsafe extern "C" fn count_status(_stream: HipStream, status: HipError, data: *mut c_void) {
    ok(status);
    unsafe { *data.cast::<u32>() += 1 };
}

#[test]
fn the_threads_stream_has_all_that_streams_have() {
    // Alone on it: the null stream's work elsewhere would wait for the capture, which ends both.
    use_product("mi300x");
    unsafe {
        let (other, gate) = (stream(), upload(&[0u32; 2]));
        assert_eq!(get(|flags| hipStreamGetFlags_spt(null_mut(), flags)), 0);
        assert_eq!(get(|flags| hipStreamGetFlags_spt(other, flags)), 1);
        let urgent = get(|stream| hipStreamCreateWithPriority(stream, 1, -1));
        assert_eq!(get(|priority| hipStreamGetPriority_spt(urgent, priority)), -1);
        assert_eq!(get(|priority| hipStreamGetPriority_spt(null_mut(), priority)), 0);
        ok(hipStreamDestroy(urgent));

        // It waits for an event of another stream, and calls the host behind it.
        let event = get(|event| hipEventCreateWithFlags(event, 2));
        ok(hipStreamWaitValue32(other, gate, 1, 0, u32::MAX));
        ok(hipEventRecordWithFlags(event, other, 0));
        assert_eq!(hipEventRecordWithFlags(event, other, 2), HipError::INVALID_VALUE);
        ok(hipStreamWaitEvent_spt(null_mut(), event, 0));
        let mut calls = Box::new(0u32);
        let data = (&raw mut *calls).cast();
        ok(hipLaunchHostFunc_spt(null_mut(), Some(count), data));
        ok(hipStreamAddCallback_spt(null_mut(), Some(count_status), data, 0));
        assert_eq!(hipStreamQuery(PER_THREAD), HipError::NOT_READY);
        gate.cast::<u32>().write_volatile(1);
        ok(hipStreamSynchronize(PER_THREAD));
        assert_eq!(data.cast::<u32>().read(), 2);

        // Its capture.
        let is_capturing = || get(|state| hipStreamIsCapturing_spt(null_mut(), state));
        assert_eq!(is_capturing(), 0);
        ok(hipStreamBeginCapture_spt(null_mut(), 2));
        assert_eq!(is_capturing(), 1);
        ok(hipMemsetAsync_spt(gate, 0, 4, null_mut()));
        let (mut state, mut id) = (0, 0);
        ok(hipStreamGetCaptureInfo_spt(null_mut(), &mut state, &mut id));
        let (mut again, mut number, mut graph) = (0, 0, null_mut());
        let (mut nodes, mut count) = (std::ptr::null(), 0);
        ok(hipStreamGetCaptureInfo_v2_spt(
            null_mut(),
            &mut again,
            &mut number,
            &mut graph,
            &mut nodes,
            &mut count,
        ));
        assert_eq!((state, again, number, count), (1, 1, id, 1));
        assert_eq!(get(|kind| hipGraphNodeGetType(*nodes, kind)), 2);
        assert_eq!(get(|graph| hipStreamEndCapture_spt(null_mut(), graph)), graph);
        ok(hipGraphDestroy(graph));
        ok(hipEventDestroy(event));
        ok(hipStreamDestroy(other));
        free(gate);
    }
}
