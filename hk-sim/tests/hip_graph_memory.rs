//! Memory that graphs allocate and free, through the C API, with the sanitizer looking on.

#![expect(clippy::undocumented_unsafe_blocks, reason = "each block calls the C API under test")]

mod support;

use std::ffi::{c_int, c_uint, c_void};
use std::ptr::{null, null_mut};
use std::sync::{Mutex, MutexGuard, PoisonError};

use hk_build::{Arch, CompileOptions, compile_source};
use hk_sim::capi::types::*;
use hk_sim::capi::*;
use hk_sim::sanitize::{Checks, Kind};
use hk_sim::{FaultKind, HipError, Options};
use support::*;

const INVALID: HipError = HipError::INVALID_VALUE;
const NOT_SUPPORTED: HipError = HipError::NOT_SUPPORTED;
const MEM_ALLOC: c_int = 10;
const MEM_FREE: c_int = 11;
/// `hipGraphInstantiateFlagAutoFreeOnLaunch`.
const AUTO_FREE: u64 = 1;
const COUNT: usize = 64;
const BYTES: usize = 4 * COUNT;

const SOURCE: &str = r#"
extern "C" __attribute__((global)) void fill(unsigned* y, unsigned value) {
  y[__builtin_amdgcn_workitem_id_x()] = value;
}
extern "C" __attribute__((global)) void pick(unsigned* y, const unsigned* x) {
  unsigned i = __builtin_amdgcn_workitem_id_x();
  if (x[i] != 7) y[i] = 1; // what x holds decides
}
"#;

/// The tests count the memory of one device.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The kernels on the MI355X, which becomes the device of this thread, under the sanitizer.
fn kernels() -> [HipFunction; 2] {
    hk_sim::set_options(Options {
        sanitize: Checks::of(Kind::Memory).with(Kind::Race),
        publish: false,
        ..Options::default()
    });
    use_product("mi355x");
    let code = compile_source(SOURCE, Arch::Gfx950, &CompileOptions::default()).expect("compiles");
    unsafe {
        let module = get(|module| hipModuleLoadData(module, code.image.as_ptr().cast()));
        [c"fill", c"pick"].map(|name| get(|to| hipModuleGetFunction(to, module, name.as_ptr())))
    }
}

fn start(function: HipFunction, args: &mut [*mut c_void], stream: HipStream) {
    let [one, block]: [c_uint; 2] = [1, COUNT as c_uint];
    let args = args.as_mut_ptr();
    ok(unsafe {
        hipModuleLaunchKernel(function, one, one, one, block, one, one, 0, stream, args, null_mut())
    });
}

fn fill(function: HipFunction, mut y: *mut c_void, mut value: u32, stream: HipStream) {
    start(function, &mut [(&raw mut y).cast(), (&raw mut value).cast()], stream);
}

fn pick(function: HipFunction, mut y: *mut c_void, mut x: *mut c_void, stream: HipStream) {
    start(function, &mut [(&raw mut y).cast(), (&raw mut x).cast()], stream);
}

fn new_graph() -> HipGraph {
    get(|graph| unsafe { hipGraphCreate(graph, 0) })
}

fn instantiate(graph: HipGraph, flags: u64) -> HipGraphExec {
    get(|executable| unsafe { hipGraphInstantiateWithFlags(executable, graph, flags) })
}

/// A graph of one allocation, and its address.
fn allocating(bytes: usize) -> (HipGraph, HipGraphNode, *mut c_void) {
    let graph = new_graph();
    let mut params = alloc_node_params(bytes);
    let node = get(|node| unsafe { hipGraphAddMemAllocNode(node, graph, null(), 0, &mut params) });
    (graph, node, params.dptr)
}

/// What the device says of the memory of graphs: used, its peak, reserved, its peak.
fn account() -> [u64; 4] {
    let device = get(|device| unsafe { hipGetDevice(device) });
    [0, 1, 2, 3].map(|number| {
        get(|value: *mut u64| unsafe {
            hipDeviceGetGraphMemAttribute(device, number, value.cast())
        })
    })
}

fn is_there(pointer: *mut c_void) -> bool {
    unsafe { hipMemGetAddressRange(null_mut(), null_mut(), pointer) == HipError::SUCCESS }
}

