//! The scalar cache.
//!
//! It is empty when a launch starts, its lines have 64 bytes, and waves of a few compute units share
//! it. What vector instructions write goes past it: a line stays as it was brought in until something
//! displaces it or `s_dcache_inv` empties the cache. So a scalar load of bytes that were written
//! during the launch may find what was there before
//!
//! - if a scalar load has brought the line in, for whatever bytes of it, that did not come after the
//!   write; be it by a wave of another workgroup, since any two may share a cache,
//! - unless the cache was emptied after that load or after the write. Only `s_dcache_inv` of a wave
//!   of the same workgroup counts, as only these are sure to share the cache, and it must come before
//!   the load that is judged.
//!
//! Loads with `glc` pass the cache by.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::clock::{Class, Epoch, View};
use super::facts::{Memory, Scope};
use super::group::GroupChecker;
use super::launch::{Draft, Key, Who};
use super::shadow::Mode;
use super::{Kind, Severity};
use crate::exec::effects::Range;

/// Bytes of a line.
const LINE: u64 = 64;

/// Loads of a line that are kept, and values of it that may be old; the oldest go first.
const FILLS_KEPT: usize = 32;
const OLD_KEPT: usize = 512;

/// What the scalar caches may hold in one launch.
#[derive(Debug, Default)]
pub(super) struct ScalarCaches {
    /// A bit for the lines with each of 64 hashes, so that most writes need no lock.
    known: AtomicU64,
    lines: Mutex<HashMap<u64, Line>>,
}

#[derive(Debug, Default)]
struct Line {
    /// Loads of it, the last one of each wave.
    fills: Vec<Epoch>,
    old: Vec<Old>,
}

/// A dword that a load may have kept as it was before a write.
#[derive(Clone, Copy, Debug)]
struct Old {
    dword: u64,
    fill: Epoch,
    write: Epoch,
    /// Index of the instruction that wrote.
    writer: usize,
}

impl Line {
    fn fill(&mut self, epoch: Epoch) {
        self.fills.retain(|fill| !fill.same_stream(epoch));
        self.fills.push(epoch);
        let excess = self.fills.len().saturating_sub(FILLS_KEPT);
        self.fills.drain(..excess);
    }

    /// Adds a value; a later one of the same waves stands for those before.
    fn add(&mut self, new: Old) {
        self.old.retain(|old| {
            old.dword != new.dword
                || !old.fill.same_stream(new.fill)
                || !old.write.same_stream(new.write)
        });
        self.old.push(new);
        let excess = self.old.len().saturating_sub(OLD_KEPT);
        self.old.drain(..excess);
    }
}

/// The bit of a line in [`ScalarCaches::known`].
fn bit(line: u64) -> u64 {
    1 << (line.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 58)
}

/// Numbers of the units of `size` bytes that a range touches.
fn units(range: &Range, size: u64) -> std::ops::Range<u64> {
    range.start / size..range.end().div_ceil(size)
}

impl ScalarCaches {
    fn lock(&self) -> MutexGuard<'_, HashMap<u64, Line>> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes a write past the scalar caches.
    pub(super) fn write(&self, ranges: &[Range], write: Epoch, writer: usize, mode: Mode) {
        // What is stored through the scalar cache is there.
        if write.class() != Class::Vector {
            return;
        }
        let known = self.known.load(Ordering::Relaxed);
        for range in ranges {
            for number in units(range, LINE).filter(|line| known & bit(*line) != 0) {
                let mut lines = self.lock();
                let Some(line) = lines.get_mut(&number) else { continue };
                let inside = number * LINE / 4..(number + 1) * LINE / 4;
                for dword in units(range, 4).filter(|dword| inside.contains(dword)) {
                    if mode == Mode::Write {
                        line.old.retain(|old| old.dword != dword);
                    }
                    for at in 0..line.fills.len() {
                        line.add(Old { dword, fill: line.fills[at], write, writer });
                    }
                }
            }
        }
    }

    /// Notes that a load brings in the lines of a range. Returns what it may find there that is old.
    fn load(&self, range: &Range, epoch: Epoch) -> Vec<Old> {
        let mut found = Vec::new();
        let mut lines = self.lock();
        for number in units(range, LINE) {
            self.known.fetch_or(bit(number), Ordering::Relaxed);
            let line = lines.entry(number).or_default();
            let read = units(range, 4);
            found.extend(line.old.iter().filter(|old| read.contains(&old.dword)));
            line.fill(epoch);
        }
        found
    }

    fn add(&self, old: Old) {
        let mut lines = self.lock();
        lines.entry(old.dword * 4 / LINE).or_default().add(old);
    }
}

impl GroupChecker<'_> {
    /// Checks a scalar load of device memory.
    pub(super) fn scalar_cache(
        &self,
        at: usize,
        memory: &Memory,
        index: usize,
        ranges: &[Range],
        view: &View<'_>,
    ) {
        let (Some(device), [range]) = (&self.launch.device, ranges) else { return };
        if memory.scope == Scope::Device || range.len == 0 {
            return;
        }
        let group = view.epoch.group();
        let emptied = self.waves[at].known.emptied.as_deref();
        let renewed = |old: &Old| {
            emptied.is_some_and(|emptied| {
                emptied.follows(group, old.fill, false) || emptied.follows(group, old.write, true)
            })
        };
        for old in device.scalar.load(range, view.epoch) {
            if !renewed(&old) {
                self.report_stale_scalar(at, index, &old);
            }
        }
        // A load that polls has seen what it waited for, and all that comes before that.
        if memory.flag {
            return;
        }
        let lines = units(range, LINE);
        let dwords: Vec<Range> = (lines.start * LINE..lines.end * LINE)
            .step_by(4)
            .map(|start| Range { start, len: 4, lane: 0 })
            .collect();
        for write in device.unordered_writes(&dwords, view) {
            let (dword, writer) = (write.address / 4, write.index as usize);
            if write.epoch.class() == Class::Vector {
                device.scalar.add(Old { dword, fill: view.epoch, write: write.epoch, writer });
            }
        }
    }

    #[cold]
    fn report_stale_scalar(&self, at: usize, index: usize, old: &Old) {
        if self.launch.repeats(Key { severity: Severity::Error, kind: Kind::Race, index }) {
            return;
        }
        let who = self.who(at);
        let writer = Who { group: old.write.group().into(), wave: old.write.wave() };
        let whose = if writer == who {
            "the wave itself"
        } else if writer.group == who.group {
            "another wave of the workgroup"
        } else {
            "another workgroup"
        };
        let detail = format!(
            "device memory is read that {whose} wrote, and the scalar cache may still hold an old \
             value: no s_dcache_inv since"
        );
        let mut draft = Draft::new(Kind::Race, who, index, detail);
        let address = 4 * old.dword;
        draft.address = Some(address);
        draft.allocation = self.launch.allocation(address);
        draft.other = Some(("write", old.writer, writer));
        self.launch.report(draft);
    }
}
