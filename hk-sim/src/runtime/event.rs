//! Events: points in streams, with the time at which they were reached.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Instant;

use super::capture::Capture;
use super::error::{HipError, HipResult};
use super::stream::{Marker, Stream};

/// `hipEventDisableTiming`.
pub(crate) const DISABLE_TIMING: u32 = 0x2;

/// One recording of an event.
#[derive(Clone)]
pub(crate) struct Record {
    pub(crate) marker: Marker,
    /// Set by the stream when it reaches the event.
    time: Arc<OnceLock<Instant>>,
}

#[derive(Clone, Default)]
pub(crate) enum EventState {
    #[default]
    Unrecorded,
    Recorded(Record),
    /// Recorded while the stream was capturing, behind these nodes.
    Captured(Arc<Capture>, Vec<usize>),
}

/// An event.
pub(crate) struct Event {
    pub(crate) flags: u32,
    pub(crate) device: usize,
    state: Mutex<EventState>,
}

impl Event {
    pub(crate) fn new(device: usize, flags: u32) -> Self {
        Self { flags, device, state: Mutex::default() }
    }

    pub(crate) fn state(&self) -> EventState {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set(&self, state: EventState) {
        *self.state.lock().unwrap_or_else(PoisonError::into_inner) = state;
    }

    pub(crate) fn set_captured(&self, capture: Arc<Capture>, nodes: Vec<usize>) {
        self.set(EventState::Captured(capture, nodes));
    }

    /// Records the event in a stream behind `after`.
    pub(crate) fn record(&self, stream: &Stream, after: Vec<Marker>) -> HipResult {
        let time = Arc::new(OnceLock::new());
        let reached = Arc::clone(&time);
        let marker = stream.submit(
            after,
            Arc::new(move |_| {
                reached.get_or_init(Instant::now);
                Ok(())
            }),
        )?;
        self.set(EventState::Recorded(Record { marker, time }));
        Ok(())
    }

    /// Milliseconds from `self` to `end`.
    pub(crate) fn elapsed_ms(&self, end: &Self) -> HipResult<f32> {
        if (self.flags | end.flags) & DISABLE_TIMING != 0 {
            return Err(HipError::INVALID_HANDLE);
        }
        let time = |event: &Self| match event.state() {
            EventState::Unrecorded => Err(HipError::INVALID_HANDLE),
            EventState::Captured(..) => Err(HipError::CAPTURED_EVENT),
            EventState::Recorded(record) => record.time.get().copied().ok_or(HipError::NOT_READY),
        };
        let (from, to) = (time(self)?, time(end)?);
        let ms = match to.checked_duration_since(from) {
            Some(later) => later.as_secs_f64() * 1e3,
            None => -(from - to).as_secs_f64() * 1e3,
        };
        Ok(ms as f32)
    }
}
