//! What a kernel crate's build embeds: its code objects, their resources, and the table from which
//! the host chooses a tile configuration; and how argument structs lie in memory.
//!
//! The values are written by hk-build into a file that the kernel crate includes; host code only
//! reads them. The tables are constants.

mod args;
mod choice;
pub mod overrides;

use std::fmt::{self, Write as _};

pub use args::{ArgField, ArgKind, ArgLayout, ArgPlace, ArgType, Pointee};
pub use choice::{Choice, record_choices, with_tile};
pub use hk_types::Range;
use miniz_oxide::inflate::decompress_to_vec_zlib_with_limit;
pub use overrides::TileFileError;

use crate::{Error, Result};

/// Everything that the build of one kernel crate embeds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KernelSet {
    /// The crate, such as `hk-norm`.
    pub package: &'static str,
    /// One entry per kernel and architecture.
    pub kernels: &'static [Kernel],
}

/// A kernel of one architecture: one core and variant in all its tile configurations.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Kernel {
    /// The architecture, such as `gfx950`.
    pub arch: &'static str,
    /// The core, whose device code is in `kernels/FAMILY.hip` and whose tiles in `tiles/FAMILY.toml`.
    pub core: &'static str,
    /// What sets it apart in its core, such as an element type. Empty if it is the only one.
    pub variant: &'static str,
    /// The problem dimensions that decide which tile configuration serves.
    pub dims: &'static [&'static str],
    /// The tile configurations. The first that serves a problem is taken.
    pub tiles: &'static [TileConfig],
}

/// One compiled tile configuration of a kernel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TileConfig {
    /// The name, unique in its kernel.
    pub name: &'static str,
    /// The kernel's symbol in the code object.
    pub symbol: &'static str,
    /// The code object that holds it.
    pub image: CodeObjectImage,
    /// Work-items of a workgroup.
    pub threads: u32,
    /// Bytes of LDS that a launch has to ask for, besides what the kernel declares statically.
    pub dynamic_lds: u32,
    /// The parameters that the kernel was instantiated with, and those that only the host reads.
    pub params: &'static [(&'static str, Param)],
    /// The problems that it serves: every dimension named has to be in its range.
    pub when: &'static [(&'static str, Range)],
    /// What it occupies of a compute unit.
    pub resources: Resources,
}

/// A linked code object with its line tables, packed.
#[derive(Clone, Copy, PartialEq)]
pub struct CodeObjectImage {
    /// The architecture that it was compiled for.
    pub arch: &'static str,
    /// The ELF file as a zlib stream.
    pub packed: &'static [u8],
    /// Bytes of the ELF file.
    pub size: usize,
}

impl CodeObjectImage {
    /// The ELF file, as the HIP runtime loads it.
    ///
    /// # Errors
    /// [`Error::CodeObject`] if `packed` is not a stream of `size` bytes.
    pub fn unpack(&self) -> Result<Vec<u8>> {
        let unpacked = decompress_to_vec_zlib_with_limit(self.packed, self.size).ok();
        unpacked.filter(|bytes| bytes.len() == self.size).ok_or_else(|| Error::CodeObject {
            reason: format!("the embedded one for {} is damaged", self.arch),
        })
    }
}

impl fmt::Debug for CodeObjectImage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { arch, packed, size } = self;
        write!(f, "CodeObjectImage {{ arch: {arch}, {size} bytes in {} }}", packed.len())
    }
}

/// What a kernel occupies, from its code object's metadata.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Resources {
    /// Bytes of LDS that the kernel declares.
    pub static_lds: u32,
    /// Vector registers of a lane, both kinds together.
    pub vgprs: u32,
    /// The accumulation registers among them.
    pub agprs: u32,
    /// Scalar registers of a wave.
    pub sgprs: u32,
    /// Vector registers that the compiler had to spill.
    pub vgpr_spills: u32,
    /// Scalar registers that the compiler had to spill.
    pub sgpr_spills: u32,
    /// Bytes of scratch memory per work-item.
    pub scratch: u32,
    /// Waves of this kernel that fit on one SIMD, by its registers and LDS.
    pub waves_per_simd: u32,
}

/// A parameter that a kernel was instantiated with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Param {
    /// A number, such as a block size.
    Int(i64),
    /// A switch.
    Bool(bool),
    /// A C++ type.
    Type(&'static str),
}

