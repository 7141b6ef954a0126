//! The memory that launches of an op hand to each other: kept, asked for before, and of each graph its
//! own.

#![cfg(feature = "sim")]

mod common;

use std::ffi::c_void;
use std::ptr;
use std::thread;

use common::{LateArgs, devices, late};
use hk_core::op::{Arguments, dry_run};
use hk_core::{
    Device, DevicePtr, Error, Function, LaunchConfig, Result, Stream, Tensor, TensorSlice,
};
use hk_sim::HipError;
use hk_sim::capi;
use hk_sim::sanitize::Checks;

/// An op of two launches: `y = x + 2`.
struct AddTwo {
    kernel: Function<LateArgs>,
    turns: i32,
}

impl AddTwo {
    fn new(device: &Device, turns: i32) -> Self {
        Self { kernel: late(device), turns }
    }

    fn run(&self, x: &TensorSlice<f32>, y: &mut TensorSlice<f32>) -> Result<()> {
        let mut args = Arguments::new("add_two");
        args.input("x", x, &["n"]).contiguous()?;
        args.output("y", y, &["n"]).contiguous()?;
        let [n] = args.sizes(["n"])?;
        let mut call = args.check()?;
        let [unused, sums] = call.workspace([4, 4 * n])?;
        assert!(unused.address().is_multiple_of(256) && sums.address().is_multiple_of(256));
        let error = call.workspace([4]).unwrap_err();
        assert!(matches!(error, Error::Value { arg: "workspace", .. }), "{error}");
        let sums = DevicePtr::<f32>::new(sums.address());
        let launch = |x, y| LateArgs { x, y, n: n as i32, turns: self.turns };
        let launches = [launch(x.ptr(), sums), launch(sums, y.ptr_mut())];
        call.submit(|stream| {
            for args in &launches {
                // SAFETY: x, y and the workspace have n elements.
                unsafe { self.kernel.launch(stream, LaunchConfig::for_elements(n, 64), args) }?;
            }
            Ok(())
        })
    }
}

fn numbers(stream: &Stream, n: usize, first: f32) -> (Tensor<f32>, Tensor<f32>, Vec<f32>) {
    let values: Vec<f32> = (0..n).map(|i| first + i as f32).collect();
    let x = Tensor::from_slice(stream, &values, &[n]).unwrap();
    (x, Tensor::zeros(stream, &[n]).unwrap(), values.iter().map(|x| x + 2.0).collect())
}

#[test]
fn a_workspace_is_kept_and_its_size_can_be_asked() {
    // No other test here uses this product.
    let device = Device::open("sim:mi350x").unwrap();
    let (op, stream) = (AddTwo::new(&device, 1), device.new_stream().unwrap());
    let free = || {
        stream.synchronize().unwrap();
        device.memory().unwrap().0
    };
    // A stream keeps memory for arguments from its first launch on.
    let (x, mut y, _) = numbers(&stream, 1, 0.0);
    op.run(&x, &mut y).unwrap();
    drop((x, y));
    let n = 1 << 20;
    let (x, mut y, expected) = numbers(&stream, n, 0.0);
    let (result, calls) = dry_run(|| op.run(&x, &mut y));
    result.unwrap();
    let bytes = calls[0].workspace_bytes;
    assert_eq!(bytes, 256 + 4 * n);

    let before = free();
    stream.reserve_workspace(bytes).unwrap();
    let reserved = free();
    assert!(before - reserved > bytes / 2);
    for _ in 0..3 {
        op.run(&x, &mut y).unwrap();
        assert_eq!(free(), reserved, "the call allocated");
    }
    assert_eq!(y.to_vec().unwrap(), expected);
    // A larger one takes its place.
    stream.reserve_workspace(2 * bytes).unwrap();
    assert!((bytes..3 * bytes).contains(&(before - free())));
    drop((x, y, stream));
    device.synchronize().unwrap();
    assert!(device.memory().unwrap().0 >= before, "the workspace was not given back");
}

#[test]
fn threads_that_share_a_stream_take_turns() {
    let [_, device] = devices();
    let (op, stream) = (AddTwo::new(&device, 1), device.new_stream().unwrap());
    thread::scope(|scope| {
        for thread in 0..4u8 {
            let (op, stream) = (&op, &stream);
            scope.spawn(move || {
                for turn in 0..50 {
                    // Of different lengths, so that the workspace grows under way.
                    let n = 64 + 512 * turn;
                    let (x, mut y, expected) = numbers(stream, n, 1000.0 * f32::from(thread));
                    op.run(&x, &mut y).unwrap();
                    assert_eq!(y.to_vec().unwrap(), expected);
                }
            });
        }
    });
}

