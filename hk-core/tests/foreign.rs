//! Memory, streams and events of other code: a framework of its own in a second HIP library, beside
//! the embedded simulator; and memory from a program's own allocator.

#![cfg(feature = "sim")]

mod common;

use std::env;
use std::ffi::{c_int, c_uint, c_void};
use std::path::{Path, PathBuf};
use std::ptr::{self, NonNull};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use common::{AXPY, AxpyArgs, compile, devices, run};
use hk_core::dtype::{F4x2E2M1, bf16};
use hk_core::{Allocator, Device, Error, Event, LaunchConfig, Module, Stream, Tensor, TensorSlice};
use hk_sim::capi;
use libloading::Library;

/// The shared library that cargo builds of the simulator, beside this test's own program.
fn shared_library() -> PathBuf {
    let name = format!("{}hk_sim{}", env::consts::DLL_PREFIX, env::consts::DLL_SUFFIX);
    let path = env::current_exe().unwrap().with_file_name(name);
    assert!(path.exists(), "{} was not built", path.display());
    path
}

type Handle = *mut c_void;

/// Another user of HIP in this process, which knows nothing of this library.
struct Framework(Library);

/// Calls a function of the framework's library by its C signature.
macro_rules! hip {
    ($framework:expr, $name:ident($($arg:expr => $ty:ty),*)) => {{
        // SAFETY: the types are those of the HIP header; handles and pointers are live.
        let status = unsafe {
            let name = concat!(stringify!($name), "\0").as_bytes();
            let call = $framework.0.get::<unsafe extern "C" fn($($ty),*) -> c_int>(name).unwrap();
            call($($arg),*)
        };
        assert_eq!(status, 0, stringify!($name));
    }};
}

impl Framework {
    fn stream(&self) -> Handle {
        let mut stream = ptr::null_mut();
        hip!(self, hipStreamCreateWithFlags(&mut stream => *mut Handle, 1 => c_uint));
        stream
    }

    fn event(&self) -> Handle {
        let mut event = ptr::null_mut();
        hip!(self, hipEventCreateWithFlags(&mut event => *mut Handle, 2 => c_uint));
        event
    }

    fn upload(&self, values: &[f32], stream: Handle) -> Handle {
        let (mut memory, bytes) = (ptr::null_mut(), size_of_val(values));
        hip!(self, hipMallocAsync(
            &mut memory => *mut Handle, bytes => usize, stream => Handle
        ));
        hip!(self, hipMemcpyAsync(
            memory => Handle, values.as_ptr().cast() => *const c_void, bytes => usize,
            1 => c_int, stream => Handle
        ));
        memory
    }

    fn download(&self, memory: Handle, len: usize, stream: Handle) -> Vec<f32> {
        let mut values = vec![0.0f32; len];
        hip!(self, hipMemcpyAsync(
            values.as_mut_ptr().cast() => Handle, memory.cast_const() => *const c_void,
            4 * len => usize, 2 => c_int, stream => Handle
        ));
        hip!(self, hipStreamSynchronize(stream => Handle));
        values
    }

    fn device(&self) -> c_int {
        let mut device = -1;
        hip!(self, hipGetDevice(&mut device => *mut c_int));
        device
    }
}

/// A tensor of the framework: freed in the order of its stream when it is dropped.
struct Owned {
    framework: Arc<Framework>,
    memory: Handle,
    stream: Handle,
    gone: Arc<AtomicBool>,
}

// SAFETY: the handles are only passed to HIP, which takes them from any thread.
unsafe impl Send for Owned {}

impl Drop for Owned {
    fn drop(&mut self) {
        hip!(self.framework, hipFreeAsync(self.memory => Handle, self.stream => Handle));
        self.gone.store(true, Ordering::Relaxed);
    }
}

/// `y += a x`.
fn axpy(device: &Device, a: f32, x: &TensorSlice<f32>, y: &mut TensorSlice<f32>) {
    let module = Module::load(device, &compile(device.arch(), AXPY)).unwrap();
    let kernel = module.function::<AxpyArgs>("axpy").unwrap();
    let (n, stream) = (x.len(), x.stream());
    let args = AxpyArgs { x: x.ptr(), y: y.ptr_mut(), a, n: n as i32 };
    let work = || {
        // SAFETY: the kernel stays within n elements of x and y.
        unsafe { kernel.launch(stream, LaunchConfig::for_elements(n, 256), &args) }
    };
    stream.submit(&[x.as_input(), y.as_output()], work).unwrap();
}

#[test]
fn a_framework_of_another_library_shares_memory_streams_and_events() {
    let (library, devices) = (shared_library(), Path::new("mi325x,mi355x"));
    run(
        "child_shares_with_a_framework",
        &[("HIPKITTENS_HIP_LIBRARY", &library), ("HIPKITTENS_SIM_DEVICES", devices)],
    );
}

