//! `hipkittens doctor`: what was found on this machine, and what to do about what is missing.

use std::error::Error;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::process::ExitCode;

use hk_core::{Arch, Device, hip_library};

use crate::{check, environment, output};

/// Architectures that kernels can be built for, with the feature that builds them.
const ARCHITECTURES: [(&str, &str, bool); 2] =
    [("gfx942", "cdna3", cfg!(feature = "cdna3")), ("gfx950", "cdna4", cfg!(feature = "cdna4"))];

/// Prints the report; fails if nothing can run: no kernels, no device, or an environment that every
/// other subcommand refuses.
pub(crate) fn run() -> Result<ExitCode, Box<dyn Error>> {
    let mut out = output::stdout();
    writeln!(out, "hipkittens {}", env!("CARGO_PKG_VERSION"))?;

    writeln!(out, "\nCompiler (builds kernels; a finished program does not need it)")?;
    match hk_build::clang() {
        Ok(clang) => {
            writeln!(out, "  {}, from {}", clang.version(), clang.origin())?;
            writeln!(out, "  {}", clang.program().display())?;
        }
        Err(error) => writeln!(out, "  none: {}", indent(&error.to_string()))?,
    }

    writeln!(out, "\nObject cache (kernels that builds need not compile again)")?;
    match hk_build::ObjectCache::from_process() {
        Ok(Some(cache)) => {
            let hk_build::Usage { entries, bytes } = cache.usage();
            let [used, limit] = [bytes, cache.limit()].map(|bytes| bytes.div_ceil(1 << 20));
            writeln!(out, "  {entries} objects, {used} of at most {limit} MiB")?;
            writeln!(out, "  {} (remove the folder to clear it)", cache.dir().display())?;
        }
        Ok(None) => writeln!(out, "  none: each target folder has its own")?,
        Err(error) => writeln!(out, "  none: {error}")?,
    }

    writeln!(out, "\nCode objects in this program")?;
    for (arch, feature, built) in ARCHITECTURES {
        if built {
            writeln!(out, "  {arch}: built")?;
        } else {
            writeln!(out, "  {arch}: not built; enable the feature `{feature}`")?;
        }
    }

    writeln!(out, "\nHIP library (needed for real GPUs)")?;
    match hip_library() {
        Ok(library) => {
            let path = library.path.display();
            writeln!(out, "  {path}, version {}, {} GPUs", library.version, library.devices)?;
            if let Some(refusal) = library.refusal {
                writeln!(out, "  it sees no GPU: {}", indent(&refusal))?;
                writeln!(out, "  {}", driver())?;
            }
        }
        Err(error) => writeln!(out, "  none: {}", indent(&error.to_string()))?,
    }

    writeln!(out, "\nDevices")?;
    let devices = Device::list();
    for device in &devices {
        let memory = device.memory_bytes >> 30;
        let note = if device.arch.is_some() { "" } else { " (no kernels for this architecture)" };
        writeln!(
            out,
            "  {:<12} {}, {}, {} CUs, {memory} GiB{note}",
            device.name, device.product, device.target, device.compute_units,
        )?;
    }
    // As the other subcommands choose, of which none works without kernels.
    let archs = check::built().unwrap_or_else(|_| Arch::ALL.to_vec());
    let default = Device::auto_for(&archs);
    match &default {
        Ok(device) => {
            let note = if device.is_simulated() { "simulated; " } else { "" };
            let name = device.name();
            writeln!(out, "  default: {name} ({note}HIPKITTENS_DEVICE chooses another)")?;
        }
        Err(error) => writeln!(out, "  default: none: {}", indent(&error.to_string()))?,
    }

    let problems = environment::problems();
    if !problems.is_empty() {
        writeln!(out, "\nEnvironment (other subcommands refuse it)")?;
        for problem in &problems {
            writeln!(out, "  {}", indent(problem))?;
        }
    }
    let built = ARCHITECTURES.iter().any(|(_, _, built)| *built);
    let works = built && default.is_ok() && problems.is_empty();
    Ok(if works { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// What the kernel driver, without which the library sees no GPU, lets this process do.
fn driver() -> &'static str {
    const NODE: &str = "/dev/kfd";
    match OpenOptions::new().read(true).write(true).open(NODE) {
        Ok(_) => "the driver's /dev/kfd can be opened: is the GPU one that this release supports?",
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            "no permission for the driver's /dev/kfd: add the user to the groups render and video"
        }
        Err(_) => {
            "the driver's /dev/kfd is not there: load amdgpu; a container needs \
             --device=/dev/kfd --device=/dev/dri"
        }
    }
}

fn indent(text: &str) -> String {
    text.trim_end().replace('\n', "\n    ")
}
