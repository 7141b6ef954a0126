//! Holds the published figures of `points.toml` against the model.
//!
//! ```sh
//! cargo run -p hk-timing --example calibrate            # the report
//! cargo run -p hk-timing --example calibrate -- --fit   # and what the parameters would be, fitted to them
//! cargo run -p hk-timing --example calibrate -- --fit --write 2026-11
//! cargo run -p hk-timing --example calibrate -- --leave-one-out
//! cargo run -p hk-timing --example calibrate -- --stage-2
//! ```
//!
//! A point names the one or two parameters that it determines. Each of them is fitted alone: the value in its
//! range at which the logarithms of model over published, of the points that name it and are of its chip, have
//! the least squares. It is taken if that is clearly better, and refused where points disagree or want more than
//! the range has. `--write` puts the values into `products/`, as a set of the name that follows.
//!
//! `--leave-one-out` starts from the values before any fit, and predicts each point with a set that is fitted
//! without it; then all points of a source, and of a product, with a set fitted without these. A parameter that
//! moves by more than half of its range meanwhile is not identified.
//!
//! `--stage-2` fits parameters that no point determines alone, together, to the points that are marked for it:
//! beside the errors, distance from the prior counts. One that fewer than three of these points move with stays.
//!
//! These two take about ten minutes. Only `--write` changes a file.

#![expect(clippy::print_stdout, reason = "a report is printed")]

#[path = "../tests/common/mod.rs"]
mod common;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::{env, fs};

use common::fit::{Alone, ENOUGH, Leave, alone, is_unidentified, jointly};
use common::kernel::product;
use common::points::{Point, Row, Table};
use common::report;
use hk_timing::{Parameter, Parameters};

/// The chips, by one product of each.
const CHIPS: [(&str, &str); 2] = [("gfx942", "mi300x"), ("gfx950", "mi350x")];

/// Parameters that no small kernel determines alone.
const TOGETHER: [&str; 15] = [
    "barrier_release",
    "dtl_return",
    "icache_miss",
    "mall_effective",
    "l2_atomic",
    "power_idle",
    "power_memory",
    "power_clock",
    "voltage_slope",
    "burst",
    "energy_vector",
    "energy_bf16",
    "energy_f16",
    "energy_8bit",
    "energy_narrow",
];
/// How much a figure must differ between the ends of a parameter's range to move with it.
const MOVES: f64 = 0.01;

/// A parameter that was fitted.
struct Fit {
    file: &'static str,
    name: String,
    before: Parameter,
    alone: Alone,
    points: Vec<String>,
}

/// Values that parameters have instead of those in the files.
type Changes = BTreeMap<String, f64>;

/// The points, and what the model said of them.
struct Points<'a> {
    table: &'a Table,
    all: &'a [Point],
    known: HashMap<(usize, String), f64>,
}

impl Points<'_> {
    /// The figure of a row, with changed parameters.
    fn model(&mut self, row: usize, changes: &Changes) -> f64 {
        let changes: Vec<_> = changes.iter().map(|(name, value)| (&**name, *value)).collect();
        let by = Parameters::with(product(&self.table.rows[row].product), &changes);
        let by = by.expect("in the range");
        let of = &self.all[row];
        *self.known.entry((row, by.hash.clone())).or_insert_with(|| of.model(&by))
    }

    /// `ln(model / published)` of some rows.
    fn errors(&mut self, rows: &[usize], changes: &Changes) -> Vec<f64> {
        let table = self.table;
        let error = |&row: &usize| (self.model(row, changes) / table.rows[row].published).ln();
        rows.iter().map(error).collect()
    }
}

