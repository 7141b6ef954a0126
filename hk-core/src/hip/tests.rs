//! The table on the simulator, and on tables with planted failures.

use std::ffi::{c_char, c_uint};
use std::sync::atomic::{AtomicU32, Ordering};

use super::*;
use crate::allocator::Allocation;
use crate::{Arch, Device, LaunchConfig, Module, Stream, Tensor};

/// Puts functions that do nothing but fail in place of the table's.
macro_rules! refuse {
    ($table:ident: $($name:ident($($ty:ty),*),)*) => {$(
        $table.$name = {
            unsafe extern "C" fn refuse($(_: $ty),*) -> sys::Status {
                REFUSED
            }
            refuse
        };
    )*};
}

/// `hipErrorNotSupported`.
const REFUSED: sys::Status = 801;

impl Hip {
    /// A simulator that refuses what a launch may not do while a graph is captured.
    pub(crate) fn that_only_launches() -> &'static Self {
        let mut table = Table::simulator();
        refuse! { table:
            hipMallocAsync(*mut *mut c_void, usize, Handle),
            hipFreeAsync(*mut c_void, Handle),
            hipMemcpyAsync(*mut c_void, *const c_void, usize, c_int, Handle),
            hipMemsetAsync(*mut c_void, c_int, usize, Handle),
            hipStreamCreateWithFlags(*mut Handle, c_uint),
            hipStreamSynchronize(Handle),
            hipStreamWaitEvent(Handle, Handle, c_uint),
            hipEventCreateWithFlags(*mut Handle, c_uint),
            hipEventRecord(Handle, Handle),
            hipEventSynchronize(Handle),
            hipDeviceSynchronize(),
        }
        // A HIP library is never unloaded.
        Box::leak(Box::new(Self::new(table, None).unwrap()))
    }
}

unsafe extern "C" fn old_version(version: *mut c_int) -> sys::Status {
    // SAFETY: the caller passes a place for the version.
    unsafe { *version = 40_421_401 };
    sys::SUCCESS
}

#[test]
fn a_library_of_an_old_release_is_refused() {
    for (runtime, driver) in [(true, false), (false, true)] {
        let mut table = Table::simulator();
        if runtime {
            table.hipRuntimeGetVersion = old_version;
        }
        if driver {
            table.hipDriverGetVersion = old_version;
        }
        let error = Hip::new(table, Some("old.so".into())).map(|_| ()).unwrap_err();
        let Error::Version { library, found, required } = error else { panic!("{error}") };
        assert_eq!((library, found), (PathBuf::from("old.so"), HipVersion(40_421_401)));
        assert_eq!((found.to_string(), required.to_string()), ("4.4.21401".into(), "5.0.0".into()));
    }
}

#[test]
fn a_failing_call_is_named_and_explained() {
    let hip = Hip::simulator().unwrap();
    let error = hip.set_device(-1).unwrap_err();
    let Error::Hip { call, code, name } = error else { panic!("{error}") };
    assert_eq!((call, code), ("hipSetDevice", 101));
    assert!(name.starts_with("hipErrorInvalidDevice: "), "{name}");
}

#[test]
fn both_layouts_of_the_properties_say_the_same() {
    let simulated = Hip::simulator().unwrap();
    let mut table = Table::simulator();
    table.use_old_properties();
    let old = Hip::new(table, None).unwrap();
    for ordinal in 0..simulated.device_count().unwrap() {
        assert_eq!(old.properties(ordinal).unwrap(), simulated.properties(ordinal).unwrap());
    }
}

#[test]
fn addresses_are_traced_to_their_allocation() {
    let device = device_with(|_| {});
    let (hip, stream) = (device.hip(), device.default_stream());
    let ours = Allocation::new("test", &stream, 1000).unwrap();
    let start = ours.address();
    for (address, inside) in [(start, true), (start + 1000, true), (start + 1001, false)] {
        let found = hip.allocation_of(address);
        assert_eq!(found == Some((start, 1000)), inside, "{address:#x}");
    }
    // What other code has allocated is known to HIP.
    let theirs = hip.bind(device.ordinal()).unwrap().allocate_at_once(500).unwrap().unwrap();
    let at = theirs.as_ptr() as u64;
    assert_eq!(hip.allocation_of(at + 499), Some((at, 500)));
    // SAFETY: it was allocated above, and nothing uses it.
    unsafe { hip.free(theirs, stream.queue()).unwrap() };
    ours.free(stream.queue()).unwrap();
    stream.synchronize().unwrap();
    assert_eq!(hip.allocation_of(start + 1000), None);
}

/// A device whose table was changed.
fn device_with(change: impl FnOnce(&mut Table)) -> Device {
    let mut table = Table::simulator();
    change(&mut table);
    let hip = Box::leak(Box::new(Hip::new(table, None).unwrap()));
    Device::new(hip, hk_sim::device_ordinal("mi300x").unwrap(), "test".into()).unwrap()
}

