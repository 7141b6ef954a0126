//! What devices, contexts and pointers tell of themselves, and what programs may set.

#![expect(clippy::undocumented_unsafe_blocks, reason = "each block calls the C API under test")]

mod support;

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::ptr::null_mut;
use std::sync::{Mutex, MutexGuard, PoisonError};

use hk_sim::HipError;
use hk_sim::capi::types::*;
use hk_sim::capi::*;
use support::*;

const INVALID: HipError = HipError::INVALID_VALUE;

/// The tests set what is one for all threads.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn ordinal(product: &str) -> c_int {
    hk_sim::device_ordinal(product).expect("a product")
}

#[test]
fn devices_are_known_and_chosen_by_what_they_have() {
    unsafe {
        let (one, other) = (ordinal("mi300x"), ordinal("mi355x"));
        let uuids = [one, other].map(|device| get(|uuid| hipDeviceGetUuid(uuid, device)));
        assert_ne!(uuids[0], uuids[1]);
        let new = get(|prop| hipGetDevicePropertiesR0600(prop, other));
        let old = get(|prop| hipGetDevicePropertiesR0000(prop, other));
        assert_eq!(new.uuid, uuids[1]);
        assert_eq!(
            (old.total_global_mem, old.warp_size, old.multi_processor_count),
            (new.total_global_mem, new.warp_size, new.multi_processor_count)
        );
        assert_eq!((old.major, old.minor), (9, 5));

        // Only chips of the newer kind have that much LDS.
        let mut wanted: HipDevicePropR0600 = std::mem::zeroed();
        wanted.shared_mem_per_block = 128 << 10;
        let found = get(|device| hipChooseDeviceR0600(device, &wanted));
        let prop = get(|prop| hipGetDevicePropertiesR0600(prop, found));
        assert!(prop.shared_mem_per_block >= 128 << 10 && prop.major >= 9);
        assert_eq!(hipChooseDeviceR0600(&mut 0, null_mut()), INVALID);
        let mut wanted: HipDevicePropR0000 = std::mem::zeroed();
        wanted.shared_mem_per_block = 128 << 10;
        assert_eq!(get(|device| hipChooseDeviceR0000(device, &wanted)), found);
        assert_eq!(get(|device| hipChooseDevice(device, &wanted)), found);
        wanted.multi_processor_count = prop.multi_processor_count + 1;
        assert_eq!(get(|device| hipChooseDevice(device, &wanted)), 0, "there is none");
        assert_eq!(hipChooseDevice(&mut 0, null_mut()), INVALID);

        let relation = |number| get(|value| hipDeviceGetP2PAttribute(value, number, one, other));
        assert_eq!([0, 1, 2, 3].map(relation), [0, 1, 1, 0]);
        assert_eq!(hipDeviceGetP2PAttribute(&mut 0, 4, one, other), INVALID);
        let itself = hipDeviceGetP2PAttribute(&mut 0, 1, one, one);
        assert_eq!(itself, HipError::INVALID_DEVICE);
        let (mut least, mut greatest) = (0, 0);
        ok(hipDeviceGetStreamPriorityRange(&mut least, &mut greatest));
        assert_eq!((least, greatest), (1, -1));
    }
}

#[test]
fn devices_and_contexts_keep_what_is_set() {
    const STACK: c_int = 0;
    const PRINTF: c_int = 1;
    const HEAP: c_int = 2;
    let _alone = alone();
    unsafe {
        use_product("mi325x");
        let device = get(|device| hipGetDevice(device));
        let limit = |limit| get(|value| hipDeviceGetLimit(value, limit));
        let before = (limit(STACK), limit(HEAP));
        ok(hipDeviceSetLimit(STACK, 4096));
        ok(hipDeviceSetLimit(HEAP, 1 << 20));
        assert_eq!((limit(STACK), limit(HEAP)), (4096, 1 << 20));
        for error in [hipDeviceSetLimit(STACK, 1 << 20), hipDeviceSetLimit(HEAP, usize::MAX)] {
            assert_eq!(error, INVALID);
        }
        for error in [hipDeviceSetLimit(PRINTF, 1), hipDeviceGetLimit(&mut 0, PRINTF)] {
            assert_eq!(error, HipError::UNSUPPORTED_LIMIT);
        }
        ok(hipDeviceSetLimit(STACK, before.0));
        ok(hipDeviceSetLimit(HEAP, before.1));

        // One set of flags, whoever sets it.
        let flags = || {
            let (mut primary, mut active) = (0, 0);
            ok(hipDevicePrimaryCtxGetState(device, &mut primary, &mut active));
            [get(|flags| hipGetDeviceFlags(flags)), get(|flags| hipCtxGetFlags(flags)), primary]
        };
        ok(hipSetDeviceFlags(4));
        assert_eq!(flags(), [4; 3]);
        assert_eq!(hipSetDeviceFlags(0x20), INVALID);
        ok(hipDevicePrimaryCtxSetFlags(device, 1));
        assert_eq!(flags(), [1; 3]);
        ok(hipSetDeviceFlags(0));
        assert_eq!(hipDevicePrimaryCtxSetFlags(99, 1), HipError::INVALID_DEVICE);

        // Preferences that these chips do not have are taken, and change nothing.
        for config in [1, 2] {
            ok(hipDeviceSetCacheConfig(config));
            ok(hipCtxSetCacheConfig(config));
            ok(hipDeviceSetSharedMemConfig(config));
            ok(hipCtxSetSharedMemConfig(config));
            let caches =
                [get(|c| hipDeviceGetCacheConfig(c)), get(|c: *mut c_int| hipCtxGetCacheConfig(c))];
            let banks = [
                get(|c| hipDeviceGetSharedMemConfig(c)),
                get(|c: *mut c_int| hipCtxGetSharedMemConfig(c)),
            ];
            assert_eq!((caches, banks), ([0; 2], [1; 2]));
        }
    }
}

