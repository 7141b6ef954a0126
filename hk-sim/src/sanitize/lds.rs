//! Checks of LDS accesses.

use std::collections::HashMap;

use super::Kind;
use super::clock::{Class, Knowledge, Strength, View};
use super::facts::{Access, Facts, Memory, ones};
use super::group::GroupChecker;
use super::lanes::{Range, Reach};
use super::launch::{Draft, Who};
use super::memory::Bytes;
use super::shadow::{Conflict, Mode, PAGE, ShadowPage};
use super::undefined::{Origin, OriginId, Taint};
use super::uses::Use;
use crate::exec::Wave;

/// Shadow of the LDS of one workgroup.
pub(super) struct LdsShadow {
    pages: Vec<ShadowPage>,
    /// Pages that were touched since the last reset.
    touched: Vec<bool>,
    /// Whether a direct-to-LDS load was seen since the last reset.
    direct: bool,
    /// Bytes that were written with defined values.
    defined: Bytes,
    /// Where the undefined values come from that were stored, by the offset of the dword.
    origins: HashMap<u64, OriginId>,
    /// What the last wave to release a word knew then, by the word's offset.
    flags: HashMap<u64, Knowledge>,
}

impl LdsShadow {
    pub(super) fn new(bytes: u32) -> Self {
        let pages = u64::from(bytes).div_ceil(PAGE) as usize;
        Self {
            pages: (0..pages).map(|_| ShadowPage::default()).collect(),
            touched: vec![false; pages],
            direct: false,
            defined: Bytes::default(),
            origins: HashMap::new(),
            flags: HashMap::new(),
        }
    }

    /// Whether bytes hold defined values.
    pub(super) fn is_defined(&self, start: u64, len: u64) -> bool {
        self.defined.all(start, len)
    }

    /// Forgets everything; LDS has `bytes` bytes, of which none is defined.
    pub(super) fn reset(&mut self, bytes: u32) {
        self.defined.reset(bytes.into());
        self.origins.clear();
        for (page, touched) in self.pages.iter_mut().zip(&mut self.touched) {
            if std::mem::take(touched) {
                page.clear();
            }
        }
        self.direct = false;
        self.flags.clear();
    }

    fn access(
        &mut self,
        range: Range,
        view: &View<'_>,
        index: u32,
        mode: Mode,
        conflict: &mut dyn FnMut(u64, Conflict),
    ) {
        let mut start = range.start;
        while start < range.end() {
            let page = start / PAGE;
            let base = page * PAGE;
            let end = range.end().min(base + PAGE);
            self.touched[page as usize] = true;
            self.pages[page as usize].access(
                (start - base, end - base),
                view,
                index,
                mode,
                &mut |found| conflict(base + found.offset, found),
            );
            start = end;
        }
    }
}

