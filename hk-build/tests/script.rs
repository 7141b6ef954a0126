//! The build script as cargo runs it: what it reads from the environment and what it prints.

use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode, Output};

/// Not a test: what a kernel crate's build script does, for the tests below to run in a process
/// with cargo's variables.
#[test]
#[ignore = "only the tests of this file run it, with an environment as cargo makes it"]
fn build_script() -> ExitCode {
    hk_build::build()
}

const SOURCE: &str = r#"
#include "device.h"
struct FillArgs { float *out; float value; };
template <class Tile> __device__ void fill(const FillArgs &args) {
    args.out[__builtin_amdgcn_workitem_id_x()] = args.value;
}
"#;

const HEADER: &str = "#define __device__ __attribute__((device))\n\
                      #define HK_KERNEL(threads, waves) __attribute__((global, \
                      amdgpu_flat_work_group_size(threads, threads), amdgpu_waves_per_eu(waves)))\n";

const TILES: &str = "
budget = { objects = 1, code_bytes = 9999 }
[[kernel]]
args = \"FillArgs\"
threads = 64

[[kernel.tile]]
name = \"only\"
";

/// Runs the build script of a crate in `dir` with these further variables.
fn run(dir: &Path, variables: &[(&str, &str)]) -> Output {
    for folder in ["kernels", "tiles", "include", "out"] {
        fs::create_dir_all(dir.join(folder)).unwrap();
    }
    fs::write(dir.join("include/device.h"), HEADER).unwrap();
    if !dir.join("kernels/fill.hip").exists() {
        fs::write(dir.join("kernels/fill.hip"), SOURCE).unwrap();
    }
    fs::write(dir.join("tiles/fill.toml"), TILES).unwrap();
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", "build_script", "--ignored", "--nocapture", "--test-threads=1"])
        .env("CARGO_PKG_NAME", "hk-demo")
        .env("CARGO_MANIFEST_DIR", dir)
        .env("OUT_DIR", dir.join("out"))
        .env("DEP_HK_CORE_INCLUDE", dir.join("include"))
        .env("HIPKITTENS_OBJECT_CACHE", "off")
        .env_remove("DOCS_RS");
    for feature in ["CARGO_FEATURE_CDNA3", "CARGO_FEATURE_CDNA4"] {
        command.env_remove(feature);
    }
    command.envs(variables.iter().copied()).output().unwrap()
}

fn directives(output: &Output) -> Vec<String> {
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    // The test harness writes on the same stream.
    text.lines()
        .filter_map(|line| line.split_once("cargo::"))
        .map(|(_, rest)| rest.into())
        .collect()
}

const CDNA4: (&str, &str) = ("CARGO_FEATURE_CDNA4", "1");

#[test]
fn cargo_is_told_what_the_kernels_depend_on() {
    let dir = tempfile::tempdir().unwrap();
    let output = run(dir.path(), &[CDNA4]);
    assert!(output.status.success());
    let directives = directives(&output);
    for file in ["tiles", "kernels/fill.hip", "include/device.h"] {
        let want = format!("rerun-if-changed={}", dir.path().join(file).display());
        assert!(directives.contains(&want), "{want} in {directives:?}");
    }
    for variable in ["HIPKITTENS_CLANG", "ROCM_PATH", "DOCS_RS"] {
        assert!(directives.contains(&format!("rerun-if-env-changed={variable}")));
    }
    assert!(!directives.iter().any(|line| line.starts_with("warning")), "{directives:?}");
    let text = fs::read_to_string(dir.path().join("out/kernels.rs")).unwrap();
    assert!(text.contains("symbol: \"hk_fill_only\""), "{text}");
}

#[test]
fn a_failure_reaches_the_user_through_cargo() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("kernels")).unwrap();
    fs::write(dir.path().join("kernels/fill.hip"), SOURCE.replace("args.value", "nothing"))
        .unwrap();
    let output = run(dir.path(), &[CDNA4]);
    assert!(!output.status.success());
    let directives = directives(&output);
    let has = |text: &str| {
        directives.iter().any(|line| line.starts_with("error=") && line.contains(text))
    };
    assert!(has("kernel `fill`, tile `only`: compilation for gfx950 failed"), "{directives:?}");
    assert!(has("use of undeclared identifier 'nothing'"), "{directives:?}");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(!stderr.contains("panicked"), "{stderr}");
}

