//! What a model of time needs to know of a launch: the instructions of each wave in their order, and
//! of those that access memory, which lines and banks they touch.
//!
//! [`trace`] executes some workgroups of a launch and says what they did, [`launches`] does so with the launches
//! that a closure makes. Nothing is recorded, and nothing costs time, in other launches. Lines are those of the
//! vector L1 and the L2, 128 bytes; an access of scalar memory touches lines of the scalar cache, 64 bytes.

use std::cell::RefCell;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use hk_types::FaultReport;

use crate::Product;
use crate::counters::{Banks, Direction};
use crate::exec::effects::{
    Access as Does, Memory, Queue, Range, Reach, Space, locate, locate_scalar, locate_slots, ones,
};
use crate::exec::{Dispatch, ExecOptions, GroupObserver, Observer, Wave, run_chosen};
use crate::isa::Inst;

/// Bytes of a line of the vector caches.
pub const LINE: u64 = 128;
/// Bytes of a line of the scalar cache.
pub const SCALAR_LINE: u64 = 64;

/// What workgroups did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GroupTrace {
    /// Linear number of the workgroup.
    pub group: u64,
    /// Its waves.
    pub waves: Vec<WaveTrace>,
}

/// What a wave did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WaveTrace {
    /// Index of each instruction in the [`Program`](crate::exec::Program), in the order of execution.
    pub steps: Vec<u32>,
    /// Accesses of the memory instructions among them, in their order.
    pub accesses: Vec<Access>,
    /// Lines of the accesses.
    pub lines: Vec<Line>,
}

impl WaveTrace {
    /// Lines that an access touches.
    pub fn lines_of(&self, access: &Access) -> &[Line] {
        &self.lines[access.first_line as usize..][..access.line_count as usize]
    }
}

/// What a memory instruction does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessKind {
    /// To registers.
    Load,
    /// From registers.
    Store,
    /// Both.
    Atomic,
    /// From device memory to LDS.
    ToLds,
}

/// Which counters of `s_waitcnt` a memory instruction uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counter {
    /// `vmcnt`.
    Vector,
    /// `lgkmcnt`, by LDS: in order.
    Lds,
    /// `lgkmcnt`, by scalar memory: in any order.
    Scalar,
    /// Both of vector memory and LDS.
    Flat,
}

/// What one memory instruction accessed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// What it does.
    pub kind: AccessKind,
    /// Counters that it uses.
    pub counter: Counter,
    /// Dwords per lane, of both addresses of a two-address operation.
    pub dwords: u32,
    /// Bytes of device memory, of all lanes.
    pub bytes: u32,
    /// Phases in which LDS serves it.
    pub lds_phases: u32,
    /// Cycles that bank conflicts add to them.
    pub lds_conflicts: u32,
    first_line: u32,
    line_count: u32,
}

/// A line of device memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line {
    /// Address in lines.
    pub number: u64,
    /// Bytes of it that are accessed.
    pub bytes: u32,
}

/// Executes the workgroups with these linear numbers and returns what they did, in this order.
///
/// # Errors
/// The report of the first fault, in the order of the workgroups.
pub fn trace(
    dispatch: &Dispatch,
    options: &ExecOptions,
    groups: &[u64],
) -> Result<Vec<GroupTrace>, Box<FaultReport>> {
    let tracer = Tracer::default();
    run_chosen(dispatch, options, Some(&tracer), groups)?;
    let mut traces = tracer.0.into_inner().unwrap_or_else(PoisonError::into_inner);
    let place = |trace: &GroupTrace| groups.iter().position(|&group| group == trace.group);
    traces.sort_by_key(place);
    Ok(traces)
}

/// A launch of which workgroups were traced.
#[derive(Clone, Debug)]
pub struct Traced {
    /// The launch.
    pub dispatch: Dispatch,
    /// What its chosen workgroups did, in the order in which they were chosen.
    pub groups: Vec<GroupTrace>,
}

/// Chooses the workgroups to trace of a launch of so many.
pub type Choose = fn(u64, &Product) -> Vec<u64>;

