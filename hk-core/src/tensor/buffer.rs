//! Device memory that is given back in the order of the stream it came from.

use std::sync::{Mutex, PoisonError};

use crate::hip::Hip;
use crate::{Result, Stream};

/// An allocation. It is freed in stream order, so that dropping it while launched work still uses
/// it is sound.
pub(crate) struct Buffer {
    address: u64,
    /// The stream that allocated it, and will free it.
    home: Stream,
    /// Other streams to which tensors in it were moved.
    visited: Mutex<Vec<Stream>>,
}

impl Buffer {
    pub(crate) fn new(stream: &Stream, bytes: usize) -> Result<Self> {
        let hip = stream.device().bind()?;
        let address = if bytes == 0 { 0 } else { hip.allocate(bytes, stream.raw())? };
        Ok(Self { address, home: stream.clone(), visited: Mutex::default() })
    }

    /// Address of its first byte; 0 if it is empty.
    pub(crate) fn address(&self) -> u64 {
        self.address
    }

    /// Notes that work on another stream may use it from now on.
    pub(crate) fn visit(&self, stream: &Stream) {
        let mut visited = self.visited.lock().unwrap_or_else(PoisonError::into_inner);
        if *stream != self.home && !visited.contains(stream) {
            visited.push(stream.clone());
        }
    }

    fn release(&mut self) -> Result<()> {
        let hip: &Hip = self.home.device().bind()?;
        for stream in self.visited.get_mut().unwrap_or_else(PoisonError::into_inner) {
            self.home.wait(&stream.record()?)?;
        }
        // SAFETY: the address came from `allocate`, this is the only place that frees it, and all
        // work on it is ordered before: that of the home stream by itself, the others' by the
        // events above.
        unsafe { hip.free(self.address, self.home.raw()) }
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        if self.address != 0
            && let Err(error) = self.release()
        {
            tracing::warn!(%error, "device memory could not be freed");
        }
    }
}
