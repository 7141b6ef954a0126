//! Attention as [`attend`] has it, of the rows of sequences that count.

pub use super::attention::{Attended, Head, Scores, attend, logarithms, results, weights};
