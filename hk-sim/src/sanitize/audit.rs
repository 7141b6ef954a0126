//! Proof that a wait or a barrier orders nothing.
//!
//! A mutant of a kernel that lacks a wait, or waits for less, and is not noticed is either harmless
//! or a defect of the checks. To tell which, the *unchanged* kernel is run with an [`Audit`] of the
//! instruction, which follows the accesses that would be unordered without it. It shares none of the
//! vector clocks and shadow memory of the checks:
//!
//! - Of a wait, it follows the memory instructions that the original retires and the mutant leaves in
//!   flight, up to the next wait that retires them. Meanwhile nothing may touch the registers that
//!   they fill, no other wave may touch what they access once it is past a barrier that comes after
//!   the wait, or a flag if it is LDS or read by a scalar load (the vector accesses of a workgroup
//!   are made in order), and nothing may be released to other workgroups.
//! - Of a barrier, it counts the other barriers that each wave has passed. Whatever conflicts and was
//!   ordered by all barriers must still be ordered by those.
//!
//! The proof holds for the launches that were audited. Where it does not succeed, the instruction
//! may still be needless: [`Verdict::needed`] says what stood in the way.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use super::clock::Class;
use super::counters::{own_class, room};
use super::facts::{Access, Action, Facts, LaneRule, Memory, RowSet, Scope, scalar_bits};
use crate::exec::effects::Range;
use crate::isa::Operand;

/// What a mutant leaves of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weakened {
    /// Nothing of a barrier.
    Barrier,
    /// A wait for at most these counts of vector memory and other instructions; `None` is no wait.
    Wait {
        /// `vmcnt`
        vector: Option<u32>,
        /// `lgkmcnt`
        lgkm: Option<u32>,
    },
}

/// Audit of one instruction of a kernel over one or more launches.
#[derive(Debug)]
pub struct Audit {
    kernel: String,
    offset: u64,
    weakened: Weakened,
    verdict: Mutex<Verdict>,
}

/// What an [`Audit`] saw.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verdict {
    /// How often a wave executed the instruction.
    pub executed: u64,
    /// Why the instruction is or may be needed; `None` if it was proved that it orders nothing.
    pub needed: Option<String>,
}

impl PartialEq for Audit {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
    }
}

impl Eq for Audit {}

impl Audit {
    /// Audit of the instruction at an offset in bytes from the entry of a kernel.
    pub fn new(kernel: impl Into<String>, offset: u64, weakened: Weakened) -> Self {
        Self { kernel: kernel.into(), offset, weakened, verdict: Mutex::default() }
    }

    /// What was seen so far.
    pub fn verdict(&self) -> Verdict {
        self.verdict.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The audited instruction's offset, if the kernel is this one.
    pub(super) fn offset_in(&self, kernel: &str) -> Option<u64> {
        (kernel == self.kernel).then_some(self.offset)
    }
}

/// A memory instruction in flight.
#[derive(Debug)]
struct Flight {
    class: Class,
    sequence: u32,
    rows: RowSet,
    scalars: u128,
    lanes: u64,
    /// Its accesses, in `GroupAudit::accesses`.
    accesses: Vec<usize>,
    /// The generation in which the original retired it, if the mutant did not.
    late: Option<u32>,
}

#[derive(Debug, Default)]
struct WaveAudit {
    issued: [u32; 3],
    flights: Vec<Flight>,
    /// Whether the barrier at which it waits is the audited one.
    at_audited: bool,
    /// Barriers but the audited one that it has passed, by the number of all that it has.
    others: Vec<u32>,
}

/// Bytes that one instruction of one wave accesses.
#[derive(Clone, Copy, Debug)]
struct Touched {
    wave: usize,
    lds: bool,
    start: u64,
    end: u64,
    writes: bool,
    atomic: bool,
    /// Barriers that the workgroup had passed when it was issued, and when it was retired.
    issued: u32,
    retired: u32,
    /// The generation after which it is unordered without the wait.
    late: Option<u32>,
    /// Whether its wave wrote what may be a flag while it was late, and the vector cache does not
    /// order the two.
    told: bool,
}

impl Touched {
    fn conflicts(&self, other: &Self) -> bool {
        self.wave != other.wave
            && self.lds == other.lds
            && self.start < other.end
            && other.start < self.end
            && (self.writes || other.writes)
            && !(self.atomic && other.atomic)
    }
}

/// An operation that may tell other workgroups of accesses, or be told of theirs.
#[derive(Clone, Copy, Debug)]
struct Signal {
    wave: usize,
    issued: u32,
    /// Whether it tells, and is not only told.
    releases: bool,
}

/// Audit of one workgroup at a time.
#[derive(Debug)]
pub(super) struct GroupAudit<'a> {
    audit: &'a Audit,
    /// Index of the audited instruction.
    index: usize,
    waves: Vec<WaveAudit>,
    accesses: Vec<Touched>,
    /// What may order accesses of different workgroups.
    signals: Vec<Signal>,
    /// Whether a word of LDS is polled or counted in, so that any store there may be a flag.
    lds_flags: bool,
    /// Whether a wave wrote to LDS while a late access of its own was in flight there.
    told_in_lds: bool,
    generation: u32,
    executed: u64,
    needed: Option<String>,
}