#[test]
fn host_memory_is_waited_for_if_a_later_copy_fails() {
    static COPIES: AtomicU32 = AtomicU32::new(0);
    static WAITS: AtomicU32 = AtomicU32::new(0);
    unsafe extern "C" fn copy(
        _to: *mut c_void,
        _from: *const c_void,
        _bytes: usize,
        _kind: c_int,
        _stream: Handle,
    ) -> sys::Status {
        if COPIES.fetch_add(1, Ordering::Relaxed) % 2 == 1 { REFUSED } else { sys::SUCCESS }
    }
    unsafe extern "C" fn synchronize(_stream: Handle) -> sys::Status {
        WAITS.fetch_add(1, Ordering::Relaxed);
        sys::SUCCESS
    }
    let device = device_with(|table| {
        table.hipMemcpyAsync = copy;
        table.hipStreamSynchronize = synchronize;
    });
    let mut tensor = Tensor::<u8>::empty(&device.default_stream(), &[4, 8]).unwrap();
    let mut columns = tensor.narrow_mut(1, 0..4).unwrap();
    let failures = [columns.to_vec().map(drop), columns.write(&[0; 16])];
    for (i, failure) in failures.into_iter().enumerate() {
        assert!(matches!(failure, Err(Error::Hip { code: REFUSED, .. })), "{i}: {failure:?}");
    }
    // Each failed at its second copy, with the first under way.
    assert_eq!(COPIES.load(Ordering::Relaxed), 4);
    assert_eq!(WAITS.load(Ordering::Relaxed), 2);
}

#[test]
fn a_wait_that_fails_does_not_end_the_loan_of_host_memory() {
    static QUERIES: AtomicU32 = AtomicU32::new(0);
    unsafe extern "C" fn synchronize(_stream: Handle) -> sys::Status {
        REFUSED
    }
    unsafe extern "C" fn query(_stream: Handle) -> sys::Status {
        let done = QUERIES.fetch_add(1, Ordering::Relaxed) == 4;
        if done { sys::SUCCESS } else { sys::ERROR_NOT_READY }
    }
    let device = device_with(|table| {
        table.hipStreamSynchronize = synchronize;
        table.hipStreamQuery = query;
    });
    let tensor = Tensor::<u8>::empty(&device.default_stream(), &[8]).unwrap();
    let error = tensor.to_vec().unwrap_err();
    assert!(matches!(error, Error::Hip { call: "hipStreamSynchronize", .. }), "{error}");
    assert_eq!(QUERIES.load(Ordering::Relaxed), 5);
}

#[test]
fn one_stream_needs_no_events() {
    let device = device_with(|table| {
        refuse! { table:
            hipEventCreateWithFlags(*mut Handle, c_uint),
            hipEventRecord(Handle, Handle),
            hipStreamWaitEvent(Handle, Handle, c_uint),
        }
    });
    let stream = device.new_stream().unwrap();
    let mut x = Tensor::filled(&stream, &[4, 4], 1.0f32).unwrap();
    let mut view = x.narrow_mut(1, 1..3).unwrap();
    view.write(&[2.0; 8]).unwrap();
    let copy = view.to_contiguous().unwrap();
    x.copy_from(&Tensor::zeros(&stream, &[4, 4]).unwrap()).unwrap();
    assert_eq!((copy.to_vec().unwrap(), x.to_vec().unwrap()), (vec![2.0; 8], vec![0.0; 16]));
    stream.submit(&[x.as_output(), copy.as_input()], || Ok(())).unwrap();
    drop((copy, x));
    assert!(matches!(stream.record().map(drop), Err(Error::Hip { code: REFUSED, .. })));
}

/// A kernel that does nothing for a while.
const WAIT: &str = r#"
    extern "C" __attribute__((global)) void wait() {
      for (int i = 0; i < 300000; ++i) asm volatile("s_nop 0");
    }"#;

