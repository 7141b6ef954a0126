//! The table that `hipkittens check` ends with: at most 100 columns, whatever an op is called.

use std::collections::BTreeSet;
use std::io::{self, Write};

use hk_ref::Report;

/// Reports, gathered into a row per op, device, element types and kind of input.
#[derive(Default)]
pub(crate) struct Table {
    rows: Vec<Row>,
}

#[derive(Default)]
struct Row {
    op: String,
    device: String,
    /// Element types, and where the numbers come from unless they were drawn.
    types: String,
    cases: usize,
    passed: usize,
    /// Largest error, and what was allowed there.
    largest: (f64, f64),
    /// The worst error as a share of what was allowed.
    share: f64,
    lds: u32,
    vgprs: u32,
    spills: u32,
    /// Kinds of what the sanitizer found.
    found: BTreeSet<String>,
}

/// Columns of the table, and those that neither the device nor the types nor the passed cases take.
const COLUMNS: usize = 100;
const OTHERS: usize = 49;

const LEGEND: &str = "
passed     cases that passed, of those that were run
error      largest absolute error of an element, and the tolerance for that element
worst      error of the worst element, as a share of its tolerance
LDS, VGPRs bytes per workgroup and registers per lane, of the largest kernel that was launched
";

impl Table {
    /// Adds a case; `input` says where its numbers come from, if not from a seed.
    pub(crate) fn add(&mut self, device: &str, input: Option<&str>, report: &Report) {
        let types = match input {
            None => report.dtype.clone(),
            Some(input) => format!("{} ({input})", report.dtype),
        };
        let is_row = |row: &Row| row.op == report.op && row.device == device && row.types == types;
        let index = self.rows.iter().position(is_row).unwrap_or_else(|| {
            // Behind the other rows of its op.
            let last = self.rows.iter().rposition(|row| row.op == report.op);
            let index = last.map_or(self.rows.len(), |last| last + 1);
            let (op, device) = (report.op.clone(), device.to_owned());
            self.rows.insert(index, Row { op, device, types: types.clone(), ..Row::default() });
            index
        });
        let row = &mut self.rows[index];
        row.cases += 1;
        row.passed += usize::from(report.pass);
        if let Some((error, allowed)) = report.max_abs_err.zip(report.tolerance) {
            if error > row.largest.0 || row.cases == 1 {
                row.largest = (error, allowed);
            }
            let share = if error == 0.0 { 0.0 } else { error / allowed };
            row.share = row.share.max(share);
        }
        row.lds = row.lds.max(report.lds_bytes);
        row.vgprs = row.vgprs.max(report.vgprs);
        row.spills = row.spills.max(report.spills);
        let findings = report.sanitizer.iter().flatten();
        row.found.extend(findings.filter_map(|found| Some(found.split_once(':')?.0.to_owned())));
    }

    /// Prints the rows, each op's under its name, and what the columns mean.
    ///
    /// # Errors
    /// Those of writing.
    pub(crate) fn print(&self, out: &mut impl Write) -> io::Result<()> {
        fn width(rows: &[Row], of: impl Fn(&Row) -> usize, least: usize) -> usize {
            rows.iter().map(of).fold(least, usize::max)
        }
        let device = width(&self.rows, |row| row.device.len(), 6);
        let passed = width(&self.rows, |row| row.passed_of().len(), 6);
        // Longer types have a line of their own.
        let room = COLUMNS.saturating_sub(OTHERS + device + passed).max(5);
        let fits = |row: &Row| if row.types.len() <= room { row.types.len() } else { 0 };
        let types = width(&self.rows, fits, 5);
        writeln!(
            out,
            "op\n  {:device$} {:types$} {:>passed$} {:>7} {:>9} {:>5} {:>6} {:>5}  verdict",
            "device", "types", "passed", "error", "tolerance", "worst", "LDS", "VGPRs",
        )?;
        let mut op = "";
        for row in &self.rows {
            if row.op != op {
                op = &row.op;
                writeln!(out, "{op}")?;
            }
            let (error, allowed) = row.largest;
            let mut named = (row.device.as_str(), row.types.as_str());
            if row.types.len() > types {
                writeln!(out, "  {:device$} {}", row.device, row.types)?;
                named = ("", "");
            }
            writeln!(
                out,
                "  {:device$} {:types$} {:>passed$} {:>7} {:>9} {:>4.0}% {:>6} {:>5}  {}",
                named.0,
                named.1,
                row.passed_of(),
                number(error),
                number(allowed),
                100.0 * row.share,
                row.lds,
                row.vgprs,
                if row.passed == row.cases { "pass" } else { "FAIL" },
            )?;
            if !row.found.is_empty() {
                let found: Vec<_> = row.found.iter().map(String::as_str).collect();
                writeln!(out, "    the sanitizer found: {}", found.join(", "))?;
            }
            if row.spills > 0 {
                writeln!(out, "    registers spilled: {}", row.spills)?;
            }
        }
        out.write_all(LEGEND.as_bytes())
    }
}

impl Row {
    fn passed_of(&self) -> String {
        format!("{}/{}", self.passed, self.cases)
    }
}

/// Two digits, and nothing finer than f32's normal numbers.
fn number(value: f64) -> String {
    if value.abs() < f64::from(f32::MIN_POSITIVE) { "0".into() } else { format!("{value:.1e}") }
}
