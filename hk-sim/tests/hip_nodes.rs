//! Every function that adds, reads or changes a node of a graph does what the others of its kind do.

#![expect(clippy::undocumented_unsafe_blocks, reason = "each block calls the C API under test")]

mod support;

use std::ffi::{CString, c_int, c_void};
use std::ptr::{null, null_mut};
use std::sync::Mutex;

use hk_sim::HipError;
use hk_sim::capi::types::*;
use hk_sim::capi::*;
use support::*;

const INVALID: HipError = HipError::INVALID_VALUE;
const MEMCPY: c_int = 1;
const MEMSET: c_int = 2;
const HOST: c_int = 3;
const GRAPH: c_int = 4;
const EMPTY: c_int = 5;
const WAIT_EVENT: c_int = 6;
const EVENT_RECORD: c_int = 7;
/// `hipMemcpyDeviceToDevice`.
const D2D: c_int = 3;

/// A graph of one node, which is added by the call.
fn graph_of(add: impl FnOnce(*mut HipGraphNode, HipGraph) -> HipError) -> (HipGraph, HipGraphNode) {
    let graph = get(|graph| unsafe { hipGraphCreate(graph, 0) });
    (graph, get(|node| add(node, graph)))
}

fn instantiate(graph: HipGraph) -> HipGraphExec {
    get(|exec| unsafe { hipGraphInstantiate(exec, graph, null_mut(), null_mut(), 0) })
}

fn run(executable: HipGraphExec) {
    let stream = stream();
    unsafe {
        ok(hipGraphLaunch(executable, stream));
        ok(hipStreamSynchronize(stream));
        ok(hipStreamDestroy(stream));
    }
}

/// Runs a new instance of the graph.
fn run_graph(graph: HipGraph) {
    let executable = instantiate(graph);
    run(executable);
    ok(unsafe { hipGraphExecDestroy(executable) });
}

fn copy(dst: *mut c_void, src: *mut c_void, bytes: usize) -> HipMemcpy3DParms {
    let pointer = |pointer| HipPitchedPtr { pointer, pitch: bytes, x: bytes, y: 1 };
    HipMemcpy3DParms {
        src_array: null_mut(),
        src_pos: HipPos::default(),
        src_ptr: pointer(src),
        dst_array: null_mut(),
        dst_pos: HipPos::default(),
        dst_ptr: pointer(dst),
        extent: HipExtent { width: bytes, height: 1, depth: 1 },
        kind: D2D,
    }
}

fn memset(dst: *mut c_void, value: u32) -> HipMemsetParams {
    HipMemsetParams { dst, element_size: 4, height: 1, pitch: 0, value, width: 1 }
}

/// Three words, and one that takes what a graph copies.
struct Words {
    from: [*mut c_void; 3],
    to: *mut c_void,
}

impl Words {
    fn new() -> Self {
        Self { from: [1u32, 2, 3].map(|word| upload(&[word])), to: upload(&[0u32]) }
    }

    /// What was copied since the last call.
    fn taken(&self) -> u32 {
        let word = download::<u32>(self.to, 1)[0];
        ok(unsafe { hipMemset(self.to, 0, 4) });
        word
    }

    fn free(self) {
        self.from.into_iter().chain([self.to]).for_each(free);
    }
}

type Add = unsafe fn(*mut HipGraphNode, HipGraph, &Words, usize) -> HipError;
type Set = unsafe fn(HipGraphNode, &Words, usize) -> HipError;
type SetExec = unsafe fn(HipGraphExec, HipGraphNode, &Words, usize) -> HipError;

