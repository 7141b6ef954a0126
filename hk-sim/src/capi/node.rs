//! Nodes of graphs: adding them, and asking for and changing what they do.

use std::ffi::{c_int, c_uint, c_void};
use std::sync::{Arc, Mutex};

use super::fatbin::{function_of, variable_range};
use super::graph::{executable, graph, graph_of, handles};
use super::graph_memory::{add_allocation, freed};
use super::module::{argument_bytes, cooperative};
use super::transfer::{
    as_drv_parameters, as_parameters, copy_work, described_3d, described_drv_3d, described_fill,
    linear,
};
use super::types::{
    Dim3, HipBatchMemOpNodeParams, HipCtx, HipDrvMemcpy3D, HipError, HipEvent, HipGraph,
    HipGraphExec, HipGraphNode, HipGraphNodeParams, HipHostNodeParams, HipKernelNodeParams,
    HipMemcpy3DParms, HipMemsetParams, HipStreamBatchMemOp,
};
use super::value::{batch, described as described_operation};
use super::{api, put, read};
use crate::runtime::{Graph, HipResult, HostCall, Launch, NodeType, Shape, Work, lock, runtime};

/// Adds a node to a graph.
///
/// # Safety
///
/// `node` is null or valid for a write, `after` is null or points to `count` handles.
pub(super) unsafe fn add(
    node: *mut HipGraphNode,
    to: HipGraph,
    after: *const HipGraphNode,
    count: usize,
    work: Work,
) -> HipResult {
    if node.is_null() {
        return Err(HipError::INVALID_VALUE);
    }
    // SAFETY: the caller promises both.
    unsafe {
        let made = Graph::add(&graph(to)?, work, handles(after, count)?)?;
        put(node, made as HipGraphNode)
    }
}

/// Changes what a node does.
fn set(node: HipGraphNode, work: Work) -> HipResult {
    lock(&*graph_of(node)?).set(node as usize, work)
}

/// Changes what an executable graph does for a node.
fn set_exec(of: HipGraphExec, node: HipGraphNode, work: &Work) -> HipResult {
    executable(of)?.set(node as usize, work)
}

/// What a node does.
pub(super) fn work_of(node: HipGraphNode) -> HipResult<Work> {
    Ok(lock(&*graph_of(node)?).node(node as usize)?.work.clone())
}

/// A launch. That its workgroups may wait for each other is not among the parameters: it is said
/// besides, of a node that is changed by what it was.
///
/// # Safety
///
/// The pointer is null or valid, and so are the arguments that it leads to.
unsafe fn kernel(parameters: *const HipKernelNodeParams, cooperates: bool) -> HipResult<Work> {
    // SAFETY: the caller promises it.
    let given = unsafe { read(parameters)? };
    let function = function_of(given.func)?;
    let shape = Shape::new(given.grid_dim.into(), given.block_dim.into(), given.shared_mem_bytes);
    let shape = if cooperates { cooperative(&function, shape)? } else { shape };
    // SAFETY: the caller promises it.
    let bytes = unsafe { argument_bytes(function.kernel(), given.kernel_params, given.extra)? };
    let launch = Launch::new(function, shape, &bytes, HipError::INVALID_VALUE)?;
    Ok(Work::Kernel(Arc::new(launch.named(given.func as usize))))
}

/// A copy, which must have bytes.
fn copy(described: HipResult<(crate::runtime::Transfer, c_int)>) -> HipResult<Work> {
    let (copy, kind) = described?;
    let made = copy_work(copy, kind, NodeType::Memcpy)?;
    made.map(|(work, _)| work).ok_or(HipError::INVALID_VALUE)
}

fn copy_1d(
    dst: *const c_void,
    src: *const c_void,
    size: usize,
    kind: c_int,
    of: NodeType,
) -> HipResult<Work> {
    let made = copy_work(linear(dst, src, size), kind, of)?;
    made.map(|(work, _)| work).ok_or(HipError::INVALID_VALUE)
}

fn copy_from_symbol(
    dst: *mut c_void,
    symbol: *const c_void,
    size: usize,
    offset: usize,
    kind: c_int,
) -> HipResult<Work> {
    let from = variable_range(symbol, size, offset)?;
    copy_1d(dst, from, size, kind, NodeType::MemcpyFromSymbol)
}

