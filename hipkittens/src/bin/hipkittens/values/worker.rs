//! The processes that run mutants: a job per line of JSON in, an answer per line out.

use std::collections::BTreeMap;
use std::error::Error;
use std::io::{self, BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitCode, Stdio};

use hk_core::kernel::CodeObjectImage;
use hk_core::{Device, with_code};
use hk_ref::Case;
use hk_sim::Options;
use hk_sim::exec::ExecOptions;
use hk_sim::sanitize::Checks;
use serde::{Deserialize, Serialize};

use crate::cores::Core;
use crate::registry::{self, KernelCrate};

/// A mutant, and the cases to run it on.
#[derive(Serialize, Deserialize)]
pub(crate) struct Job {
    pub(crate) package: String,
    pub(crate) kernels: Vec<Altered>,
    pub(crate) trials: Vec<Trial>,
}

/// A kernel with other instructions.
#[derive(Serialize, Deserialize)]
pub(crate) struct Altered {
    pub(crate) arch: String,
    pub(crate) symbol: String,
    /// Where in the code object instructions are altered, and what stands there instead.
    pub(crate) words: Vec<(usize, Vec<u32>)>,
}

/// A case to run.
#[derive(Serialize, Deserialize)]
pub(crate) struct Trial {
    pub(crate) device: String,
    /// Its number in the crate's list.
    pub(crate) case: usize,
    /// The instructions that a launch may execute.
    pub(crate) budget: u64,
    /// The altered kernels that it launches, by number.
    pub(crate) kernels: Vec<usize>,
}

/// What became of a mutant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Outcome {
    /// The result was wrong, or memory around it was written.
    Parity,
    /// The launch failed, or did not end.
    Fault,
    /// The sanitizer reported it.
    Sanitizer,
    /// Proved: it does what the original does.
    Equivalent,
    /// Not noticed.
    Survived,
    /// Not noticed, and the crate has a proof that no result of any call can differ.
    Argued,
}

impl Outcome {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Parity => "parity",
            Self::Fault => "fault",
            Self::Sanitizer => "sanitizer",
            Self::Equivalent => "equivalent",
            Self::Survived => "survived",
            Self::Argued => "argued",
        }
    }
}

/// What became of a mutant, and how.
#[derive(Serialize, Deserialize)]
pub(crate) struct Answer {
    pub(crate) outcome: Outcome,
    /// What was said.
    pub(crate) detail: Option<String>,
    /// The case that noticed it.
    pub(crate) case: Option<String>,
    /// Cases that execute a copy of the instruction.
    pub(crate) cases: usize,
}

impl Answer {
    /// Of a mutant that is proved to do what the original does.
    pub(crate) fn equal() -> Self {
        Self { outcome: Outcome::Equivalent, detail: None, case: None, cases: 0 }
    }
}

