//! The command as a user calls it.

use std::path::Path;
use std::process::{Command, Output, Stdio};

use hk_build::{Arch, CompileOptions, assemble_code_object, compile_source};
use miniz_oxide::deflate::compress_to_vec_zlib;

fn hipkittens(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_hipkittens")).args(args).output().expect("the command starts")
}

/// What a command says and how it ends if nobody reads its standard output.
fn unread(command: &mut Command) -> Output {
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the command starts");
    drop(child.stdout.take());
    child.wait_with_output().expect("it ends")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn inspect(folder: &Path, name: &str, image: &[u8], disasm: bool) -> Output {
    let file = folder.join(name);
    std::fs::write(&file, image).expect("the folder is writable");
    let file = file.to_string_lossy();
    if disasm {
        hipkittens(&["inspect", &file, "--disasm"])
    } else {
        hipkittens(&["inspect", &file])
    }
}

#[test]
fn inspect_shows_kernels_resources_and_code() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let source = r#"
        static __attribute__((shared)) float lds[100];
        extern "C" __attribute__((global, amdgpu_flat_work_group_size(1, 128)))
        void twice(float* x) {
            int i = __builtin_amdgcn_workitem_id_x();
            lds[i % 100] = x[i];
            __builtin_amdgcn_s_barrier();
            x[i] = 2 * lds[(i + 1) % 100];
        }
    "#;
    for arch in [Arch::Gfx942, Arch::Gfx950] {
        let code = compile_source(source, arch, &CompileOptions::default()).expect("it compiles");
        let output = inspect(folder.path(), "twice.hsaco", &code.image, true);
        let shown = text(&output.stdout);
        assert!(output.status.success(), "{shown}{}", text(&output.stderr));
        assert!(shown.contains(&format!("target {}", arch.name())), "{shown}");
        let row: Vec<&str> = shown
            .lines()
            .find(|line| line.starts_with("twice "))
            .expect("the kernel has a row")
            .split_whitespace()
            .collect();
        // LDS, scratch, spills, kernarg bytes, work-items.
        assert_eq!(row[4..9], ["400", "0", "0", "8", "128"], "{shown}");
        for instruction in ["global_load_dword ", "ds_write_b32 ", "s_barrier", "s_endpgm"] {
            assert!(shown.contains(instruction), "{instruction} is not in {shown}");
        }
        let output = inspect(folder.path(), "twice.hsaco", &code.image, false);
        assert!(!text(&output.stdout).contains("s_endpgm"));
    }
}

#[test]
fn inspect_names_what_does_not_decode_and_fails() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    // The scaled matrix instructions of gfx950 mean nothing to gfx942.
    let image = assemble_code_object(
        r#"
        .text
        .globl odd
        .p2align 8
        .type odd,@function
        odd:
            s_nop 0
            .long 0xd3ae0000, 0x00000000
            s_endpgm
        .size odd, .-odd
        .rodata
        .p2align 6
        .amdhsa_kernel odd
            .amdhsa_next_free_vgpr 8
            .amdhsa_next_free_sgpr 8
            .amdhsa_accum_offset 8
        .end_amdhsa_kernel
        "#,
        Arch::Gfx942,
    )
    .expect("it assembles");
    let output = inspect(folder.path(), "odd.hsaco", &image, false);
    let shown = text(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{shown}");
    assert!(shown.contains("d3ae0000 00000000"), "{shown}");
    assert!(shown.contains("odd: "), "{shown}");
    assert!(text(&output.stderr).contains("could not be decoded"), "{}", text(&output.stderr));
    let mut command = Command::new(env!("CARGO_BIN_EXE_hipkittens"));
    let output = unread(command.arg("inspect").arg(folder.path().join("odd.hsaco")));
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
}

/// An offload bundle, of entries by their targets.
fn bundle(entries: &[(&str, &[u8])]) -> Vec<u8> {
    let id = |target| format!("hipv4-amdgcn-amd-amdhsa--{target}");
    let table: usize = entries.iter().map(|(target, _)| 24 + id(*target).len()).sum();
    let mut offset = (32 + table).next_multiple_of(4096);
    let mut bytes = b"__CLANG_OFFLOAD_BUNDLE__".to_vec();
    bytes.extend((entries.len() as u64).to_le_bytes());
    for (target, code) in entries {
        let id = id(*target);
        for field in [offset, code.len(), id.len()] {
            bytes.extend((field as u64).to_le_bytes());
        }
        bytes.extend(id.as_bytes());
        offset = (offset + code.len()).next_multiple_of(4096);
    }
    for (_, code) in entries {
        bytes.resize(bytes.len().next_multiple_of(4096), 0);
        bytes.extend(*code);
    }
    bytes
}

