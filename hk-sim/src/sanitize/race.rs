//! Races in device memory, between all waves of a launch.
//!
//! A wave that writes a flag (with an atomic operation, or a store whose encoding has a scope)
//! leaves what it knows there, and one that reads the flag (with an atomic operation that returns
//! the old value, a load that has a scope, or one that polls) knows it too once it has waited for
//! the value. Atomic operations on a flag add to what is there, stores replace it.
//!
//! Inside of a workgroup nothing more is needed, since its waves share a vector cache that serves
//! them in order. Between workgroups the caches are not coherent:
//!
//! - A plain store reaches the others when `buffer_wbl2` behind it, by its wave or by one of the
//!   workgroup that knows of it, has completed before the flag is written. A store of device scope
//!   has to be complete.
//! - A plain load sees what others stored only if the vector cache was invalidated (`buffer_inv`)
//!   since the flag was read; until then it may find an old line there. A load of device scope
//!   does not use the cache.
//! - Atomic operations and accesses of device scope to one address are in no race among themselves;
//!   those of workgroup scope are in one with other workgroups. The encoding does not tell atomic
//!   operations of workgroup scope from those of device scope. A plain store is no flag.
//!
//! The scalar cache is another matter: see `scalar`.
//!
//! Two stores of the same bytes to one address may come in either order: they are noted, and who
//! comes after one of them sees what the other leaves as well. Which bytes memory has is known since
//! a store holds the pages that it writes from the look at their shadow until it is executed.
//!
//! Which write of a flag a wave sees is that of the schedule, so a wait for the wrong value is
//! found only if the value was seen too early. Workgroups give way to others behind their flags to
//! make that likely.

use std::collections::HashMap;
use std::hash::BuildHasherDefault;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::clock::{Class, Clock, Emptied, Foreign, Knowledge, Strength, View};
use super::facts::{Access, Facts, Memory, Scope, ones};
use super::footprint::Footprint;
use super::group::GroupChecker;
use super::launch::{Draft, Key, Who};
use super::scalar::ScalarCaches;
use super::shadow::{Conflict, Mode, Observer, PAGE, ShadowPage, by_page};
use super::transfer::Transfer;
use super::{Kind, Severity};
use crate::exec::Wave;
use crate::exec::effects::{Range, Reach, locate_scalar};
use crate::mem::Mixer;

/// Locks that pages share, a power of two.
const SHARDS: u64 = 64;

/// Writers of a flag whose knowledge is kept apart.
const WRITERS_KEPT: usize = 8;

type Pages = HashMap<u64, ShadowPage, BuildHasherDefault<Mixer>>;

/// What a wave knew when it wrote a flag.
#[derive(Debug, Default)]
pub(super) struct Release {
    /// The wave; `None` for several.
    writer: Option<Who>,
    /// Clocks of all workgroups, its own among them.
    known: Foreign,
    /// What the vector cache of its workgroup has seen.
    fresh: Foreign,
    /// What the scalar cache has seen.
    emptied: Option<Arc<Emptied>>,
}

/// What is left at each flag, by the address of the dword.
#[derive(Debug, Default)]
struct Flags(HashMap<u64, Vec<Arc<Release>>, BuildHasherDefault<Mixer>>);

impl Flags {
    fn store(&mut self, word: u64, release: &Arc<Release>) {
        self.0.insert(word, vec![Arc::clone(release)]);
    }

    fn update(&mut self, word: u64, release: &Arc<Release>) {
        let releases = self.0.entry(word).or_default();
        // A wave knows what it knew before.
        releases.retain(|old| old.writer != release.writer);
        releases.push(Arc::clone(release));
        if releases.len() > WRITERS_KEPT {
            let mut all = Release::default();
            releases.iter().for_each(|old| all.known.join(&old.known));
            *releases = vec![Arc::new(all)];
        }
    }

    fn get(&self, word: u64) -> &[Arc<Release>] {
        self.0.get(&word).map_or(&[], Vec::as_slice)
    }
}

