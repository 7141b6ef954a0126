//! Whole layers of experts: `y[t] = sum_s w[t, s] (W2[e] act(W1[e] x[t] + b1[e]) + b2[e]) +
//! shared[t]`, where `e` is the expert of slot s of token t and w its weight, which a router
//! chooses.
//!
//! | | |
//! |---|---|
//! | Shapes | x `[T, hidden]`; logits `[T, E]`, or the router's weights `[E, hidden]` and bias `[E]`, or ids and weights `[T, slots]`; w1 `[E, 2 inner, hidden]`, or `[E, inner, hidden]` without gates, w2 `[E, hidden, inner]`, biases `[E, rows]` -> y `[T, hidden]`; any sizes, hidden and inner at most 65,536 |
//! | Dtypes | x bf16 or f16; w1 and w2 as x, which stays so, or i8 with scales of experts or rows, or unsigned integers of 8 or 4 bits with scales of groups of k, with x as it is, or e2m1 in blocks of MX, with x as it is, in blocks of e4m3 or e2m1, or the chip's e4m3 by a scale that is given, or e4m3 in blocks of MX, or the chip's e4m3 with scales of blocks of 128, or e4m3 or i8 with scales of experts or rows, of whose tokens columns may be smoothed, or the scale given; logits f32 or as x; biases, routers' weights of experts f32; y bf16, f16 or f32 |
//! | Numerics | f32 sums; between the products, and between the second one and the sum over experts, rows are rounded to the type of x, and made codes where products take such; bitwise deterministic, and tokens do not depend on each other |
//! | Hardware | cdna3, cdna4; a composition of this crate's ops on one stream, which allocates nothing and reads nothing back, so that it can be captured |
//! | Source | Shazeer et al., "Outrageously Large Neural Networks" (2017); Mixtral of Experts (arXiv 2401.04088); DeepSeek-V3 Technical Report (arXiv 2412.19437); gpt-oss model card (arXiv 2508.10925); AITER `fused_moe` |
//!
//! A layer owns its weights and its scratch memory, which is for so many tokens at most. A token
//! whose expert is not among the matrices, as a [map](FusedMoeConfig::expert_map) says, or is -1,
//! gets nothing of it. [Shared experts](FusedMoeConfig::shared_experts) that are the last matrices
//! are slots of every token; others are [given](SharedExpert) as their results.
//!
//! ```
//! # #[cfg(feature = "cdna4")] {
//! use hk_moe::{Activation, DenseWeights, Device, FusedMoe, FusedMoeConfig, Router, Tensor, bf16};
//!
//! let stream = Device::open("sim:mi355x")?.default_stream();
//! // Two experts of one gate and one value: silu(30 + 80) (2 - 5), and ten times that.
//! let w1 = [30.0, 40.0, -5.0, 1.0, 30.0, 40.0, -50.0, 10.0].map(bf16::from_f32);
//! let w1 = Tensor::from_slice(&stream, &w1, &[2, 2, 2])?;
//! let w2 = [1.0, -1.0, 1.0, -1.0].map(bf16::from_f32);
//! let w2 = Tensor::from_slice(&stream, &w2, &[2, 2, 1])?;
//! let config = FusedMoeConfig::new(1, Activation::SiluAndMul);
//! let mut layer = FusedMoe::new(config, DenseWeights::new(w1, w2), 16)?;
//!
//! let x = Tensor::from_slice(&stream, &[1.0, 2.0].map(bf16::from_f32), &[1, 2])?;
//! let logits = Tensor::from_slice(&stream, &[1.0f32, -1.0], &[1, 2])?;
//! let y: Tensor<f32> = layer.forward(&x, Router::Logits(&logits), None)?;
//! assert_eq!(y.to_vec()?, [-330.0, 330.0]);
//! # }
//! # Ok::<(), hk_core::Error>(())
//! ```

mod a8w8;
mod aligned;
mod choice;
mod coded_mx;
mod codes;
mod config;
mod dense;
mod fp8_blocks;
mod mxfp4;
mod ragged;
mod room;
mod static_a8w4;
mod weights;

