//! What the environment variables do, each tried in a process of its own; among them the `hip:`
//! devices, served by the simulator built as a shared library: the path that a GPU takes.

#![cfg(feature = "sim")]

mod common;

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use common::{AXPY, AxpyArgs, compile, run};
use hk_core::{Device, DevicePtr, Error, LaunchConfig, Module, Tensor, hip_library, kernel_args};

/// The shared library that cargo builds of the simulator, beside this test's own program.
fn shared_library() -> PathBuf {
    let program = env::current_exe().unwrap();
    let name = format!("{}hk_sim{}", env::consts::DLL_PREFIX, env::consts::DLL_SUFFIX);
    let path = program.parent().unwrap().join(name);
    assert!(path.exists(), "{} was not built", path.display());
    path
}

/// Launches `y += a x` there and checks the result.
fn launch(device: &Device) {
    let stream = device.new_stream().unwrap();
    let module = Module::load(device, &compile(device.arch(), AXPY)).unwrap();
    let axpy = module.function::<AxpyArgs>("axpy").unwrap();
    let x = Tensor::filled(&stream, &[300], 1.5f32).unwrap();
    let mut y = Tensor::filled(&stream, &[300], 1.0f32).unwrap();
    let args = AxpyArgs { x: x.ptr(), y: y.ptr_mut(), a: 2.0, n: 300 };
    // SAFETY: the kernel stays within n elements of x and y.
    unsafe { axpy.launch(&stream, LaunchConfig::for_elements(300, 256), &args) }.unwrap();
    assert_eq!(y.to_vec().unwrap(), [4.0; 300]);
}

#[test]
fn gpus_of_a_library_are_listed_opened_and_preferred() {
    let library = shared_library();
    let devices = Path::new("mi355x,mi300x");
    run(
        "child_uses_the_library",
        &[("HIPKITTENS_HIP_LIBRARY", &library), ("HIPKITTENS_SIM_DEVICES", devices)],
    );
}

#[test]
#[ignore = "run by gpus_of_a_library_are_listed_opened_and_preferred"]
fn child_uses_the_library() {
    let library = hip_library().unwrap();
    assert_eq!((library.path, library.devices), (shared_library(), 2));
    let names: Vec<_> = Device::list().into_iter().map(|info| info.name).collect();
    assert_eq!(names[..2], ["hip:0", "hip:1"]);
    assert!(matches!(Device::open("hip:2"), Err(Error::NoDevice { .. })));

    let device = Device::auto().unwrap();
    assert_eq!((device.name(), device.arch().name()), ("hip:0", "gfx950"));
    assert!(!device.is_simulated());
    let simulated = Device::open("sim:mi355x").unwrap();
    assert_ne!(device, simulated);
    let event = device.default_stream().record().unwrap();
    let foreign = simulated.default_stream().wait(&event).unwrap_err();
    assert!(matches!(foreign, Error::Device { op: "Stream::wait", .. }), "{foreign}");
    launch(&device);
}

#[test]
#[cfg(target_os = "linux")]
fn the_library_that_the_process_has_loaded_is_the_one() {
    let (folder, rocm) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    // ROCm has one, too.
    fs::create_dir(rocm.path().join("lib")).unwrap();
    fs::copy(shared_library(), rocm.path().join("lib/libamdhip64.so")).unwrap();
    for name in ["libamdhip64.so", "libamdhip64.so.6", "libamdhip64-6f1c.so.7"] {
        let library = folder.path().join(name);
        fs::copy(shared_library(), &library).unwrap();
        let devices = ("HIPKITTENS_SIM_DEVICES", Path::new("mi355x"));
        let environment = [("ROCM_PATH", rocm.path()), ("LIBRARY", &library), devices];
        run("child_has_loaded_a_library", &environment);
    }
}

#[test]
#[ignore = "run by the_library_that_the_process_has_loaded_is_the_one"]
fn child_has_loaded_a_library() {
    let path = PathBuf::from(env::var_os("LIBRARY").unwrap());
    // SAFETY: loading it runs no more than what a program that is linked to it runs.
    let library = unsafe { libloading::Library::new(&path) }.unwrap();
    assert_eq!(hip_library().unwrap().path, path);
    launch(&Device::open("hip:0").unwrap());
    // A runtime has threads of its own.
    std::mem::forget(library);
}

#[test]
fn a_library_that_does_not_exist_is_named() {
    let missing = Path::new("/nowhere/libamdhip64.so");
    run("child_names_the_missing_library", &[("HIPKITTENS_HIP_LIBRARY", missing)]);
}

