//! The HIP runtime: one table of entry points, and each call turned into a `Result`.
//!
//! Everything above this module is written against [`Hip`] and cannot tell a GPU from the
//! simulator.

/// Calls an entry point and turns a failure into an error that names it.
macro_rules! call {
    ($hip:expr, $name:ident($($arg:expr),* $(,)?)) => {{
        let hip: &Hip = $hip;
        // SAFETY: the table's pointers are the functions of these names, whose contracts the
        // caller of this macro meets: handles are live, memory ranges are owned.
        let status = unsafe { (hip.table.$name)($($arg),*) };
        hip.check(stringify!($name), status)
    }};
}

mod gate;
mod graph;
mod memory;
mod queue;
mod sys;
mod table;

use std::collections::BTreeMap;
use std::ffi::{CStr, CString, c_int, c_void};
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError, Weak};

pub(crate) use gate::{Entered, Gate};
pub(crate) use graph::{RawCapture, RawGraph};
pub(crate) use memory::Pattern;
pub(crate) use queue::{Past, RawEvent, RawStream, note_stream};
pub(crate) use sys::Handle;
use table::Table;

use crate::{Error, HipVersion, Result};

/// Oldest HIP release that serves.
const OLDEST: HipVersion = HipVersion(50_000_000);

/// An implementation of the HIP API, loaded once and never unloaded.
pub(crate) struct Hip {
    table: Table,
    /// The library's path, or `None` for the embedded simulator.
    path: Option<PathBuf>,
    /// Start and length of every live allocation of ours, on all devices.
    allocations: Mutex<BTreeMap<u64, usize>>,
    /// What is to be given back as soon as the device does not need it any more.
    retired: Mutex<Vec<Attempt>>,
    /// Streams in whose order memory is freed, since somebody last waited for it.
    freeing: Mutex<Vec<Weak<RawStream>>>,
}

/// Tries to give something back; whether that is settled.
type Attempt = Box<dyn FnMut() -> bool + Send>;

/// A HIP library while a certain device is the current one of this thread. Afterwards it is the
/// caller's own again.
pub(crate) struct Bound {
    hip: &'static Hip,
    callers: Option<c_int>,
}

impl Deref for Bound {
    type Target = Hip;

    fn deref(&self) -> &Hip {
        self.hip
    }
}

impl Drop for Bound {
    fn drop(&mut self) {
        if let Some(device) = self.callers
            && let Err(error) = self.hip.set_device(device)
        {
            tracing::warn!(%error, "the caller's current device could not be restored");
        }
    }
}

/// What `hipGetDeviceProperties` tells of a device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Properties {
    pub(crate) name: String,
    pub(crate) target: String,
    pub(crate) memory_bytes: u64,
    pub(crate) compute_units: u32,
    pub(crate) clock_khz: u32,
}

