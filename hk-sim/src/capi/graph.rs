//! Stream capture and graphs of captured work.

use std::ffi::{c_char, c_int, c_uint, c_void};
use std::sync::{Arc, Mutex, PoisonError};

use super::types::{HipError, HipGraph, HipGraphExec, HipStream};
use super::{api, check_flags, enqueue, put};
use crate::runtime::{
    Capture, CaptureMode, Graph, HipResult, StreamKind, capture_mode, runtime, set_capture_mode,
};

/// `hipStreamCaptureStatus`.
const STATUS_NONE: c_int = 0;
const STATUS_ACTIVE: c_int = 1;
const STATUS_INVALIDATED: c_int = 2;
/// Flags of `hipGraphInstantiateWithFlags`.
const INSTANTIATE_FLAGS: u64 = 0xf;

fn instantiate(executable: *mut HipGraphExec, graph: HipGraph) -> HipResult {
    let graph = runtime().graphs.get(graph).ok_or(HipError::INVALID_VALUE)?;
    let graph = graph.lock().unwrap_or_else(PoisonError::into_inner).clone();
    if executable.is_null() {
        return Err(HipError::INVALID_VALUE);
    }
    // SAFETY: it is not null; the API demands that it is valid then.
    unsafe { put(executable, runtime().executables.insert(Arc::new(graph))) }
}

fn status(stream: HipStream) -> HipResult<(c_int, u64)> {
    let capture = runtime().stream(stream)?.capture();
    Ok(capture.map_or((STATUS_NONE, 0), |capture| {
        let status = if capture.is_invalid() { STATUS_INVALIDATED } else { STATUS_ACTIVE };
        (status, capture.id)
    }))
}

api! {
    /// Records the work of a stream instead of doing it.
    fn hipStreamBeginCapture(stream: HipStream, mode: c_uint) {
        let mode = CaptureMode::from_raw(mode)?;
        let stream = runtime().stream(stream)?;
        if stream.kind == StreamKind::Null {
            return Err(HipError::STREAM_CAPTURE_UNSUPPORTED);
        }
        if stream.capture().is_some() {
            return Err(HipError::ILLEGAL_STATE);
        }
        runtime().add_capture(Capture::begin(&stream, mode));
        Ok(())
    }

    /// Ends a capture and gives the graph of the recorded work.
    fn hipStreamEndCapture(stream: HipStream, graph: *mut HipGraph) {
        if graph.is_null() {
            return Err(HipError::INVALID_VALUE);
        }
        let stream = runtime().stream(stream)?;
        let capture = stream.capture().ok_or(HipError::ILLEGAL_STATE)?;
        let captured = capture.end(&stream);
        if stream.capture().is_none() {
            runtime().remove_capture(capture.id);
        }
        match captured {
            Ok(captured) => put(graph, runtime().graphs.insert(Arc::new(Mutex::new(captured)))),
            Err(error) => {
                put(graph, std::ptr::null_mut())?;
                Err(error)
            }
        }
    }

    /// Whether a stream is capturing.
    fn hipStreamIsCapturing(stream: HipStream, state: *mut c_int) {
        put(state, status(stream)?.0)
    }

    /// Whether a stream is capturing, and the number of the capture.
    fn hipStreamGetCaptureInfo(stream: HipStream, state: *mut c_int, id: *mut u64) {
        let (found, number) = status(stream)?;
        put(state, found)?;
        // The number is optional.
        let _ = put(id, number);
        Ok(())
    }

    /// Exchanges the capture mode of the calling thread.
    fn hipThreadExchangeStreamCaptureMode(mode: *mut c_uint) {
        if mode.is_null() {
            return Err(HipError::INVALID_VALUE);
        }
        let new = CaptureMode::from_raw(mode.read_unaligned())?;
        put(mode, capture_mode().to_raw())?;
        set_capture_mode(new);
        Ok(())
    }

    /// Creates a graph without work.
    fn hipGraphCreate(graph: *mut HipGraph, flags: c_uint) {
        check_flags(flags, 0)?;
        if graph.is_null() {
            return Err(HipError::INVALID_VALUE);
        }
        put(graph, runtime().graphs.insert(Arc::new(Mutex::new(Graph::empty()))))
    }

    /// Destroys a graph; what was instantiated from it stays.
    fn hipGraphDestroy(graph: HipGraph) {
        runtime().graphs.remove(graph).map(drop).ok_or(HipError::INVALID_VALUE)
    }

    /// Number of pieces of work (the nodes themselves are not offered).
    fn hipGraphGetNodes(graph: HipGraph, nodes: *mut *mut c_void, count: *mut usize) {
        let graph = runtime().graphs.get(graph).ok_or(HipError::INVALID_VALUE)?;
        if !nodes.is_null() {
            return Err(HipError::NOT_SUPPORTED);
        }
        let len = graph.lock().unwrap_or_else(PoisonError::into_inner).len();
        put(count, len)
    }

    /// Makes a graph executable.
    fn hipGraphInstantiate(
        executable: *mut HipGraphExec,
        graph: HipGraph,
        error_node: *mut *mut c_void,
        log: *mut c_char,
        log_len: usize,
    ) {
        // The node and the log are for failures, which do not occur; both are optional.
        let _ = put(error_node, std::ptr::null_mut());
        if log_len > 0 {
            let _ = put(log, 0);
        }
        instantiate(executable, graph)
    }

    /// Makes a graph executable.
    fn hipGraphInstantiateWithFlags(executable: *mut HipGraphExec, graph: HipGraph, flags: u64) {
        if flags & !INSTANTIATE_FLAGS != 0 {
            return Err(HipError::INVALID_VALUE);
        }
        instantiate(executable, graph)
    }

    /// Does the work of a graph on a stream.
    fn hipGraphLaunch(executable: HipGraphExec, stream: HipStream) {
        let graph = runtime().executables.get(executable).ok_or(HipError::INVALID_VALUE)?;
        enqueue(&runtime().stream(stream)?, graph.job()).map(drop)
    }

    /// Graphs need no upload.
    fn hipGraphUpload(executable: HipGraphExec, stream: HipStream) {
        runtime().executables.get(executable).ok_or(HipError::INVALID_VALUE)?;
        runtime().stream(stream).map(drop)
    }

    /// Destroys an executable graph.
    fn hipGraphExecDestroy(executable: HipGraphExec) {
        runtime().executables.remove(executable).map(drop).ok_or(HipError::INVALID_VALUE)
    }
}
