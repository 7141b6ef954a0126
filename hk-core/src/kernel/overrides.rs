//! The user's own choice of tile configurations: a file that the environment variable
//! `HIPKITTENS_TILES` names.
//!
//! For each kernel that the file lists, its tiles replace the built-in table: they are tried in the order of the
//! file, with the conditions of the file, and tiles that are not listed are not taken, unless `otherwise` leaves
//! all other problems to the built-in choice. The keys are those of the `tiles/*.toml` of the kernel crates,
//! reduced to what can be chosen after compilation.
//!
//! The conditions of the file come on top of the tile's own, which say what it can do: for a problem that a tile
//! does not serve, its rule is passed over.
//!
//! ```toml
//! [[kernel]]
//! package = "hk-gemm"       # the kernel crate
//! arch = "gfx950"
//! core = "a16w16"
//! variant = "bf16"          # left out if the core has only one
//! otherwise = "built-in"    # left out if no other problem is to be served
//!
//! [[kernel.tile]]
//! name = "256x256x64"       # a tile of that kernel; `hipkittens kernels` lists them
//! when = { m = { min = 1024 }, n = { multiple_of = 256 } }
//!
//! [[kernel.tile]]
//! name = "128x128x64"       # without conditions: every other problem that it serves
//! ```
//!
//! `hipkittens tune` writes such files.

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use super::{Kernel, KernelSet, Range, SelectError, TileConfig};
use crate::Arch;

/// The environment variable that names the file.
pub const VARIABLE: &str = "HIPKITTENS_TILES";

/// A parsed file.
#[derive(Clone, Debug)]
pub struct Overrides {
    path: PathBuf,
    kernels: Vec<Entry>,
}

#[derive(Clone, Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    kernel: Vec<Entry>,
}

#[derive(Clone, Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    package: String,
    arch: String,
    core: String,
    #[serde(default)]
    variant: String,
    otherwise: Option<Otherwise>,
    tile: Vec<Rule>,
}

/// Who chooses for problems that no rule is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
enum Otherwise {
    #[serde(rename = "built-in")]
    BuiltIn,
}

#[derive(Clone, Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Rule {
    name: String,
    #[serde(default)]
    when: BTreeMap<String, Range>,
}

/// What is wrong with a user's tile file.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TileFileError {
    /// The file cannot be read.
    #[error("{VARIABLE}: cannot read {}: {reason}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The operating system's reason.
        reason: String,
    },
    /// The file is not a valid list of tiles.
    #[error("{VARIABLE}: {}: {reason}", path.display())]
    Invalid {
        /// The file.
        path: PathBuf,
        /// What is wrong, with its place.
        reason: String,
    },
    /// The file names something that the kernel crate does not have.
    #[error("{VARIABLE}: {}: {package} has no {what} (known: {known})", path.display())]
    Unknown {
        /// The file.
        path: PathBuf,
        /// The kernel crate.
        package: &'static str,
        /// What the file names.
        what: String,
        /// What could have been meant.
        known: String,
    },
}

hk_types::debug_is_message!(TileFileError);

/// The file that the environment names, read once; `None` if it names none.
///
/// # Errors
///
/// [`TileFileError`] if the file cannot be read or is invalid.
pub fn from_env() -> Result<Option<&'static Overrides>, TileFileError> {
    static FILE: OnceLock<Result<Option<Overrides>, Arc<TileFileError>>> = OnceLock::new();
    let loaded = FILE.get_or_init(|| match env::var_os(VARIABLE) {
        Some(path) if !path.is_empty() => {
            Overrides::load(Path::new(&path)).map(Some).map_err(Arc::new)
        }
        _ => Ok(None),
    });
    match loaded {
        Ok(overrides) => Ok(overrides.as_ref()),
        Err(error) => Err(TileFileError::clone(error)),
    }
}

impl Overrides {
    /// Reads a file.
    ///
    /// # Errors
    ///
    /// [`TileFileError`] if it cannot be read or is invalid.
    pub fn load(path: &Path) -> Result<Self, TileFileError> {
        let text = fs::read_to_string(path).map_err(|error| TileFileError::Unreadable {
            path: path.to_owned(),
            reason: error.to_string(),
        })?;
        Self::parse(path, &text)
    }

