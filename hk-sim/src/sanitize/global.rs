//! Checks of device memory.

use super::facts::{Access, Action, Facts, Memory, ones};
use super::group::GroupChecker;
use super::launch::{Draft, Launch};
use super::undefined::{Origin, OriginId, Taint};
use super::uses::Use;
use super::{Kind, Severity};
use crate::exec::Wave;
use crate::exec::effects::{Range, Reach, locate_scalar, unaligned_scalar};
use crate::mem::{Mapping, Written};

/// The allocation that the last access hit, tried first by the next.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LastRegion(usize);

/// What a load reads that nobody wrote.
#[derive(Debug, Default)]
pub(super) struct Unwritten {
    /// Lanes and dwords.
    pub(super) missing: Vec<(usize, usize)>,
    pub(super) origin: OriginId,
}

impl<'a> Launch<'a> {
    fn region(&self, address: u64, last: &mut LastRegion) -> Option<(usize, &'a Mapping)> {
        let dispatch = self.dispatch;
        let regions = &dispatch.regions;
        let holds = |region: &&Mapping| address.wrapping_sub(region.base) < region.mapped;
        if let Some(region) = regions.get(last.0).filter(holds) {
            return Some((last.0, region));
        }
        let index = regions.partition_point(|region| region.base <= address).checked_sub(1)?;
        let region = regions.get(index).filter(holds)?;
        *last = LastRegion(index);
        Some((index, region))
    }
}

