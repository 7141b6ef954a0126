//! Kernels through the C API: modules, launches, faults, threads; `programs` has what hipcc builds.

#![expect(clippy::undocumented_unsafe_blocks, reason = "each block calls the C API under test")]

#[path = "../support/bundles.rs"]
mod bundles;
mod programs;
#[path = "../support/mod.rs"]
mod support;

use std::ffi::{CStr, CString, c_int, c_void};
use std::ptr::null_mut;
use std::sync::{Once, OnceLock};

use bundles::{bundle_of, compressed};
use hk_build::{Arch, CompileOptions, compile_source};
use hk_sim::capi::types::*;
use hk_sim::capi::*;
use hk_sim::exec::ExecOptions;
use hk_sim::{FaultKind, HipError};
use support::*;

const SOURCE: &str = r#"
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
__device__ int bias = 100;
__device__ int table[4];
// As hipcc makes it of a managed variable: where its memory is.
__device__ int* shared_word;

extern "C" __global__ void saxpy(float* y, const float* x, float a, int n) {
  int i = __builtin_amdgcn_workgroup_id_x() * 256 + __builtin_amdgcn_workitem_id_x();
  if (i < n) y[i] += a * x[i];
}

// Position in the workgroup and work-items of the workgroup, counted across its waves.
extern "C" __global__ void ragged(unsigned* out, unsigned* sizes) {
  static __attribute__((shared)) unsigned count;
  unsigned x = __builtin_amdgcn_workitem_id_x(), y = __builtin_amdgcn_workitem_id_y();
  if (x == 0 && y == 0) count = 0;
  __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "workgroup");
  __builtin_amdgcn_s_barrier();
  __atomic_fetch_add(&count, 1, __ATOMIC_SEQ_CST);
  __builtin_amdgcn_s_barrier();
  unsigned gx = __builtin_amdgcn_workgroup_id_x() * 16 + x;
  unsigned gy = __builtin_amdgcn_workgroup_id_y() * 8 + y;
  unsigned z = __builtin_amdgcn_workgroup_id_z();
  __atomic_fetch_add(out + (z * 16 + gy) * 64 + gx, 1 + x | y << 8 | count << 16, __ATOMIC_RELAXED);
  auto hidden = (const unsigned*)__builtin_amdgcn_implicitarg_ptr();
  if (gx == 0 && gy == 0 && z == 0) {
    for (int i = 0; i < 3; ++i) sizes[i] = hidden[i], sizes[3 + i] = ((const unsigned short*)hidden)[9 + i];
  }
}

// What the runtime tells a kernel, one value per word.
extern "C" __global__ void facts(unsigned* out) {
  auto* packet = (const __attribute__((address_space(4))) unsigned*)__builtin_amdgcn_dispatch_ptr();
  auto* hidden = (const __attribute__((address_space(4))) char*)__builtin_amdgcn_implicitarg_ptr();
  // Only a kernel with dynamic LDS is told its size.
  extern __attribute__((shared)) unsigned more[];
  unsigned at = __builtin_amdgcn_workgroup_id_z();
  if (__builtin_amdgcn_workitem_id_x() + __builtin_amdgcn_workitem_id_y() == 0
      && __builtin_amdgcn_workgroup_id_x() == 1 && __builtin_amdgcn_workgroup_id_y() == 2) {
    out += at * 16;
    for (int i = 0; i < 3; ++i)
      out[i] = *(const __attribute__((address_space(4))) unsigned*)(hidden + 4 * i);
    for (int i = 0; i < 3; ++i)
      out[3 + i] = *(const __attribute__((address_space(4))) unsigned short*)(hidden + 12 + 2 * i);
    out[6] = *(const __attribute__((address_space(4))) unsigned short*)(hidden + 64);
    out[7] = *(const __attribute__((address_space(4))) unsigned*)(hidden + 120);
    for (int i = 0; i < 3; ++i)
      out[8 + i] = packet[3 + i];
    out[11] = packet[7];
    out[12] = packet[0] >> 16;
    more[0] = at;
  }
}

// The number of workgroups, once all of them have met as `cooperative_groups::this_grid().sync()` has them
// meet: by a counter and a number of workgroups in what the runtime gives a cooperative launch.
extern "C" __global__ void meet(unsigned* out) {
  auto* hidden = (const __attribute__((address_space(4))) unsigned long*)__builtin_amdgcn_implicitarg_ptr();
  auto* shared = (unsigned*)hidden[11];
  unsigned groups = 0;
  if (shared) {
    groups = shared[10];
    __atomic_fetch_add(shared + 8, 1, __ATOMIC_SEQ_CST);
    while (__atomic_load_n(shared + 8, __ATOMIC_SEQ_CST) < groups) __builtin_amdgcn_s_sleep(1);
  }
  out[__builtin_amdgcn_workgroup_id_x()] = groups;
}

extern "C" __global__ void globals(int* out) {
  int i = __builtin_amdgcn_workitem_id_x();
  out[i] = bias + table[i & 3];
  if (i == 0) bias = 7;
}

extern "C" __global__ __attribute__((amdgpu_flat_work_group_size(1, 128)))
void bounded(int* out) { out[0] = 1; }

