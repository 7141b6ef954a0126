//! The generated tables are those of the sources in `isa/`.

use std::fs;
use std::path::Path;

#[path = "../isa/tablegen.rs"]
mod tablegen;

fn read(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
    fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

#[test]
fn opcode_table_is_in_step() {
    let fresh = tablegen::opcode_table(&read("isa/opcodes.csv")).expect("isa/opcodes.csv");
    assert!(
        fresh == read("src/isa/table.rs"),
        "src/isa/table.rs differs from isa/opcodes.csv: run cargo run -p hk-sim --example gen_isa"
    );
}

#[test]
fn mfma_table_is_in_step() {
    let fresh = tablegen::mfma_table(&read("isa/mfma.csv")).expect("isa/mfma.csv");
    assert!(
        fresh == read("src/isa/mfma_table.rs"),
        "src/isa/mfma_table.rs differs from isa/mfma.csv: run cargo run -p hk-sim --example gen_isa"
    );
}

#[test]
fn ignored_table_is_in_step() {
    let fresh = tablegen::ignored_table(&read("isa/ignored.csv"), &read("isa/opcodes.csv"));
    assert!(
        fresh.expect("isa/ignored.csv") == read("src/isa/ignored_table.rs"),
        "src/isa/ignored_table.rs differs from isa/ignored.csv: \
         run cargo run -p hk-sim --example gen_isa"
    );
}
