//! What the checkers of all workgroups of a launch share.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use hk_types::FaultReport;

use super::audit::Audit;
use super::counting::Counting;
use super::facts::FactTable;
use super::group::GroupChecker;
use super::race::DeviceShadow;
use super::{Checks, Finding, Footprint, Kind, Other, Severity, publish};
use crate::counters::Recorder;
use crate::exec::{self, Dispatch, ExecOptions, GroupObserver, Observer, RunStats};
use crate::mem::{Mapping, Written, nearest};
use crate::trace::Meanwhile;

/// Findings of each kind that a launch keeps; one defect rarely needs more than a few. Each kind has
/// a room of its own, and so have its notes, so that what there is much of does not hide the rest.
const MAX_FINDINGS: usize = 100;

/// How a launch is executed, and what is looked at meanwhile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// How it is executed.
    pub exec: ExecOptions,
    /// Checks of the sanitizer.
    pub sanitize: Checks,
    /// Whether findings are printed and appended to the report file.
    pub publish: bool,
    /// An instruction whose effect on the order of accesses is followed.
    pub audit: Option<Arc<Audit>>,
    /// Where what the launch does is counted.
    pub recorder: Option<Arc<Recorder>>,
    /// Where some workgroups are traced meanwhile.
    pub trace: Option<Arc<Meanwhile>>,
}

impl Default for Options {
    fn default() -> Self {
        ExecOptions::default().into()
    }
}

/// With nothing looked at.
impl From<ExecOptions> for Options {
    fn from(exec: ExecOptions) -> Self {
        Self {
            exec,
            sanitize: Checks::NONE,
            publish: true,
            audit: None,
            recorder: None,
            trace: None,
        }
    }
}

impl Options {
    /// Whether each instruction is looked at, which costs time.
    fn observe(&self) -> bool {
        !self.sanitize.is_empty() || self.audit.is_some() || self.recorder.is_some()
    }
}

/// Executes a launch to its end. With [`Options::sanitize`], findings of the sanitizer are printed
/// to the standard error stream and appended to the file that `HIPKITTENS_SANITIZE_REPORT` names, and
/// the launch fails with the first of them that is no note.
///
/// # Errors
/// The report of the first fault, in workgroup order.
pub fn run(
    dispatch: &Dispatch,
    notes: &Notes,
    options: &Options,
) -> Result<RunStats, Box<FaultReport>> {
    if !options.observe() {
        let trace = options.trace.as_ref().map(|trace| trace.beside(None));
        let observer = trace.as_ref().map(|trace| trace as &dyn Observer);
        return exec::run_observed(dispatch, &options.exec, observer);
    }
    check(dispatch, notes, options).settle(options.publish)
}

/// What a launch did and what the sanitizer found.
#[derive(Debug)]
pub struct Checked {
    /// Result of the launch itself.
    pub outcome: Result<RunStats, Box<FaultReport>>,
    /// Findings in the order of their workgroups, notes last.
    pub findings: Vec<Finding>,
    /// What was accessed in device memory, with the check for races.
    pub footprint: Footprint,
}

impl Checked {
    /// Prints the findings, if they are to be published, and fails with the first of them that is no
    /// note.
    ///
    /// # Errors
    /// The first finding, or the fault of the launch.
    pub fn settle(self, to_publish: bool) -> Result<RunStats, Box<FaultReport>> {
        if to_publish {
            publish(&self.findings);
        }
        match self.findings.iter().find(|finding| finding.severity == Severity::Error) {
            Some(finding) => Err(Box::new(finding.into())),
            None => self.outcome,
        }
    }
}

/// Executes a launch to its end with the checks of [`Options::sanitize`].
pub fn check(dispatch: &Dispatch, notes: &Notes, options: &Options) -> Checked {
    let launch = Launch::new(dispatch, notes, options);
    let outcome = match &options.trace {
        None => exec::run_observed(dispatch, &options.exec, Some(&launch)),
        Some(trace) => {
            exec::run_observed(dispatch, &options.exec, Some(&trace.beside(Some(&launch))))
        }
    };
    let (findings, footprint) = launch.finish();
    Checked { outcome, findings, footprint }
}

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
    pub(super) severity: Severity,
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
            severity: Severity::Error,
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

    fn key(&self) -> Key {
        Key { severity: self.severity, kind: self.kind, index: self.index }
    }
}

/// What findings must have in common to be told once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Key {
    pub(super) severity: Severity,
    pub(super) kind: Kind,
    /// Index of the instruction.
    pub(super) index: usize,
}

#[derive(Default)]
struct Collected {
    /// Findings with the linear numbers of their workgroups.
    findings: Vec<(u64, Finding)>,
    /// Where in `findings` they stand.
    known: HashMap<Key, usize>,
    /// How many there are of each kind.
    kept: HashMap<(Severity, Kind), usize>,
}

impl Collected {
    /// Counts a finding that is known. Returns whether that was all, or there is no room for it.
    fn repeats(&mut self, key: Key) -> bool {
        if let Some(&at) = self.known.get(&key) {
            self.findings[at].1.count += 1;
            return true;
        }
        self.kept.get(&(key.severity, key.kind)).is_some_and(|&kept| kept >= MAX_FINDINGS)
    }
}