#[test]
fn inspect_says_of_a_bundle_what_is_not_there_and_what_cannot_be_read() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let source = r#"extern "C" __attribute__((global)) void nothing() {}"#;
    let code = compile_source(source, Arch::Gfx950, &CompileOptions::default());
    let code = code.expect("it compiles");
    let good = code.image.as_slice();
    let bad = b"\x7fELF".as_slice();
    let absent = "no code object for gfx942:sramecc+:xnack- or gfx950:sramecc+:xnack-";
    for (entries, shown, status, said) in [
        (&[("gfx90a", bad), ("gfx950", good)][..], true, 0, ""),
        (&[("gfx90a", bad)], false, 2, absent),
        (&[("gfx942", bad)], false, 2, "code for gfx942: malformed"),
        (&[("gfx942", bad), ("gfx950", good)], true, 2, "code for gfx942: malformed"),
        (&[("gfx942", bad), ("gfx950", bad)], false, 2, "bundle: malformed"),
    ] {
        let output = inspect(folder.path(), "bundle", &bundle(entries), false);
        let err = text(&output.stderr);
        assert_eq!(output.status.code(), Some(status), "{err}");
        assert_eq!(text(&output.stdout).contains("target gfx950"), shown, "{err}");
        assert!(if said.is_empty() { err.is_empty() } else { err.contains(said) }, "{err}");
    }
    // As `--offload-compress` makes it, in the third version of the format.
    let plain = bundle(&[("gfx950", good)]);
    let stream = compress_to_vec_zlib(&plain, 6);
    let mut packed = b"CCOB\x03\x00\x00\x00".to_vec();
    for field in [32 + stream.len(), plain.len(), 0] {
        packed.extend((field as u64).to_le_bytes());
    }
    packed.extend(stream);
    let inspected = |image: &[u8]| inspect(folder.path(), "bundle", image, true);
    assert_eq!(inspected(&packed), inspected(&plain));
    packed.truncate(packed.len() / 2);
    let output = inspected(&packed);
    let err = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{err}");
    assert!(err.contains("lies outside the code object"), "{err}");
}

#[test]
fn inspect_says_why_a_file_cannot_be_read() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for (name, image, reason) in [
        ("text", b"hello, world".as_slice(), "neither an ELF code object"),
        ("nothing", b"".as_slice(), "the file is empty"),
        ("elf", b"\x7fELF".as_slice(), "malformed"),
    ] {
        let output = inspect(folder.path(), name, image, false);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(reason) && said.contains(name), "{said}");
    }
    let output = hipkittens(&["inspect", "/no/such/file"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("/no/such/file"));
}

/// Whether there are kernels, without which nothing can work.
const BUILT: bool = cfg!(any(feature = "cdna3", feature = "cdna4"));

#[test]
fn doctor_reports_compiler_library_and_devices() {
    let output = hipkittens(&["doctor"]);
    let shown = text(&output.stdout);
    assert_eq!(output.status.code(), Some(i32::from(!BUILT)), "{shown}");
    for expected in ["clang version", "HIP library", "sim:mi325x", "sim:mi355x", "default: "] {
        assert!(shown.contains(expected), "{expected} is not in {shown}");
    }
    let mut command = Command::new(env!("CARGO_BIN_EXE_hipkittens"));
    command.arg("doctor").env("HIPKITTENS_DEVICE", "sim:mi999");
    let output = command.output().expect("the command starts");
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stdout).contains("mi999"));
    assert_eq!(unread(&mut command).status.code(), Some(1));
}

#[test]
fn doctor_says_what_the_object_cache_holds() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    // An entry, and a file of somebody else's.
    let entry = [b"hipkittens object 2\n".as_slice(), &[0; 3 << 19]].concat();
    std::fs::write(folder.path().join("object"), entry).expect("it is writable");
    std::fs::write(folder.path().join("notes"), vec![0; 3 << 19]).expect("it is writable");
    let place = folder.path().to_str().expect("text");
    for (value, said) in [
        (place, format!("1 objects, 2 of at most 1024 MiB\n  {place} (")),
        ("off", "Object cache (kernels that builds need not compile again)\n  none: ".to_owned()),
    ] {
        let output = Command::new(env!("CARGO_BIN_EXE_hipkittens"))
            .arg("doctor")
            .env("HIPKITTENS_OBJECT_CACHE", value)
            .output()
            .expect("the command starts");
        let shown = text(&output.stdout);
        assert!(shown.contains(&said), "{said} is not in {shown}");
    }
}

/// What the doctor says with that HIP library.
fn doctor_with(library: &Path) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_hipkittens"))
        .arg("doctor")
        .env("HIPKITTENS_HIP_LIBRARY", library)
        .env("HIPKITTENS_DEVICE", "")
        .output()
        .expect("the command starts");
    let shown = text(&output.stdout);
    // Whoever names a library wants it, so other subcommands refuse one that cannot be opened.
    let usable = BUILT && !shown.contains("\nEnvironment");
    assert_eq!(output.status.code(), Some(i32::from(!usable)), "{shown}");
    // The newest that there are kernels for, which other subcommands take, too.
    let only_cdna3 = cfg!(feature = "cdna3") && !cfg!(feature = "cdna4");
    let product = if only_cdna3 { "mi325x" } else { "mi355x" };
    assert!(shown.contains(&format!("default: sim:{product} (simulated; ")), "{shown}");
    shown
}

#[test]
#[cfg(target_os = "linux")]
fn doctor_says_why_a_hip_library_does_not_serve() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/../hk-core/tests/library_fixture/hip.rs");
    for (cfg, said) in [
        ("complete", "it sees no GPU: hipGetDeviceCount failed: hipErrorNoDevice"),
        ("complete", "/dev/kfd"),
        ("old", "is HIP 4.3.21422, older than 5.0.0; install a newer ROCm"),
        ("incomplete", "has no function `hipMallocAsync`; install ROCm"),
    ] {
        let library = folder.path().join(format!("{cfg}.so"));
        let output = Command::new("rustc")
            .args(["--edition=2024", "--crate-type=cdylib", "-Anon-snake-case", "--cfg", cfg, "-o"])
            .arg(&library)
            .arg(source)
            .output()
            .expect("rustc starts");
        assert!(output.status.success(), "{}", text(&output.stderr));
        let shown = doctor_with(&library);
        assert!(shown.contains(said), "{said} is not in {shown}");
        assert_eq!(shown.contains("\nEnvironment"), cfg != "complete", "{shown}");
    }
    let shown = doctor_with(&folder.path().join("none.so"));
    assert!(shown.contains("none.so: cannot open shared object file"), "{shown}");
}
