//! Kernels through the C API, by what they show: `arguments`, `modules`, `faults`, `sharing`; `programs` has what
//! hipcc builds. Here are the kernels, and how a test loads and launches them.

#![expect(clippy::undocumented_unsafe_blocks, reason = "each block calls the C API under test")]

mod arguments;
#[path = "../support/bundles.rs"]
mod bundles;
mod faults;
mod modules;
mod programs;
mod sharing;
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
