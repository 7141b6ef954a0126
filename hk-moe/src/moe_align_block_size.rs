//! Gates in the order of their experts, each expert's padded to whole tiles of rows.
//!
//! With `h[e]` gates of expert e, `P[0] = 0` and `P[e+1] = P[e] + ceil(h[e]/B) B`, row `P[e] + r`
//! has the r-th gate of expert e, in the order of gates, for `r < h[e]`. Every other row has G, the
//! number of gates. Tile i, of B rows, is of the expert e with `P[e] <= i B < P[e+1]`, and from
//! `P[E]` on of -1.
//!
//! | | |
//! |---|---|
//! | Shapes | topk_ids `[T, k]` or `[G]` -> sorted_token_ids `[cap]`, expert_ids `[ceil(cap/B)]`, num_tokens_post_pad `[1]`, hist `[E]`, offsets `[E+1]`, with `cap = min(G + E(B-1), G B)`, all without gaps; E up to 32767, B up to 256 |
//! | Dtypes | i32 |
//! | Numerics | exact; every element is written, whatever the ids are |
//! | Hardware | cdna3, cdna4; one launch of few gates, three of more than 4096 |
//! | Source | Gale, Narayanan, Young and Zaharia, "MegaBlocks" (2022); vLLM, `moe_align_block_size` |
//!
//! A gate whose id is -1, or any other that is no expert's, has no row.
//!
//! ```
//! # #[cfg(feature = "cdna3")] {
//! use hk_moe::{Device, MoeAlignOptions, Tensor, moe_align_block_size};
//!
//! let stream = Device::open("sim:mi325x")?.default_stream();
//! let ids = Tensor::from_slice(&stream, &[2, 0, 2, 1, 2, 0], &[3, 2])?;
//! let aligned = moe_align_block_size(&ids, 3, 2, &MoeAlignOptions::default())?;
//! assert_eq!(aligned.sorted_token_ids.to_vec()?, [1, 5, 3, 6, 0, 2, 4, 6, 6]);
//! assert_eq!(aligned.expert_ids.to_vec()?, [0, 1, 2, 2, -1]);
//! assert_eq!(aligned.num_tokens_post_pad.to_vec()?, [8]);
//! # }
//! # Ok::<(), hk_core::Error>(())
//! ```

#[cfg(doc)]
use hk_core::Error;
use hk_core::op::Arguments;
use hk_core::{DevicePtr, Result, Tensor, TensorSlice};

use crate::expert_sort::ExpertSortArgs;
use crate::moe_topk::{MOST_EXPERTS, MOST_OF_TOKEN};

/// How gates are aligned, where the default is not wanted.
#[derive(Debug, Clone, Copy, Default)]
pub struct MoeAlignOptions<'a> {
    expert_map: Option<&'a TensorSlice<i32>>,
    validate: Option<bool>,
}

impl<'a> MoeAlignOptions<'a> {
    /// What tiles name in the place of each expert, `[E]`, such as its number on this device, or -1
    /// if it is elsewhere.
    #[must_use]
    pub fn expert_map(mut self, map: &'a TensorSlice<i32>) -> Self {
        self.expert_map = Some(map);
        self
    }

    /// Whether ids are looked at before the launch, which waits for the stream; on the simulator,
    /// and in builds with debug assertions, if not given.
    #[must_use]
    pub fn validate_indices(mut self, validate: bool) -> Self {
        self.validate = Some(validate);
        self
    }
}

/// What [`moe_align_block_size`] returns.
#[derive(Debug)]
pub struct MoeAlign {
    /// The gate in each row, `[cap]`; G where there is none.
    pub sorted_token_ids: Tensor<i32>,
    /// The expert of each tile, `[ceil(cap/B)]`, or what the map has for it; -1 behind them.
    pub expert_ids: Tensor<i32>,
    /// Rows of all experts' tiles, `[1]`.
    pub num_tokens_post_pad: Tensor<i32>,
    /// Gates of each expert, `[E]`.
    pub hist: Tensor<i32>,
    /// The first row of each expert, and that behind all, `[E+1]`.
    pub offsets: Tensor<i32>,
}

/// Where [`moe_align_block_size_into`] stores.
#[derive(Debug)]
pub struct MoeAlignOut<'a> {
    /// The gate in each row, `[cap]`; G where there is none.
    pub sorted_token_ids: &'a mut TensorSlice<i32>,
    /// The expert of each tile, `[ceil(cap/B)]`, or what the map has for it; -1 behind them.
    pub expert_ids: &'a mut TensorSlice<i32>,
    /// Rows of all experts' tiles, `[1]`.
    pub num_tokens_post_pad: &'a mut TensorSlice<i32>,
    /// Gates of each expert, `[E]`.
    pub hist: Option<&'a mut TensorSlice<i32>>,
    /// The first row of each expert, and that behind all, `[E+1]`.
    pub offsets: Option<&'a mut TensorSlice<i32>>,
}

/// Largest tiles, in rows.
const MOST_ROWS: usize = 256;

/// Rows that so many gates of so many experts need at most, with those of each expert in whole
/// tiles of `block_size` rows: `cap`.
pub fn aligned_capacity(gates: usize, num_experts: usize, block_size: usize) -> usize {
    let padding = num_experts.saturating_mul(block_size.saturating_sub(1));
    gates.saturating_add(padding).min(gates.saturating_mul(block_size))
}

