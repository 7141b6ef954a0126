//! Ranges of problem sizes.

use std::fmt;

/// The values of one problem dimension that a tile configuration serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Range {
    /// The smallest value.
    pub min: u64,
    /// The greatest value.
    pub max: u64,
    /// Only multiples of this are served; 0 counts as 1.
    pub multiple_of: u64,
}

impl Range {
    /// Every value.
    pub const ANY: Self = Self { min: 0, max: u64::MAX, multiple_of: 1 };

    /// Whether `value` is in the range.
    ///
    /// ```
    /// use hk_types::Range;
    /// let range = Range { min: 64, multiple_of: 64, ..Range::ANY };
    /// assert!(range.contains(128) && !range.contains(0) && !range.contains(100));
    /// ```
    pub const fn contains(&self, value: u64) -> bool {
        let step = if self.multiple_of == 0 { 1 } else { self.multiple_of };
        self.min <= value && value <= self.max && value.is_multiple_of(step)
    }
}

impl Default for Range {
    fn default() -> Self {
        Self::ANY
    }
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.min, self.max) {
            (0, u64::MAX) => f.write_str("any")?,
            (min, u64::MAX) => write!(f, ">= {min}")?,
            (0, max) => write!(f, "<= {max}")?,
            (min, max) if min == max => write!(f, "{min}")?,
            (min, max) => write!(f, "{min} to {max}")?,
        }
        if self.multiple_of > 1 {
            write!(f, ", a multiple of {}", self.multiple_of)?;
        }
        Ok(())
    }
}
