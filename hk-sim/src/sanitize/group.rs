//! The checker of one workgroup: what happens at each instruction and at each barrier.

use super::activity::Activity;
use super::audit::GroupAudit;
use super::clock::{Class, Epoch, Knowledge, MAX_WAVES, Strength};
use super::counters::Counters;
use super::counting::GroupCounting;
use super::facts::{Access, Action, Facts, Memory, Queue, Space, ones};
use super::float::Finite;
use super::global::{LastRegion, Unwritten};
use super::hazards::{History, TooNear};
use super::index::Marks;
use super::launch::{Draft, Key, Launch, Who};
use super::lds::{LdsShadow, Releases, Side};
use super::memory::Bytes;
use super::race::{Held, InFlight};
use super::undefined::{Origin, Origins, Undefined};
use super::uses::is_permute;
use super::{Checks, Kind, Severity};
use crate::exec::effects::{Range, Reach, locate, locate_scalar, locate_slots};
use crate::exec::{GroupObserver, WAVE, Wave};

/// Checks that follow undefined values.
const TRACKING: Checks =
    Checks::of(Kind::Memory).with(Kind::Lds).with(Kind::Uninit).with(Kind::Divergence);

/// What the checker knows of one wave.
#[derive(Default)]
pub(super) struct WaveState {
    pub(super) counters: Counters,
    /// What the wave knows of others.
    pub(super) known: Knowledge,
    /// What others learn of it through LDS.
    pub(super) releases: Releases,
    /// What will add to that.
    pub(super) in_flight: InFlight,
    /// What of the registers is undefined.
    pub(super) undefined: Undefined,
    /// Which lanes take part, and what was written meanwhile.
    pub(super) activity: Activity,
    /// Private memory that was written, lane after lane.
    private: Bytes,
    /// Instructions that later ones must keep a distance from.
    history: History,
    /// The barrier that the wave waits at, or did last.
    barrier: usize,
    /// Where the wave ended.
    ended: Option<usize>,
    /// What does not fit into 32 bits, if that is checked.
    pub(super) marks: Option<Box<Marks>>,
}

/// Checks of a workgroup.
pub(crate) struct GroupChecker<'a> {
    pub(super) launch: &'a Launch<'a>,
    /// Linear number of the workgroup.
    pub(super) group: u64,
    pub(super) waves: Vec<WaveState>,
    pub(super) lds: LdsShadow,
    pub(super) origins: Origins,
    /// Whether undefined values are followed.
    pub(super) tracks: bool,
    pub(super) last_region: LastRegion,
    /// The instruction that is executed, unless it is skipped.
    pub(super) current: Option<&'a Facts>,
    /// What its operands were.
    pub(super) finite: Finite,
    /// Addresses of the current instruction; kept to save its initialisation.
    reach: Option<Box<Reach>>,
    /// Flags that the workgroup wrote.
    flags: u32,
    /// What others are kept from until the current instruction has been executed.
    held: Option<Held<'a>>,
    audit: Option<GroupAudit<'a>>,
    counting: Option<GroupCounting<'a>>,
    /// Whether nothing is looked for.
    only_counts: bool,
}

/// Flags of a workgroup behind which it may give way to others: few enough for not too many
/// workgroups to be alive at once.
const PAUSES: u32 = 32;

impl GroupObserver for GroupChecker<'_> {
    fn begin(&mut self, group: u64, waves: &[Wave<'_>]) {
        let dispatch = self.launch.dispatch;
        self.group = group;
        self.flags = 0;
        self.lds.reset();
        self.origins.reset();
        let uninit = self.launch.checks.any(Checks::of(Kind::Uninit).with(Kind::Divergence));
        for (state, wave) in self.waves.iter_mut().zip(waves) {
            state.counters.reset();
            state.known = Knowledge::default();
            state.in_flight.reset();
            state.releases.reset();
            state.history = History::default();
            state.ended = None;
            if let Some(marks) = &mut state.marks {
                marks.clear();
            }
            if uninit {
                state.undefined.reset(&dispatch.setup, wave.exec());
                state.activity.reset(wave.exec());
                state.private.reset(u64::from(dispatch.scratch_bytes) * WAVE as u64);
            } else {
                state.undefined.clear();
                state.private.reset(0);
            }
        }
    }

    #[inline]
    fn before(&mut self, wave: &Wave<'_>, index: usize) -> bool {
        let held = self.examine(wave, index);
        let pauses = held.as_ref().is_some_and(|held| self.pauses(held));
        self.held = held;
        pauses
    }

    #[inline]
    fn after(&mut self, wave: &Wave<'_>, index: usize) {
        self.held = None;
        self.note_results(wave, index);
    }

    fn barrier(&mut self, arrived: u64, ended: u64) {
        if self.launch.checks.has(Kind::Divergence) {
            self.check_attendance(arrived, ended);
        }
        if let Some(audit) = &mut self.audit {
            audit.barrier(arrived);
        }
        let mut all = Knowledge::default();
        for (index, wave) in self.waves.iter().enumerate() {
            if (arrived | ended) >> index & 1 != 0 {
                all.join(&wave.known);
            }
        }
        for (index, wave) in self.waves.iter_mut().enumerate() {
            if arrived >> index & 1 != 0 {
                wave.known.join(&all);
                wave.releases.renew();
            }
        }
        self.forget_complete_lds(&all);
    }

    fn end(&mut self) {
        if let Some(audit) = &mut self.audit {
            audit.end();
        }
        if let Some(counting) = &mut self.counting {
            counting.end();
        }
    }
}