#[test]
fn nodes_tell_what_they_allocate_and_free() {
    let _alone = alone();
    let _ = kernels();
    unsafe {
        let device = get(|device| hipGetDevice(device));
        let other = hk_sim::device_ordinal("mi325x").expect("a product");
        let location = HipMemLocation { kind: 1, id: other };
        let access = [HipMemAccessDesc { location, flags: 3 }];
        let graph = new_graph();
        let mut params = HipMemAllocNodeParams {
            access_descs: access.as_ptr(),
            access_desc_count: 1,
            ..alloc_node_params(5000)
        };
        let allocation = get(|node| hipGraphAddMemAllocNode(node, graph, null(), 0, &mut params));
        let pointer = params.dptr;
        assert!(!pointer.is_null());
        let found = get(|found| hipGraphMemAllocNodeGetParams(allocation, found));
        assert_eq!((found.bytesize, found.dptr, found.access_desc_count), (5000, pointer, 1));
        assert_eq!(*found.access_descs, access[0]);
        assert_eq!(found.pool_props.location, HipMemLocation { kind: 1, id: device });
        let default = get(|pool| hipDeviceGetDefaultMemPool(pool, device));
        let mut location = location;
        assert_eq!(get(|flags| hipMemPoolGetAccess(flags, default, &mut location)), 3);

        let free = get(|node| hipGraphAddMemFreeNode(node, graph, &allocation, 1, pointer));
        let freed: *mut c_void =
            get(|to: *mut *mut c_void| hipGraphMemFreeNodeGetParams(free, to.cast()));
        assert_eq!(freed, pointer);
        let types = [allocation, free].map(|node| get(|kind| hipGraphNodeGetType(node, kind)));
        assert_eq!(types, [MEM_ALLOC, MEM_FREE]);
        assert_eq!(hipGraphMemAllocNodeGetParams(free, &mut params), INVALID);
        assert_eq!(hipGraphMemFreeNodeGetParams(allocation, (&raw mut params).cast()), INVALID);

        // The same by the function for all types, and the driver's.
        let mut any = HipGraphNodeParams {
            kind: MEM_ALLOC,
            reserved: [0; 3],
            params: [0; 29],
            reserved_end: 0,
        };
        (&raw mut any.params).cast::<HipMemAllocNodeParams>().write(alloc_node_params(BYTES));
        let second = get(|node| hipGraphAddNode(node, graph, null(), 0, &mut any));
        let given = (&raw const any.params).cast::<HipMemAllocNodeParams>().read();
        let found = get(|found| hipGraphMemAllocNodeGetParams(second, found));
        assert_eq!((found.dptr, found.bytesize), (given.dptr, BYTES));
        assert_ne!(given.dptr, pointer);
        any.kind = MEM_FREE;
        any.params[0] = given.dptr as u64;
        let free = get(|node| hipGraphAddNode(node, graph, &second, 1, &mut any));
        assert_eq!(get(|kind| hipGraphNodeGetType(free, kind)), MEM_FREE);
        assert_eq!(hipGraphNodeSetParams(free, &mut any), NOT_SUPPORTED);
        let mut third = alloc_node_params(BYTES);
        let after = get(|node| hipGraphAddMemAllocNode(node, graph, null(), 0, &mut third));
        let free = get(|node| hipDrvGraphAddMemFreeNode(node, graph, &after, 1, third.dptr));
        assert_eq!(get(|kind| hipGraphNodeGetType(free, kind)), MEM_FREE);

        // What is refused: no memory, no such memory, and a second free of it in the graph.
        let mut none = null_mut();
        for wrong in [
            alloc_node_params(0),
            HipMemAllocNodeParams { access_desc_count: 1, ..alloc_node_params(BYTES) },
            HipMemAllocNodeParams {
                pool_props: HipMemPoolProps { alloc_type: 0, ..params.pool_props },
                ..params
            },
        ] {
            let mut wrong = wrong;
            assert_eq!(hipGraphAddMemAllocNode(&mut none, graph, null(), 0, &mut wrong), INVALID);
        }
        assert_eq!(hipGraphAddMemAllocNode(&mut none, graph, null(), 0, null_mut()), INVALID);
        let too_much =
            hipGraphAddMemAllocNode(&mut none, graph, null(), 0, &mut alloc_node_params(1 << 40));
        assert_eq!(too_much, HipError::OUT_OF_MEMORY);
        let ordinary = upload(&[0u32]);
        for wrong in [null_mut(), ordinary, pointer.byte_add(4), pointer] {
            assert_eq!(hipGraphAddMemFreeNode(&mut none, graph, null(), 0, wrong), INVALID);
            assert_eq!(hipDrvGraphAddMemFreeNode(&mut none, graph, null(), 0, wrong), INVALID);
        }
        free_all(&[ordinary]);
        ok(hipGraphDestroy(graph));
        let other = new_graph();
        // With the graph, which was never launched, the memory went.
        assert_eq!(hipGraphAddMemFreeNode(&mut none, other, null(), 0, pointer), INVALID);
        ok(hipGraphDestroy(other));
    }
}

