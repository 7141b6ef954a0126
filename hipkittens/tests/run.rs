//! `hipkittens run` with programs that know nothing of it.

#![cfg(all(target_os = "linux", target_env = "gnu"))]

use std::collections::HashSet;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use hk_sim::capi::EXPORTS;
use object::Endianness;
use object::elf::{DT_SONAME, FileHeader64, SHT_DYNSYM};
use object::read::elf::{FileHeader as _, Sym as _};

/// Fills memory of the last device, reads it back, prints the sum and how many devices there are.
const PROGRAM: &str = r#"
#include <stdio.h>
extern int hipGetDeviceCount(int*), hipSetDevice(int), hipMalloc(void**, unsigned long);
extern int hipMemset(void*, int, unsigned long), hipFree(void*);
extern int hipMemcpy(void*, const void*, unsigned long, int);
int main(int argc, char** argv) {
  int count = 0, sum = 0, failed = 0;
  void* memory = 0;
  unsigned char bytes[100];
  failed |= hipGetDeviceCount(&count) | hipSetDevice(count - 1) | hipMalloc(&memory, 100);
  failed |= hipMemset(memory, 3, 100) | hipMemcpy(bytes, memory, 100, 2) | hipFree(memory);
  for (int i = 0; i < 100; ++i) sum += bytes[i];
  printf("%d %d %d %s\n", failed, count, sum, argc > 1 ? argv[1] : "");
  return 7;
}
"#;

