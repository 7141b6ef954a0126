//! Attention kernels for AMD CDNA3 (gfx942) and CDNA4 (gfx950).
//!
//! Build with the feature `cdna3` or `cdna4`, or both, to have code for the chips.
//!
//! ```
//! # #[cfg(feature = "cdna4")] {
//! use hk_attn::{AttentionOptions, Device, Tensor, bf16, mha_fwd};
//!
//! let stream = Device::open("sim:mi355x")?.default_stream();
//! // Two tokens of one head. The second one sees both, which are equally near to it.
//! let qk = Tensor::filled(&stream, &[1, 2, 1, 1], bf16::ONE)?;
//! let v = Tensor::from_slice(&stream, &[3.0, 5.0].map(bf16::from_f32), &[1, 2, 1, 1])?;
//! let y = mha_fwd(&qk, &qk, &v, &AttentionOptions::default().causal(true))?;
//! assert_eq!(y.out.to_vec()?, [3.0, 4.0].map(bf16::from_f32));
//! # }
//! # Ok::<(), hk_core::Error>(())
//! ```

mod angles;
mod attention;
pub mod attn_merge;
mod cache;
pub mod chunked_pa_prefill;
pub mod extend_attn;
pub mod flash_attn_bwd;
pub mod flash_attn_fwd_decode;
pub mod flash_attn_fwd_prefill;
pub mod fp8_mqa_logits;
pub mod fused_bmm_rope_kv_cache;
pub mod fused_kv_cache;
pub mod fused_qk_concat;
pub mod fused_qkv_split_qk_rope;
mod heads;
pub mod hstu_attn;
pub mod lean_atten;
pub mod lean_atten_paged;
pub mod mha;
pub mod mha_fused_bwd;
pub mod mha_onekernel_bwd;
pub mod mla_decode_rope;
mod mqa_logits;
pub mod pa_decode;
pub mod pa_mqa_logits;
pub mod pa_prefill;
#[cfg(feature = "parity")]
pub mod parity;
pub mod pod_attn;
pub mod prefill_attn;
mod product_heads;
pub mod rope;
pub mod sage_attention;
pub mod unified_attn;
pub mod unified_attn_sparse_mla;

