//! Memory that the launches of an op hand to each other.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::allocator::Allocation;
use crate::hip::RawStream;
use crate::order::Ledger;
use crate::tensor::give_back;
use crate::{Result, Stream};

/// Alignment of each piece of a workspace, in bytes.
pub(crate) const ALIGNMENT: usize = 256;

/// Memory of a stream or of a graph, which calls use one after another.
pub(crate) struct Workspace {
    address: u64,
    bytes: usize,
    /// What is to be freed, and the stream in whose order; none if a graph has it.
    own: Option<(Allocation, Arc<RawStream>)>,
    turn: Mutex<()>,
}

impl Workspace {
    pub(crate) fn address(&self) -> u64 {
        self.address
    }

    /// To be held while a call launches on the stream: of two threads, one is to launch all of its
    /// call before the other. What earlier calls left does not count as written.
    pub(crate) fn turn(&self, stream: &Stream) -> MutexGuard<'_, ()> {
        let turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        // The handle of a default stream is that of the current device.
        #[cfg(feature = "sim")]
        if stream.device().is_simulated()
            && let Ok(_bound) = stream.queue().bind()
        {
            hk_sim::forget_contents(stream.raw(), self.address, self.bytes as u64);
        }
        #[cfg(not(feature = "sim"))]
        let _ = stream;
        turn
    }
}

impl Drop for Workspace {
    fn drop(&mut self) {
        let Some((allocation, home)) = self.own.take() else { return };
        give_back(&home, Ledger::default(), |queue| allocation.free(queue));
    }
}

/// The workspaces of a stream.
#[derive(Default)]
pub(crate) struct Workspaces {
    own: Option<Arc<Workspace>>,
    /// That of the graph which is, or was last, captured on the stream, with the capture's number.
    captured: Option<(u64, Arc<Workspace>)>,
}

impl Stream {
    /// Makes the workspace that ops on this stream use at least so large, which they otherwise do
    /// when they need it: [`op::dry_run`](crate::op::dry_run) tells how much that is. A workspace is
    /// kept until the stream, with all that is on it, is dropped, or a larger one takes its place.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory), [`Error::Hip`](crate::Error::Hip).
    pub fn reserve_workspace(&self, bytes: usize) -> Result<()> {
        self.workspace("Stream::reserve_workspace", bytes).map(drop)
    }

    /// Memory of at least so many bytes that only work of this stream uses; or only the graph that
    /// the stream is being captured in, which may run at any time and on other streams: its
    /// workspace is freed with it, or never where HIP is older than 5.3.
    pub(crate) fn workspace(&self, op: &'static str, bytes: usize) -> Result<Arc<Workspace>> {
        let bytes = bytes.next_multiple_of(ALIGNMENT).max(ALIGNMENT);
        let _entered = self.enter(op)?;
        let capture = self.queue().capture()?;
        let mut kept = self.workspaces();
        let fits = |workspace: &&Arc<Workspace>| workspace.bytes >= bytes;
        let found = match capture {
            None => kept.own.as_ref().filter(fits),
            Some((id, _)) => {
                let of_graph = kept.captured.as_ref().filter(|(graph, _)| *graph == id);
                of_graph.map(|(_, workspace)| workspace).filter(fits)
            }
        };
        if let Some(workspace) = found {
            return Ok(Arc::clone(workspace));
        }
        let (address, own) = match capture {
            None => {
                let allocation = Allocation::new(op, self, bytes)?;
                (allocation.address(), Some((allocation, Arc::clone(self.queue()))))
            }
            Some((_, graph)) => (Allocation::for_graph(self, bytes, graph)?, None),
        };
        let workspace = Arc::new(Workspace { address, bytes, own, turn: Mutex::default() });
        match capture {
            None => kept.own = Some(Arc::clone(&workspace)),
            Some((id, _)) => kept.captured = Some((id, Arc::clone(&workspace))),
        }
        Ok(workspace)
    }
}