fn free_all(pointers: &[*mut c_void]) {
    pointers.iter().for_each(|pointer| free(*pointer));
}

#[test]
fn a_captured_allocation_is_there_at_each_launch_until_it_is_freed() {
    let _alone = alone();
    let [fill_with, _] = kernels();
    unsafe {
        let (stream, y) = (stream(), upload(&[0u32; COUNT]));
        let device = get(|device| hipGetDevice(device));
        let used = || {
            let (mut free, mut total) = (0, 0);
            ok(hipMemGetInfo(&mut free, &mut total));
            total - free
        };
        // What the stream keeps for the arguments of its kernels is there first.
        fill(fill_with, y, 0, stream);
        ok(hipStreamSynchronize(stream));
        let before = used();
        let mut zero = 0u64;
        for number in [1, 3] {
            ok(hipDeviceSetGraphMemAttribute(device, number, (&raw mut zero).cast()));
        }
        assert_eq!(account(), [0; 4]);

        ok(hipStreamBeginCapture(stream, 0));
        let a: *mut c_void = get(|pointer| hipMallocAsync(pointer, BYTES, stream));
        let pool = get(|pool| hipDeviceGetDefaultMemPool(pool, device));
        let b: *mut c_void = get(|p| hipMallocFromPoolAsync(p, 2 * BYTES, pool, stream));
        let mut nothing = a;
        ok(hipMallocAsync(&mut nothing, 0, stream));
        assert!(nothing.is_null() && a != b);
        fill(fill_with, a, 5, stream);
        ok(hipMemcpyAsync(b, a, BYTES, 3, stream));
        ok(hipMemcpyAsync(y, b, BYTES, 3, stream));
        ok(hipFreeAsync(a, stream));
        assert_eq!(hipFreeAsync(a, stream), INVALID, "twice in one graph");
        assert_eq!(hipFreeAsync(y, stream), INVALID, "of no allocation node");
        ok(hipFreeAsync(b, stream));
        let graph = get(|graph| hipStreamEndCapture(stream, graph));
        let mut nodes = [null_mut(); 8];
        let mut count = nodes.len();
        ok(hipGraphGetNodes(graph, nodes.as_mut_ptr(), &mut count));
        let types: Vec<c_int> = nodes[..count]
            .iter()
            .map(|node| get(|kind| hipGraphNodeGetType(*node, kind)))
            .collect();
        assert_eq!(types, [MEM_ALLOC, MEM_ALLOC, 0, 1, 1, MEM_FREE, MEM_FREE]);
        assert_eq!(get(|found| hipGraphMemAllocNodeGetParams(nodes[1], found)).dptr, b);

        let executable = instantiate(graph, 0);
        for _ in 0..3 {
            ok(hipMemsetAsync(y, 0, BYTES, stream));
            ok(hipGraphLaunch(executable, stream));
            let done = hipStreamSynchronize(stream);
            assert_eq!(done, HipError::SUCCESS, "{:?}", hk_sim::last_fault());
            assert_eq!(download::<u32>(y, COUNT), [5; COUNT]);
            // It is the graph's to free.
            assert_eq!([hipFree(a), hipFreeAsync(b, stream)], [INVALID; 2]);
            assert_eq!(account(), [0, 3 * BYTES as u64, 0, 3 * BYTES as u64]);
            assert_eq!(used(), before);
        }
        ok(hipDeviceGraphMemTrim(device));
        ok(hipDeviceSetGraphMemAttribute(device, 1, (&raw mut zero).cast()));
        assert_eq!(account()[1], 0);
        assert_eq!(hipDeviceSetGraphMemAttribute(device, 0, (&raw mut zero).cast()), INVALID);
        let mut one = 1u64;
        assert_eq!(hipDeviceSetGraphMemAttribute(device, 1, (&raw mut one).cast()), INVALID);
        assert_eq!(hipDeviceGetGraphMemAttribute(device, 4, (&raw mut one).cast()), INVALID);
        assert_eq!(hipDeviceGetGraphMemAttribute(device, 0, null_mut()), INVALID);
        assert_eq!(hipDeviceGraphMemTrim(-1), HipError::INVALID_DEVICE);
        ok(hipGraphExecDestroy(executable));
        ok(hipGraphDestroy(graph));
        free(y);
        ok(hipStreamDestroy(stream));
    }
}

