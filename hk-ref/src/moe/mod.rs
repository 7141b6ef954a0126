//! References of `hk-moe`.

pub mod fused_moe;
pub mod moe_align_block_size;
pub mod moe_bitmatrix;
pub mod moe_expt_data;
pub mod moe_op;
pub mod moe_op_e2e;
pub mod moe_op_gelu;
pub mod moe_op_gemm_a4w4;
pub mod moe_op_gemm_a8w4;
pub mod moe_op_gemm_a8w8;
pub mod moe_op_gemm_a8w8_blockscale;
pub mod moe_op_mxfp4;
pub mod moe_op_mxfp4_silu_fused;
pub mod moe_op_silu_fused;
pub mod moe_routing;
pub mod moe_routing_sigmoid_top1_fused;
pub mod moe_topk;
pub mod ragged;
pub mod reduce_grouped;