#[test]
fn copies_are_added_and_changed_in_every_form() {
    // Each copies one of the words.
    const FORMS: &[(&str, Add, Set, SetExec)] = &[
        (
            "3D",
            |node, graph, w, i| unsafe {
                hipGraphAddMemcpyNode(node, graph, null(), 0, &copy(w.to, w.from[i], 4))
            },
            |node, w, i| unsafe { hipGraphMemcpyNodeSetParams(node, &copy(w.to, w.from[i], 4)) },
            |exec, node, w, i| unsafe {
                hipGraphExecMemcpyNodeSetParams(exec, node, &mut copy(w.to, w.from[i], 4))
            },
        ),
        (
            "1D",
            |node, graph, w, i| unsafe {
                hipGraphAddMemcpyNode1D(node, graph, null(), 0, w.to, w.from[i], 4, D2D)
            },
            |node, w, i| unsafe { hipGraphMemcpyNodeSetParams1D(node, w.to, w.from[i], 4, D2D) },
            |exec, node, w, i| unsafe {
                hipGraphExecMemcpyNodeSetParams1D(exec, node, w.to, w.from[i], 4, D2D)
            },
        ),
        (
            "driver",
            |node, graph, w, i| unsafe {
                let given = drv_copy(w.to, w.from[i], 4, [4, 1]);
                hipDrvGraphAddMemcpyNode(node, graph, null(), 0, &given, null_mut())
            },
            |node, w, i| unsafe {
                hipDrvGraphMemcpyNodeSetParams(node, &drv_copy(w.to, w.from[i], 4, [4, 1]))
            },
            |exec, node, w, i| unsafe {
                let given = drv_copy(w.to, w.from[i], 4, [4, 1]);
                hipDrvGraphExecMemcpyNodeSetParams(exec, node, &given, null_mut())
            },
        ),
        (
            "any",
            |node, graph, w, i| unsafe {
                hipGraphAddNode(node, graph, null(), 0, &mut any_copy(w, i))
            },
            |node, w, i| unsafe { hipGraphNodeSetParams(node, &mut any_copy(w, i)) },
            |exec, node, w, i| unsafe {
                hipGraphExecNodeSetParams(exec, node, &mut any_copy(w, i))
            },
        ),
    ];
    use_product("mi355x");
    let words = Words::new();
    for (name, add, set, set_exec) in FORMS {
        unsafe {
            let (graph, node) = graph_of(|node, graph| add(node, graph, &words, 0));
            assert_eq!(get(|kind| hipGraphNodeGetType(node, kind)), MEMCPY, "{name}");
            let executable = instantiate(graph);
            run(executable);
            assert_eq!(words.taken(), 1, "{name}");
            // The node changes, what was instantiated does not; then that alone.
            ok(set(node, &words, 1));
            run(executable);
            assert_eq!(words.taken(), 1, "{name}");
            ok(set_exec(executable, node, &words, 2));
            run(executable);
            assert_eq!(words.taken(), 3, "{name}");
            run_graph(graph);
            assert_eq!(words.taken(), 2, "{name}");
            // Whichever way it was made, it is read in both.
            let found = get(|found| hipGraphMemcpyNodeGetParams(node, found));
            assert_eq!((found.src_ptr.pointer, found.dst_ptr.pointer), (words.from[1], words.to));
            let found = get(|found| hipDrvGraphMemcpyNodeGetParams(node, found));
            assert_eq!((found.src_device, found.dst_device), (words.from[1], words.to));
            assert_eq!((found.src_memory_type, found.dst_memory_type), (2, 2));
            assert_eq!((found.width_in_bytes, found.height, found.depth), (4, 1, 1));
            ok(hipGraphExecDestroy(executable));
            ok(hipGraphDestroy(graph));
        }
    }
    words.free();
}

fn any(kind: c_int) -> HipGraphNodeParams {
    HipGraphNodeParams { kind, reserved: [0; 3], params: [0; 29], reserved_end: 0 }
}

/// Parameters of a node of the type, which has them behind `words` words.
fn any_of<T>(kind: c_int, words: usize, parameters: T) -> HipGraphNodeParams {
    let mut made = any(kind);
    unsafe { made.params.as_mut_ptr().add(words).cast::<T>().write(parameters) };
    made
}

fn any_copy(words: &Words, index: usize) -> HipGraphNodeParams {
    any_of(MEMCPY, 2, copy(words.to, words.from[index], 4))
}

#[test]
fn fills_are_added_and_changed_in_every_form() {
    const FORMS: &[(&str, Add, Set, SetExec)] = &[
        (
            "driver",
            |node, graph, w, i| unsafe {
                let fill = memset(w.to, i as u32 + 1);
                hipDrvGraphAddMemsetNode(node, graph, null(), 0, &fill, null_mut())
            },
            |node, w, i| unsafe { hipGraphMemsetNodeSetParams(node, &memset(w.to, i as u32 + 1)) },
            |exec, node, w, i| unsafe {
                let fill = memset(w.to, i as u32 + 1);
                hipDrvGraphExecMemsetNodeSetParams(exec, node, &fill, null_mut())
            },
        ),
        (
            "any",
            |node, graph, w, i| unsafe {
                let mut fill = any_of(MEMSET, 0, memset(w.to, i as u32 + 1));
                hipGraphAddNode(node, graph, null(), 0, &mut fill)
            },
            |node, w, i| unsafe {
                hipGraphNodeSetParams(node, &mut any_of(MEMSET, 0, memset(w.to, i as u32 + 1)))
            },
            |exec, node, w, i| unsafe {
                let mut fill = any_of(MEMSET, 0, memset(w.to, i as u32 + 1));
                hipGraphExecNodeSetParams(exec, node, &mut fill)
            },
        ),
    ];
    use_product("mi325x");
    let words = Words::new();
    for (name, add, set, set_exec) in FORMS {
        unsafe {
            let (graph, node) = graph_of(|node, graph| add(node, graph, &words, 0));
            assert_eq!(get(|kind| hipGraphNodeGetType(node, kind)), MEMSET, "{name}");
            let executable = instantiate(graph);
            ok(set(node, &words, 1));
            run(executable);
            assert_eq!(words.taken(), 1, "{name}");
            ok(set_exec(executable, node, &words, 2));
            run(executable);
            assert_eq!(words.taken(), 3, "{name}");
            run_graph(graph);
            assert_eq!(words.taken(), 2, "{name}");
            assert_eq!(hipGraphNodeSetParams(node, &mut any_copy(&words, 0)), INVALID);
            assert_eq!(hipGraphExecNodeSetParams(executable, node, &mut any(EMPTY)), INVALID);
            ok(hipGraphExecDestroy(executable));
            ok(hipGraphDestroy(graph));
        }
    }
    words.free();
}