/// A process that runs mutants.
pub(crate) struct Worker {
    process: Child,
    jobs: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

impl Worker {
    pub(crate) fn start() -> Result<Self, String> {
        let fail =
            |error: io::Error| format!("a process to run mutants cannot be started: {error}");
        let program = std::env::current_exe().map_err(fail)?;
        // Its standard error is full of faults.
        let mut process = Command::new(program)
            .args(["mutate", "--values", "--worker"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(fail)?;
        let pipes = process.stdin.take().zip(process.stdout.take());
        let (jobs, answers) = pipes.ok_or("a process to run mutants has no pipes")?;
        Ok(Self { process, jobs: Some(jobs), answers: BufReader::new(answers) })
    }

    pub(crate) fn judge(&mut self, job: &Job) -> Result<Answer, String> {
        let fail = |error: &dyn std::fmt::Display| format!("{}: {error}", job.package);
        let mut line = serde_json::to_string(job).map_err(|error| fail(&error))?;
        line.push('\n');
        let jobs = self.jobs.as_mut().ok_or_else(|| fail(&"no pipe"))?;
        jobs.write_all(line.as_bytes()).map_err(|error| fail(&error))?;
        line.clear();
        self.answers.read_line(&mut line).map_err(|error| fail(&error))?;
        if line.is_empty() {
            return Err(fail(&"the process that runs its mutants has ended"));
        }
        let answer: Result<Answer, String> =
            serde_json::from_str(&line).map_err(|error| fail(&error))?;
        answer.map_err(|error| fail(&error))
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // At the end of its input it ends itself.
        self.jobs = None;
        if let Err(error) = self.process.wait() {
            eprintln!("hipkittens: {error}");
        }
    }
}

/// Answers jobs until there are no more.
///
/// # Errors
/// If the pipes fail.
pub(crate) fn run() -> Result<ExitCode, Box<dyn Error>> {
    let crates = registry::crates();
    for line in io::stdin().lines() {
        let job: Job = serde_json::from_str(&line?)?;
        let answer = judge_job(&crates, &job).map_err(|error| error.to_string());
        let mut out = io::stdout().lock();
        writeln!(out, "{}", serde_json::to_string(&answer)?)?;
        out.flush()?;
    }
    Ok(ExitCode::SUCCESS)
}

fn judge_job(crates: &[KernelCrate], job: &Job) -> Result<Answer, Box<dyn Error>> {
    let of = crates.iter().find(|of| of.kernels.package == job.package);
    let of = of.ok_or("there is no such crate")?;
    let cores = Core::all(of);
    let altered = |altered: &Altered| {
        let mut kernels = cores.iter().flat_map(|core| &core.kernels);
        let kernel = kernels
            .find(|kernel| kernel.arch == altered.arch && kernel.tile.symbol == altered.symbol);
        let image = kernel.ok_or("there is no such kernel")?.tile.image;
        let mut code = image.unpack()?;
        patch(&mut code, &altered.words).ok_or("an instruction is not in the code object")?;
        Ok((image, code))
    };
    let kernels = job.kernels.iter().map(altered).collect::<Result<Vec<_>, Box<dyn Error>>>()?;
    let mut devices: BTreeMap<&str, Device> = BTreeMap::new();
    for Trial { device, .. } in &job.trials {
        if !devices.contains_key(device.as_str()) {
            devices.insert(device, Device::open(device)?);
        }
    }
    let mut runs = Vec::new();
    for Trial { device, case, budget, kernels: launched } in &job.trials {
        let case = of.cases.get(*case).ok_or("there is no such case")?;
        let code = launched.iter().filter_map(|at| kernels.get(*at)).collect();
        runs.push(Run { device: &devices[device.as_str()], case, budget: *budget, code });
    }
    Ok(judge(&runs)?)
}

/// Puts other words into a code object, at places of the file, if it is that long.
pub(crate) fn patch(object: &mut [u8], words: &[(usize, Vec<u32>)]) -> Option<()> {
    for (position, words) in words {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        object.get_mut(*position..position + bytes.len())?.copy_from_slice(&bytes);
    }
    Some(())
}

/// A case, and the code that is put in place for it.
pub(crate) struct Run<'a> {
    pub(crate) device: &'a Device,
    pub(crate) case: &'a Case,
    /// The instructions that a launch may execute.
    pub(crate) budget: u64,
    pub(crate) code: Vec<&'a (CodeObjectImage, Vec<u8>)>,
}

/// Runs the cases: each once, then each as `check --sanitize` does and with rough functions, so that what
/// corrects their results counts.
pub(crate) fn judge(runs: &[Run<'_>]) -> hk_core::Result<Answer> {
    let answer = |outcome, case: &Case, detail| Answer {
        outcome,
        detail: Some(detail),
        case: Some(case.info.title()),
        cases: runs.len(),
    };
    for Run { device, case, budget, code } in runs {
        hk_sim::set_options(options(*budget));
        match with_code(device, code, || case.prepare(device)?.attempt())? {
            Ok(None) => {}
            Ok(Some(failure)) => return Ok(answer(Outcome::Parity, case, failure)),
            Err(error) => return Ok(answer(Outcome::Fault, case, error.to_string())),
        }
    }
    for Run { device, case, budget, code } in runs {
        let mut rough = options(*budget);
        rough.exec.rough = true;
        hk_sim::set_options(rough);
        let report = with_code(device, code, || case.run_sanitized(device, Checks::ALL))?;
        if let Some(failure) = report.failure {
            let found = report.sanitizer.is_some_and(|found| !found.is_empty());
            let outcome = if found { Outcome::Sanitizer } else { Outcome::Parity };
            return Ok(answer(outcome, case, failure));
        }
    }
    Ok(Answer { outcome: Outcome::Survived, detail: None, case: None, cases: runs.len() })
}

fn options(budget: u64) -> Options {
    // Processes are what runs side by side.
    let exec = ExecOptions { threads: 1, max_instructions: budget, ..ExecOptions::default() };
    Options { publish: false, ..exec.into() }
}