/// Launches of at most so many workgroups are executed as a whole: others read what they write, as of
/// those that sort.
const WHOLE: u64 = 256;

/// Where launches are traced.
pub(crate) struct Traces {
    choose: Choose,
    launches: Mutex<Vec<Traced>>,
}

impl Traces {
    /// Executes a launch as far as it is traced.
    pub(crate) fn add(
        &self,
        dispatch: &Dispatch,
        options: &ExecOptions,
    ) -> Result<(), Box<FaultReport>> {
        let count = dispatch.grid.iter().map(|&n| u64::from(n)).product();
        let chosen = (self.choose)(count, dispatch.product);
        let groups = if count <= WHOLE {
            let all: Vec<_> = (0..count).collect();
            let traced = trace(dispatch, options, &all)?;
            chosen.iter().map(|&group| traced[group as usize].clone()).collect()
        } else {
            trace(dispatch, options, &chosen)?
        };
        let traced = Traced { dispatch: dispatch.clone(), groups };
        self.launches.lock().unwrap_or_else(PoisonError::into_inner).push(traced);
        Ok(())
    }
}

thread_local! {
    static CURRENT: RefCell<Option<Arc<Traces>>> = const { RefCell::new(None) };
}

/// Where launches that this thread makes are traced.
pub(crate) fn current() -> Option<Arc<Traces>> {
    CURRENT.with_borrow(Option::clone)
}

/// Calls `f` and returns what the launches did that it made from this thread, in the order in which they
/// ended.
///
/// They are not what they would be otherwise: of one of more than 256 workgroups, only those that `choose`
/// names are executed, so that most results are never written. Others are executed as a whole. The
/// sanitizer does not watch, nothing is counted or captured. Launches are traced when they have ended, so
/// `f` should wait for them.
pub fn launches<T>(choose: Choose, f: impl FnOnce() -> T) -> (T, Vec<Traced>) {
    /// Puts back what was current, also after a panic.
    struct Restore(Option<Arc<Traces>>);

    impl Drop for Restore {
        fn drop(&mut self) {
            CURRENT.set(self.0.take());
        }
    }

    let traces = Arc::new(Traces { choose, launches: Mutex::default() });
    let restore = Restore(CURRENT.replace(Some(Arc::clone(&traces))));
    let result = f();
    drop(restore);
    let launches =
        std::mem::take(&mut *traces.launches.lock().unwrap_or_else(PoisonError::into_inner));
    (result, launches)
}

/// A model of time.
#[derive(Clone, Copy, Debug)]
pub struct Model {
    /// Chooses the workgroups that it wants to be traced.
    pub choose: Choose,
    /// Seconds that a launch takes, by what these did; else why nobody knows.
    pub seconds: fn(&Traced) -> Result<f64, String>,
}

static MODEL: OnceLock<Model> = OnceLock::new();

/// Gives the model by which launches are timed where [`set_timing`](crate::set_timing) asks for it. The
/// first one stays.
pub fn set_model(model: Model) {
    MODEL.get_or_init(|| model);
}

pub(crate) fn model() -> Option<Model> {
    MODEL.get().copied()
}

/// Traces some workgroups of a launch that is executed as a whole.
#[derive(Debug)]
pub struct Meanwhile {
    chosen: Vec<u64>,
    tracer: Tracer,
}

impl PartialEq for Meanwhile {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
    }
}

impl Eq for Meanwhile {}

impl Meanwhile {
    pub(crate) fn new(model: Model, dispatch: &Dispatch) -> Self {
        let count = dispatch.grid.iter().map(|&n| u64::from(n)).product();
        Self { chosen: (model.choose)(count, dispatch.product), tracer: Tracer::default() }
    }

    /// What watches the launch, together with somebody else.
    pub(crate) fn beside<'a>(&'a self, other: Option<&'a dyn Observer>) -> Beside<'a> {
        Beside { trace: self, other }
    }

    /// What the workgroups did, in the order in which they were chosen.
    pub(crate) fn take(&self) -> Vec<GroupTrace> {
        let mut found = self.tracer.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut groups = std::mem::take(&mut *found);
        groups.sort_by_key(|trace| self.chosen.iter().position(|&group| group == trace.group));
        groups
    }
}