#[test]
#[ignore = "run by a_framework_of_another_library_shares_memory_streams_and_events"]
fn child_shares_with_a_framework() {
    const N: usize = 1 << 16;
    // SAFETY: loading it runs no more than what a program that is linked to it runs.
    let framework = Arc::new(Framework(unsafe { Library::new(shared_library()) }.unwrap()));
    for ordinal in [1, 0] {
        // It works on a device that is not the current one.
        hip!(framework, hipSetDevice(ordinal => c_int));
        let (theirs, ready) = (framework.stream(), framework.event());
        let x: Vec<f32> = (0..N).map(|i| i as f32).collect();
        let [at_x, at_y] = [0, 1].map(|_| framework.upload(&x, theirs));
        hip!(framework, hipEventRecord(ready => Handle, theirs => Handle));
        hip!(framework, hipSetDevice(1 - ordinal => c_int));

        let device = Device::attach(ordinal.cast_unsigned()).unwrap();
        // SAFETY: the framework keeps both to the end.
        let (stream, ready) =
            unsafe { (Stream::from_raw(&device, theirs), Event::from_raw(&device, ready)) };
        assert_eq!(stream.raw(), theirs);
        let gone = [0, 1].map(|_| Arc::new(AtomicBool::new(false)));
        let [mut tx, mut ty] = [(at_x, &gone[0]), (at_y, &gone[1])].map(|(memory, gone)| {
            let (framework, gone) = (Arc::clone(&framework), Arc::clone(gone));
            let owner = Owned { framework, memory, stream: theirs, gone };
            // SAFETY: the owner keeps N elements alive.
            unsafe { Tensor::<f32>::from_raw(&stream, memory, &[N], &[1], owner) }.unwrap()
        });
        assert_eq!(tx.ptr().address(), at_x as u64);

        // On the framework's own stream, and on one that waits for its event.
        axpy(&device, 2.0, &tx, &mut ty);
        let own = device.new_stream().unwrap();
        own.wait(&ready).unwrap();
        {
            let x = tx.view().into_stream(&own).unwrap();
            axpy(&device, 1.0, &x, &mut ty.view_mut().into_stream(&own).unwrap());
        }
        let done = own.record().unwrap();
        hip!(framework, hipStreamWaitEvent(theirs => Handle, done.raw() => Handle, 0 => c_uint));
        let sums: Vec<f32> = x.iter().map(|x| 4.0 * x).collect();
        assert_eq!(framework.download(at_y, N, theirs), sums);

        // Strides may be any.
        // SAFETY: as above; the tensor above outlives this one.
        let columns = unsafe {
            Tensor::<f32>::from_raw(&stream, at_x, &[N / 8, 4], &[2, N / 4], ()).unwrap()
        };
        let found = columns.slice(1..3).unwrap().to_vec().unwrap();
        let expected = [1usize, 2].map(|i| [0, 1, 2, 3].map(|j| (2 * i + j * (N / 4)) as f32));
        assert_eq!(found, expected.concat());
        drop(columns);
        assert!(!gone[0].load(Ordering::Relaxed), "an owner goes with the last view");

        // Another context's memory is foreign to it, whatever its address.
        let other = Device::open(["sim:mi325x", "sim:mi355x"][ordinal as usize]).unwrap();
        assert_eq!(other.arch(), device.arch());
        let far = Tensor::<f32>::zeros(&other.default_stream(), &[N]).unwrap();
        let mixed = tx.copy_from(&far).unwrap_err();
        assert!(matches!(mixed, Error::Device { .. }), "{mixed}");
        let mixed = tx.view().into_stream(&other.default_stream()).unwrap_err();
        assert!(matches!(mixed, Error::Device { .. }), "{mixed}");
        let elsewhere = Device::attach((1 - ordinal).cast_unsigned()).unwrap();
        let mixed = elsewhere.default_stream().submit(&[tx.as_input()], || Ok(())).unwrap_err();
        assert!(matches!(mixed, Error::Device { .. }), "{mixed}");

        // Both end while another stream still works with them.
        let sum = {
            let x = tx.view().into_stream(&own).unwrap();
            let mut sum = Tensor::<f32>::zeros(&own, &[N]).unwrap();
            for _ in 0..20 {
                axpy(&device, 1.0, &x, &mut sum);
            }
            sum
        };
        drop((tx, ty));
        let scribbled = framework.upload(&vec![f32::NAN; N], theirs);
        let sums: Vec<f32> = x.iter().map(|x| 20.0 * x).collect();
        assert_eq!(sum.to_vec().unwrap(), sums);
        assert_eq!(gone.each_ref().map(|gone| gone.load(Ordering::Relaxed)), [true; 2]);
        hip!(framework, hipFreeAsync(scribbled => Handle, theirs => Handle));
        assert_eq!(framework.device(), 1 - ordinal, "the caller's device stays");
    }
    // The runtime has threads of its own.
    std::mem::forget(framework);
}

