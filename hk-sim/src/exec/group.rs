//! One workgroup: its waves, and their turns.

use std::sync::atomic::Ordering;

use hk_types::{FaultKind, FaultReport};

use super::coverage::Tally;
use super::progress::{Verdict, Watch};
use super::salu::{MODE_ROUGH, MODE_VSKIP};
use super::wave::{POISON, PRIVATE_APERTURE};
use super::{Dispatch, Env, ExecOptions, Flow, GroupObserver, MicroOp, WAVE, Wave};
use crate::isa::{Format, MODE_GPR_INDEX};
use crate::mem::nearest;

/// Instructions that a workgroup executes before it is set aside for the first time. Almost every
/// workgroup ends before, so that few are alive at once.
const FIRST_SLICE: u64 = 1 << 18;
/// Instructions of a workgroup's further turns. One that was set aside may be waiting for another,
/// so its turns are short.
const NEXT_SLICE: u64 = 1 << 14;

/// How a time slice of a workgroup ended.
pub(super) enum Slice {
    Done,
    Suspended(Verdict),
    Fault(Box<FaultReport>),
}

/// What a wave waits for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    Ready,
    Barrier,
    Ended,
}

/// One workgroup.
pub(super) struct Group<'a> {
    env: &'a Env<'a>,
    pub(super) linear: u64,
    pub(super) waves: Vec<Wave<'a>>,
    states: Vec<State>,
    /// LDS, in 16-byte units so that its start is aligned.
    lds: Vec<u128>,
    random: Option<Random>,
    observer: Option<Box<dyn GroupObserver + 'a>>,
    /// Where executed instructions are noted, if they are.
    pub(super) tally: Option<Tally<'a>>,
    watch: Option<Box<Watch>>,
}

// SAFETY: `Wave::lds` points into `Group::lds`; both move between threads together and only the
// thread that holds the group uses them. The observer holds nothing of a thread between turns, and a
// group moves only then.
unsafe impl Send for Group<'_> {}

impl<'a> Group<'a> {
    pub(super) fn new(env: &'a Env<'a>) -> Self {
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
            observer: env.observer.map(|observer| observer.group(waves)),
            tally: None,
            watch: None,
        }
    }

    /// Makes this the workgroup `linear`, with registers and LDS as at its start.
    pub(super) fn reset(&mut self, linear: u64, entry: usize, options: &ExecOptions) {
        let dispatch = self.env.dispatch;
        let [gx, gy, _] = dispatch.grid.map(u64::from);
        let id = [linear % gx, linear / gx % gy, linear / gx / gy].map(|n| n as u32);
        self.linear = linear;
        self.lds.fill(u128::MAX);
        self.states.fill(State::Ready);
        self.random =
            options.seed.map(|seed| Random::new(seed ^ linear.wrapping_mul(0x9e37_79b9_7f4a_7c15)));
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
                wave.mode |= if options.rough { MODE_ROUGH } else { 0 };
            } else {
                // A partial workgroup does not need it.
                self.states[index] = State::Ended;
                wave.executed = 0;
            }
        }
        if let Some(observer) = &mut self.observer {
            observer.begin(linear, &self.waves);
        }
    }

    /// Runs the waves in turns until all have ended or the time slice is over. In the phase `watched`
    /// of a search for progress, it goes by single instructions and tells what came of them.
    pub(super) fn slice(&mut self, options: &ExecOptions, watched: Option<u64>) -> Slice {
        let ops = self.env.program.ops();
        let before = self.executed();
        let limit = if before == 0 && watched.is_none() { FIRST_SLICE } else { NEXT_SLICE };
        match watched {
            None => self.watch = None,
            Some(phase) if self.watch.as_ref().is_some_and(|watch| watch.phase == phase) => {}
            Some(phase) => self.watch = Some(Box::new(Watch::new(phase, self.waves.len()))),
        }
        if let Some(watch) = &mut self.watch {
            watch.begin();
        }
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
                let most = options.slice.max(1);
                let mut limit = match &mut self.random {
                    None => most,
                    Some(random) => 1 + random.below(most as usize) as u32,
                };
                let wave = &mut self.waves[index];
                if let Some(watch) = &mut self.watch {
                    limit = 1;
                    watch.before(wave);
                }
                let flow = match (&mut self.observer, &mut self.tally) {
                    (None, None) => run_wave(wave, ops, limit),
                    (observer, tally) => {
                        let observer = observer.as_deref_mut();
                        run_watched(wave, ops, limit, observer, tally.as_mut(), &mut pauses)
                    }
                };
                if let Some(watch) = &mut self.watch {
                    watch.after(wave);
                }
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
                if let Some(observer) = &mut self.observer {
                    let mask = |state| waves_in(&self.states, state);
                    observer.barrier(mask(State::Barrier), mask(State::Ended));
                }
                for state in &mut self.states {
                    if *state == State::Barrier {
                        *state = State::Ready;
                    }
                }
            } else if let Some(watch) = &self.watch {
                // Waves that sleep are watched as long as others.
                if watch.decided(&self.states) {
                    break;
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
            let verdict = self.watch.as_ref().map(|watch| watch.verdict(&self.waves, &self.states));
            return Slice::Suspended(verdict.unwrap_or_default());
        }
        if let Some(observer) = &mut self.observer {
            observer.end();
        }
        if let Some(tally) = &mut self.tally {
            tally.end();
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
            allocation: address.and_then(|address| nearest(self.env.regions, address)),
            source: None,
        })
    }
}

/// Waves in a state, as a mask.
fn waves_in(states: &[State], state: State) -> u64 {
    let bits = states.iter().enumerate().filter(|(_, found)| **found == state);
    bits.fold(0, |mask, (wave, _)| mask | 1 << wave)
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

/// Runs one wave until it gives way or has executed `limit` instructions. It is not inlined, or the
/// loop would load constants of its caller anew behind each instruction.
#[inline(never)]
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

/// [`run_wave`] with the observer and the tally, or one of them, at each instruction. Sets `pauses`
/// where the workgroup should give way.
#[inline(never)]
fn run_watched(
    wave: &mut Wave<'_>,
    ops: &[MicroOp],
    limit: u32,
    mut observer: Option<&mut (dyn GroupObserver + '_)>,
    mut tally: Option<&mut Tally<'_>>,
    pauses: &mut bool,
) -> Flow {
    for executed in 0..limit {
        let pc = wave.pc;
        let op = &ops[pc];
        let pause = observer.as_mut().is_some_and(|observer| observer.before(wave, pc));
        let lanes = wave.exec();
        let next = pc + usize::from(op.dwords);
        wave.pc = next;
        let flow = run_relative(wave, op, pc);
        if let Some(observer) = &mut observer {
            observer.after(wave, pc);
        }
        if let Some(tally) = &mut tally {
            tally.note(wave, pc, next, lanes);
        }
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
    if wave.skips(op.format) {
        return Flow::Next;
    }
    let by = wave.gpr_index().filter(|_| op.format.is_some_and(Format::is_valu));
    let Some(by) = by else { return (op.run)(wave, op) };
    match wave.env.program.indexed(index, by) {
        Ok(op) => (op.run)(wave, op),
        Err(reason) => wave.raise(FaultKind::IllegalState, reason, None, None),
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