#[test]
fn contexts_stack_and_reach_their_peers() {
    let _alone = alone();
    unsafe {
        let (one, other) = (ordinal("mi325x"), ordinal("mi355x"));
        let device = || get(|device| hipCtxGetDevice(device));
        ok(hipSetDevice(one));
        let below = get(|context| hipCtxGetCurrent(context));
        let context = get(|context| hipCtxCreate(context, 0, other));
        assert_eq!((device(), get(|context| hipCtxGetCurrent(context))), (other, context));
        assert_eq!(get(|version: *mut c_uint| hipCtxGetApiVersion(context, version)), 4);
        assert_eq!(hipCtxCreate(&mut null_mut(), 0, 99), HipError::INVALID_DEVICE);
        ok(hipCtxSetCurrent(below));
        assert_eq!(device(), one);
        ok(hipCtxSetCurrent(null_mut()));
        assert_eq!(device(), one);
        ok(hipCtxSetCurrent(context));
        // It waits for the work of its device.
        let stream = stream();
        let word = upload(&[0u32]);
        let slow = |word: *mut c_void| ok(hipLaunchHostFunc(stream, Some(write_late), word));
        slow(word);
        ok(hipCtxSynchronize());
        assert_eq!(word.cast::<u32>().read_volatile(), 1);
        free(word);
        ok(hipStreamDestroy(stream));
        // Its end brings back the one below, also if it is popped before.
        ok(hipCtxDestroy(context));
        assert_eq!(device(), one);
        let context = get(|context| hipCtxCreate(context, 0, other));
        assert_eq!(get(|context| hipCtxPopCurrent(context)), context);
        ok(hipCtxDestroy(context));
        assert_eq!(device(), one);
        assert_eq!(hipCtxPopCurrent(null_mut()), HipError::INVALID_CONTEXT);
        assert_eq!(hipCtxDestroy(null_mut()), HipError::INVALID_CONTEXT);

        let enable = || hipCtxEnablePeerAccess(context, 0);
        ok(enable());
        assert_eq!(enable(), HipError::PEER_ACCESS_ALREADY_ENABLED);
        assert_eq!(hipCtxEnablePeerAccess(below, 0), HipError::INVALID_DEVICE);
        ok(hipCtxDisablePeerAccess(context));
        assert_eq!(hipCtxDisablePeerAccess(context), HipError::PEER_ACCESS_NOT_ENABLED);
    }
}

/// Writes to a word after a while.
unsafe extern "C" fn write_late(word: *mut c_void) {
    std::thread::sleep(std::time::Duration::from_millis(20));
    unsafe { word.cast::<u32>().write_volatile(1) };
}

