//! The experts of the tokens of a call.

use hk_core::dtype::Real16;
use hk_core::{Result, Tensor, TensorSlice, TensorView};

use super::room::Room;
use super::weights::Sizes;
use super::{FusedMoeConfig, OP, Router};
use crate::expert_map::expert_map;
use crate::expert_products::{AlignedGates, ExpertElement, MoeGemmOptions};
use crate::moe_op::moe_gemm_into;
use crate::moe_routing::block_m;

/// Rows of the largest tile.
const TILE: usize = 128;

/// What the launches that choose experts hand to each other, and to the products.
#[derive(Debug)]
pub(super) struct Choice {
    /// `[tokens, slots]`, as all but the next ones.
    ids: Tensor<i32>,
    weights: Tensor<f32>,
    /// Of experts that may be elsewhere: numbers of matrices, and of gates that have one.
    local: Tensor<i32>,
    present: Tensor<i32>,
    /// `[tokens, E]`.
    logits: Tensor<f32>,
    /// Of the shared expert, `[tokens]`.
    gate: Tensor<f32>,
    /// Every token, as gates of one expert.
    tokens: Tensor<i32>,
    /// That expert, for each tile.
    tiles: Tensor<i32>,
    length: Tensor<i32>,
}

/// What was chosen.
#[derive(Debug)]
pub(super) struct Chosen<'a> {
    pub(super) ids: TensorView<'a, i32>,
    pub(super) weights: TensorView<'a, f32>,
    pub(super) present: Option<TensorView<'a, i32>>,
    /// Of the shared expert, before its sigmoid, `[T]`.
    pub(super) gate: Option<TensorView<'a, f32>>,
}

impl Choice {
    pub(super) fn new(room: &mut Room<'_>, sizes: &Sizes) -> Result<Self> {
        let [tokens, slots] = [sizes.tokens, sizes.slots];
        let rows = tokens.next_multiple_of(TILE);
        Ok(Self {
            ids: room.tensor(&[tokens, slots])?,
            weights: room.tensor(&[tokens, slots])?,
            local: room.tensor(&[tokens, slots])?,
            present: room.tensor(&[tokens, slots])?,
            logits: room.tensor(&[tokens, sizes.experts])?,
            gate: room.tensor(&[tokens])?,
            tokens: room.numbers((0..rows as i32).collect())?,
            tiles: room.tensor(&[rows.div_ceil(16)])?,
            length: room.numbers(vec![rows as i32])?,
        })
    }

    /// Launches what chooses experts.
    pub(super) fn choose<'a, T: Real16 + ExpertElement>(
        &'a mut self,
        config: &FusedMoeConfig,
        sizes: &Sizes,
        x: &TensorSlice<T>,
        router: Router<'a, T>,
        shared_gate: Option<&TensorSlice<T>>,
    ) -> Result<Chosen<'a>> {
        let tokens = x.rows();
        let Self { ids, weights, local, present, logits, gate, .. } = self;
        let every = Every { tokens: &self.tokens, tiles: &self.tiles, length: &self.length };
        let (mut own_ids, mut own_weights) =
            (ids.narrow_mut(0, 0..tokens)?, weights.narrow_mut(0, 0..tokens)?);
        match router {
            Router::Logits(logits) => config.choose(logits, &mut own_weights, &mut own_ids)?,
            Router::RoundedLogits(logits) => {
                config.choose(logits, &mut own_weights, &mut own_ids)?;
            }
            Router::Weights { weights, bias } => {
                let mut logits = logits.narrow_mut(0, 0..tokens)?;
                every.multiply(x, weights, bias, &mut logits)?;
                config.choose(&logits, &mut own_weights, &mut own_ids)?;
            }
            Router::Chosen { .. } => (),
        }
        let gate = match shared_gate {
            Some(of_shared) => {
                let mut column = gate.narrow_mut(0, 0..tokens)?.reshape_mut(&[tokens, 1])?;
                every.multiply(x, &of_shared.broadcast(&[1, x.row_len()])?, None, &mut column)?;
                Some(self.gate.narrow(0, 0..tokens)?)
            }
            None => None,
        };
        let (ids, weights) = match router {
            Router::Chosen { ids, weights } => (ids.view(), weights.view()),
            _ => (self.ids.narrow(0, 0..tokens)?, self.weights.narrow(0, 0..tokens)?),
        };
        if config.expert_map.is_none() && !matches!(router, Router::Chosen { .. }) {
            return Ok(Chosen { ids, weights, present: None, gate });
        }
        let (mut here, mut gates) =
            (local.narrow_mut(0, 0..tokens)?, present.narrow_mut(0, 0..tokens)?);
        let counts = [sizes.experts + config.shared, sizes.here];
        let map = config.expert_map.as_deref();
        expert_map(OP, &ids, map, counts, [&mut here, &mut gates])?;
        let ids = self.local.narrow(0, 0..tokens)?;
        Ok(Chosen { ids, weights, present: Some(self.present.narrow(0, 0..tokens)?), gate })
    }
}

/// Every token, as gates of one expert.
struct Every<'a> {
    tokens: &'a TensorSlice<i32>,
    tiles: &'a TensorSlice<i32>,
    length: &'a TensorSlice<i32>,
}

impl Every<'_> {
    /// Multiplies rows by those of one matrix: `[T, n]` from `[T, k]` and `[n, k]`.
    fn multiply<T: Real16 + ExpertElement>(
        &self,
        x: &TensorSlice<T>,
        w: &TensorSlice<T>,
        bias: Option<&TensorSlice<f32>>,
        y: &mut TensorSlice<f32>,
    ) -> Result<()> {
        let [rows, columns] = [x.rows(), w.rows()];
        let block_size = block_m(rows, 1, 1);
        let capacity = rows.next_multiple_of(block_size);
        let gates = AlignedGates {
            sorted_token_ids: &self.tokens.narrow(0, 0..capacity)?,
            expert_ids: &self.tiles.narrow(0, 0..capacity / block_size)?,
            num_tokens_post_pad: self.length,
            block_size,
        };
        let bias = bias.map(|bias| bias.broadcast(&[1, columns])).transpose()?;
        let options = MoeGemmOptions::default().validate_indices(false);
        let options = bias.iter().fold(options, |options, bias| options.bias(bias));
        let w = w.broadcast(&[1, columns, x.row_len()])?;
        moe_gemm_into(x, &w, &gates, 1, &options, &mut *y.reshape_mut(&[rows, 1, columns])?)
    }
}
