//! Products of tokens with the matrices of their experts: what the kernels of `hk/experts.h` and
//! `hk/expert_groups.h` take.

use super::Call;
use super::plan::{Draft, PIECES, Plan};
use super::product::{Product, ProductArgs};
use super::ragged::{Behind, ScaleCopy};
use super::tiling::{MAX_CHAIN, Problem, Split, Tile};
use crate::launch::KernelArgs;
use crate::{AnyPtr, DevicePtr, Error, Result, TileFunction, kernel_args};

/// Gates, each of a token and one of its experts, in order of experts.
#[derive(Debug, Clone, Copy)]
pub struct SortedGates {
    /// The gates, of each expert whole tiles of rows, filled up with numbers that are no gates.
    pub gates: DevicePtr<i32>,
    /// The expert of each tile; results of others than those that there are are 0.
    pub experts: DevicePtr<i32>,
    /// How many rows there are.
    pub length: DevicePtr<i32>,
    /// How many there is room for.
    pub capacity: u64,
    /// Rows of a tile.
    pub tile_rows: u64,
    /// Gates in all.
    pub count: u64,
    /// Gates that each row of x has: the next ones.
    pub per_row: u64,
}

/// A product whose arguments are right: of the rows of x that gates have, with the matrix of their expert. The
/// problem's m are x's rows and its batch the experts; rows of y are gates.
#[derive(Debug, Clone)]
pub struct Experts<'a> {
    /// The product.
    pub product: Product<'a>,
    /// Which rows.
    pub gates: SortedGates,
    /// If columns are gates, and behind them as many that these let through: alpha, the limit and what is
    /// added, of the activation between the two.
    pub halves: Option<[f32; 3]>,
    /// If w has integers with scales of groups of k.
    pub in_groups: Option<WeightGroups>,
    /// Of the scales of blocks or groups of x, and of w, those that are copied before: of blocks of x, in order of
    /// the gates.
    pub copies: [Option<ScaleCopy>; 2],
    /// If the weights of gates do not follow each other: the copy in which they do, and the number of the
    /// steps' operand that it is.
    pub weights: Option<(ScaleCopy, usize)>,
}

/// Pieces of a workspace that they take: besides those of a product, for the copies.
const EXPERT_PIECES: usize = PIECES + 3;

/// Scales and zero points of groups of k of each row of matrices of integers, without gaps.
#[derive(Debug, Clone, Copy)]
pub struct WeightGroups {
    /// `(experts, rows, groups)`.
    pub scales: AnyPtr,
    /// Bytes of one, and the number by which kernels know its type.
    pub scale: (u32, u32),
    /// Likewise, or, of integers of 4 bits, those of two rows in a byte; null if all are `zero`.
    pub zero_points: DevicePtr<u8>,
    /// That of all.
    pub zero: f32,
    /// k of a group: a multiple of 8, as k is below 2^16.
    pub k: u32,
}

