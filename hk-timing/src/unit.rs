//! One compute unit, event by event, in cycles of the engine clock.
//!
//! SIMD `s` is visited at cycles that are `s` modulo 4. In a visit each of its waves may issue one
//! instruction, and one of each category goes. All units serve in order, so the end of what is
//! issued is known at once; a wave is looked at again when what it waits for has ended. How long
//! accesses take is in `access`, what waves wait for in `activity`.

mod access;
mod activity;

use std::collections::{HashMap, HashSet, VecDeque};

use hk_sim::exec::Program;
use hk_sim::isa::Arch;
use hk_sim::trace::{Counter, GroupTrace, WaveTrace};

use crate::instruction::{Energy, Instruction, Kind, SLOT};
use crate::memory::Back;
use crate::{Error, Parameters};

use access::Port;
pub use activity::{Activity, Reason, Span, WaveLine};

const SIMDS: usize = 4;
const NEVER: u64 = u64::MAX / 2;
/// Entries that `vmcnt` and `lgkmcnt` count.
const VECTOR_ENTRIES: usize = 63;
const LGKM_ENTRIES: usize = 15;
const L1_SETS: usize = 4;
/// Dwords of a line of code.
const CODE_LINE: u64 = 32;

/// What a compute unit did.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Done {
    /// Cycles until everything has ended.
    pub(crate) cycles: f64,
    /// Instructions issued.
    pub(crate) issued: u64,
    /// Cycles of issue, which are [`SLOT`] an instruction.
    pub(crate) issue_cycles: u64,
    /// Cycles that waves did not issue, by [`Reason`].
    pub(crate) stalls: [u64; Reason::ALL.len()],
    /// Sum over waves of the cycles from their start to their end.
    pub(crate) wave_cycles: u64,
    /// Busy cycles of all matrix units, of all VALUs, of both LDS ports, of the LDS array, those of
    /// them by conflicts, and of the L1.
    pub(crate) matrix: u64,
    pub(crate) vector: u64,
    pub(crate) lds_port: f64,
    pub(crate) lds_array: u64,
    pub(crate) lds_conflicts: u64,
    pub(crate) l1: f64,
    /// Matrix operations by energy, and vector operations.
    pub(crate) operations: [u64; 4],
    pub(crate) vector_operations: u64,
    /// Bytes that the L2, what is behind it, and HBM were asked for.
    pub(crate) bytes: [f64; 3],
    /// Bytes that waves asked for and wrote.
    pub(crate) asked: u64,
    /// Busy cycles of the servers behind the L1: L2 read and write, fabric, HBM.
    pub(crate) servers: [f64; 4],
}

/// How workgroups come to the unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Supply {
    /// Workgroups in all.
    pub(crate) groups: u64,
    /// At most so many at once.
    pub(crate) resident: u64,
    /// Cycles between two.
    pub(crate) interval: f64,
    /// Cycles of start and drain, in which a slot is not free for the next.
    pub(crate) turnaround: f64,
}

/// What `lgkmcnt` counts.
#[derive(Clone, Copy)]
struct Outstanding {
    end: u64,
    reason: Reason,
    /// Cycles of bank conflicts.
    conflicts: u64,
}

struct Wave<'a> {
    trace: &'a WaveTrace,
    group: usize,
    /// Place in the timeline.
    line: usize,
    simd: usize,
    step: usize,
    access: usize,
    started: u64,
    /// Since when it could issue, as far as its own last instruction goes.
    free: u64,
    /// Until when it waits, and why.
    until: u64,
    reason: Reason,
    /// How many of the cycles in which it waits for LDS are by conflicts.
    conflicts: u64,
    priority: u8,
    vector: VecDeque<u64>,
    lgkm: Vec<Outstanding>,
    at_barrier: bool,
    ended: bool,
}

struct Group {
    waves: usize,
    arrived: usize,
    ended: usize,
    /// Lines that it has asked for, and how many it had asked for before, of which none was in the L1.
    lines: HashMap<u64, u64>,
    asked: u64,
}

impl Group {
    /// Asks for a line. Returns how many others it has asked for since it last did, if it did.
    fn ask(&mut self, line: u64) -> Option<u64> {
        self.asked += 1;
        self.lines.insert(line, self.asked).map(|before| self.asked - before)
    }
}

#[derive(Clone, Copy, Default)]
struct Simd {
    next_visit: u64,
    matrix: u64,
    vector: u64,
    /// Until then only scalar instructions.
    blocked: u64,
}

