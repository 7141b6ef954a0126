//! Gates in order of their experts, with codes that products multiply.

use std::fmt::Debug;

use hk_core::dtype::{Element, Real, Real16};
use hk_core::op::Arguments;
use hk_core::{Result, Stream, Tensor, TensorSlice};

use super::room::Room;
use super::weights::{Layer, Sizes, Work};
use super::{FusedMoeConfig, OP};
use crate::activation::Activation;
use crate::expert_products::ExpertElement;
use crate::moe_expt_data::{check_tile, max_num_tiles};
use crate::moe_routing::{RoutingIndxOut, SortOptions, SortTokensOut, block_m, sort_tokens_into};
use crate::ragged_products::{MoeRaggedOptions, RaggedGates, RaggedOutput};
use crate::reduce_grouped::{ReduceGroupedOptions, Residual, reduce_grouped_into};

/// What the launches of a call hand to each other.
#[derive(Debug)]
pub struct RaggedScratch<T: Real16, C: Element, S: Element> {
    gate_scal: Tensor<f32>,
    gather: Tensor<i32>,
    scatter: Tensor<i32>,
    hist: Tensor<i32>,
    offsets: [Tensor<i32>; 2],
    tiles: Tensor<i32>,
    /// Sums of the first product, `[gates, rows of w1]`. They are the layer's, not the op's, since
    /// rows that no gate has become numbers as well.
    sums: Tensor<f32>,
    /// Between the products, `[gates, inner]`.
    z: Tensor<T>,
    /// Results of experts, `[gates, hidden]`.
    y: Tensor<T>,
    /// Rows of tokens, and those between the products, as codes with scales.
    coded: [(Tensor<C>, Tensor<S>); 2],
}

/// Weights whose products take rows as codes.
pub trait RaggedWeights: Debug + Sized {
    /// Numbers of tokens.
    type Hidden: Real16 + ExpertElement + RaggedOutput;
    /// What rows become.
    type Code: Element;
    /// What they are multiples of.
    type Scale: Element;

    /// That of the weights.
    fn stream(&self) -> &Stream;

    /// What [`Layer::declare`] does.
    fn declare(&self, args: &mut Arguments, config: &FusedMoeConfig) -> Result<()>;

    /// What is added to the sums of the first product, or of the second one.
    fn bias(&self, is_second: bool) -> Option<&TensorSlice<f32>>;

    /// The shape of the scales of so many rows of a width.
    fn scales_shape(rows: usize, width: usize) -> Vec<usize>;

    /// Makes rows that the first product takes, or the second one, codes.
    fn encode(
        &self,
        is_second: bool,
        x: &TensorSlice<Self::Hidden>,
        codes: &mut TensorSlice<Self::Code>,
        scales: &mut TensorSlice<Self::Scale>,
    ) -> Result<()>;

    /// The first product, or the second one, of codes and their scales.
    fn multiply<Y: Real + RaggedOutput>(
        &self,
        is_second: bool,
        x: (&TensorSlice<Self::Code>, &TensorSlice<Self::Scale>),
        gates: &RaggedGates<'_>,
        options: &MoeRaggedOptions<'_>,
        y: &mut TensorSlice<Y>,
    ) -> Result<()>;
}

impl<W: RaggedWeights> Layer for W {
    type Hidden = W::Hidden;
    type Scratch = RaggedScratch<W::Hidden, W::Code, W::Scale>;

    fn stream(&self) -> &Stream {
        RaggedWeights::stream(self)
    }

    fn declare(&self, args: &mut Arguments, config: &FusedMoeConfig) -> Result<()> {
        RaggedWeights::declare(self, args, config)
    }

    fn scratch(
        &self,
        room: &mut Room<'_>,
        sizes: &Sizes,
        config: &FusedMoeConfig,
    ) -> Result<Self::Scratch> {
        let gates = sizes.gates();
        // What sorts gates refuses more tokens.
        let tile_rows = block_m(sizes.tokens, sizes.here, sizes.slots);
        let most = ("max_tokens", sizes.tokens);
        check_tile(&Arguments::new(OP), most, tile_rows.ilog2())?;
        let rows = if config.activation.is_gated() { 2 * sizes.inner } else { sizes.inner };
        let mut coded = |rows: usize, width: usize| -> Result<_> {
            Ok((room.tensor(&[rows, width])?, room.tensor(&W::scales_shape(rows, width))?))
        };
        Ok(RaggedScratch {
            coded: [coded(sizes.tokens, sizes.hidden)?, coded(gates, sizes.inner)?],
            gate_scal: room.tensor(&[gates])?,
            gather: room.tensor(&[gates])?,
            scatter: room.tensor(&[gates])?,
            hist: room.tensor(&[sizes.here])?,
            offsets: [room.tensor(&[sizes.here + 1])?, room.tensor(&[sizes.here + 1])?],
            // Of small tiles there are more.
            tiles: room.tensor(&[max_num_tiles(gates, sizes.here, 4)])?,
            sums: room.tensor(&[gates, rows])?,
            z: room.tensor(&[gates, sizes.inner])?,
            y: room.tensor(&[gates, sizes.hidden])?,
        })
    }

