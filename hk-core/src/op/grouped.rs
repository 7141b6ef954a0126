//! Grouped products: rows belong to groups whose sizes only the device knows. What the kernels of
//! `hk/grouped.h` take.

use super::Call;
use super::indices::IndexList;
use super::plan::{Draft, PIECES, Plan};
use super::product::{Matrices, Product, ProductArgs};
use super::tiling::{MAX_CHAIN, Problem, Split, Tile};
use crate::dtype::Real;
use crate::{DevicePtr, Error, Result, kernel_args};

/// A product of each group, whose arguments are right: of its rows of x with its own matrix w; or of the
/// columns of x and w, both transposed, with its rows as k. The problem's batch are the groups, and its m,
/// or k, all rows. There is no distance between groups where all share a matrix.
#[derive(Debug, Clone)]
pub struct Grouped<'a> {
    /// The product.
    pub product: Product<'a>,
    /// How many rows each group has.
    pub sizes: IndexList,
    /// Rows are k.
    pub sums: bool,
    /// Of such sums, x as it is stored, if that is as `(m, k)`: then the product's x is a place in the
    /// workspace.
    pub upright: Option<Matrices>,
    /// Of other products, if k is above [`MAX_CHAIN`]: a place in the workspace for what the chains of k before
    /// one have added up, which is the operand of the first of the product's steps.
    pub chains: Option<Matrices>,
    /// Where the sums of x's rows go, if they are asked for, by a kernel of that variant.
    pub bias: Option<(DevicePtr<f32>, &'a str)>,
    /// Workgroups, if their number is given; else as many as the device holds at a time.
    pub grid: Option<u32>,
    /// One workgroup for each block, if their number is not given.
    pub per_block: bool,
}

kernel_args! {
    /// Arguments of the kernels, as `hk/grouped.h` declares them.
    pub struct GroupedArgs {
        product: ProductArgs,
        sizes: IndexList,
        bias: DevicePtr<f32>,
    }
}

/// Columns of x that a workgroup of the kernel for the bias sums.
const COLUMNS: u64 = 64;

impl Grouped<'_> {
    /// Launches it, if it has results.
    ///
    /// # Errors
    /// As [`Product::launch`].
    pub fn launch(self, mut call: Call) -> Result<()> {
        let Self { product, sizes, sums, upright, mut chains, bias, grid, per_block } = self;
        let (core, problem) = (product.core, product.problem);
        if product.has_no_results() {
            return Ok(());
        }
        let mut plan = Plan::new(&call, product.kernels);
        let (op, units) = (plan.op(), plan.compute_units());
        // As if all groups had the same size.
        let groups = problem.batch;
        let typical = match sums {
            false => Problem { m: problem.m.div_ceil(groups), ..problem },
            true => Problem { k: problem.k.div_ceil(groups).max(1), ..problem },
        };
        let kernel = plan.kernel([core, product.variant], product.tile, typical, |tile| {
            // Negative if the tile cannot serve.
            let all = Tile::of(tile).score(Problem { k: problem.k.max(1), ..problem }, units);
            if all < 0.0 { all } else { Tile::of(tile).score(typical, units) }
        })?;
        let tile = Tile::of(kernel.tile());
        // Each group may have one block of rows more than if all were full.
        let rows = match sums {
            false => problem.m / tile.m + groups.min(problem.m),
            true => problem.m.div_ceil(tile.m) * groups,
        };
        let blocks = rows.saturating_mul(problem.n.div_ceil(tile.n));
        if blocks > tile.most_workgroups() {
            let constraint = format!("at most {} blocks", tile.most_workgroups());
            return Err(Error::value(op, "rhs", constraint, blocks));
        }
        let resident = if per_block { blocks } else { units * tile.per_cu() };
        let workgroups = grid.map_or(resident, u64::from).clamp(1, blocks);

        let one_each = |pieces: u64| match u32::try_from(pieces) {
            Ok(grid) if pieces <= tile.most_workgroups() => Ok(grid),
            _ => {
                let constraint = format!("at most {} pieces", tile.most_workgroups());
                Err(Error::value(op, "lhs", constraint, pieces))
            }
        };
        let mut draft = Draft::of(product, &plan, tile, Split { count: 1, share: problem.k })?;
        let mut bytes = [0; PIECES + 2];
        bytes[..PIECES].copy_from_slice(&draft.bytes());
        if upright.is_some() {
            bytes[PIECES] = draft.sources.x.bytes();
        }
        bytes[PIECES + 1] = chains.map_or(0, |chains| chains.bytes());
        let at = call.workspace(bytes)?;
        let bias_args = bias.map_or(DevicePtr::NULL, |(bias, _)| bias);
        let with = |product| GroupedArgs { product, sizes, bias: bias_args };
        if let Some(x) = upright {
            let to = &mut draft.sources.x;
            to.ptr = to.ptr.moved_to(at[PIECES].address());
            x.require_turnable(op, "lhs")?;
            plan.turn(&x, to, 1)?;
        }
        if let Some(chains) = &mut chains {
            chains.ptr = at[PIECES + 1].cast::<f32>().any();
            draft.product.steps.tensors[0] = chains.ptr;
        }
        let at = std::array::from_fn(|piece| at[piece]);
        let main = draft.prepare(&mut plan, at)?.main;
        let grid = [workgroups as u32, 1, 1];
        match chains {
            None => plan.then(kernel, grid, with(main)),
            Some(chains) => {
                let parts = chain_by_chain(main, problem, chains, tile.m);
                parts.for_each(|part| plan.then(kernel.clone(), grid, with(part)));
            }
        }
        if let Some((_, variant)) = bias {
            let kernel = plan.kernel([core, variant], Some("any"), problem, |_| 0.0)?;
            let pieces = groups.saturating_mul(problem.m.div_ceil(COLUMNS));
            plan.then(kernel, [one_each(pieces)?, 1, 1], with(main));
        }
        plan.submit(call)
    }
}

/// A product chain by chain of its k, in blocks of so many rows: each adds to what those before have left in
/// `chains`, and the last one does what is done to the sums of all.
fn chain_by_chain(
    main: ProductArgs,
    problem: Problem,
    chains: Matrices,
    block_rows: u64,
) -> impl Iterator<Item = ProductArgs> {
    let whole = chains.have_whole_blocks(1, block_rows);
    (0..problem.k.div_ceil(MAX_CHAIN)).map(move |chain| {
        let first = chain * MAX_CHAIN;
        let left = problem.k - first;
        let part = main.of_k(problem, first, left.min(MAX_CHAIN));
        if left <= MAX_CHAIN {
            return part;
        }
        ProductArgs {
            y: chains.ptr,
            y_batch: 0,
            y_stride: chains.strides[1],
            y_type: f32::CODE,
            y_whole: (whole && chain == 0).into(),
            step_count: (chain > 0).into(),
            ..part
        }
    })
}
