//! Where the gates of each expert begin, and of which expert each tile of rows is.
//!
//! With `h[e]` gates of expert e, and tiles of `B = 2^tile_dim_log2` rows:
//!
//! - `token_offs_raw[e] = h[0] + .. + h[e-1]`, for e from 0 to E;
//! - `token_offs_pad[e] = ceil(h[0]/B) + .. + ceil(h[e-1]/B)`, in tiles;
//! - `block_pid_map[token_offs_pad[e] + b] = b << 16 | e` for each tile b of expert e, and -1
//!   behind them.
//!
//! The first stage finds the offsets and what is behind all tiles, the second one names the tiles;
//! [`expt_data_compute`] does both in one launch.
//!
//! | | |
//! |---|---|
//! | Shapes | hist `[E]` -> token_offs_raw, token_offs_pad `[E+1]`, block_pid_map `[max_num_tiles]`, all without gaps; E up to 32767, B from 16 to 256 |
//! | Dtypes | i32 |
//! | Numerics | exact; nothing outside of the map is written, whatever the counts are |
//! | Hardware | cdna3, cdna4 |
//! | Source | Gale, Narayanan, Young and Zaharia, "MegaBlocks" (2022); AITER, `expt_data` |
//!
//! ```
//! # #[cfg(feature = "cdna3")] {
//! use hk_moe::{Device, ExptDataOptions, Tensor, expt_data_compute};
//!
//! let stream = Device::open("sim:mi325x")?.default_stream();
//! let hist = Tensor::from_slice(&stream, &[20, 0, 3], &[3])?;
//! let data = expt_data_compute(&hist, 23, 4, &ExptDataOptions::default())?;
//! assert_eq!(data.token_offs_raw.to_vec()?, [0, 20, 20, 23]);
//! assert_eq!(data.token_offs_pad.to_vec()?, [0, 2, 2, 3]);
//! assert_eq!(data.block_pid_map.to_vec()?, [0, 1 << 16, 2, -1]);
//! # }
//! # Ok::<(), hk_core::Error>(())
//! ```

#[cfg(doc)]
use hk_core::Error;
use hk_core::op::{Arguments, Call};
use hk_core::{Result, Tensor, TensorSlice};

use crate::expert_sort::ExpertSortArgs;
use crate::moe_topk::MOST_EXPERTS;

/// How tiles are found, where the default is not wanted.
#[derive(Debug, Clone, Copy, Default)]
pub struct ExptDataOptions {
    most: Option<usize>,
    validate: Option<bool>,
}

impl ExptDataOptions {
    /// Gives the map so many tiles; else as many as such gates need at most: see [`max_num_tiles`].
    #[must_use]
    pub fn max_num_tiles(mut self, most: usize) -> Self {
        self.most = Some(most);
        self
    }

    /// Whether counts are looked at before the launch, which waits for the stream; on the
    /// simulator, and in builds with debug assertions, if not given.
    #[must_use]
    pub fn validate_indices(mut self, validate: bool) -> Self {
        self.validate = Some(validate);
        self
    }
}

/// What [`expt_data_compute`] returns.
#[derive(Debug)]
pub struct ExptData {
    /// Gates before each expert, and of all, `[E+1]`.
    pub token_offs_raw: Tensor<i32>,
    /// Tiles before each expert, and of all, `[E+1]`.
    pub token_offs_pad: Tensor<i32>,
    /// The expert of each tile, and which of its tiles it is, `[max_num_tiles]`.
    pub block_pid_map: Tensor<i32>,
}

/// Where [`expt_data_compute_into`] stores.
#[derive(Debug)]
pub struct ExptDataOut<'a> {
    /// Gates before each expert, and of all, `[E+1]`.
    pub token_offs_raw: &'a mut TensorSlice<i32>,
    /// Tiles before each expert, and of all, `[E+1]`.
    pub token_offs_pad: &'a mut TensorSlice<i32>,
    /// The expert of each tile, and which of its tiles it is, `[max_num_tiles]`.
    pub block_pid_map: &'a mut TensorSlice<i32>,
}

/// Most tiles of one expert, whose number has 15 bits.
const MOST_TILES: usize = 32_767;

/// Tiles of `2^tile_dim_log2` rows that so many gates of so many experts need at most.
pub const fn max_num_tiles(n_gates: usize, n_expts: usize, tile_dim_log2: u32) -> usize {
    if n_expts == 0 {
        return 0;
    }
    if n_gates <= n_expts {
        return n_gates;
    }
    n_expts - 1 + (n_gates - n_expts + 1).div_ceil(1 << tile_dim_log2)
}

