//! That each module of `catalog.csv` which has cases is where CONTRIBUTING.md says: op, reference,
//! cases, tests and documentation by the name of the module's files, kernels and tiles by the core's.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// What every module's documentation tells in its table.
const TOLD: [&str; 5] = ["Shapes", "Dtypes", "Numerics", "Hardware", "Source"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// What a subcommand prints with `--json`, line by line.
fn objects(args: &[&str]) -> Vec<Value> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hipkittens"));
    let output = command.args(args).arg("--json").output().expect("the command starts");
    let text = String::from_utf8(output.stdout).expect("text");
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

/// The values of a key of these.
fn told(args: &[&str], key: &str) -> BTreeSet<String> {
    objects(args).iter().map(|line| line[key].as_str().expect(key).to_owned()).collect()
}

#[test]
fn no_two_cases_are_called_the_same() {
    let mut names = BTreeSet::new();
    let cases = objects(&["check", "--list", "--full"]).into_iter();
    let twice: Vec<_> =
        cases.map(|case| case.to_string()).filter(|case| !names.insert(case.clone())).collect();
    assert!(twice.is_empty(), "{}", twice.join("\n"));
}

#[test]
fn every_module_has_its_files_and_says_what_it_does() {
    let modules = told(&["check", "--list"], "module");
    let mut missing = Vec::new();
    let mut known = 0;
    for line in include_str!("../catalog.csv").lines().skip(1) {
        let [module, package, _, files] = *line.split(',').collect::<Vec<_>>() else {
            panic!("{line} has four columns");
        };
        if !modules.contains(module) {
            continue;
        }
        known += 1;
        let category = package.trim_start_matches("hk-");
        for file in [
            format!("{package}/src/{files}.rs"),
            format!("{package}/src/parity/{files}.rs"),
            format!("{package}/tests/ops/{files}.rs"),
            format!("hk-ref/src/{category}/{files}.rs"),
        ] {
            if !root().join(&file).is_file() {
                missing.push(format!("{module}: there is no {file}"));
            }
        }
        let op = fs::read_to_string(root().join(format!("{package}/src/{files}.rs")));
        let op = op.unwrap_or_default();
        let docs: Vec<_> = op.lines().filter_map(|line| line.strip_prefix("//!")).collect();
        let says = |what: &str| docs.iter().any(|line| line.starts_with(&format!(" | {what} |")));
        let untold = TOLD.into_iter().filter(|what| !says(what));
        missing.extend(untold.map(|what| format!("{module}: its table does not tell {what}")));
        if !docs.iter().any(|line| line.trim() == "```") {
            missing.push(format!("{module}: its documentation has no example"));
        }
    }
    assert_eq!(known, modules.len(), "each of {modules:?} stands in catalog.csv");
    assert!(missing.is_empty(), "{}", missing.join("\n"));
}

#[test]
fn every_core_has_its_files() {
    let mut cores = 0;
    for package in told(&["kernels"], "crate") {
        let root = root().join(&package);
        for entry in fs::read_dir(root.join("tiles")).expect("tile files") {
            let tiles = entry.expect("an entry").path();
            let core = tiles.file_stem().expect("a name").to_string_lossy().into_owned();
            let kernel = root.join(format!("kernels/{core}.hip"));
            assert!(kernel.is_file(), "{package}: {core} has no kernel");
            let tiles = fs::read_to_string(&tiles).expect("a tile file");
            let host = fs::read_to_string(root.join(format!("src/{core}.rs"))).unwrap_or_default();
            // Those that many cores share are hk-core's.
            let has_arguments = host.contains("kernel_args!") || tiles.contains("rust_args =");
            assert!(has_arguments, "{package}: {core} has no argument struct");
            cores += 1;
        }
    }
    assert!(cores > 0, "there are kernels");
}

/// No kernel takes device memory for what may be LDS, or numbers that all lanes share for such as
/// differ by lane: either is right, but slow.
#[test]
fn kernels_reach_memory_directly() {
    let kernels = objects(&["kernels"]);
    assert!(!kernels.is_empty());
    for what in ["flat_accesses", "lane_loops"] {
        let some = kernels.iter().filter(|kernel| kernel[what] != 0);
        let some: Vec<_> = some
            .map(|kernel| {
                ["crate", "arch", "kernel", "tile"].map(|field| kernel[field].to_string()).join(" ")
            })
            .collect();
        assert!(some.is_empty(), "{what}:\n{}", some.join("\n"));
    }
}
