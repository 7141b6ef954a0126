//! The tables of modules in `docs/modules.md`: those of the catalogue and those beside it, and what the
//! command says of them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::process::Command;

use serde_json::Value;

const BEGIN: &str =
    "<!-- Written by the test `readme` of hipkittens with HIPKITTENS_BLESS=1. -->\n";
const END: &str = "<!-- End of what the test writes. -->\n";

/// The times of all problems.
const TIMES: &str = include_str!("../../docs/times.md");

/// What `hipkittens` prints with `--json`; it must succeed.
fn objects(args: &[&str]) -> Vec<Value> {
    let output = Command::new(env!("CARGO_BIN_EXE_hipkittens"))
        .args(args)
        .arg("--json")
        .output()
        .expect("the command starts");
    let shown = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    shown.lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect()
}

/// A row of `catalog.csv`.
#[derive(Clone, Copy)]
struct Module {
    name: &'static str,
    package: &'static str,
    /// `catalogue`, or `models` if whole models need it besides.
    set: &'static str,
}

/// Every module, in the order of the file.
fn modules() -> Vec<Module> {
    let mut lines = include_str!("../catalog.csv").lines();
    assert_eq!(lines.next(), Some("module,crate,set,files"));
    let module = |line: &'static str| match *line.split(',').collect::<Vec<_>>() {
        [name, package, set @ ("catalogue" | "models"), _] => Module { name, package, set },
        _ => panic!(
            "{line}: not a module, its crate, catalogue or models, and the name of its files"
        ),
    };
    lines.map(module).collect()
}

/// Those of the catalogue, and the others.
fn sets() -> (Vec<Module>, Vec<Module>) {
    modules().into_iter().partition(|module| module.set == "catalogue")
}

/// The product of a case's sizes.
fn work(case: &Value) -> u64 {
    case["shape"].as_array().expect("a shape").iter().filter_map(Value::as_u64).product()
}

/// The ops of each module that pass their smallest case, by architecture.
fn working(device: &str) -> BTreeMap<String, BTreeSet<String>> {
    let mut smallest: BTreeMap<(String, String), Value> = BTreeMap::new();
    for case in objects(&["check", "--list", "--device", device]) {
        let text = |key: &str| case[key].as_str().expect("a string").to_owned();
        let key = (text("module"), text("op"));
        let known = smallest.get(&key).map_or(u64::MAX, work);
        // Those of tensors far apart reserve much memory, and are not small.
        let is_near = !text("case").contains("far apart");
        if is_near && (1..known).contains(&work(&case)) {
            smallest.insert(key, case);
        }
    }
    let mut working: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
    for ((module, op), case) in smallest {
        let text = |key: &str| case[key].as_str().expect("a string");
        let shape: Vec<_> = case["shape"].as_array().expect("a shape").iter().collect();
        let shape = shape.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        let title = format!("{module} {op} {} [{shape}] {}", text("dtype"), text("case"));
        assert!(objects(&["check", &title, "--device", device]).iter().all(|r| r["pass"] == true));
        working.entry(module).or_default().insert(op);
    }
    working
}

