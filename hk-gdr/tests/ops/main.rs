//! Tests of the ops, one file per module: parity with references, refusals, and what else a module
//! promises.

mod common;

mod causal_conv1d;
mod causal_conv1d_fwd_split_qkv;
mod causal_conv1d_split_qkv;
mod chunk;
mod chunk_delta_h;
mod chunk_gated_delta_rule;
mod chunk_indices;
mod chunk_o;
mod cumsum;
mod fused_cumsum_kkt;
mod fused_gdn_gating_prefill;
mod fused_qkvzba_split;
mod fused_recurrent;
mod fused_sigmoid_gating_recurrent;
mod gate_functions;
mod gated_delta_net_prefill;
mod gated_delta_rule_decode_step;
mod l2norm;
mod reductions;
mod solve_tril;
mod wy_representation;
