//! Vector clocks.
//!
//! The memory instructions of a wave are numbered per [`Class`]: each class completes in order, so
//! one number says which of them have completed. What a wave knows of another is a [`Known`]; an
//! access is ordered before an instruction if the wave that executes it knows that the access has
//! completed.

use std::sync::Arc;

/// Most waves of a workgroup.
pub(super) const MAX_WAVES: usize = 16;

/// Instructions that complete in order among themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    /// Vector memory, counted by `vmcnt`.
    Vector,
    /// LDS, counted by `lgkmcnt`.
    Lds,
    /// Scalar memory; complete as a whole when `lgkmcnt` is zero.
    Scalar,
}

/// What is known of the memory instructions of one wave.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Known {
    /// Numbers of the last completed instruction of each class.
    pub(super) done: [u32; 3],
    /// Number of the last vector instruction that was issued. It matters inside of a workgroup,
    /// whose waves share the vector cache, which serves their accesses in order.
    pub(super) issued: u32,
    /// Number of the last LDS instruction that was issued. LDS executes those of a workgroup in the
    /// order in which they were issued.
    pub(super) issued_in_lds: u32,
    /// Number of the last vector instruction whose effect was written back for the whole device.
    pub(super) visible: u32,
}

impl Known {
    fn join(&mut self, other: &Self) {
        for (mine, theirs) in self.done.iter_mut().zip(other.done) {
            *mine = (*mine).max(theirs);
        }
        self.issued = self.issued.max(other.issued);
        self.issued_in_lds = self.issued_in_lds.max(other.issued_in_lds);
        self.visible = self.visible.max(other.visible);
    }
}

/// What is known of the waves of one workgroup.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Clock(pub(super) [Known; MAX_WAVES]);

impl Clock {
    pub(super) fn join(&mut self, other: &Self) {
        for (mine, theirs) in self.0.iter_mut().zip(&other.0) {
            mine.join(theirs);
        }
    }

    fn joined(&self, other: &Self) -> Self {
        let mut both = self.clone();
        both.join(other);
        both
    }
}

/// A workgroup and its clock.
type Entry = (u32, Arc<Clock>);

/// Clocks of workgroups, by their linear numbers. Copies share memory until one of them changes.
#[derive(Clone, Debug, Default)]
pub(super) struct Foreign(Option<Arc<Vec<Entry>>>);

impl Foreign {
    fn entries(&self) -> &[Entry] {
        self.0.as_deref().map_or(&[], Vec::as_slice)
    }

    pub(super) fn get(&self, group: u32) -> Option<&Clock> {
        let entries = self.entries();
        let at = entries.binary_search_by_key(&group, |(group, _)| *group).ok()?;
        entries.get(at).map(|(_, clock)| &**clock)
    }

    pub(super) fn join(&mut self, other: &Self) {
        match (&self.0, &other.0) {
            (_, None) => {}
            (None, Some(_)) => *self = other.clone(),
            (Some(mine), Some(theirs)) => {
                if !Arc::ptr_eq(mine, theirs)
                    && let Some(both) = merge(mine, theirs)
                {
                    self.0 = Some(Arc::new(both));
                }
            }
        }
    }

    /// These clocks and that of one more workgroup.
    pub(super) fn with(&self, group: u32, clock: &Clock) -> Self {
        let mut both = Self(Some(Arc::new(vec![(group, Arc::new(clock.clone()))])));
        both.join(self);
        both
    }
}

/// Merges lists of clocks; `None` if the second adds nothing to the first.
fn merge(mine: &[Entry], theirs: &[Entry]) -> Option<Vec<Entry>> {
    let mut merged = Vec::with_capacity(mine.len() + theirs.len());
    let mut news = false;
    let mut left = mine.iter().peekable();
    for (group, clock) in theirs {
        while let Some(entry) = left.next_if(|entry| entry.0 < *group) {
            merged.push(entry.clone());
        }
        let known = left.next_if(|entry| entry.0 == *group).map(|entry| &entry.1);
        let both = match known {
            Some(known) if Arc::ptr_eq(known, clock) => Arc::clone(known),
            Some(known) => {
                let both = known.joined(clock);
                if both == **known {
                    Arc::clone(known)
                } else {
                    news = true;
                    Arc::new(both)
                }
            }
            None => {
                news = true;
                Arc::clone(clock)
            }
        };
        merged.push((*group, both));
    }
    merged.extend(left.cloned());
    news.then_some(merged)
}

