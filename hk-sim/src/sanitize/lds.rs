//! Checks of LDS accesses.

use std::collections::{HashMap, VecDeque};

use super::clock::{Class, Epoch, Knowledge, Known, Strength, View};
use super::facts::{Access, Facts, Memory, ones};
use super::global::Unwritten;
use super::group::{GroupChecker, WaveState};
use super::launch::{Draft, Key, Who};
use super::memory::Bytes;
use super::shadow::{Conflict, Mode, Observer, PAGE, ShadowPage, by_page};
use super::transfer::Transfer;
use super::undefined::{Origin, OriginId, Taint};
use super::uses::Use;
use super::{Checks, Kind, Severity};
use crate::exec::Wave;
use crate::exec::effects::{Range, Reach};

/// Checks that compare the accesses of waves.
const ORDERING: Checks = Checks::of(Kind::Race).with(Kind::Order);

/// How reports name LDS.
const PLACE: &str = "LDS";

/// What an instruction does to LDS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    /// It accesses it at its (first) address.
    First,
    /// It accesses it at the second address of a two-address operation.
    Second,
    /// It fills the slots of a direct-to-LDS load.
    Fill,
}

/// Shadow of the LDS of one workgroup.
pub(super) struct LdsShadow {
    /// Bytes of LDS.
    limit: u64,
    pages: Vec<ShadowPage>,
    /// Pages that were touched since the accesses were forgotten.
    touched: Vec<bool>,
    /// Whether a direct-to-LDS load was seen since then.
    direct: bool,
    /// Bytes that were written with defined values.
    defined: Bytes,
    /// Where the undefined values come from that were stored, by the offset of the dword.
    origins: HashMap<u64, OriginId>,
}

/// What a wave knew when it wrote to LDS: whoever sees what it wrote may know that too.
#[derive(Debug, Default)]
pub(super) struct Releases {
    /// The number of the first instruction behind which the wave knew as much, ascending.
    known: VecDeque<(u32, Box<Knowledge>)>,
    /// Whether it knows more by now.
    stale: bool,
}

/// Releases of a wave that are kept.
const RELEASES_KEPT: usize = 512;

impl Releases {
    /// Forgets everything.
    pub(super) fn reset(&mut self) {
        self.known.clear();
        self.stale = true;
    }

    /// The wave knows more than before.
    pub(super) fn renew(&mut self) {
        self.stale = true;
    }

    /// Notes what is known before the instruction with this number writes.
    fn note(&mut self, sequence: u32, known: &Knowledge) {
        if std::mem::take(&mut self.stale) {
            if self.known.len() == RELEASES_KEPT {
                self.known.pop_front();
            }
            self.known.push_back((sequence, Box::new(known.clone())));
        }
    }

    /// What was known when the instruction with this number wrote.
    fn get(&self, sequence: u32) -> Option<&Knowledge> {
        let behind = self.known.partition_point(|(first, _)| *first <= sequence);
        self.known.get(behind.checked_sub(1)?).map(|(_, known)| &**known)
    }
}

impl LdsShadow {
    pub(super) fn new(bytes: u32) -> Self {
        let pages = u64::from(bytes).div_ceil(PAGE) as usize;
        Self {
            limit: bytes.into(),
            pages: (0..pages).map(|_| ShadowPage::default()).collect(),
            touched: vec![false; pages],
            direct: false,
            defined: Bytes::default(),
            origins: HashMap::new(),
        }
    }

    /// Whether bytes hold defined values.
    pub(super) fn is_defined(&self, start: u64, len: u64) -> bool {
        self.defined.all(start, len)
    }

    /// A workgroup starts; nothing of LDS is defined.
    pub(super) fn reset(&mut self) {
        self.defined.reset(self.limit);
        self.origins.clear();
        self.forget();
    }

    /// Forgets who accessed what.
    fn forget(&mut self) {
        for (page, touched) in self.pages.iter_mut().zip(&mut self.touched) {
            if std::mem::take(touched) {
                page.clear();
            }
        }
        self.direct = false;
    }

    /// Notes an access; what lies outside is reported and not executed.
    fn access(
        &mut self,
        ranges: &[Range],
        view: &View<'_>,
        index: u32,
        mode: Mode,
        observer: &mut Observer<'_>,
    ) {
        by_page(ranges, self.limit, |page, ranges| {
            self.touched[page as usize] = true;
            self.pages[page as usize].access(ranges, view, index, mode, observer);
        });
    }
}

