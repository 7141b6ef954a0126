//! Simulated devices and which of them are visible.

use std::sync::atomic::{AtomicI32, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock, Weak};

use super::pool::Pool;
use super::stream::{Failure, Marker, Stream, StreamKind};
use crate::environment;
use crate::product::Product;

/// One simulated accelerator.
pub(crate) struct Device {
    pub(crate) ordinal: usize,
    pub(crate) product: &'static Product,
    null_stream: OnceLock<Arc<Stream>>,
    /// Streams that programs created, and per-thread streams.
    streams: Mutex<Vec<Weak<Stream>>>,
    /// How many there ever were.
    created: AtomicU32,
    /// Ends of destroyed streams that may still have work.
    retired: Mutex<Vec<(StreamKind, Marker)>>,
    default_pool: OnceLock<Arc<Pool>>,
    /// Accounts of the memory of graphs.
    graph_pool: OnceLock<Arc<Pool>>,
    /// Pool that took the place of the default one.
    chosen_pool: Mutex<Option<Arc<Pool>>>,
    /// `hipSetDeviceFlags`.
    pub(crate) flags: AtomicU32,
    /// Retained primary contexts.
    pub(crate) primary_context: AtomicI32,
    pub(crate) stack_limit: AtomicU64,
    pub(crate) heap_limit: AtomicU64,
}

impl Device {
    fn new(ordinal: usize, product: &'static Product) -> Self {
        Self {
            ordinal,
            product,
            null_stream: OnceLock::new(),
            streams: Mutex::default(),
            created: AtomicU32::new(0),
            retired: Mutex::default(),
            default_pool: OnceLock::new(),
            graph_pool: OnceLock::new(),
            chosen_pool: Mutex::default(),
            flags: AtomicU32::new(0),
            primary_context: AtomicI32::new(0),
            stack_limit: AtomicU64::new(1024),
            heap_limit: AtomicU64::new(4 << 20),
        }
    }

    /// The null stream.
    pub(crate) fn null_stream(&self) -> &Arc<Stream> {
        let create = || Arc::new(Stream::new(self.ordinal, StreamKind::Null, 0, 0, 0));
        self.null_stream.get_or_init(create)
    }

    /// The pool that the device starts with.
    pub(crate) fn default_pool(&self) -> &Arc<Pool> {
        self.default_pool.get_or_init(|| Arc::new(Pool::new(self.ordinal)))
    }

    /// The pool that the memory of graphs comes from.
    pub(crate) fn graph_pool(&self) -> &Arc<Pool> {
        self.graph_pool.get_or_init(|| Arc::new(Pool::new(self.ordinal)))
    }

    /// The pool that stream-ordered allocations come from.
    pub(crate) fn pool(&self) -> Arc<Pool> {
        let chosen = self.chosen_pool.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(chosen.as_ref().unwrap_or_else(|| self.default_pool()))
    }

    /// Chooses that pool; `None` for the default one.
    pub(crate) fn set_pool(&self, pool: Option<Arc<Pool>>) {
        *self.chosen_pool.lock().unwrap_or_else(PoisonError::into_inner) = pool;
    }

    /// Creates a stream on the device.
    pub(crate) fn new_stream(&self, kind: StreamKind, flags: u32, priority: i32) -> Arc<Stream> {
        let number = self.created.fetch_add(1, Ordering::Relaxed) + 1;
        let stream = Arc::new(Stream::new(self.ordinal, kind, flags, priority, number));
        let mut streams = self.streams.lock().unwrap_or_else(PoisonError::into_inner);
        streams.retain(|other| other.strong_count() > 0);
        streams.push(Arc::downgrade(&stream));
        stream
    }

    /// Remembers the end of a stream that is being destroyed.
    pub(crate) fn retire(&self, kind: StreamKind, end: Marker) {
        let mut retired = self.retired.lock().unwrap_or_else(PoisonError::into_inner);
        retired.retain(|(_, end)| !end.is_over());
        retired.push((kind, end));
    }

    /// The ends of all streams of the device. Those of destroyed streams are forgotten once they
    /// are done and `collect` is set.
    fn ends(&self, collect: bool) -> Vec<Marker> {
        let mut retired = self.retired.lock().unwrap_or_else(PoisonError::into_inner);
        let mut ends: Vec<_> = retired.iter().map(|(_, end)| end.clone()).collect();
        if collect {
            retired.retain(|(_, end)| !end.is_done());
        }
        drop(retired);
        let streams = self.streams.lock().unwrap_or_else(PoisonError::into_inner);
        ends.extend(streams.iter().filter_map(Weak::upgrade).map(|stream| stream.marker()));
        ends.extend(self.null_stream.get().map(|stream| stream.marker()));
        ends
    }

    /// Waits for all work of the device; failures stay for a call that reports them.
    pub(crate) fn wait(&self) {
        self.ends(false).iter().for_each(Marker::wait);
    }

    /// Waits for all work of the device and takes the failures.
    pub(crate) fn finish(&self) -> Vec<Option<Failure>> {
        self.wait();
        self.ends(true).iter().map(Marker::take_failure).collect()
    }

    /// What work that is submitted to `stream` now has to wait for on other streams, by the rules
    /// of the legacy null stream.
    pub(crate) fn implicit_order(&self, stream: &Stream) -> Vec<Marker> {
        match stream.kind {
            StreamKind::NonBlocking => Vec::new(),
            StreamKind::Blocking => {
                self.null_stream.get().map(|null| null.marker()).into_iter().collect()
            }
            StreamKind::Null => self.blocking_ends(),
        }
    }

    /// The ends of the streams that are ordered with the null stream, destroyed ones included.
    pub(crate) fn blocking_ends(&self) -> Vec<Marker> {
        let retired = self.retired.lock().unwrap_or_else(PoisonError::into_inner);
        let blocking = retired.iter().filter(|(kind, _)| *kind == StreamKind::Blocking);
        let mut ends: Vec<_> = blocking.map(|(_, end)| end.clone()).collect();
        drop(retired);
        ends.extend(self.blocking_streams().map(|stream| stream.marker()));
        ends
    }

    /// Streams that are ordered with the null stream.
    pub(crate) fn blocking_streams(&self) -> impl Iterator<Item = Arc<Stream>> {
        let streams = self.streams.lock().unwrap_or_else(PoisonError::into_inner);
        let streams: Vec<_> = streams.iter().filter_map(Weak::upgrade).collect();
        streams.into_iter().filter(|stream| stream.kind == StreamKind::Blocking)
    }
}

/// The visible devices by ordinal. Devices are appended, never removed.
pub(crate) struct Devices(RwLock<Vec<Arc<Device>>>);

impl Devices {
    /// The devices that the environment asks for.
    pub(crate) fn from_environment() -> Self {
        let devices = environment::devices().into_iter().enumerate();
        Self(RwLock::new(
            devices.map(|(ordinal, product)| Arc::new(Device::new(ordinal, product))).collect(),
        ))
    }

    pub(crate) fn len(&self) -> usize {
        self.0.read().unwrap_or_else(PoisonError::into_inner).len()
    }

    pub(crate) fn get(&self, ordinal: usize) -> Option<Arc<Device>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).get(ordinal).cloned()
    }

    pub(crate) fn all(&self) -> Vec<Arc<Device>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Ordinal of the first device of that product, which is made visible if it is not.
    pub(crate) fn ordinal_of(&self, product: &'static Product) -> usize {
        let mut devices = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = devices.iter().find(|device| device.product == product) {
            return known.ordinal;
        }
        let ordinal = devices.len();
        devices.push(Arc::new(Device::new(ordinal, product)));
        ordinal
    }
}
