//! Published figures of small kernels against the model. README.md has them all; with `HIPKITTENS_BLESS=1` this
//! test writes them.

mod common;

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::path::Path;
use std::sync::LazyLock;

use common::fit::{Leave, alone, is_unidentified, jointly};
use common::points::{Point, Row, Table};
use common::report::{self, Found};
use hk_timing::{Parameters, Prediction};

/// Everything that the tests need, which takes a while.
struct All {
    table: Table,
    points: Vec<Point>,
    found: Vec<Found>,
}

static ALL: LazyLock<All> = LazyLock::new(|| {
    let table = Table::read();
    let points = report::traced(&table);
    let found = report::evaluate(&table, &points, report::as_published);
    All { table, points, found }
});

const BEGIN: &str = "<!-- Written by the test `points` of hk-timing with HIPKITTENS_BLESS=1. -->\n";
const END: &str = "<!-- End of what the test writes. -->\n";

#[test]
fn the_readme_has_all_points_and_scores() {
    let All { table, found, .. } = &*ALL;
    let section = format!("{}\n{}", report::rows(found), report::scores(table, found));
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md");
    let readme = fs::read_to_string(&file).expect("it is there");
    let (before, rest) = readme.split_once(BEGIN).expect("it has the section");
    let (written, behind) = rest.split_once(END).expect("the section ends");
    if std::env::var_os("HIPKITTENS_BLESS").is_some() {
        fs::write(&file, [before, BEGIN, &section, END, behind].concat())
            .expect("it can be written");
    } else {
        // Every row: none may be left out because it is far off.
        assert_eq!(written, section, "HIPKITTENS_BLESS=1 writes it");
    }
}

#[test]
fn every_row_is_told_from_the_others_and_of_a_class() {
    let Table { classes, rows } = &ALL.table;
    let ids: HashSet<_> = rows.iter().map(|row| &row.id).collect();
    assert_eq!(ids.len(), rows.len());
    for row in rows {
        let Row { id, published, source, class, determines, floor, .. } = row;
        assert!(*published > 0.0 && !source.is_empty(), "{id}");
        assert!(classes.iter().any(|of| of.name == *class), "{id}");
        // A point that touches more cannot tell them apart.
        assert!(determines.len() <= 2, "{id}");
        for name in determines {
            let entry = Parameters::entry(common::kernel::product(&row.product), name);
            assert!(entry.is_ok(), "{id}: {name}");
        }
        assert!(floor.as_ref().is_none_or(|of| ids.contains(of)), "{id}");
    }
}

#[test]
fn no_point_beats_its_roofline() {
    let All { table, points, .. } = &*ALL;
    for (row, point) in table.rows.iter().zip(points) {
        for found in point.predictions(&report::as_published(&row.product)) {
            let share = found.roofline_share();
            assert!((0.0..=1.0).contains(&share), "{}: {found}", row.id);
            assert!(
                found.busy.iter().all(|(_, share)| *share <= 1.0 + 1e-9),
                "{}: {found:?}",
                row.id
            );
            within_peaks(row, &found);
        }
    }
}

/// What no kernel of a product can have, whatever the parameters are.
fn within_peaks(row: &Row, found: &Prediction) {
    let product = common::kernel::product(&row.product);
    assert!(found.clock * 1e6 <= f64::from(product.clock_khz), "{}: {found}", row.id);
    let by = report::as_published(&row.product);
    let rate = found.bytes[2] / found.seconds / 1e12;
    assert!(rate <= by.hbm_peak, "{}: {rate} TB/s of HBM", row.id);
}

#[test]
fn more_work_takes_longer_and_more_waves_read_faster() {
    let models: BTreeMap<_, _> =
        ALL.found.iter().map(|found| (found.row.id.as_str(), found.model)).collect();
    for order in [
        // Latencies by the level of the memory.
        &["c01", "c02", "c03", "c04"][..],
        // Cycles by the stride.
        &["c06a", "c06b", "c06c"],
        &["c07a", "c07b", "c07c"],
        // Rates of the L2 and the L1, and by the number of waves.
        &["c09", "c08"],
        &["c11a", "c11b", "c11c"],
        // Clocks and rates by what is done with a byte: the least of them last.
        &["c17m80", "c17m40", "c17m16", "c17m0"],
        &["c17r80", "c17r40", "c17r16", "c17r0"],
        // Times by the size.
        &["c19a", "c19b", "c19c"],
    ] {
        let found: Vec<_> = order.iter().map(|id| models[id]).collect();
        assert!(found.is_sorted(), "{order:?}: {found:?}");
    }
}

#[test]
fn a_point_moves_with_the_parameters_that_it_determines() {
    let All { table, points, .. } = &*ALL;
    for (row, point) in table.rows.iter().zip(points) {
        for name in &row.determines {
            let product = common::kernel::product(&row.product);
            let entry = Parameters::entry(product, name).expect("it is there");
            let [low, high] = entry.range.map(|value| {
                point.model(
                    &Parameters::with(product, &[(name, value)]).expect("it is in the range"),
                )
            });
            assert!((low / high).ln().abs() > 0.01, "{}: {name} gives {low} to {high}", row.id);
        }
        // LDS has nothing to do with device memory.
        if row.problem.contains("LDS") || row.problem.contains("conflicts") {
            let product = common::kernel::product(&row.product);
            let changes = [("l2_hit", 225.0), ("hbm_latency", 440.0), ("l1_hit", 125.0)];
            let other = Parameters::with(product, &changes).expect("they are in their ranges");
            let [plain, other] =
                [Parameters::of(product).expect("it is whole"), other].map(|by| point.model(&by));
            assert!((plain / other).ln().abs() < 1e-3, "{}: {plain}, {other}", row.id);
        }
    }
}

