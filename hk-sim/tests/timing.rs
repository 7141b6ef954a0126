//! Events in the time of a model, through the C API. One test: it changes what the whole process does.

#![expect(clippy::undocumented_unsafe_blocks, reason = "each block calls the C API under test")]

mod support;

use std::ffi::{c_uint, c_void};
use std::ptr::null_mut;

use hk_build::{Arch, CompileOptions, compile_source};
use hk_sim::capi::types::*;
use hk_sim::capi::*;
use hk_sim::sanitize::Checks;
use hk_sim::trace::{Model, Traced, set_model};
use hk_sim::{HipError, Options, Product, set_options, set_timing};
use support::*;

const SOURCE: &str = r#"
#define __global__ __attribute__((global))
extern "C" __global__ void step(int* x) {
  x[__builtin_amdgcn_workgroup_id_x() * 64 + __builtin_amdgcn_workitem_id_x()] += 1;
}
"#;

/// Every third workgroup, the last ones first.
fn choose(groups: u64, _: &Product) -> Vec<u64> {
    (0..groups).rev().step_by(3).collect()
}

/// A millisecond for each workgroup of the launch, if those were traced that were chosen.
fn seconds(traced: &Traced) -> Result<f64, String> {
    let groups = u64::from(traced.dispatch.grid[0]);
    let numbers: Vec<_> = traced.groups.iter().map(|group| group.group).collect();
    assert_eq!(numbers, choose(groups, traced.dispatch.product));
    for wave in traced.groups.iter().flat_map(|group| &group.waves) {
        assert!(wave.steps.len() > 3 && wave.accesses.len() > 1);
    }
    if groups == 13 { Err("it is unlucky".into()) } else { Ok(1e-3 * groups as f64) }
}

fn launch(step: HipFunction, groups: c_uint, x: *mut c_void, stream: HipStream) {
    let mut x = x;
    let mut args = [(&raw mut x).cast::<c_void>()];
    let args = args.as_mut_ptr();
    unsafe {
        ok(hipModuleLaunchKernel(step, groups, 1, 1, 64, 1, 1, 0, stream, args, null_mut()));
    }
}

fn record(stream: HipStream) -> HipEvent {
    unsafe {
        let event = get(|event| hipEventCreate(event));
        ok(hipEventRecord(event, stream));
        event
    }
}

/// Milliseconds between two events, after the second.
fn elapsed(start: HipEvent, stop: HipEvent) -> Result<f32, HipError> {
    let mut ms = f32::NAN;
    unsafe {
        ok(hipEventSynchronize(stop));
        match hipEventElapsedTime(&mut ms, start, stop) {
            HipError::SUCCESS => Ok(ms),
            error => Err(error),
        }
    }
}

#[track_caller]
fn takes(start: HipEvent, stop: HipEvent, expected: f32) {
    let found = elapsed(start, stop).expect("there is a time");
    assert!((found - expected).abs() < 1e-3, "{found} ms, not {expected}");
}

#[test]
fn events_have_the_time_of_the_model() {
    let code = compile_source(SOURCE, Arch::Gfx950, &CompileOptions::default());
    let code = code.expect("it compiles").image;
    use_product("mi355x");
    let module = get(|module| unsafe { hipModuleLoadData(module, code.as_ptr().cast()) });
    let step = get(|step| unsafe { hipModuleGetFunction(step, module, c"step".as_ptr()) });
    let x = upload(&[0i32; 64 * 64]);
    let y = upload(&[0i32; 64 * 64]);
    let (a, b) = (stream(), stream());

    // Off, events are of the host's clock.
    let start = record(a);
    launch(step, 64, x, a);
    let host = elapsed(start, record(a)).expect("a time");
    assert!(host > 0.0 && host < 60e3);

    // Without a model there is no time.
    set_timing(true);
    let between = record(a);
    launch(step, 64, x, a);
    assert_eq!(elapsed(between, record(a)), Err(HipError::NOT_SUPPORTED));
    let said = hk_sim::last_message().expect("a reason");
    assert!(said.contains("no model of time"), "{said}");
    // Nor between the two clocks.
    assert_eq!(elapsed(start, between), Err(HipError::NOT_SUPPORTED));

    set_model(Model { choose, seconds });
    for sanitize in [Checks::NONE, Checks::ALL] {
        set_options(Options { sanitize, ..Options::default() });
        // The launches add up; copies and fills take no time, and neither does the host.
        let events = [(); 4].map(|()| {
            let event = record(a);
            launch(step, 20, x, a);
            launch(step, 1, x, a);
            unsafe { ok(hipMemsetAsync(y, 0, 64, a)) };
            event
        });
        takes(events[0], events[1], 21.0);
        takes(events[0], events[3], 63.0);
        takes(events[3], events[0], -63.0);
        takes(events[2], events[2], 0.0);
        unsafe { ok(hipStreamSynchronize(a)) };

        // Of another stream, what waits is later, whether the device waits or the host.
        let start = record(b);
        launch(step, 30, y, b);
        let stop = record(b);
        let early = record(a);
        unsafe { ok(hipStreamWaitEvent(a, stop, 0)) };
        launch(step, 5, y, a);
        let late = record(a);
        takes(start, stop, 30.0);
        takes(start, late, 35.0);
        assert!(elapsed(early, late).expect("a time") <= 35.0);
        unsafe { ok(hipDeviceSynchronize()) };
        let other = stream();
        takes(late, record(other), 0.0);

        // Between events around a launch that the model refuses there is no time; behind it there is.
        let before = record(a);
        launch(step, 13, x, a);
        let behind = record(a);
        launch(step, 2, x, a);
        let end = record(a);
        assert_eq!(elapsed(before, behind), Err(HipError::NOT_SUPPORTED));
        let said = hk_sim::last_message().expect("a reason");
        assert!(said.contains("step: it is unlucky"), "{said}");
        assert_eq!(elapsed(before, end), Err(HipError::NOT_SUPPORTED));
        takes(behind, end, 2.0);
    }
    // Everything was executed as a whole.
    let count = 2 + 2 * 4 * 2;
    let found = download::<i32>(x, 64 * 64);
    assert_eq!(found[0], count + 2 * 2);
    assert_eq!(found[64 * 19], 2 + 2 * 4);
    assert_eq!(found[64 * 63], 2);
    assert_eq!(download::<i32>(y, 64 * 64)[64 * 29], 2);

    // Graphs: nodes one after the other.
    unsafe {
        ok(hipStreamBeginCapture(a, 0));
        launch(step, 7, x, a);
        launch(step, 4, x, a);
        let graph = get(|graph| hipStreamEndCapture(a, graph));
        let graph = get(|whole| hipGraphInstantiate(whole, graph, null_mut(), null_mut(), 0));
        let start = record(a);
        ok(hipGraphLaunch(graph, a));
        ok(hipGraphLaunch(graph, a));
        takes(start, record(a), 22.0);
    }
    set_timing(false);
    let start = record(a);
    assert!(elapsed(start, record(a)).expect("a time") >= 0.0);
}
