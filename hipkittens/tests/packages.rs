//! What users get: the packages, and the README's example in a crate outside of the workspace that
//! is built from them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

/// Standard output of a command that must succeed.
fn run(command: &mut Command) -> String {
    let output = command.output().expect("the command starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {said}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// A cargo that does not inherit what this test's cargo was told of this package.
fn cargo(subcommand: &str) -> Command {
    let mut command = Command::new(env!("CARGO"));
    command.arg(subcommand);
    let inherited = std::env::vars_os().map(|(name, _)| name);
    for name in inherited.filter(|name| name.to_string_lossy().starts_with("CARGO_PKG_")) {
        command.env_remove(name);
    }
    command
}

/// Packs every crate that is to be published; returns the folders of the unpacked packages.
fn packages(folder: &Path) -> Vec<PathBuf> {
    let manifest = format!("{ROOT}/Cargo.toml");
    run(cargo("package")
        .args(["--workspace", "--exclude", "hk-benches", "--no-verify", "--allow-dirty"])
        .args(["--manifest-path", &manifest, "--target-dir"])
        .arg(folder));
    let packed = fs::read_dir(folder.join("package")).expect("cargo packed into it");
    let packed = packed.map(|entry| entry.expect("an entry").path());
    let mut packed: Vec<_> =
        packed.filter(|path| path.extension().is_some_and(|end| end == "crate")).collect();
    packed.sort();
    for archive in &packed {
        // The times in archives are all the same, by which cargo would not see what has changed.
        run(Command::new("tar").arg("-xmzf").arg(archive).arg("-C").arg(folder));
    }
    packed.iter().map(|archive| folder.join(archive.file_stem().expect("a name"))).collect()
}

/// The README's line of `Cargo.toml`, its program, and what it says that this prints.
fn example() -> (String, String, String) {
    let readme = fs::read_to_string(format!("{ROOT}/README.md")).expect("there is a README");
    let (_, rest) = readme.split_once("## Example").expect("the README has an example");
    let (_, rest) = rest.split_once("```rust\n").expect("the example is Rust");
    let (program, rest) = rest.split_once("```").expect("the example ends");
    let (_, rest) = rest.split_once("`Cargo.toml`: `").expect("a line of Cargo.toml follows");
    let (dependency, _) = rest.split_once('`').expect("the line ends");
    let printed = program.lines().find(|line| line.contains("println!")).expect("it prints");
    let (_, printed) = printed.split_once("// ").expect("and says what");
    (dependency.to_owned(), program.to_owned(), printed.to_owned())
}

#[test]
fn the_example_builds_and_runs_outside_of_the_workspace() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("packages");
    // What an earlier run left would be taken for packages of this one.
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("the folder is writable");
    let packages = packages(&folder);
    assert_eq!(packages.len(), 14);
    let mut patches = String::new();
    for package in &packages {
        for file in ["Cargo.toml", "README.md", "LICENSE-MIT", "LICENSE-APACHE"] {
            let text = fs::read_to_string(package.join(file)).unwrap_or_default();
            assert!(!text.is_empty(), "{}: {file}", package.display());
        }
        let manifest = fs::read_to_string(package.join("Cargo.toml")).expect("it was just read");
        let has = |table: &str| manifest.contains(&format!("\n[{table}]\n"));
        // What features add is documented.
        assert!(!has("features") || has("package.metadata.docs.rs"), "{}", package.display());
        let name = package.file_name().expect("a name").to_string_lossy();
        let (name, _) = name.rsplit_once('-').expect("a version");
        patches += &format!("{name} = {{ path = {:?} }}\n", package.display().to_string());
    }

    let (dependency, program, printed) = example();
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("outside");
    let outside = |name: &str, dependencies: &str, program: &str, subcommand| {
        let folder = folder.join(name);
        let manifest = format!(
            "[package]\nname = \"{name}\"\nedition = \"2024\"\n\n[workspace]\n\n[dependencies]\n\
             {dependencies}\n\n[patch.crates-io]\n{patches}"
        );
        fs::create_dir_all(folder.join("src")).expect("the folder is writable");
        fs::write(folder.join("Cargo.toml"), manifest).expect("the folder is writable");
        fs::write(folder.join("src/main.rs"), program).expect("the folder is writable");
        // The versions that the workspace is tested with, which are already there.
        fs::copy(format!("{ROOT}/Cargo.lock"), folder.join("Cargo.lock")).expect("there is one");
        run(cargo(subcommand)
            .current_dir(&folder)
            .env("CARGO_TARGET_DIR", &target)
            .env("CARGO_PROFILE_DEV_DEBUG", "false")
            .env("HIPKITTENS_DEVICE", ""))
    };
    let shown = outside("example", &dependency, &program, "run");
    assert_eq!(shown.trim(), printed);

    // Nothing that a crate is made of is left out of its package: this one needs all of them.
    let version = env!("CARGO_PKG_VERSION");
    let umbrella = format!("hipkittens = {{ version = \"{version}\", features = [\"cdna4\"] }}");
    outside("everything", &umbrella, "fn main() {}", "check");
}
