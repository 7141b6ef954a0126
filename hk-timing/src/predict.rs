//! From one compute unit to the device.

use hk_sim::exec::Dispatch;
use hk_sim::isa::Arch;
use hk_sim::trace::GroupTrace;
use hk_sim::{Product, occupancy};

use crate::clock::{Load, clock};
use crate::memory::{Back, Shares};
use crate::unit::{Done, Reason, Supply, Unit, WaveLine};
use crate::{Error, Parameters};

/// Wave-instructions that are timed in one round; workgroups beyond are extrapolated.
const MOST_STEPS: usize = 1 << 21;
/// Rounds until the clock fits the load.
const ROUNDS: usize = 3;
/// Workgroups of one XCD, next to each other, in a sample, and others.
const NEIGHBOURS: u64 = 8;
const STRATA: u64 = 4;
/// Seconds below which power control has not yet acted.
const BURST: f64 = 1e-3;

/// What keeps a kernel from being faster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// The matrix units.
    Matrix,
    /// The VALUs.
    Vector,
    /// The ports of LDS.
    LdsPort,
    /// The array of LDS.
    LdsArray,
    /// Bank conflicts of LDS.
    Conflicts,
    /// What the L1 returns.
    L1,
    /// The L2.
    L2,
    /// The MALL, and the way to it.
    Mall,
    /// HBM.
    Hbm,
    /// Latencies that are waited for.
    Waits,
    /// Barriers.
    Barriers,
    /// Start and end of the kernel and its waves.
    Launch,
}

impl std::fmt::Display for Limit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Matrix => "matrix unit",
            Self::Vector => "VALU issue",
            Self::LdsPort => "LDS port",
            Self::LdsArray => "LDS array",
            Self::Conflicts => "bank conflicts",
            Self::L1 => "L1 return",
            Self::L2 => "L2",
            Self::Mall => "MALL",
            Self::Hbm => "HBM",
            Self::Waits => "waits",
            Self::Barriers => "barriers",
            Self::Launch => "launch",
        })
    }
}

/// Where the time of the waves of a compute unit goes, in cycles of all that were timed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stalls {
    /// Issue.
    pub issue: u64,
    /// What they wait for.
    pub reasons: Vec<(Reason, u64)>,
    /// All of it, from each wave's start to its end.
    pub total: u64,
}

/// What the model expects of a launch.
#[derive(Clone, Debug, PartialEq)]
pub struct Prediction {
    /// Product.
    pub product: &'static str,
    /// Seconds from start to end of the kernel.
    pub seconds: f64,
    /// Cycles of a compute unit at work.
    pub cycles: f64,
    /// Clock in GHz.
    pub clock: f64,
    /// What limits it.
    pub limit: Limit,
    /// Share of the time in which each unit is busy.
    pub busy: Vec<(Limit, f64)>,
    /// Seconds that the busiest unit, or memory, would take alone at the peak clock.
    pub roofline: f64,
    /// Expected error, as the 90th percentile of `|ln(model / measured)|` for kernels of its kind.
    /// It is an expectation, since nothing has been held against hardware.
    pub error: f64,
    /// Where the waves' time goes.
    pub stalls: Stalls,
    /// Bytes that all workgroups ask the L2, what is behind it, and HBM for.
    pub bytes: [f64; 3],
    /// Hash of the parameters.
    pub parameters: String,
}

impl Prediction {
    /// Time on the roofline as a share of the predicted one.
    pub fn roofline_share(&self) -> f64 {
        self.roofline / self.seconds
    }
}

impl std::fmt::Display for Prediction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { product, seconds, clock, limit, error, parameters, .. } = self;
        write!(
            f,
            "model: {:.2} us on {product} at {clock:.2} GHz, {:.0} % of the roofline, limited by \
             {limit}; expected error {:.0} %, parameters {parameters}",
            1e6 * seconds,
            100.0 * self.roofline_share(),
            100.0 * (error.exp() - 1.0),
        )
    }
}

