//! The cases by which the ops of this crate are compared with their references, for tests and the
//! command `hipkittens check`.

mod angles;
mod attention;
mod backward;
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
mod paged;
mod pod_attn;
mod prefill_attn;
mod rope;
mod sage_attention;
mod tensors;
mod unified_attn;
mod unified_attn_sparse_mla;

use hk_core::kernel::KernelSet;
use hk_ref::Case;

pub use tensors::rope_case as rope_tensor_case;

/// Why code of the kernels that no case executes, or whose changes none notices, is right. For the
/// command.
pub const REASONS: &str = include_str!("parity/reasons.toml");

/// Every case of every op.
pub fn cases() -> Vec<Case> {
    let mut cases = rope::cases();
    cases.extend(extend_attn::cases());
    cases.extend(pa_prefill::cases());
    cases.extend(chunked_pa_prefill::cases());
    cases.extend(flash_attn_fwd_prefill::cases());
    cases.extend(prefill_attn::cases());
    cases.extend(fp8_mqa_logits::cases());
    cases.extend(fused_bmm_rope_kv_cache::cases());
    cases.extend(fused_kv_cache::cases());
    cases.extend(fused_qk_concat::cases());
    cases.extend(fused_qkv_split_qk_rope::cases());
    cases.extend(hstu_attn::cases());
    cases.extend(mha::cases());
    cases.extend(sage_attention::cases());
    cases.extend(mha_fused_bwd::cases());
    cases.extend(mha_onekernel_bwd::cases());
    cases.extend(flash_attn_bwd::cases());
    cases.extend(lean_atten::cases());
    cases.extend(lean_atten_paged::cases());
    cases.extend(pod_attn::cases());
    cases.extend(pa_mqa_logits::cases());
    cases.extend(flash_attn_fwd_decode::cases());
    cases.extend(pa_decode::cases());
    cases.extend(unified_attn::cases());
    cases.extend(mla_decode_rope::cases());
    cases.extend(unified_attn_sparse_mla::cases());
    cases
}

/// The kernels that were built into this crate.
pub fn kernels() -> &'static KernelSet {
    &crate::KERNELS
}
