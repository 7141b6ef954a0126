//! Stream capture: work is recorded into a graph instead of being done.
//!
//! The work of all streams that take part in a capture is kept in the order of submission. That
//! order respects every dependency, so a graph launch does it one piece after the other.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread::ThreadId;

use super::error::{HipError, HipResult};
use super::stream::{Failure, Job, Stream, Worker};

/// Which other calls a capture forbids (`hipStreamCaptureMode`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CaptureMode {
    /// Unsafe calls of any thread.
    Global,
    /// Unsafe calls of the capturing thread.
    ThreadLocal,
    /// None.
    Relaxed,
}

impl CaptureMode {
    pub(crate) fn from_raw(raw: u32) -> HipResult<Self> {
        match raw {
            0 => Ok(Self::Global),
            1 => Ok(Self::ThreadLocal),
            2 => Ok(Self::Relaxed),
            _ => Err(HipError::INVALID_VALUE),
        }
    }

    pub(crate) fn to_raw(self) -> u32 {
        match self {
            Self::Global => 0,
            Self::ThreadLocal => 1,
            Self::Relaxed => 2,
        }
    }
}

/// A capture that is going on.
pub(crate) struct Capture {
    pub(crate) id: u64,
    pub(crate) mode: CaptureMode,
    pub(crate) thread: ThreadId,
    /// Stream that the capture began in.
    origin: Weak<Stream>,
    /// Streams that joined through an event.
    joined: Mutex<Vec<Weak<Stream>>>,
    steps: Mutex<Vec<Job>>,
    invalid: AtomicBool,
}

impl Capture {
    /// Starts capturing `stream`.
    pub(crate) fn begin(stream: &Arc<Stream>, mode: CaptureMode) -> Arc<Self> {
        static NEXT_ID: AtomicU64 = AtomicU64::new(1);
        let capture = Arc::new(Self {
            id: NEXT_ID.fetch_add(1, Ordering::Relaxed),
            mode,
            thread: std::thread::current().id(),
            origin: Arc::downgrade(stream),
            joined: Mutex::default(),
            steps: Mutex::default(),
            invalid: AtomicBool::new(false),
        });
        stream.set_capture(Some(Arc::clone(&capture)));
        capture
    }

    /// Adds a stream that now depends on captured work.
    pub(crate) fn join(self: &Arc<Self>, stream: &Arc<Stream>) {
        stream.set_capture(Some(Arc::clone(self)));
        let mut joined = self.joined.lock().unwrap_or_else(PoisonError::into_inner);
        joined.push(Arc::downgrade(stream));
    }

    /// Records a piece of work.
    pub(crate) fn push(&self, job: Job) -> HipResult {
        if self.is_invalid() {
            return Err(HipError::STREAM_CAPTURE_INVALIDATED);
        }
        self.steps.lock().unwrap_or_else(PoisonError::into_inner).push(job);
        Ok(())
    }

    pub(crate) fn invalidate(&self) {
        self.invalid.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_invalid(&self) -> bool {
        self.invalid.load(Ordering::Relaxed)
    }

    /// Ends the capture in `stream`; the streams work normally again.
    pub(crate) fn end(&self, stream: &Arc<Stream>) -> HipResult<Graph> {
        if !std::ptr::eq(self.origin.as_ptr(), Arc::as_ptr(stream)) {
            return Err(HipError::STREAM_CAPTURE_UNMATCHED);
        }
        if self.mode != CaptureMode::Relaxed && self.thread != std::thread::current().id() {
            return Err(HipError::STREAM_CAPTURE_WRONG_THREAD);
        }
        stream.set_capture(None);
        let joined = self.joined.lock().unwrap_or_else(PoisonError::into_inner);
        for other in joined.iter().filter_map(Weak::upgrade) {
            other.set_capture(None);
        }
        if self.is_invalid() {
            return Err(HipError::STREAM_CAPTURE_INVALIDATED);
        }
        let mut steps = self.steps.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(Graph { steps: std::mem::take(&mut *steps).into() })
    }
}

/// Captured work, which can be done any number of times.
#[derive(Clone)]
pub(crate) struct Graph {
    steps: Arc<[Job]>,
}

impl Graph {
    /// A graph without work.
    pub(crate) fn empty() -> Self {
        Self { steps: Arc::new([]) }
    }

    pub(crate) fn len(&self) -> usize {
        self.steps.len()
    }

    /// All of the graph as one piece of work.
    pub(crate) fn job(&self) -> Job {
        let steps = Arc::clone(&self.steps);
        Arc::new(move |worker: &mut Worker<'_>| {
            let mut result: Result<(), Failure> = Ok(());
            for step in steps.iter() {
                // As in a stream, later work is done whatever became of earlier work.
                result = result.and(step(worker));
            }
            result
        })
    }
}
