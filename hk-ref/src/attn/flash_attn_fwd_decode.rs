//! Attention to the keys of caches, each as [`attend`] has it, and of its parts, which are [`combined`].

pub use super::attention::{Attended, Head, Scores, attend, combined, logarithms, results};
