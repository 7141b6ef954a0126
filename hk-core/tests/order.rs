//! Work on different streams that uses the same memory, what is dropped under way, and captures.

#![cfg(feature = "sim")]

mod common;

use std::ptr;
use std::thread;
use std::time::Duration;

use common::{LONG, LateArgs, devices, late};
use hk_core::{Device, Error, Function, LaunchConfig, Stream, Tensor};
use hk_sim::HipError;
use hk_sim::capi;

/// Launches it on a stream for some milliseconds.
fn launch(kernel: &Function<LateArgs>, stream: &Stream, x: &Tensor<f32>, y: &mut Tensor<f32>) {
    let n = x.len();
    let args = LateArgs { x: x.ptr(), y: y.ptr_mut(), n: n as i32, turns: LONG };
    let work = || {
        // SAFETY: the kernel stays within n elements of x and y.
        unsafe { kernel.launch(stream, LaunchConfig::for_elements(n, 64), &args) }
    };
    stream.submit(&[x.as_input(), y.as_output()], work).unwrap();
}

fn two_streams(device: &Device) -> [Stream; 2] {
    [device.new_stream().unwrap(), device.new_stream().unwrap()]
}

/// Another owner of the same elements, on that stream. Streams and threads that write the same memory
/// are what is tested here.
fn shared(tensor: &Tensor<f32>, stream: &Stream) -> Tensor<f32> {
    // SAFETY: the tests expect what the others write.
    unsafe { tensor.alias() }.into_stream(stream).unwrap()
}

fn check_all(values: &[f32], expected: f32) {
    let other = values.iter().find(|value| **value != expected);
    assert!(other.is_none(), "{other:?} among {expected}");
}

#[test]
fn views_on_two_streams_see_each_other_in_the_order_of_the_program() {
    for device in devices() {
        let [first, second] = two_streams(&device);
        let mut x = Tensor::filled(&first, &[1 << 20], 0.0f32).unwrap();
        let mut view = shared(&x, &second);
        let mut copy = Tensor::<f32>::empty(&second, &[1 << 20]).unwrap();
        for i in 0..12 {
            let i = i as f32;
            x.fill(i).unwrap();
            check_all(&view.to_vec().unwrap(), i);
            // Later writes of either wait for earlier reads of the other.
            copy.copy_from(&view).unwrap();
            x.fill(i + 0.25).unwrap();
            check_all(&copy.to_vec().unwrap(), i);
            view.fill(i + 0.5).unwrap();
            check_all(&x.to_vec().unwrap(), i + 0.5);
        }
    }
}

#[test]
fn kernels_wait_for_what_other_streams_do_with_their_arguments() {
    for device in devices() {
        let kernel = late(&device);
        let [first, second] = two_streams(&device);
        let mut x = Tensor::filled(&first, &[256], 0.0f32).unwrap();
        let mut y = Tensor::filled(&second, &[256], 0.0f32).unwrap();
        let [y_first, mut x_second] = [shared(&y, &first), shared(&x, &second)];
        for _ in 0..3 {
            launch(&kernel, &first, &x, &mut y);
            launch(&kernel, &second, &y, &mut x_second);
        }
        check_all(&x.to_vec().unwrap(), 6.0);
        launch(&kernel, &second, &y, &mut x_second);
        y.fill(-1.0).unwrap();
        launch(&kernel, &first, &y_first, &mut x);
        check_all(&x_second.to_vec().unwrap(), 0.0);
    }
}

#[test]
fn a_stream_waits_for_a_use_and_not_for_what_came_after_it() {
    for device in devices() {
        let kernel = late(&device);
        let [first, second] = two_streams(&device);
        let mut x = Tensor::filled(&first, &[64], 0.0f32).unwrap();
        let view = shared(&x, &second);
        let unrelated = Tensor::filled(&second, &[64], 0.0f32).unwrap();
        let mut result = Tensor::filled(&second, &[64], 0.0f32).unwrap();
        let mut copy = shared(&result, &second);
        // Memory that two streams use by turns.
        for i in 1..4 {
            x.fill(i as f32).unwrap();
            copy.copy_from(&view).unwrap();
        }
        launch(&kernel, &second, &unrelated, &mut result);
        assert!(!second.is_idle().unwrap(), "the kernel was meant to take a while");
        x.fill(4.0).unwrap();
        first.synchronize().unwrap();
        assert!(!second.is_idle().unwrap(), "it waited for the kernel, too");
    }
}

