//! References of `hk-gdr`.

pub mod fused_gdn_gating_prefill;
