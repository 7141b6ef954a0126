//! Attention to caches that is shared evenly: of keys in the order of their sequence.

pub use super::attention::{Attended, Head, Scores, attend, logarithms, results};
