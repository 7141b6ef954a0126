//! Programs built by hipcc: what they register, and every form of their launches and copies.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::ptr::null_mut;
use std::sync::{Mutex, MutexGuard, PoisonError};

use hk_sim::HipError;
use hk_sim::capi::types::*;
use hk_sim::capi::*;

use super::support::*;
use super::{CHIPS, bundle, compressed, pointer_to};

/// Stand for the host sides of kernels and of a variable of a program built by hipcc.
extern "C" fn globals_stub() {}
extern "C" fn managed_stub() {
    // Else the two may be one function.
    std::hint::black_box(1);
}
static TABLE_SHADOW: [i32; 4] = [0; 4];

fn wrapper_of(bundle: &[u8]) -> FatBinaryWrapper {
    let binary = bundle.as_ptr().cast();
    FatBinaryWrapper { magic: FatBinaryWrapper::MAGIC, version: 1, binary, unused: null_mut() }
}

/// A name that a program has in its image.
fn name(text: &str) -> *mut c_char {
    CString::new(text).expect("no zero").into_raw()
}

/// The tests register their programs under the same host functions.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Registers a kernel under a host function.
unsafe fn register(handle: *mut *mut c_void, host: *const c_void, kernel: &str) {
    let none = null_mut;
    let (by, named) = (name(kernel), name(kernel));
    unsafe {
        __hipRegisterFunction(
            handle,
            host,
            by,
            named,
            0,
            none(),
            none(),
            null_mut(),
            null_mut(),
            null_mut(),
        );
    }
}

/// A form of a launch by host function, given grid, arguments and stream, and its result if the grid is
/// too large to run at once.
type LaunchForm = (
    &'static str,
    unsafe fn(*const c_void, Dim3, &mut [*mut c_void], HipStream) -> HipError,
    HipError,
);

