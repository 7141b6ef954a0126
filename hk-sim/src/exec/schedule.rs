//! Scheduling: workgroups on threads, waves of a workgroup in turns.
//!
//! Every workgroup makes progress whatever the others do: one that spins is set aside after a time
//! slice, and the next is started or resumed. A kernel without races gives the same result for any
//! number of threads and any seed.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock};
use std::time::{Duration, Instant};

use hk_types::{FaultKind, FaultReport};

use super::coverage::Tally;
use super::group::{Group, Slice};
use super::progress::{Progress, Step};
use super::{Dispatch, Env, ExecOptions, Observer, RunStats, Wave};

/// How long a launch is one thread's before others help: most end sooner than those would begin.
const ALONE: Duration = Duration::from_micros(300);
/// Workgroups that are alive at once without need; more are started when none of them ends.
const LIVE_GROUPS: usize = 64;
/// Time slices that workgroups below a faulting one still get, so that the report names the first
/// faulting workgroup whatever the number of threads.
const GRACE_SLICES: usize = 64;
/// Time between two looks at waves that wait for a change from outside.
const POLL: Duration = Duration::from_micros(500);

/// Cores of the host, which it takes files to find out.
fn cores() -> usize {
    static CORES: OnceLock<usize> = OnceLock::new();
    *CORES.get_or_init(|| std::thread::available_parallelism().map_or(1, usize::from))
}

/// Executes a launch to its end.
///
/// # Errors
/// The report of the first fault, in workgroup order.
pub fn run(dispatch: &Dispatch, options: &ExecOptions) -> Result<RunStats, Box<FaultReport>> {
    run_observed(dispatch, options, None)
}

/// As [`run`], with somebody to watch it.
///
/// # Errors
/// As [`run`].
pub fn run_observed(
    dispatch: &Dispatch,
    options: &ExecOptions,
    observer: Option<&dyn Observer>,
) -> Result<RunStats, Box<FaultReport>> {
    let groups = dispatch.grid.iter().map(|&n| u64::from(n)).product();
    run_groups(dispatch, options, observer, Groups::All(groups))
}

/// As [`run_observed`], but only the workgroups with these linear numbers. They must not wait for
/// others.
///
/// # Errors
/// As [`run`].
pub(crate) fn run_chosen(
    dispatch: &Dispatch,
    options: &ExecOptions,
    observer: Option<&dyn Observer>,
    groups: &[u64],
) -> Result<RunStats, Box<FaultReport>> {
    run_groups(dispatch, options, observer, Groups::Chosen(groups))
}

/// Workgroups to execute.
#[derive(Clone, Copy)]
enum Groups<'a> {
    /// So many, which are all.
    All(u64),
    /// Those with these numbers.
    Chosen(&'a [u64]),
}

impl Groups<'_> {
    fn len(self) -> u64 {
        match self {
            Self::All(count) => count,
            Self::Chosen(groups) => groups.len() as u64,
        }
    }

    /// Linear number of the workgroup that is executed as number `place`.
    fn get(self, place: u64) -> Option<u64> {
        match self {
            Self::All(count) => (place < count).then_some(place),
            Self::Chosen(groups) => groups.get(usize::try_from(place).ok()?).copied(),
        }
    }
}

