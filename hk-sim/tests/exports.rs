//! The functions that the library exports are those of the HIP runtime.

#![expect(clippy::undocumented_unsafe_blocks, reason = "each block calls the C API under test")]

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{CStr, CString, c_int, c_void};
use std::fmt::Write;
use std::path::Path;
use std::{env, fs};

use hk_sim::HipError;
use hk_sim::capi::{EXPORTS, Export, hipGetLastError, hipGetProcAddress};

fn is_refused(export: &&Export) -> bool {
    export.refused.is_some()
}

/// The table for readers.
fn markdown() -> String {
    let refused = EXPORTS.iter().filter(is_refused);
    let mut reasons = BTreeMap::<(&str, &str), Vec<&str>>::new();
    for export in refused {
        let reason = export.refused.and_then(|refused| refused.split_once(": "));
        reasons.entry(reason.expect("what for: why")).or_default().push(export.name);
    }
    let done = EXPORTS.iter().filter(|export| export.refused.is_none()).count();
    let mut text = format!(
        "# Functions of the HIP runtime\n\n\
         <!-- Written by the test `exports` with HIPKITTENS_BLESS=1, from hip/exports.csv. -->\n\n\
         The HIP runtime exports {} functions (HIP 7.2). `hk-sim` does {done} of them; the others\n\
         are there too and return `hipErrorNotSupported`:\n\n| for | why | functions |\n|---|---|---|\n",
        EXPORTS.len(),
    );
    for ((what, why), names) in reasons {
        let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
        writeln!(text, "| {what} | {why} | {} |", names.join(", ")).expect("a string takes all");
    }
    text
}

#[test]
fn the_table_for_readers_is_in_step() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("HIP.md");
    if env::var_os("HIPKITTENS_BLESS").is_some() {
        fs::write(&path, markdown()).expect("HIP.md can be written");
    }
    assert!(
        fs::read_to_string(&path).is_ok_and(|text| text == markdown()),
        "HIP.md differs from hip/exports.csv: \
         run HIPKITTENS_BLESS=1 cargo test -p hk-sim --test exports"
    );
}

fn find(name: &CStr) -> (HipError, *mut c_void) {
    let mut function = std::ptr::null_mut();
    let error = unsafe { hipGetProcAddress(name.as_ptr(), &mut function, 0, 0, &mut 0) };
    (error, function)
}

#[test]
fn every_function_is_found_and_the_refused_ones_refuse() {
    for export in EXPORTS {
        let name = CString::new(export.name).expect("a name");
        let (error, function) = find(&name);
        assert_eq!((error, function.is_null()), (HipError::SUCCESS, false), "{}", export.name);
        if export.refused.is_none() {
            continue;
        }
        // SAFETY: it looks at no argument.
        let call: extern "C" fn(c_int) -> HipError = unsafe { std::mem::transmute(function) };
        assert_eq!(call(0), HipError::NOT_SUPPORTED, "{}", export.name);
        assert_eq!(hipGetLastError(), HipError::NOT_SUPPORTED, "{}", export.name);
        let message = hk_sim::last_message().expect("a reason");
        let why = export.refused.unwrap_or_default();
        assert!(message.starts_with(export.name) && message.ends_with(why), "{message}");
    }
}

/// The text of all tests below a folder but this one.
fn tests_below(folder: &Path, text: &mut String) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            tests_below(&path, text);
        } else if path.extension().is_some_and(|is| is == "rs") && !path.ends_with("exports.rs") {
            text.push_str(&fs::read_to_string(&path).expect("text"));
        }
    }
}

#[test]
fn every_other_function_is_called_by_a_test() {
    let mut text = String::new();
    tests_below(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests"), &mut text);
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let words: BTreeSet<&str> = text.split(|c| !is_word(c)).collect();
    let done = EXPORTS.iter().filter(|export| export.refused.is_none());
    let missing: Vec<_> =
        done.map(|export| export.name).filter(|name| !words.contains(name)).collect();
    assert!(missing.is_empty(), "no test calls {missing:?}");
}

#[test]
fn versions_are_in_order_and_names_occur_once() {
    let versions: Vec<&str> =
        EXPORTS.chunk_by(|a, b| a.version == b.version).map(|group| group[0].version).collect();
    assert!(versions.is_sorted() && versions.first() == Some(&"hip_4.2"), "{versions:?}");
    let mut names: Vec<&str> = EXPORTS.iter().map(|export| export.name).collect();
    names.sort_unstable();
    assert!(names.windows(2).all(|pair| pair[0] != pair[1]));
    // A few that many programs ask for, with the versions of the real library.
    for (name, version) in [
        ("hipMalloc", "hip_4.2"),
        ("hipGraphLaunch", "hip_4.3"),
        ("hipMallocAsync", "hip_5.1"),
        ("hipGetDevicePropertiesR0600", "hip_6.0"),
    ] {
        let found = EXPORTS.iter().find(|export| export.name == name);
        assert_eq!(found.map(|export| export.version), Some(version), "{name}");
    }
}