    /// Sorts the gates, multiplies, and adds up each token's rows.
    fn forward<Y: Real>(
        &self,
        scratch: &mut Self::Scratch,
        work: &Work<'_, W::Hidden>,
        residual: Option<Residual<'_, Y>>,
        out: &mut TensorSlice<Y>,
    ) -> Result<()> {
        let Work { config, sizes, x, .. } = *work;
        let (tokens, gates) = (work.tokens(), work.gates());
        let block_m = block_m(tokens, sizes.here, sizes.slots);
        let RaggedScratch {
            gate_scal,
            gather,
            scatter,
            hist,
            offsets,
            tiles,
            sums,
            z,
            y,
            coded: [of_x, of_z],
        } = scratch;
        let [raw, padded] = offsets;
        let mut gate_scal = gate_scal.narrow_mut(0, 0..gates)?;
        let mut gather = gather.narrow_mut(0, 0..gates)?;
        let mut scatter = scatter.narrow_mut(0, 0..gates)?;
        let count = max_num_tiles(gates, sizes.here, block_m.ilog2());
        let mut tiles = tiles.narrow_mut(0, 0..count)?;
        let sorted = SortTokensOut {
            indx: RoutingIndxOut {
                gate_scal: &mut gate_scal,
                gather_indx: &mut gather,
                scatter_indx: &mut scatter,
            },
            expt_hist: hist,
            token_offs_raw: raw,
            token_offs_pad: padded,
            block_pid_map: &mut tiles,
        };
        let options = SortOptions::default().validate_indices(false);
        sort_tokens_into(work.weights, work.ids, sizes.here, block_m, &options, sorted)?;

        let in_order = RaggedGates::new(raw, &tiles, block_m, sizes.slots);
        let up = MoeRaggedOptions::new(Activation::None).validate_indices(false);
        let up = self.bias(false).into_iter().fold(up, MoeRaggedOptions::bias);
        let up = if config.weighs_input { up.x_weights(&gate_scal) } else { up };
        let mut sums = sums.narrow_mut(0, 0..gates)?;
        let mut z = z.narrow_mut(0, 0..gates)?;
        let (mut codes, mut scales) =
            (of_x.0.narrow_mut(0, 0..tokens)?, of_x.1.narrow_mut(0, 0..tokens)?);
        self.encode(false, x, &mut codes, &mut scales)?;
        self.multiply(false, (&codes, &scales), &in_order.gather(&gather), &up, &mut sums)?;
        let sums = sums.reshape(&[1, gates, sums.row_len()])?;
        let activate = ReduceGroupedOptions::new(config.activation);
        reduce_grouped_into::<_, W::Hidden>(&sums, None, None, &activate, &mut z)?;
        let down = MoeRaggedOptions::new(Activation::None).validate_indices(false);
        let down = self.bias(true).into_iter().fold(down, MoeRaggedOptions::bias);
        let down = if config.weighs_input { down } else { down.gammas(&gate_scal) };
        let mut y = y.narrow_mut(0, 0..gates)?;
        let (mut codes, mut scales) =
            (of_z.0.narrow_mut(0, 0..gates)?, of_z.1.narrow_mut(0, 0..gates)?);
        self.encode(true, &z, &mut codes, &mut scales)?;
        self.multiply(true, (&codes, &scales), &in_order, &down, &mut y)?;

        let options = ReduceGroupedOptions::new(Activation::None).validate_indices(false);
        let places = scatter.reshape(&[tokens, sizes.slots])?;
        let rows = y.reshape(&[1, gates, sizes.hidden])?;
        reduce_grouped_into(&rows, Some(&places), residual, &options, out)
    }
}
