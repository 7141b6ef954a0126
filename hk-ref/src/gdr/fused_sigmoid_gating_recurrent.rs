//! The gates of the recurrence on a pool of states.

pub use super::fused_gdn_gating_prefill::{decay, sigmoid};
