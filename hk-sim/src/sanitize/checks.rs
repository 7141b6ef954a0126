//! Which checks are on.

use std::fmt;
use std::ops::BitOr;
use std::str::FromStr;

pub use hk_types::FindingKind as Kind;

/// A set of kinds of checks; the default is none.
///
/// ```
/// use hk_sim::sanitize::{Checks, Kind};
///
/// let checks: Checks = "race,async".parse()?;
/// assert!(checks.has(Kind::Race) && !checks.has(Kind::Float));
/// assert_eq!(checks.to_string(), "async,race");
/// # Ok::<(), hk_sim::sanitize::UnknownCheck>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Checks(u16);

impl Checks {
    /// No check: the engine runs as if the sanitizer did not exist.
    pub const NONE: Self = Self(0);
    /// Every check but `float`: kernels may divide by zero or overflow and put it right later.
    pub const ALL: Self = Self((1 << Kind::ALL.len()) - 1).without(Kind::Float);

    /// The set of one kind.
    pub const fn of(kind: Kind) -> Self {
        Self(1 << kind as u8)
    }

    /// The set with one more kind.
    #[must_use]
    pub const fn with(self, kind: Kind) -> Self {
        Self(self.0 | 1 << kind as u8)
    }

    /// The set with one kind less.
    #[must_use]
    pub const fn without(self, kind: Kind) -> Self {
        Self(self.0 & !(1 << kind as u8))
    }

    /// Whether a kind is in the set.
    pub const fn has(self, kind: Kind) -> bool {
        self.0 >> kind as u8 & 1 != 0
    }

    /// Whether the sets have a kind in common.
    pub const fn any(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Whether there is no kind in the set.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }
}

impl BitOr for Checks {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl From<Kind> for Checks {
    fn from(kind: Kind) -> Self {
        Self::of(kind)
    }
}

impl fmt::Display for Checks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = Kind::ALL.iter().filter(|kind| self.has(**kind)).map(|kind| kind.word());
        f.write_str(&words.collect::<Vec<_>>().join(","))
    }
}

/// A word that names no check.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is no check (they are memory, lds, async, race, order, hazard, uninit, divergence, \
     float, index)"
)]
pub struct UnknownCheck(pub String);

/// `all` (every kind but `float`, which must be named), `none`, or kinds, separated by commas; what
/// stands behind a minus is taken away from those before it, as in `all,-hazard`.
impl FromStr for Checks {
    type Err = UnknownCheck;

    fn from_str(text: &str) -> Result<Self, UnknownCheck> {
        let words = text.split(',').map(str::trim).filter(|word| !word.is_empty());
        words.into_iter().try_fold(Self::NONE, |set, word| {
            let named = |word: &str| Kind::ALL.into_iter().find(|kind| kind.word() == word);
            let unknown = || UnknownCheck(word.to_owned());
            match (word, word.strip_prefix('-')) {
                ("all", _) => Ok(Self::ALL),
                ("none", _) => Ok(set),
                (_, Some(left_out)) => Ok(set.without(named(left_out).ok_or_else(unknown)?)),
                _ => Ok(set.with(named(word).ok_or_else(unknown)?)),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_are_read_and_printed() {
        assert_eq!("all".parse(), Ok(Checks::ALL));
        assert_eq!("".parse(), Ok(Checks::NONE));
        assert!(Kind::ALL.iter().all(|kind| Checks::ALL.has(*kind) == (*kind != Kind::Float)));
        assert_eq!("all,float".parse(), Ok(Checks::ALL | Kind::Float.into()));
        assert_eq!(" race , lds,".parse(), Ok(Checks::of(Kind::Race) | Kind::Lds.into()));
        assert_eq!("all,-hazard,-float".parse(), Ok(Checks::ALL.without(Kind::Hazard)));
        for wrong in ["speed", "-speed", "-", "-all"] {
            let list = format!("race,{wrong}");
            assert_eq!(list.parse::<Checks>(), Err(UnknownCheck(wrong.into())));
        }
        for kind in Kind::ALL {
            let set = Checks::of(kind);
            assert_eq!(set.to_string().parse(), Ok(set));
            assert_eq!(Kind::ALL.iter().filter(|other| set.has(**other)).count(), 1);
        }
    }
}
