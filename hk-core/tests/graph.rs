//! Graphs: work that is captured once and launched many times.

#![cfg(feature = "sim")]

mod common;

use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use common::{LONG, LateArgs, devices, late};
use hk_core::op::Arguments;
use hk_core::{
    Device, DevicePtr, Error, Function, LaunchConfig, Result, Stream, Tensor, TensorSlice,
};
use hk_sim::{HipError, capi};

/// Ops of that kernel.
struct Late(Function<LateArgs>);

impl Late {
    fn new(device: &Device) -> Self {
        Self(late(device))
    }

    fn launch(
        &self,
        stream: &Stream,
        (x, y): (DevicePtr<f32>, DevicePtr<f32>),
        n: usize,
        turns: i32,
    ) -> Result<()> {
        let args = LateArgs { x, y, n: n as i32, turns };
        // SAFETY: callers give n elements of x and y.
        unsafe { self.0.launch(stream, LaunchConfig::for_elements(n, 64), &args) }
    }

    /// `y = x + 1`.
    fn add_one(&self, x: &TensorSlice<f32>, y: &mut TensorSlice<f32>, turns: i32) -> Result<()> {
        let (at, n) = ((x.ptr(), y.ptr_mut()), x.len());
        let stream = x.stream();
        stream.submit(&[x.as_input(), y.as_output()], || self.launch(stream, at, n, turns))
    }

    /// `y = x + 2`, by a workspace.
    fn add_two(&self, x: &TensorSlice<f32>, y: &mut TensorSlice<f32>) -> Result<()> {
        let mut args = Arguments::new("add_two");
        args.input("x", x, &["n"]).contiguous()?;
        args.output("y", y, &["n"]).contiguous()?;
        let [n] = args.sizes(["n"])?;
        let mut call = args.check()?;
        let [sums] = call.workspace([4 * n])?;
        let (x, y, sums) = (x.ptr(), y.ptr_mut(), DevicePtr::new(sums.address()));
        call.submit(|stream| {
            self.launch(stream, (x, sums), n, 1)?;
            self.launch(stream, (sums, y), n, 1)
        })
    }
}

fn filled(stream: &Stream, value: f32) -> Tensor<f32> {
    Tensor::filled(stream, &[256], value).unwrap()
}

#[track_caller]
fn check(tensor: &Tensor<f32>, expected: f32) {
    let values = tensor.to_vec().unwrap();
    let other = values.iter().find(|value| **value != expected);
    assert!(other.is_none(), "{other:?} among {expected}");
}

#[track_caller]
fn check_refused<T>(result: Result<T>) {
    let error = result.map(drop).unwrap_err();
    assert!(matches!(error, Error::StreamCapture { .. }), "{error}");
}

/// Requires the stream to do work, and to be captured, as any other one.
fn check_works(stream: &Stream) {
    assert!(!stream.is_capturing().unwrap());
    check(&filled(stream, 4.0), 4.0);
    let mut graph = stream.capture(filled(stream, 0.0), |x| x.fill(5.0)).unwrap();
    check(graph.state(), 0.0);
    graph.launch(stream).unwrap();
    check(graph.state(), 5.0);
}

#[test]
fn launches_do_again_what_was_captured_with_what_is_there_by_then() {
    for device in devices() {
        let (late, stream) = (Late::new(&device), device.new_stream().unwrap());
        let (x, mut y) = (filled(&stream, 0.0), filled(&stream, -1.0));
        let mut sum = filled(&stream, -1.0);
        let tensors = (x, &mut y);
        let mut graph = stream
            .capture(tensors, |(x, y)| {
                late.add_one(x, y, 1)?;
                late.add_two(y, &mut sum)?;
                x.copy_from(&sum)
            })
            .unwrap();
        assert!(!stream.is_capturing().unwrap());
        check(graph.state().1, -1.0);
        graph.launch(&stream).unwrap();
        graph.launch(&stream).unwrap();
        check(graph.state().1, 4.0);
        graph.state_mut().0.fill(10.0).unwrap();
        graph.launch(&stream).unwrap();
        let (x, _) = graph.into_state();
        check(&x, 13.0);
        check(&y, 11.0);
        check(&sum, 13.0);
    }
}

