//! `hipkittens check`: every op against its reference.

use std::error::Error;
use std::io::{self, BufWriter, Write};
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use hk_core::{Arch, Device};
use hk_ref::{Case, Look, Report, Size};
use hk_sim::sanitize::Checks;
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::json;

use crate::budgets::Spent;
use crate::coverage::Watch;
use crate::table::Table;
use crate::{coverage, output, registry, tensors};

/// What `hipkittens check` is asked to do.
#[derive(Args)]
pub(crate) struct Request {
    /// Run only cases whose module, op, element types, shape and name contain this text, such as
    /// `rmsnorm`, `bf16` or `[1, 4]`; --list prints what it is compared with.
    filter: Option<String>,
    /// Device, such as hip:0 or sim:mi355x; may be given several times [default: a simulated
    /// chip of each architecture that there are kernels for]
    #[arg(long, value_name = "NAME")]
    device: Vec<String>,
    /// Print an object of JSON per case, one per line; of simulated devices with counters of what
    /// each kernel does in one of the runs: instructions, bytes of memory, bank conflicts of LDS.
    #[arg(long)]
    json: bool,
    /// List the cases, and run none.
    #[arg(long)]
    list: bool,
    /// Run large shapes too: those of models, and benchmarks in full size. For GPUs; on
    /// the simulator some take minutes.
    #[arg(long)]
    full: bool,
    /// Leave out the cases that `cargo test` runs, under the sanitizer. For whoever runs both.
    #[arg(long)]
    skip_tested: bool,
    /// Run every op that fits on the tensors of a model too: its matrices and norms, with 64 rows of
    /// its embedding table.
    #[arg(long, value_name = "FILE.safetensors")]
    tensors: Option<PathBuf>,
    /// Turn on the simulator's sanitizer, whose findings make a case fail: all checks, or those
    /// listed of memory, lds, async, race, order, hazard, uninit, divergence, float, index.
    #[arg(long, value_name = "LIST", num_args = 0..=1, default_missing_value = "all")]
    sanitize: Option<Checks>,
    /// Tell which instructions of the kernels no case has executed, and which branches none has taken
    /// both ways; those without a stated reason make the check fail. As modules share kernels, cases
    /// of the same crate that the filter leaves out run too, behind the others.
    #[arg(long, conflicts_with = "skip_tested")]
    coverage: bool,
}

/// Where the numbers of cases come from that draw none.
const TENSORS: &str = "tensors";

