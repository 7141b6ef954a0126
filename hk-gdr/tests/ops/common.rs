//! What the tests of modules share.

#[cfg(not(any(feature = "cdna3", feature = "cdna4")))]
compile_error!("tests need kernels: run them with --features cdna3,cdna4, or one of the two");

use std::ffi::c_void;
use std::ops::RangeInclusive;
use std::ptr;

use hk_core::{Device, Stream};
use hk_gdr::parity;
use hk_sim::{HipError, capi};

/// What so many waves read at most of their kernel's arguments.
pub(crate) fn of_arguments(waves: usize) -> RangeInclusive<u64> {
    0..=waves as u64 * 512
}

/// A graph of what `work` gives the stream.
pub(crate) fn capture(stream: &Stream, work: impl FnOnce()) -> *mut c_void {
    let (mut graph, mut executable, none) = (ptr::null_mut(), ptr::null_mut(), ptr::null_mut());
    // SAFETY: the stream is live, and each handle was written by the call before.
    unsafe {
        assert_eq!(capi::hipStreamBeginCapture(stream.raw(), 0), HipError::SUCCESS);
        work();
        assert_eq!(capi::hipStreamEndCapture(stream.raw(), &mut graph), HipError::SUCCESS);
        let made = capi::hipGraphInstantiate(&mut executable, graph, none, ptr::null_mut(), 0);
        assert_eq!([made, capi::hipGraphDestroy(graph)], [HipError::SUCCESS; 2]);
    }
    executable
}

/// A simulated device of each architecture that there are kernels for.
pub(crate) fn devices() -> Vec<Device> {
    hk_ref::devices_of(parity::kernels()).unwrap()
}
