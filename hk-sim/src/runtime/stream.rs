//! Streams: queues of work, each with a thread that does it in order.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use hk_types::FaultReport;

use super::capture::Capture;
use super::error::{HipError, HipResult};
use super::launch::Arena;
use super::order::{Clock, Point, Running, Stamp, StreamName, What};
use super::time::{ModelTime, Reached};
use crate::exec::Count;
use crate::mem::Region;
use crate::sanitize::Footprint;

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
    /// Where the work stands among all other, if somebody wants to know.
    running: Option<Running>,
    /// Time of the model, if launches are to be timed.
    pub(crate) time: Option<ModelTime>,
}

impl Worker<'_> {
    /// Notes, where races are looked for, what the work accesses of which allocations.
    ///
    /// # Errors
    /// What was found.
    pub(crate) fn touch<T: IntoIterator<Item = (Region, Footprint)>>(
        &self,
        what: impl FnOnce() -> (What, T),
    ) -> Result<(), Failure> {
        let Some(running) = &self.running else { return Ok(()) };
        let (what, pieces) = what();
        running.touch(what, pieces)
    }

    /// The same for what a kernel accesses of the allocations that it found.
    ///
    /// # Errors
    /// What was found.
    pub(crate) fn touch_any(
        &self,
        footprint: &Footprint,
        live: &[Region],
        what: impl FnOnce() -> What,
    ) -> Result<(), Failure> {
        let running = self.running.as_ref().filter(|_| !footprint.is_empty());
        running.map_or(Ok(()), |running| running.touch_any(what(), footprint, live))
    }

    /// The next node of the graph that the work is begins; it comes after those with the numbers
    /// `after`.
    pub(crate) fn begin_node(&mut self, after: &[usize]) {
        if let Some(running) = &mut self.running {
            running.begin_node(after);
        }
    }

    /// Whoever waits for the word at the address and sees what is written there next comes after the
    /// work.
    pub(crate) fn release(&self, address: u64) {
        if let Some(running) = &self.running {
            running.release(address);
        }
    }

    /// The work has waited for the word at the address.
    pub(crate) fn acquire(&mut self, address: u64) {
        if let Some(running) = &mut self.running {
            running.acquire(address);
        }
    }

    /// The host is about to be told that the stream has come to this point.
    pub(crate) fn tell_host(&self) {
        if let Some(running) = &self.running {
            running.tell_host();
        }
    }
}

