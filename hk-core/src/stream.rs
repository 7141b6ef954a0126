//! Streams of ordered work, and events that mark points in them.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::hip::{Entered, RawEvent, RawStream};
use crate::workspace::Workspaces;
use crate::{Device, Error, Result};

/// A queue of work on a device, done in the order in which it was given. Cheap to clone.
///
/// Streams run beside each other, but work that uses the same tensors is done in the order in which
/// it was given: see [`submit`](Self::submit).
#[derive(Clone)]
pub struct Stream {
    device: Device,
    open: Arc<OpenStream>,
}

/// A stream that can be given work. It is destroyed when nobody can any more and its work is done.
pub(crate) struct OpenStream {
    raw: Arc<RawStream>,
    workspaces: Mutex<Workspaces>,
}

impl OpenStream {
    pub(crate) fn new(raw: Arc<RawStream>) -> Arc<Self> {
        Arc::new(Self { raw, workspaces: Mutex::default() })
    }
}

impl Drop for OpenStream {
    fn drop(&mut self) {
        // Before the end that `close` notes.
        drop(std::mem::take(&mut self.workspaces));
        Arc::clone(&self.raw).close();
    }
}

impl Stream {
    pub(crate) fn new(device: &Device, open: Arc<OpenStream>) -> Self {
        Self { device: device.clone(), open }
    }

    /// Uses a `hipStream_t` that other code created and will destroy.
    ///
    /// # Safety
    /// The handle is a stream of that device, of the same HIP library, and the same for all threads
    /// (not `hipStreamPerThread`). It outlives this stream and the tensors on it. While this stream, or
    /// another one of the same handle, is [captured](Self::capture), nobody gives work to others of it.
    pub unsafe fn from_raw(device: &Device, raw: *mut std::ffi::c_void) -> Self {
        let raw = RawStream::foreign(device.hip(), device.ordinal(), raw);
        Self::new(device, OpenStream::new(raw))
    }

    pub(crate) fn queue(&self) -> &Arc<RawStream> {
        &self.open.raw
    }

    pub(crate) fn workspaces(&self) -> MutexGuard<'_, Workspaces> {
        // Each update is one assignment, so a panic elsewhere cannot leave it half done.
        self.open.workspaces.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// To be held while it is asked whether it is captured, and given work.
    pub(crate) fn enter(&self, op: &'static str) -> Result<Entered<'_>> {
        let why = "another thread cannot give it work";
        self.queue().enter().ok_or(Error::StreamCapture { op, why })
    }

    /// The device whose queue it is.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Waits until all of its work is done.
    ///
    /// # Errors
    /// [`Error::Fault`] or [`Error::Hip`] if any of that
    /// work failed.
    pub fn synchronize(&self) -> Result<()> {
        let hip = self.queue().bind()?;
        hip.sweep();
        hip.synchronize_stream(self.raw())
    }

    /// Whether all of its work is done.
    ///
    /// # Errors
    /// As [`synchronize`](Self::synchronize).
    pub fn is_idle(&self) -> Result<bool> {
        self.queue().bind()?.is_stream_idle(self.raw())
    }

    /// Whether its work is being captured in a graph instead of being done.
    ///
    /// # Errors
    /// [`Error::Hip`] if HIP cannot tell.
    pub fn is_capturing(&self) -> Result<bool> {
        self.queue().is_capturing()
    }

    /// Marks this point of the stream.
    ///
    /// # Errors
    /// [`Error::Hip`] if HIP cannot create or record the event, [`Error::StreamCapture`] while the stream
    /// is [captured](Self::capture).
    pub fn record(&self) -> Result<Event> {
        let event = Event::new(self.device())?;
        event.record(self)?;
        Ok(event)
    }

    /// Lets later work of this stream begin only after the event, which may be another device's of
    /// the same HIP library.
    ///
    /// # Errors
    /// [`Error::Device`] if the event is of another library, [`Error::StreamCapture`] while the stream is
    /// [captured](Self::capture), [`Error::Hip`] if HIP refuses.
    pub fn wait(&self, event: &Event) -> Result<()> {
        if !std::ptr::eq(self.device.hip(), event.device.hip()) {
            return Err(between_devices("Stream::wait", &self.device, &event.device));
        }
        let entered = self.enter("Stream::wait")?;
        if entered.is_captured() {
            let why = "an event outside of the graph cannot be waited for";
            return Err(Error::StreamCapture { op: "Stream::wait", why });
        }
        self.queue().wait(&event.raw)
    }

    /// Its `hipStream_t`, for other code that uses HIP; null for the default stream.
    pub fn raw(&self) -> *mut std::ffi::c_void {
        self.queue().handle()
    }
}

impl PartialEq for Stream {
    fn eq(&self, other: &Self) -> bool {
        self.queue().is(other.queue())
    }
}

impl Eq for Stream {}

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stream").field("device", self.device()).field("raw", &self.raw()).finish()
    }
}

