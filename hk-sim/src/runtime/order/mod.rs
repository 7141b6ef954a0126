//! The order of a program's operations, and the accesses that it leaves unordered.
//!
//! Operations are what streams do one after the other: launches, copies, fills, allocations and
//! frees in stream order; the nodes of a graph are operations of their own. An operation comes
//! after those before it in its stream, after those that its stream waits for (events, the null
//! stream's order, the edges of a graph), and after those that the host knew to be complete when it
//! submitted it. The host knows what it waited for or was told: by a synchronising call, by a query
//! that answered yes, or by a host function that the stream has begun. How threads of the program
//! hand work to each other is not to be seen, so they are one host: what one of them knows, all do.
//!
//! Each operation is noted with the bytes that it accessed when it is done, and compared with the
//! operations before it that it does not come after. Which of two was executed first, or whether
//! they overlapped in time, makes no difference; what is found fails the one that is noted second.
//!
//! A stream that waits for a word of memory comes after the streams that wrote it in their order,
//! and after what the host knows then, which may have written it.
//!
//! Order that kernels make themselves, by flags in memory that another stream's kernel polls, is
//! not followed.

mod clock;
mod graph;
mod history;
mod report;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

pub(crate) use clock::{Clock, Stamp};
pub(crate) use report::What;

use self::graph::{Node, Nodes};
use self::history::{Conflict, History};
use super::stream::Failure;
use crate::mem::{Region, RegionKind};
use crate::sanitize::{Footprint, Span, Touch};

/// The lane of what the host does itself.
const HOST: u32 = 0;

/// The stream that an operation is of, as messages name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StreamName {
    pub(crate) device: usize,
    /// Number of the stream on its device, from 1; `None` for the null stream.
    pub(crate) number: Option<u32>,
}

/// One operation, as others are told of it.
#[derive(Debug)]
pub(crate) struct Operation {
    stamp: Stamp,
    /// Which part of a graph it is, if it is one.
    node: Option<Node>,
    /// Number in the order of submission to all streams.
    submitted: u64,
    /// `None` for the host.
    stream: Option<StreamName>,
    what: What,
}

/// What an operation comes after.
pub(super) struct View<'a> {
    stamp: Stamp,
    known: &'a Clock,
    graph: Option<&'a Nodes>,
}

impl View<'_> {
    /// Whether an operation that was noted before comes before this one in every execution.
    fn after(&self, earlier: &Operation) -> bool {
        if earlier.stamp == self.stamp {
            // Of one graph launch, or the same operation.
            return match (self.graph, earlier.node) {
                (Some(nodes), Some(node)) => nodes.after(node),
                _ => true,
            };
        }
        earlier.stamp.lane == self.stamp.lane || self.known.knows(earlier.stamp)
    }
}

#[derive(Default)]
struct State {
    /// What the host knows to be complete.
    host: Clock,
    /// How often that has changed.
    version: u64,
    /// What the host knew when it submitted the operations that are not done, by version, and how
    /// many those are.
    pending: BTreeMap<u64, (Clock, usize)>,
    submitted: u64,
    /// What those knew who wrote the words that streams wait for.
    words: HashMap<u64, Clock>,
    history: History,
    /// What was reported.
    reported: HashSet<String>,
}

impl State {
    fn learn(&mut self, known: &Clock, stamp: Stamp) {
        let more = self.host.join(known);
        if self.host.add(stamp) || more {
            self.version += 1;
        }
    }

    fn submit(&mut self) -> u64 {
        self.submitted += 1;
        self.submitted
    }

    /// Notes what an operation accesses, and returns what is in conflict with it.
    fn note(
        &mut self,
        operation: &Arc<Operation>,
        view: &View<'_>,
        pieces: impl IntoIterator<Item = (Region, Footprint)>,
    ) -> Vec<Conflict> {
        let mut conflicts = Vec::new();
        for (region, footprint) in pieces {
            self.history.note(operation, view, region, footprint, &mut conflicts);
            if operation.what.frees() {
                self.history.note_freed(region);
            }
        }
        let first = self.pending.first_key_value();
        self.history.prune(first.map_or(&self.host, |(_, (known, _))| known));
        conflicts
    }
}

