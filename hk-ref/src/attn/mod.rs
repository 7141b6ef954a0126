//! References of `hk-attn`.

pub mod attention;
pub mod attention_backward;
pub mod fused_kv_cache;
pub mod fused_qk_concat;
pub mod fused_qkv_split_qk_rope;
pub mod rope;
