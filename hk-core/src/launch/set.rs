//! From a kernel crate's embedded tables to a function that can be launched.

use std::cell::RefCell;
use std::fmt;

use super::{Function, KernelArgs, LaunchConfig, Module};
use crate::kernel::{CodeObjectImage, KernelSet, SelectError, TileConfig};
use crate::scoped::{Notes, note, with_notes, with_value};
use crate::{Arch, Device, Error, Result, Stream};

thread_local! {
    /// What [`record_tiles`] has seen on this thread so far, while it runs.
    static RECORD: Notes<&'static TileConfig> = const { RefCell::new(None) };
    /// Modules that launches on this thread take instead of the embedded code at these addresses.
    static SUBSTITUTES: RefCell<Vec<(*const u8, Module)>> = const { RefCell::new(Vec::new()) };
}

/// Runs `work`; what this thread launches meanwhile on `device` of the kernels in one of the images
/// takes the code object beside it instead. For experiments with changed code; of nested calls, the
/// inner one counts.
///
/// # Errors
/// As [`Module::load`] with the code objects; `work` was not run then.
pub fn with_code<R>(
    device: &Device,
    codes: &[&(CodeObjectImage, Vec<u8>)],
    work: impl FnOnce() -> R,
) -> Result<R> {
    let load = |(image, code): &(CodeObjectImage, Vec<u8>)| {
        Ok((image.packed.as_ptr(), Module::load(device, code)?))
    };
    let modules = codes.iter().map(|code| load(code)).collect::<Result<_>>()?;
    Ok(with_value(&SUBSTITUTES, modules, work).0)
}

/// The module that is to be taken instead of an embedded one.
fn substitute(device: &Device, tile: &TileConfig) -> Option<Module> {
    SUBSTITUTES.with_borrow(|substitutes| {
        let is_it = |(image, module): &&(*const u8, Module)| {
            *image == tile.image.packed.as_ptr() && module.device() == device
        };
        substitutes.iter().find(is_it).map(|(_, module)| module.clone())
    })
}

/// Runs `work`, and tells which tile configurations this thread launched meanwhile, in order. For
/// reports about what an op chose; of nested calls, the inner one takes its launches for itself.
pub fn record_tiles<R>(work: impl FnOnce() -> R) -> (R, Vec<&'static TileConfig>) {
    with_notes(&RECORD, work)
}

/// A kernel in the tile configuration that serves a problem, ready to be launched.
pub struct TileFunction<A> {
    function: Function<A>,
    tile: &'static TileConfig,
}

impl KernelSet {
    /// The kernel of that core and variant for the device, in the tile configuration that serves
    /// the problem. Its code object is loaded at the first use on the device.
    ///
    /// # Errors
    /// [`Error::NoCodeObject`] if the binary holds none for the device's architecture,
    /// [`Error::NoTile`] if no configuration serves the problem, [`Error::TileFile`] if the user's
    /// file is wrong, [`Error::NoKernel`] and [`Error::Layout`] as [`Module::function`].
    pub fn function<A: KernelArgs>(
        &self,
        device: &Device,
        op: &'static str,
        core: &str,
        variant: &str,
        problem: &[(&str, u64)],
    ) -> Result<TileFunction<A>> {
        let arch = device.arch();
        let tile = self
            .select(arch.name(), core, variant, problem)
            .map_err(|error| selection_error(op, arch, error))?;
        tracing::debug!(op, kernel = tile.symbol, ?problem, "kernel selected");
        TileFunction::open(device, tile)
    }

    /// As [`function`](Self::function), in the tile configuration with the highest `score`; see
    /// [`select_best`](Self::select_best).
    ///
    /// # Errors
    /// As [`function`](Self::function).
    pub fn best_function<A: KernelArgs>(
        &self,
        device: &Device,
        op: &'static str,
        core: &str,
        variant: &str,
        problem: &[(&str, u64)],
        score: impl Fn(&TileConfig) -> f64,
    ) -> Result<TileFunction<A>> {
        let arch = device.arch();
        let tile = self
            .select_best(arch.name(), core, variant, problem, score)
            .map_err(|error| selection_error(op, arch, error))?;
        tracing::debug!(op, kernel = tile.symbol, ?problem, "kernel selected");
        TileFunction::open(device, tile)
    }

    /// As [`function`](Self::function), in the tile configuration of that name.
    ///
    /// # Errors
    /// As [`function`](Self::function); [`Error::NoTile`] names those that there are.
    pub fn named_function<A: KernelArgs>(
        &self,
        device: &Device,
        op: &'static str,
        core: &str,
        variant: &str,
        tile: &str,
    ) -> Result<TileFunction<A>> {
        let arch = device.arch();
        let kernel = self
            .require(arch.name(), core, variant)
            .map_err(|error| selection_error(op, arch, error))?;
        let config = kernel.tile(tile).ok_or_else(|| {
            let names: Vec<_> = kernel.tiles.iter().map(|tile| tile.name).collect();
            Error::NoTile { op, problem: format!("`{tile}`"), arch, nearest: names.join(", ") }
        })?;
        TileFunction::open(device, config)
    }
}

fn selection_error(op: &'static str, arch: Arch, error: SelectError) -> Error {
    match error {
        SelectError::NoArch { .. } => Error::NoCodeObject { op, arch, feature: arch.feature() },
        SelectError::NoTile { problem, nearest, .. } => {
            Error::NoTile { op, problem, arch, nearest }
        }
        SelectError::TileFile(source) => Error::TileFile(source),
        SelectError::NoKernel { kernel, .. } => {
            Error::NoKernel { kernel, available: vec![format!("none for {arch}")] }
        }
        SelectError::MissingDim { dim, .. } => {
            Error::value(op, "problem", format!("given with the dimension `{dim}`"), "none")
        }
    }
}

impl<A: KernelArgs> TileFunction<A> {
    /// Loads the code object of a tile configuration, at its first use on the device.
    fn open(device: &Device, tile: &'static TileConfig) -> Result<Self> {
        let module = match substitute(device, tile) {
            Some(module) => module,
            None => Module::embedded(device, tile.image)?,
        };
        Ok(Self { function: module.function(tile.symbol)?, tile })
    }

    /// The tile configuration.
    pub fn tile(&self) -> &'static TileConfig {
        self.tile
    }

    /// Launches a grid of workgroups of the tile configuration's size and LDS.
    ///
    /// # Safety
    /// As [`Function::launch`].
    ///
    /// # Errors
    /// As [`Function::launch`].
    pub unsafe fn launch(&self, stream: &Stream, grid: [u32; 3], args: &A) -> Result<()> {
        let config = LaunchConfig {
            grid,
            block: [self.tile.threads, 1, 1],
            dynamic_lds_bytes: self.tile.dynamic_lds,
        };
        // SAFETY: passed on to the caller.
        unsafe { self.function.launch(stream, config, args) }?;
        note(&RECORD, || self.tile);
        Ok(())
    }
}

impl<A> Clone for TileFunction<A> {
    fn clone(&self) -> Self {
        Self { function: self.function.clone(), tile: self.tile }
    }
}

impl<A> fmt::Debug for TileFunction<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("TileFunction").field(&self.tile.symbol).finish()
    }
}
