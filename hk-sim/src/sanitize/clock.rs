//! Vector clocks.
//!
//! The memory instructions of a wave are numbered per [`Class`]: each class completes in order, so
//! one number says which of them have completed. What a wave knows of another is a [`Known`]; an
//! access is ordered before an instruction if the wave that executes it knows that the access has
//! completed.

use std::collections::HashMap;
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
    /// In the clock of a workgroup: number of the last vector instruction that was issued. The
    /// waves of a workgroup share the vector cache, which serves their accesses in order.
    /// In a [`Foreign`] clock: number of the last vector instruction whose effect a release
    /// has made visible to the device.
    pub(super) visible: u32,
}

impl Known {
    fn join(&mut self, other: &Self) {
        for (mine, theirs) in self.done.iter_mut().zip(other.done) {
            *mine = (*mine).max(theirs);
        }
        self.visible = self.visible.max(other.visible);
    }
}

/// What a wave knows of the waves of its workgroup.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Clock(pub(super) [Known; MAX_WAVES]);

impl Clock {
    pub(super) fn join(&mut self, other: &Self) {
        for (mine, theirs) in self.0.iter_mut().zip(&other.0) {
            mine.join(theirs);
        }
    }
}

/// What a wave knows of the waves of other workgroups, by [`Epoch::wave_key`].
#[derive(Clone, Debug, Default)]
pub(super) struct Foreign(Option<Arc<HashMap<u32, Known>>>);

impl Foreign {
    pub(super) fn get(&self, key: u32) -> Known {
        self.0.as_ref().and_then(|map| map.get(&key).copied()).unwrap_or_default()
    }

    pub(super) fn join(&mut self, other: &Self) {
        let Some(theirs) = &other.0 else { return };
        match &mut self.0 {
            None => self.0 = Some(Arc::clone(theirs)),
            Some(mine) if Arc::ptr_eq(mine, theirs) => {}
            Some(mine) => {
                let mine = Arc::make_mut(mine);
                for (key, known) in theirs.iter() {
                    mine.entry(*key).or_default().join(known);
                }
            }
        }
    }

    #[cfg_attr(not(test), expect(dead_code, reason = "for races between workgroups"))]
    pub(super) fn learn(&mut self, key: u32, known: Known) {
        if known != Known::default() {
            let map = Arc::make_mut(self.0.get_or_insert_default());
            map.entry(key).or_default().join(&known);
        }
    }
}

/// One memory instruction of one wave. The value 0 stands for none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Epoch(u64);

const SEQUENCE_BITS: u32 = 29;

/// How an access takes part in synchronisation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Strength {
    /// Data.
    Plain,
    /// A store to one word of LDS, which may be a flag: the encoding does not say.
    Flag,
    /// Atomic, of device scope, or a load that polls.
    Atomic,
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

    pub(super) fn group(self) -> u32 {
        (self.0 >> 37) as u32
    }

    pub(super) fn wave(self) -> usize {
        (self.0 >> 33 & 15) as usize
    }

    /// Number of the wave in the launch.
    pub(super) fn wave_key(self) -> u32 {
        (self.0 >> 33) as u32
    }

    pub(super) fn class(self) -> Class {
        match self.0 >> 31 & 3 {
            0 => Class::Vector,
            1 => Class::Lds,
            _ => Class::Scalar,
        }
    }

    pub(super) fn is_atomic(self) -> bool {
        self.0 >> 30 & 1 != 0
    }

    pub(super) fn is_plain(self) -> bool {
        self.0 >> 29 & 3 == 0
    }

    /// Whether the two may happen at the same time: one is atomic, and the other is atomic or may
    /// be a flag.
    fn may_meet(self, other: Self) -> bool {
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
    pub(super) foreign: &'a Foreign,
    /// Whether the memory is LDS.
    pub(super) lds: bool,
}

