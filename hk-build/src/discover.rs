//! Finding a clang: which places are looked at, in which order, and what makes one usable.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use hk_types::Arch;

use crate::compiler::{Clang, CompileOptions, run, scratch_dir};
use crate::error::{Attempt, BuildError};
use crate::provision;

/// The oldest clang whose AMDGPU target knows gfx950.
const OLDEST: u32 = 20;

/// What clang calls its linker.
const LLD: &str = "lld";

/// What is printed when nothing usable was found.
const FIX: &str = "to fix it, do one of these: let `python3 -m pip` reach a package index \
    (without HIPKITTENS_OFFLINE); run `python3 -m pip install ziglang==0.17.0`; install LLVM 20 or \
    later with lld and its AMDGPU target; or set HIPKITTENS_CLANG to such a clang++ or to a zig";

/// Compiled to see whether a candidate can compile and link for the newest architecture.
const PROBE: &str = "extern \"C\" __attribute__((global)) void probe(int *out) { *out = 1; }\n";

/// Where a compiler was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Origin {
    /// Named by `HIPKITTENS_CLANG`.
    Variable,
    /// Part of a ROCm installation.
    Rocm,
    /// `clang++` on `PATH`.
    Path,
    /// `zig` on `PATH`.
    Zig,
    /// The PyPI package `ziglang` that python3 imports.
    PythonPackage,
    /// The PyPI package `ziglang` in the user's cache folder.
    Provisioned,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Variable => "HIPKITTENS_CLANG",
            Self::Rocm => "ROCm",
            Self::Path => "clang++ on PATH",
            Self::Zig => "zig on PATH",
            Self::PythonPackage => "Python package ziglang",
            Self::Provisioned => "ziglang in the cache folder",
        })
    }
}

/// The part of the environment that decides which compiler is taken.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SearchEnv {
    /// `HIPKITTENS_CLANG`: a clang++ or zig to use and no other, by its path or a name on `PATH`.
    pub clang: Option<PathBuf>,
    /// Folders that may hold a ROCm installation.
    pub rocm: Vec<PathBuf>,
    /// `PATH`, where `clang++`, `zig`, `python3` and `rustc` are looked for.
    pub path: OsString,
    /// `RUSTC`: the Rust compiler whose rust-lld serves when clang has no lld.
    pub rustc: Option<PathBuf>,
    /// The folder `hipkittens` in the user's cache folder, if there is one.
    pub cache: Option<PathBuf>,
    /// `HIPKITTENS_OFFLINE`: nothing may be downloaded.
    pub offline: bool,
}

impl SearchEnv {
    /// The environment variables by which the user chooses a compiler: another value means another
    /// build. `PATH` decides too, but differs between a terminal and an editor all the time.
    pub const DECISIVE: [&str; 2] = ["HIPKITTENS_CLANG", "ROCM_PATH"];

    /// What the environment of this process says.
    pub fn from_process() -> Self {
        let set = |name| env::var_os(name).filter(|value| !value.is_empty());
        let rocm = set("ROCM_PATH").map(PathBuf::from);
        // The XDG base directory specification has relative paths ignored.
        let absolute = |path: &PathBuf| path.is_absolute();
        let cache = set("XDG_CACHE_HOME").map(PathBuf::from).filter(absolute);
        let home = || set("HOME").map(|home| PathBuf::from(home).join(".cache")).filter(absolute);
        Self {
            clang: set("HIPKITTENS_CLANG").map(PathBuf::from),
            rocm: rocm.into_iter().chain([PathBuf::from("/opt/rocm")]).collect(),
            path: env::var_os("PATH").unwrap_or_default(),
            rustc: set("RUSTC").map(PathBuf::from),
            cache: cache.or_else(home).map(|dir| dir.join("hipkittens")),
            offline: set("HIPKITTENS_OFFLINE").is_some_and(|value| value != "0"),
        }
    }

    /// Finds a usable compiler. What [`clang`] does once per process.
    ///
    /// # Errors
    ///
    /// [`BuildError::NoCompiler`] names every place that was looked at and how to fix it.
    pub fn find(&self) -> Result<Clang, BuildError> {
        let mut search = Search { env: self, tried: Vec::new() };
        search.find().ok_or(BuildError::NoCompiler { tried: search.tried, fix: FIX })
    }

    /// The program that `HIPKITTENS_CLANG` names, if it is set: a bare name as `PATH` finds it, or as it
    /// is if `PATH` does not.
    pub fn chosen(&self) -> Option<PathBuf> {
        let named = self.clang.as_ref()?;
        let is_bare = named.file_name() == Some(named.as_os_str());
        let found = if is_bare { self.on_path(named) } else { None };
        Some(found.unwrap_or_else(|| named.clone()))
    }

    /// The first file called `name` in a folder of `PATH`.
    pub(crate) fn on_path(&self, name: impl AsRef<OsStr>) -> Option<PathBuf> {
        let mut name = name.as_ref().to_owned();
        name.push(env::consts::EXE_SUFFIX);
        env::split_paths(&self.path).map(|dir| dir.join(&name)).find(|file| is_program(file))
    }
}

