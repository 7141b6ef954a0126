//! `hipkittens tune`: which tile configurations are the fastest for given problems, as a file for
//! `HIPKITTENS_TILES`.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::fmt::Write as _;
use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use hipkittens::problems::Problem;
use hk_core::Device;
use hk_core::kernel::{Choice, TileConfig, overrides, record_choices, with_tile};
use serde_json::{Value, json};

use crate::bench::{self, Time, micros};
use crate::{check, output};

/// What `hipkittens tune` is asked to do.
#[derive(Args)]
pub(crate) struct Request {
    /// Tune only for problems whose op and shape contain one of these texts; `hipkittens bench --list`
    /// prints all.
    #[arg(value_name = "FILTER")]
    filters: Vec<String>,
    /// Sizes of the problem instead of those listed, as `hipkittens bench` takes them.
    #[arg(long, value_name = "SIZES")]
    shape: Option<String>,
    /// Device, such as hip:0 or sim:mi355x; may be given several times, each of another architecture
    /// [default: a simulated chip of each architecture that there are kernels for]
    #[arg(long, value_name = "NAME")]
    device: Vec<String>,
    /// The file to write. Programs take it that run with HIPKITTENS_TILES=FILE.
    #[arg(long, short, value_name = "FILE")]
    output: PathBuf,
    /// Print an object of JSON per kernel and problem, one per line: with the seconds that the problem
    /// takes in each tile configuration, in the order of the table.
    #[arg(long)]
    json: bool,
}

/// A tile configuration is taken instead of another if it needs so much less time.
const LEAST_GAIN: f64 = 0.02;

