//! Stream capture: work is recorded into a graph instead of being done.
//!
//! The work of all streams that take part in a capture is kept in the order of submission. That
//! order respects every dependency, so a graph launch does it one piece after the other; which
//! pieces depend on each other matters for finding races alone.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
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

/// A piece of captured work.
struct Step {
    job: Job,
    /// The steps that it comes after.
    after: Vec<usize>,
}

#[derive(Default)]
struct Recorded {
    steps: Vec<Step>,
    /// The steps that the next one of each stream comes after, by the number of the stream.
    ends: HashMap<u32, Vec<usize>>,
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
    recorded: Mutex<Recorded>,
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
            recorded: Mutex::default(),
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

    fn recorded(&self) -> MutexGuard<'_, Recorded> {
        // Each update leaves the record whole, so a panic elsewhere does not matter.
        self.recorded.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records a piece of work of a stream.
    pub(crate) fn push(&self, stream: &Stream, job: Job) -> HipResult {
        if self.is_invalid() {
            return Err(HipError::STREAM_CAPTURE_INVALIDATED);
        }
        let mut recorded = self.recorded();
        let own = vec![recorded.steps.len()];
        let after = recorded.ends.insert(stream.lane, own).unwrap_or_default();
        recorded.steps.push(Step { job, after });
        Ok(())
    }

    /// The steps that the next one of a stream comes after.
    pub(crate) fn ends(&self, stream: &Stream) -> Vec<usize> {
        self.recorded().ends.get(&stream.lane).cloned().unwrap_or_default()
    }

    /// Makes the next step of a stream come after others, too.
    pub(crate) fn wait(&self, stream: &Stream, steps: &[usize]) {
        let mut recorded = self.recorded();
        let ends = recorded.ends.entry(stream.lane).or_default();
        ends.extend_from_slice(steps);
        ends.sort_unstable();
        ends.dedup();
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
        Ok(Graph { steps: std::mem::take(&mut *self.recorded()).steps.into() })
    }
}

/// Captured work, which can be done any number of times.
#[derive(Clone)]
pub(crate) struct Graph {
    steps: Arc<[Step]>,
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
                worker.begin_node(&step.after);
                // As in a stream, later work is done whatever became of earlier work.
                result = result.and((step.job)(worker));
            }
            result
        })
    }
}
