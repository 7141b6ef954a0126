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
            let compiled = hk_build::compile_source(&source, arch, &options);
            assert!(compiled.is_ok(), "{header} on {arch}: {}", compiled.unwrap_err());
        }
    }
}

/// Every device header and kernel of the workspace that is not in `arch/`.
fn portable_sources() -> Vec<PathBuf> {
    let mut found = Vec::new();
    headers(Path::new(INCLUDE), &mut found);
    found.retain(|path| !path.parent().is_some_and(|folder| folder.ends_with("arch")));
    for package in ["hk-attn", "hk-gdr", "hk-gemm", "hk-moe", "hk-norm", "hk-quant"] {
        let folder = format!("{}/../{package}/kernels", env!("CARGO_MANIFEST_DIR"));
        let files = fs::read_dir(folder).into_iter().flatten();
        found.extend(files.map(|entry| entry.unwrap().path()));
    }
    assert!(found.iter().any(|path| path.ends_with("kernels/rmsnorm.hip")), "{found:?}");
    found
}

#[test]
fn builtins_of_an_architecture_stand_in_arch_alone() {
    for path in portable_sources() {
        let text = fs::read_to_string(&path).unwrap();
        for word in ["amdgcn", "amdgpu", "__gfx", "s_waitcnt", "address_space"] {
            assert!(!text.contains(word), "{word} in {}", path.display());
        }
    }
}

#[test]
fn row_wise_code_compiles_for_waves_of_32() {
    let header = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/headers/wave32.h");
    let kernels = concat!(env!("CARGO_MANIFEST_DIR"), "/../hk-norm/kernels");
    let source = r#"
        #include "rmsnorm.hip"
        #include "hk/hip.h"
        #include "hk/order.h"
        template <class Type, int Lanes, int Chunks, bool Fused, bool Pieces = false>
        struct tile {
            using T = Type;
            static constexpr int LANES = Lanes, CHUNKS = Chunks, threads = 256;
            static constexpr bool FUSED = Fused, IN_PIECES = Pieces;
        };
        using namespace hk;
        extern "C" HK_KERNEL(256, 0) void instances(hk::RmsnormArgs args) {
            rmsnorm<tile<bf16, 16, 1, false>>(args);
            rmsnorm<tile<f16, 32, 1, true>>(args);
            rmsnorm<tile<f32, 256, 2, true>>(args);
            rmsnorm<tile<bf16, 256, 2, false, true>>(args);
            args.y = nullptr;
            args.eps = activate<1>(static_cast<activation>(args.width), args.eps, args.eps)[0];
            args.rows = contiguous_per_xcd(args.rows, args.width);
        }
    "#;
    let options = hk_build::CompileOptions::default()
        .include(INCLUDE)
        .include(kernels)
        .flag(format!("-DHK_ARCH_HEADER=\"{header}\""))
        .flag("-Werror");
    for arch in Arch::ALL {
        hk_build::compile_source(source, arch, &options).unwrap();
    }
}