/// What a wave knows of all waves.
#[derive(Clone, Debug, Default)]
pub(super) struct Knowledge {
    /// Of its workgroup; the wave's own entry is kept up to date.
    pub(super) clock: Clock,
    /// Of other workgroups.
    pub(super) foreign: Foreign,
    /// The part of `foreign` that was known when the vector cache was last invalidated: what came
    /// later may be hidden by old lines of the cache.
    pub(super) fresh: Foreign,
    /// What was known when the scalar cache was last emptied.
    pub(super) emptied: Option<Arc<Emptied>>,
}

/// What a wave knew when it emptied the scalar cache, of its workgroup and of others.
#[derive(Clone, Debug)]
pub(super) struct Emptied {
    clock: Clock,
    foreign: Foreign,
}

impl Emptied {
    /// Whether an access by a wave of `group` or of another workgroup was over by then.
    pub(super) fn follows(&self, group: u32, earlier: Epoch, writes: bool) -> bool {
        completed((group, &self.clock), &self.foreign, earlier, writes)
    }
}

impl Knowledge {
    pub(super) fn join(&mut self, other: &Self) {
        self.clock.join(&other.clock);
        self.foreign.join(&other.foreign);
        self.fresh.join(&other.fresh);
        self.join_emptied(other.emptied.as_ref());
    }

    /// Notes that the scalar cache is emptied.
    pub(super) fn empty_scalar_cache(&mut self) {
        let Self { clock, foreign, .. } = &*self;
        self.emptied = Some(Arc::new(Emptied { clock: clock.clone(), foreign: foreign.clone() }));
    }

    pub(super) fn join_emptied(&mut self, other: Option<&Arc<Emptied>>) {
        match (&mut self.emptied, other) {
            (_, None) => {}
            (mine @ None, Some(theirs)) => *mine = Some(Arc::clone(theirs)),
            (Some(mine), Some(theirs)) if Arc::ptr_eq(mine, theirs) => {}
            (Some(mine), Some(theirs)) => {
                let mine = Arc::make_mut(mine);
                mine.clock.join(&theirs.clock);
                mine.foreign.join(&theirs.foreign);
            }
        }
    }
}

/// Whether an access is complete, by what is known of the waves of a workgroup and of others. Of
/// another workgroup, a read only has to be over, but a write must have left the caches.
fn completed(
    (group, clock): (u32, &Clock),
    foreign: &Foreign,
    earlier: Epoch,
    writes: bool,
) -> bool {
    let (class, sequence) = (earlier.class(), earlier.sequence());
    if earlier.group() == group {
        return clock.0[earlier.wave()].done[class as usize] >= sequence;
    }
    let Some(clock) = foreign.get(earlier.group()) else { return false };
    let known = &clock.0[earlier.wave()];
    let in_memory = !writes || earlier.is_device() || class != Class::Vector;
    class == Class::Vector && known.visible >= sequence
        || in_memory && known.done[class as usize] >= sequence
}

/// One memory instruction of one wave. The value 0 stands for none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Epoch(u64);

const SEQUENCE_BITS: u32 = 29;

/// How an access takes part in synchronisation, from the one that is ordered with most others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Strength {
    /// Data.
    Plain,
    /// A store to one word, which may be a flag: the encoding does not say.
    Flag,
    /// Atomic for the workgroup, or a load that polls.
    Group,
    /// Atomic for the device.
    Device,
}

impl Epoch {
    /// Instruction number `sequence` (from 1) of a class of a wave of the workgroup with this
    /// linear number.
    pub(super) fn new(
        group: u64,
        wave: usize,
        class: Class,
        strength: Strength,
        sequence: u32,
    ) -> Self {
        let sequence = u64::from(sequence) & ((1 << SEQUENCE_BITS) - 1);
        let kind = strength as u64 | (class as u64) << 2;
        Self(group << 37 | (wave as u64 & 15) << 33 | kind << SEQUENCE_BITS | sequence)
    }

    #[inline(always)]
    pub(super) fn is_some(self) -> bool {
        self.0 != 0
    }

    /// Linear number of the workgroup.
    pub(super) fn group(self) -> u32 {
        (self.0 >> 37) as u32
    }

    pub(super) fn wave(self) -> usize {
        (self.0 >> 33 & 15) as usize
    }

    pub(super) fn class(self) -> Class {
        match self.0 >> 31 & 3 {
            0 => Class::Vector,
            1 => Class::Lds,
            _ => Class::Scalar,
        }
    }

    fn strength(self) -> u64 {
        self.0 >> SEQUENCE_BITS & 3
    }

    pub(super) fn is_device(self) -> bool {
        self.strength() == Strength::Device as u64
    }

    fn is_atomic(self) -> bool {
        self.strength() >= Strength::Group as u64
    }

    pub(super) fn is_plain(self) -> bool {
        self.strength() == Strength::Plain as u64
    }

