//! Who accessed which bytes last.

use super::clock::{Epoch, View};

/// Bytes that one page of shadow covers.
pub(super) const PAGE: u64 = 4096;

/// Last accesses of one unit of memory.
#[derive(Clone, Copy, Debug, Default)]
struct Cell {
    write: Epoch,
    /// Index of the instruction that wrote.
    writer: u32,
    /// Number of the set of reads since then; 0 is the empty set.
    reads: u32,
}

#[derive(Clone, Copy, Debug)]
struct Read {
    epoch: Epoch,
    reader: u32,
}

/// Two accesses that nothing orders.
#[derive(Clone, Copy, Debug)]
pub(super) struct Conflict {
    /// The earlier access.
    pub(super) epoch: Epoch,
    /// Index of its instruction.
    pub(super) index: u32,
    /// Whether it was a write.
    pub(super) write: bool,
    /// Byte in the page.
    pub(super) offset: u64,
}

/// What an access does with the shadow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// Compares with writes only.
    Compare,
    /// Compares with writes and is remembered as a read.
    Read,
    /// Compares with writes and reads and is remembered as a write.
    Write,
}

/// Shadow of [`PAGE`] bytes.
///
/// The unit is a dword until an access touches part of one. Reads are kept as numbered sets, since
/// the units that an instruction reads mostly have the same history.
#[derive(Debug)]
pub(super) struct ShadowPage {
    /// Logarithm of the bytes of a unit.
    shift: u32,
    cells: Vec<Cell>,
    sets: Vec<Vec<Read>>,
}

impl Default for ShadowPage {
    fn default() -> Self {
        Self { shift: 2, cells: vec![Cell::default(); PAGE as usize / 4], sets: vec![Vec::new()] }
    }
}

impl ShadowPage {
    /// Forgets everything.
    pub(super) fn clear(&mut self) {
        self.shift = 2;
        self.cells.clear();
        self.cells.resize(PAGE as usize / 4, Cell::default());
        self.sets.truncate(1);
    }

    /// Notes an access to the bytes `from..to` of the page by the instruction `index`, and calls
    /// `conflict` for each earlier access that is not ordered before it, once per unit.
    pub(super) fn access(
        &mut self,
        (from, to): (u64, u64),
        view: &View<'_>,
        index: u32,
        mode: Mode,
        conflict: &mut dyn FnMut(Conflict),
    ) {
        while (from | to) & ((1 << self.shift) - 1) != 0 {
            self.refine();
        }
        let shift = self.shift;
        let units = (from >> shift) as usize..(to >> shift) as usize;
        let offset = |unit: usize| (unit as u64) << shift;
        // Neighbours mostly have the same history: what was found for the last one is kept.
        let mut ordered_write = Epoch::default();
        let mut ordered_reads = 0;
        let mut extended = None;
        for unit in units {
            let cell = self.cells[unit];
            if cell.write != ordered_write && cell.write.is_some() {
                if view.after(cell.write) {
                    ordered_write = cell.write;
                } else {
                    let (epoch, index) = (cell.write, cell.writer);
                    conflict(Conflict { epoch, index, write: true, offset: offset(unit) });
                }
            }
            match mode {
                Mode::Compare => {}
                Mode::Read => {
                    let reads = match extended {
                        Some((before, after)) if before == cell.reads => after,
                        _ => self.extend(cell.reads, view, index),
                    };
                    extended = Some((cell.reads, reads));
                    self.cells[unit].reads = reads;
                }
                Mode::Write => {
                    if cell.reads != ordered_reads {
                        ordered_reads = cell.reads;
                        for read in &self.sets[cell.reads as usize] {
                            if !view.after(read.epoch) {
                                ordered_reads = 0;
                                let (epoch, index) = (read.epoch, read.reader);
                                let offset = offset(unit);
                                conflict(Conflict { epoch, index, write: false, offset });
                            }
                        }
                    }
                    self.cells[unit] = Cell { write: view.epoch, writer: index, reads: 0 };
                }
            }
        }
        if self.sets.len() > 2 * self.cells.len() {
            self.compact();
        }
    }

    /// The set with the access of `view` added. Reads that are ordered before it are dropped: who
    /// comes after this access comes after them as well.
    fn extend(&mut self, set: u32, view: &View<'_>, index: u32) -> u32 {
        let old = &self.sets[set as usize];
        let mut new: Vec<Read> = Vec::with_capacity(old.len() + 1);
        new.extend(old.iter().filter(|read| !supersedes(view, read.epoch)));
        new.push(Read { epoch: view.epoch, reader: index });
        self.sets.push(new);
        (self.sets.len() - 1) as u32
    }

    /// Halves the unit.
    fn refine(&mut self) {
        self.shift -= 1;
        self.cells = self.cells.iter().flat_map(|cell| [*cell; 2]).collect();
    }