/// A graph of what `work` gives the stream.
fn capture(stream: &Stream, work: impl FnOnce()) -> *mut c_void {
    let (mut graph, mut executable, none) = (ptr::null_mut(), ptr::null_mut(), ptr::null_mut());
    let ok = HipError::SUCCESS;
    // SAFETY: the stream is live, and each handle was written by the call before.
    unsafe {
        assert_eq!(capi::hipStreamBeginCapture(stream.raw(), 0), ok);
        work();
        assert_eq!(capi::hipStreamEndCapture(stream.raw(), &mut graph), ok, "it was spoilt");
        let made = capi::hipGraphInstantiate(&mut executable, graph, none, ptr::null_mut(), 0);
        assert_eq!(made, ok);
        assert_eq!(capi::hipGraphDestroy(graph), ok);
    }
    executable
}

#[test]
fn graphs_of_one_stream_may_run_side_by_side() {
    let [device, _] = devices();
    let (op, stream) = (AddTwo::new(&device, 5_000), device.new_stream().unwrap());
    let others = [0; 2].map(|_: usize| device.new_stream().unwrap());
    let preset = hk_sim::options();
    hk_sim::set_options(hk_sim::Options { sanitize: Checks::ALL, ..preset.clone() });
    let mut tensors = [numbers(&stream, 256, 0.0), numbers(&stream, 256, 5000.0)];
    // The stream's own workspace, which is replaced while graphs are at work, is not theirs.
    op.run(&tensors[0].0, &mut tensors[0].1).unwrap();
    let graphs = tensors.each_mut().map(|(x, y, _)| {
        capture(&stream, || {
            op.run(x, y).unwrap();
            // A second call in the same graph.
            op.run(x, y).unwrap();
        })
    });
    stream.synchronize().unwrap();
    for _ in 0..4 {
        for (x, y, _) in &mut tensors {
            y.fill(-1.0).unwrap();
            assert_eq!(x.len(), 256);
        }
        stream.synchronize().unwrap();
        for (graph, other) in graphs.iter().zip(&others) {
            // SAFETY: both are live.
            assert_eq!(unsafe { capi::hipGraphLaunch(*graph, other.raw()) }, HipError::SUCCESS);
        }
        let (x, mut y, expected) = numbers(&stream, 1000, 70.0);
        op.run(&x, &mut y).unwrap();
        assert_eq!(y.to_vec().unwrap(), expected);
        for other in &others {
            other.synchronize().unwrap();
        }
        for (_, y, expected) in &tensors {
            assert_eq!(y.to_vec().unwrap(), *expected);
        }
    }
    let free = || {
        device.synchronize().unwrap();
        device.memory().unwrap().0
    };
    for graph in graphs {
        let before = free();
        // SAFETY: they are live, and at no work.
        assert_eq!(unsafe { capi::hipGraphExecDestroy(graph) }, HipError::SUCCESS);
        assert!(free() > before, "the workspace goes with its graph");
    }
    hk_sim::set_options(preset);
}

#[test]
fn what_an_earlier_call_left_in_a_workspace_is_not_initialised() {
    let preset = hk_sim::options();
    hk_sim::set_options(hk_sim::Options { sanitize: Checks::ALL, ..preset.clone() });
    let [first, second] = devices();
    // The current device of this thread is another one, which is at work meanwhile.
    for (device, other) in [(&first, &second), (&second, &first)] {
        let name = other.name().trim_start_matches("sim:");
        let ordinal = hk_sim::device_ordinal(name).unwrap();
        // SAFETY: any integer will do.
        assert_eq!(unsafe { capi::hipSetDevice(ordinal) }, HipError::SUCCESS);
        let (slow, op) = (AddTwo::new(other, 500_000), AddTwo::new(device, 1));
        for stream in [device.new_stream().unwrap(), device.default_stream()] {
            let (x, mut y, _) = numbers(&other.default_stream(), 64, 0.0);
            slow.run(&x, &mut y).unwrap();
            reads_what_is_left(&op, &stream);
        }
    }
    hk_sim::set_options(preset);
}

/// Requires that the sanitizer finds the read of a workspace that an earlier call has written.
fn reads_what_is_left(op: &AddTwo, stream: &Stream) {
    let (x, mut y, expected) = numbers(stream, 64, 0.0);
    op.run(&x, &mut y).unwrap();
    assert_eq!(y.to_vec().unwrap(), expected);
    let mut args = Arguments::new("read");
    args.output("y", &mut *y, &["n"]).contiguous().unwrap();
    let mut call = args.check().unwrap();
    let [left] = call.workspace([4 * 64]).unwrap();
    let args = LateArgs { x: left.cast(), y: y.ptr_mut(), n: 64, turns: 1 };
    let read = call.submit(|stream| {
        // SAFETY: y and the workspace have 64 elements.
        unsafe { op.kernel.launch(stream, LaunchConfig::for_elements(64, 64), &args) }
    });
    let found = read.and_then(|()| stream.synchronize()).unwrap_err();
    assert!(found.to_string().contains("never written"), "{found}");
}