#[test]
fn programs_built_by_hipcc_launch_and_copy_in_every_form() {
    const BLOCK: Dim3 = Dim3 { x: 64, y: 1, z: 1 };
    const LAUNCHES: &[LaunchForm] = &[
        (
            "hipLaunchKernel_spt",
            |host, grid, args, _| unsafe {
                hipLaunchKernel_spt(host, grid, BLOCK, args.as_mut_ptr(), 0, null_mut())
            },
            HipError::SUCCESS,
        ),
        (
            "hipExtLaunchKernel",
            |host, grid, args, stream| unsafe {
                let (none, args) = (null_mut(), args.as_mut_ptr());
                hipExtLaunchKernel(host, grid, BLOCK, args, 0, stream, none, none, 0)
            },
            HipError::SUCCESS,
        ),
        (
            "hipLaunchKernelExC",
            |host, grid, args, stream| unsafe {
                let mut attribute = HipLaunchAttribute { id: 2, padding: [0; 4], value: [0; 16] };
                attribute.value[0] = 1;
                let config = HipLaunchConfig {
                    grid,
                    block: BLOCK,
                    dynamic_smem_bytes: 0,
                    stream,
                    attributes: &attribute,
                    attribute_count: 1,
                };
                hipLaunchKernelExC(&config, host, args.as_mut_ptr())
            },
            HipError::COOPERATIVE_LAUNCH_TOO_LARGE,
        ),
        (
            "hipLaunchCooperativeKernel",
            |host, grid, args, stream| unsafe {
                hipLaunchCooperativeKernel(host, grid, BLOCK, args.as_mut_ptr(), 0, stream)
            },
            HipError::COOPERATIVE_LAUNCH_TOO_LARGE,
        ),
        (
            "hipLaunchCooperativeKernel_spt",
            |host, grid, args, _| unsafe {
                hipLaunchCooperativeKernel_spt(host, grid, BLOCK, args.as_mut_ptr(), 0, null_mut())
            },
            HipError::COOPERATIVE_LAUNCH_TOO_LARGE,
        ),
    ];
    let _alone = alone();
    let bundle = bundle();
    let (host, managed_host) = (globals_stub as *const c_void, managed_stub as *const c_void);
    let shadow = (&raw const TABLE_SHADOW).cast::<c_void>();
    let one = Dim3 { x: 1, y: 1, z: 1 };
    unsafe {
        let handle = __hipRegisterFatBinary(&wrapper_of(&bundle));
        register(handle, host, "globals");
        register(handle, managed_host, "add_managed");
        __hipRegisterVar(handle, shadow.cast_mut(), name("table"), name("table"), 0, 16, 0, 0);
        // What these chips do not have is accepted and not there.
        __hipRegisterTexture(handle, null_mut(), name("t"), name("t"), 0, 0, 0);
        __hipRegisterSurface(handle, null_mut(), name("s"), name("s"), 0, 0);
        let (mut managed, initial) = (null_mut::<c_void>(), 41i32);
        let at = &raw const initial;
        __hipRegisterManagedVar(handle.cast(), &mut managed, at.cast(), name("shared_word"), 4, 4);
        assert_eq!(managed.cast::<i32>().read(), 41);
        for (index, (product, _)) in CHIPS.into_iter().enumerate() {
            use_product(product);
            let stream = stream();
            let mut out = upload(&[0i32; 64]);
            let mut managed_args = [pointer_to(&mut out)];
            ok(hipLaunchKernel(managed_host, one, one, managed_args.as_mut_ptr(), 0, stream));
            ok(hipStreamSynchronize(stream));
            // One memory for the host and both devices.
            let count = 42 + index as i32;
            assert_eq!(
                (download::<i32>(out, 1), managed.cast::<i32>().read()),
                (vec![count], count)
            );

            let function = get(|function| hipGetFuncBySymbol(function, host));
            for text in [hipKernelNameRef(function), hipKernelNameRefByPtr(host, stream)] {
                assert_eq!(CStr::from_ptr(text).to_str(), Ok("globals"));
            }
            assert!(hipKernelNameRefByPtr(shadow, stream).is_null());
            let unknown = hipGetFuncBySymbol(&mut null_mut(), shadow);
            assert_eq!(unknown, HipError::INVALID_DEVICE_FUNCTION);
            // By the host function what the handle says.
            for size in [64, 256, 1024] {
                let by_handle = get(|blocks| {
                    hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(blocks, function, size, 0)
                });
                for by_host in [
                    get(|n| hipOccupancyMaxActiveBlocksPerMultiprocessor(n, host, size, 0)),
                    get(|n| {
                        hipOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(n, host, size, 0, 0)
                    }),
                ] {
                    assert_eq!(by_host, by_handle, "{size}");
                }
            }
            let (mut wanted, mut found) = ((0, 0), (0, 0));
            let (grid, block) = (&mut wanted.0, &mut wanted.1);
            ok(hipModuleOccupancyMaxPotentialBlockSize(grid, block, function, 0, 256));
            ok(hipOccupancyMaxPotentialBlockSize(&mut found.0, &mut found.1, host, 0, 256));
            assert_eq!((wanted, wanted.1), (found, 256));

            // Variables.
            let values = [10i32, 20, 30, 40];
            let from = values.as_ptr().cast::<c_void>();
            let there: *mut c_void = get(|pointer| hipGetSymbolAddress(pointer, shadow));
            let held = || download::<i32>(there, 4);
            let write =
                |value: i32| ok(hipMemcpyToSymbol(shadow, [value; 4].as_ptr().cast(), 16, 0, 1));
            write(0);
            ok(hipMemcpyToSymbol_spt(shadow, from, 8, 4, 1));
            assert_eq!(held(), [0, 10, 20, 0]);
            ok(hipMemcpyToSymbolAsync(shadow, from, 4, 12, 1, stream));
            ok(hipStreamSynchronize(stream));
            assert_eq!(held(), [0, 10, 20, 10]);
            ok(hipMemcpyToSymbolAsync_spt(shadow, from.byte_add(12), 4, 0, 1, null_mut()));
            ok(hipStreamSynchronize_spt(null_mut()));
            assert_eq!(held(), [40, 10, 20, 10]);
            let mut word = [0i32; 4];
            let to = word.as_mut_ptr().cast::<c_void>();
            ok(hipMemcpyFromSymbol(to, shadow, 4, 0, 2));
            ok(hipMemcpyFromSymbol_spt(to.byte_add(4), shadow, 4, 8, 2));
            ok(hipMemcpyFromSymbolAsync(to.byte_add(8), shadow, 4, 4, 2, stream));
            ok(hipStreamSynchronize(stream));
            ok(hipMemcpyFromSymbolAsync_spt(to.byte_add(12), shadow, 4, 12, 2, null_mut()));
            ok(hipStreamSynchronize_spt(null_mut()));
            assert_eq!(to.cast::<[i32; 4]>().read(), [40, 20, 10, 10]);
            let beyond = hipMemcpyFromSymbol(to, shadow, 8, 12, 2);
            assert_eq!(beyond, HipError::INVALID_VALUE);
            assert_eq!(hipMemcpyFromSymbol(to, from, 4, 0, 2), HipError::INVALID_SYMBOL);

            symbol_nodes(shadow, &held, stream);

            // Launches; the first changes the bias that is added.
            ok(hipMemcpyToSymbol(shadow, from, 16, 0, 1));
            ok(hipLaunchKernel(host, one, one, managed_args.as_mut_ptr(), 0, stream));
            ok(hipStreamSynchronize(stream));
            let expected: Vec<i32> = (0..64).map(|i| 7 + values[i % 4]).collect();
            for (name, launch, too_large) in LAUNCHES {
                ok(hipMemset(out, 0, 256));
                let mut args = [pointer_to(&mut out)];
                ok(launch(host, one, &mut args, stream));
                ok(hipStreamSynchronize(stream));
                ok(hipStreamSynchronize_spt(null_mut()));
                assert_eq!(download::<i32>(out, 64), expected, "{name}");
                // More than any device holds at once.
                if *too_large != HipError::SUCCESS {
                    let grid = Dim3 { x: 1 << 20, ..one };
                    assert_eq!(launch(host, grid, &mut args, stream), *too_large, "{name}");
                }
            }
            // Events frame an extended launch.
            let [start, stop] = [(); 2].map(|()| get(|event| hipEventCreate(event)));
            let mut args = [pointer_to(&mut out)];
            let args = args.as_mut_ptr();
            ok(hipExtLaunchKernel(host, one, BLOCK, args, 0, stream, start, stop, 0));
            ok(hipEventSynchronize(stop));
            assert!(get(|ms| hipEventElapsedTime(ms, start, stop)) >= 0.0);
            let flags = hipExtLaunchKernel(host, one, BLOCK, args, 0, stream, start, stop, 2);
            assert_eq!(flags, HipError::INVALID_VALUE);
            for event in [start, stop] {
                ok(hipEventDestroy(event));
            }
            ok(hipStreamDestroy(stream));
            free(out);
        }
        __hipUnregisterFatBinary(handle);
        let gone = hipGetSymbolAddress(&mut null_mut(), shadow);
        assert_eq!(gone, HipError::INVALID_SYMBOL);
    }
}

