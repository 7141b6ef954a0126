//! `hipkittens mutate`: whether kernels without a barrier or a wait are noticed.

use std::collections::{BTreeSet, HashMap};
use std::error::Error;
use std::io::{self, Write};
use std::num::NonZeroUsize;
use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;
use hk_core::kernel::{CodeObjectImage, TileConfig};
use hk_core::{Device, FaultKind, record_tiles, with_code};
use hk_ref::{Case, Prepared, Size};
use hk_sim::Options;
use hk_sim::exec::{Coverage, ExecOptions, Executed};
use hk_sim::object::CodeObject;
use hk_sim::sanitize::{Audit, Checks, Mutant, mutants};
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::json;

use crate::{check, output, registry, values};

/// Instructions that a mutant may execute before it counts as caught.
const MAX_INSTRUCTIONS: u64 = 1 << 26;

/// What `hipkittens mutate` is asked to do.
#[derive(Args)]
pub(crate) struct Request {
    /// Take only cases whose module, op, element types, shape and name contain this text.
    pub(crate) filter: Option<String>,
    /// Change only kernels whose symbol contains this text.
    #[arg(long, value_name = "TEXT")]
    pub(crate) kernel: Option<String>,
    /// Simulated device; may be given several times [default: one of each architecture that there
    /// are kernels for]
    #[arg(long, value_name = "NAME")]
    pub(crate) device: Vec<String>,
    /// Cases to try on each mutant, of those that execute the instruction: the shortest, the longest,
    /// and some between. The proof that a mutant is harmless looks at all of them.
    #[arg(long, default_value = "3", value_name = "N", conflicts_with = "values")]
    cases: NonZeroUsize,
    /// Print an object of JSON per mutant, one per line.
    #[arg(long)]
    pub(crate) json: bool,
    /// Alter ordinary instructions instead of waits and barriers: a sample for each kernel core, over
    /// the cases of all modules that use it. Constants differ by one, or are doubled or negated; a
    /// comparison, addition, minimum becomes its neighbour; operands and choices are swapped. Each is
    /// altered like a line of the source: in all copies, of all tile configurations and chips.
    #[arg(long)]
    pub(crate) values: bool,
    /// Mutants to try of each core.
    #[arg(long, default_value = "400", value_name = "N", requires = "values")]
    pub(crate) sample: NonZeroUsize,
    /// Alter only what a line of the source has become that contains this text: the instruction's own
    /// line, or that of a call around it.
    #[arg(long, value_name = "TEXT", requires = "values")]
    pub(crate) line: Option<String>,
    /// Seed of the sample.
    #[arg(long, default_value_t = 1, value_name = "S", requires = "values")]
    pub(crate) seed: u64,
    /// Run the mutants that another process names.
    #[arg(long, hide = true)]
    worker: bool,
}

/// What became of a mutant.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Outcome {
    /// The sanitizer reported it; the kind.
    Sanitizer(String),
    /// It faulted or gave a wrong result.
    Parity(String),
    /// Proved: no access in flight that the instruction orders.
    Equivalent,
    /// No case executes the instruction.
    Unreached,
    /// Not noticed, and not proved to be harmless; what stood in the way of the proof.
    Survived(String),
}

impl Outcome {
    fn word(&self) -> &'static str {
        match self {
            Self::Sanitizer(_) => "sanitizer",
            Self::Parity(_) => "parity",
            Self::Equivalent => "equivalent",
            Self::Unreached => "unreached",
            Self::Survived(_) => "survived",
        }
    }

    fn detail(&self) -> Option<&str> {
        match self {
            Self::Sanitizer(text) | Self::Parity(text) | Self::Survived(text) => Some(text),
            Self::Equivalent | Self::Unreached => None,
        }
    }

    fn is_defect(&self) -> bool {
        matches!(self, Self::Survived(_))
    }
}

/// A kernel in a tile configuration, with the cases that launch it, those with the least work first.
struct Target<'a> {
    tile: &'static TileConfig,
    cases: Vec<&'a Case>,
}