pub use angles::{Angles, RopeOptions, RopeStyle};
pub use attention::{
    AttentionElement, AttentionOptions, AttentionOutput, AttnForward, AttnGradients,
    AttnGradientsOut, BackwardElement, BackwardMode, BackwardOptions, Dropout, LeanMode,
    LeanOptions, RealNumbers, Window,
};
pub use attn_merge::{
    attn_merge_states, attn_merge_states_into, splitk_combine, splitk_combine_into,
};
pub use cache::{CacheElement, CacheLayout};
pub use chunked_pa_prefill::{chunked_prefill_paged_decode, chunked_prefill_paged_decode_into};
pub use extend_attn::{
    ExtendMask, ExtendOptions, ExtendPrefix, extend_attn_fwd, extend_attn_fwd_into,
};
pub use flash_attn_bwd::{
    attn_bwd_delta, attn_bwd_delta_into, attn_dq_convert, attn_dq_convert_into, flash_attn_bwd,
    flash_attn_bwd_into, flash_attn_varlen_bwd, flash_attn_varlen_bwd_into,
};
pub use flash_attn_fwd_decode::{
    DecodeAppend, DecodeCache, flash_attn_fwd_decode, flash_attn_fwd_decode_append,
    flash_attn_fwd_decode_append_into, flash_attn_fwd_decode_into,
};
pub use flash_attn_fwd_prefill::{
    FlashLayout, FlashOptions, flash_attn_fwd_prefill, flash_attn_fwd_prefill_into,
};
pub use fp8_mqa_logits::{fp8_mqa_logits, fp8_mqa_logits_into, fp8_ocp_to_fnuz};
pub use fused_bmm_rope_kv_cache::{
    BmmRopeOptions, fused_fp4_bmm_rope_cat_and_cache_mla,
    fused_fp4_bmm_rope_cat_and_cache_mla_into, fused_fp8_bmm_rope_cat_and_cache_mla,
    fused_fp8_bmm_rope_cat_and_cache_mla_into,
};
pub use fused_kv_cache::{
    FusedQkRopeCatAndCacheMla, FusedQkRopeCatAndCacheMlaOut, FusedQkRopeReshapeAndCache,
    FusedQkRopeReshapeAndCacheOut, KvCacheOptions, KvCaches, cat_and_cache_mla,
    fused_qk_rope_cat_and_cache_mla, fused_qk_rope_cat_and_cache_mla_into,
    fused_qk_rope_cosine_cache_llama, fused_qk_rope_reshape_and_cache,
    fused_qk_rope_reshape_and_cache_into, reshape_and_cache,
};
pub use fused_qk_concat::{
    FusedQkCat, FusedQkCatOut, fused_qk_cat, fused_qk_cat_into, fused_qk_rope_cat,
    fused_qk_rope_cat_into,
};
pub use fused_qkv_split_qk_rope::{
    FusedQkvSplitQkNormRopeCache, FusedQkvSplitQkNormRopeCacheOut, FusedQkvSplitQkRope,
    FusedQkvSplitQkRopeOut, GateOrder, QkNormOptions, QkWeights,
    fused_qkv_split_qk_norm_rope_cache, fused_qkv_split_qk_norm_rope_cache_into,
    fused_qkv_split_qk_rope, fused_qkv_split_qk_rope_into,
};
pub use hstu_attn::{HstuOptions, hstu_attn_fwd, hstu_attn_fwd_into};
pub use lean_atten::{LeanAttn, LeanAttnOut, LeanElement, lean_attn_fwd, lean_attn_fwd_into};
pub use lean_atten_paged::{
    lean_attn_paged_by_heads_fwd, lean_attn_paged_by_heads_fwd_into, lean_attn_paged_fwd,
    lean_attn_paged_fwd_into,
};
pub use mha::{
    Mha, MhaOut, VarlenOptions, mha_fwd, mha_fwd_into, mha_varlen_fwd, mha_varlen_fwd_into,
};
pub use mha_fused_bwd::{
    mha_fused_bwd, mha_fused_bwd_into, mha_varlen_fused_bwd, mha_varlen_fused_bwd_into,
};
pub use mha_onekernel_bwd::{
    mha_onekernel_bwd, mha_onekernel_bwd_into, mha_varlen_onekernel_bwd,
    mha_varlen_onekernel_bwd_into,
};
pub use mla_decode_rope::{
    MlaDecodeOptions, MlaDecodeOut, MlaRope, MlaTokens, mla_decode_rope, mla_decode_rope_into,
};
pub use mqa_logits::{MqaElement, MqaLogitsOptions};
pub use pa_decode::{PaDecode, PaDecodeOptions, PaDecodeOut, pa_decode, pa_decode_into};
pub use pa_mqa_logits::{
    paged_mqa_logits, paged_mqa_logits_into, paged_mqa_logits_ragged, paged_mqa_logits_ragged_into,
    paged_mqa_logits_stage1, paged_mqa_logits_stage1_into,
};
pub use pa_prefill::{PaPrefillOptions, PrefixCache, pa_prefill_fwd, pa_prefill_fwd_into};
pub use pod_attn::{LeanBatch, PodOptions, pod_attn, pod_attn_into};
pub use prefill_attn::{PrefillOptions, prefill_attn_fwd, prefill_attn_fwd_into};
pub use rope::{
    Rope2c, Rope2cOut, RopeLayout, rope, rope_2c, rope_2c_inplace, rope_2c_into, rope_inplace,
    rope_into, rope_thd, rope_thd_inplace, rope_thd_into,
};
pub use sage_attention::{
    SageAttn, SageAttnOut, SageCodes, SageLut, SageOptions, SageQuant, SageQuantOut, sage_attn,
    sage_attn_fwd, sage_attn_fwd_into, sage_attn_into, sage_quant, sage_quant_into,
};
pub use unified_attn::{
    PagedSequences, UnifiedAttnOptions, unified_attn_fwd, unified_attn_fwd_into,
};
pub use unified_attn_sparse_mla::{
    IndexSpace, SparseMla, SparseMlaOptions, SparseMlaOut, sparse_mla_attn_fwd,
    sparse_mla_attn_fwd_into,
};

pub use hk_core::dtype::{E8M0, F4x2E2M1, F8E4M3, F8E4M3Fnuz};
pub use hk_core::op::indices::Indices;
pub use hk_core::op::rows::RowOptions;
pub use hk_core::prelude::*;

mod generated {
    include!(concat!(env!("OUT_DIR"), "/kernels.rs"));
}

pub(crate) use generated::KERNELS;
