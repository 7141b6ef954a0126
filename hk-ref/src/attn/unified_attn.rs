//! Causal attention of sequences to the keys of their pages: each as [`attend`] has it.

pub use super::attention::{Alibi, Attended, Head, Scores, attend, logarithms, results};