/// The unit.
pub(crate) struct Unit<'a> {
    by: &'a Parameters,
    program: &'a Program,
    arch: Arch,
    /// Instructions met so far, by index.
    known: Vec<Option<Instruction>>,
    back: Back,
    waves: Vec<Wave<'a>>,
    groups: Vec<Group>,
    simds: [Simd; SIMDS],
    ports: [Port; 2],
    array: f64,
    l1: [VecDeque<u64>; L1_SETS],
    pipe: f64,
    inflight: VecDeque<f64>,
    writes: VecDeque<f64>,
    scalar: u64,
    scalar_lines: HashSet<u64>,
    /// When lines of code are there.
    code: HashMap<u64, u64>,
    done: Done,
    /// What each wave does, if that is wanted.
    timeline: Option<Vec<WaveLine>>,
}

impl<'a> Unit<'a> {
    /// A unit that executes `program`.
    pub(crate) fn new(by: &'a Parameters, program: &'a Program, back: Back) -> Self {
        Self {
            by,
            program,
            arch: program.arch(),
            known: Vec::new(),
            back,
            waves: Vec::new(),
            groups: Vec::new(),
            simds: [Simd::default(); SIMDS],
            ports: Default::default(),
            array: 0.0,
            l1: Default::default(),
            pipe: 0.0,
            inflight: VecDeque::new(),
            writes: VecDeque::new(),
            scalar: 0,
            scalar_lines: HashSet::new(),
            code: HashMap::new(),
            done: Done::default(),
            timeline: None,
        }
    }

    /// As [`Unit::run`], with what each wave does.
    ///
    /// # Errors
    /// As [`Unit::run`].
    pub(crate) fn record(
        mut self,
        traces: &'a [GroupTrace],
        supply: Supply,
    ) -> Result<Vec<WaveLine>, Error> {
        self.timeline = Some(Vec::new());
        self.go(traces, supply)?;
        Ok(self.timeline.unwrap_or_default())
    }

    /// Times workgroups that do what `traces` did, in turns.
    ///
    /// # Errors
    /// [`Error::Instruction`], [`Error::Stuck`].
    pub(crate) fn run(mut self, traces: &'a [GroupTrace], supply: Supply) -> Result<Done, Error> {
        self.go(traces, supply)?;
        Ok(self.done)
    }

    fn go(&mut self, traces: &'a [GroupTrace], supply: Supply) -> Result<(), Error> {
        let mut launched = 0;
        let mut next_launch = 0.0_f64;
        // When slots become free.
        let mut slots: Vec<f64> = vec![0.0; supply.resident.min(supply.groups) as usize];
        let mut running: Vec<(usize, usize)> = Vec::new();
        let mut end = 0.0_f64;
        loop {
            // Whoever has ended makes room.
            running.retain(|&(group, slot)| {
                let is_over = self.groups[group].ended == self.groups[group].waves;
                if is_over {
                    let members = self.waves.iter().filter(|wave| wave.group == group);
                    let last = members.map(|wave| wave.free).max().unwrap_or(0) as f64;
                    slots[slot] = last + supply.turnaround;
                    self.groups[group].lines = HashMap::new();
                    end = end.max(slots[slot]);
                }
                !is_over
            });
            self.waves.retain(|wave| {
                !wave.ended || self.groups[wave.group].ended < self.groups[wave.group].waves
            });
            while launched < supply.groups && running.len() < slots.len() {
                let busy: Vec<usize> = running.iter().map(|&(_, slot)| slot).collect();
                let free = (0..slots.len()).filter(|slot| !busy.contains(slot));
                let Some(slot) = free.min_by(|&a, &b| slots[a].total_cmp(&slots[b])) else { break };
                let at = next_launch.max(slots[slot]);
                next_launch = at + supply.interval;
                let trace = &traces[(launched % traces.len() as u64) as usize];
                let group = self.start(trace, at.ceil() as u64, launched)?;
                running.push((group, slot));
                launched += 1;
            }
            if running.is_empty() {
                break;
            }
            self.visit()?;
        }
        let servers = [&self.back.l2_read, &self.back.l2_write, &self.back.fabric, &self.back.hbm];
        let written = servers.iter().map(|server| server.free()).fold(end, f64::max);
        self.done.cycles = written;
        self.done.bytes = self.back.bytes;
        self.done.servers = servers.map(|server| server.busy());
        Ok(())
    }