fn run_groups(
    dispatch: &Dispatch,
    options: &ExecOptions,
    observer: Option<&dyn Observer>,
    groups: Groups<'_>,
) -> Result<RunStats, Box<FaultReport>> {
    let env = environment(dispatch, observer);
    let Some(entry) = dispatch.program.index_of(dispatch.entry) else {
        return Err(Box::new(FaultReport {
            kind: FaultKind::IllegalInstruction,
            detail: "the kernel's entry is not inside the code".into(),
            kernel: dispatch.kernel.clone(),
            pc: dispatch.entry,
            offset: 0,
            instruction: String::new(),
            workgroup: [0; 3],
            wave: 0,
            lane: None,
            address: None,
            allocation: None,
            source: None,
        }));
    };
    let queue = Queue {
        env: &env,
        options,
        entry,
        groups,
        next: AtomicU64::new(0),
        live: AtomicUsize::new(0),
        idle_turns: AtomicUsize::new(0),
        wanted: AtomicUsize::new(0),
        suspended: Mutex::new(VecDeque::new()),
        first_fault: AtomicU64::new(u64::MAX),
        grace: AtomicUsize::new(GRACE_SLICES),
        progress: Progress::new(options.patience),
        report: Mutex::new(None),
    };
    let threads = match options.threads {
        0 => cores(),
        threads => threads,
    };
    let threads = threads.min(usize::try_from(groups.len()).unwrap_or(usize::MAX));
    // Lower the code before the threads race for it.
    dispatch.program.ops();
    std::thread::scope(|scope| {
        let alone = (threads > 1).then(|| Instant::now() + ALONE);
        if !queue.work(alone) {
            for _ in 1..threads {
                scope.spawn(|| queue.work(None));
            }
            queue.work(None);
        }
    });
    let instructions = env.executed.load(Ordering::Relaxed);
    if let Some(coverage) = &options.coverage {
        coverage.launched(&dispatch.kernel, instructions);
    }
    match queue.report.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner) {
        Some((_, report)) => Err(report),
        None => Ok(RunStats { instructions, workgroups: groups.len() }),
    }
}

/// Executes the first wave of a launch on this thread, in registers that the caller sees:
/// `exchange` is called with `false` before the first instruction and with `true` after the last.
pub(super) fn run_alone(
    dispatch: &Dispatch,
    options: &ExecOptions,
    mut exchange: impl FnMut(&mut Wave<'_>, bool),
) -> Result<RunStats, Box<FaultReport>> {
    let env = environment(dispatch, None);
    let mut group = Group::new(&env);
    group.reset(0, 0, options);
    exchange(&mut group.waves[0], false);
    let end = loop {
        match group.slice(options, None) {
            Slice::Suspended(_) => {}
            Slice::Done => break Ok(()),
            Slice::Fault(report) => break Err(report),
        }
    };
    exchange(&mut group.waves[0], true);
    end.map(|()| RunStats { instructions: env.executed.load(Ordering::Relaxed), workgroups: 1 })
}

fn environment<'a>(dispatch: &'a Dispatch, observer: Option<&'a dyn Observer>) -> Env<'a> {
    Env {
        program: &dispatch.program,
        regions: &dispatch.regions,
        arch: dispatch.program.arch(),
        product: dispatch.product,
        dispatch,
        executed: AtomicU64::new(0),
        start: Instant::now(),
        observer,
    }
}

/// Workgroups that are not finished.
struct Queue<'a> {
    env: &'a Env<'a>,
    options: &'a ExecOptions,
    entry: usize,
    groups: Groups<'a>,
    next: AtomicU64,
    /// Workgroups that were started and have not ended.
    live: AtomicUsize,
    /// Turns that ended no workgroup since one has ended or begun.
    idle_turns: AtomicUsize,
    /// Workgroups to begin because those that have cannot go on without.
    wanted: AtomicUsize,
    suspended: Mutex<VecDeque<Box<Group<'a>>>>,
    /// Lowest workgroup that has faulted.
    first_fault: AtomicU64,
    grace: AtomicUsize,
    progress: Progress,
    report: Mutex<Option<(u64, Box<FaultReport>)>>,
}