/// Shadow of device memory for one launch; only what is accessed takes room.
#[derive(Debug, Default)]
pub(super) struct DeviceShadow {
    shards: Box<[Mutex<Pages>]>,
    flags: Mutex<Flags>,
    pub(super) scalar: ScalarCaches,
}

/// Keeps others from what an instruction accesses until it has been executed.
pub(crate) struct Held<'a> {
    /// The flags of a launch, so that the instruction sees the value of the flag that belongs to
    /// what is noted there.
    _flags: Option<MutexGuard<'a, Flags>>,
    /// The pages that a store writes, so that memory has what is noted there.
    _pages: LockedPages<'a>,
    /// Whether the instruction writes a flag.
    pub(super) wrote: bool,
}

/// Pages that are locked, by the number of their shard.
#[derive(Default)]
struct LockedPages<'a> {
    first: Option<(u64, MutexGuard<'a, Pages>)>,
    others: Vec<(u64, MutexGuard<'a, Pages>)>,
}

impl<'a> LockedPages<'a> {
    fn get(&mut self, shard: u64) -> Option<&mut Pages> {
        let mut all = self.first.iter_mut().chain(&mut self.others);
        all.find(|(locked, _)| *locked == shard).map(|(_, pages)| &mut **pages)
    }

    fn add(&mut self, shard: u64, pages: MutexGuard<'a, Pages>) {
        match self.first {
            None => self.first = Some((shard, pages)),
            Some(_) => self.others.push((shard, pages)),
        }
    }
}

impl DeviceShadow {
    pub(super) fn new() -> Self {
        let shards = (0..SHARDS).map(|_| Mutex::default()).collect();
        Self { shards, flags: Mutex::default(), scalar: ScalarCaches::default() }
    }

    /// What the launch accessed.
    pub(super) fn footprint(self) -> Footprint {
        let shards = self.shards.into_iter();
        let pages =
            shards.flat_map(|pages| pages.into_inner().unwrap_or_else(PoisonError::into_inner));
        let mut pages: Vec<_> = pages.collect();
        pages.sort_unstable_by_key(|(page, _)| *page);
        pages.iter().flat_map(|(page, shadow)| shadow.touched(page * PAGE)).collect()
    }

    fn lock_flags(&self) -> MutexGuard<'_, Flags> {
        self.flags.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock_pages(&self, shard: u64) -> MutexGuard<'_, Pages> {
        self.shards[shard as usize].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes an access. The pages of a store stay locked.
    fn access(
        &self,
        ranges: &[Range],
        view: &View<'_>,
        index: u32,
        mode: Mode,
        observer: &mut Observer<'_>,
    ) -> LockedPages<'_> {
        let mut locked = LockedPages::default();
        if mode == Mode::Write {
            // All at once, in an order that all threads keep.
            let pages = |range: &Range| range.start / PAGE..range.end().div_ceil(PAGE);
            let shards = ranges.iter().flat_map(pages);
            let shards = shards.fold(0, |shards, page| shards | 1 << (page & (SHARDS - 1)));
            for shard in ones(shards) {
                locked.add(shard as u64, self.lock_pages(shard as u64));
            }
        }
        by_page(ranges, u64::MAX, |page, ranges| {
            let shard = page & (SHARDS - 1);
            if locked.get(shard).is_none() {
                // Others take one lock at a time.
                locked = LockedPages::default();
                locked.add(shard, self.lock_pages(shard));
            }
            if let Some(pages) = locked.get(shard) {
                pages.entry(page).or_default().access(ranges, view, index, mode, observer);
            }
        });
        if mode == Mode::Write { locked } else { LockedPages::default() }
    }
}