    /// Parses the text of the file `path`.
    ///
    /// # Errors
    ///
    /// [`TileFileError::Invalid`] with the place of the mistake.
    pub fn parse(path: &Path, text: &str) -> Result<Self, TileFileError> {
        let invalid = |reason| TileFileError::Invalid { path: path.to_owned(), reason };
        let file: File =
            toml::from_str(text).map_err(|error| invalid(error.to_string().trim_end().into()))?;
        let key = |entry: &Entry| {
            [&entry.package, &entry.arch, &entry.core, &entry.variant].map(String::clone)
        };
        for (i, entry) in file.kernel.iter().enumerate() {
            let known = |arch: &Arch| arch.name() == entry.arch;
            if !Arch::ALL.iter().any(known) {
                let known = Arch::ALL.map(Arch::name).join(", ");
                return Err(invalid(format!("no architecture `{}` (known: {known})", entry.arch)));
            }
            if file.kernel[..i].iter().any(|earlier| key(earlier) == key(entry)) {
                let [package, arch, core, variant] = key(entry);
                let name = super::kernel_name(&core, &variant);
                return Err(invalid(format!("{package}: {name} for {arch} is listed twice")));
            }
        }
        Ok(Self { path: path.to_owned(), kernels: file.kernel })
    }

    /// Checks that the file speaks of none but these packages.
    ///
    /// # Errors
    ///
    /// [`TileFileError::Invalid`] naming the first other one.
    pub fn check_packages(&self, known: &[&str]) -> Result<(), TileFileError> {
        let other = |entry: &&Entry| !known.contains(&entry.package.as_str());
        self.kernels.iter().find(other).map_or(Ok(()), |entry| {
            let reason = format!("no package `{}` (known: {})", entry.package, known.join(", "));
            Err(TileFileError::Invalid { path: self.path.clone(), reason })
        })
    }

    /// Checks that everything that the file says about the crate of `set` exists, for those
    /// architectures that the crate was built for.
    ///
    /// # Errors
    ///
    /// [`TileFileError::Unknown`] naming the first kernel, tile or dimension that does not.
    pub fn check(&self, set: &KernelSet) -> Result<(), TileFileError> {
        for entry in self.kernels.iter().filter(|entry| entry.package == set.package) {
            let built = || set.kernels.iter().filter(|kernel| kernel.arch == entry.arch);
            if built().next().is_none() {
                continue;
            }
            let Some(kernel) = set.kernel(&entry.arch, &entry.core, &entry.variant) else {
                let name = super::kernel_name(&entry.core, &entry.variant);
                let known: Vec<_> = built().map(Kernel::name).collect();
                return Err(self.unknown(
                    set,
                    format!("kernel `{name}` for {}", entry.arch),
                    known,
                ));
            };
            for rule in &entry.tile {
                if kernel.tile(&rule.name).is_none() {
                    let known = kernel.tiles.iter().map(|tile| tile.name.to_owned()).collect();
                    let what = format!("tile `{}` of `{}`", rule.name, kernel.name());
                    return Err(self.unknown(set, what, known));
                }
                if let Some(dim) = rule.when.keys().find(|dim| !kernel.dims.contains(&dim.as_str()))
                {
                    let known = kernel.dims.iter().map(|&dim| dim.to_owned()).collect();
                    let what = format!("dimension `{dim}` of `{}`", kernel.name());
                    return Err(self.unknown(set, what, known));
                }
            }
        }
        Ok(())
    }

    /// The tile for a problem by the file's rules and the conditions of the tiles themselves, if it lists
    /// the kernel.
    pub(super) fn select(
        &self,
        set: &KernelSet,
        kernel: &'static Kernel,
        problem: &[(&str, u64)],
    ) -> Result<Option<&'static TileConfig>, SelectError> {
        self.check(set)?;
        let entry = self.kernels.iter().find(|entry| {
            entry.package == set.package
                && entry.arch == kernel.arch
                && entry.core == kernel.core
                && entry.variant == kernel.variant
        });
        let Some(entry) = entry else { return Ok(None) };
        let rules: Vec<(&'static TileConfig, Vec<(&str, Range)>)> = entry
            .tile
            .iter()
            .filter_map(|rule| {
                let tile = kernel.tile(&rule.name)?;
                let users = rule.when.iter().map(|(dim, range)| (dim.as_str(), *range));
                Some((tile, tile.when.iter().copied().chain(users).collect()))
            })
            .collect();
        let rules = rules.iter().map(|(tile, when)| (*tile, when.as_slice()));
        match kernel.first_serving(rules, problem) {
            Err(SelectError::NoTile { .. }) if entry.otherwise == Some(Otherwise::BuiltIn) => {
                Ok(None)
            }
            chosen => chosen.map(Some),
        }
    }

    fn unknown(&self, set: &KernelSet, what: String, known: Vec<String>) -> TileFileError {
        TileFileError::Unknown {
            path: self.path.clone(),
            package: set.package,
            what,
            known: known.join(", "),
        }
    }
}
