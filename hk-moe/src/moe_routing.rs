//! From logits to the order in which experts take their tokens.
//!
//! Each token gets k experts and their weights, as [`moe_topk`](crate::moe_topk()) says; gate `t k +
//! s` is slot s of token t. Gates are put in the order of their experts, those of one expert in
//! their own:
//!
//! - `p(g) = token_offs_raw[e] + (gates g' < g of expert e)`, for gate g of expert e;
//! - `scatter_indx[g] = p(g)`, `gather_indx[p(g)] = g`, `gate_scal[p(g)] = weight of g`.
//!
//! With them come `expt_hist`, the gates of each expert, and [what follows from
//! it](crate::moe_expt_data) in tiles of [`block_m`] rows. A gate whose id is -1, or any other that
//! is no expert's, has no place: its `scatter_indx` is -1, and so is `gather_indx` of the places
//! that are left at the end, whose weight is 0.
//!
//! | | |
//! |---|---|
//! | Shapes | logits `[T, E]` -> gate_scal, gather_indx, scatter_indx `[G]`, expt_hist `[E]`, token_offs_raw, token_offs_pad `[E+1]`, block_pid_map `[max_num_tiles]`, all without gaps, with `G = T k`; shared experts count among E and k |
//! | Dtypes | logits bf16, f16, f32; weights bf16, f16, f32; all else i32 |
//! | Numerics | indices are exact, weights are those of the choice, bit by bit |
//! | Hardware | cdna3, cdna4; two launches, four of more than 4096 gates |
//! | Source | Gale, Narayanan, Young and Zaharia, "MegaBlocks" (2022); AITER, `routing` |
//!
//! ```
//! # #[cfg(feature = "cdna3")] {
//! use hk_moe::{Device, RoutingOptions, Tensor, routing};
//!
//! let stream = Device::open("sim:mi325x")?.default_stream();
//! let logits = [1.0f32, 3.0, 2.0, 9.0, 9.0, 1.0];
//! let logits = Tensor::from_slice(&stream, &logits, &[2, 3])?;
//! let routing = routing(&logits, 2, &RoutingOptions::default())?;
//! // Token 0 has experts 1 and 2, token 1 has 0 and 1.
//! assert_eq!(routing.gather_indx.to_vec()?, [2, 0, 3, 1]);
//! assert_eq!(routing.scatter_indx.to_vec()?, [1, 3, 0, 2]);
//! assert_eq!(routing.data.expt_hist.to_vec()?, [1, 2, 1]);
//! # }
//! # Ok::<(), hk_core::Error>(())
//! ```

#[cfg(doc)]
use hk_core::Error;
use hk_core::dtype::Real;
use hk_core::op::{Arguments, Call};
use hk_core::{Result, Tensor, TensorSlice};

mod options;

pub use options::{RoutingOptions, SortOptions};

use crate::expert_sort::ExpertSortArgs;
use crate::moe_expt_data::{ExptData, check_tile, max_num_tiles};
use crate::moe_topk::{MOST_EXPERTS, MOST_OF_TOKEN, MoeTopkOut, launch};

/// How gates are grouped: what products over experts need.
#[derive(Debug)]
pub struct RoutingData<W: Real> {
    /// Rows of a tile.
    pub block_m: usize,
    /// The weight of each gate, in the order of experts, `[G]`.
    pub gate_scal: Tensor<W>,
    /// Gates of each expert, `[E]`.
    pub expt_hist: Tensor<i32>,
    /// Experts.
    pub n_expts_tot: usize,
    /// Experts of a token.
    pub n_expts_act: usize,
    /// Where experts begin, and their tiles.
    pub expt_data: ExptData,
}

/// What [`routing`] and [`sort_tokens`] return.
#[derive(Debug)]
pub struct Routing<W: Real> {
    /// How gates are grouped.
    pub data: RoutingData<W>,
    /// The gate in each place, `[G]`.
    pub gather_indx: Tensor<i32>,
    /// The place of each gate, `[G]`.
    pub scatter_indx: Tensor<i32>,
}

