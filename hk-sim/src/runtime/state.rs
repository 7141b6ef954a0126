//! What the process and each thread know: devices, handles, current device, last error.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::ffi::c_void;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use hk_types::FaultReport;

use super::capture::{Capture, CaptureMode};
use super::device::{Device, Devices};
use super::error::{HipError, HipResult};
use super::event::Event;
use super::graph::{Executable, Graph, NodeRef};
use super::launch::Shape;
use super::module::{Function, Module};
use super::node_memory::NodeMemories;
use super::order::Order;
use super::pool::Pool;
use super::stream::{Failure, Marker, Stream, StreamKind};
use super::user_object::UserObject;
use crate::mem::Memory;
use crate::product::Product;
use crate::sanitize::{Checks, Kind, Options};

/// Objects that the program holds by opaque pointers.
pub(crate) struct HandleTable<T>(Mutex<HashMap<usize, Arc<T>>>);

impl<T> HandleTable<T> {
    fn new() -> Self {
        Self(Mutex::new(HashMap::new()))
    }

    fn table(&self) -> MutexGuard<'_, HashMap<usize, Arc<T>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Handle of a new object: an address that nothing else has while the object lives.
    pub(crate) fn insert(&self, object: Arc<T>) -> *mut c_void {
        let handle = Arc::as_ptr(&object).cast_mut().cast();
        self.table().insert(handle as usize, object);
        handle
    }

    /// The object, if the handle is one.
    pub(crate) fn get(&self, handle: *const c_void) -> Option<Arc<T>> {
        self.table().get(&(handle as usize)).cloned()
    }

    /// Forgets the handle.
    pub(crate) fn remove(&self, handle: *const c_void) -> Option<Arc<T>> {
        self.table().remove(&(handle as usize))
    }

    /// Forgets the handles of all objects that `drop` holds for.
    pub(crate) fn remove_where(&self, drop: impl Fn(&T) -> bool) {
        self.table().retain(|_, object| !drop(object));
    }
}

impl HandleTable<Function> {
    /// Handle of a kernel, the same at each call.
    pub(crate) fn insert_unique(&self, function: Function) -> *mut c_void {
        let known = self.table().values().find(|known| ***known == function).cloned();
        self.insert(known.unwrap_or_else(|| Arc::new(function)))
    }
}

/// State of the process.
pub(crate) struct Runtime {
    pub(crate) devices: Devices,
    pub(crate) streams: HandleTable<Stream>,
    pub(crate) events: HandleTable<Event>,
    pub(crate) modules: HandleTable<Module>,
    pub(crate) functions: HandleTable<Function>,
    pub(crate) graphs: HandleTable<Mutex<Graph>>,
    pub(crate) nodes: HandleTable<NodeRef>,
    pub(crate) executables: HandleTable<Executable>,
    pub(crate) pools: HandleTable<Pool>,
    pub(crate) user_objects: HandleTable<UserObject>,
    pub(crate) node_memories: NodeMemories,
    /// Captures that are going on.
    captures: Mutex<Vec<Arc<Capture>>>,
    /// The order of operations, where races are looked for.
    order: Mutex<Option<Arc<Order>>>,
    options: Mutex<Options>,
    /// Where launches are captured.
    capture_folder: Mutex<Option<PathBuf>>,
    /// Whether launches are timed by the model.
    timing: AtomicBool,
}

/// The runtime, initialised by whoever asks first.
pub(crate) fn runtime() -> &'static Runtime {
    static RUNTIME: OnceLock<Runtime> = OnceLock::new();
    RUNTIME.get_or_init(|| {
        let options = crate::environment::options();
        watch(options.sanitize);
        Runtime {
            devices: Devices::from_environment(),
            streams: HandleTable::new(),
            events: HandleTable::new(),
            modules: HandleTable::new(),
            functions: HandleTable::new(),
            graphs: HandleTable::new(),
            nodes: HandleTable::new(),
            executables: HandleTable::new(),
            pools: HandleTable::new(),
            user_objects: HandleTable::new(),
            node_memories: NodeMemories::default(),
            captures: Mutex::default(),
            order: Mutex::new(options.sanitize.has(Kind::Race).then(Arc::default)),
            options: Mutex::new(options),
            capture_folder: Mutex::new(capture_folder_from_environment()),
            timing: AtomicBool::new(crate::environment::timing()),
        }
    })
}

/// The memory of all devices.
pub(crate) fn memory() -> &'static Memory {
    static MEMORY: OnceLock<Memory> = OnceLock::new();
    MEMORY.get_or_init(Memory::new)
}

/// Prepares the memory for checks.
fn watch(checks: Checks) {
    let written = checks.has(Kind::Memory);
    memory().watch(written, written || checks.has(Kind::Race));
}

