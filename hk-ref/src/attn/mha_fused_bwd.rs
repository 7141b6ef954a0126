//! Gradients of attention whose weights are computed once: the same.

pub use super::attention_backward::{
    Gradients, by_scores, by_sinks, by_values, gradients, products,
};