impl GroupChecker<'_> {
    /// Checks an access to LDS at the offsets in `reach`. The class is [`Class::Vector`] for the
    /// writes of direct-to-LDS loads.
    pub(super) fn lds_access(
        &mut self,
        wave: &Wave<'_>,
        memory: &Memory,
        index: usize,
        reach: &Reach,
        class: Class,
        access: Access,
    ) {
        let ranges = reach.ranges(reach.lds);
        let limit = u64::from(wave.lds_len);
        let checks = self.launch.checks;
        let at = wave.index as usize;
        if checks.has(Kind::Lds) {
            self.lds_bounds(at, index, reach, memory, limit);
        }
        let direct = class == Class::Vector;
        self.lds.direct |= direct;
        let (race, waits) = (checks.has(Kind::Race), checks.has(Kind::Async));
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
        let single = match ranges.as_slice() {
            [only] if only.len <= 8 => Some(only.start & !3),
            _ => None,
        };
        let strength = match access {
            Access::Atomic => Strength::Group,
            Access::Load if memory.polls => Strength::Group,
            Access::Store if single.is_some() => Strength::Flag,
            _ => Strength::Plain,
        };
        if race && let Some(word) = single {
            self.lds_flag(at, word, access, strength);
        }
        let epoch = self.epoch(at, class, strength);
        let Self { launch, waves, lds, group, .. } = self;
        let Knowledge { clock, foreign, .. } = &waves[at].known;
        let view = View { epoch, clock, foreign, lds: true };
        let mut report = |address: u64, found: Conflict| {
            // A direct-to-LDS load may write whenever it is not waited for.
            let asynchronous = direct || found.epoch.class() == Class::Vector;
            let kind = if asynchronous && waits { Kind::Async } else { Kind::Race };
            let other = found.index as usize;
            if !launch.is_new(kind, index, Some(other)) {
                return;
            }
            let who = Who { group: *group, wave: at };
            let mut draft = Draft::new(kind, who, index, describe(writes, asynchronous, &found));
            draft.address = Some(address);
            draft.lane = reach.lane_at(reach.lds, address);
            draft.allocation = Some("LDS".to_owned());
            let verb = match (found.write, found.epoch.class()) {
                (true, Class::Vector) => "direct-to-LDS load",
                (true, _) => "write",
                _ => "read",
            };
            draft.other = Some((verb, other, Who { group: *group, wave: found.epoch.wave() }));
            launch.report(draft);
        };
        for range in ranges.as_slice() {
            // What lies beyond is reported and not executed.
            let len = limit.saturating_sub(range.start).min(range.len.into()) as u32;
            if range.start < limit {
                let inside = Range { len, ..*range };
                lds.access(inside, &view, index as u32, mode, &mut report);
            }
        }
    }

    /// Synchronisation through one word of LDS: stores and atomics release, polls and atomics
    /// acquire.
    fn lds_flag(&mut self, at: usize, word: u64, access: Access, strength: Strength) {
        let flags = &mut self.lds.flags;
        let known = &mut self.waves[at].known;
        match (access, strength) {
            (Access::Store, _) => {
                flags.insert(word, known.clone());
            }
            (Access::Atomic, _) => {
                let flag = flags.entry(word).or_default();
                known.join(flag);
                flag.join(known);
            }
            (_, Strength::Group) => {
                if let Some(flag) = flags.get(&word) {
                    known.join(flag);
                }
            }
            _ => {}
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
        let stored = self.stored(at, memory, second);
        if memory.access == Access::Atomic && stored.lanes & reach.lds != 0 {
            let lanes = stored.lanes & reach.lds;
            self.report_use(at, index, Taint { lanes, ..stored }, Use::Atomic);
        }
        let ranges = reach.ranges(reach.lds);
        let undefined = |range: &&Range| !self.lds.is_defined(range.start, range.len.into());
        let Some(range) = ranges.as_slice().iter().find(undefined) else { return };
        let Some(first) = facts.inst.dst[0].vector_index() else { return };
        let mut dwords = (range.start & !3..range.end()).step_by(4);
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
        for range in reach.ranges(reach.lds).as_slice() {
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

    /// Notes what a direct-to-LDS load defines: `undefined` are the lanes whose source is not.
    pub(super) fn lds_fill(&mut self, reach: &Reach, undefined: u64, origin: OriginId) {
        for range in reach.ranges(reach.lds).as_slice() {
            self.lds.defined.set(range.start, range.len.into(), true);
        }
        for lane in ones(undefined & reach.lds) {
            self.lds.defined.set(reach.at[lane], reach.bytes.into(), false);
            for dword in 0..u64::from(reach.bytes.div_ceil(4)) {
                self.lds.origins.insert((reach.at[lane] & !3) + 4 * dword, origin);
            }
        }
    }

    fn lds_bounds(&self, at: usize, index: usize, reach: &Reach, memory: &Memory, limit: u64) {
        let natural = memory.access == Access::Atomic || memory.transpose.is_some();
        let align = u64::from(if natural { reach.bytes.min(8) } else { reach.bytes.min(4) });
        // A size that is no power of two is made of dwords.
        let align = if align.is_power_of_two() { align } else { 4 };
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
        draft.allocation = Some("LDS".to_owned());
        self.launch.report(draft);
    }
}

fn describe(writes: bool, asynchronous: bool, earlier: &Conflict) -> &'static str {
    match (writes, earlier.write, asynchronous) {
        (false, _, true) => {
            "LDS is read that a direct-to-LDS load fills, without a wait of the loading wave and a \
             barrier behind it"
        }
        (true, true, true) => {
            "LDS is written twice, once by a direct-to-LDS load, and nothing orders the writes"
        }
        (true, false, true) => {
            "a direct-to-LDS load writes LDS that was read, and nothing orders it behind the read"
        }
        (true, true, false) => "two waves write the same LDS, and nothing orders the writes",
        (true, false, false) => {
            "LDS is written that another wave read, and nothing orders the write behind the read"
        }
        (false, _, false) => {
            "LDS is read that another wave wrote, and nothing orders the read behind the write"
        }
    }
}