/// Where the gates of each expert begin, of `n_gates` in all, and the expert of each tile.
///
/// # Errors
/// [`Error::Shape`] if there are no experts or more than 32767. [`Error::Value`] if `tile_dim_log2`
/// is not from 4 to 8, or an expert could have more than 32767 tiles; where counts are looked at,
/// if one is below zero, they are not `n_gates` in all, or the map has not room for all tiles.
/// [`Error::Stride`] if a tensor has gaps.
pub fn expt_data_compute(
    hist: &TensorSlice<i32>,
    n_gates: usize,
    tile_dim_log2: u32,
    options: &ExptDataOptions,
) -> Result<ExptData> {
    let mut args = Arguments::new("expt_data_compute");
    let plan = Plan::new(&mut args, hist, n_gates, tile_dim_log2)?;
    let most = options.most.unwrap_or_else(|| max_num_tiles(n_gates, plan.experts, tile_dim_log2));
    let stream = hist.stream();
    let mut data = ExptData {
        token_offs_raw: Tensor::empty(stream, &[plan.experts + 1])?,
        token_offs_pad: Tensor::empty(stream, &[plan.experts + 1])?,
        block_pid_map: Tensor::empty(stream, &[most])?,
    };
    let out = ExptDataOut {
        token_offs_raw: &mut data.token_offs_raw,
        token_offs_pad: &mut data.token_offs_pad,
        block_pid_map: &mut data.block_pid_map,
    };
    expt_data_compute_into(hist, n_gates, tile_dim_log2, options, out)?;
    Ok(data)
}

/// As [`expt_data_compute`], into given tensors; the map has as many tiles as its tensor.
///
/// # Errors
/// As [`expt_data_compute`]; [`Error::Shape`] or [`Error::Stride`] also if an output is not as
/// [`ExptDataOut`] says or has another size than is asked for, and [`Error::Alias`] if one overlaps
/// another argument.
pub fn expt_data_compute_into(
    hist: &TensorSlice<i32>,
    n_gates: usize,
    tile_dim_log2: u32,
    options: &ExptDataOptions,
    out: ExptDataOut<'_>,
) -> Result<()> {
    find("expt_data_compute", hist, n_gates, tile_dim_log2, options, out, true)
}

/// As [`expt_data_compute_into`], but tiles of experts, before `token_offs_pad[E]`, stay as they
/// are.
///
/// # Errors
/// As [`expt_data_compute_into`].
pub fn expt_data_stage1_into(
    hist: &TensorSlice<i32>,
    n_gates: usize,
    tile_dim_log2: u32,
    options: &ExptDataOptions,
    out: ExptDataOut<'_>,
) -> Result<()> {
    find("expt_data_stage1", hist, n_gates, tile_dim_log2, options, out, false)
}

/// Names the tiles of experts in `block_pid_map`, from where they begin; others stay as they are.
///
/// # Errors
/// As [`expt_data_compute`]; [`Error::Shape`] also if `token_offs_pad` is not `[E+1]`, and
/// [`Error::Alias`] if the map overlaps another argument.
pub fn expt_data_stage2_into(
    hist: &TensorSlice<i32>,
    token_offs_pad: &TensorSlice<i32>,
    tile_dim_log2: u32,
    options: &ExptDataOptions,
    block_pid_map: &mut TensorSlice<i32>,
) -> Result<()> {
    name("expt_data_stage2", hist, token_offs_pad, tile_dim_log2, options, block_pid_map)
}

/// As [`expt_data_stage2_into`], where no expert has more than one tile; only the first is named.
///
/// # Errors
/// As [`expt_data_stage2_into`]; [`Error::Value`] also, where counts are looked at, if an expert
/// has more gates than a tile has rows.
pub fn expt_data_stage2_fused_into(
    hist: &TensorSlice<i32>,
    token_offs_pad: &TensorSlice<i32>,
    tile_dim_log2: u32,
    options: &ExptDataOptions,
    block_pid_map: &mut TensorSlice<i32>,
) -> Result<()> {
    name("expt_data_stage2_fused", hist, token_offs_pad, tile_dim_log2, options, block_pid_map)
}

const OFFSETS: &[&str] = &["E+1"];
const MAP: &[&str] = &["max_num_tiles"];

/// Sizes that were checked.
struct Plan {
    experts: usize,
    gates: usize,
    tile_dim_log2: u32,
}

