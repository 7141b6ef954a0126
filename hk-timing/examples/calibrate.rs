//! Holds the published figures of `points.toml` against the model.
//!
//! ```sh
//! cargo run -p hk-timing --example calibrate            # the report
//! cargo run -p hk-timing --example calibrate -- --fit   # and what the parameters would be, fitted to them
//! cargo run -p hk-timing --example calibrate -- --fit --write 2026-11
//! ```
//!
//! A point names the one or two parameters that it determines. Each of them is fitted alone: the value in its
//! range at which the logarithms of model over published, of the points that name it and are of its chip, have
//! the least squares. It is taken if that is clearly better, and refused where points disagree or want more than
//! the range has. `--write` puts the values into `products/`, as a set of the name that follows.

#![expect(clippy::print_stdout, reason = "a report is printed")]

#[path = "../tests/common/mod.rs"]
mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::{env, fs};

use common::kernel::product;
use common::points::{Point, Row, Table};
use common::report;
use hk_timing::{Parameter, Parameters};

/// Values of a range that are tried, at even distances.
const STEPS: u32 = 32;
/// How much less the error must be: published figures of one thing differ by as much.
const CLEARLY: f64 = 0.015;
/// The chips, by one product of each.
const CHIPS: [(&str, &str); 2] = [("gfx942", "mi300x"), ("gfx950", "mi350x")];

/// A parameter that was fitted.
struct Fit {
    file: &'static str,
    name: String,
    before: Parameter,
    value: f64,
    /// Root of the mean square of the logarithms, before and after.
    rms: [f64; 2],
    points: Vec<String>,
    /// Why it is refused, if it is.
    refused: Option<&'static str>,
}

fn main() -> ExitCode {
    let args: Vec<String> = env::args().skip(1).collect();
    let (fits, name) = match &args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => (false, None),
        ["--fit"] => (true, None),
        ["--fit", "--write", name] => (true, Some((*name).to_owned())),
        _ => {
            println!("usage: calibrate [--fit [--write NAME]]");
            return ExitCode::FAILURE;
        }
    };
    let table = Table::read();
    let points = report::traced(&table);
    let found = report::evaluate(&table, &points, report::as_published);
    println!("{}\n{}", report::rows(&found), report::scores(&table, &found));
    for row in table.rows.iter().map(|row| &row.product).collect::<BTreeSet<_>>() {
        let Parameters { set, hash, .. } = report::as_published(row);
        println!("{row}: parameters {set}, {hash}");
    }
    if !fits {
        return ExitCode::SUCCESS;
    }
    let fits = fit(&table, &points);
    println!("\n| parameter | file | value | fitted | range | points | rms | fitted | |");
    println!("|---|---|---|---|---|---|---|---|---|");
    for of in &fits {
        let Fit { file, name, before, value, rms: [was, is], points, refused } = of;
        let (old, [low, high]) = (before.value, before.range);
        let (was, is, points) = (100.0 * was, 100.0 * is, points.join(", "));
        let verdict = refused.unwrap_or("taken");
        println!(
            "| {name} | {file} | {old} | {value} | {low} to {high} | {points} | {was:.1} % | {is:.1} % | \
             {verdict} |"
        );
    }
    if let Some(name) = name {
        for of in fits.iter().filter(|of| of.refused.is_none()) {
            write(of);
        }
        for chip in CHIPS.map(|(chip, _)| chip) {
            let text = fs::read_to_string(path(chip)).expect("it is there");
            let line = |line: &str| {
                if line.starts_with("set = ") { format!("set = {name:?}") } else { line.to_owned() }
            };
            let text = text.lines().map(line).collect::<Vec<_>>().join("\n") + "\n";
            fs::write(path(chip), text).expect("it can be written");
        }
    }
    ExitCode::SUCCESS
}