extern "C" __global__ void lds(int* out) {
  __attribute__((shared)) static int values[15000];
  values[__builtin_amdgcn_workitem_id_x()] = 1;
  __builtin_amdgcn_s_barrier();
  out[0] = values[__builtin_amdgcn_workitem_id_x() ^ 1];
}

extern "C" __global__ void poke(int* where) { *where = 1; }

extern "C" __global__ void forever(volatile int* flag) { while (*flag == 0) {} }

extern "C" __global__ void add_managed(int* out) { *out = ++*shared_word; }

extern "C" __global__ void trap() { __builtin_trap(); }

extern "C" __global__ void nothing() {}
"#;

fn image(arch: Arch) -> &'static [u8] {
    static IMAGES: [OnceLock<Vec<u8>>; 2] = [OnceLock::new(), OnceLock::new()];
    IMAGES[arch as usize].get_or_init(|| {
        let compiled = compile_source(SOURCE, arch, &CompileOptions::default());
        compiled.expect("the source compiles").image
    })
}

/// The code objects of both chips, as hipcc puts them into a program.
fn bundle() -> Vec<u8> {
    bundle_of(&[
        ("host-x86_64-unknown-linux-gnu--", b""),
        ("hipv4-amdgcn-amd-amdhsa--gfx942", image(Arch::Gfx942)),
        ("hipv4-amdgcn-amd-amdhsa--gfx950", image(Arch::Gfx950)),
    ])
}

/// Both chips, with the product that each test uses.
const CHIPS: [(&str, Arch); 2] = [("mi325x", Arch::Gfx942), ("mi355x", Arch::Gfx950)];

/// Makes the product current and loads the test's module there.
fn load(product: &str, arch: Arch) -> HipModule {
    static LIMIT: Once = Once::new();
    // The kernel that never ends is stopped soon.
    LIMIT.call_once(|| {
        hk_sim::set_options(ExecOptions { max_instructions: 1 << 24, ..Default::default() });
    });
    use_product(product);
    get(|module| unsafe { hipModuleLoadData(module, image(arch).as_ptr().cast()) })
}

fn kernel(module: HipModule, name: &CStr) -> HipFunction {
    get(|function| unsafe { hipModuleGetFunction(function, module, name.as_ptr()) })
}

/// Launches with an argument list of pointers.
fn launch(
    function: HipFunction,
    grid: [u32; 3],
    block: [u32; 3],
    dynamic_lds: u32,
    stream: HipStream,
    args: &mut [*mut c_void],
) -> HipError {
    let ([gx, gy, gz], [bx, by, bz]) = (grid, block);
    let args = if args.is_empty() { null_mut() } else { args.as_mut_ptr() };
    unsafe {
        hipModuleLaunchKernel(
            function,
            gx,
            gy,
            gz,
            bx,
            by,
            bz,
            dynamic_lds,
            stream,
            args,
            null_mut(),
        )
    }
}

fn pointer_to<T>(value: &mut T) -> *mut c_void {
    (&raw mut *value).cast()
}

#[test]
fn both_forms_of_arguments_reach_the_kernel() {
    for (product, arch) in CHIPS {
        let module = load(product, arch);
        let saxpy = kernel(module, c"saxpy");
        assert_eq!(saxpy, kernel(module, c"saxpy"), "one kernel has one handle");
        let n = 1000i32;
        let x: Vec<f32> = (0..n).map(|i| i as f32).collect();
        let mut expected = vec![0.5f32; n as usize];
        let mut y = upload(&expected);
        let mut xs = upload(&x);
        let (mut a, mut count) = (2.0f32, n);
        let mut args =
            [pointer_to(&mut y), pointer_to(&mut xs), pointer_to(&mut a), pointer_to(&mut count)];
        ok(launch(saxpy, [4, 1, 1], [256, 1, 1], 0, null_mut(), &mut args));
        // As packed bytes, which end behind the last argument.
        let mut bytes = Vec::new();
        bytes.extend((y as u64).to_le_bytes());
        bytes.extend((xs as u64).to_le_bytes());
        bytes.extend(10.0f32.to_le_bytes());
        bytes.extend(n.to_le_bytes());
        let mut size = bytes.len();
        let mut extra = [
            std::ptr::without_provenance_mut(1),
            bytes.as_mut_ptr().cast(),
            std::ptr::without_provenance_mut(2),
            pointer_to(&mut size),
            std::ptr::without_provenance_mut(3),
        ];
        let none = null_mut();
        unsafe {
            ok(hipModuleLaunchKernel(
                saxpy,
                4,
                1,
                1,
                256,
                1,
                1,
                0,
                none,
                null_mut(),
                extra.as_mut_ptr(),
            ));
            // Both forms at once, or a list with another marker, are refused.
            let both = hipModuleLaunchKernel(
                saxpy,
                4,
                1,
                1,
                256,
                1,
                1,
                0,
                none,
                args.as_mut_ptr(),
                extra.as_mut_ptr(),
            );
            assert_eq!(both, HipError::INVALID_VALUE);
            extra[2] = std::ptr::without_provenance_mut(9);
            let marker = hipModuleLaunchKernel(
                saxpy,
                4,
                1,
                1,
                256,
                1,
                1,
                0,
                none,
                null_mut(),
                extra.as_mut_ptr(),
            );
            assert_eq!(marker, HipError::INVALID_VALUE);
        }
        for (value, x) in expected.iter_mut().zip(&x) {
            *value += 2.0 * x;
            *value += 10.0 * x;
        }
        assert_eq!(download::<f32>(y, n as usize), expected);
        free(y);
        free(xs);
        ok(unsafe { hipModuleUnload(module) });
    }
}

