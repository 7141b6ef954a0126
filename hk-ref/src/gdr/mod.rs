//! References of `hk-gdr`.

pub mod causal_conv1d;
pub mod fused_gdn_gating_prefill;
pub mod fused_qkvzba_split;