/// Changes the kernels and prints what became of the mutants.
///
/// # Errors
/// What is wrong with the request, or with an unchanged kernel.
pub(crate) fn run(request: &Request) -> Result<ExitCode, Box<dyn Error>> {
    if request.worker {
        return values::worker::run();
    }
    if request.values {
        return values::run(request);
    }
    let devices = check::open(&request.device)?;
    let filter = request.filter.as_deref().unwrap_or_default();
    let mut cases = registry::cases();
    // All of a kernel are held at once, and which waits matter does not depend on addresses.
    let fits = |case: &Case| case.info.size < Size::Large && !case.takes_gigabytes();
    cases.retain(|case| fits(case) && check::title(case).contains(filter));
    let before = hk_sim::options();
    let result = change_all(request, &devices, &cases);
    hk_sim::set_options(before);
    result
}

fn change_all(
    request: &Request,
    devices: &[Device],
    cases: &[Case],
) -> Result<ExitCode, Box<dyn Error>> {
    let mut rows = Vec::new();
    let mut defects = 0;
    'devices: for device in devices {
        if !device.is_simulated() {
            return Err(format!("{device}: mutants run on simulated devices only").into());
        }
        let wanted = request.kernel.as_deref().unwrap_or_default();
        for target in targets(device, cases, wanted)? {
            let mut row =
                Row { device: device.name().to_owned(), tile: target.tile, counts: [0; 5] };
            defects += change(request, device, &target, &mut row)?;
            rows.push(row);
            if !output::is_read() {
                break 'devices;
            }
        }
    }
    if rows.is_empty() {
        return Err("no case launches such a kernel; `hipkittens check --list` prints all".into());
    }
    if !request.json {
        print(&rows)?;
    }
    Ok(if defects == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The kernels that the cases launch.
fn targets<'a>(
    device: &Device,
    cases: &'a [Case],
    wanted: &str,
) -> Result<Vec<Target<'a>>, Box<dyn Error>> {
    let fitting: Vec<_> = cases.iter().filter(|case| case.info.fits(device)).collect();
    let progress = bar(fitting.len());
    let mut targets: Vec<Target<'_>> = Vec::new();
    let mut by_symbol = HashMap::new();
    for case in fitting {
        progress.set_message(format!("{device} {}", case.info.title()));
        let mut prepared = case.prepare(device)?;
        hk_sim::set_options(options(Checks::NONE));
        let (outcome, tiles) = record_tiles(|| prepared.attempt());
        if let Some(failure) = outcome? {
            return Err(format!("{}: {failure}", case.info.title()).into());
        }
        for tile in tiles.into_iter().filter(|tile| tile.symbol.contains(wanted)) {
            let number = *by_symbol.entry(tile.symbol).or_insert_with(|| {
                targets.push(Target { tile, cases: Vec::new() });
                targets.len() - 1
            });
            let cases = &mut targets[number].cases;
            if cases.last().is_none_or(|last| !std::ptr::eq(*last, case)) {
                cases.push(case);
            }
        }
        progress.inc(1);
    }
    progress.finish_and_clear();
    for target in &mut targets {
        target.cases.sort_by_key(|case| case.info.shape.iter().product::<usize>());
    }
    Ok(targets)
}

/// At most `count` of `0..of`, which has some: the first, the last, and some between.
fn spread(of: usize, count: NonZeroUsize) -> BTreeSet<usize> {
    let count = count.get().min(of);
    let (last, steps) = (of.saturating_sub(1), count.saturating_sub(1).max(1));
    (0..count).map(|i| i * last / steps).collect()
}

/// A case, ready to be run, and which instructions of the kernel it executes.
struct Trial {
    prepared: Prepared,
    executed: Executed,
}

