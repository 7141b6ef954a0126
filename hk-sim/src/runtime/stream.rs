//! Streams: queues of work, each with a thread that does it in order.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use super::capture::Capture;
use super::error::{HipError, HipResult};
use super::launch::Arena;
use crate::fault::FaultReport;

/// Why a piece of work failed.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    pub(crate) error: HipError,
    pub(crate) report: Option<Arc<FaultReport>>,
}

/// What a piece of work may use of the stream it runs on.
pub(crate) struct Worker<'a> {
    /// Memory for kernel arguments, used again by each launch.
    pub(crate) arena: &'a mut Arena,
}

/// A piece of work. Graphs run the same work many times.
pub(crate) type Job = Arc<dyn Fn(&mut Worker<'_>) -> Result<(), Failure> + Send + Sync>;

struct Item {
    after: Vec<Marker>,
    job: Job,
}

#[derive(Default)]
struct State {
    queue: VecDeque<Item>,
    /// Number of the last item that was submitted, and of the last that is done.
    submitted: u64,
    done: u64,
    /// First failure since the last synchronising call.
    failure: Option<Failure>,
    started: bool,
    closing: bool,
    capture: Option<Arc<Capture>>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        // Jobs run without the lock, so no panic leaves the state half changed.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A point in a stream's work.
#[derive(Clone)]
pub(crate) struct Marker {
    shared: Arc<Shared>,
    number: u64,
}

impl Marker {
    pub(crate) fn is_done(&self) -> bool {
        self.shared.state().done >= self.number
    }

    /// First failure of the stream since the last call of this.
    pub(crate) fn take_failure(&self) -> Option<Failure> {
        self.shared.state().failure.take()
    }

    /// Blocks until all work up to this point is done.
    pub(crate) fn wait(&self) {
        let mut state = self.shared.state();
        while state.done < self.number {
            state = self.shared.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// How a stream relates to the null stream of its device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StreamKind {
    /// The null stream itself.
    Null,
    /// Ordered with the null stream.
    Blocking,
    /// Independent of the null stream.
    NonBlocking,
}

/// A queue of work on a device.
pub(crate) struct Stream {
    pub(crate) device: usize,
    pub(crate) kind: StreamKind,
    pub(crate) flags: u32,
    pub(crate) priority: i32,
    shared: Arc<Shared>,
}

impl Stream {
    pub(crate) fn new(device: usize, kind: StreamKind, flags: u32, priority: i32) -> Self {
        Self { device, kind, flags, priority, shared: Arc::default() }
    }

    /// Appends work that begins once the work before it and `after` are done.
    pub(crate) fn submit(&self, mut after: Vec<Marker>, job: Job) -> HipResult<Marker> {
        after.retain(|marker| !marker.is_done());
        let mut state = self.shared.state();
        if !state.started {
            self.start()?;
            state.started = true;
        }
        state.queue.push_back(Item { after, job });
        state.submitted += 1;
        let number = state.submitted;
        self.shared.changed.notify_all();
        Ok(Marker { shared: Arc::clone(&self.shared), number })
    }

    fn start(&self) -> HipResult {
        let shared = Arc::clone(&self.shared);
        let device = self.device;
        std::thread::Builder::new()
            .name("hk-sim stream".to_owned())
            .spawn(move || work(&shared, device))
            .map(drop)
            .map_err(|_| HipError::OPERATING_SYSTEM)
    }

    /// Everything submitted so far.
    pub(crate) fn marker(&self) -> Marker {
        let number = self.shared.state().submitted;
        Marker { shared: Arc::clone(&self.shared), number }
    }

    pub(crate) fn capture(&self) -> Option<Arc<Capture>> {
        self.shared.state().capture.clone()
    }

    pub(crate) fn set_capture(&self, capture: Option<Arc<Capture>>) {
        self.shared.state().capture = capture;
    }
}

impl Drop for Stream {
    /// The thread finishes the queue and ends; the device still waits for it.
    fn drop(&mut self) {
        if let Some(device) = super::runtime().devices.get(self.device) {
            device.retire(self.marker());
        }
        self.shared.state().closing = true;
        self.shared.changed.notify_all();
    }
}

/// Body of a stream's thread.
fn work(shared: &Shared, device: usize) {
    let mut arena = Arena::new(device);
    let mut state = shared.state();
    loop {
        let Some(item) = state.queue.pop_front() else {
            if state.closing {
                return;
            }
            state = shared.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
            continue;
        };
        drop(state);
        for marker in &item.after {
            marker.wait();
        }
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            (item.job)(&mut Worker { arena: &mut arena })
        }));
        // What the job holds, allocations for one, is released before it counts as done.
        drop(item);
        state = shared.state();
        state.done += 1;
        let failure = match result {
            Ok(Ok(())) => None,
            Ok(Err(failure)) => Some(failure),
            Err(_) => Some(Failure { error: HipError::UNKNOWN, report: None }),
        };
        if let Some(failure) = failure {
            state.failure.get_or_insert(failure);
        }
        shared.changed.notify_all();
    }
}