impl<'a> GroupChecker<'a> {
    pub(super) fn new(launch: &'a Launch<'a>, waves: usize) -> Self {
        let follows_index = launch.checks.has(Kind::Index);
        let wave = || WaveState { marks: follows_index.then(Box::default), ..WaveState::default() };
        Self {
            launch,
            group: 0,
            waves: (0..waves.min(MAX_WAVES)).map(|_| wave()).collect(),
            lds: LdsShadow::new(launch.dispatch.lds_bytes),
            origins: Origins::default(),
            tracks: launch.checks.any(TRACKING),
            last_region: LastRegion::default(),
            current: None,
            finite: Finite::new(),
            reach: Some(Box::new(Reach::new())),
            flags: 0,
            held: None,
            audit: launch.audit.map(|(audit, index)| GroupAudit::new(audit, index, waves)),
            counting: launch.counting.as_ref().map(GroupCounting::new),
            only_counts: launch.checks.is_empty() && launch.audit.is_none(),
        }
    }

    /// Whether others should run now that a flag was written. An order that only comes from running
    /// workgroups to their end, or in step, would hide races, so about every other flag is one to
    /// stop at.
    fn pauses(&mut self, held: &Held<'_>) -> bool {
        if !held.wrote || self.flags == PAUSES {
            return false;
        }
        self.flags += 1;
        let mixed = (self.group * u64::from(PAUSES) + u64::from(self.flags))
            .wrapping_mul(0x9e37_79b9_7f4a_7c15);
        mixed >> 63 != 0
    }

    pub(super) fn who(&self, wave: usize) -> Who {
        Who { group: self.group, wave }
    }

