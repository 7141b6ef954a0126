//! Streams of ordered work, and events that mark points in them.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::hip::Handle;
use crate::{Device, Result};

/// A queue of work on a device, done in the order in which it was given. Cheap to clone.
#[derive(Clone)]
pub struct Stream {
    inner: Arc<StreamInner>,
}

struct StreamInner {
    device: Device,
    raw: Handle,
    owned: bool,
}

// SAFETY: HIP streams may be used from any thread; the handle itself is never dereferenced here.
unsafe impl Send for StreamInner {}
// SAFETY: as above.
unsafe impl Sync for StreamInner {}

impl Drop for StreamInner {
    fn drop(&mut self) {
        if self.owned
            && let Err(error) = self.device.bind().and_then(|hip| hip.destroy_stream(self.raw))
        {
            tracing::warn!(%error, "a stream could not be destroyed");
        }
    }
}

impl Stream {
    pub(crate) fn default_of(device: &Device) -> Self {
        Self::wrap(device, std::ptr::null_mut(), false)
    }

    pub(crate) fn new(device: &Device) -> Result<Self> {
        let raw = device.bind()?.create_stream()?;
        Ok(Self::wrap(device, raw, true))
    }

    /// Uses a `hipStream_t` that other code created and will destroy.
    ///
    /// # Safety
    /// The handle is a stream of that device, of the same HIP library, and outlives this stream and
    /// the tensors on it.
    pub unsafe fn from_raw(device: &Device, raw: *mut std::ffi::c_void) -> Self {
        Self::wrap(device, raw, false)
    }

    fn wrap(device: &Device, raw: Handle, owned: bool) -> Self {
        Self { inner: Arc::new(StreamInner { device: device.clone(), raw, owned }) }
    }

    /// The device whose queue it is.
    pub fn device(&self) -> &Device {
        &self.inner.device
    }

    /// Waits until all of its work is done.
    ///
    /// # Errors
    /// [`Error::Fault`](crate::Error::Fault) or [`Error::Hip`](crate::Error::Hip) if any of that
    /// work failed.
    pub fn synchronize(&self) -> Result<()> {
        self.device().bind()?.synchronize_stream(self.raw())
    }

    /// Whether all of its work is done.
    ///
    /// # Errors
    /// As [`synchronize`](Self::synchronize).
    pub fn is_idle(&self) -> Result<bool> {
        self.device().bind()?.is_stream_idle(self.raw())
    }

    /// Marks this point of the stream.
    ///
    /// # Errors
    /// [`Error::Hip`](crate::Error::Hip) if HIP cannot create or record the event.
    pub fn record(&self) -> Result<Event> {
        let event = Event::new(self.device())?;
        event.record(self)?;
        Ok(event)
    }

    /// Lets later work of this stream begin only after the event.
    ///
    /// # Errors
    /// [`Error::Hip`](crate::Error::Hip) if HIP refuses.
    pub fn wait(&self, event: &Event) -> Result<()> {
        self.device().bind()?.wait_event(self.raw(), event.raw)
    }

    /// Its `hipStream_t`, for other code that uses HIP; null for the default stream.
    pub fn raw(&self) -> *mut std::ffi::c_void {
        self.inner.raw
    }
}

impl PartialEq for Stream {
    fn eq(&self, other: &Self) -> bool {
        self.raw() == other.raw() && self.device() == other.device()
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
    raw: Handle,
}

// SAFETY: HIP events may be used from any thread; the handle itself is never dereferenced here.
unsafe impl Send for Event {}
// SAFETY: as above.
unsafe impl Sync for Event {}

impl Drop for Event {
    fn drop(&mut self) {
        if let Err(error) = self.device.bind().and_then(|hip| hip.destroy_event(self.raw)) {
            tracing::warn!(%error, "an event could not be destroyed");
        }
    }
}

impl Event {
    /// Creates an event that marks nothing yet.
    ///
    /// # Errors
    /// [`Error::Hip`](crate::Error::Hip) if HIP cannot create it.
    pub fn new(device: &Device) -> Result<Self> {
        let raw = device.bind()?.create_event()?;
        Ok(Self { device: device.clone(), raw })
    }

    /// Marks the present end of a stream, in place of what it marked before.
    ///
    /// # Errors
    /// [`Error::Hip`](crate::Error::Hip) if HIP refuses.
    pub fn record(&self, stream: &Stream) -> Result<()> {
        self.device.bind()?.record_event(self.raw, stream.raw())
    }

    /// Waits until the device has reached it.
    ///
    /// # Errors
    /// As [`Stream::synchronize`].
    pub fn synchronize(&self) -> Result<()> {
        self.device.bind()?.synchronize_event(self.raw)
    }

    /// Waits for `later` and returns the time between the two.
    ///
    /// # Errors
    /// As [`Stream::synchronize`], and [`Error::Hip`](crate::Error::Hip) if either was not
    /// recorded.
    pub fn elapsed(&self, later: &Self) -> Result<Duration> {
        later.synchronize()?;
        let ms = self.device.bind()?.elapsed_ms(self.raw, later.raw)?;
        Ok(Duration::try_from_secs_f64(f64::from(ms) / 1e3).unwrap_or_default())
    }
}

impl fmt::Debug for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Event").field("device", &self.device).field("raw", &self.raw).finish()
    }
}