/// What [`routing_compute_indx`] returns.
#[derive(Debug)]
pub struct RoutingIndx<W: Real> {
    /// The weight of each gate, in the order of experts, `[G]`.
    pub gate_scal: Tensor<W>,
    /// The gate in each place, `[G]`.
    pub gather_indx: Tensor<i32>,
    /// The place of each gate, `[G]`.
    pub scatter_indx: Tensor<i32>,
}

/// Where [`routing_into`] stores the experts of tokens.
#[derive(Debug)]
pub struct ChosenOut<'a, W: Real> {
    /// The weights of each token's experts, `[T, k]`.
    pub expt_scal: &'a mut TensorSlice<W>,
    /// Each token's experts, `[T, k]`.
    pub expt_indx: &'a mut TensorSlice<i32>,
    /// Which experts each token has, `[T, ceil(E/32)]`.
    pub bitmatrix: Option<&'a mut TensorSlice<u32>>,
}

/// Where [`routing_into`] and [`sort_tokens_into`] store the order of gates.
#[derive(Debug)]
pub struct SortTokensOut<'a, W: Real> {
    /// The order itself.
    pub indx: RoutingIndxOut<'a, W>,
    /// Gates of each expert, `[E]`.
    pub expt_hist: &'a mut TensorSlice<i32>,
    /// Gates before each expert, and of all, `[E+1]`.
    pub token_offs_raw: &'a mut TensorSlice<i32>,
    /// Tiles before each expert, and of all, `[E+1]`.
    pub token_offs_pad: &'a mut TensorSlice<i32>,
    /// The expert of each tile, and which of its tiles it is: as many as [`max_num_tiles`] says.
    pub block_pid_map: &'a mut TensorSlice<i32>,
}

/// Where [`routing_compute_indx_into`] stores.
#[derive(Debug)]
pub struct RoutingIndxOut<'a, W: Real> {
    /// The weight of each gate, in the order of experts, `[G]`.
    pub gate_scal: &'a mut TensorSlice<W>,
    /// The gate in each place, `[G]`.
    pub gather_indx: &'a mut TensorSlice<i32>,
    /// The place of each gate, `[G]`.
    pub scatter_indx: &'a mut TensorSlice<i32>,
}

/// Rows of a tile for so many tokens that have so many experts each: about as many gates as an
/// expert has, a power of two from 16 to 128.
pub fn block_m(tokens: usize, n_expts_tot: usize, n_expts_act: usize) -> usize {
    let each = tokens.saturating_mul(n_expts_act) / n_expts_tot.max(1);
    each.clamp(1, 128).next_power_of_two().clamp(16, 128)
}

/// Chooses `n_expts_act` experts for each row of logits, and puts their gates in the order of
/// experts.
///
/// # Errors
/// As [`moe_topk`](crate::moe_topk()) and [`moe_grouped_topk`](crate::moe_grouped_topk());
/// [`Error::Value`] also for options that its flavour of the softmax does not take, or if there are
/// more than 32767 experts with those that are shared, more than 31 bits count of gates, or more
/// tokens than 32767 tiles have rows.
pub fn routing<T: Real>(
    logits: &TensorSlice<T>,
    n_expts_act: usize,
    options: &RoutingOptions<'_>,
) -> Result<Routing<f32>> {
    const OP: &str = "routing";
    let mut args = Arguments::new(OP);
    args.input("logits", logits, &["T", "E"]).rows()?;
    let [tokens, experts] = args.sizes(["T", "E"])?;
    // More is refused.
    let shared = options.shared().min(MOST_OF_TOKEN);
    let k = n_expts_act.min(MOST_OF_TOKEN) + shared;
    let shape = [tokens, k];
    let sizes = Sizes { tokens, gates: tokens * k, experts: experts + shared };
    let block_m = block_m(tokens, experts, n_expts_act);
    let stream = logits.stream();
    let mut expt_scal = Tensor::empty(stream, &shape)?;
    let mut expt_indx = Tensor::empty(stream, &shape)?;
    let mut routing = sizes.empty(&expt_scal, block_m, k)?;
    let chosen =
        ChosenOut { expt_scal: &mut expt_scal, expt_indx: &mut expt_indx, bitmatrix: None };
    routing_into(logits, n_expts_act, options, chosen, routing.out())?;
    Ok(routing)
}