/// What rows of x that are gathered are to errors, and how long they may be.
pub(super) struct GatheredRows {
    /// The argument that has them.
    pub(super) x: &'static str,
    /// Elements of the longest.
    pub(super) most_k: u64,
    /// The argument that says how many rows of results a tile has, and these.
    pub(super) tile: (&'static str, u64),
}

/// The kernel for so many rows of results of all experts, whose rows of x are gathered; and what it needs.
/// `shares` says how k is cut.
pub(super) fn gathered<'a, A: KernelArgs>(
    product: &Product<'a>,
    plan: &Plan,
    rows: u64,
    of: &GatheredRows,
    shares: impl Fn(Tile) -> Split,
) -> Result<(TileFunction<A>, Draft<'a>)> {
    let (op, problem, units) = (plan.op(), product.problem, plan.compute_units());
    let &GatheredRows { x, most_k, tile: (arg, tile_rows) } = of;
    if problem.k > most_k {
        let constraint = format!("rows of at most {most_k} elements");
        return Err(Error::value(op, x, constraint, problem.k));
    }
    let within_reach = |row: u64| {
        let bytes = row.saturating_mul(problem.m);
        if bytes < MAX_BYTES {
            return Ok(());
        }
        Err(Error::value(op, x, format!("rows within {MAX_BYTES} bytes"), bytes))
    };
    within_reach((product.x.strides[1] as u64).saturating_mul(product.x.size()))?;
    // As if all experts had as many.
    let typical = Problem { m: rows.div_ceil(problem.batch).max(1), ..problem };
    let kernel = plan.kernel([product.core, product.variant], product.tile, typical, |tile| {
        let tile = Tile::of(tile);
        let fits = tile_rows.is_multiple_of(tile.m);
        if fits { tile.score(typical, units) } else { f64::NEG_INFINITY }
    })?;
    let tile = Tile::of(kernel.tile());
    if !tile_rows.is_multiple_of(tile.m) {
        let constraint = format!("a multiple of the {} rows of a block", tile.m);
        return Err(Error::value(op, arg, constraint, tile_rows));
    }
    let draft = Draft::of(product.clone(), plan, tile, shares(tile))?;
    // Rows of codes, or of a copy, may be further apart than those of x.
    within_reach(draft.sources.taken_row())?;
    Ok((kernel, draft.with_sums_of(rows)))
}

kernel_args! {
    /// Arguments of the kernels, as `hk/experts.h` declares them.
    pub struct ExpertArgs {
        product: ProductArgs,
        gates: DevicePtr<i32>,
        experts: DevicePtr<i32>,
        length: DevicePtr<i32>,
        capacity: u32,
        tile_rows: u32,
        gate_count: u32,
        gates_per_row: u32,
        alpha: f32,
        limit: f32,
        offset: f32,
        columns: u32,
    }
}

/// k from which it may be cut without being asked for.
const LONG: u64 = 4096;

kernel_args! {
    /// Arguments of the kernels, as `hk/expert_groups.h` declares them.
    pub struct GroupedExpertArgs {
        experts: ExpertArgs,
        zero_points: DevicePtr<u8>,
        zero: f32,
        group: u32,
        inverse: u32,
        groups: u32,
        scale_type: u32,
        reserved: u32,
    }
}

impl WeightGroups {
    /// Puts them into the arguments.
    fn arguments(
        self,
        mut experts: ExpertArgs,
        Problem { n, k, .. }: Problem,
    ) -> GroupedExpertArgs {
        let Self { scales, scale: (bytes, scale_type), zero_points, zero, k: group } = self;
        let groups = k / u64::from(group);
        let row = groups * u64::from(bytes);
        experts.product.w_blocks = scales;
        experts.product.w_block_row = row as i64;
        experts.product.w_block_batch = (n * row) as i64;
        let inverse = (1u64 << 32).div_ceil(group.into()) as u32;
        let (groups, reserved) = (groups as u32, 0);
        GroupedExpertArgs {
            experts,
            zero_points,
            zero,
            group,
            inverse,
            groups,
            scale_type,
            reserved,
        }
    }
}

/// Bytes below which offsets of gathered rows must stay.
const MAX_BYTES: u64 = 1 << 31;

impl<'a> Experts<'a> {
    /// That product of these gates, and nothing else.
    pub const fn new(product: Product<'a>, gates: SortedGates) -> Self {
        Self { product, gates, halves: None, in_groups: None, copies: [None; 2], weights: None }
    }
}

