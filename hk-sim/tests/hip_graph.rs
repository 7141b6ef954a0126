//! Graphs of nodes and stream capture, through the C API.

#![expect(clippy::undocumented_unsafe_blocks, reason = "each block calls the C API under test")]

mod support;

use std::ffi::c_void;
use std::ptr::{null, null_mut};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

use hk_build::{Arch, CompileOptions, compile_source};
use hk_sim::HipError;
use hk_sim::capi::types::*;
use hk_sim::capi::*;
use support::*;

const INVALID: HipError = HipError::INVALID_VALUE;
const KERNEL: i32 = 0;
const MEMCPY: i32 = 1;
const MEMSET: i32 = 2;
const HOST: i32 = 3;
const GRAPH: i32 = 4;
const EMPTY: i32 = 5;
const WAIT_EVENT: i32 = 6;
const EVENT_RECORD: i32 = 7;
const BATCH: i32 = 14;

const SOURCE: &str = r#"
extern "C" __attribute__((global)) void add(unsigned* y, unsigned a, unsigned n) {
  unsigned i = __builtin_amdgcn_workgroup_id_x() * 64 + __builtin_amdgcn_workitem_id_x();
  if (i < n) y[i] += a;
}
extern "C" __attribute__((global)) void times(unsigned* y, unsigned a, unsigned n) {
  unsigned i = __builtin_amdgcn_workgroup_id_x() * 64 + __builtin_amdgcn_workitem_id_x();
  if (i < n) y[i] *= a;
}
"#;

/// The kernels on the MI355X, which becomes the device of this thread.
fn kernels() -> (HipFunction, HipFunction) {
    use_product("mi355x");
    let code = compile_source(SOURCE, Arch::Gfx950, &CompileOptions::default()).expect("compiles");
    unsafe {
        let module = get(|module| hipModuleLoadData(module, code.image.as_ptr().cast()));
        let add = get(|function| hipModuleGetFunction(function, module, c"add".as_ptr()));
        (add, get(|function| hipModuleGetFunction(function, module, c"times".as_ptr())))
    }
}

/// Arguments of a kernel, and the list that leads to them.
struct Arguments {
    values: Box<(*mut c_void, u32, u32)>,
    list: [*mut c_void; 3],
}

impl Arguments {
    fn new(y: *mut c_void, a: u32, n: u32) -> Self {
        let mut values = Box::new((y, a, n));
        let list =
            [(&raw mut values.0).cast(), (&raw mut values.1).cast(), (&raw mut values.2).cast()];
        Self { values, list }
    }

    fn node(&mut self, func: HipFunction) -> HipKernelNodeParams {
        HipKernelNodeParams {
            block_dim: Dim3 { x: 64, y: 1, z: 1 },
            extra: null_mut(),
            func,
            grid_dim: Dim3 { x: self.values.2.div_ceil(64), y: 1, z: 1 },
            kernel_params: self.list.as_mut_ptr(),
            shared_mem_bytes: 0,
        }
    }
}

fn memset(dst: *mut c_void, value: u32, width: usize) -> HipMemsetParams {
    HipMemsetParams { dst, element_size: 4, height: 1, pitch: 0, value, width }
}

fn instantiate(graph: HipGraph) -> HipGraphExec {
    unsafe { get(|exec| hipGraphInstantiate(exec, graph, null_mut(), null_mut(), 0)) }
}

fn launch(executable: HipGraphExec, stream: HipStream) {
    unsafe {
        ok(hipGraphLaunch(executable, stream));
        ok(hipStreamSynchronize(stream));
    }
}

fn node_type(node: HipGraphNode) -> i32 {
    unsafe { get(|kind| hipGraphNodeGetType(node, kind)) }
}

/// What a call that lists nodes lists.
fn listed(call: impl Fn(*mut HipGraphNode, *mut usize) -> HipError) -> Vec<HipGraphNode> {
    let count = get(|count| call(null_mut(), count));
    let mut nodes = vec![null_mut(); count];
    let mut room = count;
    ok(call(nodes.as_mut_ptr(), &mut room));
    assert_eq!(room, count);
    nodes
}

