//! `hipkittens mutate --values`: whether altered instructions are noticed.
//!
//! The sample is drawn from the places of a core (see [`Place`](crate::cores::Place)) whose
//! instructions some case executes, each place once before any comes twice; of a place, one
//! [`Change`](hk_sim::alter::Change). A mutant is what a slip in the source would be: the change in
//! every copy of the place, of all kernels of the core and for all architectures, as far as it can
//! be made there. It runs on the cases that execute a copy, of all modules of the crate, those with
//! the fewest instructions first, until one notices it: first each once, then each as
//! `check --sanitize` runs it. Processes do the work, as the simulator has one setting for each, and
//! a mutant that writes where it should not spoils only its own.

mod places;
pub(crate) mod worker;

use std::collections::BTreeMap;
use std::error::Error;
use std::io::{self, Write};
use std::process::ExitCode;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};

use hk_core::Device;
use hk_ref::{Case, Size};
use hk_sim::Options;
use hk_sim::exec::{Coverage, ExecOptions, Executed};
use hk_sim::isa::Inst;
use hk_sim::object::Placed;
use serde_json::json;

use crate::check;
use crate::cores::{Core, CoreKernel};
use crate::mutate::{Request, bar};
use crate::output;
use crate::reasons::{Reason, Reasons, Sources};
use crate::registry::{self, KernelCrate};

use places::{Copy, Mutant, Target, executes, places, sample, targets, what};
use worker::{Altered, Answer, Job, Outcome, Trial, Worker};

/// The share of the mutants that must be caught, of those that are not proved equivalent, by the
/// program or in words.
const BAR: f64 = 0.97;

/// A mutant that runs over may execute this many times what the case needs.
const PATIENCE: u64 = 4;
/// And this many instructions more.
const SLACK: u64 = 100_000;

/// What a case executes on a device.
struct Run<'a> {
    device: &'a Device,
    /// The case's place in the list of its crate.
    case: usize,
    kernels: BTreeMap<String, Executed>,
}

impl Run<'_> {
    /// What it executes of a kernel, if it launches it.
    fn executed(&self, kernel: &CoreKernel) -> Option<&Executed> {
        let is_for = self.device.arch().name() == kernel.arch;
        self.kernels.get(kernel.tile.symbol).filter(|_| is_for)
    }

    fn work(&self) -> u64 {
        self.kernels.values().map(|executed| executed.instructions).sum()
    }

    /// Wave instructions that a launch of a mutant may execute.
    fn budget(&self) -> u64 {
        let longest = self.kernels.values().map(|executed| executed.longest).max();
        PATIENCE * longest.unwrap_or(0) + SLACK
    }
}

