//! `hipStream_t` and `hipEvent_t`, each with the library and the device that it belongs to.

use std::sync::{Arc, OnceLock, Weak};

use super::{Bound, Entered, Gate, Handle, Hip};
use crate::Result;

/// A stream. It lives until its work is done, also if it was dropped before: whoever holds it only
/// weakly need not wait for a stream that is gone.
pub(crate) struct RawStream {
    hip: &'static Hip,
    ordinal: i32,
    raw: Handle,
    /// Whether it is ours to destroy.
    owned: bool,
    /// The end of its work, once nobody can give it more.
    end: OnceLock<Arc<RawEvent>>,
    gate: Gate,
}

// SAFETY: HIP streams may be used from any thread; the handle itself is never dereferenced here.
unsafe impl Send for RawStream {}
// SAFETY: as above.
unsafe impl Sync for RawStream {}

impl RawStream {
    /// The null stream of a device, or one that other code created and will destroy.
    pub(crate) fn foreign(hip: &'static Hip, ordinal: i32, raw: Handle) -> Arc<Self> {
        Self::of(hip, ordinal, raw, false)
    }

    /// A new stream.
    pub(crate) fn new(hip: &'static Hip, ordinal: i32) -> Result<Arc<Self>> {
        hip.sweep();
        let raw = hip.bind(ordinal)?.create_stream()?;
        Ok(Self::of(hip, ordinal, raw, true))
    }

    fn of(hip: &'static Hip, ordinal: i32, raw: Handle, owned: bool) -> Arc<Self> {
        let (end, gate) = (OnceLock::new(), Gate::default());
        Arc::new(Self { hip, ordinal, raw, owned, end, gate })
    }

    pub(crate) fn handle(&self) -> Handle {
        self.raw
    }

    /// The library that it belongs to.
    pub(crate) fn hip(&self) -> &'static Hip {
        self.hip
    }

    /// Makes its device the current one.
    pub(crate) fn bind(&self) -> Result<Bound> {
        self.hip.bind(self.ordinal)
    }

    /// The number of its device in that library.
    pub(crate) fn ordinal(&self) -> i32 {
        self.ordinal
    }

    /// Who may give it work.
    pub(crate) fn gate(&self) -> &Gate {
        &self.gate
    }

    /// To be held while it is asked whether it is captured, and given work. `None` if another thread
    /// captures it.
    pub(crate) fn enter(&self) -> Option<Entered<'_>> {
        self.gate.enter()
    }

    /// Whether both are the same stream.
    pub(crate) fn is(&self, other: &Self) -> bool {
        (self.raw, self.ordinal) == (other.raw, other.ordinal) && std::ptr::eq(self.hip, other.hip)
    }

    /// Whether its work is captured in a graph at present, which that of a null stream never is.
    pub(crate) fn is_capturing(&self) -> Result<bool> {
        Ok(!self.raw.is_null()
            && self.end.get().is_none()
            && self.bind()?.is_capturing(self.raw)?)
    }

    /// The number of the capture that its work is part of at present, and its graph.
    pub(crate) fn capture(&self) -> Result<Option<(u64, Handle)>> {
        if self.is_capturing()? { self.bind()?.capture(self.raw) } else { Ok(None) }
    }

    /// An event at its present end; `None` while it is captured, when an event would be part of
    /// the graph.
    pub(crate) fn mark(&self) -> Result<Option<Arc<RawEvent>>> {
        if let Some(end) = self.end.get() {
            return Ok(Some(Arc::clone(end)));
        }
        let Some(_entered) = self.enter() else { return Ok(None) };
        if self.is_capturing()? {
            return Ok(None);
        }
        let event = RawEvent::new(self.hip, self.ordinal, false)?;
        event.record(self)?;
        Ok(Some(Arc::new(event)))
    }

    /// Lets later work begin only after the event.
    pub(crate) fn wait(&self, event: &RawEvent) -> Result<()> {
        self.bind()?.wait_event(self.raw, event.raw)
    }

    /// To be called when nobody will give it work any more.
    pub(crate) fn close(self: Arc<Self>) {
        self.hip.retire(move || {
            self.is_finished().unwrap_or_else(|error| {
                tracing::warn!(%error, "the end of a stream is not known");
                true
            })
        });
    }

    /// Whether, with nobody to give it more, its work is done.
    fn is_finished(&self) -> Result<bool> {
        match (self.mark()?, self.owned) {
            (Some(end), _) => self.end.get_or_init(|| end).is_done(),
            // It is captured, and may not exist any more when that ends.
            (None, owned) => Ok(!owned),
        }
    }
}

