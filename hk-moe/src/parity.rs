//! The cases by which the ops of this crate are compared with their references, for tests and the
//! command `hipkittens check`.

mod experts;
mod fused_moe;
mod int_groups;
mod loads;
mod moe_align_block_size;
mod moe_bitmatrix;
mod moe_expt_data;
mod moe_op;
mod moe_op_e2e;
mod moe_op_gelu;
mod moe_op_gemm_a4w4;
mod moe_op_gemm_a8w4;
mod moe_op_gemm_a8w8;
mod moe_op_gemm_a8w8_blockscale;
mod moe_op_mxfp4;
mod moe_op_mxfp4_silu_fused;
mod moe_op_silu_fused;
mod moe_routing;
mod moe_routing_sigmoid_top1_fused;
mod moe_topk;
mod ragged;
mod reduce_grouped;
mod wrong_gates;

use hk_core::kernel::KernelSet;
use hk_ref::Case;

/// Why code of the kernels that no case executes, or whose changes none notices, is right. For the
/// command.
pub const REASONS: &str = include_str!("parity/reasons.toml");

/// Every case of every op.
pub fn cases() -> Vec<Case> {
    let mut cases = moe_topk::cases();
    cases.extend(moe_align_block_size::cases());
    cases.extend(moe_bitmatrix::cases());
    cases.extend(moe_expt_data::cases());
    cases.extend(moe_routing_sigmoid_top1_fused::cases());
    cases.extend(moe_routing::cases());
    moe_op::add(&mut cases);
    int_groups::add(&mut cases);
    moe_op_e2e::add(&mut cases);
    moe_op_gelu::add(&mut cases);
    moe_op_gemm_a4w4::add(&mut cases);
    moe_op_gemm_a8w4::add(&mut cases);
    moe_op_gemm_a8w8::add(&mut cases);
    moe_op_gemm_a8w8_blockscale::add(&mut cases);
    moe_op_mxfp4::add(&mut cases);
    moe_op_mxfp4_silu_fused::add(&mut cases);
    moe_op_silu_fused::add(&mut cases);
    wrong_gates::add(&mut cases);
    cases.extend(reduce_grouped::cases());
    cases.extend(fused_moe::cases());
    cases
}

/// The kernels that were built into this crate.
pub fn kernels() -> &'static KernelSet {
    &crate::KERNELS
}
