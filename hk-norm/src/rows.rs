//! Arguments and launches of row-wise kernels: the host's side of `hk/rows.h`.

use hk_core::kernel::{Param, TileConfig};
use hk_core::{Device, Error, Result};

/// Most rows of an op. Kernels count, in 32 bits, to the rows that follow the last two times that all
/// workgroups together take rows.
pub(crate) const MOST_ROWS: usize = u32::MAX as usize - 2 * MOST_AT_ONCE as usize;

/// Most rows that all workgroups together take at once.
const MOST_AT_ONCE: u32 = 1 << 20;

/// Elements of a chunk, as `hk::chunk`.
const CHUNK: usize = 8;

/// Lanes of a wave, and SIMDs of a compute unit, on all chips.
const WAVE: u32 = 64;
const SIMDS: u32 = 4;

/// Elements between rows that share a wave, at most: they are addressed in 31 bits.
const NEAR: i64 = 1 << 27;

/// How a tile configuration shares rows among lanes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RowTile {
    rows_per_workgroup: u32,
    workgroups_per_cu: u32,
}

impl RowTile {
    /// The configuration, for rows of `width` elements that are at most `stride` apart.
    ///
    /// # Errors
    /// [`Error::Value`] if it does not take such rows.
    pub(crate) fn new(
        op: &'static str,
        tile: &TileConfig,
        width: usize,
        stride: i64,
    ) -> Result<Self> {
        let int = |name| {
            let value = tile.int(name).and_then(|value| u32::try_from(value).ok());
            value.expect("every tile of rows has LANES and CHUNKS")
        };
        let (lanes, chunks) = (int("LANES"), int("CHUNKS"));
        let in_pieces = tile.params.contains(&("IN_PIECES", Param::Bool(true)));
        if !in_pieces && width > (lanes * chunks) as usize * CHUNK {
            let constraint = format!("one that holds rows of {width} elements");
            return Err(Error::value(op, "tile", constraint, tile.name));
        }
        if lanes < WAVE && stride > NEAR {
            let constraint = format!("one that takes rows {stride} elements apart");
            return Err(Error::value(op, "tile", constraint, tile.name));
        }
        let waves = tile.threads.div_ceil(WAVE);
        Ok(Self {
            rows_per_workgroup: tile.threads / lanes,
            workgroups_per_cu: (tile.resources.waves_per_simd * SIMDS / waves).max(1),
        })
    }

    /// Workgroups that the device can have at work at once.
    pub(crate) fn resident(&self, device: &Device) -> u32 {
        device.info().compute_units * self.workgroups_per_cu
    }

    /// Workgroups to launch for so many rows, at most `most`.
    pub(crate) fn grid(&self, rows: u32, most: u32) -> u32 {
        let most = most.min(MOST_AT_ONCE / self.rows_per_workgroup);
        rows.div_ceil(self.rows_per_workgroup).min(most)
    }
}