/// Package, architecture, core and variant of a kernel.
type Key = [&'static str; 4];

/// Seconds that a problem takes in a tile configuration.
type Timed = (f64, &'static TileConfig);

/// A tile configuration for one problem.
struct Rule {
    tile: &'static TileConfig,
    /// The dimensions of the problem that rules may name.
    problem: BTreeMap<String, u64>,
    /// What was compared.
    note: String,
}

/// Times the problems with every tile configuration and writes the file.
///
/// # Errors
/// What is wrong with the request, or with a launch.
pub(crate) fn run(request: &Request) -> Result<ExitCode, Box<dyn Error>> {
    if overrides::from_env()?.is_some() {
        let why = "tiles are compared with the built-in choice, which it replaces; run without it";
        return Err(format!("{} is set: {why}", overrides::VARIABLE).into());
    }
    let problems = bench::matching(&request.filters, request.shape.as_deref())?;
    let devices = check::open(&request.device)?;
    let archs: BTreeSet<_> = devices.iter().map(|device| device.arch().name()).collect();
    if archs.len() < devices.len() {
        return Err("a file has tiles for one device of each architecture".into());
    }
    let mut rules: BTreeMap<Key, Vec<Rule>> = BTreeMap::new();
    let mut sources = BTreeSet::new();
    for problem in &problems {
        for device in devices.iter().filter(|on| problem.arch.is_none_or(|of| of == on.arch())) {
            let about = |error: Box<dyn Error>| format!("{} on {device}: {error}", problem.title());
            sources.insert(tune(problem, device, request.json, &mut rules).map_err(about)?);
        }
    }
    let unwritable = |error| format!("{}: {error}", request.output.display());
    fs::write(&request.output, file(&sources, &rules)).map_err(unwritable)?;
    Ok(ExitCode::SUCCESS)
}

/// Finds the tile configurations of a problem's kernels, and says where the times are from.
fn tune(
    problem: &Problem,
    device: &Device,
    json: bool,
    rules: &mut BTreeMap<Key, Vec<Rule>>,
) -> Result<String, Box<dyn Error>> {
    let stream = device.new_stream()?;
    let mut launch = (problem.prepare)(&stream)?;
    let mut time = || Time::of_launch(&stream, &mut launch, false);
    let (before, choices) = record_choices(&mut time);
    let before = before?;
    let source = match before.hash(device) {
        Some((device, hash)) => format!("{device}, by a model with the parameters {hash}"),
        None => format!("{device}, measured"),
    };
    let mut out = output::stdout();
    let mut seen = BTreeSet::new();
    for choice in choices {
        let Choice { package, kernel, tile: chosen, .. } = &choice;
        let key = [*package, kernel.arch, kernel.core, kernel.variant];
        if !seen.insert((key, choice.problem.clone())) {
            continue;
        }
        let timed = in_each_tile(&choice, before.seconds(), &mut time);
        let least = timed.iter().min_by(|a, b| a.0.total_cmp(&b.0));
        let Some((least, best)) = least.filter(|_| timed.len() > 1) else { continue };
        let is_better = *least < before.seconds() * (1.0 - LEAST_GAIN);
        let taken = if is_better {
            format!("{} takes {}", best.name, micros(*least))
        } else {
            "kept".into()
        };
        let note = format!(
            "{} on {}: {} takes {}, {taken}, of {} tiles",
            problem.title(),
            device.name(),
            chosen.name,
            micros(before.seconds()),
            timed.len()
        );
        if json {
            writeln!(out, "{}", object(problem, device, &choice, &timed))?;
        } else {
            writeln!(out, "{}: {note}", kernel.name())?;
        }
        out.flush()?;
        if is_better {
            let is_named = |(dim, _): &(String, u64)| kernel.dims.contains(&dim.as_str());
            let problem = choice.problem.iter().filter(|dim| is_named(dim)).cloned().collect();
            let rules = rules.entry(key).or_default();
            // Of two ops that share a kernel and a problem, the first one decides.
            if rules.iter().all(|rule| rule.problem != problem) {
                rules.push(Rule { tile: best, problem, note });
            }
        }
    }
    Ok(source)
}

/// Seconds that a problem takes in each tile configuration that serves it, in the order of the table;
/// `before` in the one that was chosen. What an op refuses is none for it.
fn in_each_tile(
    choice: &Choice,
    before: f64,
    mut time: impl FnMut() -> Result<Time, Box<dyn Error>>,
) -> Vec<Timed> {
    let timed = choice.candidates().filter_map(|tile| {
        let is_chosen = tile.name == choice.tile.name;
        let seconds = if is_chosen { before } else { with_tile(tile, &mut time).ok()?.seconds() };
        Some((seconds, tile))
    });
    timed.collect()
}

fn object(problem: &Problem, device: &Device, choice: &Choice, timed: &[Timed]) -> Value {
    let tile = |(seconds, tile): &Timed| json!({ "tile": tile.name, "seconds": seconds });
    json!({
        "op": problem.op,
        "shape": problem.shape,
        "device": device.name(),
        "crate": choice.package,
        "kernel": choice.kernel.name(),
        "problem": choice.problem.iter().cloned().collect::<BTreeMap<_, _>>(),
        "built_in": choice.tile.name,
        "tiles": timed.iter().map(tile).collect::<Vec<_>>(),
    })
}

/// The file's text.
fn file(sources: &BTreeSet<String>, rules: &BTreeMap<Key, Vec<Rule>>) -> String {
    let mut text = String::from(
        "# Tile configurations for HIPKITTENS_TILES, written by `hipkittens tune`.\n# Times are of:\n",
    );
    // Writing to a string does not fail.
    for source in sources {
        let _ = writeln!(text, "# - {source}");
    }
    if rules.is_empty() {
        text += "# The built-in choice was the best everywhere.\nkernel = []\n";
    }
    for ([package, arch, core, variant], rules) in rules {
        let _ = write!(
            text,
            "\n[[kernel]]\npackage = \"{package}\"\narch = \"{arch}\"\ncore = \"{core}\"\n"
        );
        if !variant.is_empty() {
            let _ = writeln!(text, "variant = \"{variant}\"");
        }
        text += "otherwise = \"built-in\"\n";
        for Rule { tile, problem, note } in rules {
            let exactly = |(dim, value): (&String, &u64)| {
                format!("{dim} = {{ min = {value}, max = {value} }}")
            };
            let when: Vec<_> = problem.iter().map(exactly).collect();
            let _ = write!(
                text,
                "\n# {note}\n[[kernel.tile]]\nname = \"{}\"\nwhen = {{ {} }}\n",
                tile.name,
                when.join(", ")
            );
        }
    }
    text
}