/// Copies to and from a variable of four words as nodes, of which `held` tells the words.
unsafe fn symbol_nodes(shadow: *const c_void, held: &dyn Fn() -> Vec<i32>, stream: HipStream) {
    const MEMCPY_FROM_SYMBOL: c_int = 12;
    const MEMCPY_TO_SYMBOL: c_int = 13;
    let words = upload(&[1i32, 2, 3, 0]);
    let (word, taken) = (|i: usize| words.wrapping_byte_add(4 * i), words.wrapping_byte_add(12));
    let none = std::ptr::null;
    unsafe {
        let run = |executable| {
            ok(hipGraphLaunch(executable, stream));
            ok(hipStreamSynchronize(stream));
        };
        ok(hipMemcpyToSymbol(shadow, [0i32; 4].as_ptr().cast(), 16, 0, 1));
        let graph = get(|graph| hipGraphCreate(graph, 0));
        let to = get(|node| {
            hipGraphAddMemcpyNodeToSymbol(node, graph, none(), 0, shadow, word(0), 4, 0, 3)
        });
        let from = get(|node| {
            hipGraphAddMemcpyNodeFromSymbol(node, graph, &to, 1, taken, shadow, 4, 0, 3)
        });
        let types = [to, from].map(|node| get(|kind| hipGraphNodeGetType(node, kind)));
        assert_eq!(types, [MEMCPY_TO_SYMBOL, MEMCPY_FROM_SYMBOL]);
        let first = get(|exec| hipGraphInstantiateWithFlags(exec, graph, 0));
        run(first);
        assert_eq!((held(), download::<i32>(taken, 1)), (vec![1, 0, 0, 0], vec![1]));
        ok(hipGraphMemcpyNodeSetParamsToSymbol(to, shadow, word(1), 4, 4, 3));
        ok(hipGraphMemcpyNodeSetParamsFromSymbol(from, taken, shadow, 4, 4, 3));
        let second = get(|exec| hipGraphInstantiateWithFlags(exec, graph, 0));
        run(second);
        assert_eq!((held(), download::<i32>(taken, 1)), (vec![1, 2, 0, 0], vec![2]));
        ok(hipGraphExecMemcpyNodeSetParamsToSymbol(first, to, shadow, word(2), 4, 8, 3));
        ok(hipGraphExecMemcpyNodeSetParamsFromSymbol(first, from, taken, shadow, 4, 8, 3));
        run(first);
        assert_eq!((held(), download::<i32>(taken, 1)), (vec![1, 2, 3, 0], vec![3]));
        let beyond = hipGraphMemcpyNodeSetParamsToSymbol(to, shadow, word(1), 4, 13, 3);
        assert_eq!(beyond, HipError::INVALID_VALUE);
        for executable in [first, second] {
            ok(hipGraphExecDestroy(executable));
        }
        ok(hipGraphDestroy(graph));
    }
    free(words);
}