/// Requires rows of tiles that there may be, and few enough gates of one expert, of which the
/// argument `arg` says how many it has at most.
pub(crate) fn check_tile(
    args: &Arguments,
    (arg, gates): (&'static str, usize),
    tile_dim_log2: u32,
) -> Result<()> {
    let fits = (4..=8).contains(&tile_dim_log2);
    args.require(fits, "tile_dim_log2", "from 4 to 8", tile_dim_log2)?;
    let most = MOST_TILES << tile_dim_log2;
    let constraint = format!("at most {most}, {MOST_TILES} tiles");
    args.require(gates <= most, arg, constraint, gates)
}

impl Plan {
    /// Declares the counts.
    fn new(
        args: &mut Arguments,
        hist: &TensorSlice<i32>,
        gates: usize,
        tile_dim_log2: u32,
    ) -> Result<Self> {
        args.input("hist", hist, &["E"]).contiguous()?;
        args.limit("E", 1..=MOST_EXPERTS)?;
        check_tile(args, ("n_gates", gates), tile_dim_log2)?;
        let [experts] = args.sizes(["E"])?;
        args.define("E+1", experts + 1);
        Ok(Self { experts, gates, tile_dim_log2 })
    }

    /// Looks at the counts, if that is wanted: each at most `most`, and so many in all, if that is
    /// known.
    fn check(
        &self,
        call: &Call,
        hist: &TensorSlice<i32>,
        options: &ExptDataOptions,
        [most, tiles]: [usize; 2],
        gates: Option<usize>,
    ) -> Result<()> {
        if !call.validates_indices(options.validate)? {
            return Ok(());
        }
        let counts: Vec<_> = hist.to_vec()?.into_iter().map(i64::from).collect();
        let constraint = format!("from 0 to {most} gates");
        let range = 0..=most as i64;
        call.require_each("hist", &counts, &constraint, |_, count| range.contains(&count))?;
        if let Some(gates) = gates {
            let constraint = format!("{gates} gates in all");
            let all = [counts.iter().sum()];
            call.require_each("hist", &all, &constraint, |_, sum| sum == gates as i64)?;
        }
        let needed = |count: &i64| (*count as usize).div_ceil(1 << self.tile_dim_log2);
        let needed = [counts.iter().map(needed).sum::<usize>() as i64];
        let constraint = format!("at most {tiles} tiles");
        call.require_each("max_num_tiles", &needed, &constraint, |_, sum| sum <= tiles as i64)
    }

    fn args(&self, hist: &TensorSlice<i32>) -> ExpertSortArgs {
        let tile_rows = 1 << self.tile_dim_log2;
        ExpertSortArgs {
            counts: hist.ptr(),
            numbers_tiles: 1,
            ..ExpertSortArgs::new(self.gates as u32, self.experts as u32, tile_rows)
        }
    }
}

/// Finds offsets, and names tiles, or only those that are no expert's.
fn find(
    op: &'static str,
    hist: &TensorSlice<i32>,
    n_gates: usize,
    tile_dim_log2: u32,
    options: &ExptDataOptions,
    out: ExptDataOut<'_>,
    names_tiles: bool,
) -> Result<()> {
    let mut args = Arguments::new(op);
    let plan = Plan::new(&mut args, hist, n_gates, tile_dim_log2)?;
    if let Some(most) = options.most {
        args.define("max_num_tiles", most);
    }
    args.output("token_offs_raw", out.token_offs_raw, OFFSETS).contiguous()?;
    args.output("token_offs_pad", out.token_offs_pad, OFFSETS).contiguous()?;
    args.output("block_pid_map", out.block_pid_map, MAP).contiguous()?;
    args.limit("max_num_tiles", 0..=i32::MAX as usize)?;
    let call = args.check()?;
    let tiles = out.block_pid_map.len();
    plan.check(&call, hist, options, [n_gates, tiles], Some(n_gates))?;
    let args = ExpertSortArgs {
        offs_raw: out.token_offs_raw.ptr_mut(),
        offs_pad: out.token_offs_pad.ptr_mut(),
        tiles: out.block_pid_map.ptr_mut(),
        tile_count: tiles as u32,
        leaves_tiles: u32::from(!names_tiles),
        ..plan.args(hist)
    };
    // SAFETY: the tensors are those that were checked.
    let launch = unsafe { args.find_tiles(&call) }?;
    call.submit(|stream| launch.launch(stream))
}

/// Names the tiles of experts; if the op takes one of each, the first.
fn name(
    op: &'static str,
    hist: &TensorSlice<i32>,
    token_offs_pad: &TensorSlice<i32>,
    tile_dim_log2: u32,
    options: &ExptDataOptions,
    block_pid_map: &mut TensorSlice<i32>,
) -> Result<()> {
    let is_fused = op == "expt_data_stage2_fused";
    let mut args = Arguments::new(op);
    let plan = Plan::new(&mut args, hist, 0, tile_dim_log2)?;
    args.input("token_offs_pad", token_offs_pad, OFFSETS).contiguous()?;
    if let Some(most) = options.most {
        args.define("max_num_tiles", most);
    }
    args.output("block_pid_map", block_pid_map, MAP).contiguous()?;
    args.limit("max_num_tiles", 0..=i32::MAX as usize)?;
    let call = args.check()?;
    let tiles = block_pid_map.len();
    let most = if is_fused { 1 } else { MOST_TILES } << tile_dim_log2;
    plan.check(&call, hist, options, [most, tiles], None)?;
    let args = ExpertSortArgs {
        first_tiles: token_offs_pad.ptr(),
        tiles: block_pid_map.ptr_mut(),
        tile_count: tiles as u32,
        first_only: u32::from(is_fused),
        ..plan.args(hist)
    };
    // SAFETY: the tensors are those that were checked.
    let launch = unsafe { args.find_tiles(&call) }?;
    call.submit(|stream| launch.launch(stream))
}
