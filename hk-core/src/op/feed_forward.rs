//! Feed-forward layers: `y = h down^T` with h the results of a product, in one launch or two. What the
//! kernels of `hk/feed_forward.h` take.

use super::Call;
use super::plan::{Choice, Draft, PIECES, Plan};
use super::product::{Product, ProductArgs};
use super::tiling::{MAX_CHAIN, Problem, Split, Tile};
use crate::{DevicePtr, Error, Result, TileFunction, kernel_args};

/// Two products, of which the first one's results are the second one's x; both places are the
/// workspace's. The arguments are right.
#[derive(Debug, Clone)]
pub struct FeedForward<'a> {
    /// The first product, perhaps gated.
    pub up: Product<'a>,
    /// The second.
    pub down: Product<'a>,
    /// The core for both in one launch, and which of its variants.
    pub fused: [&'a str; 2],
    /// Whether to do so, if that is not chosen.
    pub fuse: Option<bool>,
    /// The tile configuration for it, if that is not chosen.
    pub tile: Option<&'a str>,
    /// For how many of the device's compute units, if that is given.
    pub compute_units: Option<u32>,
}

kernel_args! {
    /// Arguments of the kernels, as `hk/feed_forward.h` declares them.
    pub struct FeedForwardArgs {
        up: ProductArgs,
        down: ProductArgs,
    }
}

/// Rows up to which one launch may be faster: above, partial sums cost more than a second launch.
const MAX_FUSED_ROWS: u64 = 64;

impl FeedForward<'_> {
    /// Launches it, if it has results.
    ///
    /// # Errors
    /// As [`Product::launch`].
    pub fn launch(self, call: Call) -> Result<()> {
        if self.up.has_no_results() {
            return Ok(());
        }
        let plan = Plan::new(&call, self.up.kernels).on(self.compute_units);
        let kernel = plan.kernel(self.fused, self.tile, self.up.problem, |tile| {
            Tile::of(tile).score(self.up.problem, plan.compute_units())
        })?;
        let fuse = self.fuse.unwrap_or_else(|| self.is_better_fused(&plan, &kernel));
        let k = self.up.problem.k;
        if fuse && k > MAX_CHAIN {
            let constraint = format!("false if x has rows of more than {MAX_CHAIN}");
            return Err(Error::value(plan.op(), "fused", constraint, k));
        }
        if fuse { self.launch_fused(plan, kernel, call) } else { self.launch_apart(plan, call) }
    }

    /// How h is cut into slabs.
    fn slabs(&self, tile: Tile) -> Split {
        // A share is one slab, however many there are.
        let Problem { k, .. } = self.down.problem;
        Split { count: k.div_ceil(tile.n), share: tile.n }
    }

    /// Whether slabs keep half of the device busy, and partial sums are less than an eighth of what is
    /// read of both w: they are written and read once more.
    fn is_better_fused(&self, plan: &Plan, kernel: &TileFunction<FeedForwardArgs>) -> bool {
        let Problem { m, n, k, .. } = self.down.problem;
        let slabs = self.slabs(Tile::of(kernel.tile())).count;
        let products = if self.up.gate.is_some() { 3 } else { 2 };
        let weights = products * n.saturating_mul(k).saturating_mul(2);
        let sums = slabs.saturating_mul(m.saturating_mul(n)).saturating_mul(4);
        self.up.problem.k <= MAX_CHAIN
            && m <= MAX_FUSED_ROWS
            && 2 * slabs >= plan.compute_units()
            && sums <= weights / 8
    }

    /// The same with h at a place.
    fn with_h(up: &mut Draft<'_>, down: &mut Draft<'_>, at: DevicePtr<u8>) {
        for h in [&mut up.product.y, &mut down.product.x, &mut down.sources.x] {
            h.ptr = h.ptr.moved_to(at.address());
        }
    }

    fn launch_fused(
        self,
        mut plan: Plan,
        kernel: TileFunction<FeedForwardArgs>,
        mut call: Call,
    ) -> Result<()> {
        let tile = Tile::of(kernel.tile());
        let (slabs, h_bytes) = (self.slabs(tile), self.up.y.bytes());
        let whole = Split { count: 1, share: self.up.problem.k };
        let grid = plan.grid(Problem { n: tile.n, ..self.up.problem }, tile, slabs)?;
        let mut up = Draft::of(self.up, &plan, tile, whole)?;
        // The kernel fills rows of h up with zeros.
        let x = self.down.x.padded();
        let down_tile = tile.down_half(kernel.tile());
        let mut down = Draft::of(Product { x, ..self.down }, &plan, down_tile, slabs)?;
        let (up_at, down_at, h_at) = workspace(&mut call, [&up, &down], h_bytes)?;
        Self::with_h(&mut up, &mut down, h_at);
        let up = up.prepare(&mut plan, up_at)?;
        let down = down.prepare(&mut plan, down_at)?;
        let args = FeedForwardArgs { up: up.main, down: down.main };
        plan.then(kernel, [grid, 1, 1], args);
        down.sums.map_or(Ok(()), |sums| plan.reduce(sums))?;
        plan.submit(call)
    }

    fn launch_apart(self, mut plan: Plan, mut call: Call) -> Result<()> {
        let h_bytes = self.up.y.bytes();
        let Choice { kernel: up_kernel, tile, split } = plan.choose(&self.up)?;
        let units = plan.compute_units();
        let mut up = Draft::of(self.up, &plan, tile, split)?.with_tail(units);
        let Choice { kernel: down_kernel, tile, split } = plan.choose(&self.down)?;
        let mut down = Draft::of(self.down, &plan, tile, split)?.with_tail(units);
        let (up_at, down_at, h_at) = workspace(&mut call, [&up, &down], h_bytes)?;
        Self::with_h(&mut up, &mut down, h_at);
        up.plan(&mut plan, up_kernel, up_at)?;
        down.plan(&mut plan, down_kernel, down_at)?;
        plan.submit(call)
    }
}

type Pieces = [DevicePtr<u8>; PIECES];

/// The workspace of both products, and of what lies between them.
fn workspace(
    call: &mut Call,
    [up, down]: [&Draft<'_>; 2],
    h: usize,
) -> Result<(Pieces, Pieces, DevicePtr<u8>)> {
    let mut bytes = [h; 2 * PIECES + 1];
    bytes[..PIECES].copy_from_slice(&up.bytes());
    bytes[PIECES..2 * PIECES].copy_from_slice(&down.bytes());
    let at = call.workspace(bytes)?;
    let pieces = |from: usize| std::array::from_fn(|i| at[from + i]);
    Ok((pieces(0), pieces(PIECES), at[2 * PIECES]))
}