    /// Starts a workgroup.
    fn start(&mut self, trace: &'a GroupTrace, at: u64, number: u64) -> Result<usize, Error> {
        let group = self.groups.len();
        for (index, trace) in trace.waves.iter().enumerate() {
            let simd = (index + number as usize) % SIMDS;
            let line = self.timeline.as_mut().map_or(0, |lines| {
                lines.push(WaveLine { group, wave: index, simd, spans: Vec::new() });
                lines.len() - 1
            });
            let mut wave = Wave {
                trace,
                group,
                line,
                simd,
                step: 0,
                access: 0,
                started: at,
                free: at,
                until: at,
                reason: Reason::Arbitration,
                conflicts: 0,
                priority: 0,
                vector: VecDeque::new(),
                lgkm: Vec::new(),
                at_barrier: false,
                ended: trace.steps.is_empty(),
            };
            self.look(&mut wave)?;
            self.waves.push(wave);
        }
        let ended = trace.waves.iter().filter(|wave| wave.steps.is_empty()).count();
        let waves = trace.waves.len();
        self.groups.push(Group { waves, arrived: 0, ended, lines: HashMap::new(), asked: 0 });
        Ok(group)
    }

    fn instruction(&mut self, index: u32) -> Result<Instruction, Error> {
        let at = index as usize;
        if let Some(Some(known)) = self.known.get(at) {
            return Ok(*known);
        }
        let found = Instruction::of(self.program, index, self.by)?;
        self.known.resize(self.known.len().max(at + 1), None);
        self.known[at] = Some(found);
        Ok(found)
    }

    /// The wave's next instruction, which has been looked at.
    fn next(&self, wave: &Wave<'_>) -> Option<Instruction> {
        let index = *wave.trace.steps.get(wave.step)?;
        *self.known.get(index as usize)?
    }

    /// Finds out what the wave's next instruction waits for, but for units: its code and counters.
    fn look(&mut self, wave: &mut Wave<'_>) -> Result<(), Error> {
        let Some(&index) = wave.trace.steps.get(wave.step) else {
            wave.until = NEVER;
            return Ok(());
        };
        let instruction = self.instruction(index)?;
        // The line that the wave fetches ahead, and the one it needs.
        for at in [u64::from(index) + self.by.ibuf as u64, u64::from(index)] {
            let miss = wave.free + self.by.icache_miss as u64;
            let there = *self.code.entry(at / CODE_LINE).or_insert(miss);
            if at == u64::from(index) && there > wave.until {
                (wave.until, wave.reason) = (there, Reason::Fetch);
            }
        }
        let access = wave.trace.accesses.get(wave.access).filter(|_| instruction.accesses);
        let (mut vector, mut lgkm) = (usize::MAX, usize::MAX);
        match (instruction.kind, access) {
            (Kind::Wait { vector: most, lgkm: other }, _) => {
                (vector, lgkm) = (most, other);
                if vector == VECTOR_ENTRIES {
                    vector = usize::MAX;
                }
                if lgkm == LGKM_ENTRIES {
                    lgkm = usize::MAX;
                }
            }
            (_, Some(access)) => {
                if matches!(access.counter, Counter::Vector | Counter::Flat) {
                    vector = VECTOR_ENTRIES - 1;
                }
                if access.counter != Counter::Vector {
                    lgkm = LGKM_ENTRIES - 1;
                }
            }
            _ => {}
        }
        // In-order queues: the entry whose end leaves so many.
        if wave.vector.len() > vector {
            let there = wave.vector[wave.vector.len() - vector - 1];
            if there > wave.until {
                (wave.until, wave.reason) = (there, Reason::VectorWait);
            }
        }
        if wave.lgkm.len() > lgkm {
            let mut waited = wave.lgkm.clone();
            waited.sort_by_key(|of| of.end);
            let of = waited[waited.len() - lgkm - 1];
            if of.end > wave.until {
                (wave.until, wave.reason, wave.conflicts) = (of.end, of.reason, of.conflicts);
            }
        }
        Ok(())
    }

