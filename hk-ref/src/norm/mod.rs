//! References of `hk-norm`.

pub mod activation;
pub mod embedding;
pub mod fused_add_rmsnorm_pad;
pub mod fused_mul_add;
pub mod l2norm;
pub mod l2norm_bwd;
pub mod layernorm;
pub mod mean_pool;
pub mod rmsnorm;
pub mod softmax;
pub mod topk;