/// How launches are executed from now on.
///
/// Initially from `HIPKITTENS_SIM_THREADS`, `HIPKITTENS_SIM_SEED`, `HIPKITTENS_SIM_SLICE`,
/// `HIPKITTENS_SIM_ROUGH`, `HIPKITTENS_SIM_PATIENCE`, `HIPKITTENS_SIM_MAX_INSTRUCTIONS` and
/// `HIPKITTENS_SANITIZE`. What the sanitizer knows of memory begins when the check `memory` is turned on,
/// and of earlier operations, when `race` is.
pub fn set_options(options: impl Into<Options>) {
    let options = options.into();
    watch(options.sanitize);
    runtime().follow_order(options.sanitize.has(Kind::Race));
    *runtime().lock_options() = options;
}

/// Whether launches are timed from now on by the model that [`trace::set_model`](crate::trace::set_model)
/// gave, so that events are of its time. They are executed as without, more slowly. Initially as
/// `HIPKITTENS_SIM_TIMING` says.
///
/// Work goes on in a stream when what it waits for has ended, and what the host submits begins when what
/// the host has waited for has ended. Launches take the time of the model, nodes of graphs one after the
/// other; copies, fills and functions of the host take none.
pub fn set_timing(on: bool) {
    runtime().timing.store(on, Ordering::Relaxed);
}

/// The folder into which launches are captured from now on, or none. Initially that of
/// `HIPKITTENS_CAPTURE`.
pub fn set_capture(folder: Option<&Path>) {
    *runtime().capture_folder.lock().unwrap_or_else(PoisonError::into_inner) =
        folder.map(Path::to_owned);
}

fn capture_folder_from_environment() -> Option<PathBuf> {
    std::env::var_os("HIPKITTENS_CAPTURE").filter(|path| !path.is_empty()).map(PathBuf::from)
}

/// How launches are executed.
pub fn options() -> Options {
    runtime().options()
}

/// Ordinal of the first visible device of a product, such as `mi355x`; the product is made
/// visible, behind the others, if it is not. `None` for an unknown product.
pub fn device_ordinal(product: &str) -> Option<i32> {
    let ordinal = runtime().devices.ordinal_of(Product::by_name(product)?);
    i32::try_from(ordinal).ok()
}

/// Report of the kernel fault behind the last error that this thread got from a synchronising
/// call.
pub fn last_fault() -> Option<FaultReport> {
    LAST_FAULT.with_borrow(|fault| fault.as_deref().cloned())
}

/// What the last refused module or launch of this thread was refused for, where the error code
/// alone does not tell.
pub fn last_message() -> Option<String> {
    LAST_MESSAGE.with_borrow(Clone::clone)
}

thread_local! {
    static CURRENT: Cell<usize> = const { Cell::new(0) };
    static LAST_ERROR: Cell<HipError> = const { Cell::new(HipError::SUCCESS) };
    static LAST_RESULT: Cell<HipError> = const { Cell::new(HipError::SUCCESS) };
    static LAST_FAULT: RefCell<Option<Arc<FaultReport>>> = const { RefCell::new(None) };
    static LAST_MESSAGE: RefCell<Option<String>> = const { RefCell::new(None) };
    static CALLS: RefCell<Vec<(Shape, *mut c_void)>> = const { RefCell::new(Vec::new()) };
    static STREAMS: RefCell<HashMap<usize, Arc<Stream>>> = RefCell::new(HashMap::new());
    static CAPTURE_MODE: Cell<CaptureMode> = const { Cell::new(CaptureMode::Global) };
}

/// Handles of the null stream and of the stream of the calling thread.
const STREAM_LEGACY: usize = 1;
const STREAM_PER_THREAD: usize = 2;

