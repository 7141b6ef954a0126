//! `hipkittens check --coverage`: what of the kernels no case has executed.
//!
//! Tile configurations, variants and architectures are copies of one source, so instructions are
//! merged by [`Place`]. A place is fine if one kernel has executed all copies of it that the
//! compiler made there (of unrolled loops, of a function instantiated for several types), and has
//! seen each that is a branch go both ways. Else it is a gap, and the kernel that lacks least is
//! named.

use std::collections::BTreeMap;
use std::error::Error;
use std::io::{self, Write};
use std::sync::Arc;

use hk_core::{Arch, Device};
use hk_ref::{Case, Size};
use hk_sim::Options;
use hk_sim::exec::{Coverage, ExecOptions, Executed, Seen};
use hk_sim::isa::Op;
use hk_sim::object::Next;
use serde_json::json;

use crate::cores::{self, Core, CoreKernel, Instruction, Place};
use crate::reasons::{Reason, Reasons, Sources};
use crate::registry::KernelCrate;
use crate::{check, output, registry};

/// Notes what simulated devices execute. Dropped, it leaves the simulator as it was.
pub(crate) struct Watch {
    preset: Options,
    by_arch: BTreeMap<&'static str, Arc<Coverage>>,
}

impl Watch {
    pub(crate) fn new() -> Self {
        Self { preset: hk_sim::options(), by_arch: BTreeMap::new() }
    }

    /// Notes what is launched from now on, which is on this device.
    pub(crate) fn watch(&mut self, device: &Device) {
        let coverage = Some(Arc::clone(self.by_arch.entry(device.arch().name()).or_default()));
        let exec = ExecOptions { coverage, ..self.preset.exec.clone() };
        hk_sim::set_options(Options { exec, ..self.preset.clone() });
    }

    /// What was executed of a kernel.
    fn executed(&self, kernel: &CoreKernel) -> Executed {
        let coverage = self.by_arch.get(kernel.arch);
        coverage.map(|coverage| coverage.kernel(kernel.tile.symbol)).unwrap_or_default()
    }

    /// Runs the cases of a crate that the filter left out.
    fn run_rest(
        &mut self,
        devices: &[Device],
        of: &KernelCrate,
        filter: &str,
    ) -> Result<(), String> {
        let rest =
            |case: &&Case| case.info.size < Size::Large && !check::title(case).contains(filter);
        for device in devices {
            self.watch(device);
            for case in of.cases.iter().filter(rest).filter(|case| case.info.fits(device)) {
                if let Some(failure) = case.run(device).failure {
                    return Err(format!("{} on {device}: {failure}", case.info.title()));
                }
            }
        }
        Ok(())
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        hk_sim::set_options(self.preset.clone());
    }
}

/// What an instruction was not seen to do that it can.
fn missing(instruction: &Instruction, seen: Seen) -> Option<&'static str> {
    let Instruction { placed, ways, .. } = instruction;
    let info = placed.inst.info;
    if !seen.executed() {
        return Some("never executed");
    }
    if info.format.is_vector() && !seen.with_lanes() {
        return Some("never executed by a lane");
    }
    match (placed.next(), info.op) {
        (Next::Branch(_), _) if ways.elsewhere && !seen.jumped() => Some("never jumps"),
        (Next::Branch(_), _) if ways.through && !seen.fell_through() => Some("always jumps"),
        (_, Op::s_and_saveexec_b64 | Op::s_andn2_saveexec_b64) if !seen.lanes_left() => {
            Some("keeps every lane")
        }
        (_, Op::s_and_saveexec_b64 | Op::s_andn2_saveexec_b64) if !seen.lanes_stayed() => {
            Some("keeps no lane")
        }
        _ => None,
    }
}

/// A copy of a place, and what is missing of it.
struct Lack {
    offset: u64,
    instruction: String,
    what: &'static str,
}

/// A place in one kernel.
#[derive(Default)]
struct Copies {
    count: usize,
    lacks: Vec<Lack>,
}

/// What no kernel has seen in full.
pub(crate) struct Gap {
    pub(crate) place: Place,
    /// How many kernels have the place.
    kernels: usize,
    /// The one that lacks least.
    arch: &'static str,
    symbol: &'static str,
    copies: Copies,
    reason: Option<String>,
}

impl Gap {
    pub(crate) fn what(&self) -> &'static str {
        self.copies.lacks.first().map_or("", |lack| lack.what)
    }

    fn is_branch(&self) -> bool {
        !self.what().starts_with("never executed")
    }
}

/// The figures of a core.
#[derive(Default)]
pub(crate) struct Figures {
    kernels: usize,
    pub(crate) unlaunched: usize,
    instructions: usize,
    pub(crate) places: usize,
    pub(crate) gaps: Vec<Gap>,
}

impl Figures {
    fn count(&self, holds: impl Fn(&Gap) -> bool) -> usize {
        self.gaps.iter().filter(|gap| holds(gap)).count()
    }

    /// Gaps without a reason, and kernels that no case launches.
    pub(crate) fn defects(&self) -> usize {
        self.unlaunched + self.count(|gap| gap.reason.is_none())
    }
}