/// As [`routing`], into given tensors.
///
/// # Errors
/// As [`routing`]; [`Error::Shape`] or [`Error::Stride`] also if an output is not as [`ChosenOut`]
/// and [`SortTokensOut`] say, and [`Error::Alias`] if one overlaps another argument.
pub fn routing_into<T: Real, W: Real>(
    logits: &TensorSlice<T>,
    n_expts_act: usize,
    options: &RoutingOptions<'_>,
    chosen: ChosenOut<'_, W>,
    out: SortTokensOut<'_, W>,
) -> Result<()> {
    let mut args = Arguments::new("routing");
    options.check(&args)?;
    let (topk, groups) = (options.topk(), options.grouped());
    let ChosenOut { expt_scal, expt_indx, bitmatrix } = chosen;
    let into = MoeTopkOut { y_vals: &mut *expt_scal, y_indx: &mut *expt_indx, bitmatrix };
    // Those that are sorted have no gaps.
    let names = launch::Names {
        logits: "logits",
        weights: "expt_scal",
        experts: "expt_indx",
        are_contiguous: true,
    };
    let choice = launch::Plan::declare(&mut args, names, logits, n_expts_act, groups, &topk, into)?;
    let [tokens, experts] = args.sizes(["T", "E"])?;
    let block_m = block_m(tokens, experts, n_expts_act);
    let experts = experts + options.shared();
    let most = format!("with {} shared ones at most {MOST_EXPERTS}", options.shared());
    args.require(experts <= MOST_EXPERTS, "E", most, experts)?;
    let sizes = Sizes { tokens, gates: expt_indx.len(), experts };
    sizes.check_gates(&args)?;
    let sort = sizes.declare_sort(&mut args, expt_scal, expt_indx, block_m, out)?;
    let mut call = args.check()?;
    let choice = choice.prepare(&call, groups, &topk)?;
    // SAFETY: the tensors are those that were declared; ids and weights are what the choice makes.
    let sort = unsafe { sort.sort(&mut call, false) }?;
    call.submit(|stream| {
        // SAFETY: the tensors are those that were declared.
        unsafe { choice.launch(stream)? };
        sort.launch(stream)
    })
}

/// Puts gates in the order of their experts: `expt_indx` `[T, k]` of `n_expts_tot`, with the
/// weights `expt_scal`; in tiles of `block_m` rows, a power of two from 16 to 256.
///
/// # Errors
/// [`Error::Shape`] if weights are not as many as experts, [`Error::Value`] if there are no experts
/// or more than 32767, `block_m` is none of these, or there are more tokens than 32767 tiles have
/// rows; where ids are looked at, if one is not from -1 to `n_expts_tot - 1`, or a token has the
/// same one twice. [`Error::Stride`] if a tensor has gaps.
pub fn sort_tokens<W: Real>(
    expt_scal: &TensorSlice<W>,
    expt_indx: &TensorSlice<i32>,
    n_expts_tot: usize,
    block_m: usize,
    options: &SortOptions,
) -> Result<Routing<W>> {
    let mut sorted = empty("sort_tokens", expt_scal, n_expts_tot, block_m)?;
    sort_tokens_into(expt_scal, expt_indx, n_expts_tot, block_m, options, sorted.out())?;
    Ok(sorted)
}

/// As [`sort_tokens`], into given tensors.
///
/// # Errors
/// As [`sort_tokens`]; [`Error::Shape`] or [`Error::Stride`] also if an output is not as
/// [`SortTokensOut`] says, and [`Error::Alias`] if one overlaps another argument.
pub fn sort_tokens_into<W: Real>(
    expt_scal: &TensorSlice<W>,
    expt_indx: &TensorSlice<i32>,
    n_expts_tot: usize,
    block_m: usize,
    options: &SortOptions,
    out: SortTokensOut<'_, W>,
) -> Result<()> {
    sort("sort_tokens", expt_scal, expt_indx, n_expts_tot, block_m, options, out)
}

