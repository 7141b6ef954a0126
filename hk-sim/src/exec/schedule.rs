//! Scheduling: workgroups on threads, waves of a workgroup in turns.
//!
//! Every workgroup makes progress whatever the others do: one that spins is set aside after a time
//! slice, and the next is started or resumed. A kernel without races gives the same result for any
//! number of threads and any seed.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use super::salu::{MODE_GPR_INDEX, MODE_VSKIP};
use super::wave::{POISON, PRIVATE_APERTURE};
use super::{Dispatch, Env, ExecOptions, Flow, M0, MicroOp, Region, RunStats, WAVE, Wave};
use crate::fault::{FaultKind, FaultReport};
use crate::isa::Operand;
use crate::sanitize::{self, Finding, Footprint, GroupChecker, Launch, Severity};

/// Instructions that a wave executes before another wave of its workgroup gets its turn.
const WAVE_SLICE: u32 = 1 << 13;
/// Instructions that a workgroup executes before it is set aside for the first time. Almost every
/// workgroup ends before, so that few are alive at once.
const FIRST_SLICE: u64 = 1 << 18;
/// Instructions of a workgroup's further turns. One that was set aside may be waiting for another,
/// so its turns are short.
const NEXT_SLICE: u64 = 1 << 14;
/// Workgroups that are alive at once without need; more are started when none of them ends.
const LIVE_GROUPS: usize = 64;
/// Time slices that workgroups below a faulting one still get, so that the report names the first
/// faulting workgroup whatever the number of threads.
const GRACE_SLICES: usize = 64;

/// Executes a launch to its end. With [`ExecOptions::sanitize`], findings of the sanitizer are
/// printed to the standard error stream and appended to the file that `HIPKITTENS_SANITIZE_REPORT`
/// names, and the launch fails with the first of them that is no note.
///
/// # Errors
/// The report of the first fault, in workgroup order.
pub fn run(dispatch: &Dispatch, options: &ExecOptions) -> Result<RunStats, Box<FaultReport>> {
    if options.sanitize.is_empty() && options.audit.is_none() && options.coverage.is_none() {
        return execute(dispatch, options, None);
    }
    check(dispatch, options).settle(options.publish)
}

/// What a launch did and what the sanitizer found.
#[derive(Debug)]
pub struct Checked {
    /// Result of the launch itself.
    pub outcome: Result<RunStats, Box<FaultReport>>,
    /// Findings in the order of their workgroups, notes last.
    pub findings: Vec<Finding>,
    /// What was accessed in device memory, with the check for races.
    pub footprint: Footprint,
}

impl Checked {
    /// Prints the findings, if they are to be published, and fails with the first of them that is no
    /// note.
    ///
    /// # Errors
    /// The first finding, or the fault of the launch.
    pub fn settle(self, publish: bool) -> Result<RunStats, Box<FaultReport>> {
        if publish {
            sanitize::publish(&self.findings);
        }
        match self.findings.iter().find(|finding| finding.severity == Severity::Error) {
            Some(finding) => Err(Box::new(finding.into())),
            None => self.outcome,
        }
    }
}

/// Executes a launch to its end with the checks of [`ExecOptions::sanitize`].
pub fn check(dispatch: &Dispatch, options: &ExecOptions) -> Checked {
    let launch = Launch::new(dispatch, options);
    let outcome = execute(dispatch, options, Some(&launch));
    let (findings, footprint) = launch.finish();
    Checked { outcome, findings, footprint }
}

fn execute(
    dispatch: &Dispatch,
    options: &ExecOptions,
    sanitizer: Option<&Launch<'_>>,
) -> Result<RunStats, Box<FaultReport>> {
    let env = environment(dispatch, sanitizer);
    let groups: u64 = dispatch.grid.iter().map(|&n| u64::from(n)).product();
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
        suspended: Mutex::new(VecDeque::new()),
        first_fault: AtomicU64::new(u64::MAX),
        grace: AtomicUsize::new(GRACE_SLICES),
        report: Mutex::new(None),
    };
    let threads = match options.threads {
        0 => std::thread::available_parallelism().map_or(1, usize::from),
        threads => threads,
    };
    let threads = threads.min(usize::try_from(groups).unwrap_or(usize::MAX));
    // Lower the code before the threads race for it.
    dispatch.program.ops();
    std::thread::scope(|scope| {
        for _ in 1..threads {
            scope.spawn(|| queue.work());
        }
        queue.work();
    });
    match queue.report.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner) {
        Some((_, report)) => Err(report),
        None => {
            Ok(RunStats { instructions: env.executed.load(Ordering::Relaxed), workgroups: groups })
        }
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
    group.reset(0, 0, None);
    exchange(&mut group.waves[0], false);
    let end = loop {
        match group.slice(options) {
            Slice::Suspended => {}
            Slice::Done => break Ok(()),
            Slice::Fault(report) => break Err(report),
        }
    };
    exchange(&mut group.waves[0], true);
    end.map(|()| RunStats { instructions: env.executed.load(Ordering::Relaxed), workgroups: 1 })
}