#[test]
fn a_reset_leaves_nothing_on_the_device() {
    let _alone = alone();
    unsafe {
        use_product("mi350x");
        let device = get(|device| hipGetDevice(device));
        let free_bytes = || {
            let (mut free, mut total) = (0, 0);
            ok(hipMemGetInfo(&mut free, &mut total));
            free
        };
        // The context's own reset leaves what programs hold.
        let before = free_bytes();
        let (buffer, stream) = (upload(&[1u32; 4]), stream());
        ok(hipDevicePrimaryCtxReset(device));
        assert_eq!(download::<u32>(buffer, 4), [1; 4]);
        assert_eq!(hipDevicePrimaryCtxReset(99), HipError::INVALID_DEVICE);
        // The reset of the device waits for work that is under way.
        let word: *mut c_void = get(|pointer| hipHostMalloc(pointer, 4, 0));
        word.cast::<u32>().write(0);
        ok(hipLaunchHostFunc(stream, Some(write_late), word));
        let graph = get(|graph| hipGraphCreate(graph, 0));
        let mut params = alloc_node_params(64);
        get(|node| hipGraphAddMemAllocNode(node, graph, std::ptr::null(), 0, &mut params));
        let executable = get(|exec| hipGraphInstantiateWithFlags(exec, graph, 0));
        ok(hipGraphLaunch(executable, stream));
        ok(hipSetDeviceFlags(4));
        ok(hipDeviceReset());
        assert_eq!(word.cast::<u32>().read(), 1);
        assert_eq!(free_bytes(), before);
        assert_eq!([hipFree(buffer), hipFree(params.dptr)], [INVALID; 2]);
        assert_eq!(hipStreamSynchronize(stream), HipError::CONTEXT_IS_DESTROYED);
        assert_eq!(get(|flags| hipGetDeviceFlags(flags)), 0);
        // What it had allocated, the graph may allocate again.
        ok(hipGraphLaunch(executable, null_mut()));
        free(params.dptr);
        ok(hipGraphExecDestroy(executable));
        ok(hipGraphDestroy(graph));
        ok(hipHostFree(word));
    }
}

#[test]
fn memory_of_every_kind_is_allocated_and_told_apart() {
    type Allocate = unsafe fn(*mut *mut c_void) -> HipError;
    type Free = unsafe extern "C" fn(*mut c_void) -> HipError;
    const HOST: c_int = 1;
    const DEVICE: c_int = 2;
    let forms: [(&str, Allocate, Free, c_int); 4] = [
        ("hipExtMallocWithFlags", |p| unsafe { hipExtMallocWithFlags(p, 100, 1) }, hipFree, DEVICE),
        ("hipMemAllocHost", |p| unsafe { hipMemAllocHost(p, 100) }, hipHostFree, HOST),
        ("hipHostAlloc", |p| unsafe { hipHostAlloc(p, 100, 1) }, hipFreeHost, HOST),
        ("hipMallocHost", |p| unsafe { hipMallocHost(p, 100) }, hipFreeHost, HOST),
    ];
    use_product("mi355x");
    unsafe {
        let device = get(|device| hipGetDevice(device));
        for (name, allocate, free, kind) in forms {
            let pointer = get(|pointer| allocate(pointer));
            let mut pointer_out = null_mut::<c_void>();
            let data = (&raw mut pointer_out).cast();
            let at = pointer.byte_add(40);
            let number =
                |number| get(|value: *mut c_int| hipPointerGetAttribute(value.cast(), number, at));
            assert_eq!((number(2), number(9)), (kind, device), "{name}");
            let address = |number| {
                get(|value: *mut *mut c_void| hipPointerGetAttribute(value.cast(), number, at))
            };
            assert_eq!((address(3), address(11)), (at, pointer), "{name}");
            let size = get(|value: *mut usize| hipPointerGetAttribute(value.cast(), 12, at));
            assert_eq!(size, 100, "{name}");
            let managed = get(|value: *mut bool| hipPointerGetAttribute(value.cast(), 8, at));
            assert!(!managed, "{name}");
            let for_host = hipPointerGetAttribute(data, 4, at);
            let expected = if kind == HOST { HipError::SUCCESS } else { INVALID };
            assert_eq!(for_host, expected, "{name}");
            // Memory does not move, so hints are checked and change nothing.
            let stream = stream();
            let here = HipMemLocation { kind: 1, id: device };
            let hints = |pointer| {
                [
                    hipMemPrefetchAsync(pointer, 8, device, stream),
                    hipMemPrefetchAsync_v2(pointer, 8, here, 0, stream),
                    hipMemAdvise(pointer, 8, 1, device),
                    hipMemAdvise_v2(pointer, 8, 1, here),
                    hipStreamAttachMemAsync(stream, pointer.cast_mut(), 8, 1),
                ]
            };
            assert_eq!(hints(at.cast_const()), [HipError::SUCCESS; 5], "{name}");
            assert_eq!(hints((&raw const size).cast()), [INVALID; 5], "{name}");
            assert_eq!(hipMemPrefetchAsync_v2(at, 8, here, 1, stream), INVALID);
            assert_eq!(hipStreamAttachMemAsync(stream, at, 8, 8), INVALID);
            ok(hipStreamDestroy(stream));
            let gone = hipMemPrefetchAsync(at, 8, device, stream);
            assert_eq!(gone, HipError::CONTEXT_IS_DESTROYED);
            ok(free(pointer));
            assert_eq!(free(pointer), INVALID, "{name}");
            let lost = hipPointerGetAttribute(data, 3, at);
            assert_eq!(lost, INVALID, "{name}");
        }
        assert_eq!(hipHostAlloc(&mut null_mut(), 100, 8), INVALID);

        let (mut rows, mut pitch) = (null_mut(), 0);
        ok(hipMemAllocPitch(&mut rows, &mut pitch, 300, 5, 16));
        assert_eq!(pitch, 512);
        assert_eq!(get(|size| hipMemPtrGetInfo(rows, size)), 5 * 512);
        free(rows);
        assert_eq!(hipMemAllocPitch(&mut rows, &mut pitch, 300, 5, 3), INVALID);
    }
}