/// A piece of work. Graphs run the same work many times.
pub(crate) type Job = Arc<dyn Fn(&mut Worker<'_>) -> Result<(), Failure> + Send + Sync>;

struct Item {
    after: Vec<Marker>,
    job: Job,
    point: Option<Arc<Point>>,
    /// When the host submitted it, and where to put the time at its end, if launches are to be timed.
    time: Option<(ModelTime, Reached)>,
}

/// Work that is about to become an item.
struct Submission {
    after: Vec<Marker>,
    job: Job,
    time: Option<(ModelTime, Reached)>,
}

impl Submission {
    fn new(mut after: Vec<Marker>, job: Job) -> Self {
        let is_ordered = super::runtime().order().is_some();
        let time = super::runtime().is_timing().then(|| (ModelTime::of_host(), Reached::default()));
        after.retain(|marker| is_ordered || time.is_some() || !marker.is_reached());
        Self { after, job, time }
    }
}

#[derive(Default)]
struct State {
    queue: VecDeque<Item>,
    /// Number of the last item that was submitted, and of the last that is done.
    submitted: u64,
    done: u64,
    /// The last item that was submitted.
    point: Option<Arc<Point>>,
    time: Option<Reached>,
    /// First failure since the last synchronising call.
    failure: Option<Failure>,
    started: bool,
    closing: bool,
    capture: Option<Arc<Capture>>,
}

impl State {
    /// Ends the last item.
    fn finish(&mut self, result: Result<(), Failure>) {
        self.done += 1;
        if let Err(failure) = result {
            self.failure.get_or_insert(failure);
        }
    }
}

struct Shared {
    state: Mutex<State>,
    changed: Condvar,
    /// Locked by whoever does the work.
    engine: Mutex<Engine>,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        // Jobs run without the lock, so no panic leaves the state half changed.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn engine(&self) -> MutexGuard<'_, Engine> {
        // Nor do they leave the engine so: what panics is a job.
        self.engine.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a stream's work leaves for the work after it.
struct Engine {
    arena: Arena,
    known: Clock,
    now: ModelTime,
}

impl Engine {
    fn new(device: usize) -> Self {
        Self { arena: Arena::new(device), known: Clock::default(), now: ModelTime::default() }
    }

    fn execute(&mut self, item: Item) -> Result<(), Failure> {
        for marker in &item.after {
            marker.block();
        }
        let after = item.after.iter().filter_map(|marker| marker.point.as_deref());
        let running = item.point.as_ref().map(|point| point.begin(self.known.clone(), after));
        let time = item.time.as_ref().map(|(submitted, _)| {
            let mut time = std::mem::take(&mut self.now);
            time.wait_for(submitted);
            item.after.iter().filter_map(Marker::time).for_each(|other| time.wait_for(other));
            time
        });
        let mut worker = Worker { arena: &mut self.arena, running, time };
        let working = Count::work();
        let result =
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| (item.job)(&mut worker)));
        drop(working);
        if let Some(running) = worker.running {
            self.known = running.end();
        }
        if let Some((time, (_, reached))) = worker.time.zip(item.time.as_ref()) {
            reached.get_or_init(|| time.clone());
            self.now = time;
        }
        result.unwrap_or(Err(Failure { error: HipError::UNKNOWN, report: None }))
        // What the job holds, allocations for one, is released before it counts as done.
    }
}

/// A point in a stream's work.
#[derive(Clone)]
pub(crate) struct Marker {
    shared: Arc<Shared>,
    number: u64,
    point: Option<Arc<Point>>,
    time: Option<Reached>,
}

impl Marker {
    /// Whether all work up to this point is done, which the host knows then.
    pub(crate) fn is_done(&self) -> bool {
        Self::are_done(std::slice::from_ref(self))
    }

    /// Whether all work up to these points is done, which the host knows then.
    pub(crate) fn are_done(ends: &[Self]) -> bool {
        let done = ends.iter().all(Self::is_reached);
        if done {
            ends.iter().for_each(Self::learn);
        }
        done
    }

    fn is_reached(&self) -> bool {
        self.shared.state().done >= self.number
    }

    /// Whether nobody needs it any more: there is nothing to wait for, to report or to know.
    pub(crate) fn is_over(&self) -> bool {
        let state = self.shared.state();
        let over = state.done >= self.number && state.failure.is_none();
        drop(state);
        over && self.point.as_ref().is_none_or(|point| point.is_known())
    }

    fn learn(&self) {
        if let Some(point) = &self.point {
            point.learn();
        }
        if let Some(time) = self.time() {
            time.tell_host();
        }
    }

    /// Time of the model there, once it is reached, if launches are timed.
    fn time(&self) -> Option<&ModelTime> {
        self.time.as_ref()?.get()
    }

    /// First failure of the stream since the last call of this.
    pub(crate) fn take_failure(&self) -> Option<Failure> {
        self.shared.state().failure.take()
    }

    /// Blocks until all work up to this point is done, which the host knows then.
    pub(crate) fn wait(&self) {
        self.block();
        self.learn();
    }

