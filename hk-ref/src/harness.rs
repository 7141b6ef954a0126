//! Cases, and how they are run.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;
use std::ops::ControlFlow;
use std::rc::Rc;
use std::sync::{Mutex, PoisonError};

use hk_core::dtype::Element;
use hk_core::kernel::{KernelSet, TileConfig};
use hk_core::op::ArgumentInfo;
use hk_core::{Arch, Device, Error, FaultKind, FaultReport, Result, Stream, record_tiles};
use hk_sim::Options;
use hk_sim::counters::{self, Counters};
use hk_sim::exec::ExecOptions;
use hk_sim::sanitize::Checks;
use serde::Serialize;

use limits::Limits;
use setup::Tested;

use crate::expected::Statistics;
use crate::guarded::{Guarded, Placement};

/// Bit patterns of outputs and their surroundings before each run: NaN, an unlikely number, zero.
/// As each run must give the same bits, an element that the op does not write is noticed.
const PATTERNS: [u8; 3] = [0xff, 0x5a, 0x00];

/// Slice and seed of the simulator's schedule in each run: waves nearly in step, as on hardware, in
/// a permuted order, and each as far ahead of the others as barriers let it.
const SCHEDULES: [(u32, Option<u64>); 3] = [
    (ExecOptions::NEAR_LOCKSTEP, None),
    (ExecOptions::PERMUTED, Some(0x5eed)),
    (ExecOptions::FAR_AHEAD, None),
];

/// The simulator's schedule is one for the whole process, so only what has the same schedule runs at
/// once.
static RUNNING: Mutex<()> = Mutex::new(());

/// How much work a case is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Size {
    /// Part of `cargo test`: milliseconds on the simulator.
    Quick,
    /// Part of `hipkittens check`: up to seconds on the simulator.
    Core,
    /// For `hipkittens check --full`: shapes of real models. Minutes on the simulator.
    Large,
}

/// What a case is called and how large it is.
#[derive(Debug, Clone)]
pub struct CaseInfo {
    /// The module of the catalogue, such as `rmsnorm`.
    pub module: &'static str,
    /// The op, such as `fused_add_rmsnorm`.
    pub op: &'static str,
    /// The name, unique for its op, dtype and shape.
    pub case: String,
    /// Element types: of the inputs, then `->` and that of the output if it is another.
    pub dtype: String,
    /// The sizes that the op's documentation speaks of, in its order.
    pub shape: Vec<usize>,
    /// How much work it is.
    pub size: Size,
    /// The only architecture that it is for, such as that of a tile configuration; all if absent.
    pub arch: Option<Arch>,
}

impl CaseInfo {
    /// A quick case for all architectures. `dtypes` are those of the inputs, and, if it is another,
    /// that of the output.
    pub fn new(
        module: &'static str,
        op: &'static str,
        case: impl Into<String>,
        dtypes: &[DType],
        shape: &[usize],
    ) -> Self {
        let mut names: Vec<_> = dtypes.iter().map(|dtype| dtype.name()).collect();
        names.dedup();
        let (case, dtype, shape) = (case.into(), names.join(" -> "), shape.to_vec());
        Self { module, op, case, dtype, shape, size: Size::Quick, arch: None }
    }

    /// Whether the case is for the device.
    pub fn fits(&self, device: &Device) -> bool {
        self.arch.is_none_or(|arch| arch == device.arch())
    }

    /// Everything that tells it from others, in one line.
    pub fn title(&self) -> String {
        format!("{} {} {:?} {}", self.op, self.dtype, self.shape, self.case)
    }
}

/// A call of an op, with seeded inputs and a reference.
pub struct Case {
    /// Name and size.
    pub info: CaseInfo,
    place: Placement,
    in_place: bool,
    limits: Limits,
    set_up: Box<dyn Fn(&mut Setup) + Send + Sync>,
}

/// A case on a device: its inputs are uploaded, its reference is computed.
pub struct Prepared {
    tensors: Vec<Rc<RefCell<dyn Tested>>>,
    numbers: Vec<Number>,
    launch: Box<dyn FnMut() -> Result<()>>,
    limits: Limits,
    /// The op's, as it declares them.
    arguments: Vec<ArgumentInfo>,
}