impl GroupChecker<'_> {
    /// Forgets the accesses to LDS if those of all waves are known to be complete to all that leave
    /// a barrier with the knowledge `all`: none of them can be in conflict with a later one, nor can
    /// who wrote tell anything new.
    pub(super) fn forget_complete_lds(&mut self, all: &Knowledge) {
        let direct = self.lds.direct;
        let complete = |(wave, known): (&WaveState, &Known)| {
            let all_of =
                |class: Class| known.done[class as usize] == wave.counters.issued[class as usize];
            all_of(Class::Lds) && (!direct || all_of(Class::Vector))
        };
        if self.waves.iter().zip(&all.clock.0).all(complete) {
            self.lds.forget();
            self.waves.iter_mut().for_each(|wave| wave.releases.reset());
        }
    }

    /// Checks an access to LDS at the offsets in `reach`.
    pub(super) fn lds_access(
        &mut self,
        wave: &Wave<'_>,
        facts: &Facts,
        memory: &Memory,
        index: usize,
        side: Side,
        reach: &Reach,
    ) {
        let ranges = &reach.in_lds;
        let limit = u64::from(wave.lds_len);
        let checks = self.launch.checks;
        let at = wave.index as usize;
        if checks.has(Kind::Lds) {
            self.lds_bounds(at, index, reach, memory, limit);
        }
        let (access, direct) = (memory.access, side == Side::Fill);
        self.lds.direct |= direct;
        let (race, waits) = (checks.any(ORDERING), checks.has(Kind::Async));
        let concerned = race || waits && self.lds.direct;
        if !concerned {
            return;
        }
        let writes = access != Access::Load;
        let mode = match (race, writes) {
            (true, true) if access == Access::Atomic => Mode::Update,
            (true, true) => Mode::Write,
            (true, false) => Mode::Read,
            // Only what direct-to-LDS loads write is of interest.
            (false, _) => {
                if direct {
                    Mode::Write
                } else {
                    Mode::Compare
                }
            }
        };
        let single = matches!(ranges.as_slice(), [only] if only.len <= 8);
        let strength = match access {
            Access::Atomic => Strength::Group,
            Access::Store if single => Strength::Flag,
            _ => Strength::Plain,
        };
        if race && !direct {
            if memory.polls || access == Access::Atomic && single {
                self.lds_acquire(at, ranges.as_slice());
            }
            if memory.polls {
                // It waits for whoever writes there.
                return;
            }
            if writes {
                let state = &mut self.waves[at];
                state.releases.note(state.counters.issued[Class::Lds as usize], &state.known);
            }
        }
        let class = if direct { Class::Vector } else { Class::Lds };
        let epoch = self.epoch(at, class, strength);
        let transfer = Transfer::new(wave, facts, memory, side == Side::Second, reach.lds, reach);
        let Self { launch, waves, lds, group, .. } = self;
        let Knowledge { clock, foreign, .. } = &waves[at].known;
        let view = View { epoch, clock, foreign, lds: true };
        let mut last = None;
        let mut report = |found: Conflict| {
            // A direct-to-LDS load may write whenever it is not waited for.
            let asynchronous = direct || found.epoch.class() == Class::Vector;
            let kind = match asynchronous && waits {
                true => Kind::Async,
                false if view.after_in_lds(found.epoch) => Kind::Order,
                false => Kind::Race,
            };
            let severity = if found.same { Severity::Note } else { Severity::Error };
            let key = Key { severity, kind, index };
            if !checks.has(kind) || last.replace(key) == Some(key) || launch.repeats(key) {
                return;
            }
            let who = Who { group: *group, wave: at };
            let detail = describe(writes, kind, asynchronous, &found);
            let mut draft = Draft::new(kind, who, index, detail);
            draft.severity = severity;
            draft.address = Some(found.address);
            draft.lane = transfer.lane_at(found.address);
            draft.allocation = Some(PLACE.to_owned());
            let verb = match (found.write, found.epoch.class()) {
                (true, Class::Vector) => "direct-to-LDS load",
                (true, _) => "write",
                _ => "read",
            };
            let other_who = Who { group: *group, wave: found.epoch.wave() };
            draft.other = Some((verb, found.index as usize, other_who));
            launch.report(draft);
        };
        let is_same = |offset: u64, len: u64| {
            let peek = |wave: &Wave<'_>, to: &mut [u8]| wave.peek_lds(offset, to);
            transfer.leaves(offset, len, peek)
        };
        let mut observer =
            Observer { conflict: &mut report, is_same: &is_same, overlaps: ranges.shared };
        lds.access(ranges.as_slice(), &view, index as u32, mode, &mut observer);
        if observer.overlaps && mode == Mode::Write && !direct && checks.has(Kind::Race) {
            self.check_agreement(at, index, &transfer, Some(PLACE));
        }
    }

    /// A wave that polls or updates words of LDS learns what those knew who wrote there.
    fn lds_acquire(&mut self, at: usize, ranges: &[Range]) {
        let mut writers: Vec<Epoch> = Vec::new();
        for range in ranges {
            let limit = PAGE * self.lds.pages.len() as u64;
            let mut start = range.start;
            while start < range.end().min(limit) {
                let end = range.end().min((start / PAGE + 1) * PAGE);
                let page = &self.lds.pages[(start / PAGE) as usize];
                page.writers((start, end), &mut |writer| {
                    if !writers.contains(&writer) {
                        writers.push(writer);
                    }
                });
                start = end;
            }
        }
        for writer in writers {
            let other = writer.wave();
            if other == at || writer.class() != Class::Lds {
                continue;
            }
            let (own, other) = match self.waves.get_disjoint_mut([at, other]) {
                Ok([own, other]) => (own, other),
                Err(_) => continue,
            };
            let Some(released) = other.releases.get(writer.sequence()) else { continue };
            own.known.join(released);
            let issued = &mut own.known.clock.0[writer.wave()].issued_in_lds;
            *issued = (*issued).max(writer.sequence());
            own.releases.renew();
        }
    }

    /// Follows undefined values into and out of LDS.
    pub(super) fn lds_follow(
        &mut self,
        wave: &Wave<'_>,
        facts: &Facts,
        memory: &Memory,
        index: usize,
        second: bool,
        reach: &Reach,
    ) {
        let at = wave.index as usize;
        if memory.access == Access::Store {
            return self.lds_store(at, memory, index, second, reach);
        }
        if memory.access == Access::Atomic {
            let stored = self.stored(at, memory, second);
            let lanes = stored.lanes & reach.lds;
            if lanes != 0 {
                self.report_use(at, index, Taint { lanes, ..stored }, Use::Atomic);
            }
        }
        self.lds_load(at, facts, memory, index, second, reach);
        if memory.replaces {
            for range in reach.in_lds.as_slice() {
                self.lds.defined.set(range.start, range.len.into(), true);
            }
        }
    }

    /// Marks what is undefined of the result of a load or an atomic operation.
    fn lds_load(
        &mut self,
        at: usize,
        facts: &Facts,
        memory: &Memory,
        index: usize,
        second: bool,
        reach: &Reach,
    ) {
        if reach.lds == u64::MAX && self.lds.defined.all_of_lanes(&reach.at, reach.bytes) {
            return;
        }
        let undefined = |range: &&Range| !self.lds.is_defined(range.start, range.len.into());
        let Some(range) = reach.in_lds.as_slice().iter().find(undefined) else { return };
        let Some(first) = facts.inst.dst[0].vector_index() else { return };
        // Where a dword was stored anew, what was there before does not count.
        let mut dwords = (range.start & !3..range.end())
            .step_by(4)
            .filter(|dword| !self.lds.is_defined(*dword, 4));
        let stored = dwords.find_map(|dword| self.lds.origins.get(&dword).copied());
        let origin = match stored {
            Some(origin) => origin,
            None if !self.launch.checks.has(Kind::Lds) => return,
            None => {
                let missing = ones(reach.lds)
                    .find(|lane| !self.lds.is_defined(reach.at[*lane], reach.len(*lane).into()));
                let lane = missing.map(|lane| lane as u32);
                let address = missing.map(|lane| reach.at[lane]);
                self.origins.add(Origin { kind: Kind::Lds, index, lane, address, wave: at })
            }
        };
        if let Some(bits) = memory.transpose {
            return self.follow_transpose(at, first, bits, origin, reach);
        }
        let dwords = reach.bytes.div_ceil(4) as usize;
        let first = if second { first + dwords } else { first };
        let defined = &self.lds.defined;
        let missing: Vec<(usize, usize)> = ones(reach.lds)
            .flat_map(|lane| (0..dwords).map(move |dword| (lane, dword)))
            .filter(|(lane, dword)| {
                !defined.all(reach.at[*lane] + 4 * *dword as u64, reach.bytes.min(4).into())
            })
            .collect();
        self.load_undefined(at, first, dwords, &missing, origin);
    }

    /// Notes what a store defines.
    fn lds_store(&mut self, at: usize, memory: &Memory, index: usize, second: bool, reach: &Reach) {
        let stored = self.stored(at, memory, second);
        for range in reach.in_lds.as_slice() {
            self.lds.defined.set(range.start, range.len.into(), true);
        }
        if stored.lanes & reach.lds == 0 {
            return;
        }
        let first = if second { memory.second_data } else { memory.data };
        for dword in 0..memory.data_rows {
            let mut taint = self.waves[at].undefined.row(first.unwrap_or(0) + dword);
            if taint.lanes != 0 && taint.origin == 0 {
                let (kind, lane, address) = (Kind::Uninit, None, None);
                taint.origin = self.origins.add(Origin { kind, index, lane, address, wave: at });
            }
            for lane in ones(taint.lanes & reach.lds) {
                let start = reach.at[lane] + 4 * dword as u64;
                self.lds.defined.set(start, reach.bytes.min(4).into(), false);
                self.lds.origins.insert(start & !3, taint.origin);
            }
        }
    }

    /// Notes what a direct-to-LDS load defines: all but what it reads that nobody wrote.
    pub(super) fn lds_fill(&mut self, reach: &Reach, unwritten: &Unwritten) {
        for range in reach.in_lds.as_slice() {
            self.lds.defined.set(range.start, range.len.into(), true);
        }
        for &(lane, dword) in &unwritten.missing {
            let start = reach.at[lane].wrapping_add(4 * dword as u64);
            self.lds.defined.set(start, reach.bytes.min(4).into(), false);
            self.lds.origins.insert(start & !3, unwritten.origin);
        }
    }

    fn lds_bounds(&self, at: usize, index: usize, reach: &Reach, memory: &Memory, limit: u64) {
        let natural = memory.access == Access::Atomic || memory.transpose.is_some();
        let align = u64::from(if natural { reach.bytes.min(8) } else { reach.bytes.min(4) });
        // A size that is no power of two is made of dwords.
        let align = if align.is_power_of_two() { align } else { 4 };
        if reach.lds == u64::MAX {
            let most = reach.at.iter().fold(0, |most, start| most.max(*start));
            let bits = reach.at.iter().fold(0, |bits, start| bits | start);
            if bits & (align - 1) == 0 && most.saturating_add(reach.bytes.into()) <= limit {
                return;
            }
        }
        let bad = |lane: usize| {
            let start = reach.at[lane];
            let outside = start > limit || start + u64::from(reach.bytes) > limit;
            (outside || start & (align - 1) != 0).then_some((lane, start, outside))
        };
        let Some((lane, start, outside)) = ones(reach.lds).find_map(bad) else {
            return;
        };
        let bytes = reach.bytes;
        let detail = if outside {
            format!("{bytes} bytes at LDS offset {start:#x}; the workgroup has {limit:#x} bytes")
        } else {
            format!("LDS offset {start:#x} is not a multiple of {align}")
        };
        let mut draft = Draft::new(Kind::Lds, self.who(at), index, detail);
        draft.lane = Some(lane as u32);
        draft.address = Some(start);
        draft.allocation = Some(PLACE.to_owned());
        self.launch.report(draft);
    }
}

fn describe(writes: bool, kind: Kind, asynchronous: bool, earlier: &Conflict) -> String {
    let what = match (writes, earlier.write, asynchronous) {
        (false, _, true) => {
            return "LDS is read that a direct-to-LDS load fills, without a wait of the loading \
                    wave and a barrier behind it"
                .to_owned();
        }
        (true, true, true) => "LDS is written twice, once by a direct-to-LDS load",
        (true, false, true) => "a direct-to-LDS load writes LDS that was read",
        (true, true, false) => "two waves write the same LDS",
        (true, false, false) => "LDS is written that another wave read",
        (false, _, false) => "LDS is read that another wave wrote",
    };
    let why = match kind {
        Kind::Order => "they are ordered by LDS issue alone: nobody waited for the earlier access",
        _ => "nothing orders the two",
    };
    let but = if earlier.same { "; the bytes stay as they are" } else { "" };
    format!("{what}, and {why}{but}")
}