#[test]
fn nodes_are_done_in_the_order_of_their_edges() {
    let (add, times) = kernels();
    unsafe {
        let n = 100;
        let y = upload(&vec![7u32; n as usize]);
        let graph = get(|graph| hipGraphCreate(graph, 0));
        // Added last to first, and connected afterwards: ((3 + 4) * 5) + 4.
        let mut last = Arguments::new(y, 4, n);
        let last = get(|node| hipGraphAddKernelNode(node, graph, null(), 0, &last.node(add)));
        let mut middle = Arguments::new(y, 5, n);
        let middle = get(|node| hipGraphAddKernelNode(node, graph, null(), 0, &middle.node(times)));
        let mut first = Arguments::new(y, 4, n);
        let first = get(|node| hipGraphAddKernelNode(node, graph, null(), 0, &first.node(add)));
        let fill = memset(y, 3, n as usize);
        let fill = get(|node| hipGraphAddMemsetNode(node, graph, null(), 0, &fill));
        let join = [last, fill];
        let empty = get(|node| hipGraphAddEmptyNode(node, graph, join.as_ptr(), 2));
        let (from, to) = ([fill, first, middle], [first, middle, last]);
        ok(hipGraphAddDependencies(graph, from.as_ptr(), to.as_ptr(), 3));
        assert_eq!(hipGraphAddDependencies(graph, from.as_ptr(), to.as_ptr(), 1), INVALID);
        assert_eq!(hipGraphAddDependencies(graph, from.as_ptr(), from.as_ptr(), 1), INVALID);

        let types: Vec<i32> = [last, fill, empty].map(node_type).into();
        assert_eq!(types, [KERNEL, MEMSET, EMPTY]);
        let nodes = listed(|nodes, count| hipGraphGetNodes(graph, nodes, count));
        assert_eq!(nodes, [last, middle, first, fill, empty]);
        let roots = listed(|nodes, count| hipGraphGetRootNodes(graph, nodes, count));
        assert_eq!(roots, [fill]);
        let before = listed(|nodes, count| hipGraphNodeGetDependencies(empty, nodes, count));
        assert_eq!(before, [last, fill]);
        let behind = listed(|nodes, count| hipGraphNodeGetDependentNodes(fill, nodes, count));
        assert_eq!(behind, [first, empty]);
        // With more room than nodes, the rest are nulls.
        let (mut some, mut room) = ([first; 3], 3);
        ok(hipGraphGetRootNodes(graph, some.as_mut_ptr(), &mut room));
        assert_eq!((some, room), ([fill, null_mut(), null_mut()], 1));
        let mut edges = 0;
        ok(hipGraphGetEdges(graph, null_mut(), null_mut(), &mut edges));
        assert_eq!(edges, 5);
        let (mut sources, mut targets) = ([null_mut(); 5], [null_mut(); 5]);
        ok(hipGraphGetEdges(graph, sources.as_mut_ptr(), targets.as_mut_ptr(), &mut edges));
        let pairs: Vec<_> = sources.into_iter().zip(targets).collect();
        assert!(pairs.contains(&(first, middle)) && pairs.contains(&(fill, empty)), "{pairs:?}");

        let executable = instantiate(graph);
        let stream = stream();
        launch(executable, stream);
        assert_eq!(download::<u32>(y, n as usize), vec![39; n as usize]);
        // A cycle cannot be done.
        ok(hipGraphAddDependencies(graph, &empty, &fill, 1));
        let mut refused = null_mut();
        let (none, log) = (null_mut(), null_mut());
        assert_eq!(hipGraphInstantiate(&mut refused, graph, none, log, 0), INVALID);
        ok(hipGraphRemoveDependencies(graph, &empty, &fill, 1));
        assert_eq!(hipGraphRemoveDependencies(graph, &empty, &fill, 1), INVALID);
        // Without the kernels in the middle: 3 + 4, in whichever order what is left has.
        ok(hipGraphDestroyNode(middle));
        ok(hipGraphDestroyNode(first));
        assert_eq!(hipGraphDestroyNode(first), INVALID);
        ok(hipGraphAddDependencies(graph, &fill, &last, 1));
        let shorter = instantiate(graph);
        launch(shorter, stream);
        assert_eq!(download::<u32>(y, n as usize), vec![7; n as usize]);
        // What was instantiated before is as it was, and outlives the graph.
        ok(hipGraphDestroy(graph));
        assert_eq!(hipGraphNodeGetType(last, &mut 0), INVALID);
        launch(executable, stream);
        assert_eq!(download::<u32>(y, 1), [39]);
        for executable in [executable, shorter] {
            ok(hipGraphExecDestroy(executable));
        }
        ok(hipStreamDestroy(stream));
        free(y);
    }
}

