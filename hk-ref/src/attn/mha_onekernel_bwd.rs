//! Gradients of attention in one launch: the same.

pub use super::attention_backward::{
    Gradients, by_scores, by_sinks, by_values, gradients, products,
};
