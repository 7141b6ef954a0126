//! Running a found clang: HIP C++ to a linked code object.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::LazyLock;

use hk_types::Arch;

use crate::discover::{Origin, clang};
use crate::error::BuildError;
use crate::maker::{Maker, Wanted};
use crate::objects::ObjectCache;

/// The target triple of AMD GPU code on the HSA runtime.
pub(crate) const TRIPLE: &str = "amdgcn-amd-amdhsa";

/// Defined for every kernel. It is the last of our arguments, behind which `cc` appends `CXXFLAGS`.
const MARKER: (&str, &str) = ("HIPKITTENS", "1");

/// A clang that compiles and links for AMD GPUs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Clang {
    pub(crate) program: PathBuf,
    /// Arguments that make `program` behave as clang: `clang` for zig, otherwise none.
    pub(crate) subcommand: Option<&'static str>,
    pub(crate) version: String,
    pub(crate) origin: Origin,
    /// The linker that clang brings.
    pub(crate) linker: PathBuf,
    /// A folder with a linker named `lld`, where clang does not bring its own.
    pub(crate) linker_dir: Option<PathBuf>,
    /// Where zig may keep files, so that it leaves none in the source tree.
    pub(crate) cache_dir: PathBuf,
}

impl Clang {
    /// The program that is run.
    pub fn program(&self) -> &Path {
        &self.program
    }

    /// The first line that the compiler prints about its version.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// Where the compiler was found.
    pub fn origin(&self) -> Origin {
        self.origin
    }

    /// The folder with the linker, where it is not the compiler's own.
    pub fn linker_dir(&self) -> Option<&Path> {
        self.linker_dir.as_deref()
    }

    /// Tells this compiler, with its linker, from every other, for use in cache keys.
    pub fn identity(&self) -> String {
        let stamp = |path: &Path| {
            let stamp = fs::metadata(path).and_then(|file| {
                let modified = file.modified()?;
                Ok(format!("{} {modified:?}", file.len()))
            });
            // A program whose file cannot be read is told apart by its path alone.
            format!("{} {}", path.display(), stamp.unwrap_or_default())
        };
        format!("{} {} {}", self.version, stamp(&self.program), stamp(&self.linker))
    }

