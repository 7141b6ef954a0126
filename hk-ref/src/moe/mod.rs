//! References of `hk-moe`.

pub mod moe_align_block_size;
pub mod moe_bitmatrix;
pub mod moe_expt_data;
pub mod moe_op;
pub mod moe_op_e2e;
pub mod moe_op_gelu;
pub mod moe_op_mxfp4;
pub mod moe_op_silu_fused;
pub mod moe_routing;
pub mod moe_routing_sigmoid_top1_fused;
pub mod moe_topk;
pub mod reduce_grouped;