#[test]
fn nothing_can_be_captured_too() {
    let [_, device] = devices();
    let stream = device.new_stream().unwrap();
    let mut graph = stream.capture((), |()| Ok(())).unwrap();
    graph.launch(&stream).unwrap();
    stream.synchronize().unwrap();
}

#[test]
fn a_graph_keeps_its_memory_and_gives_it_back() {
    // No other test here uses this product.
    let device = Device::open("sim:mi350x").unwrap();
    let (late, stream) = (Late::new(&device), device.new_stream().unwrap());
    let elements = 1 << 20;
    let large = || Tensor::filled(&stream, &[elements], 1.0f32).unwrap();
    let free = || {
        device.synchronize().unwrap();
        // Now what was dropped has no work under way, and is given back.
        device.synchronize().unwrap();
        device.memory().unwrap().0
    };
    // A stream keeps memory for arguments from its first launch on.
    late.add_one(&large(), &mut large(), 1).unwrap();
    let before = free();
    let (inner, mut out) = (large(), large());
    let mut graph = stream
        .capture((large(), &mut out), move |(x, out)| {
            let mut inner = inner;
            late.add_two(x, &mut inner)?;
            late.add_one(&inner, out, 1)
        })
        .unwrap();
    // The closure's tensor is gone, and the first one of the state is another one now.
    drop(mem::replace(&mut graph.state_mut().0, filled(&stream, 7.0)));
    let others: Vec<_> = (0..4).map(|_| large()).collect();
    graph.launch(&stream).unwrap();
    check(graph.state().1, 4.0);
    check(&graph.state().0, 7.0);
    others.iter().for_each(|other| check(other, 1.0));
    drop(others);
    // Two tensors, the output, and the workspace.
    assert!(before - free() >= 4 * 4 * elements);
    let (replacement, _) = graph.into_state();
    drop((replacement, out));
    // The workspace goes after the graph, which goes when its launches are known to be done.
    let tries = std::iter::repeat_with(|| {
        thread::sleep(Duration::from_millis(10));
        free()
    });
    let found = tries.take(500).find(|free| *free >= before);
    assert!(found.is_some(), "memory was lost: {} of {before} are free", free());
}

#[test]
fn an_error_or_a_panic_ends_the_capture() {
    let [_, device] = devices();
    let stream = device.new_stream().unwrap();
    let mut x = filled(&stream, 1.0);
    let error = stream
        .capture(&mut x, |x| {
            x.fill(2.0)?;
            x.write(&[3.0])
        })
        .unwrap_err();
    assert!(matches!(error, Error::Shape { op: "Tensor::write", .. }), "{error}");
    check(&x, 1.0);
    check_works(&stream);
    let panics = || {
        let work = |x: &mut &mut Tensor<f32>| -> Result<()> {
            x.fill(2.0)?;
            panic!("on purpose")
        };
        stream.capture(&mut x, work).map(drop)
    };
    assert!(catch_unwind(AssertUnwindSafe(panics)).is_err());
    check(&x, 1.0);
    check_works(&stream);
    // What HIP does not allow spoils it, whatever the closure says.
    let error = stream
        .capture(&mut x, |x| {
            x.fill(2.0)?;
            assert!(stream.synchronize().is_err());
            Ok(())
        })
        .unwrap_err();
    assert!(matches!(error, Error::Hip { call: "hipStreamEndCapture", .. }), "{error}");
    check(&x, 1.0);
    check_works(&stream);
}