impl View<'_> {
    /// Whether the access comes after an earlier one in every execution.
    pub(super) fn after(&self, earlier: Epoch) -> bool {
        if earlier.same_stream(self.epoch) || earlier.may_meet(self.epoch) {
            return true;
        }
        let (class, sequence) = (earlier.class(), earlier.sequence());
        if self.lds || earlier.group() == self.epoch.group() {
            let known = &self.clock.0[earlier.wave()];
            let in_cache = !self.lds
                && class == Class::Vector
                && earlier.wave() != self.epoch.wave()
                && known.visible >= sequence;
            return in_cache || known.done[class as usize] >= sequence;
        }
        let known = self.foreign.get(earlier.wave_key());
        match class {
            Class::Vector => {
                known.visible >= sequence
                    || earlier.is_atomic() && known.done[class as usize] >= sequence
            }
            _ => known.done[class as usize] >= sequence,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn epochs_keep_their_parts() {
        for (group, wave, class, strength, sequence) in [
            (0, 0, Class::Vector, Strength::Plain, 1),
            (7, 15, Class::Lds, Strength::Atomic, (1 << 29) - 1),
            ((1 << 27) - 1, 3, Class::Scalar, Strength::Flag, 12345),
        ] {
            let epoch = Epoch::new(group, wave, class, strength, sequence);
            assert!(epoch.is_some());
            assert_eq!(u64::from(epoch.group()), group);
            assert_eq!((epoch.wave(), epoch.class()), (wave, class));
            assert_eq!(epoch.is_atomic(), strength == Strength::Atomic);
            assert_eq!(epoch.is_plain(), strength == Strength::Plain);
            assert_eq!(epoch.sequence(), sequence);
            assert_eq!(u64::from(epoch.wave_key()), group << 4 | wave as u64);
        }
        let a = Epoch::new(1, 2, Class::Lds, Strength::Plain, 3);
        assert!(a.same_stream(Epoch::new(1, 2, Class::Lds, Strength::Atomic, 9)));
        assert!(!a.same_stream(Epoch::new(1, 2, Class::Vector, Strength::Plain, 3)));
        assert!(!a.same_stream(Epoch::new(1, 3, Class::Lds, Strength::Plain, 3)));
    }

    #[test]
    fn order_follows_what_is_known() {
        let mut clock = Clock::default();
        clock.0[1] = Known { done: [5, 7, 0], visible: 9 };
        let mut foreign = Foreign::default();
        foreign.learn(
            Epoch::new(4, 2, Class::Vector, Strength::Plain, 1).wave_key(),
            Known { done: [8, 0, 3], visible: 6 },
        );
        let view = |lds, strength| View {
            epoch: Epoch::new(3, 0, Class::Lds, strength, 1),
            clock: &clock,
            foreign: &foreign,
            lds,
        };
        let earlier = |group, wave, class, sequence| {
            Epoch::new(group, wave, class, Strength::Plain, sequence)
        };
        // LDS: completed or not.
        assert!(view(true, Strength::Plain).after(earlier(3, 1, Class::Vector, 5)));
        assert!(!view(true, Strength::Plain).after(earlier(3, 1, Class::Vector, 6)));
        assert!(view(true, Strength::Plain).after(earlier(3, 1, Class::Lds, 7)));
        assert!(!view(true, Strength::Plain).after(earlier(3, 2, Class::Lds, 1)));
        // Own instructions of the same class are in order.
        assert!(view(true, Strength::Plain).after(earlier(3, 0, Class::Lds, 99)));
        // Global memory in the workgroup: issued is enough.
        assert!(view(false, Strength::Plain).after(earlier(3, 1, Class::Vector, 9)));
        assert!(!view(false, Strength::Plain).after(earlier(3, 1, Class::Vector, 10)));
        // Across workgroups: released, or write-through and completed.
        assert!(view(false, Strength::Plain).after(earlier(4, 2, Class::Vector, 6)));
        assert!(!view(false, Strength::Plain).after(earlier(4, 2, Class::Vector, 7)));
        assert!(view(false, Strength::Plain).after(Epoch::new(
            4,
            2,
            Class::Vector,
            Strength::Atomic,
            8
        )));
        assert!(!view(false, Strength::Plain).after(Epoch::new(
            4,
            2,
            Class::Vector,
            Strength::Atomic,
            9
        )));
        assert!(view(false, Strength::Flag).after(Epoch::new(
            4,
            2,
            Class::Vector,
            Strength::Atomic,
            9
        )));
        assert!(view(false, Strength::Plain).after(earlier(4, 2, Class::Scalar, 3)));
    }
}
