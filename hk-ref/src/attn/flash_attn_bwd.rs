//! Gradients of attention, of dense and of packed sequences.

pub use super::attention_backward::{
    Gradients, by_scores, by_sinks, by_values, gradients, products,
};