/// As [`sort_tokens`], in one launch, however many gates there are.
///
/// # Errors
/// As [`sort_tokens`].
pub fn sort_tokens_fused<W: Real>(
    expt_scal: &TensorSlice<W>,
    expt_indx: &TensorSlice<i32>,
    n_expts_tot: usize,
    block_m: usize,
    options: &SortOptions,
) -> Result<Routing<W>> {
    let mut sorted = empty(FUSED, expt_scal, n_expts_tot, block_m)?;
    sort_tokens_fused_into(expt_scal, expt_indx, n_expts_tot, block_m, options, sorted.out())?;
    Ok(sorted)
}

/// As [`sort_tokens_fused`], into given tensors.
///
/// # Errors
/// As [`sort_tokens_into`].
pub fn sort_tokens_fused_into<W: Real>(
    expt_scal: &TensorSlice<W>,
    expt_indx: &TensorSlice<i32>,
    n_expts_tot: usize,
    block_m: usize,
    options: &SortOptions,
    out: SortTokensOut<'_, W>,
) -> Result<()> {
    sort(FUSED, expt_scal, expt_indx, n_expts_tot, block_m, options, out)
}

/// Only the order of gates: as [`sort_tokens`], without tiles.
///
/// # Errors
/// As [`sort_tokens`], but of `block_m`.
pub fn routing_compute_indx<W: Real>(
    expt_scal: &TensorSlice<W>,
    expt_indx: &TensorSlice<i32>,
    n_expts_tot: usize,
    options: &SortOptions,
) -> Result<RoutingIndx<W>> {
    let gates = [expt_scal.len()];
    let stream = expt_scal.stream();
    let mut indx = RoutingIndx {
        gate_scal: Tensor::empty(stream, &gates)?,
        gather_indx: Tensor::empty(stream, &gates)?,
        scatter_indx: Tensor::empty(stream, &gates)?,
    };
    let out = RoutingIndxOut {
        gate_scal: &mut indx.gate_scal,
        gather_indx: &mut indx.gather_indx,
        scatter_indx: &mut indx.scatter_indx,
    };
    routing_compute_indx_into(expt_scal, expt_indx, n_expts_tot, options, out)?;
    Ok(indx)
}

/// As [`routing_compute_indx`], into given tensors.
///
/// # Errors
/// As [`routing_compute_indx`]; [`Error::Shape`] or [`Error::Stride`] also if an output is not as
/// [`RoutingIndxOut`] says, and [`Error::Alias`] if one overlaps another argument.
pub fn routing_compute_indx_into<W: Real>(
    expt_scal: &TensorSlice<W>,
    expt_indx: &TensorSlice<i32>,
    n_expts_tot: usize,
    options: &SortOptions,
    out: RoutingIndxOut<'_, W>,
) -> Result<()> {
    let mut args = Arguments::new("routing_compute_indx");
    let sizes = Sizes::declare(&mut args, expt_scal, expt_indx, n_expts_tot)?;
    let sort = sizes.declare_order(&mut args, expt_scal, expt_indx, 16, out)?;
    let mut call = args.check()?;
    check_ids(&call, expt_indx, n_expts_tot, options)?;
    // SAFETY: the tensors are those that were declared.
    let sort = unsafe { sort.sort(&mut call, false) }?;
    call.submit(|stream| sort.launch(stream))
}

const FUSED: &str = "sort_tokens_fused";

