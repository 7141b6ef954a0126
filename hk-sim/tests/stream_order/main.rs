//! Races between the operations of streams: each program in a wrong and a right version.

#![expect(clippy::undocumented_unsafe_blocks, reason = "each block calls the C API under test")]

mod cases;
#[path = "../support/mod.rs"]
mod support;

use std::cell::RefCell;
use std::ffi::{CStr, c_int, c_uint, c_void};
use std::path::{Path, PathBuf};
use std::ptr::null_mut;
use std::time::Duration;

use cases::CASES;
use hk_build::{Arch, CompileOptions, compile_source};
use hk_sim::HipError;
use hk_sim::capi::*;
use serde_json::Value;
use support::*;

const SOURCE: &str = r#"
#define __global__ __attribute__((global))

extern "C" __global__ void fill(int* out, int value) {
  out[__builtin_amdgcn_workitem_id_x()] = value; // fill writes
}

extern "C" __global__ void copy(int* out, const int* in) {
  int i = __builtin_amdgcn_workitem_id_x();
  out[i] = in[i];
}

extern "C" __global__ void count(int* out) {
  __scoped_atomic_fetch_add(out, 1, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
}
"#;

type Pointer = *mut c_void;

/// Elements of a buffer, and threads of a launch.
const COUNT: usize = 64;
const BYTES: usize = COUNT * 4;

/// What the programs work with; everything else is theirs.
struct World {
    /// Of each of two devices.
    kernels: [[Pointer; 3]; 2],
    ordinals: [c_int; 2],
    /// Streams that are not ordered with the null stream: two of the first device, one of the
    /// other.
    s: [Pointer; 3],
    /// Streams that a program begins late.
    late: [bool; 2],
    /// What a call of the program failed for.
    fault: RefCell<Option<String>>,
}

const FILL: usize = 0;
const COPY: usize = 1;
const ADD: usize = 2;

unsafe extern "C" fn sleep(_data: Pointer) {
    std::thread::sleep(Duration::from_millis(15));
}

impl World {
    fn use_device(&self, device: usize) {
        ok(unsafe { hipSetDevice(self.ordinals[device]) });
    }

    fn start(&self, device: usize, kernel: usize, stream: Pointer, args: &mut [Pointer]) {
        let [one, block]: [c_uint; 2] = [1, COUNT as c_uint];
        let (kernel, args) = (self.kernels[device][kernel], args.as_mut_ptr());
        ok(unsafe {
            hipModuleLaunchKernel(
                kernel,
                one,
                one,
                one,
                block,
                one,
                one,
                0,
                stream,
                args,
                null_mut(),
            )
        });
    }

    /// Starts `fill` on a stream of the first device.
    fn fill(&self, mut out: Pointer, stream: Pointer) {
        let mut value: c_int = 7;
        let mut args = [(&raw mut out).cast(), (&raw mut value).cast()];
        self.start(0, FILL, stream, &mut args);
    }

    fn copy_on(&self, device: usize, mut out: Pointer, mut from: Pointer, stream: Pointer) {
        let mut args = [(&raw mut out).cast(), (&raw mut from).cast()];
        self.start(device, COPY, stream, &mut args);
    }

    /// Starts `copy` on a stream of the first device.
    fn copy(&self, out: Pointer, from: Pointer, stream: Pointer) {
        self.copy_on(0, out, from, stream);
    }

    fn add(&self, mut out: Pointer, stream: Pointer) {
        self.start(0, ADD, stream, &mut [(&raw mut out).cast()]);
    }

    /// Notes what a call failed for that waits for the work before it.
    fn check(&self, error: HipError) {
        if error == HipError::LAUNCH_FAILURE {
            self.fault.replace(hk_sim::last_fault().map(|fault| fault.to_string()));
        } else {
            ok(error);
        }
    }

    /// Keeps the streams that are to be late.
    fn delay(&self) {
        for (stream, late) in self.s.into_iter().zip(self.late) {
            if late {
                ok(unsafe { hipLaunchHostFunc(stream, Some(sleep), null_mut()) });
            }
        }
    }
}

fn world() -> World {
    let products = [("mi355x", Arch::Gfx950), ("mi325x", Arch::Gfx942)];
    let names: [&CStr; 3] = [c"fill", c"copy", c"count"];
    let mut s = vec![];
    let mut ordinals = vec![];
    let kernels = products.map(|(product, arch)| {
        let code = compile_source(SOURCE, arch, &CompileOptions::default()).expect("it compiles");
        use_product(product);
        ordinals.push(get(|device| unsafe { hipGetDevice(device) }));
        s.push(stream());
        if s.len() == 1 {
            s.push(stream());
        }
        let module = get(|to| unsafe { hipModuleLoadData(to, code.image.as_ptr().cast()) });
        names.map(|name| get(|to| unsafe { hipModuleGetFunction(to, module, name.as_ptr()) }))
    });
    let ordinals: [c_int; 2] = ordinals.try_into().expect("two devices");
    // The second device reads memory of the first.
    ok(unsafe { hipDeviceEnablePeerAccess(ordinals[0], 0) });
    let s = s.try_into().expect("three streams");
    World { kernels, ordinals, s, late: [false; 2], fault: RefCell::default() }
}

/// What the report file says, which is emptied.
fn take_report(report: &Path) -> Vec<Value> {
    let lines = std::fs::read_to_string(report).unwrap_or_default();
    let _ = std::fs::remove_file(report);
    lines.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

/// Waits for everything; the first failure that a call reports.
fn settle(world: &World) -> Option<String> {
    let mut fault = world.fault.take();
    for device in [1, 0] {
        world.use_device(device);
        match unsafe { hipDeviceSynchronize() } {
            HipError::SUCCESS => {}
            HipError::LAUNCH_FAILURE => {
                let found = hk_sim::last_fault().expect("a report").to_string();
                fault.get_or_insert(found);
            }
            other => panic!("{other:?}"),
        }
    }
    fault
}

/// What is wrong with the reports of a version of a program.
fn verdict(wrong: bool, names: [&str; 2], fault: Option<&str>, lines: &[Value]) -> Option<String> {
    if !wrong {
        return (!lines.is_empty() || fault.is_some()).then(|| format!("{fault:?} {lines:?}"));
    }
    let [first, second] = names.map(|name| format!("{name} ("));
    let begins = |value: &Value, name| value.as_str().is_some_and(|text| text.starts_with(name));
    let right = |line: &Value| {
        line["kind"] == "race"
            && line["address"].is_u64()
            && line["allocation"].is_string()
            && begins(&line["operation"], &second)
            && begins(&line["other"]["operation"], &first)
    };
    // The same access may race with several: which of them is told first depends on timing.
    let told = fault.is_some_and(|fault| fault.contains(&second));
    (!told || !lines.iter().any(right)).then(|| format!("{fault:?} {lines:?}"))
}

#[test]
fn unordered_operations_are_found_and_ordered_ones_are_not() {
    let folder = tempfile::tempdir().expect("a folder");
    let report: PathBuf = folder.path().join("report.jsonl");
    // SAFETY: this is the only test of the process, and nothing has read the environment yet.
    unsafe {
        std::env::set_var("HIPKITTENS_SANITIZE", "race");
        std::env::set_var("HIPKITTENS_SANITIZE_REPORT", &report);
    }
    let mut world = world();
    let mut failed = vec![];
    for late in [[false; 2], [true, false], [false, true]] {
        world.late = late;
        for (name, program, names) in CASES {
            for wrong in [false, true] {
                world.use_device(0);
                world.delay();
                program(&world, wrong);
                let fault = settle(&world);
                let lines = take_report(&report);
                if let Some(problem) = verdict(wrong, *names, fault.as_deref(), &lines) {
                    failed.push(format!("{name}, wrong {wrong}, late {late:?}: {problem}"));
                }
            }
        }
    }
    assert!(failed.is_empty(), "{} failures:\n{}", failed.len(), failed.join("\n"));
}