#[test]
fn threads_with_views_of_their_own_never_see_half_a_write() {
    let [_, device] = devices();
    let stream = device.new_stream().unwrap();
    let pair = [0, 1].map(|_| Tensor::filled(&stream, &[1 << 14], 0.0f32).unwrap());
    let views = || {
        let own = device.new_stream().unwrap();
        [0, 1].map(|i: usize| shared(&pair[i], &own))
    };
    thread::scope(|scope| {
        for thread in 0..3u8 {
            let [mut a, mut b] = views();
            scope.spawn(move || {
                for i in 0..300 {
                    match thread {
                        // In both orders, so that threads that locked one by one would hang.
                        0 => a.copy_from(&b).unwrap(),
                        1 => b.copy_from(&a).unwrap(),
                        _ => a.fill(i as f32).unwrap(),
                    }
                }
            });
        }
        let [a, b] = views();
        for _ in 0..300 {
            for values in [a.to_vec().unwrap(), b.to_vec().unwrap()] {
                check_all(&values, values[0]);
            }
        }
    });
}

#[test]
fn memory_is_freed_after_its_uses_on_other_streams() {
    for device in devices() {
        let kernel = late(&device);
        let [first, second] = two_streams(&device);
        let x = Tensor::filled(&first, &[64], 1.0f32).unwrap();
        let mut y = Tensor::filled(&second, &[64], 0.0f32).unwrap();
        launch(&kernel, &second, &x, &mut y);
        assert!(!second.is_idle().unwrap(), "the kernel was meant to take a while");
        drop(x);
        first.synchronize().unwrap();
        assert!(second.is_idle().unwrap(), "the memory was freed under the kernel");
        check_all(&y.to_vec().unwrap(), 2.0);
    }
}

#[test]
fn memory_that_waits_for_a_stream_to_be_freed_is_not_missing() {
    // No other test here uses this product.
    let device = Device::open("sim:mi350x").unwrap();
    let kernel = late(&device);
    let [first, second] = two_streams(&device);
    let x = Tensor::filled(&first, &[64], 1.0f32).unwrap();
    let mut y = Tensor::filled(&first, &[64], 0.0f32).unwrap();
    // Nothing is written, so that the host has to find no memory for it.
    let elements = 1 << 30;
    let mut chunks = Vec::new();
    while device.memory().unwrap().0 >= 4 * elements {
        chunks.push(Tensor::<f32>::empty(&first, &[elements]).unwrap());
    }
    let error = Tensor::<f32>::empty(&first, &[elements]).unwrap_err();
    assert!(matches!(error, Error::OutOfMemory { requested, .. } if requested == 4 * elements));
    for stream in [&first, &second] {
        launch(&kernel, &first, &x, &mut y);
        drop(chunks.pop());
        assert!(device.memory().unwrap().0 < 4 * elements, "the kernel was meant to be running");
        chunks.push(Tensor::empty(stream, &[elements]).unwrap());
    }
}

/// A graph that is being captured on a stream.
struct Capture<'s>(&'s Stream);

impl<'s> Capture<'s> {
    /// Begins one that other calls of any thread may spoil.
    fn begin(stream: &'s Stream) -> Self {
        // SAFETY: the stream is live.
        assert_eq!(unsafe { capi::hipStreamBeginCapture(stream.raw(), 0) }, HipError::SUCCESS);
        assert!(stream.is_capturing().unwrap());
        Self(stream)
    }

    /// Ends it and runs the graph so many times, on the same stream.
    fn run(self, times: usize) {
        let raw = self.0.raw();
        let (mut graph, mut executable, none) = (ptr::null_mut(), ptr::null_mut(), ptr::null_mut());
        let ok = HipError::SUCCESS;
        // SAFETY: the stream is live, and each handle was written by the call before.
        unsafe {
            assert_eq!(capi::hipStreamEndCapture(raw, &mut graph), ok, "the capture was spoilt");
            let made = capi::hipGraphInstantiate(&mut executable, graph, none, ptr::null_mut(), 0);
            assert_eq!(made, ok);
            for _ in 0..times {
                assert_eq!(capi::hipGraphLaunch(executable, raw), ok);
            }
            assert_eq!(capi::hipGraphExecDestroy(executable), ok);
            assert_eq!(capi::hipGraphDestroy(graph), ok);
        }
    }
}