#[test]
fn what_a_graph_cannot_hold_is_refused() {
    let [_, device] = devices();
    let [stream, other] = [(); 2].map(|()| device.new_stream().unwrap());
    let mut inner = other.capture(filled(&other, 0.0), |x| x.fill(1.0)).unwrap();
    let outside = other.record().unwrap();
    let mut elsewhere = filled(&other, 0.0);
    let state = (filled(&stream, 0.0), filled(&stream, 0.0));
    let mut graph = stream
        .capture(state, |(x, y)| {
            x.fill(2.0)?;
            check_refused(Tensor::<f32>::empty(&stream, &[4]));
            check_refused(x.to_vec());
            check_refused(x.write(&[0.0; 256]));
            check_refused(stream.record());
            check_refused(stream.wait(&outside));
            check_refused(inner.launch(&stream));
            check_refused(stream.capture((), |()| Ok(())));
            let nested = other.capture((), |()| Ok(())).unwrap_err();
            assert!(matches!(nested, Error::Value { arg: "self", .. }), "{nested}");
            // Another stream would have to wait for the graph.
            check_refused(other.submit(&[x.as_input()], || Ok(())));
            // But its own work is done at once.
            elsewhere.fill(3.0)?;
            check(&elsewhere, 3.0);
            y.copy_from(x)
        })
        .unwrap();
    graph.launch(&stream).unwrap();
    check(&graph.state().1, 2.0);

    let default = device.default_stream().capture((), |()| Ok(())).unwrap_err();
    assert!(matches!(default, Error::Value { arg: "self", .. }), "{default}");
    assert!(default.to_string().contains("the default stream"), "{default}");
    let within = stream.submit(&[], || stream.capture((), |()| Ok(())).map(drop)).unwrap_err();
    assert!(matches!(within, Error::Value { arg: "self", .. }), "{within}");
    let [another, _] = devices();
    let there = graph.launch(&another.new_stream().unwrap()).unwrap_err();
    assert!(matches!(there, Error::Device { op: "Graph::launch", .. }), "{there}");
    check_works(&stream);
    check_works(&other);
}

#[test]
fn a_stream_that_other_code_captures_is_left_alone() {
    let [_, device] = devices();
    let stream = device.new_stream().unwrap();
    let mut graph = stream.capture(filled(&stream, 0.0), |x| x.fill(1.0)).unwrap();
    let mut captured = ptr::null_mut();
    // SAFETY: the stream is live, and `captured` is a place for the graph.
    unsafe {
        assert_eq!(capi::hipStreamBeginCapture(stream.raw(), 0), HipError::SUCCESS);
        check_refused(stream.capture((), |()| Ok(())));
        check_refused(graph.launch(&stream));
        assert_eq!(capi::hipStreamEndCapture(stream.raw(), &mut captured), HipError::SUCCESS);
        assert_eq!(capi::hipGraphDestroy(captured), HipError::SUCCESS);
    }
    check(graph.state(), 0.0);
    check_works(&stream);
}

#[test]
fn other_threads_do_not_add_to_a_capture() {
    let [_, device] = devices();
    let stream = device.new_stream().unwrap();
    let [x, mut theirs, dropped] = [0.0, 1.0, 2.0].map(|value| filled(&stream, value));
    let (begun, begins) = mpsc::channel();
    let (done, ends) = mpsc::channel();
    let mut graph = thread::scope(|scope| {
        scope.spawn(|| {
            // Of its own, so that the other end hears of a panic.
            let (begins, done) = (begins, done);
            begins.recv().unwrap();
            check_refused(theirs.fill(4.0));
            check_refused(theirs.to_vec());
            check_refused(theirs.write(&[4.0; 256]));
            check_refused(Tensor::<f32>::empty(&stream, &[4]));
            check_refused(stream.record());
            check_refused(stream.reserve_workspace(4));
            check_refused(stream.capture((), |()| Ok(())));
            drop(dropped);
            done.send(()).unwrap();
        });
        let work = move |x: &mut Tensor<f32>| -> Result<()> {
            x.fill(3.0)?;
            begun.send(()).unwrap();
            ends.recv().unwrap();
            Ok(())
        };
        stream.capture(x, work).unwrap()
    });
    graph.launch(&stream).unwrap();
    check(graph.state(), 3.0);
    check(&theirs, 1.0);
    check_works(&stream);
}

