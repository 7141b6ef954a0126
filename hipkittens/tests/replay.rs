//! `hipkittens replay` as someone uses it who was sent a capture.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use hk_build::{CompileOptions, compile_source};
use hk_core::{Device, DevicePtr, LaunchConfig, Module, Tensor, kernel_args};

const SOURCE: &str = r#"
#include "hk/hip.h"

extern "C" __global__ void axpy(const float* x, float* y, float a, int n) {
  int i = hk::global_idx();
  if (i < n) y[i] += a * x[i];
}
"#;

kernel_args! {
    struct AxpyArgs { x: DevicePtr<f32>, y: DevicePtr<f32>, a: f32, n: i32 }
}

/// Each device that launches, with every product that must give the same bits.
const GROUPS: [[&str; 2]; 2] = [["sim:mi325x", "sim:mi300x"], ["sim:mi355x", "sim:mi350x"]];
const N: usize = 1000;

/// A program that knows nothing of captures.
#[test]
#[ignore = "run by the tests below, in a process with HIPKITTENS_CAPTURE"]
fn child_launches_on_both_chips() {
    for [name, _] in GROUPS {
        let device = Device::open(name).unwrap();
        let options = CompileOptions::default().include(hk_core::INCLUDE);
        let code = compile_source(SOURCE, device.arch(), &options).unwrap();
        let module = Module::load(&device, &code.image).unwrap();
        let axpy = module.function::<AxpyArgs>("axpy").unwrap();
        let stream = device.default_stream();
        let host: Vec<f32> = (0..N).map(|i| i as f32).collect();
        let x = Tensor::from_slice(&stream, &host, &[N]).unwrap();
        let mut y = Tensor::filled(&stream, &[N], 1.0f32).unwrap();
        let args = AxpyArgs { x: x.ptr(), y: y.ptr_mut(), a: 2.0, n: N as i32 };
        // SAFETY: the kernel stays within n elements of x and y.
        unsafe { axpy.launch(&stream, LaunchConfig::for_elements(N, 256), &args) }.unwrap();
    }
}

/// Captures of one launch per chip, in folders that were moved since.
fn captures(parent: &Path) -> [PathBuf; 2] {
    let folder = parent.join("captured");
    let output = Command::new(env::current_exe().unwrap())
        .args(["--exact", "child_launches_on_both_chips", "--ignored"])
        .env("HIPKITTENS_CAPTURE", &folder)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", text(&output));
    ["0001-axpy", "0002-axpy"].map(|name| {
        let moved = parent.join(format!("sent-{name}"));
        fs::rename(folder.join(name), &moved).unwrap();
        moved
    })
}

fn command(folder: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hipkittens"));
    command.arg("replay").arg(folder).args(args).env("HIPKITTENS_DEVICE", "");
    command
}

fn replay(folder: &Path, args: &[&str]) -> Output {
    command(folder, args).output().unwrap()
}

/// Standard output, then standard error.
fn text(output: &Output) -> String {
    [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text)).concat()
}

#[track_caller]
fn expect(output: &Output, code: i32, parts: &[&str]) {
    let shown = text(output);
    assert_eq!(output.status.code(), Some(code), "{shown}");
    for part in parts {
        assert!(shown.contains(part), "{part} is not in {shown}");
    }
}

#[test]
fn every_product_of_the_architecture_gives_the_captured_bits() {
    let parent = tempfile::tempdir().unwrap();
    let folders = captures(parent.path());
    for (folder, devices) in folders.iter().zip(GROUPS) {
        for device in devices {
            let output = replay(folder, &["--device", device]);
            let head = format!("axpy: captured on {}, replayed on {device}", devices[0]);
            let parts = [&head, "x (f32, 4000 bytes): identical", "y (f32, 4000 bytes): identical"];
            expect(&output, 0, &parts);
        }
        // Without a name, a device of the right architecture is chosen.
        expect(&replay(folder, &[]), 0, &["y (f32, 4000 bytes): identical"]);
    }
    expect(&replay(&folders[0], &["--device", "sim:mi355x"]), 2, &["gfx942", "gfx950"]);
    expect(&replay(&folders[0], &["--device", "sim:mi999"]), 2, &["sim:mi999", "sim:mi325x"]);
}

#[test]
fn a_changed_buffer_fails_unless_the_tolerance_covers_it() {
    let parent = tempfile::tempdir().unwrap();
    for folder in captures(parent.path()) {
        let file = folder.join("after/y.bin");
        let mut y = fs::read(&file).unwrap();
        // Element 500 is 1 + 2 * 500; the capture now says half more.
        y[2000..2004].copy_from_slice(&1001.5f32.to_le_bytes());
        fs::write(&file, y).unwrap();

        let found = "y (f32, 4000 bytes): DIFFERENT: 1 of 1000 elements, farthest at element 500: \
                     1001.5 was captured, 1001 was replayed";
        let parts = ["x (f32, 4000 bytes): identical", found, "1 of 2 buffers differ"];
        expect(&replay(&folder, &[]), 1, &parts);
        // Nobody reads that, but who asks for the status is told.
        let mut child = command(&folder, &[]).stdout(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        assert_eq!(child.wait().unwrap().code(), Some(1));
        for (bound, code) in [("0.5", 0), ("0.25", 1), ("0,1e-3", 0), ("0, 1e-4", 1)] {
            expect(&replay(&folder, &["--tolerance", bound]), code, &["1 of 1000 elements"]);
        }
    }
}

#[test]
fn what_cannot_be_replayed_is_said() {
    let parent = tempfile::tempdir().unwrap();
    let [folder, _] = captures(parent.path());
    for bound in ["-1", "x", "1,", "nan", "1,2,3"] {
        let argument = format!("--tolerance={bound}");
        expect(&replay(&folder, &[&argument]), 2, &["is not a bound"]);
    }
    // The parent of the launches is not a launch.
    expect(&replay(parent.path(), &[]), 2, &["launch.json"]);
    fs::remove_file(folder.join("before/x.bin")).unwrap();
    expect(&replay(&folder, &[]), 2, &["before/x.bin"]);
}
