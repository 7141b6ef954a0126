//! `hipkittens doctor`: what was found on this machine, and what to do about what is missing.

use std::error::Error;
use std::io::{self, Write};
use std::process::ExitCode;

use hk_core::Device;

/// Architectures whose kernels this binary carries.
const BUILT: &[(&str, bool)] =
    &[("gfx942 (cdna3)", cfg!(feature = "cdna3")), ("gfx950 (cdna4)", cfg!(feature = "cdna4"))];

/// Prints the report; fails if neither a GPU nor the simulator can run anything.
pub(crate) fn run() -> Result<ExitCode, Box<dyn Error>> {
    let mut out = io::stdout().lock();
    writeln!(out, "hipkittens {}", env!("CARGO_PKG_VERSION"))?;

    writeln!(out, "\nCompiler (needed to build kernels, not to run them)")?;
    match hk_build::clang() {
        Ok(clang) => {
            writeln!(out, "  {} ({})", clang.version(), clang.origin())?;
            writeln!(out, "  {}", clang.program().display())?;
        }
        Err(error) => writeln!(out, "  none: {}", indent(&error.to_string()))?,
    }

    writeln!(out, "\nCode objects in this binary")?;
    for (name, built) in BUILT {
        let state = if *built { "built" } else { "not built: enable the feature in brackets" };
        writeln!(out, "  {name}: {state}")?;
    }

    writeln!(out, "\nDevices")?;
    let mut usable = 0;
    for entry in Device::list() {
        match entry {
            Ok(device) => {
                usable += 1;
                writeln!(out, "  {device}")?;
            }
            Err(error) => writeln!(out, "  no GPU: {}", indent(&error.to_string()))?,
        }
    }
    match Device::auto() {
        Ok(device) => writeln!(out, "  default: {device} (HIPKITTENS_DEVICE chooses another)")?,
        Err(error) => writeln!(out, "  default: none: {}", indent(&error.to_string()))?,
    }
    Ok(if usable > 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn indent(text: &str) -> String {
    text.trim_end().replace('\n', "\n    ")
}