#[cfg(doc)]
use hk_core::Error;
use hk_core::dtype::{Real, Real16};
use hk_core::op::{Arguments, Call, dry_run};
use hk_core::{Result, Tensor, TensorSlice};

pub use a8w8::{A8w8Weights, ByteMatrices};
use choice::Choice;
pub use coded_mx::{A4w4Weights, A8w4Weights, MxProduct, MxWeights, Mxfp8Weights};
pub use config::FusedMoeConfig;
pub use dense::{DenseMatrices, DenseWeights, GroupedWeights, IntMatrices, W8a16Weights};
pub use fp8_blocks::{Fp8BlockWeights, Fp8Matrices};
pub use mxfp4::{MxMatrices, Mxfp4Weights};
use room::Room;
pub use static_a8w4::StaticA8w4Weights;
pub use weights::ExpertWeights;
use weights::{HERE, HIDDEN, INNER, Sizes, Work};

use crate::reduce_grouped::Residual;

const OP: &str = "fused_moe";

/// What chooses the experts of tokens.
#[derive(Debug, Clone, Copy)]
pub enum Router<'a, T: Real16> {
    /// Logits, `[T, E]`.
    Logits(&'a TensorSlice<f32>),
    /// Logits of the type of tokens, `[T, E]`.
    RoundedLogits(&'a TensorSlice<T>),
    /// `logits = x weights^T + bias`, in f32.
    Weights {
        /// `[E, hidden]`.
        weights: &'a TensorSlice<T>,
        /// `[E]`.
        bias: Option<&'a TensorSlice<f32>>,
    },
    /// Experts, and their weights as they are.
    Chosen {
        /// `[T, slots]`, those that are shared included; -1 is none.
        ids: &'a TensorSlice<i32>,
        /// `[T, slots]`.
        weights: &'a TensorSlice<f32>,
    },
}

/// What is added to the results of the experts: those of one that all tokens have, or other rows, such as the
/// hidden states from before the norm.
#[derive(Debug, Clone, Copy)]
pub struct SharedExpert<'a, T: Real16, Y: Real> {
    /// A row for each token, `[T, hidden]`.
    pub rows: &'a TensorSlice<Y>,
    /// `[hidden]`: rows are multiplied by the sigmoid of its product with their token.
    pub gate: Option<&'a TensorSlice<T>>,
}

impl<'a, T: Real16, Y: Real> SharedExpert<'a, T, Y> {
    /// Rows `[T, hidden]` as they are.
    pub const fn plain(rows: &'a TensorSlice<Y>) -> Self {
        Self { rows, gate: None }
    }

    /// Rows `[T, hidden]`, each times the sigmoid of its token's product with the gate, `[hidden]`.
    pub const fn gated(rows: &'a TensorSlice<Y>, gate: &'a TensorSlice<T>) -> Self {
        Self { rows, gate: Some(gate) }
    }
}

/// A layer of experts.
#[derive(Debug)]
pub struct FusedMoe<W: ExpertWeights> {
    config: FusedMoeConfig,
    weights: W,
    sizes: Sizes,
    choice: Choice,
    scratch: W::Scratch,
}

impl<W: ExpertWeights> FusedMoe<W> {
    /// A layer of these weights for calls of at most so many tokens, with scratch memory on the
    /// stream of the weights.
    ///
    /// # Errors
    /// [`Error::Shape`], [`Error::Stride`] or [`Error::Stream`] if weights do not fit together;
    /// [`Error::ArchMismatch`] if they are those of another chip; [`Error::Value`] if experts
    /// cannot be chosen as the configuration says, see [`moe_topk`](crate::moe_topk()) and
    /// [`moe_grouped_topk`](crate::moe_grouped_topk()), the format does not take its activation,
    /// the map of experts has others than there are, or so many tokens have 2 GiB or more or, of
    /// products of codes, more than 32767 tiles of an expert; [`Error::OutOfMemory`],
    /// [`Error::Hip`].
    pub fn new(config: FusedMoeConfig, weights: W, max_tokens: usize) -> Result<Self> {
        let (call, sizes) = check(&config, &weights, max_tokens)?;
        let room = &mut Room::new(call.stream());
        let choice = Choice::new(room, &sizes)?;
        let scratch = weights.scratch(room, &sizes, &config)?;
        Ok(Self { config, weights, sizes, choice, scratch })
    }

