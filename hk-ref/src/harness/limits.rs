//! What a case may do to memory.

use std::collections::BTreeMap;

use hk_sim::counters::Counters;

/// What a case may do on a simulated device: what is only slower than it should be is wrong, too.
/// Of several launches, all together.
#[derive(Clone, Copy, Default)]
pub(super) struct Limits {
    /// Vector memory instructions of waves.
    pub(super) accesses: Option<u64>,
    /// Bytes that they read.
    pub(super) read: Option<u64>,
    /// Whether no byte may be written twice.
    pub(super) writes_once: bool,
}

impl Limits {
    pub(super) fn any(self) -> bool {
        self.writes_once || self.accesses.is_some() || self.read.is_some()
    }

    /// Tells how one is exceeded.
    pub(super) fn complain_of(self, counters: &BTreeMap<String, Counters>) -> Option<String> {
        let mut all = Counters::default();
        counters.values().for_each(|of| all.add(of));
        let exceeds = |got: u64, most: Option<u64>| Some((got, most.filter(|most| got > *most)?));
        if let Some((got, most)) = exceeds(all.read_bytes - all.scalar_read_bytes, self.read) {
            return Some(format!("vector memory instructions read {got} bytes, where {most} do"));
        }
        if let Some((got, most)) = exceeds(all.instructions.vector_memory, self.accesses) {
            return Some(format!("{got} vector memory instructions, where {most} do"));
        }
        // A later launch may write what an earlier one has written.
        let twice = |of: &&Counters| of.written_bytes > of.distinct_written_bytes;
        let of = counters.values().find(twice).filter(|_| self.writes_once)?;
        let Counters { written_bytes, distinct_written_bytes, .. } = of;
        Some(format!("wrote {written_bytes} bytes, of which {distinct_written_bytes} are distinct"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What two kernels did: 3 and 5 vector memory instructions, which read 40 and 60 bytes.
    fn counted() -> BTreeMap<String, Counters> {
        let kernel = |name: &str, accesses: u64, read: u64| {
            let mut of =
                Counters { read_bytes: read + 8, scalar_read_bytes: 8, ..Counters::default() };
            of.instructions.vector_memory = accesses;
            (of.written_bytes, of.distinct_written_bytes) = (16, 16);
            (name.to_owned(), of)
        };
        BTreeMap::from([kernel("a", 3, 40), kernel("b", 5, 60)])
    }

    #[test]
    fn what_is_within_its_limits_is_not_complained_of() {
        let limits = Limits { accesses: Some(8), read: Some(100), writes_once: true };
        assert_eq!(limits.complain_of(&counted()), None);
        assert!(limits.any() && !Limits::default().any());
    }

    #[test]
    fn an_access_too_many_is_complained_of() {
        let limits = Limits { accesses: Some(7), ..Limits::default() };
        let complaint = limits.complain_of(&counted()).unwrap();
        assert_eq!(complaint, "8 vector memory instructions, where 7 do");
        assert!(limits.any());
    }

    #[test]
    fn a_byte_read_too_many_is_complained_of() {
        let limits = Limits { read: Some(99), ..Limits::default() };
        let complaint = limits.complain_of(&counted()).unwrap();
        assert_eq!(complaint, "vector memory instructions read 100 bytes, where 99 do");
        assert!(limits.any());
    }

    #[test]
    fn a_byte_written_twice_is_complained_of() {
        let limits = Limits { writes_once: true, ..Limits::default() };
        let mut counted = counted();
        counted.get_mut("b").unwrap().written_bytes = 20;
        let complaint = limits.complain_of(&counted).unwrap();
        assert_eq!(complaint, "wrote 20 bytes, of which 16 are distinct");
    }
}