/// What a case gave on a device.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    /// The module of the catalogue.
    pub module: String,
    /// The op.
    pub op: String,
    /// The architecture, such as `gfx950`.
    pub arch: String,
    /// The case.
    pub case: String,
    /// Element types.
    pub dtype: String,
    /// Sizes.
    pub shape: Vec<usize>,
    /// Absolute error of the worst element: the one whose error is the largest part, or multiple,
    /// of its tolerance. Absent if nothing could be compared.
    pub max_abs_err: Option<f64>,
    /// Relative error of all elements together, by the Frobenius norm: of the worst output.
    pub rel_err: Option<f64>,
    /// Tolerance of the worst element.
    pub tolerance: Option<f64>,
    /// Whether every element is within its tolerance, all together are, nothing else was written,
    /// and every run gave the same bits.
    pub pass: bool,
    /// Bytes of LDS of a workgroup of the kernel. Of a case that launches several kernels, this and
    /// what follows are about the one with the most registers and LDS.
    pub lds_bytes: u32,
    /// Vector registers of a lane, both kinds together.
    pub vgprs: u32,
    /// The accumulation registers among them.
    pub agprs: u32,
    /// Registers that the compiler spilled.
    pub spills: u32,
    /// The kernel's symbol; empty if the case launches none.
    pub kernel: String,
    /// The tile configuration's name.
    pub tile: String,
    /// What the simulator's sanitizer found, a line each; absent if it was off.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sanitizer: Option<Vec<String>>,
    /// Wave-instructions that the kernels of the first run executed on the simulator.
    #[serde(skip)]
    pub executed: u64,
    /// What they did, by their names; absent if it was not counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub counters: Option<BTreeMap<String, Counters>>,
    /// Why it did not pass.
    #[serde(skip)]
    pub failure: Option<String>,
}

impl Case {
    /// A case with the tensors and the call that `set_up` says.
    pub fn new(info: CaseInfo, set_up: impl Fn(&mut Setup) + Send + Sync + 'static) -> Self {
        let (place, set_up) = (Placement::DENSE, Box::new(set_up));
        Self { info, place, in_place: false, limits: Limits::default(), set_up }
    }

    /// With the tensors at such places in memory.
    #[must_use]
    pub fn place(self, place: Placement) -> Self {
        Self { place, ..self }
    }

    /// That is so much work.
    #[must_use]
    pub fn size(mut self, size: Size) -> Self {
        self.info.size = size;
        self
    }

    /// Whether each tensor takes 4 GiB of memory, because it lies across a multiple of that.
    pub fn takes_gigabytes(&self) -> bool {
        self.place.carry.is_some()
    }

    /// With inputs that are outputs, wherever the op permits it.
    #[must_use]
    pub fn in_place(self, in_place: bool) -> Self {
        Self { in_place, ..self }
    }

    /// That makes at most so many accesses on a simulated device: vector memory instructions of waves,
    /// each of which moves up to 16 bytes a lane.
    #[must_use]
    pub fn most_accesses(mut self, most: u64) -> Self {
        self.limits.accesses = Some(most);
        self
    }

    /// That reads at most so many bytes with them.
    #[must_use]
    pub fn most_read(mut self, most: u64) -> Self {
        self.limits.read = Some(most);
        self
    }

    /// That writes no byte twice.
    #[must_use]
    pub fn writes_once(mut self) -> Self {
        self.limits.writes_once = true;
        self
    }

    /// Of rows that so many workgroups, if they are given, take in turns: none is taken twice, which
    /// results, as they would be the same, do not show.
    #[must_use]
    pub fn in_turns(self, workgroups: Option<u32>) -> Self {
        if workgroups.is_some() { self.writes_once() } else { self }
    }

    /// Runs it three times on the device and compares.
    pub fn run(&self, device: &Device) -> Report {
        self.run_sanitized(device, Checks::NONE)
    }

    /// As [`run`](Self::run), on a simulated device with these checks of the sanitizer in the first
    /// of the three runs. One is enough: the sanitizer judges what could happen under any schedule.
    pub fn run_sanitized(&self, device: &Device, checks: Checks) -> Report {
        let _one_at_a_time = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
        self.run_alone(device, &Setting::new(device, checks.into()))
    }

    fn run_alone(&self, device: &Device, setting: &Setting) -> Report {
        let mut attempt = Attempt::new(self, setting);
        for run in 0..PATTERNS.len() {
            setting.choose(run);
            attempt.step(run, &device.default_stream());
        }
        attempt.report(device, setting)
    }

    /// Uploads the inputs and computes the reference, to make the call with
    /// [`Prepared::attempt`].
    ///
    /// # Errors
    /// If the device has no room for it.
    pub fn prepare(&self, device: &Device) -> Result<Prepared> {
        self.prepare_on(&device.default_stream())
    }

    fn prepare_on(&self, stream: &Stream) -> Result<Prepared> {
        let mut setup = Setup::new(stream, self);
        (self.set_up)(&mut setup);
        Ok(Prepared { limits: self.limits, ..setup.prepare()? })
    }
}