#[test]
fn workgroups_of_a_cooperative_launch_meet() {
    const GROUPS: u32 = 7;
    for (product, arch) in CHIPS {
        let module = load(product, arch);
        let meet = kernel(module, c"meet");
        let seen = |launch: &dyn Fn(*mut *mut c_void) -> HipError| {
            let mut out = upload(&[1u32; GROUPS as usize]);
            ok(launch([pointer_to(&mut out)].as_mut_ptr()));
            let seen = download::<u32>(out, GROUPS as usize);
            free(out);
            seen
        };
        let cooperative = |args| unsafe {
            hipModuleLaunchCooperativeKernel(meet, GROUPS, 1, 1, 1, 1, 1, 0, null_mut(), args)
        };
        let plain = |args| unsafe {
            hipModuleLaunchKernel(meet, GROUPS, 1, 1, 1, 1, 1, 0, null_mut(), args, null_mut())
        };
        // What they share begins anew with each launch, and other launches have none.
        assert_eq!(seen(&cooperative), [GROUPS; GROUPS as usize]);
        assert_eq!(seen(&cooperative), [GROUPS; GROUPS as usize]);
        assert_eq!(seen(&plain), [0; GROUPS as usize]);
        // In a graph it is one as well, also once its parameters were set.
        let captured = |args: *mut *mut c_void| unsafe {
            let stream = stream();
            ok(hipStreamBeginCapture(stream, 2));
            ok(hipModuleLaunchCooperativeKernel(meet, GROUPS, 1, 1, 1, 1, 1, 0, stream, args));
            let graph = get(|graph| hipStreamEndCapture(stream, graph));
            let (mut node, mut count) = (null_mut(), 1);
            ok(hipGraphGetNodes(graph, &mut node, &mut count));
            let grid_dim = Dim3 { x: 1 << 20, y: 1, z: 1 };
            let too_large = HipError::COOPERATIVE_LAUNCH_TOO_LARGE;
            for changes in 0..3 {
                // The arguments are those of the node as it is.
                let parameters: HipKernelNodeParams =
                    get(|parameters| hipGraphKernelNodeGetParams(node, parameters));
                let large = HipKernelNodeParams { grid_dim, ..parameters };
                if changes == 1 {
                    assert_eq!(hipGraphKernelNodeSetParams(node, &large), too_large);
                    ok(hipGraphKernelNodeSetParams(node, &parameters));
                }
                let run = get(|run| hipGraphInstantiateWithFlags(run, graph, 0));
                if changes == 2 {
                    assert_eq!(hipGraphExecKernelNodeSetParams(run, node, &large), too_large);
                    ok(hipGraphExecKernelNodeSetParams(run, node, &parameters));
                }
                for _ in 0..2 {
                    ok(hipGraphLaunch(run, stream));
                }
                ok(hipStreamSynchronize(stream));
                ok(hipGraphExecDestroy(run));
            }
            ok(hipGraphDestroy(graph));
            hipStreamDestroy(stream)
        };
        assert_eq!(seen(&captured), [GROUPS; GROUPS as usize]);
        ok(unsafe { hipModuleUnload(module) });
    }
}

#[test]
fn the_last_workgroup_of_a_dimension_may_be_partial() {
    const WIDTH: usize = 64;
    // Across waves: 128 work-items in a full workgroup, 40, 48 and 15 in the partial ones.
    let (global, block) = ([37, 11, 2], [16, 8, 1]);
    for (product, arch) in CHIPS {
        let module = load(product, arch);
        let mut out = upload(&[0u32; 2 * 16 * WIDTH]);
        let mut sizes = upload(&[0u32; 6]);
        let mut args = [pointer_to(&mut out), pointer_to(&mut sizes)];
        ok(unsafe {
            hipExtModuleLaunchKernel(
                kernel(module, c"ragged"),
                global[0],
                global[1],
                global[2],
                block[0],
                block[1],
                block[2],
                0,
                null_mut(),
                args.as_mut_ptr(),
                null_mut(),
                null_mut(),
                null_mut(),
                0,
            )
        });
        // Full workgroups, and the size of the partial one, which z does not have.
        assert_eq!(download::<u32>(sizes, 6), [2, 1, 2, 5, 3, 0]);
        let found = download::<u32>(out, 2 * 16 * WIDTH);
        for (index, &found) in found.iter().enumerate() {
            let (x, y) = (index % WIDTH, index / WIDTH % 16);
            // Each work-item adds its own position, and how many are in its workgroup.
            let (wide, high) = (if x < 32 { 16 } else { 5 }, if y < 8 { 8 } else { 3 });
            let here = x < 37 && y < 11;
            let expected = (1 + (x % 16)) | ((y % 8) << 8) | ((wide * high) << 16);
            assert_eq!(found as usize, if here { expected } else { 0 }, "{x} {y}");
        }
        free(out);
        free(sizes);
        ok(unsafe { hipModuleUnload(module) });
    }
}

