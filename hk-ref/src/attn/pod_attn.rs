//! Two attentions in one launch, each as if alone.

pub use super::attention::{Attended, Head, Scores, attend, logarithms, results};
