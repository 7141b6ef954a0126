//! The search for a compiler, with scripts in the places where compilers may be.
#![cfg(unix)]

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use hk_build::{BuildError, Origin, SearchEnv};
use tempfile::TempDir;

/// A machine with nothing on it: an empty PATH, no ROCm, an empty cache folder.
struct Machine {
    dir: TempDir,
    env: SearchEnv,
    /// A process that is forked while a script is still open for writing keeps it from being run,
    /// so the tests run one after the other.
    _alone: MutexGuard<'static, ()>,
}

/// A clang that says it is this version, and compiles with the real one.
const CLANG_22: &str = "echo 'clang version 22.1.0'";
const CLANG_19: &str = "echo 'clang version 19.1.7'";

impl Machine {
    fn new() -> Self {
        static ALONE: Mutex<()> = Mutex::new(());
        let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        fs::create_dir(path("bin")).unwrap();
        let env = SearchEnv {
            clang: None,
            rocm: vec![path("rocm")],
            path: path("bin").into_os_string(),
            rustc: None,
            cache: Some(path("cache")),
            offline: false,
        };
        Self { dir, env, _alone: alone }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn script(&self, name: &str, body: &str) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, format!("#!/bin/sh\n{body}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    /// A compiler that answers `--version` with the output of `version`, has an lld of its own, and
    /// notes each compilation in the file `log`.
    fn compiler(&self, name: &str, version: &str) -> PathBuf {
        self.compiler_with_linker(name, version, "/has/lld")
    }

    fn compiler_with_linker(&self, name: &str, version: &str, linker: &str) -> PathBuf {
        let real = hk_build::clang().unwrap().command();
        let words = std::iter::once(real.get_program()).chain(real.get_args());
        let real: Vec<_> = words.map(|word| format!("'{}'", word.display())).collect();
        let body = format!(
            "[ \"$1\" = clang ] && shift\n\
             for arg; do case \"$arg\" in\n\
             --version) {version}; exit;;\n\
             -print-prog-name=lld) echo {linker}; exit;;\n\
             esac; done\n\
             case \"$*\" in *--offload-arch=*) echo \"$0\" >> '{}';; esac\n\
             exec {} \"$@\"",
            self.path("log").display(),
            real.join(" ")
        );
        self.script(name, &body)
    }

    /// A python3 that imports ziglang from `package`, if there is one, and whose pip runs `pip`
    /// with the target folder in `$target` and the requirements in `$requirements`.
    fn python(&self, package: Option<&str>, pip: &str) {
        let import = match package {
            Some(dir) => format!("echo '{}'", self.path(dir).display()),
            None => {
                "echo \"ModuleNotFoundError: No module named 'ziglang'\" >&2; exit 1".to_owned()
            }
        };
        let body = format!(
            "if [ \"$1\" = -c ]; then {import}; exit; fi\n\
             echo \"$*\" >> '{}'\n\
             while [ $# -gt 0 ]; do case \"$1\" in\n\
             --target) target=$2;; --requirement) requirements=$2;;\n\
             esac; shift; done\n\
             {pip}",
            self.path("pip.log").display()
        );
        self.script("bin/python3", &body);
    }

    /// What a successful pip does: the package with a working zig appears in the target folder.
    fn installs_zig(&self) -> String {
        let zig = self.compiler("wheel/zig", CLANG_22);
        format!(
            "mkdir -p \"$target/ziglang\" && cp '{}' \"$target/ziglang/zig\" && \
             cp \"$requirements\" '{}'",
            zig.display(),
            self.path("requirements.txt").display()
        )
    }

    fn lines(&self, name: &str) -> usize {
        fs::read_to_string(self.path(name)).map_or(0, |text| text.lines().count())
    }

    fn found(&self) -> (Origin, PathBuf) {
        let clang = self.env.find().unwrap();
        (clang.origin(), clang.program().strip_prefix(self.dir.path()).unwrap().to_owned())
    }

    /// The places that were tried, with the reasons.
    fn tried(&self) -> Vec<(String, String)> {
        match self.env.find().unwrap_err() {
            BuildError::NoCompiler { tried, .. } => {
                tried.into_iter().map(|attempt| (attempt.place, attempt.reason)).collect()
            }
            other => panic!("{other}"),
        }
    }
}

#[test]
fn places_are_searched_in_the_documented_order() {
    let mut machine = Machine::new();
    let variable = machine.compiler("chosen/clang++", CLANG_22);
    let install = machine.installs_zig();
    machine.python(Some("site/ziglang"), &install);
    for name in ["rocm/llvm/bin/clang++", "bin/clang++", "bin/zig", "site/ziglang/zig"] {
        machine.compiler(name, CLANG_22);
    }
    machine.env.clang = Some(variable);
    assert_eq!(machine.found(), (Origin::Variable, "chosen/clang++".into()));
    machine.env.clang = None;
    for (origin, program) in [
        (Origin::Rocm, "rocm/llvm/bin/clang++"),
        (Origin::Path, "bin/clang++"),
        (Origin::Zig, "bin/zig"),
        (Origin::PythonPackage, "site/ziglang/zig"),
    ] {
        assert_eq!(machine.found(), (origin, program.into()));
        fs::remove_file(machine.path(program)).unwrap();
        assert_eq!(machine.lines("pip.log"), 0);
    }
    let installed = "cache/ziglang-0.17.0/ziglang/zig";
    assert_eq!(machine.found(), (Origin::Provisioned, installed.into()));
    assert_eq!(machine.lines("pip.log"), 1);
}

#[test]
fn unusable_candidates_are_passed_over_with_a_reason() {
    let mut machine = Machine::new();
    machine.env.offline = true;
    machine.env.rocm.push(machine.path("no-rocm"));
    machine.compiler("rocm/llvm/bin/clang++", CLANG_19);
    // No AMDGPU target: every compilation fails.
    let no_target = "case \"$*\" in *--version*) echo 'clang version 21.0.0';; \
                     *lld*) echo /has/lld;; *) echo 'error: unknown target' >&2; exit 1;; esac";
    machine.script("bin/clang++", no_target);
    machine.script("bin/zig", "echo gcc 14");
    machine.python(None, "exit 1");
    let tried = machine.tried();
    let bin = machine.path("bin");
    let want = [
        ("ROCm", "clang 19 is too old, 20 is needed".to_owned()),
        ("ROCm", format!("no llvm/bin/clang++ in {}", machine.path("no-rocm").display())),
        ("clang++ on PATH", format!("{}/clang++: cannot compile for gfx950: ", bin.display())),
        ("zig on PATH", format!("{}/zig: `gcc 14` is not the version of a clang", bin.display())),
        ("Python package ziglang", "No module named 'ziglang'".to_owned()),
        ("ziglang in the cache folder", "HIPKITTENS_OFFLINE forbids installing it".to_owned()),
    ];
    assert_eq!(tried.len(), want.len(), "{tried:?}");
    for ((place, reason), (want_place, want_reason)) in tried.iter().zip(&want) {
        assert_eq!(place, want_place);
        assert!(reason.contains(want_reason), "{place}: {reason}");
    }
    assert!(tried[2].1.contains("unknown target"));
    assert_eq!(machine.lines("pip.log"), 0);
}

#[test]
fn the_error_lists_what_was_tried_and_how_to_fix_it() {
    let mut machine = Machine::new();
    machine.env.offline = true;
    let text = machine.env.find().unwrap_err().to_string();
    for part in [
        "no clang for AMD GPUs was found; tried:\n  ROCm: no llvm/bin/clang++ in ",
        "\n  clang++ on PATH: not there\n  zig on PATH: not there\n",
        "\n  Python package ziglang: no python3 on PATH\n",
        "pip install ziglang==0.17.0",
        "HIPKITTENS_CLANG",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
}

#[test]
fn the_users_choice_is_never_replaced() {
    let mut machine = Machine::new();
    machine.compiler("bin/clang++", CLANG_22);
    machine.env.clang = Some(machine.compiler("old/clang++", CLANG_19));
    let tried = machine.tried();
    assert_eq!(tried.len(), 1);
    assert_eq!(tried[0].0, "HIPKITTENS_CLANG");
    assert!(tried[0].1.contains("clang 19 is too old"), "{}", tried[0].1);
    machine.env.clang = Some(machine.path("nowhere/clang++"));
    assert!(machine.tried()[0].1.contains("cannot be run"));
}

#[test]
fn the_users_choice_may_be_a_name_on_the_path() {
    let mut machine = Machine::new();
    machine.compiler("bin/clang++", CLANG_22);
    machine.compiler("bin/my-clang", CLANG_22);
    machine.env.clang = Some("my-clang".into());
    assert_eq!(machine.found(), (Origin::Variable, "bin/my-clang".into()));
    machine.env.clang = Some("her-clang".into());
    assert_eq!(machine.tried().len(), 1);
    // With a folder it is a path.
    machine.env.clang = Some("./my-clang".into());
    assert!(machine.tried()[0].1.contains("cannot be run"));
}

#[test]
fn a_zig_may_be_the_users_choice() {
    let mut machine = Machine::new();
    machine.env.clang = Some(machine.compiler("zig-0.17/zig", CLANG_22));
    let clang = machine.env.find().unwrap();
    assert!(clang.command().get_args().any(|arg| arg == "clang"));
}

#[test]
fn host_flags_do_not_reach_the_device() {
    // Read by another process, because changing the environment of this one would be unsound.
    let exe = std::env::current_exe().unwrap();
    let output = std::process::Command::new(exe)
        .args(["--exact", "places_are_searched_in_the_documented_order"])
        .env("CXXFLAGS", "-march=native -no-such-flag")
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

#[test]
fn rust_lld_serves_a_clang_without_a_linker() {
    let machine = Machine::new();
    machine.compiler_with_linker("bin/clang++", CLANG_22, "lld");
    // The real compiler brings a linker along in its own arguments; only the link is looked at.
    let reason = &machine.tried()[1].1;
    assert!(
        reason.contains("it has no lld, and rust-lld cannot serve: no rustc on PATH"),
        "{reason}"
    );
    let libdir = machine.path("rust/lib/rustlib/host/lib");
    machine.script("bin/rustc", &format!("echo '{}'", libdir.display()));
    let reason = &machine.tried()[1].1;
    assert!(reason.contains("bin/rust-lld is missing"), "{reason}");
    let linker = machine.script("rust/lib/rustlib/host/bin/rust-lld", "exit 0");
    let clang = machine.env.find().unwrap();
    let dir = clang.linker_dir().unwrap();
    assert!(dir.starts_with(machine.path("cache")));
    for name in ["lld", "ld.lld"] {
        assert_eq!(fs::read_link(dir.join(name)).unwrap(), linker);
    }
    let mut prefix = OsString::from("-B");
    prefix.push(dir);
    assert!(clang.command().get_args().any(|arg| arg == prefix));
}

#[test]
fn a_compiler_is_probed_once() {
    let machine = Machine::new();
    let program = machine.compiler("bin/clang++", CLANG_22);
    machine.found();
    assert_eq!(machine.lines("log"), 1);
    machine.found();
    assert_eq!(machine.lines("log"), 1);
    // An upgrade in place is another compiler.
    machine.compiler("bin/clang++", "echo 'clang version 22.1.10'");
    assert!(program.exists());
    machine.found();
    assert_eq!(machine.lines("log"), 2);
}

#[test]
fn installing_is_pinned_by_version_and_hash() {
    let machine = Machine::new();
    let install = machine.installs_zig();
    machine.python(None, &install);
    // An earlier installation was killed.
    fs::create_dir_all(machine.path("cache/ziglang-staging-killed/site")).unwrap();
    machine.found();
    let arguments = fs::read_to_string(machine.path("pip.log")).unwrap();
    for argument in ["-m pip install", "--require-hashes", "--only-binary=:all:", "--no-deps"] {
        assert!(arguments.contains(argument), "{argument} in {arguments}");
    }
    let requirements = fs::read_to_string(machine.path("requirements.txt")).unwrap();
    assert!(requirements.contains("ziglang==0.17.0 --hash=sha256:"), "{requirements}");
    // Nothing half-made stays behind, and the next process installs nothing.
    let left: Vec<_> = names(&machine.path("cache"));
    assert!(!left.iter().any(|name| name.contains("staging")), "{left:?}");
    let mut offline = machine.env.clone();
    offline.offline = true;
    assert_eq!(offline.find().unwrap().origin(), Origin::Provisioned);
    assert_eq!(machine.lines("pip.log"), 1);
}

#[test]
fn concurrent_builds_install_once() {
    let machine = Machine::new();
    let install = machine.installs_zig();
    machine.python(None, &format!("sleep 0.2\n{install}"));
    let env = &machine.env;
    std::thread::scope(|scope| {
        let builds: Vec<_> = (0..4).map(|_| scope.spawn(|| env.find().unwrap())).collect();
        for build in builds {
            assert_eq!(build.join().unwrap().origin(), Origin::Provisioned);
        }
    });
    assert_eq!(machine.lines("pip.log"), 1);
}

#[test]
fn a_failed_installation_says_why_and_leaves_nothing() {
    let machine = Machine::new();
    machine.python(None, "mkdir -p \"$target/ziglang\"; echo 'ERROR: hashes differ' >&2; exit 1");
    let (place, reason) = machine.tried().pop().unwrap();
    assert_eq!(place, "ziglang in the cache folder");
    assert!(reason.contains("pip install ziglang==0.17.0` failed"), "{reason}");
    assert!(reason.contains("ERROR: hashes differ"), "{reason}");
    assert_eq!(names(&machine.path("cache")), ["ziglang.lock"]);
}

#[test]
fn without_a_cache_folder_the_reason_is_named() {
    let mut machine = Machine::new();
    machine.env.cache = None;
    let (_, reason) = machine.tried().pop().unwrap();
    assert!(reason.contains("neither HOME nor XDG_CACHE_HOME"), "{reason}");
}

fn names(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).unwrap();
    entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect()
}