/// The ops of each module that work on a chip.
type Chip = (&'static str, BTreeMap<String, BTreeSet<String>>);

fn section() -> String {
    let chips = [("gfx942", "sim:mi325x"), ("gfx950", "sim:mi355x")];
    let chips = chips.map(|(arch, device)| (arch, working(device)));
    let all = modules();
    let kernels = objects(&["kernels"]);
    for (arch, working) in &chips {
        for module in working.keys() {
            let entry = all.iter().find(|of| of.name == module);
            let Module { package, .. } =
                entry.unwrap_or_else(|| panic!("{module} is not in catalog.csv"));
            let built = |kernel: &Value| kernel["crate"] == *package && kernel["arch"] == *arch;
            assert!(kernels.iter().any(built), "{package} has no kernels for {arch}");
        }
    }
    let exists = |of: &Module| chips.iter().any(|(_, working)| working.contains_key(of.name));
    let (catalogue, beside) = sets();
    let (present, absent): (Vec<_>, Vec<_>) = catalogue.iter().partition(|module| exists(module));
    format!(
        "{} of the {} modules exist:\n\n{}{}\nWhole models need besides:\n\n{}",
        present.len(),
        catalogue.len(),
        table(&present, &chips),
        missing(&absent),
        table(&beside, &chips),
    )
}

/// What of these modules works.
fn table(modules: &[Module], chips: &[Chip; 2]) -> String {
    let mut text = String::from(
        "| module | crate | ops | MI300X, MI325X (gfx942) | MI350X, MI355X (gfx950) |\n\
         |---|---|---|---|---|\n",
    );
    for Module { name, package, .. } in modules {
        let works = |(_, working): &Chip| working.get(*name).cloned().unwrap_or_default();
        let [cdna3, cdna4] = [works(&chips[0]), works(&chips[1])];
        let all: Vec<_> = cdna3.union(&cdna4).map(|op| format!("`{op}`")).collect();
        let verdict = |ops: &BTreeSet<String>| match ops.len() {
            0 => "does not exist",
            n if n == all.len() => "works",
            _ => "works in part",
        };
        let (ops, cdna3, cdna4) = (all.join(", "), verdict(&cdna3), verdict(&cdna4));
        let _ = writeln!(text, "| `{name}` | `{package}` | {ops} | {cdna3} | {cdna4} |");
    }
    text
}

/// Modules that do not exist, by crate, if there are any.
fn missing(absent: &[Module]) -> String {
    if absent.is_empty() {
        return String::new();
    }
    let mut text = format!(
        "\n<details><summary>The other {} do not exist yet, on any chip.</summary>\n\n| crate | \
         modules |\n|---|---|\n",
        absent.len(),
    );
    let mut by_crate: Vec<(&str, Vec<&str>)> = Vec::new();
    for &Module { name: module, package, .. } in absent {
        match by_crate.iter_mut().find(|(known, _)| *known == package) {
            Some((_, modules)) => modules.push(module),
            None => by_crate.push((package, vec![module])),
        }
    }
    for (package, modules) in by_crate {
        let modules: Vec<_> = modules.iter().map(|module| format!("`{module}`")).collect();
        let _ = writeln!(text, "| `{package}` | {} |", modules.join(", "));
    }
    text + "\n</details>\n"
}

#[test]
fn the_table_of_modules_is_what_the_command_says() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/modules.md");
    let page = std::fs::read_to_string(file).expect("there is a page of modules");
    let (before, rest) = page.split_once(BEGIN).expect("the page has the table's place");
    let (written, after) = rest.split_once(END).expect("the table's place has an end");
    let section = section();
    if std::env::var_os("HIPKITTENS_BLESS").is_some() {
        std::fs::write(file, format!("{before}{BEGIN}{section}{END}{after}"))
            .expect("the page is writable");
    } else {
        assert!(written == section, "docs/modules.md is out of date; HIPKITTENS_BLESS=1 writes it");
    }
}

#[test]
fn the_catalogue_has_95_modules_each_once_in_crates_that_exist() {
    let (catalogue, beside) = sets();
    let all = catalogue.iter().chain(&beside);
    let names: BTreeSet<_> = all.clone().map(|module| module.name).collect();
    assert_eq!((catalogue.len(), names.len()), (95, 95 + beside.len()));
    for Module { name, package, .. } in all {
        let manifest = format!("{}/../{package}/Cargo.toml", env!("CARGO_MANIFEST_DIR"));
        assert!(std::fs::exists(&manifest).unwrap_or(false), "{name}: no crate {package}");
    }
}

#[test]
fn pages_tell_the_times_that_are_recorded() {
    const PRODUCT: &str = "gemm_a16w16 bf16 8192x8192x8192";
    for (name, page, problem) in [
        ("README.md", include_str!("../../README.md"), PRODUCT),
        ("docs/product.md", include_str!("../../docs/product.md"), PRODUCT),
        (
            "docs/attention.md",
            include_str!("../../docs/attention.md"),
            "mha_fwd bf16 4x8192, heads 64/8 of 128",
        ),
        (
            "docs/scan.md",
            include_str!("../../docs/scan.md"),
            "chunk_gated_delta_rule bf16 8192, heads 2/4 of 128",
        ),
    ] {
        let begin = format!("| {problem} | ");
        let row = TIMES.lines().find_map(|line| line.strip_prefix(&*begin));
        let cells: Vec<_> =
            row.unwrap_or_else(|| panic!("no times of {problem}")).split(" | ").collect();
        for (chip, cell) in [("MI325X", cells[1]), ("MI355X", cells[3])] {
            let time = cell.split(',').next().unwrap_or_default();
            assert!(
                page.contains(&format!("{time} us")),
                "{name}, {chip}: {problem} takes {time} us"
            );
        }
    }
}