/// Alters instructions of the cores and prints what became of the mutants.
///
/// # Errors
/// What is wrong with the request, or with an unchanged kernel.
pub(crate) fn run(request: &Request) -> Result<ExitCode, Box<dyn Error>> {
    let devices = check::open(&request.device)?;
    if let Some(device) = devices.iter().find(|device| !device.is_simulated()) {
        return Err(format!("{device}: mutants run on simulated devices only").into());
    }
    let filter = request.filter.as_deref().unwrap_or_default();
    let mut rows = Vec::new();
    for of in registry::crates() {
        let matches = |case: &Case| check::title(case).contains(filter);
        if !of.cases.iter().any(matches) || !output::is_read() {
            continue;
        }
        let runs = runs(&devices, &of.cases)?;
        let reasons = Reasons::parse(of.kernels.package, of.reasons)?;
        let sources = Sources::new(of.kernels.package);
        for mut core in Core::all(&of) {
            let asked = runs.iter().any(|run| {
                let launches = |kernel: &CoreKernel| run.kernels.contains_key(kernel.tile.symbol);
                matches(&of.cases[run.case]) && core.kernels.iter().any(launches)
            });
            let wanted = request.kernel.as_deref().unwrap_or_default();
            core.kernels.retain(|kernel| kernel.tile.symbol.contains(wanted));
            if asked && !core.kernels.is_empty() && output::is_read() {
                rows.extend(change(request, &of, &core, &runs, &reasons.values, &sources)?);
            }
        }
    }
    if rows.is_empty() {
        let what = if request.line.is_some() { " with such a line" } else { "" };
        let all = "`hipkittens check --list` prints all";
        return Err(format!("no case launches such a kernel{what}; {all}").into());
    }
    print(&rows, request)?;
    Ok(if rows.iter().all(Row::holds) { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Runs every case unchanged, once.
fn runs<'a>(devices: &'a [Device], cases: &[Case]) -> Result<Vec<Run<'a>>, Box<dyn Error>> {
    let before = hk_sim::options();
    let progress = bar(devices.len() * cases.len());
    let mut runs = Vec::new();
    for device in devices {
        for (number, case) in cases.iter().enumerate() {
            progress.inc(1);
            if case.info.size >= Size::Large || !case.info.fits(device) {
                continue;
            }
            progress.set_message(format!("{device} {}", case.info.title()));
            let coverage = Arc::new(Coverage::default());
            let noted = Some(Arc::clone(&coverage));
            let exec = ExecOptions { coverage: noted, ..before.exec.clone() };
            hk_sim::set_options(Options { exec, ..before.clone() });
            if let Some(failure) = case.prepare(device)?.attempt()? {
                return Err(format!("{}: {failure}", case.info.title()).into());
            }
            runs.push(Run { device, case: number, kernels: coverage.kernels() });
        }
    }
    progress.finish_and_clear();
    hk_sim::set_options(before);
    runs.sort_by_key(Run::work);
    Ok(runs)
}

/// Judges a sample of the mutants of one core; there may be none of the lines that are asked for.
fn change(
    request: &Request,
    of: &KernelCrate,
    core: &Core,
    runs: &[Run<'_>],
    reasons: &[Reason],
    sources: &Sources,
) -> Result<Option<Row>, Box<dyn Error>> {
    let targets = targets(core, runs)?;
    let mut places = places(&targets);
    if let Some(text) = &request.line {
        places.retain(|place, _| place.texts(sources).any(|line| line.contains(text)));
        if places.is_empty() {
            return Ok(None);
        }
    }
    let mutants = sample(&places, request.sample.get(), request.seed);
    let jobs: Vec<Job> = mutants.iter().map(|mutant| job(of, runs, &targets, mutant)).collect();
    let mut row = Row::new(core);
    // Of code that was left out, nothing is known.
    if request.kernel.is_none() && request.line.is_none() && request.device.is_empty() {
        row.stale = Reason::complain(reasons, core.name, |reason| {
            let covered = |copy: &Copy| {
                copy.alterations.iter().any(|altered| reason.covers(&what(copy, &altered.inst)))
            };
            let about = |place| reason.is_about(sources, core.name, place);
            !places.iter().any(|(place, copies)| about(place) && copies.iter().any(covered))
        });
    }
    let progress = bar(jobs.len());
    progress.set_message(format!("{} {}", core.package, core.name));
    let next = Mutex::new(0..jobs.len());
    let turn = || next.lock().unwrap_or_else(PoisonError::into_inner).next();
    let work = |answers: &Sender<_>| {
        let mut worker = Worker::start()?;
        while let Some(at) = turn() {
            let answer = match mutants[at].is_equal(&targets) {
                true => Answer::equal(),
                false => worker.judge(&jobs[at])?,
            };
            // Nobody listens any more after an error.
            if answers.send(Ok((at, answer))).is_err() {
                break;
            }
        }
        Ok::<_, String>(())
    };
    std::thread::scope(|scope| {
        let (sender, answers) = channel();
        let processes = std::thread::available_parallelism().map_or(1, usize::from);
        for _ in 0..processes.min(jobs.len()) {
            let sender = sender.clone();
            scope.spawn(move || {
                if let Err(error) = work(&sender) {
                    // As above.
                    let _ = sender.send(Err(error));
                }
            });
        }
        drop(sender);
        // In the order of the sample.
        let mut early = BTreeMap::new();
        let mut judged = mutants.iter().enumerate();
        for answer in answers {
            let (at, answer) = answer?;
            early.insert(at, answer);
            progress.inc(1);
            while let Some(first) = early.first_entry()
                && *first.key() == mutants.len() - judged.len()
                && let Some((_, mutant)) = judged.next()
            {
                let mut answer = first.remove();
                let reason = (answer.outcome == Outcome::Survived).then(|| {
                    Reason::find(reasons, sources, core.name, mutant.place, &mutant.what())
                });
                let reason = reason.flatten();
                if reason.is_some_and(Reason::is_proof) {
                    answer.outcome = Outcome::Argued;
                }
                row.add(&answer, reason.is_some());
                let reason = reason.map(Reason::text);
                let shown = || show(request, core, &targets, mutant, &answer, reason, sources);
                progress.suspend(shown)?;
            }
            if !output::is_read() {
                break;
            }
        }
        progress.finish_and_clear();
        match judged.len() {
            left if left > 0 && output::is_read() => {
                Err(format!("{left} mutants were not judged").into())
            }
            _ => Ok(Some(row)),
        }
    })
}

/// A mutant with the cases that execute a copy of its instruction, those with the least work first.
fn job(of: &KernelCrate, runs: &[Run<'_>], targets: &[Target<'_>], mutant: &Mutant<'_>) -> Job {
    let by_target = mutant.by_target();
    let kernels = by_target.iter().map(|(target, copies)| {
        let CoreKernel { arch, tile } = targets[*target].kernel;
        let words = |inst: &Inst| inst.raw[..usize::from(inst.size / 4)].to_vec();
        let words = copies.iter().map(|(placed, inst)| (placed.position, words(inst)));
        Altered { arch: (*arch).into(), symbol: tile.symbol.into(), words: words.collect() }
    });
    let trial = |run: &Run<'_>| {
        let launched = |target: &usize| run.executed(targets[*target].kernel);
        let reaches = |(target, copies): (&usize, &Vec<(&Placed, &Inst)>)| {
            let all = launched(target);
            all.is_some_and(|all| copies.iter().any(|(placed, _)| executes(all, placed)))
        };
        let kernels = by_target.keys().enumerate();
        let kernels = kernels.filter(|(_, target)| launched(target).is_some());
        by_target.iter().any(reaches).then(|| Trial {
            device: run.device.name().to_owned(),
            case: run.case,
            budget: run.budget(),
            kernels: kernels.map(|(at, _)| at).collect(),
        })
    };
    Job {
        package: of.kernels.package.to_owned(),
        kernels: kernels.collect(),
        trials: runs.iter().filter_map(trial).collect(),
    }
}

fn show(
    request: &Request,
    core: &Core,
    targets: &[Target<'_>],
    mutant: &Mutant<'_>,
    answer: &Answer,
    reason: Option<&str>,
    sources: &Sources,
) -> io::Result<()> {
    let mut out = output::stdout();
    let Mutant { place, change, copies } = mutant;
    // One for all.
    let (Copy { target, placed: Placed { inst, offset, .. }, .. }, altered) = copies[0];
    let CoreKernel { arch, tile } = targets[*target].kernel;
    let (symbol, copies, kernels) = (tile.symbol, copies.len(), mutant.by_target().len());
    if request.json {
        let line = json!({
            "crate": core.package,
            "core": core.name,
            "kernel": symbol,
            "arch": arch,
            "offset": offset,
            "source": place.lines(),
            "kind": change.kind.word(),
            "instruction": inst.to_string(),
            "replacement": altered.to_string(),
            "copies": copies,
            "kernels": kernels,
            "outcome": answer.outcome.word(),
            "detail": answer.detail,
            "case": answer.case,
            "cases": answer.cases,
            "reason": reason,
        });
        writeln!(out, "{line}")?;
    } else if let Outcome::Survived | Outcome::Argued = answer.outcome {
        let core = core.name;
        writeln!(out, "\n{core} survived on {} cases: {inst} -> {altered}", answer.cases)?;
        place.print(&mut out, sources)?;
        writeln!(out, "  {symbol} {arch} +{offset:#x}, {copies} copies in {kernels} kernels")?;
        writeln!(out, "  {}", reason.unwrap_or("no reason is stated"))?;
    }
    Ok(())
}

/// The mutants of one core by outcome.
struct Row {
    package: &'static str,
    core: &'static str,
    counts: [usize; 6],
    unexplained: usize,
    /// Reasons that speak of nothing.
    stale: usize,
}

impl Row {
    fn new(core: &Core) -> Self {
        let (package, core) = (core.package, core.name);
        Self { package, core, counts: [0; 6], unexplained: 0, stale: 0 }
    }

    fn add(&mut self, answer: &Answer, explained: bool) {
        self.counts[answer.outcome as usize] += 1;
        self.unexplained += usize::from(answer.outcome == Outcome::Survived && !explained);
    }

    /// Of those that are not proved equivalent, the share that was caught.
    fn share(&self) -> f64 {
        let [parity, fault, sanitizer, _, survived, _] = self.counts;
        let caught = parity + fault + sanitizer;
        if survived == 0 { 1.0 } else { caught as f64 / (caught + survived) as f64 }
    }

    fn holds(&self) -> bool {
        self.share() >= BAR && self.unexplained == 0 && self.stale == 0
    }
}

fn print(rows: &[Row], request: &Request) -> io::Result<()> {
    let mut out = output::stdout();
    let Request { json, sample, seed, .. } = *request;
    if !json {
        writeln!(out, "\nat most {sample} mutants of each core, drawn by seed {seed}")?;
        writeln!(
            out,
            "{:<8} {:<12} {:>7} {:>6} {:>6} {:>9} {:>10} {:>6} {:>8} {:>11} {:>7}",
            "crate",
            "core",
            "mutants",
            "parity",
            "fault",
            "sanitizer",
            "equivalent",
            "argued",
            "survived",
            "unexplained",
            "caught",
        )?;
    }
    for row in rows {
        let Row { package, core, counts, unexplained, .. } = row;
        let [parity, fault, sanitizer, equivalent, survived, argued] = counts;
        let all: usize = counts.iter().sum();
        let share = row.share();
        if json {
            let line = json!({
                "crate": package,
                "core": core,
                "seed": seed,
                "mutants": all,
                "parity": parity,
                "fault": fault,
                "sanitizer": sanitizer,
                "equivalent": equivalent,
                "argued": argued,
                "survived": survived,
                "unexplained": unexplained,
                "caught": share,
            });
            writeln!(out, "{line}")?;
        } else {
            writeln!(
                out,
                "{package:<8} {core:<12} {all:>7} {parity:>6} {fault:>6} {sanitizer:>9} \
                 {equivalent:>10} {argued:>6} {survived:>8} {unexplained:>11} {:>6.1}%",
                100.0 * share,
            )?;
        }
    }
    Ok(())
}