    /// Blocks until all work up to this point is done, without telling the host: for what a program
    /// must not rely on.
    pub(crate) fn block(&self) {
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
    /// Number in the process, from 1.
    pub(super) lane: u32,
    /// Number on the device, from 1; that of the null stream does not matter.
    number: u32,
    shared: Arc<Shared>,
}

impl Stream {
    pub(crate) fn new(
        device: usize,
        kind: StreamKind,
        flags: u32,
        priority: i32,
        number: u32,
    ) -> Self {
        static NEXT_LANE: AtomicU32 = AtomicU32::new(1);
        let lane = NEXT_LANE.fetch_add(1, Ordering::Relaxed);
        let shared = Shared {
            state: Mutex::default(),
            changed: Condvar::new(),
            engine: Mutex::new(Engine::new(device)),
        };
        Self { device, kind, flags, priority, lane, number, shared: Arc::new(shared) }
    }

    fn name(&self) -> StreamName {
        let number = (self.kind != StreamKind::Null).then_some(self.number);
        StreamName { device: self.device, number }
    }

    /// Appends work that begins once the work before it and `after` are done.
    pub(crate) fn submit(&self, after: Vec<Marker>, job: Job) -> HipResult<Marker> {
        let submission = Submission::new(after, job);
        self.append(&mut self.shared.state(), submission)
    }

    /// The same for work that the caller waits for, and returns once it is done. Where no other work
    /// is under way the caller does it itself: two threads need not take turns.
    pub(crate) fn submit_and_block(&self, after: Vec<Marker>, job: Job) -> HipResult<Marker> {
        let submission = Submission::new(after, job);
        let mut state = self.shared.state();
        if state.done != state.submitted {
            let marker = self.append(&mut state, submission)?;
            drop(state);
            marker.block();
            return Ok(marker);
        }
        let (item, marker) = self.number(&mut state, submission);
        drop(state);
        let result = self.shared.engine().execute(item);
        self.shared.state().finish(result);
        self.shared.changed.notify_all();
        Ok(marker)
    }

    fn append(&self, state: &mut State, submission: Submission) -> HipResult<Marker> {
        if !state.started {
            self.start()?;
            state.started = true;
        }
        let (item, marker) = self.number(state, submission);
        state.queue.push_back(item);
        self.shared.changed.notify_all();
        Ok(marker)
    }

    /// Makes the submission the next item.
    fn number(&self, state: &mut State, submission: Submission) -> (Item, Marker) {
        let Submission { after, job, time } = submission;
        state.submitted += 1;
        let number = state.submitted;
        let stamp = Stamp { lane: self.lane, number };
        let point = super::runtime().order().map(|order| order.submit(self.name(), stamp));
        let reached = time.as_ref().map(|(_, reached)| Arc::clone(reached));
        state.point.clone_from(&point);
        state.time.clone_from(&reached);
        let shared = Arc::clone(&self.shared);
        let marker = Marker { shared, number, point: point.clone(), time: reached };
        (Item { after, job, point, time }, marker)
    }

    fn start(&self) -> HipResult {
        let shared = Arc::clone(&self.shared);
        std::thread::Builder::new()
            .name("hk-sim stream".to_owned())
            .spawn(move || work(&shared))
            .map(drop)
            .map_err(|_| HipError::OPERATING_SYSTEM)
    }

    /// Everything submitted so far.
    pub(crate) fn marker(&self) -> Marker {
        let state = self.shared.state();
        let (number, point, time) = (state.submitted, state.point.clone(), state.time.clone());
        Marker { shared: Arc::clone(&self.shared), number, point, time }
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
            device.retire(self.kind, self.marker());
        }
        self.shared.state().closing = true;
        self.shared.changed.notify_all();
    }
}

/// Body of a stream's thread.
fn work(shared: &Shared) {
    let mut state = shared.state();
    loop {
        // Whoever submitted the item before may be doing it.
        let is_next = state.submitted - state.done == state.queue.len() as u64;
        let item = if is_next { state.queue.pop_front() } else { None };
        let Some(item) = item else {
            if state.closing && is_next {
                drop(state);
                shared.engine().arena.release();
                return;
            }
            state = shared.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
            continue;
        };
        drop(state);
        let result = shared.engine().execute(item);
        state = shared.state();
        state.finish(result);
        shared.changed.notify_all();
    }
}