#[test]
fn a_capture_waits_for_threads_that_are_giving_the_stream_work() {
    let [_, device] = devices();
    let stream = device.new_stream().unwrap();
    let mut theirs = filled(&stream, 0.0);
    let late = Late::new(&device);
    let (entered, begin) = mpsc::channel();
    let mut graph = thread::scope(|scope| {
        scope.spawn(|| {
            let entered = entered;
            let (at, n) = ((theirs.ptr(), theirs.ptr_mut()), theirs.len());
            let uses = [theirs.as_output()];
            let work = || {
                entered.send(()).unwrap();
                thread::sleep(Duration::from_millis(50));
                late.launch(&stream, at, n, 1)
            };
            stream.submit(&uses, work).unwrap();
        });
        begin.recv().unwrap();
        stream.capture((), |()| Ok(())).unwrap()
    });
    // It was done, and is not in the graph.
    check(&theirs, 1.0);
    graph.launch(&stream).unwrap();
    check(&theirs, 1.0);
}

#[test]
fn launches_are_ordered_with_all_that_streams_do_with_the_same_tensors() {
    for device in devices() {
        let late = Late::new(&device);
        let [home, first, second] = [(); 3].map(|()| device.new_stream().unwrap());
        let (x, y) = (filled(&home, 0.0), filled(&home, 0.0));
        let mut graph = home
            .capture((x, y), |(x, y)| {
                late.add_one(x, y, LONG)?;
                x.copy_from(y)
            })
            .unwrap();
        // Of the same graph, on streams that would not wait for each other.
        for stream in [&first, &second, &home, &second] {
            graph.launch(stream).unwrap();
        }
        assert!(!second.is_idle().unwrap(), "the kernel was meant to take a while");
        check(&graph.state().0, 4.0);
        // Later work elsewhere waits for launches, and launches for it.
        graph.launch(&first).unwrap();
        let (x, _) = graph.state();
        let mut copy = filled(&second, 0.0);
        // SAFETY: this is of work that shares memory.
        let view = unsafe { x.alias() }.into_stream(&second).unwrap();
        copy.copy_from(&view).unwrap();
        let mut result = filled(&second, 0.0);
        late.add_one(&view, &mut result, LONG).unwrap();
        graph.launch(&first).unwrap();
        check(&copy, 5.0);
        check(&result, 6.0);
        check(&graph.state().0, 6.0);
    }
}

#[test]
fn a_graph_may_be_dropped_while_a_launch_is_under_way() {
    for device in devices() {
        let late = Late::new(&device);
        let [home, other] = [(); 2].map(|()| device.new_stream().unwrap());
        let mut y = filled(&home, 0.0);
        let mut graph = home
            .capture((filled(&home, 1.0), &mut y), |(x, y)| {
                late.add_one(x, y, LONG)?;
                late.add_two(x, y)?;
                late.add_one(x, y, LONG)
            })
            .unwrap();
        graph.launch(&other).unwrap();
        drop(graph);
        assert!(!other.is_idle().unwrap(), "dropping it has waited");
        // What takes the place of its memory changes nothing.
        let others: Vec<_> = (0..8).map(|_| filled(&home, 9.0)).collect();
        check(&y, 2.0);
        others.iter().for_each(|other| check(other, 9.0));
    }
}

#[test]
fn a_graph_may_be_launched_by_another_thread() {
    let [_, device] = devices();
    let stream = device.new_stream().unwrap();
    let mut graph = stream.capture(filled(&stream, 0.0), |x| x.fill(1.0)).unwrap();
    thread::scope(|scope| {
        scope.spawn(|| {
            graph.launch(&stream).unwrap();
            check(graph.state(), 1.0);
        });
    });
    check(&graph.into_state(), 1.0);
}

#[test]
fn faults_of_a_launch_are_reported() {
    let [device, _] = devices();
    let (late, stream) = (Late::new(&device), device.new_stream().unwrap());
    let x = filled(&stream, 1.0);
    let nowhere = DevicePtr::new(0x1000);
    let mut graph = stream
        .capture(x, |x| {
            let (at, n) = ((x.ptr(), nowhere), x.len());
            stream.submit(&[x.as_input()], || late.launch(&stream, at, n, 1))
        })
        .unwrap();
    let fault = graph.launch(&stream).and_then(|()| stream.synchronize()).unwrap_err();
    assert!(matches!(fault, Error::Fault(_)), "{fault}");
    check(&graph.into_state(), 1.0);
    check_works(&stream);
}