#[test]
fn hidden_arguments_and_packet_describe_the_launch() {
    for (product, arch) in CHIPS {
        let module = load(product, arch);
        let mut out = upload(&[0u32; 32]);
        let facts = kernel(module, c"facts");
        let mut args = [pointer_to(&mut out)];
        ok(launch(facts, [3, 4, 2], [32, 6, 1], 1000, null_mut(), &mut args));
        let row = [3, 4, 2, 32, 6, 1, 3, 1000, 96, 24, 2, 1000, 3, 0, 0, 0];
        let found = download::<u32>(out, 32);
        assert_eq!((&found[..16], &found[16..]), (&row[..], &row[..]));
        // The extended call counts the grid in work-items.
        ok(unsafe { hipMemset(out, 0, 128) });
        let (start, stop) = unsafe { (get(|e| hipEventCreate(e)), get(|e| hipEventCreate(e))) };
        let mut extended = |global_x| unsafe {
            hipExtModuleLaunchKernel(
                facts,
                global_x,
                3,
                1,
                64,
                1,
                1,
                8,
                null_mut(),
                args.as_mut_ptr(),
                null_mut(),
                start,
                stop,
                0,
            )
        };
        ok(extended(128));
        ok(unsafe { hipEventSynchronize(stop) });
        let mut ms = -1.0;
        ok(unsafe { hipEventElapsedTime(&mut ms, start, stop) });
        assert!(ms >= 0.0);
        let row = [2, 3, 1, 64, 1, 1, 2, 8, 128, 3, 1, 8, 2, 0, 0, 0];
        assert_eq!(download::<u32>(out, 16), row);
        free(out);
        ok(unsafe { hipModuleUnload(module) });
    }
}

#[test]
fn global_variables_are_memory() {
    for (product, arch) in CHIPS {
        let module = load(product, arch);
        let (mut table, mut size) = (null_mut(), 0);
        unsafe {
            ok(hipModuleGetGlobal(&mut table, &mut size, module, c"table".as_ptr()));
            assert_eq!(size, 16);
            ok(hipMemcpyHtoD(table, [1i32, 2, 3, 4].as_ptr().cast(), 16));
            let missing = hipModuleGetGlobal(&mut table, null_mut(), module, c"no".as_ptr());
            assert_eq!(missing, HipError::NOT_FOUND);
        }
        let mut out = upload(&[0i32; 64]);
        let globals = kernel(module, c"globals");
        ok(launch(globals, [1; 3], [64, 1, 1], 0, null_mut(), &mut [pointer_to(&mut out)]));
        let expected: Vec<i32> = (0..64).map(|i| 100 + 1 + i % 4).collect();
        assert_eq!(download::<i32>(out, 64), expected);
        let mut bias = null_mut();
        ok(unsafe { hipModuleGetGlobal(&mut bias, null_mut(), module, c"bias".as_ptr()) });
        assert_eq!(download::<i32>(bias, 1), [7]);
        // Another load of the object starts anew.
        let other = load(product, arch);
        ok(unsafe { hipModuleGetGlobal(&mut bias, null_mut(), other, c"bias".as_ptr()) });
        assert_eq!(download::<i32>(bias, 1), [100]);
        free(out);
        for module in [module, other] {
            ok(unsafe { hipModuleUnload(module) });
        }
    }
}

#[test]
fn modules_load_from_code_and_bundles() {
    let bundle = bundle();
    // The forms that say how long they are.
    let packed = [(2, 0), (2, 1), (3, 0), (3, 1)];
    let packed = packed.map(|(version, method)| compressed(version, method, &bundle));
    let silent = compressed(1, 1, &bundle);
    for (product, arch) in CHIPS {
        use_product(product);
        let code = image(arch).as_ptr().cast::<c_void>();
        let bundle = bundle.as_ptr().cast::<c_void>();
        unsafe {
            let folder = tempfile::tempdir().expect("a folder");
            let file = folder.path().join("module.hsaco");
            std::fs::write(&file, image(arch)).expect("it is written");
            let file = CString::new(file.to_str().expect("UTF-8")).expect("no zero");
            let packed_file = folder.path().join("module.co");
            std::fs::write(&packed_file, &silent).expect("it is written");
            let packed_file = CString::new(packed_file.to_str().expect("UTF-8")).expect("no zero");
            let refused = hipModuleLoadData(&mut null_mut(), silent.as_ptr().cast());
            assert_eq!(refused, HipError::INVALID_IMAGE);
            let packed = packed.iter().map(|image| image.as_ptr().cast::<c_void>());
            for module in [
                get(|module| hipModuleLoad(module, file.as_ptr())),
                get(|module| hipModuleLoad(module, packed_file.as_ptr())),
                get(|module| hipModuleLoadDataEx(module, code, 0, null_mut(), null_mut())),
                get(|module| hipModuleLoadFatBinary(module, bundle)),
            ]
            .into_iter()
            .chain(packed.map(|image| get(|module| hipModuleLoadData(module, image))))
            {
                let kernels = SOURCE.matches("extern \"C\" __global__").count();
                assert_eq!(get(|count| hipModuleGetFunctionCount(count, module)), kernels as u32);
                let poke = kernel(module, c"poke");
                let mut word = upload(&[0i32]);
                ok(launch(poke, [1; 3], [1, 1, 1], 0, null_mut(), &mut [pointer_to(&mut word)]));
                assert_eq!(download::<i32>(word, 1), [1]);
                free(word);
                ok(hipModuleUnload(module));
                let gone = hipModuleGetFunctionCount(&mut 0, module);
                assert_eq!(gone, HipError::INVALID_HANDLE);
            }
        }
    }
}

