//! `hipkittens check`: every op against its reference.

use std::error::Error;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use hk_core::{Arch, Device};
use hk_ref::{Case, Report, Size};
use indicatif::{ProgressBar, ProgressStyle};

use crate::tensors;

/// Which cases to run.
pub(crate) struct What {
    /// Text that a case's title contains.
    pub(crate) filter: String,
    /// Large ones too.
    pub(crate) full: bool,
    /// A model's tensors too.
    pub(crate) tensors: Option<PathBuf>,
}

/// Runs the cases on the devices and prints what came out.
pub(crate) fn run(what: &What, devices: &[String], json: bool) -> Result<ExitCode, Box<dyn Error>> {
    let devices = open(devices)?;
    let mut cases = hk_norm::parity::cases();
    cases.extend(hk_gemm::parity::cases());
    if let Some(file) = &what.tensors {
        cases.extend(tensors::cases(file)?);
    }
    let chosen = |case: &&Case| {
        let title = format!("{} {}", case.info.module, case.info.title());
        title.contains(&what.filter) && (what.full || case.info.size < Size::Large)
    };
    let cases: Vec<_> = cases.iter().filter(chosen).collect();
    let runs: Vec<_> = devices
        .iter()
        .flat_map(|device| cases.iter().map(move |case| (device, case)))
        .filter(|(device, case)| case.info.fits(device))
        .collect();
    if runs.is_empty() {
        return Err(format!("no case matches `{}`", what.filter).into());
    }

    // Hidden by itself where the standard error is no terminal.
    let progress = ProgressBar::new(runs.len() as u64);
    if let Ok(style) = ProgressStyle::with_template("{bar:30} {pos}/{len} {elapsed} {wide_msg}") {
        progress.set_style(style);
    }
    let mut rows: Vec<Row> = Vec::new();
    let mut failures = 0;
    for (device, case) in runs {
        progress.set_message(format!("{device} {}", case.info.title()));
        let report = case.run(device);
        if let Some(failure) = &report.failure {
            failures += 1;
            let title = case.info.title();
            progress.suspend(|| eprintln!("hipkittens: {title} on {device}: {failure}"));
        }
        if json {
            let line = serde_json::to_string(&report)?;
            progress.suspend(|| writeln!(io::stdout().lock(), "{line}"))?;
        } else {
            Row::add(&mut rows, device, &report);
        }
        progress.inc(1);
    }
    progress.finish_and_clear();
    if !json {
        print(&rows)?;
    }
    Ok(if failures == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The devices of those names, or a simulated one of each architecture that there are kernels for.
fn open(names: &[String]) -> Result<Vec<Device>, Box<dyn Error>> {
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

/// The cases of one op, device and choice of element types.
struct Row {
    device: String,
    op: String,
    dtype: String,
    cases: usize,
    passed: usize,
    /// Error and tolerance of the worst element of all.
    worst: Option<(f64, f64)>,
    relative: f64,
    lds: u32,
    vgprs: u32,
    spills: u32,
}

impl Row {
    fn add(rows: &mut Vec<Self>, device: &Device, report: &Report) {
        let known = rows.iter().position(|row| {
            row.device == device.name() && row.op == report.op && row.dtype == report.dtype
        });
        let index = known.unwrap_or(rows.len());
        if known.is_none() {
            rows.push(Self {
                device: device.name().to_owned(),
                op: report.op.clone(),
                dtype: report.dtype.clone(),
                cases: 0,
                passed: 0,
                worst: None,
                relative: 0.0,
                lds: 0,
                vgprs: 0,
                spills: 0,
            });
        }
        let row = &mut rows[index];
        row.cases += 1;
        row.passed += usize::from(report.pass);
        let share = |(error, allowed): (f64, f64)| if error == 0.0 { 0.0 } else { error / allowed };
        if let Some(worst) = report.max_abs_err.zip(report.tolerance)
            && row.worst.is_none_or(|known| share(worst) > share(known))
        {
            row.worst = Some(worst);
        }
        row.relative = row.relative.max(report.rel_err.unwrap_or(0.0));
        row.lds = row.lds.max(report.lds_bytes);
        row.vgprs = row.vgprs.max(report.vgprs);
        row.spills = row.spills.max(report.spills);
    }
}

fn print(rows: &[Row]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(
        out,
        "{:<12} {:<18} {:<18} {:>9} {:>10} {:>10} {:>9} {:>7} {:>6} {:>6}  verdict",
        "device",
        "op",
        "types",
        "passed",
        "error",
        "tolerance",
        "rel. all",
        "LDS B",
        "VGPRs",
        "spills",
    )?;
    for row in rows {
        let (error, allowed) = row.worst.unwrap_or_default();
        let passed = format!("{}/{}", row.passed, row.cases);
        writeln!(
            out,
            "{:<12} {:<18} {:<18} {passed:>9} {error:>10.2e} {allowed:>10.2e} {:>9.2e} {:>7} \
             {:>6} {:>6}  {}",
            row.device,
            row.op,
            row.dtype,
            row.relative,
            row.lds,
            row.vgprs,
            row.spills,
            if row.passed == row.cases { "pass" } else { "FAIL" },
        )?;
    }
    Ok(())
}
