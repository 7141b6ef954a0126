//! Graphs: pieces of work with the order between them, built by hand or by stream capture.

use std::collections::{HashMap, HashSet};
use std::ffi::c_void;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use super::copy::{Fill, Transfer};
use super::error::{HipError, HipResult};
use super::event::{Event, EventState};
use super::launch::Launch;
use super::node_memory::{NodeMemory, free_job};
use super::runtime;
use super::stream::{Job, Marker, Worker};
use super::user_object::End;
use super::value::ValueOp;

/// A function of the program with its argument.
#[derive(Clone, Copy)]
pub(crate) struct HostCall {
    pub(crate) function: unsafe extern "C" fn(*mut c_void),
    pub(crate) user_data: *mut c_void,
}

// SAFETY: the program gives the pointer to be passed to its function on another thread.
unsafe impl Send for HostCall {}
// SAFETY: as above; the pointer itself is only read.
unsafe impl Sync for HostCall {}

/// `hipGraphInstantiateFlagAutoFreeOnLaunch`.
const AUTO_FREE: u64 = 1;

/// What can be appended to a stream, or be a node of a graph.
#[derive(Clone)]
pub(crate) enum Work {
    Kernel(Arc<Launch>),
    /// A copy with its `hipMemcpyKind`, its node type, and the job that was made of it.
    Copy(Transfer, i32, NodeType, Job),
    Fill(Fill, Job),
    Host(HostCall),
    /// Work that no node can be made of by hand.
    Other(Job),
    Child(Arc<Mutex<Graph>>),
    Empty,
    WaitEvent(Arc<Event>),
    RecordEvent(Arc<Event>),
    Values(Arc<[ValueOp]>),
    Allocate(Arc<NodeMemory>),
    Free(Arc<NodeMemory>),
}

/// `hipGraphNodeType`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub(crate) enum NodeType {
    Kernel = 0,
    Memcpy = 1,
    Memset = 2,
    Host = 3,
    Graph = 4,
    Empty = 5,
    WaitEvent = 6,
    EventRecord = 7,
    MemAlloc = 10,
    MemFree = 11,
    MemcpyFromSymbol = 12,
    MemcpyToSymbol = 13,
    BatchMemOp = 14,
}

impl Work {
    pub(crate) fn node_type(&self) -> NodeType {
        match self {
            Self::Kernel(_) => NodeType::Kernel,
            Self::Copy(_, _, of, _) => *of,
            Self::Fill(..) => NodeType::Memset,
            Self::Host(_) | Self::Other(_) => NodeType::Host,
            Self::Child(_) => NodeType::Graph,
            Self::Empty => NodeType::Empty,
            Self::WaitEvent(_) => NodeType::WaitEvent,
            Self::RecordEvent(_) => NodeType::EventRecord,
            Self::Values(_) => NodeType::BatchMemOp,
            Self::Allocate(_) => NodeType::MemAlloc,
            Self::Free(_) => NodeType::MemFree,
        }
    }

    /// The work as one job of a stream; `None` for what is not one: graphs and events.
    pub(crate) fn job(&self) -> Option<Job> {
        match self {
            Self::Kernel(launch) => Some(Launch::job(Arc::clone(launch))),
            Self::Copy(_, _, _, job) | Self::Fill(_, job) | Self::Other(job) => {
                Some(Arc::clone(job))
            }
            Self::Host(call) => {
                let call = *call;
                Some(Arc::new(move |worker| {
                    worker.tell_host();
                    // Whole, so that the closure may go to another thread.
                    let call = &call;
                    // SAFETY: the program gave the function and its argument for this call.
                    unsafe { (call.function)(call.user_data) };
                    Ok(())
                }))
            }
            Self::Empty => Some(Arc::new(|_| Ok(()))),
            Self::Values(ops) => Some(ValueOp::job(Arc::clone(ops))),
            Self::Allocate(memory) => Some(Arc::clone(memory).allocate()),
            Self::Free(memory) => Some(free_job(memory.region())),
            Self::Child(_) | Self::WaitEvent(_) | Self::RecordEvent(_) => None,
        }
    }

    /// Whether it is a launch whose workgroups may wait for each other.
    pub(crate) fn is_cooperative(&self) -> bool {
        matches!(self, Self::Kernel(launch) if launch.shape().is_cooperative())
    }