impl Hip {
    /// The system's HIP library.
    pub(crate) fn library() -> Result<&'static Self> {
        static LIBRARY: OnceLock<Hip> = OnceLock::new();
        if let Some(hip) = LIBRARY.get() {
            return Ok(hip);
        }
        let candidates = table::candidates(|name| std::env::var_os(name), table::loaded());
        let (table, path) = table::open(&candidates)?;
        let hip = Self::new(table, Some(path))?;
        Ok(LIBRARY.get_or_init(|| hip))
    }

    /// The embedded simulator.
    #[cfg(feature = "sim")]
    pub(crate) fn simulator() -> Result<&'static Self> {
        static SIMULATOR: OnceLock<Hip> = OnceLock::new();
        if let Some(hip) = SIMULATOR.get() {
            return Ok(hip);
        }
        // Launches are captured here, where their arguments have names and types.
        hk_sim::set_capture(None);
        let hip = Self::new(Table::simulator(), None)?;
        Ok(SIMULATOR.get_or_init(|| hip))
    }

    fn new(table: Table, path: Option<PathBuf>) -> Result<Self> {
        let hip = Self {
            table,
            path,
            allocations: Mutex::default(),
            retired: Mutex::default(),
            freeing: Mutex::default(),
        };
        let found = hip.version()?;
        if found < OLDEST {
            let library = hip.path.unwrap_or_else(|| "the simulator".into());
            return Err(Error::Version { library, found, required: OLDEST });
        }
        Ok(hip)
    }

    /// Where it was loaded from; `None` for the embedded simulator.
    pub(crate) fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// The older of the runtime's and the driver's version.
    pub(crate) fn version(&self) -> Result<HipVersion> {
        let (mut runtime, mut driver) = (0, 0);
        call!(self, hipRuntimeGetVersion(&mut runtime))?;
        call!(self, hipDriverGetVersion(&mut driver))?;
        Ok(HipVersion(runtime.min(driver)))
    }

    fn check(&self, call: &'static str, status: sys::Status) -> Result<()> {
        if status == sys::SUCCESS { Ok(()) } else { Err(self.failure(call, status)) }
    }

    #[cold]
    fn failure(&self, call: &'static str, status: sys::Status) -> Error {
        // SAFETY: clears the thread's sticky error, so that other users of the runtime do not meet
        // one that has been reported here; it has no arguments.
        unsafe { (self.table.hipGetLastError)() };
        #[cfg(feature = "sim")]
        if self.path.is_none()
            && sys::KERNEL_FAULTS.contains(&status)
            && let Some(report) = hk_sim::last_fault()
        {
            return Error::Fault(Box::new(report));
        }
        // SAFETY: both functions take any code.
        let texts = unsafe { [(self.table.error_name)(status), (self.table.error_string)(status)] };
        let [name, text] = texts.map(|text| {
            // SAFETY: HIP returns a static, NUL-terminated string, or null.
            let text = (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) });
            text.map(|text| text.to_string_lossy().into_owned()).unwrap_or_default()
        });
        Error::Hip { call, code: status, name: format!("{name}: {text}") }
    }

    pub(crate) fn device_count(&self) -> Result<i32> {
        let mut count = 0;
        call!(self, hipGetDeviceCount(&mut count))?;
        Ok(count)
    }

    /// Makes a device the current one of this thread, as the calls below expect, for a while.
    pub(crate) fn bind(&'static self, ordinal: i32) -> Result<Bound> {
        let mut current = ordinal;
        call!(self, hipGetDevice(&mut current))?;
        let callers = (current != ordinal).then_some(current);
        if callers.is_some() {
            self.set_device(ordinal)?;
        }
        Ok(Bound { hip: self, callers })
    }

    fn set_device(&self, ordinal: c_int) -> Result<()> {
        call!(self, hipSetDevice(ordinal))
    }

    /// Makes a call that HIP refuses while a stream is being captured, of which it would spoil the
    /// capture, in case it was meant for the graph. Ours are not.
    fn outside_captures<R>(&self, call: impl FnOnce() -> R) -> R {
        let mut mode = sys::STREAM_CAPTURE_RELAXED;
        let exchanged = call!(self, hipThreadExchangeStreamCaptureMode(&mut mode));
        let result = call();
        // Now the mode that was found is put back.
        let restored =
            exchanged.and_then(|()| call!(self, hipThreadExchangeStreamCaptureMode(&mut mode)));
        if let Err(error) = restored {
            tracing::warn!(%error, "the thread's capture mode could not be changed");
        }
        result
    }

    /// Calls `attempt`, now and later, until it says that what it is to give back is settled. It
    /// must not block.
    pub(crate) fn retire(&self, mut attempt: impl FnMut() -> bool + Send + 'static) {
        if !attempt() {
            self.retired().push(Box::new(attempt));
        }
    }

    /// Calls `release`, now or later, when all that these streams have been given is done.
    pub(crate) fn retire_after(
        &self,
        streams: Vec<Weak<RawStream>>,
        release: impl FnOnce() + Send + 'static,
    ) {
        let mut work: Vec<_> = streams.into_iter().map(Past::of).collect();
        let mut release = Some(release);
        self.retire(move || {
            work.retain_mut(|past| !past.is_done());
            let done = work.is_empty();
            if done && let Some(release) = release.take() {
                release();
            }
            done
        });
    }

    /// Gives back what was retired, as far as that is possible now.
    pub(crate) fn sweep(&self) {
        // Attempts run without the lock, as one may retire something else.
        let mut attempts = std::mem::take(&mut *self.retired());
        attempts.retain_mut(|attempt| !attempt());
        self.retired().append(&mut attempts);
    }

    fn retired(&self) -> MutexGuard<'_, Vec<Attempt>> {
        // Each update is one call of the list, so a panic elsewhere cannot leave it half done.
        self.retired.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn properties(&self, ordinal: i32) -> Result<Properties> {
        // Words, because the struct is aligned to eight bytes.
        let mut words = [0u64; sys::PROPERTIES_BYTES / 8];
        // SAFETY: the buffer is larger than either layout of the struct.
        let status =
            unsafe { (self.table.properties)(words.as_mut_ptr().cast::<c_void>(), ordinal) };
        self.check("hipGetDeviceProperties", status)?;
        let bytes: &[u8] = bytemuck::cast_slice(&words);
        let layout = self.table.properties_layout;
        let text = |at: usize| {
            let field = &bytes[at..at + sys::PROPERTIES_NAME_BYTES];
            let end = field.iter().position(|byte| *byte == 0).unwrap_or(field.len());
            String::from_utf8_lossy(&field[..end]).into_owned()
        };
        let word = |at: usize| bytemuck::pod_read_unaligned::<u32>(&bytes[at..at + 4]);
        let long = |at: usize| bytemuck::pod_read_unaligned::<u64>(&bytes[at..at + 8]);
        Ok(Properties {
            name: text(0),
            target: text(layout.arch_name),
            memory_bytes: long(layout.total_memory),
            compute_units: word(layout.compute_units),
            clock_khz: word(layout.clock_khz),
        })
    }

    pub(crate) fn create_stream(&self) -> Result<Handle> {
        let mut stream = std::ptr::null_mut();
        self.outside_captures(|| {
            call!(self, hipStreamCreateWithFlags(&mut stream, sys::STREAM_NON_BLOCKING))
        })?;
        Ok(stream)
    }

    fn destroy_stream(&self, stream: Handle) -> Result<()> {
        self.outside_captures(|| call!(self, hipStreamDestroy(stream)))
    }

    pub(crate) fn synchronize_stream(&self, stream: Handle) -> Result<()> {
        self.outside_captures(|| call!(self, hipStreamSynchronize(stream)))
    }

    /// Whether the stream's work is captured in a graph at present.
    fn is_capturing(&self, stream: Handle) -> Result<bool> {
        let mut status = sys::STREAM_CAPTURE_NONE;
        call!(self, hipStreamIsCapturing(stream, &mut status))?;
        Ok(status != sys::STREAM_CAPTURE_NONE)
    }

    /// The number of the capture that the stream's work is part of at present, and its graph.
    fn capture(&self, stream: Handle) -> Result<Option<(u64, Handle)>> {
        let (mut status, mut id) = (sys::STREAM_CAPTURE_NONE, 0);
        let (mut graph, mut nodes, mut count) = (std::ptr::null_mut(), std::ptr::null(), 0);
        call!(
            self,
            hipStreamGetCaptureInfo_v2(
                stream,
                &mut status,
                &mut id,
                &mut graph,
                &mut nodes,
                &mut count
            )
        )?;
        Ok((status == sys::STREAM_CAPTURE_ACTIVE).then_some((id, graph)))
    }

    /// Calls `attempt` as [`retire`](Self::retire) does, once a graph, what was made of it and the
    /// work of these are gone; never, if this release of HIP does not tell.
    pub(crate) fn retire_with_graph(
        &'static self,
        graph: Handle,
        attempt: impl FnMut() -> bool + Send + 'static,
    ) -> Result<()> {
        /// It may call nothing of HIP, so nothing is attempted yet.
        unsafe extern "C" fn end(data: *mut c_void) {
            // SAFETY: `data` is the box below, and this is called once.
            let ended = unsafe { Box::from_raw(data.cast::<(&'static Hip, Attempt)>()) };
            let (hip, attempt) = *ended;
            hip.retired().push(attempt);
        }

        let Some(optional) = self.table.optional else { return Ok(()) };
        let attempt: (&'static Self, Attempt) = (self, Box::new(attempt));
        let data = Box::into_raw(Box::new(attempt)).cast::<c_void>();
        let (flags, mut object) = (sys::USER_OBJECT_NO_DESTRUCTOR_SYNC, std::ptr::null_mut());
        // SAFETY: `end` takes the box.
        let status =
            unsafe { (optional.hipUserObjectCreate)(&mut object, data, Some(end), 1, flags) };
        if let Err(error) = self.check("hipUserObjectCreate", status) {
            // SAFETY: nobody else has it.
            drop(unsafe { Box::from_raw(data.cast::<(&'static Self, Attempt)>()) });
            return Err(error);
        }
        let flags = sys::GRAPH_USER_OBJECT_MOVE;
        // SAFETY: the graph is live, and the object has one reference.
        let status = unsafe { (optional.hipGraphRetainUserObject)(graph, object, 1, flags) };
        self.check("hipGraphRetainUserObject", status)
    }

    /// Whether all work of the stream is done.
    pub(crate) fn is_stream_idle(&self, stream: Handle) -> Result<bool> {
        match self.outside_captures(|| call!(self, hipStreamQuery(stream))) {
            Ok(()) => Ok(true),
            Err(Error::Hip { code: sys::ERROR_NOT_READY, .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn wait_event(&self, stream: Handle, event: Handle) -> Result<()> {
        call!(self, hipStreamWaitEvent(stream, event, 0))
    }

    /// Creates an event, with times or without.
    fn create_event(&self, timed: bool) -> Result<Handle> {
        let mut event = std::ptr::null_mut();
        let flags = if timed { 0 } else { sys::EVENT_DISABLE_TIMING };
        call!(self, hipEventCreateWithFlags(&mut event, flags))?;
        Ok(event)
    }

    fn destroy_event(&self, event: Handle) -> Result<()> {
        call!(self, hipEventDestroy(event))
    }

    fn record_event(&self, event: Handle, stream: Handle) -> Result<()> {
        call!(self, hipEventRecord(event, stream))
    }

    fn synchronize_event(&self, event: Handle) -> Result<()> {
        self.outside_captures(|| call!(self, hipEventSynchronize(event)))
    }

    /// Whether the device has reached the event.
    fn is_event_done(&self, event: Handle) -> Result<bool> {
        match self.outside_captures(|| call!(self, hipEventQuery(event))) {
            Ok(()) => Ok(true),
            Err(Error::Hip { code: sys::ERROR_NOT_READY, .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Milliseconds between two events.
    fn elapsed_ms(&self, start: Handle, stop: Handle) -> Result<f32> {
        let mut ms = 0.0;
        call!(self, hipEventElapsedTime(&mut ms, start, stop))?;
        Ok(ms)
    }

    pub(crate) fn synchronize_device(&self) -> Result<()> {
        self.outside_captures(|| call!(self, hipDeviceSynchronize()))
    }

    /// Loads a code object on the current device. Its bytes should live as long as the module:
    /// releases of HIP differ in whether they copy them.
    pub(crate) fn load_module(&self, image: &[u8]) -> Result<Handle> {
        let mut module = std::ptr::null_mut();
        let bytes = image.as_ptr().cast::<c_void>();
        self.outside_captures(|| call!(self, hipModuleLoadData(&mut module, bytes)))?;
        Ok(module)
    }

    pub(crate) fn unload_module(&self, module: Handle) -> Result<()> {
        self.outside_captures(|| call!(self, hipModuleUnload(module)))
    }

    pub(crate) fn function(&self, module: Handle, name: &str) -> Result<Handle> {
        let name = CString::new(name)
            .map_err(|_| Error::CodeObject { reason: "a kernel name holds NUL".into() })?;
        let mut function = std::ptr::null_mut();
        call!(self, hipModuleGetFunction(&mut function, module, name.as_ptr()))?;
        Ok(function)
    }

    /// Workgroups of that size and dynamic LDS that a compute unit can hold.
    pub(crate) fn occupancy(&self, function: Handle, block: u32, lds: u32) -> Result<u32> {
        let mut blocks = 0;
        let block = block.cast_signed();
        call!(
            self,
            hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(
                &mut blocks,
                function,
                block,
                lds as usize
            )
        )?;
        Ok(blocks.max(0).cast_unsigned())
    }

    /// Launches a kernel with its explicit arguments as bytes.
    ///
    /// # Safety
    /// The bytes are arguments with which the kernel, in that grid, only accesses memory that is
    /// allocated until the launch has run.
    pub(crate) unsafe fn launch(
        &self,
        function: Handle,
        grid: [u32; 3],
        block: [u32; 3],
        dynamic_lds: u32,
        kernarg: &[u8],
        stream: Handle,
    ) -> Result<()> {
        let mut bytes = kernarg.len();
        let mut extra = [
            sys::LAUNCH_PARAM_BUFFER_POINTER,
            kernarg.as_ptr().cast_mut().cast::<c_void>(),
            sys::LAUNCH_PARAM_BUFFER_SIZE,
            (&raw mut bytes).cast::<c_void>(),
            sys::LAUNCH_PARAM_END,
        ];
        call!(
            self,
            hipModuleLaunchKernel(
                function,
                grid[0],
                grid[1],
                grid[2],
                block[0],
                block[1],
                block[2],
                dynamic_lds,
                stream,
                std::ptr::null_mut(),
                extra.as_mut_ptr()
            )
        )
    }
}

#[cfg(all(test, feature = "sim"))]
mod tests;