    /// Whether this access must be ordered with all that `other` must be ordered with.
    pub(super) fn as_strict_as(self, other: Self) -> bool {
        self.strength() <= other.strength()
    }

    /// Whether the two may happen at the same time: in one workgroup if one is atomic, and the
    /// other is atomic or may be a flag; otherwise if both are atomic for the device.
    pub(super) fn may_meet(self, other: Self) -> bool {
        if self.group() != other.group() {
            return self.is_device() && other.is_device();
        }
        self.is_atomic() && !other.is_plain() || other.is_atomic() && !self.is_plain()
    }

    pub(super) fn sequence(self) -> u32 {
        (self.0 & ((1 << SEQUENCE_BITS) - 1)) as u32
    }

    /// Whether both are instructions of one wave and one class.
    pub(super) fn same_stream(self, other: Self) -> bool {
        (self.0 ^ other.0) >> 31 == 0
    }
}

/// An access and what its wave knows when it makes it.
pub(super) struct View<'a> {
    pub(super) epoch: Epoch,
    pub(super) clock: &'a Clock,
    /// What counts for the access: [`Knowledge::fresh`] if it reads through the vector cache.
    pub(super) foreign: &'a Foreign,
    /// Whether the memory is LDS.
    pub(super) lds: bool,
}

impl View<'_> {
    /// Whether the access comes after an earlier write or read in every execution.
    pub(super) fn after(&self, earlier: Epoch, writes: bool) -> bool {
        if earlier.same_stream(self.epoch) || earlier.may_meet(self.epoch) {
            return true;
        }
        completed((self.epoch.group(), self.clock), self.foreign, earlier, writes)
            || !self.lds
                && earlier.group() == self.epoch.group()
                && self.after_in_cache(earlier, writes)
    }

    /// Whether the access to LDS comes after an earlier one only because LDS executes what waves
    /// issue in that order: nobody waited for the earlier one.
    pub(super) fn after_in_lds(&self, earlier: Epoch) -> bool {
        let both_in_lds = earlier.class() == Class::Lds && self.epoch.class() == Class::Lds;
        both_in_lds && self.clock.0[earlier.wave()].issued_in_lds >= earlier.sequence()
    }

    /// Whether the caches order the access to device memory behind one of the workgroup that may
    /// not have completed.
    fn after_in_cache(&self, earlier: Epoch, writes: bool) -> bool {
        if earlier.wave() == self.epoch.wave() {
            // A read by the same wave through the scalar cache.
            return !writes;
        }
        let both_vector = earlier.class() == Class::Vector && self.epoch.class() == Class::Vector;
        both_vector && self.clock.0[earlier.wave()].issued >= earlier.sequence()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn epochs_keep_their_parts() {
        for (group, wave, class, strength, sequence) in [
            (0, 0, Class::Vector, Strength::Plain, 1),
            (7, 15, Class::Lds, Strength::Device, (1 << 29) - 1),
            ((1 << 27) - 1, 3, Class::Scalar, Strength::Flag, 12345),
        ] {
            let epoch = Epoch::new(group, wave, class, strength, sequence);
            assert!(epoch.is_some());
            assert_eq!(u64::from(epoch.group()), group);
            assert_eq!((epoch.wave(), epoch.class()), (wave, class));
            assert_eq!(epoch.strength(), strength as u64);
            assert_eq!(epoch.sequence(), sequence);
        }
        let a = Epoch::new(1, 2, Class::Lds, Strength::Plain, 3);
        assert!(a.same_stream(Epoch::new(1, 2, Class::Lds, Strength::Device, 9)));
        assert!(!a.same_stream(Epoch::new(1, 2, Class::Vector, Strength::Plain, 3)));
        assert!(!a.same_stream(Epoch::new(1, 3, Class::Lds, Strength::Plain, 3)));
    }

    /// A view of wave 0 of workgroup 3.
    fn after(
        knowledge: &Knowledge,
        (lds, class, strength): (bool, Class, Strength),
        earlier: Epoch,
        writes: bool,
    ) -> bool {
        let Knowledge { clock, foreign, .. } = knowledge;
        let epoch = Epoch::new(3, 0, class, strength, 1);
        View { epoch, clock, foreign, lds }.after(earlier, writes)
    }

    #[test]
    fn order_in_a_workgroup_follows_what_is_known() {
        let mut knowledge = Knowledge::default();
        knowledge.clock.0[1] = Known { done: [5, 7, 0], issued: 9, issued_in_lds: 8, visible: 0 };
        let plain = |wave, class, sequence| Epoch::new(3, wave, class, Strength::Plain, sequence);
        let lds = (true, Class::Lds, Strength::Plain);
        for (wave, class, sequence, expected) in [
            (1, Class::Vector, 5, true),
            (1, Class::Vector, 6, false),
            (1, Class::Lds, 7, true),
            (2, Class::Lds, 1, false),
            // Own instructions of the same class are in order.
            (0, Class::Lds, 99, true),
        ] {
            let earlier = plain(wave, class, sequence);
            assert_eq!(after(&knowledge, lds, earlier, true), expected, "{earlier:?}");
        }
        // Of what LDS has not completed, it has the oldest in its queue.
        let Knowledge { clock, foreign, .. } = &knowledge;
        let view = View { epoch: plain(0, Class::Lds, 1), clock, foreign, lds: true };
        for (earlier, expected) in [
            (plain(1, Class::Lds, 8), true),
            (plain(1, Class::Lds, 9), false),
            (plain(1, Class::Vector, 6), false),
        ] {
            assert_eq!(view.after_in_lds(earlier), expected, "{earlier:?}");
        }
        // The vector cache serves what was issued in order; scalar loads do not use it.
        let vector = (false, Class::Vector, Strength::Plain);
        let scalar = (false, Class::Scalar, Strength::Plain);
        assert!(after(&knowledge, vector, plain(1, Class::Vector, 9), true));
        assert!(!after(&knowledge, vector, plain(1, Class::Vector, 10), true));
        assert!(!after(&knowledge, scalar, plain(1, Class::Vector, 9), true));
        assert!(!after(&knowledge, scalar, plain(0, Class::Vector, 9), true));
        assert!(after(&knowledge, vector, plain(0, Class::Scalar, 9), false));
        // Flags.
        let flag = Epoch::new(3, 2, Class::Vector, Strength::Flag, 1);
        for (strength, expected) in
            [(Strength::Flag, false), (Strength::Group, true), (Strength::Device, true)]
        {
            let view = (false, Class::Vector, strength);
            assert_eq!(after(&knowledge, view, flag, true), expected);
        }
    }

    #[test]
    fn order_between_workgroups_follows_what_is_known() {
        let mut clock = Clock::default();
        clock.0[2] = Known { done: [8, 0, 3], issued: 99, issued_in_lds: 0, visible: 6 };
        let foreign = Foreign::default().with(4, &clock);
        let knowledge = Knowledge { foreign, ..Knowledge::default() };
        let vector = (false, Class::Vector, Strength::Plain);
        let earlier = |class, strength, sequence| Epoch::new(4, 2, class, strength, sequence);
        for (class, strength, sequence, write, read) in [
            (Class::Vector, Strength::Plain, 6, true, true),
            // Completed, but not written back.
            (Class::Vector, Strength::Plain, 7, false, true),
            (Class::Vector, Strength::Device, 8, true, true),
            (Class::Vector, Strength::Device, 9, false, false),
            (Class::Scalar, Strength::Plain, 3, true, true),
            (Class::Scalar, Strength::Plain, 4, false, false),
        ] {
            let earlier = earlier(class, strength, sequence);
            assert_eq!(after(&knowledge, vector, earlier, true), write, "{earlier:?}");
            assert_eq!(after(&knowledge, vector, earlier, false), read, "{earlier:?}");
        }
        // Atomics of the device may meet, those of a workgroup not.
        let device = (false, Class::Vector, Strength::Device);
        assert!(after(&knowledge, device, earlier(Class::Vector, Strength::Device, 9), true));
        assert!(!after(&knowledge, device, earlier(Class::Vector, Strength::Group, 9), true));
        assert!(!after(&knowledge, device, earlier(Class::Vector, Strength::Flag, 9), true));
    }

    #[test]
    fn clocks_of_workgroups_are_joined() {
        let clock = |wave: usize, visible| {
            let mut clock = Clock::default();
            clock.0[wave].visible = visible;
            clock
        };
        let mut all = Foreign::default().with(5, &clock(0, 3)).with(2, &clock(1, 4));
        let other = Foreign::default().with(5, &clock(1, 7)).with(9, &clock(0, 1));
        all.join(&other);
        let groups: Vec<u32> = all.entries().iter().map(|(group, _)| *group).collect();
        assert_eq!(groups, [2, 5, 9]);
        let visible = |group| all.get(group).map(|clock| [clock.0[0].visible, clock.0[1].visible]);
        assert_eq!(visible(2), Some([0, 4]));
        assert_eq!(visible(5), Some([3, 7]));
        assert_eq!(visible(9), Some([1, 0]));
        assert_eq!(visible(3), None);
        let mut again = all.clone();
        again.join(&other);
        assert!(std::ptr::eq(again.entries(), all.entries()), "nothing new, nothing copied");
    }
}