fn main() -> ExitCode {
    let args: Vec<String> = env::args().skip(1).collect();
    let (mode, name) = match &args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => (None, None),
        [mode @ ("--fit" | "--leave-one-out" | "--stage-2")] => (Some(*mode), None),
        ["--fit", "--write", name] => (Some("--fit"), Some((*name).to_owned())),
        _ => {
            println!("usage: calibrate [--fit [--write NAME] | --leave-one-out | --stage-2]");
            return ExitCode::FAILURE;
        }
    };
    let table = Table::read();
    let all = report::traced(&table);
    let found = report::evaluate(&table, &all, report::as_published);
    println!("{}\n{}", report::rows(&found), report::scores(&table, &found));
    for row in table.rows.iter().map(|row| &row.product).collect::<BTreeSet<_>>() {
        let Parameters { set, hash, .. } = report::as_published(row);
        println!("{row}: parameters {set}, {hash}");
    }
    let mut points = Points { table: &table, all: &all, known: HashMap::new() };
    match mode {
        Some("--fit") => {
            let fits = fit(&mut points, |of| of.value, &[]).0;
            print(&fits);
            if let Some(name) = name {
                write_set(&fits, &name);
            }
        }
        Some("--leave-one-out") => leave_one_out(&mut points),
        Some(_) => stage_2(&mut points),
        None => {}
    }
    ExitCode::SUCCESS
}

fn print(fits: &[Fit]) {
    println!("\n| parameter | file | value | fitted | range | points | rms | fitted | |");
    println!("|---|---|---|---|---|---|---|---|---|");
    for Fit { file, name, before, alone, points } in fits {
        let Alone { value, rms, refused } = alone;
        let (old, [low, high]) = (before.value, before.range);
        let [was, is] = rms.map(|rms| 100.0 * rms);
        let (points, verdict) = (points.join(", "), refused.unwrap_or("taken"));
        println!(
            "| {name} | {file} | {old} | {value} | {low} to {high} | {points} | {was:.1} % | {is:.1} % | \
             {verdict} |"
        );
    }
}

/// Rows of a chip.
fn rows_of(table: &Table, of_chip: &str) -> Vec<usize> {
    let arch = product(of_chip).arch;
    let is_of_chip = |row: &Row| product(&row.product).arch == arch;
    (0..table.rows.len()).filter(|&at| is_of_chip(&table.rows[at])).collect()
}

/// Fits each parameter that points determine, one after the other, with those before as fitted; but for the
/// points that are left out. Parameters have the value `start` before. Returns also the values by chip.
fn fit(
    points: &mut Points<'_>,
    start: fn(&Parameter) -> f64,
    left_out: &[usize],
) -> (Vec<Fit>, [Changes; CHIPS.len()]) {
    let table = points.table;
    let mut fits: Vec<Fit> = Vec::new();
    let chips = CHIPS.map(|(file, of_chip)| {
        let entry =
            |name: &str| Parameters::entry(product(of_chip), name).expect("a test saw to it");
        let mut changes = Changes::new();
        // What other values are before any fit, and what was fitted for the other chip, if it is the same here.
        for name in table.rows.iter().flat_map(|row| &row.determines) {
            let entry = entry(name);
            if start(&entry) != entry.value {
                changes.insert(name.clone(), start(&entry));
            }
        }
        for of in fits.iter().filter(|of| of.alone.refused.is_none()) {
            let here = entry(&of.name);
            if start(&here) == start(&of.before) && origin(&here) == origin(&of.before) {
                changes.insert(of.name.clone(), of.alone.value);
            }
        }
        let rows = rows_of(table, of_chip);
        let rows: Vec<_> = rows.into_iter().filter(|row| !left_out.contains(row)).collect();
        let mut all: Vec<&String> = Vec::new();
        for name in rows.iter().flat_map(|&row| &table.rows[row].determines) {
            if !all.contains(&name) {
                all.push(name);
            }
        }
        for name in all {
            let determines = |row: &usize| table.rows[*row].determines.contains(name);
            let own: Vec<usize> = rows.iter().copied().filter(determines).collect();
            let goal = |row: usize| {
                let class = table.classes.iter().find(|of| of.name == table.rows[row].class);
                class.expect("a test saw to it").goals[0]
            };
            let goal = own.iter().map(|&row| goal(row)).fold(0.0, f64::max);
            let before = entry(name);
            let from = changes.get(name).copied().unwrap_or(before.value);
            let alone = alone(from, before.range, goal, |value| {
                let mut changes = changes.clone();
                changes.insert(name.clone(), value);
                points.errors(&own, &changes)
            });
            if alone.refused.is_none() {
                changes.insert(name.clone(), alone.value);
            }
            let own = own.iter().map(|&row| table.rows[row].id.clone()).collect();
            fits.push(Fit { file, name: name.clone(), before, alone, points: own });
        }
        changes
    });
    (fits, chips)
}