    /// A command that runs the compiler with no arguments yet.
    pub fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command
            .args(self.subcommand)
            .env("LC_ALL", "C")
            .env("ZIG_GLOBAL_CACHE_DIR", self.cache_dir.join("zig"))
            .env("ZIG_LOCAL_CACHE_DIR", self.cache_dir.join("zig"));
        for name in HIDDEN_INPUTS {
            command.env_remove(name);
        }
        if let Some(dir) = &self.linker_dir {
            // clang looks for `lld` in the folders that -B names before it looks at PATH.
            let mut prefix = OsString::from("-B");
            prefix.push(dir);
            command.arg(prefix);
        }
        command
    }

    /// The arguments that compile HIP C++ for `arch` with `options` into a linked code object.
    ///
    /// The crate `cc` puts them in order. Its own compile loop is not used: it gives all files the
    /// same arguments, while each of ours has a dependency file of its own.
    pub(crate) fn hip_args(
        &self,
        arch: Arch,
        options: &CompileOptions,
    ) -> Result<Vec<OsString>, BuildError> {
        let setup = |error: cc::Error| BuildError::Setup {
            program: self.program.clone(),
            reason: error.to_string(),
        };
        // Clones share what was found out about compilers, which takes several processes.
        static BASE: LazyLock<cc::Build> = LazyLock::new(cc::Build::new);
        let mut build = BASE.clone();
        build
            .cargo_metadata(false)
            .cargo_warnings(false)
            .inherit_rustflags(false)
            .no_default_flags(true)
            .warnings(true)
            .extra_warnings(false)
            .opt_level(3)
            .cpp(true)
            .compiler(&self.program)
            .target(TRIPLE)
            // Only compared with the target, to know that this is a cross compilation.
            .host("x86_64-unknown-linux-gnu")
            .flags(["-x", "hip"])
            .flag(format!("--offload-arch={arch}"))
            .flags(HIP_FLAGS);
        for include in &options.includes {
            build.include(include);
        }
        for root in &options.roots {
            let mut map = OsString::from("-ffile-prefix-map=");
            map.push(root);
            map.push("=.");
            build.flag(map);
        }
        build.flags(&options.flags);
        for (name, value) in &options.defines {
            build.define(name, value.as_str());
        }
        build.define(MARKER.0, MARKER.1);
        let tool = build.try_get_compiler().map_err(setup)?;
        // CXXFLAGS are meant for the host (say `-march=native`): clang would refuse them here.
        let marker = OsString::from(format!("-D{}={}", MARKER.0, MARKER.1));
        let ours = tool.args().iter().take_while(|arg| **arg != marker);
        Ok(ours.cloned().chain([marker.clone()]).collect())
    }

    /// Compiles the HIP source file `source` with `args`, of [`Clang::hip_args`] and what comes on
    /// top, into the linked code object `output`.
    pub(crate) fn compile_file(
        &self,
        source: &Path,
        arch: Arch,
        args: &[OsString],
        output: &Path,
    ) -> Result<Compiled, BuildError> {
        let depfile = output.with_extension("d");
        let mut command = self.command();
        command.args(args);
        // The driver drops -MD for offload compilations, so the front end is asked directly.
        for arg in [OsStr::new("-dependency-file"), depfile.as_os_str(), "-MT".as_ref()] {
            command.arg("-Xclang").arg(arg);
        }
        command.args(["-Xclang", "kernel"]).arg(source).arg("-o").arg(output);
        let result = run(&mut command)?;
        let messages = String::from_utf8_lossy(&result.stderr).into_owned();
        if !result.status.success() {
            let source_name = source.display().to_string();
            return Err(BuildError::Compile { source_name, arch, messages });
        }
        let rules = fs::read_to_string(&depfile).map_err(BuildError::io("read", &depfile))?;
        let printed = result.stdout;
        Ok(Compiled { dependencies: parse_depfile(&rules), warnings: messages, printed })
    }
}

/// What a compilation made besides its code object.
#[derive(Debug)]
pub(crate) struct Compiled {
    pub(crate) dependencies: Vec<PathBuf>,
    pub(crate) warnings: String,
    /// What the compiler wrote to its standard output.
    pub(crate) printed: Vec<u8>,
}

/// Variables by which clang adds to its arguments. Their values are meant for the host.
const HIDDEN_INPUTS: [&str; 4] =
    ["CCC_OVERRIDE_OPTIONS", "COMPILER_PATH", "CPATH", "CPLUS_INCLUDE_PATH"];

/// Arguments of every HIP compilation. The host's headers are hidden, so that a kernel that
/// compiles on one machine compiles on all; device libraries are not used.
const HIP_FLAGS: [&str; 12] = [
    "--offload-device-only",
    "--no-gpu-bundle-output",
    "-nogpulib",
    "-nogpuinc",
    "-nostdinc",
    "-nostdinc++",
    "-O3",
    "-std=c++20",
    // Lets a fault name its source line; the code itself is the same with and without it.
    "-gline-tables-only",
    // Otherwise clang puts a hash of the source path into symbol names.
    "-fuse-cuid=none",
    // The same source gives the same code object, whenever and wherever it is compiled.
    "-Werror=date-time",
    "-ffile-compilation-dir=.",
];

/// What a HIP compilation is given besides its source.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CompileOptions {
    pub(crate) includes: Vec<PathBuf>,
    defines: Vec<(String, String)>,
    flags: Vec<OsString>,
    pub(crate) roots: Vec<PathBuf>,
}

impl CompileOptions {
    /// Adds a folder in which `#include` looks.
    #[must_use]
    pub fn include(mut self, dir: impl Into<PathBuf>) -> Self {
        self.includes.push(dir.into());
        self
    }

    /// Defines a macro.
    #[must_use]
    pub fn define(mut self, name: impl Into<String>, value: impl ToString) -> Self {
        self.defines.push((name.into(), value.to_string()));
        self
    }

