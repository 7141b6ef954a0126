//! Published figures of small kernels against the model. README.md has them all; with `HIPKITTENS_BLESS=1` this
//! test writes them.

mod common;

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::path::Path;
use std::sync::LazyLock;

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
        &["c17d", "c17c", "c17b", "c17a"],
        &["c17h", "c17g", "c17f", "c17e"],
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
