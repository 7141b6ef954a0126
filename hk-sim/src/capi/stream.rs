//! Streams.

use std::ffi::{c_int, c_uint, c_void};
use std::sync::Arc;

use super::device::{PRIORITY_HIGH, PRIORITY_LOW};
use super::event::EXTERNAL;
use super::types::{HipDevice, HipError, HipEvent, HipHostFn, HipStream, HipStreamCallback};
use super::{api, check_flags, enqueue, put};
use crate::runtime::{
    EventState, HipResult, HostCall, Marker, StreamKind, Work, Worker, current_device, raise,
    runtime,
};

/// `hipStreamNonBlocking`.
const NON_BLOCKING: c_uint = 1;

fn create(stream: *mut HipStream, flags: c_uint, priority: c_int) -> HipResult {
    if stream.is_null() {
        return Err(HipError::INVALID_VALUE);
    }
    check_flags(flags, NON_BLOCKING)?;
    let kind =
        if flags & NON_BLOCKING == 0 { StreamKind::Blocking } else { StreamKind::NonBlocking };
    // As in HIP, a priority out of range is brought into it.
    let priority = priority.clamp(PRIORITY_HIGH, PRIORITY_LOW);
    let created = current_device()?.new_stream(kind, flags, priority);
    // SAFETY: it is not null; the API demands that it is valid then.
    unsafe { put(stream, runtime().streams.insert(created)) }
}

/// A pointer that is handed back to the program's callback.
struct UserData(*mut c_void);

// SAFETY: the program gives the pointer to be passed to its function on another thread.
unsafe impl Send for UserData {}
// SAFETY: as above; the pointer itself is only read.
unsafe impl Sync for UserData {}

