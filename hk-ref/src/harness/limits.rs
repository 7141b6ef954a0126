//! What a case may do to memory.

use std::collections::BTreeMap;

use hk_sim::counters::Counters;

/// What a case may do on a simulated device: what is only slower than it should be is wrong, too.
#[derive(Clone, Copy, Default)]
pub(super) struct Limits {
    /// Whether no byte may be written twice.
    pub(super) writes_once: bool,
}

impl Limits {
    pub(super) fn any(self) -> bool {
        self.writes_once
    }

    /// Tells how one is exceeded.
    pub(super) fn complain_of(self, counters: &BTreeMap<String, Counters>) -> Option<String> {
        let twice = |of: &&Counters| of.written_bytes > of.distinct_written_bytes;
        let of = counters.values().find(twice).filter(|_| self.writes_once)?;
        let Counters { written_bytes, distinct_written_bytes, .. } = of;
        Some(format!("wrote {written_bytes} bytes, of which {distinct_written_bytes} are distinct"))
    }
}
