//! Regenerates `src/isa/table.rs` and `src/isa/mfma_table.rs` from the tables in `isa/`.

use std::error::Error;
use std::fs;
use std::path::Path;

#[path = "../isa/tablegen.rs"]
mod tablegen;

fn main() -> Result<(), Box<dyn Error>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let read = |name: &str| fs::read_to_string(root.join("isa").join(name));
    fs::write(root.join("src/isa/table.rs"), tablegen::opcode_table(&read("opcodes.csv")?)?)?;
    fs::write(root.join("src/isa/mfma_table.rs"), tablegen::mfma_table(&read("mfma.csv")?)?)?;
    Ok(())
}