#[test]
fn host_functions_and_events_are_changed() {
    static CALLS: Mutex<Vec<usize>> = Mutex::new(Vec::new());
    unsafe extern "C" fn note(data: *mut c_void) {
        CALLS.lock().expect("not poisoned").push(data as usize);
    }
    let call = |number| HipHostNodeParams {
        function: Some(note),
        user_data: std::ptr::without_provenance_mut(number),
    };
    use_product("mi355x");
    unsafe {
        let mut given = any_of(HOST, 0, call(1));
        let (graph, node) =
            graph_of(|node, graph| hipGraphAddNode(node, graph, null(), 0, &mut given));
        let executable = instantiate(graph);
        ok(hipGraphHostNodeSetParams(node, &call(2)));
        run(executable);
        run_graph(graph);
        ok(hipGraphExecHostNodeSetParams(executable, node, &call(3)));
        run(executable);
        assert_eq!(*CALLS.lock().expect("not poisoned"), [1, 2, 3]);
        let nobody = HipHostNodeParams { function: None, ..call(4) };
        assert_eq!(hipGraphHostNodeSetParams(node, &nobody), INVALID);
        ok(hipGraphExecDestroy(executable));
        ok(hipGraphDestroy(graph));

        let [one, two] = [(); 2].map(|()| get(|event| hipEventCreate(event)));
        let is_recorded = |event| {
            let ms = &mut 0.0;
            hipEventElapsedTime(ms, event, event) == HipError::SUCCESS
        };
        let mut given = any(EVENT_RECORD);
        given.params[0] = one as u64;
        let (graph, node) =
            graph_of(|node, graph| hipGraphAddNode(node, graph, null(), 0, &mut given));
        assert_eq!(get(|event| hipGraphEventRecordNodeGetEvent(node, event)), one);
        ok(hipGraphEventRecordNodeSetEvent(node, two));
        assert_eq!(get(|event| hipGraphEventRecordNodeGetEvent(node, event)), two);
        run_graph(graph);
        assert_eq!([one, two].map(is_recorded), [false, true]);
        ok(hipGraphDestroy(graph));

        // A wait for an event that is recorded waits, for the other it does not.
        let (own, gate) = (stream(), upload(&[0u32]));
        let mut given = any(WAIT_EVENT);
        given.params[0] = one as u64;
        let (graph, node) =
            graph_of(|node, graph| hipGraphAddNode(node, graph, null(), 0, &mut given));
        let executable = instantiate(graph);
        ok(hipGraphEventWaitNodeSetEvent(node, two));
        assert_eq!(get(|event| hipGraphEventWaitNodeGetEvent(node, event)), two);
        ok(hipStreamWaitValue32(own, gate, 1, 0, u32::MAX));
        ok(hipEventRecord(two, own));
        run(executable);
        ok(hipGraphExecEventWaitNodeSetEvent(executable, node, two));
        let waiting = stream();
        ok(hipGraphLaunch(executable, waiting));
        assert_eq!(hipStreamQuery(waiting), HipError::NOT_READY);
        gate.cast::<u32>().write_volatile(1);
        ok(hipStreamSynchronize(waiting));
        for stream in [own, waiting] {
            ok(hipStreamDestroy(stream));
        }
        for event in [one, two] {
            ok(hipEventDestroy(event));
        }
        ok(hipGraphExecDestroy(executable));
        ok(hipGraphDestroy(graph));
        free(gate);
    }
}