/// Where a value was from before anything was fitted.
fn origin(of: &Parameter) -> &str {
    of.source.rsplit("before: ").next().unwrap_or_default()
}

/// Predicts each point with a set that is fitted without it, and without others of its source or product.
fn leave_one_out(points: &mut Points<'_>) {
    let table = points.table;
    let (fits, whole) = fit(points, |of| of.prior, &[]);
    print(&fits);
    println!("\n| left out | class | points | median | nine of ten |\n|---|---|---|---|---|");
    // The values of each parameter in all sets.
    let mut values: BTreeMap<(usize, &str), Vec<f64>> = BTreeMap::new();
    let value = |chip: usize, name: &str, set: &[Changes; CHIPS.len()]| {
        let here =
            || Parameters::entry(product(CHIPS[chip].1), name).expect("a test saw to it").value;
        set[chip].get(name).copied().unwrap_or_else(here)
    };
    for leave in Leave::ALL {
        let mut errors: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
        for (_, left_out) in leave.folds(&table.rows) {
            // Without a point to which nothing is fitted, the set is that of all points.
            let matters = left_out.iter().any(|&row| !table.rows[row].determines.is_empty());
            let set = if matters { fit(points, |of| of.prior, &left_out).1 } else { whole.clone() };
            for (chip, (_, of_chip)) in CHIPS.iter().enumerate() {
                for row in rows_of(table, of_chip) {
                    for name in &table.rows[row].determines {
                        let value = value(chip, name, &set);
                        values.entry((chip, name)).or_default().push(value);
                    }
                }
                for row in rows_of(table, of_chip).into_iter().filter(|row| left_out.contains(row))
                {
                    let of = &table.rows[row];
                    if of.floor.as_ref() == Some(&of.id) {
                        continue;
                    }
                    // What the harness takes is known from another point, unless that is left out as well.
                    let floor = of.floor.as_ref().map(|id| {
                        table.rows.iter().position(|row| row.id == *id).expect("a test saw to it")
                    });
                    let floor =
                        floor.filter(|floor| !left_out.contains(floor)).map_or(0.0, |floor| {
                            table.rows[floor].published - points.model(floor, &set[chip])
                        });
                    let model = points.model(row, &set[chip]) + floor;
                    errors.entry(&of.class).or_default().push((model / of.published).ln().abs());
                }
            }
        }
        let left_out = match leave {
            Leave::Point => "the point",
            Leave::Source => "all of its source",
            Leave::Product => "all of its product",
        };
        for class in &table.classes {
            let Some(errors) = errors.get(class.name.as_str()) else { continue };
            let [median, most] = [report::median(errors), report::percentile(errors, 0.9)];
            let (median, most) = (100.0 * median, 100.0 * most);
            let (what, count) = (&class.what, errors.len());
            println!("| {left_out} | {what} | {count} | {median:.0} % | {most:.0} % |");
        }
    }
    println!("\n| parameter | file | prior | of all points | least | largest | range | |");
    println!("|---|---|---|---|---|---|---|---|");
    for ((chip, name), values) in &values {
        let (file, of_chip) = CHIPS[*chip];
        let Parameter { prior, range, .. } =
            Parameters::entry(product(of_chip), name).expect("a test saw to it");
        let least = values.iter().copied().fold(f64::INFINITY, f64::min);
        let largest = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let [low, high] = range;
        let verdict = if is_unidentified(values, range) { "not identified" } else { "" };
        let all = value(*chip, name, &whole);
        println!(
            "| {name} | {file} | {prior} | {all} | {least} | {largest} | {low} to {high} | {verdict} |"
        );
    }
}