    /// Bytes of the scratch memory that such a layer has. Ops may use the stream's workspace
    /// besides, as much as a [dry run](hk_core::op::dry_run) of a call tells.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn workspace_bytes(
        config: &FusedMoeConfig,
        weights: &W,
        max_tokens: usize,
    ) -> Result<usize> {
        let (call, sizes) = check(config, weights, max_tokens)?;
        let room = &mut Room::counting(call.stream());
        Choice::new(room, &sizes)?;
        weights.scratch(room, &sizes, config)?;
        Ok(room.bytes())
    }

    /// What it does.
    pub const fn config(&self) -> &FusedMoeConfig {
        &self.config
    }

    /// Most tokens of a call.
    pub const fn max_tokens(&self) -> usize {
        self.sizes.tokens
    }

    /// The layer's results for tokens `[T, hidden]`, of which there may be none.
    ///
    /// # Errors
    /// [`Error::Shape`] if there are too many tokens or tensors do not fit together;
    /// [`Error::Stride`] if rows are not evenly spaced; [`Error::Value`] if rows of tokens are 2
    /// GiB or more, or a chosen expert is one that there is not, where ids are looked at: on the
    /// simulator, and in builds with debug assertions, but not while a stream is being captured.
    pub fn forward<Y: Real>(
        &mut self,
        x: &TensorSlice<W::Hidden>,
        router: Router<'_, W::Hidden>,
        shared: Option<SharedExpert<'_, W::Hidden, Y>>,
    ) -> Result<Tensor<Y>> {
        let mut out = Tensor::empty(x.stream(), x.shape())?;
        self.forward_into(x, router, shared, &mut out)?;
        Ok(out)
    }

    /// As [`forward`](Self::forward), into `out`, which may be the shared expert's rows.
    ///
    /// # Errors
    /// As [`forward`](Self::forward); [`Error::Shape`] or [`Error::Stride`] also if `out` has
    /// another shape or rows that are not evenly spaced, and [`Error::Alias`] if it overlaps
    /// another argument.
    pub fn forward_into<Y: Real>(
        &mut self,
        x: &TensorSlice<W::Hidden>,
        router: Router<'_, W::Hidden>,
        shared: Option<SharedExpert<'_, W::Hidden, Y>>,
        out: &mut TensorSlice<Y>,
    ) -> Result<()> {
        let mut call = self.declare(x, router, shared, out)?;
        if let Router::Chosen { ids, .. } = router
            && call.validates_indices(None)?
        {
            let all = self.sizes.experts + self.config.shared;
            let ids: Vec<_> = ids.to_vec()?.into_iter().map(i64::from).collect();
            let constraint = format!("-1, or an expert below {all}");
            let range = -1..all as i64;
            call.require_each("topk_ids", &ids, &constraint, |_, id| range.contains(&id))?;
        }
        if x.rows() == 0 {
            return Ok(());
        }
        if !call.is_dry() {
            return self.launch(x, router, shared, out);
        }
        // The ops have the stream's workspace one after the other.
        let (result, calls) = dry_run(|| self.launch(x, router, shared, out));
        let most = calls.iter().map(|call| call.workspace_bytes).max();
        call.workspace([most.unwrap_or_default()])?;
        result
    }

    /// Calls the ops that the layer is made of.
    fn launch<Y: Real>(
        &mut self,
        x: &TensorSlice<W::Hidden>,
        router: Router<'_, W::Hidden>,
        shared: Option<SharedExpert<'_, W::Hidden, Y>>,
        out: &mut TensorSlice<Y>,
    ) -> Result<()> {
        let Self { config, weights, sizes, choice, scratch } = self;
        let gate = shared.and_then(|shared| shared.gate);
        let chosen = choice.choose(config, sizes, x, router, gate)?;
        let residual =
            shared.map(|shared| Residual { rows: shared.rows, gate: chosen.gate.as_deref() });
        let work = Work {
            config,
            sizes: *sizes,
            x,
            ids: &chosen.ids,
            weights: &chosen.weights,
            present: chosen.present.as_deref(),
        };
        weights.forward(scratch, &work, residual, out)
    }

    /// Declares all arguments of a call, which are right then. The launches are those of other ops.
    fn declare<Y: Real>(
        &self,
        x: &TensorSlice<W::Hidden>,
        router: Router<'_, W::Hidden>,
        shared: Option<SharedExpert<'_, W::Hidden, Y>>,
        out: &mut TensorSlice<Y>,
    ) -> Result<Call> {
        const SLOTS: &str = "top_k + shared";
        let Self { config, weights, sizes, .. } = self;
        let mut args = Arguments::new(OP);
        weights.declare(&mut args, config)?;
        let row = args.input("x", x, &["T", HIDDEN]).rows()?;
        args.limit("T", 0..=sizes.tokens)?;
        check_bytes(&args, "x", [x.rows(), row as usize])?;
        args.define("E", sizes.experts);
        args.define("E + shared", sizes.experts + config.shared);
        args.define(SLOTS, sizes.slots);
        config.declare(&mut args)?;
        match router {
            Router::Logits(logits) => {
                args.input("logits", logits, &["T", "E"]).rows()?;
            }
            Router::RoundedLogits(logits) => {
                args.input("logits", logits, &["T", "E"]).rows()?;
            }
            Router::Weights { weights, bias } => {
                args.input("router_weights", weights, &["E", HIDDEN]).contiguous()?;
                if let Some(bias) = bias {
                    args.input("router_bias", bias, &["E"]).contiguous()?;
                }
            }
            Router::Chosen { ids, weights } => {
                args.input("topk_ids", ids, &["T", SLOTS]).contiguous()?;
                args.input("topk_weights", weights, &["T", SLOTS]).contiguous()?;
            }
        }
        if let Some(SharedExpert { rows, gate }) = shared {
            args.input("shared", rows, &["T", HIDDEN]).may_be("out").rows()?;
            if let Some(gate) = gate {
                args.input("shared_gate", gate, &[HIDDEN]).contiguous()?;
            }
        }
        args.output("out", out, &["T", HIDDEN]).rows()?;
        args.check()
    }
}

