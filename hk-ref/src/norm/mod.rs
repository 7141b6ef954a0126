//! References of `hk-norm`.

pub mod l2norm;
pub mod rmsnorm;
pub mod softmax;