#[test]
fn launches_by_their_c_plus_plus_names() {
    let poke = kernel(load("mi355x", Arch::Gfx950), c"poke");
    let (stream, mut words) = (stream(), upload(&[0i32; 2]));
    let mut second = words.wrapping_byte_add(4);
    unsafe {
        let (extra, start) = (null_mut(), null_mut());
        let event = get(|event| hipEventCreate(event));
        let mut first = [pointer_to(&mut words)];
        let mut other = [pointer_to(&mut second)];
        ok(_Z24hipExtModuleLaunchKernelP18ihipModuleSymbol_tjjjjjjmP12ihipStream_tPPvS4_P11ihipEvent_tS6_j(
            poke, 1, 1, 1, 1, 1, 1, 0, stream, first.as_mut_ptr(), extra, start, event, 0,
        ));
        ok(hipEventSynchronize(event));
        assert_eq!(download::<i32>(words, 2), [1, 0]);
        ok(_Z24hipHccModuleLaunchKernelP18ihipModuleSymbol_tjjjjjjmP12ihipStream_tPPvS4_P11ihipEvent_tS6_(
            poke, 1, 1, 1, 1, 1, 1, 0, stream, other.as_mut_ptr(), extra, start, event,
        ));
        ok(hipEventSynchronize(event));
        assert_eq!(download::<i32>(words, 2), [1, 1]);
        ok(hipEventDestroy(event));
        ok(hipStreamDestroy(stream));
    }
    free(words);
}

#[test]
fn impossible_launches_are_refused() {
    let module = load("mi325x", Arch::Gfx942);
    let mut out = upload(&[0u32; 4]);
    let mut args = [pointer_to(&mut out)];
    let nothing = kernel(module, c"nothing");
    let bounded = kernel(module, c"bounded");
    let invalid = HipError::INVALID_VALUE;
    let null = null_mut();
    assert_eq!(launch(nothing, [0, 1, 1], [64, 1, 1], 0, null, &mut []), invalid);
    assert_eq!(launch(nothing, [1; 3], [64, 0, 1], 0, null, &mut []), invalid);
    assert_eq!(launch(nothing, [1; 3], [64, 17, 1], 0, null, &mut []), invalid);
    assert_eq!(launch(nothing, [1 << 30, 1, 1], [64, 1, 1], 0, null, &mut []), invalid);
    assert_eq!(launch(nothing, [1; 3], [64, 1, 1], 65_537, null, &mut []), invalid);
    ok(launch(nothing, [1; 3], [64, 16, 1], 65_536, null, &mut []));
    assert_eq!(launch(bounded, [1; 3], [64, 1, 1], 0, null, &mut []), invalid, "no arguments");
    let too_large = launch(bounded, [1; 3], [129, 1, 1], 0, null, &mut args);
    assert_eq!(too_large, HipError::LAUNCH_FAILURE);
    assert!(hk_sim::last_message().is_some_and(|text| text.contains("at most 128")));
    // 60,000 static bytes leave 5,536.
    let lds = kernel(module, c"lds");
    ok(launch(lds, [1; 3], [64, 1, 1], 5_536, null, &mut args));
    let too_much = launch(lds, [1; 3], [64, 1, 1], 5_537, null, &mut args);
    assert_eq!(too_much, HipError::LAUNCH_OUT_OF_RESOURCES);
    let dead = launch(null_mut(), [1; 3], [64, 1, 1], 0, null, &mut []);
    assert_eq!(dead, HipError::INVALID_HANDLE);
    unsafe {
        let mut function = null_mut();
        let missing = hipModuleGetFunction(&mut function, module, c"saxpi".as_ptr());
        assert_eq!(missing, HipError::NOT_FOUND);
        // The stream of one device does not take the kernel of another.
        use_product("mi355x");
        let elsewhere = launch(nothing, [1; 3], [64, 1, 1], 0, null_mut(), &mut []);
        assert_eq!(elsewhere, HipError::INVALID_HANDLE);
        let mut other = null_mut();
        let wrong = hipModuleLoadData(&mut other, image(Arch::Gfx942).as_ptr().cast());
        assert_eq!(wrong, HipError::NO_BINARY_FOR_GPU);
        ok(hipModuleUnload(module));
        let gone = hipModuleGetFunction(&mut function, module, c"saxpy".as_ptr());
        assert_eq!(gone, HipError::INVALID_HANDLE);
    }
    assert_eq!(launch(nothing, [1; 3], [64, 1, 1], 0, null, &mut []), HipError::INVALID_HANDLE);
    free(out);
}

