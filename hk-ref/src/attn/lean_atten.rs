//! Attention that is shared evenly, which changes nothing of what it is.

pub use super::attention::{Attended, Head, Scores, attend, logarithms, results};