impl DeviceShadow {
    /// Writes to the ranges that do not come before an access.
    pub(super) fn unordered_writes(&self, ranges: &[Range], view: &View<'_>) -> Vec<Conflict> {
        let mut found = Vec::new();
        let mut conflict = |met: Conflict| found.push(met);
        let mut observer =
            Observer { conflict: &mut conflict, is_same: &|_, _| false, overlaps: false };
        self.access(ranges, view, 0, Mode::Compare, &mut observer);
        found
    }
}

/// Instructions of a wave for which the checks of flags wait.
#[derive(Debug, Default)]
pub(super) struct InFlight {
    /// What was found at flags, with the instruction that reads them.
    reads: Vec<(Class, u32, Arc<Release>)>,
    /// Numbers of `buffer_wbl2` with what was issued before.
    write_backs: Vec<(u32, Box<Clock>)>,
}

impl InFlight {
    /// Forgets everything.
    pub(super) fn reset(&mut self) {
        self.reads.clear();
        self.write_backs.clear();
    }

    fn read(&mut self, class: Class, sequence: u32, release: &Arc<Release>) {
        let known = self.reads.iter_mut().find(|(_, _, old)| Arc::ptr_eq(old, release));
        match known {
            // Classes complete apart from each other; the last of one is enough.
            Some(read) if read.0 == class => read.1 = sequence,
            _ => self.reads.push((class, sequence, Arc::clone(release))),
        }
    }

    /// Adds what instructions of a wave brought that are now complete.
    #[inline]
    pub(super) fn complete(&mut self, group: u64, done: [u32; 3], known: &mut Knowledge) {
        if self.reads.is_empty() && self.write_backs.is_empty() {
            return;
        }
        self.write_backs.retain(|(sequence, issued)| {
            let left = *sequence > done[Class::Vector as usize];
            if !left {
                for (mine, then) in known.clock.0.iter_mut().zip(&issued.0) {
                    mine.visible = mine.visible.max(then.issued);
                }
            }
            left
        });
        self.reads.retain(|(class, sequence, release)| {
            let left = *sequence > done[*class as usize];
            if !left {
                known.foreign.join(&release.known);
                if let Some(own) = release.known.get(group as u32) {
                    known.clock.join(own);
                }
                if release.writer.is_some_and(|writer| writer.group == group) {
                    known.fresh.join(&release.fresh);
                    known.join_emptied(release.emptied.as_ref());
                }
            }
            left
        });
    }
}

impl<'a> GroupChecker<'a> {
    /// `buffer_wbl2` of device scope: when it has completed, all that was issued before is in
    /// memory. The workgroup has one vector cache and one L2, so this holds for what the wave knows
    /// of its workgroup as well.
    pub(super) fn write_back(&mut self, at: usize) {
        let sequence = self.issue(at, Class::Vector);
        let state = &mut self.waves[at];
        state.known.clock.0[at].issued = sequence;
        if self.launch.device.is_some() {
            let issued = Box::new(state.known.clock.clone());
            state.in_flight.write_backs.push((sequence, issued));
        }
    }

    /// `buffer_inv` of device scope: from here on loads see all that the wave knows of.
    pub(super) fn invalidate(&mut self, at: usize) {
        let state = &mut self.waves[at];
        state.known.fresh = state.known.foreign.clone();
        state.releases.renew();
    }

