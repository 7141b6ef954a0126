//! References of `hk-norm`.

pub mod rmsnorm;