/// Workgroups of a launch of so many to trace for [`predict`]: first those that run next to each other
/// on one XCD, whose number is the second value, then others.
pub fn sample(groups: u64, product: &Product) -> (Vec<u64>, usize) {
    let xcds = u64::from(product.xcds);
    let base = groups / 2 / xcds * xcds;
    let near =
        (0..groups.div_ceil(xcds)).map(|n| (base + n * xcds) % groups.next_multiple_of(xcds));
    let mut chosen: Vec<u64> = near.filter(|&n| n < groups).take(NEIGHBOURS as usize).collect();
    let neighbours = chosen.len();
    let strata = if groups <= NEIGHBOURS + STRATA { groups } else { STRATA };
    for stratum in 0..strata {
        let at = stratum * (groups - 1) / (strata - 1).max(1);
        if !chosen.contains(&at) {
            chosen.push(at);
        }
    }
    (chosen, neighbours)
}

/// Predicts a launch from what the workgroups of [`sample`] did, of which the first `neighbours` are
/// of one XCD. With `warm`, the MALL holds what it can of the data before the launch.
///
/// # Errors
/// [`Error::NoGroups`] without workgroups, [`Error::DoesNotFit`] where no compute unit can hold one,
/// [`Error::TooLong`] if one executes more than 2^21 wave-instructions, or if there are so many on each
/// compute unit that a steady state must be found, and two turns of those that run at once do.
pub fn predict(
    dispatch: &Dispatch,
    traces: &[GroupTrace],
    neighbours: usize,
    warm: bool,
    by: &Parameters,
) -> Result<Prediction, Error> {
    Settled::of(dispatch, traces, neighbours, warm, by).map(|settled| settled.finish(by))
}

/// What the waves of a compute unit do, cycle after cycle.
#[derive(Clone, Debug, PartialEq)]
pub struct Timeline {
    /// Clock in GHz.
    pub clock: f64,
    /// Its first workgroups, as many as run at once.
    pub waves: Vec<WaveLine>,
}

/// As [`predict`]: what waves do meanwhile.
///
/// # Errors
/// As [`predict`].
pub fn timeline(
    dispatch: &Dispatch,
    traces: &[GroupTrace],
    neighbours: usize,
    warm: bool,
    by: &Parameters,
) -> Result<Timeline, Error> {
    let Settled { supply, back, ghz, .. } = Settled::of(dispatch, traces, neighbours, warm, by)?;
    let supply = Supply { groups: supply.groups.min(supply.resident), ..supply };
    let waves = Unit::new(by, &dispatch.program, back).record(traces, supply)?;
    Ok(Timeline { clock: ghz, waves })
}

/// A launch, timed at the clock that its load leaves.
struct Settled {
    timed: Timed,
    cycles: f64,
    ghz: f64,
    /// Compute units that work.
    active: f64,
    product: &'static Product,
    supply: Supply,
    back: Back,
}

