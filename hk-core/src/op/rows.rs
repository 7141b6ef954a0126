//! Arguments and launches of row-wise kernels: the host's side of `hk/rows.h`.

use super::{Arguments, Call};
use crate::kernel::{KernelSet, Param, TileConfig};
use crate::{Device, Error, KernelArgs, Result, Stream, TileFunction};

/// Rows of n elements, in any number of dimensions.
pub const ROWS: &[&str] = &["..", "n"];

/// Most rows of an op. Kernels count, in 32 bits, to the rows that follow the last two times that
/// all workgroups together take rows.
const MOST_ROWS: usize = u32::MAX as usize - 2 * MOST_AT_ONCE as usize;

/// Most rows that all workgroups together take at once.
const MOST_AT_ONCE: u32 = 1 << 20;

/// Elements of a chunk, as `hk::chunk`.
const CHUNK: usize = 8;

/// Lanes of a wave, and SIMDs of a compute unit, on all chips.
const WAVE: u32 = 64;
const SIMDS: u32 = 4;

/// Elements between rows that share a wave, at most, if so many lanes have a row: all rows of a wave are
/// addressed in 31 bits, with 4 bytes an element.
const fn near(lanes: u32) -> i64 {
    if lanes < 16 { (lanes as i64) << 23 } else { 1 << 27 }
}

/// How row-wise ops are launched, where the default is not wanted.
#[derive(Debug, Clone, Copy, Default)]
pub struct RowOptions<'a> {
    tile: Option<&'a str>,
    workgroups: Option<u32>,
}

impl<'a> RowOptions<'a> {
    /// Takes the tile configuration of that name, such as `n2048`, instead of the one that is
    /// expected to be fastest.
    #[must_use]
    pub fn tile(mut self, tile: &'a str) -> Self {
        self.tile = Some(tile);
        self
    }

    /// Launches at most so many workgroups, which take the rows in turn, for instance to leave
    /// compute units to other work. As many as are expected to be fastest if not given; 0 is refused with
    /// [`Error::Value`].
    #[must_use]
    pub fn workgroups(mut self, most: u32) -> Self {
        self.workgroups = Some(most);
        self
    }

    /// The tile configuration that is asked for.
    pub const fn chosen_tile(&self) -> Option<&'a str> {
        self.tile
    }

    /// Checks these, and the sizes of arguments of `".."` rows of `"n"` elements, which it gives.
    ///
    /// # Errors
    /// [`Error::Shape`] if there are too many rows or elements of one, or none of these,
    /// [`Error::Value`] for no workgroups.
    pub fn check(&self, args: &Arguments) -> Result<[usize; 2]> {
        self.check_rows(args, "..")
    }

    /// As [`check`](Self::check), where the number of rows has that name.
    ///
    /// # Errors
    /// As [`check`](Self::check).
    pub fn check_rows(&self, args: &Arguments, rows: &'static str) -> Result<[usize; 2]> {
        args.limit("n", 1..=i32::MAX as usize)?;
        args.limit(rows, 0..=MOST_ROWS)?;
        self.check_workgroups(args)?;
        args.sizes([rows, "n"])
    }

    /// Checks these alone, for an op that takes no rows of its arguments.
    pub fn check_workgroups(&self, args: &Arguments) -> Result<()> {
        args.require(self.workgroups != Some(0), "workgroups", "at least 1", 0)
    }

    /// The kernel of that core and variant for rows of `width` elements, at most `stride` apart.
    ///
    /// # Errors
    /// [`Error::Value`] if the tile that is asked for does not take such rows, [`Error::NoTile`] if
    /// there is none of that name.
    pub fn kernel<A: KernelArgs>(
        &self,
        call: &Call,
        kernels: &KernelSet,
        (core, variant): (&str, &str),
        width: usize,
        stride: i64,
    ) -> Result<RowKernel<A>> {
        let problem = [("n", width as u64), ("stride", stride as u64)];
        let function = self.function(call, kernels, (core, variant), &problem)?;
        let kernel = RowKernel::of((call.op(), call.device()), function, width, stride)?;
        Ok(RowKernel { chosen: self.workgroups, ..kernel })
    }

    /// The kernel of that core and variant in the tile configuration that is asked for, else the
    /// one that serves the problem.
    ///
    /// # Errors
    /// [`Error::NoTile`] if there is none of that name.
    pub fn function<A: KernelArgs>(
        &self,
        call: &Call,
        kernels: &KernelSet,
        (core, variant): (&str, &str),
        problem: &[(&str, u64)],
    ) -> Result<TileFunction<A>> {
        let (op, device) = (call.op(), call.device());
        match self.tile {
            Some(name) => kernels.named_function(device, op, core, variant, name),
            None => kernels.function(device, op, core, variant, problem),
        }
    }

    /// Workgroups to launch at most: as many as are asked for, else as many as the device can have
    /// at work at once.
    pub fn most_workgroups(&self, device: &Device, tile: &TileConfig) -> u32 {
        self.workgroups.unwrap_or_else(|| resident(device, tile)).min(MOST_AT_ONCE)
    }
}

