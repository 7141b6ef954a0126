//! Gated delta rule kernels for AMD CDNA3 (gfx942) and CDNA4 (gfx950).
//!
//! Tokens are rows; heads, and their channels, are what a row has. Build with the feature `cdna3` or
//! `cdna4`, or both, to have code for the chips.
//!
//! ```
//! # #[cfg(feature = "cdna4")] {
//! use hk_gdr::{Device, FusedRecurrentOptions, Tensor, fused_recurrent_fwd};
//!
//! let stream = Device::open("sim:mi355x")?.default_stream();
//! // Two tokens of one head. Half of what differs is learnt of each.
//! let qk = Tensor::filled(&stream, &[1, 2, 1, 1], 1.0f32)?;
//! let v = Tensor::from_slice(&stream, &[4.0f32, 6.0], &[1, 2, 1, 1])?;
//! let beta = Tensor::filled(&stream, &[1, 2, 1], 0.5f32)?;
//! let options = FusedRecurrentOptions::default().beta(&beta);
//! let y = fused_recurrent_fwd::<_, _, f32>(&qk, &qk, &v, None, &options)?;
//! assert_eq!(y.o.to_vec()?, [2.0, 4.0]);
//! # }
//! # Ok::<(), hk_core::Error>(())
//! ```

pub mod causal_conv1d;
pub mod causal_conv1d_fwd_split_qkv;
pub mod causal_conv1d_split_qkv;
pub mod chunk;
pub mod chunk_delta_h;
pub mod chunk_gated_delta_rule;
pub mod chunk_indices;
mod chunk_kkt;
pub mod chunk_o;
mod chunk_prepare;
mod chunk_states;
mod chunk_wu;
pub mod chunks;
pub mod cumsum;
pub mod delta_rule;
pub mod fused_cumsum_kkt;
pub mod fused_gdn_gating_prefill;
pub mod fused_qkvzba_split;
pub mod fused_recurrent;
pub mod fused_sigmoid_gating_recurrent;
pub mod gate_functions;
pub mod gated_delta_net_prefill;
pub mod gated_delta_rule_decode_step;
#[cfg(feature = "parity")]
pub mod parity;
mod qk_norm;
pub mod reductions;
pub mod solve_tril;
pub mod wy_representation;