/// The runs of a case so far.
struct Attempt<'c> {
    case: &'c Case,
    /// Absent before the first run, and after a failure.
    prepared: Option<Prepared>,
    outcome: Outcome,
    tiles: Vec<&'static TileConfig>,
    /// Whether the first run is counted.
    counts: bool,
    /// Whether it failed because the device had no room for it.
    lacked_memory: bool,
}

impl<'c> Attempt<'c> {
    fn new(case: &'c Case, setting: &Setting) -> Self {
        let (outcome, counts) = (Outcome::default(), setting.counts());
        Self { case, prepared: None, outcome, tiles: Vec::new(), counts, lacked_memory: false }
    }

    /// Makes run `run`; after a failure, nothing.
    fn step(&mut self, run: usize, stream: &Stream) {
        let (result, tiles) = record_tiles(|| self.try_step(run, stream));
        self.tiles.extend(tiles);
        if let Err(error) = result {
            self.lacked_memory = matches!(error, Error::OutOfMemory { .. });
            self.outcome.findings.extend(finding(&error));
            self.fail(format!("error: {error}"));
        }
    }

    fn fail(&mut self, failure: String) {
        self.outcome.failure = Some(failure);
        self.prepared = None;
    }

    fn try_step(&mut self, run: usize, stream: &Stream) -> Result<()> {
        if run == 0 {
            // Under the schedule of the first run already, as the sanitizer watches memory from its
            // allocation on.
            self.prepared = Some(self.case.prepare_on(stream)?);
        }
        let Some(prepared) = &mut self.prepared else { return Ok(()) };
        let pattern = PATTERNS[run];
        prepared.reset(pattern)?;
        let mut complaint = None;
        if run == 0 {
            let launch = || (prepared.launch)().and_then(|()| stream.synchronize());
            let (launched, executed) = if self.counts || prepared.limits.any() {
                let (launched, counters) = counters::count(launch);
                complaint = prepared.limits.complain_of(&counters);
                let executed = counters.values().map(|of| of.instructions.total()).sum();
                self.outcome.counters = Some(counters).filter(|_| self.counts);
                (launched, executed)
            } else {
                counters::executed(launch)
            };
            self.outcome.executed = executed;
            launched?;
        } else {
            (prepared.launch)()?;
        }
        if let Some(complaint) = prepared.take(pattern)?.or(complaint) {
            self.fail(format!("run {}: {complaint}", run + 1));
        }
        Ok(())
    }

    fn report(mut self, device: &Device, setting: &Setting) -> Report {
        if let Some(prepared) = &self.prepared {
            prepared.judge(&mut self.outcome);
        }
        let Self { case: Case { info, .. }, outcome, tiles, .. } = self;
        let worst = outcome.worst.as_ref();
        let tile = tiles.into_iter().max_by_key(|tile| footprint(tile));
        let resources = tile.map(|tile| tile.resources).unwrap_or_default();
        Report {
            module: info.module.to_owned(),
            op: info.op.to_owned(),
            arch: device.arch().name().to_owned(),
            case: info.case.clone(),
            dtype: info.dtype.clone(),
            shape: info.shape.clone(),
            max_abs_err: worst.map(|worst| worst.error),
            rel_err: outcome.relative,
            tolerance: worst.map(|worst| worst.allowed),
            pass: outcome.failure.is_none(),
            lds_bytes: tile.map_or(0, TileConfig::lds),
            vgprs: resources.vgprs,
            agprs: resources.agprs,
            spills: resources.vgpr_spills + resources.sgpr_spills,
            kernel: tile.map_or("", |tile| tile.symbol).to_owned(),
            tile: tile.map_or("", |tile| tile.name).to_owned(),
            sanitizer: setting.sanitizes().then_some(outcome.findings),
            executed: outcome.executed,
            counters: outcome.counters,
            failure: outcome.failure,
        }
    }
}

/// What the simulator looks at in the first run of a case.
#[derive(Clone, Copy, Debug, Default)]
pub struct Look {
    /// Checks of its sanitizer.
    pub checks: Checks,
    /// Whether it counts what kernels do, which costs time.
    pub counts: bool,
}

impl From<Checks> for Look {
    fn from(checks: Checks) -> Self {
        Self { checks, counts: false }
    }
}

/// How the simulator executes the runs of a case. Dropped, it leaves the simulator as it was.
struct Setting {
    /// As the environment or the program has chosen it; absent on a GPU.
    preset: Option<Options>,
    /// Of the first run.
    look: Look,
}

impl Setting {
    fn new(device: &Device, look: Look) -> Self {
        Self { preset: device.is_simulated().then(hk_sim::options), look }
    }