#[test]
fn streams_have_priorities_and_units() {
    use_product("mi325x");
    unsafe {
        // One out of range is brought into it.
        for (asked, given) in [(0, 0), (-1, -1), (1, 1), (-7, -1), (9, 1)] {
            let stream = get(|stream| hipStreamCreateWithPriority(stream, 1, asked));
            assert_eq!(get(|priority| hipStreamGetPriority(stream, priority)), given, "{asked}");
            assert_eq!(get(|flags| hipStreamGetFlags(stream, flags)), 1);
            ok(hipStreamDestroy(stream));
        }
        assert_eq!(hipStreamCreateWithPriority(&mut null_mut(), 2, 0), INVALID);
        let mask = [u32::MAX; 2];
        let masked = get(|stream| hipExtStreamCreateWithCUMask(stream, 2, mask.as_ptr()));
        let word = upload(&[0u32]);
        ok(hipMemsetD32Async(word, 5, 1, masked));
        ok(hipStreamSynchronize(masked));
        assert_eq!(download::<u32>(word, 1), [5]);
        assert_eq!(hipExtStreamCreateWithCUMask(&mut null_mut(), 0, mask.as_ptr()), INVALID);
        ok(hipStreamDestroy(masked));
        free(word);
    }
}

/// A text of the library.
fn text(text: *const c_char) -> String {
    unsafe { CStr::from_ptr(text) }.to_str().expect("UTF-8").to_owned()
}

#[test]
fn names_and_errors() {
    unsafe {
        let known = get(|to| hipDrvGetErrorString(HipError::OUT_OF_MEMORY, to));
        assert_eq!(text(known), "out of memory");
        let mut unknown = null_mut::<c_char>().cast_const();
        assert_eq!(hipDrvGetErrorString(HipError(12_345), &mut unknown), INVALID);
        assert_eq!([hipExtGetLastError(), hipExtGetLastError()], [INVALID, HipError::SUCCESS]);
        assert_eq!(text(hipGetErrorName(HipError::OUT_OF_MEMORY)), "hipErrorOutOfMemory");
        let versions =
            [get(|version| hipDriverGetVersion(version)), get(|n| hipRuntimeGetVersion(n))];
        assert!(versions[0] >= 70_000_000 && versions[0] == versions[1], "{versions:?}");
        // Nothing is traced, profiled or compiled, which programs may ask for all the same.
        ok(hipProfilerStart());
        ok(hipProfilerStop());
        hipRegisterTracerCallback(std::ptr::null());
        assert_eq!(text(hipApiName(1)), "unknown");
        let (mut header, mut size) = (c"x".as_ptr(), 1);
        __hipGetPCH(&mut header, &mut size);
        assert_eq!((header, size), (std::ptr::null(), 0));
        assert_eq!(text(amd_dbgapi_get_build_name()), "hk-sim");
        assert_eq!(
            (text(amd_dbgapi_get_git_hash()), amd_dbgapi_get_build_id()),
            (String::new(), 0)
        );
    }
}

#[test]
fn programs_find_the_forms_that_they_mean() {
    // Those of the newest version, or of the thread's stream.
    type Find = unsafe fn(&CStr, *mut *mut c_void, *mut c_int) -> HipError;
    let forms: [(Find, *const c_void); 3] = [
        (
            |name, to, how| unsafe { hipGetDriverEntryPoint(name.as_ptr(), to, 0, how) },
            hipMemcpy as *const c_void,
        ),
        (
            |name, to, how| unsafe { hipGetDriverEntryPoint_spt(name.as_ptr(), to, 0, how) },
            hipMemcpy_spt as *const c_void,
        ),
        (
            |name, to, how| unsafe { hipGetProcAddress_spt(name.as_ptr(), to, 700, 0, how) },
            hipMemcpy_spt as *const c_void,
        ),
    ];
    unsafe {
        for (find, expected) in forms {
            let (mut found, mut how) = (null_mut(), -1);
            ok(find(c"hipMemcpy", &mut found, &mut how));
            assert_eq!((found.cast_const(), how), (expected, 0));
            ok(find(c"hipGetDeviceProperties", &mut found, &mut how));
            assert_eq!(found.cast_const(), hipGetDevicePropertiesR0600 as *const c_void);
            assert_eq!(find(c"hipNoSuchThing", &mut found, &mut how), INVALID);
            assert_eq!((found, how), (null_mut(), 1));
        }
    }
}