    /// Looks at an instruction and the registers that it reads. The result is to be kept until it has
    /// been executed.
    #[inline]
    fn examine(&mut self, wave: &Wave<'_>, index: usize) -> Option<Held<'a>> {
        let launch = self.launch;
        self.current = None;
        let facts = launch.table.get(&launch.dispatch.program, index, wave.gpr_index())?;
        if wave.skips(Some(facts.inst.info.format)) {
            return None;
        }
        self.current = Some(facts);
        let at = wave.index as usize;
        if let Some(counting) = &mut self.counting {
            counting.note(wave, facts);
        }
        if self.only_counts {
            return None;
        }
        if let Some(audit) = &mut self.audit {
            audit.before(at, facts, index, wave.exec());
        }
        if launch.checks.has(Kind::Async) {
            let state = &mut self.waves[at];
            if let Some((load, read)) = state.counters.misuse(facts, wave.exec()) {
                self.report_misuse(at, index, load.index, read);
            }
        }
        if launch.checks.has(Kind::Hazard) {
            let program = &launch.dispatch.program;
            let facts_at = |index, by| launch.table.get(program, index, by);
            let history = &mut self.waves[at].history;
            if let Some(found) = history.step(facts, index, facts_at) {
                self.report_too_near(at, index, &found);
            }
        }
        if launch.checks.has(Kind::Divergence) {
            self.waves[at].activity.step(wave, facts);
        }
        if launch.checks.has(Kind::Index) {
            self.follow_index(wave, facts, index);
        }
        if launch.checks.has(Kind::Float) {
            self.note_operands(wave, facts);
        }
        match &facts.action {
            Action::Plain => {
                if self.tracks {
                    self.follow(wave, facts, index);
                }
            }
            Action::Wait { vector, lgkm } => self.wait(at, *vector, *lgkm),
            Action::Memory(memory) => return self.memory(wave, facts, memory, index),
            Action::WriteBack => self.write_back(at),
            Action::Invalidate => self.invalidate(at),
            Action::InvalidateScalars => {
                self.waves[at].known.empty_scalar_cache();
                self.waves[at].releases.renew();
            }
            Action::Barrier => self.waves[at].barrier = index,
            Action::End => self.waves[at].ended = Some(index),
        }
        None
    }

    /// Waves that ended do not count for the hardware, so a barrier that they do not come to is no
    /// defect, but it may not be what was meant. Which `s_barrier` instructions meet is of no concern:
    /// compilers copy them.
    fn check_attendance(&self, arrived: u64, ended: u64) {
        let missing = ones(ended).find_map(|at| Some((at, self.waves.get(at)?.ended?)));
        let Some((absent, end)) = missing else { return };
        let Some(at) = ones(arrived).next() else { return };
        let detail = "a wave of the workgroup ended and never comes to the barrier";
        let mut draft = Draft::new(Kind::Divergence, self.who(at), self.waves[at].barrier, detail);
        draft.severity = Severity::Note;
        draft.other = Some(("end", end, self.who(absent)));
        self.launch.report(draft);
    }

    fn wait(&mut self, at: usize, vector: Option<u32>, lgkm: Option<u32>) {
        self.waves[at].counters.wait(vector, lgkm);
        self.complete(at);
    }

    /// Counts a memory instruction, once its counter has room for it, and returns its number.
    pub(super) fn issue(&mut self, at: usize, class: Class) -> u32 {
        if self.waves[at].counters.stall(class) {
            self.complete(at);
        }
        self.waves[at].counters.issue(class)
    }

    /// Tells what else is kept of a wave which of its memory instructions have completed.
    fn complete(&mut self, at: usize) {
        let wave = &mut self.waves[at];
        wave.known.clock.0[at].done = wave.counters.done;
        wave.releases.renew();
        wave.in_flight.complete(self.group, wave.counters.done, &mut wave.known);
    }

    #[cold]
    fn report_misuse(&self, at: usize, index: usize, load: u32, read: bool) {
        let detail = if read {
            "a register is read before the load that fills it is waited for"
        } else {
            "a register is overwritten while a load that fills it is not waited for"
        };
        let who = self.who(at);
        let mut draft = Draft::new(Kind::Async, who, index, detail);
        draft.other = Some(("load", load as usize, who));
        self.launch.report(draft);
    }

    #[cold]
    fn report_too_near(&self, at: usize, index: usize, found: &TooNear) {
        if self.launch.repeats(Key { severity: Severity::Error, kind: Kind::Hazard, index }) {
            return;
        }
        let who = self.who(at);
        let mut draft = Draft::new(Kind::Hazard, who, index, found.detail());
        draft.other = Some(("producer", found.first, who));
        self.launch.report(draft);
    }

    fn memory(
        &mut self,
        wave: &Wave<'_>,
        facts: &Facts,
        memory: &Memory,
        index: usize,
    ) -> Option<Held<'a>> {
        let at = wave.index as usize;
        if self.tracks {
            self.follow_addresses(wave, facts, memory, index);
            if is_permute(facts) {
                self.follow_permute(wave, facts, index);
            } else {
                self.waves[at].undefined.define_writes(wave, facts);
            }
        }
        if memory.queue == Queue::Scalar {
            self.issue(at, Class::Scalar);
            let counters = &mut self.waves[at].counters;
            counters.expect(Class::Scalar, facts.inst.dst[0], u64::MAX, index as u32);
            if let Some(audit) = &mut self.audit {
                audit.issue(at, Class::Scalar, facts.inst.dst[0], u64::MAX);
            }
            if memory.space == Space::None {
                return None;
            }
            self.scalar_access(wave, facts, index);
            self.audit_scalar(wave, facts, memory);
            return match self.launch.device {
                Some(_) => self.scalar_device_access(wave, facts, memory, index),
                None => None,
            };
        }
        // The buffer is moved out while `self` is used as a whole.
        let mut reach = self.reach.take()?;
        let held = self.vector_memory(wave, facts, memory, index, &mut reach);
        self.reach = Some(reach);
        held
    }