    /// When the units take the wave's next instruction, and which it waits for.
    fn ready(&self, wave: &Wave<'_>) -> (u64, Reason) {
        let mut ready = (wave.until, wave.reason);
        let Some(instruction) = self.next(wave) else { return (NEVER, wave.reason) };
        let mut wait = |until: u64, reason| {
            if until > ready.0 {
                ready = (until, reason);
            }
        };
        let simd = &self.simds[wave.simd];
        match instruction.kind {
            Kind::Vector { .. } => wait(simd.vector.max(simd.blocked), Reason::Vector),
            Kind::Matrix(_) => {
                wait(simd.matrix, Reason::Matrix);
                wait(simd.vector.max(simd.blocked), Reason::Vector);
            }
            Kind::Lds if instruction.accesses => {
                wait(simd.blocked, Reason::Matrix);
                if let Some(access) = wave.trace.accesses.get(wave.access) {
                    wait(self.ports[wave.simd / 2].accepts(access), Reason::LdsPort);
                }
            }
            Kind::VectorMemory { .. } => {
                wait(simd.blocked, Reason::Matrix);
                wait(self.pipe as u64, Reason::VectorMemory);
            }
            Kind::ScalarMemory => wait(self.scalar, Reason::ScalarMemory),
            _ => {}
        }
        ready
    }

    /// Goes on to the next visit of a SIMD in which a wave can issue, and does it.
    fn visit(&mut self) -> Result<(), Error> {
        let mut next = (NEVER, 0);
        for wave in self.waves.iter().filter(|wave| !wave.ended) {
            let ready = self.ready(wave).0;
            if ready < NEVER {
                let at = phase(ready.max(self.simds[wave.simd].next_visit), wave.simd);
                next = next.min((at, wave.simd));
            }
        }
        let (now, simd) = next;
        if now == NEVER {
            return Err(Error::Stuck);
        }
        self.simds[simd].next_visit = now + SLOT;
        let mut used = [false; 5];
        for priority in (0..4).rev() {
            for at in 0..self.waves.len() {
                let wave = &self.waves[at];
                // A wave that issued in this visit is not free before the next.
                if wave.ended || wave.simd != simd || wave.priority != priority || wave.free > now {
                    continue;
                }
                let (ready, reason) = self.ready(wave);
                let Some(instruction) = self.next(wave) else { continue };
                let category = category(instruction.kind);
                if ready > now || category.is_some_and(|category| used[category]) {
                    continue;
                }
                if let Some(category) = category {
                    used[category] = true;
                }
                self.issue(at, instruction, now, reason)?;
            }
        }
        Ok(())
    }

    fn issue(
        &mut self,
        at: usize,
        instruction: Instruction,
        now: u64,
        reason: Reason,
    ) -> Result<(), Error> {
        // It is put back at the end: what it does concerns the whole unit.
        let mut wave = std::mem::replace(&mut self.waves[at], Wave::absent());
        let lost = now - wave.free;
        // What it waited for lasted until the first visit behind it; the rest are other waves.
        let waited = self.waited(&wave, now, lost);
        self.done.stalls[reason as usize] += waited;
        self.done.stalls[Reason::Arbitration as usize] += lost - waited;
        if let Some(lines) = &mut self.timeline {
            let (line, until) = (&mut lines[wave.line], wave.free + waited);
            let by_conflicts =
                if reason == Reason::LdsWait { wave.conflicts.min(waited) } else { 0 };
            line.add(wave.free, until - by_conflicts, Activity::Wait(reason));
            line.add(until - by_conflicts, until, Activity::Conflict);
            line.add(until, now, Activity::Wait(Reason::Arbitration));
        }
        self.done.issued += 1;
        let mut slot = SLOT;
        let simd = wave.simd;
        let index = wave.trace.steps[wave.step];
        wave.step += 1;
        (wave.until, wave.reason) = (now + SLOT, Reason::Arbitration);
        match instruction.kind {
            Kind::Vector { cycles, operations } => {
                self.simds[simd].vector = now + cycles;
                self.done.vector += cycles;
                self.done.vector_operations += operations;
            }
            Kind::Matrix(matrix) => {
                slot = matrix.issue;
                let unit = &mut self.simds[simd];
                unit.matrix = now + matrix.cycles;
                unit.vector = now + if matrix.holds_vector { matrix.cycles } else { slot };
                if matrix.blocks != 0 {
                    unit.blocked = now + slot + matrix.blocks;
                }
                self.done.matrix += matrix.cycles;
                let energy = match matrix.energy {
                    Energy::Bf16 => 0,
                    Energy::F16 => 1,
                    Energy::Bits8 => 2,
                    Energy::Narrow => 3,
                };
                self.done.operations[energy] += matrix.operations;
            }
            Kind::Branch => {
                let is_taken = wave
                    .trace
                    .steps
                    .get(wave.step)
                    .is_some_and(|next| *next != index + instruction.dwords);
                if is_taken {
                    let until = now + SLOT.max(self.by.branch_taken as u64);
                    (wave.until, wave.reason) = (until, Reason::Pause);
                }
            }
            Kind::Pause(cycles) => {
                (wave.until, wave.reason) = (now + SLOT + cycles, Reason::Pause);
            }
            Kind::Priority(priority) => wave.priority = priority,
            Kind::Lds | Kind::VectorMemory { .. } | Kind::ScalarMemory if instruction.accesses => {
                if let Some(access) = wave.trace.accesses.get(wave.access) {
                    wave.access += 1;
                    self.access(&mut wave, access, instruction.kind, now);
                }
            }
            Kind::ScalarMemory => self.scalar = now + SLOT,
            Kind::Barrier | Kind::End => {
                let group = &mut self.groups[wave.group];
                if instruction.kind == Kind::Barrier {
                    group.arrived += 1;
                    wave.at_barrier = true;
                    (wave.until, wave.reason) = (NEVER, Reason::Barrier);
                } else {
                    group.ended += 1;
                    wave.ended = true;
                }
            }
            Kind::Lds
            | Kind::VectorMemory { .. }
            | Kind::Scalar
            | Kind::Wait { .. }
            | Kind::Internal => {}
        }
        if let Some(lines) = &mut self.timeline {
            lines[wave.line].add(now, now + slot, Activity::Issue);
        }
        wave.free = now + slot;
        wave.until = wave.until.max(wave.free);
        self.done.issue_cycles += slot;
        if wave.ended {
            self.done.wave_cycles += wave.free - wave.started;
        }
        let group = wave.group;
        if wave.until < NEVER && !wave.ended {
            self.look(&mut wave)?;
        }
        self.waves[at] = wave;
        self.release(group, now)
    }