fn sort<W: Real>(
    op: &'static str,
    expt_scal: &TensorSlice<W>,
    expt_indx: &TensorSlice<i32>,
    n_expts_tot: usize,
    block_m: usize,
    options: &SortOptions,
    out: SortTokensOut<'_, W>,
) -> Result<()> {
    let mut args = Arguments::new(op);
    let sizes = Sizes::declare(&mut args, expt_scal, expt_indx, n_expts_tot)?;
    let sort = sizes.declare_sort(&mut args, expt_scal, expt_indx, block_m, out)?;
    let mut call = args.check()?;
    check_ids(&call, expt_indx, n_expts_tot, options)?;
    // SAFETY: the tensors are those that were declared.
    let sort = unsafe { sort.sort(&mut call, op == FUSED) }?;
    call.submit(|stream| sort.launch(stream))
}

/// Looks at ids, if that is wanted.
fn check_ids(
    call: &Call,
    expt_indx: &TensorSlice<i32>,
    experts: usize,
    options: &SortOptions,
) -> Result<()> {
    if !call.validates_indices(options.validate)? {
        return Ok(());
    }
    let ids: Vec<_> = expt_indx.to_vec()?.into_iter().map(i64::from).collect();
    let range = -1..experts as i64;
    let constraint = format!("-1, or an expert below {experts}");
    call.require_each("expt_indx", &ids, &constraint, |_, id| range.contains(&id))?;
    let k = expt_indx.row_len();
    call.require_each("expt_indx", &ids, "other experts of the same token", |at, id| {
        id == -1 || !ids[at / k * k..at].contains(&id)
    })
}

/// Memory for the order of gates.
fn empty<W: Real>(
    op: &'static str,
    expt_scal: &TensorSlice<W>,
    experts: usize,
    block_m: usize,
) -> Result<Routing<W>> {
    let mut args = Arguments::new(op);
    args.input("expt_scal", expt_scal, &["T", "k"]).contiguous()?;
    let [tokens, k] = args.sizes(["T", "k"])?;
    // More is refused.
    let experts = experts.min(MOST_EXPERTS);
    let sizes = Sizes { tokens, gates: expt_scal.len(), experts };
    sizes.empty(expt_scal, block_m, k)
}

/// Numbers of tokens, gates and experts.
#[derive(Clone, Copy)]
struct Sizes {
    tokens: usize,
    gates: usize,
    experts: usize,
}

impl Sizes {
    /// Declares ids and their weights.
    fn declare<W: Real>(
        args: &mut Arguments,
        expt_scal: &TensorSlice<W>,
        expt_indx: &TensorSlice<i32>,
        experts: usize,
    ) -> Result<Self> {
        args.input("expt_scal", expt_scal, &["T", "k"]).contiguous()?;
        args.input("expt_indx", expt_indx, &["T", "k"]).contiguous()?;
        args.limit("k", 1..=MOST_EXPERTS)?;
        let range = format!("from 1 to {MOST_EXPERTS}");
        let has_experts = (1..=MOST_EXPERTS).contains(&experts);
        args.require(has_experts, "n_expts_tot", range, experts)?;
        let [tokens] = args.sizes(["T"])?;
        let sizes = Self { tokens, gates: expt_indx.len(), experts };
        sizes.check_gates(args)?;
        Ok(sizes)
    }

    /// Requires gates that indices can tell apart.
    fn check_gates(self, args: &Arguments) -> Result<()> {
        let few = self.gates <= i32::MAX as usize;
        args.require(few, "expt_indx", "fewer than 2^31 gates", self.gates)
    }

    /// Memory for the order of gates, on the stream of their weights.
    fn empty<W: Real>(
        self,
        expt_scal: &TensorSlice<W>,
        block_m: usize,
        n_expts_act: usize,
    ) -> Result<Routing<W>> {
        let Self { gates, experts, .. } = self;
        let stream = expt_scal.stream();
        let integers = |count: usize| Tensor::<i32>::empty(stream, &[count]);
        // Others are refused.
        let log2 = block_m.max(16).ilog2();
        let expt_data = ExptData {
            token_offs_raw: integers(experts + 1)?,
            token_offs_pad: integers(experts + 1)?,
            block_pid_map: integers(max_num_tiles(gates, experts, log2))?,
        };
        let gate_scal = Tensor::empty(stream, &[gates])?;
        let (expt_hist, n_expts_tot) = (integers(experts)?, experts);
        let data =
            RoutingData { block_m, gate_scal, expt_hist, n_expts_tot, n_expts_act, expt_data };
        Ok(Routing { data, gather_indx: integers(gates)?, scatter_indx: integers(gates)? })
    }

