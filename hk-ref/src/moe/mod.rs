//! References of `hk-moe`.

pub mod moe_topk;