#[test]
fn operations_on_values_are_read_and_changed() {
    use_product("mi325x");
    unsafe {
        let words = upload(&[0u32; 2]);
        let write = |value| HipStreamBatchMemOp {
            operation: 2,
            address: words,
            value,
            flags: 0,
            alias: null_mut(),
            padding: 0,
        };
        let batch = |operations: &mut [HipStreamBatchMemOp]| HipBatchMemOpNodeParams {
            context: null_mut(),
            count: operations.len() as u32,
            operations: operations.as_mut_ptr(),
            flags: 0,
        };
        let second = HipStreamBatchMemOp { address: words.byte_add(4), ..write(6) };
        let mut first = [write(5), second];
        let (graph, node) = graph_of(|node, graph| {
            hipGraphAddBatchMemOpNode(node, graph, null(), 0, &batch(&mut first))
        });
        let mut room = [write(0); 2];
        let mut found = batch(&mut room[..1]);
        ok(hipGraphBatchMemOpNodeGetParams(node, &mut found));
        // The number of all, as many as there was room for.
        assert_eq!((found.count, room.map(|op| op.value)), (2, [5, 0]));
        ok(hipGraphBatchMemOpNodeGetParams(node, &mut batch(&mut room)));
        assert_eq!(room.map(|op| (op.operation, op.value)), [(2, 5), (2, 6)]);
        assert_eq!(room[1].address, words.byte_add(4));

        let executable = instantiate(graph);
        ok(hipGraphBatchMemOpNodeSetParams(node, &batch(&mut [write(7)])));
        run(executable);
        assert_eq!(download::<u32>(words, 2), [5, 6]);
        ok(hipGraphExecBatchMemOpNodeSetParams(executable, node, &batch(&mut [write(8)])));
        run(executable);
        assert_eq!(download::<u32>(words, 2), [8, 6]);
        run_graph(graph);
        assert_eq!(download::<u32>(words, 2), [7, 6]);
        assert_eq!(hipGraphBatchMemOpNodeSetParams(node, &batch(&mut [])), INVALID);
        ok(hipGraphExecDestroy(executable));
        ok(hipGraphDestroy(graph));
        free(words);
    }
}

#[test]
fn graphs_are_embedded_instantiated_and_printed() {
    use_product("mi355x");
    unsafe {
        let words = Words::new();
        let (inner, _) = graph_of(|node, graph| {
            hipGraphAddMemsetNode(node, graph, null(), 0, &memset(words.to, 5))
        });
        let mut given = any(GRAPH);
        given.params[0] = inner as u64;
        let (graph, child) =
            graph_of(|node, graph| hipGraphAddNode(node, graph, null(), 0, &mut given));
        let empty = get(|node| hipGraphAddNode(node, graph, &child, 1, &mut any(EMPTY)));
        let types = [child, empty].map(|node| get(|kind| hipGraphNodeGetType(node, kind)));
        assert_eq!(types, [GRAPH, EMPTY]);
        let unknown = hipGraphAddNode(&mut null_mut(), graph, null(), 0, &mut any(8));
        assert_eq!(unknown, HipError::NOT_SUPPORTED);

        let parameters = |flags| HipGraphInstantiateParams {
            error_node: child,
            flags,
            result: -1,
            upload_stream: null_mut(),
        };
        let mut how = parameters(8);
        let executable = get(|exec| hipGraphInstantiateWithParams(exec, graph, &mut how));
        assert_eq!((how.result, how.error_node), (0, null_mut()));
        assert_eq!(get(|flags| hipGraphExecGetFlags(executable, flags)), 8);
        ok(hipGraphUpload(executable, null_mut()));
        run(executable);
        assert_eq!(words.taken(), 5);
        let mut none = null_mut();
        ok(hipGraphAddDependencies(graph, &empty, &child, 1));
        let mut how = parameters(0);
        assert_eq!(hipGraphInstantiateWithParams(&mut none, graph, &mut how), INVALID);
        assert_eq!(how.result, 2, "a cycle");
        assert_eq!(hipGraphInstantiateWithParams(&mut none, graph, null_mut()), INVALID);

        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("graph.dot");
        let text = CString::new(path.to_str().expect("UTF-8")).expect("no zero");
        ok(hipGraphRemoveDependencies(graph, &empty, &child, 1));
        ok(hipGraphDebugDotPrint(graph, text.as_ptr(), 0));
        let printed = std::fs::read_to_string(path).expect("it is written");
        let lines: Vec<&str> = printed.lines().map(str::trim).collect();
        let expected = ["n0 [label=\"Graph\"];", "n1 [label=\"Empty\"];", "n0 -> n1;"];
        assert_eq!(lines[1..4], expected, "{printed}");
        let nowhere = hipGraphDebugDotPrint(graph, c"/no/such/folder/graph.dot".as_ptr(), 0);
        assert_eq!(nowhere, HipError::OPERATING_SYSTEM);

        ok(hipGraphExecDestroy(executable));
        assert_eq!(hipGraphUpload(executable, null_mut()), INVALID);
        assert_eq!(hipGraphExecGetFlags(executable, &mut 0), INVALID);
        for graph in [graph, inner] {
            ok(hipGraphDestroy(graph));
        }
        words.free();
    }
}