#[test]
fn kernel_nodes_are_read_and_changed() {
    let (add, times) = kernels();
    unsafe {
        let y = upload(&[10u32; 64]);
        let graph = get(|graph| hipGraphCreate(graph, 0));
        let mut arguments = Arguments::new(y, 2, 64);
        let params = arguments.node(add);
        let node = get(|node| hipGraphAddKernelNode(node, graph, null(), 0, &params));
        // The node has copies of its arguments.
        arguments.values.1 = 99;
        let found = get(|found| hipGraphKernelNodeGetParams(node, found));
        assert_eq!(
            (found.func, found.grid_dim, found.block_dim),
            (add, Dim3 { x: 1, y: 1, z: 1 }, params.block_dim)
        );
        let argument = |index| *found.kernel_params.add(index);
        assert_eq!(*argument(0).cast::<*mut c_void>(), y);
        assert_eq!((*argument(1).cast::<u32>(), *argument(2).cast::<u32>()), (2, 64));

        let executable = instantiate(graph);
        let stream = stream();
        launch(executable, stream);
        assert_eq!(download::<u32>(y, 64), [12; 64]);
        // In the executable graph alone; then in the graph, which changes no executable one.
        let mut other = Arguments::new(y, 3, 32);
        ok(hipGraphExecKernelNodeSetParams(executable, node, &other.node(times)));
        launch(executable, stream);
        assert_eq!(download::<u32>(y, 64), [[36; 32], [12; 32]].concat());
        let mut third = Arguments::new(y, 1, 64);
        ok(hipGraphKernelNodeSetParams(node, &third.node(add)));
        launch(executable, stream);
        assert_eq!(download::<u32>(y, 64), [[108; 32], [12; 32]].concat());
        let again = instantiate(graph);
        launch(again, stream);
        assert_eq!(download::<u32>(y, 64), [[109; 32], [13; 32]].concat());
        // Parameters of a captured launch work as those of one that was added.
        ok(hipStreamBeginCapture(stream, 2));
        let shape = [1, 1, 1, 64, 1, 1, 0];
        let [a, b, c, d, e, f, g] = shape;
        let list = third.list.as_mut_ptr();
        ok(hipModuleLaunchKernel(add, a, b, c, d, e, f, g, stream, list, null_mut()));
        let captured = get(|graph| hipStreamEndCapture(stream, graph));
        let nodes = listed(|nodes, count| hipGraphGetNodes(captured, nodes, count));
        let mut found = get(|found| hipGraphKernelNodeGetParams(nodes[0], found));
        assert_eq!(found.func, add);
        found.func = times;
        *(*found.kernel_params.add(1)).cast::<u32>() = 2;
        ok(hipGraphKernelNodeSetParams(nodes[0], &found));
        launch(instantiate(captured), stream);
        assert_eq!(download::<u32>(y, 64), [[218; 32], [26; 32]].concat());

        // Every bad argument is refused.
        let mut node_out = null_mut();
        let good = third.node(add);
        for bad in [
            HipKernelNodeParams { func: null_mut(), ..good },
            HipKernelNodeParams { block_dim: Dim3 { x: 2048, y: 1, z: 1 }, ..good },
            HipKernelNodeParams { grid_dim: Dim3 { x: 0, y: 1, z: 1 }, ..good },
            HipKernelNodeParams { kernel_params: null_mut(), ..good },
        ] {
            assert_ne!(
                hipGraphAddKernelNode(&mut node_out, graph, null(), 0, &bad),
                HipError::SUCCESS
            );
            assert_ne!(hipGraphKernelNodeSetParams(node, &bad), HipError::SUCCESS);
        }
        assert_eq!(hipGraphAddKernelNode(&mut node_out, graph, null(), 0, null()), INVALID);
        assert_eq!(hipGraphAddKernelNode(null_mut(), graph, null(), 0, &good), INVALID);
        assert_eq!(hipGraphAddKernelNode(&mut node_out, null_mut(), null(), 0, &good), INVALID);
        assert_eq!(hipGraphAddKernelNode(&mut node_out, graph, null(), 1, &good), INVALID);
        let twice = [node, node];
        assert_eq!(hipGraphAddKernelNode(&mut node_out, graph, twice.as_ptr(), 2, &good), INVALID);
        assert_eq!(hipGraphMemsetNodeSetParams(node, &memset(y, 1, 1)), INVALID);
        assert_eq!(hipGraphExecMemsetNodeSetParams(executable, node, &memset(y, 1, 1)), INVALID);
        assert_eq!(hipGraphMemsetNodeGetParams(node, &mut memset(y, 1, 1)), INVALID);
        assert_eq!(listed(|nodes, count| hipGraphGetNodes(graph, nodes, count)).len(), 1);
        free(y);
    }
}

