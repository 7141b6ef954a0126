//! Attention kernels for AMD CDNA3 (gfx942) and CDNA4 (gfx950).
//!
//! Build with the feature `cdna3` or `cdna4`, or both, to have code for the chips.

mod angles;
mod attention;
pub mod attn_merge;
mod cache;
pub mod flash_attn_fwd_decode;
pub mod fused_kv_cache;
pub mod fused_qk_concat;
pub mod fused_qkv_split_qk_rope;
mod heads;
pub mod mha;
pub mod pa_decode;
#[cfg(feature = "parity")]
pub mod parity;
pub mod rope;
pub mod unified_attn;

pub use angles::{Angles, RopeOptions, RopeStyle};
pub use attention::{
    AttentionElement, AttentionOptions, AttentionOutput, Dropout, RealNumbers, Window,
};
pub use attn_merge::{
    attn_merge_states, attn_merge_states_into, splitk_combine, splitk_combine_into,
};
pub use cache::{CacheElement, CacheLayout};
pub use flash_attn_fwd_decode::{
    DecodeAppend, DecodeCache, flash_attn_fwd_decode, flash_attn_fwd_decode_append,
    flash_attn_fwd_decode_append_into, flash_attn_fwd_decode_into,
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
pub use mha::{
    Mha, MhaOut, VarlenOptions, mha_fwd, mha_fwd_into, mha_varlen_fwd, mha_varlen_fwd_into,
};
pub use pa_decode::{PaDecode, PaDecodeOptions, PaDecodeOut, pa_decode, pa_decode_into};
pub use rope::{
    Rope2c, Rope2cOut, RopeLayout, rope, rope_2c, rope_2c_inplace, rope_2c_into, rope_inplace,
    rope_into, rope_thd, rope_thd_inplace, rope_thd_into,
};
pub use unified_attn::{
    PagedSequences, UnifiedAttnOptions, unified_attn_fwd, unified_attn_fwd_into,
};

pub use hk_core::op::indices::Indices;
pub use hk_core::op::rows::RowOptions;
pub use hk_core::prelude::*;

mod generated {
    include!(concat!(env!("OUT_DIR"), "/kernels.rs"));
}

pub(crate) use generated::KERNELS;
