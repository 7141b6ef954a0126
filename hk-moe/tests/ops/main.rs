//! Tests of the ops, one file per module: parity with references, refusals, and what else a module
//! promises.

mod common;

mod fused_moe;
mod interleave;
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
mod reduce_grouped;
mod traffic;
mod wrong_gates;
