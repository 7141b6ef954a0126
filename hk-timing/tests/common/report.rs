//! The report on the points: each beside the figure of the model, and how well they agree.

use std::collections::BTreeMap;
use std::fmt::Write;

use hk_timing::Parameters;

use super::kernel::product;
use super::points::{Point, Row, Table};

/// Pairs of variants are compared if their figures differ by more than this factor.
const APART: f64 = 1.1;

/// A row and the figure of the model.
pub(crate) struct Found {
    pub(crate) row: Row,
    pub(crate) model: f64,
    /// Microseconds of the harness, which the figure of the model has.
    pub(crate) floor: Option<f64>,
}

impl Found {
    /// `ln(model / published)`, unless the row says what the harness takes.
    pub(crate) fn error(&self) -> Option<f64> {
        (!self.sets_floor()).then(|| (self.model / self.row.published).ln())
    }

    /// Whether the row says what the harness takes.
    fn sets_floor(&self) -> bool {
        self.row.floor.as_ref() == Some(&self.row.id)
    }
}

/// The kernels of all rows, traced.
pub(crate) fn traced(table: &Table) -> Vec<Point> {
    Point::all(&table.rows)
}

/// What the model says, with parameters of each product's name.
pub(crate) fn evaluate(
    table: &Table,
    points: &[Point],
    parameters: impl Fn(&str) -> Parameters,
) -> Vec<Found> {
    let model = |(row, point): (&Row, &Point)| point.model(&parameters(&row.product));
    let models: Vec<f64> = table.rows.iter().zip(points).map(model).collect();
    let floor = |of: &String| {
        let at = table.rows.iter().position(|row| row.id == *of).expect("a row of this name");
        table.rows[at].published - models[at]
    };
    let found = table.rows.iter().zip(&models).map(|(row, &model)| {
        let floor = row.floor.as_ref().map(floor);
        Found { row: row.clone(), model: model + floor.unwrap_or(0.0), floor }
    });
    found.collect()
}

/// The parameters in the files.
pub(crate) fn as_published(name: &str) -> Parameters {
    Parameters::of(product(name)).expect("the set is whole")
}

/// Four digits of a figure.
pub(crate) fn digits(value: f64) -> String {
    let before = value.abs().max(1e-9).log10().floor() as i32;
    format!("{value:.*}", (3 - before).clamp(0, 4) as usize)
}

/// Value that a share of the values, in order, does not exceed.
pub(crate) fn percentile(values: &[f64], share: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let rank = (share * sorted.len() as f64).ceil() as usize;
    sorted[rank.clamp(1, sorted.len()) - 1]
}

/// Median, of two in the middle their mean.
pub(crate) fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    f64::midpoint(sorted[(sorted.len() - 1) / 2], sorted[sorted.len() / 2])
}

/// Pairs of variants of one problem that the model puts in the published order, and all of them; and those it
/// does not.
pub(crate) fn ranks(found: &[Found]) -> (usize, usize, Vec<String>) {
    let mut problems: BTreeMap<_, Vec<&Found>> = BTreeMap::new();
    for of in found {
        problems.entry((&of.row.problem, &of.row.unit)).or_default().push(of);
    }
    let (mut right, mut all, mut wrong) = (0, 0, Vec::new());
    for variants in problems.values() {
        for (at, one) in variants.iter().enumerate() {
            for other in &variants[at + 1..] {
                let published = (one.row.published / other.row.published).ln();
                if published.abs() <= APART.ln() {
                    continue;
                }
                all += 1;
                if (one.model / other.model).ln() * published > 0.0 {
                    right += 1;
                } else {
                    wrong.push(format!("{} and {}", one.row.id, other.row.id));
                }
            }
        }
    }
    (right, all, wrong)
}

/// The rows as a table.
pub(crate) fn rows(found: &[Found]) -> String {
    let mut text = String::from(
        "| id | product | kernel | published | source | model | error, 100 ln(model / published) |\n\
         |---|---|---|---|---|---|---|\n",
    );
    for of in found {
        let Row { id, product, kernel, published, unit, source, .. } = &of.row;
        let error = match of.error() {
            Some(error) => format!("{:+.0} %", 100.0 * error),
            None => "sets the floor".to_owned(),
        };
        let floor = match of.floor {
            Some(floor) => format!(", {floor:.1} of them the harness's"),
            None => String::new(),
        };
        let (product, model) = (product.to_uppercase(), digits(of.model));
        // Writing to a string does not fail.
        let _ = writeln!(
            text,
            "| {id} | {product} | {kernel} | {published} {unit} | {source} | {model} {unit}{floor} | \
             {error} |"
        );
    }
    text
}

/// Whether a parameter is fitted to the row, which then does not say how good the model is.
fn is_fitted(row: &Row) -> bool {
    row.determines.iter().any(|name| {
        let entry = Parameters::entry(product(&row.product), name).expect("it is there");
        let to = entry.source.strip_prefix("fitted to ").and_then(|of| of.split(';').next());
        to.is_some_and(|to| to.split(' ').any(|word| word == row.id))
    })
}

/// How well they agree, class by class.
pub(crate) fn scores(table: &Table, found: &[Found]) -> String {
    let mut text = String::from(
        "| class | goals: median, nine of ten | all points | median | nine of ten | nothing is fitted to | \
         median | nine of ten |\n|---|---|---|---|---|---|---|---|\n",
    );
    let percent = |share: f64| format!("{:.0} %", 100.0 * share);
    for class in &table.classes {
        let errors = |keep: &dyn Fn(&Row) -> bool| {
            let of = found.iter().filter(|of| of.row.class == class.name && keep(&of.row));
            let errors: Vec<f64> = of.filter_map(|of| of.error().map(f64::abs)).collect();
            let (middle, most) = (percent(median(&errors)), percent(percentile(&errors, 0.9)));
            format!("{} | {middle} | {most}", errors.len())
        };
        let [goal, goal_most] = class.goals.map(percent);
        let (what, all, free) = (&class.what, errors(&|_| true), errors(&|row| !is_fitted(row)));
        let _ = writeln!(text, "| {what} | {goal}, {goal_most} | {all} | {free} |");
    }
    let (right, all, wrong) = ranks(found);
    let _ = write!(
        text,
        "\nOf {all} pairs of sizes or variants of one problem that differ by more than 10 %, the model puts {right} in\n\
         the published order"
    );
    if !wrong.is_empty() {
        let _ = write!(text, ", but not {}", wrong.join(", "));
    }
    text.push_str(".\n");
    text
}