impl<'a> GroupAudit<'a> {
    pub(super) fn new(audit: &'a Audit, index: usize, waves: usize) -> Self {
        Self {
            audit,
            index,
            waves: (0..waves).map(|_| WaveAudit::default()).collect(),
            accesses: Vec::new(),
            signals: Vec::new(),
            lds_flags: false,
            told_in_lds: false,
            generation: 0,
            executed: 0,
            needed: None,
        }
    }

    fn need(&mut self, why: &str) {
        self.needed.get_or_insert_with(|| why.to_owned());
    }

    /// Called before each instruction.
    pub(super) fn before(&mut self, at: usize, facts: &Facts, index: usize, exec: u64) {
        let audited = index == self.index;
        self.executed += u64::from(audited);
        self.misuse(at, facts, exec);
        match &facts.action {
            Action::Wait { vector, lgkm } => {
                let original = (*vector, *lgkm);
                match self.audit.weakened {
                    Weakened::Wait { vector, lgkm } if audited => {
                        self.weakened_wait(at, original, (vector, lgkm));
                    }
                    _ => self.wait(at, original),
                }
            }
            Action::Barrier => self.waves[at].at_audited = audited,
            Action::WriteBack => {
                self.signal(at, true);
                self.write_back(at);
            }
            Action::Invalidate => self.signal(at, false),
            Action::Plain | Action::Memory(_) | Action::End | Action::InvalidateScalars => {}
        }
    }

    /// Whether an instruction uses registers that a late load fills.
    fn misuse(&mut self, at: usize, facts: &Facts, exec: u64) {
        let lanes = if facts.lanes == LaneRule::Active { exec } else { u64::MAX };
        let all = (&facts.touches, facts.scalar_reads | facts.scalar_writes);
        let own = own_class(facts);
        let touched = self.waves[at].flights.iter().any(|flight| {
            // Results of one class arrive in order, so a load may follow a load to the same register.
            let follows = own == Some(flight.class) && flight.class != Class::Scalar;
            let (rows, scalars) = if follows { (&facts.reads, facts.scalar_reads) } else { all };
            flight.late.is_some()
                && (flight.lanes & lanes != 0 && flight.rows.meets(rows)
                    || flight.scalars & scalars != 0)
        });
        if touched {
            self.need("a register is used that a load behind it fills");
        }
    }

    /// Notes an operation that may order this workgroup's accesses for another.
    fn signal(&mut self, at: usize, releases: bool) {
        self.signals.push(Signal { wave: at, issued: self.generation, releases });
        let accesses = &self.accesses;
        let is_global = |flight: &Flight| flight.accesses.iter().any(|&at| !accesses[at].lds);
        let late = |flight: &Flight| flight.late.is_some() && is_global(flight);
        if releases && self.waves[at].flights.iter().any(late) {
            self.need("an access is in flight when other workgroups are told of it");
        }
    }

    /// Notes `buffer_wbl2`: until it is complete, what it writes back is in flight. It accesses no
    /// bytes of its own.
    fn write_back(&mut self, at: usize) {
        self.issue(at, Class::Vector, Operand::NONE, 0);
        self.access(
            Class::Vector,
            Touched {
                wave: at,
                lds: false,
                start: 0,
                end: 0,
                writes: false,
                atomic: false,
                issued: self.generation,
                retired: u32::MAX,
                late: None,
                told: false,
            },
        );
    }

    /// Notes an access of the last instruction of a class.
    fn access(&mut self, class: Class, touched: Touched) {
        let number = self.accesses.len();
        self.accesses.push(touched);
        let flights = &mut self.waves[touched.wave].flights;
        if let Some(flight) = flights.iter_mut().rev().find(|flight| flight.class == class) {
            flight.accesses.push(number);
        }
    }