    fn is_of_memory(&self) -> bool {
        matches!(self, Self::Allocate(_) | Self::Free(_))
    }
}

/// A node as its handle leads to it.
pub(crate) struct NodeRef {
    pub(crate) graph: Weak<Mutex<Graph>>,
}

/// A node in its graph.
pub(crate) struct Node {
    /// Its handle.
    pub(crate) handle: usize,
    pub(crate) work: Work,
    /// Handles of the nodes that it waits for.
    pub(crate) after: Vec<usize>,
    /// Handle of the node that it is a clone of.
    origin: Option<usize>,
}

/// A graph that can be changed.
#[derive(Default)]
pub(crate) struct Graph {
    nodes: Vec<Node>,
    /// User objects, once for each reference.
    kept: Vec<Arc<End>>,
    /// What was instantiated from it last, as long as that is there.
    instance: Weak<()>,
}

/// The graph, for a look or a change.
pub(crate) fn lock(graph: &Mutex<Graph>) -> MutexGuard<'_, Graph> {
    // No change stops half way.
    graph.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Graph {
    pub(crate) fn new() -> Arc<Mutex<Self>> {
        Arc::default()
    }

    /// A graph of what an executable one does.
    pub(crate) fn of(executable: &Executable) -> HipResult<Arc<Mutex<Self>>> {
        let steps = executable.flatten();
        if steps.iter().any(|step| step.work.is_of_memory()) {
            return Err(HipError::NOT_SUPPORTED);
        }
        let graph = Self::new();
        let mut handles = Vec::new();
        for FlatStep { work, after } in steps {
            let after = after.iter().map(|index| handles[*index]).collect();
            handles.push(Self::add(&graph, work, after)?);
        }
        lock(&graph).kept = executable.kept();
        Ok(graph)
    }

    /// Keeps a user object, with so many more references.
    pub(crate) fn keep(&mut self, object: &Arc<End>, count: u32) {
        self.kept.extend((0..count).map(|_| Arc::clone(object)));
    }

    /// Gives up so many references of a user object.
    pub(crate) fn let_go(&mut self, object: &Arc<End>, count: u32) -> HipResult<Vec<Arc<End>>> {
        let (mut own, others): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.kept).into_iter().partition(|kept| Arc::ptr_eq(kept, object));
        let left = own.len().checked_sub(count as usize);
        let released = own.split_off(left.unwrap_or(own.len()));
        self.kept = others;
        self.kept.append(&mut own);
        left.map(|_| released).ok_or(HipError::INVALID_VALUE)
    }

    pub(crate) fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    pub(crate) fn node(&self, handle: usize) -> HipResult<&Node> {
        let found = self.nodes.iter().find(|node| node.handle == handle);
        found.ok_or(HipError::INVALID_VALUE)
    }

    /// Adds a node that waits for others of the graph, and returns its handle.
    pub(crate) fn add(this: &Arc<Mutex<Self>>, work: Work, after: Vec<usize>) -> HipResult<usize> {
        let mut graph = lock(this);
        for (index, handle) in after.iter().enumerate() {
            graph.node(*handle)?;
            if after[..index].contains(handle) {
                return Err(HipError::INVALID_VALUE);
            }
        }
        if matches!(work, Work::Free(_))
            && graph.nodes.iter().any(|node| is_like(&node.work, &work))
        {
            return Err(HipError::INVALID_VALUE);
        }
        let handle = Self::new_handle(this);
        graph.nodes.push(Node { handle, work, after, origin: None });
        Ok(handle)
    }

    fn new_handle(this: &Arc<Mutex<Self>>) -> usize {
        runtime().nodes.insert(Arc::new(NodeRef { graph: Arc::downgrade(this) })) as usize
    }

    /// Gives a node other work of the same type.
    pub(crate) fn set(&mut self, handle: usize, work: Work) -> HipResult {
        let index = self.index(handle)?;
        let node = &mut self.nodes[index];
        if !is_like(&node.work, &work) {
            return Err(HipError::INVALID_VALUE);
        }
        node.work = work;
        Ok(())
    }

    fn index(&self, handle: usize) -> HipResult<usize> {
        let found = self.nodes.iter().position(|node| node.handle == handle);
        found.ok_or(HipError::INVALID_VALUE)
    }

    /// Makes `to` wait for `from`; an edge that is there already is an error.
    pub(crate) fn connect(&mut self, from: usize, to: usize) -> HipResult {
        self.index(from)?;
        let index = self.index(to)?;
        let after = &mut self.nodes[index].after;
        if from == to || after.contains(&from) {
            return Err(HipError::INVALID_VALUE);
        }
        after.push(from);
        Ok(())
    }

    /// Whether the graph allocates or frees memory. The addresses and the order that such a graph
    /// was given are not for others, and stay.
    fn has_memory(&self) -> bool {
        self.nodes.iter().any(|node| node.work.is_of_memory())
    }

    /// Whether each of the nodes, but those that were removed, is one of `ends` or comes before one.
    pub(crate) fn lead_to(&self, mut nodes: impl Iterator<Item = usize>, ends: Vec<usize>) -> bool {
        let after: HashMap<usize, &[usize]> =
            self.nodes.iter().map(|node| (node.handle, node.after.as_slice())).collect();
        let (mut reached, mut open) = (HashSet::new(), ends);
        while let Some(handle) = open.pop() {
            if reached.insert(handle) {
                open.extend(after.get(&handle).copied().unwrap_or_default());
            }
        }
        nodes.all(|handle| reached.contains(&handle) || !after.contains_key(&handle))
    }

    /// Removes an edge.
    pub(crate) fn disconnect(&mut self, from: usize, to: usize) -> HipResult {
        if self.has_memory() {
            return Err(HipError::NOT_SUPPORTED);
        }
        let index = self.index(to)?;
        let after = &mut self.nodes[index].after;
        let edge = after.iter().position(|handle| *handle == from);
        after.remove(edge.ok_or(HipError::INVALID_VALUE)?);
        Ok(())
    }

    /// Removes a node and its edges.
    pub(crate) fn remove(&mut self, handle: usize) -> HipResult {
        if self.has_memory() {
            return Err(HipError::NOT_SUPPORTED);
        }
        let index = self.index(handle)?;
        self.nodes.remove(index);
        for node in &mut self.nodes {
            node.after.retain(|before| *before != handle);
        }
        runtime().nodes.remove(handle as *const c_void);
        Ok(())
    }

    /// A copy with nodes and embedded graphs of its own.
    pub(crate) fn duplicate(&self) -> HipResult<Arc<Mutex<Self>>> {
        if self.has_memory() {
            return Err(HipError::NOT_SUPPORTED);
        }
        let copy = Self::new();
        let handles: HashMap<usize, usize> =
            self.nodes.iter().map(|node| (node.handle, Self::new_handle(&copy))).collect();
        let nodes: HipResult<Vec<Node>> = self
            .nodes
            .iter()
            .map(|node| {
                let work = match &node.work {
                    Work::Child(graph) => Work::Child(lock(graph).duplicate()?),
                    other => other.clone(),
                };
                let after = node.after.iter().map(|before| handles[before]).collect();
                let handle = handles[&node.handle];
                Ok(Node { handle, work, after, origin: Some(node.handle) })
            })
            .collect();
        let kept = self.kept.clone();
        *lock(&copy) = Self { nodes: nodes?, kept, instance: Weak::new() };
        Ok(copy)
    }

    /// The node of this clone that was made of a node of the original.
    pub(crate) fn clone_of(&self, origin: usize) -> HipResult<usize> {
        let found = self.nodes.iter().find(|node| node.origin == Some(origin));
        found.map(|node| node.handle).ok_or(HipError::INVALID_VALUE)
    }

    /// Indices of the nodes in an order that respects every edge; `None` if there is a cycle.
    fn order(&self) -> Option<Vec<usize>> {
        let mut done: Vec<usize> = Vec::new();
        let mut order = Vec::new();
        let mut waiting: Vec<usize> = (0..self.nodes.len()).collect();
        while !waiting.is_empty() {
            let before = order.len();
            waiting.retain(|&index| {
                let node = &self.nodes[index];
                let ready = node.after.iter().all(|handle| done.contains(handle));
                if ready {
                    done.push(node.handle);
                    order.push(index);
                }
                !ready
            });
            if order.len() == before {
                return None;
            }
        }
        Some(order)
    }

    /// The graph, ready to be launched; a cycle is an error. One of memory can be so once at a time.
    pub(crate) fn instantiate(&mut self, flags: u64) -> HipResult<Executable> {
        if self.has_memory() && self.instance.strong_count() > 0 {
            return Err(HipError::NOT_SUPPORTED);
        }
        let order = self.order().ok_or(HipError::INVALID_VALUE)?;
        let steps: HipResult<Vec<Step>> = self
            .nodes
            .iter()
            .map(|node| {
                Ok(Step {
                    node: node.handle,
                    work: Step::work_of(&node.work)?,
                    after: self.indices(&node.after),
                    enabled: true,
                })
            })
            .collect();
        let kept = Mutex::new(self.kept.clone());
        let steps = Mutex::new(steps?);
        let instance = Arc::new(());
        self.instance = Arc::downgrade(&instance);
        Ok(Executable { flags, order, steps, kept, last: Mutex::default(), _instance: instance })
    }

    fn indices(&self, handles: &[usize]) -> Vec<usize> {
        let mut indices: Vec<usize> =
            handles.iter().filter_map(|handle| self.index(*handle).ok()).collect();
        indices.sort_unstable();
        indices
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        for node in &self.nodes {
            runtime().nodes.remove(node.handle as *const c_void);
            if let Work::Child(graph) = &node.work {
                runtime().graphs.remove(Arc::as_ptr(graph).cast());
            }
        }
    }
}

