//! What the checkers of all workgroups of a launch share.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::audit::{Audit, Coverage};
use super::facts::FactTable;
use super::race::DeviceShadow;
use super::{Checks, Finding, Footprint, Kind, Other};
use crate::exec::{Dispatch, ExecOptions, Region, nearest_region};

/// Findings that a launch keeps; one defect rarely needs more than a few.
const MAX_FINDINGS: usize = 100;

/// Finds the source line of an instruction by its address.
#[derive(Clone)]
pub struct SourceLines(Arc<dyn Fn(u64) -> Option<String> + Send + Sync>);

impl SourceLines {
    /// Lines from a function of the address.
    pub fn new(find: impl Fn(u64) -> Option<String> + Send + Sync + 'static) -> Self {
        Self(Arc::new(find))
    }

    /// Source file and line of the instruction at an address.
    pub fn find(&self, pc: u64) -> Option<String> {
        (self.0)(pc)
    }
}

impl std::fmt::Debug for SourceLines {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SourceLines")
    }
}

/// One wave of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Who {
    /// Linear number of the workgroup.
    pub(super) group: u64,
    pub(super) wave: usize,
}

/// A finding before it is given names and lines.
#[derive(Debug)]
pub(super) struct Draft {
    pub(super) kind: Kind,
    pub(super) who: Who,
    /// Index of the instruction.
    pub(super) index: usize,
    pub(super) detail: String,
    pub(super) lane: Option<u32>,
    pub(super) address: Option<u64>,
    pub(super) allocation: Option<String>,
    /// What the other instruction did, its index and its wave.
    pub(super) other: Option<(&'static str, usize, Who)>,
}

impl Draft {
    pub(super) fn new(kind: Kind, who: Who, index: usize, detail: impl Into<String>) -> Self {
        Self {
            kind,
            who,
            index,
            detail: detail.into(),
            lane: None,
            address: None,
            allocation: None,
            other: None,
        }
    }
}

#[derive(Default)]
struct Collected {
    findings: Vec<(u64, Finding)>,
    seen: HashSet<(Kind, usize, Option<usize>)>,
}

/// State of the sanitizer for one launch.
pub(crate) struct Launch<'a> {
    pub(super) dispatch: &'a Dispatch,
    pub(super) checks: Checks,
    pub(super) table: &'a FactTable,
    /// Audit of an instruction of this kernel, and the instruction's index.
    pub(super) audit: Option<(&'a Audit, usize)>,
    /// Where the executed instructions of this kernel are noted, and its first one's index.
    pub(super) coverage: Option<(&'a Coverage, usize)>,
    /// What was written of each region of the dispatch, where that is known.
    pub(super) written: Vec<Option<Arc<super::Written>>>,
    /// Where races are looked for.
    pub(super) device: Option<DeviceShadow>,
    collected: Mutex<Collected>,
}

impl<'a> Launch<'a> {
    pub(crate) fn new(dispatch: &'a Dispatch, options: &'a ExecOptions) -> Self {
        let checks = options.sanitize;
        let table = dispatch.program.facts();
        let known: HashMap<u64, &Arc<super::Written>> =
            dispatch.notes.written.iter().map(|(base, written)| (*base, written)).collect();
        let regions = dispatch.regions.iter();
        let written = regions.map(|region| known.get(&region.base).copied().cloned()).collect();
        let coverage = options.coverage.as_deref().filter(|c| c.is_of(&dispatch.kernel));
        let coverage = coverage.zip(dispatch.program.index_of(dispatch.entry));
        let audit = options.audit.as_deref().and_then(|audit| {
            let offset = audit.offset_in(&dispatch.kernel)?;
            Some((audit, dispatch.program.index_of(dispatch.entry.wrapping_add(offset))?))
        });
        let device = checks.has(Kind::Race).then(DeviceShadow::new);
        Self {
            dispatch,
            checks,
            table,
            audit,
            coverage,
            written,
            device,
            collected: Mutex::default(),
        }
    }

    /// The findings, in the order of their workgroups, and what was accessed if that is known.
    pub(crate) fn finish(self) -> (Vec<Finding>, Footprint) {
        let mut found =
            self.collected.into_inner().unwrap_or_else(PoisonError::into_inner).findings;
        found.sort_by_key(|(group, _)| *group);
        let findings = found.into_iter().map(|(_, finding)| finding).collect();
        (findings, self.device.map(DeviceShadow::footprint).unwrap_or_default())
    }

    fn lock(&self) -> MutexGuard<'_, Collected> {
        self.collected.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether no finding of this kind about these instructions is known yet.
    pub(super) fn is_new(&self, kind: Kind, index: usize, other: Option<usize>) -> bool {
        let collected = self.lock();
        collected.findings.len() < MAX_FINDINGS && !collected.seen.contains(&(kind, index, other))
    }

    /// Adds a finding, unless it is known or there are too many.
    #[cold]
    pub(super) fn report(&self, draft: Draft) {
        let other = draft.other.map(|(_, index, _)| index);
        let mut collected = self.lock();
        if collected.findings.len() >= MAX_FINDINGS
            || !collected.seen.insert((draft.kind, draft.index, other))
        {
            return;
        }
        let program = &self.dispatch.program;
        let pc = program.pc_of(draft.index);
        let finding = Finding {
            kind: draft.kind,
            detail: draft.detail,
            kernel: self.dispatch.kernel.clone(),
            operation: None,
            pc,
            offset: pc.wrapping_sub(self.dispatch.entry) as i64,
            instruction: self.instruction(draft.index),
            source: self.source(pc),
            workgroup: self.workgroup(draft.who.group),
            wave: draft.who.wave as u32,
            lane: draft.lane,
            address: draft.address,
            allocation: draft.allocation,
            other: draft.other.map(|(what, index, who)| Other {
                what,
                operation: None,
                pc: program.pc_of(index),
                instruction: self.instruction(index),
                source: self.source(program.pc_of(index)),
                workgroup: self.workgroup(who.group),
                wave: who.wave as u32,
            }),
        };
        collected.findings.push((draft.who.group, finding));
    }

    fn instruction(&self, index: usize) -> String {
        let inst = self.dispatch.program.inst_at(index);
        inst.map_or_else(|error| error.to_string(), |inst| inst.to_string())
    }

    fn source(&self, pc: u64) -> Option<String> {
        self.dispatch.notes.lines.as_ref()?.find(pc)
    }

    /// Coordinates of a workgroup.
    fn workgroup(&self, linear: u64) -> [u32; 3] {
        let [x, y, _] = self.dispatch.grid.map(|n| u64::from(n.max(1)));
        [linear % x, linear / x % y, linear / x / y].map(|n| n as u32)
    }

    /// Names the allocation nearest to an address.
    pub(super) fn allocation(&self, address: u64) -> Option<String> {
        nearest_region(&self.dispatch.regions, address)
    }
}

/// What the sanitizer is told of a launch beyond the launch itself.
#[derive(Clone, Debug, Default)]
pub struct Notes {
    /// Source lines of the code.
    pub lines: Option<SourceLines>,
    /// Ranges that were freed and have not been used again, sorted by address.
    pub freed: Arc<[Region]>,
    /// Addresses that the launch may only read: it fails if it writes there.
    pub inputs: Vec<std::ops::Range<u64>>,
    /// Addresses that metadata calls read-only.
    pub read_only: Vec<std::ops::Range<u64>>,
    /// Which bytes of an allocation were ever written, by its first address. What is not listed
    /// counts as written.
    pub written: Arc<[(u64, Arc<super::Written>)]>,
}