/// Prints what the cases lack of the cores that were launched; returns how many gaps have no
/// reason, and how many reasons no gap.
///
/// # Errors
/// If a case that the filter left out fails, or a code object or a file of reasons cannot be read.
pub(crate) fn report(
    watch: &mut Watch,
    devices: &[Device],
    filter: &str,
    json: bool,
) -> Result<usize, Box<dyn Error>> {
    let mut rows = Vec::new();
    let mut stale = 0;
    // Others may have kernels of the same names, which they share with those.
    let has_cases =
        |of: &&KernelCrate| of.cases.iter().any(|case| check::title(case).contains(filter));
    for of in registry::crates().iter().filter(has_cases) {
        let reasons = Reasons::parse(of.kernels.package, of.reasons)?;
        let sources = Sources::new(of.kernels.package);
        let mut cores = Core::all(of);
        cores.retain(|core| core.kernels.iter().any(|kernel| watch.executed(kernel).launches > 0));
        if !cores.is_empty() {
            watch.run_rest(devices, of, filter)?;
        }
        for core in cores {
            let figures = figures(watch, &core, &reasons, &sources)?;
            print_gaps(&core, &figures, &sources, json)?;
            // Of code of the other architecture, nothing is known.
            if watch.by_arch.len() == Arch::ALL.len() {
                stale += Reason::complain(&reasons.coverage, core.name, Reason::is_idle);
            }
            rows.push((core, figures));
        }
    }
    print_rows(&rows, json)?;
    Ok(stale + rows.iter().map(|(_, figures)| figures.defects()).sum::<usize>())
}

pub(crate) fn figures(
    watch: &Watch,
    core: &Core,
    reasons: &Reasons,
    sources: &Sources,
) -> Result<Figures, Box<dyn Error>> {
    let mut figures = Figures::default();
    let mut places: BTreeMap<Place, BTreeMap<_, Copies>> = BTreeMap::new();
    for kernel in &core.kernels {
        if !watch.by_arch.contains_key(kernel.arch) {
            continue;
        }
        let symbol = kernel.tile.symbol;
        let executed = watch.executed(kernel);
        figures.kernels += 1;
        figures.unlaunched += usize::from(executed.launches == 0);
        for instruction in cores::code(kernel)?.possible {
            let what = missing(&instruction, executed.at(instruction.placed.offset));
            let Instruction { placed, place, .. } = instruction;
            figures.instructions += 1;
            let by_kernel = places.entry(place).or_default();
            let copies = by_kernel.entry((kernel.arch, symbol)).or_default();
            copies.count += 1;
            copies.lacks.extend(what.map(|what| Lack {
                offset: placed.offset,
                instruction: placed.inst.to_string(),
                what,
            }));
        }
    }
    figures.places = places.len();
    for (place, by_kernel) in places {
        let kernels = by_kernel.len();
        let least = by_kernel.into_iter().min_by_key(|(_, copies)| copies.lacks.len());
        let Some(((arch, symbol), copies)) = least else { continue };
        if copies.lacks.is_empty() {
            continue;
        }
        let mut gap = Gap { place, kernels, arch, symbol, copies, reason: None };
        let (of, place) = (&reasons.coverage, &gap.place);
        let reason = Reason::find(of, sources, core.name, place, &[gap.what()]);
        gap.reason = reason.map(|reason| reason.text().to_owned());
        figures.gaps.push(gap);
    }
    Ok(figures)
}

fn print_gaps(core: &Core, figures: &Figures, sources: &Sources, json: bool) -> io::Result<()> {
    let mut out = output::stdout();
    for gap in &figures.gaps {
        let Gap { place, kernels, arch, symbol, copies, reason } = gap;
        if json {
            let lack =
                |lack: &Lack| json!({ "offset": lack.offset, "instruction": lack.instruction });
            let line = json!({
                "gap": gap.what(),
                "crate": core.package,
                "core": core.name,
                "source": place.lines(),
                "op": place.op,
                "kernels": kernels,
                "kernel": symbol,
                "arch": arch,
                "copies": copies.count,
                "instructions": copies.lacks.iter().map(lack).collect::<Vec<_>>(),
                "reason": reason,
            });
            writeln!(out, "{line}")?;
        } else if reason.is_none() {
            let many = match (copies.lacks.len(), copies.count) {
                (_, 1) => String::new(),
                (lacks, count) => format!(", {lacks} of {count} copies"),
            };
            writeln!(out, "\n{} {}: {}{many}", core.name, place.op, gap.what())?;
            place.print(&mut out, sources)?;
            let lack = &copies.lacks[0];
            let (offset, instruction) = (lack.offset, &lack.instruction);
            writeln!(
                out,
                "  {symbol} {arch} +{offset:#x}: {instruction} ({kernels} kernels have it)"
            )?;
        }
    }
    Ok(())
}

fn print_rows(rows: &[(Core, Figures)], json: bool) -> io::Result<()> {
    let mut out = output::stdout();
    if !json {
        writeln!(
            out,
            "\n{:<8} {:<12} {:>7} {:>10} {:>12} {:>7} {:>10} {:>9} {:>11}",
            "crate",
            "core",
            "kernels",
            "unlaunched",
            "instructions",
            "places",
            "unexecuted",
            "one-sided",
            "unexplained",
        )?;
    }
    for (core, figures) in rows {
        let Figures { kernels, unlaunched, instructions, places, .. } = figures;
        let (package, core) = (core.package, core.name);
        let one_sided = figures.count(Gap::is_branch);
        let unexecuted = figures.gaps.len() - one_sided;
        let unexplained = figures.count(|gap| gap.reason.is_none());
        if json {
            let line = json!({
                "crate": package,
                "core": core,
                "kernels": kernels,
                "unlaunched": unlaunched,
                "instructions": instructions,
                "places": places,
                "unexecuted": unexecuted,
                "one_sided": one_sided,
                "unexplained": unexplained,
            });
            writeln!(out, "{line}")?;
        } else {
            writeln!(
                out,
                "{package:<8} {core:<12} {kernels:>7} {unlaunched:>10} {instructions:>12} \
                 {places:>7} {unexecuted:>10} {one_sided:>9} {unexplained:>11}",
            )?;
        }
    }
    Ok(())
}
