//! The choice of tile configurations on a thread, watched and directed: for programs that look for better
//! ones, such as `hipkittens tune`.

use std::cell::RefCell;

use super::{Kernel, SelectError, TileConfig, values};
use crate::scoped::{Notes, note, with_notes, with_value};

thread_local! {
    /// What [`record_choices`] has seen on this thread so far, while it runs.
    static RECORD: Notes<Choice> = const { RefCell::new(None) };
    /// What kernels that have it take on this thread, while [`with_tile`] runs.
    static DIRECTED: RefCell<Option<&'static TileConfig>> = const { RefCell::new(None) };
}

/// That a kernel was to serve a problem in one of its tile configurations.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    /// The kernel crate.
    pub package: &'static str,
    /// The kernel.
    pub kernel: &'static Kernel,
    /// The problem: values of dimensions.
    pub problem: Vec<(String, u64)>,
    /// What was chosen.
    pub tile: &'static TileConfig,
}

impl Choice {
    /// The kernel's tile configurations whose conditions the problem meets.
    pub fn candidates(&self) -> impl Iterator<Item = &'static TileConfig> {
        let value =
            |dim: &str| self.problem.iter().find(|(name, _)| *name == dim).map(|(_, value)| *value);
        self.kernel.tiles.iter().filter(move |tile| tile.serves(value))
    }
}

/// Runs `work`, and tells which tile configurations this thread chose meanwhile, in order; those that a
/// caller named are not chosen. Of nested calls, the inner one takes its choices for itself.
pub fn record_choices<R>(work: impl FnOnce() -> R) -> (R, Vec<Choice>) {
    with_notes(&RECORD, work)
}

/// Runs `work`, while the kernel that has this tile configuration takes it on this thread for problems that
/// meet its conditions, whatever it would choose. An op may refuse it: which problems a tile configuration
/// serves can depend on more than its conditions. Of nested calls, the inner one counts.
pub fn with_tile<R>(tile: &'static TileConfig, work: impl FnOnce() -> R) -> R {
    with_value(&DIRECTED, Some(tile), work).0
}

/// What the kernel is to take, if [`with_tile`] says so, or else what `choose` does, which is noted.
pub(super) fn choose(
    package: &'static str,
    kernel: &'static Kernel,
    problem: &[(&str, u64)],
    choose: impl FnOnce() -> Result<&'static TileConfig, SelectError>,
) -> Result<&'static TileConfig, SelectError> {
    let of_kernel = |tile: &TileConfig| {
        let is_it = |own: &&TileConfig| own.symbol == tile.symbol && kernel.arch == tile.image.arch;
        kernel.tiles.iter().find(is_it)
    };
    let directed = DIRECTED.with_borrow(|tile| tile.and_then(of_kernel));
    let directed = directed.filter(|tile| tile.serves(values(problem)));
    let tile = directed.map_or_else(choose, Ok)?;
    note(&RECORD, || {
        let problem = problem.iter().map(|(dim, value)| ((*dim).to_owned(), *value));
        Choice { package, kernel, problem: problem.collect(), tile }
    });
    Ok(tile)
}