impl Drop for RawStream {
    fn drop(&mut self) {
        if self.owned
            && let Err(error) = self.bind().and_then(|hip| hip.destroy_stream(self.raw))
        {
            tracing::warn!(%error, "a stream could not be destroyed");
        }
    }
}

/// An event.
pub(crate) struct RawEvent {
    hip: &'static Hip,
    ordinal: i32,
    raw: Handle,
    /// Whether it is ours to destroy.
    owned: bool,
}

// SAFETY: HIP events may be used from any thread; the handle itself is never dereferenced here.
unsafe impl Send for RawEvent {}
// SAFETY: as above.
unsafe impl Sync for RawEvent {}

impl RawEvent {
    /// An event that marks nothing yet. Only one that is timed tells times.
    pub(crate) fn new(hip: &'static Hip, ordinal: i32, timed: bool) -> Result<Self> {
        let raw = hip.bind(ordinal)?.create_event(timed)?;
        Ok(Self { hip, ordinal, raw, owned: true })
    }

    /// One that other code created and will destroy.
    pub(crate) fn foreign(hip: &'static Hip, ordinal: i32, raw: Handle) -> Self {
        Self { hip, ordinal, raw, owned: false }
    }

    pub(crate) fn handle(&self) -> Handle {
        self.raw
    }

    /// Marks the present end of a stream of the same device.
    pub(crate) fn record(&self, stream: &RawStream) -> Result<()> {
        self.hip.bind(self.ordinal)?.record_event(self.raw, stream.raw)
    }

    /// Whether the device has reached it.
    pub(crate) fn is_done(&self) -> Result<bool> {
        self.hip.is_event_done(self.raw)
    }

    /// Waits until the device has reached it.
    pub(crate) fn synchronize(&self) -> Result<()> {
        self.hip.synchronize_event(self.raw)
    }

    /// Milliseconds from `self` to `later`, an event of the same device.
    pub(crate) fn elapsed_ms(&self, later: &Self) -> Result<f32> {
        self.hip.bind(self.ordinal)?.elapsed_ms(self.raw, later.raw)
    }
}

impl Drop for RawEvent {
    fn drop(&mut self) {
        if self.owned
            && let Err(error) = self.hip.destroy_event(self.raw)
        {
            tracing::warn!(%error, "an event could not be destroyed");
        }
    }
}

/// Notes a stream, once, and forgets those that are gone.
pub(crate) fn note_stream(known: &mut Vec<Weak<RawStream>>, stream: &Arc<RawStream>) {
    if !known.iter().any(|known| known.as_ptr() == Arc::as_ptr(stream)) {
        known.retain(|known| known.strong_count() > 0);
        known.push(Arc::downgrade(stream));
    }
}

/// What a stream had been given when somebody first asked whether it is done.
pub(crate) struct Past {
    stream: Weak<RawStream>,
    end: Option<Arc<RawEvent>>,
}

impl Past {
    pub(crate) fn of(stream: Weak<RawStream>) -> Self {
        Self { stream, end: None }
    }

    pub(crate) fn is_done(&mut self) -> bool {
        let Some(stream) = self.stream.upgrade() else { return true };
        let mut done = || {
            if self.end.is_none() {
                self.end = stream.mark()?;
            }
            // While it is captured, there is no telling.
            self.end.as_ref().map_or(Ok(false), |end| end.is_done())
        };
        done().unwrap_or_else(|error: crate::Error| {
            tracing::warn!(%error, "the end of a stream's work is not known");
            true
        })
    }
}