#[test]
fn a_fault_is_reported_once_and_the_device_lives_on() {
    for (product, arch) in CHIPS {
        let module = load(product, arch);
        let stream = stream();
        let poke = kernel(module, c"poke");
        let mut good = upload(&[0i32; 2]);
        let mut bad = 0x10usize as *mut c_void;
        ok(launch(poke, [1; 3], [64, 1, 1], 0, stream, &mut [pointer_to(&mut bad)]));
        // Work behind the fault is still done.
        ok(launch(poke, [1; 3], [64, 1, 1], 0, stream, &mut [pointer_to(&mut good)]));
        let sync = || unsafe { hipStreamSynchronize(stream) };
        assert_eq!(sync(), HipError::ILLEGAL_ADDRESS);
        let report = hk_sim::last_fault().expect("a report");
        assert_eq!((report.kind, report.address), (FaultKind::WriteViolation, Some(0x10)));
        assert_eq!((report.kernel.as_str(), report.workgroup), ("poke", [0; 3]));
        let source = report.source.as_deref().unwrap_or_default();
        let line = 1 + SOURCE.lines().position(|line| line.contains("void poke")).expect("it is");
        assert!(source.contains(&format!("source.hip:{line}")), "{source}");
        ok(sync());
        assert_eq!(download::<i32>(good, 1), [1]);
        // Freed memory is no longer there.
        let mut freed = upload(&[0i32; 1 << 20]);
        free(freed);
        ok(launch(poke, [1; 3], [64, 1, 1], 0, stream, &mut [pointer_to(&mut freed)]));
        let event = unsafe { get(|event| hipEventCreate(event)) };
        ok(unsafe { hipEventRecord(event, stream) });
        assert_eq!(unsafe { hipEventSynchronize(event) }, HipError::ILLEGAL_ADDRESS);
        let trap = kernel(module, c"trap");
        ok(launch(trap, [1; 3], [64, 1, 1], 0, stream, &mut []));
        assert_eq!(sync(), HipError::LAUNCH_FAILURE);
        let mut flag = upload(&[0i32]);
        let forever = kernel(module, c"forever");
        ok(launch(forever, [1; 3], [64, 1, 1], 0, stream, &mut [pointer_to(&mut flag)]));
        assert_eq!(sync(), HipError::LAUNCH_TIME_OUT);
        // Whichever comes first on this host: the end of the budget or of the patience.
        let kind = hk_sim::last_fault().map(|report| report.kind);
        let over = [FaultKind::InstructionBudget, FaultKind::Deadlock].map(Some);
        assert!(over.contains(&kind), "{kind:?}");
        free(flag);
        free(good);
        ok(sync());
    }
}

#[test]
fn peers_see_memory_once_access_is_enabled() {
    let module = load("mi325x", Arch::Gfx942);
    let poke = kernel(module, c"poke");
    use_product("mi300x");
    let mut theirs = upload(&[0i32]);
    let peer = hk_sim::device_ordinal("mi300x").expect("a product");
    use_product("mi325x");
    let stream = stream();
    let mut run = || {
        ok(launch(poke, [1; 3], [1, 1, 1], 0, stream, &mut [pointer_to(&mut theirs)]));
        unsafe { hipStreamSynchronize(stream) }
    };
    assert_eq!(run(), HipError::ILLEGAL_ADDRESS);
    unsafe {
        let own = hk_sim::device_ordinal("mi325x").expect("a product");
        assert_eq!(get(|can| hipDeviceCanAccessPeer(can, own, peer)), 1);
        assert_eq!(hipDeviceDisablePeerAccess(peer), HipError::PEER_ACCESS_NOT_ENABLED);
        ok(hipDeviceEnablePeerAccess(peer, 0));
        assert_eq!(hipDeviceEnablePeerAccess(peer, 0), HipError::PEER_ACCESS_ALREADY_ENABLED);
        ok(run());
        ok(hipDeviceDisablePeerAccess(peer));
    }
    assert_eq!(run(), HipError::ILLEGAL_ADDRESS);
    assert_eq!(download::<i32>(theirs, 1), [1]);
}

#[test]
fn pinned_memory_is_shared_with_kernels() {
    for (product, arch) in CHIPS {
        let module = load(product, arch);
        let poke = kernel(module, c"poke");
        let mut registered = [0i32; 16];
        unsafe {
            let mut pinned: *mut c_void = get(|pointer| hipHostMalloc(pointer, 64, 0));
            ok(hipHostRegister(registered.as_mut_ptr().cast(), 64, 0));
            let mut part: *mut c_void = registered.as_mut_ptr().add(3).cast();
            for target in [&mut pinned, &mut part] {
                let mut args = [pointer_to(target)];
                ok(launch(poke, [1; 3], [1, 1, 1], 0, null_mut(), &mut args));
            }
            // Not the whole device: that would take the faults that another test provokes.
            ok(hipStreamSynchronize(null_mut()));
            assert_eq!(pinned.cast::<i32>().read(), 1);
            ok(hipHostUnregister(registered.as_mut_ptr().cast()));
            ok(hipHostFree(pinned));
        }
        assert_eq!(registered[2..5], [0, 1, 0]);
    }
}