    /// Drops the sets that no unit has.
    fn compact(&mut self) {
        let mut numbers = vec![0; self.sets.len()];
        let mut kept = vec![Vec::new()];
        for cell in &mut self.cells {
            if cell.reads != 0 {
                let number = &mut numbers[cell.reads as usize];
                if *number == 0 {
                    *number = kept.len() as u32;
                    kept.push(std::mem::take(&mut self.sets[cell.reads as usize]));
                }
                cell.reads = *number;
            }
        }
        self.sets = kept;
    }
}

/// Whether a later access need not be compared with `earlier` once it is compared with the access
/// of `view`. An atomic access is compared with less than a plain one, so it does not replace one.
fn supersedes(view: &View<'_>, earlier: Epoch) -> bool {
    if earlier.same_stream(view.epoch) {
        return earlier.is_atomic() || view.epoch.is_plain();
    }
    view.epoch.is_plain() && view.after(earlier)
}

#[cfg(test)]
mod tests {
    use super::super::clock::{Class, Clock, Foreign, Known, Strength};
    use super::*;

    struct Waves {
        page: ShadowPage,
        clocks: [Clock; 3],
        foreign: Foreign,
        issued: [u32; 3],
    }

    impl Waves {
        fn new() -> Self {
            let clocks = std::array::from_fn(|_| Clock::default());
            let foreign = Foreign::default();
            Self { page: ShadowPage::default(), clocks, foreign, issued: [0; 3] }
        }

        /// Makes an access and returns the waves, offsets and directions of its conflicts.
        fn access(
            &mut self,
            wave: usize,
            range: (u64, u64),
            mode: Mode,
        ) -> Vec<(usize, u64, bool)> {
            self.issued[wave] += 1;
            let epoch = Epoch::new(0, wave, Class::Lds, Strength::Plain, self.issued[wave]);
            let (clock, foreign) = (&self.clocks[wave], &self.foreign);
            let view = View { epoch, clock, foreign, lds: true };
            let mut found = Vec::new();
            self.page.access(range, &view, 0, mode, &mut |conflict| {
                found.push((conflict.epoch.wave(), conflict.offset, conflict.write));
            });
            found
        }

        /// All waves wait and meet.
        fn barrier(&mut self) {
            let mut all = Clock::default();
            for wave in 0..3 {
                all.0[wave] = Known { done: [0, self.issued[wave], 0], visible: 0 };
            }
            for clock in &mut self.clocks {
                clock.join(&all);
            }
        }
    }

    #[test]
    fn unordered_accesses_conflict_and_ordered_ones_do_not() {
        let mut waves = Waves::new();
        assert_eq!(waves.access(0, (0, 16), Mode::Write), []);
        assert_eq!(waves.access(0, (0, 16), Mode::Read), []);
        assert_eq!(waves.access(1, (12, 20), Mode::Read), [(0, 12, true)]);
        waves.barrier();
        assert_eq!(waves.access(1, (0, 20), Mode::Read), []);
        assert_eq!(waves.access(2, (8, 12), Mode::Read), []);
        assert_eq!(waves.access(0, (8, 12), Mode::Write), [(1, 8, false), (2, 8, false)]);
        waves.barrier();
        assert_eq!(waves.access(2, (0, 20), Mode::Write), []);
    }

    #[test]
    fn parts_of_a_dword_are_told_apart() {
        let mut waves = Waves::new();
        assert_eq!(waves.access(0, (0, 4), Mode::Write), []);
        waves.barrier();
        assert_eq!(waves.access(0, (0, 2), Mode::Write), []);
        assert_eq!(waves.access(1, (2, 4), Mode::Write), []);
        assert_eq!(waves.access(2, (3, 4), Mode::Read), [(1, 3, true)]);
        assert_eq!(waves.access(2, (0, 1), Mode::Read), [(0, 0, true)]);
        assert_eq!(waves.access(2, (4, 8), Mode::Read), []);
    }

    #[test]
    fn sets_of_reads_do_not_pile_up() {
        let mut waves = Waves::new();
        for round in 0..10_000u64 {
            let wave = (round % 3) as usize;
            let from = round * 36 % 4096 / 4 * 4;
            assert_eq!(waves.access(wave, (from, (from + 64).min(4096)), Mode::Read), []);
            if round % 64 == 0 {
                waves.barrier();
            }
        }
        assert!(waves.page.sets.len() <= 2 * 1024 + 1);
        assert!(waves.page.sets.iter().all(|set| set.len() <= 3));
        let conflicts = waves.access(0, (0, 4096), Mode::Write);
        assert!(conflicts.iter().all(|(wave, _, write)| *wave != 0 && !write));
        assert!(!conflicts.is_empty());
    }
}
