//! `hipkittens mutate --values`: whether altered instructions are noticed.
//!
//! The sample is drawn from the places of a core (see [`Place`]) whose instructions some case
//! executes, each place once before any comes twice; of a place, one of its copies, and of that one
//! of its alterations. A mutant runs on the cases that execute the instruction, of all modules of
//! the crate, those with the fewest instructions first, until one notices it: first each once, then
//! each as `check --sanitize` runs it. Processes do the work, as the simulator has one setting for
//! each, and a mutant that writes where it should not spoils only its own.

pub(crate) mod worker;

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::io::{self, Write};
use std::process::ExitCode;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};

use hk_core::Device;
use hk_ref::{Case, Size};
use hk_sim::alter::{Alteration, alterations};
use hk_sim::equal::is_equal;
use hk_sim::exec::{Coverage, ExecOptions, Executed};
use hk_sim::isa::Arch;
use hk_sim::object::{CodeObject, Placed};
use rand::rngs::StdRng;
use rand::seq::{IndexedRandom, SliceRandom};
use rand::{RngExt, SeedableRng};
use serde_json::json;

use crate::check;
use crate::cores::{self, Core, CoreKernel, Instruction, Place};
use crate::mutate::{Request, bar};
use crate::reasons::{Reason, Reasons, Sources};
use crate::registry::{self, KernelCrate};

use worker::{Answer, Job, Outcome, Worker};

/// The share of the mutants that must be caught, of those that are not proved equivalent.
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
    fn work(&self) -> u64 {
        self.kernels.values().map(|executed| executed.instructions).sum()
    }

    /// Wave instructions that a launch of a mutant may execute.
    fn budget(&self) -> u64 {
        let longest = self.kernels.values().map(|executed| executed.longest).max();
        PATIENCE * longest.unwrap_or(0) + SLACK
    }
}

/// An executed instruction that can be altered.
struct Site<'a> {
    kernel: &'a CoreKernel,
    placed: Placed,
    alterations: Vec<Alteration>,
}

/// By place, the copies of its instruction.
type Sites<'a> = BTreeMap<Place, Vec<Site<'a>>>;

/// A mutant, ready to be judged.
struct Mutant<'a> {
    place: &'a Place,
    site: &'a Site<'a>,
    alteration: &'a Alteration,
}

impl Mutant<'_> {
    /// Whether it is proved to do what the original does.
    fn is_equal(&self) -> Result<bool, String> {
        let Site { kernel: CoreKernel { tile, .. }, placed, .. } = self.site;
        let image = tile.image.unpack().map_err(|error| error.to_string())?;
        let object = CodeObject::parse(&image);
        let object = object.map_err(|error| format!("{}: {error}", tile.symbol))?;
        let code = object.instructions(tile.symbol);
        Ok(is_equal(&code, tile.threads, placed.offset, &self.alteration.inst))
    }

    /// What reasons are looked up by.
    fn what(&self) -> String {
        what(self.site, self.alteration)
    }
}

fn what(site: &Site<'_>, alteration: &Alteration) -> String {
    format!("{} -> {}", site.placed.inst, alteration.inst)
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
        if !of.cases.iter().any(matches) {
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
            if asked && !core.kernels.is_empty() {
                rows.push(change(request, &of, &core, &runs, &reasons.values, &sources)?);
            }
        }
    }
    if rows.is_empty() {
        return Err("no case launches such a kernel; `hipkittens check --list` prints all".into());
    }
    print(&rows, request)?;
    Ok(if rows.iter().all(Row::holds) { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Runs every case unchanged, once.
fn runs<'a>(devices: &'a [Device], cases: &[Case]) -> Result<Vec<Run<'a>>, Box<dyn Error>> {
    let before = hk_sim::exec_options();
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
            hk_sim::set_exec_options(ExecOptions { coverage: noted, ..before.clone() });
            if let Some(failure) = case.prepare(device)?.attempt()? {
                return Err(format!("{}: {failure}", case.info.title()).into());
            }
            runs.push(Run { device, case: number, kernels: coverage.kernels() });
        }
    }
    progress.finish_and_clear();
    hk_sim::set_exec_options(before);
    runs.sort_by_key(Run::work);
    Ok(runs)
}

/// The cases that execute the instruction, those with the least work first.
fn reaching<'r>(runs: &'r [Run<'r>], kernel: &CoreKernel, placed: &Placed) -> Vec<&'r Run<'r>> {
    let reaches = |run: &&Run<'_>| {
        run.device.arch().name() == kernel.arch
            && run.kernels.get(kernel.tile.symbol).is_some_and(|all| executes(all, placed))
    };
    runs.iter().filter(reaches).collect()
}