#[test]
fn memory_that_a_launch_leaves_is_the_programs_to_free() {
    let _alone = alone();
    let [fill_with, _] = kernels();
    unsafe {
        let stream = stream();
        let (graph, node, a) = allocating(BYTES);
        let value = HipMemsetParams {
            dst: a,
            element_size: 4,
            height: 1,
            pitch: 0,
            value: 3,
            width: COUNT,
        };
        get(|set| hipGraphAddMemsetNode(set, graph, &node, 1, &value));
        let executable = instantiate(graph, 0);
        assert_eq!([hipFree(a), hipFreeAsync(a, stream)], [INVALID; 2], "it was not launched");
        let failed = hipMemset(a, 1, BYTES);
        assert_eq!(failed, HipError::ILLEGAL_ADDRESS, "it is not there yet");
        for round in 0..4 {
            ok(hipGraphLaunch(executable, stream));
            // Only once it is freed may it be allocated again.
            assert_eq!(hipGraphLaunch(executable, stream), INVALID);
            fill(fill_with, a, 9, stream);
            let mut held = [0u32; COUNT];
            ok(hipMemcpyAsync(held.as_mut_ptr().cast(), a, BYTES, 2, stream));
            ok(hipStreamSynchronize(stream));
            assert_eq!((held, account()[0]), ([9; COUNT], BYTES as u64));
            assert_eq!(get(|found| hipPointerGetAttributes(found, a)).kind, HipMemoryType::Device);
            match round % 2 {
                0 => ok(hipFreeAsync(a, stream)),
                _ => ok(hipFree(a)),
            }
            assert_eq!([hipFree(a), hipFreeAsync(a, stream)], [INVALID; 2], "twice");
        }
        ok(hipStreamSynchronize(stream));
        assert_eq!((account()[0], is_there(a)), (0, false));

        // Another graph frees it, whose launch fails unless it is there.
        let freeing = new_graph();
        get(|node| hipGraphAddMemFreeNode(node, freeing, null(), 0, a));
        let freeing = instantiate(freeing, 0);
        assert_eq!(hipGraphLaunch(freeing, stream), INVALID);
        ok(hipGraphLaunch(executable, stream));
        ok(hipGraphLaunch(freeing, stream));
        assert_eq!(hipGraphLaunch(freeing, stream), INVALID);
        ok(hipGraphLaunch(executable, stream));

        // It outlives its graph.
        ok(hipGraphExecDestroy(executable));
        ok(hipGraphDestroy(graph));
        ok(hipStreamSynchronize(stream));
        assert_eq!(download::<u32>(a, COUNT), [3; COUNT]);
        ok(hipGraphExecDestroy(freeing));
        let freeing = new_graph();
        get(|node| hipGraphAddMemFreeNode(node, freeing, null(), 0, a));
        let executable = instantiate(freeing, 0);
        ok(hipGraphLaunch(executable, stream));
        ok(hipStreamSynchronize(stream));
        assert_eq!((account()[0], hipFree(a)), (0, INVALID));
        ok(hipGraphExecDestroy(executable));
        ok(hipGraphDestroy(freeing));
        ok(hipStreamDestroy(stream));
    }
}

#[test]
fn a_graph_may_free_what_its_last_launch_left() {
    let _alone = alone();
    let _ = kernels();
    unsafe {
        let (one, two) = (stream(), stream());
        let (graph, node, a) = allocating(BYTES);
        let value = HipMemsetParams {
            dst: a,
            element_size: 4,
            height: 1,
            pitch: 0,
            value: 4,
            width: COUNT,
        };
        get(|set| hipGraphAddMemsetNode(set, graph, &node, 1, &value));
        let executable = instantiate(graph, AUTO_FREE);
        // Launches take turns, whatever their streams.
        for stream in [one, two, two, one] {
            ok(hipGraphLaunch(executable, stream));
        }
        ok(hipStreamSynchronize(two));
        ok(hipStreamSynchronize(one));
        assert_eq!((account()[0], download::<u32>(a, 1)), (BYTES as u64, vec![4]));
        ok(hipGraphExecDestroy(executable));
        ok(hipGraphDestroy(graph));
        free(a);
        assert_eq!((account()[0], hipFree(a)), (0, INVALID));
        for stream in [one, two] {
            ok(hipStreamDestroy(stream));
        }
    }
}

