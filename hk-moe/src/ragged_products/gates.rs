//! Gates in order of their experts.

use hk_core::dtype::{Element, Real};
use hk_core::{Result, Tensor, TensorSlice};

use super::{MoeRaggedOptions, RaggedOutput};
use crate::moe_routing::{Routing, RoutingData};

/// Gates in order of their experts, as [`routing`](crate::routing()) gives them, and which rows they are
/// given and give: row p of x and of results is that of the gate in place p, unless it is said otherwise.
#[derive(Debug, Clone, Copy)]
pub struct RaggedGates<'a> {
    /// Where the gates of each expert begin, and where the last one's end, `[E + 1]`.
    pub token_offs_raw: &'a TensorSlice<i32>,
    /// The expert of each tile, and which of its tiles it is, `[tiles]`.
    pub block_pid_map: &'a TensorSlice<i32>,
    /// Rows of a tile.
    pub block_m: usize,
    /// Gates of a token.
    pub n_expts_act: usize,
    /// The gate in each place, `[G]`, if x has a row for each token.
    pub gather_indx: Option<&'a TensorSlice<i32>>,
    /// The place of each gate, `[G]`, if results have a row for each token.
    pub scatter_indx: Option<&'a TensorSlice<i32>>,
}

impl<'a> RaggedGates<'a> {
    /// Those of tiles of `block_m` rows, of tokens with `n_expts_act` gates each.
    pub const fn new(
        token_offs_raw: &'a TensorSlice<i32>,
        block_pid_map: &'a TensorSlice<i32>,
        block_m: usize,
        n_expts_act: usize,
    ) -> Self {
        let (gather_indx, scatter_indx) = (None, None);
        Self { token_offs_raw, block_pid_map, block_m, n_expts_act, gather_indx, scatter_indx }
    }

    /// With a row of x for each token, by the gate in each place, `[G]`.
    #[must_use]
    pub const fn gather(self, gather_indx: &'a TensorSlice<i32>) -> Self {
        Self { gather_indx: Some(gather_indx), ..self }
    }

    /// Room for results of x with w; those that no gate has stay zero.
    pub(crate) fn results<X: Element, W: Element, Y: RaggedOutput>(
        &self,
        x: &TensorSlice<X>,
        w: &TensorSlice<W>,
        options: &MoeRaggedOptions<'_>,
    ) -> Result<Tensor<Y>> {
        let rows = x.shape().first().copied().unwrap_or_default();
        let columns = w.shape().get(1).copied().unwrap_or_default();
        let each = self.n_expts_act.max(1);
        let rows = match (self.gather_indx.is_some(), self.scatter_indx.is_some()) {
            (true, false) => rows.saturating_mul(each),
            (false, true) => rows / each,
            _ => rows,
        };
        let columns = if options.activation.is_gated() { columns / 2 } else { columns };
        Tensor::zeros(x.stream(), &[rows, columns])
    }

    /// With a row of results for each token, the sum of its gates', by the place of each gate, `[G]`.
    #[must_use]
    pub const fn scatter(self, scatter_indx: &'a TensorSlice<i32>) -> Self {
        Self { scatter_indx: Some(scatter_indx), ..self }
    }
}

impl<W: Real> RoutingData<W> {
    /// The gates, each with its own rows of x and of results.
    pub fn gates(&self) -> RaggedGates<'_> {
        let data = &self.expt_data;
        let (offsets, tiles) = (&data.token_offs_raw, &data.block_pid_map);
        RaggedGates::new(offsets, tiles, self.block_m, self.n_expts_act)
    }
}

impl<W: Real> Routing<W> {
    /// The gates, of which each takes the row of x of its token.
    pub fn gathered(&self) -> RaggedGates<'_> {
        self.data.gates().gather(&self.gather_indx)
    }

    /// The gates, of which each token receives the sum.
    pub fn scattered(&self) -> RaggedGates<'_> {
        self.data.gates().scatter(&self.scatter_indx)
    }
}
