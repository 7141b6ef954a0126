//! Whether a launch can still get anywhere.
//!
//! A wave that polls executes instructions for ever, as one that computes may for hours. They are
//! told apart by what they do: if the registers of a wave are again what they were, and no byte of
//! memory has changed and no clock was read meanwhile, it will do the same for ever unless somebody
//! else changes memory. A launch all of whose waves are like that, or have waited at a barrier all
//! the time, cannot go on by itself.
//!
//! Every so often, a launch that has been running for a while is searched for this: for a phase,
//! its workgroups go by single instructions, and the phase ends with the first sign of progress.
//! What a phase has shown holds until a wave leaves its circle, because memory was changed from
//! outside. For that the launch goes on for some time, [`ExecOptions::patience`], which begins anew
//! while other work of the process is under way, unless that has come to a halt too; then it fails.
//!
//! [`ExecOptions::patience`]: super::ExecOptions::patience

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use hk_types::{FaultKind, FaultReport};

use super::effects::Effects;
use super::group::State;
use super::{Env, Lanes, VECTOR_ROWS, Wave};

/// Time before the first phase, and at least between two.
const PAUSE: Duration = Duration::from_millis(250);
/// Further time between phases, as a multiple of what the last one took.
const PAUSE_FACTOR: u32 = 20;
/// Waves that a report names.
const NAMED: usize = 16;

/// Pieces of work of streams that are under way in the process, and launches that cannot go on.
static WORKING: AtomicUsize = AtomicUsize::new(0);
static HALTED: AtomicUsize = AtomicUsize::new(0);

