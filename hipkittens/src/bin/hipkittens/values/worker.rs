//! The processes that run mutants: a job per line of JSON in, an answer per line out.

use std::error::Error;
use std::io::{self, BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitCode, Stdio};

use hk_core::{Device, with_code};
use hk_ref::Case;
use hk_sim::exec::ExecOptions;
use hk_sim::sanitize::Checks;
use serde::{Deserialize, Serialize};

use crate::cores::{Core, CoreKernel};
use crate::registry::{self, KernelCrate};

/// A mutant, and the cases to run it on.
#[derive(Serialize, Deserialize)]
pub(crate) struct Job {
    pub(crate) package: String,
    pub(crate) device: String,
    pub(crate) symbol: String,
    /// Where in the code object the instruction is.
    pub(crate) position: usize,
    /// What stands there instead.
    pub(crate) words: Vec<u32>,
    /// Numbers in the crate's list, with the instructions that a launch may execute.
    pub(crate) cases: Vec<(usize, u64)>,
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
}

impl Outcome {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Parity => "parity",
            Self::Fault => "fault",
            Self::Sanitizer => "sanitizer",
            Self::Equivalent => "equivalent",
            Self::Survived => "survived",
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
    /// Cases that execute the instruction.
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
        let fail = |error: &dyn std::fmt::Display| format!("{}: {error}", job.symbol);
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
    let device = Device::open(&job.device)?;
    let cores = Core::all(of);
    let arch = device.arch().name();
    let is_it = |kernel: &&CoreKernel| kernel.arch == arch && kernel.tile.symbol == job.symbol;
    let kernel = cores.iter().flat_map(|core| &core.kernels).find(is_it);
    let image = kernel.ok_or("there is no such kernel")?.tile.image;
    let code = patched(&image.unpack()?, job.position, &job.words);
    let code = code.ok_or("the instruction is not in the code object")?;
    let cases: Vec<_> =
        job.cases.iter().filter_map(|&(at, budget)| Some((of.cases.get(at)?, budget))).collect();
    Ok(with_code(&device, image, &code, || judge(&device, &cases))??)
}

/// A code object with other words at a place of the file, if it is that long.
pub(crate) fn patched(object: &[u8], position: usize, words: &[u32]) -> Option<Vec<u8>> {
    let mut bytes = object.to_vec();
    let words: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    bytes.get_mut(position..position + words.len())?.copy_from_slice(&words);
    Some(bytes)
}

/// Runs the cases on the code that was put in place: each once, then each as `check --sanitize` does.
pub(crate) fn judge(device: &Device, cases: &[(&Case, u64)]) -> hk_core::Result<Answer> {
    let answer = |outcome, case: &Case, detail| Answer {
        outcome,
        detail: Some(detail),
        case: Some(case.info.title()),
        cases: cases.len(),
    };
    for &(case, budget) in cases {
        hk_sim::set_exec_options(options(budget));
        match case.prepare(device)?.attempt() {
            Ok(None) => {}
            Ok(Some(failure)) => return Ok(answer(Outcome::Parity, case, failure)),
            Err(error) => return Ok(answer(Outcome::Fault, case, error.to_string())),
        }
    }
    for &(case, budget) in cases {
        hk_sim::set_exec_options(options(budget));
        let report = case.run_sanitized(device, Checks::ALL);
        if let Some(failure) = report.failure {
            let found = report.sanitizer.is_some_and(|found| !found.is_empty());
            let outcome = if found { Outcome::Sanitizer } else { Outcome::Parity };
            return Ok(answer(outcome, case, failure));
        }
    }
    Ok(Answer { outcome: Outcome::Survived, detail: None, case: None, cases: cases.len() })
}

fn options(budget: u64) -> ExecOptions {
    // Processes are what runs side by side.
    ExecOptions { threads: 1, max_instructions: budget, publish: false, ..ExecOptions::default() }
}