/// Runs the cases of a kernel unchanged, which the sanitizer must let pass.
fn trials(device: &Device, target: &Target<'_>) -> Result<Vec<Trial>, Box<dyn Error>> {
    let progress = bar(target.cases.len());
    let mut trials = Vec::new();
    for case in &target.cases {
        progress.set_message(format!("{device} {}", case.info.title()));
        // What the sanitizer knows of memory begins with its allocation.
        hk_sim::set_options(options(Checks::ALL));
        let mut prepared = case.prepare(device)?;
        let coverage = Arc::new(Coverage::default());
        let noted = Some(Arc::clone(&coverage));
        let mut watched = options(Checks::ALL);
        watched.exec.coverage = noted;
        hk_sim::set_options(watched);
        if let Some(failure) = prepared.attempt()? {
            return Err(format!("{}: {failure}", case.info.title()).into());
        }
        trials.push(Trial { prepared, executed: coverage.kernel(target.tile.symbol) });
        progress.inc(1);
    }
    progress.finish_and_clear();
    Ok(trials)
}

/// Makes the mutants of one kernel, and returns how many are defects.
fn change(
    request: &Request,
    device: &Device,
    target: &Target<'_>,
    row: &mut Row,
) -> Result<usize, Box<dyn Error>> {
    let tile = target.tile;
    let code = tile.image.unpack()?;
    let object = CodeObject::parse(&code)?;
    let mutants = mutants(&object, tile.symbol);
    let mut trials = trials(device, target)?;
    let progress = bar(mutants.len());
    progress.set_message(format!("{device} {}", tile.symbol));
    let mut defects = 0;
    for mutant in mutants.iter().take_while(|_| output::is_read()) {
        let reaches = |trial: &&mut Trial| trial.executed.at(mutant.offset).executed();
        let mut reaching: Vec<_> = trials.iter_mut().filter(reaches).collect();
        let altered = (tile.image, mutant.apply(&code));
        let outcome = judge(device, tile, mutant, &altered, &mut reaching, request.cases)?;
        row.add(&outcome);
        defects += usize::from(outcome.is_defect());
        let Mutant { offset, instruction, replacement, source, .. } = mutant;
        if request.json {
            let line = json!({
                "device": device.name(),
                "kernel": tile.symbol,
                "offset": offset,
                "instruction": instruction,
                "replacement": replacement,
                "source": source,
                "outcome": outcome.word(),
                "detail": outcome.detail(),
            });
            progress.suspend(|| writeln!(output::stdout(), "{line}"))?;
        } else if outcome.is_defect() {
            let why = outcome.detail().unwrap_or_default();
            let line = format!(
                "{device} {} +{offset:#x} survived: {instruction} -> {replacement}: {why}",
                tile.symbol,
            );
            progress.suspend(|| writeln!(output::stdout(), "{line}"))?;
        }
        progress.inc(1);
    }
    progress.finish_and_clear();
    Ok(defects)
}

/// Runs a mutant on `count` of the cases until one notices it, or else seeks the proof that it is
/// harmless in all of them.
fn judge(
    device: &Device,
    tile: &TileConfig,
    mutant: &Mutant,
    code: &(CodeObjectImage, Vec<u8>),
    trials: &mut [&mut Trial],
    count: NonZeroUsize,
) -> Result<Outcome, Box<dyn Error>> {
    if trials.is_empty() {
        return Ok(Outcome::Unreached);
    }
    let tried = spread(trials.len(), count);
    for &at in &tried {
        if let Some(outcome) = notice(device, code, trials[at])? {
            return Ok(outcome);
        }
    }
    for (at, trial) in trials.iter_mut().enumerate() {
        let Some(why) = need(tile, mutant, trial)? else { continue };
        let noticed = if tried.contains(&at) { None } else { notice(device, code, trial)? };
        return Ok(noticed.unwrap_or(Outcome::Survived(why)));
    }
    Ok(Outcome::Equivalent)
}