/// Whether a node may change from the one to the other.
fn is_like(one: &Work, other: &Work) -> bool {
    match (one, other) {
        // Copies from and to symbols are copies.
        (Work::Copy(..), Work::Copy(..)) => true,
        (Work::Allocate(one), Work::Allocate(other)) | (Work::Free(one), Work::Free(other)) => {
            Arc::ptr_eq(one, other)
        }
        _ => one.node_type() == other.node_type(),
    }
}

/// A node of an executable graph.
struct Step {
    /// Handle of the node that it was made of.
    node: usize,
    work: StepWork,
    /// Indices of the nodes before it.
    after: Vec<usize>,
    enabled: bool,
}

#[derive(Clone)]
enum StepWork {
    Plain(Work),
    Child(Arc<Executable>),
}

impl Step {
    fn work_of(work: &Work) -> HipResult<StepWork> {
        Ok(match work {
            Work::Child(graph) => StepWork::Child(Arc::new(lock(graph).instantiate(0)?)),
            other => StepWork::Plain(other.clone()),
        })
    }
}

/// A node of an executable graph without embedded ones.
pub(crate) struct FlatStep {
    work: Work,
    /// Indices of the steps before it.
    after: Vec<usize>,
}

/// What a stream does of a graph at a time.
pub(crate) enum Piece {
    /// Steps that need nothing but the stream. One after the other is an order that a device might
    /// choose, too; which come after which matters for finding races alone.
    Steps(Job),
    /// An event, which is recorded or waited for.
    Event(Work),
}

