//! What is known to be complete: vector clocks with one number per stream.

use std::collections::BTreeMap;
use std::sync::Arc;

/// An operation: its stream, or the host, and its number there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Stamp {
    pub(crate) lane: u32,
    pub(crate) number: u64,
}

/// Number of the last operation that is known to be complete, for each lane. Copies share memory
/// until one of them changes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Clock(Arc<BTreeMap<u32, u64>>);

impl Clock {
    /// Whether the operation is complete.
    pub(super) fn knows(&self, stamp: Stamp) -> bool {
        self.0.get(&stamp.lane).is_some_and(|number| *number >= stamp.number)
    }

    /// Adds an operation and those before it in its lane; tells whether that was news.
    pub(super) fn add(&mut self, stamp: Stamp) -> bool {
        let news = !self.knows(stamp);
        if news {
            Arc::make_mut(&mut self.0).insert(stamp.lane, stamp.number);
        }
        news
    }

    /// Adds what another clock knows; tells whether there was news.
    pub(super) fn join(&mut self, other: &Self) -> bool {
        if Arc::ptr_eq(&self.0, &other.0) {
            return false;
        }
        let mut news = false;
        for (&lane, &number) in other.0.iter() {
            news |= self.add(Stamp { lane, number });
        }
        news
    }
}