fn executes(all: &Executed, placed: &Placed) -> bool {
    let seen = all.at(placed.offset);
    seen.with_lanes() || seen.executed() && !placed.inst.info.format.is_vector()
}

/// What of a core some case executes and can be altered.
fn sites<'c>(core: &'c Core, runs: &[Run<'_>]) -> Result<Sites<'c>, Box<dyn Error>> {
    let mut sites = Sites::new();
    for kernel in &core.kernels {
        let Some(arch) = Arch::from_target_id(kernel.arch) else { continue };
        let mut all = Executed::default();
        let of = |run: &&Run<'_>| run.device.arch().name() == kernel.arch;
        let executed = runs.iter().filter(of).filter_map(|run| run.kernels.get(kernel.tile.symbol));
        executed.for_each(|executed| all.merge(executed));
        for Instruction { placed, place, .. } in cores::code(kernel)? {
            if !executes(&all, &placed) {
                continue;
            }
            let alterations = alterations(arch, &placed.inst);
            if !alterations.is_empty() {
                let site = Site { kernel, placed, alterations };
                sites.entry(place).or_default().push(site);
            }
        }
    }
    Ok(sites)
}

/// Draws the sample.
fn sample<'a>(sites: &'a Sites<'a>, count: usize, seed: u64) -> Vec<Mutant<'a>> {
    let mut places: Vec<_> = sites.iter().collect();
    let mut random = StdRng::seed_from_u64(seed);
    let mut mutants: Vec<Mutant<'_>> = Vec::new();
    let mut taken = BTreeSet::new();
    let mut idle_rounds = 0;
    while mutants.len() < count && idle_rounds < 8 {
        let before = mutants.len();
        places.shuffle(&mut random);
        for (place, copies) in &places {
            let Some(site) = copies.choose(&mut random) else { continue };
            let number = random.random_range(0..site.alterations.len());
            let Site { kernel, placed, alterations } = site;
            if mutants.len() < count
                && taken.insert((kernel.arch, kernel.tile.symbol, placed.offset, number))
            {
                mutants.push(Mutant { place, site, alteration: &alterations[number] });
            }
        }
        idle_rounds = if mutants.len() == before { idle_rounds + 1 } else { 0 };
    }
    mutants
}

/// Judges a sample of the mutants of one core.
fn change(
    request: &Request,
    of: &KernelCrate,
    core: &Core,
    runs: &[Run<'_>],
    reasons: &[Reason],
    sources: &Sources,
) -> Result<Row, Box<dyn Error>> {
    let sites = sites(core, runs)?;
    let mutants = sample(&sites, request.sample, request.seed);
    let jobs: Vec<Job> = mutants.iter().map(|mutant| job(of, runs, mutant)).collect();
    let mut row = Row::new(core);
    // Of code that was left out, nothing is known.
    if request.kernel.is_none() && request.device.is_empty() {
        row.stale = Reason::complain(reasons, core.family, |reason| {
            let covered = |site: &Site<'_>| {
                site.alterations.iter().any(|altered| reason.covers(&what(site, altered)))
            };
            let about = |place| reason.is_about(sources, core.family, place);
            !sites.iter().any(|(place, copies)| about(place) && copies.iter().any(covered))
        });
    }
    let progress = bar(jobs.len());
    progress.set_message(format!("{} {}", core.package, core.family));
    let next = Mutex::new(0..jobs.len());
    let turn = || next.lock().unwrap_or_else(PoisonError::into_inner).next();
    let work = |answers: &Sender<_>| {
        let mut worker = Worker::start()?;
        while let Some(at) = turn() {
            let answer = match mutants[at].is_equal()? {
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
                let answer = first.remove();
                let reason = (answer.outcome == Outcome::Survived).then(|| {
                    Reason::find(reasons, sources, core.family, mutant.place, &mutant.what())
                });
                let reason = reason.flatten();
                row.add(&answer, reason.is_some());
                progress.suspend(|| show(request, core, mutant, &answer, reason, sources))?;
            }
        }
        progress.finish_and_clear();
        match judged.len() {
            0 => Ok(row),
            left => Err(format!("{left} mutants were not judged").into()),
        }
    })
}