impl<'a> Queue<'a> {
    /// Runs workgroups until none is left, or until that time has come, and says whether none is.
    fn work(&self, until: Option<Instant>) -> bool {
        let mut spare: Option<Box<Group<'a>>> = None;
        while until.is_none_or(|until| Instant::now() < until) {
            let group = if self.start_first() {
                self.start(&mut spare).or_else(|| self.resume())
            } else {
                self.resume().or_else(|| self.start(&mut spare))
            };
            let Some(mut group) = group else {
                if self.live.load(Ordering::Acquire) == 0 && self.exhausted() {
                    return true;
                }
                // Another thread runs the last workgroups; it may set one aside.
                std::thread::yield_now();
                continue;
            };
            if self.stopped(group.linear) {
                self.live.fetch_sub(1, Ordering::Release);
                continue;
            }
            let watched = self.progress.phase();
            match group.slice(self.options, watched) {
                Slice::Done => {
                    self.progress.interrupt();
                    spare = Some(group);
                    self.idle_turns.store(0, Ordering::Relaxed);
                    self.live.fetch_sub(1, Ordering::Release);
                }
                Slice::Suspended(verdict) => {
                    self.idle_turns.fetch_add(1, Ordering::Relaxed);
                    let linear = group.linear;
                    self.lock_suspended().push_back(group);
                    let live = self.live.load(Ordering::Relaxed);
                    match self.progress.note(self.env, linear, watched, verdict, live) {
                        Step::GoOn => {}
                        // Those that have not begun may be what the others wait for.
                        Step::Halted | Step::GiveUp(..) if !self.exhausted() => {
                            self.wanted.fetch_add(live, Ordering::Relaxed);
                            self.progress.interrupt();
                        }
                        Step::Halted => std::thread::sleep(POLL),
                        Step::GiveUp(first, report) => self.record(first, report),
                    }
                }
                Slice::Fault(report) => {
                    self.record(group.linear, report);
                    self.live.fetch_sub(1, Ordering::Release);
                }
            }
        }
        false
    }

    fn lock_suspended(&self) -> std::sync::MutexGuard<'_, VecDeque<Box<Group<'a>>>> {
        self.suspended.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    fn exhausted(&self) -> bool {
        self.next.load(Ordering::Relaxed) >= self.groups.len()
            || self.first_fault.load(Ordering::Relaxed) != u64::MAX
    }

    fn stopped(&self, linear: u64) -> bool {
        let first = self.first_fault.load(Ordering::Relaxed);
        first != u64::MAX
            && (linear >= first
                || self
                    .grace
                    .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1))
                    .is_err())
    }

    /// Whether the next workgroup should be a new one: while few are alive, and when a turn of each
    /// that is alive has ended none, because then all of them may wait for one that has not begun.
    fn start_first(&self) -> bool {
        let live = self.live.load(Ordering::Relaxed);
        let take = |wanted: usize| wanted.checked_sub(1);
        live < LIVE_GROUPS
            || self.wanted.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).is_ok()
            || self
                .idle_turns
                .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |turns| {
                    (turns > live).then_some(0)
                })
                .is_ok()
    }

    fn resume(&self) -> Option<Box<Group<'a>>> {
        self.lock_suspended().pop_front()
    }

    fn start(&self, spare: &mut Option<Box<Group<'a>>>) -> Option<Box<Group<'a>>> {
        if self.exhausted() {
            return None;
        }
        self.live.fetch_add(1, Ordering::AcqRel);
        let place = self.next.fetch_add(1, Ordering::Relaxed);
        let Some(linear) = self.groups.get(place) else {
            self.live.fetch_sub(1, Ordering::Release);
            return None;
        };
        let mut group = spare.take().unwrap_or_else(|| {
            let mut group = Box::new(Group::new(self.env));
            let coverage = self.options.coverage.as_deref();
            group.tally = coverage.map(|c| Tally::new(c, &self.env.dispatch.kernel, self.entry));
            group
        });
        group.reset(linear, self.entry, self.options);
        Some(group)
    }

    fn record(&self, linear: u64, report: Box<FaultReport>) {
        self.first_fault.fetch_min(linear, Ordering::Relaxed);
        let mut slot = self.report.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if slot.as_ref().is_none_or(|(first, _)| linear < *first) {
            *slot = Some((linear, report));
        }
    }
}