    /// Notes a memory instruction that is issued.
    pub(super) fn issue(&mut self, at: usize, class: Class, dst: Operand, lanes: u64) {
        self.wait(at, room(class));
        let wave = &mut self.waves[at];
        let sequence = &mut wave.issued[class as usize];
        *sequence += 1;
        let mut rows = RowSet::default();
        if let Some(first) = dst.vector_index() {
            (first..first + usize::from(dst.dwords)).for_each(|row| rows.insert(row & 511));
        }
        wave.flights.push(Flight {
            class,
            sequence: *sequence,
            rows,
            scalars: scalar_bits(dst),
            lanes,
            accesses: Vec::new(),
            late: None,
        });
    }

    /// Notes what the last instruction of a class accesses.
    pub(super) fn touch(
        &mut self,
        at: usize,
        class: Class,
        memory: &Memory,
        lds: bool,
        ranges: &[Range],
    ) {
        let fills = matches!(memory.access, Access::ToLds { .. });
        let atomic = memory.access == Access::Atomic;
        let writes = atomic || memory.access == Access::Store || fills && lds;
        if !lds && (atomic || memory.scope == Scope::Device) {
            self.signal(at, memory.access != Access::Load);
        }
        if lds && !fills {
            self.lds_flags |= atomic || memory.polls;
            let accesses = &self.accesses;
            let in_lds = |flight: &Flight| flight.accesses.iter().any(|&at| accesses[at].lds);
            let mut late = self.waves[at].flights.iter().filter(|flight| flight.late.is_some());
            self.told_in_lds |= writes && late.any(in_lds);
        }
        let may_tell = if lds { !fills } else { memory.flag && !ranges.is_empty() };
        if writes && may_tell {
            self.tell(at);
        }
        for range in ranges {
            let touched = Touched {
                wave: at,
                lds,
                start: range.start,
                end: range.end(),
                writes,
                atomic,
                issued: self.generation,
                retired: u32::MAX,
                late: None,
                told: false,
            };
            let own = |flight: &&Flight| flight.late.is_some() && flight.class != class;
            // Within a class, a wave's accesses are made in order.
            let overtaken = self.waves[at].flights.iter().filter(own).any(|flight| {
                let other_wave = Touched { wave: usize::MAX, ..touched };
                flight.accesses.iter().any(|&at| self.accesses[at].conflicts(&other_wave))
            });
            if overtaken {
                self.need("the wave itself accesses what is in flight");
            }
            self.access(class, touched);
        }
    }

    /// Notes that a wave may tell others of the workgroup of what is in flight and not in the order of
    /// the vector cache.
    fn tell(&mut self, at: usize) {
        for flight in self.waves[at].flights.iter().filter(|flight| flight.late.is_some()) {
            for &number in &flight.accesses {
                let access = &mut self.accesses[number];
                access.told |= access.lds || flight.class == Class::Scalar;
            }
        }
    }

    fn wait(&mut self, at: usize, counts: (Option<u32>, Option<u32>)) {
        let wave = &mut self.waves[at];
        let issued = wave.issued;
        let retired = wave.flights.extract_if(.., |flight| retires(flight, &issued, counts));
        for flight in retired {
            for access in flight.accesses {
                let access = &mut self.accesses[access];
                (access.retired, access.late) = (self.generation, flight.late);
            }
        }
    }

    fn weakened_wait(
        &mut self,
        at: usize,
        original: (Option<u32>, Option<u32>),
        left: (Option<u32>, Option<u32>),
    ) {
        self.wait(at, left);
        let wave = &mut self.waves[at];
        for flight in &mut wave.flights {
            if flight.late.is_none() && retires(flight, &wave.issued, original) {
                flight.late = Some(self.generation);
            }
        }
    }

    /// Called when the waves of `arrived` leave a barrier.
    pub(super) fn barrier(&mut self, arrived: u64) {
        for (at, wave) in self.waves.iter_mut().enumerate() {
            let passed = wave.others.last().copied().unwrap_or(0);
            let counts = arrived >> at & 1 != 0 && !wave.at_audited;
            wave.others.push(passed + u32::from(counts));
            wave.at_audited = false;
        }
        self.generation += 1;
    }

