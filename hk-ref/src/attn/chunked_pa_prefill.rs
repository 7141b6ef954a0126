//! Attention of prompts and of steps: of keys in the order of the sequence.

pub use super::attention::{Alibi, Attended, Head, Scores, attend, results};
