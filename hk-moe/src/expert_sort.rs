//! The core of routing: gates in the order of their experts.

use hk_core::op::Call;
use hk_core::{AnyPtr, DevicePtr, Result, Stream, TileFunction, kernel_args};

use crate::KERNELS;

kernel_args! {
    /// Where an expert's gates are.
    pub(crate) struct ExpertPlace {
        count: u32,
        row: u32,
        tile: u32,
    }
}

kernel_args! {
    /// Arguments of the kernels, as `kernels/expert_sort.hip` declares them.
    pub(crate) struct ExpertSortArgs {
        pub(crate) ids: DevicePtr<i32>,
        pub(crate) counts: DevicePtr<i32>,
        pub(crate) first_tiles: DevicePtr<i32>,
        pub(crate) expert_map: DevicePtr<i32>,
        pub(crate) weights: AnyPtr,
        pub(crate) sorted_weights: AnyPtr,
        pub(crate) sorted: DevicePtr<i32>,
        pub(crate) positions: DevicePtr<i32>,
        pub(crate) tiles: DevicePtr<i32>,
        pub(crate) hist: DevicePtr<i32>,
        pub(crate) offs_raw: DevicePtr<i32>,
        pub(crate) offs_pad: DevicePtr<i32>,
        pub(crate) total: DevicePtr<i32>,
        pub(crate) slice_counts: DevicePtr<u32>,
        pub(crate) places: AnyPtr,
        pub(crate) gates: u32,
        pub(crate) experts: u32,
        pub(crate) slice: u32,
        pub(crate) slices: u32,
        pub(crate) rows: u32,
        pub(crate) tile_count: u32,
        pub(crate) tile_rows: u32,
        pub(crate) tile_unit: u32,
        pub(crate) is_padded: u32,
        pub(crate) numbers_tiles: u32,
        pub(crate) first_only: u32,
        pub(crate) leaves_tiles: u32,
        pub(crate) weight_bytes: u32,
        pub(crate) none: i32,
    }
}

/// Gates that one workgroup places.
const FEW: u32 = 4096;

/// Gates of a slice at least, and slices at most.
const SLICE: u32 = 2048;
const SLICES: u32 = 64;

/// Rows and tiles that a workgroup should have to fill, and workgroups that share an expert's at
/// most.
const FILLED: u32 = 4096;
const SHARES: u32 = 64;

impl ExpertSortArgs {
    /// Nothing to be done.
    pub(crate) const fn new(gates: u32, experts: u32, tile_rows: u32) -> Self {
        Self {
            ids: DevicePtr::NULL,
            counts: DevicePtr::NULL,
            first_tiles: DevicePtr::NULL,
            expert_map: DevicePtr::NULL,
            weights: AnyPtr::NULL,
            sorted_weights: AnyPtr::NULL,
            sorted: DevicePtr::NULL,
            positions: DevicePtr::NULL,
            tiles: DevicePtr::NULL,
            hist: DevicePtr::NULL,
            offs_raw: DevicePtr::NULL,
            offs_pad: DevicePtr::NULL,
            total: DevicePtr::NULL,
            slice_counts: DevicePtr::NULL,
            places: AnyPtr::NULL,
            gates,
            experts,
            slice: 0,
            slices: 0,
            rows: 0,
            tile_count: 0,
            tile_rows,
            tile_unit: 1,
            is_padded: 0,
            numbers_tiles: 0,
            first_only: 0,
            leaves_tiles: 0,
            weight_bytes: 0,
            none: -1,
        }
    }

    /// Sorts gates by their experts; in one launch if that is wanted, whatever their number.
    ///
    /// # Safety
    /// The tensors are those of the call; of gates as many as there are `gates`, of rows `rows`, of
    /// tiles `tile_count`, of experts `experts`, and of offsets one more. There are rows for all
    /// gates, with the padding that is asked for. Ids and weights may be what launches of the call
    /// before this one make.
    pub(crate) unsafe fn sort(mut self, call: &mut Call, in_one: bool) -> Result<Sort> {
        let kernel =
            |call: &Call, variant| KERNELS.function(call.device(), call.op(), CORE, variant, &[]);
        if in_one || self.gates <= FEW {
            let grid = self.shares();
            return Ok(Sort { launches: vec![(kernel(call, "few")?, grid)], args: self });
        }
        let kernels = [kernel(call, "count")?, kernel(call, "places")?, kernel(call, "scatter")?];
        self.slice = self.gates.div_ceil(SLICES).max(SLICE);
        self.slices = self.gates.div_ceil(self.slice);
        let (slices, experts) = (self.slices as usize, self.experts as usize);
        let [slice_counts, places_of] =
            call.workspace([4 * slices * experts, size_of::<ExpertPlace>() * (experts + 1)])?;
        (self.slice_counts, self.places) = (slice_counts.cast(), places_of.any());
        let grids = [self.slices, 1, self.slices];
        Ok(Sort { launches: kernels.into_iter().zip(grids).collect(), args: self })
    }

    /// Finds the tiles of experts, from how many gates each has.
    ///
    /// # Safety
    /// As [`sort`](Self::sort).
    pub(crate) unsafe fn find_tiles(self, call: &Call) -> Result<Sort> {
        let kernel = KERNELS.function(call.device(), call.op(), CORE, "data", &[])?;
        Ok(Sort { launches: vec![(kernel, self.shares())], args: self })
    }

    /// Workgroups that share what is to be filled.
    fn shares(&self) -> u32 {
        self.rows.max(self.tile_count).div_ceil(FILLED).clamp(1, SHARES)
    }
}

const CORE: &str = "expert_sort";

/// Launches that can be made.
pub(crate) struct Sort {
    launches: Vec<(TileFunction<ExpertSortArgs>, u32)>,
    args: ExpertSortArgs,
}

impl Sort {
    /// Makes them.
    pub(crate) fn launch(&self, stream: &Stream) -> Result<()> {
        // SAFETY: whoever asked for the launches has said that the tensors are right; counts and
        // places have the memory that they need.
        self.launches.iter().try_for_each(|(kernel, grid)| unsafe {
            kernel.launch(stream, [*grid, 1, 1], &self.args)
        })
    }
}