/// How a case notices changed code, if it does.
fn notice(
    device: &Device,
    code: &(CodeObjectImage, Vec<u8>),
    trial: &mut Trial,
) -> Result<Option<Outcome>, Box<dyn Error>> {
    hk_sim::set_options(options(Checks::ALL));
    match with_code(device, &[code], || trial.prepared.attempt())? {
        Ok(failure) => Ok(failure.map(Outcome::Parity)),
        Err(hk_core::Error::Fault(fault)) => {
            let by_sanitizer = matches!(fault.kind, FaultKind::Sanitizer(_));
            let text = format!("{}: {}", fault.kind.word(), fault.detail);
            let outcome = if by_sanitizer { Outcome::Sanitizer } else { Outcome::Parity };
            Ok(Some(outcome(text)))
        }
        Err(error) => Err(error.into()),
    }
}

/// What a case needs the unchanged instruction for; `None` if it is proved that it needs it for
/// nothing.
fn need(
    tile: &TileConfig,
    mutant: &Mutant,
    trial: &mut Trial,
) -> Result<Option<String>, Box<dyn Error>> {
    let audit = Arc::new(Audit::new(tile.symbol, mutant.offset, mutant.weakened));
    let audited = Some(Arc::clone(&audit));
    hk_sim::set_options(Options { audit: audited, ..options(Checks::NONE) });
    if let Some(failure) = trial.prepared.attempt()? {
        return Err(format!("{}: the unchanged kernel fails: {failure}", tile.symbol).into());
    }
    Ok(audit.verdict().needed)
}

fn options(sanitize: Checks) -> Options {
    let exec = ExecOptions {
        // Waves that advance in step would do without some of the barriers.
        slice: ExecOptions::FAR_AHEAD,
        max_instructions: MAX_INSTRUCTIONS,
        ..ExecOptions::default()
    };
    Options { sanitize, publish: false, ..exec.into() }
}

pub(crate) fn bar(length: usize) -> ProgressBar {
    // Hidden by itself where the standard error is no terminal.
    let progress = ProgressBar::new(length as u64);
    if let Ok(style) = ProgressStyle::with_template("{bar:30} {pos}/{len} {elapsed} {wide_msg}") {
        progress.set_style(style);
    }
    progress
}

/// The mutants of one kernel by outcome.
struct Row {
    device: String,
    tile: &'static TileConfig,
    counts: [usize; 5],
}

impl Row {
    fn add(&mut self, outcome: &Outcome) {
        self.counts[match outcome {
            Outcome::Sanitizer(_) => 0,
            Outcome::Parity(_) => 1,
            Outcome::Equivalent => 2,
            Outcome::Unreached => 3,
            Outcome::Survived(_) => 4,
        }] += 1;
    }
}

fn print(rows: &[Row]) -> io::Result<()> {
    let mut out = output::stdout();
    let width = rows.iter().map(|row| row.tile.symbol.len()).max().unwrap_or(0).max(6);
    writeln!(
        out,
        "{:<12} {:<width$} {:>7} {:>9} {:>6} {:>10} {:>9} {:>8}",
        "device", "kernel", "mutants", "sanitizer", "parity", "equivalent", "unreached", "survived",
    )?;
    let mut line = |device: &str, name: &str, counts: &[usize; 5]| {
        let [sanitizer, parity, equivalent, unreached, survived] = counts;
        let all: usize = counts.iter().sum();
        writeln!(
            out,
            "{device:<12} {name:<width$} {all:>7} {sanitizer:>9} {parity:>6} {equivalent:>10} \
             {unreached:>9} {survived:>8}",
        )
    };
    let mut sum = [0; 5];
    for row in rows {
        line(&row.device, row.tile.symbol, &row.counts)?;
        sum.iter_mut().zip(row.counts).for_each(|(sum, count)| *sum += count);
    }
    line("all", "", &sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cases_are_spread_however_many_are_asked_for() {
        for (of, count, expected) in
            [(5, 1, &[0][..]), (5, 3, &[0, 2, 4]), (1, 3, &[0]), (2, usize::MAX, &[0, 1])]
        {
            let count = NonZeroUsize::new(count).expect("it is positive");
            assert_eq!(Vec::from_iter(spread(of, count)), expected, "{count} of {of}");
        }
    }
}
