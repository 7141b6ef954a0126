//! Every device header compiles alone, for both architectures, without warnings.

use std::fs;
use std::path::{Path, PathBuf};

use hk_core::{Arch, INCLUDE};

fn headers(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            headers(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "h") {
            found.push(path);
        }
    }
}

#[test]
fn every_header_compiles_alone() {
    let mut found = Vec::new();
    headers(Path::new(INCLUDE), &mut found);
    assert!(found.iter().any(|path| path.ends_with("hk/hip.h")));
    let options =
        hk_build::CompileOptions::default().include(INCLUDE).flag("-Wextra").flag("-Werror");
    for path in found {
        let header = path.strip_prefix(INCLUDE).unwrap().display();
        // Twice, as a header guard must allow.
        let source = format!("#include \"{header}\"\n#include \"{header}\"\n");
        for arch in Arch::ALL {
            // The headers of one architecture are its own.
            let other = Arch::ALL.into_iter().find(|other| *other != arch).unwrap();
            if path.ends_with(format!("arch/{}.h", other.feature())) {
                continue;
            }
            let compiled =
                hk_build::compile_source(&source, arch.name().parse().unwrap(), &options);
            assert!(compiled.is_ok(), "{header} on {arch}: {}", compiled.unwrap_err());
        }
    }
}
