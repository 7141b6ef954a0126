//! Stream capture, graphs and their launch; `node` has their nodes.

use std::ffi::{c_char, c_int, c_uint, c_void};
use std::sync::{Arc, Mutex};

use super::types::{
    HipError, HipGraph, HipGraphExec, HipGraphInstantiateParams, HipGraphNode, HipStream,
};
use super::{api, captures_before, check_flags, enqueue, name, order, put, read};
use crate::runtime::{
    Capture, CaptureMode, Executable, Graph, HipResult, Job, Node, NodeRef, Piece, Stream,
    StreamKind, Turn, UpdateError, Work, capture_mode, lock, pieces, runtime, set_capture_mode,
};

/// `hipStreamCaptureStatus`.
const STATUS_NONE: c_int = 0;
const STATUS_ACTIVE: c_int = 1;
const STATUS_INVALIDATED: c_int = 2;
/// Flags of `hipGraphInstantiateWithFlags`.
const INSTANTIATE_FLAGS: u64 = 0xf;
/// `hipGraphInstantiateResult`.
const INSTANTIATED: c_int = 0;
const INVALID_STRUCTURE: c_int = 2;

/// The graph of a handle.
pub(super) fn graph(handle: HipGraph) -> HipResult<Arc<Mutex<Graph>>> {
    runtime().graphs.get(handle).ok_or(HipError::INVALID_VALUE)
}

/// The executable graph of a handle.
pub(super) fn executable(handle: HipGraphExec) -> HipResult<Arc<Executable>> {
    runtime().executables.get(handle).ok_or(HipError::INVALID_VALUE)
}

/// The graph that a node is in.
pub(super) fn graph_of(node: HipGraphNode) -> HipResult<Arc<Mutex<Graph>>> {
    let found: Option<Arc<NodeRef>> = runtime().nodes.get(node);
    found.and_then(|found| found.graph.upgrade()).ok_or(HipError::INVALID_VALUE)
}

/// Handles of nodes that a program passes.
///
/// # Safety
///
/// `nodes` is null or points to `count` handles.
pub(super) unsafe fn handles(nodes: *const HipGraphNode, count: usize) -> HipResult<Vec<usize>> {
    if count != 0 && nodes.is_null() {
        return Err(HipError::INVALID_VALUE);
    }
    // SAFETY: there are `count` of them.
    Ok((0..count).map(|index| unsafe { nodes.add(index).read_unaligned() } as usize).collect())
}

/// Writes handles of nodes as the API does: with a null list, only their number; else as many as
/// there is room for, and nulls behind them.
///
/// # Safety
///
/// `count` is null or valid, `nodes` is null or has room for as many handles as it says.
unsafe fn put_handles(found: &[usize], nodes: *mut HipGraphNode, count: *mut usize) -> HipResult {
    if count.is_null() {
        return Err(HipError::INVALID_VALUE);
    }
    if !nodes.is_null() {
        // SAFETY: the caller promises both.
        unsafe {
            for index in 0..count.read_unaligned() {
                let handle = found.get(index).copied().unwrap_or(0);
                put(nodes.add(index), handle as HipGraphNode)?;
            }
        }
    }
    // SAFETY: it is not null, so valid.
    unsafe { put(count, found.len()) }
}

/// Instantiates a graph.
///
/// # Safety
///
/// `to` is null or valid for a write.
unsafe fn instantiate(to: *mut HipGraphExec, of: HipGraph, flags: u64) -> HipResult {
    if to.is_null() || flags & !INSTANTIATE_FLAGS != 0 {
        return Err(HipError::INVALID_VALUE);
    }
    let made = lock(&*graph(of)?).instantiate(flags)?;
    // SAFETY: it is not null; the API demands that it is valid then.
    unsafe { put(to, runtime().executables.insert(Arc::new(made))) }
}