    /// Declares the order of gates.
    fn declare_order<W: Real>(
        self,
        args: &mut Arguments,
        expt_scal: &TensorSlice<W>,
        expt_indx: &TensorSlice<i32>,
        block_m: usize,
        out: RoutingIndxOut<'_, W>,
    ) -> Result<ExpertSortArgs> {
        args.define("T*k", self.gates);
        args.output("gate_scal", out.gate_scal, &["T*k"]).contiguous()?;
        args.output("gather_indx", out.gather_indx, &["T*k"]).contiguous()?;
        args.output("scatter_indx", out.scatter_indx, &["T*k"]).contiguous()?;
        Ok(ExpertSortArgs {
            ids: expt_indx.ptr(),
            weights: expt_scal.ptr().any(),
            sorted_weights: out.gate_scal.ptr_mut().any(),
            sorted: out.gather_indx.ptr_mut(),
            positions: out.scatter_indx.ptr_mut(),
            rows: self.gates as u32,
            weight_bytes: size_of::<W>() as u32,
            ..ExpertSortArgs::new(self.gates as u32, self.experts as u32, block_m as u32)
        })
    }

    /// Declares the order of gates, and tiles.
    fn declare_sort<W: Real>(
        self,
        args: &mut Arguments,
        expt_scal: &TensorSlice<W>,
        expt_indx: &TensorSlice<i32>,
        block_m: usize,
        out: SortTokensOut<'_, W>,
    ) -> Result<ExpertSortArgs> {
        let is_power = block_m.is_power_of_two() && (16..=256).contains(&block_m);
        args.require(is_power, "block_m", "16, 32, 64, 128 or 256", block_m)?;
        // The experts of a token are not the same: one has a gate of each token at most.
        check_tile(args, ("T", self.tokens), block_m.ilog2())?;
        let sort = self.declare_order(args, expt_scal, expt_indx, block_m, out.indx)?;
        let tiles = max_num_tiles(self.gates, self.experts, block_m.ilog2());
        args.define("n_expts_tot", self.experts);
        args.define("n_expts_tot+1", self.experts + 1);
        args.define("max_num_tiles", tiles);
        args.output("expt_hist", out.expt_hist, &["n_expts_tot"]).contiguous()?;
        for (name, offsets) in
            [("token_offs_raw", &mut *out.token_offs_raw), ("token_offs_pad", out.token_offs_pad)]
        {
            args.output(name, offsets, &["n_expts_tot+1"]).contiguous()?;
        }
        args.output("block_pid_map", out.block_pid_map, &["max_num_tiles"]).contiguous()?;
        Ok(ExpertSortArgs {
            hist: out.expt_hist.ptr_mut(),
            offs_raw: out.token_offs_raw.ptr_mut(),
            offs_pad: out.token_offs_pad.ptr_mut(),
            tiles: out.block_pid_map.ptr_mut(),
            tile_count: tiles as u32,
            numbers_tiles: 1,
            ..sort
        })
    }
}

impl<W: Real> Routing<W> {
    /// Where to store it.
    fn out(&mut self) -> SortTokensOut<'_, W> {
        let Self { data: RoutingData { gate_scal, expt_hist, expt_data, .. }, .. } = self;
        let (gather_indx, scatter_indx) = (&mut *self.gather_indx, &mut *self.scatter_indx);
        let ExptData { token_offs_raw, token_offs_pad, block_pid_map } = expt_data;
        let indx = RoutingIndxOut { gate_scal, gather_indx, scatter_indx };
        SortTokensOut { indx, expt_hist, token_offs_raw, token_offs_pad, block_pid_map }
    }
}
