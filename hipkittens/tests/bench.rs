//! `hipkittens bench` as a user calls it, and the recorded times, which `HIPKITTENS_BLESS=1` records anew.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::LazyLock;

use hk_norm::{Device, RmsnormOptions, Tensor, bf16, rmsnorm};
use serde_json::Value;

fn bench(args: &[&str], threads: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hipkittens"));
    command.arg("bench").args(args).env("HIPKITTENS_SIM_THREADS", threads);
    command.output().expect("the command starts")
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn rows(args: &[&str], threads: &str) -> Vec<Value> {
    let output = bench(args, threads);
    assert!(output.status.success(), "{args:?}: {}", text(&output.stderr));
    text(&output.stdout).lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

#[test]
fn times_are_of_a_model_and_the_same_for_any_number_of_threads() {
    for (filter, rows_of) in [("rmsnorm bf16 65536x128", 2), ("solve_tril", 2), ("16x8192x8192", 2)]
    {
        let (one, two) = (rows(&[filter, "--json"], "1"), rows(&[filter, "--json"], "2"));
        assert_eq!(one, two, "{filter}");
        assert_eq!(one.len(), rows_of, "{filter}");
        for row in &one {
            assert_eq!(row["source"], "model", "{row}");
            assert!(row["seconds"].as_f64().expect("a number") > 0.0, "{row}");
            let share = row["roofline_share"].as_f64().expect("a number");
            assert!(share > 0.0 && share <= 1.0, "{row}");
            let kernels = row["kernels"].as_array().expect("a list");
            let sum: f64 = kernels.iter().map(|of| of["seconds"].as_f64().expect("a number")).sum();
            assert!(
                (sum / row["seconds"].as_f64().expect("a number") - 1.0).abs() < 1e-12,
                "{row}"
            );
        }
    }
}

#[test]
fn the_table_says_that_it_is_a_model_and_what_was_published() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let picture = folder.path().join("roofline.svg");
    let args = ["rmsnorm bf16 65536x128", "--device=sim:mi325x", "--device=sim:mi355x", "--svg"];
    let output = bench(&[&args[..], &[&*picture.to_string_lossy()]].concat(), "2");
    let shown = text(&output.stdout);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(shown.contains("those of a model; nothing was measured"), "{shown}");
    let row = shown.lines().find(|line| line.starts_with("  sim:mi325x")).expect("a row");
    assert!(row.contains("TB/s") && row.contains("published 21.8 us (AITER), ratio"), "{shown}");
    assert!(shown.contains("sim:mi325x: parameters "), "{shown}");
    let picture = fs::read_to_string(picture).expect("it was drawn");
    assert!(picture.starts_with("<svg ") && picture.ends_with("</svg>\n"), "{picture}");
    assert!(picture.contains(">1 rmsnorm bf16 65536x128</text>"), "{picture}");
    // Device and problem, and the roofs of 16 and of 8 bits.
    assert_eq!([picture.matches("<circle").count(), picture.matches("\"roof").count()], [4, 4]);
}

#[test]
fn of_one_problem_the_waves_of_a_compute_unit_are_drawn() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("timeline.svg");
    let draw = |shape| {
        let args = ["gemm_a16w16 bf16", "--shape", shape, "--device=sim:mi355x", "--svg"];
        let output = bench(&[&args[..], &[&*file.to_string_lossy()]].concat(), "2");
        assert!(output.status.success(), "{}", text(&output.stderr));
        fs::read_to_string(&file).expect("it was drawn")
    };
    let picture = draw("4096x4096x1024");
    assert!(picture.starts_with("<svg ") && picture.ends_with("</svg>\n"), "{picture}");
    assert!(picture.contains("gemm_a16w16 bf16 4096x4096x1024 on sim:mi355x"), "{picture}");
    // A legend, of which the shares are of a whole; some of each of these were drawn.
    let shares = picture.split("%</text>").filter_map(|part| part.rsplit(", ").next());
    let shares: Vec<_> = shares.filter_map(|share| share.trim().parse::<u32>().ok()).collect();
    assert!(shares.len() == 9 && (96..=104).contains(&shares.iter().sum::<u32>()), "{shares:?}");
    for class in ["issue", "matrix", "barrier", "lds"] {
        assert!(picture.matches(&format!("class=\"{class}\"")).count() > 20, "{class}");
    }
    assert_eq!(picture.matches(" wave 0<").count(), 2, "each wave in both panels");
    assert_eq!(draw("4096x4096x1024"), picture);
}