pub use causal_conv1d::{
    CausalConv1d, CausalConv1dOptions, CausalConv1dOut, CausalConv1dUpdateOut,
    CausalConv1dVarlenOut, ConvFilter, causal_conv1d, causal_conv1d_into, causal_conv1d_update,
    causal_conv1d_update_inplace, causal_conv1d_update_into, causal_conv1d_varlen,
    causal_conv1d_varlen_into,
};
pub use causal_conv1d_fwd_split_qkv::{
    CausalConv1dFwdSplitQkvOut, causal_conv1d_fwd_split_qkv, causal_conv1d_fwd_split_qkv_into,
};
pub use causal_conv1d_split_qkv::{
    CausalConv1dUpdateSplitQkvOut, ConvQkv, causal_conv1d_update_split_qkv,
    causal_conv1d_update_split_qkv_into,
};
pub use chunk::{
    ChunkPipeline, ChunkPipelineOptions, ChunkPipelineOut, chunk_compute_a, chunk_cumsum,
    chunk_pipeline, chunk_pipeline_into, chunk_recompute_w_u, chunk_solve_tril,
};
pub use chunk_delta_h::{
    ChunkDeltaH, ChunkDeltaHOptions, ChunkDeltaHOut, chunk_delta_h_fwd, chunk_delta_h_fwd_into,
};
pub use chunk_gated_delta_rule::{
    ChunkGatedDeltaRule, ChunkGatedDeltaRuleOptions, ChunkGatedDeltaRuleOut,
    chunk_gated_delta_rule, chunk_gated_delta_rule_into,
};
pub use chunk_indices::{
    Index, PrefillSchedule, get_max_num_splits, prepare_chunk_indices,
    prepare_chunk_indices_on_device, prepare_chunk_indices_on_device_into, prepare_chunk_offsets,
    prepare_chunk_offsets_on_device, prepare_chunk_offsets_on_device_into,
    prepare_cu_seqlens_from_lens, prepare_lens, prepare_num_chunks, prepare_position_ids,
    prepare_position_ids_on_device, prepare_position_ids_on_device_into,
    prepare_rebased_cu_seqlens, prepare_sequence_ids, prepare_sequence_ids_on_device,
    prepare_sequence_ids_on_device_into, prepare_token_indices,
};
pub use chunk_o::{ChunkOOptions, chunk_fwd_o, chunk_fwd_o_into};
pub use chunk_states::ChunkStates;
pub use chunks::{ChunkElement, ChunkGates, CumulativeGates, GateBase};
pub use cumsum::{
    CumsumOptions, cumsum_scalar, cumsum_scalar_into, cumsum_vector, cumsum_vector_into,
};
pub use delta_rule::{RealTensor, State, StateLayout};
pub use fused_cumsum_kkt::{
    CumsumKkt, CumsumKktOptions, CumsumKktOut, fused_cumsum_kkt, fused_cumsum_kkt_into,
};
pub use fused_gdn_gating_prefill::{
    GdnGating, GdnGatingOptions, GdnGatingOut, fused_gdn_gating, fused_gdn_gating_into,
};
pub use fused_qkvzba_split::{
    QkvzbaHeads, QkvzbaSplit, QkvzbaSplitOptions, QkvzbaSplitOut, fused_qkvzba_split,
    fused_qkvzba_split_into,
};
pub use fused_recurrent::{
    FusedRecurrent, FusedRecurrentOptions, FusedRecurrentOut, fused_recurrent_fwd,
    fused_recurrent_fwd_into,
};
pub use fused_sigmoid_gating_recurrent::{
    GatingInputs, SigmoidGatingOptions, SigmoidGatingOut, fused_sigmoid_gating_recurrent,
    fused_sigmoid_gating_recurrent_into, fused_sigmoid_gating_recurrent_packed,
    fused_sigmoid_gating_recurrent_packed_into,
};
pub use gate_functions::{
    OpAll, OpAllOut, OpOptions, op_all, op_all_into, op_exp, op_exp_into, op_exp2, op_exp2_into,
    op_log, op_log_into, op_log2, op_log2_into, op_safe_exp, op_safe_exp_into, op_sigmoid,
    op_sigmoid_into, op_silu, op_silu_into, op_softplus, op_softplus_into,
};
pub use gated_delta_net_prefill::{
    PrefillOptions, PrefillOut, PrefillStates, PrefillWithZ, gated_delta_net_prefill,
    gated_delta_net_prefill_into, gated_delta_net_prefill_qkvz,
};
pub use gated_delta_rule_decode_step::{
    DecodeStates, DecodeStepOptions, DecodeStepOut, gated_delta_rule_decode_step,
    gated_delta_rule_decode_step_into,
};
pub use reductions::{
    abs_diff, abs_diff_into, abs_err, abs_err_into, bf16_to_float, bf16_to_float_into, err_ratio,
    err_ratio_into, float_to_bf16, float_to_bf16_into, l2_normalize, l2_normalize_into, max_reduce,
    max_reduce_into, squared_diff, squared_diff_into, sum_reduce, sum_reduce_into,
};
pub use solve_tril::{SolveTrilOptions, solve_tril, solve_tril_into};
pub use wy_representation::{
    ChunkKktOptions, ChunkWU, ChunkWUOut, RecomputeWUOptions, chunk_scaled_dot_kkt,
    chunk_scaled_dot_kkt_into, recompute_w_u, recompute_w_u_into,
};

pub use hk_core::op::indices::Indices;
pub use hk_core::op::rows::RowOptions;
pub use hk_core::prelude::*;
pub use hk_norm::{
    L2normOut, l2norm as l2norm_fwd, l2norm_bwd, l2norm_bwd_into,
    l2norm_inplace as l2norm_fwd_inplace, l2norm_into as l2norm_fwd_into,
};

mod generated {
    include!(concat!(env!("OUT_DIR"), "/kernels.rs"));
}

pub(crate) use generated::KERNELS;
