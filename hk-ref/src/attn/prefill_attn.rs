//! Attention of sequences to themselves.

pub use super::attention::{Attended, Head, Scores, attend, logarithms, results};