#[test]
fn warnings_of_the_compiler_reach_the_user() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("kernels")).unwrap();
    let source = SOURCE.replace("args.out[", "int unused; args.out[");
    fs::write(dir.path().join("kernels/fill.hip"), source).unwrap();
    let output = run(dir.path(), &[CDNA4]);
    assert!(output.status.success());
    let directives = directives(&output);
    assert!(
        directives.iter().any(|line| line.contains("warning=") && line.contains("'unused'")),
        "{directives:?}"
    );
}

#[test]
fn the_user_says_where_objects_are_kept() {
    let dir = tempfile::tempdir().unwrap();
    let entries = |folder: &str| fs::read_dir(dir.path().join(folder)).map_or(0, |dir| dir.count());
    // A kernel and the layout of its argument struct.
    assert!(run(dir.path(), &[CDNA4]).status.success());
    assert_eq!(entries("out/hk/objects"), 2);
    fs::remove_dir_all(dir.path().join("out")).unwrap();

    let folder = dir.path().join("objects");
    let variable = "HIPKITTENS_OBJECT_CACHE";
    assert!(run(dir.path(), &[CDNA4, (variable, folder.to_str().unwrap())]).status.success());
    assert_eq!((entries("objects"), entries("out/hk/objects")), (2, 0));

    // Without the variable, in the user's cache folder.
    let compiler = hk_build::clang().unwrap().program().to_str().unwrap();
    let (home, clang) = (dir.path().join("home"), ("HIPKITTENS_CLANG", compiler));
    let home = ("XDG_CACHE_HOME", home.to_str().unwrap());
    assert!(run(dir.path(), &[CDNA4, (variable, ""), home, clang]).status.success());
    assert_eq!((entries("home/hipkittens/objects"), entries("out/hk/objects")), (2, 0));

    let refused = run(dir.path(), &[CDNA4, (variable, "objects")]);
    assert!(!refused.status.success());
    let want = "error=HIPKITTENS_OBJECT_CACHE: expected an absolute path or `off`, got `objects`";
    assert_eq!(directives(&refused), [want]);
}

#[test]
fn on_docs_rs_and_without_features_nothing_is_compiled() {
    for variables in [&[CDNA4, ("DOCS_RS", "1")][..], &[]] {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("kernels")).unwrap();
        fs::write(dir.path().join("kernels/fill.hip"), "this is not C++").unwrap();
        let output = run(dir.path(), variables);
        assert!(output.status.success());
        let text = fs::read_to_string(dir.path().join("out/kernels.rs")).unwrap();
        assert!(text.contains("package: \"hk-demo\", kernels: &[\n] };"), "{text}");
        assert!(!dir.path().join("out/hk").exists());
    }
}

/// What the build script says if one of cargo's variables is changed so that it cannot serve.
fn refusal(change: impl Fn(&mut Command) -> &mut Command) -> Vec<String> {
    let dir = tempfile::tempdir().unwrap();
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "build_script", "--ignored", "--nocapture"]).current_dir(dir.path());
    let output = change(&mut command).output().unwrap();
    assert!(!output.status.success());
    directives(&output)
}

#[test]
fn outside_of_cargo_the_missing_variable_is_named() {
    let said = refusal(|command| command.env_remove("OUT_DIR"));
    assert_eq!(said, ["error=OUT_DIR is not set; cargo sets it for build scripts"]);
}

#[test]
#[cfg(unix)]
fn a_folder_that_is_not_utf_8_is_named() {
    use std::os::unix::ffi::OsStrExt;
    let folder = std::ffi::OsStr::from_bytes(b"/\xff");
    let said = refusal(|command| command.env("OUT_DIR", folder));
    assert_eq!(said, ["error=OUT_DIR: expected text in UTF-8, got `/\u{fffd}`"]);
}