    /// Called when the workgroup has ended.
    pub(super) fn end(&mut self) {
        for wave in &mut self.waves {
            for flight in wave.flights.drain(..) {
                for access in flight.accesses {
                    self.accesses[access].late = flight.late;
                }
            }
        }
        if self.lds_flags && self.told_in_lds {
            self.need("an access to LDS is in flight when another wave may be told of it");
        }
        if self.executed > 0 && self.needed.is_none() {
            let why = match self.audit.weakened {
                Weakened::Barrier => self.kept_apart(),
                Weakened::Wait { .. } => self.exposed(),
            };
            if let Some(why) = why {
                self.need(why);
            }
        }
        let mut verdict = self.audit.verdict.lock().unwrap_or_else(PoisonError::into_inner);
        verdict.executed += self.executed;
        if verdict.needed.is_none() {
            verdict.needed = self.needed.take();
        }
        drop(verdict);
        self.accesses.clear();
        self.signals.clear();
        self.waves.fill_with(WaveAudit::default);
        (self.lds_flags, self.told_in_lds) = (false, false);
        (self.generation, self.executed, self.needed) = (0, 0, None);
    }

    /// Why late accesses matter to other waves.
    fn exposed(&self) -> Option<&'static str> {
        let late: Vec<_> = self.accesses.iter().filter(|access| access.late.is_some()).collect();
        for access in late {
            // Until here, nothing ordered the other wave behind the access in the original either.
            let since = access.late.unwrap_or(0);
            let within = |issued: u32| since < issued && issued <= access.retired;
            if self.accesses.iter().any(|other| within(other.issued) && access.conflicts(other)) {
                return Some("another wave accesses what is in flight");
            }
            let meanwhile = |issued: u32| since <= issued && issued <= access.retired;
            let meets = |other: &Touched| meanwhile(other.issued) && access.conflicts(other);
            if access.told && self.accesses.iter().any(meets) {
                return Some("another wave accesses what is in flight, and a flag may tell it so");
            }
            let told = |signal: &Signal| {
                signal.releases && signal.wave != access.wave && within(signal.issued)
            };
            if !access.lds && self.signals.iter().any(told) {
                return Some("another wave tells other workgroups of an access in flight");
            }
        }
        None
    }

    /// Why the audited barrier matters: what the others do not keep apart.
    fn kept_apart(&self) -> Option<&'static str> {
        let last = |wave: &WaveAudit| wave.others.last().copied();
        if self.waves.windows(2).any(|pair| last(&pair[0]) != last(&pair[1])) {
            return Some("waves come to different numbers of other barriers");
        }
        // Barriers that are left and that a wave has passed in a generation.
        let left = |wave: usize, generation: u32| match generation {
            0 => 0,
            // Not retired before the end.
            u32::MAX => u32::MAX,
            _ => self.waves[wave].others.get(generation as usize - 1).copied().unwrap_or(u32::MAX),
        };
        // Whether two points of two waves were in order, and are not any more.
        let lost = |(first, at): (usize, u32), (second, then): (usize, u32)| {
            at < then && left(first, at) >= left(second, then)
        };
        let mut by_left: BTreeMap<u32, Vec<&Touched>> = BTreeMap::new();
        for access in &self.accesses {
            by_left.entry(left(access.wave, access.issued)).or_default().push(access);
        }
        for access in &self.accesses {
            // The waves of a workgroup share the vector cache, which serves them in order.
            let done = if access.lds { access.retired } else { access.issued };
            let point = (access.wave, done);
            if done != u32::MAX {
                let latest = left(access.wave, done);
                let soonest = (0..self.waves.len()).map(|wave| left(wave, done + 1)).min();
                let behind = by_left.range(soonest.unwrap_or(0).min(latest)..=latest);
                let conflict = |other: &&&Touched| {
                    lost(point, (other.wave, other.issued)) && access.conflicts(other)
                };
                if behind.flat_map(|(_, others)| others).any(|other| conflict(&other)) {
                    return Some("two waves access the same bytes before and behind it");
                }
            }
            let told = |signal: &Signal| {
                let (told, begun) = ((signal.wave, signal.issued), (access.wave, access.issued));
                signal.wave != access.wave
                    && (lost((access.wave, access.retired), told) || lost(told, begun))
            };
            if !access.lds && self.signals.iter().any(told) {
                return Some("it orders accesses with what other workgroups are told");
            }
        }
        None
    }
}

/// Whether a wait for these counts retires an instruction.
fn retires(flight: &Flight, issued: &[u32; 3], counts: (Option<u32>, Option<u32>)) -> bool {
    let behind = issued[flight.class as usize] - flight.sequence;
    match flight.class {
        Class::Vector => counts.0.is_some_and(|left| behind >= left),
        Class::Lds => counts.1.is_some_and(|left| behind >= left),
        // They return in any order.
        Class::Scalar => counts.1 == Some(0),
    }
}