#[test]
fn a_graph_launches_kernels_with_the_captured_arguments() {
    let module = load("mi355x", Arch::Gfx950);
    let saxpy = kernel(module, c"saxpy");
    let mut y = upload(&[0.0f32; 256]);
    let mut x = upload(&[1.0f32; 256]);
    let (mut a, mut count) = (3.0f32, 256i32);
    let stream = stream();
    unsafe {
        ok(hipStreamBeginCapture(stream, 2));
        let mut args =
            [pointer_to(&mut y), pointer_to(&mut x), pointer_to(&mut a), pointer_to(&mut count)];
        ok(launch(saxpy, [1; 3], [256, 1, 1], 0, stream, &mut args));
        let graph = get(|graph| hipStreamEndCapture(stream, graph));
        a = 1000.0;
        assert_eq!(a, 1000.0, "the argument was read when the launch was captured");
        let run = get(|run| hipGraphInstantiateWithFlags(run, graph, 0));
        for _ in 0..3 {
            ok(hipGraphLaunch(run, stream));
        }
        ok(hipStreamSynchronize(stream));
        assert_eq!(download::<f32>(y, 256), [9.0; 256]);
        ok(hipGraphExecDestroy(run));
        ok(hipGraphDestroy(graph));
    }
}

#[test]
fn attributes_and_occupancy_of_a_kernel() {
    for (product, arch) in CHIPS {
        let module = load(product, arch);
        let limit = arch.lds_bytes() as c_int;
        unsafe {
            let lds = kernel(module, c"lds");
            let attribute = |number| get(|value| hipFuncGetAttribute(value, number, lds));
            assert_eq!((attribute(0), attribute(1)), (1024, 60_000));
            assert_eq!(attribute(8), limit - 60_000);
            let all = get(|found| hipFuncGetAttributes(found, lds.cast_const()));
            assert_eq!((all.shared_size_bytes, all.max_threads_per_block), (60_000, 1024));
            let refused = hipFuncSetAttribute(lds, 8, limit - 60_000 + 1);
            assert_eq!(refused, HipError::INVALID_VALUE);
            ok(hipFuncSetAttribute(lds, 8, limit - 60_000));
            let blocks = |function, size, dynamic| {
                get(|blocks| {
                    hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(
                        blocks, function, size, dynamic,
                    )
                })
            };
            let saxpy = kernel(module, c"saxpy");
            assert_eq!(blocks(lds, 64, 0), limit / 60_000);
            assert_eq!(blocks(saxpy, 256, 0), 8);
            assert_eq!(blocks(saxpy, 1, 0), 32);
            assert_eq!(blocks(saxpy, 256, limit as usize / 2), 2);
            let mut blocks = 0;
            let refused =
                hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(&mut blocks, saxpy, 0, 0);
            assert_eq!(refused, HipError::INVALID_VALUE);
            for flags in [0, 1] {
                let with_flags = get(|blocks| {
                    hipModuleOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
                        blocks,
                        saxpy,
                        256,
                        limit as usize / 2,
                        flags,
                    )
                });
                assert_eq!(with_flags, 2);
            }
            // What one of two workgroups may add to what it has.
            let room = |blocks| {
                let mut bytes = 0;
                let error = hipOccupancyAvailableDynamicSMemPerBlock(&mut bytes, lds, blocks, 64);
                (error, bytes as c_int)
            };
            assert_eq!(room(1), (HipError::SUCCESS, limit - 60_000));
            let two = if limit / 2 >= 60_000 {
                (HipError::SUCCESS, limit / 2 - 60_000)
            } else {
                (HipError::INVALID_VALUE, 0)
            };
            assert_eq!((room(2), room(0)), (two, (HipError::INVALID_VALUE, 0)));
            for (config, cache, banks) in [(0, true, true), (2, true, true), (3, true, false)] {
                let expected = [cache, banks]
                    .map(|good| if good { HipError::SUCCESS } else { HipError::INVALID_VALUE });
                let found =
                    [hipFuncSetCacheConfig(lds, config), hipFuncSetSharedMemConfig(lds, config)];
                assert_eq!(found, expected, "{config}");
            }
            assert_eq!(hipFuncSetCacheConfig(lds, 4), HipError::INVALID_VALUE);
            let (mut grid, mut block) = (0, 0);
            ok(hipModuleOccupancyMaxPotentialBlockSizeWithFlags(
                &mut grid, &mut block, saxpy, 0, 128, 0,
            ));
            assert_eq!(block, 128);
            ok(hipModuleOccupancyMaxPotentialBlockSize(&mut grid, &mut block, saxpy, 0, 0));
            let device = get(|device| hipGetDevice(device));
            let units = get(|units| hipDeviceGetAttribute(units, 63, device));
            assert_eq!((grid, block), (2 * units, 1024));
            let cooperative = |groups| {
                let nothing = kernel(module, c"nothing");
                hipModuleLaunchCooperativeKernel(
                    nothing,
                    groups,
                    1,
                    1,
                    1024,
                    1,
                    1,
                    0,
                    null_mut(),
                    null_mut(),
                )
            };
            ok(cooperative(2 * units as u32));
            let too_large = HipError::COOPERATIVE_LAUNCH_TOO_LARGE;
            assert_eq!(cooperative(2 * units as u32 + 1), too_large);
            // The same as an attribute of an extended launch.
            let mut attribute = HipLaunchAttribute { id: 2, padding: [0; 4], value: [0; 16] };
            let extended = |attribute: &HipLaunchAttribute| {
                let config = HipDrvLaunchConfig {
                    grid: Dim3 { x: 2 * units as u32 + 1, y: 1, z: 1 },
                    block: Dim3 { x: 1024, y: 1, z: 1 },
                    shared_mem_bytes: 0,
                    stream: null_mut(),
                    attributes: attribute,
                    attribute_count: 1,
                };
                let nothing = kernel(module, c"nothing");
                hipDrvLaunchKernelEx(&config, nothing, null_mut(), null_mut())
            };
            ok(extended(&attribute));
            attribute.value[0] = 1;
            assert_eq!(extended(&attribute), too_large);
            attribute.id = 4;
            assert_eq!(extended(&attribute), HipError::NOT_SUPPORTED);
        }
    }
}