#[test]
fn copies_fills_and_host_functions_are_nodes() {
    static CALLS: Mutex<Vec<usize>> = Mutex::new(Vec::new());
    unsafe extern "C" fn note(data: *mut c_void) {
        CALLS.lock().expect("not poisoned").push(data as usize);
    }
    unsafe {
        use_product("mi325x");
        let stream = stream();
        let (a, b) = (upload(&[1u32, 2, 3, 4]), upload(&[0u32; 4]));
        let graph = get(|graph| hipGraphCreate(graph, 0));
        let copy = get(|node| hipGraphAddMemcpyNode1D(node, graph, null(), 0, b, a, 16, 3));
        let host = HipHostNodeParams {
            function: Some(note),
            user_data: std::ptr::without_provenance_mut(5),
        };
        let host = get(|node| hipGraphAddHostNode(node, graph, &copy, 1, &host));
        let fill = get(|node| {
            let second = memset(b.byte_add(4), 8, 2);
            hipGraphAddMemsetNode(node, graph, &host, 1, &second)
        });
        assert_eq!([copy, host, fill].map(node_type), [MEMCPY, HOST, MEMSET]);
        let found = get(|found| hipGraphMemcpyNodeGetParams(copy, found));
        assert_eq!((found.dst_ptr.pointer, found.src_ptr.pointer, found.kind), (b, a, 3));
        assert_eq!(found.extent, HipExtent { width: 16, height: 1, depth: 1 });
        let found = get(|found| hipGraphMemsetNodeGetParams(fill, found));
        assert_eq!((found.dst, found.element_size, found.value), (b.byte_add(4), 4, 8));
        assert_eq!((found.width, found.height), (2, 1));
        let found = get(|found| hipGraphHostNodeGetParams(host, found));
        assert_eq!(found.user_data as usize, 5);

        let executable = instantiate(graph);
        launch(executable, stream);
        assert_eq!(download::<u32>(b, 4), [1, 8, 8, 4]);
        ok(hipGraphExecMemcpyNodeSetParams1D(executable, copy, b, a.byte_add(8), 8, 3));
        let other = HipHostNodeParams {
            function: Some(note),
            user_data: std::ptr::without_provenance_mut(6),
        };
        ok(hipGraphExecHostNodeSetParams(executable, host, &other));
        ok(hipGraphExecMemsetNodeSetParams(executable, fill, &memset(b.byte_add(12), 9, 1)));
        launch(executable, stream);
        assert_eq!(download::<u32>(b, 4), [3, 4, 8, 9]);
        assert_eq!(*CALLS.lock().expect("not poisoned"), [5, 6]);
        // A disabled node is passed over.
        ok(hipGraphNodeSetEnabled(executable, fill, 0));
        assert_eq!(get(|enabled| hipGraphNodeGetEnabled(executable, fill, enabled)), 0);
        ok(hipMemset(b, 0, 16));
        launch(executable, stream);
        assert_eq!(download::<u32>(b, 4), [3, 4, 0, 0]);
        assert_eq!(hipGraphNodeSetEnabled(executable, host, 0), INVALID);

        // A copy of a clone is another node.
        let clone = get(|clone| hipGraphClone(clone, graph));
        let of_clone = get(|node| hipGraphNodeFindInClone(node, fill, clone));
        assert_ne!(of_clone, fill);
        ok(hipGraphMemsetNodeSetParams(of_clone, &memset(b, 1, 4)));
        launch(instantiate(clone), stream);
        assert_eq!(download::<u32>(b, 4), [1, 1, 1, 1]);
        launch(instantiate(graph), stream);
        assert_eq!(download::<u32>(b, 4), [1, 8, 8, 4]);
        let mut none = null_mut();
        assert_eq!(hipGraphNodeFindInClone(&mut none, of_clone, graph), INVALID);
        assert_eq!(hipGraphAddMemcpyNode1D(&mut none, graph, null(), 0, b, a, 17, 3), INVALID);
        let wrong = HipMemsetParams { element_size: 3, ..memset(b, 1, 1) };
        assert_eq!(hipGraphAddMemsetNode(&mut none, graph, null(), 0, &wrong), INVALID);
        let wrong = HipHostNodeParams { function: None, user_data: null_mut() };
        assert_eq!(hipGraphAddHostNode(&mut none, graph, null(), 0, &wrong), INVALID);
        free(a);
        free(b);
    }
}