impl GroupChecker<'_> {
    /// What was written of the allocation at an address, and the offset there.
    fn written_at(&mut self, address: u64) -> Option<(&Written, u64)> {
        let launch = self.launch;
        let (index, region) = launch.region(address, &mut self.last_region)?;
        let written = launch.written.get(index)?.as_deref()?;
        Some((written, address - region.base))
    }

    /// Whether bytes of device memory were written by anybody.
    pub(super) fn is_written(&mut self, start: u64, len: u64) -> bool {
        self.written_at(start).is_none_or(|(written, offset)| written.is_written(offset, len))
    }

    fn mark_written(&mut self, start: u64, len: u64) {
        if let Some((written, offset)) = self.written_at(start) {
            written.mark(offset, len);
        }
    }

    /// Checks that the ranges are inside of allocations that may be accessed.
    fn bounds(&mut self, at: usize, index: usize, range: Range, lane: Option<u32>, writes: bool) {
        let launch = self.launch;
        let verb = if writes { "write" } else { "read" };
        let len = u64::from(range.len);
        let notes = launch.notes;
        let mut severity = Severity::Error;
        let detail = match launch.region(range.start, &mut self.last_region) {
            Some((_, region)) if range.end() <= region.base + region.len => {
                let touches = |only: &std::ops::Range<u64>| {
                    writes && range.start < only.end && only.start < range.end()
                };
                let what = if notes.inputs.iter().any(touches) {
                    "which is an input"
                } else if notes.read_only.iter().any(touches) {
                    severity = Severity::Note;
                    "which the kernel's metadata calls read-only"
                } else {
                    return;
                };
                format!("write of {len} bytes at {:#x}, {what}", range.start)
            }
            Some((_, region)) => {
                let past = region.base + region.len;
                format!(
                    "{verb} of {len} bytes at {:#x}, past the end of the allocation at {past:#x}",
                    range.start.max(past)
                )
            }
            None => {
                let freed = notes
                    .freed
                    .iter()
                    .find(|old| range.start < old.base + old.mapped && old.base < range.end());
                match freed {
                    Some(old) => format!(
                        "{verb} of {len} bytes at {:#x} in {}, which was freed",
                        range.start, old.name
                    ),
                    None => format!(
                        "{verb} of {len} bytes at {:#x}, which no allocation covers",
                        range.start
                    ),
                }
            }
        };
        let mut draft = Draft::new(Kind::Memory, self.who(at), index, detail);
        draft.severity = severity;
        draft.lane = lane;
        draft.address = Some(range.start);
        draft.allocation = launch.allocation(range.start);
        launch.report(draft);
    }

    /// Drivers let loads and stores begin at any byte; atomics must be aligned.
    fn alignment(&self, at: usize, index: usize, memory: &Memory, reach: &Reach) {
        if memory.access != Access::Atomic {
            return;
        }
        let align = u64::from(reach.bytes.next_power_of_two());
        let odd = |lane: &usize| reach.at[*lane] & (align - 1) != 0;
        let Some(lane) = ones(reach.global).find(odd) else { return };
        let address = reach.at[lane];
        let detail = format!("address {address:#x} is not a multiple of {align}");
        let mut draft = Draft::new(Kind::Memory, self.who(at), index, detail);
        draft.lane = Some(lane as u32);
        draft.address = Some(address);
        draft.allocation = self.launch.allocation(address);
        self.launch.report(draft);
    }

    #[cold]
    fn report_unaligned(&self, at: usize, index: usize, address: u64) {
        let detail = format!(
            "scalar address {address:#x} has parts that are no multiples of 4, whose low bits are \
             ignored"
        );
        let mut draft = Draft::new(Kind::Memory, self.who(at), index, detail);
        draft.address = Some(address);
        draft.allocation = self.launch.allocation(address);
        self.launch.report(draft);
    }

    /// Checks an access to device memory and returns what it reads that nobody wrote.
    pub(super) fn global_access(
        &mut self,
        wave: &Wave<'_>,
        facts: &Facts,
        memory: &Memory,
        index: usize,
        reach: &Reach,
    ) -> Unwritten {
        let at = wave.index as usize;
        let writes = matches!(memory.access, Access::Store | Access::Atomic);
        let ranges = &reach.in_global;
        let checks = self.launch.checks;
        if checks.has(Kind::Memory) {
            for range in ranges.as_slice() {
                self.range_bounds(at, index, *range, reach, writes);
            }
            self.alignment(at, index, memory, reach);
        }
        if self.tracks {
            let stored = self.stored(at, memory, false);
            let lanes = stored.lanes & reach.global;
            if lanes != 0 {
                let reached =
                    if memory.access == Access::Store { Use::Output } else { Use::Atomic };
                self.report_use(at, index, Taint { lanes, ..stored }, reached);
            }
        }
        if !checks.has(Kind::Memory) {
            return Unwritten::default();
        }
        if memory.access == Access::Store {
            for range in ranges.as_slice() {
                self.mark_written(range.start, range.len.into());
            }
            return Unwritten::default();
        }
        let mut missing = None;
        for range in ranges.as_slice() {
            if !self.is_written(range.start, range.len.into()) {
                missing = Some(*range);
                break;
            }
        }
        if missing.is_none() {
            return Unwritten::default();
        }
        let found = self.load_unwritten(at, facts, index, reach);
        if memory.replaces {
            for range in ranges.as_slice() {
                self.mark_written(range.start, range.len.into());
            }
        }
        found
    }

    /// Bounds of a range; of several lanes' accesses, those that are outside are looked at alone.
    fn range_bounds(&mut self, at: usize, index: usize, range: Range, reach: &Reach, writes: bool) {
        let launch = self.launch;
        let fits = launch
            .region(range.start, &mut self.last_region)
            .is_some_and(|(_, region)| range.end() <= region.base + region.len);
        let notes = launch.notes;
        let touches =
            |only: &std::ops::Range<u64>| only.start < range.end() && range.start < only.end;
        let protected = || notes.inputs.iter().chain(&notes.read_only).any(touches);
        if fits && !(writes && protected()) {
            return;
        }
        for lane in ones(reach.global) {
            let start = reach.at[lane];
            if range.start <= start && start < range.end() {
                let access = Range { start, len: reach.len(lane), lane: lane as u32 };
                self.bounds(at, index, access, Some(access.lane), writes);
            }
        }
    }

    /// Marks the lanes and dwords of a result that nobody wrote; also returns them.
    fn load_unwritten(
        &mut self,
        at: usize,
        facts: &Facts,
        index: usize,
        reach: &Reach,
    ) -> Unwritten {
        let width = u64::from(reach.bytes.min(4));
        let mut missing = Vec::new();
        for lane in ones(reach.global) {
            for dword in 0..reach.len(lane).div_ceil(4) as usize {
                if !self.is_written(reach.at[lane] + 4 * dword as u64, width) {
                    missing.push((lane, dword));
                }
            }
        }
        let Some(&(lane, dword)) = missing.first() else { return Unwritten::default() };
        let address = Some(reach.at[lane] + 4 * dword as u64);
        let lane = Some(lane as u32);
        let kind = Kind::Memory;
        let origin = self.origins.add(Origin { kind, index, lane, address, wave: at });
        if let Some(first) = facts.inst.dst[0].vector_index() {
            let dwords = reach.bytes.div_ceil(4) as usize;
            self.load_undefined(at, first, dwords, &missing, origin);
        }
        Unwritten { missing, origin }
    }

    /// Checks a scalar memory access.
    pub(super) fn scalar_access(&mut self, wave: &Wave<'_>, facts: &Facts, index: usize) {
        let Action::Memory(memory) = &facts.action else { return };
        let at = wave.index as usize;
        let (start, len) = locate_scalar(wave, &facts.inst, memory);
        if len == 0 || !self.launch.checks.has(Kind::Memory) {
            return;
        }
        if let Some(address) = unaligned_scalar(wave, &facts.inst, memory) {
            self.report_unaligned(at, index, address);
        }
        let writes = memory.access != Access::Load;
        self.bounds(at, index, Range { start, len, lane: 0 }, None, writes);
        if writes {
            return self.mark_written(start, len.into());
        }
        let Some(first) = facts.inst.dst[0].scalar_index() else { return };
        for dword in 0..len as usize / 4 {
            let address = start + 4 * dword as u64;
            if !self.is_written(address, 4) {
                let (lane, address) = (None, Some(address));
                let kind = Kind::Memory;
                let origin = self.origins.add(Origin { kind, index, lane, address, wave: at });
                self.waves[at].undefined.set_scalar(first + dword, u32::MAX, origin);
            }
        }
    }
}