/// The steps in pieces.
pub(crate) fn pieces(steps: Vec<FlatStep>) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut open: Vec<(Job, Vec<usize>)> = Vec::new();
    // Places of the steps in the open piece; the pieces before it come first anyhow.
    let mut places: Vec<Option<usize>> = Vec::new();
    for FlatStep { work, after } in steps {
        let Some(job) = work.job() else {
            close(&mut pieces, &mut open);
            places.fill(None);
            places.push(None);
            pieces.push(Piece::Event(work));
            continue;
        };
        places.push(Some(open.len()));
        open.push((job, after.iter().filter_map(|index| places[*index]).collect()));
    }
    close(&mut pieces, &mut open);
    pieces
}

fn close(pieces: &mut Vec<Piece>, open: &mut Vec<(Job, Vec<usize>)>) {
    if open.is_empty() {
        return;
    }
    let steps = std::mem::take(open);
    pieces.push(Piece::Steps(Arc::new(move |worker: &mut Worker<'_>| {
        let mut result = Ok(());
        for (job, after) in &steps {
            worker.begin_node(after);
            // As in a stream, later work is done whatever became of earlier work.
            result = result.and(job(worker));
        }
        result
    })));
}

/// Why an executable graph does not take the work of another graph (`hipGraphExecUpdateResult`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub(crate) enum UpdateError {
    Error = 1,
    TopologyChanged = 2,
    NodeTypeChanged = 3,
    NotSupported = 6,
}