    /// Adds an argument to the compiler's command line.
    #[must_use]
    pub fn flag(mut self, flag: impl Into<OsString>) -> Self {
        self.flags.push(flag.into());
        self
    }

    /// Writes paths under `root` relative to it in debug information, so that code objects do not
    /// depend on where the sources lie.
    #[must_use]
    pub fn root(mut self, root: impl Into<PathBuf>) -> Self {
        self.roots.push(root.into());
        self
    }
}

/// A compiled kernel file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodeObject {
    /// The linked ELF image, as the HIP runtime loads it.
    pub image: Vec<u8>,
    /// The source and every header that it includes.
    pub dependencies: Vec<PathBuf>,
    /// What the compiler warned of.
    pub warnings: String,
}

/// Compiles the HIP C++ file `source` for `arch` with the compiler that [`clang`] finds, unless the
/// object cache of this process has it.
///
/// # Errors
///
/// [`BuildError::NoCompiler`] without a compiler, [`BuildError::Compile`] with its messages if it
/// refuses the source, [`BuildError::Io`] if a temporary file cannot be written,
/// [`BuildError::Variable`] if no cache is called so.
pub fn compile_hip(
    source: &Path,
    arch: Arch,
    options: &CompileOptions,
) -> Result<CodeObject, BuildError> {
    let maker = Maker::new(clang()?, options, ObjectCache::from_process()?);
    let made = maker.make(source, arch, Wanted::Image)?;
    if made.fresh {
        maker.trim();
    }
    let dependencies = [source.to_owned()].into_iter().chain(made.files).collect();
    Ok(CodeObject { image: made.entry.product(), dependencies, warnings: made.entry.warnings })
}

/// Compiles HIP C++ given as text. See [`compile_hip`].
///
/// # Errors
///
/// As [`compile_hip`].
pub fn compile_source(
    source: &str,
    arch: Arch,
    options: &CompileOptions,
) -> Result<CodeObject, BuildError> {
    let dir = scratch_dir()?;
    let path = dir.path().join("source.hip");
    fs::write(&path, source).map_err(BuildError::io("write", &path))?;
    compile_hip(&path, arch, &options.clone().root(dir.path()))
}

/// A folder that is removed again when dropped.
pub(crate) fn scratch_dir() -> Result<tempfile::TempDir, BuildError> {
    tempfile::Builder::new()
        .prefix("hk-build-")
        .tempdir()
        .map_err(BuildError::io("create a folder in", &std::env::temp_dir()))
}

/// Runs `command` to its end without a terminal, with its output captured.
pub(crate) fn run(command: &mut Command) -> Result<Output, BuildError> {
    command.stdin(Stdio::null()).output().map_err(|source| BuildError::Spawn {
        program: PathBuf::from(command.get_program()),
        source,
    })
}

/// The prerequisites of a make rule as clang writes it: one target, lines continued with a
/// backslash, blanks in names escaped with one, `$` doubled.
fn parse_depfile(text: &str) -> Vec<PathBuf> {
    let Some((_, list)) = text.split_once(": ") else { return Vec::new() };
    let mut names = vec![String::new()];
    let mut chars = list.chars().peekable();
    while let Some(c) = chars.next() {
        let next = chars.peek().copied();
        let escaped = match (c, next) {
            ('\\', Some(' ' | '#')) | ('$', Some('$')) => chars.next(),
            ('\\', Some('\n' | '\r')) => None,
            (c, _) if c.is_whitespace() => None,
            (c, _) => Some(c),
        };
        match escaped {
            Some(c) => names.last_mut().expect("never emptied").push(c),
            None => names.push(String::new()),
        }
    }
    names.into_iter().filter(|name| !name.is_empty()).map(PathBuf::from).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn depfile_names_are_unescaped() {
        let text = "kernel: a.hip \\\n  dir\\ with\\ blanks/b.h \\\r\n  c$$d.h e\\#f.h\n";
        let want = ["a.hip", "dir with blanks/b.h", "c$d.h", "e#f.h"].map(PathBuf::from);
        assert_eq!(parse_depfile(text), want);
        assert_eq!(parse_depfile(""), Vec::<PathBuf>::new());
    }
}