/// Workgroups that the device can have at work at once.
fn resident(device: &Device, tile: &TileConfig) -> u32 {
    let waves = tile.threads.div_ceil(WAVE);
    let per_compute_unit = (tile.resources.waves_per_simd * SIMDS / waves).max(1);
    device.info().compute_units * per_compute_unit
}

/// A kernel, and how many workgroups it is launched with.
#[derive(Debug)]
pub struct RowKernel<A> {
    function: TileFunction<A>,
    tile: RowTile,
    /// Workgroups at most, if none are chosen.
    fastest: u32,
    chosen: Option<u32>,
    /// Parts of rows that have workgroups of their own.
    parts: u32,
}

impl<A: KernelArgs> RowKernel<A> {
    /// For rows of `width` elements, at most `stride` apart.
    ///
    /// # Errors
    /// [`Error::Value`] if the tile does not take such rows.
    pub(super) fn of(
        (op, device): (&'static str, &Device),
        function: TileFunction<A>,
        width: usize,
        stride: i64,
    ) -> Result<Self> {
        let tile = RowTile::new(op, function.tile(), width, stride)?;
        let fastest = resident(device, function.tile());
        Ok(Self { function, tile, fastest, chosen: None, parts: 1 })
    }

    /// With workgroups for all rows, rather than as many as the chip holds at once.
    pub fn for_all_rows(self) -> Self {
        Self { fastest: u32::MAX, ..self }
    }

    /// For so many parts of each row, which the grid's second dimension counts: at most 65,535.
    /// What the kernel takes for rows are those of one part.
    pub fn parts(self, parts: u32) -> Self {
        Self { parts, ..self }
    }

    /// Workgroups for so many rows.
    pub fn workgroups(&self, rows: usize) -> u32 {
        self.tile.grid(rows as u32, self.most_workgroups())
    }

    /// Workgroups at most, for each part, however much there is to do.
    pub fn most_workgroups(&self) -> u32 {
        self.chosen.unwrap_or(self.fastest).div_ceil(self.parts).min(MOST_AT_ONCE)
    }

    /// Launches it, if there are rows.
    ///
    /// # Safety
    /// The arguments are those of the kernel, for the rows of the call.
    pub unsafe fn launch(self, call: Call, rows: usize, args: &A) -> Result<()> {
        if rows == 0 {
            return Ok(());
        }
        // SAFETY: passed on to the caller.
        call.submit(|stream| unsafe { self.launch_on(stream, self.workgroups(rows), args) })
    }

    /// Launches so many workgroups for each part, as one of several launches of a call.
    ///
    /// # Safety
    /// As [`launch`](Self::launch), and within [`Call::submit`] of that call.
    pub unsafe fn launch_on(&self, stream: &Stream, workgroups: u32, args: &A) -> Result<()> {
        // SAFETY: passed on to the caller.
        unsafe { self.function.launch(stream, [workgroups, self.parts, 1], args) }
    }
}

/// How a tile configuration shares rows among lanes.
#[derive(Debug, Clone, Copy)]
struct RowTile {
    /// Rows that a workgroup has at once, or pieces of rows.
    rows_per_workgroup: u32,
    /// Pieces of a row that waves take in turn.
    pieces: u32,
}

impl RowTile {
    /// The configuration, for rows of `width` elements that are at most `stride` apart.
    ///
    /// # Errors
    /// [`Error::Value`] if it does not take such rows.
    fn new(op: &'static str, tile: &TileConfig, width: usize, stride: i64) -> Result<Self> {
        let int = |name| {
            let value = tile.int(name).and_then(|value| u32::try_from(value).ok());
            value.expect("every tile of rows has LANES and CHUNKS")
        };
        let (lanes, chunks) = (int("LANES"), int("CHUNKS"));
        let in_pieces = tile.params.contains(&("IN_PIECES", Param::Bool(true)));
        let piece = (lanes * chunks) as usize * CHUNK;
        if !in_pieces && width > piece {
            let constraint = format!("one that holds rows of {width} elements");
            return Err(Error::value(op, "tile", constraint, tile.name));
        }
        if lanes < WAVE && stride > near(lanes) {
            let constraint = format!("one that takes rows {stride} elements apart");
            return Err(Error::value(op, "tile", constraint, tile.name));
        }
        let of_waves = in_pieces && lanes < tile.threads;
        Ok(Self {
            rows_per_workgroup: tile.threads / lanes,
            pieces: if of_waves { width.div_ceil(piece) as u32 } else { 1 },
        })
    }

    /// Workgroups to launch for so many rows, at most `most`.
    fn grid(&self, rows: u32, most: u32) -> u32 {
        let most = most.min(MOST_AT_ONCE / self.rows_per_workgroup);
        let pieces = u64::from(rows) * u64::from(self.pieces);
        pieces.div_ceil(self.rows_per_workgroup.into()).min(most.into()) as u32
    }
}