#[test]
fn threads_work_on_their_own_streams() {
    load("mi325x", Arch::Gfx942);
    load("mi355x", Arch::Gfx950);
    std::thread::scope(|scope| {
        for thread in 0..6usize {
            scope.spawn(move || {
                let (product, arch) = CHIPS[thread % 2];
                let module = load(product, arch);
                let saxpy = kernel(module, c"saxpy");
                let stream = stream();
                for round in 0..8 {
                    let n = 200 + 50 * thread as i32 + round;
                    let x: Vec<f32> = (0..n).map(|i| (i + thread as i32) as f32).collect();
                    let (mut ys, mut xs) = (upload(&vec![1.0f32; n as usize]), upload(&x));
                    let (mut a, mut count) = (2.0f32, n);
                    let mut args = [
                        pointer_to(&mut ys),
                        pointer_to(&mut xs),
                        pointer_to(&mut a),
                        pointer_to(&mut count),
                    ];
                    ok(launch(saxpy, [3, 1, 1], [256, 1, 1], 0, stream, &mut args));
                    let mut out = vec![0.0f32; n as usize];
                    unsafe {
                        let size = out.len() * 4;
                        ok(hipMemcpyAsync(out.as_mut_ptr().cast(), ys, size, 2, stream));
                        ok(hipStreamSynchronize(stream));
                    }
                    let expected: Vec<f32> = x.iter().map(|x| 1.0 + 2.0 * x).collect();
                    assert_eq!(out, expected, "thread {thread}, round {round}");
                    free(ys);
                    free(xs);
                }
                unsafe {
                    ok(hipStreamDestroy(stream));
                    ok(hipModuleUnload(module));
                }
            });
        }
    });
}

#[test]
fn threads_share_a_stream() {
    let module = load("mi325x", Arch::Gfx942);
    let (saxpy, stream) = (kernel(module, c"saxpy") as usize, stream() as usize);
    // Copies that find the stream idle are made by the thread that asks for them, others are not.
    std::thread::scope(|scope| {
        for thread in 0..4u16 {
            scope.spawn(move || {
                use_product("mi325x");
                let (saxpy, stream) = (saxpy as *mut c_void, stream as *mut c_void);
                let (mut ys, mut xs) = (upload(&[0.0f32; 300]), upload(&[1.0f32; 300]));
                for round in 0..100u16 {
                    let start = [f32::from(round); 300];
                    let (mut a, mut count) = (f32::from(thread), 300i32);
                    let mut args = [
                        pointer_to(&mut ys),
                        pointer_to(&mut xs),
                        pointer_to(&mut a),
                        pointer_to(&mut count),
                    ];
                    let mut out = [0.0f32; 300];
                    unsafe {
                        ok(hipMemcpyAsync(ys, start.as_ptr().cast(), 1200, 1, stream));
                        if round % 3 != 0 {
                            ok(launch(saxpy, [2, 1, 1], [256, 1, 1], 0, stream, &mut args));
                        }
                        ok(hipMemcpyAsync(out.as_mut_ptr().cast(), ys, 1200, 2, stream));
                    }
                    let added = if round % 3 != 0 { f32::from(thread) } else { 0.0 };
                    assert_eq!(out, start.map(|y| y + added), "thread {thread}, round {round}");
                }
                free(ys);
                free(xs);
            });
        }
    });
    unsafe {
        ok(hipStreamDestroy(stream as *mut c_void));
        ok(hipModuleUnload(module));
    }
}
