//! `hipkittens run` with programs that know nothing of it.

#![cfg(all(target_os = "linux", target_env = "gnu"))]

use std::collections::HashSet;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use hk_build::{Arch, CompileOptions, compile_source};
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
#pragma weak hipFromTheFuture
extern int hipMalloc(void**, unsigned long), hipBindTexture(void), hipFromTheFuture(void);
extern int hipHelper(void);
int main(void) {
  printf("%d %d\n", hipBindTexture(), hipHelper());
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
    let program =
        compile(folder.path(), "missing", MISSING, &[&library.to_string_lossy(), &helper, &rpath]);
    let output = run(&["--", &program]);
    let reason = "arrays and textures: these chips have no image instructions";
    let expected = format!(
        "hipkittens: {program} imports HIP functions that return hipErrorNotSupported:\n  \
         hipBindTexture ({reason})\n  hipMallocArray ({reason})\n\
         hipkittens: {program} imports HIP functions that are not there:\n  hipFromTheFuture\n"
    );
    expect(&output, 1, "801 801\n", &expected);
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
    let output = run(&["--capture", "/proc", "--", "true"]);
    assert_eq!(output.status.code(), Some(2));
    let said = text(&output.stderr);
    assert!(said.contains("--capture: /proc is no folder for launches: "), "{said}");
    assert_eq!(run(&[]).status.code(), Some(2));
}

const KERNELS: &str = r#"
struct Scale { float* y; const float* x; float a; int n; };
extern "C" __attribute__((global)) void scale(Scale s) {
  int i = __builtin_amdgcn_workgroup_id_x() * 64 + __builtin_amdgcn_workitem_id_x();
  if (i < s.n) s.y[i] = s.a * s.x[i];
}
// Of the names of its arguments, nothing may be in names of files.
typedef __attribute__((address_space(1))) float Global;
extern "C" __attribute__((global)) void add(Global* ý, const Global* ä, int n) {
  int i = __builtin_amdgcn_workgroup_id_x() * 64 + __builtin_amdgcn_workitem_id_x();
  if (i < n) ý[i] += ä[i];
}
"#;

/// Loads the code object of its argument, scales and adds, and at last reads out of bounds.
const LAUNCHES: &str = r#"
import array, ctypes as c, os, sys
os.chdir("/")
hip = c.CDLL("libamdhip64.so")
n = 100
x = array.array("f", range(n))
dx, dy = c.c_void_p(), c.c_void_p()
for pointer in dx, dy:
    assert hip.hipMalloc(c.byref(pointer), c.c_size_t(4 * n + 64)) == 0
assert hip.hipMemset(dy, 0, c.c_size_t(4 * n)) == 0
inside = c.c_void_p(dx.value + 64)
assert hip.hipMemcpy(inside, c.c_void_p(x.buffer_info()[0]), c.c_size_t(4 * n), 1) == 0
module, scale, add = c.c_void_p(), c.c_void_p(), c.c_void_p()
assert hip.hipModuleLoad(c.byref(module), sys.argv[1].encode()) == 0
assert hip.hipModuleGetFunction(c.byref(scale), module, b"scale") == 0
assert hip.hipModuleGetFunction(c.byref(add), module, b"add") == 0
class Scale(c.Structure):
    _fields_ = [("y", c.c_void_p), ("x", c.c_void_p), ("a", c.c_float), ("n", c.c_int)]
def launch(kernel, *values):
    params = (c.c_void_p * len(values))(*[c.cast(c.pointer(v), c.c_void_p) for v in values])
    shape = [c.c_uint(v) for v in (2, 1, 1, 64, 1, 1, 0)]
    assert hip.hipModuleLaunchKernel(kernel, *shape, None, params, None) == 0
launch(scale, Scale(dy.value, inside.value, 3.0, n))
launch(add, dy, inside, c.c_int(n))
out = array.array("f", [0.0] * n)
assert hip.hipMemcpy(c.c_void_p(out.buffer_info()[0]), dy, c.c_size_t(4 * n), 2) == 0
assert out == array.array("f", [4.0 * v for v in x])
launch(add, c.c_void_p(64), inside, c.c_int(n))
print(hip.hipDeviceSynchronize())
"#;

#[test]
fn launches_are_captured_and_replayed() {
    let folder = tempfile::tempdir().expect("a folder");
    for (arch, devices) in
        [(Arch::Gfx942, ["mi325x", "mi300x"]), (Arch::Gfx950, ["mi355x", "mi350x"])]
    {
        let options = CompileOptions::default().flag("-fno-discard-value-names");
        let code = compile_source(KERNELS, arch, &options).expect("it compiles");
        let file = folder.path().join(format!("{arch}.hsaco"));
        fs::write(&file, code.image).expect("written");
        let captured = folder.path().join(devices[0]);
        let output = Command::new(env!("CARGO_BIN_EXE_hipkittens"))
            .current_dir(folder.path())
            .args(["run", "--device", devices[0], "--capture", devices[0]])
            .args(["--", "python3", "-c", LAUNCHES])
            .arg(&file)
            .output()
            .expect("the command starts");
        // hipErrorIllegalAddress, and the simulator's report of it.
        assert_eq!(text(&output.stdout), "700\n", "{}", text(&output.stderr));
        assert!(captured.join("0003-add/launch.json").exists());
        assert!(!captured.join("0003-add/after").exists());
        for device in devices {
            for name in ["0001-scale", "0002-add"] {
                let output = Command::new(env!("CARGO_BIN_EXE_hipkittens"))
                    .arg("replay")
                    .arg(captured.join(name))
                    .args(["--device", &format!("sim:{device}")])
                    .output()
                    .expect("the command starts");
                let said = text(&output.stdout);
                assert!(output.status.success(), "{said}{}", text(&output.stderr));
                assert!(said.contains(&format!("captured on sim:{}", devices[0])), "{said}");
                // Each buffer is a whole allocation.
                assert_eq!(said.matches("(bytes, 464 bytes): identical").count(), 2, "{said}");
            }
        }
        // A replay compares: with another scale, it gives something else.
        let file = captured.join("0001-scale/launch.json");
        let json = fs::read_to_string(&file).expect("readable").replace("00004040", "00008040");
        fs::write(&file, json).expect("written");
        let output = Command::new(env!("CARGO_BIN_EXE_hipkittens"))
            .arg("replay")
            .arg(captured.join("0001-scale"))
            .output()
            .expect("the command starts");
        assert_eq!(output.status.code(), Some(1), "{}", text(&output.stdout));
    }
}

