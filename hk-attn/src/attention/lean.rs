//! Attention shared evenly among workgroups: one problem, or two in one launch.

use hk_core::kernel::TileConfig;
use hk_core::op::Arguments;
use hk_core::op::indices::IndexList;
use hk_core::{Arch, DevicePtr, Error, Result, TileFunction};

use super::launch::kernel_variant;
use super::problem::Problem;
use super::{AttentionArgs, AttentionOptions, LEAN_PROBLEMS, LeanArgs};
use crate::KERNELS;

/// Programs of a compute unit, unless the caller says how many there are.
const PROGRAMS_OF_UNIT: u32 = 2;
/// The most programs.
const MOST_PROGRAMS: u32 = 1 << 16;
/// Lanes of a wave.
const WAVE: u32 = 64;
/// Bytes of what the kernels plan for a sequence.
const PLAN_BYTES: usize = 16;

/// How parts of a tile that several programs have are merged. Results are the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LeanMode {
    /// By a launch that follows.
    #[default]
    Reduce,
    /// By the program that began the tile, which waits for the others. All programs have to be resident
    /// at once, so that there are as many as that at most.
    Flags,
}

/// What can be chosen of attention that is shared evenly.
#[derive(Debug, Clone, Copy, Default)]
pub struct LeanOptions {
    scale: Option<f32>,
    causal: bool,
    programs: Option<u32>,
    blocks: [Option<u32>; 2],
    mode: LeanMode,
}

impl LeanOptions {
    /// Factor of scores; `1 / sqrt(d)` if not given.
    #[must_use]
    pub fn scale(self, scale: f32) -> Self {
        Self { scale: Some(scale), ..self }
    }

    /// Whether queries see no keys behind their positions.
    #[must_use]
    pub fn causal(self, causal: bool) -> Self {
        Self { causal, ..self }
    }

    /// Programs that share the work; two for each compute unit if not given.
    #[must_use]
    pub fn program_count(self, programs: u32) -> Self {
        Self { programs: Some(programs), ..self }
    }

    /// Rows of queries of a tile, of all heads that share keys; chosen by how many there are if not given. There
    /// are tiles of 16 and of 128, of heads wider than 128 or not a multiple of 8 wide of 64.
    #[must_use]
    pub fn block_m(self, rows: u32) -> Self {
        Self { blocks: [Some(rows), self.blocks[1]], ..self }
    }

    /// Keys of a unit of work: 32 of tiles of 16 and 64 rows, 64 of tiles of 128.
    #[must_use]
    pub fn block_n(self, keys: u32) -> Self {
        Self { blocks: [self.blocks[0], Some(keys)], ..self }
    }

    /// How parts are merged.
    #[must_use]
    pub fn mode(self, mode: LeanMode) -> Self {
        Self { mode, ..self }
    }

    /// Those of one problem.
    pub(crate) fn of_problem(&self) -> AttentionOptions<'static> {
        let options = AttentionOptions::default().causal(self.causal);
        self.scale.into_iter().fold(options, AttentionOptions::scale)
    }

    pub(crate) fn is_causal(&self) -> bool {
        self.causal
    }

    /// As these, without a mask.
    pub(crate) fn without_mask(self) -> Self {
        Self { causal: false, ..self }
    }
}

/// Problems that are to be launched.
pub(crate) struct Lean<'a> {
    options: LeanOptions,
    problems: Vec<Problem<'a>>,
    pub(crate) ends: IndexList,
    pub(crate) starts_are_sums: bool,
}

/// Parts that problems have of the programs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shares(pub(crate) [u32; LEAN_PROBLEMS]);

impl<'a> Lean<'a> {
    pub(crate) fn new(options: LeanOptions, first: Problem<'a>) -> Self {
        Self { options, problems: vec![first], ends: IndexList::NONE, starts_are_sums: true }
    }