api! {
    /// Creates a stream that is ordered with the null stream.
    fn hipStreamCreate(stream: *mut HipStream) {
        create(stream, 0, 0)
    }

    /// Creates a stream.
    fn hipStreamCreateWithFlags(stream: *mut HipStream, flags: c_uint) {
        create(stream, flags, 0)
    }

    /// Creates a stream with a priority, which the simulator records.
    fn hipStreamCreateWithPriority(stream: *mut HipStream, flags: c_uint, priority: c_int) {
        create(stream, flags, priority)
    }

    /// Destroys a stream; its work is still done.
    fn hipStreamDestroy(stream: HipStream) {
        if stream.is_null() {
            return Err(HipError::INVALID_HANDLE);
        }
        let known = runtime().streams.get(stream).ok_or(HipError::CONTEXT_IS_DESTROYED)?;
        if known.capture().is_some() {
            return Err(HipError::STREAM_CAPTURE_UNSUPPORTED);
        }
        runtime().streams.remove(stream);
        Ok(())
    }

    /// Waits for a stream.
    fn hipStreamSynchronize(stream: HipStream) {
        let stream = runtime().stream(stream)?;
        if let Some(capture) = stream.capture() {
            capture.invalidate();
            return Err(HipError::STREAM_CAPTURE_UNSUPPORTED);
        }
        runtime().refuse_during_capture()?;
        runtime().synchronize_stream(&stream)
    }

    /// Whether all work of a stream is done, and that which it is ordered with.
    fn hipStreamQuery(stream: HipStream) {
        let stream = runtime().stream(stream)?;
        if let Some(capture) = stream.capture() {
            capture.invalidate();
            return Err(HipError::STREAM_CAPTURE_UNSUPPORTED);
        }
        if stream.kind != StreamKind::Null {
            runtime().refuse_during_capture()?;
        }
        let ends = runtime().ends(&stream)?;
        if !Marker::are_done(&ends) {
            return Err(HipError::NOT_READY);
        }
        raise(ends.iter().map(Marker::take_failure))
    }

    /// Makes later work on a stream wait for an event; in a capture, with a flag, that of each launch
    /// of the graph for what the event was recorded behind then.
    fn hipStreamWaitEvent(stream: HipStream, event: HipEvent, flags: c_uint) {
        check_flags(flags, EXTERNAL)?;
        let stream = runtime().stream(stream)?;
        let event = runtime().event(event)?;
        let own = stream.capture();
        if flags & EXTERNAL != 0 {
            let capture = own.ok_or(HipError::INVALID_HANDLE)?;
            return capture.push(&stream, Work::WaitEvent(event));
        }
        let (captured, nodes) = match event.state() {
            EventState::Unrecorded => return Ok(()),
            EventState::Recorded(_) => {
                let Some(own) = own else {
                    return enqueue(&stream, Work::WaitEvent(event)).map(drop);
                };
                own.invalidate();
                return Err(HipError::STREAM_CAPTURE_ISOLATION);
            }
            EventState::Captured(capture, nodes) => (capture.upgrade(), nodes),
        };
        match (captured, own) {
            // The null stream cannot be captured.
            (Some(capture), None) if stream.kind == StreamKind::Null => {
                capture.invalidate();
                Err(HipError::STREAM_CAPTURE_IMPLICIT)
            }
            (Some(capture), None) => capture.join(&stream, &nodes),
            (Some(one), Some(other)) if one.id == other.id => {
                one.wait_for(&stream, &nodes, false);
                Ok(())
            }
            (Some(one), Some(other)) => {
                one.invalidate();
                other.invalidate();
                Err(HipError::STREAM_CAPTURE_MERGE)
            }
            // Of a capture that has ended there is nothing to wait for.
            (None, own) => {
                own.iter().for_each(|capture| capture.invalidate());
                Err(HipError::CAPTURED_EVENT)
            }
        }
    }

    /// Flags that a stream was created with.
    fn hipStreamGetFlags(stream: HipStream, flags: *mut c_uint) {
        put(flags, runtime().stream(stream)?.flags)
    }

    /// Priority of a stream.
    fn hipStreamGetPriority(stream: HipStream, priority: *mut c_int) {
        put(priority, runtime().stream(stream)?.priority)
    }

    /// Device of a stream.
    fn hipStreamGetDevice(stream: HipStream, device: *mut HipDevice) {
        put(device, runtime().stream(stream)?.device as c_int)
    }

    /// Calls a host function once the stream gets there; a capture, of which it cannot be a part, is lost.
    fn hipStreamAddCallback(
        stream: HipStream,
        callback: HipStreamCallback,
        user_data: *mut c_void,
        flags: c_uint,
    ) {
        check_flags(flags, 0)?;
        let callback = callback.ok_or(HipError::INVALID_VALUE)?;
        let pointers = (UserData(stream), UserData(user_data));
        let stream = runtime().stream(stream)?;
        if let Some(capture) = stream.capture() {
            capture.invalidate();
            return Err(HipError::STREAM_CAPTURE_UNSUPPORTED);
        }
        let call = Arc::new(move |worker: &mut Worker<'_>| {
            worker.tell_host();
            let (UserData(stream), UserData(user_data)) = &pointers;
            // SAFETY: the program gave the function and its argument for this call.
            unsafe { callback(*stream, HipError::SUCCESS, *user_data) };
            Ok(())
        });
        enqueue(&stream, Work::Other(call)).map(drop)
    }

    /// Calls a host function once the stream gets there.
    fn hipLaunchHostFunc(stream: HipStream, function: HipHostFn, user_data: *mut c_void) {
        let function = function.ok_or(HipError::INVALID_VALUE)?;
        let work = Work::Host(HostCall { function, user_data });
        enqueue(&runtime().stream(stream)?, work).map(drop)
    }

    /// A number that no other stream has.
    fn hipStreamGetId(stream: HipStream, id: *mut u64) {
        let stream = runtime().stream(stream)?;
        put(id, Arc::as_ptr(&stream) as u64)
    }

    /// Creates a stream on some compute units of the device; all are used here.
    fn hipExtStreamCreateWithCUMask(
        stream: *mut HipStream,
        mask_words: c_uint,
        mask: *const c_uint,
    ) {
        if mask_words == 0 || mask.is_null() {
            return Err(HipError::INVALID_VALUE);
        }
        create(stream, 0, 0)
    }
}
