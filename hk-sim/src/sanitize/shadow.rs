//! Who accessed which bytes last.

use super::clock::{Clock, Epoch, Foreign, View};
use super::footprint::{Span, Touch};
use crate::exec::effects::Range;

/// Bytes that one page of shadow covers.
pub(super) const PAGE: u64 = 4096;

/// Last accesses of one unit of memory.
#[derive(Clone, Copy, Debug, Default)]
struct Cell {
    write: Epoch,
    /// Index of the instruction that wrote.
    writer: u32,
    /// Number of the set of accesses since then; 0 is the empty set.
    since: u32,
}

impl Cell {
    /// Whether nobody accessed it.
    fn is_new(&self) -> bool {
        !self.write.is_some() && self.since == 0
    }
}

/// An access behind the last write.
#[derive(Clone, Copy, Debug)]
struct Later {
    epoch: Epoch,
    index: u32,
    role: Role,
}

/// What an access behind the last write did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Read,
    /// An atomic operation.
    Update,
    /// A store that nothing orders behind the last write, of the bytes that are there already.
    Same,
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
    /// Whether the two store the same bytes, so that their order does not matter.
    pub(super) same: bool,
    /// First byte that both concern.
    pub(super) address: u64,
}

/// Who is told what an access met, and asked what it stores.
pub(super) struct Observer<'o> {
    /// An earlier access is not ordered before this one.
    pub(super) conflict: &'o mut dyn FnMut(Conflict),
    /// Whether a store leaves as many bytes as they are from an address on.
    pub(super) is_same: &'o dyn Fn(u64, u64) -> bool,
    /// Whether several lanes of a store write to the same bytes.
    pub(super) overlaps: bool,
}

/// What an access does with the shadow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// Compares with writes only.
    Compare,
    /// Compares with writes and is remembered as a read.
    Read,
    /// Compares with writes and reads and takes the place of both.
    Write,
    /// Compares with writes and reads and is remembered beside them: another atomic operation need
    /// not come after this one, but must come after them.
    Update,
}

impl Mode {
    pub(super) fn writes(self) -> bool {
        matches!(self, Self::Write | Self::Update)
    }
}

/// Tells the parts of ranges below `limit` page by page, with the number of the page.
pub(super) fn by_page(mut ranges: &[Range], limit: u64, mut tell: impl FnMut(u64, &[Range])) {
    while let Some((range, others)) = ranges.split_first() {
        let page = range.start / PAGE;
        let end = (page * PAGE).saturating_add(PAGE).min(limit);
        let inside = |range: &&Range| range.start / PAGE == page && range.end() <= end;
        let count = ranges.iter().take_while(inside).count();
        if count != 0 {
            tell(page, &ranges[..count]);
            ranges = &ranges[count..];
            continue;
        }
        let mut start = range.start;
        while start < range.end().min(limit) {
            let page = start / PAGE;
            let end = (page * PAGE).saturating_add(PAGE).min(range.end()).min(limit);
            tell(page, &[Range { start, len: (end - start) as u32, ..*range }]);
            start = end;
        }
        ranges = others;
    }
}

/// Accesses by waves of other workgroups that a set keeps, the latest ones. Memory that everybody
/// reads would collect all waves of the launch; a write that is ordered behind these and not
/// behind an older one is missed.
const FOREIGN_KEPT: usize = 4;

/// Shadow of [`PAGE`] bytes.
///
/// The unit is as large as the accesses allow. The accesses since a write are kept as numbered
/// sets, since the units that an instruction reads mostly have the same history.
#[derive(Clone, Debug)]
pub(super) struct ShadowPage {
    /// Logarithm of the bytes of a unit.
    shift: u32,
    cells: Vec<Cell>,
    /// Start and end of each set in `later`.
    sets: Vec<(u32, u32)>,
    /// Accesses of a set in the order in which they were made.
    later: Vec<Later>,
    recent: Recent,
    /// Reads that are not in the cells yet, as long as nobody writes to the page: they cannot be in
    /// conflict with each other, and mostly nobody ever writes, or all of them are over by then.
    listed: Vec<Listed>,
    /// Whether reads are listed.
    lists: bool,
}

/// A read of bytes of a page.
#[derive(Clone, Copy, Debug)]
struct Listed {
    epoch: Epoch,
    index: u32,
    from: u16,
    to: u16,
}

/// Most reads of a page that are listed.
const MOST_LISTED: usize = 512;

