//! The variables that steer the simulator. A HIP library has no other way to complain of a bad value
//! than the standard error stream; programs of our own ask for [`environment_problems`] before they
//! do anything.

use std::env;
use std::path::Path;
use std::time::Duration;

use crate::exec::simd::SimdLevel;
use crate::product::{PRODUCTS, Product};
use crate::sanitize::{Checks, Options, REPORT_FILE};

/// What is wrong with the variables that the simulator reads, one message each; empty if nothing is.
pub fn environment_problems() -> Vec<String> {
    let (_, mut problems) = parse_options();
    problems.extend(parse_devices().err());
    problems.extend(parse_simd_level().err());
    problems.extend(parse_report().err());
    problems.extend(parse_timing().err());
    problems
}

/// How launches are executed.
pub(crate) fn options() -> Options {
    let (options, problems) = parse_options();
    for problem in problems {
        eprintln!("hk-sim: {problem}");
    }
    options
}

/// The products that are visible as devices.
pub(crate) fn devices() -> Vec<&'static Product> {
    parse_devices().unwrap_or_else(|problem| {
        eprintln!("hk-sim: {problem}; no device is visible");
        Vec::new()
    })
}

/// The highest level of vector instructions to use, if one is asked for.
pub(crate) fn simd_level() -> Option<SimdLevel> {
    parse_simd_level().unwrap_or_else(|problem| {
        eprintln!("hk-sim: {problem}; it is ignored");
        None
    })
}

/// Whether launches are timed by a model.
pub(crate) fn timing() -> bool {
    let parsed = parse_timing().unwrap_or_else(|problem| {
        eprintln!("hk-sim: {problem}; it is ignored");
        None
    });
    parsed.unwrap_or(false)
}

fn parse_timing() -> Result<Option<bool>, String> {
    switch("HIPKITTENS_SIM_TIMING")
}

/// The variable's value as `parse` reads it, `None` if it is not set or empty; `expected` says what
/// `parse` takes.
fn read<T>(
    variable: &str,
    expected: impl FnOnce() -> String,
    parse: impl FnOnce(&str) -> Option<T>,
) -> Result<Option<T>, String> {
    let Some(value) = env::var_os(variable).filter(|value| !value.is_empty()) else {
        return Ok(None);
    };
    match value.to_str().and_then(|text| parse(text.trim())) {
        Some(value) => Ok(Some(value)),
        None => Err(format!("{variable}: expected {}, got `{}`", expected(), value.display())),
    }
}

fn switch(variable: &str) -> Result<Option<bool>, String> {
    read(
        variable,
        || "0 or 1".into(),
        |text| match text {
            "0" => Some(false),
            "1" => Some(true),
            _ => None,
        },
    )
}

fn number<T: std::str::FromStr>(variable: &str) -> Result<Option<T>, String> {
    read(variable, || "a whole number that is not negative".into(), |text| text.parse().ok())
}

/// The options, with the defaults in place of bad values, and what was wrong with these.
fn parse_options() -> (Options, Vec<String>) {
    fn good<T>(read: Result<Option<T>, String>, problems: &mut Vec<String>) -> Option<T> {
        read.unwrap_or_else(|problem| {
            problems.push(problem);
            None
        })
    }
    let mut problems = Vec::new();
    let mut options = Options::default();
    let exec = &mut options.exec;
    if let Some(threads) = good(number("HIPKITTENS_SIM_THREADS"), &mut problems) {
        exec.threads = threads;
    }
    if let Some(seed) = good(number("HIPKITTENS_SIM_SEED"), &mut problems) {
        exec.seed = Some(seed);
    }
    let slice = read(
        "HIPKITTENS_SIM_SLICE",
        || "a positive number of instructions".into(),
        |text| text.parse().ok().filter(|slice| *slice != 0),
    );
    if let Some(slice) = good(slice, &mut problems) {
        exec.slice = slice;
    }
    if let Some(rough) = good(switch("HIPKITTENS_SIM_ROUGH"), &mut problems) {
        exec.rough = rough;
    }
    if let Some(seconds) = good(number("HIPKITTENS_SIM_PATIENCE"), &mut problems) {
        exec.patience = Duration::from_secs(seconds);
    }
    if let Some(limit) = good(number("HIPKITTENS_SIM_MAX_INSTRUCTIONS"), &mut problems) {
        exec.max_instructions = limit;
    }
    options.sanitize = parse_checks().unwrap_or_else(|problem| {
        // Whoever asks for checks must not believe that they were made.
        problems.push(format!("{problem}; all checks are on"));
        Checks::ALL
    });
    (options, problems)
}

fn parse_checks() -> Result<Checks, String> {
    // What is no text names no check either.
    let Some(text) = env::var_os("HIPKITTENS_SANITIZE") else { return Ok(Checks::NONE) };
    let text = text.to_string_lossy();
    text.parse().map_err(|error| format!("HIPKITTENS_SANITIZE: {error}"))
}

/// Unlike an unset variable, an empty list is no device.
fn parse_devices() -> Result<Vec<&'static Product>, String> {
    const VARIABLE: &str = "HIPKITTENS_SIM_DEVICES";
    let names = env::var_os(VARIABLE).unwrap_or_else(|| "mi325x,mi355x".into());
    parse_names(&names.to_string_lossy()).map_err(|unknown| {
        let known: Vec<_> = PRODUCTS.iter().map(|product| product.name).collect();
        format!("{VARIABLE} names {unknown:?}, which is not one of {}", known.join(", "))
    })
}

/// Products of a comma-separated list; the unknown name otherwise.
fn parse_names(names: &str) -> Result<Vec<&'static Product>, String> {
    names
        .split(',')
        .map(str::trim)
        .filter(|name| !name.is_empty())
        .map(|name| Product::by_name(name).ok_or_else(|| name.to_owned()))
        .collect()
}

fn parse_simd_level() -> Result<Option<SimdLevel>, String> {
    let expected = || {
        let known: Vec<_> = SimdLevel::ALL.iter().map(|level| level.name()).collect();
        format!("one of {}", known.join(", "))
    };
    read("HIPKITTENS_SIM_SIMD", expected, SimdLevel::by_name)
}

fn parse_report() -> Result<Option<()>, String> {
    read(
        REPORT_FILE,
        || "a file in a folder that exists".into(),
        |file| {
            let path = Path::new(file);
            let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
            (!path.is_dir() && folder.is_none_or(Path::is_dir)).then_some(())
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn device_lists() {
        let names = |list| {
            parse_names(list).map(|products| products.iter().map(|p| p.name).collect::<Vec<_>>())
        };
        assert_eq!(names("mi300x, MI355X,mi300x"), Ok(vec!["mi300x", "mi355x", "mi300x"]));
        assert_eq!(names(""), Ok(Vec::new()));
        assert_eq!(names("mi325x,h100"), Err("h100".to_owned()));
    }
}
