//! Memory of graphs' allocation nodes. Its address is fixed when the node is added; it is there
//! from where a launch of the graph comes to the node until where something frees it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use super::device::Device;
use super::error::{HipError, HipResult};
use super::order::{What, whole};
use super::stream::{Failure, Job, Worker};
use super::{memory, runtime};
use crate::mem::{Allocation, MemoryError, Pin, Region, RegionKind, Request, Reserved};

/// The memory of an allocation node.
pub(crate) struct NodeMemory {
    reserved: Reserved,
    /// Access of devices that the program asked for, as `hipMemAccessDesc` lays it out.
    pub(crate) access: Box<[[i32; 3]]>,
}

impl NodeMemory {
    /// Finds a place for memory of a device.
    pub(crate) fn new(device: &Device, len: u64, access: Box<[[i32; 3]]>) -> HipResult<Arc<Self>> {
        let (kind, ordinal) = (RegionKind::Device, device.ordinal);
        let request = Request { len, kind, device: ordinal, flags: 0, managed: false };
        let reserved = memory().reserve(request, device.product.memory_bytes);
        let reserved = reserved.map_err(|error| match error {
            MemoryError::OutOfMemory { .. } => HipError::OUT_OF_MEMORY,
            _ => HipError::INVALID_VALUE,
        })?;
        let made = Arc::new(Self { reserved, access });
        runtime().node_memories.insert(&made);
        Ok(made)
    }

    pub(crate) fn allocation(&self) -> Allocation {
        self.reserved.allocation()
    }

    pub(crate) fn region(&self) -> Region {
        self.allocation().region
    }

    pub(crate) fn pin(&self) -> Pin {
        self.reserved.pin()
    }

    /// Fails work that needs the memory where it is not there.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        let there = memory().find(self.region().base).map(|found| found.region.serial);
        if there == Some(self.region().serial) {
            return Ok(());
        }
        Err(Failure { error: HipError::ILLEGAL_ADDRESS, report: None })
    }

    /// Makes the memory be there.
    pub(crate) fn allocate(self: Arc<Self>) -> Job {
        Arc::new(move |worker| {
            let fail = |error| Failure { error, report: None };
            let device = runtime().devices.get(self.allocation().device);
            let device = device.ok_or(fail(HipError::INVALID_DEVICE))?;
            let mapped = memory().map(&self.reserved, device.product.memory_bytes);
            mapped.map_err(|error| match error {
                MemoryError::OutOfMemory { .. } => fail(HipError::OUT_OF_MEMORY),
                _ => fail(HipError::ILLEGAL_STATE),
            })?;
            device.graph_pool().add(self.region().base);
            worker.touch(|| (What::Allocate, [whole(self.region())]))
        })
    }
}

impl Drop for NodeMemory {
    fn drop(&mut self) {
        runtime().node_memories.remove(self.region().base);
    }
}

/// Frees memory once a stream gets there.
pub(crate) fn free_job(region: Region) -> Job {
    Arc::new(move |worker: &mut Worker<'_>| {
        let in_order = worker.touch(|| (What::Free, [whole(region)]));
        // A second free of the same memory that was queued before this one finds nothing.
        let _ = memory().free(region.base);
        in_order
    })
}

/// The memory of all allocation nodes by address.
#[derive(Default)]
pub(crate) struct NodeMemories(Mutex<BTreeMap<u64, Known>>);

struct Known {
    memory: Weak<NodeMemory>,
    /// The memory, from the call that launches its node to the one that frees it: in the order of
    /// calls, and even if the graph goes away meanwhile.
    live: Option<Arc<NodeMemory>>,
}

impl NodeMemories {
    fn known(&self) -> MutexGuard<'_, BTreeMap<u64, Known>> {
        // No change stops half way.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn insert(&self, memory: &Arc<NodeMemory>) {
        let known = Known { memory: Arc::downgrade(memory), live: None };
        self.known().insert(memory.region().base, known);
    }

    fn remove(&self, base: u64) {
        self.known().remove(&base);
    }

    /// The memory that contains an address.
    pub(crate) fn at(&self, address: u64) -> Option<Arc<NodeMemory>> {
        // Looked at without the lock: if it is the last reference, the memory goes.
        let below =
            self.known().range(..=address).next_back().map(|(_, known)| known.memory.clone());
        let found = below?.upgrade()?;
        let region = found.region();
        (address - region.base < region.len).then_some(found)
    }

    /// The memory that starts at an address.
    pub(crate) fn starting_at(&self, address: u64) -> Option<Arc<NodeMemory>> {
        self.at(address).filter(|found| found.region().base == address)
    }

    /// Whether the memory has been launched and not freed.
    pub(crate) fn is_live(&self, memory: &NodeMemory) -> bool {
        self.known().get(&memory.region().base).is_some_and(|known| known.live.is_some())
    }

    /// Notes that the memory has been launched, or freed.
    pub(crate) fn set_live(&self, memory: &Arc<NodeMemory>, live: bool) {
        // The caller's reference stays, so this drops none that is the last.
        let mut known = self.known();
        let Some(found) = known.get_mut(&memory.region().base) else { return };
        found.live = live.then(|| Arc::clone(memory));
    }

    /// Notes that all memory of a device has been freed.
    pub(crate) fn free_all(&self, device: usize) {
        let is_there = |memory: &Arc<NodeMemory>| memory.allocation().device == device;
        let freed: Vec<_> = self
            .known()
            .values_mut()
            .filter_map(|known| known.live.take_if(|m| is_there(m)))
            .collect();
        // Without the lock: some of them may be the last references.
        drop(freed);
    }
}