/// Counts in one of the above as long as it lives.
#[derive(Debug)]
pub(crate) struct Count(&'static AtomicUsize);

impl Count {
    /// Work of a stream, which may change memory that a kernel waits for.
    pub(crate) fn work() -> Self {
        Self::new(&WORKING)
    }

    fn new(counter: &'static AtomicUsize) -> Self {
        counter.fetch_add(1, Ordering::Relaxed);
        Self(counter)
    }
}

impl Drop for Count {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Where a wave is that cannot go on by itself.
#[derive(Clone, Debug)]
pub(super) struct Place {
    workgroup: [u32; 3],
    wave: u32,
    /// Index of the instruction.
    index: usize,
    does: &'static str,
}

/// What a workgroup did in a watched time slice.
#[derive(Debug, Default)]
pub(super) enum Verdict {
    /// Something that others may notice, or nothing that says more.
    #[default]
    GoesOn,
    /// Its waves wait for a change from outside.
    Waits(Vec<Place>),
}

/// Watches a workgroup for a phase.
pub(super) struct Watch {
    pub(super) phase: u64,
    waves: Vec<WaveWatch>,
    effects: Effects,
    /// Instruction that is being executed.
    index: usize,
    moved: bool,
}

impl Watch {
    pub(super) fn new(phase: u64, waves: usize) -> Self {
        let waves = (0..waves).map(|_| WaveWatch::default()).collect();
        Self { phase, waves, effects: Effects::new(), index: 0, moved: false }
    }

    /// Begins a time slice.
    pub(super) fn begin(&mut self) {
        for wave in &mut self.waves {
            wave.returned = false;
        }
    }

    /// Looks at the instruction that a wave is about to execute.
    pub(super) fn before(&mut self, wave: &Wave<'_>) {
        self.index = wave.pc;
        self.effects.before(wave, wave.pc);
    }

    /// Looks at what it did.
    pub(super) fn after(&mut self, wave: &Wave<'_>) {
        let watch = &mut self.waves[wave.index as usize];
        if self.effects.reads() {
            watch.read = Some(self.index);
        }
        let left = watch.step(wave);
        self.moved |= left || self.effects.changed(wave);
    }

    /// Whether the rest of the time slice cannot change the verdict.
    pub(super) fn decided(&self, states: &[State]) -> bool {
        let mut pairs = self.waves.iter().zip(states);
        self.moved || pairs.all(|(wave, state)| *state != State::Ready || wave.returned)
    }

    pub(super) fn verdict(&self, waves: &[Wave<'_>], states: &[State]) -> Verdict {
        if self.moved {
            return Verdict::GoesOn;
        }
        let mut places = Vec::new();
        for ((wave, watch), state) in waves.iter().zip(&self.waves).zip(states) {
            let (index, does) = match state {
                State::Ended => continue,
                // It has been there all the time.
                State::Barrier if watch.steps == 0 => (wave.fault_pc, "waits at"),
                State::Ready if watch.period != 0 => match watch.polled {
                    Some(index) => (index, "polls at"),
                    None => (wave.pc, "goes round in circles at"),
                },
                _ => return Verdict::GoesOn,
            };
            places.push(Place { workgroup: wave.workgroup, wave: wave.index, index, does });
        }
        Verdict::Waits(places)
    }
}

/// Finds out whether the registers of a wave become again what they were (Brent's algorithm).
#[derive(Default)]
struct WaveWatch {
    /// Instructions since the phase began.
    steps: u64,
    saved: Option<Registers>,
    /// Instructions since the registers were saved or seen again.
    since: u64,
    /// Instructions after which they are saved anew.
    window: u64,
    /// Instructions after which they are the same again; 0 if that is not known.
    period: u64,
    /// Whether that was so in this time slice.
    returned: bool,
    /// The last instruction that read memory, and the last one on the way around.
    read: Option<usize>,
    polled: Option<usize>,
}

impl WaveWatch {
    /// Counts an instruction; whether the wave has left the circle that it was in.
    fn step(&mut self, wave: &Wave<'_>) -> bool {
        self.steps += 1;
        self.since += 1;
        if self.saved.as_ref().is_some_and(|saved| saved.are_those_of(wave)) {
            self.period = self.since;
            (self.since, self.returned, self.polled) = (0, true, self.read);
            return false;
        }
        if self.period != 0 {
            return self.since > self.period;
        }
        if self.since >= self.window {
            self.saved = Some(Registers::of(wave));
            (self.since, self.window, self.read) = (0, (2 * self.window).max(8), None);
        }
        false
    }
}

/// All of a wave on which its further way depends, but for memory and clocks.
struct Registers {
    pc: usize,
    scc: bool,
    mode: [u32; 2],
    sgpr: [u32; 128],
    rows: Vec<Lanes>,
}

impl Registers {
    fn of(wave: &Wave<'_>) -> Self {
        Self {
            pc: wave.pc,
            scc: wave.scc,
            mode: [wave.mode, wave.trapsts],
            sgpr: wave.sgpr,
            rows: rows(wave).map(|row| *wave.row(row)).collect(),
        }
    }

    fn are_those_of(&self, wave: &Wave<'_>) -> bool {
        self.pc == wave.pc
            && self.scc == wave.scc
            && self.mode == [wave.mode, wave.trapsts]
            && self.sgpr == wave.sgpr
            && rows(wave).zip(&self.rows).all(|(row, saved)| wave.row(row) == saved)
    }
}

/// Rows of the vector file that the kernel owns.
fn rows(wave: &Wave<'_>) -> impl Iterator<Item = usize> {
    let setup = &wave.env.dispatch.setup;
    let bank = VECTOR_ROWS / 2;
    let [vgprs, agprs] = [setup.vgprs, setup.agprs].map(|count| (count as usize).min(bank));
    (0..vgprs).chain(bank..bank + agprs)
}

/// The search of one launch.
pub(super) struct Progress {
    patience: Duration,
    state: Mutex<Search>,
}

struct Search {
    /// Number of the phase, or of the last one.
    number: u64,
    /// When the phase began; `None` between phases.
    began: Option<Instant>,
    /// When the next phase may begin.
    next: Instant,
    /// Workgroups that wait, by their number.
    waiting: BTreeMap<u64, Vec<Place>>,
    /// Since when all of them do.
    halted: Option<(Instant, Count)>,
}

/// What is to be done after a time slice.
pub(super) enum Step {
    GoOn,
    /// The workgroups that have begun cannot go on by themselves.
    Halted,
    /// Nor has anything else come to their help: the number of the first and the report.
    GiveUp(u64, Box<FaultReport>),
}

impl Progress {
    pub(super) fn new(patience: Duration) -> Self {
        let search = Search {
            number: 0,
            began: None,
            next: Instant::now() + PAUSE,
            waiting: BTreeMap::new(),
            halted: None,
        };
        Self { patience, state: Mutex::new(search) }
    }

    fn lock(&self) -> MutexGuard<'_, Search> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The phase in which the next time slice is to be watched.
    pub(super) fn phase(&self) -> Option<u64> {
        let search = self.lock();
        search.began.map(|_| search.number)
    }

    /// Ends the phase because there is progress.
    pub(super) fn interrupt(&self) {
        self.lock().end();
    }

    /// Takes note of a time slice of the workgroup `group`, watched in the phase `watched`, while
    /// `live` workgroups have begun and not ended.
    pub(super) fn note(
        &self,
        env: &Env<'_>,
        group: u64,
        watched: Option<u64>,
        verdict: Verdict,
        live: usize,
    ) -> Step {
        let mut search = self.lock();
        let now = Instant::now();
        match (search.began, watched) {
            (None, None) if now >= search.next => search.begin(now),
            // It was not watched, and may have done what the others wait for.
            (Some(_), None) => search.begin(now),
            (Some(_), Some(phase)) if phase == search.number => {
                let Verdict::Waits(places) = verdict else {
                    search.end();
                    return Step::GoOn;
                };
                search.waiting.insert(group, places);
                if search.waiting.len() >= live {
                    return search.halt(env, now, self.patience);
                }
            }
            _ => {}
        }
        Step::GoOn
    }
}

impl Search {
    fn begin(&mut self, now: Instant) {
        self.number += 1;
        self.began = Some(now);
        self.waiting.clear();
        self.halted = None;
    }

    fn end(&mut self) {
        if let Some(began) = self.began.take() {
            self.next = Instant::now() + PAUSE.max(PAUSE_FACTOR * began.elapsed());
        }
        self.waiting.clear();
        self.halted = None;
    }

    fn halt(&mut self, env: &Env<'_>, now: Instant, patience: Duration) -> Step {
        let (since, _) = self.halted.get_or_insert_with(|| (now, Count::new(&HALTED)));
        if WORKING.load(Ordering::Relaxed) > HALTED.load(Ordering::Relaxed) {
            *since = now;
        }
        if now.duration_since(*since) < patience {
            return Step::Halted;
        }
        let Some((&first, _)) = self.waiting.first_key_value() else { return Step::GoOn };
        let places: Vec<&Place> = self.waiting.values().flatten().collect();
        Step::GiveUp(first, Box::new(report(env, &places, patience)))
    }
}

/// The report of a launch whose waves are at these places.
fn report(env: &Env<'_>, places: &[&Place], patience: Duration) -> FaultReport {
    let program = env.program;
    let text = |index: usize| {
        program.inst_at(index).map_or_else(|error| error.to_string(), |inst| inst.to_string())
    };
    let offset = |index: usize| program.pc_of(index).wrapping_sub(env.dispatch.entry) as i64;
    let mut detail =
        format!("no wave can go on by itself, and nothing has changed for {patience:?}:");
    for place in places.iter().take(NAMED) {
        let Place { workgroup: [x, y, z], wave, index, does } = place;
        // Writing to a string cannot fail.
        let _ = write!(
            detail,
            "\n    workgroup ({x}, {y}, {z}), wave {wave} {does} pc {:#x} (entry{:+#x}): {}",
            program.pc_of(*index),
            offset(*index),
            text(*index)
        );
    }
    if let Some(more @ 1..) = places.len().checked_sub(NAMED) {
        let _ = write!(detail, "\n    and {more} more");
    }
    let first = places.first();
    let index = first.map_or(0, |place| place.index);
    FaultReport {
        kind: FaultKind::Deadlock,
        detail,
        kernel: env.dispatch.kernel.clone(),
        pc: program.pc_of(index),
        offset: offset(index),
        instruction: text(index),
        workgroup: first.map_or([0; 3], |place| place.workgroup),
        wave: first.map_or(0, |place| place.wave),
        lane: None,
        address: None,
        allocation: None,
        source: None,
    }
}