#[test]
fn what_cannot_be_timed_is_refused() {
    for args in [&["no such problem"][..], &["softmax", "--device", "sim:mi999x"]] {
        let output = bench(args, "2");
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(output.stdout.is_empty() && !output.stderr.is_empty(), "{args:?}");
    }
    let listed = bench(&["--list"], "2");
    let listed = text(&listed.stdout);
    assert!(listed.contains("gemm_a16w16 bf16 8192x8192x8192\n"));
    let titles = rows(&["--list", "--json"], "2").iter().map(title).collect::<Vec<_>>();
    assert_eq!(listed.lines().collect::<Vec<_>>(), titles);
}

#[test]
fn sizes_may_be_given() {
    let given =
        |shape| rows(&["gemm_a16w16", "--shape", shape, "--device", "sim:mi355x", "--json"], "2");
    let (by_place, by_name) = (given("512x768x256"), given("k=256, m=512,n=768"));
    assert_eq!(by_place, by_name);
    assert_eq!(by_place[0]["shape"], "bf16 512x768x256");
    let more = given("512x768x1024");
    assert!(number(&more[0], "seconds") > number(&by_place[0], "seconds"), "{more:?}");
    // Those of the list are nothing else.
    let listed = rows(&["rmsnorm bf16 32768x512", "--device", "sim:mi325x", "--json"], "2");
    let asked =
        ["rmsnorm bf16 32768x512", "--shape", "32768x512", "--device", "sim:mi325x", "--json"];
    assert_eq!(number(&rows(&asked, "2")[0], "seconds"), number(&listed[0], "seconds"));
}

#[test]
fn sizes_that_do_not_fit_are_refused() {
    for (filter, shape, expected) in [
        ("gemm_a16w16", "512x768", "expected all of the sizes"),
        ("gemm_a16w16", "1x2x3x4", "expected these sizes and no other"),
        ("gemm_a16w16", "m=1,n=2,q=3", "expected these sizes and no other"),
        ("gemm_a16w16", "m=1,n=2,3", "expected these sizes and no other"),
        ("gemm_a16w16", "m=1,n=2,m=3", "expected each size once"),
        ("gemm_a16w16", "0x1x1", "whole and positive"),
        ("gemm_a16w16", "8192xmanyx1", "whole and positive"),
        ("gemm_a16w16", "1000000x1000000x1000000", "at most 2^48"),
        ("gemm_afp4wfp4", "64x64x48", "expected a k that is a multiple of 32"),
        ("rmsnorm", "", "rmsnorm takes rows, width, as NxN or rows=N,width=N"),
        ("no such op", "1x1", "no problem matches"),
        // Of what only the op knows, the op speaks.
        ("mha_fwd bf16 causal", "1x64x6x4", "mha_fwd"),
    ] {
        let output = bench(&[filter, "--shape", shape, "--device", "sim:mi355x"], "2");
        assert_eq!(output.status.code(), Some(2), "{filter} {shape}");
        let said = text(&output.stderr);
        assert!(said.contains(expected) && said.lines().count() == 1, "{filter} {shape}: {said}");
    }
    let both = bench(&["--capture", "/nowhere", "--shape", "1x1"], "2");
    assert_eq!(both.status.code(), Some(2));
}

#[test]
fn events_have_the_time_that_bench_says() {
    let bench = rows(&["rmsnorm", "--shape", "1024x512", "--device=sim:mi355x", "--json"], "2");
    let expected = number(&bench[0], "seconds");
    hk_timing::install();
    let stream = Device::open("sim:mi355x").expect("it opens").new_stream().expect("a stream");
    let x = Tensor::filled(&stream, &[1024, 512], bf16::ONE).expect("it fits");
    let weight = Tensor::filled(&stream, &[512], bf16::ONE).expect("it fits");
    let elapsed = |launches| {
        let start = stream.record().expect("an event");
        for _ in 0..launches {
            rmsnorm(&x, &weight, 1e-6, &RmsnormOptions::default()).expect("it launches");
        }
        start.elapsed(&stream.record().expect("an event")).expect("a time").as_secs_f64()
    };
    hk_sim::set_timing(true);
    let [none, one, three] = [0, 1, 3].map(elapsed);
    assert!(none == 0.0 && (one / expected - 1.0).abs() < 0.01, "{one} s, not {expected}");
    assert!((three / one - 3.0).abs() < 0.03, "{three} s, not three times {one}");
    hk_sim::set_timing(false);
}

