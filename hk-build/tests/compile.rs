//! The compiler that the search finds really compiles and assembles.

use hk_build::{
    Arch, BuildError, CompileOptions, assemble, assemble_code_object, assemble_lines,
    assemble_with_symbols, compile_source,
};

const COPY: &str = r#"
#include "ints.h"
extern "C" __attribute__((global)) void copy(u32 *out, const u32 *in) {
    u32 i = __builtin_amdgcn_workitem_id_x();
    out[i] = in[i] + BIAS;
}
"#;

#[test]
fn source_compiles_with_headers_and_macros_on_each_architecture() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("ints.h"), "typedef unsigned u32;\n").unwrap();
    let options = CompileOptions::default().include(dir.path()).define("BIAS", 3);
    let images = Arch::ALL.map(|arch| {
        let object = compile_source(COPY, arch, &options).unwrap();
        assert!(object.dependencies.iter().any(|file| file.ends_with("ints.h")));
        assert_eq!(object.warnings, "");
        object.image
    });
    for image in &images {
        assert!(image.starts_with(b"\x7fELF"));
        // e_machine is EM_AMDGPU.
        assert_eq!(image[18..20], 224u16.to_le_bytes());
    }
    assert_ne!(images[0], images[1]);
}

#[test]
fn refused_source_reports_the_compilers_messages() {
    let error = compile_source("int x = y;", Arch::Gfx942, &CompileOptions::default()).unwrap_err();
    let text = error.to_string();
    assert!(text.contains("compilation for gfx942 failed"), "{text}");
    assert!(text.contains("use of undeclared identifier 'y'"), "{text}");
}

#[test]
fn host_headers_are_out_of_reach() {
    let source = "#include <stdio.h>\n";
    let error = compile_source(source, Arch::Gfx950, &CompileOptions::default()).unwrap_err();
    assert!(error.to_string().contains("'stdio.h' file not found"), "{error}");
}

#[test]
fn assembly_gives_machine_code_and_symbols() {
    // S_NOP n is 0xBF800000 + n and S_ENDPGM is 0xBF810000 (SOPP format of the ISA manuals).
    let code = assemble("s_nop 7\ns_endpgm\n", Arch::Gfx942).unwrap();
    assert_eq!(code, [0x07, 0, 0x80, 0xbf, 0, 0, 0x81, 0xbf]);
    let source = "first:\ns_nop 0\nsecond:\ns_endpgm\n";
    let assembly = assemble_with_symbols(source, Arch::Gfx950).unwrap();
    assert_eq!(assembly.symbols, [("first".to_owned(), 0), ("second".to_owned(), 4)]);
}

#[test]
fn refused_assembly_names_the_lines() {
    let error = assemble("s_nop 0\nv_nonsense v0\ns_endpgm\n", Arch::Gfx950).unwrap_err();
    let BuildError::Assemble { diagnostics, .. } = error else { panic!("{error}") };
    assert_eq!(diagnostics.len(), 1);
    assert_eq!((diagnostics[0].line, diagnostics[0].column), (2, 1));
    assert_eq!(diagnostics[0].message, "invalid instruction");
}

#[test]
fn lines_are_assembled_one_by_one_in_one_run() {
    let mut lines: Vec<String> = (0..20_000).map(|i| format!("s_nop {}", i % 16)).collect();
    lines[5] = "v_nonsense v0".to_owned();
    lines[7] = String::new();
    // Known to gfx950 only.
    lines[9] = "v_permlane32_swap_b32 v1, v2".to_owned();
    lines[11] = "s_mov_b32 s0, 0x12345678".to_owned();
    let codes = assemble_lines(&lines, Arch::Gfx950).unwrap();
    assert_eq!(codes.len(), lines.len());
    for (i, code) in codes.iter().enumerate() {
        match i {
            5 => assert_eq!(code, &Err("invalid instruction".to_owned())),
            7 => assert_eq!(code, &Ok(vec![])),
            9 => assert!(code.is_ok()),
            11 => assert_eq!(code.as_ref().unwrap()[4..], 0x1234_5678u32.to_le_bytes()),
            _ => assert_eq!(code, &Ok(vec![(i % 16) as u8, 0, 0x80, 0xbf]), "line {i}"),
        }
    }
    let older = assemble_lines(&lines[9..10], Arch::Gfx942).unwrap();
    assert!(older[0].is_err());
}

#[test]
fn linked_assembly_is_a_shared_object() {
    let image = assemble_code_object(".globl f\nf:\ns_endpgm\n", Arch::Gfx942).unwrap();
    // e_type is ET_DYN.
    assert_eq!(image[16..18], 3u16.to_le_bytes());
    let undefined = "s_mov_b32 s0, missing@rel32@lo\n";
    let error = assemble_code_object(undefined, Arch::Gfx942).unwrap_err();
    assert!(error.to_string().contains("undefined symbol: missing"), "{error}");
}
