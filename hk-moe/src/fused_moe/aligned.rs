//! Gates in whole tiles of their experts, with 16-bit numbers between the products.

use hk_core::dtype::{Real, Real16};
use hk_core::op::rows::RowOptions;
use hk_core::{Result, Tensor, TensorSlice};

use super::room::Room;
use super::weights::{Sizes, Work};
use crate::activation::Activation;
use crate::expert_products::{AlignedGates, MoeGemmOptions};
use crate::moe_align_block_size::{
    MoeAlignOptions, MoeAlignOut, aligned_capacity, moe_align_block_size_into,
};
use crate::moe_routing::block_m;
use crate::reduce_grouped::{ReduceGroupedOptions, Residual, moe_sum_into, reduce_grouped_into};

/// What the launches of a call hand to each other.
#[derive(Debug)]
pub struct AlignedScratch<T: Real16> {
    sorted: Tensor<i32>,
    tiles: Tensor<i32>,
    length: Tensor<i32>,
    /// Between the products, `[gates, inner]`.
    z: Tensor<T>,
    /// Results of experts, `[gates, hidden]`.
    y: Tensor<T>,
}

/// Rows of the smallest tile, and of the largest one.
const TILE_ROWS: [usize; 2] = [16, 128];

/// Gates of a call, of which each has a row of `z` and of `y`.
pub(super) struct Aligned<'a, T: Real16> {
    pub(super) gates: AlignedGates<'a>,
    pub(super) z: &'a mut TensorSlice<T>,
    pub(super) y: &'a mut TensorSlice<T>,
}

impl<T: Real16> AlignedScratch<T> {
    pub(super) fn new(room: &mut Room<'_>, sizes: &Sizes) -> Result<Self> {
        let (gates, [least, most]) = (sizes.gates(), TILE_ROWS);
        let capacity = |rows| aligned_capacity(gates, sizes.here, rows);
        Ok(Self {
            sorted: room.tensor(&[capacity(most)])?,
            // Of small tiles there are more.
            tiles: room.tensor(&[capacity(least).div_ceil(least)])?,
            length: room.tensor(&[1])?,
            z: room.tensor(&[gates, sizes.inner])?,
            y: room.tensor(&[gates, sizes.hidden])?,
        })
    }

    /// Sorts the gates, lets `products` make rows of `y` of those of x, and adds them up.
    pub(super) fn forward<Y: Real>(
        &mut self,
        work: &Work<'_, T>,
        products: impl FnOnce(Aligned<'_, T>) -> Result<()>,
        residual: Option<Residual<'_, Y>>,
        out: &mut TensorSlice<Y>,
    ) -> Result<()> {
        let Work { sizes, ids, .. } = *work;
        let (tokens, gates) = (work.tokens(), work.gates());
        let block_size = block_m(tokens, sizes.here, sizes.slots);
        let capacity = aligned_capacity(gates, sizes.here, block_size);
        let mut sorted = self.sorted.narrow_mut(0, 0..capacity)?;
        let mut tiles = self.tiles.narrow_mut(0, 0..capacity.div_ceil(block_size))?;
        let options = MoeAlignOptions::default().validate_indices(false);
        let aligned = MoeAlignOut {
            sorted_token_ids: &mut sorted,
            expert_ids: &mut tiles,
            num_tokens_post_pad: &mut self.length,
            hist: None,
            offsets: None,
        };
        let ids = ids.reshape(&[gates])?;
        moe_align_block_size_into(&ids, sizes.here, block_size, &options, aligned)?;
        let gates_of = AlignedGates {
            sorted_token_ids: &sorted,
            expert_ids: &tiles,
            num_tokens_post_pad: &self.length,
            block_size,
        };
        let mut z = self.z.narrow_mut(0, 0..gates)?;
        let mut y = self.y.narrow_mut(0, 0..gates)?;
        products(Aligned { gates: gates_of, z: &mut z, y: &mut y })?;
        match work.present {
            // Rows of gates that have no expert are none.
            Some(present) => {
                let options = ReduceGroupedOptions::new(Activation::None).validate_indices(false);
                let y = y.reshape(&[1, gates, sizes.hidden])?;
                reduce_grouped_into(&y, Some(present), residual, &options, out)
            }
            None => {
                let y = y.reshape(&[tokens, sizes.slots, sizes.hidden])?;
                moe_sum_into(&y, residual, &RowOptions::default(), out)
            }
        }
    }
}

/// What the second product does besides: it adds a bias, and multiplies by the weights, `[gates,
/// 1]`, if these have not been in the first one.
pub(super) fn down_options<'a>(
    bias: Option<&'a TensorSlice<f32>>,
    weights: Option<&'a TensorSlice<f32>>,
) -> MoeGemmOptions<'a> {
    let options = MoeGemmOptions::default().validate_indices(false);
    let options = bias.into_iter().fold(options, MoeGemmOptions::bias);
    weights.into_iter().fold(options, MoeGemmOptions::topk_weights)
}