/// What was found out for an instruction. The units that it accesses mostly have the same history.
#[derive(Clone, Copy, Debug, Default)]
struct Recent {
    /// The instruction.
    epoch: Epoch,
    /// A write that it comes after.
    write: Epoch,
    /// A set that it comes after.
    set: u32,
    /// A set and the same with its access; both are 0 at first.
    extended: (u32, u32),
}

/// Logarithm of the bytes of a unit at first: a dword of each lane.
const COARSEST: u32 = 8;

impl Default for ShadowPage {
    fn default() -> Self {
        let cells = vec![Cell::default(); PAGE as usize >> COARSEST];
        let (sets, later, recent) = (vec![(0, 0)], Vec::new(), Recent::default());
        Self { shift: COARSEST, cells, sets, later, recent, listed: Vec::new(), lists: true }
    }
}

impl ShadowPage {
    /// Forgets everything.
    pub(super) fn clear(&mut self) {
        self.cells.fill(Cell::default());
        self.sets.truncate(1);
        self.later.clear();
        self.recent = Recent::default();
        self.listed.clear();
        self.lists = true;
    }

    /// Notes accesses by the instruction `index` to ranges of the page, and tells the observer of
    /// each earlier access that is not ordered before it, once per unit.
    pub(super) fn access(
        &mut self,
        mut ranges: &[Range],
        view: &View<'_>,
        index: u32,
        mode: Mode,
        observer: &mut Observer<'_>,
    ) {
        if self.lists {
            match mode {
                Mode::Compare => return,
                Mode::Read if self.listed.len() + ranges.len() <= MOST_LISTED => {
                    return self.list(ranges, view.epoch, index);
                }
                _ => self.note_listed(view.lds),
            }
        }
        while let Some((range, others)) = ranges.split_first() {
            let alike = if mode == Mode::Read { self.read_alike(ranges, view.epoch) } else { 0 };
            if alike != 0 {
                ranges = &ranges[alike..];
            } else {
                self.access_units((range.start, range.end()), view, index, mode, observer);
                ranges = others;
            }
        }
    }

    fn list(&mut self, ranges: &[Range], epoch: Epoch, index: u32) {
        let within = |range: &Range| {
            let from = range.start % PAGE;
            Listed { epoch, index, from: from as u16, to: (from + u64::from(range.len)) as u16 }
        };
        self.listed.extend(ranges.iter().map(within));
    }

    /// Takes the reads that are listed into the cells, and lists no more. What their waves knew of each
    /// other then is of no concern: more of them are kept than need be.
    fn note_listed(&mut self, lds: bool) {
        self.lists = false;
        let (clock, foreign) = (Clock::default(), Foreign::default());
        let mut observer =
            Observer { conflict: &mut |_| {}, is_same: &|_, _| false, overlaps: false };
        for Listed { epoch, index, from, to } in std::mem::take(&mut self.listed) {
            let view = View { epoch, clock: &clock, foreign: &foreign, lds };
            self.access_units((from.into(), to.into()), &view, index, Mode::Read, &mut observer);
        }
    }

    /// Notes reads by one instruction of single units that have the history of one that it has read
    /// before. Returns how many of the ranges, from the first on, were that.
    #[inline]
    fn read_alike(&mut self, ranges: &[Range], reader: Epoch) -> usize {
        let Recent { epoch, write, set, extended: (before, after) } = self.recent;
        if epoch != reader || after == 0 || before != set && before != 0 {
            return 0;
        }
        let size = 1 << self.shift;
        let alike = |range: &&Range| {
            if !range.start.is_multiple_of(size) || u64::from(range.len) != size {
                return false;
            }
            let cell = &mut self.cells[((range.start % PAGE) >> self.shift) as usize];
            let same = cell.since == before && (cell.write == write || !cell.write.is_some());
            if same {
                cell.since = after;
            }
            same
        };
        ranges.iter().take_while(alike).count()
    }

