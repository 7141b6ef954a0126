//! `hipkittens bench` as a user calls it.

use std::process::{Command, Output};

use serde_json::Value;

fn bench(args: &[&str], threads: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hipkittens"));
    command.arg("bench").args(args).env("HIPKITTENS_SIM_THREADS", threads);
    command.output().expect("the command starts")
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
    let output = bench(&["rmsnorm bf16 65536x128", "--device", "sim:mi325x"], "2");
    let shown = text(&output.stdout);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(shown.contains("those of a model; nothing was measured"), "{shown}");
    let row = shown.lines().find(|line| line.starts_with("  sim:mi325x")).expect("a row");
    assert!(row.contains("TB/s") && row.contains("published 21.8 us (AITER), ratio"), "{shown}");
    assert!(shown.contains("sim:mi325x: parameters "), "{shown}");
}

#[test]
fn what_cannot_be_timed_is_refused() {
    for args in [&["no such problem"][..], &["softmax", "--device", "sim:mi999x"]] {
        let output = bench(args, "2");
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(output.stdout.is_empty() && !output.stderr.is_empty(), "{args:?}");
    }
    let listed = bench(&["--list"], "2");
    assert!(text(&listed.stdout).contains("gemm_a16w16 bf16 8192x8192x8192\n"));
}