/// [`Meanwhile`] and another observer of the same launch.
pub(crate) struct Beside<'a> {
    trace: &'a Meanwhile,
    other: Option<&'a dyn Observer>,
}

impl Observer for Beside<'_> {
    fn group(&self, waves: usize) -> Box<dyn GroupObserver + '_> {
        Box::new(GroupBeside {
            chosen: &self.trace.chosen,
            tracer: self.trace.tracer.of(waves),
            is_chosen: false,
            other: self.other.map(|other| other.group(waves)),
        })
    }
}

struct GroupBeside<'a> {
    chosen: &'a [u64],
    tracer: GroupTracer<'a>,
    is_chosen: bool,
    other: Option<Box<dyn GroupObserver + 'a>>,
}

impl GroupObserver for GroupBeside<'_> {
    fn begin(&mut self, group: u64, waves: &[Wave<'_>]) {
        self.is_chosen = self.chosen.contains(&group);
        if self.is_chosen {
            self.tracer.begin(group, waves);
        }
        if let Some(other) = &mut self.other {
            other.begin(group, waves);
        }
    }

    fn before(&mut self, wave: &Wave<'_>, index: usize) -> bool {
        if self.is_chosen {
            self.tracer.before(wave, index);
        }
        self.other.as_mut().is_some_and(|other| other.before(wave, index))
    }

    fn after(&mut self, wave: &Wave<'_>, index: usize) {
        if let Some(other) = &mut self.other {
            other.after(wave, index);
        }
    }

    fn barrier(&mut self, arrived: u64, ended: u64) {
        if let Some(other) = &mut self.other {
            other.barrier(arrived, ended);
        }
    }

    fn end(&mut self) {
        if self.is_chosen {
            self.tracer.end();
        }
        if let Some(other) = &mut self.other {
            other.end();
        }
    }
}

#[derive(Debug, Default)]
struct Tracer(Mutex<Vec<GroupTrace>>);

impl Tracer {
    fn of(&self, waves: usize) -> GroupTracer<'_> {
        GroupTracer {
            tracer: self,
            trace: GroupTrace { group: 0, waves: vec![WaveTrace::default(); waves] },
            reach: Reach::new(),
            banks: Banks::new(),
            insts: Vec::new(),
        }
    }
}

impl Observer for Tracer {
    fn group(&self, waves: usize) -> Box<dyn GroupObserver + '_> {
        Box::new(self.of(waves))
    }
}

/// An instruction, and what it accesses.
type Known = (Inst, Option<Memory>);

/// Traces a workgroup.
struct GroupTracer<'a> {
    tracer: &'a Tracer,
    trace: GroupTrace,
    reach: Reach,
    banks: Banks,
    /// What the instructions met so far access, by index.
    insts: Vec<Option<Box<Known>>>,
}