#[test]
fn events_and_graphs_are_nodes() {
    unsafe {
        use_product("mi355x");
        let (one, two) = (stream(), stream());
        let word = upload(&[0u32]);
        let gate = upload(&[0u32]);
        let (start, done) =
            (get(|event| hipEventCreate(event)), get(|event| hipEventCreate(event)));
        let inner = get(|graph| hipGraphCreate(graph, 0));
        let fill = get(|node| hipGraphAddMemsetNode(node, inner, null(), 0, &memset(word, 1, 1)));
        let outer = get(|graph| hipGraphCreate(graph, 0));
        let wait = get(|node| hipGraphAddEventWaitNode(node, outer, null(), 0, start));
        let child = get(|node| hipGraphAddChildGraphNode(node, outer, &wait, 1, inner));
        let record = get(|node| hipGraphAddEventRecordNode(node, outer, &child, 1, done));
        assert_eq!([wait, child, record].map(node_type), [WAIT_EVENT, GRAPH, EVENT_RECORD]);
        assert_eq!(get(|event| hipGraphEventWaitNodeGetEvent(wait, event)), start);
        assert_eq!(get(|event| hipGraphEventRecordNodeGetEvent(record, event)), done);
        let inside = get(|graph| hipGraphChildGraphNodeGetGraph(child, graph));
        let nodes = listed(|nodes, count| hipGraphGetNodes(inside, nodes, count));
        // It is a copy.
        assert!(nodes.len() == 1 && nodes[0] != fill);
        ok(hipGraphMemsetNodeSetParams(nodes[0], &memset(word, 2, 1)));

        let executable = instantiate(outer);
        // The other stream reaches the event once the gate is open.
        ok(hipStreamWaitValue32(two, gate, 1, 0, u32::MAX));
        ok(hipEventRecord(start, two));
        ok(hipGraphLaunch(executable, one));
        assert_eq!(hipEventQuery(done), HipError::NOT_READY);
        assert_eq!(hipStreamQuery(one), HipError::NOT_READY);
        gate.cast::<u32>().write_volatile(1);
        ok(hipEventSynchronize(done));
        assert_eq!(download::<u32>(word, 1), [2]);
        // A graph of the same shape in the place of the inner one.
        ok(hipGraphExecChildGraphNodeSetParams(executable, child, inner));
        launch(executable, one);
        assert_eq!(download::<u32>(word, 1), [1]);
        ok(get_node(|node| hipGraphAddEmptyNode(node, inner, &fill, 1)));
        assert_eq!(hipGraphExecChildGraphNodeSetParams(executable, child, inner), INVALID);
        assert_eq!(hipGraphEventWaitNodeSetEvent(record, start), INVALID);
        ok(hipGraphExecEventRecordNodeSetEvent(executable, record, start));
        let mut none = null_mut();
        let gone = hipGraphAddEventWaitNode(&mut none, outer, null(), 0, null_mut());
        assert_eq!(gone, HipError::INVALID_HANDLE);
        for buffer in [word, gate] {
            free(buffer);
        }
    }
}

fn get_node(call: impl FnOnce(*mut HipGraphNode) -> HipError) -> HipError {
    call(&mut null_mut())
}

