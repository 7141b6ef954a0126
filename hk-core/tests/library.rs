//! HIP libraries that cannot serve: each says why, and leaves the simulator as the default.

#![cfg(all(feature = "sim", target_os = "linux"))]

mod common;

use std::fmt::Debug;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::{Arc, Mutex};

use common::run;
use hk_core::{Device, Error, hip_library};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

/// Warnings with their fields, as text.
#[derive(Clone, Default)]
struct Warnings(Arc<Mutex<String>>);

impl Visit for Warnings {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        let line = format!("{field}: {value:?}\n");
        self.0.lock().unwrap().push_str(&line);
    }
}

impl Subscriber for Warnings {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() == Level::WARN
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        event.record(&mut self.clone());
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// The simulator is the default, and a warning says so and why.
#[track_caller]
fn falls_back(why: &str) {
    let warnings = Warnings::default();
    let device = tracing::subscriber::with_default(warnings.clone(), Device::auto).unwrap();
    assert_eq!(device.name(), "sim:mi355x");
    let said = warnings.0.lock().unwrap();
    assert!(said.contains("sim:mi355x") && said.contains(why), "{why} is not in {said}");
    assert!(Device::list().iter().all(|info| info.name.starts_with("sim:")));
}

/// A library made for the test, see `library_fixture/hip.rs`.
fn fixture(folder: &Path, cfg: &str) -> PathBuf {
    let library = folder.join("libamdhip64.so");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/library_fixture/hip.rs");
    let output = Command::new("rustc")
        .args(["--edition=2024", "--crate-type=cdylib", "-Anon-snake-case", "--cfg", cfg, "-o"])
        .args([&library, &source])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    library
}

#[test]
fn a_missing_library_is_one_error() {
    run(
        "child_without_library",
        &[("HIPKITTENS_HIP_LIBRARY", Path::new("/nowhere/libamdhip64.so"))],
    );
}

#[test]
#[ignore = "run by a_missing_library_is_one_error"]
fn child_without_library() {
    let error = Device::open("hip:0").unwrap_err();
    let Error::Library { tried, .. } = &error else { panic!("{error}") };
    assert!(tried[0].reason.contains("cannot open shared object file"), "{error}");
    falls_back("cannot open shared object file");
}

#[test]
fn a_missing_function_is_another() {
    let folder = tempfile::tempdir().unwrap();
    let library = fixture(folder.path(), "incomplete");
    run("child_with_an_incomplete_library", &[("HIPKITTENS_HIP_LIBRARY", &library)]);
}

#[test]
#[ignore = "run by a_missing_function_is_another"]
fn child_with_an_incomplete_library() {
    for error in [hip_library().unwrap_err(), Device::open("hip:0").unwrap_err()] {
        let Error::Symbol { name, hint, .. } = &error else { panic!("{error}") };
        assert_eq!(*name, "hipMallocAsync");
        assert!(hint.contains("ROCm"));
    }
    falls_back("has no function `hipMallocAsync`");
}

#[test]
fn an_old_version_is_a_third() {
    let folder = tempfile::tempdir().unwrap();
    let library = fixture(folder.path(), "old");
    run("child_with_an_old_library", &[("HIPKITTENS_HIP_LIBRARY", &library)]);
}

#[test]
#[ignore = "run by an_old_version_is_a_third"]
fn child_with_an_old_library() {
    for error in [hip_library().unwrap_err(), Device::open("hip:0").unwrap_err()] {
        let Error::Version { found, required, .. } = &error else { panic!("{error}") };
        assert_eq!(
            (found.to_string().as_str(), required.to_string().as_str()),
            ("4.3.21422", "5.0.0")
        );
    }
    falls_back("older than 5.0.0");
}

#[test]
fn a_library_without_gpu_is_a_fourth() {
    let folder = tempfile::tempdir().unwrap();
    let library = fixture(folder.path(), "complete");
    run("child_with_a_library_without_gpu", &[("HIPKITTENS_HIP_LIBRARY", &library)]);
}

/// Debian's packages of the HIP library and of what it needs beyond a common system.
const PACKAGES: [&str; 9] = [
    "libamdhip64-5",
    "libamd-comgr2",
    "libhsa-runtime64-1",
    "libhsakmt1",
    "libnuma1",
    "libelf1",
    "libdrm2",
    "libdrm-amdgpu1",
    "libtinfo6",
];

/// Runs a program and tells, if it fails, what it said.
fn succeed(command: &mut Command) -> Result<Output, String> {
    let output = command.output().map_err(|error| error.to_string())?;
    if output.status.success() {
        return Ok(output);
    }
    Err(String::from_utf8_lossy(&output.stderr).trim().to_owned())
}

/// Folder with the distribution's own HIP library, unpacked without being installed.
fn real_library() -> Result<PathBuf, String> {
    let parent = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let folder = parent.join("libamdhip64-5");
    if !folder.is_dir() {
        // Under another name until it is complete.
        let part = tempfile::tempdir_in(parent).map_err(|error| error.to_string())?;
        for package in PACKAGES {
            let got = succeed(
                Command::new("apt-get").args(["-q", "download", package]).current_dir(part.path()),
            );
            // The system may have the others, or have no need of them.
            if package == PACKAGES[0] {
                got?;
            }
        }
        for entry in fs::read_dir(part.path()).map_err(|error| error.to_string())?.flatten() {
            succeed(Command::new("dpkg").arg("-x").arg(entry.path()).arg(part.path()))?;
        }
        match fs::rename(part.keep(), &folder) {
            Err(error) if !folder.is_dir() => return Err(error.to_string()),
            // Another process may have been faster.
            _ => {}
        }
    }
    let libraries = fs::read_dir(folder.join("usr/lib")).map_err(|error| error.to_string())?;
    let folders = libraries.flatten().map(|entry| entry.path());
    let found = folders.into_iter().find(|path| path.join("libamdhip64.so.5").exists());
    let found = found.ok_or("the package has no libamdhip64.so.5")?;
    let needs = succeed(
        Command::new("ldd").arg(found.join("libamdhip64.so.5")).env("LD_LIBRARY_PATH", &found),
    )?;
    let needs = String::from_utf8_lossy(&needs.stdout).into_owned();
    match needs.lines().find(|line| line.contains("not found")) {
        Some(missing) => Err(missing.trim().to_owned()),
        None => Ok(found),
    }
}

#[test]
fn the_real_library_opens_and_says_that_there_is_no_gpu() {
    let folder = match real_library() {
        Ok(folder) => folder,
        Err(reason) => {
            // Not `eprintln`, which the test harness hides.
            writeln!(io::stderr(), "skipped: no package libamdhip64-5: {reason}").unwrap();
            return;
        }
    };
    if Path::new("/dev/kfd").exists() {
        writeln!(io::stderr(), "skipped: this machine has a GPU").unwrap();
        return;
    }
    let library = folder.join("libamdhip64.so.5");
    run(
        "child_with_a_library_without_gpu",
        &[("HIPKITTENS_HIP_LIBRARY", &library), ("LD_LIBRARY_PATH", &folder)],
    );
    // Found by the loader alone, as by a user who installed the package.
    run("child_with_a_library_without_gpu", &[("LD_LIBRARY_PATH", &folder)]);
}

#[test]
#[ignore = "run by the tests of a library without a GPU"]
fn child_with_a_library_without_gpu() {
    let library = hip_library().unwrap();
    assert!(library.version.to_string().starts_with(['5', '6', '7']), "{library:?}");
    assert_eq!(library.devices, 0);
    let refusal = library.refusal.unwrap();
    assert!(refusal.contains("hipErrorNoDevice"), "{refusal}");

    let error = Device::open("hip:0").unwrap_err();
    assert!(matches!(error, Error::Hip { call: "hipGetDeviceCount", code: 100, .. }), "{error}");
    assert!(error.to_string().contains("hipErrorNoDevice"), "{error}");
    falls_back("sees no GPU: hipGetDeviceCount failed: hipErrorNoDevice");
}