#[test]
fn foreign_memory_that_cannot_be_a_tensor_is_refused() {
    let stream = devices()[0].default_stream();
    let memory = Tensor::<u8>::zeros(&stream, &[256]).unwrap();
    let start = memory.ptr().address() as usize;
    let dropped = Arc::new(());
    let open = |at: usize, shape: &[usize], strides: &[usize]| {
        // SAFETY: all that is accepted is within the 256 bytes.
        let of = unsafe {
            Tensor::<bf16>::from_raw(&stream, at as *mut c_void, shape, strides, dropped.clone())
        };
        of.map(|tensor| tensor.shape().to_vec())
    };
    assert_eq!(open(start, &[4, 8], &[8, 1]).unwrap(), [4, 8]);
    assert_eq!(open(start + 2, &[3], &[0]).unwrap(), [3]);
    assert_eq!(open(0, &[0, 8], &[8, 1]).unwrap(), [0, 8], "nothing needs no memory");
    for at in [0, start + 1] {
        let refused = open(at, &[4, 8], &[8, 1]).unwrap_err();
        assert!(matches!(refused, Error::Value { arg: "address", .. }), "{refused}");
    }
    for strides in [&[1][..], &[8, 1, 1], &[1 << 60, 1], &[usize::MAX, usize::MAX]] {
        let refused = open(start, &[4, 8], strides).unwrap_err();
        assert!(matches!(refused, Error::Stride { arg: "strides", .. }), "{refused}");
    }
    assert_eq!(Arc::strong_count(&dropped), 1, "owners go with what they own, and if refused");

    let pairs = |shape: &[usize], strides: &[usize]| {
        // SAFETY: as above.
        unsafe { Tensor::<F4x2E2M1>::from_raw(&stream, start as *mut c_void, shape, strides, ()) }
    };
    assert!(pairs(&[4, 8], &[16, 1]).is_ok());
    for strides in [[15, 1], [16, 2]] {
        let refused = pairs(&[4, 8], &strides).unwrap_err();
        assert!(matches!(refused, Error::Stride { arg: "strides", .. }), "{refused}");
    }
}

/// Gives HIP's memory, up to a limit, and counts.
#[derive(Default)]
struct Pool {
    live: AtomicUsize,
    bytes: AtomicUsize,
    given: AtomicUsize,
}

const POOL_BYTES: usize = 1 << 20;

// SAFETY: it passes on what HIP gives in the order of the stream.
unsafe impl Allocator for Pool {
    fn allocate(&self, bytes: usize, device: i32, stream: Handle) -> Option<NonNull<c_void>> {
        let mut current = -1;
        // SAFETY: it only writes the number.
        unsafe { capi::hipGetDevice(&mut current) };
        assert_eq!(current, device, "the device is the current one");
        if self.bytes.load(Ordering::Relaxed) + bytes > POOL_BYTES {
            return None;
        }
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        self.live.fetch_add(1, Ordering::Relaxed);
        self.given.fetch_add(1, Ordering::Relaxed);
        let mut memory = ptr::null_mut();
        // SAFETY: the stream is live.
        unsafe { capi::hipMallocAsync(&mut memory, bytes, stream.cast()) };
        NonNull::new(memory)
    }

    unsafe fn free(&self, memory: NonNull<c_void>, bytes: usize, _device: i32, stream: Handle) {
        self.bytes.fetch_sub(bytes, Ordering::Relaxed);
        self.live.fetch_sub(1, Ordering::Relaxed);
        // SAFETY: the caller gives back what `allocate` gave.
        let status = unsafe { capi::hipFreeAsync(memory.as_ptr(), stream.cast()) };
        assert_eq!(status.0, 0);
    }
}

#[test]
fn memory_comes_from_the_programs_allocator_and_goes_back_there() {
    for device in devices() {
        let before = Tensor::<f32>::zeros(&device.new_stream().unwrap(), &[8]).unwrap();
        let pool = Arc::new(Pool::default());
        device.set_allocator(Some(pool.clone()));
        let stream = device.new_stream().unwrap();
        let mut x = Tensor::filled(&stream, &[1000], 3.0f32).unwrap();
        let copy = x.slice(1..4).unwrap().to_contiguous().unwrap();
        assert_eq!(copy.to_vec().unwrap(), [3.0; 3]);
        stream.reserve_workspace(5000).unwrap();
        assert_eq!(pool.live.load(Ordering::Relaxed), 3);
        let too_much = Tensor::<u8>::empty(&stream, &[POOL_BYTES]).unwrap_err();
        assert!(matches!(too_much, Error::OutOfMemory { requested: POOL_BYTES, .. }), "{too_much}");
        // It is given back while a kernel uses it, and may be given out again at once.
        let mut y = Tensor::filled(&stream, &[1000], 1.0f32).unwrap();
        axpy(&device, 2.0, &x, &mut y);
        x.fill(0.0).unwrap();
        drop((x, copy));
        let again = Tensor::filled(&stream, &[1000], 9.0f32).unwrap();
        assert_eq!(y.to_vec().unwrap(), [7.0; 1000]);

        device.set_allocator(None);
        let given = pool.given.load(Ordering::Relaxed);
        drop(Tensor::<f32>::zeros(&stream, &[8]).unwrap());
        drop((before, again, y, stream));
        device.synchronize().unwrap();
        assert_eq!(pool.given.load(Ordering::Relaxed), given);
        assert_eq!(pool.live.load(Ordering::Relaxed), 0);
        assert_eq!(pool.bytes.load(Ordering::Relaxed), 0);
    }
}