    fn access_units(
        &mut self,
        (from, to): (u64, u64),
        view: &View<'_>,
        index: u32,
        mode: Mode,
        observer: &mut Observer<'_>,
    ) {
        let base = from & !(PAGE - 1);
        let (from, to) = (from - base, to - base);
        while (from | to) & ((1 << self.shift) - 1) != 0 {
            self.refine();
        }
        let shift = self.shift;
        let units = (from >> shift) as usize..(to >> shift) as usize;
        if mode == Mode::Write && self.cells[units.clone()].iter().all(Cell::is_new) {
            let written = Cell { write: view.epoch, writer: index, since: 0 };
            return self.cells[units].fill(written);
        }
        let mut recent = self.recent;
        if recent.epoch != view.epoch {
            recent = Recent { epoch: view.epoch, ..Recent::default() };
        }
        for unit in units {
            let cell = self.cells[unit];
            let address = base + ((unit as u64) << shift);
            // Whether the bytes stay as they are, asked once something unordered wrote them.
            let mut same = None;
            let asked = || mode == Mode::Write && (observer.is_same)(address, 1 << shift);
            if cell.write != recent.write && cell.write.is_some() {
                let later = self.set(cell.since);
                if view.after(cell.write, true) || observed(view, cell.write, later) {
                    recent.write = cell.write;
                } else if mode.writes() || !has_equal(view, later) {
                    let same = *same.insert(asked());
                    let (epoch, index) = (cell.write, cell.writer);
                    (observer.conflict)(Conflict { epoch, index, write: true, same, address });
                }
            }
            if cell.since != recent.set && cell.since != 0 {
                recent.set = cell.since;
                let set = self.set(cell.since);
                for (at, later) in set.iter().enumerate() {
                    let Later { epoch, index, role } = *later;
                    let concerned = mode.writes() || role == Role::Update;
                    if !concerned
                        || view.after(epoch, role != Role::Read)
                        || role == Role::Update && observed(view, epoch, &set[at + 1..])
                    {
                        continue;
                    }
                    recent.set = 0;
                    let same = match role {
                        Role::Same => *same.get_or_insert_with(asked),
                        Role::Read => same == Some(true),
                        Role::Update => false,
                    };
                    let write = role != Role::Read;
                    (observer.conflict)(Conflict { epoch, index, write, same, address });
                }
            }
            let role = match mode {
                Mode::Compare => continue,
                Mode::Read => Role::Read,
                Mode::Update => Role::Update,
                Mode::Write if same == Some(true) => Role::Same,
                Mode::Write => {
                    observer.overlaps |= cell.write == view.epoch;
                    self.cells[unit] = Cell { write: view.epoch, writer: index, since: 0 };
                    continue;
                }
            };
            let (before, after) = recent.extended;
            if before != cell.since || after == 0 {
                let after = self.extend(cell.since, view, index, role);
                recent.extended = (cell.since, after);
            }
            self.cells[unit].since = recent.extended.1;
        }
        self.recent = recent;
        if self.sets.len() > 2 * self.cells.len() {
            self.compact();
        }
    }

    /// What was done to the units that were accessed at all; `base` is the address of the page.
    pub(super) fn touched(&self, base: u64) -> Vec<Span> {
        if self.lists {
            return self.read_spans(base);
        }
        let spans = self.cells.iter().zip(0u64..).filter_map(|(cell, unit)| {
            let written = cell.write.is_some();
            let write = match (written, cell.write.is_device()) {
                (false, _) => Touch::default(),
                (true, false) => Touch::WRITE,
                (true, true) => Touch::ATOMIC_WRITE,
            };
            let later = self.set(cell.since);
            let touch = later.iter().fold(write, |all, later| {
                all | match (later.role, later.epoch.is_device()) {
                    (Role::Update, _) | (Role::Same, true) => Touch::ATOMIC_WRITE,
                    (Role::Same, false) => Touch::WRITE,
                    (Role::Read, true) => Touch::ATOMIC_READ,
                    (Role::Read, false) => Touch::READ,
                }
            });
            let reader = later.first().map(|later| later.index);
            let instruction = Some(if written { cell.writer } else { reader? });
            let len = 1 << self.shift;
            Some(Span { instruction, ..Span::new(base + (unit << self.shift), len, touch) })
        });
        spans.collect()
    }

    /// The same of a page whose reads are listed.
    fn read_spans(&self, base: u64) -> Vec<Span> {
        let bounds = self.listed.iter().fold(1 << COARSEST, |all, read| all | read.from | read.to);
        let shift = bounds.trailing_zeros();
        let mut units = vec![(Touch::default(), None); PAGE as usize >> shift];
        for Listed { epoch, index, from, to } in &self.listed {
            let touch = if epoch.is_device() { Touch::ATOMIC_READ } else { Touch::READ };
            for unit in &mut units[usize::from(*from) >> shift..usize::from(*to) >> shift] {
                *unit = (unit.0 | touch, unit.1.or(Some(*index)));
            }
        }
        let spans = units.into_iter().zip(0u64..).filter_map(|((touch, instruction), unit)| {
            instruction?;
            Some(Span { instruction, ..Span::new(base + (unit << shift), 1 << shift, touch) })
        });
        spans.collect()
    }