/// State of the sanitizer for one launch.
pub(super) struct Launch<'a> {
    pub(super) dispatch: &'a Dispatch,
    pub(super) notes: &'a Notes,
    pub(super) checks: Checks,
    pub(super) table: &'a FactTable,
    /// Audit of an instruction of this kernel, and the instruction's index.
    pub(super) audit: Option<(&'a Audit, usize)>,
    /// Where it is counted what the launch does.
    pub(super) counting: Option<Counting<'a>>,
    /// What was written of each region of the dispatch, where that is known.
    pub(super) written: Vec<Option<Arc<Written>>>,
    /// Where races are looked for.
    pub(super) device: Option<DeviceShadow>,
    collected: Mutex<Collected>,
}

impl<'a> Launch<'a> {
    fn new(dispatch: &'a Dispatch, notes: &'a Notes, options: &'a Options) -> Self {
        let checks = options.sanitize;
        let entries = dispatch.program.ops().len();
        let table = notes.facts.get_or_init(|| FactTable::new(entries));
        let known: HashMap<u64, &Arc<Written>> =
            notes.written.iter().map(|(base, written)| (*base, written)).collect();
        let regions = dispatch.regions.iter();
        let written = regions.map(|region| known.get(&region.base).copied().cloned()).collect();
        let audit = options.audit.as_deref().and_then(|audit| {
            let offset = audit.offset_in(&dispatch.kernel)?;
            Some((audit, dispatch.program.index_of(dispatch.entry.wrapping_add(offset))?))
        });
        let device = checks.has(Kind::Race).then(DeviceShadow::new);
        Self {
            dispatch,
            notes,
            checks,
            table,
            audit,
            counting: options.recorder.as_deref().map(Counting::new),
            written,
            device,
            collected: Mutex::default(),
        }
    }

    /// The findings in the order of their workgroups, hazards behind the others and notes last, and
    /// what was accessed if that is known.
    fn finish(self) -> (Vec<Finding>, Footprint) {
        if let Some(counting) = self.counting {
            counting.finish(&self.dispatch.kernel);
        }
        let mut found =
            self.collected.into_inner().unwrap_or_else(PoisonError::into_inner).findings;
        found.sort_by_key(|(group, Finding { severity, kind, .. })| {
            (*severity, *kind == Kind::Hazard, *group)
        });
        let findings = found.into_iter().map(|(_, finding)| finding).collect();
        (findings, self.device.map(DeviceShadow::footprint).unwrap_or_default())
    }

    fn lock(&self) -> MutexGuard<'_, Collected> {
        self.collected.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a finding that is known, or for which there is no room. If this is false, it is to be
    /// reported.
    #[cold]
    pub(super) fn repeats(&self, key: Key) -> bool {
        self.lock().repeats(key)
    }

    /// Adds a finding, or counts it if it is known.
    #[cold]
    pub(super) fn report(&self, draft: Draft) {
        let key = draft.key();
        let mut collected = self.lock();
        if collected.repeats(key) {
            return;
        }
        let program = &self.dispatch.program;
        let pc = program.pc_of(draft.index);
        let finding = Finding {
            severity: draft.severity,
            kind: draft.kind,
            detail: draft.detail,
            kernel: self.dispatch.kernel.clone(),
            operation: None,
            pc,
            offset: self.offset(pc),
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
                offset: self.offset(program.pc_of(index)),
                instruction: self.instruction(index),
                source: self.source(program.pc_of(index)),
                workgroup: self.workgroup(who.group),
                wave: who.wave as u32,
            }),
            count: 1,
        };
        let at = collected.findings.len();
        collected.known.insert(key, at);
        *collected.kept.entry((key.severity, key.kind)).or_default() += 1;
        collected.findings.push((draft.who.group, finding));
    }

    /// Offset of an address from the kernel's entry.
    fn offset(&self, pc: u64) -> i64 {
        pc.wrapping_sub(self.dispatch.entry) as i64
    }

    fn instruction(&self, index: usize) -> String {
        let inst = self.dispatch.program.inst_at(index);
        inst.map_or_else(|error| error.to_string(), |inst| inst.to_string())
    }

    fn source(&self, pc: u64) -> Option<String> {
        self.notes.lines.as_ref()?.find(pc)
    }

    /// Coordinates of a workgroup.
    fn workgroup(&self, linear: u64) -> [u32; 3] {
        let [x, y, _] = self.dispatch.grid.map(|n| u64::from(n.max(1)));
        [linear % x, linear / x % y, linear / x / y].map(|n| n as u32)
    }

    /// Names the allocation nearest to an address.
    pub(super) fn allocation(&self, address: u64) -> Option<String> {
        nearest(&self.dispatch.regions, address)
    }
}

impl Observer for Launch<'_> {
    fn group(&self, waves: usize) -> Box<dyn GroupObserver + '_> {
        Box::new(GroupChecker::new(self, waves))
    }
}

/// What the sanitizer is told of a launch beyond the launch itself.
#[derive(Clone, Debug, Default)]
pub struct Notes {
    /// What is known of the program's instructions, kept for its next launch.
    pub facts: Arc<OnceLock<FactTable>>,
    /// Source lines of the code.
    pub lines: Option<SourceLines>,
    /// Ranges that were freed and have not been used again, sorted by address.
    pub freed: Arc<[Mapping]>,
    /// Addresses that the launch may only read: it fails if it writes there.
    pub inputs: Vec<std::ops::Range<u64>>,
    /// Addresses that metadata calls read-only. Production kernels declare outputs so, hence a write
    /// there is no more than a note.
    pub read_only: Vec<std::ops::Range<u64>>,
    /// Which bytes of an allocation were ever written, by its first address. What is not listed
    /// counts as written.
    pub written: Arc<[(u64, Arc<Written>)]>,
}
