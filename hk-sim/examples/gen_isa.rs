//! Regenerates the tables of `src/isa/` from those in `isa/`.

use std::error::Error;
use std::fs;
use std::path::Path;

#[path = "../isa/tablegen.rs"]
mod tablegen;

fn main() -> Result<(), Box<dyn Error>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let read = |name: &str| fs::read_to_string(root.join("isa").join(name));
    let write = |name: &str, text: String| fs::write(root.join("src/isa").join(name), text);
    let opcodes = read("opcodes.csv")?;
    write("table.rs", tablegen::opcode_table(&opcodes)?)?;
    write("mfma_table.rs", tablegen::mfma_table(&read("mfma.csv")?)?)?;
    write("ignored_table.rs", tablegen::ignored_table(&read("ignored.csv")?, &opcodes)?)?;
    Ok(())
}
