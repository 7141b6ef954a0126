//! Two products of the same rows in one launch, or in two if the last rows of blocks are cut along k: what the
//! kernels of `hk/product_pair.h` take.

use super::Call;
use super::plan::{Draft, PIECES, Plan};
use super::product::{Product, ProductArgs};
use super::tiling::{Axis, Problem, Split, Tile};
use crate::{Error, Result, kernel_args};

/// Two products with the same m and k, whose arguments are right. The core, variant, tile and splits are
/// the narrow one's.
#[derive(Debug, Clone)]
pub struct ProductPair<'a> {
    /// Of a narrow type, with scales.
    pub narrow: Product<'a>,
    /// Of 16-bit operands.
    pub wide: Product<'a>,
}

kernel_args! {
    /// Arguments of the kernels, as `hk/product_pair.h` declares them.
    pub struct ProductPairArgs {
        narrow: ProductArgs,
        wide: ProductArgs,
    }
}

impl ProductPair<'_> {
    /// Launches both, if they have results, for so many of the device's compute units, if they are given.
    ///
    /// # Errors
    /// As [`Product::launch_on`].
    pub fn launch_on(self, mut call: Call, compute_units: Option<u32>) -> Result<()> {
        let Self { narrow, wide } = self;
        if narrow.has_no_results() {
            return Ok(());
        }
        let mut plan = Plan::new(&call, narrow.kernels).on(compute_units);
        let problems = [narrow.problem, wide.problem];
        // Blocks of both side by side.
        let joined = Problem { n: problems[0].n + problems[1].n, ..problems[0] };
        let units = plan.compute_units();
        let kernel = plan.kernel([narrow.core, narrow.variant], narrow.tile, joined, |tile| {
            let scores = problems.map(|problem| Tile::of(tile).score(problem, units));
            // Negative if the tile cannot serve one of them.
            let least = scores[0].min(scores[1]);
            if least < 0.0 { least } else { Tile::of(tile).score(joined, units) }
        })?;
        let tile = Tile::of(kernel.tile());
        let split = match narrow.splits {
            None => tile.split(joined, units),
            Some(splits) => tile.split_into(joined, splits.into()),
        };
        let tail = match narrow.splits {
            None if split.count == 1 => {
                // Rows of blocks of both, of which no block has columns of the other.
                let n = problems[0].n.next_multiple_of(tile.n) + problems[1].n;
                tile.tail(Problem { n, ..joined }, units, |axis, _| axis == Axis::Rows)
            }
            _ => None,
        };
        let blocks = |problems: [Problem; 2], split: Split| -> Result<u32> {
            let [first, second] = problems.map(|problem| plan.grid(problem, tile, split));
            let (first, second) = (first?, second?);
            let grid = first.checked_add(second);
            grid.filter(|grid| u64::from(*grid) <= tile.most_workgroups()).ok_or_else(|| {
                let constraint = format!("at most {} blocks of both", tile.most_workgroups());
                Error::value(plan.op(), "y", constraint, u64::from(first) + u64::from(second))
            })
        };
        let [grid, tail_grid] = match tail {
            None => [blocks(problems, split)?, 0],
            Some(tail) => {
                let [whole, cut] = [0, 1].map(|part| problems.map(|of| tail.cut(of)[part]));
                [blocks(whole, split)?, blocks(cut, tail.split)?]
            }
        };

        let mut narrow = Draft::of(narrow, &plan, tile, split)?;
        let mut wide = Draft::of(wide, &plan, tile, split)?;
        if let Some(tail) = tail {
            (narrow, wide) = (narrow.cut_at(tail), wide.cut_at(tail));
        }
        let mut bytes = [0; 2 * PIECES];
        bytes[..PIECES].copy_from_slice(&narrow.bytes());
        bytes[PIECES..].copy_from_slice(&wide.bytes());
        let at = call.workspace(bytes)?;
        let (narrow_at, wide_at) = (at.first_chunk::<PIECES>(), at.last_chunk::<PIECES>());
        let narrow = narrow.prepare(&mut plan, *narrow_at.expect("half of them"))?;
        let wide = wide.prepare(&mut plan, *wide_at.expect("half of them"))?;
        let args = ProductPairArgs { narrow: narrow.main, wide: wide.main };
        plan.then(kernel.clone(), [grid, 1, 1], args);
        if let (Some(narrow), Some(wide)) = (narrow.tail, wide.tail) {
            plan.then(kernel, [tail_grid, 1, 1], ProductPairArgs { narrow, wide });
        }
        [narrow.sums, wide.sums].into_iter().flatten().try_for_each(|sums| plan.reduce(sums))?;
        plan.submit(call)
    }
}