#[test]
fn an_executable_graph_takes_the_work_of_one_of_its_shape() {
    let (add, times) = kernels();
    unsafe {
        let y = upload(&[1u32; 64]);
        let make = |function, a: u32, fill: bool, edge: bool| {
            let graph = get(|graph| hipGraphCreate(graph, 0));
            let mut arguments = Arguments::new(y, a, 64);
            let params = arguments.node(function);
            let first = get(|node| hipGraphAddKernelNode(node, graph, null(), 0, &params));
            let count = usize::from(edge);
            let second = get(|node| {
                if fill {
                    hipGraphAddMemsetNode(node, graph, &first, count, &memset(y, 5, 1))
                } else {
                    hipGraphAddEmptyNode(node, graph, &first, count)
                }
            });
            (graph, second)
        };
        let stream = stream();
        let (first, _) = make(add, 1, true, true);
        let executable = instantiate(first);
        let (other, _) = make(times, 7, true, true);
        let (mut node, mut result) = (null_mut(), -1);
        ok(hipGraphExecUpdate(executable, other, &mut node, &mut result));
        assert_eq!((node, result), (null_mut(), 0));
        launch(executable, stream);
        assert_eq!(download::<u32>(y, 2), [5, 7]);
        // Another type, another edge, another number of nodes; the work stays as it was.
        let failure = HipError::GRAPH_EXEC_UPDATE_FAILURE;
        let (typed, second) = make(add, 1, false, true);
        assert_eq!(hipGraphExecUpdate(executable, typed, &mut node, &mut result), failure);
        assert_eq!((node, result), (second, 3));
        let (loose, second) = make(add, 1, true, false);
        assert_eq!(hipGraphExecUpdate(executable, loose, &mut node, &mut result), failure);
        assert_eq!((node, result), (second, 2));
        let extra = get(|node| hipGraphAddEmptyNode(node, other, null(), 0));
        assert_eq!(hipGraphExecUpdate(executable, other, &mut node, &mut result), failure);
        assert_eq!((node, result), (extra, 2));
        launch(executable, stream);
        assert_eq!(download::<u32>(y, 2), [5, 49]);
        assert_eq!(hipGraphExecUpdate(executable, first, null_mut(), &mut result), INVALID);
        free(y);
    }
}

#[test]
fn a_capture_shows_its_graph_and_takes_nodes() {
    unsafe {
        use_product("mi325x");
        let (a, b) = (stream(), stream());
        let y = upload(&[0u32; 4]);
        let info = |stream| {
            let (mut state, mut id, mut graph) = (-1, 0, null_mut());
            let (mut nodes, mut count) = (null(), 0);
            ok(hipStreamGetCaptureInfo_v2(
                stream, &mut state, &mut id, &mut graph, &mut nodes, &mut count,
            ));
            let nodes: Vec<HipGraphNode> = (0..count).map(|i| *nodes.add(i)).collect();
            (state, id, graph, nodes)
        };
        assert_eq!(info(a), (0, 0, null_mut(), vec![]));
        ok(hipStreamBeginCapture(a, 2));
        let (state, id, graph, nodes) = info(a);
        assert_eq!((state, nodes), (1, vec![]));
        let (mut again, mut number) = (0, 0);
        ok(hipStreamGetCaptureInfo(a, &mut again, &mut number));
        assert_eq!((again, number), (1, id));
        ok(hipMemsetD32Async(y, 1, 4, a));
        let first = info(a).3;
        assert_eq!(first.len(), 1);
        assert_eq!(node_type(first[0]), MEMSET);
        // Another stream joins behind the node; its work follows it, not what comes later here.
        let event = get(|event| hipEventCreate(event));
        ok(hipEventRecord(event, a));
        ok(hipMemsetD32Async(y, 2, 1, a));
        ok(hipStreamWaitEvent(b, event, 0));
        assert_eq!(info(b), (1, id, graph, first.clone()));
        ok(hipMemsetD32Async(y.byte_add(4), 3, 1, b));
        let of_b = info(b).3;
        let before = listed(|nodes, count| hipGraphNodeGetDependencies(of_b[0], nodes, count));
        assert_eq!(before, first);
        ok(hipEventRecord(event, b));
        ok(hipStreamWaitEvent(a, event, 0));
        assert_eq!(info(a).3.len(), 2);
        // A node by hand, which the work of the stream then waits for.
        let value = HipStreamBatchMemOp {
            operation: 2,
            address: y.byte_add(8),
            value: 4,
            flags: 0,
            alias: null_mut(),
            padding: 0,
        };
        let mut values = [value];
        let batch = HipBatchMemOpNodeParams {
            context: null_mut(),
            count: 1,
            operations: values.as_mut_ptr(),
            flags: 0,
        };
        let ends = info(a).3;
        let added = get(|node| hipGraphAddBatchMemOpNode(node, graph, ends.as_ptr(), 2, &batch));
        assert_eq!(node_type(added), BATCH);
        let mut list = [added];
        ok(hipStreamUpdateCaptureDependencies(a, list.as_mut_ptr(), 1, 1));
        assert_eq!(info(a).3, [added]);
        ok(hipStreamUpdateCaptureDependencies(a, first.clone().as_mut_ptr(), 1, 0));
        assert_eq!(info(a).3, [added, first[0]]);
        ok(hipMemsetD32Async(y.byte_add(12), 5, 1, a));
        let ended = get(|graph| hipStreamEndCapture(a, graph));
        assert_eq!(ended, graph);
        assert_eq!(listed(|nodes, count| hipGraphGetNodes(ended, nodes, count)).len(), 5);
        launch(instantiate(ended), b);
        assert_eq!(download::<u32>(y, 4), [2, 3, 4, 5]);
        let refused = hipStreamUpdateCaptureDependencies(a, list.as_mut_ptr(), 1, 1);
        assert_eq!(refused, HipError::ILLEGAL_STATE);

        // Into a graph that is there, behind one of its nodes.
        ok(hipStreamBeginCaptureToGraph(a, ended, &added, null(), 1, 2));
        ok(hipMemsetD32Async(y, 6, 4, a));
        assert_eq!(get(|graph| hipStreamEndCapture(a, graph)), ended);
        let nodes = listed(|nodes, count| hipGraphGetNodes(ended, nodes, count));
        let before = listed(|list, count| hipGraphNodeGetDependencies(nodes[5], list, count));
        assert_eq!(before, [added]);
        let bad = hipStreamBeginCaptureToGraph(a, ended, null(), null(), 1, 2);
        assert_eq!(bad, INVALID);

        // A graph that is launched into a capture is a node of it.
        ok(hipStreamBeginCapture(a, 2));
        ok(hipGraphLaunch(instantiate(ended), a));
        let around = get(|graph| hipStreamEndCapture(a, graph));
        let nodes = listed(|nodes, count| hipGraphGetNodes(around, nodes, count));
        assert_eq!(nodes.len(), 1);
        assert_eq!(node_type(nodes[0]), GRAPH);
        free(y);
    }
}

