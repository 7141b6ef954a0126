//! Stream capture: work is recorded into a graph instead of being done.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::ThreadId;

use super::error::{HipError, HipResult};
use super::graph::{Graph, Work, lock};
use super::stream::Stream;

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

/// A capture.
pub(crate) struct Capture {
    pub(crate) id: u64,
    pub(crate) mode: CaptureMode,
    pub(crate) thread: ThreadId,
    /// Stream that the capture began in.
    origin: Weak<Stream>,
    /// Streams that joined through an event; `None` once the capture has ended.
    joined: Mutex<Option<Vec<Weak<Stream>>>>,
    /// Where the work goes.
    pub(crate) graph: Arc<Mutex<Graph>>,
    /// Whether the graph was there before, and stays if the capture is lost.
    into_existing: bool,
    /// For each stream, the nodes that its next work waits for.
    frontiers: Mutex<HashMap<usize, Frontier>>,
    invalid: AtomicBool,
}

/// The nodes that the next work of a stream waits for.
#[derive(Default)]
struct Frontier {
    nodes: Vec<usize>,
    /// What a program was last given a pointer to.
    lent: Vec<usize>,
}

/// What a stream is called in a capture.
fn key(stream: &Stream) -> usize {
    std::ptr::from_ref(stream) as usize
}

impl Capture {
    /// Starts capturing `stream`, into a graph of its own or behind nodes of one that is there.
    pub(crate) fn begin(
        stream: &Arc<Stream>,
        mode: CaptureMode,
        existing: Option<(Arc<Mutex<Graph>>, Vec<usize>)>,
    ) -> Arc<Self> {
        static NEXT_ID: AtomicU64 = AtomicU64::new(1);
        let into_existing = existing.is_some();
        let (graph, nodes) = existing.unwrap_or_else(|| (Graph::new(), Vec::new()));
        let frontier = Frontier { nodes, lent: Vec::new() };
        let capture = Arc::new(Self {
            id: NEXT_ID.fetch_add(1, Ordering::Relaxed),
            mode,
            thread: std::thread::current().id(),
            origin: Arc::downgrade(stream),
            joined: Mutex::new(Some(Vec::new())),
            graph,
            into_existing,
            frontiers: Mutex::new(HashMap::from([(key(stream), frontier)])),
            invalid: AtomicBool::new(false),
        });
        stream.set_capture(Some(Arc::clone(&capture)));
        capture
    }

    fn joined(&self) -> MutexGuard<'_, Option<Vec<Weak<Stream>>>> {
        self.joined.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn frontiers(&self) -> MutexGuard<'_, HashMap<usize, Frontier>> {
        self.frontiers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The nodes that the next work of a stream waits for.
    pub(crate) fn frontier(&self, stream: &Stream) -> Vec<usize> {
        self.frontiers().get(&key(stream)).map_or(Vec::new(), |found| found.nodes.clone())
    }

    /// The same, at an address that stays until this is asked again for the stream.
    pub(crate) fn lend_frontier(&self, stream: &Stream) -> (*const usize, usize) {
        let mut frontiers = self.frontiers();
        let frontier = frontiers.entry(key(stream)).or_default();
        frontier.lent = frontier.nodes.clone();
        (frontier.lent.as_ptr(), frontier.lent.len())
    }

    /// Makes the next work of a stream wait for these nodes, besides or instead of the others.
    pub(crate) fn wait_for(&self, stream: &Stream, nodes: &[usize], instead: bool) {
        let mut frontiers = self.frontiers();
        let frontier = &mut frontiers.entry(key(stream)).or_default().nodes;
        if instead {
            frontier.clear();
        }
        for node in nodes {
            if !frontier.contains(node) {
                frontier.push(*node);
            }
        }
    }

    /// Adds a stream that now depends on captured work, unless the capture has ended.
    pub(crate) fn join(self: &Arc<Self>, stream: &Arc<Stream>, nodes: &[usize]) -> HipResult {
        // Locked until the stream captures, so that the end finds it.
        let mut joined = self.joined();
        joined.as_mut().ok_or(HipError::CAPTURED_EVENT)?.push(Arc::downgrade(stream));
        self.wait_for(stream, nodes, true);
        stream.set_capture(Some(Arc::clone(self)));
        Ok(())
    }

    /// Records a piece of work of a stream.
    pub(crate) fn push(&self, stream: &Stream, work: Work) -> HipResult {
        if self.is_invalid() {
            return Err(HipError::STREAM_CAPTURE_INVALIDATED);
        }
        let mut frontiers = self.frontiers();
        let frontier = &mut frontiers.entry(key(stream)).or_default().nodes;
        *frontier = vec![Graph::add(&self.graph, work, frontier.clone())?];
        Ok(())
    }

    pub(crate) fn invalidate(&self) {
        self.invalid.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_invalid(&self) -> bool {
        self.invalid.load(Ordering::Relaxed)
    }

    /// Whether the origin waits for all that other streams recorded.
    fn is_joined(&self, origin: &Stream) -> bool {
        let frontiers = self.frontiers();
        let nodes_of = |own: bool| {
            let some = frontiers.iter().filter(move |(stream, _)| (**stream == key(origin)) == own);
            some.flat_map(|(_, frontier)| frontier.nodes.iter().copied())
        };
        lock(&self.graph).lead_to(nodes_of(false), nodes_of(true).collect())
    }

    /// Ends the capture in `stream`; the streams work normally again, whatever became of it.
    pub(crate) fn end(&self, stream: &Arc<Stream>) -> HipResult {
        if !std::ptr::eq(self.origin.as_ptr(), Arc::as_ptr(stream)) {
            return Err(HipError::STREAM_CAPTURE_UNMATCHED);
        }
        if self.mode != CaptureMode::Relaxed && self.thread != std::thread::current().id() {
            return Err(HipError::STREAM_CAPTURE_WRONG_THREAD);
        }
        stream.set_capture(None);
        let joined = self.joined().take().unwrap_or_default();
        for other in joined.iter().filter_map(Weak::upgrade) {
            other.set_capture(None);
        }
        if self.is_invalid() {
            return Err(HipError::STREAM_CAPTURE_INVALIDATED);
        }
        if !self.is_joined(stream) {
            return Err(HipError::STREAM_CAPTURE_UNJOINED);
        }
        Ok(())
    }

    /// Whether the graph goes away with a capture that is lost.
    pub(crate) fn owns_graph(&self) -> bool {
        !self.into_existing
    }
}