fn environment<'a>(dispatch: &'a Dispatch, sanitizer: Option<&'a Launch<'a>>) -> Env<'a> {
    Env {
        program: &dispatch.program,
        regions: &dispatch.regions,
        arch: dispatch.program.arch(),
        product: dispatch.product,
        dispatch,
        executed: AtomicU64::new(0),
        start: std::time::Instant::now(),
        sanitizer,
    }
}

/// Workgroups that are not finished.
struct Queue<'a> {
    env: &'a Env<'a>,
    options: &'a ExecOptions,
    entry: usize,
    groups: u64,
    next: AtomicU64,
    /// Workgroups that were started and have not ended.
    live: AtomicUsize,
    /// Turns that ended no workgroup since one has ended or begun.
    idle_turns: AtomicUsize,
    suspended: Mutex<VecDeque<Box<Group<'a>>>>,
    /// Lowest workgroup that has faulted.
    first_fault: AtomicU64,
    grace: AtomicUsize,
    report: Mutex<Option<(u64, Box<FaultReport>)>>,
}

/// How a time slice of a workgroup ended.
enum Slice {
    Done,
    Suspended,
    Fault(Box<FaultReport>),
}

impl<'a> Queue<'a> {
    /// Runs workgroups until none is left.
    fn work(&self) {
        let mut spare: Option<Box<Group<'a>>> = None;
        loop {
            let group = if self.start_first() {
                self.start(&mut spare).or_else(|| self.resume())
            } else {
                self.resume().or_else(|| self.start(&mut spare))
            };
            let Some(mut group) = group else {
                if self.live.load(Ordering::Acquire) == 0 && self.exhausted() {
                    return;
                }
                // Another thread runs the last workgroups; it may set one aside.
                std::thread::yield_now();
                continue;
            };
            if self.stopped(group.linear) {
                self.live.fetch_sub(1, Ordering::Release);
                continue;
            }
            match group.slice(self.options) {
                Slice::Done => {
                    spare = Some(group);
                    self.idle_turns.store(0, Ordering::Relaxed);
                    self.live.fetch_sub(1, Ordering::Release);
                }
                Slice::Suspended => {
                    self.idle_turns.fetch_add(1, Ordering::Relaxed);
                    self.lock_suspended().push_back(group);
                }
                Slice::Fault(report) => {
                    self.record(group.linear, report);
                    self.live.fetch_sub(1, Ordering::Release);
                }
            }
        }
    }

    fn lock_suspended(&self) -> std::sync::MutexGuard<'_, VecDeque<Box<Group<'a>>>> {
        self.suspended.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    fn exhausted(&self) -> bool {
        self.next.load(Ordering::Relaxed) >= self.groups
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
        live < LIVE_GROUPS
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
        let linear = self.next.fetch_add(1, Ordering::Relaxed);
        if linear >= self.groups {
            self.live.fetch_sub(1, Ordering::Release);
            return None;
        }
        let mut group = spare.take().unwrap_or_else(|| Box::new(Group::new(self.env)));
        group.reset(linear, self.entry, self.options.seed);
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

/// What a wave waits for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Ready,
    Barrier,
    Ended,
}

/// One workgroup.
struct Group<'a> {
    env: &'a Env<'a>,
    linear: u64,
    waves: Vec<Wave<'a>>,
    states: Vec<State>,
    /// LDS, in 16-byte units so that its start is aligned.
    lds: Vec<u128>,
    random: Option<Random>,
    checker: Option<Box<GroupChecker<'a>>>,
}

// SAFETY: the only field that is not `Send` is `Wave::lds`, which points into `Group::lds`; both
// move between threads together and only the thread that holds the group uses them.
unsafe impl Send for Group<'_> {}

impl<'a> Group<'a> {
    fn new(env: &'a Env<'a>) -> Self {
        let items: u32 = env.dispatch.block.iter().product();
        let waves = (items as usize).div_ceil(WAVE);
        let lds = vec![0; (env.dispatch.lds_bytes as usize).div_ceil(16)];
        Self {
            env,
            linear: 0,
            waves: (0..waves).map(|_| Wave::new(env)).collect(),
            states: vec![State::Ready; waves],
            lds,
            random: None,
            checker: env.sanitizer.map(|launch| Box::new(GroupChecker::new(launch, waves))),
        }
    }