#[test]
fn graphs_with_memory_stay_as_they_are_and_are_alone() {
    let _alone = alone();
    let _ = kernels();
    unsafe {
        let stream = stream();
        let (graph, node, a) = allocating(BYTES);
        let free = get(|free| hipGraphAddMemFreeNode(free, graph, &node, 1, a));
        let mut none = null_mut();
        assert_eq!(hipGraphClone(&mut none, graph), NOT_SUPPORTED);
        let outer = new_graph();
        assert_eq!(hipGraphAddChildGraphNode(&mut none, outer, null(), 0, graph), NOT_SUPPORTED);
        assert_eq!(hipGraphDestroyNode(free), NOT_SUPPORTED);
        assert_eq!(hipGraphRemoveDependencies(graph, &node, &free, 1), NOT_SUPPORTED);
        let executable = instantiate(graph, 0);
        assert_eq!(hipGraphInstantiateWithFlags(&mut none, graph, 0), NOT_SUPPORTED);
        // Nor can it become part of a capture.
        ok(hipStreamBeginCapture(stream, 2));
        assert_eq!(hipGraphLaunch(executable, stream), NOT_SUPPORTED);
        ok(hipGraphDestroy(get(|graph| hipStreamEndCapture(stream, graph))));
        // Its own work it takes, that of a graph of other memory it does not.
        let (mut differs, mut result) = (null_mut(), -1);
        ok(hipGraphExecUpdate(executable, graph, &mut differs, &mut result));
        let (other, of_other, b) = allocating(BYTES);
        get(|free| hipGraphAddMemFreeNode(free, other, &of_other, 1, b));
        let refused = hipGraphExecUpdate(executable, other, &mut differs, &mut result);
        assert_eq!((refused, differs, result), (HipError::GRAPH_EXEC_UPDATE_FAILURE, of_other, 6));
        ok(hipGraphExecDestroy(executable));
        ok(hipGraphExecDestroy(instantiate(graph, 0)));
        for graph in [graph, other, outer] {
            ok(hipGraphDestroy(graph));
        }
        ok(hipStreamDestroy(stream));
    }
}

/// The fault of the next synchronising call, which there must be.
fn fault(stream: HipStream) -> hk_sim::FaultReport {
    assert_ne!(unsafe { hipStreamSynchronize(stream) }, HipError::SUCCESS);
    hk_sim::last_fault().expect("a report")
}

#[test]
fn the_sanitizer_knows_when_the_memory_is_there() {
    let _alone = alone();
    let [fill_with, pick_by] = kernels();
    unsafe {
        let (stream, y) = (stream(), upload(&[0u32; COUNT]));
        let (graph, _, a) = allocating(BYTES);
        let executable = instantiate(graph, AUTO_FREE);
        for _ in 0..2 {
            // What the last launch left there does not count.
            ok(hipGraphLaunch(executable, stream));
            pick(pick_by, y, a, stream);
            let fault = fault(stream);
            assert_eq!(fault.kind, FaultKind::Sanitizer(Kind::Memory), "{fault}");
            assert!(fault.to_string().contains("never written"), "{fault}");
            fill(fill_with, a, 7, stream);
            pick(pick_by, y, a, stream);
            ok(hipStreamSynchronize(stream));
        }
        ok(hipFreeAsync(a, stream));
        fill(fill_with, a, 7, stream);
        let fault_behind = fault(stream);
        assert_eq!(fault_behind.kind, FaultKind::Sanitizer(Kind::Memory), "{fault_behind}");
        assert!(fault_behind.to_string().contains("freed"), "{fault_behind}");

        // The same inside of a graph, where the edges decide.
        ok(hipStreamBeginCapture(stream, 2));
        let b: *mut c_void = get(|pointer| hipMallocAsync(pointer, BYTES, stream));
        ok(hipFreeAsync(b, stream));
        fill(fill_with, b, 1, stream);
        let wrong = instantiate(get(|graph| hipStreamEndCapture(stream, graph)), 0);
        for _ in 0..2 {
            ok(hipGraphLaunch(wrong, stream));
            let fault = fault(stream);
            assert_eq!(fault.kind, FaultKind::Sanitizer(Kind::Memory), "{fault}");
            assert!(fault.to_string().contains("freed"), "{fault}");
        }
        for executable in [executable, wrong] {
            ok(hipGraphExecDestroy(executable));
        }
        free(y);
        ok(hipStreamDestroy(stream));
    }
}