impl Settled {
    fn of(
        dispatch: &Dispatch,
        traces: &[GroupTrace],
        neighbours: usize,
        warm: bool,
        by: &Parameters,
    ) -> Result<Self, Error> {
        let product = dispatch.product;
        let groups: u64 = dispatch.grid.iter().map(|&n| u64::from(n)).product();
        let longest =
            traces.iter().map(steps).max().filter(|_| groups != 0).ok_or(Error::NoGroups)?;
        if longest > MOST_STEPS {
            return Err(Error::TooLong { found: longest, limit: MOST_STEPS });
        }
        let block: u32 = dispatch.block.iter().product();
        let (vgprs, lds) = (dispatch.setup.vgprs + dispatch.setup.agprs, dispatch.lds_bytes);
        let resident = occupancy(product.arch, vgprs, lds, block).workgroups;
        if resident == 0 {
            return Err(Error::DoesNotFit { block, vgprs, lds });
        }
        let units = u64::from(product.compute_units);
        let xcds = f64::from(product.xcds);
        let active = groups.min(units);
        let per_xcd = active.div_ceil(u64::from(product.xcds)) as f64;
        let per_unit = groups.div_ceil(units);
        let at_once = (per_xcd * f64::from(resident)).min((groups as f64 / xcds).ceil());
        let shares = Shares::of(dispatch, traces, neighbours, groups, at_once, warm, by);
        let waves = f64::from(block.div_ceil(64));
        // The launcher of an XCD goes round its units.
        let interval = waves * per_xcd / by.wave_launch;

        let most = f64::from(product.clock_khz) / 1e6;
        let mut ghz = most;
        let mut found = None;
        for round in 0..ROUNDS {
            let back = Back::new(by, ghz, shares, active as f64, per_xcd);
            let supply = Supply {
                groups: per_unit,
                resident: u64::from(resident),
                interval,
                turnaround: by.wave_start * ghz,
            };
            let timed = Timed::of(dispatch, traces, supply, &back, by)?;
            let cycles = timed.cycles + (per_xcd - 1.0) * waves / by.wave_launch;
            let chip = active as f64 / cycles;
            let rate = timed.scale * timed.done.bytes[2] * chip;
            let energies = [by.energy_bf16, by.energy_f16, by.energy_8bit, by.energy_narrow];
            let matrix: f64 =
                timed.done.operations.iter().zip(energies).map(|(&n, e)| n as f64 * e).sum();
            let vector = timed.done.vector_operations as f64 * by.energy_vector;
            let energy = timed.scale * (matrix + vector) * chip;
            let load = Load { active: active as f64 / units as f64, bytes: rate, energy };
            let used_ghz = ghz;
            if round + 1 < ROUNDS {
                let burst = if cycles / (ghz * 1e9) < BURST { by.burst } else { 1.0 };
                ghz = clock(by, load, by.power_cap * burst, most);
            }
            let (ghz, active) = (used_ghz, active as f64);
            found = Some(Self { timed, cycles, ghz, active, product, supply, back });
        }
        found.ok_or(Error::NoGroups)
    }

    fn finish(&self, by: &Parameters) -> Prediction {
        let Self { timed, cycles, ghz, active, product, .. } = self;
        let seconds = cycles / (ghz * 1e9) + by.kernel_start * 1e-9;
        finish(timed, *cycles, *ghz, seconds, *active, product, by)
    }
}

fn steps(group: &GroupTrace) -> usize {
    group.waves.iter().map(|wave| wave.steps.len()).sum()
}

/// What a compute unit does with all its workgroups.
struct Timed {
    done: Done,
    cycles: f64,
    /// Workgroups per one that was timed.
    scale: f64,
}

impl Timed {
    fn of(
        dispatch: &Dispatch,
        traces: &[GroupTrace],
        supply: Supply,
        back: &Back,
        by: &Parameters,
    ) -> Result<Self, Error> {
        let time = |groups| {
            let unit = Unit::new(by, &dispatch.program, back.clone());
            unit.run(traces, Supply { groups, ..supply })
        };
        let average = traces.iter().map(steps).sum::<usize>() / traces.len();
        let affordable = (MOST_STEPS / average.max(1)).max(1) as u64;
        if supply.groups <= affordable {
            let done = time(supply.groups)?;
            return Ok(Self { cycles: done.cycles, done, scale: 1.0 });
        }
        // Steady state: what the second half of the affordable ones adds, in whole turns of those
        // that run at once.
        let few = affordable / 2 / supply.resident * supply.resident;
        if few == 0 {
            let found = average * 2 * supply.resident as usize;
            return Err(Error::TooLong { found, limit: MOST_STEPS });
        }
        let affordable = 2 * few;
        let done = time(affordable)?;
        let each = (done.cycles - time(few)?.cycles).max(0.0) / few as f64;
        let rest = (supply.groups - affordable) as f64;
        let scale = supply.groups as f64 / affordable as f64;
        Ok(Self { cycles: done.cycles + rest * each, done, scale })
    }
}

