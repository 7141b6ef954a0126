//! Makes the table of exported functions, the functions that refuse, and the linker's version
//! script from `hip/exports.csv`.

use std::error::Error;
use std::fmt::Write;
use std::path::PathBuf;
use std::{env, fs};

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed=hip/exports.csv");
    let root = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?);
    let out = PathBuf::from(env::var("OUT_DIR")?);
    let exports = parse(&fs::read_to_string(root.join("hip/exports.csv"))?)?;
    fs::write(out.join("exports.rs"), rust(&exports))?;
    let script = out.join("exports.map");
    fs::write(&script, version_script(&exports))?;
    // For the build scripts of packages whose executables export these functions.
    println!("cargo:version_script={}", script.display());
    Ok(())
}

/// A function that the HIP runtime exports.
struct Export {
    name: String,
    /// Version node, such as `hip_4.2`.
    version: String,
    /// What the function is for and why it is not done, if it is not.
    refused: Option<String>,
}

/// Reads `exports.csv`.
fn parse(csv: &str) -> Result<Vec<Export>, String> {
    let lines = csv.lines().enumerate().filter(|(_, line)| !line.starts_with('#')).skip(1);
    lines
        .map(|(index, line)| {
            let fields: Vec<&str> = line.split(',').collect();
            let [version, name, refused] = fields[..] else {
                return Err(format!("line {}: not three fields", index + 1));
            };
            let refused = (!refused.is_empty()).then(|| refused.to_owned());
            Ok(Export { name: name.to_owned(), version: version.to_owned(), refused })
        })
        .collect()
}

/// Rust source: the table `EXPORTS`, the functions that refuse, and the addresses of all.
fn rust(exports: &[Export]) -> String {
    let mut table = "/// Every function that the HIP runtime exports.\n\
        pub static EXPORTS: &[Export] = &[\n"
        .to_owned();
    let mut refusing = "mod refusing {\n".to_owned();
    let mut entries = "fn entry(name: &str) -> Option<*const c_void> {\n    \
        Some(match name {\n"
        .to_owned();
    for Export { name, version, refused } in exports {
        writeln!(
            table,
            "    Export {{ name: {name:?}, version: {version:?}, refused: {refused:?} }},"
        )
        .expect("a string takes all");
        let path = if refused.is_some() { "refusing::" } else { "" };
        writeln!(entries, "        {name:?} => {path}{name} as *const c_void,")
            .expect("a string takes all");
        if let Some(reason) = refused {
            write!(
                refusing,
                "    #[unsafe(no_mangle)]\n    pub(super) extern \"C\" fn {name}() -> \
                 super::HipError {{\n        super::refuse({name:?}, {reason:?})\n    }}\n"
            )
            .expect("a string takes all");
        }
    }
    table.push_str("];\n\n");
    refusing.push_str("}\n\n");
    entries.push_str("        _ => return None,\n    })\n}\n");
    table + &refusing + &entries
}

/// The linker's version script; each version inherits the one before it.
fn version_script(exports: &[Export]) -> String {
    let mut script = String::new();
    let mut older = String::new();
    for group in exports.chunk_by(|a, b| a.version == b.version) {
        let version = &group[0].version;
        let names: String = group.iter().map(|export| format!("  {};\n", export.name)).collect();
        let local = if older.is_empty() { "local:\n  *;\n" } else { "" };
        write!(script, "{version} {{\nglobal:\n{names}{local}}}{older};\n")
            .expect("a string takes all");
        older = format!(" {version}");
    }
    script
}