/// The gates of `topk_ids` in the order of their experts, of which there are `num_experts`, in
/// tiles of `block_size` rows.
///
/// # Errors
/// [`Error::Shape`] if a token has no experts, more than 64 or more than there are, or the map has
/// not one number for each. [`Error::Value`] if there are no experts or more than 32767, tiles have
/// no rows or more than 256, or rows are more than 31 bits count; where they are looked at, if an
/// id is not from -1 to `num_experts - 1`. [`Error::Stride`] if a tensor has gaps.
pub fn moe_align_block_size(
    topk_ids: &TensorSlice<i32>,
    num_experts: usize,
    block_size: usize,
    options: &MoeAlignOptions<'_>,
) -> Result<MoeAlign> {
    let sizes = Sizes::new(&mut Arguments::new(OP), topk_ids, num_experts, block_size)?;
    let stream = topk_ids.stream();
    let mut aligned = MoeAlign {
        sorted_token_ids: Tensor::empty(stream, &[sizes.rows])?,
        expert_ids: Tensor::empty(stream, &[sizes.tiles])?,
        num_tokens_post_pad: Tensor::empty(stream, &[1])?,
        hist: Tensor::empty(stream, &[num_experts])?,
        offsets: Tensor::empty(stream, &[num_experts + 1])?,
    };
    let out = MoeAlignOut {
        sorted_token_ids: &mut aligned.sorted_token_ids,
        expert_ids: &mut aligned.expert_ids,
        num_tokens_post_pad: &mut aligned.num_tokens_post_pad,
        hist: Some(&mut aligned.hist),
        offsets: Some(&mut aligned.offsets),
    };
    moe_align_block_size_into(topk_ids, num_experts, block_size, options, out)?;
    Ok(aligned)
}

/// As [`moe_align_block_size`], into given tensors.
///
/// # Errors
/// As [`moe_align_block_size`]; [`Error::Shape`] or [`Error::Stride`] also if an output is not as
/// [`MoeAlignOut`] says, and [`Error::Alias`] if one overlaps another argument.
pub fn moe_align_block_size_into(
    topk_ids: &TensorSlice<i32>,
    num_experts: usize,
    block_size: usize,
    options: &MoeAlignOptions<'_>,
    out: MoeAlignOut<'_>,
) -> Result<()> {
    let MoeAlignOut { sorted_token_ids, expert_ids, num_tokens_post_pad, hist, offsets } = out;
    let mut args = Arguments::new(OP);
    let sizes = Sizes::new(&mut args, topk_ids, num_experts, block_size)?;
    args.define("E", num_experts);
    args.define("cap", sizes.rows);
    args.define("ceil(cap/B)", sizes.tiles);
    args.define("E+1", num_experts + 1);
    if let Some(map) = options.expert_map {
        args.input("expert_map", map, &["E"]).contiguous()?;
    }
    args.output("sorted_token_ids", sorted_token_ids, &["cap"]).contiguous()?;
    args.output("expert_ids", expert_ids, &["ceil(cap/B)"]).contiguous()?;
    args.output("num_tokens_post_pad", num_tokens_post_pad, &["1"]).contiguous()?;
    let mut optional = |name, list: Option<&mut TensorSlice<i32>>, dims| -> Result<_> {
        let Some(list) = list else { return Ok(DevicePtr::NULL) };
        args.output(name, list, dims).contiguous()?;
        Ok(list.ptr_mut())
    };
    let hist = optional("hist", hist, &["E"])?;
    let offsets = optional("offsets", offsets, &["E+1"])?;
    let mut call = args.check()?;
    if call.validates_indices(options.validate)? {
        let ids: Vec<_> = topk_ids.to_vec()?.into_iter().map(i64::from).collect();
        let constraint = format!("-1, or an expert below {num_experts}");
        let range = -1..num_experts as i64;
        call.require_each("topk_ids", &ids, &constraint, |_, id| range.contains(&id))?;
    }
    let args = ExpertSortArgs {
        ids: topk_ids.ptr(),
        expert_map: options.expert_map.map_or(DevicePtr::NULL, TensorSlice::ptr),
        sorted: sorted_token_ids.ptr_mut(),
        tiles: expert_ids.ptr_mut(),
        hist,
        offs_pad: offsets,
        total: num_tokens_post_pad.ptr_mut(),
        rows: sizes.rows as u32,
        tile_count: sizes.tiles as u32,
        tile_unit: block_size as u32,
        is_padded: 1,
        none: sizes.gates as i32,
        ..ExpertSortArgs::new(sizes.gates as u32, num_experts as u32, block_size as u32)
    };
    // SAFETY: the tensors are those that were checked, and rows and tiles as many as gates and
    // experts can need.
    let sort = unsafe { args.sort(&mut call, false) }?;
    call.submit(|stream| sort.launch(stream))
}

const OP: &str = "moe_align_block_size";

/// Numbers of gates, and of rows and tiles that they need at most.
struct Sizes {
    gates: usize,
    rows: usize,
    tiles: usize,
}

impl Sizes {
    /// Declares the ids.
    fn new(
        args: &mut Arguments,
        topk_ids: &TensorSlice<i32>,
        num_experts: usize,
        block_size: usize,
    ) -> Result<Self> {
        let range = format!("from 1 to {MOST_EXPERTS}");
        let has_experts = (1..=MOST_EXPERTS).contains(&num_experts);
        args.require(has_experts, "num_experts", range, num_experts)?;
        let range = format!("from 1 to {MOST_ROWS}");
        args.require((1..=MOST_ROWS).contains(&block_size), "block_size", range, block_size)?;
        args.input("topk_ids", topk_ids, &["..", "k"]).contiguous()?;
        if topk_ids.shape().len() > 1 {
            args.limit("k", 1..=num_experts.min(MOST_OF_TOKEN))?;
        }
        let gates = topk_ids.len();
        let rows = aligned_capacity(gates, num_experts, block_size);
        let few = rows <= i32::MAX as usize;
        args.require(few, "topk_ids", "gates that need fewer than 2^31 rows", gates)?;
        Ok(Self { gates, rows, tiles: rows.div_ceil(block_size) })
    }
}
