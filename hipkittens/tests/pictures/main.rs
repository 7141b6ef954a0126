//! The pictures of `docs/`: layouts of tiles, LDS and lanes as the code has them, which
//! `HIPKITTENS_BLESS=1` draws anew. Small kernels include the tile library, or a kernel's own source, run
//! on the simulator, and say what is where; nothing of a layout is written down here a second time.

mod attention;
mod flow;
mod gpu;
mod layout;
mod product;
mod scan;
mod schedule;
mod svg;

use std::path::Path;

/// The chips, by the names that pictures give them.
const CHIPS: [&str; 2] = ["MI325X", "MI355X"];

/// Compares a picture with that of the documentation, or stores it there.
#[track_caller]
fn drawn(name: &str, picture: &str) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs").join(name);
    if std::env::var_os("HIPKITTENS_BLESS").is_some() {
        std::fs::write(&file, picture).expect("it can be written");
        return;
    }
    let stored = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(
        stored == picture,
        "docs/{name} is not what the code does; HIPKITTENS_BLESS=1 draws it"
    );
}

/// As [`drawn`], of a picture with instructions in it, or their number: what another compiler makes of the
/// same code may be another one, and is not compared.
#[track_caller]
fn drawn_of_instructions(name: &str, picture: &str) {
    let compiler = hk_build::clang().expect("a compiler, which built this").version().to_owned();
    let version = compiler.split(" (").next().unwrap_or_default();
    let picture =
        picture.replace("</svg>", &format!("<!-- Instructions of {version}. -->\n</svg>"));
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs").join(name);
    let stored = std::fs::read_to_string(&file).unwrap_or_default();
    let blesses = std::env::var_os("HIPKITTENS_BLESS").is_some();
    if blesses || stored.contains(&format!("Instructions of {version}.")) {
        drawn(name, &picture);
    } else {
        assert!(!stored.is_empty(), "there is no docs/{name}; HIPKITTENS_BLESS=1 draws it");
        eprintln!("docs/{name} is of another compiler than {version}");
    }
}