#[test]
#[ignore = "run by a_library_that_does_not_exist_is_named"]
fn child_names_the_missing_library() {
    let error = Device::open("hip:0").unwrap_err();
    let Error::Library { tried, .. } = error else { panic!("{error}") };
    assert_eq!(tried.len(), 1);
    assert_eq!(tried[0].path, PathBuf::from("/nowhere/libamdhip64.so"));
    // Without a GPU, the simulator is chosen.
    assert_eq!(Device::auto().unwrap().name(), "sim:mi355x");
}

#[test]
fn the_device_can_be_named() {
    run("child_takes_the_named_device", &[("HIPKITTENS_DEVICE", Path::new("sim:mi300x"))]);
    run("child_refuses_the_named_device", &[("HIPKITTENS_DEVICE", Path::new("sim:mi3"))]);
}

#[test]
#[ignore = "run by the_device_can_be_named"]
fn child_takes_the_named_device() {
    assert_eq!(Device::auto().unwrap().name(), "sim:mi300x");
}

#[test]
#[ignore = "run by the_device_can_be_named"]
fn child_refuses_the_named_device() {
    let error = Device::auto().unwrap_err();
    assert!(matches!(&error, Error::NoDevice { wanted, .. } if wanted == "sim:mi3"), "{error}");
}

#[test]
#[cfg(unix)]
fn a_device_that_is_not_text_is_refused() {
    use std::os::unix::ffi::OsStrExt;
    let name = Path::new(std::ffi::OsStr::from_bytes(b"sim:\xff"));
    run("child_refuses_what_is_not_text", &[("HIPKITTENS_DEVICE", name)]);
}

#[test]
#[ignore = "run by a_device_that_is_not_text_is_refused"]
fn child_refuses_what_is_not_text() {
    let error = Device::auto().unwrap_err();
    let Error::NoDevice { wanted, .. } = error else { panic!("{error}") };
    assert_eq!(wanted, "sim:\u{fffd}");
}

#[test]
fn launches_can_be_captured() {
    let folder = tempfile::tempdir().unwrap();
    run("child_launches_twice", &[("HIPKITTENS_CAPTURE", folder.path())]);
    for name in ["0001-axpy", "0002-axpy"] {
        let device = Device::open("sim:mi355x").unwrap();
        assert!(
            hk_core::capture::replay(&folder.path().join(name), &device).unwrap().is_identical()
        );
    }
}

#[test]
#[ignore = "run by launches_can_be_captured"]
fn child_launches_twice() {
    let device = Device::open("sim:mi355x").unwrap();
    launch(&device);
    launch(&device);
}

/// What the second of two waves sees of the first one's steps when it begins.
const AHEAD: &str = r#"
#include "hk/hip.h"

extern "C" __global__ __launch_bounds__(128) void ahead(unsigned* seen) {
  static __shared__ volatile unsigned steps;
  if (threadIdx.x == 0) steps = 0;
  hk::sync_threads();
  if (threadIdx.x < 64) {
    for (unsigned i = 1; i <= 512; i++) steps = i;
  } else if (threadIdx.x == 64) {
    *seen = steps;
  }
}
"#;

kernel_args! {
    struct AheadArgs { seen: DevicePtr<u32> }
}

#[test]
fn the_wave_schedule_can_be_chosen() {
    for (slice, least, most) in [("", "0", "100"), ("8", "0", "100"), ("8192", "512", "512")] {
        run(
            "child_sees_how_far_a_wave_is",
            &[("HIPKITTENS_SIM_SLICE", slice), ("LEAST", least), ("MOST", most)]
                .map(|(name, value)| (name, Path::new(value))),
        );
    }
}

#[test]
#[ignore = "run by the_wave_schedule_can_be_chosen"]
fn child_sees_how_far_a_wave_is() {
    let number = |name| env::var(name).unwrap().parse::<u32>().unwrap();
    for device in common::devices() {
        let stream = device.new_stream().unwrap();
        let module = Module::load(&device, &compile(device.arch(), AHEAD)).unwrap();
        let ahead = module.function::<AheadArgs>("ahead").unwrap();
        let mut seen = Tensor::filled(&stream, &[1], u32::MAX).unwrap();
        let args = AheadArgs { seen: seen.ptr_mut() };
        // SAFETY: the kernel writes the one element of `seen`.
        unsafe { ahead.launch(&stream, LaunchConfig::new(1, 128), &args) }.unwrap();
        let seen = seen.to_vec().unwrap()[0];
        assert!((number("LEAST")..=number("MOST")).contains(&seen), "{seen}");
    }
}