/// Requires that a layer can be, and gives its sizes.
fn check<W: ExpertWeights>(
    config: &FusedMoeConfig,
    weights: &W,
    max_tokens: usize,
) -> Result<(Call, Sizes)> {
    let mut args = Arguments::new(OP);
    weights.declare(&mut args, config)?;
    let [here, hidden, inner] = args.sizes([HERE, HIDDEN, INNER])?;
    let mut all = here;
    if let Some(map) = &config.expert_map {
        all = map.len();
        args.define("E + shared", all);
        args.input("expert_map", map, &["E + shared"]).contiguous()?;
    }
    let constraint = format!("fewer than the {all} experts");
    args.require(config.shared < all, "shared_experts", constraint, config.shared)?;
    let (experts, slots) = (all - config.shared, config.slots());
    config.check(weights.stream(), experts)?;
    let sizes = Sizes { experts, here, hidden, inner, slots, tokens: max_tokens };
    let few = (1..=i32::MAX as usize).contains(&sizes.gates());
    args.require(few, "max_tokens", "1 or more, with fewer than 2^31 gates", max_tokens)?;
    check_bytes(&args, "max_tokens", [max_tokens, hidden])?;
    check_bytes(&args, "max_tokens", [sizes.gates(), inner])?;
    let call = args.check()?;
    if let Some(map) = &config.expert_map
        && call.validates_indices(Some(true))?
    {
        let map: Vec<_> = map.to_vec()?.into_iter().map(i64::from).collect();
        let constraint = format!("-1, or a matrix below {here}");
        let range = -1..here as i64;
        call.require_each("expert_map", &map, &constraint, |_, to| range.contains(&to))?;
    }
    Ok((call, sizes))
}

/// Requires that so many rows of 16-bit numbers, so far apart, are within what products address.
fn check_bytes(args: &Arguments, arg: &'static str, [rows, row]: [usize; 2]) -> Result<()> {
    let bytes = rows.saturating_mul(row).saturating_mul(2);
    args.require(bytes < 1 << 31, arg, "rows within 2 GiB", bytes)
}