/// The order of the operations since somebody wanted to know it.
#[derive(Default)]
pub(crate) struct Order(Mutex<State>);

impl Order {
    fn state(&self) -> MutexGuard<'_, State> {
        // What is kept serves reports alone; a panic elsewhere leaves it good enough.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// An operation that the host submits to a stream now.
    pub(crate) fn submit(self: &Arc<Self>, stream: StreamName, stamp: Stamp) -> Arc<Point> {
        let mut state = self.state();
        let (host, version) = (state.host.clone(), state.version);
        state.pending.entry(version).or_insert_with(|| (host.clone(), 0)).1 += 1;
        let submitted = state.submit();
        let known = OnceLock::new();
        let order = Arc::clone(self);
        Arc::new(Point { order, stream, stamp, submitted, host, version, known })
    }

    /// Notes that the host frees an allocation, once it has waited for what it waits for.
    ///
    /// # Errors
    /// What was found.
    pub(crate) fn host_frees(&self, region: Region) -> Result<(), Failure> {
        let mut state = self.state();
        let known = state.host.clone();
        let submitted = state.submit();
        let stamp = Stamp { lane: HOST, number: submitted };
        let what = What::Free;
        let operation = Arc::new(Operation { stamp, node: None, submitted, stream: None, what });
        let view = View { stamp, known: &known, graph: None };
        let conflicts = state.note(&operation, &view, [whole(region)]);
        state.learn(&known, stamp);
        drop(state);
        report::settle(self, &operation, &conflicts)
    }
}

/// All of an allocation, for what must be alone with it.
pub(crate) fn whole(region: Region) -> (Region, Footprint) {
    let all = Span::new(region.base, region.mapped, Touch::WRITE);
    (region, Footprint::from_iter([all]))
}

/// An operation of a stream: what it is, and what is known to be complete where it stands.
pub(crate) struct Point {
    order: Arc<Order>,
    stream: StreamName,
    stamp: Stamp,
    submitted: u64,
    /// What the host knew, and the number of that.
    host: Clock,
    version: u64,
    /// What the operation came after, once it is done.
    known: OnceLock<Clock>,
}

impl Point {
    /// The host knows from here on that the operation is complete, as it is.
    pub(crate) fn learn(&self) {
        if let Some(known) = self.known.get() {
            self.order.state().learn(known, self.stamp);
        }
    }

    /// Whether the host knows that already.
    pub(crate) fn is_known(&self) -> bool {
        self.order.state().host.knows(self.stamp)
    }

    /// The operation begins in its stream, which knows of `known`, behind others that are done.
    pub(crate) fn begin<'a>(
        self: &Arc<Self>,
        mut known: Clock,
        after: impl IntoIterator<Item = &'a Self>,
    ) -> Running {
        known.join(&self.host);
        for other in after {
            if let Some(theirs) = other.known.get() {
                known.join(theirs);
                known.add(other.stamp);
            }
        }
        Running { point: Arc::clone(self), known, graph: None }
    }
}

/// An operation that a stream has begun.
pub(crate) struct Running {
    point: Arc<Point>,
    known: Clock,
    /// The parts that have begun, if the operation is a graph.
    graph: Option<Nodes>,
}

impl Running {
    /// The operation is done; returns what its stream knows.
    pub(crate) fn end(self) -> Clock {
        let Self { point, known, .. } = self;
        let mut state = point.order.state();
        if let Some((_, count)) = state.pending.get_mut(&point.version) {
            *count -= 1;
            if *count == 0 {
                state.pending.remove(&point.version);
            }
        }
        drop(state);
        point.known.get_or_init(|| known).clone()
    }