    fn vector_memory(
        &mut self,
        wave: &Wave<'_>,
        facts: &Facts,
        memory: &Memory,
        index: usize,
        reach: &mut Reach,
    ) -> Option<Held<'a>> {
        let at = wave.index as usize;
        let exec = wave.exec();
        locate(wave, &facts.inst, memory, false, reach);
        self.count(at, facts, memory, index, exec, reach);
        let (mut unwritten, mut held) = (Unwritten::default(), None);
        self.audit_access(at, memory, Class::Vector, false, reach);
        self.audit_access(at, memory, Class::Lds, true, reach);
        if reach.global != 0 {
            unwritten = self.global_access(wave, facts, memory, index, reach);
            if self.launch.device.is_some() {
                held = self.device_access(wave, facts, memory, index, reach);
            }
        }
        if reach.private != 0 && self.tracks {
            self.private_access(wave, facts, memory, index, reach);
        }
        if reach.lds != 0 {
            self.lds_access(wave, facts, memory, index, Side::First, reach);
            if self.tracks {
                self.lds_follow(wave, facts, memory, index, false, reach);
            }
            if memory.second.is_some() {
                locate(wave, &facts.inst, memory, true, reach);
                self.audit_access(at, memory, Class::Lds, true, reach);
                self.lds_access(wave, facts, memory, index, Side::Second, reach);
                if self.tracks {
                    self.lds_follow(wave, facts, memory, index, true, reach);
                }
            }
        }
        if let Access::ToLds { slot } = memory.access
            && memory.space != Space::None
        {
            locate_slots(wave, memory, slot, exec, reach);
            self.audit_access(at, memory, Class::Vector, true, reach);
            self.lds_access(wave, facts, memory, index, Side::Fill, reach);
            if self.tracks {
                self.lds_fill(reach, &unwritten);
            }
        }
        held
    }

    /// Counts an instruction in the counters that it increments.
    fn count(
        &mut self,
        at: usize,
        facts: &Facts,
        memory: &Memory,
        index: usize,
        exec: u64,
        reach: &Reach,
    ) {
        let (in_memory, in_lds) = match memory.queue {
            Queue::Vector => (exec, None),
            // Generic addresses count where they point, or in memory if no lane is active.
            Queue::Flat => {
                (reach.global | reach.private, Some(reach.lds).filter(|_| reach.lds != 0))
            }
            Queue::Lds | Queue::Scalar => (0, Some(exec)),
        };
        let dst = facts.inst.dst[0];
        if memory.queue == Queue::Vector || in_lds.is_none() || in_memory != 0 {
            let sequence = self.issue(at, Class::Vector);
            let state = &mut self.waves[at];
            state.known.clock.0[at].issued = sequence;
            state.releases.renew();
            state.counters.expect(Class::Vector, dst, in_memory, index as u32);
            if let Some(audit) = &mut self.audit {
                audit.issue(at, Class::Vector, dst, in_memory);
            }
        }
        if let Some(lanes) = in_lds {
            if let Some(audit) = &mut self.audit {
                audit.issue(at, Class::Lds, dst, lanes);
            }
            let sequence = self.issue(at, Class::Lds);
            let state = &mut self.waves[at];
            state.known.clock.0[at].issued_in_lds = sequence;
            state.counters.expect(Class::Lds, dst, lanes, index as u32);
        }
    }

    fn audit_access(&mut self, at: usize, memory: &Memory, class: Class, lds: bool, reach: &Reach) {
        if let Some(audit) = &mut self.audit {
            let ranges = if lds { &reach.in_lds } else { &reach.in_global };
            audit.touch(at, class, memory, lds, ranges.as_slice());
        }
    }

    fn audit_scalar(&mut self, wave: &Wave<'_>, facts: &Facts, memory: &Memory) {
        if let Some(audit) = &mut self.audit {
            let (start, len) = locate_scalar(wave, &facts.inst, memory);
            let range = Range { start, len, lane: 0 };
            audit.touch(wave.index as usize, Class::Scalar, memory, false, &[range]);
        }
    }

    /// Follows undefined values into and out of private memory.
    fn private_access(
        &mut self,
        wave: &Wave<'_>,
        facts: &Facts,
        memory: &Memory,
        index: usize,
        reach: &Reach,
    ) {
        let at = wave.index as usize;
        let per_lane = u64::from(wave.scratch_per_lane);
        let data = memory.data.filter(|_| memory.access == Access::Store);
        let dwords = reach.bytes.div_ceil(4) as usize;
        let mut missing = Vec::new();
        let WaveState { private, undefined, .. } = &mut self.waves[at];
        for lane in ones(reach.private) {
            for dword in 0..dwords {
                let start = lane as u64 * per_lane + reach.at[lane] + 4 * dword as u64;
                let len = reach.bytes.min(4).into();
                if let Some(first) = data {
                    let taint = undefined.row(first + dword);
                    private.set(start, len, taint.lanes >> lane & 1 == 0);
                } else if !private.all(start, len) {
                    missing.push((lane, dword));
                }
            }
        }
        if let (Some(&(lane, _)), Some(first)) = (missing.first(), facts.inst.dst[0].vector_index())
        {
            let (lane, address) = (Some(lane as u32), Some(reach.at[lane]));
            let kind = Kind::Uninit;
            let origin = self.origins.add(Origin { kind, index, lane, address, wave: at });
            self.load_undefined(at, first, dwords, &missing, origin);
        }
    }

    /// The current instruction of a wave as an access of a class.
    pub(super) fn epoch(&self, at: usize, class: Class, strength: Strength) -> Epoch {
        let sequence = self.waves[at].counters.issued[class as usize];
        Epoch::new(self.group, at, class, strength, sequence)
    }
}