impl Experts<'_> {
    /// Launches it, if it has results.
    ///
    /// # Errors
    /// As [`Product::launch`].
    pub fn launch(self, call: Call) -> Result<()> {
        if self.product.has_no_results() || self.gates.capacity == 0 {
            return Ok(());
        }
        let problem = self.product.problem;
        match self.in_groups {
            Some(groups) => self.launch_with(call, |args| groups.arguments(args, problem)),
            None => self.launch_with(call, |args| args),
        }
    }

    /// Launches them with what `arguments` makes of those that all kernels have.
    fn launch_with<A: KernelArgs + 'static>(
        &self,
        mut call: Call,
        arguments: impl Fn(ExpertArgs) -> A,
    ) -> Result<()> {
        let mut plan = Plan::new(&call, self.product.kernels);
        let of = self.draft(&plan)?;
        let at = call.workspace(self.bytes(&of.1))?;
        self.plan(&mut plan, of, at, arguments)?;
        plan.submit(call)
    }

    /// The kernel, and what it needs.
    pub(super) fn draft<A: KernelArgs>(&self, plan: &Plan) -> Result<(TileFunction<A>, Draft<'_>)> {
        let (Self { product, gates, .. }, units) = (self, plan.compute_units());
        let tile = ("block_size", gates.tile_rows);
        let of = GatheredRows { x: product.names.x, most_k: MAX_CHAIN, tile };
        gathered(product, plan, gates.count, &of, |tile| self.shares(tile, units))
    }

    /// Of a workspace.
    fn bytes(&self, draft: &Draft<'_>) -> [usize; EXPERT_PIECES] {
        let mut bytes = [0; EXPERT_PIECES];
        bytes[..PIECES].copy_from_slice(&draft.bytes());
        // Blocks are whole, whatever the gates end with.
        let rows = self.gates.capacity.next_multiple_of(self.gates.tile_rows);
        let of = |copy: ScaleCopy| if copy.gathered { copy.bytes_of(rows) } else { copy.bytes() };
        for (bytes, copy) in bytes[PIECES..].iter_mut().zip(self.copies) {
            *bytes = copy.map_or(0, of);
        }
        bytes[PIECES + 2] = self.weights.map_or(0, |(copy, _)| copy.bytes());
        bytes
    }

    /// How k is cut: long rows of few gates, so that there is work for all compute units.
    fn shares(&self, tile: Tile, compute_units: u64) -> Split {
        let Self { product: Product { problem, gate, splits, .. }, gates, halves, .. } = self;
        let whole = Split { count: 1, share: problem.k };
        if gate.is_some() || halves.is_some() {
            return whole;
        }
        // A block that multiplies has a gate at least.
        let blocks = gates.capacity.div_ceil(tile.m).min(gates.count);
        let all = Problem { batch: 1, m: blocks * tile.m, ..*problem };
        match splits {
            Some(splits) => tile.split_into(all, (*splits).into()),
            None if problem.k >= LONG => tile.split(all, compute_units),
            None => whole,
        }
    }

    /// Launches that, with what `arguments` makes of those that all kernels have.
    pub(super) fn plan<A: KernelArgs + 'static>(
        &self,
        plan: &mut Plan,
        (kernel, mut draft): (TileFunction<A>, Draft<'_>),
        at: [DevicePtr<u8>; EXPERT_PIECES],
        arguments: impl FnOnce(ExpertArgs) -> A,
    ) -> Result<()> {
        let Self { gates, halves, copies, weights, .. } = *self;
        let [at @ .., x_at, w_at, weights_at] = at;
        for (of, (copy, to)) in copies.into_iter().zip([x_at, w_at]).enumerate() {
            let Some(copy) = copy else { continue };
            copy.plan(plan, (gates.gates, gates.per_row), to.any())?;
            copy.hand_over(&mut draft, of, to.any());
        }
        if let Some((copy, operand)) = weights {
            copy.plan(plan, (DevicePtr::NULL, 1), weights_at.any())?;
            draft.product.steps.tensors[operand] = weights_at.any();
        }
        let (tile, problem) = (Tile::of(kernel.tile()), draft.product.problem);
        let n = if halves.is_some() { problem.n / 2 } else { problem.n };
        let rows = Problem { batch: 1, m: gates.capacity, n, ..problem };
        let grid = plan.grid(rows, tile, Split { count: 1, share: problem.k })?;
        let split = draft.split();
        let padded = draft.sources.padded_halves();
        let mut ready = draft.prepare(plan, at)?;
        if let Some(width) = padded {
            ready.main.n = width as u32;
        }
        let [alpha, limit, offset] = halves.unwrap_or_default();
        let args = ExpertArgs {
            product: ready.main,
            gates: gates.gates,
            experts: gates.experts,
            length: gates.length,
            capacity: gates.capacity as u32,
            tile_rows: gates.tile_rows as u32,
            gate_count: gates.count as u32,
            gates_per_row: gates.per_row as u32,
            alpha,
            limit,
            offset,
            columns: n as u32,
        };
        let Some((_, product)) = ready.sums else {
            plan.then(kernel, [grid, 1, 1], arguments(args));
            return Ok(());
        };
        let reduce = plan.kernel(["experts", "reduce"], Some("any"), problem, |_| 0.0)?;
        let pieces = gates.capacity.saturating_mul(n.div_ceil(8));
        let of_reduce = plan.grid_of(reduce.tile().threads, [1, pieces]);
        let sums = ExpertArgs { product, ..args };
        plan.then(kernel, [grid, split.count as u32, 1], arguments(args));
        plan.then(reduce, of_reduce, sums);
        Ok(())
    }
}

