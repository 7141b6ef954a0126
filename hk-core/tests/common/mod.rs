//! What the tests that launch kernels share.

#![allow(dead_code, reason = "each test file uses a part")]

use std::path::Path;
use std::process::Command;

use hk_core::{Arch, Device, DevicePtr, Function, Module, kernel_args};

/// One simulated product of each architecture.
pub(crate) const PRODUCTS: [&str; 2] = ["sim:mi325x", "sim:mi355x"];

pub(crate) fn devices() -> [Device; 2] {
    PRODUCTS.map(|name| Device::open(name).unwrap())
}

/// The code object of a HIP source.
pub(crate) fn compile(arch: Arch, source: &str) -> Vec<u8> {
    let include = concat!(env!("CARGO_MANIFEST_DIR"), "/include");
    let options = hk_build::CompileOptions::default().include(include);
    hk_build::compile_source(source, arch, &options).unwrap().image
}

/// `y += a * x` in two forms: separate parameters, and one struct.
pub(crate) const AXPY: &str = r#"
#include "hk/hip.h"

struct Args {
  const float* x;
  float* y;
  float a;
  int n;
};

extern "C" __global__ __launch_bounds__(256) void axpy(const float* x, float* y, float a, int n) {
  int i = hk::global_idx();
  if (i < n) y[i] += a * x[i];
}

extern "C" __global__ __launch_bounds__(256) void axpy_struct(Args args) {
  int i = hk::global_idx();
  if (i < args.n) args.y[i] += args.a * args.x[i];
}
"#;

kernel_args! {
    /// Arguments of both kernels.
    pub(crate) struct AxpyArgs {
        pub(crate) x: DevicePtr<f32>,
        pub(crate) y: DevicePtr<f32>,
        pub(crate) a: f32,
        pub(crate) n: i32,
    }
}

/// `y = x + 1`, after a while.
const LATE: &str = r#"
#include "hk/hip.h"

extern "C" __global__ __launch_bounds__(64) void late(const float* x, float* y, int n, int turns) {
  float zero = 0;
  for (int i = 0; i < turns; ++i) asm volatile("v_mul_f32 %0, 0.5, %0" : "+v"(zero));
  int i = hk::global_idx();
  if (i < n) y[i] = x[i] + 1 + zero;
}
"#;

kernel_args! {
    /// Arguments of `late`.
    pub(crate) struct LateArgs {
        pub(crate) x: DevicePtr<f32>,
        pub(crate) y: DevicePtr<f32>,
        pub(crate) n: i32,
        pub(crate) turns: i32,
    }
}

/// Turns of it that take some milliseconds.
pub(crate) const LONG: i32 = 1_000_000;

pub(crate) fn late(device: &Device) -> Function<LateArgs> {
    Module::load(device, &compile(device.arch(), LATE)).unwrap().function("late").unwrap()
}

/// The variables, all of which a child gets set, empty if not given.
const VARIABLES: [&str; 4] =
    ["HIPKITTENS_DEVICE", "HIPKITTENS_HIP_LIBRARY", "HIPKITTENS_CAPTURE", "HIPKITTENS_SIM_DEVICES"];

/// Runs one of the file's ignored tests in another process with that environment.
#[track_caller]
pub(crate) fn run(test: &str, environment: &[(&str, &Path)]) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", test, "--ignored", "--nocapture"]);
    command.envs(VARIABLES.map(|name| (name, "")));
    command.envs(environment.iter().copied());
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && text.contains("1 passed"),
        "{test} failed: {text}{}",
        String::from_utf8_lossy(&output.stderr)
    );
}