    /// Of the `lost` cycles behind its last instruction, those in which the wave could not issue.
    fn waited(&self, wave: &Wave<'_>, now: u64, lost: u64) -> u64 {
        let ready = self.ready(wave).0.min(now).max(wave.free);
        let first = phase(ready, wave.simd).min(now);
        if ready == wave.free { 0 } else { (first - wave.free).min(lost) }
    }

    /// Lets the waves go on that wait at a barrier at which all others have arrived, or ended.
    fn release(&mut self, group: usize, now: u64) -> Result<(), Error> {
        let state = &mut self.groups[group];
        if state.arrived == 0 || state.arrived + state.ended < state.waves {
            return Ok(());
        }
        state.arrived = 0;
        for at in 0..self.waves.len() {
            if self.waves[at].group != group || !self.waves[at].at_barrier {
                continue;
            }
            let mut wave = std::mem::replace(&mut self.waves[at], Wave::absent());
            wave.at_barrier = false;
            wave.until = now + self.by.barrier_release as u64;
            wave.reason = Reason::Barrier;
            self.look(&mut wave)?;
            self.waves[at] = wave;
        }
        Ok(())
    }
}

impl Wave<'_> {
    /// Stands in the place of a wave that is being looked at.
    fn absent() -> Self {
        static NOTHING: WaveTrace =
            WaveTrace { steps: Vec::new(), accesses: Vec::new(), lines: Vec::new() };
        Self {
            trace: &NOTHING,
            group: 0,
            line: 0,
            simd: 0,
            step: 0,
            access: 0,
            started: 0,
            free: 0,
            until: NEVER,
            reason: Reason::Arbitration,
            conflicts: 0,
            priority: 0,
            vector: VecDeque::new(),
            lgkm: Vec::new(),
            at_barrier: false,
            ended: true,
        }
    }
}

/// First visit of a SIMD at or behind a cycle.
fn phase(at: u64, simd: usize) -> u64 {
    let (at, simd) = (at.max(simd as u64), simd as u64);
    simd + (at - simd).div_ceil(SLOT) * SLOT
}

/// Categories of which one instruction goes in a visit; internal ones have none.
fn category(kind: Kind) -> Option<usize> {
    match kind {
        Kind::Vector { .. } | Kind::Matrix(_) => Some(0),
        Kind::VectorMemory { .. } => Some(1),
        Kind::Scalar | Kind::ScalarMemory => Some(2),
        Kind::Lds => Some(3),
        Kind::Branch => Some(4),
        _ => None,
    }
}