/// The compiler of this process: looked for at the first call, then remembered.
///
/// # Errors
///
/// [`BuildError::NoCompiler`] names every place that was looked at and how to fix it.
pub fn clang() -> Result<&'static Clang, BuildError> {
    static FOUND: OnceLock<Clang> = OnceLock::new();
    if let Some(clang) = FOUND.get() {
        return Ok(clang);
    }
    let clang = SearchEnv::from_process().find()?;
    Ok(FOUND.get_or_init(|| clang))
}

/// One run through the places.
struct Search<'a> {
    env: &'a SearchEnv,
    tried: Vec<Attempt>,
}

impl Search<'_> {
    fn find(&mut self) -> Option<Clang> {
        if let Some(program) = self.env.chosen() {
            // An explicit choice that does not work must not be replaced silently.
            return self.consider(Origin::Variable, &program);
        }
        if let Some(clang) = self.rocm() {
            return Some(clang);
        }
        for (origin, name) in [(Origin::Path, "clang++"), (Origin::Zig, "zig")] {
            let found = match self.env.on_path(name) {
                Some(program) => self.consider(origin, &program),
                None => self.reject(origin, "not there".to_owned()),
            };
            if found.is_some() {
                return found;
            }
        }
        let package = provision::importable(self.env);
        match package {
            Ok(program) => {
                if let Some(clang) = self.consider(Origin::PythonPackage, &program) {
                    return Some(clang);
                }
            }
            Err(reason) => {
                self.reject(Origin::PythonPackage, reason);
            }
        }
        match provision::provisioned(self.env) {
            Ok(program) => self.consider(Origin::Provisioned, &program),
            Err(reason) => self.reject(Origin::Provisioned, reason),
        }
    }

    fn rocm(&mut self) -> Option<Clang> {
        for root in &self.env.rocm {
            let programs = ["llvm/bin/clang++", "lib/llvm/bin/clang++"].map(|bin| root.join(bin));
            match programs.iter().find(|program| is_program(program)) {
                Some(program) => {
                    if let Some(clang) = self.consider(Origin::Rocm, program) {
                        return Some(clang);
                    }
                }
                None => {
                    self.reject(Origin::Rocm, format!("no llvm/bin/clang++ in {}", root.display()));
                }
            }
        }
        None
    }

    fn reject(&mut self, origin: Origin, reason: String) -> Option<Clang> {
        self.tried.push(Attempt { place: origin.to_string(), reason });
        None
    }

    /// Takes the candidate if it works, else notes why not.
    fn consider(&mut self, origin: Origin, program: &Path) -> Option<Clang> {
        match accept(self.env, origin, program) {
            Ok(clang) => Some(clang),
            Err(reason) => self.reject(origin, format!("{}: {reason}", program.display())),
        }
    }
}

/// The candidate as a usable compiler, or the reason why it is none.
fn accept(env: &SearchEnv, origin: Origin, program: &Path) -> Result<Clang, String> {
    let is_zig = program
        .file_stem()
        .is_some_and(|stem| stem.to_string_lossy().to_ascii_lowercase().starts_with("zig"));
    let mut clang = Clang {
        program: program.to_owned(),
        subcommand: is_zig.then_some("clang"),
        version: String::new(),
        origin,
        linker: PathBuf::new(),
        linker_dir: None,
        cache_dir: env.cache.clone().unwrap_or_else(env::temp_dir),
    };
    let version = output(clang.command().arg("--version"))?;
    clang.version = version.lines().next().unwrap_or_default().to_owned();
    check_version(&clang.version)?;
    // The driver looks beside itself and on PATH, and prints the bare name if lld is in neither.
    let linker = output(clang.command().arg(format!("-print-prog-name={LLD}")))?;
    clang.linker = PathBuf::from(linker.trim_end());
    if !clang.linker.is_absolute() {
        let dir = rust_lld(env)?;
        clang.linker = dir.join(LLD);
        clang.linker_dir = Some(dir);
    }
    probe(&clang, env)?;
    Ok(clang)
}

/// Whether the first line of `--version` names a clang that is new enough.
fn check_version(line: &str) -> Result<(), String> {
    // Apple counts its versions differently and leaves the AMDGPU target out.
    if line.starts_with("Apple") {
        return Err(format!("`{line}` has no AMDGPU target"));
    }
    let major = line.split_once("clang version ").and_then(|(_, rest)| {
        rest.split(|c: char| !c.is_ascii_digit()).next()?.parse::<u32>().ok()
    });
    match major {
        Some(major) if major >= OLDEST => Ok(()),
        Some(major) => Err(format!("clang {major} is too old, {OLDEST} is needed")),
        None => Err(format!("`{line}` is not the version of a clang")),
    }
}

