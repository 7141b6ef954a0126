//! Attention of sequences of many heads: each as [`attend`] has it.

pub use super::attention::{Attended, Head, Scores, attend, logarithms, results, weights};
