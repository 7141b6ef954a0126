//! The HIP C API over the simulator.
//!
//! Signatures, enum values and structure layouts are those of the public HIP headers (ROCm 6 and
//! 7). Handles are looked up, so a stale or made-up handle is an error; memory ranges are checked
//! against the allocations that the runtime knows. No call unwinds into its caller.

// The exported names are the API's.
#![allow(non_snake_case, reason = "the names are those of the C API")]

mod context;
mod device;
mod error;
mod event;
mod fatbin;
mod graph;
mod graph_memory;
mod info;
mod memory;
mod module;
mod node;
mod per_thread;
mod pool;
mod properties;
mod stream;
mod transfer;
pub mod types;
mod user_object;
mod value;

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

pub use context::*;
pub use device::*;
pub use error::*;
pub use event::*;
pub use fatbin::*;
pub use graph::*;
pub use graph_memory::*;
pub use info::*;
pub use memory::*;
pub use module::*;
pub use node::*;
pub use per_thread::*;
pub use pool::*;
pub use stream::*;
pub use transfer::*;
pub use user_object::*;
pub use value::*;

use crate::runtime::{
    Capture, HipError, HipResult, Host, Job, Marker, Stream, StreamKind, Work, lock, marker_of,
    memory, note_result, options, runtime, set_message,
};
use crate::sanitize::Kind;