/// Fits what no point determines alone, to all points that are marked for it.
fn stage_2(points: &mut Points<'_>) {
    let table = points.table;
    for (file, of_chip) in CHIPS {
        println!("\n| parameter | file | value | fitted | range | points that move, up to 3 | |");
        println!("|---|---|---|---|---|---|---|");
        let joint: Vec<_> =
            rows_of(table, of_chip).into_iter().filter(|&row| table.rows[row].joint).collect();
        let entry =
            |name: &str| Parameters::entry(product(of_chip), name).expect("a test saw to it");
        // Those that enough of the points move with.
        let mut moving = Vec::new();
        let mut counts = Vec::new();
        for name in TOGETHER {
            let ends = entry(name).range.map(|value| Changes::from([(name.to_owned(), value)]));
            let mut count = 0;
            for &row in &joint {
                let [low, high] = [0, 1].map(|end| points.errors(&[row], &ends[end])[0]);
                count += usize::from((low - high).abs() > MOVES);
                // More of them need not be known.
                if count == ENOUGH {
                    break;
                }
            }
            counts.push(count);
            if count >= ENOUGH {
                moving.push(name);
            }
        }
        let known: Vec<_> =
            moving.iter().map(|name| (entry(name).prior, entry(name).range)).collect();
        let changes = |values: &[f64]| -> Changes {
            moving.iter().map(|&name| name.to_owned()).zip(values.iter().copied()).collect()
        };
        let (values, lost) = jointly(&known, |values| points.errors(&joint, &changes(values)));
        for (name, count) in TOGETHER.into_iter().zip(counts) {
            let Parameter { value, range: [low, high], .. } = entry(name);
            let at = moving.iter().position(|of| *of == name);
            let (fitted, verdict) = match at {
                Some(at) => (format!("{:.4}", values[at]), "fitted"),
                None => (value.to_string(), "stays: too few points"),
            };
            println!(
                "| {name} | {file} | {value} | {fitted} | {low} to {high} | {count} | {verdict} |"
            );
        }
        if !moving.is_empty() {
            let rms = |errors: Vec<f64>| {
                let squares = errors.iter().map(|error| error * error).sum::<f64>();
                100.0 * (squares / errors.len() as f64).sqrt()
            };
            let priors: Vec<_> = known.iter().map(|of| of.0).collect();
            let [was, is] = [&priors, &values].map(|of| rms(points.errors(&joint, &changes(of))));
            let ([before, after], count) = (lost, joint.len());
            println!(
                "\n{file}: rms of {count} points {was:.1} %, fitted {is:.1} %; with the priors' share \
                 {before:.4}, fitted {after:.4}"
            );
        }
    }
}

/// Writes what is taken, as a set of this name.
fn write_set(fits: &[Fit], name: &str) {
    for of in fits.iter().filter(|of| of.alone.refused.is_none()) {
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

/// File of a chip.
fn path(chip: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("products/{chip}.toml"))
}

/// Puts a value into the file of the chip, and into that of the other chip if the value there is of the same
/// source.
fn write(fit: &Fit) {
    let Fit { file, name, before, alone: Alone { value, .. }, points } = fit;
    let source = origin(before);
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
        let lines = entry.lines().filter(|line| !line.starts_with("prior = "));
        let changed = lines.map(|line| match line.split(" = ").next() {
            // The prior stands behind the value, and stays what it was.
            Some("value") => format!("value = {value:?}\nprior = {:?}", before.prior),
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
