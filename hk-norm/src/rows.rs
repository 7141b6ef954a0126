//! Arguments and launches of row-wise kernels: the host's side of `hk/rows.h`.

use hk_core::dtype::Element;
use hk_core::kernel::{Param, TileConfig};
use hk_core::{Device, DevicePtr, Error, Result, Tensor};

/// A tensor's address without its type.
pub(crate) fn erased<T: Element>(tensor: &Tensor<T>) -> DevicePtr<u8> {
    DevicePtr::new(tensor.ptr().address())
}

/// Elements from row to row, where rows are evenly spaced.
pub(crate) fn stride<T: Element>(
    op: &'static str,
    arg: &'static str,
    tensor: &Tensor<T>,
) -> Result<i64> {
    Ok(tensor.check_rows(op, arg)? as i64)
}

/// A size as the kernels take it.
pub(crate) fn small(
    op: &'static str,
    arg: &'static str,
    value: usize,
    limit: usize,
) -> Result<u32> {
    if value > limit {
        return Err(Error::value(op, arg, format!("at most {limit}"), value));
    }
    Ok(value as u32)
}

/// How a tile configuration shares rows among lanes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RowTile {
    threads: u32,
    waves_per_simd: u32,
    rows_per_workgroup: u32,
}

/// Elements of a chunk, as `hk::chunk`.
const CHUNK: i64 = 8;

/// Lanes of a wave, and SIMDs of a compute unit, on all chips.
const WAVE: u32 = 64;
const SIMDS: u32 = 4;

/// Elements between rows that share a wave, at most: they are addressed in 31 bits.
const NEAR: i64 = 1 << 27;

impl RowTile {
    /// The configuration, for rows of `width` elements that are at most `stride` apart.
    ///
    /// # Errors
    /// [`Error::Value`] if it does not hold such rows.
    pub(crate) fn new(
        op: &'static str,
        tile: &TileConfig,
        width: u32,
        stride: i64,
    ) -> Result<Self> {
        let int = |name| tile.int(name).expect("every tile of rows has LANES and CHUNKS");
        let (lanes, chunks) = (int("LANES"), int("CHUNKS"));
        let in_pieces = tile.params.contains(&("IN_PIECES", Param::Bool(true)));
        if !in_pieces && i64::from(width) > lanes * chunks * CHUNK {
            let constraint = format!("one that holds rows of {width} elements");
            return Err(Error::value(op, "tile", constraint, tile.name));
        }
        if lanes < i64::from(WAVE) && stride > NEAR {
            let constraint = format!("one that takes rows {stride} elements apart");
            return Err(Error::value(op, "tile", constraint, tile.name));
        }
        Ok(Self {
            threads: tile.threads,
            waves_per_simd: tile.resources.waves_per_simd,
            rows_per_workgroup: (i64::from(tile.threads) / lanes) as u32,
        })
    }

    /// Workgroups that the device can have at work at once.
    pub(crate) fn resident(&self, device: &Device) -> u32 {
        let waves = self.threads.div_ceil(WAVE);
        let per_unit = (self.waves_per_simd * SIMDS / waves).max(1);
        device.info().compute_units * per_unit
    }

    /// Workgroups to launch for so many rows: at most `most`, and no more than a launch can have.
    ///
    /// # Errors
    /// [`Error::Value`] if the kernel could not count, in 32 bits, to the rows after the last that
    /// its workgroups would take together.
    pub(crate) fn grid(&self, op: &'static str, rows: u32, most: u32) -> Result<u32> {
        let most = most.min(u32::MAX / self.threads);
        let grid = rows.div_ceil(self.rows_per_workgroup).min(most);
        let at_once = grid as usize * self.rows_per_workgroup as usize;
        small(op, "rows", rows as usize, (u32::MAX as usize).saturating_sub(2 * at_once))?;
        Ok(grid)
    }
}
