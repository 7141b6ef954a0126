//! Events: points in streams, with the time at which they were reached.

use std::sync::{Arc, Mutex, Once, OnceLock, PoisonError, Weak};
use std::time::Instant;

use super::capture::Capture;
use super::error::{HipError, HipResult};
use super::set_message;
use super::stream::{Marker, Stream};
use super::time::Reached;

/// `hipEventDisableTiming`.
pub(crate) const DISABLE_TIMING: u32 = 0x2;

/// One recording of an event.
#[derive(Clone)]
pub(crate) struct Record {
    pub(crate) marker: Marker,
    /// Set by the stream when it reaches the event.
    time: Arc<OnceLock<Instant>>,
    /// The same in the time of the model, if launches are timed.
    model: Reached,
}

#[derive(Clone, Default)]
pub(crate) enum EventState {
    #[default]
    Unrecorded,
    Recorded(Record),
    /// Recorded while the stream was capturing, behind these nodes. The event keeps nothing of a
    /// capture that has ended.
    Captured(Weak<Capture>, Vec<usize>),
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

    pub(crate) fn set_captured(&self, capture: &Arc<Capture>, nodes: Vec<usize>) {
        self.set(EventState::Captured(Arc::downgrade(capture), nodes));
    }

    /// Records the event in a stream behind `after`.
    pub(crate) fn record(&self, stream: &Stream, after: Vec<Marker>) -> HipResult {
        let time = Arc::new(OnceLock::new());
        let reached = Arc::clone(&time);
        let model = Reached::default();
        let in_model = Arc::clone(&model);
        let marker = stream.submit(
            after,
            Arc::new(move |worker| {
                reached.get_or_init(Instant::now);
                if let Some(time) = &worker.time {
                    in_model.get_or_init(|| time.clone());
                }
                Ok(())
            }),
        )?;
        self.set(EventState::Recorded(Record { marker, time, model }));
        Ok(())
    }

    /// Milliseconds from `self` to `end`: of the model, if both were recorded while launches were timed,
    /// else of the host's clock.
    pub(crate) fn elapsed_ms(&self, end: &Self) -> HipResult<f32> {
        if (self.flags | end.flags) & DISABLE_TIMING != 0 {
            return Err(HipError::INVALID_HANDLE);
        }
        let time = |event: &Self| match event.state() {
            EventState::Unrecorded => Err(HipError::INVALID_HANDLE),
            EventState::Captured(..) => Err(HipError::CAPTURED_EVENT),
            EventState::Recorded(record) => {
                let time = record.time.get().copied().ok_or(HipError::NOT_READY)?;
                Ok((time, record.model.get().cloned()))
            }
        };
        let ((from, model_from), (to, model_to)) = (time(self)?, time(end)?);
        match (model_from, model_to) {
            (Some(from), Some(to)) => {
                let refused = |why| {
                    set_message(format!("no time of the model between the events: {why}"));
                    HipError::NOT_SUPPORTED
                };
                return from.until(&to).map(|seconds| (1e3 * seconds) as f32).map_err(refused);
            }
            (None, None) => say_whose_clock(),
            _ => {
                set_message("timing was turned on or off between the events".to_owned());
                return Err(HipError::NOT_SUPPORTED);
            }
        }
        let ms = match to.checked_duration_since(from) {
            Some(later) => later.as_secs_f64() * 1e3,
            None => -(from - to).as_secs_f64() * 1e3,
        };
        Ok(ms as f32)
    }
}

/// Says once that times of events are no device's.
fn say_whose_clock() {
    static SAID: Once = Once::new();
    SAID.call_once(|| {
        eprintln!(
            "hk-sim: events have times of the host's clock, which say nothing of a GPU; with \
             HIPKITTENS_SIM_TIMING=1 they have those of a model"
        );
    });
}