/// Times launches of `scale` on 2, and on 2 and 2 times 8192 workgroups; prints milliseconds.
const TIMES: &str = r#"
import ctypes as c, sys
hip = c.CDLL("libamdhip64.so")
n = 64 * 8192
x, module, scale = c.c_void_p(), c.c_void_p(), c.c_void_p()
assert hip.hipMalloc(c.byref(x), c.c_size_t(4 * n)) == 0
assert hip.hipMemset(x, 0, c.c_size_t(4 * n)) == 0
assert hip.hipModuleLoad(c.byref(module), sys.argv[1].encode()) == 0
assert hip.hipModuleGetFunction(c.byref(scale), module, b"scale") == 0
class Scale(c.Structure):
    _fields_ = [("y", c.c_void_p), ("x", c.c_void_p), ("a", c.c_float), ("n", c.c_int)]
def launch(groups):
    value = Scale(x.value, x.value, 3.0, n)
    params = (c.c_void_p * 1)(c.cast(c.pointer(value), c.c_void_p))
    shape = [c.c_uint(v) for v in (groups, 1, 1, 64, 1, 1, 0)]
    assert hip.hipModuleLaunchKernel(scale, *shape, None, params, None) == 0
def event():
    made = c.c_void_p()
    assert hip.hipEventCreate(c.byref(made)) == 0 and hip.hipEventRecord(made, None) == 0
    return made
def time(*launches):
    start = event()
    for groups in launches: launch(groups)
    stop, ms = event(), c.c_float()
    assert hip.hipEventSynchronize(stop) == 0
    assert hip.hipEventElapsedTime(c.byref(ms), start, stop) == 0
    return ms.value
print(time(), time(2), time(2, 2), time(8192))
"#;

#[test]
fn events_of_any_program_have_the_time_of_the_model() {
    let folder = tempfile::tempdir().expect("a folder");
    let code = compile_source(KERNELS, Arch::Gfx950, &CompileOptions::default());
    let file = folder.path().join("code.hsaco");
    fs::write(&file, code.expect("it compiles").image).expect("written");
    let times = |device, timing| {
        let output = Command::new(env!("CARGO_BIN_EXE_hipkittens"))
            .env("HIPKITTENS_SIM_TIMING", timing)
            .args(["run", "--device", device, "--", "python3", "-c", TIMES])
            .arg(&file)
            .output()
            .expect("the command starts");
        assert!(output.status.success(), "{}", text(&output.stderr));
        let times: Vec<f64> =
            text(&output.stdout).split_whitespace().map(|ms| ms.parse().expect("ms")).collect();
        (times, text(&output.stderr))
    };
    let (found, said) = times("mi355x", "1");
    assert_eq!(said, "");
    // Start and end of a kernel alone take 1.6 us; 1024 waves on each XCD are launched in as many cycles.
    assert!(found[0] == 0.0 && found[1] > 1.6e-3 && found[1] < 10e-3, "{found:?}");
    assert!((found[2] / found[1] - 2.0).abs() < 1e-3, "{found:?}");
    assert!(found[3] > 1.1 * found[1] && found[3] > 2.02e-3 && found[3] < 30e-3, "{found:?}");
    assert_eq!(times("mi355x", "1").0, found, "nothing depends on the host");
    assert_ne!(times("mi350x", "1").0, found);
    // Off, they are of the host, and say so once.
    let (host, said) = times("mi355x", "0");
    assert!(host.iter().all(|ms| *ms > 0.0), "{host:?}");
    assert!(said.contains("the host's clock") && said.lines().count() == 1, "{said}");
}

#[test]
fn the_readmes_example_runs() {
    let readme = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../README.md"));
    let readme = readme.expect("the README");
    let section = readme.split("## Run any HIP program").nth(1).expect("the section");
    let example = section.split("```sh\n").nth(1).and_then(|rest| rest.split("```").next());
    let example = example.expect("an example");
    let command = format!("'{}'", env!("CARGO_BIN_EXE_hipkittens"));
    let example = example.replace("cargo run -p hipkittens --", &command);
    let output = Command::new("sh").args(["-c", &example]).output().expect("a shell");
    expect(&output, 0, "AMD Instinct MI355X (simulated)\n", "");
}