impl KernelSet {
    /// The kernel of that core and variant for `arch`, such as `gfx950`.
    pub fn kernel(&self, arch: &str, core: &str, variant: &str) -> Option<&'static Kernel> {
        self.kernels
            .iter()
            .find(|kernel| kernel.arch == arch && kernel.core == core && kernel.variant == variant)
    }

    /// The tile configuration that serves the problem on `arch`: the first whose conditions all
    /// hold. The file that the environment variable `HIPKITTENS_TILES` names is asked first (see
    /// [`overrides`]).
    ///
    /// # Errors
    ///
    /// [`SelectError`] if there is no such kernel, no configuration serves the problem, or the
    /// user's file is wrong.
    pub fn select(
        &self,
        arch: &str,
        core: &str,
        variant: &str,
        problem: &[(&str, u64)],
    ) -> Result<&'static TileConfig, SelectError> {
        self.select_or(arch, core, variant, problem, |kernel| kernel.select(problem))
    }

    /// The tile configuration with the highest `score` of those whose conditions all hold, for
    /// kernels whose choice depends on more than ranges of dimensions; the earlier one if two are
    /// equal. A user's file goes before it, as in [`select`](Self::select).
    ///
    /// # Errors
    ///
    /// As [`select`](Self::select).
    pub fn select_best(
        &self,
        arch: &str,
        core: &str,
        variant: &str,
        problem: &[(&str, u64)],
        score: impl Fn(&TileConfig) -> f64,
    ) -> Result<&'static TileConfig, SelectError> {
        self.select_or(arch, core, variant, problem, |kernel| {
            let mut best: Option<(f64, &'static TileConfig)> = None;
            for tile in kernel.tiles.iter().filter(|tile| tile.serves(values(problem))) {
                let score = score(tile);
                if best.is_none_or(|(highest, _)| score > highest) {
                    best = Some((score, tile));
                }
            }
            // Without a tile, `select` says why.
            best.map_or_else(|| kernel.select(problem), |(_, tile)| Ok(tile))
        })
    }

    /// The kernel of that name.
    ///
    /// # Errors
    ///
    /// [`SelectError::NoArch`] or [`SelectError::NoKernel`] if there is none.
    pub fn require(
        &self,
        arch: &str,
        core: &str,
        variant: &str,
    ) -> Result<&'static Kernel, SelectError> {
        self.kernel(arch, core, variant).ok_or_else(|| {
            let kernel = kernel_name(core, variant);
            if self.kernels.iter().any(|known| known.arch == arch) {
                SelectError::NoKernel { package: self.package, arch: arch.to_owned(), kernel }
            } else {
                SelectError::NoArch { package: self.package, arch: arch.to_owned(), kernel }
            }
        })
    }

    fn select_or(
        &self,
        arch: &str,
        core: &str,
        variant: &str,
        problem: &[(&str, u64)],
        built_in: impl FnOnce(&'static Kernel) -> Result<&'static TileConfig, SelectError>,
    ) -> Result<&'static TileConfig, SelectError> {
        let kernel = self.require(arch, core, variant)?;
        choice::choose(self.package, kernel, problem, || {
            let chosen = match overrides::from_env()? {
                Some(overrides) => overrides.select(self, kernel, problem)?,
                None => None,
            };
            chosen.map_or_else(|| built_in(kernel), Ok)
        })
    }
}

impl Kernel {
    /// The name in messages: core and variant.
    pub fn name(&self) -> String {
        kernel_name(self.core, self.variant)
    }

