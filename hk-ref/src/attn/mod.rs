//! References of `hk-attn`.

pub mod attention;
pub mod flash_attn_fwd_decode;
pub mod fused_kv_cache;
pub mod fused_qk_concat;
pub mod fused_qkv_split_qk_rope;
pub mod pa_decode;
pub mod rope;
pub mod unified_attn;
