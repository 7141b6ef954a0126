//! `hipGraph_t` and `hipGraphExec_t`, and the capture that makes them.

use std::ptr::null_mut;
use std::sync::{Arc, Weak};

use super::{Handle, Hip, RawStream, note_stream, sys};
use crate::{Result, Use};

/// A capture that this thread has begun. It ends when this is dropped.
pub(crate) struct RawCapture<'s> {
    stream: &'s RawStream,
    /// Whether HIP captures.
    runs: bool,
}

impl<'s> RawCapture<'s> {
    /// Begins to capture a stream, once other threads have given it what they are giving it. `None` if
    /// one of them captures it. This thread must not be giving any stream work.
    pub(crate) fn begin(stream: &'s RawStream) -> Result<Option<Self>> {
        if !stream.gate().close() {
            return Ok(None);
        }
        let mut capture = Self { stream, runs: false };
        let hip = stream.bind()?;
        call!(&hip, hipStreamBeginCapture(stream.handle(), sys::STREAM_CAPTURE_THREAD_LOCAL))?;
        capture.runs = true;
        Ok(Some(capture))
    }

    /// Ends it, and gives the graph in a form that can be launched, with what its work uses.
    pub(crate) fn end(mut self) -> Result<(RawGraph, Vec<Use>)> {
        let graph = self.stop()?;
        let uses = self.stream.gate().take_notes();
        Ok((RawGraph::of(&graph)?, uses))
    }

    fn stop(&mut self) -> Result<Description> {
        let hip = self.stream.bind()?;
        self.runs = false;
        let mut graph =
            Description { hip: self.stream.hip(), ordinal: self.stream.ordinal(), raw: null_mut() };
        call!(&hip, hipStreamEndCapture(self.stream.handle(), &mut graph.raw))?;
        Ok(graph)
    }
}

impl Drop for RawCapture<'_> {
    fn drop(&mut self) {
        if self.runs
            && let Err(error) = self.stop()
        {
            // What has spoilt it was told to whoever did that.
            tracing::debug!(%error, "a capture that is not wanted ended with an error");
        }
        self.stream.gate().open();
    }
}

/// A graph as it was captured, which is only good for making others.
struct Description {
    hip: &'static Hip,
    ordinal: i32,
    /// Null if the capture was spoilt.
    raw: Handle,
}

impl Drop for Description {
    fn drop(&mut self) {
        if self.raw.is_null() {
            return;
        }
        let hip = self.hip;
        if let Err(error) = hip.outside_captures(|| call!(hip, hipGraphDestroy(self.raw))) {
            tracing::warn!(%error, "a graph could not be destroyed");
        }
    }
}

/// A graph that can be launched. It is destroyed when that is no longer possible and its launches are
/// done.
pub(crate) struct RawGraph {
    hip: &'static Hip,
    raw: Handle,
    /// Streams that it was launched on.
    streams: Vec<Weak<RawStream>>,
}

// SAFETY: graphs may be used from any thread, one at a time, as a launch takes `&mut`; the handle
// itself is never dereferenced here.
unsafe impl Send for RawGraph {}
// SAFETY: as above.
unsafe impl Sync for RawGraph {}

impl RawGraph {
    fn of(description: &Description) -> Result<Self> {
        let hip = description.hip;
        let bound = hip.bind(description.ordinal)?;
        let (graph, mut raw) = (description.raw, null_mut());
        bound.outside_captures(|| {
            call!(hip, hipGraphInstantiate(&mut raw, graph, null_mut(), null_mut(), 0))
        })?;
        Ok(Self { hip, raw, streams: Vec::new() })
    }

    /// Gives a stream of its device, which is not being captured, its work.
    ///
    /// # Safety
    /// All memory that its work uses is allocated until the work has run.
    pub(crate) unsafe fn launch(&mut self, stream: &Arc<RawStream>) -> Result<()> {
        note_stream(&mut self.streams, stream);
        let hip = stream.bind()?;
        call!(&hip, hipGraphLaunch(self.raw, stream.handle()))
    }
}

impl Drop for RawGraph {
    fn drop(&mut self) {
        let graph = Unlaunched { hip: self.hip, raw: self.raw };
        let streams = std::mem::take(&mut self.streams);
        self.hip.retire_after(streams, move || graph.destroy());
    }
}

/// A graph that nobody can launch any more.
struct Unlaunched {
    hip: &'static Hip,
    raw: Handle,
}

// SAFETY: as for `RawGraph`.
unsafe impl Send for Unlaunched {}

impl Unlaunched {
    fn destroy(&self) {
        let hip = self.hip;
        if let Err(error) = hip.outside_captures(|| call!(hip, hipGraphExecDestroy(self.raw))) {
            tracing::warn!(%error, "a graph could not be destroyed");
        }
    }
}