    /// The next node of the graph that the operation is begins; it comes after those with the
    /// numbers `after`.
    pub(crate) fn begin_node(&mut self, after: &[usize]) {
        self.graph.get_or_insert_default().begin(after);
    }

    /// The operation writes a word that streams may wait for.
    pub(crate) fn release(&self, address: u64) {
        let mut state = self.point.order.state();
        let word = state.words.entry(address).or_default();
        word.join(&self.known);
        word.add(self.point.stamp);
    }

    /// The operation has waited for a word, which another stream or the host has written.
    pub(crate) fn acquire(&mut self, address: u64) {
        let state = self.point.order.state();
        self.known.join(&state.host);
        if let Some(word) = state.words.get(&address) {
            self.known.join(word);
        }
    }

    /// The host is told, before the operation is done, that it has come this far.
    pub(crate) fn tell_host(&self) {
        self.point.order.state().learn(&self.known, self.point.stamp);
    }

    /// Notes what the operation accesses of which allocations.
    ///
    /// # Errors
    /// What was found.
    pub(crate) fn touch(
        &self,
        what: What,
        pieces: impl IntoIterator<Item = (Region, Footprint)>,
    ) -> Result<(), Failure> {
        let order = &self.point.order;
        let operation = self.operation(what);
        let conflicts = order.state().note(&operation, &self.view(), pieces);
        report::settle(order, &operation, &conflicts)
    }

    /// The same for accesses to whatever there is: `live` are the allocations, sorted by address,
    /// when the operation began.
    ///
    /// # Errors
    /// What was found.
    pub(crate) fn touch_any(
        &self,
        what: What,
        footprint: &Footprint,
        live: &[Region],
    ) -> Result<(), Failure> {
        let order = &self.point.order;
        let operation = self.operation(what);
        let mut state = order.state();
        let pieces = split(footprint, live, |address| state.history.freed_at(address));
        let conflicts = state.note(&operation, &self.view(), pieces);
        drop(state);
        report::settle(order, &operation, &conflicts)
    }

    fn operation(&self, what: What) -> Arc<Operation> {
        let Point { stamp, submitted, stream, .. } = *self.point;
        let node = self.graph.as_ref().and_then(Nodes::current);
        Arc::new(Operation { stamp, node, submitted, stream: Some(stream), what })
    }

    fn view(&self) -> View<'_> {
        View { stamp: self.point.stamp, known: &self.known, graph: self.graph.as_ref() }
    }
}

/// Splits a footprint by allocations, live ones first. Memory of the runtime itself is left out.
fn split(
    footprint: &Footprint,
    live: &[Region],
    freed_at: impl Fn(u64) -> Option<Region>,
) -> Vec<(Region, Footprint)> {
    let live_at = |address: u64| {
        let below = live.partition_point(|region| region.base <= address).checked_sub(1)?;
        live.get(below).filter(|region| region.range().contains(&address)).copied()
    };
    let mut pieces: Vec<(Region, Footprint)> = Vec::new();
    for span in footprint.spans() {
        let mut rest = *span;
        while rest.start < rest.end {
            let Some(region) = live_at(rest.start).or_else(|| freed_at(rest.start)) else {
                // What no allocation covers is a fault; the next one may begin inside of the span.
                let next = live.iter().map(|region| region.base).find(|base| *base > rest.start);
                rest.start = next.unwrap_or(rest.end);
                continue;
            };
            let piece = Span { end: rest.end.min(region.range().end), ..rest };
            rest.start = piece.end;
            if region.kind == RegionKind::Runtime {
                continue;
            }
            match pieces.last_mut() {
                Some((last, footprint)) if last.serial == region.serial => footprint.push(piece),
                _ => pieces.push((region, Footprint::from_iter([piece]))),
            }
        }
    }
    pieces
}

#[cfg(test)]
mod tests;
