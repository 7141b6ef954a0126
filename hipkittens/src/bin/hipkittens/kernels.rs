//! `hipkittens kernels`: what was built.

use std::error::Error;
use std::io::{self, BufWriter, Write};
use std::process::ExitCode;

use hk_core::kernel::KernelSet;

/// The kernels of every crate that has some.
pub(crate) fn sets() -> [&'static KernelSet; 2] {
    [hk_gemm::parity::kernels(), hk_norm::parity::kernels()]
}

/// Prints a row per tile configuration; fails if there is none.
pub(crate) fn run(filter: &str) -> Result<ExitCode, Box<dyn Error>> {
    let mut out = BufWriter::new(io::stdout().lock());
    let mut count = 0;
    for set in sets() {
        for kernel in set.kernels {
            let title = format!("{} {} {}", set.package, kernel.arch, kernel.name());
            if !title.contains(filter) {
                continue;
            }
            for tile in kernel.tiles {
                if count == 0 {
                    writeln!(
                        out,
                        "{:<8} {:<7} {:<22} {:<12} {:>7} {:>7} {:>6} {:>6} {:>6} {:>7} {:>7}  \
                         waves/SIMD",
                        "crate",
                        "arch",
                        "kernel",
                        "tile",
                        "threads",
                        "LDS B",
                        "VGPRs",
                        "AGPRs",
                        "SGPRs",
                        "spills",
                        "scratch",
                    )?;
                }
                count += 1;
                let r = &tile.resources;
                writeln!(
                    out,
                    "{:<8} {:<7} {:<22} {:<12} {:>7} {:>7} {:>6} {:>6} {:>6} {:>7} {:>7}  {}",
                    set.package,
                    kernel.arch,
                    kernel.name(),
                    tile.name,
                    tile.threads,
                    tile.lds(),
                    r.vgprs,
                    r.agprs,
                    r.sgprs,
                    r.vgpr_spills + r.sgpr_spills,
                    r.scratch,
                    r.waves_per_simd,
                )?;
            }
        }
    }
    out.flush()?;
    if count == 0 {
        return Err(format!(
            "no kernel matches `{filter}`; features cdna3 and cdna4 build kernels"
        )
        .into());
    }
    Ok(ExitCode::SUCCESS)
}