/// A rate of 100 and one of 50, of which the model has `value` and the half of it.
fn of_a_rate(value: f64) -> Vec<f64> {
    vec![(value / 100.0).ln(), (value / 2.0 / 50.0).ln()]
}

#[test]
fn a_parameter_is_fitted_alone_taken_or_refused() {
    let fitted = alone(80.0, [60.0, 140.0], 0.03, of_a_rate);
    assert_eq!((fitted.value, fitted.refused), (100.0, None));
    let before = (0.8_f64).ln().abs();
    assert!((fitted.rms[0] - before).abs() < 1e-9 && fitted.rms[1] < 1e-9, "{fitted:?}");
    // It is where it should be.
    let stays = alone(100.5, [60.0, 140.0], 0.03, of_a_rate);
    assert_eq!(stays.refused, Some("stays: hardly better"));
    // The range ends before; it would be nearer there.
    let outside = alone(62.0, [60.0, 80.0], 0.03, of_a_rate);
    let why = "refused: at the end of the range, and still off";
    assert_eq!((outside.value, outside.refused), (80.0, Some(why)));
    // One wants 90, the other 110.
    let both = |value: f64| vec![(value / 90.0).ln(), (value / 110.0).ln()];
    assert_eq!(
        alone(80.0, [60.0, 140.0], 0.03, both).refused,
        Some("refused: its points disagree")
    );
    // From 95 to 105 it makes no difference.
    let flat = |value: f64| vec![((value - 100.0).abs() - 5.0).max(0.0)];
    assert_eq!(alone(60.0, [60.0, 140.0], 0.03, flat).value, 100.0);
}

#[test]
fn parameters_are_fitted_together_and_to_their_priors() {
    // Straight lines through 40 points: the least of the squares and the priors' distances is known.
    let known = [(1.0, [0.0, 2.0]), (-3.0, [-7.0, 1.0])];
    let lines: Vec<(f64, f64, f64)> = (0..40)
        .map(|at| {
            let (a, b) = (0.05 * f64::from(at % 7), 0.01 * f64::from(at % 5));
            (a, b, a * 1.2 + b * -2.0)
        })
        .collect();
    let errors = |values: &[f64]| -> Vec<f64> {
        lines.iter().map(|(a, b, sum)| a * values[0] + b * values[1] - sum).collect()
    };
    let (values, [before, after]) = jointly(&known, errors);
    // Where it is the least, each derivative is nothing: half ranges are 1 and 4.
    let found = errors(&values);
    assert!(found.iter().all(|error| error.abs() < 0.1), "{found:?}");
    let slope = |of: fn(&(f64, f64, f64)) -> f64, distance: f64, half: f64| -> f64 {
        let sum: f64 = lines.iter().zip(&found).map(|(line, error)| of(line) * error).sum();
        sum + 2.0 * distance / (half * half)
    };
    assert!(slope(|line| line.0, values[0] - 1.0, 1.0).abs() < 1e-6, "{values:?}");
    assert!(slope(|line| line.1, values[1] + 3.0, 4.0).abs() < 1e-6, "{values:?}");
    assert!(after < before && values[0] > 1.0, "{values:?}");

    // A point that is far off counts by its distance, not by its square.
    let one = |far: f64| {
        let errors = |values: &[f64]| {
            let mut errors = vec![values[0]; 20];
            errors.push(values[0] - far);
            errors
        };
        jointly(&[(0.0, [-1.0, 1.0])], errors).0[0]
    };
    let [near, far] = [10.0, 100.0].map(one);
    assert!((near - 0.1 / 22.0).abs() < 1e-5 && (far - near).abs() < 1e-5, "{near} {far}");
    // No further than the range, however much the points want it.
    let (ends, _) = jointly(&[(0.0, [-1.0, 1.0])], |values| vec![values[0] - 50.0; 1000]);
    assert_eq!(ends, [1.0]);
    // Without points the priors are the best.
    assert_eq!(jointly(&known, |_| Vec::new()).0, [1.0, -3.0]);
}

#[test]
fn each_point_is_left_out_once() {
    let rows = &ALL.table.rows;
    for leave in Leave::ALL {
        let folds = leave.folds(rows);
        let mut left: Vec<_> = folds.iter().flat_map(|(_, places)| places.clone()).collect();
        left.sort_unstable();
        assert_eq!(left, (0..rows.len()).collect::<Vec<_>>(), "{leave:?}");
    }
    let names = |leave: Leave| -> Vec<String> {
        leave.folds(rows).into_iter().map(|(name, _)| name).collect()
    };
    assert_eq!(names(Leave::Source), ["RRZE", "MT4G", "shark", "bench", "rocm-systems", "mgpusim"]);
    assert_eq!(names(Leave::Product), ["mi300x", "mi350x", "mi300a"]);
    // 1 to 11 are half of the range apart and a bit.
    assert!(is_unidentified(&[1.0, 5.0, 11.1], [0.0, 20.0]));
    assert!(!is_unidentified(&[1.0, 5.0, 11.0], [0.0, 20.0]));
}

#[test]
fn values_before_any_fit_are_in_their_ranges_and_fitted_ones_have_them() {
    for product in ["mi300x", "mi350x"].map(common::kernel::product) {
        for name in ALL.table.rows.iter().flat_map(|row| &row.determines) {
            let entry = Parameters::entry(product, name).expect("it is there");
            let is_fitted = entry.source.starts_with("fitted to ");
            assert_eq!(is_fitted, entry.prior != entry.value, "{name}: {entry:?}");
        }
    }
}