/// A graph that can be launched any number of times.
pub(crate) struct Executable {
    pub(crate) flags: u64,
    /// Indices of the steps in the order in which they are done.
    order: Vec<usize>,
    /// In the order in which the nodes were added.
    steps: Mutex<Vec<Step>>,
    /// User objects of the graph that it was made of.
    kept: Mutex<Vec<Arc<End>>>,
    /// The end of the last launch, where launches have to take turns.
    last: Mutex<Option<Marker>>,
    /// Tells the graph that this is there.
    _instance: Arc<()>,
}

fn is_among(memory: &Arc<NodeMemory>, list: &[Arc<NodeMemory>]) -> bool {
    list.iter().any(|other| Arc::ptr_eq(other, memory))
}

/// What has to be done before a launch of a graph that allocates or frees memory.
pub(crate) struct Turn<'a> {
    /// The end of the launch before it; the end of this one is to be put there.
    pub(crate) last: MutexGuard<'a, Option<Marker>>,
    /// What the launch before it left, and this one allocates anew.
    pub(crate) left: Vec<Arc<NodeMemory>>,
}

impl Executable {
    /// Prepares a launch of the steps; `None` if they neither allocate nor free memory.
    ///
    /// # Errors
    /// A launch allocates what is not freed yet, unless the program asked for it to be freed then,
    /// or frees what is not allocated.
    pub(crate) fn turn(&self, steps: &[FlatStep]) -> HipResult<Option<Turn<'_>>> {
        let (mut allocated, mut freed) = (Vec::new(), Vec::new());
        for step in steps {
            match &step.work {
                Work::Allocate(memory) => allocated.push(Arc::clone(memory)),
                Work::Free(memory) => freed.push(Arc::clone(memory)),
                _ => {}
            }
        }
        if allocated.is_empty() && freed.is_empty() {
            return Ok(None);
        }
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let memories = &runtime().node_memories;
        let left: Vec<_> =
            allocated.iter().filter(|memory| memories.is_live(memory)).cloned().collect();
        let foreign = || freed.iter().filter(|memory| !is_among(memory, &allocated));
        let is_absent = foreign().any(|memory| !memories.is_live(memory));
        if (!left.is_empty() && self.flags & AUTO_FREE == 0) || is_absent {
            return Err(HipError::INVALID_VALUE);
        }
        foreign().for_each(|memory| memories.set_live(memory, false));
        for memory in &allocated {
            memories.set_live(memory, !is_among(memory, &freed));
        }
        Ok(Some(Turn { last, left }))
    }

    fn steps(&self) -> MutexGuard<'_, Vec<Step>> {
        self.steps.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The user objects that it keeps, those of embedded graphs among them.
    pub(crate) fn kept(&self) -> Vec<Arc<End>> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner).clone();
        for step in self.steps().iter() {
            if let StepWork::Child(graph) = &step.work {
                kept.append(&mut graph.kept());
            }
        }
        kept
    }

    /// All enabled nodes, those of embedded graphs among them, in an order that respects every
    /// edge.
    pub(crate) fn flatten(&self) -> Vec<FlatStep> {
        let steps = self.steps();
        let mut flat: Vec<FlatStep> = Vec::new();
        // For each step, what has to be done for it to be done.
        let mut ends: Vec<Vec<usize>> = vec![Vec::new(); steps.len()];
        for &index in &self.order {
            let step = &steps[index];
            let mut after: Vec<usize> =
                step.after.iter().flat_map(|before| ends[*before].iter().copied()).collect();
            after.sort_unstable();
            after.dedup();
            let base = flat.len();
            ends[index] = match &step.work {
                StepWork::Plain(work) if step.enabled => {
                    flat.push(FlatStep { work: work.clone(), after });
                    vec![base]
                }
                StepWork::Plain(_) => after,
                StepWork::Child(graph) => {
                    let inner = graph.flatten();
                    let is_end = |index: &usize| !inner.iter().any(|s| s.after.contains(index));
                    let last: Vec<usize> =
                        (0..inner.len()).filter(is_end).map(|index| base + index).collect();
                    flat.extend(inner.iter().map(|step| FlatStep {
                        work: step.work.clone(),
                        after: match step.after.is_empty() {
                            true => after.clone(),
                            false => step.after.iter().map(|index| base + index).collect(),
                        },
                    }));
                    if last.is_empty() { after } else { last }
                }
            };
        }
        flat
    }

    /// Gives the step of a node other work of the same type.
    pub(crate) fn set(&self, node: usize, work: &Work) -> HipResult {
        let mut steps = self.steps();
        let step = steps.iter_mut().find(|step| step.node == node);
        let step = step.ok_or(HipError::INVALID_VALUE)?;
        match (&step.work, work) {
            (StepWork::Plain(old), new) if is_like(old, new) => {
                step.work = StepWork::Plain(new.clone());
                Ok(())
            }
            (StepWork::Child(old), Work::Child(graph)) => {
                let mut graph = lock(graph);
                old.check(&graph).map_err(|_| HipError::INVALID_VALUE)?;
                step.work = StepWork::Child(Arc::new(graph.instantiate(0)?));
                Ok(())
            }
            _ => Err(HipError::INVALID_VALUE),
        }
    }

    /// Whether the step of a node is a launch whose workgroups may wait for each other.
    pub(crate) fn is_cooperative(&self, node: usize) -> bool {
        self.steps().iter().any(|step| {
            let waits = matches!(&step.work, StepWork::Plain(work) if work.is_cooperative());
            step.node == node && waits
        })
    }

    /// Whether the step of a node is done at a launch; with `change`, from now on.
    pub(crate) fn enable(&self, node: usize, change: Option<bool>) -> HipResult<bool> {
        let mut steps = self.steps();
        let step = steps.iter_mut().find(|step| step.node == node);
        let step = step.ok_or(HipError::INVALID_VALUE)?;
        let can_change =
            matches!(step.work, StepWork::Plain(Work::Kernel(_) | Work::Copy(..) | Work::Fill(..)));
        if !can_change {
            return Err(HipError::INVALID_VALUE);
        }
        step.enabled = change.unwrap_or(step.enabled);
        Ok(step.enabled)
    }

    /// Whether a graph has the nodes and edges of this one; else the node that differs, if it is
    /// one.
    fn check(&self, graph: &Graph) -> Result<(), (usize, UpdateError)> {
        let steps = self.steps();
        for (step, node) in steps.iter().zip(graph.nodes()) {
            let at = |error| (node.handle, error);
            match (&step.work, &node.work) {
                (StepWork::Plain(old), new) if is_like(old, new) => {}
                (StepWork::Child(old), Work::Child(new)) => {
                    old.check(&lock(new)).map_err(|(_, error)| at(error))?;
                }
                (StepWork::Plain(old), new) if old.node_type() == new.node_type() => {
                    return Err(at(UpdateError::NotSupported));
                }
                _ => return Err(at(UpdateError::NodeTypeChanged)),
            }
            if step.after != graph.indices(&node.after) {
                return Err(at(UpdateError::TopologyChanged));
            }
        }
        if steps.len() != graph.nodes().len() {
            let extra = graph.nodes().get(steps.len()).map_or(0, |node| node.handle);
            return Err((extra, UpdateError::TopologyChanged));
        }
        Ok(())
    }

    /// Takes the work of a graph of the same shape.
    pub(crate) fn update(&self, graph: &Graph) -> Result<(), (usize, UpdateError)> {
        self.check(graph)?;
        let works: Result<Vec<StepWork>, _> = graph
            .nodes()
            .iter()
            .map(|node| Step::work_of(&node.work).map_err(|_| (node.handle, UpdateError::Error)))
            .collect();
        for (step, work) in self.steps().iter_mut().zip(works?) {
            step.work = work;
        }
        // Work that was launched before may still use what was kept for it.
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let known = kept.clone();
        let is_new = |object: &&Arc<End>| !known.iter().any(|known| Arc::ptr_eq(known, object));
        kept.extend(graph.kept.iter().filter(is_new).cloned());
        Ok(())
    }
}

/// What the state of an event means for work that waits for it.
pub(crate) fn marker_of(event: &Event) -> HipResult<Option<Marker>> {
    match event.state() {
        EventState::Unrecorded => Ok(None),
        EventState::Recorded(record) => Ok(Some(record.marker)),
        EventState::Captured(..) => Err(HipError::CAPTURED_EVENT),
    }
}
