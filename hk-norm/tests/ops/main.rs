//! Tests of the ops, one file per module: parity with references, refusals, and what else a module
//! promises.

mod common;

mod activation;
mod embedding;
mod fused_add_rmsnorm_pad;
mod fused_mul_add;
mod l2norm;
mod l2norm_bwd;
mod layernorm;
mod mean_pool;
mod rmsnorm;
mod softmax;
mod topk;