fn finish(
    timed: &Timed,
    cycles: f64,
    ghz: f64,
    seconds: f64,
    active: f64,
    product: &'static Product,
    by: &Parameters,
) -> Prediction {
    let Timed { done, scale, .. } = timed;
    let share = |busy: f64, units: f64| scale * busy / (units * cycles);
    let array = share(done.lds_array as f64, 1.0);
    let in_array =
        if 2 * done.lds_conflicts > done.lds_array { Limit::Conflicts } else { Limit::LdsArray };
    let [l2_read, l2_write, fabric, hbm] = done.servers.map(|busy| share(busy, 1.0));
    let launch = by.kernel_start * 1e-9 / seconds;
    let mut busy = vec![
        (Limit::Matrix, share(done.matrix as f64, 4.0)),
        (Limit::Vector, share(done.vector as f64, 4.0)),
        (Limit::LdsPort, share(done.lds_port, 2.0)),
        (in_array, array),
        (Limit::L1, share(done.l1, 1.0)),
        (Limit::L2, l2_read.max(l2_write)),
        (Limit::Mall, fabric),
        (Limit::Hbm, hbm),
        (Limit::Launch, launch),
    ];
    busy.sort_by(|a, b| b.1.total_cmp(&a.1));
    let reasons: Vec<_> =
        Reason::ALL.into_iter().map(|reason| (reason, done.stalls[reason as usize])).collect();
    let stall = |wanted: &[Reason]| {
        let of = reasons.iter().filter(|(reason, _)| wanted.contains(reason));
        of.map(|(_, cycles)| cycles).sum::<u64>()
    };
    let limit = if busy[0].1 >= 0.5 {
        busy[0].0
    } else if stall(&[Reason::Barrier])
        > stall(&[Reason::VectorWait, Reason::LdsWait, Reason::ScalarWait])
    {
        Limit::Barriers
    } else {
        Limit::Waits
    };
    // What one unit does, done by all of them at the peak clock.
    let peak = f64::from(product.clock_khz) * 1e3;
    let chip = scale * active / f64::from(product.compute_units);
    let engine = chip * done.matrix.max(done.vector) as f64 / 4.0 / peak;
    let bytes = done.bytes.map(|bytes| scale * bytes * active);
    let roofline = engine.max(bytes[2] / (by.hbm_peak * 1e12));
    let stalls = Stalls { issue: done.issue_cycles, reasons, total: done.wave_cycles };
    Prediction {
        product: product.name,
        seconds,
        cycles,
        clock: ghz,
        limit,
        busy,
        roofline,
        error: error(limit, seconds, product.arch),
        stalls,
        bytes,
        parameters: by.hash.clone(),
    }
}

/// Expected 90th percentile of `|ln(model / measured)|` for a kernel that nothing was fitted to.
fn error(limit: Limit, seconds: f64, arch: Arch) -> f64 {
    match limit {
        _ if seconds < 50e-6 => 0.45,
        Limit::Matrix if arch == Arch::Gfx942 => 0.15,
        Limit::Matrix => 0.22,
        Limit::Hbm | Limit::Mall | Limit::L2 | Limit::L1 => 0.20,
        Limit::Waits | Limit::Launch => 0.70,
        _ => 0.30,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_of_the_grid_and_have_neighbours() {
        let product = Product::by_name("mi300x").expect("it is one");
        for groups in [1, 2, 7, 8, 9, 100, 1024, 1_000_003] {
            let (chosen, neighbours) = sample(groups, product);
            assert!(chosen.iter().all(|&group| group < groups), "{groups}: {chosen:?}");
            let near = &chosen[..neighbours];
            assert!(neighbours > 0 && near.iter().all(|group| group % 8 == near[0] % 8));
            let mut distinct = chosen.clone();
            distinct.sort_unstable();
            distinct.dedup();
            assert_eq!(distinct.len(), chosen.len());
            assert!(chosen.contains(&0) && chosen.contains(&(groups - 1)), "{groups}: {chosen:?}");
            assert!(groups > 12 || chosen.len() as u64 == groups, "{groups}: {chosen:?}");
        }
    }
}
