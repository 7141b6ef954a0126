//! Device memory that is given back in the order of the stream it came from.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::hip::RawStream;
use crate::order::Ledger;
use crate::{Error, Result, Stream};

/// An allocation. It is freed in stream order, so that dropping it while launched work still uses
/// it is sound.
pub(crate) struct Buffer {
    address: u64,
    /// The stream that allocated it, and will free it.
    home: Stream,
    ledger: Mutex<Ledger>,
}

impl Buffer {
    pub(crate) fn new(op: &'static str, stream: &Stream, bytes: usize) -> Result<Self> {
        let address = if bytes == 0 { 0 } else { allocate(op, stream, bytes)? };
        Ok(Self { address, home: stream.clone(), ledger: Mutex::default() })
    }

    /// Address of its first byte; 0 if it is empty.
    pub(crate) fn address(&self) -> u64 {
        self.address
    }

    pub(crate) fn home(&self) -> &Stream {
        &self.home
    }

    /// What its next use may have to wait for.
    pub(crate) fn ledger(&self) -> MutexGuard<'_, Ledger> {
        // Each update is complete or leaves out a use of work that panicked before it launched.
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Allocates in stream order, waiting for what is still to be freed if there is no other memory.
pub(crate) fn allocate(op: &'static str, stream: &Stream, bytes: usize) -> Result<u64> {
    if stream.queue().is_capturing()? {
        return Err(Error::StreamCapture { op, why: "memory cannot be allocated" });
    }
    let hip = stream.queue().bind()?;
    hip.sweep();
    if let Some(address) = hip.allocate(bytes, stream.raw())? {
        return Ok(address);
    }
    // Some may be free as soon as streams get to where it was dropped.
    hip.wait_for_frees(stream.device().ordinal());
    match hip.allocate(bytes, stream.raw())? {
        Some(address) => Ok(address),
        None => Err(Error::OutOfMemory { requested: bytes, free: hip.memory()?.0 }),
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        if self.address == 0 {
            return;
        }
        let (address, home) = (self.address, self.home.clone());
        let ledger = std::mem::take(&mut *self.ledger());
        self.home.device().hip().retire(move || free(address, home.queue(), &ledger));
    }
}

/// Frees memory once all uses are done; false if that cannot be said now, because a stream is being
/// captured: what it was given before has no event, and freeing must not become a part of a graph.
pub(crate) fn free(address: u64, queue: &Arc<RawStream>, ledger: &Ledger) -> bool {
    try_free(address, queue, ledger).unwrap_or_else(|error| {
        tracing::warn!(%error, "device memory could not be freed");
        true
    })
}

fn try_free(address: u64, queue: &Arc<RawStream>, ledger: &Ledger) -> Result<bool> {
    if queue.is_capturing()? {
        return Ok(false);
    }
    let Some(ends) = ledger.ends(queue)? else { return Ok(false) };
    for end in &ends {
        queue.wait(end)?;
    }
    // SAFETY: the address came from `allocate`, only the one owner that was dropped frees it, and
    // all work on it is ordered before: that of the home stream by itself, the others' by the
    // events above.
    unsafe { queue.bind()?.free(address, queue) }?;
    Ok(true)
}
