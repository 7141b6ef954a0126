//! The shared library, opened by a program of another language in another process.

use std::path::PathBuf;
use std::process::Command;

use hk_build::{Arch, CompileOptions, compile_source};

const SAXPY: &str = r#"
extern "C" __attribute__((global)) void saxpy(float* y, const float* x, float a, int n) {
  int i = __builtin_amdgcn_workgroup_id_x() * 256 + __builtin_amdgcn_workitem_id_x();
  if (i < n) y[i] += a * x[i];
}
"#;

/// The library that cargo built beside this test.
fn library() -> PathBuf {
    let name = format!("{}hk_sim{}", std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX);
    let test = std::env::current_exe().expect("the path of the test");
    let folders = test.ancestors().skip(1).take(2);
    let found = folders.map(|folder| folder.join(&name)).find(|path| path.exists());
    found.unwrap_or_else(|| panic!("{name} is not beside {}", test.display()))
}

#[test]
fn a_python_program_lists_devices_and_launches_kernels() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut command = Command::new("python3");
    command
        .arg(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/shared_library.py"))
        .arg(library())
        .env("HIPKITTENS_SIM_DEVICES", "mi300x, mi355x");
    for (product, arch) in [("mi300x", Arch::Gfx942), ("mi355x", Arch::Gfx950)] {
        let code = compile_source(SAXPY, arch, &CompileOptions::default()).expect("it compiles");
        let path = folder.path().join(format!("{arch}.hsaco"));
        std::fs::write(&path, code.image).expect("written");
        command.arg(format!("{product}:{}", path.display()));
    }
    let output = command.output().expect("python3 runs");
    let (out, err) = (output.stdout, String::from_utf8_lossy(&output.stderr).into_owned());
    assert!(output.status.success() && out == b"ok\n", "{err}");
    // The report of the fault that the program provokes, once per device.
    assert_eq!(err.matches("hk-sim: read-violation").count(), 2, "{err}");
}

#[test]
fn an_unknown_product_leaves_no_device() {
    const ASK: &str = "import ctypes, sys\n\
        count = ctypes.c_int(-1)\n\
        error = ctypes.CDLL(sys.argv[1]).hipGetDeviceCount(ctypes.byref(count))\n\
        print(error, count.value)";
    let output = Command::new("python3")
        .args(["-c", ASK])
        .arg(library())
        .env("HIPKITTENS_SIM_DEVICES", "mi355x,mi999")
        .output()
        .expect("python3 runs");
    // hipErrorNoDevice.
    assert_eq!(String::from_utf8_lossy(&output.stdout), "100 0\n");
    let warning = String::from_utf8_lossy(&output.stderr);
    let known = "not one of mi300x, mi325x, mi350x, mi355x";
    assert!(warning.contains("\"mi999\"") && warning.contains(known), "{warning}");
}