fn run(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hipkittens"));
    for variable in ["HIPKITTENS_SIM_DEVICES", "HIPKITTENS_CAPTURE", "LD_LIBRARY_PATH"] {
        command.env_remove(variable);
    }
    command.arg("run").args(arguments).output().expect("the command starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The folder of the library that programs are given.
fn library_folder() -> PathBuf {
    let output = run(&["--", "sh", "-c", r#"printf %s "$LD_LIBRARY_PATH""#]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    text(&output.stdout).into()
}

/// Compiles C for this machine, with a compiler that linking Rust needs as well.
fn compile(folder: &Path, name: &str, source: &str, arguments: &[&str]) -> String {
    let (file, output) = (folder.join(format!("{name}.c")), folder.join(name));
    fs::write(&file, source).expect("written");
    let mut command = Command::new("cc");
    let result = command.arg(&file).arg("-o").arg(&output).args(arguments).output();
    let result = result.expect("cc starts");
    assert!(result.status.success(), "{}", text(&result.stderr));
    output.to_string_lossy().into_owned()
}

/// [`PROGRAM`], linked against the library, so that it asks for versioned functions.
fn linked_program(folder: &Path, arguments: &[&str]) -> String {
    let library = library_folder().join("libamdhip64.so");
    let library = library.to_string_lossy();
    compile(folder, "program", PROGRAM, &[&[&*library], arguments].concat())
}

#[track_caller]
fn expect(output: &Output, code: i32, out: &str, err: &str) {
    assert_eq!(text(&output.stderr), err);
    assert_eq!((output.status.code(), &*text(&output.stdout)), (Some(code), out));
}

#[test]
fn a_linked_program_runs_and_its_status_is_the_commands() {
    let folder = tempfile::tempdir().expect("a folder");
    let program = linked_program(folder.path(), &[]);
    // No warning of the loader either.
    expect(&run(&["--", &program, "--help"]), 7, "0 2 300 --help\n", "");
    expect(&run(&["--device", "mi355x", "--", &program]), 7, "0 1 300 \n", "");
    let three = "mi300x,sim:mi325x,MI355X";
    expect(&run(&["--device", three, "--", &program, "x"]), 7, "0 3 300 x\n", "");
}

#[test]
fn each_name_opens_the_same_library() {
    const OPEN: &str = r#"
import ctypes, os
names = ["libamdhip64.so", "libamdhip64.so.6", "libamdhip64.so.7"]
loaded = [ctypes.CDLL(name) for name in names]
count = ctypes.c_int()
assert loaded[0].hipGetDeviceCount(ctypes.byref(count)) == 0 and count.value == 2, count
addresses = {ctypes.cast(one.hipMalloc, ctypes.c_void_p).value for one in loaded}
maps = open("/proc/self/maps").read().splitlines()
files = {line.split()[-1] for line in maps if "amdhip" in line}
print(len({one._handle for one in loaded}), len(addresses), len(files))
"#;
    expect(&run(&["--", "python3", "-c", OPEN]), 0, "1 1 1\n", "");
}

#[test]
fn the_library_has_the_name_and_versions_of_the_real_one() {
    let data = fs::read(library_folder().join("libamdhip64.so.6")).expect("the library");
    let data = &*data;
    let header = FileHeader64::<Endianness>::parse(data).expect("an ELF file");
    let endian = header.endian().expect("an order of bytes");
    let sections = header.sections(endian, data).expect("sections");
    let dynamic = sections.dynamic_table(endian, data).expect("a dynamic table");
    let names: Vec<_> = dynamic.iter().filter(|entry| entry.tag == DT_SONAME).collect();
    assert_eq!(names.len(), 1);
    assert_eq!(dynamic.string(names[0]), Ok(&b"libamdhip64.so.7"[..]));
    let versions = sections.versions(endian, data).expect("versions").expect("there are some");
    let symbols = sections.symbols(endian, data, SHT_DYNSYM).expect("symbols");
    let mut found = HashSet::new();
    for (index, symbol) in symbols.enumerate().filter(|(_, symbol)| !symbol.is_undefined(endian)) {
        let name = symbol.name(endian, symbols.strings()).expect("a name");
        let version = versions.version_index(endian, index).index();
        let version = versions.version(version).expect("a version");
        found.insert((text(name), version.map(|version| text(version.name()))));
    }
    // GNU ld defines a symbol for each version.
    found.retain(|(name, _)| !name.starts_with("hip_") && name != "_DYNAMIC");
    let expected = EXPORTS.iter().map(|e| (e.name.to_owned(), Some(e.version.to_owned())));
    let expected: HashSet<_> = expected.filter(|(name, _)| !name.is_empty()).collect();
    let difference: Vec<_> = found.symmetric_difference(&expected).collect();
    assert!(difference.is_empty(), "{difference:?}");
}

#[test]
fn a_search_path_in_the_program_does_not_hide_the_library() {
    let folder = tempfile::tempdir().expect("a folder");
    let other = folder.path().join("other");
    fs::create_dir(&other).expect("a folder");
    let rpath = format!("-Wl,--disable-new-dtags,-rpath,{}", other.display());
    let program = linked_program(folder.path(), &[&rpath]);
    // A library that has nothing to do with the simulator.
    let versions = folder.path().join("map");
    fs::write(&versions, "hip_4.2 { global: hip*; local: *; };\n").expect("written");
    let script = format!("-Wl,--version-script={}", versions.display());
    let source = "int hipGetDeviceCount(int* n) { *n = 9; return 0; }\n\
        int hipSetDevice(int n) { return 0; }\nint hipMalloc(void** p, long n) { return 0; }\n\
        int hipMemset(void* p, int v, long n) { return 0; }\nint hipFree(void* p) { return 0; }\n\
        int hipMemcpy(void* a, void* b, long n, int k) { return 0; }\n";
    let fake = compile(&other, "libamdhip64.so.7", source, &["-shared", "-fPIC", &script]);
    assert!(Path::new(&fake).exists());
    let alone = Command::new(&program).output().expect("the program starts");
    assert!(text(&alone.stdout).starts_with("0 9 "), "{}", text(&alone.stdout));
    expect(&run(&["--", &program]), 7, "0 2 300 \n", "");
}

#[test]
fn what_the_program_will_miss_is_said_before_it_starts() {
    const MISSING: &str = r#"
#include <stdio.h>
extern int hipMalloc(void**, unsigned long), hipBindTexture(void), hipFromTheFuture(void);
extern int hipblasCreate(void);
int main(void) {
  printf("%d\n", hipBindTexture());
  return hipFromTheFuture == 0;
}
"#;
    let folder = tempfile::tempdir().expect("a folder");
    let library = library_folder().join("libamdhip64.so");
    // Needed by way of a library of the program.
    let helper = "int hipMallocArray(void); int hipHelper(void) { return hipMallocArray(); }\n";
    let helper = compile(
        folder.path(),
        "libhelper.so",
        helper,
        &["-shared", "-fPIC", &library.to_string_lossy()],
    );
    let rpath = format!("-Wl,-rpath,{}", folder.path().display());
    let source = MISSING
        .replace("hipblasCreate", "hipHelper")
        .replace("return hipFrom", "return hipHelper() != 801 || hipFrom");
    let weak = source.replace("int main", "#pragma weak hipFromTheFuture\nint main");
    let program =
        compile(folder.path(), "missing", &weak, &[&library.to_string_lossy(), &helper, &rpath]);
    let output = run(&["--", &program]);
    let expected = format!(
        "hipkittens: {program} imports HIP functions that return hipErrorNotSupported:\n  \
         hipBindTexture (arrays and textures)\n  hipMallocArray (arrays and textures)\n\
         hipkittens: {program} imports HIP functions that are not there:\n  hipFromTheFuture\n"
    );
    expect(&output, 1, "801\n", &expected);
}

#[test]
fn what_cannot_be_run_is_said() {
    let output = run(&["--", "/nowhere/program"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("/nowhere/program cannot be started"));
    let output = run(&["--device", "mi999", "--", "true"]);
    assert_eq!(output.status.code(), Some(2));
    let said = text(&output.stderr);
    assert!(said.contains("mi999") && said.contains("mi300x, mi325x, mi350x, mi355x"), "{said}");
    assert_eq!(run(&[]).status.code(), Some(2));
}