fn copy_to_symbol(
    symbol: *const c_void,
    src: *const c_void,
    size: usize,
    offset: usize,
    kind: c_int,
) -> HipResult<Work> {
    let to = variable_range(symbol, size, offset)?;
    copy_1d(to, src, size, kind, NodeType::MemcpyToSymbol)
}

/// # Safety
///
/// The pointer is null or valid.
unsafe fn fill(parameters: *const HipMemsetParams) -> HipResult<Work> {
    // SAFETY: the caller promises it.
    let fill = unsafe { described_fill(parameters)? };
    let job = fill.job()?.ok_or(HipError::INVALID_VALUE)?;
    Ok(Work::Fill(fill, job))
}

/// # Safety
///
/// The pointer is null or valid.
unsafe fn host(parameters: *const HipHostNodeParams) -> HipResult<Work> {
    // SAFETY: the caller promises it.
    let given = unsafe { read(parameters)? };
    let function = given.function.ok_or(HipError::INVALID_VALUE)?;
    Ok(Work::Host(HostCall { function, user_data: given.user_data }))
}

/// # Safety
///
/// The pointer is null or valid, and so is the list that it leads to.
unsafe fn values(parameters: *const HipBatchMemOpNodeParams) -> HipResult<Work> {
    // SAFETY: the caller promises it.
    unsafe {
        let given = read(parameters)?;
        batch(given.operations, given.count, given.flags)
    }
}

/// A copy of a graph as the work of a node.
fn child(of: HipGraph) -> HipResult<Work> {
    let of: Arc<Mutex<Graph>> = graph(of)?;
    let copy = lock(&of).duplicate()?;
    Ok(Work::Child(copy))
}

fn record(event: HipEvent) -> HipResult<Work> {
    runtime().event(event).map(Work::RecordEvent)
}

fn wait(event: HipEvent) -> HipResult<Work> {
    runtime().event(event).map(Work::WaitEvent)
}

/// The work that the parameters of any type of node describe whose work can be changed.
///
/// # Safety
///
/// The pointer is null or valid, and so is what it leads to.
unsafe fn any(parameters: *const HipGraphNodeParams, cooperates: bool) -> HipResult<Work> {
    const KERNEL: c_int = NodeType::Kernel as c_int;
    const MEMCPY: c_int = NodeType::Memcpy as c_int;
    const MEMSET: c_int = NodeType::Memset as c_int;
    const HOST: c_int = NodeType::Host as c_int;
    const GRAPH: c_int = NodeType::Graph as c_int;
    const EMPTY: c_int = NodeType::Empty as c_int;
    const WAIT_EVENT: c_int = NodeType::WaitEvent as c_int;
    const EVENT_RECORD: c_int = NodeType::EventRecord as c_int;
    // SAFETY: the caller promises it.
    let given = unsafe { read(parameters)? };
    let inside = given.params.as_ptr();
    let handle = given.params[0] as *mut c_void;
    // SAFETY: the type tells which structure the parameters are; all fit.
    unsafe {
        match given.kind {
            KERNEL => kernel(inside.cast(), cooperates),
            // Behind flags and three reserved words.
            MEMCPY => copy(described_3d(inside.add(2).cast())),
            MEMSET => fill(inside.cast()),
            HOST => host(inside.cast()),
            GRAPH => child(handle),
            EMPTY => Ok(Work::Empty),
            WAIT_EVENT => wait(handle),
            EVENT_RECORD => record(handle),
            _ => Err(HipError::NOT_SUPPORTED),
        }
    }
}

/// Handle of an event.
fn event_handle(event: &Arc<crate::runtime::Event>) -> HipEvent {
    Arc::as_ptr(event).cast_mut().cast()
}