/// Fits each parameter that points determine, one after the other, with those before as fitted.
fn fit(table: &Table, points: &[Point]) -> Vec<Fit> {
    let mut fits: Vec<Fit> = Vec::new();
    for (file, of_chip) in CHIPS {
        let mut changes: BTreeMap<String, f64> = BTreeMap::new();
        let names = |row: &Row| {
            let is_of_chip = product(&row.product).arch == product(of_chip).arch;
            if is_of_chip { row.determines.clone() } else { Vec::new() }
        };
        let mut all: Vec<String> = Vec::new();
        for name in table.rows.iter().flat_map(names) {
            if !all.contains(&name) {
                all.push(name);
            }
        }
        for name in all {
            let own: Vec<_> = table
                .rows
                .iter()
                .zip(points)
                .filter(|(row, _)| names(row).contains(&name))
                .collect();
            let before = Parameters::entry(product(of_chip), &name).expect("a test saw to it");
            let errors = |value: f64| -> Vec<f64> {
                let mut changes = changes.clone();
                changes.insert(name.clone(), value);
                let changes: Vec<_> =
                    changes.iter().map(|(name, value)| (&**name, *value)).collect();
                let error = |(row, point): &(&Row, &Point)| {
                    let by = Parameters::with(product(&row.product), &changes);
                    (point.model(&by.expect("in the range")) / row.published).ln()
                };
                own.iter().map(error).collect()
            };
            let rms = |value: f64| {
                let errors = errors(value);
                (errors.iter().map(|error| error * error).sum::<f64>() / errors.len() as f64).sqrt()
            };
            let [low, high] = before.range;
            let step = (high - low) / f64::from(STEPS);
            let tried = (0..=STEPS).map(|at| {
                let value = low + step * f64::from(at);
                (rms(value), value)
            });
            // Of values that are as good, that in the middle: a cycle of the model has no fractions.
            let tried: Vec<_> = tried.collect();
            let least = tried.iter().map(|of| of.0).fold(f64::INFINITY, f64::min);
            let best: Vec<_> =
                tried.iter().filter(|of| of.0 <= least + 1e-4).map(|of| of.1).collect();
            let value = round(f64::midpoint(best[0], best[best.len() - 1]), step).clamp(low, high);
            let (rms, errors) = ([rms(before.value), rms(value)], errors(value));
            let at_end = best.contains(&low) || best.contains(&high);
            // At the end of the range, the point wants what the parameter cannot be.
            let goal = |row: &Row| {
                let class = table.classes.iter().find(|class| class.name == row.class);
                class.expect("a test saw to it").goals[0]
            };
            let goal = own.iter().map(|(row, _)| goal(row)).fold(0.0, f64::max);
            let refused = if at_end && rms[1] > goal {
                Some("refused: at the end of the range, and still off")
            } else if rms[0] - rms[1] < CLEARLY {
                Some("stays: hardly better")
            } else if errors.iter().any(|&error| error > goal / 2.0)
                && errors.iter().any(|&error| error < -goal / 2.0)
            {
                Some("refused: its points disagree")
            } else {
                changes.insert(name.clone(), value);
                None
            };
            let points = own.iter().map(|(row, _)| row.id.clone()).collect();
            fits.push(Fit { file, name, before, value, rms, points, refused });
        }
    }
    fits
}

/// No more digits than the steps tell apart.
fn round(value: f64, step: f64) -> f64 {
    let digits = (-step.log10().round()).max(0.0) as usize;
    format!("{value:.digits$}").parse().expect("it is a number")
}

/// File of a chip.
fn path(chip: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("products/{chip}.toml"))
}

/// Puts a value into the file of the chip, and into that of the other chip if the value there is of the same
/// source.
fn write(fit: &Fit) {
    let Fit { file, name, before, value, points, .. } = fit;
    // Where it was from before anything was fitted.
    let source = before.source.rsplit("before: ").next().unwrap_or_default();
    for chip in CHIPS.map(|(chip, _)| chip) {
        let text = fs::read_to_string(path(chip)).expect("it is there");
        let start = text.find(&format!("[{name}]\n")).expect("it has the parameter");
        let end = text[start..].find("\n\n").map_or(text.len(), |at| start + at);
        let entry = &text[start..end];
        let is_same =
            entry.contains(&format!("value = {:?}\n", before.value)) && entry.contains(source);
        if chip != *file && !is_same {
            continue;
        }
        let points = points.join(" and ");
        let changed = entry.lines().map(|line| match line.split(" = ").next() {
            Some("value") => format!("value = {value:?}"),
            Some("tag") => "tag = \"fit\"".to_owned(),
            Some("source") if chip == *file => {
                format!("source = \"fitted to {points}; before: {source}\"")
            }
            Some("source") => {
                format!("source = \"fitted to {points} of {file}; before: {source}\"")
            }
            _ => line.to_owned(),
        });
        let changed = changed.collect::<Vec<_>>().join("\n");
        fs::write(path(chip), [&text[..start], &changed, &text[end..]].concat())
            .expect("it can be written");
        println!("{chip}: {name} = {value:?}");
    }
}