    fn counts(&self) -> bool {
        self.preset.is_some() && self.look.counts
    }

    fn choose(&self, run: usize) {
        if let Some(preset) = &self.preset {
            let checks = if run == 0 { self.look.checks } else { Checks::NONE };
            let ((slice, seed), sanitize) = (SCHEDULES[run], preset.sanitize | checks);
            let exec = ExecOptions { slice, seed, ..preset.exec.clone() };
            hk_sim::set_options(Options { exec, sanitize, ..preset.clone() });
        }
    }

    fn sanitizes(&self) -> bool {
        self.preset.as_ref().is_some_and(|preset| !(preset.sanitize | self.look.checks).is_empty())
    }
}

impl Drop for Setting {
    fn drop(&mut self) {
        if let Some(preset) = self.preset.take() {
            hk_sim::set_options(preset);
        }
    }
}

/// What the sanitizer found, if that is the error.
fn finding(error: &Error) -> Option<String> {
    if let Error::Fault(report) = error
        && let FaultKind::Sanitizer(kind) = report.kind
    {
        let FaultReport { detail, kernel, instruction, source, .. } = report.as_ref();
        let source = source.as_deref().map(|source| format!(" ({source})")).unwrap_or_default();
        return Some(format!("{kind}: {detail}: {kernel}: {instruction}{source}"));
    }
    None
}

fn footprint(tile: &TileConfig) -> u64 {
    u64::from(tile.lds()) + 4 * u64::from(tile.resources.vgprs) * u64::from(tile.threads)
}

impl fmt::Debug for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Case").field(&self.info).finish()
    }
}

impl fmt::Debug for Prepared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Prepared with {} tensors", self.tensors.len())
    }
}

/// What was found so far.
#[derive(Default)]
struct Outcome {
    findings: Vec<String>,
    executed: u64,
    counters: Option<BTreeMap<String, Counters>>,
    failure: Option<String>,
    worst: Option<Statistics>,
    relative: Option<f64>,
}

impl Outcome {
    /// Notes how an output compares, if it is the worst.
    fn note(&mut self, found: Statistics) {
        let share = |s: &Statistics| if s.error == 0.0 { 0.0 } else { s.error / s.allowed };
        if self.worst.as_ref().is_none_or(|worst| share(&found) > share(worst)) {
            self.worst = Some(found);
        }
        self.relative = Some(self.relative.unwrap_or(0.0).max(found.relative));
    }
}

impl Prepared {
    /// Makes the call once, and tells what is wrong with what it gave.
    ///
    /// # Errors
    /// Those of the call.
    pub fn attempt(&mut self) -> Result<Option<String>> {
        let pattern = PATTERNS[0];
        self.tensors.iter().for_each(|tensor| tensor.borrow_mut().forget());
        self.reset(pattern)?;
        let complaint = if self.limits.any() {
            let (complaint, counters) = counters::count(|| self.call(pattern));
            complaint?.or_else(|| self.limits.complain_of(&counters))
        } else {
            self.call(pattern)?
        };
        if complaint.is_some() {
            return Ok(complaint);
        }
        let mut outcome = Outcome::default();
        self.judge(&mut outcome);
        Ok(outcome.failure)
    }

    /// Makes the call, and tells what is wrong with the tensors, other than outputs' values.
    fn call(&mut self, pattern: u8) -> Result<Option<String>> {
        (self.launch)()?;
        self.take(pattern)
    }

    /// Fills the outputs.
    fn reset(&self, pattern: u8) -> Result<()> {
        self.tensors.iter().try_for_each(|tensor| tensor.borrow_mut().reset(pattern))
    }

    /// Reads all tensors after a run, and tells what is wrong with them, other than outputs'
    /// values.
    fn take(&self, pattern: u8) -> Result<Option<String>> {
        let mut complaint = None;
        for tensor in &self.tensors {
            let said = tensor.borrow_mut().take(pattern)?;
            complaint = complaint.or(said);
        }
        Ok(complaint)
    }

    fn judge(&self, outcome: &mut Outcome) {
        self.tensors.iter().for_each(|tensor| tensor.borrow().judge(outcome));
    }
}

/// One simulated device of each architecture among `archs`.
///
/// # Errors
/// [`Error::NoDevice`] if this crate was built without the feature `sim`.
pub fn devices(archs: &[Arch]) -> Result<Vec<Device>> {
    archs
        .iter()
        .map(|arch| {
            Device::open(match arch {
                Arch::Gfx942 => "sim:mi325x",
                _ => "sim:mi355x",
            })
        })
        .collect()
}