    /// Makes this the workgroup `linear`, with registers and LDS as at its start.
    fn reset(&mut self, linear: u64, entry: usize, seed: Option<u64>) {
        let dispatch = self.env.dispatch;
        let [gx, gy, _] = dispatch.grid.map(u64::from);
        let id = [linear % gx, linear / gx % gy, linear / gx / gy].map(|n| n as u32);
        self.linear = linear;
        self.lds.fill(u128::MAX);
        self.states.fill(State::Ready);
        self.random =
            seed.map(|seed| Random::new(seed ^ linear.wrapping_mul(0x9e37_79b9_7f4a_7c15)));
        let lds = self.lds.as_mut_ptr().cast::<u8>();
        let block = std::array::from_fn(|axis| {
            let is_last = id[axis] + 1 == dispatch.grid[axis];
            if is_last { dispatch.tail[axis] } else { dispatch.block[axis] }
        });
        let items: u32 = block.iter().product();
        for (index, wave) in self.waves.iter_mut().enumerate() {
            wave.lds = lds;
            wave.lds_len = dispatch.lds_bytes;
            if index * WAVE < items as usize {
                reset_wave(wave, dispatch, index as u32, linear, id, block, entry);
            } else {
                // A partial workgroup does not need it.
                self.states[index] = State::Ended;
                wave.executed = 0;
            }
        }
        if let Some(checker) = &mut self.checker {
            checker.reset(linear, &self.waves);
        }
    }

    /// Runs the waves in turns until all have ended or the time slice is over.
    fn slice(&mut self, options: &ExecOptions) -> Slice {
        let ops = self.env.program.ops();
        let before = self.executed();
        let limit = if before == 0 { FIRST_SLICE } else { NEXT_SLICE };
        let (mut pauses, mut done) = (false, false);
        while !pauses && self.executed() - before < limit {
            let mut progress = false;
            let count = self.waves.len();
            let start = self.random.as_mut().map_or(0, |random| random.below(count));
            for turn in 0..count {
                let index = (start + turn) % count;
                if self.states[index] != State::Ready {
                    continue;
                }
                let limit = self
                    .random
                    .as_mut()
                    .map_or(WAVE_SLICE, |random| 1 + random.below(WAVE_SLICE as usize / 16) as u32);
                let wave = &mut self.waves[index];
                let flow = match &mut self.checker {
                    None => run_wave(wave, ops, limit),
                    Some(checker) => run_checked(wave, ops, limit, checker, &mut pauses),
                };
                progress |= flow != Flow::Yield;
                match flow {
                    Flow::Next | Flow::Relative | Flow::Yield => {}
                    Flow::Barrier => self.states[index] = State::Barrier,
                    Flow::End => self.states[index] = State::Ended,
                    Flow::Fault => return Slice::Fault(self.fault(index)),
                }
            }
            if !self.states.contains(&State::Ready) {
                done = !self.states.contains(&State::Barrier);
                if done {
                    break;
                }
                if let Some(checker) = &mut self.checker {
                    let mask = |state| waves_in(&self.states, state);
                    checker.barrier(mask(State::Barrier), mask(State::Ended));
                }
                for state in &mut self.states {
                    if *state == State::Barrier {
                        *state = State::Ready;
                    }
                }
            } else if !progress {
                break;
            }
        }
        if self.account(before) > options.max_instructions {
            let ready = self.states.iter().position(|&state| state == State::Ready);
            if let Some(index) = ready {
                self.waves[index].fault_pc = self.waves[index].pc;
            }
            let index = ready.unwrap_or(0);
            self.waves[index].raise(
                FaultKind::InstructionBudget,
                format!(
                    "the launch executed more than {} wave instructions",
                    options.max_instructions
                ),
                None,
                None,
            );
            return Slice::Fault(self.fault(index));
        }
        if !done {
            return Slice::Suspended;
        }
        if let Some(checker) = &mut self.checker {
            checker.end();
        }
        Slice::Done
    }

    /// Instructions of all waves of the workgroup so far.
    fn executed(&self) -> u64 {
        self.waves.iter().map(|wave| wave.executed).sum()
    }