impl Runtime {
    fn lock_options(&self) -> MutexGuard<'_, Options> {
        self.options.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Where launches are captured.
    pub(crate) fn capture_folder(&self) -> Option<PathBuf> {
        self.capture_folder.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn options(&self) -> Options {
        self.lock_options().clone()
    }

    /// Whether launches are timed by the model.
    pub(crate) fn is_timing(&self) -> bool {
        self.timing.load(Ordering::Relaxed)
    }

    /// The order of operations, where races are looked for.
    pub(crate) fn order(&self) -> Option<Arc<Order>> {
        self.order.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn follow_order(&self, on: bool) {
        let mut order = self.order.lock().unwrap_or_else(PoisonError::into_inner);
        *order = if on { order.take().or_else(|| Some(Arc::default())) } else { None };
    }

    /// Device by the ordinal of the C API.
    pub(crate) fn device(&self, ordinal: i32) -> HipResult<Arc<Device>> {
        let device = usize::try_from(ordinal).ok().and_then(|ordinal| self.devices.get(ordinal));
        device.ok_or(HipError::INVALID_DEVICE)
    }

    /// Stream of a handle; null and the predefined handles mean streams of the current device.
    pub(crate) fn stream(&self, handle: *const c_void) -> HipResult<Arc<Stream>> {
        match handle as usize {
            0 | STREAM_LEGACY => Ok(Arc::clone(current_device()?.null_stream())),
            STREAM_PER_THREAD => {
                let device = current_device()?;
                Ok(STREAMS.with_borrow_mut(|streams| {
                    let create = || device.new_stream(StreamKind::Blocking, 0, 0);
                    Arc::clone(streams.entry(device.ordinal).or_insert_with(create))
                }))
            }
            _ => self.streams.get(handle).ok_or(HipError::CONTEXT_IS_DESTROYED),
        }
    }

    pub(crate) fn event(&self, handle: *const c_void) -> HipResult<Arc<Event>> {
        self.events.get(handle).ok_or(HipError::INVALID_HANDLE)
    }

    /// Waits for everything on a device and reports the first failure.
    pub(crate) fn synchronize_device(&self, device: &Device) -> HipResult {
        raise(device.finish())
    }

    /// The end of a stream, and those of what the null stream is ordered with.
    pub(crate) fn ends(&self, stream: &Stream) -> HipResult<Vec<Marker>> {
        let mut ends = vec![stream.marker()];
        if stream.kind == StreamKind::Null {
            let device = self.devices.get(stream.device).ok_or(HipError::INVALID_DEVICE)?;
            ends.extend(device.blocking_ends());
        }
        Ok(ends)
    }

    /// Waits for a stream, and for what it is ordered with, and reports the first failure.
    pub(crate) fn synchronize_stream(&self, stream: &Stream) -> HipResult {
        let ends = self.ends(stream)?;
        ends.iter().for_each(Marker::wait);
        raise(ends.iter().map(Marker::take_failure))
    }

    pub(crate) fn add_capture(&self, capture: Arc<Capture>) {
        self.captures.lock().unwrap_or_else(PoisonError::into_inner).push(capture);
    }

    pub(crate) fn remove_capture(&self, id: u64) {
        let mut captures = self.captures.lock().unwrap_or_else(PoisonError::into_inner);
        captures.retain(|capture| capture.id != id);
    }

    /// Refuses, while a capture forbids it, a call that a graph could not hold; the capture is
    /// lost then.
    pub(crate) fn refuse_during_capture(&self) -> HipResult {
        let captures = self.captures.lock().unwrap_or_else(PoisonError::into_inner);
        let own = std::thread::current().id();
        let mut refused = false;
        for capture in captures.iter() {
            let forbidden = match (capture_mode(), capture.mode) {
                (CaptureMode::Relaxed, _) | (_, CaptureMode::Relaxed) => false,
                (CaptureMode::Global, CaptureMode::Global) => true,
                _ => capture.thread == own,
            };
            if forbidden {
                capture.invalidate();
                refused = true;
            }
        }
        if refused { Err(HipError::STREAM_CAPTURE_UNSUPPORTED) } else { Ok(()) }
    }
}

/// The error of the first failure, whose report becomes the last fault of this thread.
pub(crate) fn raise(failures: impl IntoIterator<Item = Option<Failure>>) -> HipResult {
    // All are taken: one synchronising call reports once whatever happened before it.
    let failures: Vec<_> = failures.into_iter().flatten().collect();
    let Some(first) = failures.into_iter().next() else { return Ok(()) };
    LAST_FAULT.set(first.report);
    Err(first.error)
}

/// Ordinal of the calling thread's device.
pub(crate) fn current_ordinal() -> usize {
    CURRENT.get()
}

/// The calling thread's device.
pub(crate) fn current_device() -> HipResult<Arc<Device>> {
    runtime().devices.get(CURRENT.get()).ok_or(HipError::NO_DEVICE)
}

pub(crate) fn set_current(ordinal: usize) {
    CURRENT.set(ordinal);
}

/// Remembers how a call ended for `hipExtGetLastError`, and an error until it is read for
/// `hipGetLastError`. (`hipErrorNotReady` is an answer, not an error.)
pub(crate) fn note_result(result: HipError) {
    LAST_RESULT.set(result);
    if result != HipError::SUCCESS && result != HipError::NOT_READY {
        LAST_ERROR.set(result);
    }
}

pub(crate) fn last_error() -> HipError {
    LAST_ERROR.get()
}

pub(crate) fn take_error() -> HipError {
    LAST_ERROR.replace(HipError::SUCCESS)
}

/// How the last call ended.
pub(crate) fn take_result() -> HipError {
    LAST_RESULT.replace(HipError::SUCCESS)
}

pub(crate) fn set_message(message: String) {
    LAST_MESSAGE.set(Some(message));
}

/// Launch configurations of `<<<...>>>` between push and pop.
pub(crate) fn push_call(shape: Shape, stream: *mut c_void) {
    CALLS.with_borrow_mut(|calls| calls.push((shape, stream)));
}

pub(crate) fn pop_call() -> Option<(Shape, *mut c_void)> {
    CALLS.with_borrow_mut(Vec::pop)
}

pub(crate) fn capture_mode() -> CaptureMode {
    CAPTURE_MODE.get()
}

pub(crate) fn set_capture_mode(mode: CaptureMode) {
    CAPTURE_MODE.set(mode);
}