/// Appends the work of a graph to a stream that captures nothing.
pub(super) fn launch_graph(of: &Executable, stream: &Arc<Stream>) -> HipResult {
    let mut after = order(stream)?;
    let steps = of.flatten();
    let turn = of.turn(&steps)?;
    if let Some(Turn { last, left }) = &turn {
        after.extend((**last).clone());
        stream.submit(after, Arc::new(|_| Ok(())))?;
        let free = |memory: &Arc<_>| enqueue(stream, Work::Free(Arc::clone(memory))).map(drop);
        left.iter().try_for_each(free)?;
    }
    pieces(steps).into_iter().try_for_each(|piece| match piece {
        Piece::Steps(job) => enqueue(stream, Work::Other(job)).map(drop),
        Piece::Event(work) => enqueue(stream, work).map(drop),
    })?;
    if let Some(Turn { mut last, .. }) = turn {
        *last = Some(stream.marker());
    }
    let kept = of.kept();
    if !kept.is_empty() {
        // It goes when the work is done, if the graph went before.
        enqueue(stream, Work::Other(held_until_done(kept)))?;
    }
    Ok(())
}

/// A job that does nothing, and holds something until it is done.
fn held_until_done<T: Send + Sync + 'static>(held: T) -> Job {
    Arc::new(move |_| {
        let _held = &held;
        Ok(())
    })
}

fn status(stream: &Stream) -> (c_int, u64) {
    stream.capture().map_or((STATUS_NONE, 0), |capture| {
        let status = if capture.is_invalid() { STATUS_INVALIDATED } else { STATUS_ACTIVE };
        (status, capture.id)
    })
}

fn begin(
    stream: HipStream,
    mode: c_uint,
    existing: Option<(Arc<Mutex<Graph>>, Vec<usize>)>,
) -> HipResult {
    let mode = CaptureMode::from_raw(mode)?;
    let stream = runtime().stream(stream)?;
    if stream.kind == StreamKind::Null {
        return Err(HipError::STREAM_CAPTURE_UNSUPPORTED);
    }
    if stream.capture().is_some() {
        return Err(HipError::ILLEGAL_STATE);
    }
    let capture = Capture::begin(&stream, mode, existing);
    // Programs may ask for the graph while it grows.
    runtime().graphs.insert(Arc::clone(&capture.graph));
    runtime().add_capture(capture);
    Ok(())
}

/// The nodes that `keep` holds for, by their handles.
fn nodes_where(graph: &Graph, keep: impl Fn(&Node) -> bool) -> Vec<usize> {
    graph.nodes().iter().filter(|node| keep(node)).map(|node| node.handle).collect()
}

/// The graph in the language of Graphviz.
fn dot(graph: &Graph) -> String {
    let mut text = "digraph graph_of_work {\n".to_owned();
    for (index, node) in graph.nodes().iter().enumerate() {
        let label = match &node.work {
            Work::Kernel(launch) => launch.function().kernel().name.clone(),
            other => format!("{:?}", other.node_type()),
        };
        let label = label.replace(['"', '\\'], "'");
        text += &format!("  n{index} [label=\"{label}\"];\n");
        for before in &node.after {
            let from = graph.nodes().iter().position(|other| other.handle == *before);
            text += &from.map_or(String::new(), |from| format!("  n{from} -> n{index};\n"));
        }
    }
    text + "}\n"
}