/// Two products of experts, of which the first one's results are the second one's x, a row for each gate:
/// both places are the workspace's.
#[derive(Debug, Clone)]
pub struct ExpertLayer<'a> {
    /// The first product.
    pub up: Experts<'a>,
    /// The second, with one gate for each row.
    pub down: Experts<'a>,
}

impl ExpertLayer<'_> {
    /// Launches both, if they have results, and what follows: of a place in the workspace, where results are
    /// then, those of gates that no tile has as zeros.
    ///
    /// # Errors
    /// As [`Product::launch`].
    pub fn launch(self, mut call: Call, behind: Option<Behind>) -> Result<()> {
        let Self { up, down } = self;
        let has_no_tiles = up.gates.capacity == 0;
        if up.product.has_no_results() || (has_no_tiles && behind.is_none()) {
            return Ok(());
        }
        let mut plan = Plan::new(&call, up.product.kernels);
        let (up_kernel, mut up_draft) = up.draft(&plan)?;
        let (down_kernel, mut down_draft) = down.draft(&plan)?;
        let mut bytes = [up.product.y.bytes(); 2 * EXPERT_PIECES + 2];
        bytes[..EXPERT_PIECES].copy_from_slice(&up.bytes(&up_draft));
        bytes[EXPERT_PIECES..2 * EXPERT_PIECES].copy_from_slice(&down.bytes(&down_draft));
        bytes[2 * EXPERT_PIECES + 1] = behind.as_ref().map_or(0, |_| down.product.y.bytes());
        let at = call.workspace(bytes)?;
        let results = at[2 * EXPERT_PIECES + 1].any();
        let pieces = |from: usize| std::array::from_fn(|piece| at[from + piece]);
        let between = at[2 * EXPERT_PIECES].any().address();
        for of in [&mut up_draft.product.y, &mut down_draft.sources.x] {
            of.ptr = of.ptr.moved_to(between);
        }
        if behind.is_some() {
            down_draft.product.y.ptr = results;
            plan.clear(&down_draft.product.y)?;
        }
        if down.product.prequant.is_some() {
            // Rows of gates that no tile has become codes as well.
            plan.clear(&up_draft.product.y)?;
        }
        if !has_no_tiles {
            up.plan(&mut plan, (up_kernel, up_draft), pieces(0), |args| args)?;
            down.plan(&mut plan, (down_kernel, down_draft), pieces(EXPERT_PIECES), |args| args)?;
        }
        if let Some(behind) = behind {
            plan.last(move |stream| behind(results, stream));
        }
        plan.submit(call)
    }
}
