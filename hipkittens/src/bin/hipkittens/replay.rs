//! `hipkittens replay`: does a captured launch again and compares what comes out.

use std::error::Error;
use std::fmt;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::str::FromStr;

use clap::Args;
use hk_core::Device;
use hk_core::capture::{BufferComparison, captured_arch, replay};

use crate::output;

/// What `hipkittens replay` is asked to do.
#[derive(Args)]
pub(crate) struct Request {
    /// Folder of the launch, with `launch.json` in it.
    folder: PathBuf,
    /// Device to run it on, such as `sim:mi355x` or `hip:0`; the default is HIPKITTENS_DEVICE, else
    /// the best one of the captured architecture.
    #[arg(long, value_name = "NAME")]
    device: Option<String>,
    /// How far an element may be from the captured one: `ABSOLUTE` or `ABSOLUTE,RELATIVE`, where
    /// the second is a fraction of the captured value. Without it, every bit must be the same.
    #[arg(long, value_name = "BOUND")]
    tolerance: Option<Tolerance>,
}

/// Bound on `|replayed - captured|`: `absolute + relative * |captured|`.
#[derive(Clone, Copy)]
struct Tolerance {
    absolute: f64,
    relative: f64,
}

impl FromStr for Tolerance {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = |text: &str| match text.trim().parse::<f64>() {
            Ok(bound) if bound >= 0.0 && bound.is_finite() => Ok(bound),
            _ => Err(format!("`{text}` is not a bound: a finite number that is not negative")),
        };
        let (absolute, relative) = text.split_once(',').unwrap_or((text, "0"));
        Ok(Self { absolute: number(absolute)?, relative: number(relative)? })
    }
}

/// Runs the launch and prints one line per buffer; fails if a buffer differs by more than allowed.
pub(crate) fn run(request: &Request) -> Result<ExitCode, Box<dyn Error>> {
    let device = match &request.device {
        Some(name) => Device::open(name)?,
        None => Device::auto_for(&[captured_arch(&request.folder)?])?,
    };
    let report = replay(&request.folder, &device)?;
    let mut out = output::stdout();
    writeln!(out, "{}: captured on {}, replayed on {device}", report.kernel, report.captured_on)?;
    let mut failed = 0;
    for buffer in &report.buffers {
        let (name, bytes) = (&buffer.name, buffer.captured.len());
        let dtype = buffer.dtype.map_or("bytes", |dtype| dtype.name());
        let verdict = judge(buffer, request.tolerance);
        failed += usize::from(matches!(verdict, Verdict::Different(_)));
        writeln!(out, "  {name} ({dtype}, {bytes} bytes): {verdict}")?;
    }
    if failed == 0 {
        return Ok(ExitCode::SUCCESS);
    }
    out.flush()?;
    eprintln!("hipkittens: {failed} of {} buffers differ from the capture", report.buffers.len());
    Ok(ExitCode::FAILURE)
}

/// What is said of a buffer.
enum Verdict<'b> {
    Identical,
    Close(&'b BufferComparison),
    Different(&'b BufferComparison),
}

fn judge(buffer: &BufferComparison, tolerance: Option<Tolerance>) -> Verdict<'_> {
    if buffer.is_identical() {
        return Verdict::Identical;
    }
    match tolerance {
        Some(Tolerance { absolute, relative }) if buffer.is_within(absolute, relative) => {
            Verdict::Close(buffer)
        }
        _ => Verdict::Different(buffer),
    }
}

impl fmt::Display for Verdict<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (word, buffer) = match self {
            Self::Identical => return f.write_str("identical"),
            Self::Close(buffer) => ("within the tolerance", buffer),
            Self::Different(buffer) => ("DIFFERENT", buffer),
        };
        f.write_str(word)?;
        let differences = buffer.differences();
        write!(f, ": {} of {} elements", differences.count, differences.total)?;
        match differences.worst {
            Some(worst) => write!(f, ", farthest at {worst}"),
            None => Ok(()),
        }
    }
}