#[test]
fn external_events_of_a_capture_are_of_each_launch() {
    const EXTERNAL: u32 = 1;
    unsafe {
        use_product("mi325x");
        let (a, b) = (stream(), stream());
        let (y, gate) = (upload(&[0u32; 2]), upload(&[0u32; 2]));
        let begun = get(|event| hipEventCreate(event));
        let ended = get(|event| hipEventCreate(event));
        ok(hipStreamBeginCapture(a, 2));
        // Nobody has recorded the one, and neither is of the capture.
        ok(hipStreamWaitEvent(a, begun, EXTERNAL));
        ok(hipMemsetD32Async(y, 7, 1, a));
        ok(hipEventRecordWithFlags(ended, a, EXTERNAL));
        assert_eq!(hipEventRecordWithFlags(ended, a, 2), INVALID);
        let graph = get(|graph| hipStreamEndCapture(a, graph));
        let nodes = listed(|nodes, count| hipGraphGetNodes(graph, nodes, count));
        let types: Vec<_> = nodes.iter().map(|node| node_type(*node)).collect();
        assert_eq!(types, [WAIT_EVENT, MEMSET, EVENT_RECORD]);
        let chain = [(nodes[1], nodes[0]), (nodes[2], nodes[1])];
        for (node, before) in chain {
            let found = listed(|nodes, count| hipGraphNodeGetDependencies(node, nodes, count));
            assert_eq!(found, [before]);
        }
        assert_eq!(get(|event| hipGraphEventWaitNodeGetEvent(nodes[0], event)), begun);
        assert_eq!(get(|event| hipGraphEventRecordNodeGetEvent(nodes[2], event)), ended);

        // Each launch waits for what the event was recorded behind last.
        let executable = instantiate(graph);
        for turn in 1..3 {
            ok(hipStreamWaitValue32(b, gate, turn, 1, u32::MAX));
            ok(hipEventRecord(begun, b));
            ok(hipGraphLaunch(executable, a));
            assert_eq!(hipEventQuery(ended), HipError::NOT_READY);
            gate.cast::<u32>().write_volatile(turn);
            ok(hipEventSynchronize(ended));
            assert_eq!(download::<u32>(y, 2), [7, 0]);
            ok(hipMemset(y, 0, 8));
        }
        // Without a capture it is an event like others, and there is no graph to wait in.
        ok(hipEventRecordWithFlags(ended, a, EXTERNAL));
        ok(hipStreamSynchronize(a));
        ok(hipEventQuery(ended));
        assert_eq!(hipStreamWaitEvent(b, ended, EXTERNAL), HipError::INVALID_HANDLE);
        free(y);
        free(gate);
    }
}

/// Counts how often the program was told that an object is gone.
unsafe extern "C" fn count_end(data: *mut c_void) {
    let ends = unsafe { &*data.cast::<AtomicU32>() };
    ends.fetch_add(1, Ordering::SeqCst);
}

