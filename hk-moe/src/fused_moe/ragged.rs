//! Gates in order of their experts, with codes that products multiply.

use hk_core::dtype::{Real, Real16};
use hk_core::op::Arguments;
use hk_core::{Result, Tensor, TensorSlice};

use super::room::Room;
use super::weights::{Sizes, Work};
use super::{FusedMoeConfig, OP};
use crate::activation::Activation;
use crate::moe_expt_data::{check_tile, max_num_tiles};
use crate::moe_routing::{RoutingIndxOut, SortOptions, SortTokensOut, block_m, sort_tokens_into};
use crate::ragged_products::{MoeRaggedOptions, RaggedGates, RaggedOutput};
use crate::reduce_grouped::{ReduceGroupedOptions, Residual, reduce_grouped_into};

/// What the launches of a call hand to each other.
#[derive(Debug)]
pub struct RaggedScratch<T: Real16, C> {
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
    /// Rows of tokens, and those between the products, as codes.
    codes: [C; 2],
}

/// Memory for rows of codes.
pub trait Codes: Sized {
    /// For so many rows of a width.
    fn new(room: &mut Room<'_>, shape: [usize; 2]) -> Result<Self>;
}

/// The two products, which take rows as codes.
pub(super) trait Products<T: Real16, C> {
    /// Codes of the rows that the first product takes, or the second one.
    fn encode(&self, is_second: bool, x: &TensorSlice<T>, codes: &mut C) -> Result<()>;

    /// The first product, or the second one, of the first so many rows of codes.
    fn multiply<Y: Real + RaggedOutput>(
        &self,
        is_second: bool,
        codes: &C,
        rows: usize,
        gates: &RaggedGates<'_>,
        options: &MoeRaggedOptions<'_>,
        y: &mut TensorSlice<Y>,
    ) -> Result<()>;
}

impl<T: Real16 + RaggedOutput, C: Codes> RaggedScratch<T, C> {
    pub(super) fn new(room: &mut Room<'_>, sizes: &Sizes, config: &FusedMoeConfig) -> Result<Self> {
        let gates = sizes.gates();
        // What sorts gates refuses more tokens.
        let tile_rows = block_m(sizes.tokens, sizes.here, sizes.slots);
        let most = ("max_tokens", sizes.tokens);
        check_tile(&Arguments::new(OP), most, tile_rows.ilog2())?;
        let rows = if config.activation.is_gated() { 2 * sizes.inner } else { sizes.inner };
        Ok(Self {
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
            codes: [
                C::new(room, [sizes.tokens, sizes.hidden])?,
                C::new(room, [gates, sizes.inner])?,
            ],
        })
    }

    /// Sorts the gates, multiplies, and adds up each token's rows.
    pub(super) fn forward<Y: Real>(
        &mut self,
        work: &Work<'_, T>,
        products: &impl Products<T, C>,
        biases: [Option<&TensorSlice<f32>>; 2],
        residual: Option<Residual<'_, Y>>,
        out: &mut TensorSlice<Y>,
    ) -> Result<()> {
        let Work { config, sizes, x, .. } = *work;
        let (tokens, gates) = (work.tokens(), work.gates());
        let block_m = block_m(tokens, sizes.here, sizes.slots);
        let Self { gate_scal, gather, scatter, hist, offsets, tiles, sums, z, y, codes } = self;
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

        let [of_x, of_z] = codes;
        let in_order = RaggedGates::new(raw, &tiles, block_m, sizes.slots);
        let up = MoeRaggedOptions::new(Activation::None).validate_indices(false);
        let up = biases[0].into_iter().fold(up, MoeRaggedOptions::bias);
        let up = if config.weighs_input { up.x_weights(&gate_scal) } else { up };
        let mut sums = sums.narrow_mut(0, 0..gates)?;
        let mut z = z.narrow_mut(0, 0..gates)?;
        products.encode(false, x, of_x)?;
        products.multiply(false, of_x, tokens, &in_order.gather(&gather), &up, &mut sums)?;
        let sums = sums.reshape(&[1, gates, sums.row_len()])?;
        let activate = ReduceGroupedOptions::new(config.activation);
        reduce_grouped_into::<_, T>(&sums, None, None, &activate, &mut z)?;
        let down = MoeRaggedOptions::new(Activation::None).validate_indices(false);
        let down = biases[1].into_iter().fold(down, MoeRaggedOptions::bias);
        let down = if config.weighs_input { down } else { down.gammas(&gate_scal) };
        let mut y = y.narrow_mut(0, 0..gates)?;
        products.encode(true, &z, of_z)?;
        products.multiply(true, of_z, gates, &in_order, &down, &mut y)?;

        let options = ReduceGroupedOptions::new(Activation::None).validate_indices(false);
        let places = scatter.reshape(&[tokens, sizes.slots])?;
        let rows = y.reshape(&[1, gates, sizes.hidden])?;
        reduce_grouped_into(&rows, Some(&places), residual, &options, out)
    }
}