impl GroupObserver for GroupTracer<'_> {
    fn begin(&mut self, group: u64, _: &[Wave<'_>]) {
        self.trace.group = group;
        self.trace.waves.fill(WaveTrace::default());
    }

    fn before(&mut self, wave: &Wave<'_>, index: usize) -> bool {
        if self.insts.len() <= index {
            self.insts.resize_with(index + 1, || None);
        }
        let known = self.insts[index].take().or_else(|| {
            let inst = wave.env.program.inst_at(index).ok()?;
            let memory = Memory::of(&inst);
            Some(Box::new((inst, memory)))
        });
        let at = wave.index as usize;
        self.trace.waves[at].steps.push(index as u32);
        if let Some((inst, Some(memory))) = known.as_deref() {
            self.access(wave, inst, memory);
        }
        self.insts[index] = known;
        false
    }

    fn after(&mut self, _: &Wave<'_>, _: usize) {}

    fn barrier(&mut self, _: u64, _: u64) {}

    fn end(&mut self) {
        let waves = vec![WaveTrace::default(); self.trace.waves.len()];
        let next = GroupTrace { group: 0, waves };
        let done = std::mem::replace(&mut self.trace, next);
        self.tracer.0.lock().unwrap_or_else(PoisonError::into_inner).push(done);
    }
}

impl GroupTracer<'_> {
    fn access(&mut self, wave: &Wave<'_>, inst: &Inst, memory: &Memory) {
        let (kind, direction) = match memory.access {
            Does::Load => (AccessKind::Load, Direction::Read),
            Does::Store => (AccessKind::Store, Direction::Write),
            Does::Atomic => (AccessKind::Atomic, Direction::Atomic),
            Does::ToLds { .. } => (AccessKind::ToLds, Direction::Write),
        };
        let counter = match memory.queue {
            Queue::Vector => Counter::Vector,
            Queue::Lds => Counter::Lds,
            Queue::Scalar => Counter::Scalar,
            Queue::Flat => Counter::Flat,
        };
        let addresses = 1 + u32::from(memory.second.is_some());
        let lines = &mut self.trace.waves[wave.index as usize].lines;
        let first_line = lines.len() as u32;
        let mut access = Access {
            kind,
            counter,
            dwords: addresses * memory.bytes.div_ceil(4),
            bytes: 0,
            lds_phases: 0,
            lds_conflicts: 0,
            first_line,
            line_count: 0,
        };
        if memory.queue == Queue::Scalar {
            if memory.space != Space::None {
                let (start, len) = locate_scalar(wave, inst, memory);
                add_lines(lines, &[Range { start, len, lane: 0 }], SCALAR_LINE);
                access.bytes = len;
            }
        } else if memory.space != Space::None {
            locate(wave, inst, memory, false, &mut self.reach);
            if self.reach.global != 0 {
                let bytes = ones(self.reach.global).map(|lane| self.reach.len(lane)).sum();
                access.bytes = bytes;
                add_lines(lines, self.reach.in_global.as_slice(), LINE);
            }
            lds(&mut access, &mut self.banks, wave, direction, &self.reach);
            if memory.second.is_some() {
                locate(wave, inst, memory, true, &mut self.reach);
                lds(&mut access, &mut self.banks, wave, direction, &self.reach);
            }
            if let Does::ToLds { slot } = memory.access {
                locate_slots(wave, memory, slot, wave.exec(), &mut self.reach);
                lds(&mut access, &mut self.banks, wave, direction, &self.reach);
            }
        }
        let wave = &mut self.trace.waves[wave.index as usize];
        access.line_count = wave.lines.len() as u32 - first_line;
        wave.accesses.push(access);
    }
}

/// Adds what LDS does for an access.
fn lds(
    access: &mut Access,
    banks: &mut Banks,
    wave: &Wave<'_>,
    direction: Direction,
    reach: &Reach,
) {
    if reach.lds != 0 {
        let arch = wave.env.arch;
        let cycles =
            banks.conflict_cycles(arch, direction, reach.bytes, reach.lds, &reach.at) as u32;
        access.lds_conflicts += cycles;
        access.lds_phases += Banks::phases(arch, direction, reach.bytes, reach.lds);
    }
}

/// Adds the lines of ranges, each once.
fn add_lines(lines: &mut Vec<Line>, ranges: &[Range], size: u64) {
    let first = lines.len();
    for range in ranges {
        let mut start = range.start;
        while start < range.end() {
            let number = start / size;
            let end = range.end().min((number + 1) * size);
            let bytes = (end - start) as u32;
            match lines[first..].iter_mut().rev().find(|line| line.number == number) {
                Some(line) => line.bytes = (line.bytes + bytes).min(size as u32),
                None => lines.push(Line { number, bytes }),
            }
            start = end;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_count_once() {
        let mut lines = vec![Line { number: 1, bytes: 4 }];
        let ranges = [(100, 60), (256, 128), (256, 4), (128, 200)];
        add_lines(&mut lines, &ranges.map(|(start, len)| Range { start, len, lane: 0 }), LINE);
        let found: Vec<_> = lines[1..].iter().map(|line| (line.number, line.bytes)).collect();
        assert_eq!(found, [(0, 28), (1, 128), (2, 128)]);
    }
}