    /// The tile configuration called `name`.
    pub fn tile(&self, name: &str) -> Option<&'static TileConfig> {
        self.tiles.iter().find(|tile| tile.name == name)
    }

    /// The first tile configuration that serves the problem, without regard to a user's file.
    ///
    /// # Errors
    ///
    /// [`SelectError::NoTile`] if there is none, [`SelectError::MissingDim`] if `problem` lacks a
    /// dimension that decides.
    pub fn select(&self, problem: &[(&str, u64)]) -> Result<&'static TileConfig, SelectError> {
        let rules = self.tiles.iter().map(|tile| (tile, tile.when));
        self.first_serving(rules, problem)
    }

    /// The tile of the first rule whose conditions all hold.
    fn first_serving<'r>(
        &self,
        rules: impl Iterator<Item = (&'static TileConfig, &'r [(&'r str, Range)])>,
        problem: &[(&str, u64)],
    ) -> Result<&'static TileConfig, SelectError> {
        let value = values(problem);
        if let Some(dim) = self.dims.iter().find(|dim| value(dim).is_none()) {
            return Err(SelectError::MissingDim { kernel: self.name(), dim });
        }
        let mut nearest: Option<(usize, String)> = None;
        for (tile, when) in rules {
            let broken = || {
                when.iter().filter(|(dim, range)| !value(dim).is_some_and(|v| range.contains(v)))
            };
            let count = broken().count();
            if count == 0 {
                return Ok(tile);
            }
            if nearest.as_ref().is_none_or(|(least, _)| count < *least) {
                nearest = Some((count, format!("{}: {}", tile.name, conditions(broken()))));
            }
        }
        let nearest = nearest.map_or_else(|| "there is none".to_owned(), |(_, text)| text);
        let mut text = String::new();
        for (i, (dim, value)) in problem.iter().enumerate() {
            let comma = if i == 0 { "" } else { ", " };
            // Writing to a string cannot fail.
            let _ = write!(text, "{comma}{dim} = {value}");
        }
        let (kernel, arch) = (self.name(), self.arch);
        Err(SelectError::NoTile { kernel, arch, problem: text, nearest })
    }
}

impl TileConfig {
    /// The integer parameter called `name`, such as a block size.
    pub fn int(&self, name: &str) -> Option<i64> {
        self.params.iter().find_map(|(param, value)| match value {
            Param::Int(value) if *param == name => Some(*value),
            _ => None,
        })
    }

    /// The parameter of that name, if it is true or false.
    pub fn flag(&self, name: &str) -> Option<bool> {
        self.params.iter().find_map(|(param, value)| match value {
            Param::Bool(value) if *param == name => Some(*value),
            _ => None,
        })
    }

    /// Whether all its conditions hold for these values of dimensions.
    fn serves(&self, value: impl Fn(&str) -> Option<u64>) -> bool {
        self.when.iter().all(|(dim, range)| value(dim).is_some_and(|v| range.contains(v)))
    }

    /// Bytes of LDS that a workgroup occupies, static and dynamic together.
    pub const fn lds(&self) -> u32 {
        self.resources.static_lds + self.dynamic_lds
    }
}

/// Why there is no tile configuration for a problem.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SelectError {
    /// The binary holds no kernels of this crate for the architecture.
    #[error("{kernel}: {package} was built without kernels for {arch}")]
    NoArch {
        /// The crate.
        package: &'static str,
        /// The architecture.
        arch: String,
        /// The kernel that was asked for.
        kernel: String,
    },
    /// The architecture has kernels, but not this one.
    #[error("{kernel}: {package} has no such kernel for {arch}")]
    NoKernel {
        /// The crate.
        package: &'static str,
        /// The architecture.
        arch: String,
        /// The kernel that was asked for.
        kernel: String,
    },
    /// The problem lacks a dimension that decides which configuration serves.
    #[error("{kernel}: the problem has no dimension `{dim}`")]
    MissingDim {
        /// The kernel.
        kernel: String,
        /// The dimension.
        dim: &'static str,
    },
    /// No tile configuration serves the problem.
    #[error("{kernel}: no tile configuration for {problem} on {arch} (nearest: {nearest})")]
    NoTile {
        /// The kernel.
        kernel: String,
        /// The architecture.
        arch: &'static str,
        /// The problem's dimensions.
        problem: String,
        /// The configuration with the fewest broken conditions, and these.
        nearest: String,
    },
    /// The user's tile file is wrong.
    #[error(transparent)]
    TileFile(#[from] TileFileError),
}

hk_types::debug_is_message!(SelectError);

fn kernel_name(core: &str, variant: &str) -> String {
    if variant.is_empty() { core.to_owned() } else { format!("{core} {variant}") }
}

/// What a problem says of each dimension.
fn values(problem: &[(&str, u64)]) -> impl Fn(&str) -> Option<u64> {
    move |dim| problem.iter().find(|(name, _)| *name == dim).map(|(_, value)| *value)
}

/// The conditions as text: `m >= 64 and n 1 to 8, a multiple of 2`.
fn conditions<'r>(broken: impl Iterator<Item = &'r (&'r str, Range)>) -> String {
    let broken: Vec<_> = broken.map(|(dim, range)| format!("{dim} {range}")).collect();
    format!("needs {}", broken.join(" and "))
}

#[cfg(test)]
mod tests;
