//! References of `hk-gdr`.

pub mod causal_conv1d;
pub mod causal_conv1d_fwd_split_qkv;
pub mod causal_conv1d_split_qkv;
pub mod chunk;
pub mod chunk_delta_h;
pub mod chunk_indices;
pub mod chunk_o;
pub mod cumsum;
pub mod fused_cumsum_kkt;
pub mod fused_gdn_gating_prefill;
pub mod fused_qkvzba_split;
pub mod fused_recurrent;
pub mod fused_sigmoid_gating_recurrent;
pub mod gate_functions;
pub mod reductions;
pub mod solve_tril;
pub mod wy_representation;