/// A point in a stream, with the time at which the device reached it.
///
/// ```
/// use hk_core::Device;
/// let stream = Device::open("sim:mi325x")?.default_stream();
/// let (start, stop) = (stream.record()?, stream.record()?);
/// println!("{:?}", start.elapsed(&stop)?);
/// # Ok::<(), hk_core::Error>(())
/// ```
pub struct Event {
    device: Device,
    raw: RawEvent,
}

impl Event {
    /// Creates an event that marks nothing yet.
    ///
    /// # Errors
    /// [`Error::Hip`] if HIP cannot create it.
    pub fn new(device: &Device) -> Result<Self> {
        let raw = RawEvent::new(device.hip(), device.ordinal(), true)?;
        Ok(Self { device: device.clone(), raw })
    }

    /// Uses a `hipEvent_t` that other code created and will destroy.
    ///
    /// # Safety
    /// The handle is an event of that device, of the same HIP library. It outlives this event.
    pub unsafe fn from_raw(device: &Device, raw: *mut std::ffi::c_void) -> Self {
        let raw = RawEvent::foreign(device.hip(), device.ordinal(), raw);
        Self { device: device.clone(), raw }
    }

    /// Its `hipEvent_t`, for other code that uses HIP.
    pub fn raw(&self) -> *mut std::ffi::c_void {
        self.raw.handle()
    }

    /// Marks the present end of a stream, in place of what it marked before.
    ///
    /// # Errors
    /// [`Error::Device`] if the stream is another device's, [`Error::StreamCapture`] while it is
    /// [captured](Stream::capture), [`Error::Hip`] if HIP refuses.
    pub fn record(&self, stream: &Stream) -> Result<()> {
        if self.device != stream.device {
            return Err(between_devices("Event::record", &self.device, &stream.device));
        }
        let entered = stream.enter("Event::record")?;
        if entered.is_captured() {
            // Streams that wait for it would be captured, too.
            let why = "an event cannot be recorded";
            return Err(Error::StreamCapture { op: "Event::record", why });
        }
        self.raw.record(stream.queue())
    }

    /// Waits until the device has reached it.
    ///
    /// # Errors
    /// As [`Stream::synchronize`].
    pub fn synchronize(&self) -> Result<()> {
        self.raw.synchronize()
    }

    /// Waits for `later` and returns the time between the two. On simulated devices it is that of a model
    /// if `HIPKITTENS_SIM_TIMING=1` is set and the program has called `hk_timing::install()`, else that of
    /// the host's clock, which says nothing of a GPU.
    ///
    /// # Errors
    /// [`Error::Device`] if they are of different devices, whose clocks are not one; else as
    /// [`Stream::synchronize`], and [`Error::Hip`] if either was not recorded, or the model has
    /// no time for what is between them.
    pub fn elapsed(&self, later: &Self) -> Result<Duration> {
        if self.device != later.device {
            return Err(between_devices("Event::elapsed", &self.device, &later.device));
        }
        later.synchronize()?;
        let ms = self.raw.elapsed_ms(&later.raw)?;
        Ok(Duration::try_from_secs_f64(f64::from(ms) / 1e3).unwrap_or_default())
    }
}

fn between_devices(op: &'static str, own: &Device, other: &Device) -> Error {
    Error::Device { op, a: format!("self on {own}"), b: format!("the other on {other}") }
}

impl fmt::Debug for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Event")
            .field("device", &self.device)
            .field("raw", &self.raw.handle())
            .finish()
    }
}