/// As [`devices`], of each architecture that these kernels were built for.
///
/// # Errors
/// As [`devices`].
pub fn devices_of(kernels: &KernelSet) -> Result<Vec<Device>> {
    let built = |arch: &Arch| kernels.kernels.iter().any(|kernel| kernel.arch == arch.name());
    devices(&Arch::ALL.into_iter().filter(built).collect::<Vec<_>>())
}

/// Runs the [quick](Size::Quick) cases of a module on each device, with every check of the sanitizer
/// that is on by default. For tests.
///
/// `budget` is how many wave-instructions kernels may execute in the first runs of all of them. It
/// keeps the cost of the tests of many modules in bounds: the number is the same on every host, and
/// what exceeds it is to be made smaller, or said why.
///
/// # Panics
/// If a case does not pass, after all were run; the message has every failure. If the budget is
/// exceeded. If there is no case or no device.
pub fn run_module(module: &str, cases: &[Case], devices: &[Device], budget: u64) {
    let quick = |case: &&Case| case.info.module == module && case.info.size == Size::Quick;
    let quick: Vec<_> = cases.iter().filter(quick).collect();
    assert!(!quick.is_empty() && !devices.is_empty(), "there is nothing to run");
    let (mut failures, mut executed) = (String::new(), 0);
    for device in devices {
        let fitting: Vec<_> = quick.iter().copied().filter(|case| case.info.fits(device)).collect();
        run_cases(device, &fitting, Checks::ALL.into(), |case, report| {
            executed += report.executed;
            if let Some(failure) = report.failure {
                failures += &format!("\n{} on {device}: {failure}", case.info.title());
            }
            ControlFlow::Continue(())
        });
    }
    assert!(failures.is_empty(), "{failures}");
    assert!(executed <= budget, "{executed} wave-instructions, more than the budget of {budget}");
}

/// Runs a call that must be refused, and requires that it launches nothing and leaves `output` as it
/// was.
///
/// # Panics
/// If the call succeeds or has launched a kernel, or the output was written.
pub fn rejected<T: Element>(
    output: &mut Guarded<T>,
    call: impl FnOnce(&mut hk_core::Tensor<T>) -> Result<()>,
) -> Error {
    const PATTERN: u8 = 0x5a;
    output.write(&[], PATTERN).expect("the output can be filled");
    let mut tensor = output.tensor().expect("the output has a place");
    let (result, launched) = record_tiles(|| call(&mut tensor));
    let error = result.expect_err("the call is refused");
    let kernels: Vec<_> = launched.iter().map(|tile| tile.symbol).collect();
    assert!(kernels.is_empty(), "the refused call launched {kernels:?}: {error}");
    let (values, spoilt) = output.read(PATTERN).expect("the output can be read");
    assert_eq!(spoilt, None);
    let untouched = bytemuck::cast_slice::<T, u8>(&values).iter().all(|byte| *byte == PATTERN);
    assert!(untouched, "the refused call wrote its output: {error}");
    error
}

/// The types that `real!` chooses among: bf16, f16 and f32.
pub const REALS: [DType; 3] = [DType::Bf16, DType::F16, DType::F32];

/// An expression with the type that a [`DType`](hk_core::dtype::DType) among [`REALS`] names:
/// `real!(dtype, T => case::<T>())`.
#[macro_export]
macro_rules! real {
    ($dtype:expr, $name:ident => $body:expr) => {
        match $dtype {
            $crate::harness::DType::Bf16 => $crate::real!(bf16, $name, $body),
            $crate::harness::DType::F16 => $crate::real!(f16, $name, $body),
            _ => $crate::real!(f32, $name, $body),
        }
    };
    ($type:ident, $name:ident, $body:expr) => {{
        type $name = $crate::harness::types::$type;
        $body
    }};
}

/// What `real!` names.
#[doc(hidden)]
pub mod types {
    pub use core::primitive::f32;
    pub use hk_core::dtype::{bf16, f16};
}

mod held;
mod limits;
mod parallel;
mod rejections;
mod rows;
mod scales;
mod setup;
#[cfg(test)]
mod tests;
mod traffic;

pub use held::{Held, HeldScale, HeldTensor, in_rows};
#[doc(hidden)]
pub use hk_core::dtype::DType;
pub use parallel::run_cases;
pub use rejections::run_rejections;
pub use rows::{RowCase, Types};
pub use scales::Scales;
pub use setup::{Arg, NOT_POSITIVE, NOT_ZERO_OR_MORE, Number, Setup};
pub use traffic::{BYTES_AT_ONCE, HELD, Moved, Traffic, few_workgroups};
