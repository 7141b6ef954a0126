//! Attention of one query of each sequence to the keys of its pages: each as [`attend`] has it.

pub use super::attention::{Alibi, Attended, Head, Scores, attend, logarithms, results};
