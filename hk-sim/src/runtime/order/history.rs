//! Who accessed which bytes of an allocation, as far as it can still matter.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::clock::Clock;
use super::{Operation, View};
use crate::mem::Region;
use crate::sanitize::{Footprint, Span};

/// Spans that are kept without a look at which can go.
const FEW: usize = 1 << 12;
/// Most spans that are kept: of a program that never synchronises, the oldest are forgotten.
const MAX_KEPT: usize = 1 << 21;

/// Two operations that nothing orders.
#[derive(Debug)]
pub(crate) struct Conflict {
    /// The one that was noted before.
    pub(super) earlier: Arc<Operation>,
    /// First byte that both access.
    pub(super) address: u64,
    pub(super) region: Region,
    /// What the two do there: the operation that is being noted, and the earlier one.
    pub(super) spans: (Span, Span),
}

struct Entry {
    operation: Arc<Operation>,
    footprint: Footprint,
    /// Number of the entry.
    age: u64,
}

/// What operations did with each allocation.
#[derive(Default)]
pub(super) struct History {
    /// By the serial number of the allocation.
    entries: HashMap<u64, Vec<Entry>>,
    /// Freed allocations by their first address.
    freed: BTreeMap<u64, Region>,
    next_age: u64,
    /// Spans that were added and not removed since the last look at all, and when to look again.
    size: usize,
    limit: usize,
}

impl History {
    /// Notes what an operation does with an allocation. Nothing that comes after the operation was
    /// noted before it, so one direction is to be looked at.
    pub(super) fn note(
        &mut self,
        operation: &Arc<Operation>,
        view: &View<'_>,
        region: Region,
        footprint: Footprint,
        conflicts: &mut Vec<Conflict>,
    ) {
        let entries = self.entries.entry(region.serial).or_default();
        for entry in entries.iter_mut() {
            if view.after(&entry.operation) {
                entry.footprint.supersede(&footprint);
            } else if let Some((address, mine, theirs)) = footprint.conflict(&entry.footprint) {
                let earlier = Arc::clone(&entry.operation);
                conflicts.push(Conflict { earlier, address, region, spans: (mine, theirs) });
            }
        }
        entries.retain(|entry| !entry.footprint.is_empty());
        self.size += footprint.spans().len();
        let operation = Arc::clone(operation);
        entries.push(Entry { operation, footprint, age: self.next_age });
        self.next_age += 1;
    }

    /// Remembers where a freed allocation was.
    pub(super) fn note_freed(&mut self, region: Region) {
        self.freed.insert(region.base, region);
    }

    /// The allocation that was at an address until it was freed.
    pub(super) fn freed_at(&self, address: u64) -> Option<Region> {
        let (_, region) = self.freed.range(..=address).next_back()?;
        (address - region.base < region.mapped).then_some(*region)
    }

    /// Forgets, now and then, what everything to come is ordered after.
    pub(super) fn prune(&mut self, known: &Clock) {
        if self.size <= self.limit.max(FEW) {
            return;
        }
        self.retain(|entry| !known.knows(entry.operation.stamp));
        if self.size > MAX_KEPT {
            let mut ages: Vec<u64> = self.all().map(|entry| entry.age).collect();
            ages.sort_unstable();
            let middle = ages.get(ages.len() / 2).copied().unwrap_or(0);
            self.retain(|entry| entry.age > middle);
        }
        self.limit = 2 * self.size;
    }

    fn all(&self) -> impl Iterator<Item = &Entry> {
        self.entries.values().flatten()
    }

    fn retain(&mut self, keep: impl Fn(&Entry) -> bool) {
        self.entries.retain(|_, entries| {
            entries.retain(&keep);
            !entries.is_empty()
        });
        self.freed.retain(|_, region| self.entries.contains_key(&region.serial));
        self.size = self.all().map(|entry| entry.footprint.spans().len()).sum();
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.all().count()
    }
}
