//! The sanitizer as a HIP program meets it: switched on by the environment, reported through the C
//! API and into a file.

#![expect(clippy::undocumented_unsafe_blocks, reason = "each block calls the C API under test")]

mod support;

use std::ffi::{CStr, c_int, c_uint, c_void};
use std::ptr::null_mut;

use hk_build::{Arch, CompileOptions, compile_source};
use hk_sim::capi::*;
use hk_sim::sanitize::Kind;
use hk_sim::{FaultKind, HipError};
use serde_json::{Value, json};
use support::*;

const SOURCE: &str = r#"
#define __global__ __attribute__((global))
static __attribute__((shared, aligned(8))) int values[128];

extern "C" __global__ void ordered(int* out) {
  int i = __builtin_amdgcn_workitem_id_x();
  values[i] = i;
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
  out[i] = values[127 - i];
}

extern "C" __global__ void unordered(int* out) {
  int i = __builtin_amdgcn_workitem_id_x();
  values[i] = i;
  out[i] = values[127 - i]; // the race
}

extern "C" __global__ void same(int* out) {
  out[0] = 5; // by both waves
}

extern "C" __global__ void both(int* out) {
  volatile int* one_by_one = values;
  if (__builtin_amdgcn_workitem_id_x() < 64) {
    one_by_one[0] = 1;
    one_by_one[1] = 2;
  } else {
    for (int i = 0; i < 100; i++) asm volatile("s_nop 0");
    *(volatile long*)out = *(volatile long*)values; // races with two stores
  }
}

extern "C" __global__ void beyond(int* out) {
  out[__builtin_amdgcn_workitem_id_x() + 64] = 1; // past the end
}
"#;

/// Line of the source that has a text.
fn line_of(text: &str) -> String {
    let line = 1 + SOURCE.lines().position(|line| line.contains(text)).expect("it is there");
    format!("source.hip:{line}")
}

fn launch(function: *mut c_void, stream: *mut c_void, mut out: *mut c_void) -> HipError {
    let mut args = [(&raw mut out).cast::<c_void>()];
    let [one, block]: [c_uint; 2] = [1, 128];
    unsafe {
        hipModuleLaunchKernel(
            function.cast(),
            one,
            one,
            one,
            block,
            one,
            one,
            0,
            stream.cast(),
            args.as_mut_ptr(),
            null_mut(),
        )
    }
}

#[test]
fn findings_fail_the_next_synchronising_call_and_go_to_the_report() {
    let folder = tempfile::tempdir().expect("a folder");
    let report = folder.path().join("report.jsonl");
    // SAFETY: this is the only test of the process, and nothing has read the environment yet.
    unsafe {
        std::env::set_var("HIPKITTENS_SANITIZE", "all");
        std::env::set_var("HIPKITTENS_SANITIZE_REPORT", &report);
    }
    for (product, arch) in [("mi325x", Arch::Gfx942), ("mi355x", Arch::Gfx950)] {
        let code = compile_source(SOURCE, arch, &CompileOptions::default()).expect("it compiles");
        use_product(product);
        let module = get(|to| unsafe { hipModuleLoadData(to, code.image.as_ptr().cast()) });
        let kernel = |name: &CStr| {
            get(|to| unsafe { hipModuleGetFunction(to, module, name.as_ptr()) }).cast::<c_void>()
        };
        let stream = stream();
        let out = upload(&[0 as c_int; 128]);
        let sync = || unsafe { hipStreamSynchronize(stream.cast()) };

        ok(launch(kernel(c"ordered"), stream, out));
        ok(sync());
        assert_eq!(download::<c_int>(out, 128), (0..128).rev().collect::<Vec<_>>());

        // A note fails nothing.
        ok(launch(kernel(c"same"), stream, out));
        ok(sync());
        assert_eq!(download::<c_int>(out, 1), [5]);

        // Of several findings the first is the fault: here LDS that nobody wrote yet.
        for (name, kind, place) in [
            (c"unordered", Kind::Lds, line_of("the race")),
            (c"both", Kind::Race, line_of("races with two stores")),
            (c"beyond", Kind::Memory, line_of("past the end")),
        ] {
            ok(launch(kernel(name), stream, out));
            assert_eq!(sync(), HipError::LAUNCH_FAILURE, "{name:?}");
            let fault = hk_sim::last_fault().expect("a report");
            assert_eq!(fault.kind, FaultKind::Sanitizer(kind), "{fault}");
            assert!(fault.source.is_some_and(|source| source.contains(&place)), "{place}");
            // The device lives on.
            ok(sync());
        }
        free(out);
    }
    let lines = std::fs::read_to_string(&report).expect("the report is written");
    let lines: Vec<Value> =
        lines.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    for (kind, kernel) in [("race", "unordered"), ("memory", "beyond")] {
        let of_kind = |line: &&Value| line["kind"] == kind && line["kernel"] == kernel;
        assert!(lines.iter().filter(of_kind).count() >= 2, "{kind}: {lines:?}");
    }
    assert!(lines.iter().all(|line| line["kernel"] != "ordered"), "{lines:?}");
    let both_waves = |line: &&Value| line["kernel"] == "same";
    let notes: Vec<&Value> = lines.iter().filter(both_waves).collect();
    assert_eq!(notes.len(), 2, "{lines:?}");
    for note in notes {
        assert_eq!((&note["severity"], &note["kind"]), (&json!("note"), &json!("race")), "{note}");
        assert!(note["source"].as_str().is_some_and(|at| at.contains(&line_of("both waves"))));
    }
    let errors = lines.iter().filter(|line| line["severity"] == "error");
    assert_eq!(errors.count(), lines.len() - 2);
    let is_race = |line: &&Value| line["kind"] == "race" && line["kernel"] == "unordered";
    // One instruction, whatever it races with, is one finding for each chip.
    let both = lines.iter().filter(|line| line["kernel"] == "both" && line["kind"] == "race");
    assert_eq!(both.count(), 2, "{lines:?}");
    let race = lines.iter().find(is_race).expect("a race");
    assert!(race["other"]["pc"].is_u64() && race["address"].is_u64(), "{race}");
    assert!(race["detail"].as_str().is_some_and(|detail| detail.contains("LDS")), "{race}");
    assert!(race["offset"].is_i64() && race["count"].as_u64() > Some(0), "{race}");
}
