//! The cases by which the ops of this crate are compared with their references, for tests and the
//! command `hipkittens check`.

mod causal_conv1d;
mod causal_conv1d_fwd_split_qkv;
mod causal_conv1d_split_qkv;
mod chunk;
mod chunk_delta_h;
mod chunk_gated_delta_rule;
mod chunk_indices;
mod chunk_o;
mod chunks;
mod convolution;
mod cumsum;
mod delta_rule;
mod fused_cumsum_kkt;
mod fused_gdn_gating_prefill;
mod fused_qkvzba_split;
mod fused_recurrent;
mod fused_sigmoid_gating_recurrent;
mod gate_functions;
mod indices;
mod reductions;
mod solve_tril;
mod wy_representation;

use hk_core::kernel::KernelSet;
use hk_ref::Case;

/// Why code of the kernels that no case executes, or whose changes none notices, is right. For the
/// command.
pub const REASONS: &str = include_str!("parity/reasons.toml");

/// Every case of every op.
pub fn cases() -> Vec<Case> {
    let mut cases = fused_gdn_gating_prefill::cases();
    cases.extend(causal_conv1d::cases());
    cases.extend(causal_conv1d_split_qkv::cases());
    cases.extend(causal_conv1d_fwd_split_qkv::cases());
    cases.extend(fused_qkvzba_split::cases());
    cases.extend(cumsum::cases());
    cases.extend(chunk_indices::cases());
    cases.extend(gate_functions::cases());
    cases.extend(reductions::cases());
    cases.extend(fused_recurrent::cases());
    cases.extend(fused_sigmoid_gating_recurrent::cases());
    cases.extend(solve_tril::cases());
    cases.extend(fused_cumsum_kkt::cases());
    cases.extend(wy_representation::cases());
    cases.extend(chunk_delta_h::cases());
    cases.extend(chunk_o::cases());
    cases.extend(chunk::cases());
    cases.extend(chunk_gated_delta_rule::cases());
    cases
}

/// The kernels that were built into this crate.
pub fn kernels() -> &'static KernelSet {
    &crate::KERNELS
}