    /// Tells which instructions wrote what the bytes from `from` to `to` of the page hold.
    pub(super) fn writers(&self, (from, to): (u64, u64), tell: &mut dyn FnMut(Epoch)) {
        for unit in (from % PAGE) >> self.shift..(((to - 1) % PAGE) >> self.shift) + 1 {
            let cell = self.cells[unit as usize];
            if cell.write.is_some() {
                tell(cell.write);
            }
            let writes = self.set(cell.since).iter().filter(|later| later.role != Role::Read);
            writes.for_each(|later| tell(later.epoch));
        }
    }

    fn set(&self, number: u32) -> &[Later] {
        let (start, end) = self.sets[number as usize];
        &self.later[start as usize..end as usize]
    }

    /// Closes the set of the accesses behind `start` and returns its number.
    fn close(&mut self, start: usize) -> u32 {
        self.sets.push((start as u32, self.later.len() as u32));
        (self.sets.len() - 1) as u32
    }

    /// The set with the access of `view` added, and without those that it supersedes.
    fn extend(&mut self, set: u32, view: &View<'_>, index: u32, role: Role) -> u32 {
        let (old, start) = (self.sets[set as usize], self.later.len());
        let group = view.epoch.group();
        let mut foreign = 0;
        for at in old.0 as usize..old.1 as usize {
            let later = self.later[at];
            if !supersedes(view, role, &later) {
                foreign += usize::from(later.epoch.group() != group);
                self.later.push(later);
            }
        }
        if foreign > FOREIGN_KEPT {
            let mut kept = start;
            for at in start..self.later.len() {
                let later = self.later[at];
                let is_foreign = later.epoch.group() != group;
                if !is_foreign || foreign <= FOREIGN_KEPT {
                    self.later[kept] = later;
                    kept += 1;
                } else {
                    foreign -= 1;
                }
            }
            self.later.truncate(kept);
        }
        self.later.push(Later { epoch: view.epoch, index, role });
        self.close(start)
    }

    /// Halves the unit.
    fn refine(&mut self) {
        self.shift -= 1;
        self.cells = self.cells.iter().flat_map(|cell| [*cell; 2]).collect();
    }

    /// Drops the sets that no unit has.
    fn compact(&mut self) {
        let mut numbers = vec![0; self.sets.len()];
        let old = (std::mem::take(&mut self.sets), std::mem::take(&mut self.later));
        self.sets.push((0, 0));
        self.recent = Recent::default();
        for at in 0..self.cells.len() {
            let since = self.cells[at].since as usize;
            if since == 0 {
                continue;
            }
            if numbers[since] == 0 {
                let ((from, to), start) = (old.0[since], self.later.len());
                self.later.extend_from_slice(&old.1[from as usize..to as usize]);
                numbers[since] = self.close(start);
            }
            self.cells[at].since = numbers[since];
        }
    }
}

/// Whether the access of `view` comes after one of `later`, which was atomic and saw the atomic
/// write `earlier`: such a write is in place before anybody sees it, whether or not it carried
/// something else along.
#[cold]
fn observed(view: &View<'_>, earlier: Epoch, later: &[Later]) -> bool {
    later
        .iter()
        .any(|seen| seen.epoch.may_meet(earlier) && view.after(seen.epoch, seen.role != Role::Read))
}

/// Whether the access of `view` comes after a store of the bytes that the last write stored as
/// well, or may do so: of other workgroups' stores not all are kept.
#[cold]
fn has_equal(view: &View<'_>, later: &[Later]) -> bool {
    let mut equal = later.iter().filter(|later| later.role == Role::Same);
    let foreign = equal.clone().filter(|later| later.epoch.group() != view.epoch.group());
    foreign.count() >= FOREIGN_KEPT || equal.any(|later| view.after(later.epoch, true))
}

/// Whether who is compared with the access of `view` need not be compared with `earlier`: a read
/// or an update stands for the same by its wave before, and a plain read for the reads that it
/// comes after.
fn supersedes(view: &View<'_>, role: Role, earlier: &Later) -> bool {
    if earlier.role != role {
        return false;
    }
    if earlier.epoch.same_stream(view.epoch) {
        return view.epoch.as_strict_as(earlier.epoch);
    }
    role != Role::Same && view.epoch.is_plain() && view.after(earlier.epoch, role != Role::Read)
}

#[cfg(test)]
mod tests {
    use super::super::clock::{Class, Knowledge, Known, Strength};
    use super::*;

    struct Waves {
        page: ShadowPage,
        known: [Knowledge; 3],
        issued: [u32; 3],
    }