fn job(of: &KernelCrate, runs: &[Run<'_>], mutant: &Mutant<'_>) -> Job {
    let Mutant { site: Site { kernel, placed, .. }, alteration, .. } = mutant;
    let reaching = reaching(runs, kernel, placed);
    Job {
        package: of.kernels.package.to_owned(),
        device: reaching.first().map_or_else(String::new, |run| run.device.name().to_owned()),
        symbol: kernel.tile.symbol.to_owned(),
        position: placed.position,
        words: alteration.words().to_vec(),
        cases: reaching.iter().map(|run| (run.case, run.budget())).collect(),
    }
}

fn show(
    request: &Request,
    core: &Core,
    mutant: &Mutant<'_>,
    answer: &Answer,
    reason: Option<&str>,
    sources: &Sources,
) -> io::Result<()> {
    let mut out = io::stdout().lock();
    let Mutant { place, site: Site { kernel, placed, .. }, alteration } = mutant;
    let (symbol, arch, offset) = (kernel.tile.symbol, kernel.arch, placed.offset);
    if request.json {
        let line = json!({
            "crate": core.package,
            "core": core.family,
            "kernel": symbol,
            "arch": arch,
            "offset": offset,
            "source": place.lines(),
            "kind": alteration.kind.word(),
            "instruction": placed.inst.to_string(),
            "replacement": alteration.inst.to_string(),
            "outcome": answer.outcome.word(),
            "detail": answer.detail,
            "case": answer.case,
            "cases": answer.cases,
            "reason": reason,
        });
        writeln!(out, "{line}")?;
    } else if answer.outcome == Outcome::Survived {
        let family = core.family;
        let (before, after) = (&placed.inst, &alteration.inst);
        writeln!(out, "\n{family} survived on {} cases: {before} -> {after}", answer.cases)?;
        place.print(&mut out, sources)?;
        writeln!(out, "  {symbol} {arch} +{offset:#x}")?;
        writeln!(out, "  {}", reason.unwrap_or("no reason is stated"))?;
    }
    Ok(())
}

/// The mutants of one core by outcome.
struct Row {
    package: &'static str,
    family: &'static str,
    counts: [usize; 5],
    unexplained: usize,
    /// Reasons that speak of nothing.
    stale: usize,
}

impl Row {
    fn new(core: &Core) -> Self {
        let (package, family) = (core.package, core.family);
        Self { package, family, counts: [0; 5], unexplained: 0, stale: 0 }
    }

    fn add(&mut self, answer: &Answer, explained: bool) {
        self.counts[answer.outcome as usize] += 1;
        self.unexplained += usize::from(answer.outcome == Outcome::Survived && !explained);
    }

    /// Of those that are not proved equivalent, the share that was caught.
    fn share(&self) -> f64 {
        let [parity, fault, sanitizer, equivalent, _] = self.counts;
        let all: usize = self.counts.iter().sum();
        let caught = parity + fault + sanitizer;
        if all == equivalent { 1.0 } else { caught as f64 / (all - equivalent) as f64 }
    }

    fn holds(&self) -> bool {
        self.share() >= BAR && self.unexplained == 0 && self.stale == 0
    }
}

fn print(rows: &[Row], request: &Request) -> io::Result<()> {
    let mut out = io::stdout().lock();
    let Request { json, sample, seed, .. } = *request;
    if !json {
        writeln!(out, "\nat most {sample} mutants of each core, drawn by seed {seed}")?;
        writeln!(
            out,
            "{:<8} {:<12} {:>7} {:>6} {:>6} {:>9} {:>10} {:>8} {:>11} {:>7}",
            "crate",
            "core",
            "mutants",
            "parity",
            "fault",
            "sanitizer",
            "equivalent",
            "survived",
            "unexplained",
            "caught",
        )?;
    }
    for row in rows {
        let Row { package, family, counts, unexplained, .. } = row;
        let [parity, fault, sanitizer, equivalent, survived] = counts;
        let all: usize = counts.iter().sum();
        let share = row.share();
        if json {
            let line = json!({
                "crate": package,
                "core": family,
                "seed": seed,
                "mutants": all,
                "parity": parity,
                "fault": fault,
                "sanitizer": sanitizer,
                "equivalent": equivalent,
                "survived": survived,
                "unexplained": unexplained,
                "caught": share,
            });
            writeln!(out, "{line}")?;
        } else {
            writeln!(
                out,
                "{package:<8} {family:<12} {all:>7} {parity:>6} {fault:>6} {sanitizer:>9} \
                 {equivalent:>10} {survived:>8} {unexplained:>11} {:>6.1}%",
                100.0 * share,
            )?;
        }
    }
    Ok(())
}