#[test]
fn captured_launches_are_timed() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut command = Command::new(env!("CARGO_BIN_EXE_hipkittens"));
    command.args(["check", "softmax softmax bf16 [7, 27] plain", "--device", "sim:mi355x"]);
    let output = command.env("HIPKITTENS_CAPTURE", folder.path()).output().expect("it starts");
    assert!(output.status.success(), "{}", text(&output.stderr));
    let folder = folder.path().to_string_lossy().into_owned();
    let timed = rows(&["--capture", &folder, "--json"], "2");
    assert!(!timed.is_empty());
    for row in &timed {
        assert!(
            row["device"] == "sim:mi355x"
                && row["op"].as_str().expect("a name").contains("softmax")
        );
        assert!(
            row["seconds"].as_f64().expect("a number") > 1e-6 && row["flops_per_second"].is_null()
        );
    }
    for args in [&["--capture", "/nowhere"][..], &["--capture", &folder, "--device", "sim:mi325x"]]
    {
        assert_eq!(bench(args, "2").status.code(), Some(2), "{args:?}");
    }
}

/// Products whose times are recorded.
const PRODUCTS: [&str; 4] = ["MI300X", "MI325X", "MI350X", "MI355X"];

const RECORD: &str = "\
# Times of the model

Microseconds that the model of [hk-timing](../hk-timing/README.md) expects of each problem of `hipkittens
bench`, the share of the roofline, and what limits the launch that takes longest. Nothing was measured.
`HIPKITTENS_BLESS=1 cargo test -p hipkittens --features cdna3,cdna4 --test bench` records them anew. Without the
variable, that test fails if a time of some of them, which `CHECKED` in `hipkittens/tests/bench.rs` lists, is
more than 3 % longer than here; with `HIPKITTENS_BENCH_ALL=1`, of any of them.

![Some of the problems on the rooflines of an MI325X and an MI355X](roofline.svg)

";

/// Whose times are compared with the recorded ones each time, and drawn: all that have published times, and
/// those that large launches of models are made of. Others would take too long.
const CHECKED: [&str; 17] = [
    "gemm_a16w16 bf16",
    "gemm_a8w8 fp8",
    "gemm_afp4wfp4 mxfp4",
    "rmsnorm bf16",
    "layernorm bf16",
    "silu_and_mul bf16",
    "rope bf16 16x32x4096",
    "topk bf16 4096x256, 10",
    "softmax bf16",
    "per_token_quant bf16",
    "mha_fwd bf16 causal",
    "mha_fwd bf16 4x8192",
    "pa_decode bf16",
    "chunk_gated_delta_rule bf16",
    "solve_tril f32",
    "moe_topk bf16",
    "fused_moe bf16",
];

/// The table of modules, which has the ops of each.
const MODULES: &str = include_str!("../../docs/modules.md");

#[test]
fn every_module_of_the_catalogue_has_a_problem() {
    let output = bench(&["--list"], "1");
    assert!(output.status.success(), "{}", text(&output.stderr));
    let listed = text(&output.stdout);
    let timed: Vec<_> = listed.lines().filter_map(|line| line.split_whitespace().next()).collect();
    let catalogue = include_str!("../catalog.csv");
    let mut modules = 0;
    for line in MODULES.lines() {
        let mut quoted = line.split('`').skip(1).step_by(2);
        let Some(module) = quoted.next().filter(|_| line.starts_with("| `")) else { continue };
        if !catalogue
            .lines()
            .any(|row| row.starts_with(&format!("{module},")) && row.contains(",catalogue,"))
        {
            continue;
        }
        modules += 1;
        // Behind the crate.
        let ops: Vec<_> = quoted.skip(1).collect();
        assert!(ops.iter().any(|op| timed.contains(op)), "{module}: none of {ops:?}");
    }
    assert_eq!(modules, 95);
}

/// Problems on all products that the two tests of records read, timed once: [`CHECKED`], or all.
static ALL: LazyLock<Vec<Value>> = LazyLock::new(|| {
    let devices = PRODUCTS.map(|product| format!("--device=sim:{}", product.to_lowercase()));
    let args: Vec<_> = ["--json"].into_iter().chain(devices.iter().map(String::as_str)).collect();
    if is_blessing() || std::env::var_os("HIPKITTENS_BENCH_ALL").is_some() {
        return rows(&args, "2");
    }
    rows(&[&CHECKED[..], &args].concat(), "2")
});

