//! Device memory that is given back in the order of the stream it came from.

use std::any::Any;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::allocator::Allocation;
use crate::hip::RawStream;
use crate::order::Ledger;
use crate::{Result, Stream};

/// Memory of tensors. It is given back in stream order, so that dropping it while launched work still
/// uses it is sound.
pub(crate) struct Buffer {
    address: u64,
    memory: Mutex<Option<Memory>>,
    /// The stream in whose order it is given back.
    home: Stream,
    ledger: Mutex<Ledger>,
}

/// What there is to give back.
enum Memory {
    Own(Allocation),
    /// Whatever keeps memory of others alive.
    Foreign(Box<dyn Any + Send>),
}

impl Buffer {
    pub(crate) fn new(op: &'static str, stream: &Stream, bytes: usize) -> Result<Self> {
        if bytes == 0 {
            return Ok(Self::of(0, None, stream));
        }
        let allocation = Allocation::new(op, stream, bytes)?;
        Ok(Self::of(allocation.address(), Some(Memory::Own(allocation)), stream))
    }

    /// Memory that `owner` keeps alive.
    pub(crate) fn foreign(stream: &Stream, address: u64, owner: Box<dyn Any + Send>) -> Self {
        Self::of(address, Some(Memory::Foreign(owner)), stream)
    }

    fn of(address: u64, memory: Option<Memory>, home: &Stream) -> Self {
        let (memory, ledger) = (Mutex::new(memory), Mutex::default());
        Self { address, memory, home: home.clone(), ledger }
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

impl Drop for Buffer {
    fn drop(&mut self) {
        let memory = self.memory.get_mut().unwrap_or_else(PoisonError::into_inner);
        let Some(memory) = memory.take() else { return };
        let home = self.home.clone();
        let ledger = std::mem::take(&mut *self.ledger());
        let queue = Arc::clone(home.queue());
        give_back(&queue, ledger, move |queue| {
            // Until then the stream is given work.
            let _home = home;
            match memory {
                Memory::Own(allocation) => allocation.free(queue),
                Memory::Foreign(owner) => {
                    drop(owner);
                    Ok(())
                }
            }
        });
    }
}

/// Calls `release` once the later work of a stream comes after all uses of the memory: now, or, if
/// that cannot be said now, when other memory is asked for.
pub(crate) fn give_back(
    home: &Arc<RawStream>,
    ledger: Ledger,
    release: impl FnOnce(&Arc<RawStream>) -> Result<()> + Send + 'static,
) {
    let (queue, mut release) = (Arc::clone(home), Some(release));
    home.hip().retire(move || {
        let Some(_entered) = queue.enter() else { return false };
        let result = wait_for_uses(&queue, &ledger).and_then(|waited| {
            let release = if waited { release.take() } else { None };
            release.map_or(Ok(()), |release| release(&queue)).map(|()| waited)
        });
        result.unwrap_or_else(|error| {
            tracing::warn!(%error, "device memory could not be freed");
            true
        })
    });
}

/// Lets later work of a stream wait for all uses; false if it cannot, because a stream is being
/// captured: what it was given before has no event, and freeing must not become a part of a graph.
fn wait_for_uses(queue: &Arc<RawStream>, ledger: &Ledger) -> Result<bool> {
    if queue.is_capturing()? {
        return Ok(false);
    }
    let Some(ends) = ledger.ends(queue)? else { return Ok(false) };
    for end in &ends {
        queue.wait(end)?;
    }
    Ok(true)
}
