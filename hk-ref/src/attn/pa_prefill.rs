//! Attention of new tokens to those before and to each other: of keys in the order of the sequence.

pub use super::attention::{Alibi, Attended, Head, Scores, attend, results};