fn is_blessing() -> bool {
    std::env::var_os("HIPKITTENS_BLESS").is_some()
}

fn word<'a>(row: &'a Value, key: &str) -> &'a str {
    row[key].as_str().expect("a string")
}

fn number(row: &Value, key: &str) -> f64 {
    row[key].as_f64().expect("a number")
}

fn title(row: &Value) -> String {
    format!("{} {}", word(row, "op"), word(row, "shape"))
}

/// What precedes the table of whole kernels in the README of the model.
const WHOLE: &str = "\
| problem | product | published | model | ratio |
|---|---|---|---|---|
";

#[test]
fn the_readme_of_the_model_has_all_whole_kernels_with_published_times() {
    let micros = |seconds: f64| format!("{:.1} us", 1e6 * seconds);
    let mut table = String::new();
    for row in ALL.iter().filter(|row| !row["published"].is_null()) {
        let product = word(row, "device").trim_start_matches("sim:").to_uppercase();
        let (published, model) = (&row["published"], number(row, "seconds"));
        let (theirs, by) = (number(published, "seconds"), word(published, "by"));
        let (problem, ratio) = (title(row), model / theirs);
        let (theirs, model) = (micros(theirs), micros(model));
        table += &format!("| {problem} | {product} | {theirs} ({by}) | {model} | {ratio:.2} |\n");
    }
    let file = root().join("hk-timing/README.md");
    let readme = fs::read_to_string(&file).expect("it is there");
    let (before, rest) = readme.split_once(WHOLE).expect("it has the table");
    let end = rest.find("\n\n").expect("something follows the table") + 1;
    if is_blessing() {
        fs::write(&file, [before, WHOLE, &table, &rest[end..]].concat())
            .expect("it can be written");
    } else {
        // Every row: none may be left out because it is far off.
        assert_eq!(rest[..end], table, "HIPKITTENS_BLESS=1 writes the table of {}", file.display());
    }
}

/// The problems with a cell for each product.
fn times() -> Vec<(String, Vec<String>)> {
    let mut times: Vec<(String, Vec<String>)> = Vec::new();
    for row in ALL.iter() {
        let title = title(row);
        let share = 100.0 * number(row, "roofline_share");
        let limit = word(row, "limit");
        let cell = format!("{:.1}, {share:.0} %, {limit}", 1e6 * number(row, "seconds"));
        match times.last_mut().filter(|(last, _)| *last == title) {
            Some((_, cells)) => cells.push(cell),
            None => times.push((title, vec![cell])),
        }
    }
    times
}

#[test]
fn no_time_is_longer_than_recorded() {
    let file = root().join("docs/times.md");
    let times = times();
    assert!(times.iter().all(|(_, cells)| cells.len() == PRODUCTS.len()));
    if is_blessing() {
        let mut text = format!("{RECORD}| problem | {} |\n", PRODUCTS.join(" | "));
        text += &format!("|{}\n", "---|".repeat(1 + PRODUCTS.len()));
        for (title, cells) in &times {
            text += &format!("| {title} | {} |\n", cells.join(" | "));
        }
        fs::write(&file, text).expect("it can be written");
        let picture = root().join("docs/roofline.svg");
        // Of all of them nobody could tell one from another.
        let drawn = bench(&[&CHECKED[..], &["--svg", &picture.to_string_lossy()]].concat(), "2");
        assert!(drawn.status.success(), "{}", String::from_utf8_lossy(&drawn.stderr));
    }
    let recorded = fs::read_to_string(&file).expect("it is there");
    let mut slower = Vec::new();
    for (title, cells) in &times {
        let start = format!("| {title} | ");
        let row = recorded.lines().find_map(|line| line.strip_prefix(&start));
        let row = row.unwrap_or_else(|| panic!("{title} is not in docs/times.md"));
        let micros = |cell: &str| cell.split(',').next().and_then(|time| time.parse::<f64>().ok());
        for ((cell, before), product) in cells.iter().zip(row.split(" | ")).zip(PRODUCTS) {
            let (now, before) = (micros(cell).expect("a time"), micros(before).expect("a time"));
            if now > 1.03 * before {
                slower.push(format!("{title} on {product}: {before} us, now {now} us"));
            }
        }
    }
    assert!(slower.is_empty(), "slower than docs/times.md has it:\n{}", slower.join("\n"));
}
