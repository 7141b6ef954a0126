//! Events.

use std::ffi::c_uint;
use std::sync::Arc;

use super::types::{HipError, HipEvent, HipStream};
use super::{api, check_flags, enqueue, put};
use crate::runtime::{Event, EventState, HipResult, Work, current_ordinal, raise, runtime};

/// Flags of events: blocking wait, no timing, interprocess, and the AMD fence flags.
const FLAGS: c_uint = 0xe000_0007;
const DISABLE_TIMING: c_uint = 2;
const INTERPROCESS: c_uint = 4;
/// `hipEventRecordExternal` and `hipEventWaitExternal`: in a capture, a node of the graph.
pub(super) const EXTERNAL: c_uint = 1;

fn create(event: *mut HipEvent, flags: c_uint) -> HipResult {
    check_flags(flags, FLAGS)?;
    if event.is_null() || (flags & INTERPROCESS != 0 && flags & DISABLE_TIMING == 0) {
        return Err(HipError::INVALID_VALUE);
    }
    let created = Arc::new(Event::new(current_ordinal(), flags));
    // SAFETY: it is not null; the API demands that it is valid then.
    unsafe { put(event, runtime().events.insert(created)) }
}

/// Records an event in a stream, or in the graph that it is capturing.
pub(super) fn record(event: HipEvent, stream: HipStream) -> HipResult {
    record_with(event, stream, 0)
}

/// The same with flags. A capture itself has the event, unless it is an external one, which each
/// launch of the graph records.
fn record_with(event: HipEvent, stream: HipStream, flags: c_uint) -> HipResult {
    check_flags(flags, EXTERNAL)?;
    let event = runtime().event(event)?;
    let stream = runtime().stream(stream)?;
    if event.device != stream.device {
        return Err(HipError::INVALID_HANDLE);
    }
    if let Some(capture) = stream.capture() {
        if flags & EXTERNAL != 0 {
            return capture.push(&stream, Work::RecordEvent(event));
        }
        let nodes = capture.frontier(&stream);
        event.set_captured(&capture, nodes);
        return Ok(());
    }
    enqueue(&stream, Work::RecordEvent(event)).map(drop)
}

/// The state of an event that the host asks about, which a capture may forbid, as for streams: the
/// answer could not be part of a graph. Of one that marks nothing there is nothing to ask.
fn asked(event: HipEvent) -> HipResult<EventState> {
    let state = runtime().event(event)?.state();
    if matches!(state, EventState::Recorded(_)) {
        runtime().refuse_during_capture()?;
    }
    Ok(state)
}

api! {
    /// Creates an event.
    fn hipEventCreate(event: *mut HipEvent) {
        create(event, 0)
    }

    /// Creates an event.
    fn hipEventCreateWithFlags(event: *mut HipEvent, flags: c_uint) {
        create(event, flags)
    }

    /// Destroys an event.
    fn hipEventDestroy(event: HipEvent) {
        runtime().events.remove(event).map(drop).ok_or(HipError::INVALID_HANDLE)
    }

    /// Records an event in a stream.
    fn hipEventRecord(event: HipEvent, stream: HipStream) {
        record(event, stream)
    }

    /// Records an event in a stream; in a capture, with a flag, each time that the graph is launched.
    fn hipEventRecordWithFlags(event: HipEvent, stream: HipStream, flags: c_uint) {
        record_with(event, stream, flags)
    }

    /// Whether the work before an event is done.
    fn hipEventQuery(event: HipEvent) {
        match asked(event)? {
            EventState::Unrecorded => Ok(()),
            EventState::Captured(..) => Err(HipError::CAPTURED_EVENT),
            EventState::Recorded(record) if record.marker.is_done() => Ok(()),
            EventState::Recorded(_) => Err(HipError::NOT_READY),
        }
    }

    /// Waits for the work before an event.
    fn hipEventSynchronize(event: HipEvent) {
        match asked(event)? {
            EventState::Unrecorded => Ok(()),
            EventState::Captured(..) => Err(HipError::CAPTURED_EVENT),
            EventState::Recorded(record) => {
                record.marker.wait();
                raise([record.marker.take_failure()])
            }
        }
    }

    /// Milliseconds between two recorded events.
    fn hipEventElapsedTime(ms: *mut f32, start: HipEvent, stop: HipEvent) {
        if ms.is_null() {
            return Err(HipError::INVALID_VALUE);
        }
        put(ms, runtime().event(start)?.elapsed_ms(&*runtime().event(stop)?)?)
    }
}