api! {
    /// Records the work of a stream instead of doing it.
    fn hipStreamBeginCapture(stream: HipStream, mode: c_uint) {
        begin(stream, mode, None)
    }

    /// Records the work of a stream into a graph, behind some of its nodes.
    fn hipStreamBeginCaptureToGraph(
        stream: HipStream,
        to: HipGraph,
        dependencies: *const HipGraphNode,
        edges: *const c_void,
        count: usize,
        mode: c_uint,
    ) {
        let to = graph(to)?;
        let after = handles(dependencies, count)?;
        after.iter().try_for_each(|node| lock(&to).node(*node).map(drop))?;
        if !edges.is_null() {
            return Err(HipError::INVALID_VALUE);
        }
        begin(stream, mode, Some((to, after)))
    }

    /// Ends a capture and gives the graph of the recorded work.
    fn hipStreamEndCapture(stream: HipStream, graph: *mut HipGraph) {
        if graph.is_null() {
            return Err(HipError::INVALID_VALUE);
        }
        let stream = runtime().stream(stream)?;
        let capture = stream.capture().ok_or(HipError::ILLEGAL_STATE)?;
        let captured = capture.end(&stream);
        if stream.capture().is_none() {
            runtime().remove_capture(capture.id);
        }
        let handle = Arc::as_ptr(&capture.graph).cast_mut().cast();
        if captured.is_ok() {
            return put(graph, handle);
        }
        if stream.capture().is_none() && capture.owns_graph() {
            runtime().graphs.remove(handle);
        }
        put(graph, std::ptr::null_mut())?;
        captured
    }

    /// Whether a stream is capturing. The null stream does not say while its next work would wait for a
    /// capture, which goes on.
    fn hipStreamIsCapturing(stream: HipStream, state: *mut c_int) {
        if state.is_null() {
            return Err(HipError::INVALID_VALUE);
        }
        let stream = runtime().stream(stream)?;
        if !captures_before(&stream)?.is_empty() {
            return Err(HipError::STREAM_CAPTURE_IMPLICIT);
        }
        put(state, status(&stream).0)
    }

    /// Whether a stream is capturing, and the number of the capture.
    fn hipStreamGetCaptureInfo(stream: HipStream, state: *mut c_int, id: *mut u64) {
        let (found, number) = status(&*runtime().stream(stream)?);
        put(state, found)?;
        // The number is optional.
        let _ = put(id, number);
        Ok(())
    }

    /// Whether a stream is capturing, the capture's number and graph, and the nodes that the
    /// stream's next work waits for, which stay until this is asked again. All but the first are
    /// optional, and not written unless a capture is going on.
    fn hipStreamGetCaptureInfo_v2(
        stream: HipStream,
        state: *mut c_int,
        id: *mut u64,
        graph: *mut HipGraph,
        nodes: *mut *const HipGraphNode,
        count: *mut usize,
    ) {
        let stream = runtime().stream(stream)?;
        let (found, number) = status(&stream);
        put(state, found)?;
        let Some(capture) = stream.capture().filter(|_| found == STATUS_ACTIVE) else {
            return Ok(());
        };
        let (lent, len) = capture.lend_frontier(&stream);
        let _ = put(id, number);
        let _ = put(graph, Arc::as_ptr(&capture.graph).cast_mut().cast());
        let _ = put(nodes, lent.cast());
        let _ = put(count, len);
        Ok(())
    }

    /// Changes the nodes that the next work of a capturing stream waits for.
    fn hipStreamUpdateCaptureDependencies(
        stream: HipStream,
        nodes: *mut HipGraphNode,
        count: usize,
        flags: c_uint,
    ) {
        const SET: c_uint = 1;
        check_flags(flags, SET)?;
        let stream = runtime().stream(stream)?;
        let capture = stream.capture().ok_or(HipError::ILLEGAL_STATE)?;
        let nodes = handles(nodes, count)?;
        nodes.iter().try_for_each(|node| lock(&capture.graph).node(*node).map(drop))?;
        capture.wait_for(&stream, &nodes, flags == SET);
        Ok(())
    }

    /// Exchanges the capture mode of the calling thread.
    fn hipThreadExchangeStreamCaptureMode(mode: *mut c_uint) {
        let new = CaptureMode::from_raw(read(mode)?)?;
        put(mode, capture_mode().to_raw())?;
        set_capture_mode(new);
        Ok(())
    }

    /// Creates a graph without work.
    fn hipGraphCreate(graph: *mut HipGraph, flags: c_uint) {
        check_flags(flags, 0)?;
        if graph.is_null() {
            return Err(HipError::INVALID_VALUE);
        }
        put(graph, runtime().graphs.insert(Graph::new()))
    }

    /// Destroys a graph; what was instantiated from it stays.
    fn hipGraphDestroy(graph: HipGraph) {
        runtime().graphs.remove(graph).map(drop).ok_or(HipError::INVALID_VALUE)
    }

    /// A copy of a graph.
    fn hipGraphClone(copy: *mut HipGraph, of: HipGraph) {
        let of = graph(of)?;
        if copy.is_null() {
            return Err(HipError::INVALID_VALUE);
        }
        let made = lock(&of).duplicate()?;
        put(copy, runtime().graphs.insert(made))
    }

    /// The node of a copy that was made of a node.
    fn hipGraphNodeFindInClone(found: *mut HipGraphNode, node: HipGraphNode, copy: HipGraph) {
        let copy = graph(copy)?;
        let node = lock(&copy).clone_of(node as usize)?;
        put(found, node as HipGraphNode)
    }

    /// The nodes of a graph in the order in which they were added.
    fn hipGraphGetNodes(of: HipGraph, nodes: *mut HipGraphNode, count: *mut usize) {
        let of = graph(of)?;
        let found = nodes_where(&lock(&of), |_| true);
        put_handles(&found, nodes, count)
    }

    /// The nodes of a graph that wait for no other.
    fn hipGraphGetRootNodes(of: HipGraph, nodes: *mut HipGraphNode, count: *mut usize) {
        let of = graph(of)?;
        let found = nodes_where(&lock(&of), |node| node.after.is_empty());
        put_handles(&found, nodes, count)
    }

    /// The edges of a graph.
    fn hipGraphGetEdges(
        of: HipGraph,
        from: *mut HipGraphNode,
        to: *mut HipGraphNode,
        count: *mut usize,
    ) {
        if count.is_null() || from.is_null() != to.is_null() {
            return Err(HipError::INVALID_VALUE);
        }
        let of = graph(of)?;
        let (sources, targets): (Vec<usize>, Vec<usize>) = lock(&of)
            .nodes()
            .iter()
            .flat_map(|node| node.after.iter().map(|before| (*before, node.handle)))
            .unzip();
        let mut room = count.read_unaligned();
        put_handles(&sources, from, &mut room)?;
        put_handles(&targets, to, count)
    }

    /// Adds edges to a graph.
    fn hipGraphAddDependencies(
        to: HipGraph,
        from_nodes: *const HipGraphNode,
        to_nodes: *const HipGraphNode,
        count: usize,
    ) {
        let to = graph(to)?;
        let (before, after) = (handles(from_nodes, count)?, handles(to_nodes, count)?);
        let mut to = lock(&to);
        before.iter().zip(&after).try_for_each(|(before, after)| to.connect(*before, *after))
    }

    /// Removes edges from a graph.
    fn hipGraphRemoveDependencies(
        from: HipGraph,
        from_nodes: *const HipGraphNode,
        to_nodes: *const HipGraphNode,
        count: usize,
    ) {
        let from = graph(from)?;
        let (before, after) = (handles(from_nodes, count)?, handles(to_nodes, count)?);
        let mut from = lock(&from);
        before.iter().zip(&after).try_for_each(|(before, after)| from.disconnect(*before, *after))
    }

    /// The nodes that a node waits for.
    fn hipGraphNodeGetDependencies(
        node: HipGraphNode,
        nodes: *mut HipGraphNode,
        count: *mut usize,
    ) {
        let of = graph_of(node)?;
        let found = lock(&of).node(node as usize)?.after.clone();
        put_handles(&found, nodes, count)
    }

    /// The nodes that wait for a node.
    fn hipGraphNodeGetDependentNodes(
        node: HipGraphNode,
        nodes: *mut HipGraphNode,
        count: *mut usize,
    ) {
        let of = graph_of(node)?;
        let found = nodes_where(&lock(&of), |other| other.after.contains(&(node as usize)));
        put_handles(&found, nodes, count)
    }

    /// Type of a node.
    fn hipGraphNodeGetType(node: HipGraphNode, kind: *mut c_int) {
        let of = graph_of(node)?;
        let found = lock(&of).node(node as usize)?.work.node_type();
        put(kind, found as c_int)
    }

    /// Removes a node and its edges.
    fn hipGraphDestroyNode(node: HipGraphNode) {
        let of = graph_of(node)?;
        lock(&of).remove(node as usize)
    }

    /// Writes a graph to a file, for Graphviz; the flags ask for details that are not written.
    fn hipGraphDebugDotPrint(of: HipGraph, path: *const c_char, _flags: c_uint) {
        let of = graph(of)?;
        let text = dot(&lock(&of));
        std::fs::write(name(path)?, text).map_err(|_| HipError::OPERATING_SYSTEM)
    }

    /// Makes a graph executable.
    fn hipGraphInstantiate(
        executable: *mut HipGraphExec,
        graph: HipGraph,
        error_node: *mut *mut c_void,
        log: *mut c_char,
        log_len: usize,
    ) {
        // The node and the log are for failures, which do not occur; both are optional.
        let _ = put(error_node, std::ptr::null_mut());
        if log_len > 0 {
            let _ = put(log, 0);
        }
        instantiate(executable, graph, 0)
    }

    /// Makes a graph executable.
    fn hipGraphInstantiateWithFlags(executable: *mut HipGraphExec, graph: HipGraph, flags: u64) {
        instantiate(executable, graph, flags)
    }

    /// Makes a graph executable, and says how that went.
    fn hipGraphInstantiateWithParams(
        executable: *mut HipGraphExec,
        graph: HipGraph,
        parameters: *mut HipGraphInstantiateParams,
    ) {
        let mut given = read(parameters)?;
        let made = instantiate(executable, graph, given.flags);
        given.error_node = std::ptr::null_mut();
        given.result = if made.is_ok() { INSTANTIATED } else { INVALID_STRUCTURE };
        put(parameters, given)?;
        made
    }

    /// Flags that an executable graph was made with.
    fn hipGraphExecGetFlags(of: HipGraphExec, flags: *mut u64) {
        put(flags, executable(of)?.flags)
    }

    /// Gives an executable graph the work of a graph of the same shape.
    fn hipGraphExecUpdate(
        to: HipGraphExec,
        from: HipGraph,
        error_node: *mut HipGraphNode,
        result: *mut c_int,
    ) {
        if error_node.is_null() || result.is_null() {
            return Err(HipError::INVALID_VALUE);
        }
        let (to, from) = (executable(to)?, graph(from)?);
        let updated = to.update(&lock(&from));
        let (node, error) = updated.map_or_else(
            |(node, error): (usize, UpdateError)| (node, error as c_int),
            |()| (0, 0),
        );
        put(error_node, node as HipGraphNode)?;
        put(result, error)?;
        if error == 0 { Ok(()) } else { Err(HipError::GRAPH_EXEC_UPDATE_FAILURE) }
    }

    /// Does the work of a graph on a stream, or makes it a node of the graph that it captures.
    fn hipGraphLaunch(of: HipGraphExec, stream: HipStream) {
        let of = executable(of)?;
        let stream = runtime().stream(stream)?;
        if let Some(capture) = stream.capture() {
            return capture.push(&stream, Work::Child(Graph::of(&of)?));
        }
        launch_graph(&of, &stream)
    }

    /// Graphs need no upload.
    fn hipGraphUpload(executable: HipGraphExec, stream: HipStream) {
        runtime().executables.get(executable).ok_or(HipError::INVALID_VALUE)?;
        runtime().stream(stream).map(drop)
    }

    /// Destroys an executable graph.
    fn hipGraphExecDestroy(executable: HipGraphExec) {
        runtime().executables.remove(executable).map(drop).ok_or(HipError::INVALID_VALUE)
    }
}