#[test]
fn a_module_is_unloaded_when_no_launch_and_no_graph_needs_it() {
    static UNLOADED: AtomicU32 = AtomicU32::new(0);
    unsafe extern "C" fn unload(module: Handle) -> sys::Status {
        UNLOADED.fetch_add(1, Ordering::Relaxed);
        // SAFETY: passed on from the caller.
        unsafe { (Table::simulator().hipModuleUnload)(module) }
    }
    let device = device_with(|table| table.hipModuleUnload = unload);
    let options = hk_build::CompileOptions::default();
    let code = hk_build::compile_source(WAIT, Arch::Gfx942, &options).unwrap();
    let launch = |stream: &Stream| {
        let module = Module::load(&device, &code.image).unwrap();
        let kernel = module.function::<()>("wait").unwrap();
        // SAFETY: the kernel touches no memory.
        unsafe { kernel.launch(stream, LaunchConfig::new(1, 64), &()) }.unwrap();
    };
    let unloaded = || UNLOADED.load(Ordering::Relaxed);
    let stream = device.new_stream().unwrap();
    launch(&stream);
    assert!(!stream.is_idle().unwrap(), "dropping the module has waited for the kernel");
    assert_eq!(unloaded(), 0);
    stream.synchronize().unwrap();
    // The event behind the launch may be reached a moment later.
    while unloaded() == 0 {
        device.hip().sweep();
    }
    // Also if the stream is gone before the work is done.
    let short_lived = device.new_stream().unwrap();
    launch(&short_lived);
    drop(short_lived);
    device.hip().sweep();
    assert_eq!(unloaded(), 1);
    device.synchronize().unwrap();
    while unloaded() == 1 {
        device.hip().sweep();
    }
    // A graph may launch it for ever.
    let mut graph = std::ptr::null_mut();
    // SAFETY: the stream is live, and `graph` is a place for the graph.
    unsafe {
        assert_eq!(hk_sim::capi::hipStreamBeginCapture(stream.raw(), 0).0, sys::SUCCESS);
        launch(&stream);
        assert_eq!(hk_sim::capi::hipStreamEndCapture(stream.raw(), &mut graph).0, sys::SUCCESS);
        assert_eq!(hk_sim::capi::hipGraphDestroy(graph).0, sys::SUCCESS);
    }
    stream.synchronize().unwrap();
    device.hip().sweep();
    assert_eq!(unloaded(), 2);
}

#[test]
fn a_graph_is_destroyed_when_its_launches_are_done() {
    static DESTROYED: AtomicU32 = AtomicU32::new(0);
    unsafe extern "C" fn destroy(graph: Handle) -> sys::Status {
        DESTROYED.fetch_add(1, Ordering::Relaxed);
        // SAFETY: passed on from the caller.
        unsafe { (Table::simulator().hipGraphExecDestroy)(graph) }
    }
    let device = device_with(|table| table.hipGraphExecDestroy = destroy);
    let options = hk_build::CompileOptions::default();
    let code = hk_build::compile_source(WAIT, Arch::Gfx942, &options).unwrap();
    let module = Module::load(&device, &code.image).unwrap();
    let kernel = module.function::<()>("wait").unwrap();
    let [stream, other] = [0; 2].map(|_| device.new_stream().unwrap());
    // SAFETY: the kernel touches no memory.
    let launch = || unsafe { kernel.launch(&stream, LaunchConfig::new(1, 64), &()) };
    let mut graph = stream.capture((), |()| launch()).unwrap();
    graph.launch(&other).unwrap();
    drop(graph);
    assert!(!other.is_idle().unwrap(), "dropping the graph has waited for the kernel");
    device.hip().sweep();
    assert_eq!(DESTROYED.load(Ordering::Relaxed), 0);
    other.synchronize().unwrap();
    // The event behind the launch may be reached a moment later.
    while DESTROYED.load(Ordering::Relaxed) == 0 {
        device.hip().sweep();
    }
}

#[test]
fn a_stream_is_not_captured_after_a_graph_was_refused() {
    let begins = device_with(|table| {
        refuse! { table: hipStreamBeginCapture(Handle, c_uint), }
    });
    let makes = device_with(|table| {
        refuse! { table:
            hipGraphInstantiate(*mut Handle, Handle, *mut Handle, *mut c_char, usize),
        }
    });
    let calls = ["hipStreamBeginCapture", "hipGraphInstantiate"];
    for (device, refused) in [begins, makes].iter().zip(calls) {
        let stream = device.new_stream().unwrap();
        let mut x = Tensor::filled(&stream, &[4], 1.0f32).unwrap();
        for _ in 0..2 {
            let error = stream.capture(&mut x, |x| x.fill(2.0)).unwrap_err();
            assert!(matches!(error, Error::Hip { call, .. } if call == refused), "{error}");
            assert!(!stream.is_capturing().unwrap() && !Gate::is_thread_inside());
            assert_eq!(x.to_vec().unwrap(), [1.0; 4]);
        }
    }
}

#[test]
fn questions_about_other_work_leave_a_capture_alone() {
    let device = device_with(|_| {});
    let (captured, other) = (device.new_stream().unwrap(), device.new_stream().unwrap());
    let end = other.queue().mark().unwrap().expect("it is not captured");
    other.synchronize().unwrap();
    let mut graph = std::ptr::null_mut();
    // SAFETY: the stream is live, and `graph` is a place for the graph.
    unsafe {
        assert_eq!(hk_sim::capi::hipStreamBeginCapture(captured.raw(), 0).0, sys::SUCCESS);
        assert!(end.is_done().unwrap() && other.is_idle().unwrap());
        assert_eq!(hk_sim::capi::hipStreamEndCapture(captured.raw(), &mut graph).0, sys::SUCCESS);
        assert_eq!(hk_sim::capi::hipGraphDestroy(graph).0, sys::SUCCESS);
    }
}
