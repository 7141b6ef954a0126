//! References of `hk-norm`.

pub mod l2norm;
pub mod layernorm;
pub mod rmsnorm;
pub mod softmax;