    /// Checks an access to device memory. The result is to be kept until the instruction has been
    /// executed.
    pub(super) fn device_access(
        &mut self,
        wave: &Wave<'_>,
        facts: &Facts,
        memory: &Memory,
        index: usize,
        reach: &Reach,
    ) -> Option<Held<'a>> {
        let at = wave.index as usize;
        let class = (Class::Vector, strength(memory));
        let held = self.synchronise(at, facts, memory, Class::Vector, || {
            let words = |lane: usize| {
                let first = reach.at[lane] & !3;
                (first..reach.at[lane].saturating_add(reach.bytes.into())).step_by(4)
            };
            ones(reach.global).flat_map(words)
        });
        let ranges = &reach.in_global;
        let transfer = Transfer::new(wave, facts, memory, false, reach.global, reach);
        let (pages, overlaps) =
            self.race(at, memory, index, class, ranges.as_slice(), Some(&transfer));
        if (overlaps || ranges.shared) && memory.access == Access::Store {
            self.check_agreement(at, index, &transfer, None);
        }
        hold(memory, held, pages)
    }

    /// The same for scalar memory instructions.
    pub(super) fn scalar_device_access(
        &mut self,
        wave: &Wave<'_>,
        facts: &Facts,
        memory: &Memory,
        index: usize,
    ) -> Option<Held<'a>> {
        let at = wave.index as usize;
        let (start, len) = locate_scalar(wave, &facts.inst, memory);
        let class = (Class::Scalar, strength(memory));
        let held = self.synchronise(at, facts, memory, Class::Scalar, || {
            (start..start + u64::from(len)).step_by(4)
        });
        let range = Range { start, len, lane: 0 };
        let (pages, _) = self.race(at, memory, index, class, &[range], None);
        hold(memory, held, pages)
    }

    /// Reads and writes the flags at `words` if the instruction may do that.
    fn synchronise<I: Iterator<Item = u64>>(
        &mut self,
        at: usize,
        facts: &Facts,
        memory: &Memory,
        class: Class,
        words: impl Fn() -> I,
    ) -> Option<MutexGuard<'a, Flags>> {
        if !memory.flag {
            return None;
        }
        let mut flags = self.launch.device.as_ref()?.lock_flags();
        let reads = match memory.access {
            Access::Atomic => facts.inst.dst[0].is_some(),
            access => access == Access::Load,
        };
        let sequence = self.waves[at].counters.issued[class as usize];
        let state = &mut self.waves[at];
        let release = (memory.access != Access::Load).then(|| {
            let Knowledge { clock, foreign, fresh, emptied } = &state.known;
            Arc::new(Release {
                writer: Some(Who { group: self.group, wave: at }),
                known: foreign.with(self.group as u32, clock),
                fresh: fresh.clone(),
                emptied: emptied.clone(),
            })
        });
        let mut last = None;
        for word in words() {
            // Lanes often share a word.
            if last.replace(word) == Some(word) {
                continue;
            }
            if reads {
                for release in flags.get(word) {
                    state.in_flight.read(class, sequence, release);
                }
            }
            match &release {
                Some(release) if memory.access == Access::Atomic => {
                    flags.update(word, release);
                }
                Some(release) => flags.store(word, release),
                None => {}
            }
        }
        Some(flags)
    }

    /// Looks for races, and says whether lanes of a store overlap.
    fn race(
        &self,
        at: usize,
        memory: &Memory,
        index: usize,
        (class, strength): (Class, Strength),
        ranges: &[Range],
        transfer: Option<&Transfer<'_, '_>>,
    ) -> (LockedPages<'a>, bool) {
        let Self { launch, waves, group, .. } = self;
        let Some(device) = &launch.device else { return (LockedPages::default(), false) };
        let known = &waves[at].known;
        let mode = match memory.access {
            Access::Load | Access::ToLds { .. } => Mode::Read,
            Access::Store => Mode::Write,
            Access::Atomic => Mode::Update,
        };
        let cached = mode == Mode::Read && strength != Strength::Device;
        let view = View {
            epoch: self.epoch(at, class, strength),
            clock: &known.clock,
            foreign: if cached { &known.fresh } else { &known.foreign },
            lds: false,
        };
        let mut last = None;
        let mut report = |found: Conflict| {
            let other = found.index as usize;
            let severity = if found.same { Severity::Note } else { Severity::Error };
            let key = Key { severity, kind: Kind::Race, index };
            if last.replace(key) == Some(key) || launch.repeats(key) {
                return;
            }
            let who = Who { group: *group, wave: at };
            let detail = describe(mode, &view, known, &found);
            let mut draft = Draft::new(Kind::Race, who, index, detail);
            draft.severity = severity;
            draft.address = Some(found.address);
            draft.lane = transfer.and_then(|transfer| transfer.lane_at(found.address));
            draft.allocation = launch.allocation(found.address);
            let other_who = Who { group: found.epoch.group().into(), wave: found.epoch.wave() };
            let verb = if found.write { "write" } else { "read" };
            draft.other = Some((verb, other, other_who));
            launch.report(draft);
        };
        let is_same = |address: u64, len: u64| {
            let peek = |wave: &Wave<'_>, to: &mut [u8]| wave.peek(address, to);
            transfer.is_some_and(|transfer| transfer.leaves(address, len, peek))
        };
        let mut observer = Observer { conflict: &mut report, is_same: &is_same, overlaps: false };
        let pages = device.access(ranges, &view, index as u32, mode, &mut observer);
        match mode {
            Mode::Write | Mode::Update => device.scalar.write(ranges, view.epoch, index, mode),
            _ if class == Class::Scalar => self.scalar_cache(at, memory, index, ranges, &view),
            _ => {}
        }
        (pages, observer.overlaps)
    }

    /// Reports lanes of a store that write different bytes to one address.
    #[cold]
    pub(super) fn check_agreement(
        &self,
        at: usize,
        index: usize,
        transfer: &Transfer<'_, '_>,
        place: Option<&str>,
    ) {
        let Some(([first, second], address)) = transfer.disagreement() else { return };
        let who = self.who(at);
        let detail = format!(
            "lanes {first} and {second} store different bytes to one address within one instruction"
        );
        let mut draft = Draft::new(Kind::Race, who, index, detail);
        draft.address = Some(address);
        draft.lane = Some(second as u32);
        draft.allocation =
            place.map_or_else(|| self.launch.allocation(address), |place| Some(place.to_owned()));
        draft.other = Some(("write", index, who));
        self.launch.report(draft);
    }
}