/// Runs the cases on the devices and prints what came out.
///
/// # Errors
/// What is wrong with the request; nothing was run.
pub(crate) fn run(request: &Request) -> Result<ExitCode, Box<dyn Error>> {
    let devices = open(&request.device)?;
    let watching = [("sanitize", request.sanitize.is_some()), ("coverage", request.coverage)];
    if let Some((option, _)) = watching.iter().find(|(_, given)| *given)
        && let Some(device) = devices.iter().find(|device| !device.is_simulated())
    {
        return Err(format!("--{option} needs a simulated device, and {device} is a GPU").into());
    }
    let with = |input| move |case: Case| (input, case);
    let mut cases: Vec<_> = registry::cases().into_iter().map(with(None)).collect();
    if let Some(file) = &request.tensors {
        cases.extend(tensors::cases(file)?.into_iter().map(with(Some(TENSORS))));
    }
    let filter = request.filter.as_deref().unwrap_or_default();
    cases.retain(|(_, case)| title(case).contains(filter));
    let matching = cases.len();
    cases.retain(|(input, case)| {
        (request.full || case.info.size < Size::Large)
            && !(request.skip_tested && input.is_none() && case.info.size == Size::Quick)
    });
    let runs: Vec<_> = devices
        .iter()
        .flat_map(|device| cases.iter().map(move |(input, case)| (device, *input, case)))
        .filter(|(device, _, case)| case.info.fits(device))
        .collect();
    if runs.is_empty() {
        return Err(why_none(request, filter, matching, cases.len()).into());
    }
    if request.list {
        list(&runs, request.json)?;
        return Ok(ExitCode::SUCCESS);
    }

    // Hidden by itself where the standard error is no terminal.
    let progress = ProgressBar::new(runs.len() as u64);
    if let Ok(style) = ProgressStyle::with_template("{bar:30} {pos}/{len} {elapsed} {wide_msg}") {
        progress.set_style(style);
    }
    let mut table = Table::default();
    let mut failures = 0;
    let mut watch = request.coverage.then(Watch::new);
    let mut written = Ok(());
    // What no case executes is known at the end only.
    let goes_on = || request.coverage || output::is_read();
    for runs in runs.chunk_by(|(a, ..), (b, ..)| std::ptr::eq(*a, *b)) {
        let (device, ..) = runs[0];
        if let Some(watch) = &mut watch {
            watch.watch(device);
        }
        progress.set_message(device.to_string());
        let cases: Vec<_> = runs.iter().map(|(.., case)| *case).collect();
        let mut inputs = runs.iter().map(|(_, input, _)| *input);
        let checks = request.sanitize.unwrap_or_default();
        let look = Look { checks, counts: request.json && device.is_simulated() };
        let mut spent = Spent::default();
        hk_ref::run_cases(device, &cases, look, |case, report| {
            progress.inc(1);
            progress.set_message(format!("{device} {}", case.info.title()));
            let input = inputs.next().flatten();
            if input.is_none() {
                spent.note(case, &report);
            }
            if let Some(failure) = &report.failure {
                failures += 1;
                let title = case.info.title();
                progress.suspend(|| eprintln!("hipkittens: {title} on {device}: {failure}"));
            }
            if request.json {
                written = progress.suspend(|| print_json(&report));
            } else {
                table.add(device.name(), input, &report);
            }
            let continues = written.is_ok() && goes_on();
            if continues { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
        if written.is_err() || !goes_on() {
            break;
        }
        for complaint in spent.complaints() {
            failures += 1;
            progress.suspend(|| eprintln!("hipkittens: {device}: {complaint}"));
        }
    }
    progress.finish_and_clear();
    written?;
    if !request.json {
        table.print(&mut output::stdout())?;
    }
    if let Some(watch) = &mut watch {
        failures += coverage::report(watch, &devices, filter, request.json)?;
    }
    Ok(if failures == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn print_json(report: &Report) -> io::Result<()> {
    let line = serde_json::to_string(report)?;
    writeln!(output::stdout(), "{line}")
}

/// Why nothing is to be run: of the cases, some match the filter, of which some are not left out.
fn why_none(request: &Request, filter: &str, matching: usize, left: usize) -> String {
    if matching == 0 {
        return format!("no case matches `{filter}`; --list prints all");
    }
    let why = match (left, request.full, request.skip_tested) {
        (1.., ..) => "is for one of the devices",
        (0, false, false) => "is small enough to run without --full",
        (0, true, _) => "is left by --skip-tested",
        (0, false, true) => "is left by --skip-tested without --full",
    };
    format!("none of the {matching} cases that match `{filter}` {why}")
}

/// What the filter is compared with.
pub(crate) fn title(case: &Case) -> String {
    format!("{} {}", case.info.module, case.info.title())
}

fn list(runs: &[(&Device, Option<&str>, &Case)], json: bool) -> Result<(), Box<dyn Error>> {
    let mut out = BufWriter::new(output::stdout());
    for (device, input, case) in runs {
        if json {
            let info = &case.info;
            let line = json!({
                "module": info.module,
                "op": info.op,
                "arch": device.arch().name(),
                "case": info.case,
                "dtype": info.dtype,
                "shape": info.shape,
            });
            writeln!(out, "{line}")?;
        } else {
            let input = input.unwrap_or("seeded");
            writeln!(out, "{:<12} {input:<8} {}", device.name(), title(case))?;
        }
    }
    out.flush()?;
    Ok(())
}

/// The architectures that there are kernels for.
pub(crate) fn built() -> Result<Vec<Arch>, Box<dyn Error>> {
    let built: Vec<_> = Arch::ALL
        .into_iter()
        .filter(|arch| match arch {
            Arch::Gfx942 => cfg!(feature = "cdna3"),
            _ => cfg!(feature = "cdna4"),
        })
        .collect();
    if built.is_empty() {
        let why = "this program has no kernels; build it with the features cdna3, cdna4 or both";
        return Err(why.into());
    }
    Ok(built)
}

/// The devices of those names, or a simulated one of each architecture that there are kernels for.
pub(crate) fn open(names: &[String]) -> Result<Vec<Device>, Box<dyn Error>> {
    let built = built()?;
    if names.is_empty() {
        return Ok(hk_ref::devices(&built)?);
    }
    let mut devices = Vec::new();
    for name in names {
        let device = Device::open(name)?;
        let arch = device.arch();
        if !built.contains(&arch) {
            let feature = arch.feature();
            return Err(format!(
                "{name}: this program has no kernels for {arch}; build it with the feature {feature}"
            )
            .into());
        }
        devices.push(device);
    }
    Ok(devices)
}
