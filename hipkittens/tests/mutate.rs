//! `hipkittens mutate` as a user calls it.

use std::process::Command;

use serde_json::Value;

/// Runs the command on a simulated chip; returns its exit status and an object per mutant.
fn mutate(args: &[&str]) -> (Option<i32>, Vec<Value>) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hipkittens"));
    let output = command.arg("mutate").args(args).arg("--json").output().expect("it starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(said, "");
    let shown = String::from_utf8_lossy(&output.stdout);
    let mutants = shown.lines().map(|line| serde_json::from_str(line).expect("a line of JSON"));
    (output.status.code(), mutants.collect())
}

fn count(mutants: &[Value], outcome: &str) -> usize {
    mutants.iter().filter(|mutant| mutant["outcome"] == outcome).count()
}

#[test]
fn no_mutant_of_a_row_wise_kernel_survives() {
    for device in ["sim:mi325x", "sim:mi355x"] {
        let (code, mutants) =
            mutate(&["rmsnorm bf16", "--kernel", "hk_rmsnorm_bf16_n4096", "--device", device]);
        assert_eq!(code, Some(0));
        assert_eq!(count(&mutants, "survived"), 0, "{mutants:?}");
        assert!(count(&mutants, "sanitizer") >= 20, "{mutants:?}");
        let barriers = mutants.iter().filter(|mutant| mutant["instruction"] == "s_barrier");
        assert!(barriers.clone().count() > 0);
        assert!(barriers.clone().all(|mutant| mutant["outcome"] == "sanitizer"), "{mutants:?}");
    }
}

/// Direct-to-LDS loads fill LDS before the first product; without the barrier behind them, a wave
/// reads what another has not loaded. The schedule of the simulator happens to be harmless.
#[test]
fn the_start_up_barrier_of_a_direct_to_lds_gemm_is_missed() {
    let (code, mutants) =
        mutate(&["gemm_a16w16 bf16 [1, 256, 512] plain, tn", "--device", "sim:mi355x"]);
    assert_eq!(code, Some(0), "{mutants:?}");
    let first = mutants
        .iter()
        .find(|mutant| mutant["instruction"] == "s_barrier")
        .expect("the kernel has barriers");
    assert_eq!(first["outcome"], "sanitizer", "{first}");
    let detail = first["detail"].as_str().expect("it says why");
    // What is seen first depends on which wave is faster.
    assert!(["async", "race", "lds"].iter().any(|kind| detail.starts_with(kind)), "{detail}");
    assert!(first["replacement"].as_str().expect("an instruction").starts_with("s_nop"));
}

#[test]
fn a_kernel_that_no_case_launches_is_an_error() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hipkittens"));
    let output = command.args(["mutate", "rmsnorm", "--kernel", "gemm"]).output().expect("starts");
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("no case launches such a kernel"));
}

#[test]
fn counts_that_mean_nothing_are_refused() {
    for (args, said) in [
        (&["--cases=0"][..], "--cases"),
        (&["--values", "--sample=0"], "--sample"),
        (&["--values", "--cases=2"], "cannot be used with"),
    ] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_hipkittens"));
        let output = command.arg("mutate").args(args).output().expect("it starts");
        let shown = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(2) && shown.contains(said), "{args:?}: {shown}");
    }
}

/// The sample depends on the seed alone, and what became of it on nothing else.
#[test]
fn a_sample_of_altered_instructions_is_judged_the_same_each_time() {
    let args = |seed| ["l2norm ", "--values", "--sample", "4", "--seed", seed];
    let (code, first) = mutate(&args("7"));
    // A sample as small as this says little of the share that is caught.
    assert!(matches!(code, Some(0 | 1)));
    let [mutants @ .., sum] = first.as_slice() else { panic!("there is a sum") };
    assert_eq!((sum["core"].as_str(), sum["mutants"].as_u64()), (Some("l2norm"), Some(4)));
    assert_eq!(sum["seed"], 7);
    let outcomes = ["parity", "fault", "sanitizer", "equivalent", "argued", "survived"];
    for outcome in outcomes {
        assert_eq!(sum[outcome].as_u64(), Some(count(mutants, outcome) as u64), "{outcome}");
    }
    for mutant in mutants {
        assert_ne!(mutant["instruction"], mutant["replacement"]);
        let words = ["equivalent", "argued", "survived"];
        let unnoticed = words.iter().any(|word| mutant["outcome"] == *word);
        assert_eq!(mutant["case"].is_null(), unnoticed, "{mutant}");
    }
    assert!(count(mutants, "parity") > 0);
    // What was said may have addresses in it.
    let judged = |lines: &[Value]| {
        let keys = ["arch", "kernel", "offset", "replacement", "outcome"];
        let line = |line: &Value| keys.map(|key| line[key].clone());
        lines.iter().map(line).collect::<Vec<_>>()
    };
    assert_eq!(judged(&mutate(&args("7")).1), judged(&first));
    assert_ne!(judged(&mutate(&args("8")).1), judged(&first));
}

#[test]
fn only_what_a_line_has_become_is_altered() {
    const LINE: &str = "const f32 r = rsqrt(squares + args.eps);";
    let kernel = include_str!("../../hk-norm/kernels/l2norm.hip");
    let number = 1 + kernel.lines().position(|line| line.trim() == LINE).expect("it is there");
    let of = |line| ["l2norm ", "--values", "--sample", "2", "--line", line];
    let (code, mutants) = mutate(&of(LINE));
    assert_eq!(code, Some(0));
    let [mutants @ .., _] = mutants.as_slice() else { panic!("there is a sum") };
    assert_eq!(mutants.len(), 2);
    let place = format!("kernels/l2norm.hip:{number}:");
    for mutant in mutants {
        let lines = mutant["source"].as_array().expect("lines").iter();
        assert!(lines.filter_map(Value::as_str).any(|line| line.starts_with(&place)), "{mutant}");
    }

    let mut command = Command::new(env!("CARGO_BIN_EXE_hipkittens"));
    let output = command.arg("mutate").args(of("no line has this")).output().expect("it starts");
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("no case launches such a kernel with such a line"), "{said}");
}