/// What an instruction keeps from others while it is executed, if it is anything.
fn hold<'a>(
    memory: &Memory,
    flags: Option<MutexGuard<'a, Flags>>,
    pages: LockedPages<'a>,
) -> Option<Held<'a>> {
    let wrote = flags.is_some() && memory.access != Access::Load;
    (flags.is_some() || pages.first.is_some()).then_some(Held {
        _flags: flags,
        _pages: pages,
        wrote,
    })
}

/// How an access to device memory takes part in synchronisation.
fn strength(memory: &Memory) -> Strength {
    match (memory.access, memory.scope) {
        (Access::Atomic, _) | (_, Scope::Device) => Strength::Device,
        (_, Scope::Group) => Strength::Group,
        _ if memory.polls => Strength::Group,
        _ => Strength::Plain,
    }
}

fn describe(mode: Mode, view: &View<'_>, known: &Knowledge, earlier: &Conflict) -> String {
    let epoch = earlier.epoch;
    let same_group = epoch.group() == view.epoch.group();
    let other = if same_group { "wave of the workgroup" } else { "workgroup" };
    let what = match (mode, earlier.write) {
        (Mode::Read | Mode::Compare, _) => {
            format!("device memory is read that another {other} wrote")
        }
        (_, false) => format!("device memory is written that another {other} read"),
        (_, true) => format!("device memory is written that another {other} wrote"),
    };
    let completed = known.foreign.get(epoch.group()).is_some_and(|clock| {
        clock.0[epoch.wave()].done[epoch.class() as usize] >= epoch.sequence()
    });
    let flags = View { epoch: view.epoch, clock: view.clock, foreign: &known.foreign, lds: false };
    let why = if flags.after(epoch, earlier.write) {
        "a flag orders the two, but the caches may still hold an old value: no buffer_inv of \
         device scope since"
    } else if !same_group && completed {
        "a flag orders the two, but the write may not have left its caches: no buffer_wbl2 of \
         device scope in between"
    } else {
        "nothing orders the two"
    };
    let but = if earlier.same { "; the bytes stay as they are" } else { "" };
    format!("{what}, and {why}{but}")
}