    impl Waves {
        fn new() -> Self {
            let known = std::array::from_fn(|_| Knowledge::default());
            Self { page: ShadowPage::default(), known, issued: [0; 3] }
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
            let Knowledge { clock, foreign, .. } = &self.known[wave];
            let view = View { epoch, clock, foreign, lds: true };
            let mut found = Vec::new();
            let mut conflict =
                |met: Conflict| found.push((met.epoch.wave(), met.address, met.write));
            let mut observer =
                Observer { conflict: &mut conflict, is_same: &|_, _| false, overlaps: false };
            let range = Range { start: range.0, len: (range.1 - range.0) as u32, lane: 0 };
            self.page.access(&[range], &view, 0, mode, &mut observer);
            found
        }

        /// All waves wait and meet.
        fn barrier(&mut self) {
            let mut all = Knowledge::default();
            for wave in 0..3 {
                all.clock.0[wave] = Known { done: [0, self.issued[wave], 0], ..Known::default() };
            }
            for known in &mut self.known {
                known.join(&all);
            }
        }
    }

    #[test]
    fn ranges_are_told_page_by_page() {
        let range = |start, len| Range { start, len, lane: 0 };
        let ranges =
            [range(0, 16), range(4000, 96), range(4090, 8200), range(4096, 4), range(20_000, 8)];
        let mut told = Vec::new();
        by_page(&ranges, 20_004, |page, ranges| {
            told.push((page, ranges.iter().map(|range| (range.start, range.len)).collect()));
        });
        let expected: [(u64, Vec<(u64, u32)>); 7] = [
            (0, vec![(0, 16), (4000, 96)]),
            (0, vec![(4090, 6)]),
            (1, vec![(4096, 4096)]),
            (2, vec![(8192, 4096)]),
            (3, vec![(12_288, 2)]),
            (1, vec![(4096, 4)]),
            (4, vec![(20_000, 4)]),
        ];
        assert_eq!(told, expected);
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

    /// A page of device memory and workgroups of one wave each, which know nothing of each other.
    #[derive(Clone, Default)]
    struct Groups {
        page: ShadowPage,
        known: Knowledge,
        issued: u32,
    }

    impl Groups {
        /// Makes an access and returns the workgroups of its conflicts.
        fn access(&mut self, group: u64, strength: Strength, mode: Mode) -> Vec<u32> {
            self.issued += 1;
            let epoch = Epoch::new(group, 0, Class::Vector, strength, self.issued);
            let Knowledge { clock, foreign, .. } = &self.known;
            let view = View { epoch, clock, foreign, lds: false };
            let mut found = Vec::new();
            let mut conflict = |met: Conflict| found.push(met.epoch.group());
            let mut observer =
                Observer { conflict: &mut conflict, is_same: &|_, _| false, overlaps: false };
            let range = Range { start: 64, len: 4, lane: 0 };
            self.page.access(&[range], &view, 0, mode, &mut observer);
            found
        }
    }

    #[test]
    fn atomic_operations_do_not_hide_a_plain_write() {
        let mut groups = Groups::default();
        assert!(groups.access(1, Strength::Plain, Mode::Write).is_empty());
        assert!(groups.access(1, Strength::Device, Mode::Update).is_empty());
        assert_eq!(groups.access(2, Strength::Device, Mode::Update), [1]);
        // A plain read is to come after both of the others' accesses.
        assert_eq!(groups.access(3, Strength::Plain, Mode::Read), [1, 1, 2]);
        assert_eq!(groups.access(2, Strength::Device, Mode::Read), [1]);
    }

    #[test]
    fn who_sees_an_atomic_write_comes_after_it() {
        let mut groups = Groups::default();
        for group in 1..4 {
            assert!(groups.access(group, Strength::Device, Mode::Update).is_empty());
        }
        // The third saw the first two; the second did not see the third.
        let again = |group| groups.clone().access(group, Strength::Plain, Mode::Write);
        assert!(again(3).is_empty());
        assert_eq!(again(2), [3]);
        assert_eq!(again(4), [1, 2, 3]);
    }

    #[test]
    fn few_readers_of_other_workgroups_are_kept() {
        let mut groups = Groups::default();
        for group in 1..100 {
            assert!(groups.access(group, Strength::Plain, Mode::Read).is_empty());
        }
        assert_eq!(groups.access(99, Strength::Plain, Mode::Write), [95, 96, 97, 98]);
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
        assert!(waves.page.sets.iter().all(|(start, end)| end - start <= 3));
        let conflicts = waves.access(0, (0, 4096), Mode::Write);
        assert!(conflicts.iter().all(|(wave, _, write)| *wave != 0 && !write));
        assert!(!conflicts.is_empty());
    }
}
