//! References of `hk-attn`.

pub mod attention;
pub mod attention_backward;
pub mod chunked_pa_prefill;
pub mod extend_attn;
pub mod flash_attn_fwd_decode;
pub mod flash_attn_fwd_prefill;
pub mod fp8_mqa_logits;
pub mod fused_bmm_rope_kv_cache;
pub mod fused_kv_cache;
pub mod fused_qk_concat;
pub mod fused_qkv_split_qk_rope;
pub mod lean_atten;
pub mod lean_atten_paged;
pub mod mha;
pub mod pa_decode;
pub mod pa_mqa_logits;
pub mod pa_prefill;
pub mod pod_attn;
pub mod prefill_attn;
pub mod rope;
pub mod unified_attn;