#[test]
fn a_capture_survives_what_is_dropped_made_and_copied_meanwhile() {
    // No other test here uses this product.
    let device = Device::open("sim:mi300x").unwrap();
    let [first, second] = two_streams(&device);
    let free = || {
        device.synchronize().unwrap();
        // Now modules have no launches under way, and are unloaded.
        device.synchronize().unwrap();
        device.memory().unwrap().0
    };
    let kernel = late(&device);
    let mut x = Tensor::filled(&first, &[64], 1.0f32).unwrap();
    // A stream keeps memory for arguments from its first launch on.
    launch(&kernel, &first, &shared(&x, &first), &mut x);
    drop(x);
    let before = free();
    let mut x = Tensor::filled(&first, &[64], 1.0f32).unwrap();
    let scratch = Tensor::filled(&first, &[1 << 20], 1.0f32).unwrap();
    let elsewhere = Tensor::filled(&second, &[1 << 20], 1.0f32).unwrap();
    // What another stream did with it has no event.
    let scratch_elsewhere = shared(&scratch, &second);
    let (other_kernel, third) = (late(&device), device.new_stream().unwrap());
    let mut y = Tensor::filled(&third, &[64], 1.0f32).unwrap();
    launch(&other_kernel, &third, &x, &mut y);

    let capture = Capture::begin(&first);
    x.fill(2.0).unwrap();
    let mut of_graph = shared(&x, &first);
    launch(&kernel, &first, &x, &mut of_graph);
    drop((scratch, scratch_elsewhere, elsewhere, kernel));
    drop((other_kernel, third, y));
    // Streams, memory, copies, modules of the rest of the program.
    let made = Tensor::filled(&second, &[64], 3.0f32).unwrap();
    check_all(&made.to_vec().unwrap(), 3.0);
    drop(made.into_stream(&device.new_stream().unwrap()).unwrap());
    drop(late(&device));
    // What cannot be in a graph is refused before it spoils it.
    let outside = Tensor::filled(&second, &[64], 0.0f32).unwrap();
    let refused = [
        Tensor::<f32>::empty(&first, &[64]).map(drop),
        x.to_vec().map(drop),
        x.write(&[0.0; 64]),
        outside.into_stream(&first).map(drop),
        // It would have to wait for what the captured stream did before.
        second.submit(&[x.as_input()], || Ok(())),
    ];
    for (i, refused) in refused.into_iter().enumerate() {
        let error = refused.unwrap_err();
        assert!(matches!(error, Error::StreamCapture { .. }), "{i}: {error}");
    }
    capture.run(2);
    check_all(&x.to_vec().unwrap(), 3.0);
    drop((x, of_graph));
    // The thread of a stream that is gone gives back its memory for arguments when it ends.
    let tries = std::iter::repeat_with(|| {
        thread::sleep(Duration::from_millis(10));
        free()
    });
    let found = tries.take(500).find(|free| *free == before);
    assert_eq!(found, Some(before), "memory was lost: {} are free", free());
}

#[test]
fn times_of_different_devices_are_not_compared() {
    let [a, b] = devices();
    let [of_a, of_b] = [&a, &b].map(|device| device.default_stream().record().unwrap());
    let error = of_a.elapsed(&of_b).unwrap_err();
    assert!(matches!(error, Error::Device { op: "Event::elapsed", .. }), "{error}");
    let error = of_a.record(&b.default_stream()).unwrap_err();
    assert!(matches!(error, Error::Device { op: "Event::record", .. }), "{error}");
    // But one may wait for the other.
    a.default_stream().wait(&of_b).unwrap();
}

#[test]
fn the_callers_current_device_stays_what_it_was() {
    let devices = devices();
    let current = || {
        let mut device = -1;
        // SAFETY: it is a place for the number.
        assert_eq!(unsafe { capi::hipGetDevice(&mut device) }, HipError::SUCCESS);
        device
    };
    for chosen in [0, 1] {
        // SAFETY: it takes any number.
        assert_eq!(unsafe { capi::hipSetDevice(chosen) }, HipError::SUCCESS);
        for device in &devices {
            let [stream, other] = two_streams(device);
            let kernel = late(device);
            assert_eq!(current(), chosen);
            let mut x = Tensor::filled(&stream, &[64], 1.0f32).unwrap();
            x.write(&[2.0; 64]).unwrap();
            let mut y = Tensor::empty(&stream, &[64]).unwrap();
            launch(&kernel, &stream, &x, &mut y);
            kernel.occupancy(64, 0).unwrap();
            assert_eq!(current(), chosen);
            check_all(&y.into_stream(&other).unwrap().to_vec().unwrap(), 3.0);
            stream.record().unwrap().elapsed(&stream.record().unwrap()).unwrap();
            device.synchronize().unwrap();
            device.memory().unwrap();
            assert!(Tensor::<u8>::empty(&stream, &[1 << 50]).is_err());
            drop((kernel, stream, other, x));
            assert_eq!(current(), chosen);
        }
    }
}