/// Defines exported functions with a `HipResult` body.
///
/// The body runs under the contract of the exported function: pointers are null or valid as the
/// HIP API reference demands.
macro_rules! api {
    ($($(#[$meta:meta])* fn $name:ident($($arg:ident: $type:ty),* $(,)?) $body:block)*) => {
        $(
            $(#[$meta])*
            ///
            /// # Safety
            ///
            /// Pointers must be null or valid as the HIP API reference demands.
            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $name($($arg: $type),*) -> $crate::runtime::HipError {
                #[allow(unused_unsafe, reason = "not every body touches a pointer")]
                $crate::capi::call(|| {
                    // SAFETY: the caller keeps the contract of the function.
                    unsafe { $body }
                })
            }
        )*
    };
}
use api;

/// A function that the HIP runtime exports.
#[derive(Clone, Copy, Debug)]
pub struct Export {
    /// Its name.
    pub name: &'static str,
    /// Its version node, such as `hip_4.2`.
    pub version: &'static str,
    /// What it is for and, behind a colon, why, if it returns `hipErrorNotSupported`.
    pub refused: Option<&'static str>,
}

include!(concat!(env!("OUT_DIR"), "/exports.rs"));

/// What a function does that is there only to be found.
fn refuse(name: &str, reason: &str) -> HipError {
    call(|| {
        set_message(format!("{name} is not supported; {reason}"));
        Err(HipError::NOT_SUPPORTED)
    })
}

/// Runs the body of an API function: notes its result, stops panics.
fn call(body: impl FnOnce() -> HipResult) -> HipError {
    let result = catch_unwind(AssertUnwindSafe(body)).unwrap_or(Err(HipError::UNKNOWN));
    let result = result.err().unwrap_or(HipError::SUCCESS);
    note_result(result);
    result
}

/// Writes a result of a call.
///
/// # Safety
///
/// `to` is null or valid for a write.
unsafe fn put<T>(to: *mut T, value: T) -> HipResult {
    if to.is_null() {
        return Err(HipError::INVALID_VALUE);
    }
    // SAFETY: it is not null, so valid. Callers of other languages may not align it.
    unsafe { to.write_unaligned(value) };
    Ok(())
}

/// Reads a structure that a program passes.
///
/// # Safety
///
/// The pointer is null or valid.
unsafe fn read<T: Copy>(from: *const T) -> HipResult<T> {
    if from.is_null() {
        return Err(HipError::INVALID_VALUE);
    }
    // SAFETY: it is not null, so valid.
    Ok(unsafe { from.read_unaligned() })
}

/// A name that the caller passes.
///
/// # Safety
///
/// `text` is null or a zero-terminated string that lives for the call.
unsafe fn name<'a>(text: *const c_char) -> HipResult<&'a str> {
    if text.is_null() {
        return Err(HipError::INVALID_VALUE);
    }
    // SAFETY: it is not null, so a string.
    let text = unsafe { CStr::from_ptr(text) };
    text.to_str().ok().filter(|text| !text.is_empty()).ok_or(HipError::INVALID_VALUE)
}

/// Writes a string into a buffer of `len` bytes, cut if need be.
///
/// # Safety
///
/// `to` is null or valid for writes of `len` bytes.
unsafe fn put_text(to: *mut c_char, len: c_int, text: &str) -> HipResult {
    let room = usize::try_from(len).ok().filter(|room| *room > 0 && !to.is_null());
    let room = room.ok_or(HipError::INVALID_VALUE)?;
    let kept = text.len().min(room - 1);
    // SAFETY: `kept` and the terminator are at most `room` bytes.
    unsafe {
        to.cast::<u8>().copy_from_nonoverlapping(text.as_ptr(), kept);
        to.add(kept).write(0);
    }
    Ok(())
}

/// Appends work to a stream, or to the graph that it is capturing (then there is no marker).
///
/// Every function whose work a stream does goes through here or [`enqueue_as`].
fn enqueue(stream: &Arc<Stream>, work: Work) -> HipResult<Option<Marker>> {
    enqueue_as(stream, work, Host::GoesOn)
}

/// The same; returns once the work is done if the host does not go on meanwhile.
fn enqueue_as(stream: &Arc<Stream>, work: Work, host: Host) -> HipResult<Option<Marker>> {
    if let Some(capture) = stream.capture() {
        capture.push(stream, work)?;
        return Ok(None);
    }
    let mut after = order(stream)?;
    let job = match &work {
        Work::RecordEvent(event) => {
            event.record(stream, after)?;
            return Ok(None);
        }
        Work::WaitEvent(event) => {
            after.extend(marker_of(event)?);
            Work::Empty.job()
        }
        Work::Child(graph) => {
            let graph = lock(graph).instantiate(0)?;
            launch_graph(&graph, stream)?;
            return Ok(None);
        }
        other => other.job(),
    };
    let job = job.ok_or(HipError::INVALID_VALUE)?;
    if host == Host::GoesOn {
        return stream.submit(after, job).map(Some);
    }
    let marker = stream.submit_and_block(after, job)?;
    if host == Host::Waits {
        marker.wait();
    }
    Ok(Some(marker))
}

/// From this point of a stream on, the sanitizer takes memory for unwritten again: for what is kept
/// and given to one user after another. Nothing if the stream does not exist.
pub fn forget_contents(stream: types::HipStream, address: u64, bytes: u64) {
    if !options().sanitize.has(Kind::Memory) {
        return;
    }
    let Ok(stream) = runtime().stream(stream) else { return };
    let job: Job = Arc::new(move |_| {
        memory().forget_write(address, bytes);
        Ok(())
    });
    // Where it is refused, what is launched next is, too, and says why.
    let _ = enqueue(&stream, Work::Other(job));
}

/// What work on the stream waits for besides the work before it.
fn order(stream: &Stream) -> HipResult<Vec<Marker>> {
    let captures = captures_before(stream)?;
    if !captures.is_empty() {
        captures.iter().for_each(|capture| capture.invalidate());
        return Err(HipError::STREAM_CAPTURE_IMPLICIT);
    }
    let device = runtime().devices.get(stream.device).ok_or(HipError::INVALID_DEVICE)?;
    Ok(device.implicit_order(stream))
}

/// The captures that work on the null stream would wait for.
fn captures_before(stream: &Stream) -> HipResult<Vec<Arc<Capture>>> {
    let device = runtime().devices.get(stream.device).ok_or(HipError::INVALID_DEVICE)?;
    if stream.kind != StreamKind::Null {
        return Ok(Vec::new());
    }
    Ok(device.blocking_streams().filter_map(|other| other.capture()).collect())
}

/// The result of another function of the API, as the body of one gives it.
fn passed_on(error: HipError) -> HipResult {
    match error {
        HipError::SUCCESS => Ok(()),
        error => Err(error),
    }
}

/// Entry point of the runtime by its C name.
///
/// `hip_version` selects between versions of one name, as `hipGetProcAddress` does: callers built
/// against HIP 6.0 or later pass 600 or more.
pub fn lookup(symbol: &str, hip_version: c_int) -> Option<*const c_void> {
    let symbol = match symbol {
        "hipGetDeviceProperties" if hip_version >= 600 => "hipGetDevicePropertiesR0600",
        "hipChooseDevice" if hip_version >= 600 => "hipChooseDeviceR0600",
        other => other,
    };
    entry(symbol)
}

/// Flags that a call accepts.
fn check_flags(flags: c_uint, accepted: c_uint) -> HipResult {
    if flags & !accepted == 0 { Ok(()) } else { Err(HipError::INVALID_VALUE) }
}