/// Work of the host that takes a while.
unsafe extern "C" fn take_a_while(_data: *mut c_void) {
    std::thread::sleep(std::time::Duration::from_millis(50));
}

fn user_object(ends: &'static AtomicU32, references: u32) -> HipUserObject {
    let data: *mut c_void = std::ptr::from_ref(ends).cast_mut().cast();
    unsafe { get(|object| hipUserObjectCreate(object, data, Some(count_end), references, 1)) }
}

#[test]
fn user_objects_live_as_long_as_somebody_refers_to_them() {
    static ENDS: [AtomicU32; 4] = [const { AtomicU32::new(0) }; 4];
    let ended = |i: usize| ENDS[i].load(Ordering::SeqCst);
    use_product("mi355x");
    unsafe {
        // By the program alone.
        let alone = user_object(&ENDS[0], 2);
        ok(hipUserObjectRetain(alone, 1));
        ok(hipUserObjectRelease(alone, 2));
        assert_eq!((ended(0), hipUserObjectRelease(alone, 2)), (0, INVALID));
        ok(hipUserObjectRelease(alone, 1));
        assert_eq!((ended(0), hipUserObjectRelease(alone, 1)), (1, INVALID));

        // By a graph, its clone, and what was instantiated and launched.
        let stream = get(|stream| hipStreamCreate(stream));
        let graph = get(|graph| hipGraphCreate(graph, 0));
        let kept = user_object(&ENDS[1], 1);
        ok(hipGraphRetainUserObject(graph, kept, 2, 0));
        ok(hipUserObjectRelease(kept, 1));
        // The handle is good as long as the graph has references.
        assert_eq!(hipUserObjectRelease(kept, 1), INVALID);
        ok(hipGraphRetainUserObject(graph, kept, 1, 0));
        ok(hipGraphReleaseUserObject(graph, kept, 2));
        ok(hipUserObjectRetain(kept, 1));
        ok(hipUserObjectRelease(kept, 1));
        let call = HipHostNodeParams { function: Some(take_a_while), user_data: null_mut() };
        get(|node| hipGraphAddHostNode(node, graph, null(), 0, &call));
        let copy = get(|copy| hipGraphClone(copy, graph));
        let executable = instantiate(copy);
        ok(hipGraphDestroy(graph));
        ok(hipGraphDestroy(copy));
        ok(hipGraphLaunch(executable, stream));
        ok(hipGraphExecDestroy(executable));
        assert_eq!(ended(1), 0, "the launch is under way");
        ok(hipStreamSynchronize(stream));
        // The worker lets go right after it tells that it is done.
        while ended(1) == 0 {
            std::thread::yield_now();
        }
        assert_eq!(hipUserObjectRetain(kept, 1), INVALID);

        // Moved to a graph, and given back.
        let graph = get(|graph| hipGraphCreate(graph, 0));
        let moved = user_object(&ENDS[2], 3);
        ok(hipGraphRetainUserObject(graph, moved, 2, 1));
        assert_eq!(hipGraphReleaseUserObject(graph, moved, 3), INVALID);
        ok(hipGraphReleaseUserObject(graph, moved, 2));
        assert_eq!((ended(2), hipUserObjectRelease(moved, 2)), (0, INVALID));
        ok(hipGraphRetainUserObject(graph, moved, 1, 1));
        assert_eq!((ended(2), hipUserObjectRelease(moved, 1)), (0, INVALID));
        ok(hipGraphDestroy(graph));
        assert_eq!(ended(2), 1);

        // By a captured graph; an event of the capture keeps nothing.
        let (capturing, event) = (support::stream(), get(|event| hipEventCreate(event)));
        ok(hipStreamBeginCapture(capturing, 2));
        ok(hipEventRecord(event, capturing));
        let captured = get(|graph| hipStreamEndCapture(capturing, graph));
        ok(hipGraphRetainUserObject(captured, user_object(&ENDS[3], 1), 1, 1));
        ok(hipGraphDestroy(captured));
        assert_eq!(ended(3), 1);
        ok(hipEventDestroy(event));
        ok(hipStreamDestroy(capturing));

        let data = null_mut();
        let refused = |references, flags| {
            hipUserObjectCreate(&mut null_mut(), data, Some(count_end), references, flags)
        };
        assert_eq!([refused(0, 1), refused(1, 0), refused(u32::MAX, 1)], [INVALID; 3]);
        ok(hipStreamDestroy(stream));
    }
}