api! {
    /// Adds a launch.
    fn hipGraphAddKernelNode(
        node: *mut HipGraphNode,
        to: HipGraph,
        after: *const HipGraphNode,
        count: usize,
        parameters: *const HipKernelNodeParams,
    ) {
        add(node, to, after, count, kernel(parameters, false)?)
    }

    /// Changes a launch.
    fn hipGraphKernelNodeSetParams(node: HipGraphNode, parameters: *const HipKernelNodeParams) {
        set(node, kernel(parameters, work_of(node)?.is_cooperative())?)
    }

    /// Changes a launch of an executable graph.
    fn hipGraphExecKernelNodeSetParams(
        of: HipGraphExec,
        node: HipGraphNode,
        parameters: *const HipKernelNodeParams,
    ) {
        let cooperates = executable(of)?.is_cooperative(node as usize);
        set_exec(of, node, &kernel(parameters, cooperates)?)
    }

    /// Parameters of a launch. The arguments are the node's and stay until it is changed.
    fn hipGraphKernelNodeGetParams(node: HipGraphNode, parameters: *mut HipKernelNodeParams) {
        let Work::Kernel(launch) = work_of(node)? else { return Err(HipError::INVALID_VALUE) };
        let shape = launch.shape();
        let dim = |[x, y, z]: [u32; 3]| Dim3 { x, y, z };
        put(parameters, HipKernelNodeParams {
            block_dim: dim(shape.block),
            extra: std::ptr::null_mut(),
            func: launch.name() as *mut c_void,
            grid_dim: dim(shape.grid),
            kernel_params: launch.argument_list().cast_mut().cast(),
            shared_mem_bytes: shape.dynamic_lds,
        })
    }

    /// Adds a copy.
    fn hipGraphAddMemcpyNode(
        node: *mut HipGraphNode,
        to: HipGraph,
        after: *const HipGraphNode,
        count: usize,
        parameters: *const HipMemcpy3DParms,
    ) {
        add(node, to, after, count, copy(described_3d(parameters))?)
    }

    /// Changes a copy.
    fn hipGraphMemcpyNodeSetParams(node: HipGraphNode, parameters: *const HipMemcpy3DParms) {
        set(node, copy(described_3d(parameters))?)
    }

    /// Changes a copy of an executable graph.
    fn hipGraphExecMemcpyNodeSetParams(
        of: HipGraphExec,
        node: HipGraphNode,
        parameters: *mut HipMemcpy3DParms,
    ) {
        set_exec(of, node, &copy(described_3d(parameters))?)
    }

    /// Parameters of a copy, its positions added to its pointers.
    fn hipGraphMemcpyNodeGetParams(node: HipGraphNode, parameters: *mut HipMemcpy3DParms) {
        let Work::Copy(copy, kind, ..) = work_of(node)? else {
            return Err(HipError::INVALID_VALUE);
        };
        put(parameters, as_parameters(&copy, kind))
    }

    /// Adds a copy of one row.
    fn hipGraphAddMemcpyNode1D(
        node: *mut HipGraphNode,
        to: HipGraph,
        after: *const HipGraphNode,
        count: usize,
        dst: *mut c_void,
        src: *const c_void,
        size: usize,
        kind: c_int,
    ) {
        add(node, to, after, count, copy_1d(dst, src, size, kind, NodeType::Memcpy)?)
    }

    /// Changes a copy of one row.
    fn hipGraphMemcpyNodeSetParams1D(
        node: HipGraphNode,
        dst: *mut c_void,
        src: *const c_void,
        size: usize,
        kind: c_int,
    ) {
        set(node, copy_1d(dst, src, size, kind, NodeType::Memcpy)?)
    }

    /// Changes a copy of one row of an executable graph.
    fn hipGraphExecMemcpyNodeSetParams1D(
        of: HipGraphExec,
        node: HipGraphNode,
        dst: *mut c_void,
        src: *const c_void,
        size: usize,
        kind: c_int,
    ) {
        set_exec(of, node, &copy_1d(dst, src, size, kind, NodeType::Memcpy)?)
    }

    /// Adds a copy from a device variable.
    fn hipGraphAddMemcpyNodeFromSymbol(
        node: *mut HipGraphNode,
        to: HipGraph,
        after: *const HipGraphNode,
        count: usize,
        dst: *mut c_void,
        symbol: *const c_void,
        size: usize,
        offset: usize,
        kind: c_int,
    ) {
        add(node, to, after, count, copy_from_symbol(dst, symbol, size, offset, kind)?)
    }

    /// Changes a copy from a device variable.
    fn hipGraphMemcpyNodeSetParamsFromSymbol(
        node: HipGraphNode,
        dst: *mut c_void,
        symbol: *const c_void,
        size: usize,
        offset: usize,
        kind: c_int,
    ) {
        set(node, copy_from_symbol(dst, symbol, size, offset, kind)?)
    }

    /// Changes a copy from a device variable of an executable graph.
    fn hipGraphExecMemcpyNodeSetParamsFromSymbol(
        of: HipGraphExec,
        node: HipGraphNode,
        dst: *mut c_void,
        symbol: *const c_void,
        size: usize,
        offset: usize,
        kind: c_int,
    ) {
        set_exec(of, node, &copy_from_symbol(dst, symbol, size, offset, kind)?)
    }

    /// Adds a copy to a device variable.
    fn hipGraphAddMemcpyNodeToSymbol(
        node: *mut HipGraphNode,
        to: HipGraph,
        after: *const HipGraphNode,
        count: usize,
        symbol: *const c_void,
        src: *const c_void,
        size: usize,
        offset: usize,
        kind: c_int,
    ) {
        add(node, to, after, count, copy_to_symbol(symbol, src, size, offset, kind)?)
    }

    /// Changes a copy to a device variable.
    fn hipGraphMemcpyNodeSetParamsToSymbol(
        node: HipGraphNode,
        symbol: *const c_void,
        src: *const c_void,
        size: usize,
        offset: usize,
        kind: c_int,
    ) {
        set(node, copy_to_symbol(symbol, src, size, offset, kind)?)
    }

    /// Changes a copy to a device variable of an executable graph.
    fn hipGraphExecMemcpyNodeSetParamsToSymbol(
        of: HipGraphExec,
        node: HipGraphNode,
        symbol: *const c_void,
        src: *const c_void,
        size: usize,
        offset: usize,
        kind: c_int,
    ) {
        set_exec(of, node, &copy_to_symbol(symbol, src, size, offset, kind)?)
    }

    /// Adds a copy that a driver-style structure describes.
    fn hipDrvGraphAddMemcpyNode(
        node: *mut HipGraphNode,
        to: HipGraph,
        after: *const HipGraphNode,
        count: usize,
        parameters: *const HipDrvMemcpy3D,
        _context: HipCtx,
    ) {
        add(node, to, after, count, copy(described_drv_3d(parameters))?)
    }

    /// Changes a copy to what a driver-style structure describes.
    fn hipDrvGraphMemcpyNodeSetParams(node: HipGraphNode, parameters: *const HipDrvMemcpy3D) {
        set(node, copy(described_drv_3d(parameters))?)
    }

    /// Changes a copy of an executable graph to what a driver-style structure describes.
    fn hipDrvGraphExecMemcpyNodeSetParams(
        of: HipGraphExec,
        node: HipGraphNode,
        parameters: *const HipDrvMemcpy3D,
        _context: HipCtx,
    ) {
        set_exec(of, node, &copy(described_drv_3d(parameters))?)
    }

    /// A copy as a driver-style structure.
    fn hipDrvGraphMemcpyNodeGetParams(node: HipGraphNode, parameters: *mut HipDrvMemcpy3D) {
        let Work::Copy(copy, kind, ..) = work_of(node)? else {
            return Err(HipError::INVALID_VALUE);
        };
        put(parameters, as_drv_parameters(&copy, kind))
    }

    /// Adds a fill.
    fn hipGraphAddMemsetNode(
        node: *mut HipGraphNode,
        to: HipGraph,
        after: *const HipGraphNode,
        count: usize,
        parameters: *const HipMemsetParams,
    ) {
        add(node, to, after, count, fill(parameters)?)
    }

    /// Changes a fill.
    fn hipGraphMemsetNodeSetParams(node: HipGraphNode, parameters: *const HipMemsetParams) {
        set(node, fill(parameters)?)
    }

    /// Changes a fill of an executable graph.
    fn hipGraphExecMemsetNodeSetParams(
        of: HipGraphExec,
        node: HipGraphNode,
        parameters: *const HipMemsetParams,
    ) {
        set_exec(of, node, &fill(parameters)?)
    }

    /// Adds a fill.
    fn hipDrvGraphAddMemsetNode(
        node: *mut HipGraphNode,
        to: HipGraph,
        after: *const HipGraphNode,
        count: usize,
        parameters: *const HipMemsetParams,
        _context: HipCtx,
    ) {
        add(node, to, after, count, fill(parameters)?)
    }

    /// Changes a fill of an executable graph.
    fn hipDrvGraphExecMemsetNodeSetParams(
        of: HipGraphExec,
        node: HipGraphNode,
        parameters: *const HipMemsetParams,
        _context: HipCtx,
    ) {
        set_exec(of, node, &fill(parameters)?)
    }

    /// Parameters of a fill.
    fn hipGraphMemsetNodeGetParams(node: HipGraphNode, parameters: *mut HipMemsetParams) {
        let Work::Fill(fill, _) = work_of(node)? else { return Err(HipError::INVALID_VALUE) };
        put(parameters, HipMemsetParams {
            dst: std::ptr::with_exposed_provenance_mut(fill.dst.address as usize),
            element_size: fill.element as c_uint,
            height: fill.extent.height as usize,
            pitch: fill.dst.pitch as usize,
            value: fill.value,
            width: fill.extent.width as usize / fill.element,
        })
    }

    /// Adds a call of a host function.
    fn hipGraphAddHostNode(
        node: *mut HipGraphNode,
        to: HipGraph,
        after: *const HipGraphNode,
        count: usize,
        parameters: *const HipHostNodeParams,
    ) {
        add(node, to, after, count, host(parameters)?)
    }

    /// Changes a call of a host function.
    fn hipGraphHostNodeSetParams(node: HipGraphNode, parameters: *const HipHostNodeParams) {
        set(node, host(parameters)?)
    }

    /// Changes a call of a host function of an executable graph.
    fn hipGraphExecHostNodeSetParams(
        of: HipGraphExec,
        node: HipGraphNode,
        parameters: *const HipHostNodeParams,
    ) {
        set_exec(of, node, &host(parameters)?)
    }

    /// Parameters of a call of a host function.
    fn hipGraphHostNodeGetParams(node: HipGraphNode, parameters: *mut HipHostNodeParams) {
        let Work::Host(call) = work_of(node)? else { return Err(HipError::INVALID_VALUE) };
        put(parameters, HipHostNodeParams {
            function: Some(call.function),
            user_data: call.user_data,
        })
    }

    /// Adds a copy of a graph.
    fn hipGraphAddChildGraphNode(
        node: *mut HipGraphNode,
        to: HipGraph,
        after: *const HipGraphNode,
        count: usize,
        of: HipGraph,
    ) {
        add(node, to, after, count, child(of)?)
    }

    /// The graph inside a node, which goes away with the node.
    fn hipGraphChildGraphNodeGetGraph(node: HipGraphNode, inside: *mut HipGraph) {
        let Work::Child(child) = work_of(node)? else { return Err(HipError::INVALID_VALUE) };
        put(inside, runtime().graphs.insert(child))
    }

    /// Changes a graph inside an executable graph for one of the same shape.
    fn hipGraphExecChildGraphNodeSetParams(
        of: HipGraphExec,
        node: HipGraphNode,
        inside: HipGraph,
    ) {
        set_exec(of, node, &child(inside)?)
    }

    /// Adds a node that does nothing.
    fn hipGraphAddEmptyNode(
        node: *mut HipGraphNode,
        to: HipGraph,
        after: *const HipGraphNode,
        count: usize,
    ) {
        add(node, to, after, count, Work::Empty)
    }

    /// Adds a recording of an event.
    fn hipGraphAddEventRecordNode(
        node: *mut HipGraphNode,
        to: HipGraph,
        after: *const HipGraphNode,
        count: usize,
        event: HipEvent,
    ) {
        add(node, to, after, count, record(event)?)
    }

    /// The event of a recording of an event.
    fn hipGraphEventRecordNodeGetEvent(node: HipGraphNode, event: *mut HipEvent) {
        let Work::RecordEvent(found) = work_of(node)? else {
            return Err(HipError::INVALID_VALUE);
        };
        put(event, event_handle(&found))
    }

    /// Changes the event of a recording of an event.
    fn hipGraphEventRecordNodeSetEvent(node: HipGraphNode, event: HipEvent) {
        set(node, record(event)?)
    }

    /// Changes the event of a recording of an event of an executable graph.
    fn hipGraphExecEventRecordNodeSetEvent(of: HipGraphExec, node: HipGraphNode, event: HipEvent) {
        set_exec(of, node, &record(event)?)
    }

    /// Adds a wait for an event.
    fn hipGraphAddEventWaitNode(
        node: *mut HipGraphNode,
        to: HipGraph,
        after: *const HipGraphNode,
        count: usize,
        event: HipEvent,
    ) {
        add(node, to, after, count, wait(event)?)
    }

    /// The event of a wait for an event.
    fn hipGraphEventWaitNodeGetEvent(node: HipGraphNode, event: *mut HipEvent) {
        let Work::WaitEvent(found) = work_of(node)? else {
            return Err(HipError::INVALID_VALUE);
        };
        put(event, event_handle(&found))
    }

    /// Changes the event of a wait for an event.
    fn hipGraphEventWaitNodeSetEvent(node: HipGraphNode, event: HipEvent) {
        set(node, wait(event)?)
    }

    /// Changes the event of a wait for an event of an executable graph.
    fn hipGraphExecEventWaitNodeSetEvent(of: HipGraphExec, node: HipGraphNode, event: HipEvent) {
        set_exec(of, node, &wait(event)?)
    }

    /// Adds operations on values.
    fn hipGraphAddBatchMemOpNode(
        node: *mut HipGraphNode,
        to: HipGraph,
        after: *const HipGraphNode,
        count: usize,
        parameters: *const HipBatchMemOpNodeParams,
    ) {
        add(node, to, after, count, values(parameters)?)
    }

    /// Changes operations on values.
    fn hipGraphBatchMemOpNodeSetParams(
        node: HipGraphNode,
        parameters: *const HipBatchMemOpNodeParams,
    ) {
        set(node, values(parameters)?)
    }

    /// Changes operations on values of an executable graph.
    fn hipGraphExecBatchMemOpNodeSetParams(
        of: HipGraphExec,
        node: HipGraphNode,
        parameters: *const HipBatchMemOpNodeParams,
    ) {
        set_exec(of, node, &values(parameters)?)
    }

    /// Operations on values. With room for fewer, as many as fit are written.
    fn hipGraphBatchMemOpNodeGetParams(
        node: HipGraphNode,
        parameters: *mut HipBatchMemOpNodeParams,
    ) {
        let Work::Values(found) = work_of(node)? else { return Err(HipError::INVALID_VALUE) };
        let given = read(parameters.cast_const())?;
        let list: Vec<HipStreamBatchMemOp> = found.iter().map(described_operation).collect();
        if !given.operations.is_null() {
            for (index, operation) in list.iter().take(given.count as usize).enumerate() {
                put(given.operations.add(index), *operation)?;
            }
        }
        put(parameters, HipBatchMemOpNodeParams { count: list.len() as c_uint, ..given })
    }

    /// Adds a node of any type.
    fn hipGraphAddNode(
        node: *mut HipGraphNode,
        to: HipGraph,
        after: *const HipGraphNode,
        count: usize,
        parameters: *mut HipGraphNodeParams,
    ) {
        const MEM_ALLOC: c_int = NodeType::MemAlloc as c_int;
        const MEM_FREE: c_int = NodeType::MemFree as c_int;
        let given = read(parameters.cast_const())?;
        match given.kind {
            MEM_ALLOC => {
                let inside = parameters.byte_add(std::mem::offset_of!(HipGraphNodeParams, params));
                add_allocation(node, to, after, count, inside.cast())
            }
            MEM_FREE => add(node, to, after, count, freed(given.params[0] as *const c_void)?),
            _ => add(node, to, after, count, any(parameters, false)?),
        }
    }

    /// Changes a node of any type.
    fn hipGraphNodeSetParams(node: HipGraphNode, parameters: *mut HipGraphNodeParams) {
        set(node, any(parameters, work_of(node)?.is_cooperative())?)
    }

    /// Changes a node of any type of an executable graph.
    fn hipGraphExecNodeSetParams(
        of: HipGraphExec,
        node: HipGraphNode,
        parameters: *mut HipGraphNodeParams,
    ) {
        let cooperates = executable(of)?.is_cooperative(node as usize);
        set_exec(of, node, &any(parameters, cooperates)?)
    }

    /// Whether an executable graph does a node.
    fn hipGraphNodeGetEnabled(of: HipGraphExec, node: HipGraphNode, enabled: *mut c_uint) {
        let found = executable(of)?.enable(node as usize, None)?;
        put(enabled, c_uint::from(found))
    }

    /// Chooses whether an executable graph does a launch, a copy or a fill.
    fn hipGraphNodeSetEnabled(of: HipGraphExec, node: HipGraphNode, enabled: c_uint) {
        executable(of)?.enable(node as usize, Some(enabled != 0)).map(drop)
    }
}