    /// Adds a problem, whose arguments are declared behind those of the first.
    pub(crate) fn and(
        &mut self,
        op: &'static str,
        options: AttentionOptions<'a>,
        declare: impl FnOnce(&mut Problem<'a>) -> Result<()>,
    ) -> Result<()> {
        let mut second = Problem::new(op, options);
        let [first, ..] = &mut self.problems[..] else { return Ok(()) };
        second.arguments = std::mem::replace(&mut first.arguments, Arguments::new(op));
        let declared = declare(&mut second);
        first.arguments = std::mem::replace(&mut second.arguments, Arguments::new(op));
        self.problems.push(second);
        declared
    }

    /// Checks, chooses and launches all.
    pub(crate) fn launch(self, shares: Shares) -> Result<()> {
        let Self { options, problems, ends, starts_are_sums } = self;
        let mut arguments = None;
        let (mut all, mut checks) = ([AttentionArgs::NONE; LEAN_PROBLEMS], Vec::new());
        let (mut keys, mut dtype, mut is_plain) = ([0; LEAN_PROBLEMS], None, true);
        for (at, problem) in problems.into_iter().enumerate() {
            if at == 0 {
                arguments = Some(problem.arguments);
            }
            (all[at], keys[at]) = (problem.args, problem.most_keys as u64);
            dtype = dtype.or(Some(problem.dtype));
            is_plain &= problem.is_plain;
            checks.extend(problem.checks);
        }
        let (Some(arguments), Some(dtype)) = (arguments, dtype) else { return Ok(()) };
        Problem::require_groups(&arguments)?;
        let programs = options.programs;
        let is_number = programs.is_none_or(|programs| (1..=MOST_PROGRAMS).contains(&programs));
        let constraint = format!("from 1 to {MOST_PROGRAMS}");
        arguments.require(is_number, "program_count", constraint, programs.unwrap_or_default())?;
        let is_shared = shares.0.iter().any(|share| *share > 0);
        arguments.require(is_shared, "prefill_ratio", "a ratio that is not 0", 0)?;
        let mut call = arguments.check()?;
        if call.validates_indices(None)? {
            checks.into_iter().try_for_each(|check| check(&call))?;
        }

        let rows = all.each_ref().map(|of| u64::from(of.q_length) * u64::from(of.group));
        let heads = all.each_ref().map(|of| u64::from(of.sequences) * u64::from(of.kv_heads));
        let is_there = [0, 1].map(|at| rows[at] > 0 && heads[at] > 0);
        if is_there == [false; 2] {
            return Ok(());
        }
        let variant = kernel_variant(dtype, is_plain, &all[0]);
        let most_rows = [0, 1].map(|at| if is_there[at] { rows[at] } else { 0 });
        let most_rows = most_rows.into_iter().max().unwrap_or_default();
        let problem = [
            ("width", u64::from(all[0].width)),
            ("rows", options.blocks[0].map_or(most_rows, u64::from)),
        ];
        let kernel: TileFunction<LeanArgs> =
            KERNELS.function(call.device(), call.op(), "lean_attention", &variant, &problem)?;
        let int = |name| kernel.tile().int(name).unwrap_or(1) as u64;
        let (block_q, block_k) = (16 * int("Q_WAVES") * int("Q_FRAGMENTS"), int("BK"));
        for (name, wanted, there) in
            [("block_m", options.blocks[0], block_q), ("block_n", options.blocks[1], block_k)]
        {
            if let Some(wanted) = wanted.filter(|wanted| u64::from(*wanted) != there) {
                let constraint = format!("{there}, of which there is a tile");
                return Err(Error::value(call.op(), name, constraint, wanted));
            }
        }
        let mut tiles = 0;
        for at in 0..LEAN_PROBLEMS {
            if !is_there[at] {
                all[at].sequences = 0;
                continue;
            }
            let of_head = rows[at].div_ceil(block_q);
            let of_problem = heads[at].saturating_mul(of_head);
            let of_keys = keys[at].div_ceil(block_k).max(1);
            // Of sequences whose keys follow each other, each has at most one unit that is not full.
            let units = if starts_are_sums {
                let of_sequences = of_keys + u64::from(all[at].sequences);
                let of_heads = u64::from(all[at].kv_heads).saturating_mul(of_head);
                of_heads.saturating_mul(of_sequences)
            } else {
                of_problem.saturating_mul(of_keys)
            };
            if units >= 1 << 31 || rows[at] >= 1 << 31 {
                return Err(Error::value(call.op(), "q", "fewer than 2^31 units of work", units));
            }
            all[at].tiles = of_head as u32;
            tiles += of_problem;
        }
        if tiles >= 1 << 23 {
            return Err(Error::value(call.op(), "q", "fewer than 2^23 tiles of rows", tiles));
        }

        let units = call.device().info().compute_units.max(1);
        let wanted = programs.unwrap_or(PROGRAMS_OF_UNIT * units);
        let programs = deal(wanted, shares, is_there);
        let count: u32 = programs.iter().sum();
        let waits = options.mode == LeanMode::Flags;
        let resident = units * residents(call.device().arch(), kernel.tile());
        if waits && count > resident {
            let constraint = format!("at most {resident}, which are resident together");
            return Err(Error::value(call.op(), "program_count", constraint, count));
        }
        let parts = programs.map(|programs| u64::from(programs) * 2 * block_q);
        let bytes = |at: usize, each: u64| (parts[at] * each * 4) as usize;
        let width = u64::from(all[0].value_width);
        let plan = |at: usize| (all[at].sequences as usize + 1) * PLAN_BYTES;
        let [plan_0, plan_1, sums_0, sums_1, states_0, states_1, flags] = call.workspace([
            plan(0),
            plan(1),
            bytes(0, width),
            bytes(1, width),
            bytes(0, 2),
            bytes(1, 2),
            count as usize * 4,
        ])?;
        for (at, [sums, states]) in [[sums_0, states_0], [sums_1, states_1]].into_iter().enumerate()
        {
            all[at].parts = DevicePtr::new(sums.address());
            all[at].part_states = DevicePtr::new(states.address());
        }
        let args = LeanArgs {
            problem: all,
            plan: [plan_0, plan_1],
            ends,
            flags: if waits { DevicePtr::new(flags.address()) } else { DevicePtr::NULL },
            programs,
            block_q: block_q as u32,
            block_k: block_k as u32,
            starts_are_sums: u32::from(starts_are_sums),
            reserved: 0,
        };
        let [planner, merger] = ["lean_plan", "lean_merge"]
            .map(|core| KERNELS.function::<LeanArgs>(call.device(), call.op(), core, "", &[]));
        let (planner, merger) = (planner?, merger?);
        call.submit(|stream| {
            let planned = LEAN_PROBLEMS as u32;
            // SAFETY: the kernels stay within the tensors whose shapes and strides were checked,
            // whatever lengths and pages are, and within the workspace.
            unsafe { planner.launch(stream, [planned, 1, 1], &args) }?;
            // SAFETY: as above; if programs wait for each other, all are resident.
            unsafe { kernel.launch(stream, [count, 1, 1], &args) }?;
            if waits {
                return Ok(());
            }
            // SAFETY: as above.
            unsafe { merger.launch(stream, [tiles as u32, 1, 1], &args) }
        })
    }
}

/// Workgroups of a kernel that a compute unit has at once.
fn residents(arch: Arch, tile: &TileConfig) -> u32 {
    let lds = tile.lds().max(1).next_multiple_of(arch.lds_granule());
    let vgprs = tile.resources.vgprs.max(1).next_multiple_of(arch.vgpr_granule());
    let waves = (arch.vgprs_per_simd() / vgprs).min(arch.waves_per_simd()) * arch.simds();
    (arch.lds_bytes() / lds).min(waves * WAVE / tile.threads)
}

/// Deals programs to problems by their shares; each that there is has one at least.
fn deal(programs: u32, Shares(shares): Shares, is_there: [bool; 2]) -> [u32; 2] {
    match is_there {
        [true, false] => [programs, 0],
        [false, _] => [0, programs],
        [true, true] => {
            let programs = programs.max(2);
            let all = u64::from(shares[0]) + u64::from(shares[1]);
            let first = u64::from(programs) * u64::from(shares[0]) / all;
            let first = first.clamp(1, u64::from(programs) - 1) as u32;
            [first, programs - first]
        }
    }
}