    /// Adds the instructions since `before` to the launch and returns its total.
    fn account(&self, before: u64) -> u64 {
        let now = self.executed();
        self.env.executed.fetch_add(now - before, Ordering::Relaxed) + (now - before)
    }

    fn fault(&mut self, index: usize) -> Box<FaultReport> {
        let program = self.env.program;
        let wave = &mut self.waves[index];
        let at = wave.fault_pc;
        let fault = wave.fault.take();
        let pc = program.pc_of(at);
        let (kind, detail, lane, address) = fault.map_or_else(
            || (FaultKind::IllegalState, String::new(), None, None),
            |fault| (fault.kind, fault.detail, fault.lane, fault.address),
        );
        Box::new(FaultReport {
            kind,
            detail,
            kernel: self.env.dispatch.kernel.clone(),
            pc,
            offset: pc.wrapping_sub(self.env.dispatch.entry) as i64,
            instruction: program
                .inst_at(at)
                .map_or_else(|error| error.to_string(), |inst| inst.to_string()),
            workgroup: wave.workgroup,
            wave: wave.index,
            lane,
            address,
            allocation: address.and_then(|address| nearest_region(self.env.regions, address)),
            source: None,
        })
    }
}

/// Waves in a state, as a mask.
fn waves_in(states: &[State], state: State) -> u64 {
    let bits = states.iter().enumerate().filter(|(_, found)| **found == state);
    bits.fold(0, |mask, (wave, _)| mask | 1 << wave)
}

/// Names the region nearest to an address.
pub(crate) fn nearest_region(regions: &[Region], address: u64) -> Option<String> {
    let distance = |base: u64, end: u64| {
        if address < base { base - address } else { address.saturating_sub(end - 1) }
    };
    let region = regions
        .iter()
        .min_by_key(|region| distance(region.base, region.base + region.len.max(1)))?;
    let (base, end) = (region.base, region.base + region.len);
    let place = if address < base {
        format!("{} bytes before", base - address)
    } else if address >= end {
        format!("{} bytes past the end of", address - end)
    } else {
        format!("{} bytes into", address - base)
    };
    Some(format!("{place} {} [{base:#x}, {end:#x})", region.name))
}

/// Registers of a new wave, as the packet processor and the dispatcher set them.
fn reset_wave(
    wave: &mut Wave<'_>,
    dispatch: &Dispatch,
    index: u32,
    linear: u64,
    id: [u32; 3],
    block: [u32; 3],
    entry: usize,
) {
    let setup = &dispatch.setup;
    wave.poison(setup.vgprs as usize, setup.agprs as usize);
    wave.pc = entry;
    wave.scc = false;
    wave.mode = setup.mode;
    wave.trapsts = 0;
    wave.index = index;
    wave.workgroup = id;
    wave.slot = (linear % u64::from(dispatch.product.compute_units)) as u32;
    wave.executed = 0;
    wave.clock_reads = 0;
    wave.fault = None;
    wave.scratch_per_lane = dispatch.scratch_bytes;
    wave.scratch.clear();
    wave.scratch.resize(dispatch.scratch_bytes as usize * WAVE, POISON as u8);

    let mut at = 0;
    let mut push = |sgpr: &mut [u32; 128], value: u64, dwords: usize| {
        for dword in 0..dwords {
            if at < 102 {
                sgpr[at] = (value >> (32 * dword)) as u32;
            }
            at += 1;
        }
    };
    let sgpr = &mut wave.sgpr;
    if setup.dispatch_ptr {
        push(sgpr, dispatch.dispatch_packet, 2);
    }
    if setup.queue_ptr {
        push(sgpr, dispatch.queue, 2);
    }
    if setup.kernarg_ptr {
        push(sgpr, dispatch.kernarg, 2);
    }
    if setup.dispatch_id {
        push(sgpr, 0, 2);
    }
    if setup.private_segment_size {
        push(sgpr, u64::from(dispatch.scratch_bytes), 1);
    }
    // Preloaded kernel arguments are user SGPRs too; the kernel's prologue loads them itself.
    at = setup.user_sgprs as usize;
    let mut push = |sgpr: &mut [u32; 128], value: u32| {
        if at < 102 {
            sgpr[at] = value;
        }
        at += 1;
    };
    for (enabled, value) in setup.workgroup_id.into_iter().zip(id) {
        if enabled {
            push(sgpr, value);
        }
    }
    if setup.workgroup_info {
        push(sgpr, index);
    }
    wave.set_sgpr64(102, PRIVATE_APERTURE);
    wave.set_sgpr64(super::VCC, 0);

    let [bx, by, bz] = block;
    let items = bx * by * bz;
    let first = index * WAVE as u32;
    let live = (items - first).min(WAVE as u32);
    wave.set_exec(if live == 64 { u64::MAX } else { (1 << live) - 1 });
    let ids = setup.workitem_ids;
    let row = wave.row_mut(0);
    for (lane, value) in row.iter_mut().enumerate() {
        let item = first + lane as u32;
        let (x, y, z) = (item % bx, item / bx % by, item / bx / by);
        *value = match ids {
            0 => x,
            1 => x | y << 10,
            _ => x | y << 10 | z << 20,
        } & 0x3fff_ffff;
    }
}

/// Runs one wave until it gives way or has executed `limit` instructions.
fn run_wave(wave: &mut Wave<'_>, ops: &[MicroOp], limit: u32) -> Flow {
    let mut left = limit;
    let mut relative = wave.mode & (MODE_GPR_INDEX | MODE_VSKIP) != 0;
    let mut flow = Flow::Next;
    while left != 0 {
        left -= 1;
        let pc = wave.pc;
        // Handlers keep the program counter inside the table: branch targets are checked when they
        // are lowered, computed ones when they jump, and each section ends in faulting entries.
        let op = &ops[pc];
        wave.pc = pc + usize::from(op.dwords);
        flow = if relative { run_relative(wave, op, pc) } else { (op.run)(wave, op) };
        if flow == Flow::Next {
            continue;
        }
        if flow == Flow::Relative {
            relative = true;
            flow = Flow::Next;
            continue;
        }
        wave.fault_pc = pc;
        break;
    }
    wave.executed += u64::from(limit - left);
    flow
}

/// [`run_wave`] with the sanitizer at each instruction. Sets `pauses` where the workgroup should
/// give way.
#[inline(never)]
fn run_checked(
    wave: &mut Wave<'_>,
    ops: &[MicroOp],
    limit: u32,
    checker: &mut GroupChecker<'_>,
    pauses: &mut bool,
) -> Flow {
    for executed in 0..limit {
        let pc = wave.pc;
        let op = &ops[pc];
        let held = checker.before(wave, pc);
        let pause = held.as_ref().is_some_and(|held| checker.pauses(held));
        wave.pc = pc + usize::from(op.dwords);
        let flow = run_relative(wave, op, pc);
        drop(held);
        checker.after(wave, pc);
        *pauses |= pause;
        if pause || !matches!(flow, Flow::Next | Flow::Relative) {
            wave.fault_pc = pc;
            wave.executed += u64::from(executed) + 1;
            return flow;
        }
    }
    wave.executed += u64::from(limit);
    Flow::Next
}

/// Runs one instruction, also while MODE asks for relative register numbers or skips vector code.
fn run_relative(wave: &mut Wave<'_>, op: &MicroOp, index: usize) -> Flow {
    if wave.mode & (MODE_GPR_INDEX | MODE_VSKIP) == 0 {
        return (op.run)(wave, op);
    }
    let program = wave.env.program;
    let Ok(mut inst) = program.inst_at(index) else {
        return (op.run)(wave, op);
    };
    if wave.mode & MODE_VSKIP != 0 && inst.info.format.is_vector() {
        return Flow::Next;
    }
    if wave.mode & MODE_GPR_INDEX == 0 || !inst.info.format.is_valu() {
        return (op.run)(wave, op);
    }
    // Bits 12 to 15 of `m0` select the operands that the index in its low byte moves.
    let (offset, select) = (wave.sgpr[M0] as u16 & 0xff, wave.sgpr[M0] >> 12);
    let shift = |operand: &mut Operand, bit: u32| {
        if select >> bit & 1 == 1 && (Operand::VGPR..Operand::AGPR).contains(&operand.code) {
            operand.code += offset;
        }
    };
    for (bit, operand) in (0..3).zip(&mut inst.src) {
        shift(operand, bit);
    }
    shift(&mut inst.dst[0], 3);
    match program.lower(&inst, index) {
        Ok(op) => (op.run)(wave, &op),
        Err(reason) => wave.raise(FaultKind::IllegalState, reason.to_string(), None, None),
    }
}

/// Small generator for schedules (SplitMix64).
struct Random(u64);

impl Random {
    fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % bound.max(1) as u64) as usize
    }
}
