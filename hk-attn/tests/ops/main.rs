//! Tests of the ops, one file per module: parity with references, refusals, and what else a module
//! promises.

mod common;

mod chunked_pa_prefill;
mod extend_attn;
mod flash_attn_bwd;
mod flash_attn_fwd_decode;
mod flash_attn_fwd_prefill;
mod fp8_mqa_logits;
mod fused_bmm_rope_kv_cache;
mod fused_kv_cache;
mod fused_qk_concat;
mod fused_qkv_split_qk_rope;
mod hstu_attn;
mod lean_atten;
mod lean_atten_paged;
mod mha;
mod mha_fused_bwd;
mod mha_onekernel_bwd;
mod mla_decode_rope;
mod pa_decode;
mod pa_mqa_logits;
mod pa_prefill;
mod pod_attn;
mod prefill_attn;
mod rope;
mod sage_attention;
mod unified_attn;
mod unified_attn_sparse_mla;