/// A folder in which the rust-lld of the active toolchain is called `lld`.
fn rust_lld(env: &SearchEnv) -> Result<PathBuf, String> {
    let no_lld = |reason| format!("it has no lld, and rust-lld cannot serve: {reason}");
    let rustc = env
        .rustc
        .clone()
        .or_else(|| env.on_path("rustc"))
        .ok_or_else(|| no_lld("no rustc on PATH".to_owned()))?;
    let libdir = output(Command::new(&rustc).args(["--print", "target-libdir"]))
        .map_err(|reason| no_lld(format!("{}: {reason}", rustc.display())))?;
    let linker = Path::new(libdir.trim_end())
        .with_file_name("bin")
        .join(format!("rust-lld{}", env::consts::EXE_SUFFIX));
    if !is_program(&linker) {
        return Err(no_lld(format!("{} is missing", linker.display())));
    }
    let cache = env.cache.as_deref().ok_or_else(|| no_lld(NO_CACHE.to_owned()))?;
    let mut hasher = DefaultHasher::new();
    linker.hash(&mut hasher);
    let dir = cache.join(format!("lld-{:016x}", hasher.finish()));
    // For HIP the driver calls `lld -flavor gnu`, for assembly `ld.lld`.
    for name in [LLD, "ld.lld"] {
        link_program(&linker, &dir.join(format!("{name}{}", env::consts::EXE_SUFFIX)))
            .map_err(|error| no_lld(format!("cannot link to it in {}: {error}", dir.display())))?;
    }
    Ok(dir)
}

/// Why nothing can be kept between builds.
pub(crate) const NO_CACHE: &str = "neither HOME nor XDG_CACHE_HOME says where the cache folder is";

/// Makes `link` a link to `program`, also when other processes do the same just now.
fn link_program(program: &Path, link: &Path) -> std::io::Result<()> {
    if fs::canonicalize(link).ok() == fs::canonicalize(program).ok() {
        return Ok(());
    }
    let dir = link.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(dir)?;
    let staging = tempfile::tempdir_in(dir)?;
    let staged = staging.path().join("link");
    #[cfg(unix)]
    std::os::unix::fs::symlink(program, &staged)?;
    #[cfg(not(unix))]
    fs::copy(program, &staged)?;
    fs::rename(&staged, link)
}

/// Compiles a tiny kernel, unless this very compiler has passed before.
fn probe(clang: &Clang, env: &SearchEnv) -> Result<(), String> {
    let arch = Arch::Gfx950;
    let key = clang.identity() + "\n";
    let mut hasher = DefaultHasher::new();
    key.hash(&mut hasher);
    let note = env.cache.as_ref().map(|dir| dir.join(format!("probe-{:016x}", hasher.finish())));
    if let Some(note) = &note
        && fs::read_to_string(note).is_ok_and(|passed| passed == key)
    {
        return Ok(());
    }
    let text = |error: BuildError| error.to_string();
    let dir = scratch_dir().map_err(text)?;
    let source = dir.path().join("probe.hip");
    fs::write(&source, PROBE).map_err(|error| error.to_string())?;
    let image = dir.path().join("probe.hsaco");
    let args = clang.hip_args(arch, &CompileOptions::default()).map_err(text)?;
    clang
        .compile_file(&source, arch, &args, &image)
        .map_err(|error| format!("cannot compile for {arch}: {}", text(error).trim_end()))?;
    let is_elf = fs::read(&image).is_ok_and(|image| image.starts_with(b"\x7fELF"));
    if !is_elf {
        return Err(format!("writes no code object for {arch}"));
    }
    if let Some(note) = note {
        // Only saves the next process this check, so a failure to write it down does not matter.
        let _ = fs::create_dir_all(note.parent().unwrap_or(Path::new(".")))
            .and_then(|()| fs::write(&note, &key));
    }
    Ok(())
}

/// What `command` prints, or in one line why it fails.
pub(crate) fn output(command: &mut Command) -> Result<String, String> {
    let output = run(command).map_err(|error| match error {
        BuildError::Spawn { source, .. } => format!("cannot be run: {source}"),
        other => other.to_string(),
    })?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let messages = String::from_utf8_lossy(&output.stderr);
    let last = messages.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("no message");
    Err(format!("failed ({}): {last}", output.status))
}

/// Whether `path` is a file that may be run.
pub(crate) fn is_program(path: &Path) -> bool {
    let Ok(meta) = fs::metadata(path) else { return false };
    #[cfg(unix)]
    let runnable = std::os::unix::fs::PermissionsExt::mode(&meta.permissions()) & 0o111 != 0;
    #[cfg(not(unix))]
    let runnable = true;
    meta.is_file() && runnable
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_from_every_vendor() {
        for line in [
            "clang version 22.1.8",
            "Debian clang version 20.1.0 (++20250304)",
            "AMD clang version 20.0.0git (https://example.org roc-7.0.0 25000)",
        ] {
            assert_eq!(check_version(line), Ok(()), "{line}");
        }
        for (line, reason) in [
            ("clang version 19.1.7", "clang 19 is too old, 20 is needed"),
            ("Apple clang version 21.0.0", "no AMDGPU target"),
            ("gcc (GCC) 14.2.0", "not the version of a clang"),
            ("", "not the version of a clang"),
        ] {
            let got = check_version(line).unwrap_err();
            assert!(got.contains(reason), "{line}: {got}");
        }
    }
}