#[test]
fn programs_built_by_hipcc_register_and_launch() {
    let _alone = alone();
    // As `--offload-compress` makes it.
    let bundle = compressed(2, 1, &bundle());
    let wrapper = wrapper_of(&bundle);
    let host = globals_stub as *const c_void;
    let shadow = (&raw const TABLE_SHADOW).cast::<c_void>();
    unsafe {
        let other = FatBinaryWrapper { version: 2, ..wrapper };
        assert!(__hipRegisterFatBinary(&other).is_null());
        let handle = __hipRegisterFatBinary(&wrapper);
        assert!(!handle.is_null());
        register(handle, host, "globals");
        __hipRegisterVar(handle, shadow.cast_mut(), name("table"), name("table"), 0, 16, 0, 0);
        for (product, _) in CHIPS {
            use_product(product);
            let values = [10i32, 20, 30, 40];
            ok(hipMemcpyToSymbol(shadow, values.as_ptr().cast(), 16, 0, 1));
            assert_eq!(get(|size| hipGetSymbolSize(size, shadow)), 16);
            let beyond = hipMemcpyToSymbol(shadow, values.as_ptr().cast(), 16, 4, 1);
            assert_eq!(beyond, HipError::INVALID_VALUE);
            let mut out = upload(&[0i32; 64]);
            let (grid, block) = (Dim3 { x: 1, y: 1, z: 1 }, Dim3 { x: 64, y: 1, z: 1 });
            // As `globals<<<grid, block>>>(out)` compiles to.
            ok(__hipPushCallConfiguration(grid, block, 0, null_mut()));
            let (mut to_grid, mut to_block) = (Dim3::default(), Dim3::default());
            let (mut lds, mut stream) = (1, null_mut());
            ok(__hipPopCallConfiguration(&mut to_grid, &mut to_block, &mut lds, &mut stream));
            assert_eq!((to_grid, to_block, lds), (grid, block, 0));
            let mut args = [pointer_to(&mut out)];
            ok(hipLaunchKernel(host, to_grid, to_block, args.as_mut_ptr(), lds, stream));
            let expected: Vec<i32> = (0..64).map(|i| 100 + values[i % 4]).collect();
            assert_eq!(download::<i32>(out, 64), expected);
            let zero = Dim3 { x: 0, ..block };
            let refused = hipLaunchKernel(host, grid, zero, args.as_mut_ptr(), 0, stream);
            assert_eq!(refused, HipError::INVALID_CONFIGURATION);
            let attributes = get(|found| hipFuncGetAttributes(found, host));
            assert_eq!(attributes.max_threads_per_block, 1024);
            free(out);
        }
        let missing = __hipPopCallConfiguration(null_mut(), null_mut(), null_mut(), null_mut());
        assert_eq!(missing, HipError::MISSING_CONFIGURATION);
        __hipUnregisterFatBinary(handle);
        let gone =
            hipLaunchKernel(host, Dim3::default(), Dim3::default(), null_mut(), 0, null_mut());
        assert_eq!(gone, HipError::INVALID_DEVICE_FUNCTION);
    }
}
